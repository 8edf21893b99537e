"""Public facts about a table, declared and never inferred from rows."""

from onesided.schema._iso import (
    DAY,
    FIRST_DAY,
    LAST_DAY,
    Value,
    clock_text,
    date_text,
    moment_text,
    read,
    value_of,
)
from onesided.schema._types import (
    BOOLEAN,
    DATE,
    DURATION,
    INTEGER,
    KINDS,
    LARGEST,
    NUMBER,
    TEXT,
    TIME,
    Type,
    bits,
    whole,
)
from onesided.schema._types import moment as moment_type

__all__ = [
    "BOOLEAN",
    "DATE",
    "DAY",
    "DURATION",
    "FIRST_DAY",
    "INTEGER",
    "KINDS",
    "LARGEST",
    "LAST_DAY",
    "NUMBER",
    "TEXT",
    "TIME",
    "Type",
    "Value",
    "bits",
    "clock_text",
    "date_text",
    "moment_text",
    "moment_type",
    "read",
    "value_of",
    "whole",
]
