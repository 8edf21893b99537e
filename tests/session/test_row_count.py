"""The number of rows: each unit with so many at most, priced as the sum of ones it is."""

import random
from functools import partial

import pytest

import onesided as od
from onesided import errors, verify
from onesided.noise import NotPrivateSeededNoise

pl = pytest.importorskip("polars")

PLACES = ["a", "b"]
PRESENCE = od.policy.presence(max_groups=1)


def frame(rows):
    return pl.DataFrame(rows, schema={"person": pl.Int64, "place": pl.String}, orient="row")


def session(rows, policy=PRESENCE, unit="person", **more):
    return od.Session(frame(rows), unit=unit, policy=policy, budget=10**6, **more)


def test_rows_are_counted_and_cut_per_unit_and_group():
    drawn = random.Random(3)
    rows = [(drawn.randrange(5), drawn.choice("abc")) for _ in range(60)]
    for most in (1, 2, 50):
        found = session(rows, noise=NotPrivateSeededNoise(7)).row_count(
            by="place", keys=PLACES, max_rows=most, epsilon=900
        )
        true = [sum(min(most, rows.count((p, g))) for p in range(5)) for g in PLACES]
        assert found.estimate.tolist() == true
        said = "at most 1 row counts" if most == 1 else f"at most {most} rows count"
        assert said in found.guarantee.about
    assert "number of rows" in found.title.lower()


def test_it_is_priced_as_a_sum_of_as_many_as_the_rows_of_a_unit():
    asked = session([(1, "a")])
    one = asked.plan(od.Count(by="place", keys=PLACES, epsilon=1))
    many = asked.plan(od.session.RowCount(by="place", keys=PLACES, max_rows=4, epsilon=1))
    assert many.charge == one.charge
    assert many.certain == ("upper",)
    assert many.standard_deviation > 3 * one.standard_deviation


@pytest.mark.heavy
@pytest.mark.parametrize(("priced", "kept"), [(2, True), (1, False)])
def test_its_answers_lose_what_is_charged_and_no_more(priced, kept):
    """Exact, through whole sessions; the control is charged as if a unit had one row."""
    asked_of = partial(verify.law, policy=PRESENCE, unit="person", tail=1e-7)
    asked = od.session.RowCount(by="place", keys=["a"], max_rows=2, epsilon=2 // priced)
    for real, other in ((2, 0), (2, 1), (1, 0)):
        here, there = (asked_of(asked, frame([(0, "a")] * held)) for held in (real, other))
        if kept:
            assert here.loss(there) <= 1 + 1e-9
        elif real - other == 2:
            assert here.loss(there) > 1.5


def test_bad_input_is_refused_with_the_next_step():
    asked = {"by": "place", "keys": PLACES, "epsilon": 1}
    for most in (0, 1.5, "many", -1):
        with pytest.raises(errors.ParameterError):
            session([(1, "a")]).row_count(max_rows=most, **asked)
    with pytest.raises(errors.ParameterError, match="unit of its own") as caught:
        session([(1, "a")], unit=None).row_count(max_rows=2, **asked)
    assert "count(" in caught.value.hint
    with pytest.raises(errors.ParameterError):
        session([(1, "a")]).row_count(**asked)


def test_sql_asks_the_same():
    asked = session([(1, "a"), (1, "a"), (2, "b")])
    more = {"keys": PLACES, "epsilon": 1}
    text = "SELECT place, COUNT(*) FROM visits GROUP BY place"
    question = asked.question(text, max_rows=2, **more)
    assert question == od.session.RowCount(by="place", max_rows=2, **more)
    with pytest.raises(errors.SqlError, match="no number of units") as caught:
        asked.question(text, **more)
    assert "max_rows=" in caught.value.hint
    told_again = od.session.question_from_json(od.session.question_to_json(question))
    assert told_again == question


@pytest.mark.parametrize("engine", ["duckdb", "pandas", "lazy"])
def test_engines_agree(engine):
    frame = pl.DataFrame({"person": [1, 1, 1, 2], "place": ["a", "a", "a", "b"]})
    if engine == "duckdb":
        frame = pytest.importorskip("duckdb").from_arrow(frame.to_arrow())
    elif engine == "pandas":
        frame = frame.to_pandas()
    else:
        frame = frame.lazy()
    asked = od.Session(frame, unit="person", policy=PRESENCE, budget=10**6)
    found = asked.row_count(by="place", keys=PLACES, max_rows=2, epsilon=100)
    assert found.estimate.tolist() == [2, 1]
