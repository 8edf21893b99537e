"""Errata 4, 5, 6, 8 and 11 of docs/papers-errata.md, each with its smallest counterexample."""

import math
from fractions import Fraction

import pytest

import onesided as od
from onesided import bounds
from onesided.noise import TwoSidedGeometric


def test_erratum_4_the_path_is_counted_from_false_to_true():
    """Two data sets; X (True) must pass as Y (False), and not the other way round.

    Yes with certainty on X and half the time on Y keeps ε = ln 2 along X -> Y. The printed bound,
    with the path from X, would allow a power of 3/4 only.
    """
    on_x, on_y = {"yes": 1.0, "no": 0.0}, {"yes": 0.5, "no": 0.5}
    assert all(on_x[o] <= 2 * on_y[o] for o in on_x)
    epsilon = Fraction(math.log(2))
    printed = bounds.power_bound("1/2", epsilon=epsilon, from_false=1)
    right = bounds.power_bound("1/2", epsilon=epsilon, to_false=1)
    assert float(printed) == pytest.approx(0.75)
    assert on_x["yes"] > printed
    assert float(right) == pytest.approx(1)


def test_erratum_4_the_printed_path_misses_the_limit_altogether():
    """Presence: a count of 0 never has to pass as more, so the printed path does not exist.

    Yet no mechanism certifies "nobody was here" more often than 1 - e^-ε.
    """
    policy = od.policy.presence(max_groups=1)
    nobody, somebody = policy.records(["here"], max_groups=1)
    assert policy.distance(nobody, somebody) == od.INFINITE
    assert policy.distance(somebody, nobody) == 1
    assert bounds.true_positive_adp(epsilon=1, from_false=od.INFINITE) == 1
    most = bounds.true_positive_adp(epsilon=1, from_false=1)
    assert float(most) == pytest.approx(1 - math.exp(-1))
    assert od.mechanism.AtMost(0, upper_rate=1).power(0) == pytest.approx(float(most), abs=1e-15)


def test_erratum_5_the_fraction_is_the_other_way_up():
    """alpha = 1/4, beta = 1/2: as printed ε would have to be below ln(1/2) < 0, so never."""
    assert math.log((1 / 4) / (1 / 2)) < 0
    need = bounds.epsilon_needed_dp("1/4", "1/2", to_false=1)
    assert float(need) == pytest.approx(math.log(2))
    # ε = ln 2 does reach it: yes with 1/4 on Y and 1/2 on X.
    assert bounds.power_bound("1/4", epsilon=need, to_false=1) >= Fraction(1, 2)
    assert bounds.power_bound("1/4", epsilon="0.69", to_false=1) < Fraction(1, 2)


def test_erratum_6_the_lower_bound_it_is_said_to_meet_is_no_bound():
    """ADP-2021 Theorem 3: no ε-DP count has mean error below √2/ε. Geometric noise at ε = 1 has."""
    noise = TwoSidedGeometric(1, 1)
    error = sum(abs(k) * noise.pmf(k) for k in range(-60, 61))
    assert error < 1 < math.sqrt(2)


@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(1), Fraction(2)])
def test_erratum_8_real_valued_noise_is_one_step_short_until_it_is_floored(rate):
    """t = 0, f = 0: exponential noise is at most 0 with probability 0; floored, with 1 - e^-ε."""
    for count, threshold in ((0, 0), (2, 4)):
        real = 1 - math.exp(-float(rate) * (threshold - count))
        # floor(count + E) <= t iff E < t + 1 - count.
        floored = 1 - math.exp(-float(rate) * (threshold + 1 - count))
        most = bounds.true_positive_adp(epsilon=rate, from_false=threshold + 1 - count)
        assert real < most
        assert floored == pytest.approx(float(most), abs=1e-15)
        shipped = od.mechanism.AtMost(threshold, upper_rate=rate).power(count)
        assert shipped == pytest.approx(floored, abs=1e-14)


@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(1)])
def test_erratum_8_is_of_adp_2022_and_not_of_adp_2021(rate):
    """ADP-2021's "fewer than T" is z < T on real noise: with T = t + 1 it meets the bound."""
    for count, threshold in ((0, 1), (2, 5)):
        fewer = 1 - math.exp(-float(rate) * (threshold - count))
        most = bounds.true_positive_adp(epsilon=rate, from_false=threshold - count)
        assert fewer == pytest.approx(float(most), abs=1e-15)
        # ADP-2022 Corollary V.6 for the same question, at most T - 1, promises as much.
        printed = 1 - math.exp(-float(rate) * (threshold - 1 - count))
        assert printed < float(most)


def test_erratum_11_the_mass_at_the_end_is_given_twice():
    """n = 1, f = 0, e^-ε = 1/2: the printed lines give the answer 1 both 1/2 and 1/4."""
    first, second = Fraction(1, 2), (1 - Fraction(1, 2)) * Fraction(1, 2)
    below = 1 - Fraction(1, 2)
    assert below + first + second != 1
    assert below + second != 1
    matrix = bounds.geometric_matrix(1, ratio="1/2")
    assert matrix == ((below, first), (0, 1))
    assert all(sum(row) == 1 for row in bounds.geometric_matrix(5, ratio="1/3"))
