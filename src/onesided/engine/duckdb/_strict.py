"""Text as declared types in DuckDB: SQL of our own patterns and quoted names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from onesided.engine._protocol import Engine, Taking
from onesided.engine._sql import literal, quoted
from onesided.schema import DAY, FIRST_DAY, LAST_DAY, PATTERNS, UNITS, Reading, local_offsets

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
column = str  # SQL of a column of a snapshot: its name


def plain(engine: Engine, name: str, place: str, how: Taking) -> str:
    """A column before it is read, in which NaN is null."""
    if engine.types[name].is_float() and name not in engine.readings and not how.records:
        return f"CASE WHEN isnan({place}) THEN NULL ELSE {place} END"
    return place


def lost(text: str, made: str) -> str:
    """Whether a text has no value."""
    return f"({text} IS NOT NULL AND {made} IS NULL)"


def known(name: str, reading: Reading) -> str:
    """SQL for a column of text, in which words for no value are null."""
    column = quoted(name)
    if not reading.missing:
        return column
    return (
        f"CASE WHEN {column} NOT IN ({', '.join(map(literal, reading.missing))}) THEN {column} END"
    )


def canonical(name: str, reading: Reading) -> str:
    """SQL for a column of text in the canonical form of its type; null for other forms."""
    made = column = quoted(name)
    if reading.words:
        cases = (f"WHEN {literal(one)} THEN {literal(other)}" for one, other in reading.words)
        return f"CASE {column} {' '.join(cases)} END"
    pattern = literal(reading.form)
    if reading.pieces:
        made = " || ".join(
            literal(piece) if isinstance(piece, str) else _group(column, pattern, piece)
            for piece in reading.pieces
        )
    for old, new in reading.swaps:
        made = f"replace({made}, {literal(old)}, {literal(new)})"
    return (
        f"CASE WHEN regexp_full_match({column}, {pattern}) THEN {made} END"
        if reading.form
        else made
    )


def _group(column: str, pattern: str, piece: int) -> str:
    found = f"regexp_extract({column}, {pattern}, {abs(piece)})"
    return found if piece > 0 else f"lpad({found}, 2, '0')"


def value(name: str, reading: Reading) -> str:
    """SQL for a column in canonical form as its type; null for what is not of its form."""
    made = strict(name, reading.kind)
    if not reading.zone:
        return made
    return f"coalesce({made}, {_instant(strict(name, 'datetime'), reading.zone)})"


def _instant(local: str, zone: str) -> str:
    """A moment of a place's clock as an instant, by halves of the list of its changes."""
    changes, offsets = local_offsets(zone)
    micros = f"epoch_us({local})"

    def between(first: int, last: int) -> str:
        if first == last:
            offset = offsets[first]
            return "NULL" if offset is None else f"{offset}"
        middle = (first + last) // 2
        below, above = between(first, middle), between(middle + 1, last)
        return f"CASE WHEN onesided_at < {changes[middle]} THEN {below} ELSE {above} END"

    found = f"(SELECT {between(0, len(offsets) - 1)} FROM (SELECT {micros} AS onesided_at))"  # noqa: S608 - numbers of ours
    return f"make_timestamptz({micros} - {found})"


def strict(name: str, kind: str) -> str:
    """SQL for a column of text read as ``kind``; null for what is not of its form."""
    if kind == "text":
        return quoted(name)
    column, pattern = quoted(name), PATTERNS[kind].replace("'", "''")
    form = f"regexp_full_match({column}, '{pattern}')"
    if kind == "duration":
        empty = f"ends_with({column}, 'T') OR {column} = 'P'"
        return f"CASE WHEN {form} AND NOT ({empty}) THEN {_micros(column)} END"
    to, more = _CASTS[kind]
    value = f"TRY_CAST({column} AS {to})"
    return f"CASE WHEN {form}{f' AND {more.format(value)}' if more else ''} THEN {value} END"


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
