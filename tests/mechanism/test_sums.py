import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import onesided as od
from onesided import errors
from onesided.mechanism import Cumulative, Sums
from onesided.noise import NotPrivateSeededNoise
from onesided.policy import Edge, Shift

EDGE = Edge("record", "absent")


def test_rates_share_what_an_edge_allows():
    one_sided = Sums.for_shifts({EDGE: [Shift(rise=0, fall=5)]}, epsilon=1)
    assert (one_sided.upper_rate, one_sided.lower_rate) == (Fraction(1, 5), od.INFINITE)
    either = Sums.for_shifts({EDGE: [Shift(rise=2, fall=0), Shift(rise=0, fall=5)]}, epsilon=1)
    assert (either.upper_rate, either.lower_rate) == (Fraction(1, 5), Fraction(1, 2))


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(any), min_size=1, max_size=4),
    st.fractions(Fraction(1, 100), 5, max_denominator=100),
)
def test_no_extreme_shift_costs_more_than_its_edge(moves, epsilon):
    shifts = [Shift(rise=rise, fall=fall) for rise, fall in moves]
    mechanism = Sums.for_shifts({EDGE: shifts}, epsilon=epsilon)
    assert all(mechanism.loss(shift) <= epsilon for shift in shifts)


def test_totals_may_be_negative_and_a_side_without_noise_is_certain():
    mechanism = Sums(1, od.INFINITE)
    truth = np.array([-50, 0, 2**40], dtype=np.int64)
    noisy = mechanism.release(truth, noise=NotPrivateSeededNoise(3))
    interval = mechanism.interval(noisy)
    assert (noisy >= truth).all()
    assert interval.upper_certain
    assert not interval.lower_certain
    assert (interval.upper == noisy).all()


@pytest.mark.parametrize(
    "bad", [[1.5], [[1, 2]], ["1"], [float("nan")], [2**62 + 1], [-(2**62) - 1]]
)
def test_what_is_no_total_is_refused(bad):
    with pytest.raises(errors.DataError):
        Sums(1, 1).release(np.array(bad))


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), True, None])
def test_rates_that_cannot_be_meant(bad):
    with pytest.raises(errors.ParameterError):
        Sums(bad, 1)
    with pytest.raises(errors.ParameterError):
        Sums.for_shifts({EDGE: [Shift(rise=1, fall=1)]}, epsilon=bad)


class Silent:
    """No noise at all, to see what noise is added to."""

    def two_sided(self, _upper, _lower, size):
        return np.zeros(size, dtype=np.int64)


@given(st.lists(st.integers(0, 20), min_size=1, max_size=20), st.data())
def test_runs_add_up_to_every_cumulative_count(counts, data):
    branching = data.draw(st.integers(2, 5))
    deepest = 1
    while branching ** (deepest - 1) < len(counts):
        deepest += 1
    levels = data.draw(st.integers(1, deepest))
    tree = Cumulative(1, 1, bins=len(counts), levels=levels, branching=branching)
    runs = tree.release(np.array([*counts, *counts], dtype=np.int64), noise=Silent())
    found, used = tree.up_to(runs)
    rest, others = tree.beyond(runs)
    expected = list(itertools.accumulate(counts))
    assert found.tolist() == [expected, expected]
    assert rest.tolist() == [[expected[-1] - one for one in expected]] * 2
    if levels == deepest:
        assert used.max() <= max(1, (branching - 1) * deepest)
        assert others.max() <= max(1, (branching - 1) * deepest)


def test_each_bin_is_in_one_run_of_each_level():
    tree = Cumulative(1, 1, bins=11, levels=5)
    moved = np.zeros(11, dtype=np.int64)
    empty = tree.release(moved, noise=Silent())
    for place in range(11):
        one = moved.copy()
        one[place] = 1
        assert (tree.release(one, noise=Silent()) - empty).sum() == 5


def test_bounds_hold_all_at_once_as_often_as_they_say():
    tree = Cumulative("1/3", "1/2", bins=9, levels=2)
    truth = np.arange(9, dtype=np.int64) * 10
    noise = NotPrivateSeededNoise(11)
    tries, missed = 400, 0
    expected = np.cumsum(truth)
    for _ in range(tries):
        found, used = tree.up_to(tree.release(truth, noise=noise))
        interval = tree.interval(found, used, confidence="0.8")
        inside = (interval.lower[0] <= expected) & (expected <= interval.upper[0])
        missed += not inside.all()
    # At most 20 % may miss; 3.9 standard deviations more happens once in 20,000 runs.
    assert missed <= 0.2 * tries + 3.9 * (0.16 * tries) ** 0.5


def test_many_points_get_a_tree_and_few_do_not():
    policy = od.policy.addition_only()
    few = Cumulative.for_policy(policy, bins=4, epsilon=1)
    many = Cumulative.for_policy(policy, bins=1024, epsilon=1)
    flat = Cumulative(1, od.INFINITE, bins=1024)
    assert few.levels == 1
    assert many.mean_variance < flat.mean_variance / 3
    assert many.loss(Shift(rise=0, fall=1)) == 1
    assert (many.upper_rate, many.lower_rate) == (Fraction(1, many.levels), od.INFINITE)


def test_rows_of_another_width_are_refused():
    with pytest.raises(errors.DataError, match="5 counts"):
        Cumulative(1, 1, bins=3).release(np.arange(5))
    with pytest.raises(errors.ParameterError):
        Cumulative(1, 1, bins=3, levels=9)


def test_cumulative_counts_that_no_sum_can_hold_are_refused():
    """Once they wrapped round, and a certain upper bound was below 0."""
    counts = np.array([2**61, 2**61, 1], dtype=np.int64)
    with pytest.raises(errors.DataError, match="2\\^62"):
        Cumulative(1, od.INFINITE, bins=3, levels=2).release(counts)
    held = Cumulative(od.INFINITE, od.INFINITE, bins=2, levels=2).release(counts[:2])
    assert held.tolist() == [2**61, 2**61, 2**62]
