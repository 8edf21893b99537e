"""The k largest where counts rise: all at once, or one after another."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import onesided as od
from onesided import errors
from onesided.mechanism import Counts, NoisyTopK, PeeledTopK
from onesided.mechanism._selection import _not_below
from onesided.mechanism.kit import count_moves
from onesided.noise import NotPrivateSeededNoise, TwoSidedGeometric
from onesided.policy import Shift

POLICIES = [
    od.policy.removal_only(),
    od.policy.unbounded(),
    od.policy.bounded(),
    od.policy.addition_only(),
    od.policy.extended_sensitive("x"),
]


@pytest.mark.parametrize("policy", POLICIES, ids=lambda one: one.name)
@pytest.mark.parametrize("kind", [NoisyTopK, PeeledTopK])
def test_no_edge_is_charged_more_and_one_all(policy, kind):
    for k, groups in product((1, 3), (1, 2, 9)):
        made = kind.for_policy(policy, k=k, epsilon=1, max_groups=groups)
        losses = [
            made.loss(move.shift) / move.loss
            for move in count_moves(policy, epsilon=1, max_groups=groups)
        ]
        assert max(losses) <= 1
        assert max(losses) > Fraction(99, 100)


@given(st.integers(1, 4), st.integers(0, 9), st.integers(0, 9), st.integers(1, 3))
def test_what_the_measured_can_move_is_the_most_of_all_ways(k, rise, fall, per_key):
    """Against every way to give k counts moves of one direction each: exact for steps of 1."""
    made = PeeledTopK(k, pick_rate=1, upper_rate=3, lower_rate=2, per_key=per_key)
    steps = range(-per_key, per_key + 1)
    most = max(
        3 * down + 2 * up
        for moves in product(steps, repeat=k)
        if (up := sum(m for m in moves if m > 0)) <= rise
        and (down := -sum(m for m in moves if m < 0)) <= fall
    )
    shift = Shift(rise=rise, fall=fall)
    priced = made.loss(shift) - k * (min(rise, per_key) + min(fall, per_key))
    assert priced == most if per_key == 1 else priced >= most


def test_the_first_is_picked_as_often_as_its_law_says():
    """20,000 picks, five deviations: a false alarm once in a million; a rate 10 % off is seen."""
    made = PeeledTopK(1, pick_rate="1/2", upper_rate=od.INFINITE, lower_rate=od.INFINITE)
    noise = NotPrivateSeededNoise(5)
    draws = 20_000
    second = sum(int(made.release([7, 5], noise=noise).indices[0]) for _ in range(draws)) / draws
    due, width = math.exp(-1) / 2, 5 * math.sqrt(0.25 / draws)
    assert abs(second - due) < width
    assert abs(second - math.exp(-0.9) / 2) > width or abs(second - math.exp(-1.1) / 2) > width


@given(st.lists(st.integers(0, 30), min_size=3, max_size=12), st.integers(0, 2**32))
def test_values_are_lower_bounds_where_counts_only_rise(counts, seed):
    truth = np.array(counts)
    for kind in (NoisyTopK, PeeledTopK):
        made = kind.for_policy(od.policy.removal_only(), k=3, epsilon=1, max_groups=4)
        found = made.release(truth, noise=NotPrivateSeededNoise(seed))
        assert sorted(found.indices.tolist()) == sorted(set(found.indices.tolist()))
        assert (found.values <= truth[found.indices]).all()
        assert (np.diff(found.values) <= 0).all()


def test_all_at_once_is_the_largest_of_noisy_counts():
    counts = [3, 9, 9, 0]
    made = NoisyTopK(2, upper_rate=1, lower_rate="1/2")
    noisy = Counts(1, "1/2").noisy(counts, noise=NotPrivateSeededNoise(4))
    found = made.release(counts, noise=NotPrivateSeededNoise(4))
    assert sorted(found.values.tolist()) == sorted(noisy.tolist())[2:]


class NoDraw:
    def __getattr__(self, name):
        pytest.fail(f"{name} was drawn")


@pytest.mark.parametrize("values", [[1, -1], [1.0, 2.0], [math.nan, 1], [[1]], [1], [2**62 + 1, 1]])
def test_bad_counts_are_refused_before_anything_is_drawn(values):
    for made in (
        NoisyTopK(2, upper_rate=1, lower_rate=1),
        PeeledTopK(2, pick_rate=1, upper_rate=1, lower_rate=1),
    ):
        with pytest.raises(errors.DataError):
            made.release(values, noise=NoDraw())


@pytest.mark.parametrize("bad", [0, -1, 1.5, "x", None, math.nan])
def test_bad_numbers_are_refused(bad):
    with pytest.raises(errors.ParameterError):
        NoisyTopK(bad, upper_rate=1, lower_rate=1)
    with pytest.raises(errors.ParameterError):
        PeeledTopK(2, pick_rate=bad if bad != 1.5 else -1.5, upper_rate=1, lower_rate=1)


@pytest.mark.parametrize("rate", ["1/50", "1/200", "1/500"])
@pytest.mark.parametrize("kind", ["a few large", "a power", "all alike"])
@pytest.mark.parametrize("lower", [1, 3])
def test_shrunk_values_err_no_more_than_centred_ones(kind, rate, lower):
    # The worst of these 18 is below 0.99 of it in 30 draws each; noise that drowns helps most.
    ranks = np.arange(1, 5001)
    counts = {
        "a few large": np.where(ranks <= 30, 2000, 0),
        "a power": (10**4 / ranks**0.8).astype(np.int64),
        "all alike": np.full(5000, 10),
    }[kind]
    mechanism = NoisyTopK(100, upper_rate=rate, lower_rate=lower * Fraction(rate))
    noise, centred, shrunk = NotPrivateSeededNoise(6), [], []
    for _ in range(30):
        indices, values = mechanism.release(counts, noise=noise)
        centred.append(np.mean((mechanism.estimate(values) - counts[indices]) ** 2))
        found = mechanism.shrunk(values, candidates=5000)
        assert (found >= 0).all()
        shrunk.append(np.mean((found - counts[indices]) ** 2))
    assert np.mean(shrunk) < np.mean(centred)
    if kind == "all alike":
        assert np.mean(shrunk) < 0.15 * np.mean(centred)


def test_values_that_stand_out_are_not_shrunk_nor_those_that_noise_lies_below():
    values = np.array([10_000, 5_000])
    both = NoisyTopK(2, upper_rate="1/10", lower_rate="1/10")
    assert both.shrunk(values, candidates=10**6) == pytest.approx(both.estimate(values), rel=1e-9)
    below = NoisyTopK(2, upper_rate=od.INFINITE, lower_rate="1/10")
    found = below.shrunk(np.array([3, 1]), candidates=10**6)
    assert found.tolist() == below.estimate(np.array([3, 1])).tolist()


def test_noise_alone_reaches_so_high_as_often_as_its_law_says():
    """What the expected false selections are made of, against the law itself."""
    for upper, lower in (("1/10", "1/10"), ("1/20", "1/5"), ("1/3", od.INFINITE)):
        law = TwoSidedGeometric(Fraction(upper), lower if lower is od.INFINITE else Fraction(lower))
        chance = _not_below(law.upper, law.lower)
        tail = sum(law.pmf(k) for k in range(2_000))
        assert tail == pytest.approx(chance, rel=1e-9)


@pytest.mark.parametrize("confidence", [None, "0.9"])
def test_what_is_told_lies_within_its_bounds_and_the_values_are_kept(confidence):
    frame = pl.DataFrame({"x": [0] * 30 + [1] * 3 + [2]})
    for seed in range(20):
        asked = od.Session(
            frame,
            policy=od.policy.bounded(),
            budget=9,
            ledger=None,
            noise=NotPrivateSeededNoise(seed),
        )
        told = asked.top_k(2, by="x", keys=range(50), epsilon="1/4", confidence=confidence)
        assert (told.estimate >= 0).all()
        assert (told.estimate <= np.maximum(told.mechanism.estimate(told.noisy), 0) + 9).all()
        if confidence is not None:
            assert (told.interval.lower <= told.estimate).all()
            assert (told.estimate <= told.interval.upper).all()
