"""Which warehouse a table of Ibis lies in, and how it is read there."""

from __future__ import annotations

from typing import Any

from onesided.engine._protocol import Engine
from onesided.errors import DataError


def open_table(native: Any) -> Engine:
    """The table in its warehouse. Errors: DataError for one that was never tried."""
    backend = native.get_backend()
    if backend.name == "duckdb":
        from onesided.engine.ibis._duckdb import duckdb_engine  # noqa: PLC0415 - optional

        return duckdb_engine(native, backend)
    if backend.name == "postgres":
        from onesided.engine.ibis._engine import WarehouseEngine  # noqa: PLC0415 - optional
        from onesided.engine.ibis._postgres import Postgres  # noqa: PLC0415 - optional

        return WarehouseEngine(native, Postgres(backend, native))
    raise DataError(
        f"This table of Ibis lies in {backend.name}, where the answers were never compared with "
        "those of the other engines.",
        hint="Tables of Ibis in DuckDB and PostgreSQL are read. Write this one to Parquet files, "
        "and read those with DuckDB, Polars or Spark.",
        warehouse=backend.name,
    )
