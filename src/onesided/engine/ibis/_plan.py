"""What a table of Ibis is made of: steps that give the same rows whenever they are taken."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import ibis.expr.operations as ops

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
