"""Which cells of a grid a neighbourhood policy joins: exact on planes, cautious on the globe."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from onesided.errors import ParameterError, PolicyError
from onesided.linear._grid import Grid
from onesided.linear._sweeps import Bands, Cells, Window
from onesided.policy import EARTH_RADIUS, Neighbourhood

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
        width = _width(policy, _gap(policy, grid, row, down), across, box=grid.box)
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
            apart = _to_row(policy, grid, high - top - row * down, down)
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


def _gap(policy: Neighbourhood, grid: Grid, apart: int, step: Fraction) -> Fraction:
    """The least distance along one axis between cells that are ``apart``; boxes never reach it."""
    if not grid.box or apart == 0:
        return apart * step
    # A box of whole points ends one short of the next.
    return (apart - 1) * step + (1 if policy.metric == "grid" else 0)


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


def _to_row(policy: Neighbourhood, grid: Grid, above: Fraction, step: Fraction) -> Fraction:
    """The distance along the rows from a source to a row that it is ``above`` the start of."""
    if not grid.box or len(grid.shape) == 1:
        return abs(above)
    end = step - 1 if policy.metric == "grid" else step
    return max(-above, above - end, Fraction(0))


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
        near |= _around(offsets, float(across) if grid.box else 0.0) <= degrees[:, None]
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


def _around(offsets: Any, width: float) -> Floats:
    """The least angle from a source to points, or to boxes that reach ``width`` further east."""
    angle = offsets % 360
    outside = np.minimum(angle - width, 360 - angle)
    return np.asarray(np.maximum(outside, 0) if width else np.minimum(angle, 360 - angle))
