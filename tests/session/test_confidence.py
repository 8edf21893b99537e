"""`confidence` is the interval's own, for each group or for all at once; exactly, and by trial."""

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import onesided as od
from onesided import errors
from onesided.mechanism import Counts, Staircase, StairSums, Sums
from onesided.noise import NotPrivateSeededNoise, TwoSidedGeometric

RATES = [(1, 1), ("1/2", 2), ("1/20", "1/30"), (1, od.INFINITE), (od.INFINITE, "1/7")]
PEOPLE = pl.DataFrame({"place": [f"p{i % 20}" for i in range(2_000)], "pay": [40] * 2_000})
PLACES = [f"p{i}" for i in range(20)]
# Trials miss more often than this with chance below 1e-6 if the truth is `miss`: normal tail at
# 5 standard errors, where thousands of trials make the binomial close to normal.
ERRORS = 5

TOTAL = {"of": "units", "total_bounds": (0, 100)}


def too_many(miss, trials):
    return miss + ERRORS * math.sqrt(miss * (1 - miss) / trials)


@pytest.mark.parametrize("rates", RATES, ids=str)
@pytest.mark.parametrize("confidence", ["0.5", "0.9", "0.95", "0.999"])
@pytest.mark.parametrize("made", [Counts, Sums])
def test_an_interval_misses_exactly_no_more_than_it_says(made, rates, confidence):
    mechanism, law = made(*rates), TwoSidedGeometric(*rates)
    far = np.array([10_000])
    bounds = mechanism.interval(far, confidence=confidence)
    least, most = int(bounds.lower[0]) - 10_000, int(bounds.upper[0]) - 10_000
    # The truth t lies in [noisy + least, noisy + most] if -most <= D <= -least.
    missed = law.tail_above(-least) + law.tail_below(-most)
    assert missed <= 1 - Fraction(confidence)
    tighter = (law.tail_above(-least - 1), law.tail_below(-most + 1))
    assert sum(tighter) > 1 - Fraction(confidence) or od.INFINITE in rates


def test_a_side_that_is_certain_takes_no_share_of_the_misses():
    one = Counts(1, od.INFINITE).interval(np.array([100]), confidence="0.9")
    assert 100 - one.lower[0] == TwoSidedGeometric(1, od.INFINITE).quantile_upper("0.9")
    stairs = StairSums(Staircase(1, largest=5))
    told = stairs.interval(np.array([100]), confidence="0.9")
    assert 100 - told.lower[0] == stairs.stairs.quantile("0.9")


@pytest.mark.parametrize("simultaneous", [False, True])
@pytest.mark.parametrize("kind", ["count", "sum", "mean"])
def test_coverage_by_trial(kind, simultaneous):
    """1,500 releases of 20 groups; a false alarm has chance below 1e-6 (see ERRORS)."""
    session = od.Session(PEOPLE, policy=od.policy.unbounded(), budget=10**6)
    shared = {"by": "place", "keys": PLACES, "epsilon": 1, "confidence": "0.9"}
    shared["simultaneous"] = simultaneous
    values = {} if kind == "count" else {"bounds": (0, 100)}
    question = {
        "count": lambda: od.Count(**shared),
        "sum": lambda: od.session.Sum("pay", **shared, **TOTAL),
        "mean": lambda: od.session.Mean("pay", **shared, **values),
    }[kind]()
    truth = {"count": 100, "sum": 4_000, "mean": 40}[kind]
    prepared = question.prepare(session._context())
    secret, noise, hits = prepared.read(), NotPrivateSeededNoise(5), []
    for _ in range(1_500):
        told = prepared.result(prepared.draw(secret, noise), None).interval
        hits.append((told.lower <= truth) & (truth <= told.upper))
    missed = ~np.array(hits)
    if simultaneous:
        assert missed.any(axis=1).mean() <= too_many(0.1, 1_500)
    else:
        assert missed.mean(axis=0).max() <= too_many(0.1, 1_500)
        # Each side at 90 % on its own would be told from this one (negative control).
        assert kind == "mean" or missed.mean() > 0.05
        assert missed.any(axis=1).mean() > too_many(0.1, 1_500)


def test_two_sides_at_the_confidence_each_would_be_seen():
    """The negative control: what was published before missed 17.7 % at a confidence of 0.9."""
    law = TwoSidedGeometric("1/10", "1/10")
    most, least = law.quantile_upper("0.9"), law.quantile_lower("0.9")
    assert law.tail_above(most) + law.tail_below(least) > Fraction(17, 100)


def test_bounds_of_a_selection_hold_whichever_is_selected():
    """600 selections of 1 from 20 equal groups: the largest noise is always the one seen."""
    visits = pl.DataFrame({"person": range(2_000), "place": PEOPLE["place"]})
    session = od.Session(
        visits, unit="person", policy=od.policy.presence(max_groups=1), budget=9999
    )
    question = od.session.TopK(1, by="place", keys=PLACES, epsilon="1/2", confidence="0.9")
    prepared = question.prepare(session._context())
    secret, noise = prepared.read(), NotPrivateSeededNoise(8)
    told = [prepared.result(prepared.draw(secret, noise), None) for _ in range(600)]
    missed = np.mean([release.interval.lower[0] > 100 for release in told])
    assert missed <= too_many(0.1, 600)
    alone = TwoSidedGeometric("1/2", od.INFINITE).quantile_upper("0.9")
    assert np.mean([release.upper[0] - alone > 100 for release in told]) > 0.5
    assert "lower (90 %, all at once)" in str(told[0])
    assert not told[0].interval.lower_certain
    plain = session.top_k(1, by="place", keys=PLACES, epsilon=1)
    assert plain.interval.lower_certain
    assert "lower" not in plain.columns()


@pytest.mark.parametrize("ask", [
    lambda s, **k: s.count(by="place", keys=PLACES, epsilon=1, **k),
    lambda s, **k: s.histogram("pay", bins=[0, 50, 100], epsilon=1, **k),
    lambda s, **k: s.sum("pay", by="place", keys=PLACES, epsilon=1, **TOTAL, **k),
    lambda s, **k: s.mean("pay", bounds=(0, 100), by="place", keys=PLACES, epsilon=1, **k),
    lambda s, **k: s.ranges("pay", [(0, 50), (50, 100)], bins=[0, 50, 100], epsilon=1, **k),
])  # fmt: skip
def test_intervals_for_all_at_once_say_so_and_are_wider(ask):
    session = od.Session(
        PEOPLE, policy=od.policy.bounded(), budget=10**6, noise=NotPrivateSeededNoise(1)
    )
    other = od.Session(
        PEOPLE, policy=od.policy.bounded(), budget=10**6, noise=NotPrivateSeededNoise(1)
    )
    one, all_of_them = ask(session), ask(other, simultaneous=True)
    assert "all at once" in str(all_of_them)
    assert "all at once" not in str(one)
    wide = [np.sum(r.interval.upper - r.interval.lower) for r in (one, all_of_them)]
    assert wide[0] < wide[1]
    with pytest.raises(errors.ParameterError, match="simultaneous must be True or False"):
        ask(session, simultaneous="yes")
