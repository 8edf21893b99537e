"""Which rows a session's table has, by its engine."""

from __future__ import annotations

from onesided.errors import DataError
from onesided.session._desk import Desk
from onesided.session._rows import Rows
from onesided.session._rows_duckdb import DuckDBRows
from onesided.session._rows_held import ArrowRows, PandasRows
from onesided.session._rows_polars import PolarsRows


def rows_of(desk: Desk) -> Rows:
    """The rows of the session's table. Errors: DataError for an engine that we do not know."""
    engine = desk.table.frame.implementation
    if engine.is_polars():
        return PolarsRows(desk)
    if engine.is_duckdb():
        return DuckDBRows(desk)
    if engine.is_pandas():
        return PandasRows(desk)
    if engine.is_pyarrow():
        return ArrowRows(desk)
    raise DataError(
        f"True records cannot be cut out of a {engine.value} table yet.",
        hint="Convert it to Polars, pandas, PyArrow or DuckDB.",
    )
