import math
import sys
from fractions import Fraction
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onesided as od
from onesided import errors, linear, policy
from onesided.mechanism._linear import Linear, best
from onesided.noise import NotPrivateSeededNoise
from onesided.policy import Shift
from onesided.verify import agrees, power, two_sided_law

NEAR = policy.neighbourhood(radius=1)
# Each statistic of each strategy may be this many standard errors off: one false alarm in 10^7.
OFF = 5.5
STRATEGIES = {
    "identity": linear.Identity(16),
    "prefix": linear.Prefix(16),
    "suffix": linear.Suffix(16),
    "hierarchy 2": linear.Hierarchy(16),
    "hierarchy 4": linear.Hierarchy(16, 4),
    "wavelet": linear.Haar(16),
    "block prefix": linear.block_prefix(16, 3),
    "staggered line": linear.staggered(16),
    "row prefix": linear.row_prefix((4, 4)),
    "summed area": linear.summed_area((4, 4)),
    "quadtree": linear.Quadtree((4, 4)),
    "hierarchies": linear.kron(linear.Hierarchy(4), linear.Hierarchy(4)),
    "wavelets": linear.kron(linear.Haar(4), linear.Haar(4)),
    "staggered plane": linear.staggered((4, 4)),
    "blocks": linear.grid_blocks((4, 4), 2),
    "weighted": linear.Stack([linear.Identity(16), linear.Bins(16, 4)], [1, 3]),
}
COUNTS = np.arange(16) % 5


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("rates", [(Fraction(1, 2), Fraction(1, 2)), (1, od.INFINITE), (2, 1)])
def test_measured_errors_are_the_predicted_ones(name, rates):
    repeats = 400
    strategy = STRATEGIES[name]
    asked = linear.all_ranges(16)
    mechanism = Linear(strategy, asked, *rates)
    noise = NotPrivateSeededNoise(crc32(f"{name} {rates}".encode()))
    released = [mechanism.release(COUNTS, noise=noise) for _ in range(repeats)]
    gaps = np.array([one.estimate for one in released]) - asked @ COUNTS
    predicted = released[0].variance
    # Unbiased: the mean of 400 has this standard error. 136 queries, 16 strategies, 3 rates.
    assert (np.abs(gaps.mean(axis=0)) <= (OFF + 1) * np.sqrt(predicted / repeats)).all()
    # The summed squared error of one release, against the prediction, by its own spread.
    squared = (gaps**2).sum(axis=1)
    spread = squared.std(ddof=1) / math.sqrt(repeats)
    assert abs(squared.mean() - predicted.sum()) <= OFF * spread


def test_noisy_answers_follow_the_stated_law():
    """One false alarm in 10^6; a rate wrong by a tenth would be seen."""
    mechanism = Linear(linear.Prefix(4), linear.Prefix(4), "1/3", "2/3")
    counts, noise = np.array([3, 0, 2, 9]), NotPrivateSeededNoise(8)
    draws = np.concatenate(
        [mechanism.noisy(counts, noise=noise) - np.cumsum(counts) for _ in range(5_000)]
    )
    law, wrong = two_sided_law("1/3", "2/3"), two_sided_law("1/3", "22/30")
    assert agrees(draws, law, false_alarm=1e-6).accepted
    assert not agrees(draws, wrong, false_alarm=1e-6).accepted
    assert power(law, wrong, draws.size, false_alarm=1e-6) > 0.99


def test_rates_hide_exactly_the_shifts_of_the_policy():
    line = Linear.for_policy(
        NEAR, strategy=linear.Prefix(9), workload=linear.all_ranges(9), epsilon="3/2"
    )
    assert (line.upper_rate, line.lower_rate) == (Fraction(3, 2), Fraction(3, 2))
    assert set(line.losses.values()) == {Fraction(3, 2)}
    cells = Linear.for_policy(
        NEAR, strategy=linear.Identity(9), workload=linear.all_ranges(9), epsilon=1
    )
    assert cells.upper_rate == cells.lower_rate == Fraction(1, 2)
    assert cells.loss(Shift(rise=1, fall=1)) == 1
    down = policy.graph([(1, 0), (2, 1), (3, 2)], directed=True)
    one_sided = Linear.for_policy(
        down, strategy=linear.edge_counts(down, 4), workload=linear.all_ranges(4), epsilon=1
    )
    assert (one_sided.upper_rate, one_sided.lower_rate) == (1, od.INFINITE)
    answers = one_sided.release([1, 2, 3, 4])
    assert (answers.noisy >= one_sided.strategy @ np.array([1, 2, 3, 4])).all()


def test_weights_of_edges_scale_their_budget():
    weighted = policy.graph([(0, 1), (1, 2, 3)])
    mechanism = Linear.for_policy(
        weighted, strategy=linear.Prefix(3), workload=linear.Prefix(3), epsilon=1
    )
    assert mechanism.upper_rate == 1
    assert all(loss <= edge.weight for edge, loss in mechanism.losses.items())


def test_what_no_move_changes_is_told_without_noise_and_said_to_be_public():
    mechanism = Linear.for_policy(
        NEAR, strategy=linear.Bins(5, 5), workload=linear.Bins(5, 5), epsilon=1
    )
    assert mechanism.release([1, 2, 3, 4, 5]).estimate == pytest.approx([15])
    assert "total is public" in mechanism.notes[1]
    islands = policy.graph([(0, 1), (2, 3), ("absent", 4)])
    apart = Linear.for_policy(
        islands, strategy=linear.Prefix(5), workload=linear.Prefix(5), epsilon=1
    )
    assert "2 groups" in apart.notes[1]
    island = policy.graph([(0, 1), ("absent", 2)])
    one = Linear.for_policy(island, strategy=linear.Prefix(3), workload=linear.Prefix(3), epsilon=1)
    assert "one group of cells" in one.notes[1]
    open_line = policy.neighbourhood(radius=1, sources=[(0,)])
    whole = Linear.for_policy(
        open_line, strategy=linear.Suffix(5), workload=linear.Suffix(5), epsilon=1
    )
    assert len(whole.notes) == 1


@settings(deadline=None, max_examples=40)
@given(
    st.sampled_from(sorted(STRATEGIES)),
    st.lists(st.integers(0, 2**50), min_size=16, max_size=16),
    st.integers(0, 2**32),
)
def test_answers_are_whole_noisy_sums_and_consistent(name, counts, seed):
    asked = linear.all_ranges(16)
    mechanism = Linear(STRATEGIES[name], asked, 1, 2)
    answers = mechanism.release(counts, noise=NotPrivateSeededNoise(seed))
    assert answers.noisy.dtype == np.int64
    silent = Linear(STRATEGIES[name], asked, od.INFINITE, od.INFINITE)
    exact = [
        sum(int(a) * c for a, c in zip(row, counts, strict=True))
        for row in STRATEGIES[name].dense()
    ]
    assert silent.noisy(counts).tolist() == exact
    # A range is the sum of its two halves, whatever the noise.
    found = {
        (int(low), int(high)): value
        for low, high, value in zip(
            asked.lows[:, 0], asked.highs[:, 0], answers.estimate, strict=True
        )
    }
    size = max(1.0, *map(abs, answers.estimate))
    for low, middle, high in ((0, 5, 16), (3, 4, 9), (7, 8, 9)):
        parts = found[low, middle] + found[middle, high]
        assert abs(found[low, high] - parts) <= 1e-9 * size


@pytest.mark.parametrize("strategy", [linear.Prefix(64), linear.Suffix(64)])
def test_isotonic_prefix_sums_are_monotone_and_nearer_to_sparse_data(strategy):
    counts = np.zeros(64, dtype=int)
    counts[[3, 40]] = 25, 60
    asked = linear.all_ranges(64)
    truth, noise = asked @ counts, NotPrivateSeededNoise(4)
    free, bounded = (
        Linear(strategy, asked, "1/4", "1/4", non_negative=flag) for flag in (False, True)
    )
    gains = []
    for _ in range(20):
        noisy = free.noisy(counts, noise=noise)
        fitted = bounded.estimate(noisy).estimate
        assert (fitted >= -1e-9).all()
        gains.append(
            ((free.estimate(noisy).estimate - truth) ** 2).mean() / ((fitted - truth) ** 2).mean()
        )
    assert np.median(gains) > 2


def test_the_best_standard_strategy_is_chosen_by_predicted_error():
    asked = linear.sampled_ranges(32, 50)
    near = Linear.for_policy(NEAR, workload=asked, epsilon=1)
    assert isinstance(near.strategy, linear.Prefix | linear.Suffix)
    entered = policy.neighbourhood(radius=1, sources=[(-1,)])
    assert isinstance(Linear.for_policy(entered, workload=asked, epsilon=1).strategy, linear.Suffix)
    left = policy.neighbourhood(radius=1, sources=[(32,)])
    assert isinstance(Linear.for_policy(left, workload=asked, epsilon=1).strategy, linear.Prefix)
    moves = linear.moves_of(policy.bounded(), linear.Grid(32))
    cells = best(moves, linear.Identity(32), Fraction(1), linear.Grid(32))
    assert isinstance(cells, linear.Identity)
    plane = linear.sampled_ranges((8, 8), 40)
    chosen = Linear.for_policy(NEAR, workload=plane, epsilon=1)
    direct = Linear.for_policy(
        NEAR, workload=plane, strategy=linear.kron(*[linear.Identity(8)] * 2), epsilon=1
    )
    # Staggered tiles and the cells are chosen between by 8 of the queries; they err alike here.
    assert chosen.variance.sum() < 1.01 * direct.variance.sum()


def test_small_workloads_need_no_scipy_with_closed_forms(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("scipy")]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    asked = linear.all_ranges(16)
    for strategy in (linear.Prefix(16), linear.Quadtree((4, 4)), linear.Haar(16)):
        for flag in (False, True):
            Linear(strategy, asked, 1, 1, non_negative=flag).release(COUNTS)
    with pytest.raises(errors.MissingDependencyError, match="SciPy") as caught:
        Linear(linear.Prefix(16), linear.Prefix(16), 1, 1, non_negative=True).release(COUNTS)
    assert "onesided[linear]" in caught.value.hint


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), True, "x"])
def test_an_epsilon_that_is_none_is_refused(epsilon):
    with pytest.raises(errors.ParameterError):
        Linear.for_policy(
            NEAR, strategy=linear.Prefix(4), workload=linear.Prefix(4), epsilon=epsilon
        )


@pytest.mark.parametrize(
    "counts",
    [[1, 2], [1.0, 2.0, 3.0, 4.0], [1, -2, 3, 4], [[1, 2, 3, 4]], [2**62, 2**62, 0, 0], [True] * 4],
)
def test_counts_that_do_not_fit_are_refused_before_anything_is_drawn(counts):
    class Untouched:
        def two_sided(self, *_):
            raise AssertionError

    mechanism = Linear(linear.Prefix(4), linear.Prefix(4), 1, 1)
    with pytest.raises(errors.DataError):
        mechanism.release(counts, noise=Untouched())


def test_mismatched_and_weak_strategies_are_refused():
    with pytest.raises(errors.ParameterError, match="cannot answer"):
        Linear(linear.Prefix(4), linear.Prefix(5), 1, 1)
    with pytest.raises(errors.ParameterError, match="span"):
        Linear(linear.Bins(4, 2), linear.Prefix(4), 1, 1)
    with pytest.raises(errors.ParameterError, match="does not fit"):
        Linear.for_policy(
            NEAR, strategy=linear.Prefix(4), workload=linear.Prefix(4), cells=5, epsilon=1
        )
    with pytest.raises(errors.PolicyError):
        Linear.for_policy(
            policy.graph([("p", "q")]),
            strategy=linear.Prefix(4),
            workload=linear.Prefix(4),
            epsilon=1,
        )
    with pytest.raises(errors.ParameterError, match="whole numbers"):
        Linear([[0.5, 1.0]], [[1, 1]], 1, 1)


def test_matrices_may_be_given_as_arrays():
    mechanism = Linear([[1, 0], [1, 1]], [[0, 1]], od.INFINITE, od.INFINITE)
    assert mechanism.release([3, 4]).estimate == pytest.approx([4])


@pytest.mark.parametrize(
    "asked",
    [
        linear.marginals((4, 4), [0]),
        linear.kron(linear.Identity(4), linear.Prefix(4)),
        linear.Ranges((2, 2, 2), [[0, 0, 0]], [[1, 2, 2]]),
    ],
)
def test_how_cells_lie_is_not_guessed_where_it_decides_who_is_near(asked):
    with pytest.raises(errors.ParameterError, match="may lie on a line"):
        Linear.for_policy(NEAR, workload=asked, epsilon=1)
    told = Linear.for_policy(
        NEAR, workload=asked, epsilon=1, cells=linear.Grid(asked.shape[1]),
        strategy=linear.Identity(asked.shape[1]),
    )  # fmt: skip
    assert told.upper_rate == Fraction(1, 2)
    assert Linear.for_policy(policy.bounded(), workload=asked, epsilon=1).strategy.shape[1] in (
        8,
        16,
    )
