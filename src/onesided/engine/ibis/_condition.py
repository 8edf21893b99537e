# ruff: noqa: N802 - Ibis names its methods by what they visit
"""Conditions as PostgreSQL's SQL, SQL of Ibis that rounds nothing, and Ibis over DuckDB."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NoReturn

import ibis
import ibis.expr.datashape as ds
import ibis.expr.datatypes as idt
import ibis.expr.operations as ops
import sqlglot as sg
import sqlglot.expressions as sge
from ibis.backends.sql.compilers import PostgresCompiler

from onesided import schema
from onesided.conditions import Scalar
from onesided.engine._sql import CAPITALS, NAMED, SqlTerms
from onesided.engine.duckdb._engine import Caller, DuckDBEngine, relation_engine
from onesided.errors import ConditionError

if TYPE_CHECKING:
    import pyarrow as pa

# Conditions as PostgreSQL's SQL: what the server computes exactly, and never stops at.

_EVERY: Final = 2**31 - 1
# Decimals beyond these ends are no float of 64 bits; the server would stop at them.
_LARGEST: Final = "17976931348623157" + "0" * 292
_SMALLEST: Final = "0." + "0" * 323 + "24703282292062328"
_PLACES: Final = 300
# In SQL of ours nothing but a text may hold a brace.
_COLUMN: Final = re.compile(r"'[^']*'|\{(\w+)\}")


def column_type(kind: Any) -> schema.Type | None:
    """What a column of a type of Ibis holds; None if conditions cannot look at it."""
    if kind.is_integer():
        return schema.bits(kind.nbytes * 8, signed=kind.is_signed_integer())
    if kind.is_timestamp():
        return schema.moment_type(zoned=kind.timezone is not None)
    plain = (
        (kind.is_boolean, schema.BOOLEAN),
        (kind.is_string, schema.TEXT),
        (kind.is_floating, schema.NUMBER),
        (kind.is_decimal, schema.NUMBER),
        (kind.is_date, schema.DATE),
        (kind.is_time, schema.TIME),
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

    def column(self, name: str, kind: schema.Type) -> str:
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

    def literal(self, value: Scalar, kind: schema.Type) -> str:
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
        return f"(CASE WHEN abs{made} <= {schema.LARGEST} THEN {made} END)" if checked else made

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

    def extract(self, unit: str, part: str, kind: schema.Type) -> str:
        held = f"timezone('UTC', {part})" if kind.zoned else part
        return self.long(f"floor(EXTRACT({unit} FROM {held}))")

    def midnight(self, part: str, kind: schema.Type) -> str:
        moment = f"CAST({part} AS TIMESTAMP)"
        return f"timezone('UTC', {moment})" if kind.zoned else moment

    def finer(self, part: str, kind: schema.Type) -> str:  # noqa: ARG002
        return part  # no moments are finer than a microsecond

    def later(self, part: str, amount: int, kind: schema.Type) -> str:
        if kind.kind == "date":
            return f"({part} + CAST('{amount}' AS INTEGER))"
        sign = "-" if amount < 0 else ""
        return f"({part} + CAST('{sign}{schema.clock_text(abs(amount))}' AS INTERVAL))"


# SQL of Ibis for PostgreSQL that rounds nothing and leaves out no bracket.

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


# Ibis over DuckDB: the relation behind the table, in DuckDB's own room.


def duckdb_engine(native: Any, backend: Any) -> DuckDBEngine:
    """The table as a relation on its own connection, and answers as tables of Ibis.

    Errors: as those of a relation.
    """
    backend._run_pre_execute_hooks(native)  # noqa: SLF001 - tables in memory are handed to DuckDB
    engine = relation_engine(backend.con.sql(backend.compile(native)))
    engine.caller = IbisCaller(backend)
    return engine


class IbisCaller(Caller):
    """A table of Ibis: what goes back is a table in memory, of public values or of kept rows.

    backend: held, because DuckDB closes a connection that nobody holds.
    """

    def __init__(self, backend: Any) -> None:
        self._backend = backend

    def read_as(self, names: Iterable[str]) -> None:
        """Samples have the types that they were read as."""

    def answer(self, relation: Any, names: Sequence[str]) -> Any:
        return ibis.memtable(relation.to_arrow_table().rename_columns(list(names)))

    def sample(self, table: pa.Table) -> Any:
        return ibis.memtable(table)
