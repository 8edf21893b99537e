"""Grids on maps: which cells, what they cost, and how the two levels are reconciled."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import onesided as od
from onesided import errors, verify
from onesided.mechanism import Counts
from onesided.mechanism.histograms._grids import (
    AGrid,
    GridPartition,
    UniformGrid,
    coarse_cells,
    refine,
)
from onesided.mechanism.histograms._two_phase import Partition, zeros
from onesided.noise import NotPrivateScriptedNoise, NotPrivateSeededNoise
from onesided.policy import GroupCount, Shift

EXACT = Counts(od.INFINITE, od.INFINITE)
BOUNDED = od.policy.bounded()
POLICIES = [
    BOUNDED,
    od.policy.unbounded(),
    od.policy.addition_only(),
    od.policy.removal_only(),
    od.policy.sensitive("private"),
]
SHAPES = st.tuples(st.integers(1, 14), st.integers(1, 14))


def is_rectangle(labels, label):
    rows, columns = np.nonzero(labels == label)
    return rows.size == (np.ptp(rows) + 1) * (np.ptp(columns) + 1)


@given(shape=SHAPES, side=st.integers(1, 20), parts=st.data())
def test_fine_cells_are_rectangles_within_their_coarse_cell(shape, side, parts):
    coarse = coarse_cells(shape, side)
    assert np.unique(coarse).tolist() == list(range(coarse.max() + 1))
    many = int(coarse.max()) + 1
    asked = np.array(parts.draw(st.lists(st.integers(1, 9), min_size=many, max_size=many)))
    labels, parents = refine(shape, side, asked)
    assert parents[labels].tolist() == coarse.tolist()
    assert np.unique(labels).tolist() == list(range(parents.size))
    assert all(is_rectangle(labels, label) for label in range(parents.size))
    assert all(is_rectangle(coarse, label) for label in range(coarse.max() + 1))
    # As many fine cells as asked for, as far as there are bins.
    for cell, many in enumerate(asked):
        rows, columns = np.nonzero(coarse == cell)
        most = min(many, np.ptp(rows) + 1) * min(many, np.ptp(columns) + 1)
        assert (parents == cell).sum() == most


@given(shape=SHAPES, side=st.integers(1, 20))
def test_strips_differ_by_one_bin_at_most(shape, side):
    cells = coarse_cells(shape, side)
    for across in (cells[:, 0], cells[0]):
        sizes = np.unique(across, return_counts=True)[1]
        assert sizes.max() - sizes.min() <= 1
        assert sizes.size == min(side, across.size)


@given(
    values=st.lists(st.integers(0, 2**40), min_size=12, max_size=12),
    side=st.integers(1, 5),
    shape=st.sampled_from([(3, 4), (1, 12), (12, 1), (2, 6)]),
)
def test_without_noise_the_map_comes_back(values, side, shape):
    counts = np.array(values).reshape(shape)
    assert AGrid(side, EXACT, EXACT).release(counts).tolist() == counts.tolist()
    assert UniformGrid(12, EXACT).release(counts).tolist() == counts.tolist()


def test_the_two_levels_are_the_least_squares_estimate():
    """Coarse 10 measured as 13, four fine cells; against solving the normal equations."""
    counts = np.array([[1, 2], [3, 4]])
    grid = AGrid(1, Counts(1, 1), Counts("1/3", "1/3"), clip=False)
    partition = GridPartition(np.arange(4).reshape(2, 2), np.array([13.0]), np.zeros(4, dtype=int))
    noise = NotPrivateSeededNoise(3)
    fine = counts.ravel() + NotPrivateSeededNoise(3).two_sided("1/3", "1/3", 4)
    weights = np.sqrt(
        [1 / grid.learning.distribution.variance()]
        + [1 / grid.measuring.distribution.variance()] * 4
    )
    asked = np.vstack([np.ones(4), np.eye(4)]) * weights[:, None]
    best = np.linalg.lstsq(asked, np.concatenate([[13.0], fine]) * weights, rcond=None)[0]
    assert grid.measure(counts, partition, noise=noise) == pytest.approx(best)


def test_the_levels_add_up_and_the_variance_falls():
    """Forty records in each of 4 by 4 coarse cells, all split the same way."""
    counts = np.full((16, 16), 3)
    grid = AGrid(4, Counts("1/2", "1/2"), Counts("1/2", "1/2"), clip=False)
    noise, levels, alone = NotPrivateSeededNoise(6), [], []
    for _ in range(300):
        partition = grid.learn(counts, noise=noise)
        both = grid.measure(counts, partition, noise=noise)
        plain = Partition(partition.labels)
        fine = grid.measure(counts, plain, noise=noise)
        levels.append(np.bincount(partition.parents, both))
        alone.append(np.bincount(partition.parents, fine))
    assert np.var(levels) < 0.6 * np.var(alone)
    assert abs(np.mean(levels) - 48) < 5 * np.std(levels) / math.sqrt(300 * 16)


def test_a_crowded_cell_is_split_and_an_empty_one_is_not():
    counts = np.zeros((20, 20), dtype=np.int64)
    counts[:10, :10] = 50
    grid = AGrid(2, Counts(1, 1), Counts("1/2", "1/2"))
    partition = grid.learn(counts, noise=NotPrivateSeededNoise(1))
    assert np.bincount(partition.parents).tolist() == [100, 1, 1, 1]


def test_the_paper_s_rule_for_both_sides():
    """Among those who may come or go: Laplace noise of 1/ε has nearly the same variance."""
    grid = AGrid.for_policy(od.policy.unbounded(), epsilon="1/10", records=990_000)
    assert grid.side == math.ceil(math.sqrt(990_000 / 10 / 10) / 4) == 25
    assert AGrid.for_policy(BOUNDED, epsilon="1/10", records=100).side == 10
    # Half of ε measures: sqrt(N ε/2 / 5) fine cells along each axis of a coarse cell.
    assert grid.parts(np.array([-3.0, 0.0, 90.0, 1000.0])).tolist() == [1, 1, 1, 4]
    even = UniformGrid.for_policy(od.policy.unbounded(), epsilon="1/10", records=9_900)
    assert even.side == 10


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_both_phases_together_spend_epsilon_and_no_more(policy):
    for mechanism in (
        AGrid.for_policy(policy, epsilon="1/2", records=1000),
        AGrid.for_policy(policy, epsilon="1/2", records=1000, share="1/7"),
        UniformGrid.for_policy(policy, epsilon="1/2", records=1000),
    ):
        losses = [mechanism.loss(s) for many in policy.shifts(GroupCount()).values() for s in many]
        assert Fraction(49, 100) < max(losses) <= Fraction(1, 2)


@given(rise=st.integers(0, 9), fall=st.integers(0, 9))
def test_the_loss_has_a_direction(rise, fall):
    both = AGrid(3, Counts(od.INFINITE, 1), Counts(od.INFINITE, 2))
    assert both.loss(Shift(rise=rise, fall=fall)) == (od.INFINITE if fall else 3 * rise)
    one = UniformGrid(3, Counts(od.INFINITE, 2))
    assert one.learn_loss(Shift(rise=rise, fall=fall)) == 0
    assert one.loss(Shift(rise=rise, fall=fall)) == (od.INFINITE if fall else 2 * rise)


def test_flat_histograms_with_columns_give_the_same_map():
    counts = np.arange(24).reshape(4, 6)
    for make in (
        lambda columns: AGrid(2, Counts(1, 1), Counts(1, 1), columns=columns),
        lambda columns: UniformGrid(3, Counts(1, 1), columns=columns),
    ):
        map_, flat = (
            make(columns).release(values, noise=NotPrivateSeededNoise(7))
            for columns, values in ((None, counts), (6, counts.ravel()))
        )
        assert flat.tolist() == map_.ravel().tolist()


def test_fine_noise_is_what_it_says(long_form):
    """The chi-square test of ``agrees`` on single bins; a rate 10 % off is told apart."""
    side = 600 if long_form else 200
    counts = np.full((side, side), 10**9)
    grid = AGrid(1, Counts(1, 1), Counts("1/2", "1/3"), clip=False)
    cells = Partition.of_cells(counts.shape)
    noise = NotPrivateSeededNoise(2)
    drawn = grid.measure(counts, cells, noise=noise) - counts.ravel()
    law = verify.two_sided_law("1/2", "1/3")
    assert verify.agrees(np.round(drawn + grid.measuring.distribution.mean()), law).accepted
    assert verify.power(law, verify.two_sided_law("0.45", "0.3"), side * side) > 0.99


def test_on_a_clustered_map_the_adaptive_grid_beats_plain_noise():
    random = np.random.default_rng(0)
    counts = np.zeros((128, 128), dtype=np.int64)
    places = np.clip(random.normal([40, 90], [6, 9], (20_000, 2)), 0, 127).astype(int)
    np.add.at(counts, tuple(places.T), 1)
    noise, found = NotPrivateSeededNoise(3), {}
    plain = Counts.for_policy(BOUNDED, epsilon="1/5", clip=True)
    for name, run in {
        "adaptive": AGrid.for_policy(BOUNDED, epsilon="1/5", records=20_000).release,
        "plain": lambda values, noise: plain.release(values.ravel(), noise=noise).reshape(128, 128),
    }.items():
        found[name] = np.mean([np.abs(run(counts, noise=noise) - counts).sum() for _ in range(5)])
    assert found["adaptive"] < found["plain"] / 4


@pytest.mark.parametrize("algorithm", [AGrid, UniformGrid])
def test_the_recipe_for_zeros_works_on_maps(algorithm):
    """Half of the map is empty; the records are all open."""
    counts = np.zeros((32, 32), dtype=np.int64)
    counts[:, ::2] = 50
    recipe = zeros(algorithm).for_policy(
        od.policy.sensitive("private"), epsilon=1, records=int(counts.sum())
    )
    found = recipe.release(counts, counts, noise=NotPrivateSeededNoise(1))
    plain = recipe.algorithm.release(counts, noise=NotPrivateSeededNoise(1))
    assert found.shape == counts.shape
    assert not found[counts == 0].any()
    assert np.abs(found - counts).sum() < np.abs(plain - counts).sum()


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (2, 300)])
def test_thin_maps_work(shape):
    for mechanism in (
        AGrid.for_policy(BOUNDED, epsilon=1, records=10**6),
        UniformGrid.for_policy(BOUNDED, epsilon=1, records=10**6),
    ):
        assert mechanism.release(np.ones(shape, dtype=np.int64)).shape == shape


@pytest.mark.parametrize(
    "bad", [[], [[]], [1, 2], [[[1]]], [[-1]], [[0.5]], [[True]], [[2**53, 1]], 3, "ab"]
)
def test_bad_maps_are_refused_before_anything_is_drawn(bad):
    noise = NotPrivateScriptedNoise([])
    for mechanism in (AGrid(2, EXACT, EXACT), UniformGrid(2, EXACT)):
        with pytest.raises(errors.DataError):
            mechanism.release(bad, noise=noise)


def test_columns_must_fit():
    grid = AGrid(2, EXACT, EXACT, columns=4)
    for bad in ([1, 2, 3, 4, 5], [[1, 2], [3, 4]]):
        with pytest.raises(errors.DataError, match="4 columns"):
            grid.release(bad)


@pytest.mark.parametrize("bad", [0, -1, 0.5, math.nan, math.inf, "x", True, 2**30])
def test_bad_parameters_are_refused(bad):
    for make in (
        lambda: AGrid(bad, EXACT, EXACT),
        lambda: UniformGrid(bad, EXACT),
        lambda: AGrid(2, bad, EXACT),
        lambda: UniformGrid(2, bad),
        lambda: AGrid(2, EXACT, Counts(1, 1, clip=True)),
    ):
        with pytest.raises(errors.ParameterError):
            make()
    if bad != 2**30:
        for make in (
            lambda: replace(AGrid(2, EXACT, EXACT), columns=bad),
            lambda: AGrid.for_policy(BOUNDED, epsilon=1, records=bad),
            lambda: UniformGrid.for_policy(BOUNDED, epsilon=1, records=bad),
        ):
            with pytest.raises(errors.ParameterError):
                make()
