"""Tables that run in DuckDB."""

from onesided.engine._protocol import Room

ROOMS = (
    Room(
        library="duckdb",
        tables=("DuckDBPyRelation",),
        opens="duckdb._engine:relation_engine",
        names=lambda table: table.columns,
    ),
    Room(
        library="pandas",
        tables=("DataFrame",),
        opens="duckdb._frames:pandas_engine",
        names=lambda table: list(table.columns),
    ),
    Room(
        library="pyarrow",
        tables=("Table",),
        opens="duckdb._frames:arrow_engine",
        names=lambda table: table.column_names,
    ),
)
