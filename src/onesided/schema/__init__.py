"""Public facts about a table, declared and never inferred from rows."""

from onesided.schema._column import TYPES, Column, column, value_in
from onesided.schema._heading import Heading, heading_of
from onesided.schema._iso import (
    DAY,
    FIRST_DAY,
    LAST_DAY,
    PATTERNS,
    UNITS,
    Value,
    clock_text,
    date_text,
    moment_text,
    read,
    value_of,
)
from onesided.schema._proposals import proposals
from onesided.schema._reading import Reading, local_offsets, reading_of
from onesided.schema._schema import Schema, schema_of
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
    "PATTERNS",
    "TEXT",
    "TIME",
    "TYPES",
    "UNITS",
    "Column",
    "Heading",
    "Reading",
    "Schema",
    "Type",
    "Value",
    "bits",
    "clock_text",
    "column",
    "date_text",
    "heading_of",
    "local_offsets",
    "moment_text",
    "moment_type",
    "proposals",
    "read",
    "reading_of",
    "schema_of",
    "value_in",
    "value_of",
    "whole",
]
