"""Directed loss distributions: never below full enumeration, and no further above than stated."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onesided as od
from onesided import accounting as acc
from onesided import errors
from onesided._numbers import INFINITE
from onesided.accounting import Bound, LossDistribution
from onesided.accounting import _losses as pld
from onesided.bounds._limits import exp_neg
from onesided.mechanism import AtMost, Counts
from onesided.noise import TwoSidedGeometric
from onesided.policy import Shift
from onesided.verify import paths

SLACK = 1e-9
rates = st.sampled_from([Fraction(1, 2), Fraction(3, 4), Fraction(1), Fraction(2), INFINITE])
epsilons = st.fractions(0, 4, max_denominator=8)


def law(upper, lower, reach=70):
    """Probabilities of the noise; what is cut off is below 1e-14."""
    noise = TwoSidedGeometric(upper, lower)
    return {k: noise.pmf(k) for k in range(-reach, reach + 1) if noise.pmf(k) > 0}


def moved(pmf, by):
    return {k + by: weight for k, weight in pmf.items()}


def hockey_stick(pairs, epsilon):
    """Exact δ(ε) of independent releases, each a pair of distributions (X, Y)."""
    total, e = 0.0, math.exp(float(epsilon))
    for outputs in product(*[pair[0].items() for pair in pairs]):
        real = math.prod(weight for _, weight in outputs)
        other = math.prod(pair[1].get(k, 0.0) for (k, _), pair in zip(outputs, pairs, strict=True))
        total += max(0.0, real - e * other)
    return total


@settings(max_examples=60)
@given(rates, rates, st.integers(0, 3), st.integers(0, 3), epsilons)
def test_one_count_is_exactly_what_enumeration_finds_in_each_direction(up, low, fall, rise, eps):
    noise = law(up, low)
    down = acc.counts_loss(Counts(up, low), Shift(rise=0, fall=fall))
    exact = hockey_stick([(moved(noise, fall), noise)], eps)
    assert exact - SLACK <= float(down.delta(eps)) <= exact + SLACK
    up_ = acc.counts_loss(Counts(up, low), Shift(rise=rise, fall=0))
    exact = hockey_stick([(noise, moved(noise, rise))], eps)
    assert exact - SLACK <= float(up_.delta(eps)) <= exact + SLACK


@settings(max_examples=25)
@given(st.lists(st.tuples(rates, rates, st.integers(-2, 2)), min_size=2, max_size=2), epsilons)
def test_two_releases_are_exactly_what_enumeration_finds(releases, eps):
    total, pairs = acc.certain_loss(0), []
    for up, low, shift in releases:
        noise = law(up, low, reach=45)
        pairs.append((moved(noise, shift), noise))
        total = total + acc.counts_loss(
            Counts(up, low), Shift(rise=max(0, -shift), fall=max(0, shift))
        )
    exact = hockey_stick(pairs, eps)
    assert exact - SLACK <= float(total.delta(eps)) <= exact + SLACK


@settings(max_examples=40)
@given(rates, rates, st.integers(0, 2), st.integers(0, 2), epsilons)
def test_shifts_spread_over_counts_lose_no_more_than_shifts_of_one_count(up, low, one, two, eps):
    noise = law(up, low, reach=45)
    spread = hockey_stick([(moved(noise, one), noise), (moved(noise, two), noise)], eps)
    joined = acc.counts_loss(Counts(up, low), Shift(rise=0, fall=one + two))
    assert spread <= float(joined.delta(eps)) + SLACK
    smaller = acc.counts_loss(Counts(up, low), Shift(rise=0, fall=one))
    assert smaller.delta(eps) <= joined.delta(eps) + Fraction(1, 2**60)


def test_shipped_code_run_on_every_path_loses_no_more_than_the_total():
    """Two answers of one mechanism, drawn by the shipped release."""
    mechanism = Counts(1, Fraction(1, 2))

    def table(count):
        found = {}
        run = paths(
            lambda noise: tuple(int(mechanism.noisy([count], noise=noise)[0]) for _ in range(2)),
            tail=1e-9,
        )
        for output, weight in run:
            found[output] = found.get(output, 0.0) + weight
        return found

    real, other = table(1), table(0)
    total = acc.counts_loss(mechanism, Shift(rise=0, fall=1)).times(2)
    for eps in (0, Fraction(1, 2), 1, Fraction(3, 2)):
        exact = hockey_stick([(real, other)], eps)
        assert exact - 1e-6 <= float(total.delta(eps)) <= exact + 1e-6


@pytest.mark.parametrize("threshold", [0, 2])
def test_the_decision_loses_no_more_than_its_count_and_exactly_that_at_the_threshold(threshold):
    decision = AtMost(threshold, upper_rate=Fraction(1, 2))
    for fall in (1, 2):
        most = acc.counts_loss(decision, Shift(rise=0, fall=fall))
        found = 0.0
        for count in range(fall, 6):
            pair = []
            for true in (count, count - fall):
                yes = decision.power(true)
                pair.append({"yes": yes, "no": 1 - yes})
            for eps in (0, 1):
                assert hockey_stick([pair], eps) <= float(most.delta(eps)) + SLACK
            found = max(found, hockey_stick([pair], 0))
        if fall <= threshold + 1:
            assert found == pytest.approx(float(most.delta(0)))
    rise = acc.counts_loss(decision, Shift(rise=1, fall=0))
    assert rise.largest == INFINITE
    certain = 1 - math.exp(-0.5)
    assert float(rise.delta(9)) == pytest.approx(certain)


@given(st.integers(1, 19).map(lambda k: Fraction(k, 20)), epsilons)
def test_a_sample_in_each_direction(p, eps):
    kept = [{"seen": float(p), "not": float(1 - p)}, {"not": 1.0}]
    away = acc.sample_loss(p, removal=False)
    assert float(away.delta(eps)) == pytest.approx(hockey_stick([kept], eps), abs=1e-12)
    back = acc.sample_loss(p, removal=True)
    assert float(back.delta(eps)) == pytest.approx(hockey_stick([kept[::-1]], eps), abs=1e-12)
    assert back.epsilon(0) == acc.sampling_removal(p).epsilon
    assert away.epsilon(p + Fraction(1, 2**100)) == 0
    assert away.epsilon(p / 2) == INFINITE


def test_directions_are_never_folded_together():
    """One-sided noise: certain loss one way, infinite the other; each total says its own."""
    mechanism = Counts(1, od.INFINITE)
    fall = acc.counts_loss(mechanism, Shift(rise=0, fall=1)).times(3)
    rise = acc.counts_loss(mechanism, Shift(rise=1, fall=0)).times(3)
    assert float(fall.epsilon("1e-6")) == pytest.approx(3, abs=1e-5)
    assert fall.epsilon(0) == 3
    assert rise.epsilon("1e-6") == INFINITE
    assert float(rise.delta(100)) == pytest.approx(1 - math.exp(-3))
    total = acc.tight_guarantee(
        od.policy.unbounded(),
        {"record -> absent": [fall], "absent -> record": [rise]},
        delta="1e-6",
    )
    assert total.epsilon["absent -> record"] == INFINITE
    assert total.epsilon["record -> absent"] < INFINITE
    assert set(total.delta.values()) == {Fraction(1, 10**6)}


def test_many_small_releases_cost_less_than_their_sum():
    one = acc.counts_loss(Counts("1/10", "1/10"), Shift(rise=0, fall=1))
    total = one.times(100)
    assert total.largest == 10
    assert float(total.epsilon("1e-6")) == pytest.approx(4.7746, abs=1e-3)
    assert total.epsilon(0) == 10
    # The binomial of the losses, independently.
    x = (1 - math.exp(-0.1)) / (1 - math.exp(-0.2))
    direct = sum(
        math.comb(100, k)
        * x**k
        * (1 - x) ** (100 - k)
        * max(0, 1 - math.exp(2 - (2 * k - 100) / 10))
        for k in range(101)
    )
    assert float(total.delta(2)) == pytest.approx(direct, rel=1e-9)


@settings(max_examples=40)
@given(
    st.integers(1, 12).map(lambda k: Fraction(k, 6)),
    st.integers(1, 12).map(lambda k: Fraction(k, 6)),
    st.integers(1, 40),
    epsilons,
)
def test_a_total_is_not_below_the_truth_by_a_hair_nor_above_it_by_two(up, low, count, eps):
    """The binomial sum in fractions, each factor rounded down: at most 2^-80 of slack."""
    (p, p_high), (q, q_high) = exp_neg(up), exp_neg(low)
    x = (1 - q_high) / (1 - p * q_high)
    y = q * (1 - p_high) / (1 - p_high * q)
    least = Fraction(0)
    for k in range(count + 1):
        loss = up * k - low * (count - k)
        if loss > eps:
            gain = 1 - exp_neg(loss - eps)[1]
            least += math.comb(count, k) * x**k * y ** (count - k) * gain
    found = acc.two_sided_loss(up, low, fall=1).times(count).delta(eps)
    assert least <= found <= least + Fraction(1, 2**80)


@given(st.fractions(0, 2, max_denominator=20), st.fractions(0, 2, max_denominator=20), epsilons)
def test_two_way_bounds_are_met_by_randomised_response(forward, backward, eps):
    """The worst mechanism with both bounds; a two-sided count keeps them and is no worse."""
    loss = acc.two_way_loss(forward, backward)
    if forward + backward:
        f, b = math.exp(float(-forward)), math.exp(float(-backward))
        x = (1 - b) / (1 - f * b)
        pair = ({0: x, 1: 1 - x}, {0: x * f, 1: (1 - x) / b})
        assert sum(pair[1].values()) == pytest.approx(1)
        found = float(loss.delta(eps))
        assert found == pytest.approx(hockey_stick([pair], eps), abs=1e-12)
    if forward and backward:
        counted = (
            acc.two_sided_loss(forward / 2, backward / 2, fall=2)
            if min(forward, backward) > Fraction(1, 100)
            else acc.two_sided_loss(forward, backward, fall=1)
        )
        assert counted.delta(eps) <= loss.delta(eps) + Fraction(1, 2**60)


def test_a_promise_in_one_direction_gains_nothing_by_tight_accounting():
    loss = acc.bound_loss(Bound("1/2", "1/100")).times(2)
    assert loss.largest == INFINITE
    assert loss.delta(1) == pytest.approx(Fraction(199, 10_000))
    assert loss.epsilon("2/100") <= 1
    assert acc.bound_loss(Bound(INFINITE, 1)).delta(9) == 1
    assert acc.bound_loss(Bound(-1, "1/2")).delta(0) == Fraction(1, 2)


def test_several_shifts_are_covered_by_the_worst_of_them():
    mechanism = Counts(1, 2)
    shifts = [Shift(rise=0, fall=2), Shift(rise=1, fall=0), Shift(rise=1, fall=1)]
    joined = acc.counts_loss(mechanism, shifts)
    for shift in shifts:
        alone = acc.counts_loss(mechanism, shift)
        for eps in (0, 1, 2, Fraction(5, 2), 3):
            assert alone.delta(eps) <= joined.delta(eps)
            assert alone.times(3).delta(eps) <= joined.times(3).delta(eps)
    assert joined.largest == 3
    assert acc.worst_of([acc.certain_loss(INFINITE), acc.certain_loss(1)]).delta(5) == 1
    assert acc.worst_of([acc.certain_loss(1), acc.certain_loss(2)]).largest == 2


def test_a_coarse_grid_only_ever_loses_more(monkeypatch):
    releases = [
        acc.two_sided_loss(Fraction(1, 7 + i), Fraction(1, 3 + i), fall=2) for i in range(6)
    ]
    fine = acc.total_loss(releases)
    monkeypatch.setattr(pld, "MOST_POINTS", 64)
    coarse = acc.total_loss(releases)
    assert len(coarse.masses) <= 64 < len(fine.masses)
    for eps in (0, Fraction(1, 2), 1):
        assert fine.delta(eps) <= coarse.delta(eps) <= fine.delta(eps) + Fraction(1, 10)


@given(st.lists(st.tuples(st.integers(3, 60), st.integers(1, 12)), min_size=2, max_size=3))
@settings(max_examples=15)
def test_many_of_several_kinds_lose_no_less_than_exactly_and_hardly_more(kinds):
    releases, losses, shares = [], np.zeros(1), np.ones(1)
    for k, count in kinds:
        size = Fraction(1, 1000 + k)
        releases += [acc.two_way_loss(size, size)] * count
        up = np.arange(count + 1)
        p = 1 / (1 + math.exp(-float(size)))
        binomial = [math.comb(count, n) * p**n * (1 - p) ** (count - n) for n in up]
        losses = np.add.outer(losses, float(size) * (2 * up - count)).ravel()
        shares = np.multiply.outer(shares, binomial).ravel()
    total = acc.total_loss(releases)
    assert Fraction(total.infinite, pld.UNIT) < Fraction(1, 2**60)
    for eps in (-1, 0, Fraction(1, 1000), Fraction(1, 100)):
        exact = float(shares @ np.maximum(0, -np.expm1(float(eps) - losses)))
        assert exact - SLACK <= float(total.delta(eps)) <= 1.001 * exact + SLACK


def test_huge_shifts_fall_back_to_what_both_bounds_say():
    far = acc.two_sided_loss("1/1000", "1/1000", fall=1000)
    assert far.largest == 1
    near = acc.two_sided_loss("1/1000", "1/1000", fall=400)
    assert near.delta("1/10") <= far.delta("1/10")


@given(epsilons, st.fractions(0, 1, max_denominator=1000))
def test_epsilon_and_delta_are_inverse_up_to_rounding(eps, delta):
    total = acc.two_sided_loss(1, "1/2", fall=2).times(3)
    found = total.epsilon(delta)
    assert total.delta(found) <= delta
    if found > 0:
        assert total.delta(found - Fraction(1, 2**30)) > delta
    assert total.epsilon(total.delta(eps)) <= eps + Fraction(1, 2**30)


@given(rates, rates, st.integers(0, 3), st.integers(1, 9))
def test_no_probability_is_ever_lost_to_rounding(up, low, fall, count):
    one = acc.two_sided_loss(up, low, fall=fall)
    assert pld.UNIT <= sum(one.masses) + one.infinite <= pld.UNIT + 2**20
    many = one.times(count) + acc.sample_loss("1/3", removal=False)
    assert pld.UNIT <= sum(many.masses) + many.infinite <= pld.UNIT + 2**20


def test_nothing_released_loses_nothing():
    assert acc.total_loss([]).delta(0) == 0
    assert acc.total_loss([]).epsilon(0) == 0
    assert acc.two_sided_loss(1, 1, fall=0).delta(0) == 0
    assert acc.two_sided_loss(INFINITE, INFINITE, fall=1).delta(0) == 1
    assert acc.two_way_loss(0, 0).delta(0) == 0


@pytest.mark.parametrize("bad", [math.nan, -1, math.inf, "x", None])
def test_bad_numbers_are_refused(bad):
    total = acc.certain_loss(1)
    for call in (
        lambda: acc.certain_loss(bad),
        lambda: acc.two_way_loss(bad, 1),
        lambda: acc.two_way_loss(1, bad),
        lambda: acc.two_sided_loss(bad, 1, fall=1),
        lambda: acc.two_sided_loss(1, 1, fall=bad),
        lambda: total.epsilon(bad),
        lambda: total.times(bad),
    ):
        with pytest.raises(errors.ParameterError):
            call()
    for call in (lambda: total.delta(math.nan), lambda: total.times(0), lambda: acc.worst_of([])):
        with pytest.raises(errors.ParameterError):
            call()
    with pytest.raises(errors.PolicyError, match="each edge"):
        acc.tight_guarantee(od.policy.unbounded(), {"record -> absent": []}, delta=0)
    with pytest.raises(errors.ParameterError):
        acc.tight_guarantee(od.policy.addition_only(), {"record -> absent": []}, delta=math.nan)


def test_the_long_product_is_the_convolution():
    one, two = [1, 2**128, 0, 5], [3, 2**127 + 1]
    direct = [0] * 5
    for i, x in enumerate(one):
        for j, y in enumerate(two):
            direct[i + j] += x * y
    assert pld._convolve(one, two) == direct
    assert pld._convolve([], two) == []
    empty = LossDistribution(Fraction(0), Fraction(0), (), pld.UNIT)
    assert (empty + acc.certain_loss(1)).delta(0) == 1
