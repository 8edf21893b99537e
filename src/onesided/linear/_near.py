"""Cells and places: where cells lie, and which lie within a distance of each other."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onesided._numbers import exact, positive, whole
from onesided.errors import DataError, ParameterError, PolicyError
from onesided.fields import settle
from onesided.policy import EARTH_RADIUS, Neighbourhood

# Where the cells of a histogram lie, and which cell a point is in.


_MOST_CELLS: Final = 2**27


@dataclass(frozen=True, slots=True)
class Grid:
    """A line of ``(n,)`` cells, or ``(rows, columns)`` of them; cell (r, c) is r * columns + c.

    origin, spacing: where the first cell is and how far the next one, per axis, in the policy's
        own units (for "haversine" degrees of latitude and longitude; for "time" seconds, with
        any moment as the origin).
    box: False if data are points that lie exactly on the cells' positions; True if a cell is
        the half-open box from its position to the next one. Boxes are near as soon as any two
        of their points are.
    Points outside belong to no cell. A promise is about data inside the grid.
    Errors: ParameterError for other than one or two axes, too many cells, or unfit spacings.

    >>> from onesided.linear import Grid
    >>> Grid((2, 3)).cells
    6
    """

    shape: tuple[int, ...]
    origin: object = None
    spacing: tuple[Fraction, ...] = ()
    box: bool = False

    def __init__(
        self,
        shape: int | Sequence[int],
        *,
        origin: object = None,
        spacing: object = 1,
        box: bool = False,
    ) -> None:
        given = (shape,) if isinstance(shape, int) else tuple(shape)
        if isinstance(shape, bool) or len(given) not in (1, 2):
            raise ParameterError(
                f"A grid has one or two axes, got the shape {shape!r}.",
                hint="Give the number of cells, or (rows, columns).",
            )
        sides = tuple(whole(side, name="cells along an axis", least=1) for side in given)
        if math.prod(sides) > _MOST_CELLS:
            raise ParameterError(
                f"A grid of {math.prod(sides):,} cells is larger than {_MOST_CELLS:,}.",
                hint="Use larger cells.",
            )
        steps = spacing if isinstance(spacing, tuple | list) else [spacing] * len(sides)
        if len(steps) != len(sides):
            raise ParameterError(
                f"A grid of {len(sides)} axes has as many spacings, got {spacing!r}.",
                hint="Give one spacing, or one per axis.",
            )
        widths = tuple(positive(step, name="spacing") for step in steps)
        settle(self, shape=sides, origin=origin, spacing=widths, box=bool(box))

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return math.prod(self.shape)

    @property
    def plane(self) -> tuple[int, int]:
        """Rows and columns; a line is one row."""
        return (1, self.shape[0]) if len(self.shape) == 1 else (self.shape[0], self.shape[1])

    def locate(self, points: ArrayLike) -> NDArray[np.int64]:
        """The cell of each point, given in numbers, one row per point. Exact for each point.

        Errors: DataError for points that are outside the grid, or, unless it is of boxes,
        between its positions.
        """
        array = np.asarray(points)
        if array.ndim == 1 and len(self.shape) == 1:
            array = array.reshape(-1, 1)
        if array.ndim != 2 or array.shape[1] != len(self.shape):
            raise DataError(
                f"Points on a grid of {len(self.shape)} axes have as many coordinates, got an "
                f"array of shape {array.shape}.",
                hint="Give one row per point.",
            )
        return np.array([self._cell(point) for point in array.tolist()], dtype=np.int64)

    def _cell(self, point: Sequence[Any]) -> int:
        cell = 0
        for part, first, step, side in zip(
            point, self._start(), self.spacing, self.shape, strict=True
        ):
            place = (exact(part, name="coordinate") - first) / step
            at = math.floor(place)
            if not 0 <= at < side or not (self.box or at == place):
                raise DataError(
                    f"The point {tuple(point)!r} is not in any cell of the grid.",
                    hint="Drop it or clamp it to the grid before counting, the same way for all "
                    "data; in a grid of points, round it to a position first.",
                    point=tuple(point),
                )
            cell = cell * side + at
        return cell

    def _start(self) -> tuple[Fraction, ...]:
        """The origin in numbers; 0 where none was given."""
        given = [0] * len(self.shape) if self.origin is None else self.origin
        parts = given if isinstance(given, tuple | list) else [given]
        return tuple(exact(part, name="origin") for part in parts)


# Pairs of cells that a move joins, a block at a time; never all of them at once.

Cells = NDArray[np.int64]
_BLOCK: Final = 2**20


class Sweep(ABC):
    """Some pairs of cells. ``both_ways``: each pair is a move in both directions.

    plane: the rows and columns in which pairs are a window around each cell, if they are.

    >>> sweep = Window(1, 4, [1])
    >>> sweep.both_ways, sweep.plane, isinstance(sweep.near(), Sweep)
    (True, (1, 4), True)
    """

    both_ways: bool = True
    plane: tuple[int, int] | None = None

    @property
    @abstractmethod
    def count(self) -> int:
        """How many pairs there are, or a bound."""

    @abstractmethod
    def blocks(self) -> Iterator[tuple[Cells, Cells]]:
        """All pairs."""

    def far(self) -> Sweep:
        """Pairs enough for an operator that is monotone on the sweep's plane."""
        return self

    def near(self) -> Sweep:
        """Pairs enough to tell which cells are joined by any number of moves."""
        return self


class Listed(Sweep):
    """Pairs given one by one, each a move from the first to the second only.

    >>> pairs = Listed(np.array([0, 1]), np.array([1, 2]))
    >>> pairs.count, [(a.tolist(), b.tolist()) for a, b in pairs.blocks()]
    (2, [([0, 1], [1, 2])])
    """

    both_ways = False

    def __init__(self, starts: Cells, ends: Cells) -> None:
        self.starts, self.ends = starts, ends

    @property
    def count(self) -> int:
        return len(self.starts)

    def blocks(self) -> Iterator[tuple[Cells, Cells]]:
        for at in range(0, len(self.starts), _BLOCK):
            yield self.starts[at : at + _BLOCK], self.ends[at : at + _BLOCK]


class Window(Sweep):
    """On a grid, cells ``dr`` rows apart are near if at most ``widths[dr]`` columns apart.

    >>> [(a.tolist(), b.tolist()) for a, b in Window(1, 3, [1]).blocks()]
    [([0, 1], [1, 2])]
    """

    def __init__(self, rows: int, columns: int, widths: list[int]) -> None:
        self.rows, self.columns = rows, columns
        self.plane = (rows, columns)
        self.widths = [min(width, columns - 1) for width in widths[:rows]]

    @property
    def count(self) -> int:
        across = [width for width in self.widths if width >= 0]
        return self.rows * self.columns * (sum(2 * w + 1 for w in across[1:]) + across[0])

    def blocks(self) -> Iterator[tuple[Cells, Cells]]:
        for down, width in enumerate(self.widths):
            rows = np.arange(self.rows - down)
            for right in range(1 if down == 0 else -width, width + 1):
                yield from _pairs(self.columns, rows, rows + down, right)

    def far(self) -> Sweep:
        """The farthest cell in each direction, or what the border leaves of it."""
        # A row further down that is as wide makes a nearer row needless.
        best, corners = -1, []
        for down in range(len(self.widths) - 1, -1, -1):
            if self.widths[down] > best:
                best = self.widths[down]
                corners.append((down, best))
        return _Far(self.rows, self.columns, corners)

    def near(self) -> Sweep:
        """Next columns and next rows: whoever is near a cell further off is near these too."""
        steps = [min(width, most) for width, most in zip(self.widths, (1, 0), strict=False)]
        return Window(self.rows, self.columns, steps)


class _Far(Sweep):
    def __init__(self, rows: int, columns: int, corners: list[tuple[int, int]]) -> None:
        self.rows, self.columns, self.corners = rows, columns, corners

    @property
    def count(self) -> int:
        return 2 * self.rows * self.columns * len(self.corners)

    def blocks(self) -> Iterator[tuple[Cells, Cells]]:
        at_once = max(1, _BLOCK // self.columns)
        for top in range(0, self.rows, at_once):
            row = np.arange(top, min(top + at_once, self.rows))[:, None]
            column = np.arange(self.columns)[None, :]
            starts = (row * self.columns + column).ravel()
            for down, right in self.corners:
                for way in (right, -right):
                    end_row = np.minimum(row + down, self.rows - 1)
                    end_column = np.clip(column + way, 0, self.columns - 1)
                    yield starts, (end_row * self.columns + end_column).ravel()


class Bands(Sweep):
    """Rows ``first[k]`` and ``second[k]`` (not above it): near if few columns apart, or nearly all.

    Cells are near if their columns are at most ``close[k]`` apart, or at least ``around[k]``,
    which is the way around the globe.
    """

    def __init__(
        self, columns: int, first: Cells, second: Cells, close: Cells, around: Cells
    ) -> None:
        self.columns = columns
        self.first, self.second = first, second
        self.close, self.around = close, around

    def near(self) -> Sweep:
        """Next columns and next rows, and the first column with the last."""
        some = np.flatnonzero(self.second - self.first <= 1)
        last = np.where(self.around[some] < self.columns, self.columns - 1, self.columns)
        step = np.minimum(self.close[some], 1)
        last = np.maximum(last, step + 1)
        return Bands(self.columns, self.first[some], self.second[some], step, last)

    @property
    def count(self) -> int:
        apart = np.minimum(self.close, self.columns - 1) + np.maximum(self.columns - self.around, 0)
        return int(np.sum((2 * apart + 1) * self.columns))

    def blocks(self) -> Iterator[tuple[Cells, Cells]]:
        most = int(min(self.close.max(initial=0), self.columns - 1))
        least = int(max(min(self.around.min(initial=self.columns), self.columns), most + 1))
        for right in (*range(most + 1), *range(least, self.columns)):
            rows = np.flatnonzero((right <= self.close) | (right >= self.around))
            apart = rows[self.first[rows] < self.second[rows]]
            if right:  # within a row a pair is met once
                yield from _pairs(self.columns, self.first[rows], self.second[rows], right)
            yield from _pairs(self.columns, self.first[apart], self.second[apart], -right)


def _pairs(columns: int, first: Cells, second: Cells, right: int) -> Iterator[tuple[Cells, Cells]]:
    """Each cell of the first rows with the one ``right`` columns on in the second ones."""
    across = np.arange(max(0, -right), columns - max(0, right))
    at_once = max(1, _BLOCK // max(1, across.size))
    for top in range(0, first.size, at_once):
        some = slice(top, top + at_once)
        starts = (first[some, None] * columns + across).ravel()
        yield starts, (second[some, None] * columns + across + right).ravel()


# Which cells of a grid a neighbourhood policy joins: exact on planes, cautious on the globe.

# Floats here are right to 1e-12; in doubt cells ARE near.
_MARGIN: Final = 1e-9
_DEGREE: Final = 1e-10
Floats = NDArray[np.float64]


def plane_sweep(policy: Neighbourhood, grid: Grid) -> Window:
    """Cells of a line or a plane that hold points within the radius of each other."""
    rows, columns = grid.plane
    _origin(policy, grid)
    down, across = _spacing(grid)
    widths: list[int] = []
    for row in range(rows):
        gap = row * down
        if grid.box and row:  # boxes never reach it; one of whole points ends one short of the next
            gap += (policy.metric == "grid") - down
        width = _width(policy, gap, across, box=grid.box)
        if width < 0:
            break
        widths.append(width)
    return Window(rows, columns, widths)


def plane_cells(policy: Neighbourhood, grid: Grid) -> Cells:
    """The cells of a line or a plane with a point within the radius of a source."""
    rows, columns = grid.plane
    top, left = _origin(policy, grid)
    down, across = _spacing(grid)
    found: list[NDArray[np.int64]] = []
    for source in policy.sources:
        line = len(grid.shape) == 1
        high, wide = (Fraction(0), source[0]) if line else (source[0], source[1])
        for row in range(rows):
            # How far along the rows from the source to this one.
            above = high - top - row * down
            end = down - 1 if policy.metric == "grid" else down
            apart = abs(above) if line or not grid.box else max(-above, above - end, Fraction(0))
            first, last = _interval(policy, grid, apart, (wide - left) / across)
            first, last = max(first, 0), min(last, columns - 1)
            if first <= last:
                found.append(np.arange(first, last + 1) + row * columns)
    return np.unique(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)


def _origin(policy: Neighbourhood, grid: Grid) -> tuple[Fraction, Fraction]:
    """Where the first cell is: row and column. Errors if the metric cannot hold the grid."""
    axes = len(grid.shape)
    given = grid.origin if grid.origin is not None else (0,) * axes
    if policy.metric == "time":
        _refuse(axes != 1, "Times lie on a line, not on a grid of rows and columns.")
        given = given[0] if isinstance(given, tuple | list) and len(given) == 1 else given
    elif not isinstance(given, tuple | list):
        given = (given,)
    start = policy.space.read(given)
    if policy.metric == "time":
        _refuse(any(s[1] != start[1] for s in policy.sources), "Sources are written differently.")
        return Fraction(0), start[0]
    _refuse(len(start) != axes, f"The origin {grid.origin!r} does not have {axes} coordinates.")
    bent = any(len(source) != axes for source in policy.sources)
    _refuse(bent, f"The policy's sources do not have {axes} coordinates.")
    whole = all(step.denominator == 1 for step in grid.spacing)
    _refuse(policy.metric == "grid" and not whole, "Grid steps need a whole spacing.")
    return (Fraction(0), start[0]) if axes == 1 else (start[0], start[1])


def _refuse(wrong: bool, reason: str) -> None:  # noqa: FBT001 - a guard
    if wrong:
        raise PolicyError(reason, hint="Describe the grid and the policy in one space.")


def _spacing(grid: Grid) -> tuple[Fraction, Fraction]:
    steps = grid.spacing
    return (Fraction(1), steps[0]) if len(steps) == 1 else (steps[0], steps[1])


def _width(policy: Neighbourhood, gap: Fraction, step: Fraction, *, box: bool) -> int:
    """How many columns apart cells may be, ``gap`` apart along the other axis; -1 if none."""
    radius = policy.radius
    if policy.metric == "grid":
        left = radius - gap
        if left < 0:
            return -1
        return math.floor((left - 1) / step) + 1 if box else math.floor(left / step)
    left = (radius**2 - gap**2) / step**2
    if left < 0 or (box and left == 0):
        return -1
    if not box:
        return math.isqrt(math.floor(left))
    return math.isqrt(math.ceil(left) - 1) + 1


def _interval(
    policy: Neighbourhood, grid: Grid, apart: Fraction, place: Fraction
) -> tuple[int, int]:
    """The first and last column in reach of a source at ``place`` columns, ``apart`` rows away."""
    step = _spacing(grid)[1]
    if policy.metric == "grid":
        left = policy.radius - apart
        if left < 0:
            return 0, -1
        before = Fraction(step - 1, step) if grid.box else 0
        return math.ceil(place - left / step - before), math.floor(place + left / step)
    left = (policy.radius**2 - apart**2) / step**2
    if left < 0:
        return 0, -1
    first = -_furthest(-place, left) - (1 if grid.box else 0)
    return first, _furthest(place, left)


def _furthest(place: Fraction, squared: Fraction) -> int:
    """The largest whole c with ``c - place <= sqrt(squared)``, exactly."""
    most = math.floor(place) + math.isqrt(math.floor(squared))
    while (most + 1 - place) ** 2 <= squared or most + 1 <= place:
        most += 1
    return most


def globe_sweep(policy: Neighbourhood, grid: Grid) -> Bands:
    """Cells of latitude and longitude that hold points within the radius, across 180° too."""
    south, _, step, across = _globe(policy, grid)
    rows, columns = grid.plane
    polar = _polar(south, step, rows, box=grid.box)
    kept: list[tuple[Cells, Cells, Cells, Cells]] = []
    for apart in range(rows):
        gap = max(apart - 1, 0) if grid.box else apart
        degrees = _reach(policy, float(gap * step), polar[: rows - apart] * polar[apart:])
        rows_near = np.flatnonzero(degrees >= 0)
        if not rows_near.size:
            break
        near, around = _columns(degrees[rows_near], across, columns, box=grid.box)
        kept.append((rows_near, rows_near + apart, near, around))
    return Bands(columns, *(np.concatenate(part) for part in zip(*kept, strict=True)))


def globe_cells(policy: Neighbourhood, grid: Grid) -> Cells:
    """The cells of latitude and longitude with a point within the radius of a source."""
    south, west, step, across = _globe(policy, grid)
    rows, columns = grid.plane
    polar = _polar(south, step, rows, box=grid.box)
    near = np.zeros((rows, columns), dtype=bool)
    for latitude, longitude in policy.sources:
        above = [latitude - south - row * step for row in range(rows)]
        nothing = Fraction(0)
        ends = [height - step if grid.box else height for height in above]
        far = [max(-low, high, nothing) for low, high in zip(above, ends, strict=True)]
        own = _sine(90 - abs(latitude))
        degrees = np.array(
            [
                float(_reach(policy, float(Fraction(f)), np.array([own * p]))[0])
                for f, p in zip(far, polar, strict=True)
            ]
        )
        offsets = float((longitude - west) % 360) - np.arange(columns) * float(across)
        width = float(across) if grid.box else 0.0
        angle = offsets % 360
        outside = np.minimum(angle - width, 360 - angle)
        near |= (
            np.asarray(np.maximum(outside, 0) if width else np.minimum(angle, 360 - angle))
            <= degrees[:, None]
        )
    return np.flatnonzero(near.ravel())


def _globe(policy: Neighbourhood, grid: Grid) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    """South-west corner and spacing. Errors beyond the poles or where cells meet themselves."""
    if len(grid.shape) != 2:
        raise PolicyError(
            "Latitude and longitude need a grid of rows and columns.", hint="Grid((rows, columns))."
        )
    south, west = policy.space.read(grid.origin if grid.origin is not None else (0, 0))
    (rows, columns), (step, across) = grid.plane, grid.spacing
    north = south + (rows if grid.box else rows - 1) * step
    around = (columns if grid.box else columns - 1) * across
    if north > 90 or around > 360 or (around == 360 and not grid.box):
        raise ParameterError(
            f"The grid reaches latitude {float(north):g} and spans {float(around):g} degrees of "
            "longitude.",
            hint="Rows go north from the origin, to 90 degrees at most; columns go east, around "
            "the globe once at most, and may cross 180 degrees.",
            latitude=north,
            span=around,
        )
    return south, west, step, across


def _polar(south: Fraction, step: Fraction, rows: int, *, box: bool) -> Floats:
    """The least cosine of latitude in each row, as the sine of the distance from the pole."""
    edges = [abs(south + row * step) for row in range(rows + 1)]
    ends = [max(edges[r], edges[r + 1]) if box else edges[r] for r in range(rows)]
    return np.array([_sine(90 - end) for end in ends])


def _sine(degrees: Fraction) -> float:
    return math.sin(math.radians(float(degrees)))


def _reach(policy: Neighbourhood, apart: float, polar: Floats) -> Floats:
    """Degrees of longitude within the radius, at ``apart`` degrees of latitude; -1 if none."""
    apart = max(apart - _DEGREE, 0.0)
    half = min(float(min(policy.radius, Fraction(10**9))) / (2 * EARTH_RADIUS), math.pi / 2)
    left = math.sin(half) ** 2 * (1 + _MARGIN) + 1e-280 - math.sin(math.radians(apart) / 2) ** 2
    if half >= math.pi / 2 * (1 - _MARGIN):
        return np.full(polar.shape, 360.0)
    if left < 0:
        return np.full(polar.shape, -1.0)
    share = np.divide(left, polar, out=np.full(polar.shape, np.inf), where=polar > left)
    reach = 2 * np.degrees(np.arcsin(np.sqrt(np.minimum(share, 1.0))))
    return np.asarray(np.where(polar > left, reach * (1 + _MARGIN) + _DEGREE, 360.0))


def _columns(degrees: Floats, across: Fraction, columns: int, *, box: bool) -> tuple[Cells, Cells]:
    """How many columns apart is near, and from how many on it is near around the globe."""
    step, extra = float(across), 1 if box else 0
    near = np.floor(degrees / step) + extra
    around = np.ceil((360 - degrees) / step) - extra
    limits = (np.minimum(near, columns), np.clip(around, near + 1, columns))
    return limits[0].astype(np.int64), np.maximum(limits[1], limits[0] + 1).astype(np.int64)
