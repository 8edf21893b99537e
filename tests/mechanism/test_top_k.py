import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onesided as od
from onesided import errors
from onesided.mechanism import TopK
from onesided.mechanism._selection import largest
from onesided.noise import NotPrivateSeededNoise
from onesided.policy import Shift

COUNTS = st.lists(st.integers(0, 2**40), min_size=1, max_size=40)


@given(COUNTS, st.integers(1, 40), st.integers(0, 2**32))
def test_answers_are_distinct_sorted_and_never_below_the_truth(counts, k, seed):
    k = min(k, len(counts))
    indices, values = TopK(k, upper_rate="1/2").release(
        np.array(counts), noise=NotPrivateSeededNoise(seed)
    )
    assert len(set(indices.tolist())) == k == len(values)
    assert (np.diff(values) <= 0).all()
    assert (values >= np.array(counts)[indices]).all()


@given(COUNTS, st.integers(1, 40))
def test_without_noise_it_is_the_top_k(counts, k):
    k = min(k, len(counts))
    indices, values = TopK(k, upper_rate=od.INFINITE).release(np.array(counts))
    assert values.tolist() == sorted(counts, reverse=True)[:k]
    assert np.array(counts)[indices].tolist() == values.tolist()


@given(st.lists(st.integers(0, 4), min_size=1, max_size=30), st.integers(1, 30), st.integers(0, 99))
def test_selection_is_sorting_by_value_and_random_rank(values, k, seed):
    k, noisy = min(k, len(values)), np.array(values)
    picked = largest(noisy, k, noise=NotPrivateSeededNoise(seed))
    assert noisy[picked].tolist() == sorted(values, reverse=True)[:k]


def test_ties_are_broken_by_chance_wherever_the_item_stands():
    # Each of 5 equal items is chosen 2,000 times of 10,000; six deviations: false alarm 1e-8.
    noise = NotPrivateSeededNoise(7)
    firsts = [
        int(TopK(1, upper_rate=od.INFINITE).release([9, 3, 9, 9, 9, 9], noise=noise).indices[0])
        for _ in range(10_000)
    ]
    shares = np.bincount(firsts, minlength=6)
    assert shares[1] == 0
    assert np.abs(shares[[0, 2, 3, 4, 5]] - 2000).max() < 6 * math.sqrt(10_000 * 0.2 * 0.8)


def selected_by_the_formula(counts, rate):
    """``Pr[item i is the largest]`` for geometric noise, ties by chance, by summing."""
    top, chances = max(counts) + math.ceil(30 / rate), []
    for i, own in enumerate(counts):
        others = [c for j, c in enumerate(counts) if j != i]
        total = 0.0
        for z in range(own, top):
            here = -math.expm1(-rate) * math.exp(-rate * (z - own))
            ways = [1.0]  # ways[m]: probability that all others are <= z and m of them tie
            for c in others:
                tie = -math.expm1(-rate) * math.exp(-rate * (z - c)) if z >= c else 0.0
                less = -math.expm1(-rate * (z - c)) if z >= c else 0.0
                ways = [
                    (ways[m] * less if m < len(ways) else 0) + (ways[m - 1] * tie if m else 0)
                    for m in range(len(ways) + 1)
                ]
            total += here * sum(w / (m + 1) for m, w in enumerate(ways))
        chances.append(total)
    return chances


def test_the_winner_has_the_right_distribution_and_a_wrong_rate_is_seen():
    # 40,000 runs, six deviations per item: false alarm under 1e-8.
    counts, runs = [3, 5, 6, 6], 40_000
    noise = NotPrivateSeededNoise(8)
    mechanism = TopK(1, upper_rate="1/2")
    found = np.bincount(
        [int(mechanism.release(counts, noise=noise).indices[0]) for _ in range(runs)], minlength=4
    )

    def fits(rate):
        expected = np.array(selected_by_the_formula(counts, rate))
        assert expected.sum() == pytest.approx(1, abs=1e-9)
        return (np.abs(found - runs * expected) <= 6 * np.sqrt(runs * expected)).all()

    assert fits(0.5)
    assert not fits(0.65)


@given(st.integers(1, 9), st.integers(0, 30), st.integers(1, 4))
def test_loss_is_for_published_falls_only(k, fall, per_key):
    mechanism = TopK(k, upper_rate="1/3", per_key=per_key)
    assert mechanism.loss(Shift(rise=0, fall=fall)) == Fraction(min(fall, k * per_key), 3)
    assert mechanism.loss(Shift(rise=1, fall=fall)) == od.INFINITE


def test_rates_follow_from_the_policy():
    def rate(policy, k, **query):
        return TopK.for_policy(policy, k=k, epsilon=1, **query).upper_rate

    busy = od.policy.presence(max_groups=3)
    assert [rate(busy, k) for k in (1, 2, 3, 100)] == [
        1,
        Fraction(1, 2),
        Fraction(1, 3),
        Fraction(1, 3),
    ]
    assert rate(od.policy.addition_only(), 10) == 1
    assert rate(od.policy.addition_only(), 2, max_groups=5) == Fraction(1, 2)
    weighted = od.policy.custom(kinds=["vip", "absent"], edges=[("vip", "absent", "1/4")])
    assert rate(weighted, 5) == Fraction(1, 4)
    still = od.policy.custom(kinds=["a", "b"], edges=[("a", "a")])
    assert rate(still, 5, counted=["b"]) == od.INFINITE


@pytest.mark.parametrize("make", ["bounded", "unbounded", "removal_only"])
def test_policies_with_rises_are_refused(make):
    with pytest.raises(errors.UnprotectableError, match="larger") as caught:
        TopK.for_policy(getattr(od.policy, make)(), k=3, epsilon=1)
    assert "presence" in caught.value.hint


def test_a_count_that_falls_twice_needs_per_key():
    """The rate ε/min(k, ℓ0) is for units, which add 1 to a count; here one record adds 2."""

    class TwoEach:
        def release(self, values, *, noise):
            return TopK(1, upper_rate=3).release(2 * values, noise=noise)

    report = od.verify.exact(
        TwoEach(), od.policy.presence(max_groups=1), od.verify.Universe(units=1)
    )
    assert report.loss == pytest.approx(6, abs=1e-3)
    assert TopK(1, upper_rate=3).loss(Shift(rise=0, fall=2)) == 3
    assert TopK(1, upper_rate=3, per_key=2).loss(Shift(rise=0, fall=2)) == 6


@pytest.mark.parametrize("rate", ["1/50", "1/200", "1/500"])
@pytest.mark.parametrize("kind", ["a few large", "a power", "all alike"])
def test_shrunk_values_err_no_more_than_centred_ones(kind, rate):
    # The worst of these nine is below 0.98 of it in 30 draws each; noise that drowns helps most.
    ranks = np.arange(1, 5001)
    counts = {
        "a few large": np.where(ranks <= 30, 2000, 0),
        "a power": (10**4 / ranks**0.8).astype(np.int64),
        "all alike": np.full(5000, 10),
    }[kind]
    mechanism, noise = TopK(100, upper_rate=rate), NotPrivateSeededNoise(6)
    centred, shrunk = [], []
    for _ in range(30):
        indices, values = mechanism.release(counts, noise=noise)
        middle = np.maximum(mechanism.estimate(values, correction="median"), 0)
        centred.append(np.mean((middle - counts[indices]) ** 2))
        found = mechanism.shrunk(values, candidates=5000)
        assert (found >= 0).all()
        assert (found <= values).all()
        shrunk.append(np.mean((found - counts[indices]) ** 2))
    assert np.mean(shrunk) < np.mean(centred)
    if kind == "all alike":
        assert np.mean(shrunk) < 0.1 * np.mean(centred)


def test_values_that_stand_out_are_not_shrunk():
    mechanism = TopK(2, upper_rate="1/10")
    values = np.array([10_000, 5_000])
    assert mechanism.shrunk(values, candidates=10**6) == pytest.approx(mechanism.estimate(values))
    silent = TopK(2, upper_rate=od.INFINITE)
    assert silent.shrunk(values, candidates=10).tolist() == values.tolist()


@pytest.mark.parametrize("bad", [1, 0, -3, 2.5, "many", None])
def test_fewer_candidates_than_values_are_refused(bad):
    with pytest.raises(errors.ParameterError, match="candidates"):
        TopK(2, upper_rate=1).shrunk(np.array([5, 4]), candidates=bad)


def test_estimate_takes_the_mean_out():
    mechanism = TopK(1, upper_rate="1/10")
    noise = NotPrivateSeededNoise(9)
    values = np.concatenate([mechanism.release([50], noise=noise).values for _ in range(20_000)])
    centred = mechanism.estimate(values)
    # Six standard errors of noise with deviation 10: false alarm 2e-9.
    assert abs(centred.mean() - 50) < 6 * 10 / math.sqrt(20_000)
    assert np.median(mechanism.estimate(values, correction="median")) == 50


class NoDraw:
    def __getattr__(self, name):
        pytest.fail(f"{name} was drawn")


@pytest.mark.parametrize(
    "values",
    [[], [1], [1, -1, 3], [1.0, 2.0], [math.nan] * 3, [[1, 2], [3, 4]], [2**62 + 1, 1, 1], ["a"]],
)
def test_bad_counts_are_refused_before_anything_is_drawn(values):
    with pytest.raises(errors.DataError) as caught:
        TopK(2, upper_rate=1).release(values, noise=NoDraw())
    assert caught.value.hint


@pytest.mark.parametrize("bad", [0, -1, 1.5, "nan", math.nan, math.inf, True, None])
def test_bad_parameters_are_refused(bad):
    with pytest.raises(errors.ParameterError):
        TopK(bad, upper_rate=1)
    with pytest.raises(errors.ParameterError):
        TopK(1, upper_rate=1, per_key=bad)
    with pytest.raises(errors.ParameterError):
        TopK.for_policy(od.policy.addition_only(), k=bad, epsilon=1)
    if bad != 1.5:
        with pytest.raises(errors.ParameterError):
            TopK.for_policy(od.policy.addition_only(), k=1, epsilon=bad)


def test_large_counts_do_not_overflow():
    answer = TopK(2, upper_rate="1/1000").release([2**62, 2**62 - 1, 0])
    assert (answer.values >= 2**62 - 1).all()


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 2**32))
def test_forty_thousand_items_are_no_trouble(seed):
    counts = np.random.default_rng(seed).zipf(1.3, 41_270).clip(max=10**9)
    answer = TopK(500, upper_rate="1/500").release(counts)
    assert answer.indices.size == 500
    assert (answer.values >= counts[answer.indices]).all()


def test_mechanisms_are_frozen_and_comparable():
    assert TopK(2, upper_rate=0.5) == TopK(2, upper_rate="1/2")
    with pytest.raises(AttributeError):
        TopK(2, upper_rate=1).k = 5
