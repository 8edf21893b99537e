import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import onesided as od
from onesided import errors
from onesided.mechanism import UnknownKeys, mean_relative_error
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


def test_mean_relative_error_over_a_domain_nobody_can_list():
    # Two keys occur; the other 64^5 - 2 are answered 0 without error, or with 1/2 each.
    true, told = [4, 0], [2, 1]
    domain = 64**5
    assert mean_relative_error(true, told, domain=2) == 0.75
    assert mean_relative_error(true, told, domain=domain) == pytest.approx(1.5 / domain)
    noisy = mean_relative_error(true, told, domain=domain, absent_error="1/2")
    assert noisy == pytest.approx((1.5 + (domain - 2) / 2) / domain)
    assert mean_relative_error([], [], domain=10) == 0
    assert mean_relative_error([1], [3], domain=1, least=4) == 0.5


@pytest.mark.parametrize(
    "given_",
    [
        ([1, 2], [1], {"domain": 4}),
        ([1, 2], [1, 2], {"domain": 1}),
        ([math.nan], [1], {"domain": 1}),
        ([1], [1], {"domain": 1, "least": 0}),
        ([1], [1], {"domain": 1, "absent_error": -1}),
    ],
)
def test_errors_that_cannot_be_averaged(given_):
    true, told, options = given_
    with pytest.raises(errors.OnesidedError):
        mean_relative_error(true, told, **options)
