# ruff: noqa: N802 - Ibis names its methods by what they visit
"""SQL of Ibis for PostgreSQL that rounds nothing and leaves out no bracket."""

from __future__ import annotations

from itertools import chain
from typing import Any, Final

import ibis.expr.datatypes as idt
import ibis.expr.operations as ops
import sqlglot as sg
import sqlglot.expressions as sge
from ibis.backends.sql.compilers import PostgresCompiler

_ORDERS: Final = (ops.Less, ops.LessEqual, ops.Greater, ops.GreaterEqual)
_BRACKETED: Final = (ops.Not, ops.IsNull, ops.NotNull, ops.InValues, ops.StringSQLLike)


class Exact(PostgresCompiler):  # type: ignore[misc] # of which mypy knows nothing
    """Ibis's own SQL for PostgreSQL, exact where Ibis leaves it to the server's types."""

    __slots__ = ()

    def visit_Written(self, op: Any, *, columns: Any, texts: Any) -> Any:  # noqa: ARG002
        """It stays text: the deeper trees nest, the deeper sqlglot calls itself."""
        told = (f"({column.copy().sql(dialect='postgres')})" for column in columns)
        made = "".join(chain.from_iterable(zip(texts, (*told, ""), strict=True)))
        return sge.paren(sge.Var(this=made), copy=False)

    def visit_node(self, op: Any, **parts: Any) -> Any:
        """Text in the order of its bytes; and brackets, of which Ibis leaves out some."""
        if isinstance(op, _ORDERS) and op.left.dtype.is_string():
            parts = {name: _bytewise(part) for name, part in parts.items()}
        if not isinstance(op, _BRACKETED):
            return super().visit_node(op, **parts)
        first = op.__argnames__[0]
        held = parts | {first: sge.paren(parts[first], copy=False)}
        return sge.paren(super().visit_node(op, **held), copy=False)

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


def _bytewise(part: Any) -> Any:
    name = sg.to_identifier("C", quoted=True)
    return sge.paren(sge.Collate(this=sge.paren(part, copy=False), expression=name), copy=False)
