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
from onesided.accounting._losses import gaussian_loss, loss_by_orders
from onesided.mechanism import GaussianCounts
from onesided.mechanism.kit import Gaussian, Together, both_ways, steps_in
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


@pytest.mark.parametrize(("variance", "moved"), [(4, 1), (100, 9), (2904, 100), (10**6, 100)])
def test_the_law_is_that_of_the_normal_law_nearly(variance, moved):
    law, shift = gaussian_loss(Fraction(variance), moved=moved), (moved / variance) ** 0.5
    for epsilon in (Fraction(1, 10), Fraction(1, 2), Fraction(1)):
        e, cdf = float(epsilon), stats.norm.cdf
        near = cdf(shift / 2 - e / shift) - np.exp(e) * cdf(-shift / 2 - e / shift)
        assert float(law.delta(epsilon)) == pytest.approx(near, rel=0.1, abs=1e-9)


def test_what_is_known_by_orders_alone_is_never_below_the_law():
    steps = Gaussian(Fraction(50), 4, alike=True)
    known = loss_by_orders([steps.divergence(order) for order in ORDERS])
    exact = gaussian_loss(Fraction(50), moved=4)
    for epsilon in ("0", "1/4", "1", "2"):
        assert known.delta(epsilon) >= exact.delta(epsilon)
    assert known.times(3).delta(2) >= exact.times(3).delta(2)
    assert loss_by_orders([INFINITE] * len(ORDERS)).largest == INFINITE
    assert gaussian_loss(Fraction(2**27), moved=1) is None


def test_a_very_wide_one_and_totals_are_known_by_orders():
    for made in (GaussianCounts(2**30, alike=True), GaussianCounts(400)):
        note = acc.noise_note(made, {EDGE: [Shift(rise=0, fall=20)]})
        loss = acc.charge_loss(note, edge=EDGE, epsilon=INFINITE)
        assert loss.epsilon("1/1000000") < 8


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
