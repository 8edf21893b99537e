"""What real-valued noise costs, against integrals."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import onesided as od
from onesided import errors
from onesided_experiments import bounds


def _integral(function, low, high, steps=400_000):
    x, width = np.linspace(low, high, steps, retstep=True)
    return float(np.sum((function(x[:-1]) + function(x[1:])) / 2) * width)


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1), Fraction(3)])
def test_erratum_6_root_two_over_epsilon_is_a_standard_deviation(epsilon):
    e = float(epsilon)
    laplace = bounds.laplace_noise(epsilon)
    reach = 60 / e
    mean = _integral(lambda x: np.abs(x) * e / 2 * np.exp(-e * np.abs(x)), -reach, reach)
    square = _integral(lambda x: x**2 * e / 2 * np.exp(-e * np.abs(x)), -reach, reach)
    assert float(laplace.mean_absolute) == pytest.approx(mean, rel=1e-6) == 1 / e
    assert float(laplace.variance) == pytest.approx(square, rel=1e-6)
    assert math.sqrt(laplace.variance) == pytest.approx(math.sqrt(2) / e)
    for correction, centre in (("none", 0.0), ("mean", 1 / e), ("median", math.log(2) / e)):
        found = bounds.exponential_noise(epsilon, correction=correction)
        error = _integral(lambda x, c=centre: np.abs(x - c) * e * np.exp(-e * x), 0, reach)
        assert float(found.mean_absolute) == pytest.approx(error, rel=1e-5)
        assert float(found.bias) == pytest.approx(1 / e - centre, abs=1e-12)
        assert found.variance * 2 == laplace.variance
    uncorrected = bounds.exponential_noise(epsilon)
    assert uncorrected.mean_absolute == laplace.mean_absolute


def test_real_valued_noise_refuses_what_cannot_be_meant():
    for call in (
        lambda: bounds.laplace_noise(-1),
        lambda: bounds.exponential_noise(math.nan),
        lambda: bounds.exponential_noise(1, correction="mode"),
    ):
        with pytest.raises(errors.ParameterError):
            call()


def test_the_library_hands_them_on():
    for name in bounds.__all__:
        assert getattr(od.bounds, name) is getattr(bounds, name)


def test_the_example_of_the_paper_on_samples():
    assert bounds.sampling_crossing(bins=10**4, epsilon="0.1") == 221_035
    assert bounds.sampling_loses(221_035, bins=10**4, epsilon="0.1")
    assert not bounds.sampling_loses(221_034, bins=10**4, epsilon="0.1")
    assert bounds.laplace_error(10**4, epsilon="0.1") == 200_000


@pytest.mark.parametrize("sensitive", [0, 1, 3])
def test_the_error_of_a_sample_is_the_enumerated_one(sensitive):
    keep, records = 1 - math.exp(-0.5), 5
    expected = sum(
        (records - sum(kept)) * math.prod(keep if k else 1 - keep for k in kept)
        for kept in product((0, 1), repeat=records - sensitive)
    )
    found = bounds.sampling_error(records, epsilon="1/2", sensitive=sensitive)
    assert float(found) == pytest.approx(expected)


def test_sampling_refuses_what_cannot_be_meant():
    for call in (
        lambda: bounds.sampling_crossing(bins=0, epsilon=1),
        lambda: bounds.sampling_crossing(bins=1, epsilon=3000),
        lambda: bounds.sampling_crossing(bins=1, epsilon=math.nan),
        lambda: bounds.sampling_loses(-1, bins=1, epsilon=1),
        lambda: bounds.sampling_loses(1, bins=1, epsilon=0),
        lambda: bounds.sampling_error(1, epsilon=1, sensitive=2),
    ):
        with pytest.raises(errors.ParameterError):
            call()
