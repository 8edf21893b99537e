"""Do the draws follow the law? Each test also rejects the law at a rate 10 % off."""

import importlib.util
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from onesided import INFINITE
from onesided.noise import NotPrivateSeededNoise, TwoSidedGeometric

_SPEC = importlib.util.spec_from_file_location(
    "noise_laws", Path(__file__).with_name("noise_laws.py")
)
laws = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(laws)

RATES = [
    Fraction(1, 2**40),
    Fraction(1, 1000),
    Fraction(1, 17),
    Fraction(1, 10),
    Fraction(1),
    Fraction(3),
]


def size_for(long_form):
    return 10**7 if long_form else 4 * 10**5


@pytest.fixture
def noise():
    return NotPrivateSeededNoise(20260101)


@pytest.mark.parametrize("rate", RATES, ids=str)
def test_geometric(rate, noise, long_form):
    draws = noise.geometric(rate, size_for(long_form))
    assert laws.geometric_p(draws, rate) > laws.FALSE_ALARM
    for wrong in (Fraction(9, 10), Fraction(11, 10)):
        assert laws.geometric_p(draws, rate * wrong) < laws.FALSE_ALARM


@pytest.mark.parametrize("rate", RATES, ids=str)
def test_geometric_one_at_a_time(rate, noise):
    draws = np.concatenate([noise.geometric(rate, 8) for _ in range(3000)])
    assert laws.geometric_p(draws, rate) > laws.FALSE_ALARM
    for wrong in (Fraction(9, 10), Fraction(11, 10)):
        assert laws.geometric_p(draws, rate * wrong) < laws.FALSE_ALARM


def test_geometric_at_rate_10(noise, long_form):
    # Pr[G > 0] = 4.5e-5: judged by how many draws are not 0.
    draws = noise.geometric(10, 10**8 // 2 if long_form else 2 * 10**7)
    assert laws.binomial_p(draws > 0, Fraction(math.exp(-10))) > laws.FALSE_ALARM
    for wrong in (9, 11):
        assert laws.binomial_p(draws > 0, Fraction(math.exp(-wrong))) < laws.FALSE_ALARM


def test_geometric_at_rate_1024_is_0(noise):
    # Pr[G > 0] = e^-1024. Rate 10 % off cannot be told by drawing; its thresholds are tested.
    assert not noise.geometric(1024, 10**6).any()
    assert not noise.geometric(1024, 3).any()


def test_low_bits_of_factored_draws_are_independent_of_the_rest(noise):
    # Rate 1/1000 is split: L = G mod 128 and H = G div 128 must be independent.
    draws = noise.geometric(Fraction(1, 1000), 10**6)
    table = np.zeros((8, 16))
    np.add.at(table, (np.minimum(draws // 128, 7), draws % 128 // 8), 1)
    assert stats.chi2_contingency(table).pvalue > laws.FALSE_ALARM


@pytest.mark.parametrize(
    ("upper", "lower"),
    [(1, 1), (Fraction(1, 10), 1), (1, INFINITE), (INFINITE, Fraction(1, 3)), (3, Fraction(1, 20))],
    ids=str,
)
def test_two_sided(upper, lower, noise, long_form):
    draws = noise.two_sided(upper, lower, size_for(long_form))

    def p_value(scale):
        law = TwoSidedGeometric(
            *[r if r is INFINITE else r * Fraction(scale) for r in (upper, lower)]
        )
        support = range(int(draws.min()), int(draws.max()) + 1)
        cumulative = dict(zip(support, np.cumsum([law.pmf(k) for k in support]), strict=True))
        edges = [k for k in support if 1e-3 < cumulative[k] < 0.999]
        outside = law.tail_below(support[0])
        return laws.chi_square_p(draws, edges, lambda k: cumulative[k] + float(outside))

    assert p_value("1") > laws.FALSE_ALARM
    assert p_value("0.9") < laws.FALSE_ALARM
    assert p_value("1.1") < laws.FALSE_ALARM


@pytest.mark.parametrize("size", [5, 200_000])
@pytest.mark.parametrize("chance", [Fraction(1, 3), Fraction(1, 2), Fraction(9, 10)], ids=str)
def test_bernoulli(chance, size, noise):
    draws = np.concatenate([noise.bernoulli(chance, size) for _ in range(20_000 // size + 1)])
    assert laws.binomial_p(draws, chance) > laws.FALSE_ALARM
    assert laws.binomial_p(draws, chance * Fraction(9, 10)) < laws.FALSE_ALARM


def test_bernoulli_of_a_small_chance(noise):
    chance = Fraction(1, 10**4)
    draws = noise.bernoulli(chance, 10**7)
    assert laws.binomial_p(draws, chance) > laws.FALSE_ALARM
    assert laws.binomial_p(draws, chance * Fraction(5, 4)) < laws.FALSE_ALARM


@pytest.mark.parametrize("size", [5, 200_000])
@pytest.mark.parametrize("rate", [Fraction(1, 10), Fraction(1), Fraction(5, 2)], ids=str)
def test_bernoulli_exp(rate, size, noise):
    draws = np.concatenate([noise.bernoulli_exp(rate, size) for _ in range(200_000 // size + 1)])
    for trues, chance in ((draws, math.exp(-rate)), (~draws, -math.expm1(-rate))):
        assert laws.binomial_p(trues, chance) > laws.FALSE_ALARM
    for wrong in (0.9, 1.1):
        assert laws.binomial_p(draws, math.exp(-rate * wrong)) < laws.FALSE_ALARM


def test_certain_coins_take_no_bits():
    from onesided.noise import NotPrivateScriptedNoise

    silent = NotPrivateScriptedNoise([])
    assert silent.bernoulli(0, 20).tolist() == [False] * 20
    assert silent.bernoulli(1, 20).tolist() == [True] * 20
    assert silent.bernoulli_exp(INFINITE, 20).tolist() == [False] * 20
    assert silent.geometric(INFINITE, 20).tolist() == [0] * 20
    assert silent.two_sided(INFINITE, INFINITE, 20).tolist() == [0] * 20
    assert silent.geometric([INFINITE] * 20, 20).tolist() == [0] * 20
    assert silent.uniform(1, 20).tolist() == [0] * 20
    assert silent.geometric(1, 0).tolist() == []


@pytest.mark.parametrize("below", [2, 3, 7, 100, 1000])
def test_uniform(below, noise):
    counts = np.bincount(noise.uniform(below, 300_000), minlength=below)
    assert len(counts) == below
    assert stats.chisquare(counts).pvalue > laws.FALSE_ALARM
    # The nearest wrong law: the remainder of a number with too few bits.
    skewed = 1 + 0.1 * (np.arange(below) < (below + 1) // 2)
    wrong = counts.sum() * skewed / skewed.sum()
    assert stats.chisquare(counts, wrong).pvalue < laws.FALSE_ALARM


@pytest.mark.parametrize("below", [2**62, 2**62 - 1, 2**33 + 1])
def test_uniform_of_large_bounds(below, noise):
    draws = noise.uniform(below, 200_000)
    assert draws.min() >= 0
    assert draws.max() < below
    counts = np.bincount((draws.astype(float) / below * 64).astype(int), minlength=64)[:64]
    assert stats.chisquare(counts).pvalue > laws.FALSE_ALARM


def test_many_rates_follow_each_its_own_law(noise):
    rates = [Fraction(1), Fraction(1, 10), Fraction(1, 1000)]
    codes = np.arange(300_000) % 3
    draws = noise.geometric([rates[c] for c in codes], 300_000)
    for code, rate in enumerate(rates):
        assert laws.geometric_p(draws[codes == code], rate) > laws.FALSE_ALARM
        assert laws.geometric_p(draws[codes == code], rate * Fraction(11, 10)) < laws.FALSE_ALARM


def test_distinct_rates_follow_the_probability_transform(noise):
    # F(G) is near uniform at small rates; 4,000 different ones.
    rates = [Fraction(1, 10**5 + i) for i in range(4000)]
    draws = noise.geometric(rates, 4000)
    transformed = -np.expm1(-draws * np.array([float(rate) for rate in rates]))
    assert stats.kstest(transformed, "uniform").pvalue > laws.FALSE_ALARM
    off = -np.expm1(-draws * 0.7 * np.array([float(rate) for rate in rates]))
    assert stats.kstest(off, "uniform").pvalue < laws.FALSE_ALARM
