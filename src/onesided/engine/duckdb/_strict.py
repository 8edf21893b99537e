"""Text as declared types in DuckDB: SQL of our own patterns and quoted names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from onesided.engine.duckdb._text import quoted
from onesided.schema import DAY, FIRST_DAY, LAST_DAY, PATTERNS, UNITS

# What text of the right form is cast to, and what the value must be besides.
_CASTS: Final[Mapping[str, tuple[str, str]]] = {
    "boolean": ("BOOLEAN", ""),
    "integer": ("BIGINT", ""),
    "number": ("DOUBLE", "isfinite({0})"),
    "date": ("DATE", ""),
    "datetime": ("TIMESTAMP", ""),
    "datetime with zone": (
        "TIMESTAMP WITH TIME ZONE",
        f"epoch_us({{0}}) BETWEEN {FIRST_DAY * DAY} AND {(LAST_DAY + 1) * DAY - 1}",
    ),
    "time": ("TIME", ""),
}


def strict(name: str, kind: str) -> str:
    """SQL for a column of text read as ``kind``; null for what is not of its form."""
    column, pattern = quoted(name), PATTERNS[kind].replace("'", "''")
    form = f"regexp_full_match({column}, '{pattern}')"
    if kind == "duration":
        return f"CASE WHEN {form} AND NOT ({_empty(column)}) THEN {_micros(column)} END"
    to, more = _CASTS[kind]
    value = f"TRY_CAST({column} AS {to})"
    return f"CASE WHEN {form}{f' AND {more.format(value)}' if more else ''} THEN {value} END"


def _empty(column: str) -> str:
    return f"ends_with({column}, 'T') OR {column} = 'P'"


def _micros(column: str) -> str:
    """Whole microseconds: days have 24 hours."""

    def part(pattern: str, scale: int) -> str:
        found = f"TRY_CAST(regexp_extract({column}, '{pattern}', 1) AS BIGINT)"
        return f"coalesce({found}, 0) * {scale}"

    fraction = f"rpad(regexp_extract({column}, '\\.([0-9]+)S', 1), 6, '0')"
    parts = [
        *(part(f"([0-9]+){unit}", UNITS[unit]) for unit in "DHM"),
        part("([0-9]+)(\\.[0-9]+)?S", UNITS["S"]),
        f"CAST({fraction} AS BIGINT)",
    ]
    return f"CAST({' + '.join(parts)} AS BIGINT)"
