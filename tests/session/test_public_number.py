"""Means and variances where the number of units is public: all of ε goes to the sums."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from tests.covering import drawn

import onesided as od
from onesided.noise import NotPrivateSeededNoise, TwoSidedGeometric
from onesided.session import Mean, Variance

STAFF = pl.DataFrame(
    {
        "person": [1, 1, 2, 3, 4, 5, 6],
        "team": ["a", "b", "a", "b", "a", "a", "b"],
        "hot": [True, False, True, False, False, True, False],
        "pay": [10, 30, 50, 0, 100, 70, 20],
    }
)
FIXED = (od.policy.bounded(), od.policy.sensitive("hot"), od.policy.proposition("not hot"))
MOVING = (
    od.policy.unbounded(),
    od.policy.addition_only(),
    od.policy.presence(max_groups=2),
    od.policy.extended_sensitive("hot"),
)


def session(policy, **more):
    return od.Session(STAFF, unit="person", policy=policy, budget=10**6, **more)


def parts(policy, question):
    plan = session(policy).plan(question)
    assert max(plan.charge.values()) == question.epsilon
    return plan.mechanism


@pytest.mark.parametrize("policy", FIXED, ids=lambda policy: policy.name)
@pytest.mark.parametrize("question", [Mean, Variance])
def test_a_public_number_takes_nothing(policy, question):
    found = parts(policy, question("pay", bounds=(0, 100), epsilon=6))
    assert found.public
    assert found.count.mechanism.upper_rate == found.count.mechanism.lower_rate == od.INFINITE
    # Sum and squares together move by 9/4 of what the squares may be, where a value changes most.
    span = 6 if question is Mean else Fraction(4, 9) * 6 * 2
    assert found.total.mechanism.upper_rate * 100 == span == found.total.mechanism.lower_rate * 100


@pytest.mark.parametrize("question", [Mean, Variance])
@pytest.mark.parametrize(
    "narrowed",
    [
        {"where": "pay > 0"},
        {"missing": "drop"},
        {"by": "team", "keys": ["a", "b"], "max_groups": 2, "on_excess": "truncate"},
    ],
    ids=["where", "drop", "by"],
)
def test_what_may_leave_somebody_out_makes_the_number_secret(question, narrowed):
    for policy in FIXED:
        found = parts(policy, question("pay", bounds=(0, 100), epsilon=6, **narrowed))
        assert not found.public
        for part in found.all.values():
            assert od.INFINITE not in {part.mechanism.upper_rate, part.mechanism.lower_rate}


@pytest.mark.parametrize("question", [Mean, Variance])
def test_whom_a_policy_adds_or_takes_is_counted_with_noise(question):
    for policy in MOVING:
        assert not parts(policy, question("pay", bounds=(0, 100), epsilon=6)).public
    picked = question("pay", bounds=(0, 100), epsilon=6, counted="open")
    assert not parts(od.policy.sensitive("hot"), picked).public


def test_the_error_is_that_of_a_noisy_sum_over_the_number():
    """The rival divides a sum with discrete Laplace noise of scale span / ε by the number."""
    question = Mean("pay", bounds=(0, 100), epsilon=2)
    law = parts(od.policy.bounded(), question).total.mechanism.distribution
    assert law == TwoSidedGeometric("1/50", "1/50")
    people = 1000
    table = pl.DataFrame({"person": range(people), "pay": [i % 101 for i in range(people)]})
    asked = od.Session(table, unit="person", policy=od.policy.bounded(), budget=9)
    truth = float(table["pay"].mean())
    told = drawn(asked, question, 400, NotPrivateSeededNoise(5))
    errors = [abs(one.value - truth) for one in told]
    rival = 50 / people  # the mean of |Laplace| is its scale
    # Six standard errors of 400 draws whose deviation is their mean: false alarms below 1e-8.
    assert np.mean(errors) == pytest.approx(rival, rel=6 / 20)


def test_bounds_on_a_mean_of_a_public_number_hold_as_often_as_asked():
    truth = (20 + 50 + 0 + 100 + 70 + 20) / 6
    question = Mean("pay", bounds=(0, 100), epsilon=4, confidence="0.9")
    found = drawn(session(od.policy.bounded()), question, 600, NotPrivateSeededNoise(6))
    missed = [not one.lower[0] - 1e-9 <= truth <= one.upper[0] + 1e-9 for one in found]
    # Binomial(600, 0.1) exceeds 98 with a chance below 1e-6.
    assert sum(missed) <= 98
