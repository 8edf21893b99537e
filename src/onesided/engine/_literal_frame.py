"""Small public tables beside the caller's own, in the same engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np


def literal_frame(
    native: Any, columns: Mapping[str, Sequence[Any]], engine: Any
) -> nw.DataFrame[Any] | nw.LazyFrame[Any]:
    """The columns as a table of the engine that holds ``native``; not for Spark.

    >>> import polars as pl
    >>> rows = pl.DataFrame({"a": [1]})
    >>> literal_frame(rows, {"place": ["gym"]}, nw.Implementation.POLARS).to_native().columns
    ['place']
    """
    if engine.is_duckdb():
        return nw.from_native(_duckdb_table(native, columns))  # type: ignore[no-any-return]
    made = nw.from_dict(dict(columns), backend=engine)
    if engine.is_pandas_like():
        return nw.from_native(_as_arrow(nw.to_native(made), native))  # type: ignore[no-any-return]
    return made


def whole_numbers(values: Sequence[Any], dtype: nw.dtypes.DType) -> Sequence[Any]:
    """Values of a column of type ``dtype``, such that no engine loses digits of whole numbers.

    Left to themselves some take a float for 1 beside 2^63, and keys that differ become equal.
    """
    if isinstance(dtype, nw.UInt64):
        return np.array(values, dtype=np.uint64)  # type: ignore[return-value]
    if isinstance(dtype, nw.Int128 | nw.UInt128):
        return [str(value) for value in values]
    return values


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
