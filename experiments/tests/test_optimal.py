"""Is one-sided geometric noise optimal? Linear programmes, and the exact theorem behind them."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from onesided import errors
from onesided_experiments import bounds

LOSSES = {
    "absolute": lambda answer, count: abs(answer - count),
    "squared": lambda answer, count: (answer - count) ** 2,
    "zero-one": lambda answer, count: float(answer != count),
}
PRIORS = {
    "uniform": lambda n: np.full(n + 1, 1 / (n + 1)),
    "small": lambda n: np.exp(-np.arange(n + 1)) / np.exp(-np.arange(n + 1)).sum(),
    "large": lambda n: np.exp(np.arange(n + 1)) / np.exp(np.arange(n + 1)).sum(),
    "only none": lambda n: np.eye(n + 1)[0],
}


def costs(prior, loss, n):
    return np.array([[prior[i] * loss(j, i) for j in range(n + 1)] for i in range(n + 1)])


def least_error(cost, ratio):
    """Over all mechanisms that see a count and lose at most ε when it falls by one."""
    n = len(cost) - 1
    rows = []
    for i in range(n):
        for j in range(n + 1):
            row = np.zeros_like(cost)
            row[i + 1, j], row[i, j] = ratio, -1
            rows.append(row.ravel())
    each = np.kron(np.eye(n + 1), np.ones(n + 1))
    found = linprog(
        cost.ravel(), A_ub=rows, b_ub=np.zeros(len(rows)), A_eq=each, b_eq=np.ones(n + 1)
    )
    return found.fun


def error_of(matrix, cost):
    return float((np.array(matrix, dtype=float) * cost).sum())


def error_after_best_reading(matrix, cost):
    """Each answer is replaced by whichever costs least given the prior."""
    given = np.array(matrix, dtype=float).T @ cost
    return float(given.min(axis=1).sum())


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("ratio", [Fraction(1, 5), Fraction(1, 2), Fraction(4, 5)])
def test_read_in_the_best_way_the_geometric_mechanism_is_optimal(loss, prior, n, ratio):
    cost = costs(PRIORS[prior](n), LOSSES[loss], n)
    geometric = bounds.geometric_matrix(n, ratio=ratio)
    best = least_error(cost, float(ratio))
    assert error_after_best_reading(geometric, cost) == pytest.approx(best, abs=1e-8)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_it_is_optimal_as_it_is_for_a_uniform_prior_and_epsilon_at_least_ln_2(n):
    """ADP-2022 Theorem VIII.3 where it does hold."""
    for loss in ("absolute", "zero-one"):
        for ratio in (Fraction(1, 5), Fraction(1, 2)):
            cost = costs(PRIORS["uniform"](n), LOSSES[loss], n)
            geometric = bounds.geometric_matrix(n, ratio=ratio)
            assert error_of(geometric, cost) == pytest.approx(
                least_error(cost, float(ratio)), abs=1e-8
            )


def test_the_printed_theorem_fails_for_a_prior_that_expects_nobody():
    """n = 1 and a prior on count 0: always answering 0 is right, and loses nothing."""
    cost = costs(PRIORS["only none"](1), LOSSES["absolute"], 1)
    assert error_of(bounds.geometric_matrix(1, ratio="1/2"), cost) == pytest.approx(0.5)
    assert least_error(cost, 0.5) == pytest.approx(0)
    assert bounds.post_processing([[1, 0], [1, 0]], ratio="1/2") == ((1, 0), (1, 0))


def test_the_printed_theorem_fails_for_a_uniform_prior_and_small_epsilon():
    """n = 2, e^-ε = 4/5: subtracting the noise's median helps, as everybody does."""
    cost = costs(PRIORS["uniform"](2), LOSSES["absolute"], 2)
    as_it_is = error_of(bounds.geometric_matrix(2, ratio="4/5"), cost)
    assert as_it_is > least_error(cost, 0.8) + 0.05


@settings(max_examples=60)
@given(
    st.data(), st.integers(1, 4), st.fractions(Fraction(1, 10), Fraction(9, 10), max_denominator=10)
)
def test_whatever_keeps_the_promise_is_made_from_geometric_noise(data, n, p):
    """Both halves of the theorem, exactly."""
    weights = st.lists(st.integers(0, 5), min_size=3, max_size=3).filter(any)
    made = [[Fraction(w, sum(ws)) for w in ws] for ws in [data.draw(weights) for _ in range(n + 1)]]
    geometric = bounds.geometric_matrix(n, ratio=p)
    mixed = [
        [sum(g * t[j] for g, t in zip(row, made, strict=True)) for j in range(3)]
        for row in geometric
    ]
    assert all(p * mixed[i + 1][j] <= mixed[i][j] for i in range(n) for j in range(3))
    assert bounds.post_processing(mixed, ratio=p) == tuple(map(tuple, made))
    keeps = all(p * made[i + 1][j] <= made[i][j] for i in range(n) for j in range(3))
    assert (bounds.post_processing(made, ratio=p) is not None) == keeps


@pytest.mark.parametrize("bad", [math.nan, 0, 1, -1, 2, "x"])
def test_bad_ratios_are_refused(bad):
    with pytest.raises(errors.ParameterError, match="ratio"):
        bounds.geometric_matrix(1, ratio=bad)


def test_bad_matrices_are_refused():
    for matrix in ([], [[1, 1]], [[math.nan]], [["1/2", "1/2"], [1]], [[2, -1]]):
        with pytest.raises(errors.ParameterError):
            bounds.post_processing(matrix, ratio="1/2")
    with pytest.raises(errors.ParameterError, match="largest"):
        bounds.geometric_matrix(0, ratio="1/2")
