# ruff: noqa: N802 - Ibis names its methods by what they visit
"""Tables of Ibis, in the warehouses that were tried."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NoReturn

import ibis
import ibis.expr.datashape as ds
import ibis.expr.datatypes as idt
import ibis.expr.operations as ops
import narwhals as nw
import numpy as np
import psycopg
import pyarrow as pa
import sqlglot as sg
import sqlglot.expressions as sge
from ibis.backends.sql.compilers import PostgresCompiler
from numpy.typing import NDArray
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from onesided import schema
from onesided.conditions import Scalar
from onesided.engine._keys import plain
from onesided.engine._protocol import Column, Engine, KeyTypes, Lazy, Taking, Words, places_of
from onesided.engine._snapshot import Draw, Keeping, Samples, Subject
from onesided.engine._sql import CAPITALS, NAMED, SqlTerms
from onesided.engine.duckdb._engine import Caller, relation_engine
from onesided.errors import ConditionError, DataError, SchemaError, first_line
from onesided.schema import Reading

# Conditions as PostgreSQL's SQL, SQL of Ibis that rounds nothing, and Ibis over DuckDB.

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


# What a table of Ibis is made of: steps that give the same rows whenever they are taken.

_STEPS: Final = frozenset(
    re.findall(
        r"\w+",
        """
    DatabaseTable InMemoryTable Project Filter DropColumns DropNull FillNull Sort Distinct Union
    Intersection Difference SelfReference JoinTable JoinReference JoinLink JoinChain Aggregate
    Reference Field SortKey Alias Literal Cast TryCast
    Add Subtract Multiply Divide FloorDivide Modulus Negate Abs Sign Ceil Floor Round Greatest Least
    Equals NotEquals Less LessEqual Greater GreaterEqual IdenticalTo Between And Or Xor Not
    InValues InSubquery ExistsSubquery NotExistsSubquery IsNull NotNull IsNan IsInf NullIf Coalesce
    SearchedCase SimpleCase IfElse
    Lowercase Uppercase StringLength Strip LStrip RStrip Substring StrRight StringConcat StringJoin
    StringReplace StringContains StartsWith EndsWith StringSQLLike StringSQLILike RegexSearch
    RegexReplace RegexExtract Translate LPad RPad Reverse StringFind
    ExtractYear ExtractQuarter ExtractMonth ExtractDay ExtractDayOfYear ExtractHour ExtractMinute
    ExtractSecond ExtractEpochSeconds DayOfWeekIndex Date Time DateTruncate TimestampTruncate
    DateAdd DateSub DateDiff TimestampAdd TimestampSub TimestampDiff IntervalFromInteger
    DateFromYMD TimestampFromYMDHMS TimestampFromUNIX
    Count CountStar CountDistinct Sum Min Max Mean Any All
    """,
    )
)
# Of rows that tie, other joins take any one.
_JOINS: Final = frozenset(["inner", "left", "right", "outer", "semi", "anti", "cross"])


def refuse_unrepeatable(native: Any) -> Sequence[Any]:
    """The stored tables that a table of Ibis is made of.

    Errors: DataError for a step that may give other rows the next time, such as a limit, a sample,
    a window, the time of day, a random number, SQL text or a function of somebody's own.
    """
    found = []
    for node in native.op().find(ops.Node):
        name = type(node).__name__
        if isinstance(node, ops.DatabaseTable):
            found.append(node)
            continue
        if isinstance(node, ops.JoinLink) and node.how not in _JOINS:
            name = f"a join of kind {node.how!r}"
        elif name in _STEPS:
            continue
        raise DataError(
            f"This table of Ibis is computed by {name}, of which it is not known that it gives "
            "the same rows each time.",
            hint="A question reads the table more than once. Write it to a table of the "
            "warehouse first.",
            step=name,
        )
    return found


# Public values beside the rows: as digits on the way in, as a table in memory on the way out.

_ROW: Final = "onesided_spelt"
# Between rows, and between the values of one: in no number, no date and no hexadecimal text.
_ROWS: Final = ";"
_VALUES: Final = ","


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator] # the server's own
def decode(text: str, kind: str) -> bytes:  # type: ignore[empty-body]
    """The bytes that digits stand for."""


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator] # the server's own
def convert_from(held: bytes, encoding: str) -> str:  # type: ignore[empty-body]
    """The text that bytes stand for."""


def spelt(columns: Mapping[str, Column], types: Mapping[str, Any]) -> Any:
    """Public columns as a table of Ibis that needs nothing in the warehouse, not even a place.

    They travel as one literal of digits: text as the hexadecimal digits of its UTF-8, so that no
    word of anybody's gets into SQL. What no column of text can hold is null, and in no group.
    types: of those columns that are to have one of the warehouse's.
    """
    lists = {name: list(map(plain, column)) for name, column in columns.items()}
    kinds = {name: types.get(name) or _kind_of(values) for name, values in lists.items()}
    rows = zip(*(map(_digits, values) for values in lists.values()), strict=True)
    literal = ibis.literal(_ROWS.join(map(_VALUES.join, rows)), "string")
    table = literal.split(_ROWS).unnest().name(_ROW).as_table()
    made = {}
    for place, (name, kind) in enumerate(kinds.items()):
        digits = table[_ROW].split(_VALUES)[place].nullif("")
        if kind.is_string():
            # A first digit that means nothing: text without a letter is no null.
            made[name] = convert_from(decode(digits.substr(1), "hex"), "UTF8")
        else:
            made[name] = digits.cast(kind)
    return table.select(**made)


def _digits(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return "" if "\0" in value else "x" + value.encode().hex()
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, dt.date) else str(value)


def _kind_of(values: Sequence[Any]) -> Any:
    first: Any = next((value for value in values if value is not None), 0)
    if isinstance(first, dt.datetime):
        return ibis.dtype("timestamp('UTC')" if first.tzinfo else "timestamp")
    kinds = ((bool, "boolean"), (int, "int64"), (float, "float64"), (dt.date, "date"))
    return ibis.dtype(next((kind for made, kind in kinds if isinstance(first, made)), "string"))


def ibis_type(dtype: nw.dtypes.DType) -> Any:
    """Ibis's type for public values that meet a column; None where their own will do."""
    if isinstance(dtype, nw.Datetime):
        return ibis.dtype("timestamp" if dtype.time_zone is None else "timestamp('UTC')")
    kinds = {nw.Int64: "int64", nw.String: "string", nw.Boolean: "boolean", nw.Date: "date"}
    name = kinds.get(type(dtype))
    return name and ibis.dtype(name)


def as_arrow(columns: Mapping[str, Column], types: Mapping[str, nw.dtypes.DType]) -> pa.Table:
    """Values as a table of PyArrow, which Ibis needs itself; ``types`` of those that have one."""
    made = {}
    for name, column in columns.items():
        kind, told = None, types.get(name)
        if isinstance(told, nw.Datetime):
            kind = pa.timestamp("us", tz=told.time_zone)
        elif told is not None:
            kind = _ARROW.get(type(told))
        if kind is None and isinstance(column, np.ndarray) and column.dtype.kind in "biuf":
            kind = pa.from_numpy_dtype(column.dtype)  # also where there is no row to tell it by
        made[name] = pa.array(list(map(plain, column)), type=kind)
    return pa.table(made)


_ARROW: Final[Mapping[Any, Any]] = {
    nw.Int64: pa.int64(),
    nw.Int32: pa.int32(),
    nw.Int16: pa.int16(),
    nw.String: pa.string(),
    nw.Boolean: pa.bool_(),
    nw.Date: pa.date32(),
}


# PostgreSQL through Ibis: SQL that rounds nothing, in one transaction for a question.


# By the server's own numbers, which types columns may have; a domain is told as what it is made of.
_TYPES: Final = frozenset([16, 20, 21, 23, 25, 700, 701, 1043, 1082, 1083, 1114, 1184, 1700])


# Whoever may make functions in a schema of the caller's path could make one that is taken for the
# server's own, such as = for two varchar. So they are looked up there alone, and tables by their
# full names.
_OWN: Final = "SET TRANSACTION READ ONLY; SET LOCAL search_path TO pg_catalog"
_PATH: Final = "SELECT pg_catalog.set_config('search_path', %s, true)"
_OWN_PATH: Final = "SELECT pg_catalog.current_setting('search_path')"
# The schema of a table by its name, what it is, and whether it shows other rows than it holds.
_RELATION: Final = """
WITH RECURSIVE found AS (
    SELECT c.oid, c.relkind, n.nspname
    FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
    WHERE c.oid = pg_catalog.to_regclass(CASE WHEN %(space)s::text IS NULL
        THEN pg_catalog.format('%%I', %(name)s::text)
        ELSE pg_catalog.format('%%I.%%I', %(space)s::text, %(name)s::text) END)
), parts AS (
    SELECT oid FROM found
    UNION SELECT i.inhrelid FROM pg_catalog.pg_inherits AS i JOIN parts AS p ON i.inhparent = p.oid
)
SELECT nspname, relkind::text, pg_catalog.row_security_active(oid), EXISTS (
    SELECT FROM parts AS p JOIN pg_catalog.pg_class AS c ON c.oid = p.oid
    WHERE c.relkind NOT IN ('r', 'p', 'm')
) FROM found
"""

_COMPILER: Final = Exact()


class Postgres:
    """A server, by the connection of a table's own backend.

    refused: columns that may not be used, with what they hold.
    """

    refused: Mapping[str, str]

    def __init__(self, backend: Any, native: Any) -> None:
        self._backend = backend
        backend._run_pre_execute_hooks(native)  # noqa: SLF001 - tables in memory are handed over
        self._named = {one: self._in_full(one) for one in refuse_unrepeatable(native)}
        # Text must be Unicode, and a backslash in it a letter like any other.
        wanted = {"server_encoding": "UTF8", "standard_conforming_strings": "on"}
        for name, value in wanted.items():
            ((held,),) = self._asked("SELECT current_setting(%s)", [name])
            if held != value:
                raise DataError(
                    f"The server has {name} = {held}, with which text is read in another way.",
                    hint=f"Set it to {value}.",
                    setting=name,
                )
        # Refuse versions of Ibis and its parser of which public keys do not arrive as they are.
        keys: dict[str, Column] = {
            "a": ["o'é;", "", None],
            "b": np.array([-(2**63), 0, 7]),
            "c": [True, False, None],
        }
        found = self.rows(spelt(keys, {}).order_by("b"))
        if found != [("o'é;", -(2**63), True), ("", 0, False), (None, 7, None)]:
            raise DataError(
                "These versions of Ibis and sqlglot write SQL that PostgreSQL reads otherwise.",
                hint="pip install --upgrade ibis-framework sqlglot",
            )
        self.refused = self._refused(self.settled(native))

    def settled(self, native: Any) -> Any:
        """The table as questions read it, whatever is set later: names in full, NaN unknown."""
        table = native.op().replace(self._named).to_expr()
        odd = ibis.literal("NaN")
        made = {
            name: table[name].nullif(odd.cast("decimal" if kind.is_decimal() else kind))
            for name, kind in table.schema().items()
            if kind.is_decimal() or kind.is_floating()
        }
        return table.mutate(**made)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Within, every statement finds the same stored rows. Errors: DataError."""
        connection = self._backend.con
        with _answering(), connection.cursor(row_factory=tuple_row) as cursor:
            if connection.info.transaction_status == TransactionStatus.INTRANS:
                ((held,),) = cursor.execute("SHOW transaction_isolation").fetchall()
                if held not in ("repeatable read", "serializable"):
                    raise DataError(
                        "The connection is in a transaction of its own, with isolation level "
                        f"{held!r}: each statement may find other rows.",
                        hint="Commit it before the question, or begin it with ISOLATION LEVEL "
                        "REPEATABLE READ.",
                    )
                yield
                return
            with connection.transaction():
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
                yield

    def rows(self, table: Any) -> list[tuple[Any, ...]]:
        """The rows of a table of Ibis: aggregates, or groups, never anybody's own."""
        return self._asked(written(table))

    def refuse_collated(self, table: Any, names: Sequence[str]) -> None:
        """Refuse columns of text in which different words count as equal. Errors: DataError."""
        schema = table.schema()
        for name in names:
            if name not in schema or not schema[name].is_string():
                continue
            column = sg.column(name, quoted=True).sql("postgres")
            probe = (
                f"SELECT bool_and(c.collisdeterministic) FROM pg_catalog.pg_collation AS c "  # noqa: S608 - quoted
                f"JOIN (SELECT pg_collation_for(x) AS told FROM (SELECT {column} AS x FROM "
                f"({written(table)}) AS onesided_rows WHERE false UNION ALL SELECT NULL) AS t) "
                "AS f ON c.oid = f.told::regcollation"
            )
            ((plain,),) = self._asked(probe)
            if not plain:
                raise DataError(
                    f"The column {name!r} has a collation, in which texts that differ count as "
                    "equal.",
                    hint="Keys are told apart byte by byte: give the column a collation that is "
                    "deterministic.",
                    column=name,
                )

    def _asked(self, text: str, values: Sequence[Any] | None = None) -> list[tuple[Any, ...]]:
        """Rows of one statement, in a transaction that may only read."""
        with self._reading() as cursor:
            return list(cursor.execute(text, values).fetchall())

    @contextmanager
    def _reading(self, *, named: bool = False) -> Iterator[Any]:
        """A transaction that may only read; named: which also finds tables on the caller's path."""
        connection = self._backend.con
        inside = connection.info.transaction_status == TransactionStatus.INTRANS
        with (
            _answering(),
            connection.cursor(row_factory=tuple_row) as cursor,
            connection.transaction(),
        ):
            path = ""
            if inside or named:
                ((path,),) = cursor.execute(_OWN_PATH).fetchall()
            cursor.execute(_OWN)
            if named and path:
                cursor.execute(_PATH, [f"pg_catalog, {path}"])
            yield cursor
            if inside:  # of the caller's own transaction, which goes on with the caller's path
                cursor.execute(_PATH, [path])

    def _refused(self, native: Any) -> Mapping[str, str]:
        """Columns of types that are not of the list, by the server's own word."""
        text = f"SELECT * FROM ({written(native)}) AS onesided_rows LIMIT 0"  # noqa: S608 - Ibis's own
        with self._reading() as cursor:
            described = cursor.execute(text).description or ()
        odd = {column.name: column.type_code for column in described}
        odd = {name: number for name, number in odd.items() if number not in _TYPES}
        named = {
            number: self._asked("SELECT format_type(%s, NULL)", [number])[0][0]
            for number in set(odd.values())
        }
        return {name: named[number] for name, number in odd.items()}

    def _in_full(self, relation: Any) -> Any:
        """A stored table by its full name.

        Errors: DataError for a view, or a table elsewhere, which may give other rows each time;
        and for one of which a policy of the server's shows some rows alone.
        """
        space = relation.namespace.database
        given = {"space": space, "name": relation.name}
        with self._reading(named=True) as cursor:
            found = cursor.execute(_RELATION, given).fetchall()
        (held, kind, hidden, elsewhere) = found[0] if found else (None, None, False, False)
        if kind not in ("r", "p", "m") or elsewhere:
            raise DataError(
                f"{relation.name} is no stored table of this database, or a part of it is none, so "
                "it may give other rows each time.",
                hint="A question reads the table more than once. Name the tables that a view is "
                "made of, or make it a materialized view.",
                table=relation.name,
            )
        if hidden:
            raise DataError(
                f"A row security policy decides which rows of {relation.name} this role sees, and "
                "it may decide otherwise the next time.",
                hint="A question reads the table more than once. Read it as a role that sees all "
                "rows, or copy the rows into a table of their own.",
                table=relation.name,
            )
        whole = ops.Namespace(catalog=relation.namespace.catalog, database=held)
        return relation.copy(namespace=whole)


def written(table: Any) -> str:
    """The SQL of a table of Ibis.

    A copy is written: the generator changes what it writes, and Ibis shares parts of it.
    """
    return str(_COMPILER.to_sqlglot(table).copy().sql(dialect="postgres"))


@contextmanager
def _answering() -> Iterator[None]:
    """Errors: DataError for whatever the server says, or where it can no longer be reached."""
    try:
        yield
    except psycopg.Error as error:
        raise DataError(
            f"The warehouse could not be read: {first_line(error)}",
            hint="Nothing was drawn. Connect again and ask again: what was charged before stays "
            "charged, and is answered under its id.",
            sqlstate=error.sqlstate,
        ) from error


# Which warehouse a table of Ibis lies in, and how it is read there.


def open_table(native: Any) -> Engine:
    """The table in its warehouse. Errors: DataError for one that was never tried."""
    backend = native.get_backend()
    if backend.name == "duckdb":
        # The relation behind the table, in DuckDB's own room; answers are tables of Ibis.
        backend._run_pre_execute_hooks(native)  # noqa: SLF001 - tables in memory are handed over
        engine = relation_engine(backend.con.sql(backend.compile(native)))
        engine.caller = IbisCaller(backend)
        return engine
    if backend.name == "postgres":
        return WarehouseEngine(native, Postgres(backend, native))
    raise DataError(
        f"This table of Ibis lies in {backend.name}, where the answers were never compared with "
        "those of the other engines.",
        hint="Tables of Ibis in DuckDB and PostgreSQL are read. Write this one to Parquet files, "
        "and read those with DuckDB, Polars or Spark.",
        warehouse=backend.name,
    )


# A table in a warehouse: questions become expressions of Ibis, and run where the rows are.

_RANK = "onesided_rank"


class WarehouseEngine(Engine):
    """native: a table of Ibis, of which rows never leave the warehouse."""

    packs = False

    def __init__(self, native: Any, warehouse: Postgres) -> None:
        self.warehouse = warehouse
        self._native = warehouse.settled(native)
        self.types = dict(nw.from_native(self._native).collect_schema())
        self.refused = warehouse.refused

    @contextmanager
    def snapshot(self, columns: Sequence[str], how: Taking) -> Iterator[Lazy]:
        """Rows stay where they are: all that is asked within is asked in one transaction.

        Samples are refused, and so is text that is read as another type.
        """
        places = places_of(len(columns))
        made = {place: self._known(name) for name, place in zip(columns, places, strict=True)}
        taken = self._native.select(**(made or {"c0": ibis.literal(1)}))
        with self.warehouse.reading() if how.rows else nullcontext():
            yield nw.from_native(taken if how.rows else taken.limit(0))

    def _known(self, name: str) -> Any:
        """A column, in which words for no value are null."""
        held, one = self._native[name], self.readings.get(name)
        if one is None or not one.missing:
            return held
        return held.notin(one.missing).ifelse(held, ibis.null("string"))

    def read_as(self, readings: Mapping[str, Reading]) -> None:
        for name, one in readings.items():
            if one.kind != "text":
                raise SchemaError(
                    f"The schema declares {name!r} as {one.kind}, but the warehouse holds text.",
                    hint="Text is not read as another type there: give the column its type in the "
                    "warehouse, or declare it as text.",
                    column=name,
                )
        self.readings = dict(readings)

    def refuse_collated(self, names: Sequence[str]) -> None:
        self.warehouse.refuse_collated(self._native, names)

    def distinct(self, frame: Lazy) -> Lazy:
        return nw.from_native(nw.to_native(frame).distinct())  # type: ignore[no-any-return]

    def small(self, columns: Mapping[str, Column], *, like: KeyTypes) -> Lazy:
        types = {name: kind for name, dtype in like.items() if (kind := ibis_type(dtype))}
        return nw.from_native(spelt(columns, types))  # type: ignore[no-any-return]

    def listed(self, rows: Lazy, keys: Mapping[str, Column], types: KeyTypes) -> Lazy:
        casts = [nw.col(name).cast(dtype) for name, dtype in types.items()]
        same, small = nw.to_native(rows.with_columns(casts)), nw.to_native(self.cast(keys, types))
        return nw.from_native(same.join(small, list(types)))  # type: ignore[no-any-return]

    def fetch(self, frame: Lazy) -> dict[str, NDArray[Any]]:
        found = self.lists(frame).items()
        return {n: np.array([int(one or 0) for one in held], dtype=np.int64) for n, held in found}

    def lists(self, frame: Lazy) -> dict[str, list[Any]]:
        names = frame.collect_schema().names()
        rows = self.warehouse.rows(nw.to_native(frame))
        return {name: [row[place] for row in rows] for place, name in enumerate(names)}

    def groups(self, frame: Lazy) -> nw.DataFrame[Any]:
        kinds = dict(frame.collect_schema())
        return nw.from_native(as_arrow(self.lists(frame), kinds), eager_only=True)

    def told(self, columns: Mapping[str, Column], types: KeyTypes, names: Sequence[str]) -> Any:
        return ibis.memtable(as_arrow(columns, types).rename_columns(list(names)))

    def with_hash(self, frame: Lazy, names: Sequence[str], hashed: str) -> Lazy:
        native: Any = nw.to_native(frame)
        first, *others = (native[name].cast("string") for name in names)
        for part in others:  # after its length: no two lists of texts make one
            first = first.length().cast("string") + ":" + first + part
        return nw.from_native(native.mutate(**{hashed: first.hash()}))  # type: ignore[no-any-return]

    def leading(self, rows: Lazy, unit: str, order: Sequence[str], *, most: int) -> Lazy:
        native: Any = nw.to_native(rows)
        place = ibis.row_number().over(group_by=unit, order_by=list(order))
        ranked = native.mutate(**{_RANK: place})
        return nw.from_native(ranked.filter(ranked[_RANK] < most).drop(_RANK))  # type: ignore[no-any-return]

    def words(self, native: Any) -> Words:
        schema = native.schema()
        return Words(
            held={name: str(kind) for name, kind in schema.items()},
            types={name: column_type(kind) for name, kind in schema.items()},
            terms=PostgresTerms(schema),
            add=lambda made, name: native.mutate(**{name: written_of(native, made)}),
            keep=lambda made: native.filter(written_of(native, made)),
        )

    def sampler(self, subject: Subject, samples: Samples, keeping: Keeping | None) -> Draw:
        del subject, samples, keeping
        raise DataError(
            "True records are not sampled in a warehouse: the rows would have to leave it.",
            hint="Ask for counts, or write the table to files and sample those with another "
            "engine. Nothing was drawn and nothing was recorded.",
        )
