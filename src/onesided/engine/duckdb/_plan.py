"""What DuckDB's own plan says of a relation: whether it gives the same rows when read again.

A question reads its table more than once. So a plan may hold only steps that give the same rows
each time, and only functions of which DuckDB itself says that they do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from onesided.engine.duckdb._functions import AGGREGATES, steady, unsteady
from onesided.errors import DataError, first_line

_STEPS: Final = frozenset(
    re.findall(
        r"\w+",
        """
    PARQUET_SCAN READ_PARQUET READ_CSV READ_CSV_AUTO READ_JSON READ_JSON_AUTO READ_NDJSON
    SEQ_SCAN TABLE_SCAN INDEX_SCAN PYTHON_ARROW_SCAN ARROW_SCAN PANDAS_SCAN COLUMN_DATA_SCAN
    POSTGRES_SCAN SQLITE_SCAN ICEBERG_SCAN DELTA_SCAN DUMMY_SCAN EMPTY_RESULT RANGE
    GENERATE_SERIES PROJECTION FILTER UNNEST UNION ORDER_BY WINDOW CTE CTE_SCAN DELIM_SCAN
    HASH_GROUP_BY PERFECT_HASH_GROUP_BY PARTITIONED_AGGREGATE UNGROUPED_AGGREGATE
    SIMPLE_AGGREGATE HASH_JOIN PIECEWISE_MERGE_JOIN NESTED_LOOP_JOIN BLOCKWISE_NL_JOIN IE_JOIN
    CROSS_PRODUCT LEFT_DELIM_JOIN RIGHT_DELIM_JOIN
    """,
    )
)
# What DuckDB tells of a step.
_FACTS: Final = frozenset(
    [
        "Table",
        "Type",
        "Function",
        "Join Type",
        "CTE Name",
        "CTE Index",
        "Table Index",
        "Delim Index",
        "Execution Mode",
        "Estimated Cardinality",
        "Total Files Read",
        "Scanning Files",
        "Filename(s)",
        "Text",
        "Build Min",
        "Build Max",
        "Projections",
        "Filters",
        "File Filters",
        "Dynamic Filters",
        "Expression",
        "Conditions",
        "Groups",
        "Order By",
        "Aggregates",
    ]
)
# How expressions are printed that are no functions.
_WORDS: Final = frozenset(
    re.findall(
        r"\w+",
        """
    cast try_cast case when then else in and or not unnest distinct over by between exists
    filter where
    """,
    )
)
# Scans of what Python handed over, which may be a reader that can be read once.
_STREAMS: Final = frozenset(["PYTHON_ARROW_SCAN", "ARROW_SCAN"])
_TEXT: Final = re.compile(r"'(?:[^']|'')*'")
_CALL: Final = re.compile(r"([A-Za-z_]\w*)\"?\s*\(")
_TYPES: Final = re.compile(r"\b(?:DECIMAL|STRUCT|MAP|ENUM|UNION|VARCHAR)\(", re.IGNORECASE)


def refuse_unrepeatable(native: Any) -> None:
    """Errors: DataError for a relation that may give other rows when it is read again."""
    try:
        ((_, text),) = native.query(
            "onesided_rows", "EXPLAIN (FORMAT json) SELECT * FROM onesided_rows"
        ).fetchall()
        steps = list(_steps(json.loads(text)))
        cause = next((found for step in steps if (found := _changing(native, step))), None)
        cause = cause or unsteady(native) or _any_of_several(native, steps)
    except Exception as error:
        raise DataError(
            f"The table could not be read: {first_line(error)}",
            hint="The relation's own tables or files may be gone.",
        ) from error
    if cause is None and any(step["name"].strip() in _STREAMS for step in steps):
        cause = _read_once(native)
    if cause:
        raise DataError(
            f"This relation is computed by {cause}, which can give other rows each time.",
            hint="A question reads the table more than once. Write it to a table first, "
            "with CREATE TABLE ... AS.",
        )


def _steps(found: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for step in found:
        yield step
        yield from _steps(step["children"])


def _changing(native: Any, step: dict[str, Any]) -> str | None:
    """What in a step of a plan is not known to give the same each time."""
    name, facts = str(step["name"]).strip(), step["extra_info"]
    if name not in _STEPS:
        return name
    for fact, told in facts.items():
        if fact not in _FACTS:
            return f"{name} with {fact}"
        parts = told if isinstance(told, list) else [told]
        calls = {call for part in parts for call in _calls(str(part))}
        known = steady(native, calls) | (AGGREGATES if fact == "Aggregates" else set())
        unknown = calls - _WORDS - known
        if unknown and name != "WINDOW":  # of windows the text tells
            return f"{min(unknown)}()"
    return None


def _any_of_several(native: Any, steps: list[dict[str, Any]]) -> str | None:
    """Whether a query in place of a value may give one of several rows, and not an error."""
    if not any(step["extra_info"].get("Join Type") == "SINGLE" for step in steps):
        return None
    asked = "SELECT current_setting('scalar_subquery_error_on_multiple_rows')"
    ((refused,),) = native.query("onesided_rows", asked).fetchall()
    return None if refused else "a subquery of several rows"


def _calls(text: str) -> set[str]:
    bare = _TYPES.sub(" ", _TEXT.sub(" ", text))
    return {call.lower() for call in _CALL.findall(bare) if not call.startswith("__internal_")}


def _read_once(native: Any) -> str | None:
    """Whether an Arrow reader among the sources is used up by a first look."""
    try:
        for _ in range(2):
            native.query("onesided_rows", "SELECT 1 FROM onesided_rows LIMIT 1").fetchall()
    except Exception as error:  # noqa: BLE001 - whatever it is, the table cannot be read twice
        return f"a source that cannot be read twice ({first_line(error)})"
    return None
