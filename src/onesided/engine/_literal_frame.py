"""Small public tables beside the caller's own, in the same engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray


def with_column(frame: nw.DataFrame[Any], name: str, values: NDArray[Any]) -> nw.DataFrame[Any]:
    """A table in memory with one more column.

    >>> import polars as pl
    >>> rows = nw.from_native(pl.DataFrame({"place": ["gym"]}), eager_only=True)
    >>> with_column(rows, "lower", np.array([3])).columns
    ['place', 'lower']
    """
    return frame.with_columns(nw.new_series(name, values, backend=frame.implementation))


def literal_frame(
    native: Any, columns: Mapping[str, Sequence[Any]]
) -> nw.DataFrame[Any] | nw.LazyFrame[Any]:
    """The columns as a table of the engine that holds ``native``; not for Spark.

    >>> import polars as pl
    >>> rows = pl.DataFrame({"a": [1]})
    >>> literal_frame(rows, {"place": ["gym"]}).to_native().columns
    ['place']
    """
    engine = nw.from_native(native).implementation
    if engine.is_duckdb():
        return nw.from_native(_duckdb_table(native, columns))  # type: ignore[no-any-return]
    made = nw.from_dict(dict(columns), backend=engine)
    if engine.is_pandas_like():
        return nw.from_native(_as_arrow(nw.to_native(made), native))  # type: ignore[no-any-return]
    return made


def _as_arrow(small: Any, like: Any) -> Any:
    """A small pandas table, Arrow-backed if the caller's is: pandas joins no mixed types."""
    backed = any(type(dtype).__name__ == "ArrowDtype" for dtype in like.dtypes)
    return small.convert_dtypes(dtype_backend="pyarrow") if backed else small


def _duckdb_table(relation: Any, columns: Mapping[str, Sequence[Any]]) -> Any:
    """A small table on the relation's own connection; DuckDB reads the arrays in place."""
    onesided_small = {  # noqa: F841 - DuckDB finds it by its name
        name: np.asarray(values) if _is_plain(values) else np.array(values, dtype=object)
        for name, values in columns.items()
    }
    return relation.query("onesided_data", "SELECT * FROM onesided_small").select("*")


def _is_plain(values: Sequence[Any]) -> bool:
    return len(values) > 0 and isinstance(values[0], int | float | bool | np.generic)
