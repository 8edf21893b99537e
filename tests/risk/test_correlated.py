"""What correlated records tell of each other: by hand, against mechanisms, and attained."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onesided as od
from onesided import errors
from onesided.bounds import Correlation, household, walk
from onesided.mechanism import Counts
from onesided.policy import GroupCount, Record
from onesided.verify import Universe, risk

pytest.importorskip("scipy")

ONE = od.policy.presence(max_groups=1)
THERE, AWAY = Record("unit", frozenset({"clinic"})), Record("unit")
SHARES = st.fractions(0, 1, max_denominator=20)


def member(epsilon, together, apart):
    """By hand: what one further member multiplies the factor by."""
    e = math.exp(epsilon)
    return (together * e + 1 - together) / (apart * e + 1 - apart)


@settings(max_examples=30, deadline=None)
@given(SHARES, SHARES, st.integers(0, 5), st.sampled_from([Fraction(1, 4), 1, 3]))
def test_a_household_is_the_product_over_its_members(together, apart, others, epsilon):
    known = household(THERE, AWAY, others=others, together=together, apart=apart)
    if together < apart:
        return
    found = known.likelihood(ONE, epsilon=epsilon)
    expected = math.exp(epsilon) * member(epsilon, float(together), float(apart)) ** others
    assert float(found) == pytest.approx(expected, rel=1e-6)
    assert found * (1 + Fraction(1, 10**12)) >= Fraction(expected)


def test_independent_members_add_nothing_and_sure_ones_add_epsilon():
    for others in (0, 1, 4):
        free = household(THERE, AWAY, others=others, together="1/3", apart="1/3")
        assert float(free.freedom(ONE, epsilon=1)) == pytest.approx(1)
        sure = household(THERE, AWAY, others=others, together=1)
        assert float(sure.freedom(ONE, epsilon=1)) == pytest.approx(1 + others)
        assert sure.freedom(ONE, epsilon=1) >= 1 + others


def test_shipped_noise_attains_the_bound_and_never_passes_it():
    """Far above the truth the odds of one-sided noise are those of the worst mechanism."""
    for others, together, apart in ((1, "1/2", 0), (2, "3/4", "1/4")):
        known = household(THERE, AWAY, others=others, together=together, apart=apart)
        world = Universe(groups=("clinic",), units=others + 1)
        seen = risk(
            Counts(1, od.INFINITE), ONE, correlation=known, universe=world, query=GroupCount()
        )
        most = float(known.freedom(ONE, epsilon=1))
        assert seen.loss <= most + 1e-9
        assert seen.loss == pytest.approx(most, abs=1e-4)
        assert seen.loss > 1.2, "ε alone would be wrong"


def test_direction_is_kept():
    """That somebody was away is not protected: the count tells it for certain."""
    known = household(THERE, AWAY, others=1, together="1/2", apart="1/4")
    away = Correlation(known.law, lambda world: world[0] == AWAY)
    assert away.likelihood(ONE, epsilon=1) == od.INFINITE
    both = od.policy.graph([("here", "gone"), ("gone", "here")])
    here, gone = (one for one in both.records(["here", "gone"], max_groups=1))
    for secret in (here, gone):
        law = {(a, b): 2 if a == b else 1 for a in (here, gone) for b in (here, gone)}
        known = Correlation(law, lambda world, secret=secret: world[0] == secret)
        assert known.likelihood(both, epsilon=1) != od.INFINITE


def test_an_open_member_tells_by_the_law_alone():
    """OSDP: the other's record is told truthfully, so the law's own odds come on top of ε."""
    policy = od.policy.sensitive("private")
    ill, well = Record("sensitive", "ill"), Record("sensitive", "well")
    out, home = Record("open", "out"), Record("open", "home")
    law = {(ill, home): 3, (ill, out): 1, (well, home): 1, (well, out): 3}
    known = Correlation(law, lambda world: world[0] == ill)
    assert float(known.likelihood(policy, epsilon=1)) == pytest.approx(3 * math.e)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=8, max_size=8).filter(lambda w: any(w[4:])))
def test_no_mechanism_passes_the_bound_on_random_laws(weights):
    """Random outputs that keep ε along every move, repaired by shortest paths."""
    groups = ("a", "b", "c")
    records = ONE.records(groups, max_groups=3)
    law = {(record,): weight for record, weight in zip(records, weights, strict=True)}
    known = Correlation(law, lambda world: "a" in world[0].value)
    most = known.likelihood(ONE, epsilon=1)
    true, false = known.sides()
    if not true or not false or most == od.INFINITE:
        return
    generator = np.random.default_rng(sum(weights))
    for _ in range(20):
        rough = dict(zip(records, generator.exponential(3, 8), strict=True))
        tells = {  # ln of the chance of an output: at most one more than after any drop of one
            real: min(
                rough[end] + len(real.value - end.value)
                for end in records
                if end.value <= real.value
            )
            for real in records
        }
        odds = [
            sum(float(weight) * math.exp(tells[world[0]]) for world, weight in side.items())
            for side in (true, false)
        ]
        assert odds[0] <= odds[1] * float(most) * (1 + 1e-9)


def test_a_walk_with_a_speed_limit():
    """Round a ring of rooms, one step an hour; the ward is one of them, two are not listed."""
    rooms = ["ward", "hall", None]
    near = {
        room: {room: 2, other: 1} for room, other in zip(rooms, ["hall", None, "hall"], strict=True)
    }
    start = {None: 8, "hall": 1, "ward": 1}
    one = walk(start, near, length=1, place="ward", time=0)
    assert float(one.freedom(ONE, epsilon=1)) == pytest.approx(1 + math.log(9 / 8), abs=0.2)
    losses = [
        float(walk(start, near, length=hours, place="ward", time=0).freedom(ONE, epsilon=1))
        for hours in (1, 2, 3)
    ]
    assert losses == sorted(losses)
    assert losses[-1] > losses[0]
    wide = od.policy.presence(max_groups=3)
    assert walk(start, near, length=3, place="ward", time=0).freedom(wide, epsilon=1) <= 2


def test_somebody_who_must_be_somewhere_can_be_found_out():
    known = walk({"ward": 1, "hall": 1}, {}, length=1, place="ward", time=0)
    assert known.freedom(ONE, epsilon=1) == od.INFINITE
    assert "become certain" in ONE.explain(correlation=known)


def test_explain_ends_with_the_number():
    known = household(THERE, AWAY, others=1, together="1/2")
    said = ONE.explain(epsilon="1/2", correlation=known).splitlines()
    assert said[:-1] == ONE.explain(epsilon="1/2").splitlines()
    assert "the person being there grow by at most a factor of" in said[-1]


@pytest.mark.parametrize(
    "law",
    [
        {},
        [],
        {"a": 1},
        {(1,): 1},
        {(THERE,): -1},
        {(THERE,): 0},
        {(THERE,): math.nan},
        {(THERE,): 1, (THERE, AWAY): 1},
    ],
)
def test_bad_laws_are_refused(law):
    with pytest.raises(errors.ParameterError):
        Correlation(law, bool)


def test_bad_walks_households_and_universes_are_refused():
    with pytest.raises(errors.ParameterError, match="where 'hall' leads"):
        walk({"ward": 1}, {"ward": {"hall": 1}}, length=3, place="ward", time=0)
    with pytest.raises(errors.ParameterError, match="weighs nothing"):
        walk({"ward": 1}, {"ward": {"hall": 0}}, length=2, place="ward", time=0)
    with pytest.raises(errors.ParameterError):
        walk({"ward": 1}, {}, length=1, place="ward", time=1)
    for share in (2, -1, "x", math.nan):
        with pytest.raises(errors.ParameterError):
            household(THERE, AWAY, others=1, together=share)
    known = household(THERE, AWAY, others=3, together="1/2")
    with pytest.raises(errors.ParameterError, match="4 records"):
        risk(Counts(1, od.INFINITE), ONE, correlation=known, universe=Universe(groups=("clinic",)))


def test_extreme_weights_are_answered():
    law = {(THERE,): Fraction(1, 10**400), (AWAY,): 10**400}
    assert float(Correlation(law, lambda w: w[0] == THERE).freedom(ONE, epsilon=1)) == 1
    huge = household(THERE, AWAY, others=1, together="1/2").likelihood(ONE, epsilon=4000)
    assert huge == od.INFINITE
