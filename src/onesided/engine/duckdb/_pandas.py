"""pandas tables as Arrow ones, and back: columns are read by type, never by some of their rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from onesided.engine.duckdb._arrow import mapped, restored

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

# What pandas finds in all rows of a column of objects, and how such a column is read.
_OBJECTS: Final[Mapping[str, str]] = {
    "string": "string",
    "empty": "string",
    "boolean": "bool",
    "integer": "int64",
    "date": "date32",
    "bytes": "binary",
    "floating": "float64",
}
_MICROSECONDS: Final = ("datetime", "time")


def as_arrow(frame: pd.DataFrame) -> tuple[pa.Table, dict[str, str]]:
    """The table as DuckDB reads it, and what was left out, by name."""
    import pyarrow as pa  # noqa: PLC0415 - the extra 'pandas' brings it

    columns, refused = {}, {}
    for name in frame.columns:
        try:
            columns[name] = _arrow_of(frame[name].copy())  # it may change later
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            refused[name] = str(error) if type(error) is TypeError else str(frame[name].dtype)
    table, more = mapped(pa.table(columns))
    return table, {**refused, **more}


def _arrow_of(series: pd.Series[Any]) -> Any:
    """One column. Errors: TypeError saying what it holds, for types of no list."""
    import pandas as pd  # noqa: PLC0415 - the caller's frame has loaded it already
    import pyarrow as pa  # noqa: PLC0415 - the extra 'pandas' brings it

    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        words, codes = _arrow_of(pd.Series(dtype.categories)), series.cat.codes.to_numpy()
        return words.take(pa.array(codes, mask=codes < 0))
    if dtype.kind == "O" and isinstance(dtype, np.dtype):
        return _of_objects(series)
    if isinstance(dtype, pd.SparseDtype | pd.PeriodDtype | pd.IntervalDtype) or dtype.kind == "c":
        raise TypeError(str(dtype))
    made = pa.array(series, from_pandas=True)
    return made.combine_chunks() if isinstance(made, pa.ChunkedArray) else made


def _of_objects(series: pd.Series[Any]) -> Any:
    """A column of Python objects, all of one plain type: text, if it is empty."""
    import pandas as pd  # noqa: PLC0415 - the caller's frame has loaded it already
    import pyarrow as pa  # noqa: PLC0415 - the extra 'pandas' brings it

    found = str(pd.api.types.infer_dtype(series, skipna=True))
    kinds = {"datetime": pa.timestamp("us"), "time": pa.time64("us")}
    if found not in _OBJECTS and found not in kinds:
        raise TypeError(f"Python objects ({found})")
    kind = kinds.get(found) or pa.type_for_alias(_OBJECTS[found])
    values = series.to_numpy()
    if found == "datetime" and any(getattr(value, "tzinfo", None) for value in values):
        raise TypeError("Python objects (moments with a zone)")
    try:
        return pa.array(values, kind, from_pandas=True)
    except UnicodeEncodeError:  # what cannot be written as UTF-8 is unknown
        return pa.array([_written(value) for value in values], kind, from_pandas=True)


def _written(value: object) -> object:
    if not isinstance(value, str):
        return value
    return value if value.encode(errors="replace").decode() == value else None


def as_pandas(table: pa.Table, types: Mapping[str, Any]) -> pd.DataFrame:
    """An Arrow table as pandas', each column of its type in ``types``."""
    import pandas as pd  # noqa: PLC0415 - the caller's frame has loaded it already

    made = {
        name: _series(column, types[name]) if name in types else column.to_pandas()
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    return pd.DataFrame(made, columns=table.column_names)


def _series(column: Any, dtype: Any) -> Any:
    """A column of this pandas type, from its values alone."""
    import pandas as pd  # noqa: PLC0415 - the caller's frame has loaded it already
    import pyarrow as pa  # noqa: PLC0415 - the extra 'pandas' brings it

    if isinstance(dtype, pd.CategoricalDtype):
        values = column.to_pylist()
        words = sorted({value for value in values if value is not None})
        return pd.Series(pd.Categorical(values, categories=words))
    if dtype.kind == "O" and isinstance(dtype, np.dtype):
        return pd.Series(np.array([*column.to_pylist(), None], dtype=object)[:-1])
    if isinstance(dtype, pd.ArrowDtype):
        whole = restored(pa.table({"x": column}), {"x": dtype.pyarrow_dtype})["x"]
        return pd.Series(dtype.__from_arrow__(whole))
    if dtype.kind == "m":
        ticks = column.fill_null(np.iinfo(np.int64).min).to_numpy()
        return pd.Series(ticks.view(dtype))
    if hasattr(dtype, "__from_arrow__"):
        kind = pa.array(pd.array([], dtype=dtype)).type
        return pd.Series(dtype.__from_arrow__(column.cast(kind)))
    return pd.Series(column.to_numpy()).astype(dtype)
