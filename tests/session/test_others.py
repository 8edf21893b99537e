"""One group for all keys that are not listed: on every engine, cut or not, and charged as any."""

import datetime as dt

import duckdb
import polars as pl
import pytest

import onesided as od
from onesided import errors
from onesided.noise import NotPrivateSeededNoise

CONNECTION = duckdb.connect()
ENGINES = {
    "polars": lambda frame: frame,
    "polars-lazy": lambda frame: frame.lazy(),
    "pandas": lambda frame: frame.to_pandas(use_pyarrow_extension_array=True),
    "pyarrow": lambda frame: frame.to_arrow(),
    "duckdb": lambda frame: CONNECTION.from_arrow(frame.to_arrow()),
}
ROWS = pl.DataFrame(
    [
        (1, "a", 1, 3),
        (1, "c", 1, 3),
        (1, "d", 2, 4),
        (2, "c", 3, 5),
        (3, "d", 3, 5),
        (3, "d", 3, 5),
        (4, None, 1, 7),
        (5, "b", None, 7),
        (6, "others", 9, 7),
    ],
    schema={"person": pl.Int64, "place": pl.String, "hour": pl.Int8, "pay": pl.Int64},
    orient="row",
)
PRESENCE = od.policy.presence(max_groups=2)
COUNTS = {"a": 1, "b": 1, None: 4}  # 1, 2, 3 and 6 were elsewhere, whoever had no place was not


def opened(make=lambda frame: frame, policy=PRESENCE, **more):
    return od.Session(make(ROWS), unit="person", policy=policy, budget=10**6, **more)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_count_of_all_others_on_every_engine(engine):
    release = opened(ENGINES[engine]).count(by="place", keys=["a", "b"], others=True, epsilon=100)
    assert dict(zip(release.labels, release.estimate.tolist(), strict=True)) == COUNTS
    frame = release.frame
    if engine == "duckdb":
        frame = frame.pl()
    if engine == "polars-lazy":
        frame = frame.collect()
    places = frame["place"]
    found = places.to_list() if hasattr(places, "to_list") else places.to_pylist()
    assert found[:2] == ["a", "b"]
    assert len(found) == 3
    assert str(found[2]) in ("None", "nan", "<NA>")
    assert "The group without a key" in str(release)
    assert release.at_most(1) == ["a", "b"]


@pytest.mark.parametrize("engine", ENGINES)
def test_two_columns_and_numbers(engine):
    release = opened(ENGINES[engine]).count(
        by=["place", "hour"], keys=[("a", 1), ("d", 3)], others=True, epsilon=100
    )
    # (c, 1), (d, 2), (c, 3), (others, 9); a null in either is in no group.
    assert release.estimate.tolist() == [1, 1, 3]
    hours = opened(ENGINES[engine]).count(by="hour", keys=[3, 9], others=True, epsilon=100)
    assert hours.estimate.tolist() == [2, 1, 2]
    assert hours.frame is not None


@pytest.mark.parametrize("engine", ENGINES)
def test_a_sum_of_all_others(engine):
    session = opened(ENGINES[engine], noise=NotPrivateSeededNoise(7))
    release = session.sum(
        "pay",
        of="units",
        total_bounds=(0, 9),
        by="place",
        keys=["a", "b"],
        others=True,
        epsilon=900,
    )
    # Person 1 has 3 + 4 elsewhere, 3 has 5 + 5, cut to 9.
    assert release.interval.upper.tolist() == [3, 7, 7 + 5 + 9 + 7]


@pytest.mark.parametrize("engine", ENGINES)
def test_others_are_one_group_before_units_are_cut(engine):
    """Who is in three places, two of them unlisted, is in two groups: nobody is cut to two."""
    session = opened(ENGINES[engine], od.policy.addition_only())
    by = {"by": "place", "keys": ["a", "b"], "others": True, "epsilon": 100}
    whole = session.count(**by, max_groups=2, on_excess="error")
    assert whole.estimate.tolist() == [1, 1, 4]
    assert "more than 2 of the 3 groups listed" in str(whole).replace("\n", " ")
    cut = session.count(**by, max_groups=1, on_excess="truncate")
    assert sum(cut.estimate.tolist()) == 5
    with pytest.raises(errors.ContributionError, match="more than 1"):
        session.count(**by, max_groups=1, on_excess="error")


def test_rows_and_conditions():
    session = od.Session(ROWS, policy=od.policy.bounded(), budget=10**6)
    by = {"by": "place", "keys": ["a", "b"], "others": True, "epsilon": 100}
    assert session.count(**by).estimate.tolist() == [1, 1, 6]
    assert session.count(**by, where="place <> 'd'").estimate.tolist() == [1, 1, 3]
    kinds = od.Session(ROWS, policy=od.policy.sensitive("hour = 1"), budget=10**6)
    assert kinds.count(**by, counted="open").estimate.tolist() == [0, 0, 5]


def test_the_same_charge_and_another_question():
    session = opened()
    by = {"by": "place", "keys": ["a", "b"], "epsilon": 2}
    plain, wider = (session.plan(od.Count(**by, others=o)) for o in (False, True))
    assert plain.charge == wider.charge
    session.count(**by, id="x")
    with pytest.raises(errors.ReleaseExistsError) as caught:
        session.count(**by, id="x", others=True, again=True)
    assert caught.value.values["state"] == "other"


@pytest.mark.parametrize(
    "policy",
    [
        od.policy.graph([("a", "b"), ("b", "c")]),
        od.policy.attributes({"place": "*"}),
        PRESENCE & od.policy.attributes({"place": ["a"]}),
    ],
    ids=["graph", "attributes", "both"],
)
def test_refused_where_a_policy_names_values(policy):
    with pytest.raises(errors.ParameterError, match="names values"):
        opened(policy=policy).count(by="place", keys=["a"], others=True, epsilon=1)


def test_what_cannot_be_meant():
    with pytest.raises(errors.ParameterError, match="no meaning"):
        opened().count(others=True, epsilon=1)
    with pytest.raises(errors.ParameterError, match="True or False"):
        opened().count(by="place", keys=["a"], others="yes", epsilon=1)
    with pytest.raises(errors.ParameterError, match="not for histograms"):
        opened().histogram("pay", bins=[0, 9], others=True, epsilon=1)


def test_dates_too():
    days = pl.DataFrame({"day": [dt.date(2026, 1, d) for d in (1, 2, 3)]})
    session = od.Session(days, policy=od.policy.bounded(), budget=10**6)
    release = session.count(by="day", keys=[dt.date(2026, 1, 2)], others=True, epsilon=100)
    assert release.labels == [dt.date(2026, 1, 2), None]
    assert release.estimate.tolist() == [1, 2]
