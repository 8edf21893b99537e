"""Conditions as expressions of Ibis: literals are Ibis's own, made of a typed tree.

What every warehouse means alike is here; the rest is refused, unless a warehouse says how it is
written exactly there.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Final, NoReturn

import ibis
import ibis.expr.datashape as ds
import ibis.expr.datatypes as idt
import ibis.expr.operations as ops
import ibis.expr.rules as rlz

from onesided.conditions import Scalar
from onesided.engine._operators import Operators
from onesided.errors import ConditionError
from onesided.schema import (
    BOOLEAN,
    DATE,
    NUMBER,
    TEXT,
    TIME,
    Type,
    bits,
    clock_text,
    date_text,
    moment_text,
    moment_type,
)

Part = Any  # a value of Ibis, whose own types are of no help here

WIDE: Final = idt.Decimal()


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


def gap(what: str) -> Any:
    """An operation that is refused by name, unless a warehouse says how it is written there.

    what: may hold the first argument.
    """

    def refused(terms: IbisTerms, *given: object, **_: object) -> NoReturn:
        raise ConditionError(
            f"{what.format(*given)} cannot be computed in {terms.warehouse} as exactly as in every "
            "other engine.",
            hint="Compute a column of the table first, and write the condition on that.",
        )

    return refused


class Named(ops.Value):  # type: ignore[misc] # of which mypy knows nothing
    """A value that has a name in the :class:`Let` around it."""

    word: str
    dtype: idt.DataType
    shape = ds.columnar


class Let(ops.Value):  # type: ignore[misc]
    """``body`` of values that have names, each computed once."""

    parts: tuple[ops.Value, ...]
    words: tuple[str, ...]
    body: ops.Value
    shape = ds.columnar
    dtype = rlz.dtype_like("body")


class IbisTerms(Operators):
    """How Ibis writes each operation on the columns of one table. warehouse: its name."""

    warehouse = "this warehouse"
    long_type, wide_type, float_type = "int64", WIDE, "float64"
    repeats: frozenset[str] = frozenset(["between"])

    like = gap("LIKE")
    numbers = gap("{} of numbers that are not whole")
    wide_number = gap("numbers beside whole numbers of more than 64 bits")
    whole = divided = text = gap("{}")
    extract = gap("EXTRACT({} FROM ...)")
    midnight = gap("dates beside moments")
    later = gap("INTERVAL")

    def __init__(self, table: Any) -> None:
        self.table = table

    def named(self, parts: Sequence[Part], use: Callable[..., Part]) -> Part:
        names = tuple(f"v{at}" for at in range(len(parts)))
        given = (
            Named(word=name, dtype=part.type()) for part, name in zip(parts, names, strict=True)
        )
        body = use(*(one.to_expr() for one in given))
        return Let(parts=[part.op() for part in parts], words=names, body=body.op()).to_expr()

    def column(self, name: str, kind: Type) -> Part:
        found = self.table[name]
        return found.cast("float64") if kind.kind == "number" else found

    def literal(self, value: Scalar, kind: Type) -> Part:
        return ibis.literal(_value(value, kind), _native(kind, value))

    def is_null(self, part: Part) -> Part:
        return part.isnull()

    def one_of(self, part: Part, values: Sequence[Scalar], kind: Type) -> Part:
        return part.isin([self.literal(value, kind) for value in values])

    def case(
        self, branches: Sequence[tuple[Part, Part]], otherwise: Part | None, kind: Type
    ) -> Part:
        last = self.literal(None, kind) if otherwise is None else otherwise
        return ibis.cases(*branches, else_=last)

    def coalesce(self, parts: Sequence[Part]) -> Part:
        return ibis.coalesce(*parts)

    def number(self, part: Part, *, wide: bool) -> Part:
        return self.wide_number(part) if wide else part.cast("float64")

    def non_zero(self, part: Part, *, wide: bool) -> Part:  # noqa: ARG002
        return part.nullif(0)

    def absolute(self, part: Part) -> Part:
        return part.abs()

    def finer(self, part: Part, kind: Type) -> Part:  # noqa: ARG002
        return part  # no moments are finer than a microsecond


def _value(value: Scalar, kind: Type) -> Any:
    if value is None or kind.kind in ("text", "boolean"):
        return value
    if kind.kind == "number":
        return float(value)
    number = int(value)
    if kind.kind == "date":
        return dt.date.fromisoformat(date_text(number))
    if kind.kind == "time":
        return dt.time.fromisoformat(clock_text(number))
    if kind.kind == "datetime":
        moment = dt.datetime.fromisoformat(moment_text(number))
        return moment.replace(tzinfo=dt.UTC) if kind.zoned else moment
    return number if -(2**63) <= number < 2**63 and kind.is_long else Decimal(number)


def _native(kind: Type, value: Scalar) -> Any:
    """Ibis's type for literals."""
    if kind.kind == "integer":
        small = value is None or -(2**63) <= int(value) < 2**63
        return idt.int64 if small and kind.is_long else WIDE
    if kind.kind == "datetime":
        return idt.Timestamp(timezone="UTC" if kind.zoned else None, scale=6)
    return {"text": idt.string, "number": idt.float64, "duration": idt.int64}.get(
        kind.kind
    ) or idt.dtype(kind.kind)
