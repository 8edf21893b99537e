"""AHP: clusters of noisy counts, what they cost, and how well they do."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import onesided as od
from onesided import errors, verify
from onesided.mechanism import Counts
from onesided.mechanism.histograms._grids import REACH, Ahp, clusters
from onesided.mechanism.histograms._two_phase import zeros
from onesided.noise import NotPrivateSeededNoise
from onesided.policy import GroupCount, Shift

POLICIES = [
    od.policy.bounded(),
    od.policy.unbounded(),
    od.policy.addition_only(),
    od.policy.removal_only(),
    od.policy.sensitive("private"),
]
EXACT = Counts(od.INFINITE, od.INFINITE)


def cost(values, labels, variance):
    """What the clusters are chosen by, straight from its definition."""
    total = 0.0
    for label in set(labels):
        own = [v for v, which in zip(values, labels, strict=True) if which == label]
        mean = sum(own) / len(own)
        total += sum((v - mean) ** 2 for v in own) + variance / len(own)
    return total


def cheapest(values, variance):
    """Over every way to cut the distinct values in order."""
    distinct = sorted(set(values))
    best = math.inf
    for many in range(len(distinct)):
        for cuts in combinations(range(1, len(distinct)), many):
            rank = {v: sum(place >= cut for cut in cuts) for place, v in enumerate(distinct)}
            best = min(best, cost(values, [rank[v] for v in values], variance))
    return best


@given(
    st.lists(st.integers(-20, 60), min_size=1, max_size=14),
    st.sampled_from([0, 0.5, 2, 8, 50, 400]),
)
def test_clusters_are_the_cheapest_of_all(values, variance):
    values = values[:1] + [v for v in values[1:] if len(set(values)) <= 9 or v % 5 == 0]
    labels = clusters(np.array(values), variance=variance).tolist()
    assert cost(values, labels, variance) == pytest.approx(cheapest(values, variance), abs=1e-6)


@given(st.lists(st.integers(-(2**50), 2**50), min_size=1, max_size=60), st.floats(0, 1e20))
def test_clusters_keep_order_and_equal_values_together(values, variance):
    labels = clusters(np.array(values), variance=variance)
    order = np.argsort(values, kind="stable")
    steps = np.diff(labels[order])
    assert labels[order[0]] == 0
    assert set(steps.tolist()) <= {0, 1}
    assert all(steps[np.diff(np.array(values)[order]) == 0] == 0)
    if variance == 0:
        assert labels.max() + 1 == len(set(values))


def test_long_runs_are_cut_and_cost_little_more():
    """A run of 1000 neighbours at a variance that wants clusters of about ten."""
    values, variance = np.arange(1000), 500.0
    labels = clusters(values, variance=variance)
    sizes = np.bincount(labels)
    assert sizes.max() <= REACH
    best = 1000 * min(((n * n - 1) / 12 + variance / n / n) for n in range(1, 60))
    assert cost(values.tolist(), labels.tolist(), variance) <= 1.02 * best


def test_the_proof_that_wide_gaps_part_clusters():
    """Merging a and b cells across a gap g adds ab/(a+b) g² and saves v(1/a + 1/b - 1/(a+b))."""
    for a in range(1, 60):
        for b in range(1, 60):
            saved = Fraction(1, a) + Fraction(1, b) - Fraction(1, a + b)
            assert Fraction(a * b, a + b) * 3 >= saved


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
@pytest.mark.parametrize("share", ["17/20", "1/3"])
def test_both_phases_together_spend_epsilon_and_no_more(policy, share):
    mechanism = Ahp.for_policy(policy, epsilon="1/2", share=share)
    losses = [
        (mechanism.loss(shift), mechanism.learn_loss(shift))
        for shifts in policy.shifts(GroupCount()).values()
        for shift in shifts
    ]
    assert max(whole for whole, _ in losses) <= Fraction(1, 2)
    assert max(whole for whole, _ in losses) > Fraction(49, 100)
    assert max(learnt for _, learnt in losses) <= Fraction(1, 2) * Fraction(share)


@given(rise=st.integers(0, 9), fall=st.integers(0, 9))
def test_the_loss_has_a_direction(rise, fall):
    mechanism = Ahp(Counts(1, od.INFINITE), Counts(2, od.INFINITE))
    loss = mechanism.loss(Shift(rise=rise, fall=fall))
    assert loss == (od.INFINITE if rise else 3 * fall)


@given(st.lists(st.integers(0, 2**40), min_size=1, max_size=50))
def test_without_noise_the_histogram_comes_back(values):
    assert Ahp(EXACT, EXACT).release(values).tolist() == values


def test_two_dimensions_are_as_good_as_one():
    values = np.arange(12).reshape(3, 4)
    assert Ahp(EXACT, EXACT).release(values).tolist() == values.tolist()


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_totals_are_unbiased_whichever_way_the_noise_goes(policy):
    """Off by more than five standard errors once in a million runs."""
    counts, runs = np.full(50, 40), 400
    mechanism = Ahp.for_policy(policy, epsilon=1, clip=False)
    noise = NotPrivateSeededNoise(9)
    found = np.array([mechanism.release(counts, noise=noise).sum() for _ in range(runs)])
    error = (found - counts.sum()).mean() / (found.std() / math.sqrt(runs))
    assert abs(error) < 5


def test_phase_two_draws_the_noise_it_says(long_form):
    """The chi-square test of ``agrees`` on bucket totals; a rate 10 % off is told apart."""
    draws = 400_000 if long_form else 40_000
    mechanism = Ahp(EXACT, Counts("1/2", "1/3"), clip=False)
    values = np.arange(draws) * 100
    drawn = np.round(
        mechanism.release(values, noise=NotPrivateSeededNoise(2))
        - values
        + mechanism.measuring.distribution.mean()
    )
    law = verify.two_sided_law("1/2", "1/3")
    assert verify.agrees(drawn, law).accepted
    assert verify.power(law, verify.two_sided_law("0.45", "0.3"), draws) > 0.99


def test_a_sparse_histogram_gains_much_over_plain_noise():
    values = np.zeros(4096, dtype=np.int64)
    values[::64] = 500
    bounded, noise = od.policy.bounded(), NotPrivateSeededNoise(4)
    ours = Ahp.for_policy(bounded, epsilon=1)
    plain = Counts.for_policy(bounded, epsilon=1, clip=True)

    def error(mechanism):
        return np.mean(
            [np.abs(mechanism.release(values, noise=noise) - values).sum() for _ in range(5)]
        )

    assert error(ours) < error(plain) / 10


def test_the_recipe_for_zeros_works_on_clusters():
    """Clusters need not be contiguous, and are made of the cells that are not zeros."""
    counts = np.where(np.arange(600) % 3 == 0, 30, 0)
    recipe = zeros(Ahp).for_policy(od.policy.sensitive("private"), epsilon=1)
    noise = NotPrivateSeededNoise(6)
    found = recipe.release(counts, counts * 3 // 4, noise=noise)
    assert not found[counts == 0].any()
    # A cell that is taken for empty is left out, and all others keep what is theirs.
    told = found[found > 0]
    assert told.size > 150
    assert np.abs(told - 30).max() < 6


def test_estimates_are_not_negative_unless_asked_for():
    values, noise = np.zeros(300, dtype=np.int64), NotPrivateSeededNoise(1)
    unbounded = od.policy.unbounded()
    clipped = Ahp.for_policy(unbounded, epsilon="1/10")
    free = Ahp.for_policy(unbounded, epsilon="1/10", clip=False)
    assert min(clipped.release(values, noise=noise).min() for _ in range(20)) >= 0
    assert min(free.release(values, noise=noise).min() for _ in range(20)) < 0


@pytest.mark.parametrize("values", [[0], [7], [2**53], [2**40, 0]])
def test_one_cell_and_huge_counts_work(values):
    found = Ahp.for_policy(od.policy.bounded(), epsilon=1).release(values)
    assert found.shape == (len(values),)
    assert np.abs(found - values).max() < 200


@pytest.mark.parametrize("bad", [[], [-1], [0.5], [True], [[[1]]], [2**53, 1], "ab", [None], 3])
def test_bad_histograms_are_refused(bad):
    with pytest.raises(errors.DataError):
        Ahp.for_policy(od.policy.bounded(), epsilon=1).release(bad)


@pytest.mark.parametrize("bad", [0, 1, -1, 2, math.nan, math.inf, "x", True])
def test_bad_shares_and_noise_are_refused(bad):
    with pytest.raises(errors.ParameterError):
        Ahp.for_policy(od.policy.bounded(), epsilon=1, share=bad)
    if bad not in (1, 2):
        with pytest.raises(errors.ParameterError):
            Ahp.for_policy(od.policy.bounded(), epsilon=bad)
    for noise in (bad, Counts(1, 1, clip=True), Counts(1, 1, correction="mean")):
        with pytest.raises(errors.ParameterError, match="plain"):
            Ahp(noise, EXACT)
        with pytest.raises(errors.ParameterError, match="plain"):
            Ahp(EXACT, noise)
