"""Distances that decide who is near whom; in doubt two points ARE near.

Euclidean, grid and time distances are compared exactly. Great-circle distances are compared in
floating point with a margin a thousand times its error, on the side of caution.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from types import MappingProxyType
from typing import Final, TypeAlias

from onesided._numbers import exact, positive, whole
from onesided.errors import ParameterError, PolicyError

Point: TypeAlias = tuple[Fraction, ...]
EARTH_RADIUS: Final = 6_371_008.8  # metres, the mean radius R1 of the WGS 84 ellipsoid
_MARGIN: Final = 2.0**-40
_TINY: Final = 1e-290
_PLAIN, _LOCAL, _ZONED = Fraction(0), Fraction(1), Fraction(2)


@dataclass(frozen=True, slots=True)
class Metric:
    """How points and radii are read, and when two points are within a radius of each other."""

    read: Callable[[object], Point]
    within: Callable[[Point, Point, Fraction], bool]
    read_radius: Callable[[object], Fraction]
    unit: str


def _radius(value: object) -> Fraction:
    return positive(value, name="radius")


def _seconds(value: object) -> Fraction:
    if isinstance(value, timedelta):
        value = Fraction(value // timedelta(microseconds=1), 10**6)
    return positive(value, name="radius")


def _parts(point: object, *, what: str) -> Sequence[object]:
    if isinstance(point, tuple | list) and point:
        return point
    raise PolicyError(
        f"A point must be {what}, got {point!r}.", hint="For example (1, 2), or (1,) on a line."
    )


def _coordinates(point: object) -> Point:
    return tuple(
        exact(part, name="coordinate") for part in _parts(point, what="a tuple of coordinates")
    )


def _cells(point: object) -> Point:
    return tuple(
        Fraction(whole(part, name="cell", least=-(2**62)))
        for part in _parts(point, what="a tuple of whole numbers")
    )


def _place(point: object) -> Point:
    """``(latitude, longitude)`` in degrees; longitudes that name one meridian become equal."""
    parts = _parts(point, what="(latitude, longitude) in degrees")
    if len(parts) != 2:
        raise PolicyError(f"A place must be (latitude, longitude), got {point!r}.", hint="Degrees.")
    latitude, longitude = (exact(part, name="latitude or longitude") for part in parts)
    if -90 <= latitude <= 90 and -360 <= longitude <= 360:
        return latitude, (longitude + 180) % 360 - 180
    raise PolicyError(
        f"There is no place at latitude {parts[0]}, longitude {parts[1]}.",
        hint="Latitude comes first, from -90 to 90 degrees; longitude from -180 to 180.",
    )


def _moment(point: object) -> Point:
    """Seconds, and whether they are plain numbers, local times or times with a zone."""
    if isinstance(point, tuple | list) and len(point) == 1:
        point = point[0]
    if isinstance(point, str):
        try:
            return (exact(point, name="time"), _PLAIN)
        except ParameterError:
            point = _parsed(point)
    if isinstance(point, datetime):
        zoned = point.tzinfo is not None
        start = datetime(1970, 1, 1, tzinfo=UTC if zoned else None)
        microseconds = (point - start) // timedelta(microseconds=1)
        return (Fraction(microseconds, 10**6), _ZONED if zoned else _LOCAL)
    return (exact(point, name="time"), _PLAIN)


def _parsed(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise PolicyError(
            f"{text!r} is not a time.", hint='Write seconds, or "2026-01-31T12:00:00+00:00".'
        ) from None


def _same_shape(one: Point, two: Point) -> None:
    if len(one) != len(two):
        raise PolicyError(
            f"Points of {len(one)} and of {len(two)} coordinates cannot be compared.",
            hint="Give all points and sources in the same space.",
        )


def _euclidean(one: Point, two: Point, radius: Fraction) -> bool:
    _same_shape(one, two)
    return sum((a - b) ** 2 for a, b in zip(one, two, strict=True)) <= radius**2


def _steps(one: Point, two: Point, radius: Fraction) -> bool:
    _same_shape(one, two)
    return sum(abs(a - b) for a, b in zip(one, two, strict=True)) <= radius


def _elapsed(one: Point, two: Point, radius: Fraction) -> bool:
    if one[1] != two[1]:
        raise PolicyError(
            "Times with a zone, times without and plain seconds cannot be compared.",
            hint="Write all of them the same way.",
        )
    return abs(one[0] - two[0]) <= radius


def _great_circle(one: Point, two: Point, radius: Fraction) -> bool:
    """Compare haversines, which are sums of terms >= 0 and so lose no relative precision.

    Differences are taken exactly before anything is rounded, longitudes around the globe; the
    cosine of a latitude is the sine of its exact distance from the pole. Every factor is then
    right to a few units in the last place, far inside the margin.
    """
    if radius >= 4 * int(EARTH_RADIUS):  # more than half the girth; floats may not hold it
        return True
    half_angle = float(radius) / (2 * EARTH_RADIUS)
    if half_angle >= math.pi / 2 * (1 - _MARGIN):
        return True
    apart = abs(one[1] - two[1]) % 360
    apart = min(apart, 360 - apart)
    polar = _sine(90 - abs(one[0])) * _sine(90 - abs(two[0]))
    haversine = _sine(abs(one[0] - two[0]) / 2) ** 2 + polar * _sine(apart / 2) ** 2
    return haversine * (1 - _MARGIN) <= math.sin(half_angle) ** 2 + _TINY


def _sine(degrees: Fraction) -> float:
    return math.sin(math.radians(float(degrees)))


METRICS: Final = MappingProxyType(
    {
        "euclidean": Metric(_coordinates, _euclidean, _radius, ""),
        "grid": Metric(_cells, _steps, _radius, " steps between cells that share a side"),
        "haversine": Metric(_place, _great_circle, _radius, " metres"),
        "time": Metric(_moment, _elapsed, _seconds, " seconds"),
    }
)
