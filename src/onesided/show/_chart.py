"""What a picture shows, apart from who draws it: a closed list of shapes.

A bound that is certain and one that only holds with some confidence never look alike: the first
ends in a bar on a solid line, the second in an open end on a dotted line.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from onesided.errors import ParameterError
from onesided.store import read_json

Numbers: TypeAlias = NDArray[np.float64]

_MOST_PANELS: Final = 24
_MOST_POINTS: Final = 1_200  # in all panels

Outline: TypeAlias = Sequence[tuple[Sequence[float], Sequence[float]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of an answer: a number per row (infinite where there is none), and how sure it is.

    certain: which rows are never wrong. confidence: of the others, in words.

    >>> import numpy as np
    >>> Side(values=np.array([3.0]), certain=np.array([True])).certain.all()
    np.True_
    """

    values: Numbers
    certain: NDArray[np.bool_]
    confidence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A threshold that groups are held against: a number per row, and on which side they are asked.

    >>> import numpy as np
    >>> Limit(words="at most", values=np.array([5.0, 5.0])).said, Limit.of("at least", 3, 2).one
    ('at most 5', 3.0)
    """

    words: str
    values: Numbers

    @classmethod
    def of(cls, words: str, value: float, rows: int) -> Limit:
        """One for all rows."""
        return cls(words=words, values=np.full(rows, float(value)))

    @property
    def one(self) -> float | None:
        """That of all rows; None where each has its own."""
        found = np.unique(self.values)
        return float(found[0]) if found.size == 1 else None

    @property
    def said(self) -> str:
        """The same in words."""
        return f"{self.words} {'its own limit' if self.one is None else format(self.one, 'g')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dots:
    """A dot per group with its bounds, one group below the other.

    estimate: NaN where there is only a bound. label_name: what a group is. limits: where a line
    stands. decided: which groups are certified, or likely on one side of it; told apart by shape
    and colour, ``apart`` in words.

    >>> import numpy as np
    >>> Dots(labels=["gym", "bar", "spa"], estimate=np.array([3.0, 1.0, 2.0])).sizes().tolist()
    [3.0, 1.0, 2.0]
    """

    labels: Sequence[str]
    estimate: Numbers
    lower: Side | None = None
    upper: Side | None = None
    label_name: str = ""
    limits: tuple[Limit, ...] = ()
    decided: NDArray[np.bool_] | None = None
    apart: tuple[str, str] = ("certified", "unknown")

    def sizes(self) -> Numbers:
        """What groups are ranked by: the estimate, or a bound where there is none."""
        seen = np.full(len(self.labels), -np.inf)
        for _, bound in sides_of(self):
            seen = np.where(np.isfinite(bound.values), bound.values, seen)
        return np.where(np.isnan(self.estimate), seen, self.estimate)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """A bar per bin, as wide as the bin, with its bounds. x_name: whose bins they are.

    >>> import numpy as np
    >>> left, right = np.array([0.0, 18.0]), np.array([18.0, 65.0])
    >>> (Bars(left=left, right=right, estimate=np.array([3.0, 9.0])).right - left).tolist()
    [18.0, 47.0]
    """

    left: Numbers
    right: Numbers
    estimate: Numbers
    lower: Side | None = None
    upper: Side | None = None
    x_name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heat:
    """A field per pair of values; NaN where there is none. ``across`` and ``down`` name them.

    >>> import numpy as np
    >>> days = {"across": ["Mo", "Tu"], "across_name": "day", "down": ["gym"], "down_name": "place"}
    >>> Heat(values=np.array([[3.0, 1.0]]), **days).values.shape
    (1, 2)
    """

    across: Sequence[str]
    down: Sequence[str]
    values: Numbers
    across_name: str
    down_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Groups where they are, in degrees. outline: lines to draw below them, in degrees.

    missing: how many groups have no position, and are not among them. certified: where that was
    asked, which of them certainly have at most so many; they differ in shape and in colour.

    >>> import numpy as np
    >>> at = {"latitude": np.array([52.5]), "longitude": np.array([13.4])}
    >>> Places(labels=["gym"], values=np.array([3.0]), **at).outline
    ()
    """

    labels: Sequence[str]
    latitude: Numbers
    longitude: Numbers
    values: Numbers
    outline: Outline = ()
    missing: int = 0
    certified: NDArray[np.bool_] | None = None

    @property
    def stretch(self) -> float:
        """How long a degree of longitude is in the middle, of one of latitude."""
        middle = float(np.mean(self.latitude)) if len(self.latitude) else 0.0
        return max(math.cos(math.radians(middle)), 0.01)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Curves over one number or over time. steps: whether values hold until the next.

    >>> import numpy as np
    >>> Lines(x=[1, 2], y={"error": np.array([4.0, 2.0])}, x_name="ε").logarithmic
    False
    """

    x: Sequence[object]
    y: dict[str, Numbers]
    x_name: str
    logarithmic: bool = False
    steps: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Panels:
    """A small picture per group: what it was each time, from left to right, with its bounds.

    labels: the groups. times: what each time is called. dots: the groups of the first time, then
    those of the next, in one order.

    >>> import numpy as np
    >>> dots = Dots(labels=["gym 1", "bar 1", "gym 2", "bar 2"], estimate=np.array([3.0, 1, 4, 2]))
    >>> panels = Panels(labels=["gym", "bar"], times=["1", "2"], dots=dots)
    >>> panels.drawn(), panels.group(1).estimate.tolist()
    ([0, 1], [1.0, 2.0])
    """

    labels: Sequence[str]
    times: Sequence[str]
    dots: Dots

    def drawn(self) -> list[int]:
        """The groups that have room: of many the largest and the smallest."""
        most = max(1, min(_MOST_PANELS, _MOST_POINTS // max(len(self.times), 1)))
        size, few = len(self.labels), most // 2
        if size <= most:
            return list(range(size))
        largest = self.dots.sizes().reshape(-1, size).max(axis=0)
        order: list[int] = np.argsort(-largest, kind="stable").tolist()
        return [*order[: most - few], *order[size - few :]]

    def group(self, row: int) -> Dots:
        """One group over time."""
        part = slice(row, None, len(self.labels))

        def some(side: Side | None) -> Side | None:
            if side is None:
                return None
            return replace(side, values=side.values[part], certain=side.certain[part])

        lower, upper = some(self.dots.lower), some(self.dots.upper)
        own: dict[str, Any] = {"labels": self.times, "estimate": self.dots.estimate[part]}
        own["limits"] = tuple(replace(one, values=one.values[part]) for one in self.dots.limits)
        if self.dots.decided is not None:
            own["decided"] = self.dots.decided[part]
        return replace(self.dots, lower=lower, upper=upper, **own)


Shape: TypeAlias = Dots | Bars | Heat | Places | Lines | Panels


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A shape and its words. first: what must be known before any number. caption: what it cost.

    >>> import numpy as np
    >>> dots = Dots(labels=["gym"], estimate=np.array([3.0]))
    >>> words = {"title": "Counts", "value_name": "people", "caption": "ε = 1"}
    >>> Chart(shape=dots, first=("Units may have been cut.",), **words).below
    'Units may have been cut. ε = 1'
    """

    title: str
    shape: Shape
    value_name: str
    first: tuple[str, ...] = ()
    caption: str = ""
    notes: tuple[str, ...] = field(default=())

    @property
    def below(self) -> str:
        """All words under the title, in the order in which they must be read."""
        return " ".join((*self.first, *self.notes, self.caption)).strip()


def sides_of(shape: Dots | Bars) -> list[tuple[Literal["lower", "upper"], Side]]:
    """The bounds that a shape has, by name."""
    sides: tuple[Literal["lower"], Literal["upper"]] = ("lower", "upper")
    return [(name, side) for name in sides if (side := getattr(shape, name)) is not None]


# Lines to draw below places: coasts that come with the package, or GeoJSON of the caller's own.
#
# The coasts are Natural Earth's at 1:110 million, which is in the public domain. They are some
# kilometres wrong, so a map of a single city has none unless an outline is given.


_WIDE: Final = 2.0  # degrees; on narrower maps the coasts would be drawn in the wrong place
_MOST_BYTES: Final = 2**23
_MOST_CORNERS: Final = 100_000
_DEEPEST: Final = 8  # collections within collections
_LINES: Final[Mapping[str, int]] = {  # how deep a geometry's lines lie in its coordinates
    "LineString": 0,
    "MultiLineString": 1,
    "Polygon": 1,
    "MultiPolygon": 2,
}
_PARTS: Final[Mapping[str, str]] = {
    "FeatureCollection": "features",
    "GeometryCollection": "geometries",
}


def outline_around(latitude: Numbers, longitude: Numbers, given: object = None) -> Outline:
    """The lines near some places: of the coasts, or of an outline that is given.

    given: None for the coasts, where the places are far enough apart; False for no lines; or
    GeoJSON, as the name of a file, a mapping, or what has a ``__geo_interface__``; or what
    :func:`read_outline` gave.
    Errors: ParameterError for what is no GeoJSON of lines or areas in degrees.

    >>> here = np.array([48.0, 54.0]), np.array([2.0, 13.0])
    >>> len(outline_around(*here)) > 0, outline_around(*here, False)
    (True, ())
    >>> len(outline_around(here[0] / 100, here[1] / 100))
    0
    """
    known = np.isfinite(latitude) & np.isfinite(longitude)
    if given is False or not known.any():
        return ()
    south, north = float(latitude[known].min()), float(latitude[known].max())
    west, east = float(longitude[known].min()), float(longitude[known].max())
    if given is None and max(north - south, east - west) < _WIDE:
        return ()
    lines: Outline = _coast() if given is None else ()
    if given is not None:
        lines = given if isinstance(given, tuple) else read_outline(given)
    room = max(north - south, east - west, 0.1)
    return tuple(_within(lines, (south - room, north + room), (west - room, east + room)))


def read_outline(given: object) -> Outline:
    """The lines of GeoJSON, as latitudes and longitudes. Nothing but its geometry is read.

    Errors: ParameterError.

    >>> read_outline({"type": "LineString", "coordinates": [[13.4, 52.5], [13.5, 52.6]]})
    (([52.5, 52.6], [13.4, 13.5]),)
    """
    where = getattr(given, "__geo_interface__", given)
    found = where if isinstance(where, Mapping) else _parsed(given)
    lines, points = [], 0
    for line in _geometry(found, 0):
        points += len(line)
        if points > _MOST_CORNERS:
            raise _refused(f"It has more than {_MOST_CORNERS:,} points; simplify it first.")
        pairs = [_point(pair) for pair in line]
        lines.append(([pair[1] for pair in pairs], [pair[0] for pair in pairs]))
    if not lines:
        raise _refused("It has no line and no area.")
    return tuple(lines)


def _parsed(given: object) -> Any:
    """The JSON in a file. Errors: ParameterError."""
    if not isinstance(given, str | Path):
        raise _refused(f"It is of the type {type(given).__name__}.")
    path, name = Path(given), repr(str(given))
    try:
        small = path.stat().st_size <= _MOST_BYTES
        text = path.read_text(encoding="utf-8") if small else ""
    except (OSError, ValueError) as error:
        raise _refused(f"{name} cannot be read: {error}.") from None
    if not small:
        raise _refused(f"{name} is larger than 8 MB; simplify it first.")
    try:
        return read_json(text, once=True)
    except ValueError as error:
        raise _refused(f"{name} is no JSON: {error}.") from None


def _geometry(found: Any, depth: int) -> Iterator[Sequence[Any]]:
    """Every line of a geometry, or of a collection of them."""
    kind = found.get("type") if isinstance(found, Mapping) else None
    if depth > _DEEPEST:
        raise _refused("Collections lie in collections too deep.")
    if isinstance(found, Mapping) and "crs" in found and "CRS84" not in str(found["crs"])[:200]:
        raise _refused(f"Its coordinates are of {str(found['crs'])[:60]}.")
    if kind == "Feature":
        if found.get("geometry") is not None:
            yield from _geometry(found["geometry"], depth + 1)
    elif isinstance(kind, str) and kind in _PARTS:
        for part in _listed(found.get(_PARTS[kind])):
            yield from _geometry(part, depth + 1)
    elif isinstance(kind, str) and kind in _LINES:
        lines = [found.get("coordinates")]
        for _ in range(_LINES[kind]):
            lines = [part for line in lines for part in _listed(line)]
        yield from map(_listed, lines)
    else:
        raise _refused(f"Its type {kind!r:.60} has no lines.")


def _listed(given: Any) -> Sequence[Any]:
    if not isinstance(given, list | tuple):
        raise _refused(f"{given!r:.60} stands where a list should.")
    return given


def _point(pair: Any) -> tuple[float, float]:
    """Longitude and latitude; a height after them is not looked at."""
    numbers = _listed(pair)[:2]
    if len(numbers) != 2 or any(type(one) not in (int, float) for one in numbers):
        raise _refused(f"{pair!r:.60} is no position.")
    longitude, latitude = map(float, numbers)
    if not (abs(longitude) <= 180 and abs(latitude) <= 90):
        raise _refused(f"{pair!r:.60} is nowhere on Earth.")
    return longitude, latitude


def _refused(problem: str) -> ParameterError:
    return ParameterError(
        f"This is no outline. {problem}",
        hint="Give GeoJSON of lines or areas (RFC 7946), as [longitude, latitude] in degrees "
        "(WGS 84): a .geojson file, or a mapping.",
    )


@cache
def _coast() -> Outline:
    """The coasts that come with the package, see ``coast.json`` for where they are from."""
    text = (files("onesided.show") / "coast.json").read_text(encoding="utf-8")
    lines = []
    for flat in json.loads(text)["lines"]:
        points = np.cumsum(np.array(flat, dtype=np.int64).reshape(-1, 2), axis=0) / 100
        lines.append((points[:, 1].tolist(), points[:, 0].tolist()))
    return tuple(lines)


def _within(
    lines: Outline, up: tuple[float, float], across: tuple[float, float]
) -> Iterator[tuple[list[float], list[float]]]:
    """The parts of the lines that may be seen in a box."""
    digits = max(2, min(6, 4 - math.floor(math.log10(across[1] - across[0]))))
    for latitude, longitude in lines:
        y, x = np.asarray(latitude, dtype=float), np.asarray(longitude, dtype=float)
        seen = np.ones(max(len(x) - 1, 0), dtype=bool)
        for values, (low, high) in ((y, up), (x, across)):
            seen &= np.maximum(values[1:], values[:-1]) >= low
            seen &= np.minimum(values[1:], values[:-1]) <= high
        edges = np.flatnonzero(np.diff(np.concatenate(([False], seen, [False])).astype(int)))
        for first, last in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            part = slice(first, last + 1)
            yield y[part].round(digits).tolist(), x[part].round(digits).tolist()
