"""Public keys: the groups that a release speaks about, given by the curator, never looked up.

They are columns, see ``_key_columns``.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any, Final

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from onesided._english import many
from onesided.engine._beside import Beside, beside
from onesided.engine._key_columns import (
    MOST_KEYS,
    KeyColumn,
    array_of,
    canonical,
    column_of,
    has_repeats,
    is_odd,
    listed,
    numbered,
    of_series,
    plain,
    refuse_long_range,
    with_null,
)
from onesided.errors import KeysError, MissingDependencyError, UnknownColumnError
from onesided.noise import IntArray

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

    What else a mapping or a frame has is told with each answer, see :mod:`onesided.engine._beside`.
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
    if not any(map(is_odd, keys.arrays)):
        return
    for place, row in enumerate(keys.rows):
        if not all(isinstance(value, Hashable) for value in row):
            raise KeysError(
                f"Key number {place} is {_show(row)}, which is no plain value.",
                hint="Give text, whole numbers, booleans or dates, in a tuple for several columns.",
                position=place,
            )
        if any(_is_null(value) for value in row):
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
        return _fetched(frame)
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
    if isinstance(keys, range) or _is_flat(keys):
        return _single(keys, by)
    values = list(keys)
    several = any(issubclass(kind, tuple | list | np.ndarray) for kind in set(map(type, values)))
    if not several and len(by) == 1:
        return [array_of(values)]
    rows = [_row(plain(value), by) for value in values]
    return [array_of(list(column)) for column in zip(*rows, strict=True)]


def _fetched(keys: nw.LazyFrame[Any]) -> dict[str, list[Any]]:
    """A relation's columns where DuckDB is alone: it gives finer moments without their end."""
    fine = [name for name, dtype in keys.collect_schema().items() if dtype == nw.Datetime("ns")]
    if fine:
        raise MissingDependencyError(
            f"The keys of {fine[0]!r} are in nanoseconds, which DuckDB alone does not give.",
            hint="pip install 'onesided[pyarrow]', or cast the column to microseconds.",
        )
    native: Any = nw.to_native(keys)
    rows = native.fetchall()
    return {name: [row[place] for row in rows] for place, name in enumerate(native.columns)}


def _is_flat(keys: object) -> bool:
    return isinstance(keys, np.ndarray) and keys.ndim == 1 and keys.dtype.kind in "iubU"


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


def _is_null(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value)) or value != value  # noqa: PLR0124 - pandas' NaT differs from itself


def _refuse_duplicates(keys: PublicKeys) -> None:
    """Errors: KeysError for the first key that was there before."""
    if not _repeated(keys.arrays):
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


def _repeated(columns: Sequence[KeyColumn]) -> bool:
    """Whether some row of the columns is there twice."""
    if len(columns) == 1:
        return has_repeats(columns[0])
    codes, groups = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column in columns:
        own, many = numbered(column)
        if groups * many >= 2**62:
            codes = np.unique(codes, return_inverse=True)[1]
            groups = int(codes.max()) + 1
        codes, groups = codes * many + own, groups * many
    return has_repeats(codes)


def _show(row: Key) -> str:
    return repr(row[0]) if len(row) == 1 else repr(row)
