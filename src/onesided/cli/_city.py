"""A made-up city with a made-up week of visits, for the demo and for tests.

Nothing here describes a real place or a real person. The generator is an ordinary seeded one, so
that everybody who runs the demo gets the same city; it is never used for privacy noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from onesided.errors import OutputError, ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints: TypeAlias = NDArray[np.int64]
    Floats: TypeAlias = NDArray[np.float64]
    Texts: TypeAlias = NDArray[np.str_]
    Times: TypeAlias = NDArray[np.datetime64]


class _Kind(NamedTuple):
    """One category of place: how many there are, how well visited, and when (24 hourly weights)."""

    name: str
    share: float
    crowd: float
    weekday: float
    weekend: float
    hours: str
    weekend_hours: str


# One digit per hour from midnight to 23 h: how busy the category is then.
_KINDS = (
    _Kind("Shop", 0.30, 1.0, 26, 38, "000000011235666667886310", "000000001469998876431000"),
    _Kind("Café", 0.17, 1.0, 17, 20, "000000269754776544321100", "000000013799865677542110"),
    _Kind("Office", 0.16, 0.6, 9, 1, "000000138863465531110000", "000000001233333221000000"),
    _Kind("Bar", 0.12, 1.2, 9, 16, "410000000000112223468996", "942000000000223334568999"),
    _Kind("Park", 0.09, 0.7, 8, 16, "000001332222334446764200", "000000124688899987643100"),
    _Kind("Gym", 0.06, 1.1, 10, 6, "000002654322332335898520", "000000014688754443210000"),
    _Kind("School", 0.05, 1.8, 4, 0.2, "000000049999787653100000", "000000000245542100000000"),
    _Kind("Clinic", 0.03, 1.6, 7, 1.5, "000000037999545776310000", "111111124666554443221111"),
    _Kind("Station", 0.02, 3.5, 10, 6, "100013899632233468964321", "211012346777777777765432"),
)
_OFFICE, _SCHOOL = 2, 6

# District centres in kilometres east and north of the middle, spread (km) and weight.
_DISTRICTS = np.array(
    [
        (0.3, 0.9, 0.55, 20.0),
        (-0.9, -0.8, 0.60, 13.0),
        (1.9, 1.7, 0.70, 12.0),
        (-2.3, 1.5, 0.65, 11.0),
        (1.6, -1.2, 0.60, 10.0),
        (-2.7, -1.7, 0.70, 9.0),
        (3.7, 0.9, 0.60, 8.0),
        (0.1, 2.9, 0.60, 7.0),
        (3.4, -2.0, 0.65, 6.0),
        (-0.6, -2.8, 0.55, 4.0),
    ]
)
_WEIGHT = _DISTRICTS[:, 3] / _DISTRICTS[:, 3].sum()
_MIDDLE = (47.5, 8.0)  # somewhere to stand; the city itself does not exist
_KM_PER_DEGREE = 111.2
_BANK = 0.17  # half the river's width, km

_MONDAY = np.datetime64("2026-03-02T00:00:00", "s")
_SECOND = np.timedelta64(1, "s")
# How many different places a person visits in a day (0, 1, 2, ...): 1.2 on average, and more than
# three so rarely that a bound of three per day costs the statistics nothing one can see.
_PER_DAY = np.array([0.225, 0.450, 0.240, 0.077, 0.006, 0.002])
_TWICE = 0.04  # share of visits that are repeated later on the same day
_FAVOURITES = 3
_EVERYDAY = [0, 1, 3, 4, 5], [0.35, 0.25, 0.14, 0.14, 0.12]  # kinds, and how often each is one


@dataclass(frozen=True, slots=True, kw_only=True)
class Visits:
    """One row per visit, ordered by time; the columns have equal length."""

    person: Ints
    place: Texts
    time: Times


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """One row per place; latitude and longitude in degrees."""

    place: Texts
    category: Texts
    latitude: Floats
    longitude: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class City:
    """Made-up visits of infected people and the made-up places they went to.

    >>> city(people=20, places=3).places.place.size
    3
    """

    visits: Visits
    places: Places


def city(*, seed: int = 1, people: int = 6000, places: int = 2500, days: int = 7) -> City:
    """Make the fictional city; equal arguments give equal cities.

    People live in a district, have a workplace or a school and a few favourites near home, and go
    out to 1.2 different places a day on average. Popularity falls with rank as in Zipf's law.
    seed: of an ordinary generator; made-up data, not privacy noise. days: from a Monday.

    >>> city(people=20, places=3).places.category.shape
    (3,)
    """
    for name, value in {"people": people, "places": places, "days": days}.items():
        if value < 1:
            raise ParameterError(f"{name} is {value}", hint=f"{name} must be at least 1")
    random = np.random.default_rng(seed)
    town = _Town(random, places)
    person, day, place = _outings(random, town, people, days)
    # Seconds since the first midnight, following the rhythm of the category.
    profiles = np.array(
        [[int(c) for c in row] for one in _KINDS for row in (one.hours, one.weekend_hours)], float
    )
    reach = np.cumsum(profiles / profiles.sum(axis=1, keepdims=True), axis=1)
    row = town.kind[place] * 2 + (day % 7 >= 5)
    spot = random.random(day.size)
    hour = np.minimum((spot[:, None] >= reach[row]).sum(axis=1), 23)
    seconds: Ints = day * 86400 + hour * 3600 + random.integers(0, 3600, day.size)
    time = _MONDAY + _SECOND * seconds
    again = np.flatnonzero(random.random(person.size) < _TWICE)
    later = time[again] + _SECOND * random.integers(3600, 4 * 3600, again.size)
    person, place = np.append(person, person[again]), np.append(place, place[again])
    time = np.append(time, later)
    keep = np.flatnonzero(time < _MONDAY + _SECOND * (days * 86_400))
    order = keep[np.lexsort((person[keep], time[keep]))]
    return City(
        visits=Visits(person=person[order], place=town.names[place[order]], time=time[order]),
        places=Places(
            place=town.names,
            category=np.array([kind.name.lower() for kind in _KINDS])[town.kind],
            latitude=town.latitude,
            longitude=town.longitude,
        ),
    )


class _Town:
    """The places, and their popularity laid end to end by (district, kind) for quick draws."""

    def __init__(self, random: np.random.Generator, count: int) -> None:
        shares = np.array([kind.share for kind in _KINDS])
        self.kind: Ints = np.sort(random.choice(len(_KINDS), count, p=shares / shares.sum()))
        district = random.choice(len(_DISTRICTS), count, p=_WEIGHT)
        # Latitude and longitude around the district's centre, with no place in the river.
        centre, spread = _DISTRICTS[district, :2], _DISTRICTS[district, 2]
        # A Student tail instead of a normal one: dense cores, some places further out; bent back by
        # tanh, so that no lonely place makes the map small.
        offset = (
            3 * np.tanh(random.standard_t(6, size=(district.size, 2)) / 3) * spread[:, None] * 0.8
        )
        east, north = (centre + offset).T
        river = 0.35 * np.sin(east * 1.1) - 0.12 * east - 0.1
        north = north + np.where(north < river, -_BANK, _BANK)  # both banks step back
        latitude = _MIDDLE[0] + north / _KM_PER_DEGREE
        longitude = _MIDDLE[1] + east / (_KM_PER_DEGREE * np.cos(np.radians(_MIDDLE[0])))
        self.latitude, self.longitude = latitude.round(6), longitude.round(6)
        self.names = np.array([f"{_KINDS[k].name} {i:04d}" for i, k in enumerate(self.kind, 1)])
        # Zipf and Mandelbrot: a long tail, a blunt top.
        crowd = np.array([one.crowd for one in _KINDS])[self.kind]
        popularity = crowd / (random.permutation(count) + 1.0 + 4.0) ** 0.95
        group = district * len(_KINDS) + self.kind
        self._order = np.argsort(group, kind="stable")
        self._reach = np.concatenate(([0.0], np.cumsum(popularity[self._order])))
        every = np.arange(len(_DISTRICTS) * len(_KINDS) + 1)
        self._edges = self._reach[np.searchsorted(group[self._order], every)]

    def draw(self, random: np.random.Generator, district: Ints, kind: Ints) -> Ints:
        """One place per entry, of that kind in that district (any place if there is none)."""
        group = district * len(_KINDS) + kind
        start, end = self._edges[group], self._edges[group + 1]
        empty = end <= start
        start, end = np.where(empty, 0.0, start), np.where(empty, self._reach[-1], end)
        spot = start + random.random(group.size) * (end - start)
        found = np.searchsorted(self._reach[1:], spot, side="right")
        chosen: Ints = self._order[np.minimum(found, self._order.size - 1)]
        return chosen


def _outings(
    random: np.random.Generator, town: _Town, people: int, days: int
) -> tuple[Ints, Ints, Ints]:
    """Person, day and place of each first visit of a day, one row per visit."""
    home, elsewhere = (random.choice(len(_DISTRICTS), people, p=_WEIGHT) for _ in range(2))
    pupil = random.random(people) < 0.22
    work = np.where(pupil & (random.random(people) < 0.8), home, elsewhere)
    anchor = town.draw(random, work, np.where(pupil, _SCHOOL, _OFFICE))
    counts = random.choice(_PER_DAY.size, (people, days), p=_PER_DAY / _PER_DAY.sum()).ravel()
    cell = np.repeat(np.arange(people * days), counts)
    slot = np.arange(cell.size) - np.repeat(np.cumsum(counts) - counts, counts)
    person, day = cell // days, cell % days
    free_day = day % 7 >= 5

    spot, kind = random.random(cell.size), np.empty(cell.size, dtype=np.int64)
    for free, rows in ((True, free_day), (False, ~free_day)):
        reach = np.cumsum([one.weekend if free else one.weekday for one in _KINDS])
        kind[rows] = np.searchsorted(reach, spot[rows] * reach[-1], side="right")
    where = random.random(cell.size)
    near = np.where(where < 0.70, home[person], work[person])
    near = np.where(where > 0.90, random.choice(len(_DISTRICTS), cell.size, p=_WEIGHT), near)
    place = town.draw(random, near, kind)

    # A few favourites near home, of everyday kinds.
    everyday = random.choice(_EVERYDAY[0], people * _FAVOURITES, p=_EVERYDAY[1])
    haunts = town.draw(random, np.repeat(home, _FAVOURITES), everyday).reshape(-1, _FAVOURITES)
    usual = random.random(cell.size) < 0.45
    habit = haunts[person, random.integers(0, _FAVOURITES, cell.size)]
    place = np.where(usual, habit, place)
    duty = (slot == 0) & ~free_day & (random.random(cell.size) < 0.35)
    return person + 1, day, np.where(duty, anchor[person], place)


def write_city(folder: str | Path, *, made: City | None = None) -> tuple[Path, Path]:
    """Write ``visits.parquet`` and ``places.parquet`` and return their paths.

    Types: person BIGINT; place, category VARCHAR; time TIMESTAMP; latitude, longitude DOUBLE.
    folder: made if it is not there. made: the city to write; the standard one if not given.
    Errors: OutputError.

    >>> [path.name for path in write_city("city", made=city(people=20, places=3))]
    ['visits.parquet', 'places.parquet']
    """
    made, folder = made or city(), Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot make the folder {folder}: {error}") from error
    visits, places = (
        _written(
            folder / f"{name}.parquet",
            types,
            {column: getattr(table, column) for column in table.__slots__},
        )
        for name, table, types in (
            ("visits", made.visits, {"person": "BIGINT", "time": "TIMESTAMP"}),
            ("places", made.places, {"latitude": "DOUBLE", "longitude": "DOUBLE"}),
        )
    )
    return visits, places


def _written(path: Path, types: dict[str, str], columns: dict[str, NDArray[Any]]) -> Path:
    import duckdb  # noqa: PLC0415 - a city that is not written needs no engine

    wanted = ", ".join(f"{name}::{types.get(name, 'VARCHAR')} AS {name}" for name in columns)
    with duckdb.connect() as connection:
        plain = {n: c.astype(object) if c.dtype.kind == "U" else c for n, c in columns.items()}
        connection.register("made_up", plain)
        try:
            connection.sql(f"SELECT {wanted} FROM made_up").write_parquet(str(path))  # noqa: S608  # fixed text
        except duckdb.IOException as error:
            raise OutputError(f"cannot write {path}: {error}") from error
    return path
