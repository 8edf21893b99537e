"""Ratios of two totals: their bounds hold as often as they say, and certain ones always."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement

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
from onesided.session import Count, Mean, Ratio, RowCount, Sum, question_from_json, question_to_json
from onesided.session.kit import prepared
from onesided.session.values._mean import Ends
from onesided.session.values._ratio import quotients

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


def bounds_of(numerator, denominator, *, simultaneous=False, joint=True):
    """Those of ratios that are drawn from one reading."""
    sure = {"confidence": "0.9", "simultaneous": simultaneous, "joint": joint}
    asked = Ratio([numerator, denominator], **sure)
    for release in drawn(opened(), asked, DRAWS, NotPrivateSeededNoise(3)):
        yield release.interval


TRUTH = np.array(
    [
        ROWS.filter(pl.col("place") == place).select(pl.col("cost").clip(-1, 5).mean()).item()
        for place in PLACES
    ]
)


def from_zero(epsilon=1):
    """Costs of which none is below 0, by their number: measured together."""
    return Sum("cost", bounds=(0, 5), epsilon=epsilon, **BY), Count(epsilon=epsilon, **BY)


CUT = ROWS.with_columns(cost=pl.col("cost").clip(0, 5))
JOINT = np.array([CUT.filter(place=place)["cost"].mean() for place in PLACES])


@pytest.mark.parametrize("simultaneous", [False, True])
@pytest.mark.parametrize(
    ("asked", "truth"), [(of_places, TRUTH), (from_zero, JOINT)], ids=["alone", "joint"]
)
def test_bounds_hold_as_often_as_they_say(simultaneous, asked, truth):
    """False alarm: one in 10^6."""
    missed = 0
    for bounds in bounds_of(*asked(), simultaneous=simultaneous):
        inside = (bounds.lower <= truth) & (bounds.upper >= truth)
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
    upper = opened(od.policy.addition_only()).ratio(cost, people, joint=False)
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


# What is measured together, by the one span that a unit moves.

SUM = {"column": "cost", "of": "units", "total_bounds": (0, 9), "epsilon": 1}
ALL, PEOPLE = Sum(**SUM), Count(epsilon=1)
COUNTED = RowCount(max_rows=2, epsilon=1)
OF_ROWS = Sum("cost", of="rows", bounds=(0, 5), max_rows=2, epsilon=1)
POSSIBLE = {"where": "cost > 1", "unknown": "possible"}
TOGETHER = {
    "totals of people": (ALL, PEOPLE),
    "a part of totals": (replace(ALL, where="place = 'a'"), ALL),
    "a part of people": (replace(PEOPLE, where="place = 'a' AND cost > 1"), PEOPLE),
    "a part of a part": (
        replace(PEOPLE, where="place = 'a' AND cost > 1"),
        replace(PEOPLE, where="cost > 1"),
    ),
    "rows of people": (COUNTED, PEOPLE),
    "a part of rows": (replace(COUNTED, where="cost > 1"), COUNTED),
    "costs of rows": (OF_ROWS, COUNTED),
    "people by rows": (PEOPLE, COUNTED),
    "what is possible of that": (replace(PEOPLE, **POSSIBLE), replace(PEOPLE, **POSSIBLE)),
    "the same, written otherwise": (
        replace(PEOPLE, where="NOT cost <= 1"),
        replace(PEOPLE, where="cost > 1"),
    ),
}
CUT_ROWS = {"by": "place", "keys": PLACES, "max_groups": 1, "on_excess": "truncate"}
APART = {
    "other rows": (replace(PEOPLE, where="cost > 1"), replace(PEOPLE, where="cost <= 1")),
    "a whole by its part": (PEOPLE, replace(PEOPLE, where="cost > 1")),
    "what is possible by what is recorded": (
        replace(PEOPLE, **POSSIBLE),
        replace(PEOPLE, where="cost > 1"),
    ),
    "values below 0": (Sum(**{**SUM, "total_bounds": (-1, 9)}), PEOPLE),
    "other bounds": (Sum(**{**SUM, "total_bounds": (0, 8)}), ALL),
    "units by rows": (ALL, COUNTED),
    "other numbers of rows": (replace(COUNTED, max_rows=3), COUNTED),
    "groups that are cut for each": (
        replace(PEOPLE, where="cost > 1", **CUT_ROWS),
        replace(PEOPLE, **CUT_ROWS),
    ),
    "sums that may be cut": (Sum(**{**SUM, "total_bounds": (0, 2**40)}), PEOPLE),
    "weights": (
        Count(epsilon=1, weight="cost", weight_bounds=(0, 5), where="cost > 1"),
        Count(epsilon=1, weight="cost", weight_bounds=(0, 5)),
    ),
}


def planned(pair, policy=None, **more):
    return opened(policy or od.policy.unbounded(), unit="person").plan(Ratio(pair, **more))


@pytest.mark.parametrize("name", TOGETHER)
def test_measured_together_at_the_charge_of_both(name):
    plan, alone = planned(TOGETHER[name]), planned(TOGETHER[name], joint=False)
    assert isinstance(plan.mechanism, Ends)
    assert isinstance(alone.mechanism, tuple)
    assert plan.charge == alone.charge == dict.fromkeys(plan.charge, 2)
    assert isinstance(planned(TOGETHER[name], weights=[1, 2]).mechanism, tuple)


@pytest.mark.parametrize("name", APART)
def test_told_alone_where_a_unit_may_add_more_than_one_span(name):
    assert isinstance(planned(APART[name]).mechanism, tuple)


def test_a_public_denominator_is_told_alone():
    plan = planned(TOGETHER["a part of people"], od.policy.bounded())
    assert isinstance(plan.mechanism, tuple)
    assert set(plan.charge.values()) == {1}


@pytest.mark.parametrize("name", TOGETHER)
def test_each_unit_adds_no_less_than_nothing_and_one_span_at_most(name):
    """What the price rests on, read off every table of one person with up to two rows."""
    rows = [(place, cost) for place in PLACES for cost in (0, 1, 4, None)]
    session = opened(od.policy.addition_only(), unit="person")
    for held in [*combinations_with_replacement(rows, 1), *combinations_with_replacement(rows, 2)]:
        one = pl.DataFrame({"person": 1, "place": p, "cost": c} for p, c in held)
        one = one.cast({"cost": pl.Int64})
        other = od.Session(one, unit="person", policy=session.policy, budget=9)
        pair = [replace(q, missing="drop") if isinstance(q, Sum) else q for q in TOGETHER[name]]
        steps = prepared(other, Ratio(pair))
        ends, found = steps.plan.mechanism, steps.read()
        parts = [int(found.combined(ends.rows[part])[0]) for part in ("above", "below")]
        (shift,) = ends.above.shifts[session.policy.edges[0]]
        assert min(parts) >= 0
        assert sum(parts) <= shift.fall


def test_less_noise_and_one_entry():
    """Error at half the charge of each is 2 to 3 times as large. False alarm: one in 10^9."""
    wide = [
        np.mean([float((one.upper - one.lower)[0]) for one in bounds_of(*from_zero(), joint=joint)])
        for joint in (True, False)
    ]
    assert wide[0] < wide[1]
    session = opened(od.policy.unbounded(), unit="person")
    release = session.ratio(ALL, PEOPLE, id="each")
    (entry,) = session.ledger.entries(kind="spend")
    assert set(entry.epsilon.values()) == {2}
    assert session.ratio(ALL, PEOPLE, id="each", again=True).columns() == release.columns()
    assert 0 <= release.interval.lower[0] <= release.value <= release.interval.upper[0] <= 9
    asked = question_from_json(question_to_json(Ratio([ALL, PEOPLE], confidence="0.9")))
    assert asked.questions[0] == ALL
