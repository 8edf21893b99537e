"""What narwhals leaves open on PySpark: which tables can be read, SQL, and small public tables.

pyspark is imported inside functions: whoever has a Spark table has loaded it already.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import narwhals as nw
import numpy as np

from onesided.engine._rowwise import sql_suspect
from onesided.errors import DataError, PolicyError

# Steps of a plan that pick rows by where they stand, which no engine promises to repeat.
_PICKING: Final = frozenset(["GlobalLimit", "LocalLimit", "Offset", "Tail", "Sample"])
# What a plan of Spark's prints for text that is not compared byte by byte.
_COLLATED: Final = " collate "
# Text and names, told apart in one pass as Spark itself does it.
_TOKENS: Final = re.compile(r"'(?:[^']|'')*'|`(?:[^`]|``)*`")


def refuse_unreadable(native: Any, kind: nw.Implementation) -> None:
    """Refuse tables that would be read differently each time, or whose columns clash.

    Errors: DataError with the reason.
    """
    if not kind.is_pyspark():
        raise DataError(
            f"Tables of {kind.value} cannot be read.",
            hint="Use a session of Spark itself (not Spark Connect): "
            "SparkSession.builder.master(...).",
        )
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
    left = [plan, *(subqueries.apply(place) for place in range(subqueries.size()))]
    while left:
        node = left.pop()
        name, children = node.nodeName(), node.children()
        if name in _PICKING or (
            # One of the rows that agree in some columns, whichever is met first.
            name == "Deduplicate" and node.keys().size() < node.output().size()
        ):
            return "limit(), sample(), or dropDuplicates() on some columns"
        left.extend(children.apply(place) for place in range(children.size()))
    return None


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


def distinct(frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """Each row once; narwhals would number them in a window, which cannot be added up early."""
    return nw.from_native(nw.to_native(frame).distinct())  # type: ignore[no-any-return]


def rows(native: Any) -> list[tuple[Any, ...]]:
    """All rows of a table of aggregates."""
    return [tuple(row) for row in native.collect()]


def with_sql(native: Any, text: str, name: str) -> Any:
    """Add a column computed by Spark's own SQL. Errors: PolicyError if it may see other rows."""
    from pyspark.sql import functions as sql  # noqa: PLC0415 - loaded already

    _require_rowwise_text(text)
    return native.withColumn(name, sql.expr(text))


def require_rowwise(before: Any, after: Any, text: str) -> None:
    """Refuse a new column of which Spark's own plan does not say that it looks at one row.

    ``after`` must be a projection of ``before``, with neither windows nor subqueries, that gives
    the same each time. Errors: PolicyError.
    """
    plan = _plan(after)
    if (
        plan.nodeName() != "Project"
        or not plan.child().sameResult(_plan(before))
        or not plan.subqueriesAll().isEmpty()
        or not plan.deterministic()
        or _asks_now(after)
    ):
        raise _beyond_the_row(text, "something")


def _require_rowwise_text(text: str) -> None:
    """The check of words once more, with text and names told apart as Spark does it.

    In Spark "..." is text and a backslash may hide a quote, so that what looks like text could be
    a function call. Errors: PolicyError.
    """
    bare = _TOKENS.sub(_blank, text)
    for mark in ("\\", '"'):
        if mark in (text if mark == "\\" else bare):
            raise PolicyError(
                f"The condition {text!r} uses {mark}, which Spark reads in a way of its own.",
                hint="Write text in 'single quotes', twice '' for a quote, and names in "
                "`backticks`; or write a narwhals expression.",
                word=mark,
            )
    found = sql_suspect(bare)
    if found:
        raise _beyond_the_row(text, found)


def _blank(found: re.Match[str]) -> str:
    return {"'": "''", "`": " quoted "}[found[0][0]]


def _beyond_the_row(text: str, word: str) -> PolicyError:
    return PolicyError(
        f"The condition {text!r} uses {word!r}, which is not known to look at one row alone.",
        hint="A condition about other rows would let one person's data decide how another is "
        "treated. Compute the column first, from public facts, or use plain comparisons, "
        "without comments.",
        word=word,
    )


def small(native: Any, columns: Mapping[str, Sequence[Any]], *, like: Sequence[str]) -> Any:
    """A public table in the session of ``native``; columns in ``like`` take the data's types."""
    from pyspark.sql import types  # noqa: PLC0415 - loaded already

    fields = []
    for name, values in columns.items():
        kind = native.schema[name].dataType if name in like else _type_of(values)
        wide = types.LongType() if isinstance(kind, types.IntegralType) else kind
        fields.append(types.StructField(name, wide))
    plain = ([_plain(value) for value in values] for values in columns.values())
    return native.sparkSession.createDataFrame(
        list(zip(*plain, strict=True)), types.StructType(fields)
    )


def for_join(frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """A small public table that every executor gets whole: nobody's rows travel to meet it."""
    from pyspark.sql import functions as sql  # noqa: PLC0415 - loaded already

    return nw.from_native(sql.broadcast(nw.to_native(frame)))  # type: ignore[no-any-return]


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _type_of(values: Sequence[Any]) -> Any:
    from pyspark.sql import types  # noqa: PLC0415 - loaded already

    first = _plain(values[0]) if len(values) else 0
    kinds = {bool: types.BooleanType, int: types.LongType, float: types.DoubleType}
    return kinds.get(type(first), types.StringType)()


def with_hash(native: Any, names: Sequence[str], hashed: str) -> Any:
    """Add a hash of some columns that is the same for equal values, whoever else is there."""
    from pyspark.sql import functions as sql  # noqa: PLC0415 - loaded already

    return native.withColumn(hashed, sql.xxhash64(*names))


def from_arrow(native: Any, found: Any) -> Any:
    """A public PyArrow table in the session of ``native``; its moments have no time zone."""
    from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415 - loaded already

    schema = from_arrow_schema(found.schema, prefer_timestamp_ntz=True)
    return native.sparkSession.createDataFrame(found, schema)
