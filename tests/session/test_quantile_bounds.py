"""Bounds of quantiles in the column's own unit: they hold as often as they say."""

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from tests.covering import drawn

import onesided as od
from onesided import errors
from onesided.mechanism import NoisyMaxQuantile
from onesided.noise import NotPrivateSeededNoise
from onesided.session import Quantile
from onesided.session.values._noisy_max import EnclosedQuantiles, NoisyQuantiles

PLACES = ["a", "b"]
ROWS = pl.DataFrame(
    {
        "person": range(400),
        "place": ["a"] * 300 + ["b"] * 100,
        "v": [n * n % 97 for n in range(400)],
    }
)
GRID = {"bounds": (0, 99), "by": "place", "keys": PLACES}
# A fair 90 % interval misses more often than this in 200 draws in one of 10^6 runs.
DRAWS, MOST_MISSED = 200, 43


def opened(policy=None, unit=None):
    policy = od.policy.bounded() if policy is None else policy
    return od.Session(ROWS, policy=policy, unit=unit, budget=10**6)


def truths(q, place):
    """The values on either side of the quantile: bounds hold for both."""
    held = sorted(ROWS.filter(pl.col("place") == place)["v"].to_list())
    rank = Fraction(q) * (len(held) - 1)
    return held[rank.__floor__()], held[rank.__ceil__()]


def misses(question, q):
    low, high = truths(q, "a")
    told = [one.interval for one in drawn(opened(), question, DRAWS, NotPrivateSeededNoise(5))]
    return sum(not (one.lower[0] <= low and high <= one.upper[0]) for one in told)


@pytest.mark.parametrize(("q", "epsilon"), [("1/2", "1/2"), ("1/10", 4), ("5/6", 1)])
def test_bounds_hold_as_often_as_they_say(q, epsilon):
    """False alarm: one in 10^6."""
    asked = Quantile("v", q, interval=True, confidence="0.9", epsilon=epsilon, **GRID)
    assert misses(asked, q) <= MOST_MISSED


def test_bounds_that_are_no_further_than_the_quantile_are_found_out(monkeypatch):
    """The broken twin: nothing is added on either side."""

    def beside(cls, thrice, confidence):
        return cls(thrice, ((0, 0),) * len(thrice.parts))

    monkeypatch.setattr(EnclosedQuantiles, "of", classmethod(beside))
    asked = Quantile("v", "1/2", interval=True, confidence="0.9", epsilon="1/2", **GRID)
    assert misses(asked, "1/2") > MOST_MISSED


def test_without_noise_the_bounds_are_as_near_as_two_ranks():
    """Whatever the values: what is found below lies below the quantile, and above it above."""
    chance = np.random.default_rng(3)
    for _ in range(400):
        size, last = int(chance.integers(1, 12)), int(chance.integers(1, 9))
        held = np.sort(chance.integers(0, last + 1, size))
        q = Fraction(int(chance.integers(1, 7)), 7)
        q = min(q, Fraction(6, 7))
        part = NoisyMaxQuantile(od.INFINITE, q=q, candidates=last + 1)
        made = EnclosedQuantiles.of(NoisyQuantiles((part,) * 3), Fraction(9, 10))
        places, counts = np.unique(held, return_counts=True)
        told = made.release([(places, counts)], NotPrivateSeededNoise(int(chance.integers(99))))
        _, low, high = told["places"].tolist()
        rank = q * (size - 1)
        assert low <= held[rank.__floor__()]
        assert held[rank.__ceil__()] <= high


def test_the_charge_is_all_of_epsilon_and_the_estimate_lies_inside():
    for policy in (od.policy.bounded(), od.policy.presence(max_groups=2)):
        unit = None if policy.name == "bounded" else "person"
        session = opened(policy, unit)
        release = session.quantile("v", ["1/4", "3/4"], interval=True, epsilon=2, **GRID)
        assert set(release.guarantee.epsilon.values()) == {2}
        assert (release.lower <= release.estimate).all()
        assert (release.estimate <= release.upper).all()
        assert release.bound_words == "95 %"
        assert len(release) == 4
        assert not release.lower_certain
    asked = {"interval": True, "epsilon": 1, "id": "median", **GRID}
    first = session.median("v", **asked)
    assert session.median("v", **asked, again=True).columns() == first.columns()
    with pytest.raises(errors.ReleaseExistsError):
        session.median("v", **{**asked, "interval": False}, again=True)
    read = od.session.release_from_json(od.session.release_to_json(first))
    assert read.columns() == first.columns()


def test_a_group_without_values_is_bounded_by_all_candidates():
    session = opened()
    told = session.median("v", interval=True, epsilon=1, bounds=(0, 99), where="v > 200")
    assert (told.lower[0], told.upper[0]) == (0, 99)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"interpolate": True}, "no meaning beside interpolate"),
        ({"method": "cumulative"}, "have bounds already"),
        ({"interval": 1}, "True or False"),
        ({"confidence": 2}, "confidence"),
        ({"epsilon": Fraction(1, 10**11), "q": "999999/1000000"}, "too many ranks|rate"),
    ],
)
def test_what_has_no_bounds_is_refused_before_the_charge(change, says):
    session = opened()
    asked = {"bounds": (0, 99), "interval": True, "epsilon": 1, **change}
    with pytest.raises(errors.ParameterError, match=says):
        session.quantile("v", **asked)
    assert not any(session.spent.values())


def test_a_list_of_candidates_may_be_as_long_as_their_grid():
    session = opened()
    asked = {"epsilon": 60, "where": "place = 'a'"}
    listed, told = (
        session.median("v", **asked, **given).value
        for given in ({"candidates": range(3000)}, {"bounds": (0, 2999)})
    )
    assert listed == pytest.approx(told, abs=2)
    with pytest.raises(errors.ParameterError, match="more than 131,072"):
        session.median("v", candidates=range(131_073), epsilon=1)
    with pytest.raises(errors.ParameterError, match="more than 1,024"):
        session.maximum("v", candidates=range(3000), epsilon=1)


@pytest.mark.parametrize(
    ("most", "told"), [(12.0, (11, 100)), (11.0, (0, 11)), (500.0, (100, math.inf))]
)
def test_bounds_of_the_largest_value_hold_of_the_value(most, told):
    """A value counts as the next candidate upwards, and lies above the one before."""
    people = pl.DataFrame({"person": range(40), "pay": [-5.0] * 20 + [most] * 20})
    session = od.Session(people, unit="person", policy=od.policy.addition_only(), budget=1000)
    asked = {"candidates": [0, 11, 100], "max_groups": 1, "on_excess": "error", "epsilon": 50}
    release = session.maximum("pay", **asked)
    assert (release.lower[0], release.upper[0]) == told
    least = session.minimum("pay", **asked)
    assert (least.lower[0], least.upper[0]) == (-math.inf, 0)
