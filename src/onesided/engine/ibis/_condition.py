"""Conditions as PostgreSQL's SQL: what the server computes exactly, and never stops at."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NoReturn

import ibis.expr.datashape as ds
import ibis.expr.datatypes as idt
import ibis.expr.operations as ops

from onesided.conditions import Scalar
from onesided.engine._sql import CAPITALS, NAMED, SqlTerms
from onesided.errors import ConditionError
from onesided.schema import (
    BOOLEAN,
    DATE,
    LARGEST,
    NUMBER,
    TEXT,
    TIME,
    Type,
    bits,
    clock_text,
    moment_type,
)

_EVERY: Final = 2**31 - 1
# Decimals beyond these ends are no float of 64 bits; the server would stop at them.
_LARGEST: Final = "17976931348623157" + "0" * 292
_SMALLEST: Final = "0." + "0" * 323 + "24703282292062328"
_PLACES: Final = 300
# In SQL of ours nothing but a text may hold a brace.
_COLUMN: Final = re.compile(r"'[^']*'|\{(\w+)\}")


def column_type(kind: Any) -> Type | None:
    """What a column of a type of Ibis holds; None if conditions cannot look at it."""
    if kind.is_integer():
        return bits(kind.nbytes * 8, signed=kind.is_signed_integer())
    if kind.is_timestamp():
        return moment_type(zoned=kind.timezone is not None)
    plain = (
        (kind.is_boolean, BOOLEAN),
        (kind.is_string, TEXT),
        (kind.is_floating, NUMBER),
        (kind.is_decimal, NUMBER),
        (kind.is_date, DATE),
        (kind.is_time, TIME),
    )
    return next((held for holds, held in plain if holds()), None)


class Written(ops.Value):  # type: ignore[misc] # of which mypy knows nothing
    """A truth value that SQL of ours tells of some columns: text between them, and after them."""

    columns: tuple[ops.Value, ...]
    texts: tuple[str, ...]
    dtype = idt.boolean
    shape = ds.columnar


def written_of(table: Any, text: str) -> Any:
    """The value of SQL that :class:`PostgresTerms` wrote, as Ibis's for this table."""
    columns, texts, end = [], [], 0
    for found in _COLUMN.finditer(text):
        if found[1]:
            columns.append(table[found[1]].op())
            texts.append(text[end : found.start()])
            end = found.end()
    return Written(columns=columns, texts=[*texts, text[end:]]).to_expr()


class PostgresTerms(SqlTerms):
    """How PostgreSQL writes each operation. types: of Ibis, by column."""

    natives = MappingProxyType({"number": "DOUBLE PRECISION", "wide": "NUMERIC"})
    repeats = frozenset(["between", "whole"])

    def __init__(self, types: Mapping[str, Any]) -> None:
        self._types = types

    def named(self, parts: Sequence[str], use: Callable[..., str]) -> str:
        """A subquery that the server may not merge with what is around it: OFFSET says so."""
        names, body = self.together(parts, use)
        given = ", ".join(f"{part} AS {name}" for name, part in zip(names, parts, strict=True))
        return f"(SELECT {body} FROM (SELECT {given} OFFSET 0) AS {NAMED})"  # noqa: S608 - ours

    def column(self, name: str, kind: Type) -> str:
        found, held = f"{{{name}}}", self._types[name]
        if kind.kind == "text":
            return f'({found} COLLATE "C")'
        if kind.kind != "number":
            return found
        if held.is_decimal():
            places = (held.precision or _PLACES + 1, abs(held.scale or 0))
            if max(places) > _PLACES:  # a float: unknown where too large, 0 where too small
                return (
                    f"(CASE WHEN CAST({found} AS TEXT) = 'NaN' OR abs({found}) > {_LARGEST} THEN "
                    f"NULL WHEN abs({found}) < {_SMALLEST} THEN 0 "
                    f"ELSE CAST({found} AS DOUBLE PRECISION) END)"
                )
        return self.number(found, wide=True)

    def literal(self, value: Scalar, kind: Type) -> str:
        made = super().literal(value, kind)
        return f'({made} COLLATE "C")' if kind.kind == "text" else made

    def like(self, part: str, pattern: str) -> str:
        return super().like(part, pattern.replace("\\", "\\\\"))

    def numbers(self, op: str, left: str, right: str) -> NoReturn:  # noqa: ARG002
        raise ConditionError(
            f"{op} of numbers that are not whole cannot be computed in PostgreSQL as exactly as in "
            "every other engine.",
            hint="Compute a column of the table first, and write the condition on that.",
        )

    def whole(self, op: str, left: str, right: str, *, wide: bool, checked: bool) -> str:  # noqa: ARG002
        made = f"({left} {op} {right})"
        return f"(CASE WHEN abs{made} <= {LARGEST} THEN {made} END)" if checked else made

    def divided(self, op: str, left: str, right: str, *, wide: bool, positive: bool) -> str:  # noqa: ARG002
        function = "div" if op == "/" else "mod"
        made = f"{function}({self.wide(left)}, {self.wide(right)})"
        return made if wide else self.long(made)

    def text(self, function: str, part: str, arguments: Sequence[int]) -> str:
        if function == "LENGTH":
            return self.long(f"char_length({part})")
        if function == "TRIM":
            return f"btrim({part}, ' ')"
        if function == "SUBSTRING":
            return f"substr({', '.join((part, *(str(min(n, _EVERY)) for n in arguments)))})"
        ends = (CAPITALS, CAPITALS.lower())
        old, new = ends if function == "LOWER" else ends[::-1]
        return f"translate({part}, '{old}', '{new}')"

    def extract(self, unit: str, part: str, kind: Type) -> str:
        held = f"timezone('UTC', {part})" if kind.zoned else part
        return self.long(f"floor(EXTRACT({unit} FROM {held}))")

    def midnight(self, part: str, kind: Type) -> str:
        moment = f"CAST({part} AS TIMESTAMP)"
        return f"timezone('UTC', {moment})" if kind.zoned else moment

    def finer(self, part: str, kind: Type) -> str:  # noqa: ARG002
        return part  # no moments are finer than a microsecond

    def later(self, part: str, amount: int, kind: Type) -> str:
        if kind.kind == "date":
            return f"({part} + CAST('{amount}' AS INTEGER))"
        sign = "-" if amount < 0 else ""
        return f"({part} + CAST('{sign}{clock_text(abs(amount))}' AS INTERVAL))"
