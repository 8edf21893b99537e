"""Counts in the shuffle model: the law of the tokens, exactly and drawn, and what they lose."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onesided import INFINITE, errors
from onesided.mechanism.local import ShuffledCounts
from onesided.mechanism.local._shuffled import polya
from onesided.noise import NotPrivateSeededNoise
from onesided.policy import Shift

MOVED = Shift(rise=0, fall=1)
MOST = 12


def shares(share):
    """The law of one sender's noise without e^-rate: the products of its docstring."""
    found = [Fraction(1)]
    for step in range(MOST):
        found.append(found[-1] * (share + step) / (1 + step))
    return found


def together(one, other):
    """Both senders' tokens, mixed: every way that the multiset can have come about."""
    return [sum(one[i] * other[k - i] for i in range(k + 1)) for k in range(MOST + 1)]


@given(st.integers(1, 6))
def test_the_multiset_of_all_honest_tokens_is_exactly_geometric(honest):
    law = [Fraction(1)] + [Fraction(0)] * MOST
    for _ in range(honest):
        law = together(law, shares(Fraction(1, honest)))
    assert set(law) == {1}, "equal weights beside e^(-rate k): one geometric variable"


@given(st.integers(1, 6), st.integers(1, 6))
def test_the_loss_is_the_worst_ratio_of_the_enumerated_multisets(senders, followers):
    """Amplification, exactly: of n senders k follow, and a fall by one shifts the multiset."""
    if followers > senders:
        return
    law = [Fraction(1)] + [Fraction(0)] * MOST
    for _ in range(followers):
        law = together(law, shares(Fraction(1, senders)))
    worst = max(here / there for here, there in pairwise(law))
    told = ShuffledCounts(1, senders=senders).loss_among(followers, MOVED)
    assert worst == Fraction(senders, followers)
    assert float(told) == pytest.approx(1 + math.log(worst))
    assert told >= 1


def test_a_single_sender_loses_more_by_the_logarithm_of_the_crowd():
    mechanism = ShuffledCounts("1/2", senders=100)
    assert mechanism.loss(MOVED) == Fraction(1, 2)
    assert float(mechanism.lone_loss(MOVED)) == pytest.approx(0.5 + math.log(100))
    assert mechanism.loss(Shift(rise=0, fall=3)) == Fraction(3, 2)
    assert mechanism.loss(Shift(rise=1, fall=0)) == INFINITE
    wary = ShuffledCounts("1/2", senders=100, honest=50)
    assert wary.loss(MOVED) == wary.loss_among(80, MOVED) == Fraction(1, 2)
    assert wary.loss_among(25, MOVED) > Fraction(1, 2) + Fraction(69, 100)


def test_without_noise_the_tokens_are_the_counts():
    table = [[1, 0], [1, 1], [0, 0]]
    exact = ShuffledCounts(INFINITE, senders=3)
    assert exact.release(table).tolist() == [2, 1]
    assert exact.loss(MOVED) == INFINITE
    assert exact.loss(Shift(rise=0, fall=0)) == 0


def test_the_simulated_noise_of_a_crowd_is_geometric():
    """A false alarm in a million: 6,000 crowds, five deviations of the mean; 10 % is seen."""
    crowds, senders, rate = 6000, 20, Fraction(1, 2)
    noise = NotPrivateSeededNoise(11)
    drawn = polya(rate, Fraction(1, senders), crowds * senders, noise=noise)
    totals = drawn.reshape(crowds, senders).sum(axis=1)
    ratio = math.exp(-0.5)
    mean, spread = ratio / (1 - ratio), math.sqrt(ratio) / (1 - ratio)
    width = 5 * spread / math.sqrt(crowds)
    assert abs(totals.mean() - mean) < width
    wrong = math.exp(-0.45)
    assert abs(totals.mean() - wrong / (1 - wrong)) > width
    zeros = np.mean(totals == 0)
    assert abs(zeros - (1 - ratio)) < 5 * math.sqrt(ratio * (1 - ratio) / crowds)


def test_tokens_are_never_fewer_than_members():
    table = np.array([[1, 0, 1]] * 30 + [[0, 0, 1]] * 10)
    noise = NotPrivateSeededNoise(5)
    mechanism = ShuffledCounts("1/4", senders=40, honest=30)
    for _ in range(50):
        assert (mechanism.release(table, noise=noise) >= [30, 0, 40]).all()
    assert (mechanism.tokens([1, 0, 1], noise=noise) >= [1, 0, 1]).all()


@pytest.mark.parametrize(
    "given_", [[1, 0], [[2]], [[1], [1]], [[0.5]], [["a"]], [[math.nan]], [[-1]], 3, [[[1]]]]
)
def test_bad_tables_are_refused(given_):
    with pytest.raises(errors.DataError):
        ShuffledCounts(1, senders=1).release(given_)


@pytest.mark.parametrize(
    "arguments",
    [
        {"senders": 0},
        {"senders": 3, "honest": 4},
        {"senders": 3, "honest": 0},
        {"senders": math.nan},
        {"senders": 3, "upper_rate": 0},
    ],
)
def test_bad_parameters_are_refused(arguments):
    with pytest.raises(errors.ParameterError):
        ShuffledCounts(**{"upper_rate": 1, **arguments})


def test_more_followers_than_senders_are_refused():
    with pytest.raises(errors.ParameterError, match="followers"):
        ShuffledCounts(1, senders=3).loss_among(4, MOVED)
