"""Objective perturbation: the baseline's arithmetic. Its privacy is the paper's, on paper."""

import math

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.linear_model import LogisticRegression

from onesided import errors, mechanism
from onesided_experiments.baselines._objective import ObjectivePerturbation, _minimum


def data(records=600, width=5, seed=3):
    random = np.random.default_rng(seed)
    rows = random.normal(size=(records, width))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    truth = np.array([3.0, -2.0, 0.0, 1.0, 0.5])[:width]
    return rows, random.random(records) < 1 / (1 + np.exp(-rows @ truth))


def test_with_much_epsilon_it_is_the_regression_of_scikit_learn():
    rows, labels = data()
    strength = 0.01
    theirs = LogisticRegression(
        C=1 / (strength * len(rows)), fit_intercept=False, tol=1e-10, max_iter=1000
    ).fit(rows, labels)
    ours = ObjectivePerturbation(epsilon=2**30, regularisation=strength)
    for features in (rows, sparse.csr_array(rows)):
        found = ours.fit(features, labels, random=np.random.default_rng(0))
        assert found == pytest.approx(theirs.coef_[0], abs=1e-5)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1, 8])
@pytest.mark.parametrize("strength", [1e-6, 1e-3, 1])
def test_epsilon_is_spent_on_curvature_and_noise_and_no_more(epsilon, strength):
    """Theorem 9: the determinants cost 2 ln(1 + c / (n (Λ + Δ))), the noise ε'."""
    records = 500
    noise, extra = ObjectivePerturbation(epsilon=epsilon, regularisation=strength).split(records)
    curvature = 2 * math.log1p(0.25 / (records * (strength + extra)))
    assert noise > 0
    assert extra >= 0
    assert curvature + noise == pytest.approx(epsilon)


def test_the_minimum_is_one():
    rows, labels = data(records=50)
    push, signs = np.linspace(-1, 2, 5), np.where(labels, 1.0, -1.0)
    found = _minimum(rows, signs, 0.1, push)
    slope = 0.1 * found + push - rows.T @ (signs / (1 + np.exp(signs * (rows @ found)))) / 50
    assert np.abs(slope).max() < 1e-6


def test_the_noise_has_the_length_and_the_direction_of_the_paper():
    """One record far from deciding: weights are -b / (n (Λ + Δ)), up to the record's small pull.

    Kolmogorov-Smirnov at 1e-6 for the length; it must also reject lengths 10 % too long.
    """
    asked = ObjectivePerturbation(epsilon="0.01", regularisation=1)
    noise, extra = asked.split(1)
    random, width = np.random.default_rng(8), 3
    draws = np.array([asked.fit(np.zeros((1, width)), [True], random=random) for _ in range(3000)])
    lengths = np.linalg.norm(draws, axis=1) * (1 + extra)
    law = stats.gamma(width, scale=2 / noise)
    assert stats.kstest(lengths, law.cdf).pvalue > 1e-6
    assert stats.kstest(lengths * 1.1, law.cdf).pvalue < 1e-6
    ways = draws / np.linalg.norm(draws, axis=1, keepdims=True)
    assert np.abs(ways.mean(axis=0)).max() < 5 / math.sqrt(3 * len(draws))


def worst_loss(asked, one, two, *, share=1.0):
    """The largest log-ratio of the densities of a single weight, b being a function of it.

    The density at w is that of the b which makes w the minimum, times |db/dw|.
    """
    noise, extra = asked.split(len(one))
    grid = np.linspace(-60, 60, 40_001)

    def log_density(data):
        bend = len(data) * (float(asked.regularisation) + extra)
        pull = sum(y * x / (1 + np.exp(np.clip(y * x * grid, -700, 700))) for x, y in data)
        ends = [1 / (4 * np.cosh(np.clip(x * grid / 2, -300, 300)) ** 2) for x, _ in data]
        slope = bend + sum(x * x * end for (x, _), end in zip(data, ends, strict=True))
        return -share * noise / 2 * np.abs(bend * grid - pull) + np.log(slope)

    return np.abs(log_density(one) - log_density(two)).max()


@pytest.mark.parametrize("epsilon", [0.1, 1, 4])
@pytest.mark.parametrize("strength", [0.01, 1])
def test_one_weight_loses_no_more_than_epsilon_and_at_five_times_the_rate_it_does(
    epsilon, strength
):
    """The paper bounds the change of a gradient by 2; a single weight can reach only 1."""
    asked = ObjectivePerturbation(epsilon=epsilon, regularisation=strength)
    noise, _ = asked.split(2)
    records = [(x, y) for x in (0.0, 0.5, 1.0) for y in (-1, 1)]
    pairs = [([(0.3, 1), a], [(0.3, 1), b]) for a in records for b in records]
    worst = max(worst_loss(asked, *pair) for pair in pairs)
    assert worst <= epsilon * (1 + 1e-9)
    assert worst >= 0.4 * noise
    assert max(worst_loss(asked, *pair, share=5) for pair in pairs) > epsilon


def test_less_epsilon_ranks_worse():
    rows, labels = data(records=2000)

    def wrong(epsilon):
        fits = ObjectivePerturbation(epsilon=epsilon, regularisation="0.001")
        return np.mean(
            [
                ((rows @ fits.fit(rows, labels, random=np.random.default_rng(s)) > 0) != labels)
                for s in range(15)
            ]
        )

    assert wrong(10) < wrong("0.01") - 0.1


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, True, "x", None, 2**41])
def test_bad_parameters_are_refused(bad):
    for given in ({"epsilon": bad, "regularisation": 1}, {"epsilon": 1, "regularisation": bad}):
        with pytest.raises(errors.ParameterError):
            ObjectivePerturbation(**given)


@pytest.mark.parametrize(
    ("features", "labels", "said"),
    [
        (np.ones((2, 2)), [True, False], "longer than 1"),
        (np.array([[0.1], [np.nan]]), [True, False], "Row 1"),
        (np.array([[0.1], [np.inf]]), [True, False], "Row 1"),
        (sparse.csr_array(np.ones((2, 2))), [True, False], "longer than 1"),
        (np.zeros((2, 2)), [True], "do not go with"),
        (np.zeros(2), [True, False], "do not go with"),
        (np.zeros((0, 2)), np.zeros(0, dtype=bool), "do not go with"),
        (np.zeros((2, 2)), [0, 1], "truth values"),
    ],
)
def test_bad_data_is_refused_before_anything_is_drawn(features, labels, said):
    random = np.random.default_rng(1)
    before = random.bit_generator.state
    with pytest.raises(errors.DataError, match=said):
        ObjectivePerturbation(epsilon=1, regularisation=1).fit(features, labels, random=random)
    assert random.bit_generator.state == before


def test_it_is_not_among_the_mechanisms():
    assert not any("bjective" in name for name in mechanism.__all__)
