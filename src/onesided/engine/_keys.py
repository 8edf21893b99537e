"""Public keys: the groups that a release speaks about, given by the curator, never looked up."""

from __future__ import annotations

import datetime as dt
import hashlib
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from onesided.errors import KeysError, UnknownColumnError
from onesided.noise import IntArray

Key = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class PublicKeys:
    """One row per group, one column per grouping column; unique and without nulls."""

    names: tuple[str, ...]
    rows: tuple[Key, ...]

    def columns(self) -> dict[str, list[object]]:
        """The same, column by column."""
        return {name: [row[i] for row in self.rows] for i, name in enumerate(self.names)}

    def part(self, places: IntArray) -> PublicKeys:
        """Some of the keys, in the order of ``places``."""
        return PublicKeys(self.names, tuple(self.rows[place] for place in places.tolist()))

    def places(self) -> dict[Key, int]:
        """The position of each key."""
        return {row: place for place, row in enumerate(self.rows)}

    def order(self) -> IntArray:
        """A fixed, arbitrary rank per key, from its text alone.

        Units in too many groups keep those of lowest rank: a choice that looks at no data.
        """
        digests = [hashlib.sha256(repr(row).encode()).digest() for row in self.rows]
        ranks = np.empty(len(digests), dtype=np.int64)
        ranks[sorted(range(len(digests)), key=digests.__getitem__)] = np.arange(len(digests))
        return ranks


def public_keys(keys: object, by: Sequence[str]) -> PublicKeys:
    """Read keys from a list (one column), a list of tuples, a mapping, a series or a frame.

    Errors: KeysError for none, nulls or duplicates; UnknownColumnError if a column is missing.
    """
    if keys is None:
        raise KeysError(
            f"Grouping by {', '.join(by)} needs public keys.",
            hint="Pass keys=, the list of groups to speak about. It must come from public "
            "knowledge: keys seen in private data would reveal who is in it.",
        )
    rows = tuple(_rows(keys, by))
    if not rows:
        raise KeysError("The list of keys is empty.", hint="Give at least one key.")
    for place, row in enumerate(rows):
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
    _refuse_duplicates(rows)
    return PublicKeys(tuple(by), rows)


def _rows(keys: object, by: Sequence[str]) -> Iterable[Key]:
    """The keys as tuples of plain Python values."""
    if isinstance(keys, Mapping):
        return _from_columns({name: list(column) for name, column in keys.items()}, by)
    frame = nw.from_native(keys, pass_through=True, allow_series=True)
    if isinstance(frame, nw.Series):
        return ((value,) for value in frame.to_list())
    if isinstance(frame, nw.LazyFrame | nw.DataFrame):
        return _from_frame(frame, by)
    if isinstance(keys, str) or not isinstance(keys, Iterable):
        raise KeysError(
            f"keys must be a list, series or table, got {keys!r}.",
            hint="For one column a plain list of values will do.",
        )
    return (_row(_plain(value), by) for value in keys)


def _from_frame(frame: nw.LazyFrame[Any] | nw.DataFrame[Any], by: Sequence[str]) -> Iterable[Key]:
    """Keys from a table that may have more columns than the grouping."""
    _require(frame.collect_schema().names(), by)
    picked = frame.select(*by)
    if picked.implementation.is_duckdb():
        return [tuple(row) for row in nw.to_native(picked).fetchall()]
    eager = picked.collect() if isinstance(picked, nw.LazyFrame) else picked
    return _from_columns({name: eager[name].to_list() for name in by}, by)


def _from_columns(columns: Mapping[str, list[object]], by: Sequence[str]) -> Iterable[Key]:
    _require(list(columns), by)
    return zip(*([_plain(v) for v in columns[name]] for name in by), strict=True)


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
    row = tuple(_plain(part) for part in value) if several else (value,)  # type: ignore[attr-defined]
    if len(row) != len(by):
        raise KeysError(
            f"The key {_show(row)} has {len(row)} parts, but the grouping has {len(by)} columns.",
            hint=f"Give one value for each of {', '.join(by)}.",
        )
    return row


def _plain(value: object) -> object:
    """NumPy scalars as Python values, moments with a zone as instants: equal keys are alike."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC)
    return value


def _is_null(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value)) or value != value  # noqa: PLR0124 - pandas' NaT differs from itself


def _refuse_duplicates(rows: Sequence[Key]) -> None:
    seen: dict[Key, int] = {}
    for place, row in enumerate(rows):
        if row in seen:
            raise KeysError(
                f"Key {_show(row)} is given twice, at {seen[row]} and at {place}.",
                hint="Give each key once.",
                key=row,
            )
        seen[row] = place


def check_types(keys: PublicKeys, schema: Mapping[str, nw.dtypes.DType]) -> None:
    """Refuse keys that could never match their column: each count would be a wrong zero.

    Errors: KeysError naming the column, its type and the first key that does not fit.
    """
    for place, name in enumerate(keys.names):
        dtype = schema[name]
        for row in keys.rows:
            if not _fits(row[place], dtype, name):
                raise KeysError(
                    f"The key {row[place]!r} is a {type(row[place]).__name__}, but column "
                    f"{name!r} holds {dtype}: it could never match.",
                    hint=f"Give keys of the column's own type, or cast the column {name!r}.",
                    column=name,
                )


def _fits(value: object, dtype: nw.dtypes.DType, name: str) -> bool:
    """Whether ``value`` can equal a value of a column of type ``dtype``."""
    if dtype.is_integer():
        whole = isinstance(value, int) and not isinstance(value, bool)
        return whole and value in _whole_numbers(dtype)
    if isinstance(dtype, nw.Datetime):
        return isinstance(value, dt.datetime) and _is_moment(value, dtype)
    if isinstance(dtype, nw.Date):
        return isinstance(value, dt.date) and not isinstance(value, dt.datetime)
    if isinstance(dtype, nw.Boolean):
        return isinstance(value, bool)
    if isinstance(dtype, nw.String | nw.Categorical | nw.Enum):
        return isinstance(value, str) and _is_text(value)
    if isinstance(dtype, nw.Object):
        return True  # the values are looked at when they are counted
    raise KeysError(
        f"Column {name!r} holds {dtype}, which cannot be grouped by.",
        hint="Group by whole numbers, text, categories, booleans or dates.",
        column=name,
    )


def _is_text(value: str) -> bool:
    """Whether it can be written as UTF-8; Spark would make one key of all that cannot."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _whole_numbers(dtype: nw.dtypes.DType) -> range:
    """What is compared with a column of whole numbers; beyond, engines would wrap around."""
    if isinstance(dtype, nw.UInt64 | nw.UInt128):
        return range(2**128 if isinstance(dtype, nw.UInt128) else 2**64)
    most = 2**127 if isinstance(dtype, nw.Int128) else 2**63
    return range(-most, most)


def _is_moment(value: dt.datetime, dtype: nw.Datetime) -> bool:
    """Whether a column of this unit can hold the moment; rounded, two keys could become one.

    The unit is a microsecond at the least: that is all that some engines take from Python.
    """
    aware = value.tzinfo is not None
    tick = {"s": 10**6, "ms": 10**3}.get(dtype.time_unit, 1)
    fine = value.microsecond % tick or getattr(value, "nanosecond", 0)
    return aware == (dtype.time_zone is not None) and not fine


def _show(row: Key) -> str:
    return repr(row[0]) if len(row) == 1 else repr(row)
