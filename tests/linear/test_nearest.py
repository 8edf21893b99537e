"""Answers of cells of at least 0: the nearest ones, and so never further from the truth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onesided import linear
from onesided.errors import ParameterError
from onesided.linear import (
    Dense,
    Haar,
    Hierarchy,
    Identity,
    Prefix,
    Ranges,
    Suffix,
    _solve,
    all_ranges,
    least_squares,
    non_negative,
    sampled_ranges,
)
from onesided.linear._solve import _cholesky, _inside
from onesided.linear.kit import Held, Totals, factors, nearest
from onesided.mechanism import Linear
from onesided.noise import NotPrivateSeededNoise


@pytest.mark.parametrize(("rows", "cells"), [(3, 5), (12, 20), (40, 40), (90, 30)])
def test_the_nearest_are_those_of_active_sets(rows, cells):
    nnls = pytest.importorskip("scipy.optimize").nnls
    rng = np.random.default_rng(rows)
    for turn in range(4):
        asked = linear.sampled_ranges(cells, rows, seed=turn)
        if turn % 2:
            asked = linear.Dense(rng.integers(-1, 3, (rows, cells)))
        wanted = rng.normal(5 * turn, 20, rows)
        found, matrix = non_negative(asked, wanted), asked.dense().astype(float)
        assert (found >= 0).all()
        best = matrix @ nnls(matrix, wanted, maxiter=10_000)[0]
        assert matrix @ found == pytest.approx(best, abs=1e-3 * np.linalg.norm(wanted))


@given(st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_squared_error_never_rises_whatever_the_noise(seed):
    rng = np.random.default_rng(seed)
    side = int(rng.integers(2, 7))
    asked = linear.sampled_ranges((side, side), int(rng.integers(1, 30)), seed=seed)
    ways = rng.choice([linear.Identity, linear.Haar, linear.Hierarchy]) if side == 4 else None
    strategy = linear.Identity(side * side) if ways is None else linear.kron(ways(4), ways(4))
    counts = rng.poisson(2, side * side) * rng.integers(0, 2, side * side)
    rates = rng.choice(["1/10", "1/2", "2"], 2)
    free, fitted = (Linear(strategy, asked, *rates, non_negative=flag) for flag in (False, True))
    noisy = free.noisy(counts, noise=NotPrivateSeededNoise(seed))
    before, after = (
        np.linalg.norm(one.estimate(noisy).estimate - asked @ counts) for one in (free, fitted)
    )
    assert after <= before * (1 + 1e-6) + 1e-5


def test_cells_fitted_to_what_was_measured_would_err_more():
    """The twin that this replaces: noise that is cut off in each cell adds up over many of them."""
    asked, cells = linear.sampled_ranges(256, 40, seed=1), linear.Identity(256)
    free = Linear(cells, asked, "1/10", "1/10")
    noisy = free.noisy(np.zeros(256, dtype=int), noise=NotPrivateSeededNoise(1))
    before = np.linalg.norm(free.estimate(noisy).estimate)
    cut = np.linalg.norm(asked @ non_negative(cells, noisy.astype(float)))
    nearest = np.linalg.norm(asked @ non_negative(asked, free.estimate(noisy).estimate))
    assert nearest <= before < cut / 4


def test_large_workloads_of_few_queries_take_the_same_way():
    asked = linear.sampled_ranges((64, 64), 30, seed=1)
    wanted = np.random.default_rng(1).normal(0, 500, 30)
    found = non_negative(asked, wanted)
    slope = asked.adjoint(asked.apply(found) - wanted)
    scale = np.abs(asked.adjoint(wanted)).max()
    assert (found >= 0).all()
    assert slope.min() >= -1e-5 * scale
    assert abs(found @ slope) <= 1e-5 * np.dot(wanted, wanted)


@pytest.mark.parametrize("seed", range(6))
def test_with_a_public_total_the_closed_forms_are_the_nearest_by_all_ways(seed):
    """Each against the interior point method on the same matrix, written out."""
    rng = np.random.default_rng(seed)
    total = Totals(np.zeros(6, dtype=int))
    for operator in (Identity(6), Prefix(6), Suffix(6)):
        truth = rng.integers(0, 5, 6)
        answers = operator.apply(truth) + rng.normal(0, 3, operator.shape[0])
        if not isinstance(operator, Identity):
            answers[-1 if isinstance(operator, Prefix) else 0] = truth.sum()
        found = nearest(operator, answers, totals=total, sums=[truth.sum()])
        other = _inside(operator, answers, total, np.array([float(truth.sum())]))
        assert found.near
        assert other.near
        assert found.cells.sum() == pytest.approx(truth.sum())
        assert found.cells.min() >= 0
        gaps = [np.sum((operator.apply(one.cells) - answers) ** 2) for one in (found, other)]
        assert gaps[0] == pytest.approx(gaps[1], rel=1e-4, abs=1e-6)


def test_cells_that_nobody_asks_for_take_what_is_left_of_a_total():
    asked = Ranges(3, [[0], [1]], [[1], [2]])
    found = nearest(asked, [1.0, -2.0], totals=Totals([0, 0, 0]), sums=[5])
    assert found.cells.tolist() == [1.0, 0.0, 4.0]
    short = nearest(asked, [4.0, 3.0], totals=Totals([0, 0, 0]), sums=[5])
    assert short.cells.tolist() == [3.0, 2.0, 0.0]


@pytest.mark.parametrize("total", [0, 7])
def test_overlapping_ranges_keep_several_totals_and_a_total_of_nobody(total):
    rng = np.random.default_rng(1)
    asked, labels = sampled_ranges(12, 20), np.array([0] * 6 + [-1, -1] + [1] * 4)
    cells = rng.normal(2, 3, 12)
    found = nearest(asked, asked.apply(cells), totals=Totals(labels), sums=[total, 9])
    assert found.near
    assert found.cells.min() >= 0
    assert found.cells[:6].sum() == pytest.approx(total, abs=1e-6)
    assert found.cells[8:].sum() == pytest.approx(9)


def test_a_fit_that_does_not_end_is_never_passed_off_as_one(monkeypatch):
    monkeypatch.setattr(_solve, "_MOST_NEWTON", 1)
    asked = sampled_ranges(12, 20)
    answers = asked.apply(np.random.default_rng(2).normal(0, 9, 12))
    assert not nearest(asked, answers).near
    with pytest.raises(ParameterError, match="did not end"):
        non_negative(asked, answers)
    mechanism = Linear(Identity(12), asked, 1, 1, non_negative=True, public=[0] * 12)
    told = mechanism.estimate(np.arange(-6, 6), np.array([3]))
    assert not told.fitted
    assert ((told.estimate >= 0) & (told.estimate <= 3)).all()


def test_above_two_thousand_of_both_it_is_told_whether_gradients_came_near():
    asked = sampled_ranges((48, 48), 2_100)
    truth = np.random.default_rng(3).integers(0, 3, 48 * 48)
    assert nearest(asked, np.asarray(asked.apply(truth), dtype=float) * 0).near
    found = nearest(asked, asked.apply(truth - 2.0 * (truth > 1)))
    gap = asked.apply(found.cells) - asked.apply(truth - 2.0 * (truth > 1))
    slope = asked.adjoint(gap)
    assert found.cells.min() >= 0
    if found.near:
        assert slope @ found.cells <= 1e-3 * (gap @ gap)


@pytest.mark.parametrize("size", [1, 63, 64, 65, 150])
def test_blocks_solve_what_lapack_solves(size):
    rng = np.random.default_rng(size)
    matrix = rng.normal(size=(size, size))
    matrix = matrix @ matrix.T + np.eye(size)
    asked = rng.normal(size=(size, 2))
    solve = _cholesky(matrix)
    assert np.allclose(solve(asked), np.linalg.solve(matrix, asked))
    assert np.allclose(solve(asked[:, 0]), np.linalg.solve(matrix, asked[:, 0]))
    with pytest.raises(np.linalg.LinAlgError):
        _cholesky(-matrix)


@pytest.mark.parametrize("strategy", [Identity(8), Prefix(8), Hierarchy(8, 2), Haar(8)])
@pytest.mark.parametrize("labels", [[0] * 8, [0, 0, 0, -1, -1, 1, 1, 1]])
def test_answers_held_to_totals_are_those_of_least_squares_under_them(strategy, labels):
    """Against the normal equations with the totals' prices, written out."""
    rng = np.random.default_rng(4)
    totals = Totals(labels)
    matrix, kept = strategy.dense().astype(float), totals.dense().astype(float)
    cells = rng.integers(0, 9, 8)
    noisy = matrix @ cells + rng.normal(0, 2, len(matrix))
    joint = np.block([[matrix.T @ matrix, kept.T], [kept, np.zeros((len(kept),) * 2)]])
    best = np.linalg.solve(joint, np.concatenate([matrix.T @ noisy, kept @ cells]))[:8]
    asked = all_ranges(8)
    held = Held.of(strategy, asked, totals)
    free = least_squares(strategy, noisy)
    assert np.allclose(held.apply(free) + held.share @ totals.apply(cells), asked.apply(best))
    rows = held.weights(strategy, np.arange(asked.shape[0]))
    assert np.allclose(np.sum(rows**2, axis=1), held.factors(strategy))
    assert np.allclose(rows @ matrix, held.apply(np.eye(8)))
    assert np.all(held.factors(strategy) <= factors(strategy, asked) + 1e-9)
    exact = [bool(np.isin(asked.dense()[q], [0, 1]).all() and _made_of(asked.dense()[q], kept))
             for q in range(asked.shape[0])]  # fmt: skip
    assert held.known.tolist() == exact


def _made_of(row, kept):
    found = np.linalg.lstsq(kept.T, row.astype(float), rcond=None)[0]
    return np.allclose(kept.T @ found, row)


def test_of_a_strategy_that_does_not_span_the_total_it_adds_nothing():
    assert Held.of(Dense([[1, 0], [2, 0]]), Dense([[1, 0]]), Totals([0, 0])) is None


def test_a_written_out_query_is_known_where_its_weights_are_a_total_s():
    asked = Dense([[2, 2, 3], [2, 2, 0], [1, 2, 0], [0, 0, 0]])
    held = Held.of(Identity(3), asked, Totals([0, 0, -1]))
    assert held.known.tolist() == [False, True, False, True]


@pytest.mark.parametrize("labels", [[-1, -1], [[0, 0]], [0.5, 0.5]])
def test_labels_that_make_no_total_are_refused(labels):
    with pytest.raises(ParameterError):
        Totals(labels)


def test_public_labels_must_be_one_for_each_cell():
    with pytest.raises(ParameterError, match="as many labels"):
        Linear(Identity(3), Identity(3), 1, 1, public=[0, 0])


@pytest.mark.parametrize("public", [None, [0] * 16])
def test_a_fit_to_cells_of_at_least_0_never_raises_the_squared_error(public):
    """Draw by draw, with and without the total."""
    asked, noise = sampled_ranges((4, 4), 30), NotPrivateSeededNoise(5)
    cells = np.array([0, 0, 9, 0] * 4)
    fitted = Linear(Identity(16), asked, "1/4", "1/4", non_negative=True, public=public)
    plain = Linear(Identity(16), asked, "1/4", "1/4", public=public)
    truth, totals = asked.apply(cells), fitted.totals(cells)
    for _ in range(100):
        noisy = fitted.noisy(cells, noise=noise)
        found = fitted.estimate(noisy, totals)
        before = plain.estimate(noisy, totals).estimate
        assert found.fitted
        assert np.sum((found.estimate - truth) ** 2) <= np.sum((before - truth) ** 2) * (1 + 1e-6)
        bounds = fitted.interval(noisy, totals)
        assert np.all((bounds.lower <= found.estimate) & (found.estimate <= bounds.upper))
