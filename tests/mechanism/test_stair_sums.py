"""Stairs of noise on sums: the law, its quantiles, and what every move of totals really loses."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onesided as od
from onesided import errors
from onesided.mechanism import Staircase, StairSums, Sums
from onesided.noise import NotPrivateSeededNoise
from onesided.policy import Shift

RATES = st.fractions(Fraction(1, 20), 8, max_denominator=20)


def law(stairs, turns):
    """The chances of T, from the definition: level stairs, each e^-rate of the one before."""
    rate, largest = float(stairs.noise_rate), stairs.largest
    heights = [1.0] * stairs.first
    for turn in range(1, turns):
        heights += [math.exp(-rate * turn)] * largest
    return np.array(heights) / (stairs.first + largest * math.exp(-rate) / -math.expm1(-rate))


def true_loss(stairs, falls):
    """The largest log-ratio of the laws of all totals that fall by so much, from the law alone."""
    chances = law(stairs, turns=8)
    most = 4 * stairs.largest
    return sum(
        max(math.log(chances[k] / chances[k + fall]) for k in range(most)) if fall else 0.0
        for fall in falls
    )


@given(RATES, st.integers(1, 6), st.integers(1, 6), st.integers(1, 3))
@settings(max_examples=60)
def test_no_move_of_totals_loses_more_than_is_said(rate, largest, first, most):
    stairs = Staircase(rate, largest=largest, first=min(first, largest), max_groups=most)
    above, below = StairSums(stairs), StairSums(stairs, below=True)
    for falls in itertools.product(range(largest + 1), repeat=most):
        shift = Shift(rise=0, fall=sum(falls))
        said = above.loss(shift)
        assert true_loss(stairs, falls) <= float(said) + 1e-9
        assert below.loss(Shift(rise=shift.fall, fall=0)) == said
    whole = [largest] * most
    assert true_loss(stairs, whole) == pytest.approx(above.loss(Shift(rise=0, fall=sum(whole))))
    assert above.loss(Shift(rise=1, fall=0)) == below.loss(Shift(rise=0, fall=1)) == od.INFINITE


@given(RATES, st.integers(1, 12), st.integers(1, 12), st.fractions(Fraction(1, 100), 1))
@settings(max_examples=80)
def test_quantiles_are_the_least_that_are_enough(rate, largest, first, confidence):
    if confidence == 1:
        confidence = Fraction(999_999, 1_000_000)
    stairs = Staircase(rate, largest=largest, first=min(first, largest))
    tails = 1 - np.cumsum(law(stairs, turns=int(40 / rate) + 3))
    found = stairs.quantile(confidence)
    assert tails[found] <= float(1 - confidence) + 1e-12
    assert found == 0 or tails[found - 1] > float(1 - confidence) - 1e-12
    assert stairs.median() == stairs.quantile("1/2")


@pytest.mark.parametrize("bad", [0, 1, -1, 2, math.nan, None])
def test_a_confidence_that_cannot_be_meant(bad):
    with pytest.raises(errors.ParameterError):
        Staircase(1, largest=3).quantile(bad)
    with pytest.raises(errors.ParameterError):
        StairSums(Staircase(1, largest=3)).interval(np.array([1]), confidence=bad)


@pytest.mark.parametrize("below", [False, True])
def test_one_side_is_certain_and_the_other_as_often_right_as_it_says(below):
    # 20,000 draws; 5 standard errors of a share of 0.95 are 0.008.
    truth = np.full(20_000, -7, dtype=np.int64)
    sums = StairSums(Staircase(4, largest=50), below=below)
    noisy = sums.release(truth, noise=NotPrivateSeededNoise(5))
    told = sums.interval(noisy, confidence="0.9")
    assert (told.lower_certain, told.upper_certain) == (below, not below)
    covered = (told.lower <= truth) & (truth <= told.upper)
    assert ((noisy <= truth) if below else (noisy >= truth)).all()
    up_to = np.cumsum(law(sums.stairs, turns=20))
    expected = up_to[sums.stairs.quantile("0.9")]
    assert expected >= 0.9
    assert abs(covered.mean() - expected) < 0.008
    middle = sums.stairs.median()
    assert up_to[middle - 1] < 0.5 <= up_to[middle]
    assert (np.abs(noisy - sums.centred(noisy)) == middle).all()
    assert noisy.var() == pytest.approx(sums.distribution.variance(), rel=0.05)


def test_stairs_take_the_place_of_slopes_on_either_side():
    for upper, lower in ((Fraction(1, 10), od.INFINITE), (od.INFINITE, Fraction(1, 10))):
        slopes = Sums(upper, lower)
        stairs = StairSums.in_place_of(slopes, largest=30, max_groups=2)
        assert (stairs.upper_rate, stairs.lower_rate) == (upper, lower)
        assert stairs.stairs.noise_rate == 3
        both = Shift(rise=60, fall=0) if stairs.below else Shift(rise=0, fall=60)
        assert stairs.loss(both) == slopes.loss(both) == 6
        assert stairs.distribution.variance() < slopes.distribution.variance()
    still = StairSums(Staircase(od.INFINITE, largest=3))
    assert still.upper_rate == still.lower_rate == od.INFINITE
    assert still.release([-4, 4]).tolist() == [-4, 4]
    assert still.interval(np.array([-4])).lower.tolist() == [-4]


@pytest.mark.parametrize("bad", [[1.5], [[1, 2]], ["1"], [2**62 + 1], [-(2**62) - 1]])
def test_what_is_no_total_is_refused_before_anything_is_drawn(bad):
    class NoDraw:
        def __getattr__(self, name):
            pytest.fail(f"{name} was drawn")

    with pytest.raises(errors.DataError):
        StairSums(Staircase(1, largest=3)).release(np.array(bad), noise=NoDraw())
