"""Conditions as DuckDB's SQL."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from onesided.engine._sql import CAPITALS, NAMED, SqlTerms, quoted
from onesided.schema import (
    BOOLEAN,
    DATE,
    KINDS,
    NUMBER,
    TEXT,
    TIME,
    Type,
    bits,
    moment_type,
)

_SIZES: Final = {
    "TINYINT": bits(8),
    "SMALLINT": bits(16),
    "INTEGER": bits(32),
    "BIGINT": bits(64),
    "HUGEINT": bits(128),
    "UTINYINT": bits(8, signed=False),
    "USMALLINT": bits(16, signed=False),
    "UINTEGER": bits(32, signed=False),
    "UBIGINT": bits(64, signed=False),
}
_TYPES: Final[Mapping[str, Type]] = {
    **_SIZES,
    "BOOLEAN": BOOLEAN,
    "VARCHAR": TEXT,
    "FLOAT": NUMBER,
    "DOUBLE": NUMBER,
    "DATE": DATE,
    "TIME": TIME,
    "TIMESTAMP": moment_type(),
    "TIMESTAMP_S": moment_type(),
    "TIMESTAMP_MS": moment_type(),
    "TIMESTAMP_NS": moment_type(fine=True),
    "TIMESTAMP WITH TIME ZONE": moment_type(zoned=True),
}
_NAMES: Final = {kind: name for name, kind in _SIZES.items()}


def column_type(name: str) -> Type | None:
    """What a column of DuckDB's type ``name`` holds; None if conditions cannot look at it."""
    if re.fullmatch(r"DECIMAL\(\d+,\s*\d+\)", name):
        return NUMBER
    return _TYPES.get(name)


class DuckDBTerms(SqlTerms):
    """How DuckDB writes each operation. types: the columns' own types, by name."""

    natives = MappingProxyType({"text": "VARCHAR", "number": "DOUBLE", "wide": "HUGEINT"})
    # DuckDB itself makes a chain of = of a short IN.
    repeats = frozenset(
        ["between", "LOWER", "UPPER", "non_zero", "extract", *(f"one_of {kind}" for kind in KINDS)]
    )

    def __init__(self, types: Mapping[str, str]) -> None:
        self._types = types

    def named(self, parts: Sequence[str], use: Callable[..., str]) -> str:
        # A subquery's columns would be written again where DuckDB pushes a filter below it.
        names, body = self.together(parts, use)
        given = ", ".join(f"'{name}': {part}" for name, part in zip(names, parts, strict=True))
        return f"list_transform([{{{given}}}], lambda {NAMED}: {body})[1]"

    def native(self, kind: Type) -> str:
        return _NAMES.get(kind) or super().native(kind)

    def column(self, name: str, kind: Type) -> str:
        found, native = quoted(name), self._types[name]
        if kind.fine:
            return f"TRY(epoch_ns({found}))"
        if native in ("TIMESTAMP_S", "TIMESTAMP_MS"):
            return f"TRY_CAST({found} AS TIMESTAMP)"
        if native.startswith("DECIMAL"):
            return f"CAST(CAST({found} AS VARCHAR) AS DOUBLE)"
        return found

    def number(self, part: str, *, wide: bool) -> str:
        # From 128 bits DuckDB rounds twice; from text it rounds once, as everybody does.
        return f"CAST({f'CAST({part} AS VARCHAR)' if wide else part} AS DOUBLE)"

    def numbers(self, op: str, left: str, right: str) -> str:
        return f"(CAST({left} AS DOUBLE) {op} CAST({right} AS DOUBLE))"

    def whole(self, op: str, left: str, right: str, *, wide: bool, checked: bool) -> str:  # noqa: ARG002
        made = f"({left} {op} {right})"
        if not checked:
            return made
        return f"CAST(TRY_CAST(TRY{made} AS DECIMAL(38, 0)) AS HUGEINT)"

    def divided(self, op: str, left: str, right: str, *, wide: bool, positive: bool) -> str:  # noqa: ARG002
        return f"({left} {'//' if op == '/' else '%'} {right})"

    def text(self, function: str, part: str, arguments: Sequence[int]) -> str:
        if function == "LENGTH":
            return f"length({part})"
        if function == "TRIM":
            return f"trim({part}, ' ')"
        if function == "SUBSTRING":
            return f"substring({', '.join((part, *map(str, arguments)))})"
        small, ends = function.lower(), (CAPITALS, CAPITALS.lower())
        old, new = ends if function == "LOWER" else ends[::-1]
        # DuckDB's own function is right, and fast, where each character is a byte.
        plain = f"strlen({part}) = length({part})"
        other = f"translate({part}, '{old}', '{new}')"
        return f"(CASE WHEN {plain} THEN {small}({part}) ELSE {other} END)"

    def extract(self, unit: str, part: str, kind: Type) -> str:
        if kind.fine:
            micros = f"({part} // 1000 - CASE WHEN {part} % 1000 < 0 THEN 1 ELSE 0 END)"
            return f"{unit.lower()}(make_timestamp({micros}))"
        if kind.zoned:
            return f"{unit.lower()}(make_timestamp(epoch_us({part})))"
        return f"{unit.lower()}({part})"

    def midnight(self, part: str, kind: Type) -> str:
        if not kind.zoned:
            return f"CAST({part} AS TIMESTAMP)"
        start = "TIMESTAMPTZ '1970-01-01 00:00:00+00'"
        return f"({start} + to_microseconds(({part} - DATE '1970-01-01') * 86400000000))"

    def finer(self, part: str, kind: Type) -> str:  # noqa: ARG002
        return f"TRY(epoch_us({part}) * CAST(1000 AS BIGINT))"

    def later(self, part: str, amount: int, kind: Type) -> str:
        if kind.fine:
            return f"TRY_CAST(CAST({part} AS HUGEINT) + CAST('{amount}' AS HUGEINT) AS BIGINT)"
        if kind.kind == "date":
            return f"({part} + CAST('{amount}' AS INTEGER))"
        return f"({part} + to_microseconds(CAST('{amount}' AS BIGINT)))"
