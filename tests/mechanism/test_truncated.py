import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onesided as od
from onesided import errors, verify
from onesided.mechanism._certify import TruncatedCounts
from onesided.noise import NotPrivateSeededNoise
from onesided.policy import Shift

rates = st.fractions(Fraction(1, 50), 4, max_denominator=50)


def fall(total):
    return Shift(rise=0, fall=total)


def chances(rate, width):
    q = math.exp(-rate)
    return [(1 - q) * q**k / (1 - q ** (width + 1)) for k in range(width + 1)]


@given(rates, st.integers(1, 30), st.integers(0, 40))
@settings(max_examples=60)
def test_delta_is_the_probability_of_the_impossible(rate, width, total):
    law = chances(float(rate), width)
    one = math.fsum(law[max(0, width + 1 - total) :])
    together = TruncatedCounts(rate, width=width, per_key=max(1, total)).delta(fall(total))
    assert float(together) == pytest.approx(one, rel=1e-9, abs=1e-15)
    apart = TruncatedCounts(rate, width=width).delta(fall(total))
    assert float(apart) == pytest.approx(1 - (1 - law[-1]) ** total, rel=1e-9, abs=1e-13)
    assert 0 <= apart <= together <= 1 or total == 0


@given(rates, st.integers(1, 12), st.lists(st.integers(1, 4), min_size=1, max_size=4))
@settings(max_examples=60)
def test_no_split_of_a_fall_has_a_larger_delta(rate, width, parts):
    mechanism = TruncatedCounts(rate, width=width, per_key=4)
    safe = 1.0
    for part in parts:
        safe *= 1 - float(TruncatedCounts(rate, width=width, per_key=part).delta(fall(part)))
    assert 1 - safe <= float(mechanism.delta(fall(sum(parts)))) + 1e-12


@given(rates, st.fractions(Fraction(1, 10**6), Fraction(1, 2)), st.integers(1, 4))
@settings(max_examples=40)
def test_the_width_is_the_least_that_keeps_delta(epsilon, delta, groups):
    policy = od.policy.presence(max_groups=groups)
    mechanism = TruncatedCounts.for_policy(policy, epsilon=epsilon, delta=delta)
    assert mechanism.upper_rate == epsilon / groups
    assert mechanism.delta(fall(groups)) <= delta
    if mechanism.width > 1:
        less = TruncatedCounts(mechanism.upper_rate, width=mechanism.width - 1)
        assert less.delta(fall(groups)) > delta


def test_the_width_of_one_count_has_a_closed_form():
    for epsilon, delta in ((1, "1e-6"), ("0.1", "1e-9"), (3, "0.01")):
        mechanism = TruncatedCounts.for_policy(
            od.policy.addition_only(), epsilon=epsilon, delta=delta
        )
        rate = float(Fraction(epsilon))
        exact = math.log1p(math.expm1(rate) / float(delta)) / rate - 1
        assert mechanism.width == math.ceil(exact - 1e-9)


@pytest.mark.parametrize(("rate", "width"), [(0.3, 4), (1.0, 3), (2.0, 2)])
def test_no_noise_on_the_same_width_has_a_smaller_delta(rate, width):
    """A linear programme over all noise on 0 .. width, for a count that falls by one."""
    linprog = pytest.importorskip("scipy.optimize").linprog
    n = width + 1
    # Variables: Pr[T = k], then the excess over e^rate Pr[T = k + 1].
    rows = np.hstack([np.eye(n) - math.exp(rate) * np.eye(n, k=1), -np.eye(n)])
    best = linprog(
        [0] * n + [1] * n,
        A_ub=rows,
        b_ub=np.zeros(n),
        A_eq=[[1] * n + [0] * n],
        b_eq=[1],
        bounds=(0, None),
    )
    mechanism = TruncatedCounts(rate, width=width)
    assert best.fun == pytest.approx(float(mechanism.delta(fall(1))), abs=1e-9)


@given(st.lists(st.integers(0, 2**62), max_size=20), rates, st.integers(1, 50), st.integers(0, 99))
def test_both_bounds_are_never_wrong(counts, rate, width, seed):
    truth = np.array(counts, dtype=np.int64)
    mechanism = TruncatedCounts(rate, width=width)
    bounds = mechanism.interval(mechanism.release(truth, noise=NotPrivateSeededNoise(seed)))
    assert (bounds.lower <= truth).all()
    assert (truth <= bounds.upper).all()
    assert (bounds.upper - bounds.lower <= width).all()
    assert bounds.lower_certain
    assert bounds.upper_certain


def test_the_noise_follows_its_law_and_a_rate_ten_percent_off_is_rejected():
    pytest.importorskip("scipy")
    # False alarm 1e-6.
    mechanism = TruncatedCounts("0.3", width=12)
    noisy = mechanism.release(np.zeros(60_000, dtype=int), noise=NotPrivateSeededNoise(5))

    def law(rate):
        sums = np.cumsum(chances(rate, 12))
        return lambda k: 0.0 if k < 0 else float(sums[min(k, 12)])

    assert verify.agrees(noisy, law(0.3), cells=12).accepted
    assert verify.power(law(0.3), law(0.33), 60_000, cells=12) > 0.9999
    assert not verify.agrees(noisy, law(0.33), cells=12).accepted


def test_a_rise_is_not_hidden():
    mechanism = TruncatedCounts(1, width=3)
    assert mechanism.loss(Shift(rise=1, fall=0)) == od.INFINITE
    assert mechanism.loss(fall(2)) == 2
    with pytest.raises(errors.UnprotectableError):
        TruncatedCounts.for_policy(od.policy.unbounded(), epsilon=1, delta="0.1")


@pytest.mark.parametrize("bad", [0, 1, 2, -1, math.nan, math.inf, "x", None])
def test_bad_deltas_are_refused(bad):
    with pytest.raises(errors.ParameterError):
        TruncatedCounts.for_policy(od.policy.addition_only(), epsilon=1, delta=bad)


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, "1.5", None, 2**63])
def test_bad_widths_and_rates_are_refused(bad):
    with pytest.raises(errors.ParameterError):
        TruncatedCounts(1, width=bad)
    if bad != "1.5":
        with pytest.raises(errors.ParameterError):
            TruncatedCounts(bad, width=3)


def test_a_delta_that_no_width_reaches_is_refused():
    with pytest.raises(errors.ParameterError, match="No width"):
        TruncatedCounts.for_policy(
            od.policy.addition_only(), epsilon=1, delta=Fraction(1, 10**1000)
        )


class NoDraw:
    def __getattr__(self, name):
        pytest.fail(f"{name} was drawn")


@pytest.mark.parametrize("bad", [[-1], [1.0], [math.nan], [[1]], ["a"]])
def test_bad_counts_are_refused_before_anything_is_drawn(bad):
    with pytest.raises(errors.DataError):
        TruncatedCounts(1, width=3).release(bad, noise=NoDraw())
