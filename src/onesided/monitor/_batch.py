"""A batch: who was where and when, under a public id and a public time. The rows are secret."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import narwhals as nw
import numpy as np

from onesided._english import a, many
from onesided.engine import Table
from onesided.engine.kit import literal_frame
from onesided.errors import DataError, ParameterError, UnknownColumnError
from onesided.monitor._digest import Person, rows_digest
from onesided.monitor._rules import Rules
from onesided.store import plain_text

Row = tuple[int, Person, int]
OnUnknown = Literal["error", "ignore"]
_NOTHING = "Nothing was drawn or stored."


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """What the columns of a batch are called. ``time`` may be missing from the data."""

    person: str = "person"
    place: str = "place"
    time: str = "time"


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows ``(position of the place, person, event time)`` in a canonical order.

    ``id`` and ``time`` are public, as is the fact that the batch came; its rows and their number
    are not. No row is later than ``time``.

    >>> batch = Batch("monday", 1, ((0, "Ann", 1), (1, "Bob", 1)))
    >>> stored_batch(batch.id, batch.time, batch.content()) == batch, batch.person_type
    (True, 'str')
    """

    id: str
    time: int
    rows: tuple[Row, ...] = ()

    def content(self) -> bytes:
        """The rows as they are stored while they are in the window."""
        return zlib.compress(json.dumps(self.rows, separators=(",", ":")).encode(), 1)

    def digest(self) -> bytes:
        """What stands for the rows in keys and proofs: the same in whatever order they came."""
        places, persons, times = zip(*self.rows, strict=True) if self.rows else ((), (), ())
        return rows_digest(places, persons, times)

    @property
    def person_type(self) -> str:
        """The persons' type, "int" or "str"; "" for a batch without rows."""
        return type(self.rows[0][1]).__name__ if self.rows else ""


def stored_batch(batch_id: str, time: int, content: bytes) -> Batch:
    """A batch as :meth:`Batch.content` kept it. Errors: ValueError for bytes that are none."""
    try:
        rows = json.loads(zlib.decompress(content))
        return Batch(batch_id, time, tuple((place, person, at) for place, person, at in rows))
    except (zlib.error, TypeError, RecursionError) as error:
        raise ValueError(*error.args) from error


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
            hint=f"Give one person, place and time per row. {_NOTHING}",
        )
    persons = _persons(table[columns.person], columns.person)
    places = _places(table[columns.place], rules, columns.place, on_unknown)
    times = [at] * len(persons)
    if columns.time in table and rules.window is not None:
        times = rules.scale.many(table[columns.time], name=f"{columns.time!r}")
        _refuse_later(times, at, name, rules)
    rows = zip(places, persons, times, strict=True)
    return Batch(name, at, tuple(sorted(row for row in rows if row[0] is not None)))  # type: ignore[misc]


def _columns(data: object, columns: Columns) -> dict[str, Any]:
    """The wanted columns as lists or arrays, by name."""
    if isinstance(data, Mapping):
        names, get = list(data), {key: _listed(value) for key, value in data.items()}.__getitem__
        return {name: get(name) for name in _wanted(names, columns)}
    table = Table(data)
    wanted = _wanted([*table.schema, *table.engine.refused], columns)
    table.require(*wanted)
    return table.lists(wanted)


def frames_like(data: object) -> Callable[[Mapping[str, Any]], Any] | None:
    """Makes tables of the batch's own type; None for a batch that is no table."""
    frame: Any = nw.from_native(data, pass_through=True)
    if not isinstance(frame, nw.DataFrame | nw.LazyFrame):
        return None
    return lambda columns: nw.to_native(literal_frame(data, columns))


def _listed(column: object) -> Any:
    array = column if isinstance(column, np.ndarray) else None
    if array is not None and array.dtype.kind == "M":
        return array
    return array.tolist() if array is not None else list(column)  # type: ignore[call-overload]


def _wanted(names: Sequence[str], columns: Columns) -> list[str]:
    for name in (columns.person, columns.place):
        if name not in names:
            raise UnknownColumnError(
                f"The batch has no column {name!r}.",
                hint=f"Its columns are {', '.join(map(str, names))}. {_NOTHING}",
                column=name,
            )
    return [name for name in (columns.person, columns.place, columns.time) if name in names]


def _persons(values: Sequence[Any], name: str) -> list[Person]:
    """Text or whole numbers, all of one type: 5 and "5" must not be one person or two by chance."""
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    kinds = {type(value) for value in plain}
    if kinds <= {int} or kinds <= {str}:
        return plain
    first = type(plain[0]) if type(plain[0]) in (int, str) else None
    row = next(i for i, value in enumerate(plain) if type(value) is not first)
    raise DataError(
        f"Row {row} of column {name!r} holds {plain[row]!r}; a person must be text, or a whole "
        "number, the same throughout and never null.",
        hint=f"Cast the column {name!r} to text. {_NOTHING}",
        row=row,
        column=name,
    )


def _places(
    values: Sequence[Any], rules: Rules, name: str, on_unknown: OnUnknown
) -> list[int | None]:
    """The position of each place among the keys; None for one to be left out."""
    if on_unknown not in ("error", "ignore"):
        raise ParameterError(
            f"on_unknown must be 'error' or 'ignore', got {on_unknown!r}.", hint="Use 'error'."
        )
    positions = rules.positions
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    _refuse_other_types(plain, rules, name)
    found = [positions.get(value) for value in plain]
    for row, position in enumerate(found):
        if position is None and (on_unknown == "error" or plain[row] is None):
            raise DataError(
                f"Row {row} is at {plain[row]!r}, which is none of the "
                f"{many(rules.size, 'place')}.",
                hint=f"Add it to the places of a new monitor, or leave such rows out with "
                f"on_unknown='ignore'. {_NOTHING}",
                row=row,
                place=plain[row],
                column=name,
            )
    return found


def _refuse_other_types(values: Sequence[Any], rules: Rules, name: str) -> None:
    """Refuse places of another type than the keys': none would be found, and all be certified."""
    kinds = {type(key) for key in rules.positions}
    for row, value in enumerate(values):
        if value is not None and type(value) not in kinds:
            wanted = " or ".join(sorted(kind.__name__ for kind in kinds))
            raise DataError(
                f"Row {row} of column {name!r} holds {value!r}, {a(type(value).__name__)}; the "
                f"places of this monitor are of type {wanted}.",
                hint="Cast the column: places of another type are other places, and nobody would "
                f"be counted. {_NOTHING}",
                row=row,
                place=value,
                column=name,
            )


def _refuse_later(times: Sequence[int], at: int, name: str, rules: Rules) -> None:
    """A row later than its batch would outlive the public clock that its marks go by."""
    for row, time in enumerate(times):
        if time > at:
            raise DataError(
                f"Row {row} of batch {name!r} is from {rules.scale.text(time)}, later than the "
                f"batch's own time {rules.scale.text(at)}.",
                hint=f"A batch's time is the end of the period that it covers. {_NOTHING}",
                row=row,
            )
