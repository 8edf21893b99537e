import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onesided import errors
from onesided_experiments.sampled_noise import SampledNoise

epsilons = st.fractions(Fraction(1, 20), 12, max_denominator=40)
MEASURES = ("squared", "variance", "absolute")
FORMS = [
    {"noise": noise, "rescale": rescale, "centre": centre}
    for noise in ("whole", "real")
    for rescale in (True, False)
    for centre in ("mean", "median")
]


def brute_force(count, epsilon, *, noise, rescale, centre):
    """Squared and absolute error by summing over both the binomial and the noise."""
    p, rate = -math.expm1(-epsilon), math.log1p(math.exp(epsilon))
    k = np.arange(count + 1)
    kept = np.array([math.comb(count, i) * p**i * (1 - p) ** (count - i) for i in k])
    if noise == "whole":
        draws = np.arange(int(60 / rate) + 2)
        chances = -math.expm1(-rate) * np.exp(-rate * draws)
        mean, median = 1 / math.expm1(rate), 0.0
    else:
        # Midpoints of a fine grid of an exponential's quantiles.
        share = (np.arange(200_000) + 0.5) / 200_000
        draws, chances = -np.log(share) / rate, np.full(share.size, 1 / share.size)
        mean, median = 1 / rate, math.log(2) / rate
    away = (k[:, None] + draws[None, :] - (mean if centre == "mean" else median)) / (
        p if rescale else 1
    ) - count
    weights = kept[:, None] * chances[None, :]
    return (weights * away**2).sum(), (weights * abs(away)).sum()


@pytest.mark.parametrize("form", FORMS, ids=lambda form: "-".join(map(str, form.values())))
@pytest.mark.parametrize(("count", "epsilon"), [(0, 1), (1, 0.25), (3, 2), (9, 0.5), (12, 4)])
def test_errors_are_those_of_enumeration(form, count, epsilon):
    known = SampledNoise(epsilon=epsilon, **form)
    squared, absolute = brute_force(count, epsilon, **form)
    near = 1e-9 if form["noise"] == "whole" else 1e-3
    found = known.error(count, measure="absolute")
    assert float(found.low) == pytest.approx(absolute, rel=near)
    assert found.high - found.low < found.high / 2**100
    if form["centre"] == "mean":
        assert float(known.error(count).low) == pytest.approx(squared, rel=near)


@given(epsilons, st.integers(0, 10**6))
@settings(max_examples=60)
def test_the_squared_errors_differ_by_q_f_less_one_over_p(epsilon, count):
    """So equation (3) wins for no count but 0, whatever ε is; at 1 they are level."""
    known = SampledNoise(epsilon=epsilon)
    ours, theirs = known.error(count), known.rival()
    q = math.exp(-float(epsilon))
    gap = q * (count - 1) / -math.expm1(-float(epsilon))
    assert float((ours.low + ours.high) / 2 - theirs.low) == pytest.approx(gap, rel=1e-9, abs=1e-60)
    assert known.wins(count) == (count == 0)
    if count == 1:
        assert ours.low <= theirs.high
        assert theirs.low <= ours.high


@given(epsilons)
@settings(max_examples=30)
def test_the_absolute_errors_are_level_at_0_and_1_and_lose_from_2(epsilon):
    known = SampledNoise(epsilon=epsilon)
    rival = known.rival(measure="absolute")
    for count in (0, 1):
        ours = known.error(count, measure="absolute")
        assert ours.low <= rival.high
        assert rival.low <= ours.high
    assert known.error(2, measure="absolute").low > rival.high
    assert known.reach(measure="absolute") == 0
    median = SampledNoise(epsilon=epsilon, centre="median")
    assert median.reach(measure="absolute") == 1


@given(epsilons)
@settings(max_examples=30)
def test_the_region_against_real_laplace_noise_is_the_formula(epsilon):
    """``f < (2 p^2/ε^2 - λ^2) / (p q)``, λ = 1/ln(1 + e^ε)."""
    e = float(epsilon)
    p, q, scale = -math.expm1(-e), math.exp(-e), 1 / math.log1p(math.exp(e))
    edge = (2 * p * p / e**2 - scale**2) / (p * q)
    if abs(edge - round(edge)) > 1e-6:
        found = SampledNoise(epsilon=epsilon, noise="real").reach()
        assert found == max(0, math.ceil(edge))
    raw = (2 / e**2 - scale**2) / (p * q)
    if abs(raw - round(raw)) > 1e-6:
        found = SampledNoise(epsilon=epsilon, noise="real", rescale=False)
        assert found.reach(measure="variance") == min(10**5, math.ceil(raw))


@pytest.mark.parametrize("form", FORMS, ids=lambda form: "-".join(map(str, form.values())))
@pytest.mark.parametrize("epsilon", ["0.1", 1, 4])
def test_no_error_falls_as_the_count_grows_so_reach_misses_no_count(form, epsilon):
    known = SampledNoise(epsilon=epsilon, **form)
    for measure in MEASURES if form["centre"] == "mean" else ("absolute",):
        found = [known.error(count, measure=measure) for count in range(40)]
        assert all(one.low <= two.high for one, two in pairwise(found))
        wins = [known.wins(count, measure=measure) for count in range(40)]
        assert wins == sorted(wins, reverse=True)
        assert min(known.reach(measure=measure), 40) == sum(wins)


def test_below_a_tenth_of_a_nat_it_wins_nowhere_and_then_the_region_grows():
    """The edge for f = 0 is at ε = √2 p ln(1 + e^ε), about 0.0915."""

    def reach(epsilon, **form):
        return SampledNoise(epsilon=epsilon, noise="real", **form).reach()

    assert [reach(e) for e in ("0.01", "0.05", "0.1", 1, 2, 4, 6, 8)] == [0, 0, 1, 1, 2, 4, 12, 47]
    low, high = Fraction(1, 100), Fraction(1)
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if reach(middle) else (middle, high)
    edge = float(low)
    assert edge == pytest.approx(math.sqrt(2) * -math.expm1(-edge) * math.log1p(math.exp(edge)))
    assert edge == pytest.approx(0.0915, abs=5e-4)


def test_a_smaller_share_with_less_noise_is_no_better():
    """Of all samples and rates that keep ε both ways, equation (3) has the least squared error."""
    for epsilon in (0.3, 1.0, 3.0):
        top, count = -math.expm1(-epsilon), 5

        def squared(p, e=epsilon, f=count):
            rate = math.log1p(math.expm1(e) / p)
            noise = math.exp(-rate) / math.expm1(-rate) ** 2
            return f * (1 - p) / p + noise / p**2

        assert squared(top) == pytest.approx(float(SampledNoise(epsilon=epsilon).error(count).low))
        assert all(squared(top * share) > squared(top) for share in np.linspace(0.05, 0.99, 40))


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, "x", None, 65, "1e-9"])
def test_bad_epsilons_are_refused(bad):
    with pytest.raises(errors.ParameterError):
        SampledNoise(epsilon=bad)


def test_bad_options_and_counts_are_refused():
    with pytest.raises(errors.ParameterError, match="whole"):
        SampledNoise(epsilon=1, noise="normal")
    known = SampledNoise(epsilon=1, centre="median")
    with pytest.raises(errors.ParameterError, match="median"):
        known.error(1)
    for bad in (-1, 1.5, math.nan, None, 10**6):
        with pytest.raises(errors.ParameterError):
            known.error(bad, measure="absolute")
    with pytest.raises(errors.ParameterError, match="worst"):
        SampledNoise(epsilon=1).error(1, measure="worst")
