"""Which picture an answer makes: read off its columns, which are public."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from onesided._english import many
from onesided.engine.kit import position_columns
from onesided.errors import ParameterError
from onesided.session._confidence import UNDECIDED
from onesided.session._statement import in_units
from onesided.show import (
    MOST_PLACES,
    OWN_LIMITS,
    SIDES,
    Bars,
    Dots,
    Heat,
    Limit,
    Lines,
    Numbers,
    Panels,
    Places,
    RoleColumn,
    RoleTable,
    Shape,
    Side,
    cell_text,
    outline_around,
)

Columns = Mapping[str, Sequence[Any]]
_NAMES: Final = ("name", "title", "label")  # what a key is called, where that travels with it
_FIELDS: Final = 12  # below that many pairs, dots with bounds tell more than colours
_ACROSS: Final = 60  # and above that many, fields cannot be read


def shape_of(
    table: RoleTable,
    confidence: str = "",
    *,
    positions: object = None,
    limits: Mapping[str, int] = MappingProxyType({}),
) -> Shape:
    """The picture of a table of groups, bins or places. Errors: ParameterError.

    limits: the threshold of all groups, by its words; else each may have its own in the table.
    """
    columns = table.columns()
    beside, keys = table.names("beside"), table.names("key", "row")
    sides = position_columns([*keys, *beside]) or ()
    names = [name for name in keys if name not in sides]
    # Of several grouping columns many rows would stand in one spot.
    placed = len(names) <= 1 or not set(sides) <= set(beside)
    mapped = positions is not False and (placed or positions is not None)
    where = _positions(columns, positions) if mapped else None
    if where is None:
        names = keys
    drawn = _drawn(table, names, confidence)
    labels, estimate = drawn["labels"], drawn["estimate"]
    if where is not None:
        bound = drawn["lower"] if drawn["upper"] is None else drawn["upper"]
        values = estimate if bound is None or not np.isnan(estimate).all() else bound.values
        certified = table.column("certified")
        rows = np.flatnonzero(np.isfinite(where[0]) & np.isfinite(where[1]))
        return Places(
            labels=[labels[row] for row in rows.tolist()],
            latitude=where[0][rows],
            longitude=where[1][rows],
            values=values[rows],
            missing=len(labels) - rows.size,
            certified=None if certified is None else np.array(certified.plain(), dtype=bool)[rows],
        )
    if _is_bins(names, columns):
        left, right = (np.array(columns[name], dtype=float) for name in names)
        del drawn["labels"]
        return Bars(left=left, right=right, x_name=_called(table, names[:1])[0], **drawn)
    said = _called(table, [name for name in names if not name.endswith("_to")])
    told = _limits(table, limits)
    heat = None if told else _heat(columns, names, estimate, said, _none(table))
    decided, apart = _decided(table)
    return heat or Dots(
        **drawn, label_name=" · ".join(said), limits=told, decided=decided, apart=apart
    )


def panels_of(
    table: RoleTable, times: Sequence[str], confidence: str, *, limits: Mapping[str, int]
) -> Panels:
    """The picture of the same groups time after time; the last key says which time it is."""
    *names, time = table.names("key")
    drawn = _drawn(table, names, confidence)
    labels, called = drawn.pop("labels"), table.columns()[time]
    every = [f"{label} · {name}" for label, name in zip(labels, called, strict=True)]
    dots = Dots(labels=every, limits=_limits(table, limits), **drawn)
    return Panels(labels=labels[: len(table) // len(times)], times=times, dots=dots)


def _drawn(table: RoleTable, names: Sequence[str], confidence: str) -> dict[str, Any]:
    """Of each row its label, by these columns, its estimate and its bounds."""
    columns, none = table.columns(), _none(table)
    called = next((name for name in _NAMES if name in table.names("beside")), "")
    return {
        "labels": [_label(columns, names, row, called, none) for row in range(len(table))],
        "estimate": _numbers(table.column("estimate"), len(table)),
        **{side: _bound(table, side, confidence) for side in SIDES},
    }


def left_out(shape: Shape) -> tuple[str, ...]:
    """What a picture does not show, in words."""
    if isinstance(shape, Panels):
        hidden = len(shape.labels) - len(shape.drawn())
        more = f"{many(hidden, 'group', one='stands', more='stand')} in the table alone."
        scale = ["Each group has a scale of its own."] if len(shape.labels) > 1 else []
        return (*scale, *([more] if hidden else []))
    if not isinstance(shape, Places):
        return ()
    some = many(shape.missing, "group", one="has", more="have")
    step = -(-len(shape.labels) // MOST_PLACES)
    told = (
        (f"{some} no position and cannot be drawn.", shape.missing > 0),
        (f"One place in {step} is drawn.", step > 1),
    )
    return tuple(words for words, holds in told if holds)


def outlined(shape: Shape, outline: object) -> Shape:
    """A map with the lines that are asked for, see :func:`onesided.show.outline_around`.

    Errors: ParameterError for what is no outline, and where there is no map to draw it on.
    """
    if isinstance(shape, Places):
        lines = outline_around(shape.latitude, shape.longitude, outline)
        return replace(shape, outline=lines)
    if outline is None or outline is False:
        return shape
    raise ParameterError(
        "outline= is for maps, and these groups have no positions.",
        hint="Give positions=, or keys as a table with columns of latitude and longitude.",
    )


def over_time(rows: Columns) -> Lines | None:
    """How many rows there are on each day of the first column of dates; None if there is none."""
    for name, values in rows.items():
        known = [value for value in values if value is not None]
        if known and all(isinstance(value, dt.date) for value in known):
            days = Counter(v.date() if isinstance(v, dt.datetime) else v for v in known)
            x = sorted(days)
            many = np.array([days[day] for day in x], dtype=float)
            return Lines(x=x, y={"rows": many}, x_name=name)
    return None


def _limits(table: RoleTable, limits: Mapping[str, int]) -> tuple[Limit, ...]:
    """The thresholds of an answer about some: one for all, or one of each row."""
    own = {OWN_LIMITS[one.name]: one for one in table.parts if one.name in OWN_LIMITS}
    return (
        *(Limit.of(words, value, len(table)) for words, value in limits.items()),
        *(Limit(words=w, values=_numbers(one, len(table))) for w, one in own.items()),
    )


def _decided(table: RoleTable) -> tuple[NDArray[np.bool_] | None, tuple[str, str]]:
    """Which rows are certified, or else likely on one side; and what both kinds are called."""
    certified, likely = table.column("certified"), table.column("likely")
    if likely is not None:
        return np.array([one != UNDECIDED for one in likely.plain()]), ("likely", UNDECIDED)
    if certified is not None:
        return np.array(certified.plain(), dtype=bool), ("certified", "unknown")
    status = table.columns().get("status") if table.roles.get("status") == "fact" else None
    if status is None:
        return None, ("", "")
    return np.isin(status, ("certified", "safe", "alarm")), ("certified", "unknown")


def _numbers(column: RoleColumn | None, size: int) -> Numbers:
    if column is None:
        return np.full(size, np.nan)
    return np.array([np.nan if one is None else float(one) for one in column.plain()], dtype=float)


def _bound(table: RoleTable, side: Literal["lower", "upper"], confidence: str) -> Side | None:
    if (found := table.column(side)) is None:
        return None
    values = _numbers(found, len(table))
    values[np.isnan(values)] = np.inf
    return Side(values=values, certain=table.certain(side), confidence=confidence)


def _label(columns: Columns, names: Sequence[str], row: int, called: str, none: str) -> str:
    """A group in words, first by its name; the two ends of a bin read as one part."""
    name = columns[called][row] if called else None
    parts = [] if name is None else [_word(name)]
    for name in names:
        if name.endswith("_to") and f"{name[:-3]}_from" in names:
            continue
        value = none if columns[name][row] is None else _word(columns[name][row])
        end = f"{name[:-5]}_to" if name.endswith("_from") else ""
        parts.append(f"{value} to {_word(columns[end][row])}" if end in names else value)
    return " · ".join(parts) or "all"


def _none(table: RoleTable) -> str:
    """What a group is called that a key does not name."""
    first = table.column("key")
    return "" if first is None else first.none


def _word(value: Any) -> str:
    if isinstance(value, dt.datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    return cell_text(value, "key")


def _is_bins(names: Sequence[str], columns: Columns) -> bool:
    """Whether the rows are the bins of one column, side by side."""
    if len(names) != 2 or not (names[0].endswith("_from") and names[1].endswith("_to")):
        return False
    starts, ends = columns[names[0]], columns[names[1]]
    finite = all(np.isfinite(float(value)) for value in (*starts, *ends))
    return finite and list(ends[:-1]) == list(starts[1:])


def _called(table: RoleTable, names: Sequence[str]) -> list[str]:
    """What axes call these columns, with their units."""
    units = {one.name: one.unit for one in table.parts}
    return [in_units(name.removesuffix("_from"), units[name]) for name in names]


def _heat(
    columns: Columns, names: Sequence[str], estimate: Numbers, called: Sequence[str], none: str
) -> Heat | None:
    """Two grouping columns whose values all meet make fields; so do two binned columns."""
    starts = [name for name in names if not name.endswith("_to")]
    if len(starts) != 2 or estimate.size < _FIELDS or np.isnan(estimate).any():
        return None
    ways = [[name, f"{name[:-5]}_to"] if name.endswith("_from") else [name] for name in starts]
    said = [[_label(columns, way, row, "", none) for row in range(estimate.size)] for way in ways]
    down, across = (list(dict.fromkeys(one)) for one in said)
    if len(down) * len(across) != estimate.size or min(len(down), len(across)) < 2:
        return None
    if max(len(down) / 2, len(across)) > _ACROSS:
        return None
    values = np.full((len(down), len(across)), np.nan)
    rows = {value: place for place, value in enumerate(down)}
    cells = {value: place for place, value in enumerate(across)}
    for place, (one, other) in enumerate(zip(*said, strict=True)):
        values[rows[one], cells[other]] = estimate[place]
    return Heat(across=across, down=down, values=values, across_name=called[1], down_name=called[0])


def _positions(columns: Columns, given: object) -> tuple[Numbers, Numbers] | None:
    """Latitude and longitude of each row, where the caller or the keys have them."""
    size = len(next(iter(columns.values()), ()))
    sides = position_columns(columns)
    if given is not None:
        pairs = list(given) if isinstance(given, Sequence) else []
        if len(pairs) != size or any(len(pair) != 2 for pair in pairs):
            raise ParameterError(
                f"positions= holds {many(len(pairs), 'pair')} for {many(size, 'row')}.",
                hint="Give a (latitude, longitude) in degrees for each row, in the frame's order.",
            )
        latitude, longitude = (np.array([float(pair[side]) for pair in pairs]) for side in (0, 1))
        return _on_earth(latitude, longitude)
    if sides is None:
        return None
    latitude, longitude = (np.array(columns[name], dtype=float) for name in sides)
    located = np.isfinite(latitude) & np.isfinite(longitude)
    return _on_earth(latitude, longitude) if located.any() else None


def _on_earth(latitude: Numbers, longitude: Numbers) -> tuple[Numbers, Numbers]:
    for name, values, most in (("latitude", latitude, 90), ("longitude", longitude, 180)):
        odd = ~(np.abs(values) <= most) & ~np.isnan(values)
        if odd.any():
            worst = float(values[odd][0])
            raise ParameterError(
                f"The {name} {worst:g} is nowhere on Earth.",
                hint=f"Give degrees between -{most} and {most}; check that latitude and longitude "
                "are not swapped.",
                value=worst,
            )
    return latitude, longitude
