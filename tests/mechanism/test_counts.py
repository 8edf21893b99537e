import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onesided as od
from onesided import errors
from onesided.mechanism import AtMost, Counts
from onesided.mechanism._fit import Move, choose, variance
from onesided.noise import NotPrivateSeededNoise
from onesided.policy import Shift

COUNTS = np.array([0, 1, 5, 1000, 2**40])


def rates(policy, **query):
    mechanism = Counts.for_policy(policy, **{"epsilon": 1, **query})
    return mechanism.upper_rate, mechanism.lower_rate


def test_rates_follow_from_the_policy():
    half = Fraction(1, 2)
    assert rates(od.policy.bounded()) == (half, half)
    assert rates(od.policy.unbounded()) == (1, 1)
    assert rates(od.policy.addition_only()) == (1, od.INFINITE)
    assert rates(od.policy.removal_only()) == (od.INFINITE, 1)
    assert rates(od.policy.sensitive("x")) == (half, half)
    assert rates(od.policy.sensitive("x"), counted=["open"]) == (od.INFINITE, 1)
    assert rates(od.policy.presence(max_groups=3)) == (Fraction(1, 3), od.INFINITE)
    assert rates(od.policy.presence(max_groups=3), truncated=True) == (Fraction(1, 6),) * 2
    assert rates(od.policy.unbounded(), max_groups=4) == (Fraction(1, 4),) * 2


def test_nothing_moves_means_nothing_is_hidden():
    policy = od.policy.custom(kinds=["a", "b"], edges=[("a", "a")])
    exact = Counts.for_policy(policy, epsilon=1, counted=["b"])
    assert exact.release(COUNTS).tolist() == COUNTS.tolist()


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 3), st.fractions(Fraction(1, 20), 8)),
        min_size=1,
        max_size=4,
    )
)
@settings(max_examples=60)
def test_chosen_rates_are_feasible_and_no_grid_point_is_better(demands):
    edge = od.policy.addition_only().edges[0]
    bounds = [Move(edge, Shift(rise=r, fall=f), loss) for r, f, loss in demands]
    upper, lower = choose(bounds)
    for bound in bounds:
        assert upper * bound.shift.fall + lower * bound.shift.rise <= bound.loss
    if od.INFINITE in (upper, lower) or not any(b.shift.rise and b.shift.fall for b in bounds):
        return
    ceiling = min(b.loss / b.shift.fall for b in bounds if b.shift.fall)
    best = variance(float(upper)) + variance(float(lower))
    for share in range(1, 50):
        a = ceiling * share / 50
        b = min((x.loss - a * x.shift.fall) / x.shift.rise for x in bounds if x.shift.rise)
        if b > 0:
            assert variance(float(a)) + variance(float(b)) >= best * (1 - 1e-6)


@given(st.integers(0, 5), st.integers(0, 5))
def test_loss_prices_each_direction_on_its_own(rise, fall):
    both = Counts("1/2", 3)
    assert both.loss(Shift(rise=rise, fall=fall)) == Fraction(fall, 2) + 3 * rise
    upper_only = Counts(1, od.INFINITE)
    assert upper_only.loss(Shift(rise=rise, fall=fall)) == (od.INFINITE if rise else fall)


def test_one_sided_answers_are_never_on_the_wrong_side():
    noise = NotPrivateSeededNoise(1)
    many = np.repeat(COUNTS, 2000)
    assert (Counts(1, od.INFINITE).release(many, noise=noise) >= many).all()
    assert (Counts(od.INFINITE, 1).release(many, noise=noise) <= many).all()


def test_certain_bounds_are_certain_and_the_others_hold_as_often_as_said():
    # False alarms: 40,000 trials per side at a true coverage of at least 95 %; a coverage below
    # 94.4 % has probability under 1e-7.
    for upper, lower in ((1, od.INFINITE), (od.INFINITE, "1/3"), ("1/2", "1/5")):
        mechanism = Counts(upper, lower)
        truth = np.full(40_000, 500)
        noisy = mechanism.noisy(truth, noise=NotPrivateSeededNoise(2))
        found = mechanism.interval(noisy)
        assert found.upper_certain == (lower is od.INFINITE)
        assert found.lower_certain == (upper is od.INFINITE)
        above, below = (found.upper >= truth).mean(), (found.lower <= truth).mean()
        assert above == 1 if found.upper_certain else 0.944 < above < 1
        assert below == 1 if found.lower_certain else 0.944 < below < 1


def test_corrections_centre_the_answer():
    truth = np.full(200_000, 1000)
    for upper, lower in ((1, od.INFINITE), (od.INFINITE, "1/2"), ("1/4", 1)):
        noise = NotPrivateSeededNoise(3)
        unbiased = Counts(upper, lower, correction="mean").release(truth, noise=noise)
        spread = Counts(upper, lower).distribution.variance() ** 0.5
        # Six standard errors: false alarm 2e-9.
        assert abs(unbiased.mean() - 1000) < 6 * spread / math.sqrt(truth.size)
        centred = Counts(upper, lower, correction="median").release(truth, noise=noise)
        assert centred.dtype == np.int64
        assert np.median(centred) == 1000


def test_clipping_keeps_zero_at_zero():
    mechanism = Counts(od.INFINITE, "1/10", correction="median", clip=True)
    noisy = mechanism.release(np.zeros(1000, dtype=np.int64), noise=NotPrivateSeededNoise(4))
    assert (noisy == 0).all()


def test_decision_power_meets_the_bound():
    # 200,000 trials per count; six standard errors: false alarm 2e-9 each.
    decision = AtMost(5, upper_rate="1/2")
    for count in range(8):
        power = decision.power(count)
        assert power == pytest.approx(max(0.0, -math.expm1(-0.5 * (6 - count))), abs=1e-12)
        certified = decision.release(np.full(200_000, count), noise=NotPrivateSeededNoise(5))
        error = math.sqrt(power * (1 - power) / certified.size)
        assert abs(certified.mean() - power) <= 6 * error


def test_decision_is_never_wrong():
    certified = AtMost(5, upper_rate=3).release(np.full(100_000, 6), noise=NotPrivateSeededNoise(6))
    assert not certified.any()


def test_a_decision_needs_a_policy_without_rises():
    assert AtMost.for_policy(
        od.policy.presence(max_groups=2), threshold=3, epsilon=1
    ).upper_rate == Fraction(1, 2)
    with pytest.raises(errors.UnprotectableError, match="at most"):
        AtMost.for_policy(od.policy.bounded(), threshold=3, epsilon=1)


BAD_COUNTS = {
    "negative": [1, -1],
    "floats": [1.0, 2.0],
    "nan": [math.nan],
    "text": ["a"],
    "matrix": [[1, 2]],
    "overflow": [2**62 + 1],
    "unsigned overflow": np.array([2**63 + 5], dtype=np.uint64),
    "booleans": [True],
    "scalar": 3,
}


@pytest.mark.parametrize("values", BAD_COUNTS.values(), ids=BAD_COUNTS)
def test_bad_counts_are_refused_before_anything_is_drawn(values):
    class NoDraw:
        def two_sided(self, *_):
            pytest.fail("drawn")

    with pytest.raises(errors.DataError) as caught:
        Counts(1, 1).release(values, noise=NoDraw())
    assert caught.value.hint


@pytest.mark.parametrize("bad", [0, -1, "nan", "inf", "abc", math.nan, math.inf, 2**11])
def test_bad_rates_and_epsilons_are_refused(bad):
    with pytest.raises(errors.ParameterError):
        Counts(bad, 1)
    with pytest.raises(errors.ParameterError):
        Counts.for_policy(od.policy.addition_only(), epsilon=bad)
    with pytest.raises(errors.ParameterError):
        AtMost(3, upper_rate=bad)


@pytest.mark.parametrize("bad", [-1, 1.5, "nan", math.nan])
def test_bad_thresholds_are_refused(bad):
    with pytest.raises(errors.ParameterError):
        AtMost(bad, upper_rate=1)


def test_bad_options_are_refused():
    with pytest.raises(errors.ParameterError, match="correction"):
        Counts(1, 1, correction="mode")
    with pytest.raises(errors.ParameterError, match="confidence"):
        Counts(1, 1).interval(np.array([1]), confidence=1)
    with pytest.raises(errors.PolicyError, match="no kind"):
        Counts.for_policy(od.policy.bounded(), epsilon=1, counted=["open"])


def test_empty_input_gives_an_empty_answer():
    assert Counts(1, 1).release([]).size == 0


def test_mechanisms_are_frozen_and_comparable():
    assert Counts(1, "1/2") == Counts(Fraction(1), 0.5)
    with pytest.raises(AttributeError):
        Counts(1, 1).upper_rate = 5
