"""The distribution tests themselves: how often they lie, and that they can say no."""

import pytest

import onesided as od
from onesided import errors
from onesided.noise import NotPrivateSeededNoise, SecureNoise
from onesided.verify import agrees, geometric_law, paths, power, two_sided_law

LAWS = [("1", od.INFINITE), ("1/10", "1/5"), (od.INFINITE, "1/3"), ("1/1000", "1/7"), ("2", "2")]
DRAWS = 100_000


@pytest.mark.parametrize(("upper", "lower"), LAWS)
def test_the_shipped_samplers_follow_their_law(upper, lower):
    draws = NotPrivateSeededNoise(7).two_sided(upper, lower, DRAWS)
    assert agrees(draws, two_sided_law(upper, lower)).accepted


def test_the_secure_sampler_follows_its_law():
    """Not seeded: a right sampler fails here once in a million runs."""
    assert agrees(SecureNoise().geometric("1/3", DRAWS), geometric_law("1/3")).accepted


@pytest.mark.parametrize(("upper", "lower"), LAWS)
@pytest.mark.parametrize("factor", ["9/10", "11/10"])
def test_a_rate_wrong_by_a_tenth_is_rejected(upper, lower, factor):
    from fractions import Fraction

    def scaled(rate):
        return rate if rate is od.INFINITE else Fraction(rate) * Fraction(factor)

    wrong = NotPrivateSeededNoise(8).two_sided(scaled(upper), scaled(lower), DRAWS)
    right = two_sided_law(upper, lower)
    assert not agrees(wrong, right).accepted
    assert power(right, two_sided_law(scaled(upper), scaled(lower)), DRAWS) > 0.999


def test_false_alarms_come_as_often_as_stated():
    """At a rate of 1 in 20, about 50 of 1000 right samples are rejected."""
    noise = NotPrivateSeededNoise(9)
    law = geometric_law("1/5")
    alarms = sum(
        not agrees(noise.geometric("1/5", 2000), law, cells=10, false_alarm=0.05).accepted
        for _ in range(1000)
    )
    assert 30 <= alarms <= 75


@pytest.mark.parametrize(("upper", "lower"), [("1", "2"), ("1", od.INFINITE), (od.INFINITE, "1")])
def test_the_law_is_what_enumeration_gives(upper, lower):
    weights = dict(paths(lambda n: int(n.two_sided(upper, lower, 1)[0]), tail=1e-15))
    law = two_sided_law(upper, lower)
    for k in range(-5, 6):
        assert law(k) - law(k - 1) == pytest.approx(weights.get(k, 0.0), abs=1e-12)


@pytest.mark.parametrize("draw", [0.5, float("nan"), "1"])
def test_draws_that_are_no_whole_numbers_are_not_cut_to_some(draw):
    with pytest.raises(errors.ParameterError, match="whole numbers"):
        agrees([draw] * DRAWS, geometric_law(1))


def test_too_few_draws_are_refused():
    with pytest.raises(errors.ParameterError, match="too few"):
        agrees([1, 2, 3], geometric_law(1))
