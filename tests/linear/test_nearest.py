"""Answers of cells of at least 0: the nearest ones, and so never further from the truth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onesided import linear
from onesided.linear import non_negative
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
