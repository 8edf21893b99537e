"""One column of public keys, as compact as it came: no value becomes a Python object unasked.

Whole numbers and booleans are arrays of NumPy. Text stays in the series in which Polars or Arrow
hold it. All else is an array of objects.
"""

from __future__ import annotations

import contextlib
import datetime as dt
from typing import Any, Final, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from onesided.errors import KeysError
from onesided.noise import IntArray

KeyColumn: TypeAlias = "NDArray[Any] | nw.Series[Any]"
MOST_KEYS: Final = 10**7  # in a file, of a range, of columns that are crossed
_PLAIN: Final = frozenset([bool, int, str, dt.date, dt.datetime])


def listed(column: KeyColumn) -> list[Any]:
    """The values as Python's own."""
    return column.to_list() if isinstance(column, nw.Series) else column.tolist()


def refuse_long_range(given: object) -> None:
    """Refuse a range that memory cannot hold, before any of it is made. Errors: KeysError."""
    if not isinstance(given, range):
        return
    size = -((given.start - given.stop) // given.step)  # len() ends at 2^63
    if size > MOST_KEYS:
        raise KeysError(
            f"{given!r} has {size:,} keys, more than {MOST_KEYS:,}.",
            hint="Give a shorter range, or group by something coarser; an array may be longer.",
            most=MOST_KEYS,
        )


def with_null(column: KeyColumn) -> NDArray[Any]:
    """The values, as objects, and a null after them."""
    return np.fromiter([*listed(column), None], dtype=object, count=len(column) + 1)


def column_of(given: Any) -> KeyColumn:
    """One column, from whatever holds it."""
    if isinstance(given, range):
        with contextlib.suppress(OverflowError):
            return np.arange(given.start, given.stop, given.step, dtype=np.int64)
    if isinstance(given, np.ndarray):
        if given.dtype.kind in "iub" and given.ndim == 1:
            narrow = given.dtype.kind == "b" or given.dtype == np.uint64
            return given if narrow else given.astype(np.int64)
        return array_of(list(given) if given.dtype.kind == "M" else given.tolist())
    series = nw.from_native(given, pass_through=True, series_only=True)
    return of_series(series) if isinstance(series, nw.Series) else array_of(list(given))


def of_series(series: nw.Series[Any]) -> KeyColumn:
    """A column of a table, or of its own. Errors: KeysError for moments that no key can hold."""
    dtype = series.dtype
    if (dtype.is_integer() or dtype == nw.Boolean) and not series.null_count():
        values = series.to_numpy()
        if values.dtype.kind in "iub":
            return column_of(values)
    if isinstance(dtype, nw.String) and _is_readable(series) and not series.null_count():
        return series
    if isinstance(dtype, nw.Datetime) and dtype.time_unit == "ns":
        ticks = series.dt.timestamp("ns").drop_nulls().to_numpy()
        if np.any(ticks % 1000):
            raise KeysError(
                f"The keys of {series.name!r} are moments finer than a microsecond.",
                hint="Group by a column cast to microseconds, and give keys of it.",
            )
    return array_of(series.to_list())


def _is_readable(series: nw.Series[Any]) -> bool:
    """Whether a series is known to hold text, and that all of it is UTF-8."""
    if series.implementation.is_pyarrow():
        try:
            series.to_native().validate(full=True)
        except ValueError:
            return False
        return True
    return bool(series.implementation.is_polars())


def array_of(values: list[Any]) -> NDArray[Any]:
    """Python values as a column: whole numbers and booleans as such, all else as objects."""
    kinds = set(map(type, values))
    if not kinds <= {int, str, bool}:
        values = [plain(value) for value in values]
        kinds = set(map(type, values))
    if kinds == {bool}:
        return np.array(values, dtype=np.bool_)
    if kinds == {int}:
        with contextlib.suppress(OverflowError):
            return np.fromiter(values, dtype=np.int64, count=len(values))
    return np.fromiter(values, dtype=object, count=len(values))


def plain(value: object) -> object:
    """NumPy scalars as Python values, moments with a zone as instants: equal keys are alike."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC)
    return value


def is_compact(column: KeyColumn) -> bool:
    """Whether a column's own type says that it holds keys and nothing else."""
    return isinstance(column, nw.Series) or column.dtype.kind in "iub"


def is_odd(column: KeyColumn) -> bool:
    """Whether a column holds something that is no plain key, such as a null."""
    return not is_compact(column) and bool(set(map(type, listed(column))) - _PLAIN)


def is_text(column: KeyColumn) -> bool:
    """Whether a column holds text alone, all of which can be written as UTF-8."""
    if isinstance(column, nw.Series):
        return True
    values = column.tolist()
    return set(map(type, values)) == {str} and can_be_written("".join(values))


def can_be_written(value: str) -> bool:
    """Whether it can be written as UTF-8; Spark would make one key of all that cannot."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def has_repeats(column: KeyColumn) -> bool:
    """Whether some value is there twice."""
    if isinstance(column, nw.Series):
        return column.n_unique() < len(column)
    if column.dtype.kind not in "iub":
        return len(set(column.tolist())) < len(column)
    if np.all(column[1:] > column[:-1]):
        return False
    ordered = np.sort(column)
    return bool(np.any(ordered[1:] == ordered[:-1]))


def numbered(column: KeyColumn) -> tuple[IntArray, int]:
    """A number for each value, the same for equal ones, and how many there are."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "iub":
        values, numbers = np.unique(column, return_inverse=True)
        return numbers, len(values)
    told = listed(column)
    known = {value: number for number, value in enumerate(dict.fromkeys(told))}
    return np.fromiter(map(known.__getitem__, told), np.int64, len(told)), len(known)


def canonical(column: KeyColumn) -> bytes:
    """A column as bytes: its type, and its values so that no two columns are alike."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "iub":
        return column.dtype.str.encode() + column.tobytes()
    values = listed(column)
    if set(map(type, values)) == {str}:
        whole = "".join(values).encode("utf-8", "surrogatepass")
        lengths = np.fromiter(map(len, values), np.int64, len(values))
        if int(lengths.sum()) < len(whole):
            parts = (value.encode("utf-8", "surrogatepass") for value in values)
            lengths = np.fromiter(map(len, parts), np.int64, len(values))
        return b"text" + lengths.astype("<i8").tobytes() + whole
    return b"values" + repr([(type(v).__name__, v) for v in values]).encode()
