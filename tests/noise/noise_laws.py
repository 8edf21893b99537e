"""Chi-square and moment tests with a stated false-alarm rate, for samplers of integers."""

from fractions import Fraction

import numpy as np
from scipy import stats

# Chance that a correct sampler fails one test. Seeds are fixed, so a run is reproducible.
FALSE_ALARM = 1e-6


def chi_square_p(draws, edges, cumulative):
    """p-value of the counts in cells (edges[i-1], edges[i]], the last one open."""
    chances = np.diff([0.0, *[cumulative(edge) for edge in edges], 1.0])
    cells = np.bincount(np.searchsorted(edges, draws, side="left"), minlength=len(edges) + 1)
    expected = chances * len(draws)
    return float(stats.chi2.sf(((cells - expected) ** 2 / expected).sum(), len(edges)))


def geometric_p(draws, rate):
    """Twenty-odd cells of about equal chance, or single values where there are few."""
    rate = float(rate)

    def cumulative(k):
        return -np.expm1(-rate * (k + 1))

    levels = np.arange(1, 24) / 24
    edges = np.unique(np.floor(-np.log1p(-levels) / rate))
    return min(1.0, 2 * min(chi_square_p(draws, edges, cumulative), mean_p(draws, rate)))


def mean_p(draws, rate):
    """Two-sided normal p-value of the mean; draws are many and their tails light."""
    odds = 1 / np.expm1(rate)
    deviation = np.sqrt(odds * (1 + odds) / len(draws))
    return float(2 * stats.norm.sf(abs(draws.mean() - odds) / deviation))


def binomial_p(draws, chance):
    """Two-sided exact p-value of the number of Trues."""
    return float(stats.binomtest(int(draws.sum()), len(draws), float(Fraction(chance))).pvalue)
