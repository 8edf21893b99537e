"""The one gate through which a table enters: which engine claims it, and columns of known types."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

import narwhals as nw

from onesided.engine._protocol import Engine
from onesided.engine._reading import reading
from onesided.engine.duckdb._engine import arrow_engine, pandas_engine, relation_engine
from onesided.engine.polars._engine import PolarsEngine
from onesided.engine.spark._engine import SparkEngine
from onesided.errors import DataError

OURS = "onesided_"


def enter(data: object) -> Engine:
    """The table in its engine.

    Errors: DataError for an object that no engine claims, for one that may give other rows when
    it is read again, and for columns that are named like ours or like each other.
    """
    native: Any = nw.to_native(data, pass_through=True)
    for module, kinds, room, names in _ROOMS:
        library = sys.modules.get(module)
        known = () if library is None else tuple(getattr(library, kind) for kind in kinds)
        if isinstance(native, known):
            with reading():
                _refuse_names(names(native), capitals=module == "polars")
                return room(native)
    raise DataError(
        f"Cannot read a {_called(native)} as a table.",
        hint="Give a Polars, pandas or PyArrow table, a DuckDB relation, or a table of Spark "
        "itself (not Spark Connect); read files with the library of your choice.",
    )


# Module, its tables, the room and how to read names. What is not loaded has no table here.
_ROOMS: Final[tuple[tuple[str, tuple[str, ...], Callable[[Any], Engine], Any], ...]] = (
    ("polars", ("DataFrame", "LazyFrame"), PolarsEngine, lambda t: t.collect_schema().names()),
    ("duckdb", ("DuckDBPyRelation",), relation_engine, lambda t: t.columns),
    ("pandas", ("DataFrame",), pandas_engine, lambda t: list(t.columns)),
    ("pyarrow", ("Table",), arrow_engine, lambda t: t.column_names),
    ("pyspark.sql.classic.dataframe", ("DataFrame",), SparkEngine, lambda t: t.columns),
)


def _called(native: object) -> str:
    kind = type(native)
    library = kind.__module__.split(".")[0]
    return kind.__name__ if library == "builtins" else f"{kind.__name__} of {library}"


def _refuse_names(names: Sequence[object], *, capitals: bool) -> None:
    """Engines take capitals for the same, or rename a column that comes twice."""
    seen: set[str] = set()
    for name in names:
        if not isinstance(name, str) or name.lower().startswith(OURS):
            raise DataError(
                f"The column {name!r} is named like one of ours, or by no text.",
                hint="Rename it: names that begin with onesided_ are taken.",
                column=name,
            )
        told = name if capitals else name.lower()
        if told in seen:
            raise DataError(
                f"The column {name!r} has the name of another one.",
                hint="Rename it: engines ignore capitals in names.",
                column=name,
            )
        seen.add(told)
