"""pandas tables as Arrow ones, and back: columns are read by type, never by some of their rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa

from onesided.engine._protocol import Objects
from onesided.engine.duckdb._arrow import mapped, owned, restored
from onesided.engine.duckdb._callers import Caller, read
from onesided.engine.duckdb._engine import DuckDBEngine
from onesided.engine.duckdb._own import connected
from onesided.engine.duckdb._sources import ArrowSource

_SHOWN: Final = 3
_DECIMALS: Final = (38, 9)  # digits, and those behind the point


def pandas_engine(native: Any) -> DuckDBEngine:
    """A pandas table, copied: whatever becomes of the frame changes nothing here."""
    table, refused, odd = as_arrow(native)
    source = ArrowSource(owned(table), refused | {name: found.kind for name, found in odd.items()})
    engine = DuckDBEngine(source, PandasCaller(native), connected())
    engine.odd = odd
    return engine


class PandasCaller(Caller):
    """A pandas frame. Samples have a fresh index: the old one would number the gaps."""

    def __init__(self, native: Any) -> None:
        self._types: dict[str, Any] = dict(native.dtypes)
        self._backed = any(type(kind).__name__ == "ArrowDtype" for kind in native.dtypes)

    def read_as(self, names: Iterable[str]) -> None:
        for name in names:
            del self._types[name]

    def answer(self, relation: Any, names: Sequence[str]) -> Any:
        if self._backed:
            return read(relation, names).to_pandas(types_mapper=pd.ArrowDtype)
        return read(relation, names).to_pandas()

    def sample(self, table: pa.Table) -> Any:
        return as_pandas(table, self._types)


def as_arrow(frame: pd.DataFrame) -> tuple[pa.Table, dict[str, str], dict[str, Objects]]:
    """The table as DuckDB reads it; what was left out, and objects that are no text, by name."""
    columns, refused = {}, {}
    odd: dict[str, Objects] = {}
    for name in frame.columns:
        try:
            if _is_objects(frame[name].dtype):
                columns[name], found = _of_objects(frame[name])
                odd |= {name: found} if found else {}
            else:
                columns[name] = _arrow_of(frame[name])
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            refused[name] = str(error) if type(error) is TypeError else str(frame[name].dtype)
    table, more = mapped(pa.table(columns))
    return table, {**refused, **more}, odd


def _arrow_of(series: pd.Series[Any]) -> Any:
    """One column. Errors: TypeError saying what it holds, for types of no list."""
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        categories, codes = pd.Series(dtype.categories), series.cat.codes.to_numpy()
        words, odd = _of_objects(categories) if _is_objects(categories.dtype) else (None, None)
        if odd is not None:
            raise TypeError(f"categories of {odd.kind}")
        words = _arrow_of(categories) if words is None else words
        return words.take(pa.array(codes, mask=codes < 0))
    if isinstance(dtype, pd.SparseDtype | pd.PeriodDtype | pd.IntervalDtype) or dtype.kind == "c":
        raise TypeError(str(dtype))
    made = pa.array(series, from_pandas=True)
    return made.combine_chunks() if isinstance(made, pa.ChunkedArray) else made


def _is_objects(dtype: Any) -> bool:
    return dtype.kind == "O" and isinstance(dtype, np.dtype)


def _of_objects(series: pd.Series[Any]) -> tuple[Any, Objects | None]:
    """A column of Python objects, which is text; what is missing to pandas is null.

    No row decides how another is read: what is neither is told beside, and null in the column. A
    column of ``Decimal`` alone, as drivers of databases give it, holds decimals of one fixed type.
    """
    values = series.to_numpy()
    other = np.fromiter((not isinstance(one, str) for one in values), np.bool_, len(values))
    known = ~pd.isna(values)
    places = np.flatnonzero(other & known)
    if places.size and all(isinstance(one, Decimal) for one in values[known]):
        try:
            return pa.array(np.where(known, values, None), pa.decimal128(*_DECIMALS)), None
        except pa.ArrowInvalid:
            raise TypeError("Decimal values beyond 29 digits before the point, 9 after") from None
    found = None
    if places.size:
        some = tuple((int(place) + 1, repr(values[place])) for place in places[:_SHOWN])
        kind = type(values[places[0]]).__name__
        found = Objects(f"Python objects that are no text ({kind})", int(places.size), some)
    texts: Any = np.where(other, None, values)
    try:
        return pa.array(texts, pa.string(), from_pandas=True), found
    except UnicodeEncodeError:  # what cannot be written as UTF-8 is unknown
        same = (one is None or one.encode(errors="replace").decode() == one for one in texts)
        plain = [one if kept else None for one, kept in zip(texts, same, strict=True)]
        return pa.array(plain, pa.string(), from_pandas=True), found


def as_pandas(table: pa.Table, types: Mapping[str, Any]) -> pd.DataFrame:
    """An Arrow table as pandas', each column of its type in ``types``."""
    made = {
        name: _series(column, types[name]) if name in types else column.to_pandas()
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    return pd.DataFrame(made, columns=table.column_names)


def _series(column: Any, dtype: Any) -> Any:
    """A column of this pandas type, from its values alone."""
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
