import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onesided as od
from onesided import errors
from onesided.mechanism import UnknownKeys
from onesided.noise import NotPrivateSeededNoise
from onesided.policy import Shift

COUNTS = st.lists(st.integers(0, 2**40), max_size=40)


@given(COUNTS, st.integers(0, 20), st.integers(0, 2**32))
def test_answers_are_never_above_the_truth_and_absent_keys_stay_absent(counts, threshold, seed):
    true = np.array(counts, dtype=np.int64)
    mechanism = UnknownKeys("1/2", threshold=threshold)
    told = mechanism.release(true, noise=NotPrivateSeededNoise(seed))
    assert (told <= true).all()
    assert ((told == 0) | (told > threshold)).all()
    assert (told[true == 0] == 0).all()


@given(COUNTS)
def test_without_noise_it_is_the_histogram(counts):
    true = np.array(counts, dtype=np.int64)
    assert UnknownKeys(od.INFINITE).release(true).tolist() == counts


def test_a_key_appears_with_the_right_chance_and_a_wrong_rate_is_seen():
    # 200,000 keys of count 3 at rate 1/2 above threshold 1; six deviations: false alarm 2e-9.
    mechanism, runs = UnknownKeys("1/2", threshold=1), 200_000
    told = mechanism.release([3] * runs, noise=NotPrivateSeededNoise(3))
    found = int((told > 0).sum())

    def fits(chance):
        return abs(found - runs * chance) <= 6 * math.sqrt(runs * chance * (1 - chance))

    assert fits(mechanism.chance(3))
    assert mechanism.chance(3) == pytest.approx(1 - math.exp(-1))
    assert not fits(UnknownKeys("11/20", threshold=1).chance(3))
    assert mechanism.chance(1) == 0
    assert UnknownKeys(od.INFINITE).chance(1) == 1
    for value in (2, 3):
        share = np.exp(-0.5 * (3 - value)) * -np.expm1(-0.5)
        count = int((told == value).sum())
        assert abs(count - runs * share) <= 6 * math.sqrt(runs * share)


@given(st.integers(0, 9), st.integers(0, 3))
def test_loss_is_for_rises_and_infinite_for_falls(rise, fall):
    expected = Fraction(rise, 3) if fall == 0 else od.INFINITE
    assert UnknownKeys("1/3").loss(Shift(rise=rise, fall=fall)) == expected


def test_rates_follow_from_the_policy():
    def rate(policy, **query):
        return UnknownKeys.for_policy(policy, epsilon=1, **query).lower_rate

    private = od.policy.sensitive("x")
    assert rate(private, counted=["open"]) == 1
    assert rate(private, counted=["open"], max_groups=4) == Fraction(1, 4)
    assert rate(od.policy.extended_sensitive("x"), counted=["open"]) == 1
    assert rate(od.policy.removal_only(), max_groups=2) == Fraction(1, 2)
    tiers = od.policy.tiers({"a": ("1/3", "x"), "b": (2, "y"), "rest": od.INFINITE})
    assert rate(tiers, counted=["rest"]) == Fraction(1, 3)


@pytest.mark.parametrize(
    "policy",
    [
        od.policy.bounded(),
        od.policy.unbounded(),
        od.policy.addition_only(),
        od.policy.sensitive("x"),
        od.policy.proposition("p"),
        od.policy.presence(max_groups=2),
        od.policy.graph([("a", "b")]),
    ],
    ids=lambda policy: policy.name,
)
def test_policies_with_falls_are_refused(policy):
    with pytest.raises(errors.UnprotectableError, match="may have to pass") as caught:
        UnknownKeys.for_policy(policy, epsilon=1)
    assert "public keys" in caught.value.hint


RATES = st.fractions("1/2", 4, max_denominator=20)
SHARES = st.fractions("1/100000", "1/3", max_denominator=10**6)


def powers(mechanism):
    """e^upper and e^lower in fifty digits; without end where counts do not go that way."""
    for one in (mechanism.upper_rate, mechanism.lower_rate):
        known = one != od.INFINITE
        yield (Decimal(one.numerator) / one.denominator).exp() if known else Decimal("Infinity")


def largest_chances(mechanism):
    """Desfontaines, Voss, Gipson, Mandayam 2022, Theorem 1, with a rate for each direction."""
    up, down = powers(mechanism)
    share = Decimal(mechanism.key_delta.numerator) / mechanism.key_delta.denominator
    chances = [Decimal(0)]
    while chances[-1] < 1:
        falls = up * chances[-1] + share
        chances.append(min(Decimal(1), falls, 1 - (1 - chances[-1] - share) / down))
    return chances


@given(RATES, RATES | st.just(od.INFINITE), SHARES)
@settings(max_examples=12, deadline=None)
def test_keys_are_told_with_the_largest_chances_and_values_cost_nothing(upper, lower, share):
    with localcontext(prec=50):
        made = UnknownKeys(lower, upper_rate=upper, key_delta=share)
        chances = largest_chances(made)
        assert len(chances) == made.width + 2
        for count, chance in enumerate(chances):
            assert made.chance(count) == pytest.approx(float(chance), rel=1e-8)
        assert made.chance(made.width + 9) == 1
        # δ, of the whole law of what is told at each count, beside the one above it.
        laws = [told_at(made, count) for count in range(made.width + 4)]
        up, down = powers(made)
        worst = max(beyond(more, less, up) for less, more in pairwise(laws))
        assert worst <= share
        assert float(worst) == pytest.approx(float(share), rel=1e-8)
        if lower != od.INFINITE:
            worst = max(beyond(less, more, down) for less, more in pairwise(laws))
            assert worst <= share
            assert float(worst) == pytest.approx(float(share), rel=1e-8)


def told_at(mechanism, count):
    """The law of the value that is told of such a count; 0 is not told."""
    steps = np.diff([Fraction(0), *mechanism._running[1:]])
    law = {
        count - v: Decimal(p.numerator) / p.denominator for v, p in enumerate(steps) if v < count
    }
    return {**law, 0: 1 - sum(law.values())}


def beyond(one, other, power):
    """How much of a law is beyond so many times another one."""
    return sum(max(p - power * other.get(value, 0), 0) for value, p in one.items() if p > 0)


def test_from_how_many_units_a_key_is_certain():
    falls = UnknownKeys(od.INFINITE, upper_rate=1, key_delta="1e-6")
    both = UnknownKeys(1, upper_rate=1, key_delta="1e-6")
    assert [falls.chance(14) < 1, falls.chance(15), both.chance(27) < 1, both.chance(28)] == [1] * 4
    assert both.delta(Shift(rise=0, fall=0)) == 0
    # Several keys of one unit.
    one, three = (float(both.delta(Shift(rise=0, fall=n))) for n in (1, 3))
    assert three == pytest.approx(1 - (1 - one) ** 3)


def test_values_have_their_law_and_a_wrong_one_is_seen():
    # 200,000 keys of count 3; six deviations at each of five values: false alarm 1e-8.
    made, runs = UnknownKeys("3/2", upper_rate=2, key_delta="1/20"), 200_000
    told = made.release([3] * runs, noise=NotPrivateSeededNoise(5))

    def fits(law):
        return all(
            abs(int((told == value).sum()) - runs * float(p)) <= 6 * math.sqrt(runs * float(p))
            for value, p in law.items()
        )

    assert fits(told_at(made, 3))
    assert not fits(told_at(UnknownKeys("3/2", upper_rate=2, key_delta="1/18"), 3))
    assert set(told) <= {0, 1, 2, 3}


@given(COUNTS, st.integers(0, 20), st.integers(0, 2**32))
def test_at_a_delta_values_lie_within_the_width_below_the_truth(counts, threshold, seed):
    true = np.array(counts, dtype=np.int64)
    made = UnknownKeys(1, upper_rate=1, key_delta="1/50", threshold=threshold)
    told = made.release(true, noise=NotPrivateSeededNoise(seed))
    assert ((told == 0) | (told > threshold) & (told <= true) & (true - told <= made.width)).all()
    assert (told[true > threshold + made.width] > 0).all()


@pytest.mark.parametrize(
    "given_",
    [
        {"key_delta": "1/9"},
        {"upper_rate": 1},
        {"upper_rate": 1, "key_delta": 1},
        {"upper_rate": 1, "key_delta": -1},
        {"upper_rate": 1, "key_delta": math.nan},
        {"upper_rate": "1e-9", "key_delta": "1e-9"},
    ],
)
def test_a_delta_that_cannot_be_meant(given_):
    with pytest.raises(errors.ParameterError):
        UnknownKeys(1, **given_)


@pytest.mark.parametrize("delta", [0, 1, -1, math.nan, True, "x"])
def test_a_share_for_a_policy_that_cannot_be_meant(delta):
    with pytest.raises(errors.ParameterError):
        UnknownKeys.for_policy(od.policy.unbounded(), epsilon=1, delta=delta)


@pytest.mark.parametrize("rate", [0, -1, math.nan, math.inf, True, "x", 2**11, "1e-20"])
def test_rates_that_cannot_be_meant(rate):
    with pytest.raises(errors.ParameterError):
        UnknownKeys(rate)


@pytest.mark.parametrize("threshold", [-1, "1/2", math.nan, True, 2**63])
def test_thresholds_that_cannot_be_meant(threshold):
    with pytest.raises(errors.ParameterError):
        UnknownKeys(1, threshold=threshold)


@pytest.mark.parametrize("counts", [[-1], [[1]], [0.5], [2**63 - 1]])
def test_counts_that_cannot_be_counts(counts):
    with pytest.raises(errors.DataError):
        UnknownKeys(1).release(counts)
