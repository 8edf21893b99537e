"""Whose tables run in DuckDB."""

from __future__ import annotations

from typing import Final

from onesided.engine._room import Room
from onesided.engine.duckdb._engine import arrow_engine, pandas_engine, relation_engine

ROOMS: Final = (
    Room(
        library="duckdb",
        tables=("DuckDBPyRelation",),
        open=relation_engine,
        names=lambda table: table.columns,
    ),
    Room(
        library="pandas",
        tables=("DataFrame",),
        open=pandas_engine,
        names=lambda table: list(table.columns),
    ),
    Room(
        library="pyarrow",
        tables=("Table",),
        open=arrow_engine,
        names=lambda table: table.column_names,
    ),
)
