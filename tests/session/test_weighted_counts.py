"""A weighted count is a sum of weights: what a move makes of it, and what a count's price would."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import onesided as od
from onesided import verify
from onesided.errors import OnesidedError
from onesided.mechanism import Counts
from onesided.verify import Universe

POLICY = od.policy.presence(max_groups=1)
# Whoever is in group "1" weighs one, whoever is in "2" weighs two.
WORLD = Universe(groups=("1", "2"), units=1, max_groups=1)


def weights(data):
    return [int(name) for record in data for name in record.value]


def test_a_weighted_count_loses_what_is_charged():
    def program(data, noise):
        found = weights(data)
        frame = pl.DataFrame(
            {"who": range(len(found)), "weight": found},
            schema={"who": pl.Int64, "weight": pl.Int64},
        )
        asked = od.Session(frame, unit="who", policy=POLICY, budget=2, noise=noise)
        return asked.sum("weight", of="units", total_bounds=(0, 2), epsilon=2).value

    report = verify.exact(program, POLICY, WORLD, tail=1e-4, sealed=False)
    assert report.keeps(2)
    assert report.loss > 1.9


def test_the_price_of_a_count_is_too_little_for_weights():
    mechanism = Counts.for_policy(POLICY, epsilon=2)

    def program(data, noise):
        return mechanism.noisy(np.array([sum(weights(data))]), noise=noise).tolist()[0]

    assert not verify.exact(program, POLICY, WORLD, tail=1e-4, sealed=False).keeps(2)


def test_weights_are_cut_and_the_upper_bound_is_certain():
    frame = pl.DataFrame({"who": [1, 2, 3], "weight": [120, 80, 900]})
    for _ in range(5):
        asked = od.Session(frame, unit="who", policy=POLICY, budget=1)
        release = asked.sum("weight", of="units", total_bounds=(0, 500), step=10, epsilon=1)
        assert release.upper_certain
        assert release.upper[0] >= 700


@pytest.mark.parametrize(
    "question",
    [
        {},
        {"total_bounds": (500, 0)},
        {"total_bounds": (0, Fraction(0))},
        {"total_bounds": (0, 1), "step": 0},
    ],
)
def test_bad_weights(question):
    frame = pl.DataFrame({"who": [1], "weight": [1]})
    asked = od.Session(frame, unit="who", policy=POLICY, budget=1)
    with pytest.raises((OnesidedError, TypeError)):
        asked.sum("weight", of="units", epsilon=1, **question)
    assert min(asked.remaining.values()) == 1
