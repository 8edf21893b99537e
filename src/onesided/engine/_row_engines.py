"""Which rows a session's table has, by its engine."""

from __future__ import annotations

from onesided.engine._rows import Rows
from onesided.engine._rows_held import ArrowRows, PandasRows
from onesided.engine._subject import Subject
from onesided.engine.duckdb._rows import DuckDBRows
from onesided.engine.polars._rows import PolarsRows
from onesided.errors import DataError


def rows_of(subject: Subject) -> Rows:
    """The rows of the session's table. Errors: DataError for an engine that we do not know."""
    engine = subject.table.frame.implementation
    if engine.is_polars():
        return PolarsRows(subject)
    if engine.is_duckdb():
        return DuckDBRows(subject)
    if engine.is_pandas():
        return PandasRows(subject)
    if engine.is_pyarrow():
        return ArrowRows(subject)
    raise DataError(
        f"True records cannot be cut out of a {engine.value} table yet.",
        hint="Convert it to Polars, pandas, PyArrow or DuckDB.",
    )
