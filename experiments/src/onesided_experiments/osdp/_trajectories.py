"""Daily trajectories over 64 zones, made of traces that are public: who was where, step by step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from onesided.errors import DataError
from onesided.noise import BoolArray, IntArray
from onesided_experiments._tables import locate, query

SIDE: Final = 8
ZONES: Final = SIDE * SIDE
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One file of traces, and in SQL what its people, days and steps of a day are.

    ``box``: west, east, south, north of an 8 x 8 grid; None: 64 zones of equally many places.
    ``hour``: of a step; None where the file has no times. ``said``: all of this in words.
    """

    name: str
    folder: str
    file: str
    user: str
    day: str
    step: str
    hour: str | None
    latitude: str
    longitude: str
    box: tuple[float, float, float, float] | None
    said: str


_BEIJING_TIME: Final = "(utc_time + INTERVAL 8 HOUR)"
GEOLIFE: Final = Source(
    name="Geolife Beijing",
    folder="gps",
    file="geolife_1min.parquet",
    user="user",
    day=f"date_diff('day', DATE '2000-01-01', {_BEIJING_TIME}::DATE)",
    step=f"date_part('hour', {_BEIJING_TIME}) * 6 + date_part('minute', {_BEIJING_TIME}) // 10",
    hour=f"date_part('hour', {_BEIJING_TIME})",
    latitude="lat_e5 / 1e5",
    longitude="lon_e5 / 1e5",
    box=(116.20, 116.56, 39.80, 40.12),
    said="GPS tracks; a day is a date in Beijing, a step ten minutes, a zone a cell of an 8 x 8 "
    "grid over the city (fixes outside it are left out)",
)
PEOPLEFLOW: Final = Source(
    name="Peopleflow Tokyo",
    folder="checkins",
    file="peopleflow_tokyo_traces.parquet",
    user="split || ':' || user",
    day="0",
    step="slot",
    hour="slot // 2",
    latitude="lat",
    longitude="lon",
    box=(139.68, 139.80, 35.65, 35.75),
    said="one day of 2,000 people; a step is a slot of half an hour, a zone 4 x 4 regions",
)
TOKYO: Final = Source(
    name="Foursquare Tokyo",
    folder="checkins",
    file="foursquare_tky_sequences.parquet",
    user="user",
    day="session",
    step="pos",
    hour=None,
    latitude="lat",
    longitude="lon",
    box=None,
    said="no times: a session stands for a day, a check-in for a step; 64 zones of equally many "
    "places",
)
NEW_YORK: Final = Source(
    name="Foursquare New York",
    folder="checkins",
    file="foursquare_nyc_filtered.parquet",
    user="user",
    day="date_diff('day', DATE '2000-01-01', local_time::DATE)",
    step="date_part('hour', local_time) * 6 + date_part('minute', local_time) // 10",
    hour="date_part('hour', local_time)",
    latitude="lat",
    longitude="lon",
    box=None,
    said="check-ins; a day is a date, a step ten minutes; 64 zones of equally many places",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Days, each a person's zones step by step; entries are sorted by day and step.

    ``start``: where each day's entries begin, and one end. ``user`` and ``date``: of each day.
    """

    name: str
    start: IntArray
    user: IntArray
    date: IntArray
    step: IntArray
    zone: IntArray
    hour: IntArray

    @property
    def days(self) -> int:
        """How many daily trajectories there are."""
        return int(self.user.size)

    @property
    def day(self) -> IntArray:
        """The day of each entry."""
        return np.repeat(np.arange(self.days), np.diff(self.start))

    def zones_by_day(self) -> BoolArray:
        """Days by zones: whether the day passes the zone."""
        passed = np.zeros((self.days, ZONES), dtype=np.bool_)
        passed[self.day, self.zone] = True
        return passed

    def runs(self, length: int) -> tuple[IntArray, IntArray]:
        """``(day, code)`` of every run of ``length`` zones at consecutive steps, with repeats."""
        entries = self.zone.size - length + 1
        if entries <= 0:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        day, code = self.day, np.zeros(entries, dtype=np.int64)
        for place in range(length):
            code = code * ZONES + self.zone[place : place + entries]
        first, last = slice(0, entries), slice(length - 1, None)
        whole = (day[first] == day[last]) & (self.step[last] - self.step[first] == length - 1)
        return day[first][whole], code[whole]


def find_traces(data: Path | None, sources: tuple[Source, ...]) -> Iterator[tuple[Source, Path]]:
    """Those of the files that are there."""
    for source in sources:
        if path := locate(data, source.folder, source.file):
            yield source, path


@lru_cache(maxsize=4)
def read(source: Source, path: Path) -> Trace:
    """The trace: one zone per step, the most frequent one there (the least number among equals).

    Errors: DataError for a file that cannot be read or that has no row inside the box.
    """
    rows = (
        f"SELECT dense_rank() OVER (ORDER BY {source.user}) - 1 AS who, {source.day} AS date, "  # noqa: S608
        f"{source.step} AS step, {source.hour or 0} AS hour, {source.latitude} AS lat, "
        f"{source.longitude} AS lon FROM read_parquet(?)"
    )
    if source.box is not None:
        west, east, south, north = source.box
        rows = (
            f"SELECT * FROM ({rows}) WHERE lon >= {west} AND lon < {east} "  # noqa: S608
            f"AND lat >= {south} AND lat < {north}"
        )
    found = query(rows, str(path))
    latitude, longitude = (np.asarray(found[name], dtype=np.float64) for name in ("lat", "lon"))
    if latitude.size == 0:
        raise DataError(
            f"{path} holds nothing inside the map.", hint="Is this the file that README.md names?"
        )
    if source.box is None:
        zone = equal_zones(longitude, latitude)
    else:
        zone = grid_zones(longitude, latitude, source.box)
    who, date, step, hour = (
        np.asarray(found[name]).astype(np.int64) for name in ("who", "date", "step", "hour")
    )
    return _trace(source.name, np.stack([who, date, step, hour, zone], 1))


def grid_zones(
    longitude: Floats, latitude: Floats, box: tuple[float, float, float, float]
) -> IntArray:
    """Cells of an 8 x 8 grid, row by row from the south-west; points must lie in the box."""
    west, east, south, north = box
    across = np.clip((longitude - west) / (east - west) * SIDE, 0, SIDE - 1)
    up = np.clip((latitude - south) / (north - south) * SIDE, 0, SIDE - 1)
    return up.astype(np.int64) * SIDE + across.astype(np.int64)


def equal_zones(longitude: Floats, latitude: Floats) -> IntArray:
    """64 zones: the places (not the visits) are halved at the median, in turn by each axis."""
    points, visited = np.unique(longitude + 1j * latitude, return_inverse=True)
    places = np.stack([points.real, points.imag], 1)
    parts = [np.arange(len(places))]
    for depth in range(ZONES.bit_length() - 1):
        halves = []
        for part in parts:
            order = part[np.lexsort((places[part, 1 - depth % 2], places[part, depth % 2]))]
            halves += [order[: len(order) // 2], order[len(order) // 2 :]]
        parts = halves
    zone = np.empty(len(places), dtype=np.int64)
    for number, part in enumerate(parts):
        zone[part] = number
    return zone[visited]


def _trace(name: str, fixes: IntArray) -> Trace:
    """From rows of (who, date, step, hour, zone): keep the most frequent zone of each step."""
    # One number per row sorts many times faster than rows do.
    shape = tuple(int(most) + 1 for most in fixes.max(axis=0))
    keys, often = np.unique(np.ravel_multi_index(tuple(fixes.T), shape), return_counts=True)
    rows = np.stack(np.unravel_index(keys, shape), 1).astype(np.int64)
    order = np.lexsort((rows[:, 4], -often, rows[:, 2], rows[:, 1], rows[:, 0]))
    rows = rows[order]
    rows = rows[_first_of_each(rows[:, :3])]
    begin = np.flatnonzero(_first_of_each(rows[:, :2]))
    return Trace(
        name=name,
        start=np.append(begin, len(rows)),
        user=rows[begin, 0],
        date=rows[begin, 1],
        step=rows[:, 2].copy(),
        hour=rows[:, 3].copy(),
        zone=rows[:, 4].copy(),
    )


def _first_of_each(sorted_rows: IntArray) -> BoolArray:
    """Whether a row differs from the one before it."""
    fresh = np.ones(len(sorted_rows), dtype=np.bool_)
    fresh[1:] = (sorted_rows[1:] != sorted_rows[:-1]).any(axis=1)
    return fresh
