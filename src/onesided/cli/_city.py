"""A made-up city with a made-up week of visits, for the demo and for tests.

Nothing here describes a real place or a real person. The generator is an ordinary seeded one, so
that everybody who runs the demo gets the same city; it is never used for privacy noise.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from onesided.errors import OutputError, ParameterError
from onesided.show import RoleTable, write_tables

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints: TypeAlias = NDArray[np.int64]
    Floats: TypeAlias = NDArray[np.float64]


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
# How many different places a person visits in a day (0, 1, 2, ...): 1.2 on average, and more than
# three so rarely that a bound of three per day costs the statistics nothing one can see.
_PER_DAY = np.array([0.225, 0.450, 0.240, 0.077, 0.006, 0.002])
_TWICE = 0.04  # share of visits that are repeated later on the same day
_FAVOURITES = 3, 0.45  # of a person, and how often a visit is to one of them
_EVERYDAY = [0, 1, 3, 4, 5], [0.35, 0.25, 0.14, 0.14, 0.12]  # kinds of favourites, and how often


class City(NamedTuple):
    """Made-up visits of infected people, and the made-up places they went to: columns by name.

    visits: person, place and time, in order of time. places: place, category, and latitude and
    longitude in degrees.

    >>> city(people=20, places=3).places["place"].size
    3
    """

    visits: dict[str, NDArray[Any]]
    places: dict[str, NDArray[Any]]


def city(*, seed: int = 1, people: int = 6000, places: int = 2500, days: int = 7) -> City:
    """Make the fictional city; equal arguments give equal cities.

    People go out to 1.2 different places a day on average, often to a few favourites. Popularity
    falls with rank as in Zipf's law.
    seed: of an ordinary generator; made-up data, not privacy noise. days: from a Monday.

    >>> city(people=20, places=3).places["category"].shape
    (3,)
    """
    for name, value in {"people": people, "places": places, "days": days}.items():
        if value < 1:
            raise ParameterError(f"{name} is {value}", hint=f"{name} must be at least 1")
    random = np.random.default_rng(seed)
    share, crowd, *week = np.array([(o.share, o.crowd, o.weekday, o.weekend) for o in _KINDS]).T
    kinds: Ints = np.sort(random.choice(len(_KINDS), places, p=share / share.sum()))
    # Zipf and Mandelbrot: a long tail, a blunt top.
    popularity = crowd[kinds] / (random.permutation(places) + 1.0 + 4.0) ** 0.95
    reach = np.concatenate(([0.0], np.cumsum(popularity)))
    edges = reach[np.searchsorted(kinds, np.arange(len(_KINDS) + 1))]

    def drawn(wanted: Ints) -> Ints:
        """A place of each kind; any place where there is none."""
        start, end = edges[wanted], edges[wanted + 1]
        start, end = np.where(end <= start, 0.0, start), np.where(end <= start, reach[-1], end)
        spot = start + random.random(wanted.size) * (end - start)
        found: Ints = np.searchsorted(reach[1:], spot, side="right").clip(max=places - 1)
        return found

    counts = random.choice(_PER_DAY.size, people * days, p=_PER_DAY / _PER_DAY.sum())
    person, day = np.divmod(np.repeat(np.arange(people * days), counts), days)
    free = (day % 7 >= 5).astype(np.int64)
    kind = _places_in(np.array(week)[free], random)
    favourites = random.choice(_EVERYDAY[0], people * _FAVOURITES[0], p=_EVERYDAY[1])
    usual = drawn(favourites).reshape(people, _FAVOURITES[0])[
        person, random.integers(0, _FAVOURITES[0], person.size)
    ]
    place = np.where(random.random(person.size) < _FAVOURITES[1], usual, drawn(kind))
    # Seconds since the first midnight, following the rhythm of the category.
    hours = np.array([[list(map(int, o)) for o in (k.hours, k.weekend_hours)] for k in _KINDS])
    hour = _places_in(hours[kinds[place], free], random)
    seconds = day * 86_400 + hour * 3600 + random.integers(0, 3600, day.size)
    again = np.flatnonzero(random.random(person.size) < _TWICE)
    later = seconds[again] + random.integers(3600, 4 * 3600, again.size)
    person, place, seconds = (
        np.append(first, more)
        for first, more in ((person, person[again]), (place, place[again]), (seconds, later))
    )
    keep = np.flatnonzero(seconds < days * 86_400)
    order = keep[np.lexsort((person[keep], seconds[keep]))]
    names = np.array([f"{_KINDS[k].name} {i:04d}" for i, k in enumerate(kinds, 1)])
    time = _MONDAY + np.timedelta64(1, "s") * seconds
    latitude, longitude = _spots(places, random)
    categories = np.array([kind.name.lower() for kind in _KINDS])[kinds]
    return City(
        {"person": person[order] + 1, "place": names[place[order]], "time": time[order]},
        {"place": names, "category": categories, "latitude": latitude, "longitude": longitude},
    )


def _places_in(weights: Floats, random: np.random.Generator) -> Ints:
    """Of each row of weights, a column at random."""
    reach = np.cumsum(weights, axis=1)
    spot = random.random(len(reach))[:, None] * reach[:, -1:]
    found: Ints = (spot >= reach).sum(axis=1).clip(max=reach.shape[1] - 1)
    return found


def _spots(count: int, random: np.random.Generator) -> Floats:
    """Latitude and longitude around the districts' centres, with no place in the river."""
    district = random.choice(len(_DISTRICTS), count, p=_WEIGHT)
    # A Student tail instead of a normal one: dense cores, some places further out; bent back by
    # tanh, so that no lonely place makes the map small.
    offset = 3 * np.tanh(random.standard_t(6, size=(count, 2)) / 3) * 0.8
    east, north = (_DISTRICTS[district, :2] + offset * _DISTRICTS[district, 2, None]).T
    river = 0.35 * np.sin(east * 1.1) - 0.12 * east - 0.1
    north = north + np.where(north < river, -_BANK, _BANK)  # both banks step back
    degrees = (north, east / np.cos(np.radians(_MIDDLE[0])))
    found: Floats = np.array(degrees) / _KM_PER_DEGREE + np.array(_MIDDLE)[:, None]
    return found.round(6)


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
        for name, columns in made._asdict().items():
            write_tables(RoleTable.of(columns), folder / name, ["parquet"])
    except OSError as error:
        raise OutputError(f"cannot make the city in {folder}: {error}") from error
    return folder / "visits.parquet", folder / "places.parquet"
