"""The made-up city is the same for everyone, and behaves enough like a city."""

import subprocess
import sys

import duckdb
import numpy as np
import pytest

from onesided.cli._city import city, write_city
from onesided.errors import OutputError, ParameterError


@pytest.fixture(scope="module")
def standard():
    return city()


def _day(visits):
    return (visits["time"] - np.datetime64("2026-03-02", "s")) // np.timedelta64(86400, "s")


def _hour(visits):
    return (visits["time"] - visits["time"].astype("datetime64[D]")) // np.timedelta64(3600, "s")


def _of(visits, name):
    return np.char.startswith(visits["place"], name)


def test_equal_seeds_make_equal_cities_and_others_do_not():
    one, two, other = (city(seed=s, people=300, places=200) for s in (7, 7, 8))
    for part in ("visits", "places"):
        for column, first in getattr(one, part).items():
            np.testing.assert_array_equal(first, getattr(two, part)[column])
    assert one.visits["person"].size != other.visits["person"].size or (
        one.visits["place"].tolist() != other.visits["place"].tolist()
    )


def test_size_is_that_of_a_real_task(standard):
    people = np.unique(standard.visits["person"])
    assert people.size > 5_000
    assert people.dtype == np.int64
    assert standard.places["place"].size == 2_500
    assert 7 < standard.visits["person"].size / 6_000 < 10
    assert np.unique(_day(standard.visits)).tolist() == list(range(7))


def test_every_visit_is_at_a_listed_place_and_names_are_unique(standard):
    assert np.isin(standard.visits["place"], standard.places["place"]).all()
    assert np.unique(standard.places["place"]).size == 2_500
    assert np.unique(standard.visits["place"]).size > 2_000


def test_visits_are_in_order_of_time(standard):
    assert standard.visits["time"].dtype == np.dtype("datetime64[s]")
    assert (np.diff(standard.visits["time"]) >= np.timedelta64(0, "s")).all()


def test_a_person_is_seldom_in_more_than_three_places_a_day(standard):
    visits = standard.visits
    cell = visits["person"] * 7 + _day(visits)
    pairs = {*zip(cell.tolist(), visits["place"].tolist(), strict=True)}
    assert 1.1 < len(pairs) / (6_000 * 7) < 1.3
    _, places_per_day = np.unique([c for c, _ in pairs], return_counts=True)
    assert (places_per_day > 3).mean() < 0.01


def test_popularity_falls_like_a_power_of_the_rank(standard):
    _, count = np.unique(standard.visits["place"], return_counts=True)
    count = np.sort(count)[::-1].astype(float)
    rank = np.arange(1, count.size + 1)
    middle = slice(20, 1000)
    slope = np.polyfit(np.log(rank[middle]), np.log(count[middle]), 1)[0]
    assert -1.4 < slope < -0.6
    assert count[:250].sum() > 0.4 * count.sum()
    assert np.median(count) < 15


def test_bars_are_for_evenings_and_schools_for_working_days(standard):
    visits = standard.visits
    hour, weekend = _hour(visits), _day(visits) >= 5
    late = (hour >= 18) | (hour < 3)
    bars, schools = _of(visits, "Bar"), _of(visits, "School")
    assert late[bars].mean() > 0.6
    assert late[schools].mean() < 0.05
    assert weekend[schools].mean() < 0.1
    assert weekend[bars].mean() > 2 / 7
    assert np.isin(hour[~weekend & schools], range(7, 18)).mean() > 0.97


def test_places_lie_in_districts_beside_a_river(standard):
    places = standard.places
    assert ((places["latitude"] > 47.4) & (places["latitude"] < 47.6)).all()
    assert ((places["longitude"] > 7.9) & (places["longitude"] < 8.1)).all()
    east = (places["longitude"] - 8.0) * 111.2 * np.cos(np.radians(47.5))
    north = (places["latitude"] - 47.5) * 111.2
    river = 0.35 * np.sin(east * 1.1) - 0.12 * east - 0.1
    assert np.abs(north - river).min() > 0.16


@pytest.mark.parametrize("places", [1, 5, 50])
def test_small_towns_work_too(places):
    small = city(people=40, places=places, days=2)
    assert np.isin(small.visits["place"], small.places["place"]).all()
    assert (_day(small.visits) < 2).all()


@pytest.mark.parametrize("wrong", [{"people": 0}, {"places": -1}, {"days": 0}])
def test_empty_cities_are_refused(wrong):
    with pytest.raises(ParameterError, match="at least 1"):
        city(**wrong)


def test_written_files_have_the_promised_types(tmp_path):
    made = city(people=200, places=100)
    visits, places = write_city(tmp_path / "new" / "folder", made=made)
    with duckdb.connect() as connection:
        types = {
            path.stem: {
                row[0]: row[1] for row in connection.sql(f"DESCRIBE FROM '{path}'").fetchall()
            }
            for path in (visits, places)
        }
        assert types["visits"] == {"person": "BIGINT", "place": "VARCHAR", "time": "TIMESTAMP"}
        assert types["places"] == {
            "place": "VARCHAR",
            "category": "VARCHAR",
            "latitude": "DOUBLE",
            "longitude": "DOUBLE",
        }
        back = connection.sql(f"FROM '{visits}'").fetchnumpy()
    np.testing.assert_array_equal(back["person"], made.visits["person"])
    np.testing.assert_array_equal(back["time"].astype("datetime64[s]"), made.visits["time"])
    assert back["place"].tolist() == made.visits["place"].tolist()


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OutputError, match="cannot make the city"):
        write_city(tmp_path / "file" / "below", made=city(people=2, places=2))


def test_importing_the_city_loads_no_engine():
    code = "import sys, onesided.cli._city; print('duckdb' in sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "False"
