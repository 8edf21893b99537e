"""Which functions a relation's own SQL text calls, also where its plan shows but their alias.

DuckDB parses the text itself. Views and macros are followed to what they are made of; a table
that is computed, by another relation of Python's or by columns that are made when they are read,
is none that this text tells of.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from onesided.engine.duckdb._text import literal, quoted

# Aggregates that go by no order of rows.
AGGREGATES: Final = frozenset(
    re.findall(
        r"\w+",
        """
    count count_star sum sum_no_overflow min max avg mean bool_and bool_or bit_and bit_or
    bit_xor median quantile quantile_cont quantile_disc stddev stddev_pop stddev_samp variance
    var_pop var_samp
    """,
    )
)
# Of windows: what rows that are equal in their order have in common.
_RANKS: Final = frozenset(["rank", "dense_rank", "percent_rank", "cume_dist"])
_FRAMES: Final = frozenset(["UNBOUNDED_PRECEDING", "UNBOUNDED_FOLLOWING", "CURRENT_ROW_RANGE"])
# Words for the time that stand without brackets, as a column does.
_CLOCKS: Final = frozenset(
    ["current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"]
)
# DuckDB calls these steady, and they ask for the time.
_NOT_STEADY: Final = frozenset(["age", "current_localtime", "current_localtimestamp"])
# Written like functions; what they do follows from what they are given.
_FORMS: Final = frozenset(["unnest", "grouping", "count_star", "row"])
_READERS: Final = frozenset(
    re.findall(
        r"\w+",
        """
    parquet_scan read_parquet read_csv read_csv_auto read_json read_json_auto read_ndjson
    read_ndjson_auto seq_scan arrow_scan python_arrow_scan pandas_scan postgres_scan sqlite_scan
    iceberg_scan delta_scan range generate_series unnest
    """,
    )
)
_TABLES: Final = frozenset(["SEQ_SCAN", "TABLE_SCAN", "EMPTY_RESULT"])
_FOREIGN: Final = frozenset(
    re.findall(
        r"\w+",
        """
    PARQUET_SCAN READ_PARQUET READ_CSV READ_CSV_AUTO READ_JSON READ_JSON_AUTO READ_NDJSON
    PYTHON_ARROW_SCAN ARROW_SCAN PANDAS_SCAN COLUMN_DATA_SCAN POSTGRES_SCAN SQLITE_SCAN
    ICEBERG_SCAN DELTA_SCAN
    """,
    )
)
_SOURCE: Final = "__duckdb_source_"
_NAME: Final = r"(?:\"(?:[^\"]|\"\")*\"|\w+)"
_VIEW: Final = re.compile(
    rf"CREATE (?:TEMP |TEMPORARY )?VIEW {_NAME}(?:\.{_NAME})*(?: ?\({_NAME}(?:, {_NAME})*\))? AS ",
    re.IGNORECASE,
)
Node = Mapping[str, Any]


def unsteady(native: Any) -> str | None:
    """What a relation's text asks for that can differ from one reading to the next; or None.

    Errors: DuckDB's own for a text that it cannot read.
    """
    left, seen, called = [native.sql_query()], set[str](), set[str]()
    tables: set[tuple[str, ...]] = set()
    while left:
        text = left.pop()
        if text in seen:
            continue
        seen.add(text)
        for node in _nodes(_parsed(native, text)):
            cause = _odd(node)
            if cause:
                return cause
            if node.get("class") in ("FUNCTION", "WINDOW"):
                called.add(str(node["function_name"]).lower())
            if node.get("type") == "BASE_TABLE":
                tables.add(tuple(node["qualified_name"]["path"]))
        left += [*_views(native, tables), *_macros(native, called)]
    computed = next((cause for name in sorted(tables) if (cause := _computed(native, name))), None)
    unknown = called - _RANKS - AGGREGATES - _FORMS - _READERS - steady(native, called)
    return computed or (f"{min(unknown)}()" if unknown else None)


def steady(native: Any, calls: set[str]) -> set[str]:
    """DuckDB's own functions of one row that give the same each time; and all macros.

    Python's functions call themselves steady: a name must have as many forms as in a new database.
    """
    if not calls:
        return set()
    text = (
        "SELECT function_name, count(*), bool_and(function_type IN ('macro', 'table_macro')) FROM "  # noqa: S608
        f"duckdb_functions() WHERE function_name IN ({_listed(calls)}) GROUP BY 1"
    )
    known, found = _own(), native.query("onesided_rows", text).fetchall()
    return {name for name, forms, macro in found if macro or known.get(name) == forms}


@lru_cache(maxsize=1)
def _own() -> Mapping[str, int]:
    """How many forms each steady function of a new database has."""
    import duckdb  # noqa: PLC0415 - the caller's table came by it

    with duckdb.connect() as connection:
        found = connection.execute(
            "SELECT function_name, count(*) FROM duckdb_functions() GROUP BY 1 HAVING "
            "bool_and(stability = 'CONSISTENT' AND function_type IN ('scalar', 'window'))"
        ).fetchall()
    return {name: forms for name, forms in found if name not in _NOT_STEADY}


def _parsed(native: Any, text: str) -> Any:
    """DuckDB's tree of a text. Errors: ValueError if there is none."""
    query = f"SELECT json_serialize_sql({literal(text)})"
    ((written,),) = native.query("onesided_rows", query).fetchall()
    found = json.loads(written)
    if found["error"]:
        raise ValueError(found["error_message"])
    return found["statements"]


def _nodes(part: Any) -> Iterator[Node]:
    if isinstance(part, dict):
        yield part
        for inner in part.values():
            yield from _nodes(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from _nodes(inner)


def _odd(node: Node) -> str | None:
    """What in one node goes by the time, or by the order in which rows come."""
    if node.get("class") == "COLUMN_REF":
        names = node["column_names"]
        return names[0] if len(names) == 1 and names[0].lower() in _CLOCKS else None
    if node.get("class") != "WINDOW":
        return _any_rows(node)
    name = str(node["function_name"]).lower()
    if name in _RANKS:
        return None
    steady_frame = {node["start"], node["end"]} <= _FRAMES
    return None if name in AGGREGATES and steady_frame else f"{name}() over rows in an order"


def _any_rows(node: Node) -> str | None:
    """What in one node takes some of several rows, of which none is first."""
    kind = node.get("type")
    if kind == "DISTINCT_MODIFIER" and node.get("distinct_on_targets"):
        return "DISTINCT ON"
    if kind in ("LIMIT_MODIFIER", "LIMIT_PERCENT_MODIFIER"):
        return "LIMIT"  # of a correlated query the plan shows a window alone
    return "ASOF JOIN" if node.get("ref_type") == "ASOF" else None


def _views(native: Any, tables: set[tuple[str, ...]]) -> list[str]:
    """What the views among these tables are made of."""
    names = _listed({name[-1].lower() for name in tables})
    if not tables:
        return []
    text = f"SELECT sql FROM duckdb_views() WHERE NOT internal AND lower(view_name) IN ({names})"  # noqa: S608
    found = [str(row[0]) for row in native.query("onesided_rows", text).fetchall()]
    return [_VIEW.sub("", one, count=1).rstrip(";") for one in found]


def _macros(native: Any, called: set[str]) -> list[str]:
    """What the macros among these functions are made of."""
    if not called:
        return []
    text = (
        "SELECT macro_definition, function_type FROM duckdb_functions() WHERE function_type IN "  # noqa: S608
        f"('macro', 'table_macro') AND function_name IN ({_listed(called)})"
    )
    found = native.query("onesided_rows", text).fetchall()
    return [made if kind == "table_macro" else f"SELECT {made}" for made, kind in found]


def _computed(native: Any, path: Sequence[str]) -> str | None:
    """How a table is computed; None if its rows are stored, in the database or outside it."""
    name, own = ".".join(map(quoted, path)), not path[-1].startswith(_SOURCE)
    try:
        text = f"EXPLAIN (FORMAT json) SELECT * FROM {name}"  # noqa: S608 - quoted
        ((_, written),) = native.query("onesided_rows", text).fetchall()
    except Exception:  # noqa: BLE001 - the name of a common table expression, whose text is read
        return None if own else "another relation"
    if own and _views(native, {tuple(path)}):
        return None  # its text is read, too
    (step,) = json.loads(written)
    facts = step["extra_info"]
    stored = step["name"].strip() in (_FOREIGN | _TABLES if own else _FOREIGN)
    plain = not step["children"] and not facts.get("Filters") and not facts.get("File Filters")
    return None if stored and plain else f"{path[-1]} (another relation, or computed columns)"


def _listed(words: set[str]) -> str:
    return ", ".join(map(literal, sorted(words))) or "NULL"
