"""The law of D against Decimal sums, and its bounds against the law."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

from onesided import INFINITE
from onesided.errors import ParameterError
from onesided.noise import TwoSidedGeometric

PAIRS = [
    (1, 1),
    (Fraction(1, 10), 1),
    (2, Fraction(1, 5)),
    (1, INFINITE),
    (INFINITE, Fraction(1, 3)),
    (INFINITE, INFINITE),
    (10, 1024),
]


def chance(rate):
    return (
        Decimal(0)
        if rate is INFINITE
        else (-Decimal(Fraction(rate).numerator) / Decimal(Fraction(rate).denominator)).exp()
    )


def exact_pmf(upper, lower, reach=800):
    """Convolution of two geometrics, written out, in 60 digits."""
    with localcontext() as context:
        context.prec = 60
        p, q = chance(upper), chance(lower)
        law = {}
        for k in range(-40, 41):
            total, first = Decimal(0), max(0, k)
            for g in range(first, first + reach):
                total += (1 - p) * p**g * (1 - q) * q ** (g - k)
            law[k] = total
        return law


def safe_power(base, exponent):
    return Decimal(1) if exponent == 0 else base**exponent


def closed_tail(upper, lower, k):
    with localcontext() as context:
        context.prec = 120
        p, q = chance(upper), chance(lower)
        if k >= -1:
            return (1 - q) * safe_power(p, k + 1) / (1 - p * q)
        return 1 - (1 - p) * safe_power(q, -k) / (1 - p * q)


@pytest.mark.parametrize(("upper", "lower"), [(1, 1), (Fraction(1, 10), 1), (2, Fraction(1, 5))])
def test_pmf_is_the_convolution(upper, lower):
    law, exact = TwoSidedGeometric(upper, lower), exact_pmf(upper, lower)
    for k, truth in exact.items():
        assert law.pmf(k) == pytest.approx(float(truth), rel=1e-12)


@pytest.mark.parametrize(("upper", "lower"), PAIRS, ids=str)
def test_tails_bound_the_truth_closely(upper, lower):
    law, mirror = TwoSidedGeometric(upper, lower), TwoSidedGeometric(lower, upper)
    for k in range(-30, 31):
        truth = closed_tail(upper, lower, k)
        with localcontext() as context:
            context.prec = 120
            bound = law.tail_above(k)
            gap = Decimal(bound.numerator) / Decimal(bound.denominator) - truth
            assert -(Decimal(10) ** -100) <= gap <= Decimal(2) ** -200
        assert law.tail_below(k) == mirror.tail_above(-k)
        assert float(law.tail_above(k - 1) - law.tail_above(k)) == pytest.approx(
            law.pmf(k), abs=1e-15
        )


@pytest.mark.parametrize("confidence", ["0.05", "0.5", "0.95", "0.999999", 1 - Fraction(1, 10**90)])
@pytest.mark.parametrize(
    ("upper", "lower"), [*PAIRS, (Fraction(1, 2**40), Fraction(1, 2**40)), (1024, 1)], ids=str
)
def test_quantiles_are_the_first_that_hold(upper, lower, confidence):
    law, miss = TwoSidedGeometric(upper, lower), 1 - Fraction(confidence)
    above, below = law.quantile_upper(confidence), law.quantile_lower(confidence)
    if miss > Fraction(1, 2**200):
        assert law.tail_above(above) <= miss < law.tail_above(above - 1)
        assert law.tail_below(below) <= miss < law.tail_below(below + 1)
    assert TwoSidedGeometric(lower, upper).quantile_upper(confidence) == -below


def test_known_quantiles():
    one_sided = TwoSidedGeometric(INFINITE, 1)
    # Pr[D < -k] = e^-(k + 1) <= 1/20 first at k = 2.
    assert one_sided.quantile_lower("0.95") == -2
    assert one_sided.quantile_upper("0.95") == 0
    assert one_sided.quantile_upper(1) == 0
    assert one_sided.quantile_lower(1) is None
    assert TwoSidedGeometric(1, INFINITE).quantile_upper(1) is None
    assert TwoSidedGeometric(INFINITE, INFINITE).quantile_upper(1) == 0
    with pytest.raises(ParameterError, match="above 0"):
        one_sided.quantile_upper(0)
    with pytest.raises(ParameterError):
        one_sided.quantile_lower("1.5")
    with pytest.raises(ParameterError):
        TwoSidedGeometric(0, 1)


def test_quantiles_are_remembered():
    from onesided.noise import _geometric

    remembered = _geometric._quantile_upper
    assert remembered.cache_info().maxsize == 1024
    law = TwoSidedGeometric("7/3", "1/11")
    first = law.quantile_upper("0.95"), law.quantile_lower("0.95"), law.median()
    misses = remembered.cache_info().misses
    twin = TwoSidedGeometric(Fraction(7, 3), Fraction(1, 11))
    again = twin.quantile_upper(Fraction(19, 20)), twin.quantile_lower("0.95"), twin.median()
    assert again == first == (law.search(Fraction(1, 20)), again[1], law.search(Fraction(1, 2)))
    assert remembered.cache_info().misses == misses


def test_medians():
    assert TwoSidedGeometric(1, 1).median() == 0
    assert TwoSidedGeometric(INFINITE, INFINITE).median() == 0
    # The least k with 1 - e^-(k+1)/10 >= 1/2 is 6: 7 >= 10 ln 2 > 6.
    assert TwoSidedGeometric("1/10", INFINITE).median() == 6
    assert TwoSidedGeometric(INFINITE, "1/10").median() in {-6, -7}


@pytest.mark.parametrize(("upper", "lower"), PAIRS[:5], ids=str)
def test_moments_are_sums_of_the_law(upper, lower):
    law = TwoSidedGeometric(upper, lower)
    support = range(-700, 701)
    mean = math.fsum(k * law.pmf(k) for k in support)
    assert law.mean() == pytest.approx(mean, rel=1e-12, abs=1e-12)
    variance = math.fsum((k - mean) ** 2 * law.pmf(k) for k in support)
    assert law.variance() == pytest.approx(variance, rel=1e-12)


def test_extremes():
    law = TwoSidedGeometric(Fraction(1, 2**40), 1024)
    assert law.mean() == pytest.approx(2**40 - 0.5, rel=1e-12)
    assert law.variance() == pytest.approx(2.0**80, rel=1e-9)
    assert law.pmf(10**18) == 0.0
    assert law.pmf(-1) == pytest.approx(0, abs=1e-300)
    assert TwoSidedGeometric(INFINITE, INFINITE).pmf(0) == 1.0
    assert TwoSidedGeometric(INFINITE, INFINITE).pmf(3) == 0.0
    assert TwoSidedGeometric(1, 2) == TwoSidedGeometric("1", 2.0)
    assert hash(TwoSidedGeometric(1, 2)) == hash(TwoSidedGeometric("1", 2.0))
