"""Cells of at least 0 that are likely behind noisy answers: what they are and where they help."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onesided.errors import ParameterError
from onesided.linear import Dense, Identity, likeliest, non_negative, sampled_ranges, staggered


@pytest.mark.heavy
@given(st.lists(st.integers(-50, 50), min_size=16, max_size=16), st.integers(1, 9))
@settings(max_examples=15)
def test_cells_are_at_least_zero_and_grow_with_the_unit(noise, unit):
    strategy = staggered((4, 4))
    cells = np.arange(16.0) * 7
    answers = strategy.apply(cells)
    answers[:16] += noise
    found = likeliest(strategy, answers, scale=5.0)
    assert (found >= 0).all()
    # Counts and noise in another unit: the same cells in that unit.
    again = likeliest(strategy, answers * unit, scale=5.0 * unit)
    assert again == pytest.approx(found * unit, rel=1e-6, abs=1e-6)


def test_large_cells_stay_and_what_noise_alone_explains_goes():
    found = likeliest(Identity(4), [0.2, 1_000.0, -3.0, 0.5], scale=1.0)
    assert found[1] == pytest.approx(1_000, abs=0.5)
    assert found[[0, 2]].max() < 0.1  # a fourth of the least squares' 0.2


def test_a_weighted_cell_is_judged_by_its_own_noise():
    """Answers in tenths of a count are ten times as exact about it."""
    one = likeliest(Dense(np.eye(3, dtype=int)), [0.5, 40.0, -0.1], scale=0.1)
    ten = likeliest(Dense(10 * np.eye(3, dtype=int)), [5.0, 400.0, -1.0], scale=1.0)
    assert ten == pytest.approx(one, abs=1e-4)


@pytest.mark.heavy
@pytest.mark.slow
@pytest.mark.parametrize("full", [0.02, 0.2, 1.0])
def test_rectangles_err_less_than_by_least_squares_where_cells_are_empty(full, long_form):
    """Made-up maps of 33 x 33 cells: never above 1.1 times, and less where two in a hundred are."""
    rng, side = np.random.default_rng(3), (33, 33)
    strategy, ranges = staggered(side), sampled_ranges(side, 300, seed=2)
    likely, least = [], []
    for _ in range(8 if long_form else 2):
        cells = np.where(rng.random(33 * 33) < full, np.exp(rng.normal(5, 1.5, 33 * 33)), 0).round()
        answers = strategy.apply(cells) + rng.laplace(0, 6, strategy.shape[0])
        exact = ranges.apply(cells)
        for kept, found in (
            (likely, likeliest(strategy, answers, scale=6.0)),
            (least, non_negative(strategy, answers)),
        ):
            kept.append(np.mean((ranges.apply(found) - exact) ** 2))
    assert np.mean(likely) < 1.1 * np.mean(least)
    assert full > 0.1 or np.mean(likely) < 0.7 * np.mean(least)


@pytest.mark.parametrize("scale", [0, -1, float("nan"), float("inf"), "wide", None])
def test_bad_scales(scale):
    with pytest.raises(ParameterError):
        likeliest(Identity(2), [1.0, 2.0], scale=scale)


def test_one_answer_per_row():
    with pytest.raises(ParameterError, match="one answer per row"):
        likeliest(Identity(2), [1.0, 2.0, 3.0], scale=1.0)
