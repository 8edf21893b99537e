"""What travels with public keys: names, positions and whatever else a table of keys says of them.

The columns that a question groups by are the keys. All others of a table of keys stand beside them,
and are told with each answer as they are. They are never compared with rows, and are no part of
what tells a question from others: neither noise nor guarantee can depend on them. Left out are
columns that the data have too, which may say what rows say, and those that answers have themselves.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import narwhals as nw

from onesided.engine._key_columns import can_be_written, refuse_long_range
from onesided.errors import KeysError
from onesided.noise import IntArray

_PLAIN: Final = frozenset([bool, int, float, str, dt.date, dt.datetime, type(None)])
_SIDES: Final = (
    ("latitude", ("latitude", "lat"), 90),
    ("longitude", ("longitude", "lon", "lng", "long"), 180),
)
# What answers call their own columns.
_DEVIATION: Final = "standard_deviation"
_BOUNDS: Final = ("lower", "upper", "lower_certain", "upper_certain")
_ANSWERS: Final = frozenset(["estimate", *_BOUNDS, "certified", "coarse", "q", _DEVIATION])


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
        given = {str(name): _listed(values) for name, values in keys.items() if name not in by}
    else:
        frame = nw.from_native(keys, pass_through=True, eager_only=True)
        known = frame.columns if isinstance(frame, nw.DataFrame) else []
        given = {name: frame[name].to_list() for name in known if name not in by}
    found = {name: _column(name, values) for name, values in given.items() if not _ours(name)}
    sides = position_columns(tuple(found))
    for (side, _, most), name in zip(_SIDES, sides or (), strict=False):
        _refuse_nowhere(found[name], side, most, name)
    return Beside(found)


def position_columns(names: Collection[str]) -> tuple[str, str] | None:
    """The columns of latitude and longitude, if there are both.

    >>> position_columns(["place", "Lat", "lng"]), position_columns(["lat"])
    (('Lat', 'lng'), None)
    """
    lower = {name.lower(): name for name in names}
    found = [next((lower[name] for name in known if name in lower), None) for _, known, _ in _SIDES]
    return None if found[0] is None or found[1] is None else (found[0], found[1])


def _listed(values: Any) -> list[Any]:
    refuse_long_range(values)
    return list(values)


def _ours(name: str) -> bool:
    return name in _ANSWERS or name.startswith("at_most")


def _column(name: str, values: list[Any]) -> list[Any]:
    told = [_value(value) for value in values]
    for value in told:
        odd = type(value) not in _PLAIN or (isinstance(value, str) and not can_be_written(value))
        if odd or (isinstance(value, float) and math.isinf(value)):
            raise KeysError(
                f"The keys' column {name!r} has {value!r:.60}, which cannot stand beside a key.",
                hint="Columns beside the keys are published with them: give text, numbers, "
                "booleans or dates, or leave the column out.",
                column=name,
            )
    return told


def _value(value: Any) -> Any:
    """As a plain Python value; what is missing as None."""
    plain = value.item() if hasattr(value, "item") and not isinstance(value, str) else value
    if isinstance(plain, Decimal):
        plain = float(plain)
    if isinstance(plain, dt.datetime) and type(plain) is not dt.datetime:
        plain = None if plain != plain else plain.to_pydatetime()  # type: ignore[attr-defined] # noqa: PLR0124
    return None if isinstance(plain, float) and math.isnan(plain) else plain


def _refuse_nowhere(values: Sequence[Any], side: str, most: int, name: str) -> None:
    for value in values:
        if value is None:
            continue
        if type(value) not in (int, float) or not abs(value) <= most:
            raise KeysError(
                f"The keys' column {name!r} has {value!r:.60}, which is no {side}.",
                hint=f"Give degrees between -{most} and {most} as numbers, and nothing where a "
                "position is not known; check that latitude and longitude are not swapped.",
                column=name,
            )
