"""A batch: who was where and when, under a public id and a public time. The rows are secret."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from typing import Any

import narwhals as nw
import numpy as np

from onesided.engine import Table
from onesided.errors import DataError, UnknownColumnError
from onesided.monitor._columns import (
    NOTHING,
    Column,
    OnUnknown,
    column_of,
    persons_of,
    places_of,
    times_of,
)
from onesided.monitor._rows import Row, Rows, as_numbers
from onesided.monitor._rules import Rules
from onesided.noise import IntArray
from onesided.store import plain_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """What the columns of a batch are called. ``time`` may be missing from the data.

    >>> Columns(person="guest").place
    'place'
    """

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
    table = _columns(data, columns)
    lengths = {len(column) for column in table.values()}
    if len(lengths) > 1:
        raise DataError(
            f"The columns of batch {name!r} have different lengths: {sorted(lengths)}.",
            hint=f"Give one person, place and time per row. {NOTHING}",
        )
    persons, names, text = persons_of(table[columns.person], columns.person)
    places = places_of(table[columns.place], rules, columns.place, on_unknown)
    times = np.full(places.size, at, dtype=np.int64)
    if columns.time in table and rules.window is not None:
        times = times_of(table[columns.time], rules.scale, columns.time)
        _refuse_later(times, at, name, rules)
    if places.min(initial=0) < 0:
        known = places >= 0
        places, persons, times = places[known], persons[known], times[known]
        persons, names = _named_there(persons, names, text=text)
    return Batch(name, at, Rows.ordered(places, persons, names, times, text=text))


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


def _columns(data: object, columns: Columns) -> dict[str, Column]:
    """The wanted columns, by name."""
    if isinstance(data, Mapping):
        return {name: column_of(data[name]) for name in _wanted(list(data), columns)}
    table = Table(data)
    wanted = _wanted([*table.schema, *table.engine.refused], columns)
    with table.take(wanted) as rows:
        found = rows.columns([rows.at(name) for name in wanted])
        return {name: found[rows.at(name)] for name in wanted}


def frames_like(data: object) -> Callable[[Mapping[str, Any]], Any] | None:
    """Makes tables of the batch's own type; None for a batch that is no table."""
    frame: Any = nw.from_native(data, pass_through=True)
    if not isinstance(frame, nw.DataFrame | nw.LazyFrame):
        return None
    return lambda columns: Table(data).result(columns, like=())


def _wanted(names: Sequence[str], columns: Columns) -> list[str]:
    for name in (columns.person, columns.place):
        if name not in names:
            raise UnknownColumnError(
                f"The batch has no column {name!r}.",
                hint=f"Its columns are {', '.join(map(str, names))}. {NOTHING}",
                column=name,
            )
    return [name for name in (columns.person, columns.place, columns.time) if name in names]


def _refuse_later(times: IntArray, at: int, name: str, rules: Rules) -> None:
    """A row later than its batch would outlive the public clock that its marks go by."""
    for row in np.flatnonzero(times > at)[:1].tolist():
        raise DataError(
            f"Row {row} of batch {name!r} is from {rules.scale.text(int(times[row]))}, later than "
            f"the batch's own time {rules.scale.text(at)}.",
            hint=f"A batch's time is the end of the period that it covers. {NOTHING}",
            row=row,
        )
