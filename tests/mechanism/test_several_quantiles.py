"""Many quantiles at once: parts, masses, prices, ties, and errors beside an even split."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import onesided as od
from onesided import errors
from onesided.mechanism import NoisyMaxQuantile, SeveralQuantiles
from onesided.noise import NotPrivateSeededNoise
from onesided.policy import Shift, bounded, unbounded
from onesided.session._ways import RoughNoise

QUARTERS = ["1/4", "1/2", "3/4"]


def evenly(number):
    return [Fraction(i, number + 1) for i in range(1, number + 1)]


def missed(values, found, shares):
    """By how many ranks each candidate is off."""
    low, high = (np.searchsorted(values, found, side) for side in ("left", "right"))
    target = np.array([float(share) for share in shares]) * values.size
    return np.maximum(np.maximum(low - target, target - high), 0)


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=8),
    st.integers(1, 9),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=60)
def test_answers_rise_and_are_candidates(counts, number, seed):
    made = SeveralQuantiles(1, shares=evenly(number), candidates=len(counts))
    found = made.release(counts, noise=NotPrivateSeededNoise(seed))
    assert (np.diff(found) >= 0).all()
    assert ((found >= 0) & (found < len(counts))).all()


@given(
    st.lists(st.integers(0, 9), min_size=2, max_size=9).filter(any),
    st.integers(1, 12),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=60)
def test_without_noise_every_share_is_held_also_within_ties(counts, number, seed):
    made = SeveralQuantiles(od.INFINITE, shares=evenly(number), candidates=len(counts))
    found = made.release(counts, noise=NotPrivateSeededNoise(seed))
    values = np.repeat(np.arange(len(counts)), counts)
    assert missed(values, found, evenly(number)).max() <= 1e-2 * values.size


@given(st.integers(1, 200))
def test_every_share_is_answered_once_in_as_many_levels_as_are_paid(number):
    made = SeveralQuantiles(1, shares=evenly(number), candidates=9)
    parts = list(made.parts())
    assert sorted(one[0] for one in parts) == list(range(number))
    assert max(one[2] for one in parts) == made.levels - 1
    assert made.level_rate * (made.levels + Fraction(made.levels - 1, 4)) == 1


def test_prices():
    made = SeveralQuantiles("1/2", shares=QUARTERS, candidates=4)
    assert made.loss(Shift(rise=1, fall=2)) == Fraction(3, 2)
    assert SeveralQuantiles.for_policy(
        bounded(), shares=QUARTERS, candidates=4, epsilon=3, max_groups=1
    ).unit == Fraction(3, 2)
    assert [SeveralQuantiles.pays(number) for number in (1, 3, 9, 10, 99)] == [
        False,
        False,
        False,
        True,
        True,
    ]


@pytest.mark.heavy
def test_one_share_comes_as_often_as_from_the_noisy_maximum():
    """20,000 draws each; false alarm 1e-6."""
    one = SeveralQuantiles(1, shares=["1/3"], candidates=3)
    other = NoisyMaxQuantile(Fraction(1, 4), q="1/3", candidates=3)
    counts, noise = [3, 1, 4], RoughNoise(1)
    found = [
        np.bincount([int(np.ravel(m.release(counts, noise=noise))[0]) for _ in range(20_000)])
        for m in (one, other)
    ]
    assert stats.chi2_contingency(np.array(found)).pvalue > 1e-6


@pytest.mark.parametrize("policy", [unbounded(), bounded()], ids=lambda p: p.name)
@pytest.mark.parametrize("kind", ["spread", "ages", "zeros"])
@pytest.mark.parametrize("number", [19, 39])
def test_the_error_is_below_that_of_an_even_split(policy, kind, number):
    chance = np.random.default_rng(4)
    values, size = {
        "spread": (chance.normal(5e5, 1e5, 4000).clip(0, 10**6 - 1).astype(int), 10**6),
        "ages": (chance.normal(45, 18, 4000).clip(0, 99).astype(int), 100),
        "zeros": (chance.lognormal(8, 1, 4000).astype(int) * (chance.random(4000) > 0.6), 10**6),
    }[kind]
    values = np.sort(values.clip(0, size - 1))
    places, counts = np.unique(values, return_counts=True)
    shares, noise = evenly(number), RoughNoise(2)
    together = SeveralQuantiles.for_policy(
        policy, shares=shares, candidates=size, epsilon=1, max_groups=1
    )
    apart = [
        NoisyMaxQuantile.for_policy(
            policy, q=share, candidates=size, epsilon=Fraction(1, number), max_groups=1
        )
        for share in shares
    ]
    mine, even = [], []
    for _ in range(12):
        mine.append(missed(values, together.choose(places, counts, noise=noise), shares).mean())
        found = sorted(one.choose(places, counts, noise=noise) for one in apart)
        even.append(missed(values, np.array(found), shares).mean())
    assert np.mean(mine) < np.mean(even)


def test_answers_are_within_the_ranks_promised():
    chance = np.random.default_rng(6)
    values = np.sort(chance.integers(0, 10**6, 5000))
    places, counts = np.unique(values, return_counts=True)
    made = SeveralQuantiles(1, shares=evenly(15), candidates=10**6)
    promised = np.array(made.rank_errors(confidence="0.9"))
    noise = RoughNoise(3)
    over = [
        missed(values, made.choose(places, counts, noise=noise), evenly(15)) > promised
        for _ in range(40)
    ]
    assert np.mean(over) <= 0.1
    exact = SeveralQuantiles(od.INFINITE, shares=QUARTERS, candidates=4)
    assert exact.rank_errors() == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"shares": []},
        {"shares": "1/2"},
        {"shares": ["1/2", "1/4"]},
        {"shares": ["1/2", "1/2"]},
        {"shares": [0]},
        {"shares": [1]},
        {"shares": ["NaN"]},
        {"candidates": 0},
        {"fine": 0},
        {"fine": 2**17},
        {"unit": -1},
    ],
)
def test_what_cannot_be_meant(wrong):
    unit = wrong.pop("unit", 1)
    with pytest.raises(errors.ParameterError):
        SeveralQuantiles(unit, **{"shares": QUARTERS, "candidates": 4, **wrong})


def test_counts_must_fit():
    made = SeveralQuantiles(1, shares=QUARTERS, candidates=2)
    with pytest.raises(errors.DataError, match="3 counts for 2"):
        made.release([1, 2, 3])
    with pytest.raises(errors.ParameterError, match="62 bits"):
        made.release([2**40, 1])
