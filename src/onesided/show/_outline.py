"""Lines to draw below places: coasts that come with the package, or GeoJSON of the caller's own.

The coasts are Natural Earth's at 1:110 million, which is in the public domain. They are some
kilometres wrong, so a map of a single city has none unless an outline is given.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import numpy as np

from onesided.errors import ParameterError
from onesided.show._chart import Numbers, Outline

_WIDE: Final = 2.0  # degrees; on narrower maps the coasts would be drawn in the wrong place
_MOST_BYTES: Final = 2**23
_MOST_POINTS: Final = 100_000
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
        if points > _MOST_POINTS:
            raise _refused(f"It has more than {_MOST_POINTS:,} points.", "Simplify it first.")
        pairs = [_point(pair) for pair in line]
        lines.append(([pair[1] for pair in pairs], [pair[0] for pair in pairs]))
    if not lines:
        raise _refused("It has no line and no area.", "Give LineStrings or Polygons.")
    return tuple(lines)


def _parsed(given: object) -> Any:
    """The JSON in a file. Errors: ParameterError."""
    if not isinstance(given, str | Path):
        raise _refused(
            f"It is of the type {type(given).__name__}.", "Name a .geojson file, or give a mapping."
        )
    path = Path(given)
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise _refused(f"{str(path)!r} is larger than 8 MB.", "Simplify it first.")
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise _refused(f"{str(path)!r} cannot be read: {error}.", "Name a .geojson file.") from None
    try:
        return json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise _refused(f"{str(path)!r} is no JSON: {error}.", "Name a .geojson file.") from None


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number of JSON")


def _geometry(found: Any, depth: int) -> Iterator[Sequence[Any]]:
    """Every line of a geometry, or of a collection of them."""
    kind = found.get("type") if isinstance(found, Mapping) else None
    if depth > _DEEPEST:
        raise _refused("Collections lie in collections too deep.", "Give one collection.")
    if isinstance(found, Mapping) and "crs" in found and "CRS84" not in str(found["crs"])[:200]:
        raise _refused(
            f"Its coordinates are of {str(found['crs'])[:60]}.", "Give degrees (WGS 84)."
        )
    if kind == "Feature":
        if found.get("geometry") is not None:
            yield from _geometry(found["geometry"], depth + 1)
    elif isinstance(kind, str) and kind in _PARTS:
        for part in _listed(found.get(_PARTS[kind])):
            yield from _geometry(part, depth + 1)
    elif isinstance(kind, str) and kind in _LINES:
        yield from _lines(found.get("coordinates"), _LINES[kind])
    else:
        raise _refused(
            f"Its type {kind!r:.60} has no lines.",
            f"Give a {', '.join((*_PARTS, 'Feature', *_LINES))}.",
        )


def _lines(coordinates: Any, depth: int) -> Iterator[Sequence[Any]]:
    if depth == 0:
        yield _listed(coordinates)
        return
    for part in _listed(coordinates):
        yield from _lines(part, depth - 1)


def _listed(given: Any) -> Sequence[Any]:
    if not isinstance(given, list | tuple):
        raise _refused(f"{given!r:.60} stands where a list should.", "See RFC 7946.")
    return given


def _point(pair: Any) -> tuple[float, float]:
    """Longitude and latitude; a height after them is not looked at."""
    numbers = _listed(pair)[:2]
    if len(numbers) != 2 or any(type(one) not in (int, float) for one in numbers):
        raise _refused(f"{pair!r:.60} is no position.", "Give [longitude, latitude] in degrees.")
    longitude, latitude = float(numbers[0]), float(numbers[1])
    if not (abs(longitude) <= 180 and abs(latitude) <= 90):
        raise _refused(
            f"{pair!r:.60} is nowhere on Earth.", "Give [longitude, latitude] in degrees (WGS 84)."
        )
    return longitude, latitude


def _refused(problem: str, hint: str) -> ParameterError:
    return ParameterError(f"This is no outline. {problem}", hint=hint)


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
