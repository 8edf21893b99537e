"""Public keys: the groups that a release speaks about, given by the curator, never looked up.

Each column of keys is as compact as it came: no value becomes a Python object unasked. Whole
numbers and booleans are arrays of NumPy. Text stays in the series in which Polars or Arrow hold
it. All else is an array of objects.

What travels with keys stands beside them: names, positions and whatever else a table of keys says.
It is told with each answer as it is. It is never compared with rows, and is no part of what tells a
question from others: neither noise nor guarantee can depend on it. Left out are columns that the
data have too, which may say what rows say, and those that answers have themselves.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import math
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from importlib.util import find_spec
from typing import Any, Final, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from onesided._english import a, many
from onesided.errors import KeysError, MissingDependencyError, UnknownColumnError
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


_TOLD: Final = frozenset([bool, int, float, str, dt.date, dt.datetime, type(None)])
_SIDES: Final = (
    ("latitude", ("latitude", "lat"), 90),
    ("longitude", ("longitude", "lon", "lng", "long"), 180),
)
# What answers call their own columns.
_DEVIATION: Final = "standard_deviation"
_BOUNDS: Final = ("lower", "upper", "lower_certain", "upper_certain")
_ANSWERS: Final = frozenset(
    [
        "estimate",
        *_BOUNDS,
        "certified",
        "likely",
        "coarse",
        "q",
        "own_most",
        "own_least",
        _DEVIATION,
    ]
)


@dataclass(frozen=True, slots=True)
class Beside:
    """Public columns beside keys, a value for each key; None where there is none.

    >>> Beside({"name": ["Gym", "Bar"]}).part([1]).columns
    {'name': ['Bar']}
    """

    columns: Mapping[str, Sequence[Any]]

    def part(self, places: IntArray | Sequence[int]) -> Beside:
        """Those of some of the keys."""
        rows = [int(place) for place in places]
        picked = {name: [values[row] for row in rows] for name, values in self.columns.items()}
        return Beside(picked)

    def apart_from(self, names: Collection[str]) -> Beside:
        """Without the columns of these names, in whichever capitals."""
        known = {name.casefold() for name in names}
        kept = {n: told for n, told in self.columns.items() if n.casefold() not in known}
        return Beside(kept)

    def with_null(self) -> Beside:
        """With a last row that says nothing."""
        return Beside({name: [*values, None] for name, values in self.columns.items()})


def beside(keys: Any, by: Sequence[str]) -> Beside:
    """The columns of a table of keys that are not grouped by; of anything else there are none.

    keys: a mapping, or a table in memory.

    Errors: KeysError for a column that is no plain public fact: of another type, or with a position
    that is nowhere on Earth.

    >>> places = {"place": ["gym"], "name": ["Gym at the river"], "lat": [52.5], "lon": [13.4]}
    >>> dict(beside(places, ("place",)).columns)
    {'name': ['Gym at the river'], 'lat': [52.5], 'lon': [13.4]}
    """
    if isinstance(keys, Mapping):
        further = {str(name): values for name, values in keys.items() if name not in by}
        for values in further.values():
            refuse_long_range(values)
        given = {name: list(values) for name, values in further.items()}
    else:
        frame = nw.from_native(keys, pass_through=True, eager_only=True)
        known = frame.columns if isinstance(frame, nw.DataFrame) else []
        given = {name: frame[name].to_list() for name in known if name not in by}
    found = {
        name: _told_column(name, values)
        for name, values in given.items()
        if name not in _ANSWERS and not name.startswith("at_most")
    }
    sides = position_columns(tuple(found))
    for (side, _, most), name in zip(_SIDES, sides or (), strict=False):
        column = found[name]
        for value in column:
            if value is None:
                continue
            if type(value) not in (int, float) or not abs(value) <= most:
                raise KeysError(
                    f"The keys' column {name!r} has {value!r:.60}, which is no {side}.",
                    hint=f"Give degrees between -{most} and {most} as numbers, and nothing where a "
                    "position is not known; check that latitude and longitude are not swapped.",
                    column=name,
                )
    return Beside(found)


def position_columns(names: Collection[str]) -> tuple[str, str] | None:
    """The columns of latitude and longitude, if there are both.

    >>> position_columns(["place", "Lat", "lng"]), position_columns(["lat"])
    (('Lat', 'lng'), None)
    """
    lower = {name.lower(): name for name in names}
    found = [next((lower[name] for name in known if name in lower), None) for _, known, _ in _SIDES]
    return None if found[0] is None or found[1] is None else (found[0], found[1])


def _told_column(name: str, values: list[Any]) -> list[Any]:
    """As plain Python values; what is missing as None."""
    told = []
    for given in values:
        value = given.item() if hasattr(given, "item") and not isinstance(given, str) else given
        if isinstance(value, Decimal):
            value = float(value)
        if isinstance(value, dt.datetime) and type(value) is not dt.datetime:
            value = None if value != value else value.to_pydatetime()  # type: ignore[attr-defined] # noqa: PLR0124
        value = None if isinstance(value, float) and math.isnan(value) else value
        told.append(value)
        odd = type(value) not in _TOLD or (isinstance(value, str) and not can_be_written(value))
        if odd or (isinstance(value, float) and math.isinf(value)):
            raise KeysError(
                f"The keys' column {name!r} has {value!r:.60}, which cannot stand beside a key.",
                hint="Columns beside the keys are published with them: give text, numbers, "
                "booleans or dates, or leave the column out.",
                column=name,
            )
    return told


Key = tuple[object, ...]
_NOTHING: Final = Beside({})


@dataclass(frozen=True, eq=False)
class PublicKeys:
    """One row per group, one column per grouping column; unique and without nulls.

    beside: what travels with them, and tells no keys from others.

    >>> keys = PublicKeys.of(("place",), [("gym",), ("bar",)])
    >>> keys.size, keys.labels(), keys.part(np.array([1])).rows
    (2, ['gym', 'bar'], (('bar',),))
    """

    names: tuple[str, ...]
    arrays: tuple[KeyColumn, ...]
    size: int
    beside: Beside = _NOTHING

    @classmethod
    def of(cls, names: Sequence[str], rows: Sequence[Key]) -> PublicKeys:
        """From rows of plain Python values; no names make the one group of everything."""
        columns = zip(*rows, strict=True) if names else ()
        return cls(tuple(names), tuple(array_of(list(column)) for column in columns), len(rows))

    @cached_property
    def rows(self) -> tuple[Key, ...]:
        """The keys one by one, as Python values."""
        columns = map(listed, self.arrays)
        return tuple(zip(*columns, strict=True)) if self.arrays else ((),) * self.size

    def columns(self) -> dict[str, list[Any]]:
        """The keys column by column, as Python values, and what travels with them."""
        return {
            **{name: listed(array) for name, array in self.by_name().items()},
            **{name: list(values) for name, values in self.beside.columns.items()},
        }

    def by_name(self) -> dict[str, KeyColumn]:
        """The keys column by column, as they are held."""
        return dict(zip(self.names, self.arrays, strict=True))

    def labels(self) -> list[Any]:
        """Each group's key: a value where there is one grouping column, else a tuple."""
        return listed(self.arrays[0]) if len(self.names) == 1 else list(self.rows)

    def part(self, places: IntArray) -> PublicKeys:
        """Some of the keys, in the order of ``places``."""
        arrays = tuple(array[places] for array in self.arrays)
        more = self.beside.part(places) if self.beside.columns else self.beside
        return PublicKeys(self.names, arrays, len(places), more)

    def with_others(self) -> PublicKeys:
        """These keys and a last one, of nulls, for all that are not among them."""
        arrays = tuple(with_null(array) for array in self.arrays)
        return PublicKeys(self.names, arrays, self.size + 1, self.beside.with_null())

    def places(self) -> dict[Key, int]:
        """The position of each key."""
        return {row: place for place, row in enumerate(self.rows)}

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the columns' names, types and values: what tells keys from others."""
        found = hashlib.sha256(repr((self.names, self.size)).encode())
        for array in self.arrays:
            found.update(canonical(array))
        return found.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PublicKeys) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)


def public_keys(keys: object, by: Sequence[str]) -> PublicKeys:
    """Read keys from a list (one column), a list of tuples, a mapping, a series or a frame.

    What else a mapping or a frame has is told with each answer, see :mod:`onesided.engine._keys`.
    Errors: KeysError for none, nulls or duplicates, and for a range of more than 10 million;
    UnknownColumnError if a column is missing.

    >>> public_keys([("gym", 7), ("bar", 8)], ("place", "hour")).columns()
    {'place': ['gym', 'bar'], 'hour': [7, 8]}
    """
    if keys is None:
        raise KeysError(
            f"Grouping by {', '.join(by)} needs public keys.",
            hint="Pass keys=, the list of groups to speak about. It must come from public "
            "knowledge: keys seen in private data would reveal who is in it.",
        )
    keys = _collected(keys, by)
    arrays = tuple(_arrays(keys, by))
    found = PublicKeys(tuple(by), arrays, len(arrays[0]) if arrays else 0, beside(keys, by))
    lengths = dict(zip(by, map(len, arrays), strict=True))
    lengths |= {name: len(values) for name, values in found.beside.columns.items()}
    if any(length != found.size for length in lengths.values()):
        raise KeysError(
            "The key columns differ in length: "
            f"{', '.join(f'{name} has {length:,}' for name, length in lengths.items())}.",
            hint="A mapping is a table, with a value of each column for each key. For every value "
            "of one with every value of the others write keys=onesided.cross("
            f"{', '.join(f'{name}=...' for name in by)}).",
        )
    if not found.size:
        raise KeysError("The list of keys is empty.", hint="Give at least one key.")
    _refuse_odd(found)
    _refuse_duplicates(found)
    return found


def cross(**columns: Iterable[object]) -> dict[str, NDArray[Any]]:
    """Keys of several columns: each value of one with each of the others, the last ones fastest.

    >>> {name: column.tolist() for name, column in cross(place=["a", "b"], hour=range(2)).items()}
    {'place': ['a', 'a', 'b', 'b'], 'hour': [0, 1, 0, 1]}

    Errors: KeysError for a column without values, or of text that is not in a list, and for more
    than 10 million keys.
    """
    arrays: dict[str, NDArray[Any]] = {}
    if not columns:
        raise KeysError("No columns are given.", hint="Write cross(place=places, hour=range(24)).")
    for name, values in columns.items():
        if not isinstance(values, Iterable):
            raise KeysError(
                f"{name}={values!r} is no list of values.", hint=f"Write {name}=[{values!r}]."
            )
        if isinstance(values, str):
            raise KeysError(f"{name}={values!r} is one text.", hint=f"Write {name}=[{values!r}].")
        column = _column(values)
        arrays[name] = column if isinstance(column, np.ndarray) else array_of(listed(column))
        if not len(arrays[name]):
            raise KeysError(f"There is no value of {name!r}.", hint="Give at least one.")
    before, total = 1, math.prod(map(len, arrays.values()))
    if total > MOST_KEYS:
        parts = " × ".join(f"{len(array):,}" for array in arrays.values())
        raise KeysError(
            f"{parts} are {total:,} keys, more than {MOST_KEYS:,}.",
            hint="Cross fewer values, or ask by fewer columns at once.",
            most=MOST_KEYS,
        )
    made = {}
    for name, array in arrays.items():
        after = total // (before * len(array))
        made[name] = np.tile(np.repeat(array, after), before)
        before *= len(array)
    return made


def _refuse_odd(keys: PublicKeys) -> None:
    """Errors: KeysError for the first key that is null, or no plain value."""
    open_to = [o for o in keys.arrays if not isinstance(o, nw.Series) and o.dtype.kind not in "iub"]
    if not any(set(map(type, listed(column))) - _PLAIN for column in open_to):
        return
    for place, row in enumerate(keys.rows):
        if not all(isinstance(value, Hashable) for value in row):
            raise KeysError(
                f"Key number {place} is {_show(row)}, which is no plain value.",
                hint="Give text, whole numbers, booleans or dates, in a tuple for several columns.",
                position=place,
            )
        if any(value is None or value != value for value in row):  # noqa: PLR0124 - NaN and NaT
            raise KeysError(
                f"Key number {place} is {_show(row)}: keys cannot be null.",
                hint="Remove rows without a key.",
                position=place,
            )


def _collected(keys: object, by: Sequence[str]) -> object:
    """A lazy table's rows, read once: twice, their order may differ."""
    frame = nw.from_native(keys, pass_through=True, allow_series=True)
    if not isinstance(frame, nw.LazyFrame):
        return keys
    _require(frame.collect_schema().names(), by)
    if frame.implementation.is_duckdb() and find_spec("pyarrow") is None:
        # A relation's columns where DuckDB is alone: it gives finer moments without their end.
        fine = [
            name for name, dtype in frame.collect_schema().items() if dtype == nw.Datetime("ns")
        ]
        if fine:
            raise MissingDependencyError(
                f"The keys of {fine[0]!r} are in nanoseconds, which DuckDB alone does not give.",
                hint="pip install 'onesided[pyarrow]', or cast the column to microseconds.",
            )
        native: Any = nw.to_native(frame)
        rows = native.fetchall()
        return {name: [row[place] for row in rows] for place, name in enumerate(native.columns)}
    return frame.collect().to_native()


def _arrays(keys: object, by: Sequence[str]) -> Iterable[KeyColumn]:
    """The keys column by column."""
    if isinstance(keys, Mapping):
        _require(list(keys), by)
        return [_column(keys[name]) for name in by]
    if isinstance(keys, set | frozenset):
        raise KeysError(
            "keys are a set, which has an order of its own in every process.",
            hint="Write sorted(keys): answers come in the order of the keys.",
        )
    frame = nw.from_native(keys, pass_through=True, allow_series=True)
    if isinstance(frame, nw.Series):
        return _single(frame, by)
    if isinstance(frame, nw.DataFrame):
        _require(frame.columns, by)
        return [of_series(frame[name]) for name in by]
    if isinstance(keys, str) or not isinstance(keys, Iterable):
        raise KeysError(
            f"keys must be a list, series or table, got {keys!r}.",
            hint="For one column a plain list of values will do.",
        )
    flat = isinstance(keys, np.ndarray) and keys.ndim == 1 and keys.dtype.kind in "iubU"
    if flat or isinstance(keys, range):
        return _single(keys, by)
    values = list(keys)
    kinds = set(map(type, values))
    several = any(issubclass(kind, tuple | list | np.ndarray) for kind in kinds)
    if not several and len(by) == 1:
        return [array_of(values)]
    rows = values
    if kinds != {tuple} or set(map(len, values)) != {len(by)}:
        rows = [_row(plain(value), by) for value in values]
    return [array_of(list(column)) for column in zip(*rows, strict=True)]


def _single(given: Any, by: Sequence[str]) -> list[KeyColumn]:
    column = _column(given)
    if len(by) != 1 and len(given):
        _row(plain(given[0]), by)
    return [column]


def _column(given: Any) -> KeyColumn:
    """One column. Errors: KeysError for a range that is too long, before any of it is made."""
    refuse_long_range(given)
    return column_of(given)


def _require(names: Sequence[str], by: Sequence[str]) -> None:
    for name in by:
        if name not in names:
            raise UnknownColumnError(
                f"The keys have no column {name!r}.",
                hint=f"Their columns are {', '.join(map(str, names))}.",
                column=name,
            )


def _row(value: object, by: Sequence[str]) -> Key:
    """One given key as a tuple as long as the grouping."""
    several = isinstance(value, tuple | list | np.ndarray)
    row = tuple(plain(part) for part in value) if several else (value,)  # type: ignore[attr-defined]
    if len(row) != len(by):
        raise KeysError(
            f"The key {_show(row)} has {many(len(row), 'part')}, but the grouping has "
            f"{many(len(by), 'column')}.",
            hint=f"Give one value for each of {', '.join(by)}.",
        )
    return row


def _refuse_duplicates(keys: PublicKeys) -> None:
    """Errors: KeysError for the first key that was there before."""
    codes, groups = keys.arrays[0], 1
    if len(keys.arrays) > 1:
        codes = np.zeros(keys.size, dtype=np.int64)
        for column in keys.arrays:
            own, many = numbered(column)
            if groups * many >= 2**62:
                codes = np.unique(codes, return_inverse=True)[1]
                groups = int(codes.max()) + 1
            codes, groups = codes * many + own, groups * many
    if not has_repeats(codes):
        return
    seen: dict[Key, int] = {}
    for place, row in enumerate(keys.rows):
        if row in seen:
            raise KeysError(
                f"Key {_show(row)} is given twice, at {seen[row]} and at {place}.",
                hint="Give each key once.",
                key=row,
            )
        seen[row] = place


def _show(row: Key) -> str:
    return repr(row[0]) if len(row) == 1 else repr(row)


def check_types(keys: PublicKeys, schema: Mapping[str, nw.dtypes.DType]) -> None:
    """Refuse keys that could never match their column: each count would be a wrong zero.

    Errors: KeysError naming the column, its type and the first key that does not fit.

    >>> import polars as pl
    >>> from onesided.engine import Table, public_keys
    >>> schema = Table(pl.DataFrame({"age": [7]})).schema
    >>> check_types(public_keys(["seven"], ("age",)), schema)
    Traceback (most recent call last):
        ...
    onesided.errors.KeysError: The key 'seven' is a str, but column 'age' holds Int64: it could
    never match. Hint: Give keys of the column's own type, or cast the column 'age'.
    """
    for name, array in keys.by_name().items():
        dtype = schema[name]
        if _all_fit(array, dtype):
            continue
        for value in listed(array):
            if not _fits(value, dtype, name):
                raise KeysError(
                    f"The key {value!r} is {a(type(value).__name__)}, but column "
                    f"{name!r} holds {dtype}: it could never match.",
                    hint=f"Give keys of the column's own type, or cast the column {name!r}.",
                    column=name,
                )


def _all_fit(column: KeyColumn, dtype: nw.dtypes.DType) -> bool:
    """Whether it is clear at a glance that every key can equal a value of the column."""
    if isinstance(column, nw.Series) or column.dtype.kind not in "iub":
        return isinstance(dtype, nw.String) and is_text(column)
    if column.dtype.kind == "b":
        return isinstance(dtype, nw.Boolean)
    if not dtype.is_integer():
        return False
    held = _whole_numbers(dtype)
    return int(column.min()) in held and int(column.max()) in held


def _fits(value: object, dtype: nw.dtypes.DType, name: str) -> bool:
    """Whether ``value`` can equal a value of a column of type ``dtype``."""
    if dtype.is_integer():
        whole = isinstance(value, int) and not isinstance(value, bool)
        return whole and value in _whole_numbers(dtype)
    if isinstance(dtype, nw.Datetime):
        # A moment finer than the column's unit is none of it: rounded, two keys could become one.
        # The unit is a microsecond at the least: that is all that some engines take from Python.
        tick = {"s": 10**6, "ms": 10**3}.get(dtype.time_unit, 1)
        return (
            isinstance(value, dt.datetime)
            and (value.tzinfo is None) == (dtype.time_zone is None)
            and not (value.microsecond % tick or getattr(value, "nanosecond", 0))
        )
    if isinstance(dtype, nw.Date):
        return isinstance(value, dt.date) and not isinstance(value, dt.datetime)
    if isinstance(dtype, nw.Boolean):
        return isinstance(value, bool)
    if isinstance(dtype, nw.String | nw.Categorical | nw.Enum):
        return isinstance(value, str) and can_be_written(value)
    if isinstance(dtype, nw.Object):
        return True  # the values are looked at when they are counted
    raise KeysError(
        f"Column {name!r} holds {dtype}, which cannot be grouped by.",
        hint="Group by whole numbers, text, categories, booleans or dates.",
        column=name,
    )


def _whole_numbers(dtype: nw.dtypes.DType) -> range:
    """What is compared with a column of whole numbers; beyond, engines would wrap around."""
    if isinstance(dtype, nw.UInt64 | nw.UInt128):
        return range(2**128 if isinstance(dtype, nw.UInt128) else 2**64)
    most = 2**127 if isinstance(dtype, nw.Int128) else 2**63
    return range(-most, most)
