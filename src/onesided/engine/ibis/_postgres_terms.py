"""Conditions in PostgreSQL: what the server computes exactly, and never stops at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import ibis
import ibis.expr.datatypes as idt

from onesided.conditions import Scalar
from onesided.engine.ibis._condition import WIDE, IbisTerms, Part
from onesided.schema import LARGEST, Type

_CAPITALS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_HOUR: Final = 3_600_000_000
_EVERY: Final = 2**31 - 1
# Decimals beyond these ends are no float of 64 bits; the server would stop at them.
_LARGEST: Final = "17976931348623157" + "0" * 292
_SMALLEST: Final = "0." + "0" * 323 + "24703282292062328"
_PLACES: Final = 300

_MOMENT: Final = idt.Timestamp(scale=6)
_INSTANT: Final = idt.Timestamp(timezone="UTC", scale=6)


def server(name: str, taken: Sequence[Any], given: Any) -> Any:
    """A function of the server's own, by name and types."""
    # Ibis counts what it takes.
    stub = (lambda a: a, lambda a, b: (a, b), lambda a, b, c: (a, b, c))[len(taken) - 1]
    stub.__name__ = name
    return ibis.udf.scalar.builtin(stub, name=name, signature=(tuple(taken), given))


_translate = server("translate", (idt.string, idt.string, idt.string), idt.string)
_trim = server("btrim", (idt.string, idt.string), idt.string)
_from = server("substr", (idt.string, idt.int32), idt.string)
_cut = server("substr", (idt.string, idt.int32, idt.int32), idt.string)
_letters = server("char_length", (idt.string,), idt.int32)
_divided = server("div", (WIDE, WIDE), WIDE)
_rest = server("mod", (WIDE, WIDE), WIDE)
_days_later = server("date_pli", (idt.date, idt.int32), idt.date)
_in_utc = server("timezone", (idt.string, _INSTANT), _MOMENT)
_of_utc = server("timezone", (idt.string, _MOMENT), _INSTANT)


class PostgresTerms(IbisTerms):
    """How PostgreSQL writes each operation."""

    warehouse = "PostgreSQL"
    repeats = IbisTerms.repeats | {"whole"}

    def column(self, name: str, kind: Type) -> Part:
        found = self.table[name]
        if kind.kind != "number":
            return found
        held = found.type()
        if held.is_decimal():
            places = (held.precision or _PLACES + 1, abs(held.scale or 0))
            if max(places) > _PLACES:
                return _as_float(found)
        return found.cast("float64")

    def like(self, part: Part, pattern: str) -> Part:
        return part.like(pattern.replace("\\", "\\\\"))

    def number(self, part: Part, *, wide: bool) -> Part:  # noqa: ARG002 - decimals are rounded once
        return part.cast("float64")

    def one_of(self, part: Part, values: Sequence[Scalar], kind: Type) -> Part:
        return part.isin([self.literal(value, kind) for value in values])

    def whole(self, op: str, left: Part, right: Part, *, wide: bool, checked: bool) -> Part:  # noqa: ARG002
        made = {"+": left.__add__, "-": left.__sub__, "*": left.__mul__}[op](right)
        if not checked:
            return made
        inside = made.abs() <= self.literal(LARGEST, Type("integer", -LARGEST, LARGEST))
        return ibis.cases((inside, made), else_=ibis.literal(None, WIDE))

    def divided(self, op: str, left: Part, right: Part, *, wide: bool, positive: bool) -> Part:  # noqa: ARG002
        function = _divided if op == "/" else _rest
        made = function(left.cast(WIDE), right.cast(WIDE))
        return made if wide else made.cast("int64")

    def text(self, function: str, part: Part, arguments: Sequence[int]) -> Part:
        if function == "LENGTH":
            return _letters(part).cast("int64")
        if function == "TRIM":
            return _trim(part, " ")
        if function == "SUBSTRING":
            start, *length = (min(number, _EVERY) for number in arguments)
            return _cut(part, start, *length) if length else _from(part, start)
        ends = (_CAPITALS, _CAPITALS.lower())
        return _translate(part, *(ends if function == "LOWER" else ends[::-1]))

    def extract(self, unit: str, part: Part, kind: Type) -> Part:
        held = _in_utc("UTC", part) if kind.zoned else part
        if unit == "ISODOW":
            return held.day_of_week.index().cast("int64") + 1
        return getattr(held, unit.lower())().cast("int64")

    def midnight(self, part: Part, kind: Type) -> Part:
        moment = part.cast(_MOMENT)
        return _of_utc("UTC", moment) if kind.zoned else moment

    def later(self, part: Part, amount: int, kind: Type) -> Part:
        if kind.kind == "date":
            return _days_later(part, amount)
        hours, micros = divmod(amount, _HOUR)
        return part + ibis.interval(hours=hours) + ibis.interval(microseconds=micros)


def _as_float(part: Part) -> Part:
    """A decimal of any length as a float: unknown where it is too large, 0 where too small."""
    size = part.abs()
    least, most = (ibis.literal(end, "string").cast(WIDE) for end in (_SMALLEST, _LARGEST))
    return ibis.cases(
        (size.cast("string") == "NaN", ibis.literal(None, "float64")),
        (size > most, ibis.literal(None, "float64")),
        (size < least, ibis.literal(0.0, "float64")),
        else_=part.cast("float64"),
    )
