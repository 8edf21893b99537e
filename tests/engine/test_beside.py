"""What travels with keys: told as it is, in the keys' order, and no part of any question."""

import datetime as dt
import math
import zipfile
from decimal import Decimal

import duckdb
import numpy as np
import polars as pl
import pytest

import onesided as od
from onesided import errors
from onesided.engine import public_keys
from onesided.session._json import release_from_json, release_to_json

VISITS = pl.DataFrame(
    {"person": [1, 1, 2, 3], "place": ["a", "b", "b", "b"], "age": [3, 3, 20, 40]}
)
TABLE = {
    "place": ["b", "a", "c"],
    "name": ["Bär <b>", "=Gym", None],
    "lat": [52.5, 52.6, None],
    "lon": [13.4, 13.5, None],
    "seats": [3, None, 5],
}
EXTRA = tuple(name for name in TABLE if name != "place")
PLACES = pl.DataFrame(TABLE)
POLICY = od.policy.presence(max_groups=2)


def session(data=VISITS, **more):
    return od.Session(data, unit="person", policy=POLICY, budget=10_000, **more)


FORMS = {
    "polars": PLACES,
    "lazy": PLACES.lazy(),
    "pandas": PLACES.to_pandas(),
    "arrow": PLACES.to_arrow(),
    "duckdb": None,  # made where it is used, so that none is left at the end
    "mapping": TABLE,
}


@pytest.mark.parametrize("form", FORMS)
def test_every_table_of_keys_brings_its_other_columns(form):
    given = duckdb.from_arrow(PLACES.to_arrow()) if form == "duckdb" else FORMS[form]
    keys = public_keys(given, ("place",))
    assert keys.columns() == TABLE
    assert keys.part(np.array([1])).columns() == {name: [TABLE[name][1]] for name in TABLE}
    assert keys.with_others().columns()["name"] == ["Bär <b>", "=Gym", None, None]
    assert keys.labels() == ["b", "a", "c"]


def test_they_tell_no_keys_from_others():
    bare = public_keys(["b", "a", "c"], ("place",))
    assert public_keys(TABLE, ("place",)) == bare
    assert public_keys(TABLE, ("place",)).by_name().keys() == {"place"}


@pytest.mark.parametrize("data", [VISITS, VISITS.to_pandas(), VISITS.to_arrow()], ids=repr)
def test_answers_tell_them_in_every_kind_of_frame(data):
    release = session(data).count(by="place", keys=PLACES, epsilon=60)
    assert list(release.columns())[:5] == list(TABLE)
    assert release.columns()["name"] == TABLE["name"]
    assert release.beside == EXTRA
    assert list(pl.DataFrame(release.frame)["name"]) == TABLE["name"]
    assert release.at_most(1) == ["a", "c"]


def test_answers_of_every_kind_tell_them():
    one = session()
    for release in (
        one.at_most(1, by="place", keys=PLACES, epsilon=60),
        one.top_k(2, by="place", keys=PLACES, epsilon=60),
        one.histogram("age", bins=[0, 18, 65], by="place", keys=PLACES, epsilon=60),
        one.sum("age", of="units", total_bounds=(0, 50), by="place", keys=PLACES, epsilon=60),
    ):
        told = release.columns()
        names = dict(zip(told["place"], told["name"], strict=True))
        assert names.items() <= dict(zip(TABLE["place"], TABLE["name"], strict=True)).items()
        assert not any("Gym" in str(label) for label in release.labels)


def test_the_same_question_is_told_again_whatever_travels_with_its_keys():
    one = session()
    first = one.count(by="place", keys=["b", "a", "c"], epsilon=1, id="monday")
    again = one.count(by="place", keys=PLACES, epsilon=1, id="monday", again=True)
    assert again.told_again
    assert again.estimate.tolist() == first.estimate.tolist()
    assert again.columns()["name"] == TABLE["name"]
    plain, more = (
        one.plan(od.Count(by="place", keys=k, epsilon=1)) for k in (["b", "a", "c"], PLACES)
    )
    assert str(plain) == str(more)
    asked = [od.Count(by="place", keys=k, epsilon=1) for k in (["b", "a", "c"], PLACES)]
    assert one.detail(asked[0]) == one.detail(asked[1])


def test_they_survive_as_json():
    release = session().count(by="place", keys=PLACES, epsilon=60)
    read = release_from_json(release_to_json(release))
    assert read.labels == ["b", "a", "c"]
    assert read.beside == EXTRA
    assert read.columns() == release.columns()


def test_files_hold_them_and_no_name_is_a_formula(tmp_path):
    release = session().count(by="place", keys=PLACES, epsilon=60)
    path = release.write(tmp_path / "out", formats=["csv", "json", "xlsx", "parquet"])
    csv = (path / "release.csv").read_text()
    assert "Bär <b>" in csv
    assert ",=Gym" not in csv
    with zipfile.ZipFile(path / "release.xlsx") as book:
        sheet = book.read("xl/worksheets/sheet1.xml")
        assert b"<f>" not in sheet
        assert b"=Gym" in sheet + book.read("xl/sharedStrings.xml")
    assert pl.read_parquet(path / "release.parquet")["lat"].to_list() == TABLE["lat"]


BAD = {
    "no latitude": {"lat": [91], "lon": [3]},
    "no longitude": {"Latitude": [1], "lng": [180.5]},
    "which is no latitude": {"lat": ["52"], "lon": [3]},
    "cannot stand beside": {"x": [[1]]},
    "inf": {"x": [math.inf]},
    "differ in length": {"x": [1, 2]},
    "more than 10,000,000": {"x": range(10**12)},
}


@pytest.mark.parametrize("words", BAD)
def test_what_is_no_public_fact_is_refused_before_anything_is_charged(words):
    one = session()
    with pytest.raises(errors.KeysError, match=words):
        one.count(by="place", keys={"place": ["a"], **BAD[words]}, epsilon=1)
    assert dict(one.remaining) == {edge.name: 10_000 for edge in POLICY.edges}


def test_what_rows_or_answers_say_does_not_travel():
    keys = {
        "place": ["a"],
        "person": [1],
        "Age": [9],
        "upper": [1],
        "at_most_5": [1],
        "name": ["A"],
    }
    release = session().count(by="place", keys=keys, epsilon=60)
    assert release.beside == ("name",)
    assert not {"person", "Age", "at_most_5"} & set(release.frame.columns)


def test_an_end_of_a_bin_is_no_name_beside_keys():
    with pytest.raises(errors.ParameterError, match="end of each bin"):
        session().histogram(
            "age", bins=[0, 9], by="place", keys={"place": ["a"], "age_from": [1]}, epsilon=1
        )


def test_values_are_plain():
    found = public_keys(
        {
            "place": ["a", "b"],
            "at": [dt.date(2026, 1, 1), None],
            "deep": [Decimal("1.5"), math.nan],
            "many": np.array([1, 2]),
        },
        ("place",),
    ).beside
    assert found.columns["deep"] == [1.5, None]
    assert found.columns["many"] == [1, 2]


def test_a_map_has_the_places_that_are_somewhere():
    release = session().count(by="place", keys=PLACES, epsilon=60)
    chart = release.chart()
    assert chart.shape.labels == ["Bär <b> · b", "=Gym · a"]
    assert "1 group has no position" in chart.below
    keys = od.cross(place=["a", "b"], age=range(6))
    table = {**keys, "lat": [1.0] * 12, "lon": [2.0] * 12}
    grid = session().count(by=("place", "age"), keys=table, epsilon=60, max_groups=2)
    assert type(grid.shape()).__name__ == "Heat"


def test_the_group_of_all_others_is_called_so():
    release = session().count(by="place", keys=["a"], others=True, epsilon=60)
    assert release.shape().labels == ["a", "all others"]


def test_fields_are_named_by_both_ends_of_their_bins():
    asked = {"max_groups": 1, "on_excess": "truncate", "epsilon": 60}
    bins = {"age": list(range(0, 40, 10)), "pay": [0, 5, 10, 20, 30]}
    data = pl.DataFrame({"person": [1], "age": [7], "pay": [3]})
    made = od.Session(data, unit="person", policy=od.policy.addition_only(), budget=100)
    shape = made.histogram(bins, **asked).shape()
    assert shape.down == ["0 to 10", "10 to 20", "20 to 30"]
    assert shape.across == ["0 to 5", "5 to 10", "10 to 20", "20 to 30"]
    assert shape.values[0].tolist() == [1, 0, 0, 0]


def test_a_card_says_what_is_left_and_the_same_when_told_again():
    one = session()
    first = one.count(by="place", keys=PLACES, epsilon=1, id="monday")
    one.count(by="place", keys=PLACES, epsilon=5)
    again = one.count(by="place", keys=PLACES, epsilon=1, id="monday", again=True)
    (edge,) = (edge.name for edge in POLICY.edges)
    assert first.left == again.left == {edge: 9_999}
    for release in (first, again):
        assert "Left after it: ε 9999" in release._repr_html_()
