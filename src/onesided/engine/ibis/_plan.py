"""What a table of Ibis is made of: steps that give the same rows whenever they are taken."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import ibis
import ibis.expr.operations as ops
import narwhals as nw
import numpy as np
import pyarrow as pa

from onesided.engine._keys import plain
from onesided.engine._protocol import Column
from onesided.errors import DataError

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
        kind = _arrow_type(types.get(name))
        if kind is None and isinstance(column, np.ndarray) and column.dtype.kind in "biuf":
            kind = pa.from_numpy_dtype(column.dtype)  # also where there is no row to tell it by
        made[name] = pa.array(list(map(plain, column)), type=kind)
    return pa.table(made)


def _arrow_type(kind: nw.dtypes.DType | None) -> Any:
    if isinstance(kind, nw.Datetime):
        return pa.timestamp("us", tz=kind.time_zone)
    kinds = {
        nw.Int64: pa.int64(),
        nw.Int32: pa.int32(),
        nw.Int16: pa.int16(),
        nw.String: pa.string(),
        nw.Boolean: pa.bool_(),
        nw.Date: pa.date32(),
    }
    return kinds.get(type(kind))  # type: ignore[arg-type] # None has no type there
