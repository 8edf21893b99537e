"""A batch: who was where and when, under a public id and a public time. The rows are secret."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from functools import cache
from itertools import repeat
from types import NoneType
from typing import Any, Final, Literal, TypeAlias

import narwhals as nw
import numpy as np

from onesided._english import a, many
from onesided.engine import Table
from onesided.engine.kit import reading
from onesided.errors import DataError, ParameterError, UnknownColumnError
from onesided.fields import one_of
from onesided.monitor._rows import (
    LENGTH,
    Person,
    Row,
    Rows,
    Texts,
    as_numbers,
    moments_in_column,
    named,
)
from onesided.monitor._rules import LATEST, YEARS, Rules, Scale, in_years
from onesided.noise import BoolArray, IntArray
from onesided.schema import BOOLEAN
from onesided.store import plain_text

# The columns of a batch as whole numbers, whatever they come in. Nothing is drawn here.

Column: TypeAlias = Any  # a series of narwhals, an array of numpy, or a list
OnUnknown = Literal["error", "ignore"]
NOTHING: Final = "Nothing was drawn or stored."
_DENSE: Final = 8  # times as many numbers as keys: a table of them is small
_PART: Final = 1 << 16  # values that are Python's at a time
_EPOCH: Final = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - without a zone, which means UTC
_MICROSECOND: Final = dt.timedelta(microseconds=1)
_TICKS: Final = {"s": 10**6, "ms": 10**3, "us": 1}


def column_of(given: object) -> Column:
    """A series, an array of numbers or moments, or a list."""
    series = nw.from_native(given, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return series
    if isinstance(given, np.ndarray):
        return given if given.ndim == 1 and given.dtype.kind in "iuM" else given.tolist()
    return list(given)  # type: ignore[call-overload]


def persons_of(column: Column, name: str) -> tuple[IntArray, tuple[bytes, ...] | None, bool]:
    """Text or whole numbers, all of one type: 5 and "5" must not be one person or two by chance.

    As :class:`Rows` has them, and whether they are text. Errors: DataError naming the first row of
    another type.
    """
    whole = _whole(column)
    if whole is not None:
        return whole, None, False
    texts = _texts(column)
    if texts is not None:
        return *texts.distinct(), len(texts) > 0
    persons, names = named(_persons(column, name))
    first = [value for _, part in _parts(column[:1]) for value in part]
    if first and isinstance(first[0], str):
        return persons, names, True
    numbers = as_numbers(persons, names)
    return (persons, names, False) if numbers is None else (numbers, None, False)


def _persons(column: Column, name: str) -> Iterator[Sequence[Person]]:
    kinds: set[type] = set()
    for _, part in _parts(column):
        kinds.update(map(type, part))
        if not (kinds <= {int} or kinds <= {str}):
            given = [value for _, values in _parts(column) for value in values]
            first = type(given[0]) if type(given[0]) in (int, str) else None
            row = next(i for i, value in enumerate(given) if type(value) is not first)
            raise DataError(
                f"Row {row} of column {name!r} holds {given[row]!r}; a person must be text, or a "
                "whole number, the same throughout and never null.",
                hint=f"Cast the column {name!r} to text. {NOTHING}",
                row=row,
                column=name,
            )
        yield part


def places_of(column: Column, rules: Rules, name: str, on_unknown: OnUnknown) -> IntArray:
    """The position of each place among the keys; -1 for one to be left out.

    Errors: DataError naming the first row of another type, and of an unknown place unless those
    are to be ignored; ParameterError.
    """
    one_of(on_unknown, name="on_unknown", words=("error", "ignore"))
    whole = None if rules.ordered is None else _whole(column)
    texts = None if rules.ordered is not None else _texts(column)
    if whole is not None and rules.ordered is not None:
        found = _at(whole, *rules.ordered)
    elif texts is not None and rules.kinds == {str}:
        which, words = texts.distinct()
        names = (word[LENGTH:].decode("utf-8", "surrogatepass") for word in words)
        found = np.fromiter(map(rules.positions.get, names, repeat(-1)), np.int64)[which]
    else:
        # By the keys' own equality, value by value.
        kinds = rules.kinds | {type(None)}
        placed = [np.zeros(0, dtype=np.int64)]
        for first, some in _parts(column):
            if not set(map(type, some)) <= kinds:
                _refuse_other_type(some, first, rules, name)
            positions = map(rules.positions.get, some, repeat(-1))
            placed.append(np.fromiter(positions, np.int64, len(some)))
        found = np.concatenate(placed)
    missing = found < 0
    if missing.any():
        values = ((start + i, v) for start, part in _parts(column) for i, v in enumerate(part))
        wanted = set(np.flatnonzero(missing).tolist())
        for row, value in values:
            if row in wanted and (on_unknown == "error" or value is None):
                raise DataError(
                    f"Row {row} is at {value!r}, which is none of the {many(rules.size, 'place')}.",
                    hint=f"Add it to the places of a new monitor, or leave such rows out with "
                    f"on_unknown='ignore'. {NOTHING}",
                    row=row,
                    place=value,
                    column=name,
                )
    return found


def _at(whole: IntArray, keys: IntArray, order: IntArray) -> IntArray:
    """Where each number stands among the keys, which are in order; -1 for none of them."""
    low, span = int(keys[0]), int(keys[-1]) - int(keys[0]) + 1
    if span > _DENSE * keys.size:
        at = np.minimum(np.searchsorted(keys, whole), keys.size - 1)
        return np.where(keys[at] == whole, order[at], -1)
    places = np.full(span, -1, dtype=np.int64)
    places[keys - low] = order
    inside = (whole >= low) & (whole < low + span)
    return np.where(inside, places[np.where(inside, whole - low, 0)], -1)


def _refuse_other_type(part: Sequence[Any], start: int, rules: Rules, name: str) -> None:
    """Refuse places of another type than the keys': none would be found, and all be certified."""
    kinds = rules.kinds
    row = next(i for i, value in enumerate(part) if value is not None and type(value) not in kinds)
    wanted = " or ".join(sorted(kind.__name__ for kind in kinds))
    raise DataError(
        f"Row {start + row} of column {name!r} holds {part[row]!r}, {a(type(part[row]).__name__)}; "
        f"the places of this monitor are of type {wanted}.",
        hint="Cast the column: places of another type are other places, and nobody would "
        f"be counted. {NOTHING}",
        row=start + row,
        place=part[row],
        column=name,
    )


def times_of(column: Column, scale: Scale, name: str) -> IntArray:
    """Moments as whole numbers of the scale. Errors: DataError naming the first that is none."""
    found = _moments(column) if scale.dated else _whole(column)
    low, high = YEARS if scale.dated else (-LATEST, LATEST)
    if found is None or (found.size and not low <= found.min() <= found.max() <= high):
        values = [value for _, part in _parts(column) for value in part]
        each = enumerate(values)
        ticks = [scale.ticks(value, name=f"{name!r} of row {row}") for row, value in each]
        found = np.array(ticks, dtype=np.int64)
    return found


def _moments(column: Column) -> IntArray | None:
    """Microseconds of UTC; None where the values must be looked at one by one."""
    if isinstance(column, np.ndarray) and column.dtype.kind == "M":
        far = np.isnat(column).any() or not in_years(column)
        return None if far else column.astype("datetime64[us]").astype(np.int64)
    if isinstance(column, list) or isinstance(column.dtype, nw.String):
        # Texts of ISO 8601 without a zone; None where one of them is none, or has one.
        if isinstance(column, nw.Series):
            read: IntArray | None = _read(lambda: moments_in_column(column))
            if read is not None:
                return read
        pieces = [np.zeros(0, dtype=np.int64)]
        for _, part in _parts(column):
            try:
                since = [dt.datetime.fromisoformat(one) - _EPOCH for one in part]
            except (TypeError, ValueError):
                return None
            pieces.append(np.array([one // _MICROSECOND for one in since], dtype=np.int64))
        return np.concatenate(pieces)
    finer = _TICKS.get(column.dtype.time_unit) if isinstance(column.dtype, nw.Datetime) else None
    if finer is None or column.null_count():
        return None
    # In the column's own unit: made finer, a moment far away would become another one.
    found: IntArray = _read(lambda: column.cast(nw.Int64()).to_numpy().astype(np.int64))
    far = finer * max(-int(found.min(initial=0)), int(found.max(initial=0))) > LATEST
    return None if far else found * finer


def _texts(column: Column) -> Texts | None:
    """Texts where they are in columns already; None where they must be looked at one by one."""
    if not isinstance(column, nw.Series):
        return None
    found: Texts | None = _read(lambda: Texts.in_column(column))
    return found


def _whole(column: Column) -> IntArray | None:
    """Whole numbers of 64 bits; None where the column may hold anything else."""
    if isinstance(column, nw.Series):
        wide = isinstance(column.dtype, nw.Int128 | nw.UInt128)
        if not column.dtype.is_integer() or wide or column.null_count():
            return None
        found = _read(column.to_numpy)
    elif isinstance(column, list):
        if set(map(type, column)) != {int}:
            return None
        try:
            return np.array(column, dtype=np.int64)
        except OverflowError:
            return None
    else:
        found = column
    if found.dtype.kind not in "iu" or (found.dtype.kind == "u" and found.max(initial=0) >= 2**63):
        return None
    whole: IntArray = found.astype(np.int64)
    return whole


def _parts(column: Column) -> Iterator[tuple[int, list[Any]]]:
    """Python's values, some at a time, and the row that each part begins with."""
    for start in range(0, len(column), _PART):
        part = column[start : start + _PART]
        if isinstance(part, nw.Series):
            yield start, _read(part.to_list)
        elif isinstance(part, np.ndarray):
            yield start, list(part) if part.dtype.kind == "M" else part.tolist()
        else:
            yield start, [one.item() if isinstance(one, np.generic) else one for one in part]


def _read(get: Callable[[], Any]) -> Any:
    with reading():
        return get()


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """What the columns of a batch are called. ``time`` may be missing from the data."""

    person: str = "person"
    place: str = "place"
    time: str = "time"


@dataclass(frozen=True, slots=True)
class Batch:
    """Visits under a public id and a public time, as columns.

    ``id`` and ``time`` are public, as is the fact that the batch came; its rows and their number
    are not. No row is later than ``time``. given: columns, or rows ``(position of the place,
    person, event time)`` in any order.

    >>> batch = Batch("monday", 1, ((0, "Ann", 1), (1, "Bob", 1)))
    >>> stored_batch(batch.id, batch.time, batch.content()) == batch, batch.person_type
    (True, 'str')
    """

    id: str
    time: int
    given: InitVar[Rows | Iterable[Row]] = ()
    rows: Rows = field(init=False)

    def __post_init__(self, given: Rows | Iterable[Row]) -> None:
        object.__setattr__(self, "rows", given if isinstance(given, Rows) else Rows.of(given))

    def content(self) -> bytes:
        """The rows as they are stored while they are in the window."""
        return self.rows.packed()

    def digest(self) -> bytes:
        """What stands for the rows in keys and proofs: the same in whatever order they came."""
        return self.rows.digest()

    @property
    def person_type(self) -> str:
        """The persons' type, "int" or "str"; "" for a batch without rows."""
        return self.rows.person_type


def stored_batch(batch_id: str, time: int, content: bytes) -> Batch:
    """A batch as :meth:`Batch.content` kept it. Errors: ValueError for bytes that are none."""
    return Batch(batch_id, time, Rows.unpacked(content))


def read_batch(
    data: object,
    *,
    rules: Rules,
    columns: Columns,
    id: object,  # noqa: A002 - the caller's word for it
    time: object,
    on_unknown: OnUnknown = "error",
) -> Batch:
    """Read a batch: a frame, a mapping of columns, or None for a batch without rows.

    Errors, before anything is drawn: UnknownColumnError; DataError for nulls, unknown places
    (unless ``on_unknown="ignore"``), rows later than ``time``, and persons that are neither text
    nor whole numbers.
    """
    name = plain_text(id, name="batch id", empty=False)
    at = rules.scale.ticks(time, name="the time of a batch")
    if data is None:
        return Batch(name, at)
    table = _columns(data, columns, rules.deciding)
    lengths = {len(column) for column in table.values()}
    if len(lengths) > 1:
        raise DataError(
            f"The columns of batch {name!r} have different lengths: {sorted(lengths)}.",
            hint=f"Give one person, place and time per row. {NOTHING}",
        )
    persons, names, text = persons_of(table[columns.person], columns.person)
    places = places_of(table[columns.place], rules, columns.place, on_unknown)
    opened = _opened(table, rules, columns)
    times = np.full(places.size, at, dtype=np.int64)
    if columns.time in table and rules.window is not None:
        times = times_of(table[columns.time], rules.scale, columns.time)
        # A row later than its batch would outlive the public clock that its marks go by.
        for row in np.flatnonzero(times > at)[:1].tolist():
            raise DataError(
                f"Row {row} of batch {name!r} is from {rules.scale.text(int(times[row]))}, later "
                f"than the batch's own time {rules.scale.text(at)}.",
                hint=f"A batch's time is the end of the period that it covers. {NOTHING}",
                row=row,
            )
    if places.min(initial=0) < 0:
        known = places >= 0
        places, persons, times = places[known], persons[known], times[known]
        opened = None if opened is None else opened[known]
        persons, names = _named_there(persons, names, text=text)
    if opened is not None:
        # An open visit is a row of its place's second cell as well.
        places = np.concatenate((places, places[opened] + rules.size))
        persons, times = (np.concatenate((one, one[opened])) for one in (persons, times))
    return Batch(name, at, Rows.ordered(places, persons, names, times, text=text))


def _opened(table: Mapping[str, Column], rules: Rules, columns: Columns) -> BoolArray | None:
    """Which rows are open, where alarms are told: the policy's condition is surely false there.

    Errors: DataError for a column of the condition that holds something else than yes or no.
    """
    if rules.alarms is None:
        return None
    names = rules.deciding
    rows = len(table[columns.person])
    held = [[v for _, part in _parts(table[name]) for v in part] for name in names]
    for name, values in zip(names, held, strict=True):
        for row, value in enumerate(values):
            if type(value) not in (bool, NoneType):
                raise DataError(
                    f"Row {row} of column {name!r} holds {value!r}; who is sensitive follows from "
                    "columns of true, false and null.",
                    hint=f"Make the column {name!r} boolean. {NOTHING}",
                    row=row,
                    column=name,
                )
    is_open = opened_by(rules)
    told = map(is_open, *held) if names else repeat(is_open(), rows)
    return np.fromiter(told, np.bool_, rows)


def opened_by(rules: Rules) -> Callable[..., bool]:
    """Whether a visit is open, by what its row holds in the deciding columns, in their order.

    Unknown counts as sensitive: open is who surely is not.
    """
    names = rules.deciding
    bound = rules.policy.rules[0].condition.readable().bind(dict.fromkeys(names, BOOLEAN))
    return cache(lambda *row: bound.of(dict(zip(names, row, strict=True))) is False)


def _named_there(
    persons: IntArray, names: tuple[bytes, ...] | None, *, text: bool
) -> tuple[IntArray, tuple[bytes, ...] | None]:
    """Without the names that no row has any longer: what is left may need none."""
    if names is None:
        return persons, None
    held, persons = np.unique(persons, return_inverse=True)
    left = tuple(names[one] for one in held.tolist())
    numbers = None if text else as_numbers(persons, left)
    return (persons, left) if numbers is None else (numbers, None)


def refuse_deciding(names: Sequence[str], columns: Columns) -> None:
    """Refuse a condition on a column that says where, when or whose a visit is.

    A visit that stays would move to another place as it becomes open, and counts of everybody rise.
    Errors: ParameterError.
    """
    for name in names:
        if name in (columns.person, columns.place, columns.time):
            raise ParameterError(
                f"The policy's condition reads {name!r}, which says where, when or whose a visit "
                "is: a visit that changes its kind would move, and no place would be safe.",
                hint="Decide who is sensitive by a column of its own.",
                column=name,
            )


def _columns(data: object, columns: Columns, more: Sequence[str]) -> dict[str, Column]:
    """The wanted columns, by name."""
    if isinstance(data, Mapping):
        return {name: column_of(data[name]) for name in _wanted(list(data), columns, more)}
    table = Table(data)
    wanted = _wanted([*table.schema, *table.engine.refused], columns, more)
    with table.take(wanted) as rows:
        found = rows.columns([rows.at(name) for name in wanted])
        return {name: found[rows.at(name)] for name in wanted}


def frames_like(data: object) -> Callable[[Mapping[str, Any]], Any] | None:
    """Makes tables of the batch's own type; None for a batch that is no table."""
    frame: Any = nw.from_native(data, pass_through=True)
    if not isinstance(frame, nw.DataFrame | nw.LazyFrame):
        return None
    return lambda columns: Table(data).result(columns, like=())


def _wanted(names: Sequence[str], columns: Columns, more: Sequence[str]) -> list[str]:
    for name in (columns.person, columns.place, *more):
        if name not in names:
            raise UnknownColumnError(
                f"The batch has no column {name!r}.",
                hint=f"Its columns are {', '.join(map(str, names))}. {NOTHING}",
                column=name,
            )
    all_of_them = dict.fromkeys((columns.person, columns.place, columns.time, *more))
    return [name for name in all_of_them if name in names]
