"""One row for each unit: alike on every engine, moves of whole units as they were."""

import datetime as dt
import random

import duckdb
import pandas as pd
import polars as pl
import pytest

import onesided as od
from onesided import errors
from onesided.noise import NotPrivateSeededNoise
from onesided.session._statement import Statement

EXACT = 1000
VISITS = {
    "person": ["a", "a", "b", "c", "c", "c", "d"],
    "spent": [5, 900, -7, 1, 2, None, None],
    "day": [dt.date(2026, 1, day) for day in (3, 9, 1, 2, 2, 5, 7)],
    "share": [0.5] * 7,
}
MADE = {
    "n": "count",
    "total": ("sum", "spent", (-5, 100)),
    "most": ("max", "spent"),
    "least": ("min", "spent"),
    "last": ("max", "day"),
}


def session(data, policy=None, **more):
    policy = policy or od.policy.addition_only()
    noise = NotPrivateSeededNoise(7)  # ε is beyond what production answers
    return od.Session(
        data, **{"unit": "person", "policy": policy, "budget": 10**6, "noise": noise, **more}
    )


def test_each_engine_makes_the_same_units(engine):
    """a: 2 rows, 105, 900, 5; b: 1, -5, -7, -7; c: 3, 3, 2, 1; d: 1, 0, null, null."""
    data = engine(VISITS)
    if isinstance(data, pd.DataFrame) and data["spent"].dtype == "float64":
        data = data.astype({"spent": "Int64"})  # None makes floats of whole numbers
    asked = session(data).per_unit(**MADE)
    by, keys = ["n", "total"], [(1, -5), (1, 0), (2, 105), (3, 3), (2, 905), (1, 1)]
    told = asked.count(by=by, keys=keys, max_groups=1, epsilon=EXACT)
    assert told.estimate.tolist() == [1, 1, 1, 1, 0, 0]
    c_and_d = "most IS NULL OR (most = 2 AND least = 1 AND last = DATE '2026-01-05')"
    assert asked.count(epsilon=EXACT, where=c_and_d).estimate.tolist() == [2]
    assert asked.sum(
        "total", of="units", total_bounds=(-5, 50), epsilon=EXACT
    ).estimate.tolist() == [48]


def test_each_unit_is_in_one_group_of_a_table_of_units():
    people = session(pl.DataFrame(VISITS)).per_unit(n="count")
    told = people.count(by="n", keys=[1, 2, 3], epsilon=EXACT)
    assert told.estimate.tolist() == [2, 1, 1]
    assert told.cut.startswith("Rows without a value of 'n' are in no group.")
    with pytest.raises(errors.ParameterError, match="each unit is in one group"):
        people.count(by="n", keys=[1, 2, 3], max_groups=2, epsilon=EXACT)
    assert "Units" not in people.histogram("n", bins=[0, 2, 9], epsilon=EXACT).cut


def on_duckdb(frame):
    connection = duckdb.connect()
    connection.register("source", frame.to_arrow())
    connection.execute("CREATE TABLE t AS SELECT * FROM source")
    return connection.table("t")


def told(start, visits):
    """How many units have each number of rows, and each total."""
    frame = pl.DataFrame(visits, schema={"person": pl.Int64, "v": pl.Int64}, orient="row")
    asked = session(start(frame)).per_unit(n="count", total=("sum", "v", (0, 3)))
    by = [(n, total) for n in range(1, 5) for total in range(13)]
    found = asked.count(by=["n", "total"], keys=by, max_groups=1, epsilon=EXACT)
    return found.estimate


@pytest.mark.parametrize("start", [lambda frame: frame, on_duckdb], ids=["polars", "duckdb"])
def test_a_move_of_a_whole_unit_is_one_of_its_row(start):
    """Without a unit its own row is gone, and no other has changed; with other rows, one has."""
    rng = random.Random(7)
    for _ in range(3):
        visits = [(person, rng.randrange(-1, 6)) for person in range(4) for _ in range(4)]
        visits = rng.sample(visits, 9)
        unit = rng.choice(visits)[0]
        left = [visit for visit in visits if visit[0] != unit]
        before, after = told(start, visits), told(start, left)
        own = told(start, [visit for visit in visits if visit[0] == unit])
        assert (before - after).tolist() == own.tolist()
        assert own.sum() == 1
        other = told(start, [*left, (unit, rng.randrange(6))])
        assert ((other - after).min(), (other - after).sum()) == (0, 1)


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (od.policy.presence(max_groups=1), "some of a unit's rows"),
        (od.policy.local(["a", "b"]), "some of a unit's rows"),
        (od.policy.graph([("a", "b")]), "some of a unit's rows"),
        (od.policy.sensitive("spent > 5"), "conditions"),
        (od.policy.presence(max_groups=1) & od.policy.graph([("a", "b")]), "some of a unit's rows"),
        (od.policy.view("spent > 5", over="person", members=6), "conditions"),
    ],
    ids=lambda given: getattr(given, "name", ""),
)
def test_what_cannot_be_priced_is_refused_with_the_reason(policy, words):
    with pytest.raises(errors.ParameterError, match=words) as caught:
        session(pl.DataFrame(VISITS), policy).per_unit(n="count")
    assert "row_count" in caught.value.hint


BAD = {
    "Nothing is asked": {},
    "is nothing to keep": {"x": "median"},
    "nothing to keep of": {"x": ("mean", "spent")},
    "x=\\('sum', 'spent'\\)": {"x": ("sum", "spent")},
    "a pair": {"x": ("sum", "spent", 5)},
    "not below": {"x": ("sum", "spent", (5, 5))},
    "bounds must be": {"x": ("sum", "spent", (0, 2**31))},
    "has no column": {"x": ("max", "nothing")},
    "Float64": {"x": ("max", "share")},
    "sum is not taken": {"x": ("sum", "day", (0, 1))},
    "max is not taken": {"x": ("max", "person")},
    "already": {"spent": "count"},
}


@pytest.mark.parametrize("words", BAD)
def test_what_no_unit_has_is_refused(words):
    with pytest.raises(errors.OnesidedError, match=words) as caught:
        session(pl.DataFrame(VISITS)).per_unit(**BAD[words])
    assert caught.value.hint


def test_rows_of_nobody_and_sessions_without_a_unit():
    with pytest.raises(errors.ParameterError, match="unit of its own"):
        session(pl.DataFrame(VISITS), unit=None).per_unit(n="count")
    lost = pl.DataFrame({**VISITS, "person": [None, *VISITS["person"][1:]]})
    with pytest.raises(errors.DataError, match="no value in the unit column"):
        session(lost).per_unit(n="count").count(epsilon=1)


def test_one_account_and_another_question():
    first = session(pl.DataFrame(VISITS))
    made = first.per_unit(n="count")
    made.count(epsilon=1, id="m")
    assert first.spent == made.spent
    with pytest.raises(errors.ReleaseExistsError):
        first.count(epsilon=1, id="m", again=True)
    with pytest.raises(errors.ReleaseExistsError):
        first.per_unit(n="count", m="count").count(epsilon=1, id="m", again=True)
    assert first.per_unit(n="count").count(epsilon=1, id="m", again=True).told_again


def test_public_columns_join_before_and_after():
    areas = {"person": ["a", "b", "c"], "spends": [1, 2, 3]}
    made = session(pl.DataFrame(VISITS)).join_public(areas, on="person")
    made = made.per_unit(top=("max", "spends"), n="count")
    sizes = {"n": [1, 2, 3], "size": ["one", "more", "more"]}
    made = made.join_public(sizes, on="n")
    found = made.count(by="size", keys=["one", "more"], max_groups=1, epsilon=EXACT)
    assert found.estimate.tolist() == [2, 2]
    assert made.count(where="top = 3", epsilon=EXACT).estimate.tolist() == [1]


def test_an_answer_says_what_its_made_columns_are():
    """Both were "Number of units by k", and a bound of one was told as certain of the other."""
    data = pl.DataFrame({"u": [1, 1, 2, 2, 3], "h": [1, 9, 1, 9, 1]})
    here = od.Session(data, unit="u", policy=od.policy.addition_only(), budget=1000)
    asked = {"by": "k", "keys": [1, 9], "max_groups": 1, "on_excess": "error"}
    most = here.per_unit(k=("max", "h"), other="count").count(**asked, epsilon=90)
    least = here.per_unit(k=("min", "h")).count(**asked, epsilon=1)
    assert most.title == "Number of units (u) by k; k: the largest h of a unit's rows"
    assert most.title == most.guarantee.asked
    assert "smallest h" in str(least)
    assert "smallest h" in least._repr_html_()
    assert Statement.from_json(least.statement.to_json()) == least.statement
    with pytest.raises(errors.ParameterError, match="the same numbers"):
        od.certain(least).tightened(od.certain(most))
    areas = ({"h": [1, 9], "area": ["n", "s"]}, {"h": [1, 9], "area": ["s", "n"]})
    several = {**asked, "by": "area", "keys": ["n", "s"], "max_groups": 2, "epsilon": 1}
    north, south = (here.join_public(one, on="h").count(**several) for one in areas)
    assert "area: public, by h, of table" in north.title
    with pytest.raises(errors.ParameterError, match="the same numbers"):
        od.certain(north).tightened(od.certain(south))
    total = here.per_unit(t=("sum", "h", (0, 5))).count(where="t > 3", epsilon=1)
    assert total.title.endswith("t: the sum of h over a unit's rows, each clipped to 0 to 5")


@pytest.mark.parametrize(
    "question",
    [
        od.Sum("most", of="units", total_bounds=(0, 9), missing="drop", epsilon=1),
        od.Mean("most", bounds=(0, 9), missing="drop", epsilon=1),
        od.Variance("most", bounds=(0, 9), missing="drop", epsilon=1),
        od.Quantile("most", bounds=(0, 9), missing="drop", epsilon=1),
    ],
    ids=lambda one: type(one).__name__,
)
def test_every_question_about_a_column_says_what_was_left_out_when_it_was_made(question):
    people = session(pl.DataFrame(VISITS), policy=od.policy.unbounded()).per_unit(**MADE)
    assert "What was made per unit leaves out values that are missing." in people.ask(question).cut
