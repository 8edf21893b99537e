"""Ratios of two totals: their bounds hold as often as they say, and certain ones always."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.covering import drawn

import onesided as od
from onesided import errors
from onesided.mechanism import Interval
from onesided.noise import NotPrivateSeededNoise
from onesided.session import Count, Mean, RowCount, Several, Sum
from onesided.session.values._ratio import halves, quotients, ratio_of

PLACES = ["a", "b"]
ROWS = pl.DataFrame(
    {
        "person": [*range(30), 0, 1],
        "place": ["a"] * 22 + ["b"] * 8 + ["a", "b"],
        "cost": [n % 7 - 1 for n in range(32)],
    }
)
BY = {"by": "place", "keys": PLACES}
# A fair 90 % interval misses more often than this in 200 draws in one of 10^6 runs.
DRAWS, MOST_MISSED = 200, 43


def opened(policy=None, **more):
    noise = NotPrivateSeededNoise(3)
    policy = od.policy.bounded() if policy is None else policy
    return od.Session(ROWS, policy=policy, budget=10**6, noise=noise, **more)


def of_places(epsilon=1):
    return Sum("cost", bounds=(-1, 5), epsilon=epsilon, **BY), Count(epsilon=epsilon, **BY)


def bounds_of(numerator, denominator, *, simultaneous=False):
    """Those of ratios whose two totals are drawn from one reading."""
    sure = {"confidence": "0.9", "simultaneous": simultaneous}
    asked = Several(halves(numerator, denominator, **sure))
    for answers in drawn(opened(), asked, DRAWS, NotPrivateSeededNoise(3)):
        yield ratio_of(answers, denominator, **sure).interval


TRUTH = np.array(
    [
        ROWS.filter(pl.col("place") == place).select(pl.col("cost").clip(-1, 5).mean()).item()
        for place in PLACES
    ]
)


@pytest.mark.parametrize("simultaneous", [False, True])
def test_bounds_hold_as_often_as_they_say(simultaneous):
    """False alarm: one in 10^6."""
    missed = 0
    for bounds in bounds_of(*of_places(), simultaneous=simultaneous):
        inside = (bounds.lower <= TRUTH) & (bounds.upper >= TRUTH)
        missed += not inside.all() if simultaneous else not inside[0]
    assert missed <= MOST_MISSED


def test_bounds_of_half_the_noise_would_be_found_out():
    """The same test sees an answer with too much noise for its bounds."""
    found = 0
    for bounds in bounds_of(*of_places()):
        centre, reach = (bounds.lower + bounds.upper) / 2, (bounds.upper - bounds.lower) / 12
        found += not (centre - reach <= TRUTH)[0] & (centre + reach >= TRUTH)[0]
    assert found > MOST_MISSED


def test_one_charge_told_again_and_the_same_bounds():
    session = opened()
    release = session.ratio(*of_places("1/2"), id="costs", title="Cost of a visit")
    (entry,) = session.ledger.entries(kind="spend")
    assert entry.epsilon == {"record -> record": 1} == release.guarantee.epsilon
    assert release.entry == entry.number
    assert release.title.startswith("Cost of a visit: Ratio of (Sum of cost")
    assert release.bound_words == "95 %"
    assert [one.own["confidence"] for one in release.answers] == [Fraction(39, 40)] * 2
    again = session.ratio(*of_places("1/2"), id="costs", again=True)
    assert again.told_again
    assert again.columns() == release.columns()
    with pytest.raises(errors.ReleaseExistsError):
        session.ratio(*of_places("1/2"), id="costs", again=True, confidence="0.9")
    read = od.session.release_from_json(od.session.release_to_json(release))
    assert read.columns() == release.columns()


def test_certain_bounds_of_both_are_certain_of_the_ratio():
    """Under addition-only both upper bounds are; a ratio takes an upper and a lower one."""
    cost = Sum("cost", bounds=(0, 5), epsilon=1, **BY)
    people = Count(epsilon=1, **BY)
    upper = opened(od.policy.addition_only()).ratio(cost, people)
    assert not upper.lower_certain
    assert not upper.upper_certain
    known = opened(od.policy.bounded(), unit="person")
    rows = RowCount(max_rows=2, epsilon=9)
    told = known.ratio(rows, Count(epsilon=9), epsilon=9)  # how many people there are is public
    assert told.value == pytest.approx(32 / 30, rel=0.5)
    assert told.answers[1].lower_certain
    assert not told.upper_certain


@pytest.mark.parametrize(
    ("numerator", "denominator", "says"),
    [
        (Mean("cost", bounds=(0, 5), epsilon=1), Count(epsilon=1), "of which no ratio"),
        (Count(epsilon=1), "cost", "of which no ratio"),
        (Count(epsilon=1), Sum("cost", bounds=(-1, 5), epsilon=1), "never negative"),
        (Count(epsilon=1), Sum("cost", epsilon=1), "never negative"),
        (Count(epsilon=1, **BY), Count(epsilon=1), "same groups"),
        (Count(epsilon=1), Count(epsilon=1), "confidence"),
    ],
)
def test_what_has_no_ratio_is_refused_before_the_charge(numerator, denominator, says):
    session = opened()
    more = {"confidence": float("nan")} if says == "confidence" else {}
    with pytest.raises(errors.ParameterError, match=says):
        session.ratio(numerator, denominator, **more)
    assert not any(session.spent.values())


def within(lower, upper, sure):
    sides = (one == "yes" for one in sure.split())
    return Interval(np.array(lower), np.array(upper), *sides)


@given(
    n=st.lists(st.integers(-40, 2**60), min_size=2, max_size=2).map(sorted),
    d=st.lists(st.integers(-9, 2**60), min_size=2, max_size=2).map(sorted),
    at=st.tuples(*[st.fractions(0, 1)] * 2),
    least=st.sampled_from([0, 1]),
)
def test_every_quotient_of_numbers_within_the_bounds_is_within_their_bounds(n, d, at, least):
    top, under = (low + (high - low) * part for (low, high), part in zip((n, d), at, strict=True))
    if under < least or under <= 0:
        return
    above, below = (within([low], [high], "yes yes") for low, high in (n, d))
    estimate, bounds = quotients([n[0]], above, [d[0]], below, least=least)
    assert float(bounds.lower[0]) == -np.inf or Fraction(float(bounds.lower[0])) <= top / under
    assert float(bounds.upper[0]) == np.inf or top / under <= Fraction(float(bounds.upper[0]))
    assert bounds.lower_certain
    assert bounds.upper_certain
    assert bounds.lower[0] <= estimate[0] <= bounds.upper[0]


def test_a_side_is_certain_only_if_both_numbers_that_make_it_are():
    for sure in np.ndindex(2, 2, 2, 2):
        lower, upper, under, over = map(bool, sure)
        for low, high in ((1, 4), (-4, -1), (-1, 1)):
            n = Interval(np.array([low]), np.array([high]), lower, upper)
            d = Interval(np.array([2]), np.array([3]), under, over)
            _, bounds = quotients([low], n, [2], d, least=1)
            assert bounds.lower_certain == (lower and (over if low > 0 else under))
            assert bounds.upper_certain == (upper and (under if high > 0 else over))


def test_sums_past_what_is_held_leave_the_bounds_open():
    n = within([-np.inf, 3.0], [5.0, np.inf], "no no")
    d = within([0.0, 2.0], [np.inf, np.inf], "no no")
    estimate, bounds = quotients([1, 4], n, [0, 8], d, least=0)
    assert bounds.lower.tolist() == [-np.inf, 0]
    assert bounds.upper.tolist() == [np.inf, np.inf]
    assert np.isfinite(estimate).all()
