"""Which picture an answer makes: read off its columns, which are public."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from onesided._english import many
from onesided.engine.kit import position_columns
from onesided.errors import ParameterError
from onesided.show import (
    MOST_DOTS,
    Bars,
    Dots,
    Heat,
    Lines,
    Numbers,
    Places,
    Shape,
    Side,
    outline_around,
)

Columns = Mapping[str, Sequence[Any]]
_BESIDE: Final = ("lower_certain", "upper_certain", "certified", "coarse", "standard_deviation")
_NUMBERS: Final = frozenset(["estimate", "lower", "upper", *_BESIDE])
_NAMES: Final = ("name", "title", "label")  # what a key is called, where that travels with it
_FIELDS: Final = 12  # below that many pairs, dots with bounds tell more than colours


def shape_of(
    columns: Columns,
    confidence: str = "",
    *,
    positions: object = None,
    beside: Collection[str] = (),
) -> Shape:
    """The picture of a table of groups, bins or places. Errors: ParameterError.

    beside: the columns that are no keys and travel with them.
    """
    size = len(next(iter(columns.values()), ()))
    sides = position_columns(columns) or ()
    names = [name for name in columns if name not in (*_NUMBERS, *sides, *beside)]
    # Of several grouping columns many rows would stand in one spot.
    placed = len(names) <= 1 or not set(sides) <= set(beside)
    where = _positions(columns, positions) if placed or positions is not None else None
    if where is None:
        names = [name for name in columns if name not in (*_NUMBERS, *beside)]
    estimate = _numbers(columns.get("estimate"), size)
    lower, upper = (_bound(columns, side, confidence) for side in ("lower", "upper"))
    called = next((name for name in _NAMES if name in beside), "")
    labels = [_label(columns, names, row, called) for row in range(size)]
    if where is not None:
        values = estimate if upper is None or not np.isnan(estimate).all() else upper.values
        return _places(labels, where, values)
    if _is_bins(names, columns):
        left, right = (_numbers(columns[name], size) for name in names)
        return Bars(left=left, right=right, estimate=estimate, lower=lower, upper=upper)
    heat = _heat(columns, names, estimate)
    return heat or Dots(labels=labels, estimate=estimate, lower=lower, upper=upper)


def fewer(shape: Shape) -> tuple[Shape, tuple[str, ...]]:
    """As much of a shape as can be read, and what was left out, in words."""
    if isinstance(shape, Places) and shape.missing:
        many = "1 group has" if shape.missing == 1 else f"{shape.missing:,} groups have"
        return shape, (f"{many} no position and cannot be drawn.",)
    if not isinstance(shape, Dots) or len(shape.labels) <= MOST_DOTS:
        return shape, ()
    words = f"The {MOST_DOTS} largest of {len(shape.labels):,}; the frame holds all."
    return shape.largest(MOST_DOTS), (words,)


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


def _numbers(values: Sequence[Any] | None, size: int) -> Numbers:
    if values is None:
        return np.full(size, np.nan)
    return np.array([np.nan if value is None else float(value) for value in values], dtype=float)


def _bound(columns: Columns, side: str, confidence: str) -> Side | None:
    if side not in columns:
        return None
    values = _numbers(columns[side], len(columns[side]))
    values[np.isnan(values)] = np.inf
    sure = columns.get(f"{side}_certain", [False] * len(values))
    return Side(values=values, certain=np.array(sure, dtype=bool), confidence=confidence)


def _places(labels: Sequence[str], where: tuple[Numbers, Numbers], values: Numbers) -> Places:
    """Those whose position is known."""
    rows = np.flatnonzero(np.isfinite(where[0]) & np.isfinite(where[1]))
    return Places(
        labels=[labels[row] for row in rows.tolist()],
        latitude=where[0][rows],
        longitude=where[1][rows],
        values=values[rows],
        missing=len(labels) - rows.size,
    )


def _label(columns: Columns, names: Sequence[str], row: int, called: str = "") -> str:
    """A group in words, first by its name; the two ends of a bin read as one part."""
    name = columns[called][row] if called else None
    parts = [] if name is None else [_word(name)]
    for name in names:
        if name.endswith("_to") and f"{name[:-3]}_from" in names:
            continue
        value = _word(columns[name][row])
        end = f"{name[:-5]}_to" if name.endswith("_from") else ""
        parts.append(f"{value} to {_word(columns[end][row])}" if end in names else value)
    return " · ".join(parts) or "all"


def _word(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, dt.datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    return str(value)


def _is_bins(names: Sequence[str], columns: Columns) -> bool:
    """Whether the rows are the bins of one column, side by side."""
    if len(names) != 2 or not (names[0].endswith("_from") and names[1].endswith("_to")):
        return False
    starts, ends = columns[names[0]], columns[names[1]]
    finite = all(np.isfinite(float(value)) for value in (*starts, *ends))
    return finite and list(ends[:-1]) == list(starts[1:])


def _heat(columns: Columns, names: Sequence[str], estimate: Numbers) -> Heat | None:
    """Two grouping columns whose values all meet make fields; so do two binned columns."""
    starts = [name for name in names if not name.endswith("_to")]
    if len(starts) != 2 or estimate.size < _FIELDS or np.isnan(estimate).any():
        return None
    down, across = (list(dict.fromkeys(columns[name])) for name in starts)
    if len(down) * len(across) != estimate.size or min(len(down), len(across)) < 2:
        return None
    values = np.full((len(down), len(across)), np.nan)
    rows = {value: place for place, value in enumerate(down)}
    cells = {value: place for place, value in enumerate(across)}
    for place, (one, other) in enumerate(zip(*(columns[name] for name in starts), strict=True)):
        values[rows[one], cells[other]] = estimate[place]
    down_name, across_name = (name.removesuffix("_from") for name in starts)
    return Heat(
        across=list(map(_word, across)),
        down=list(map(_word, down)),
        values=values,
        across_name=across_name,
        down_name=down_name,
    )


def _positions(columns: Columns, given: object) -> tuple[Numbers, Numbers] | None:
    """Latitude and longitude of each row, where the caller or the keys have them."""
    size = len(next(iter(columns.values()), ()))
    sides = position_columns(columns)
    if given is not None or sides is None:
        return _given(given, size)
    latitude, longitude = (_numbers(columns[name], size) for name in sides)
    located = np.isfinite(latitude) & np.isfinite(longitude)
    return _on_earth(latitude, longitude) if located.any() else None


def _given(positions: object, size: int) -> tuple[Numbers, Numbers] | None:
    if positions is None:
        return None
    pairs = list(positions) if isinstance(positions, Sequence) else []
    if len(pairs) != size or any(len(pair) != 2 for pair in pairs):
        raise ParameterError(
            f"positions= holds {many(len(pairs), 'pair')} for {many(size, 'row')}.",
            hint="Give a (latitude, longitude) in degrees for each row, in the frame's order.",
        )
    latitude, longitude = (np.array([float(pair[side]) for pair in pairs]) for side in (0, 1))
    return _on_earth(latitude, longitude)


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
