"""Quantiles of units' own means by the noisy maximum, on every engine."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import onesided as od
from onesided import errors
from onesided.noise import NotPrivateSeededNoise
from onesided.session import Quantile

COLUMNS = {
    "person": [1, 1, 2, 3, 4, 4, 5],
    "place": ["a", "b", "a", "a", "b", "b", "a"],
    "pay": [10.0, 21.0, 30.6, -5.0, 40.0, 70.0, 33.0],
    "age": [10, 10, 35, 64, 80, 80, 51],
}
BIG = 400


def session(table, policy=None, *, unit="person", **more):
    given = {"noise": NotPrivateSeededNoise(1), "budget": 100 * BIG, **more}
    return od.Session(table, unit=unit, policy=policy or od.policy.unbounded(), **given)


def test_a_unit_counts_once_with_its_own_mean_on_every_engine(engine):
    asked = session(engine(COLUMNS))
    # 15 (of 10 and 21, rounded down), 31, 0 (clipped), 55, 33
    told = asked.quantile("pay", ["1/10", "3/10", "1/2", "9/10"], bounds=(0, 100), epsilon=8 * BIG)
    assert told.estimates.tolist() == [[0, 15, 31, 55]]
    halves = asked.median("pay", bounds=(0, 100), step="1/2", epsilon=BIG)
    assert halves.value == 30.5
    above = asked.median("pay", bounds=(0, 100), epsilon=BIG, where="pay > 32")
    assert 33 <= above.value <= 55
    rows = session(engine(COLUMNS), unit=None)
    assert rows.quantile("pay", "0.6", bounds=(0, 100), epsilon=BIG).value == 33


def test_groups_have_their_own(engine):
    asked = session(engine(COLUMNS))
    told = asked.quantile(
        "age", [0.75, 0.25], bounds=(0, 99), by="place", keys=["b", "a", "z"], max_groups=2,
        epsilon=8 * BIG,
    )  # fmt: skip
    # b: 10, 80; a: 10, 35, 64, 51
    low, high = told.estimates[:2, 1].tolist(), told.estimates[:2, 0].tolist()
    assert low[0] == 10
    assert high[0] == 80
    assert 10 <= low[1] <= 35
    assert 51 <= high[1] <= 64
    columns = told.columns()
    assert columns["place"] == ["b", "b", "a", "a", "z", "z"]
    assert columns["q"] == ["3/4", "1/4"] * 3
    assert (told.estimates[:, 0] >= told.estimates[:, 1]).all()


def test_a_value_counts_as_the_next_candidate_upwards():
    asked = session(pl.DataFrame({"person": [1, 2, 3], "age": [7, 12, 40]}))
    assert asked.median("age", candidates=[10, 20, 50], epsilon=BIG).value == 20
    assert asked.median("age", candidates=[1, 5], epsilon=BIG).value == 5
    assert asked.median("age", candidates=["1/2"], epsilon=BIG).value == 0.5
    assert asked.quantile("age", "1/3", candidates=[7, "25/2"], step="1/2", epsilon=BIG).value == 7


def test_several_share_epsilon_and_rise():
    asked = session(pl.DataFrame(COLUMNS))
    plan = asked.plan(Quantile("age", ["1/4", "1/2"], bounds=(0, 99), epsilon=1))
    assert plan.charge == {"record -> absent": 1, "absent -> record": 1}
    rates = [part.noise_rate * part.q.denominator for part in plan.mechanism.parts]
    assert rates == [Fraction(1, 3), Fraction(1, 2)]
    assert "ranks" in str(plan)
    for seed in range(20):
        told = session(pl.DataFrame(COLUMNS), noise=NotPrivateSeededNoise(seed)).quantile(
            "age", ["0.9", "0.1", "0.5"], bounds=(0, 99), epsilon="0.01"
        )
        high, low, middle = told.estimates[0]
        assert low <= middle <= high


def test_shares_may_be_floats():
    asked = session(pl.DataFrame(COLUMNS))
    told = asked.quantile("age", [0.2, 0.8, 0.1 + 0.2], bounds=(0, 99), epsilon=BIG)
    assert [str(q) for q in told.q] == ["1/5", "4/5", "3/10"]
    assert "Quantiles 1/5, 4/5, 3/10" in told.title
    assert "candidate" not in told.cut  # they are the steps within the bounds
    listed = asked.median("age", candidates=[10, 20, 50], epsilon=BIG)
    said = "count as the next candidate up, of 3 from 10 to 50; higher ones as the last."
    assert said in listed.cut
    cumulative = asked.median("age", candidates=[10, 20, 50], method="cumulative", epsilon=BIG)
    assert "higher ones as above all." in cumulative.cut


@pytest.mark.parametrize("policy", [od.policy.unbounded(), od.policy.bounded()], ids=str)
def test_the_smallest_and_the_largest_are_the_tables_own_where_records_move_whole(engine, policy):
    """A unit's largest row counts, not one of its rows by a hash; no row of it is cut."""
    asked = session(engine(COLUMNS), policy, ledger=None)
    steps = {"candidates": [-5, 10, 21, 33, 40, 70, 99], "epsilon": BIG}
    top, least = asked.maximum("pay", **steps), asked.minimum("pay", **steps)
    assert (top.value, least.value) == (70, -5)
    # The largest of 1 to 5: 21, 30.6, -5, 70, 33; the smallest: 10, 30.6, -5, 40, 33.
    assert np.rint(top.estimates[0]).tolist() == [1, 1, 2, 4, 4, 5, 5, 5]
    assert np.rint(least.estimates[0]).tolist() == [1, 2, 2, 4, 5, 5, 5, 5]
    assert "Each 'person' counts once, with their largest row." in top.cut
    assert "may have been cut" not in top.cut + least.cut
    assert set(top.guarantee.epsilon.values()) == {BIG}  # of one value of each unit
    with pytest.raises(errors.ParameterError, match="cut to some of their values"):
        least.certified_share(99, of=5)  # of nobody's largest value
    by = {"by": "place", "keys": ["a", "b"], "max_groups": 2, "on_excess": "truncate"}
    told = asked.maximum("pay", **steps, **by)
    assert told.estimate.tolist() == [33, 70]


def test_an_answer_about_rows_by_a_hash_is_not_told_again_as_one_about_the_largest(monkeypatch):
    asked = session(pl.DataFrame(COLUMNS))
    steps = {"candidates": [33, 70], "epsilon": BIG, "id": "top"}
    with monkeypatch.context() as before:
        before.setattr(Quantile, "_one_row", lambda *_: "")
        asked.maximum("pay", **steps)
    with pytest.raises(errors.ReleaseExistsError, match="another question") as refused:
        asked.maximum("pay", **steps, again=True)
    assert "its smallest or largest counts now" in refused.value.hint
    one_each = session(pl.DataFrame(COLUMNS), od.policy.presence(max_groups=2))
    one_each.maximum("pay", **steps)
    assert one_each.maximum("pay", **steps, again=True).told_again


def test_the_smallest_and_largest_are_counted_and_keep_their_certain_side():
    asked = session(pl.DataFrame(COLUMNS), od.policy.presence(max_groups=2))
    top = asked.maximum("age", candidates=[50, 60, 90], epsilon=BIG)
    assert top.value == 90
    assert top.above.upper_certain
    assert top.certified_share(90, of=5)[0] > 0.99
    with pytest.raises(errors.ParameterError, match="between 0 and 1"):
        asked.quantile("age", [0, "1/2"], bounds=(0, 99), epsilon=1)
    with pytest.raises(errors.ParameterError, match="between 0 and 1"):
        asked.quantile("age", 1, bounds=(0, 99), method="noisy_max", epsilon=1)


def test_what_it_says_of_itself():
    told = session(pl.DataFrame(COLUMNS)).median("age", bounds=(0, 99), epsilon=1)
    assert "with their own mean" in str(told)
    assert "clipped to 0 .. 99" in str(told)
    assert told.summary == f"Within {told.rank_error[0]:.3g} ranks (95 %)."
    with pytest.raises(errors.ParameterError, match="no bounds"):
        _ = told.interval


def test_stored_answers_are_told_again_and_no_other_question():
    asked = session(pl.DataFrame(COLUMNS))
    ask = {"bounds": (0, 99), "epsilon": 1, "id": "mondays"}
    first = asked.quantile("age", ["1/4", "3/4"], **ask)
    left = asked.remaining
    assert asked.quantile("age", ["0.25", 0.75], **ask, again=True).columns() == first.columns()
    assert asked.remaining == left
    for other in ({"q": ["1/4"]}, {"q": ["1/4", "3/4"], "step": "1/2"}, {"q": "1/4"}):
        with pytest.raises(errors.ReleaseExistsError, match="another question"):
            asked.quantile("age", **{**ask, **other}, again=True)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({}, "Which candidates"),
        ({"bounds": (0, 9), "candidates": [1]}, "Which candidates"),
        ({"bounds": (9, 0)}, "not below"),
        ({"bounds": (0, 9), "step": 2}, "no whole number of steps"),
        ({"candidates": [1, 3, 8], "step": 2}, "no whole number of steps"),
        ({"candidates": []}, "no candidates"),
        ({"bounds": (0, 2**50)}, "candidates must be"),
        ({"bounds": (0, 9), "method": "best"}, "method must be"),
        ({"bounds": (0, 9), "q": []}, "empty"),
        ({"bounds": (0, 9), "q": 2}, "between 0 and 1"),
        ({"bounds": (0, 9), "method": "cumulative"}, "need candidates="),
        ({"candidates": [1, 2], "method": "cumulative", "q": [0.1, 0.2]}, "every share at once"),
        ({"bounds": (0, 9), "by": "age", "keys": [1], "max_groups": 1}, "groups by it"),
        ({"bounds": (0, 9), "confidence": 2}, "confidence"),
    ],
)
def test_what_cannot_be_meant(wrong, says):
    asked = session(pl.DataFrame(COLUMNS))
    with pytest.raises(errors.ParameterError, match=says):
        asked.quantile("age", **{"epsilon": 1, **wrong})
    assert not any(asked.spent.values())


def test_policies_that_say_nothing_of_values_are_refused():
    asked = session(pl.DataFrame(COLUMNS), od.policy.graph([("a", "b")]), unit=None)
    with pytest.raises(errors.UnprotectableError, match="a rank of them") as caught:
        asked.median("age", bounds=(0, 9), epsilon=1)
    assert 'method="cumulative"' in caught.value.hint


def test_the_curator_is_told_how_many_values_are_clipped():
    asked = session(pl.DataFrame(COLUMNS))
    facts = asked.inspect(Quantile("pay", bounds=(0, 50), epsilon=1))
    assert facts.values_outside_bounds == 2


def test_a_large_range_costs_nothing():
    values = np.random.default_rng(1).integers(0, 2**40, 5000)
    table = pl.DataFrame({"person": range(5000), "v": values})
    told = session(table).median("v", bounds=(0, 2**40), epsilon=1)
    below = int((values <= told.value).sum())
    # Off by d ranks with a chance of about e^-d: by 30 with less than 1e-11.
    assert abs(below - 2500) <= 30


def test_ten_shares_or_more_share_levels_and_rise():
    values = pl.DataFrame({"person": range(2000), "age": [i % 97 for i in range(2000)]})
    shares = [f"{i}/20" for i in range(19, 0, -1)]
    for policy in (od.policy.unbounded(), od.policy.bounded(), od.policy.presence(max_groups=2)):
        made = od.Session(values, unit="person", policy=policy, budget=99)
        asked = od.session.Quantile("age", shares, bounds=(0, 96), epsilon=2)
        plan = made.plan(asked)
        assert max(plan.charge.values()) == 2
        assert "5 levels" in plan.why
        found = made.ask(asked)
        told = found.estimates[0]
        assert (np.diff(told) <= 0).all()  # as they were asked for: falling shares
        assert np.abs(told - np.array([97 * i / 20 for i in range(19, 0, -1)])).max() < 12
        assert len(found.rank_error) == 19


@pytest.mark.heavy
@pytest.mark.parametrize("number", [5, 19])
def test_other_shares_enclose_a_quantile_as_often_as_is_said(number):
    """100 answers; 0.9 is promised, and below 0.8 would come once in 1,000 at the bound itself."""
    ages = np.sort(np.random.default_rng(1).normal(45, 15, 3000).round().clip(0, 99))
    people = pl.DataFrame({"age": ages})
    shares = [Fraction(i, number + 1) for i in range(1, number + 1)]
    asked = Quantile("age", shares, bounds=(0, 99), epsilon=2, confidence="0.9", simultaneous=True)
    made = od.Session(people, policy=od.policy.bounded(), budget=10**6)
    prepared = asked.prepare(made._context())
    secret, noise, missed = prepared.read(), NotPrivateSeededNoise(8), 0
    for _ in range(100):
        release = prepared.result(prepared.draw(secret, noise), None)
        for q in ("0.3", "0.5", "0.7"):
            low, high = release.enclosing(q, of=3000)
            true = ages[int(np.ceil(Fraction(q) * 3000)) - 1]
            missed += not low[0] <= true <= high[0]
    assert missed <= 20
    assert np.isfinite(release.enclosing("1/2", of=3000)).all() or number == 19
    assert release.enclosing("1/2", of=1)[0][0] == -np.inf
    with pytest.raises(errors.ParameterError):
        release.enclosing("1/2", of=0)


@pytest.mark.parametrize("policy", [od.policy.unbounded(), od.policy.bounded()])
def test_an_extreme_lies_within_its_own_interval(policy):
    """Beyond the last value all counts are alike but for noise."""
    table = pl.DataFrame({"x": [500 + i % 101 for i in range(1000)]})
    session = od.Session(table, policy=policy, budget=1000)
    for asked in (session.maximum, session.minimum):
        told = asked("x", candidates=range(0, 1001, 10), epsilon=10)
        found = told.at(1 if asked == session.maximum else 0)
        assert found["lower"] <= found["estimate"] <= found["upper"]


def test_an_interval_over_candidates_holds_the_values_themselves():
    """A value counts as the next candidate upwards: the lower bound is the one before."""
    table = pl.DataFrame({"age": [30] * 2001})
    session = od.Session(table, policy=od.policy.bounded(), budget=9999)
    asked = od.session.Quantile("age", "1/2", candidates=[20, 40, 60], interval=True, epsilon=100)
    told = session.ask(asked).frame
    assert told["lower"].item() <= 30 <= told["upper"].item()
