"""What narwhals leaves open on PySpark: which tables can be read, SQL, and small public tables.

pyspark is imported inside functions: whoever has a Spark table has loaded it already.
"""

from __future__ import annotations

import re
from typing import Any, Final

from onesided.engine._rowwise import sql_suspect
from onesided.errors import DataError, PolicyError

# Steps of a plan that pick rows by where they stand, which no engine promises to repeat.
_PICKING: Final = frozenset(["GlobalLimit", "LocalLimit", "Offset", "Tail", "Sample"])
# What a plan of Spark's prints for text that is not compared byte by byte.
_COLLATED: Final = " collate "
# Text and names, told apart in one pass as Spark itself does it.
_TOKENS: Final = re.compile(r"'(?:[^']|'')*'|`(?:[^`]|``)*`")


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
