"""Who was where: the check-in data, as places and as one column of visits per designated time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from onesided.noise import IntArray
from onesided_experiments._tables import locate, query


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One check-in file. ``hour`` and ``day`` say in SQL what stands for a time and for a date.

    ``person``: who is one privacy unit. ``said``: what the hour and the day are, in words.
    """

    name: str
    file: str
    place: str
    person: str
    hour: str
    day: str
    order: str
    said: str


SOURCES: Final = (
    Source(
        name="Peopleflow Tokyo",
        file="peopleflow_tokyo_traces.parquet",
        place="region",
        person="split || ':' || user",
        hour="slot",
        day="'one day'",
        order="slot",
        said="an hour is a slot of half an hour, a day all 35 slots; both splits together are "
        "2,000 people; places are the regions of a 32 x 32 grid that anybody visited",
    ),
    Source(
        name="Foursquare New York",
        file="foursquare_nyc_filtered.parquet",
        place="place",
        person="user",
        hour="date_trunc('hour', local_time)",
        day="local_time::DATE",
        order="local_time",
        said="hours and days are those of the check-ins",
    ),
    Source(
        name="Foursquare Tokyo",
        file="foursquare_tky_sequences.parquet",
        place="place",
        person="user",
        hour="session",
        day="session",
        order="session::INT * 1000 + pos",
        said="no times: a person's n-th session stands for day n, and its first visit for an hour",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Public places, and visits as (time, person, place), each a number from 0."""

    name: str
    latitude: NDArray[np.float64]
    longitude: NDArray[np.float64]
    time: IntArray
    person: IntArray
    place: IntArray
    times: int
    people: int

    def counts(self, time: int) -> IntArray:
        """How many different people were at each place at that time."""
        return np.bincount(self.place[self.time == time], minlength=self.latitude.size).astype(
            np.int64
        )

    def busiest(self, number: int, *, random: np.random.Generator | None = None) -> IntArray:
        """The times with the most visits, or so many times drawn at random among all."""
        if random is not None:
            return np.sort(random.permutation(self.times)[:number]).astype(np.int64)
        visits = np.bincount(self.time, minlength=self.times)
        return np.argsort(-visits, kind="stable")[:number].astype(np.int64)

    def fall(self) -> int:
        """The most places that one person was at in one time: ℓ0."""
        if self.time.size == 0:
            return 1
        key = self.time * self.people + self.person
        return int(np.unique(key, return_counts=True)[1].max())


def find_visits(data: Path | None) -> Iterator[tuple[Source, Path]]:
    """The check-in files that are there."""
    for source in SOURCES:
        if path := locate(data, "checkins", source.file):
            yield source, path


@lru_cache(maxsize=8)
def by_hour(source: Source, path: Path) -> Places:
    """Low sensitivity: a person is at one place per time, the first one there."""
    rows = (
        f"SELECT {source.hour} AS t, {source.person} AS who, arg_min({source.place}, "  # noqa: S608
        f"{source.order}) AS p FROM read_parquet(?) GROUP BY ALL"
    )
    return _read(source, path, rows)


@lru_cache(maxsize=8)
def by_day(source: Source, path: Path) -> Places:
    """High sensitivity: a person is at every place visited on the day, once."""
    rows = (
        f"SELECT DISTINCT {source.day} AS t, {source.person} AS who, {source.place} AS p "  # noqa: S608
        "FROM read_parquet(?)"
    )
    return _read(source, path, rows)


@lru_cache(maxsize=8)
def last_seen(source: Source, path: Path) -> Places:
    """One designated time for all: each person at the place where they were last seen."""
    rows = (
        f"SELECT 0 AS t, {source.person} AS who, arg_max({source.place}, {source.order}) AS p "  # noqa: S608
        "FROM read_parquet(?) GROUP BY who"
    )
    return _read(source, path, rows)


def _read(source: Source, path: Path, rows: str) -> Places:
    where = query(
        f"SELECT {source.place} AS p, any_value(lat) AS lat, any_value(lon) AS lon "  # noqa: S608
        "FROM read_parquet(?) GROUP BY p ORDER BY p",
        str(path),
    )
    found = query(f"SELECT * FROM ({rows}) ORDER BY t, who, p", str(path))  # noqa: S608
    times, time = np.unique(_plain(found["t"]), return_inverse=True)
    people, person = np.unique(_plain(found["who"]), return_inverse=True)
    return Places(
        name=source.name,
        latitude=np.asarray(where["lat"], dtype=np.float64),
        longitude=np.asarray(where["lon"], dtype=np.float64),
        time=time.astype(np.int64),
        person=person.astype(np.int64),
        place=np.searchsorted(_plain(where["p"]), _plain(found["p"])).astype(np.int64),
        times=int(times.size),
        people=int(people.size),
    )


def _plain(column: NDArray[Any]) -> NDArray[Any]:
    """Text as text of fixed width, so that numpy can sort it; all else as it is."""
    return column.astype(str) if column.dtype == object else np.asarray(column)
