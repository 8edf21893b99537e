"""The discrete Gaussian: draws by chi-square, what is said against sums, and what cannot be."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from onesided import INFINITE
from onesided.errors import ParameterError
from onesided.noise import DiscreteGaussian, NotPrivateSeededNoise, SecureNoise
from onesided.noise.kit import masses_of
from onesided.verify import paths

# The chance that a right sampler fails one test; seeds are fixed.
FALSE_ALARM = 1e-6


def chances(variance, reach):
    values = np.arange(-reach, reach + 1)
    heights = np.exp(-(values**2) / (2 * float(variance)))
    return values, heights / heights.sum()


@pytest.mark.parametrize("variance", ["1/4", "1", "7/3", "100", "12345/7", "1000000"])
def test_draws_have_the_law(variance, long_form):
    size, spread = 400_000 if long_form else 40_000, float(Fraction(variance)) ** 0.5
    drawn = NotPrivateSeededNoise(5).gaussian(variance, size)
    values, law = chances(Fraction(variance), int(12 * spread) + 12)
    edges = np.unique(np.round(np.arange(-8, 9) / 4 * spread)) + 0.5
    expected = np.bincount(np.searchsorted(edges, values), weights=law) * size
    found = np.bincount(np.searchsorted(edges, drawn), minlength=expected.size)
    some = expected > 5
    statistic = ((found - expected) ** 2 / expected)[some].sum()
    assert stats.chi2.sf(statistic, some.sum() - 1) > FALSE_ALARM


def test_draws_of_few_and_of_many_have_one_law():
    noise = NotPrivateSeededNoise(8)
    few = np.array([noise.gaussian(4, 1)[0] for _ in range(3000)])
    many = noise.gaussian(4, 3000)
    table = [np.bincount(np.clip(some, -4, 4) + 4, minlength=9) for some in (few, many)]
    assert stats.chi2_contingency(table).pvalue > FALSE_ALARM


def test_it_is_drawn_in_production_and_along_all_paths():
    assert SecureNoise().gaussian(3, 5).dtype == np.int64
    assert SecureNoise().gaussian(3, 0).size == 0
    found = dict(paths(lambda noise: int(noise.gaussian("1/2", 1)[0]), tail=1e-12))
    for value, chance in found.items():
        assert chance == pytest.approx(masses_of(Fraction(1, 2))[0][abs(value)] / 2**256)


@pytest.mark.parametrize("variance", [0, -1, "1/2048", 2**79, INFINITE, math.nan, "x", None])
def test_variances_that_are_none(variance):
    for asked in (DiscreteGaussian, lambda one: SecureNoise().gaussian(one, 1)):
        with pytest.raises(ParameterError, match=r"variance|parameter"):
            asked(variance)


@pytest.mark.parametrize(
    "variance", [Fraction(1, 1024), Fraction(1, 3), Fraction(9), Fraction(999)]
)
def test_masses_are_above_the_truth_by_nothing_that_can_be_seen(variance):
    masses, beyond = masses_of(variance)
    total = 2 * sum(masses) - masses[0] + 2 * beyond
    assert 2**256 <= total <= 2**256 + 2**20
    values, law = chances(variance, len(masses))
    assert masses[0] / 2**256 == pytest.approx(law[values == 0][0])


@pytest.mark.parametrize("variance", ["1/3", "50", "1025", "100000000"])
@pytest.mark.parametrize("share", ["1/2", "39/40", Fraction(10**9 - 1, 10**9)])
def test_quantiles_are_hardly_above_the_least(variance, share):
    values, law = chances(Fraction(variance), int(10 * float(Fraction(variance)) ** 0.5) + 9)
    above = law.sum() - np.cumsum(law)
    least = int(values[np.flatnonzero(above <= float(1 - Fraction(share)) + 1e-13)[0]])
    found = DiscreteGaussian(variance).quantile_upper(share)
    assert least <= found <= least + 2
    assert DiscreteGaussian(variance).quantile_lower(share) == -found


def test_quantiles_at_the_ends():
    law = DiscreteGaussian(4)
    assert law.quantile_upper(1) is None
    assert law.quantile_lower(1) is None
    assert law.quantile_upper(1 - Fraction(1, 10**400)) > law.quantile_upper("0.99")
    with pytest.raises(ParameterError, match="at least 1/2"):
        law.quantile_upper("0.4")
    assert (law.mean(), law.median()) == (0, 0)
    assert law.tail_above(0) < Fraction(1, 2)
