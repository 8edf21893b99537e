"""Counts with discrete Gaussian noise: prices, laws, bounds and bad input."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from onesided import accounting as acc
from onesided import errors
from onesided._numbers import INFINITE, ORDERS
from onesided.accounting._losses import gaussian_loss
from onesided.mechanism import GaussianCounts
from onesided.mechanism.kit import Together, both_ways, steps_in
from onesided.noise import NotPrivateSeededNoise
from onesided.policy import Shift

EDGE = "a -> b"
FALSE_ALARM = 1e-6


@pytest.mark.parametrize(
    ("alike", "rise", "fall", "squares"),
    [(True, 3, 4, 7), (False, 3, 4, 25), (False, 0, 0, 0), (True, 0, 1, 1), (False, 1, 1, 2)],
)
def test_the_price_is_l2_where_counts_move_by_one_and_by_totals_elsewhere(
    alike, rise, fall, squares
):
    told = GaussianCounts(9, alike=alike).steps(Shift(rise=rise, fall=fall))
    assert told.squares == squares
    assert told.divergence(3) == Fraction(3 * squares, 18)
    assert told.epsilon == told.backward == INFINITE * squares
    assert steps_in(told.written()) == told


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(["1/2", "1", "7", "300"]), st.integers(1, 4), st.sampled_from(ORDERS[:6]))
def test_divergences_are_above_those_of_the_law(variance, moved, order):
    size = float(Fraction(variance))
    values = np.arange(-int(30 * size**0.5) - 40 * moved, int(30 * size**0.5) + 40 * moved)
    here, there = (-((values - at) ** 2) / (2 * size) for at in (0, moved))
    norm = np.log(np.exp(here).sum())
    terms = order * here - (order - 1) * there - norm
    found = (np.log(np.exp(terms - terms.max()).sum()) + terms.max()) / (order - 1)
    told = GaussianCounts(variance).steps(Shift(rise=0, fall=moved)).divergence(order)
    assert found <= float(told) * (1 + 1e-9) + 1e-9


def normal(size, epsilon):
    """δ of the normal law that moves by so many deviations."""
    e, cdf = float(epsilon), stats.norm.cdf
    return cdf(size / 2 - e / size) - np.exp(e) * cdf(-size / 2 - e / size)


@pytest.mark.parametrize(("variance", "moved"), [(4, 1), (100, 9), (2904, 100), (10**6, 100)])
def test_the_law_is_that_of_the_normal_law_nearly(variance, moved):
    law, size = gaussian_loss(Fraction(variance), moved, alike=True), (moved / variance) ** 0.5
    for epsilon in (Fraction(1, 10), Fraction(1, 2), Fraction(1)):
        near = normal(size, epsilon)
        assert float(law.delta(epsilon)) == pytest.approx(near, rel=0.1, abs=1e-9)


@pytest.mark.parametrize("times", [1, 30])
@pytest.mark.parametrize(
    ("variance", "squares"), [(50, 4), (2904, 100), (10**6, 10**6), (2**40, 2**36), (2**30, 400)]
)
def test_sums_lose_as_by_the_normal_law_and_hardly_more(variance, squares, times):
    told = gaussian_loss(Fraction(variance), squares).times(times).epsilon("1/1000000")
    size = (times * squares / variance) ** 0.5
    assert normal(size, told) <= 1.0001e-6
    assert normal(size, float(told) * (0.98 if variance == 50 else 0.995)) > 1e-6


MOVES = [(3,), (2, 1), (-2, 1), (2, 2, 1), (1, 1, 1, 1)]


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("variance", ["1/4", "3", "20"])
def test_no_move_of_sums_loses_more_than_is_told(move, variance):
    """Every answer enumerated, one number after the other: the losses add up."""
    size = float(Fraction(variance))
    values = np.arange(-int(9 * size**0.5) - 9, int(9 * size**0.5) + 10)
    chances = np.exp(-(values**2) / (2 * size))
    chances /= chances.sum()
    losses, masses = np.zeros(1), np.ones(1)
    for one in move:
        own = (one**2 - 2 * one * values) / (2 * size)
        losses = np.add.outer(losses, own).round(9).ravel()
        losses, place = np.unique(losses, return_inverse=True)
        masses = np.bincount(place, np.multiply.outer(masses, chances).ravel())
    squares = sum(one**2 for one in move)
    for told in (gaussian_loss(Fraction(variance), most) for most in (squares, squares + 1)):
        for epsilon in np.linspace(0, 4 * (squares / size) ** 0.5, 20):
            due = (masses * np.maximum(0, -np.expm1(epsilon - losses))).sum()
            assert float(told.delta(Fraction(float(epsilon)))) >= due * (1 - 1e-9) - 1e-12


def test_laws_of_noise_that_hides_nothing_or_nearly_all():
    assert gaussian_loss(Fraction(1, 1024), 4).largest == INFINITE
    assert gaussian_loss(Fraction(9), 0).largest == 0
    tiny = gaussian_loss(Fraction(2**76), 9)
    assert 0 < tiny.epsilon("1/1000000") < Fraction(1, 100)


def test_a_very_wide_one_and_totals_are_known_by_their_law():
    for made in (GaussianCounts(2**30, alike=True), GaussianCounts(400)):
        note = acc.noise_note(made, {EDGE: [Shift(rise=0, fall=20)]})
        loss = acc.charge_loss(note, edge=EDGE, epsilon=INFINITE)
        assert loss.epsilon("1/1000000") < 5


def test_charges_of_several_answers_add_up_order_by_order():
    made, shift = GaussianCounts(9, alike=True), Shift(rise=0, fall=2)
    note = acc.noise_note(made, {EDGE: [shift]})
    several = acc.several_note(
        [(note, {EDGE: INFINITE}), (note, {EDGE: INFINITE}), ({}, {EDGE: Fraction(1)})]
    )
    told = acc.charge_divergences({"noise": several}, epsilon={EDGE: INFINITE}, delta={})[EDGE]
    alone = acc.charge_divergences({"noise": note}, epsilon={EDGE: INFINITE}, delta={})[EDGE]
    assert told == tuple(2 * one + 1 for one in alone)
    together = Together((made.steps(shift), both_ways(Fraction(1, 4))), 3)
    assert together.epsilon == INFINITE
    assert steps_in(together.written()) == together
    added = acc.steps_note({EDGE: together})
    found = acc.charge_divergences({"noise": added}, epsilon={EDGE: INFINITE}, delta={})[EDGE]
    assert all(3 * one < more < 3 * one + 1 for one, more in zip(alone, found, strict=True))


@pytest.mark.parametrize(
    "told",
    [
        {"variance": "0", "squares": 1},
        {"variance": "9", "squares": -1},
        {"variance": "9", "squares": 1, "alike": 0},
        {"variance": "9"},
        {"variance": "nan", "squares": 1},
    ],
)
def test_steps_that_are_none_are_not_believed(told):
    with pytest.raises((errors.ParameterError, ValueError, TypeError, KeyError)):
        steps_in(told)
    note = {"version": 1, "kind": "steps", "edges": {EDGE: told}}
    found = acc.charge_divergences({"noise": note}, epsilon={EDGE: INFINITE}, delta={})[EDGE]
    assert set(found) == {INFINITE}


def test_bounds_hold_as_often_as_they_say():
    made, size = GaussianCounts(9, clip=True), 4000
    truth = np.full(size, 100)
    bounds = made.interval(made.noisy(truth, noise=NotPrivateSeededNoise(2)), confidence="0.9")
    missed = int(((bounds.lower > truth) | (bounds.upper < truth)).sum())
    assert not bounds.lower_certain
    assert not bounds.upper_certain
    assert stats.binom.sf(missed - 1, size, 0.1) > FALSE_ALARM
    assert made.release([0, 0], noise=NotPrivateSeededNoise(1)).min() >= 0


@pytest.mark.parametrize("wrong", [0, "x", 2**79, None, INFINITE])
def test_bad_input(wrong):
    with pytest.raises(errors.ParameterError):
        GaussianCounts(wrong)
    with pytest.raises(errors.ParameterError):
        GaussianCounts(9, alike="yes")
    with pytest.raises(errors.DataError):
        GaussianCounts(9).noisy([1.5])
