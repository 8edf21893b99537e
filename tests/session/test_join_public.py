"""A join with a public table: rows one by one, moves as they were, alike on every engine."""

import random
from itertools import combinations

import duckdb
import polars as pl
import pytest

import onesided as od
from onesided import errors
from onesided.noise import NotPrivateSeededNoise

EXACT = 1000
VISITS = {
    "person": [1, 1, 2, 3, 3, 4],
    "place": ["a", "b", "a", "c", None, "o'x"],
    "age": [7, 7, 30, 40, 40, 50],
}
AREAS = {
    "place": ["a", "b", "o'x", "far"],
    "area": ["north", "north", "it's south", "far"],
    "seats": [10, None, 5, 1],
    "share": [0.5, 1, None, 2],
}


def session(data, policy=None, **more):
    policy = policy or od.policy.presence(max_groups=2)
    noise = NotPrivateSeededNoise(7)  # ε is beyond what production answers
    return od.Session(
        data, **{"unit": "person", "policy": policy, "budget": 10**5, "noise": noise, **more}
    )


def test_each_engine_joins_rows_one_by_one(engine):
    asked = session(engine(VISITS)).join_public(AREAS, on="place")
    told = asked.count(by="area", keys=["north", "it's south", "far"], epsilon=EXACT)
    assert told.estimate.tolist() == [2, 1, 0]
    for where, wanted in (
        ("seats > 7", 2),
        ("seats IS NULL", 2),
        ("area IS NULL", 1),
        ("share <= 1", 2),
        ("area = 'it''s south'", 1),
    ):
        assert asked.count(epsilon=EXACT, where=where).estimate.tolist() == [wanted], where
    both = asked.count(by=["area", "place"], keys=[("north", "a"), ("far", "a")], epsilon=EXACT)
    assert both.estimate.tolist() == [2, 0]
    assert asked.count(epsilon=EXACT).estimate.tolist() == [4]


@pytest.mark.parametrize(
    "frame",
    [pl.DataFrame(AREAS, strict=False), pl.DataFrame(AREAS, strict=False).to_pandas()],
    ids=["polars", "pandas"],
)
def test_public_tables_come_in_any_form(frame):
    asked = session(pl.DataFrame(VISITS)).join_public(frame, on="place")
    assert asked.count(by="area", keys=["north"], epsilon=EXACT).estimate.tolist() == [2]


def test_keys_of_numbers_and_two_joins():
    data = pl.DataFrame(
        {"person": [1, 2, 3], "code": [1, 2, 3]}, schema_overrides={"code": pl.Int8}
    )
    asked = session(data).join_public({"code": [1, 2], "area": ["n", "s"]}, on="code")
    asked = asked.join_public({"area": ["n"], "land": ["x"]}, on="area")
    assert asked.count(by="land", keys=["x"], epsilon=EXACT).estimate.tolist() == [1]


def test_both_sessions_charge_one_account():
    first = session(pl.DataFrame(VISITS))
    second = first.join_public(AREAS, on="place")
    second.count(by="area", keys=["north"], epsilon=1)
    first.count(by="place", keys=["a"], epsilon=2)
    assert list(first.spent.values()) == list(second.spent.values()) == [3]


def test_an_answer_about_other_public_values_is_another_question():
    first = session(pl.DataFrame(VISITS))
    question = od.Count(by="area", keys=["north"], epsilon=1, id="m", again=True)
    told = first.join_public(AREAS, on="place").ask(question)
    again = first.join_public(AREAS, on="place").ask(question)
    assert again.told_again
    assert again.estimate.tolist() == told.estimate.tolist()
    moved = {**AREAS, "area": ["north", "far", "it's south", "far"]}
    with pytest.raises(errors.ReleaseExistsError):
        first.join_public(moved, on="place").ask(question)


BAD = {
    "given twice": ({"place": ["a", "a"], "x": [1, 2]}, "place"),
    "name of a column": ({"place": ["a"], "age": [1]}, "place"),
    "no column but": ({"place": ["a"]}, "place"),
    "never match": ({"place": [1], "x": [1]}, "place"),
    "has no column": ({"where": ["a"], "x": [1]}, "where"),
    "not all text": ({"place": ["a", "b"], "x": [1, "b"]}, "place"),
    "of 64 bits": ({"place": ["a"], "x": [2**70]}, "place"),
    "inf": ({"place": ["a"], "x": [float("inf")]}, "place"),
    "one column": ({"place": ["a"], "x": [1]}, ["place"]),
}


@pytest.mark.parametrize("words", BAD)
def test_what_is_no_public_fact_of_one_row_is_refused(words):
    frame, on = BAD[words]
    with pytest.raises(errors.OnesidedError, match=words):
        session(pl.DataFrame(VISITS)).join_public(frame, on=on)


@pytest.mark.parametrize(
    "policy",
    [
        od.policy.graph([("a", "b")]),
        od.policy.attributes({"place": ["a"]}),
        od.policy.local(["a", "b"]),
        od.policy.presence(max_groups=1) & od.policy.graph([("a", "b")]),
    ],
    ids=lambda policy: policy.name,
)
def test_a_policy_that_names_values_says_nothing_of_what_follows_from_them(policy):
    with pytest.raises(errors.ParameterError, match="names values"):
        session(pl.DataFrame(VISITS), policy).join_public(AREAS, on="place")


def test_no_rows_are_sampled_from_a_joined_table():
    asked = session(pl.DataFrame(VISITS), od.policy.sensitive("age < 18"))
    with pytest.raises(errors.DataError, match="joined"):
        asked.join_public(AREAS, on="place").sample(epsilon=1)


def on_duckdb(frame):
    connection = duckdb.connect()
    connection.register("source", frame.to_arrow())
    connection.execute("CREATE TABLE t AS SELECT * FROM source")
    return connection.table("t")


def counted(start, visits, areas, keys, **more):
    frame = pl.DataFrame(visits, schema={"person": pl.Int64, "place": pl.String}, orient="row")
    asked = session(start(frame), **more).join_public(areas, on="place")
    return asked.count(by="area", keys=keys, epsilon=EXACT).estimate


@pytest.mark.parametrize("start", [lambda frame: frame, on_duckdb], ids=["polars", "duckdb"])
def test_a_move_on_the_table_is_the_same_move_after_the_join(start):
    """Presence with two groups: each way to drop a unit's places lowers at most two counts by one,
    and raises none, whatever areas the places are joined with."""
    rng = random.Random(5)
    for _ in range(6):
        places = ["a", "b", "c", "d"]
        areas = {"place": places[: rng.randint(2, 4)]}
        areas["area"] = [rng.choice("xyz") for _ in areas["place"]]
        visits = {(rng.randrange(3), rng.choice([*places, None])) for _ in range(7)}
        before = counted(start, sorted(visits, key=str), areas, ["x", "y", "z"])
        unit = rng.choice(sorted(visits, key=str))[0]
        own = [visit for visit in sorted(visits, key=str) if visit[0] == unit]
        for number in range(1, min(2, len(own)) + 1):
            for gone in combinations(own, number):
                left = sorted(visits - set(gone), key=str)
                fall = before - counted(start, left, areas, ["x", "y", "z"])
                assert fall.min() >= 0
                assert fall.max() <= 1
                assert fall.sum() <= number
