# ruff: noqa: N802 - Ibis names its methods by what they visit
"""SQL of Ibis for PostgreSQL that rounds nothing and leaves out no bracket."""

from __future__ import annotations

from typing import Any, Final

import ibis.expr.datatypes as idt
import sqlglot as sg
import sqlglot.expressions as sge
from ibis.backends.sql.compilers import PostgresCompiler

_NAMED: Final = "onesided_named"


class Exact(PostgresCompiler):  # type: ignore[misc] # of which mypy knows nothing
    """Ibis's own SQL for PostgreSQL, exact where Ibis leaves it to the server's types."""

    __slots__ = ()

    def visit_Named(self, op: Any, *, word: str, dtype: Any) -> Any:  # noqa: ARG002
        return sg.column(word, table=_NAMED, quoted=True)

    def visit_Let(self, op: Any, *, parts: Any, words: Any, body: Any) -> Any:  # noqa: ARG002
        """A subquery that the server may not merge with what is around it: OFFSET says so.

        It is a text already: the deeper trees nest, the deeper sqlglot calls itself.
        """
        given = [
            sge.Alias(this=part.copy(), alias=sg.to_identifier(word, quoted=True))
            for part, word in zip(parts, words, strict=True)
        ]
        held = sg.select(*given).offset(0).subquery(sg.to_identifier(_NAMED, quoted=True))
        made = sg.select(body.copy()).from_(held).subquery()
        return sge.Var(this=made.sql(dialect="postgres"))

    def visit_Sum(self, op: Any, *, arg: Any, where: Any) -> Any:
        """A sum of whole numbers is one: the server makes a decimal of it."""
        made = super().visit_Sum(op, arg=arg, where=where)
        return self.cast(made, op.dtype) if op.dtype.is_integer() else made

    def visit_WindowFunction(self, op: Any, *, func: Any, **parts: Any) -> Any:
        """A sum over a window is made whole after it is added up."""
        if not isinstance(func, sge.Cast):
            return super().visit_WindowFunction(op, func=func, **parts)
        return self.cast(super().visit_WindowFunction(op, func=func.this, **parts), op.dtype)

    def visit_Divide(self, op: Any, *, left: Any, right: Any) -> Any:  # noqa: ARG002
        """A quotient of floats: of whole numbers the server would make a whole one."""
        one, other = (self.cast(side.copy(), idt.float64) for side in (left, right))
        return self.f.float8div(one, other)

    def visit_FloorDivide(self, op: Any, *, left: Any, right: Any) -> Any:
        """Rounded down in whole numbers: floats would round first."""
        if not op.dtype.is_integer():
            return super().visit_FloorDivide(op, left=left, right=right)
        one, other = (self.cast(side.copy(), idt.decimal) for side in (left, right))
        rest = self.f.mod(one.copy(), other.copy())
        below = sg.and_(rest.copy().neq(0), (rest < 0).neq(other.copy() < 0))
        whole = self.f.anon.div(one, other)
        return self.cast(whole - self.if_(below, 1, 0), op.dtype)

    def visit_DefaultLiteral(self, op: Any, *, value: Any, dtype: Any) -> Any:
        """Numbers of their type: bare, the server takes them for smaller ones or decimals."""
        if dtype.is_floating():
            return self.cast(sge.convert(repr(float(value))), idt.float64)
        if dtype.is_int64():
            return self.cast(sge.convert(str(int(value))), idt.int64)
        return super().visit_DefaultLiteral(op, value=value, dtype=dtype)

    def visit_NonNullLiteral(self, op: Any, *, value: Any, dtype: Any) -> Any:
        """Times to the microsecond: Ibis would pass seconds as a float."""
        if dtype.is_time():
            return self.cast(sge.convert(value.isoformat()), idt.time)
        return super().visit_NonNullLiteral(op, value=value, dtype=dtype)

    def visit_Cast(self, op: Any, *, arg: Any, to: Any) -> Any:
        """Truth values become numbers by way of the one type that the server casts them to."""
        if op.arg.dtype.is_boolean() and to.is_numeric():
            return self.cast(self.cast(arg, idt.int32), to)
        return super().visit_Cast(op, arg=arg, to=to)

    def visit_SortKey(self, op: Any, *, arg: Any, ascending: bool, nulls_first: bool) -> Any:
        """Text in the order of its bytes."""
        held = _bytewise(arg) if op.arg.dtype.is_string() else arg
        return super().visit_SortKey(op, arg=held, ascending=ascending, nulls_first=nulls_first)


def _comparing(name: str) -> Any:
    def visit(self: Exact, op: Any, *, left: Any, right: Any) -> Any:
        """Text in the order of its bytes."""
        held = _bytewise(left) if op.left.dtype.is_string() else left
        return getattr(PostgresCompiler, name)(self, op, left=held, right=right)

    return visit


def _within_brackets(name: str, part: str) -> Any:
    def visit(self: Exact, op: Any, **parts: Any) -> Any:
        """In brackets, and of what is in brackets: Ibis leaves out some that are needed."""
        held = parts | {part: sge.paren(parts[part], copy=False)}
        return sge.paren(getattr(PostgresCompiler, name)(self, op, **held), copy=False)

    return visit


for _name in (
    "visit_Not",
    "visit_IsNull",
    "visit_NotNull",
    "visit_InValues",
    "visit_StringSQLLike",
):
    _part = "value" if _name == "visit_InValues" else "arg"
    setattr(Exact, _name, _within_brackets(_name, _part))
for _name in ("visit_Less", "visit_LessEqual", "visit_Greater", "visit_GreaterEqual"):
    setattr(Exact, _name, _comparing(_name))


def _bytewise(part: Any) -> Any:
    name = sg.to_identifier("C", quoted=True)
    return sge.paren(sge.Collate(this=sge.paren(part, copy=False), expression=name), copy=False)
