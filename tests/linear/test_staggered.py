"""Staggered tiles in O(cells), and what is known of their errors where no formula is."""

import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import onesided as od
from onesided import linear
from onesided.linear import Grid, Ranges, Stack, error_factors, staggered
from onesided.linear._error import draws_for, sampled_factors, understated, upper_factors
from onesided.mechanism import Linear
from onesided.session.workloads._linear import choose

SIDES = [(1, 9), (1, 1), (5, 6), (8, 8), (7, 1), (2, 2), (1, 2), (16, 3)]


@pytest.mark.parametrize("cells", [True, False])
@pytest.mark.parametrize("sides", SIDES)
def test_products_are_those_of_the_stacked_tiles(sides, cells):
    made = staggered(sides, cells=cells)
    stack, rng = Stack(made.parts), np.random.default_rng(0)
    assert made.shape == stack.shape
    for tail in ((), (3,)):
        values = rng.integers(-9, 9, (made.shape[1], *tail))
        sums = rng.integers(-9, 9, (made.shape[0], *tail))
        assert np.array_equal(made.apply(values), stack.apply(values))
        assert np.array_equal(made.adjoint(sums), stack.adjoint(sums))
        assert made.apply(values).dtype == values.dtype


def some_ranges(side, number, seed=1):
    rng = np.random.default_rng(seed)
    lows = rng.integers(0, side, (number, 2))
    highs = np.minimum(lows + 1 + rng.integers(0, side, (number, 2)), side)
    return Ranges((side, side), lows, highs)


def exact_factors(strategy, asked):
    matrix, rows = strategy.dense().astype(float), asked.adjoint(np.eye(asked.shape[0]))
    return np.einsum("ij,ij->j", rows, np.linalg.solve(matrix.T @ matrix, rows))


def test_factors_are_rounded_up_and_by_less_than_one_in_a_thousand():
    strategy, asked = staggered((20, 20)), some_ranges(20, 30)
    share = error_factors(strategy, asked) / exact_factors(strategy, asked)
    assert share.min() >= 1 - 1e-12
    assert share.max() < 1.001
    nothing = upper_factors(strategy, np.zeros((400, 2)))
    assert nothing.tolist() == [0, 0]


def test_sampled_factors_are_unbiased_and_seldom_as_much_too_small_as_is_said():
    strategy, asked = staggered((20, 20)), some_ranges(20, 400)
    share = sampled_factors(strategy, asked) / exact_factors(strategy, asked)
    assert draws_for(400) == 64
    # Answers share noise, so that the mean varies more than 1 / sqrt(400 * 32) would say.
    assert 0.8 < share.mean() < 1.2
    assert share.min() > 1 / understated(64, 1e-6)
    draws = np.random.default_rng(2).chisquare(64, 10**5) / 64
    # The chance is at most 0.01: 1,000 of 100,000, and six standard deviations more: 1e-9.
    assert (draws < 1 / understated(64, 0.01)).sum() < 1000 + 6 * math.sqrt(1000)


def test_the_default_is_the_best_that_is_known_above_256_cells():
    policy, grid = od.policy.neighbourhood(radius=1), Grid((48, 48))
    moves, asked = linear.moves_of(policy, grid), some_ranges(48, 20)
    makers = partial(linear.candidates, grid)
    best = choose(None, moves, asked, Fraction(1), makers)
    named = {
        name: choose(name, moves, asked, Fraction(1), makers).error
        for name in ("staggered", "identity", "quadtree 4", "summed area")
    }
    assert best.name == "staggered"
    assert best.error == pytest.approx(named["staggered"])
    assert best.error == min(named.values())
    many = choose(None, moves, some_ranges(48, 900), Fraction(1), makers)
    assert many.name == "staggered"


def test_many_queries_have_variances_from_draws_and_few_have_them_worked_out():
    few, many = (Linear(staggered((64, 64)), some_ranges(64, n), 1, 1) for n in (20, 1500))
    assert few.draws == 0
    assert many.draws == 64
    known = Linear(staggered((64, 64)), some_ranges(64, 1500).part(np.arange(20)), 1, 1).variance
    assert many.variance[:20].mean() == pytest.approx(known.mean(), rel=0.5)
