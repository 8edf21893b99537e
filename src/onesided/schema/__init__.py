"""Public facts about a table, declared and never inferred from rows."""

from onesided.schema._column import (
    BOOLEAN,
    DATE,
    DURATION,
    INTEGER,
    KINDS,
    LARGEST,
    NUMBER,
    TEXT,
    TIME,
    TYPES,
    Column,
    Type,
    bits,
    column,
    value_in,
    whole,
)
from onesided.schema._column import moment as moment_type
from onesided.schema._reading import (
    DAY,
    FIRST_DAY,
    LAST_DAY,
    PATTERNS,
    UNITS,
    Heading,
    Reading,
    Value,
    clock_text,
    date_text,
    heading_of,
    local_offsets,
    moment_text,
    read,
    reading_of,
    value_of,
)
from onesided.schema._schema import Schema, proposals, schema_of

__all__ = [
    "BOOLEAN", "DATE", "DAY", "DURATION", "FIRST_DAY", "INTEGER", "KINDS", "LARGEST", "LAST_DAY",
    "NUMBER", "PATTERNS", "TEXT", "TIME", "TYPES", "UNITS", "Column", "Heading", "Reading",
    "Schema", "Type", "Value", "bits", "clock_text", "column", "date_text", "heading_of",
    "local_offsets", "moment_text", "moment_type", "proposals", "read", "reading_of", "schema_of",
    "value_in", "value_of", "whole",
]  # fmt: skip
