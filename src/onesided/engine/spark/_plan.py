"""What narwhals leaves open on PySpark: which tables can be read, SQL, and small public tables.

pyspark is imported inside functions: whoever has a Spark table has loaded it already.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from onesided.errors import DataError

# Steps that give the same rows each time, whoever runs them.
_STEPS: Final = frozenset(
    re.findall(
        r"\w+",
        """
    Project Filter SubqueryAlias View LogicalRDD LogicalRelation LocalRelation Range RelationV2
    DataSourceV2Relation HiveTableRelation InMemoryRelation OneRowRelation Join Union Sort Aggregate
    Expand Window Generate Repartition RepartitionByExpression RebalancePartitions ResolvedHint
    WithCTE CTERelationDef CTERelationRef Except Intersect Distinct
    """,
    )
)
# Expressions that go by the row's values alone, and aggregates that go by no order of rows.
_EXPRESSIONS: Final = frozenset(
    re.findall(
        r"\w+",
        """
    Alias AttributeReference OuterReference Literal Cast SortOrder Add Subtract Multiply
    Divide IntegralDivide Remainder Pmod UnaryMinus UnaryPositive Abs Round BRound Ceil Floor
    RoundCeil RoundFloor Sqrt Exp Log Log10 Log2 Pow Signum Greatest Least EqualTo
    EqualNullSafe LessThan LessThanOrEqual GreaterThan GreaterThanOrEqual And Or Not In InSet
    IsNull IsNotNull IsNaN Coalesce NaNvl NullIf CaseWhen If Between Like RLike StartsWith
    EndsWith Contains Upper Lower Concat ConcatWs Length Substring Left Right StringTrim
    StringTrimLeft StringTrimRight StringLPad StringRPad StringReplace StringSplit
    StringLocate RegExpReplace RegExpExtract Md5 Sha1 Sha2 XxHash64 Murmur3Hash Crc32 Hex
    Unhex Base64 UnBase64 Encode Decode Year Quarter Month WeekOfYear WeekDay DayOfWeek
    DayOfMonth DayOfYear Hour Minute Second DateAdd DateSub DateDiff AddMonths LastDay
    TruncDate TruncTimestamp MakeDate MakeTimestamp TimestampAdd TimestampDiff DateAddInterval
    TimeAdd TimestampAddInterval GetTimestamp ParseToDate ParseToTimestamp UnixTimestamp
    ToUnixTimestamp FromUnixTime FromUTCTimestamp ToUTCTimestamp DateFormatClass
    PreciseTimestampConversion TimeWindow CreateNamedStruct CreateArray CreateMap
    GetStructField GetArrayItem GetArrayStructFields GetMapValue ElementAt Size ArrayContains
    Explode PosExplode Inline MapKeys MapValues StructsToJson JsonToStructs GetJsonObject
    InSubquery ListQuery Exists ScalarSubquery BitwiseAnd BitwiseOr BitwiseXor BitwiseNot
    ShiftLeft ShiftRight WindowExpression WindowSpecDefinition SpecifiedWindowFrame CurrentRow
    UnboundedPreceding UnboundedFollowing Rank DenseRank
    AggregateExpression Count Sum Min Max Average StddevSamp StddevPop VarianceSamp
    VariancePop BoolAnd BoolOr Percentile PivotFirst Collate ResolvedCollation ToVariantObject
    VariantGet
    """,
    )
)
_PICKING: Final = frozenset(["GlobalLimit", "LocalLimit", "Offset", "Tail", "Sample"])
_WHOLE: Final = ("UnboundedPreceding", "UnboundedFollowing")
# What a plan of Spark's prints for text that is not compared byte by byte.
_COLLATED: Final = " collate "


def refuse_unreadable(native: Any) -> None:
    """Refuse tables that would be read differently each time, or whose columns clash.

    Errors: DataError with the reason.
    """
    if native.isStreaming:
        raise DataError(
            "This table is a stream: it has no end, so nothing can be counted in it.",
            hint="Read a finished part of it with spark.read, or use onesided.Monitor for batches.",
        )
    cause = _instability(native)
    if cause:
        raise DataError(
            f"This table is computed by {cause}, which can give other rows each time.",
            hint="A question reads the table more than once. Write it to files first, or call "
            "its checkpoint().",
        )
    seen: set[str] = set()
    for column in native.schema:
        _refuse_column(column, seen)
        seen.add(column.name.lower())


def _instability(native: Any) -> str | None:
    """What in a table's plan may give other rows when it is read once more."""
    plan = _plan(native)
    if not plan.deterministic():
        return "functions such as rand()"
    if _asks_now(native):
        return "functions such as current_timestamp()"
    subqueries = plan.subqueriesAll()
    left = [plan, *_parts(subqueries)]
    while left:
        node = left.pop()
        name: str = node.nodeName().split(" ")[0]
        if name == "Deduplicate":
            # One of the rows that agree in some columns, whichever is met first. Spark ignores
            # capitals in their names, and counts a column twice that is named twice.
            keys, output = (
                {str(part.exprId()) for part in _parts(columns)}
                for columns in (node.keys(), node.output())
            )
            if keys != output:
                return "dropDuplicates() on some columns"
        elif name not in _STEPS:
            return "limit(), sample() or offset()" if name in _PICKING else name
        odd = _odd_expression(node)
        if odd:
            return odd
        left.extend(_parts(node.children()))
    return None


def _odd_expression(node: Any) -> str | None:
    """An expression of a step that is not of the list."""
    left = list(_parts(node.expressions()))
    while left:
        part = left.pop()
        kind = _class(part)
        if kind not in _EXPRESSIONS:
            return kind
        if kind == "WindowExpression" and _goes_by_order(part):
            return "a window over rows in an order"
        left.extend(_parts(part.children()))
    return None


def _goes_by_order(window: Any) -> bool:
    """Whether it adds up some rows before or after each, which tie as they arrive."""
    if _class(window.windowFunction()) != "AggregateExpression":
        return False
    frame = window.windowSpec().frameSpecification()
    whole = (_class(frame.lower()), _class(frame.upper())) == _WHOLE
    return _class(frame.frameType()) == "RowFrame" and not whole


def _class(part: Any) -> str:
    name: str = part.getClass().getSimpleName()
    return name.rstrip("$")


def _parts(sequence: Any) -> Iterator[Any]:
    """What is in a sequence of Scala's."""
    return (sequence.apply(place) for place in range(sequence.size()))


def _asks_now(native: Any) -> bool:
    """Whether a plan asks for the time, or for who asks: Spark calls that deterministic."""
    patterns = native.sparkSession._jvm.org.apache.spark.sql.catalyst.trees.TreePattern  # noqa: SLF001
    return bool(_plan(native).containsPattern(patterns.CURRENT_LIKE()))


def _refuse_column(column: Any, seen: set[str]) -> None:
    name, kind = column.name, column.dataType.simpleString()
    if "." in name or "`" in name:
        reason, hint = "has a name with a dot or a backtick", "Rename it."
    elif name.lower() in seen:
        reason, hint = "has the name of another one", "Rename it: Spark ignores capitals."
    elif name.lower().startswith("onesided_"):
        reason = "is named like one of ours"
        hint = "Rename it: names that begin with onesided_ are taken."
    elif _COLLATED in kind:
        reason = f"holds {kind}, in which texts that differ count as equal"
        hint = "Keys are told apart byte by byte: use collate(column, 'UTF8_BINARY')."
    else:
        return
    raise DataError(f"The column {name!r} {reason}.", hint=hint, column=name)


def _plan(native: Any) -> Any:
    return native._jdf.queryExecution().analyzed()  # noqa: SLF001 - there is no public way
