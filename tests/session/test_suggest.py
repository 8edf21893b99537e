"""Suggestions from public facts, and predicted errors held against measured ones."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import onesided as od
from onesided import errors
from onesided.noise import NotPrivateSeededNoise
from onesided.session import AtMost, Count, Several, Sum, TopK

VISITS = pl.DataFrame(
    {"person": [1, 1, 2, 3], "place": ["a", "b", "b", "b"], "age": [20, 20, 30, 40]}
)
BY = {"by": "place", "keys": ["a", "b"]}
P = od.policy


def opened(policy, *, unit="person"):
    return od.Session(VISITS, unit=unit, policy=policy, budget=1000)


SETTINGS = [
    (P.presence(max_groups=1), Count(**BY, epsilon=1)),
    (P.presence(max_groups=5), Count(**BY, epsilon="1/10")),
    (P.presence(max_groups=2), Count(**BY, epsilon=1, correction="mean")),
    (P.presence(max_groups=2), Count(**BY, epsilon=1, correction="none")),
    (P.bounded(), Count(**BY, epsilon="1/2", max_groups=2)),
    (P.unbounded(), Count(epsilon=3)),
    (P.sensitive("age < 25"), Count(**BY, epsilon=1, max_groups=1)),
    (P.addition_only(), Sum("age", of="units", total_bounds=(0, 100), epsilon=1)),
    (P.bounded(), Sum("age", of="units", total_bounds=(-50, 100), step=5, epsilon="1/5")),
    (P.presence(max_groups=3), Sum("age", of="units", total_bounds=(0, 20), **BY, epsilon=2)),
    (P.removal_only(), Sum("age", of="units", total_bounds=(0, 7), epsilon="3/10")),
]


@pytest.mark.parametrize(("policy", "question"), SETTINGS, ids=range(len(SETTINGS)))
def test_predicted_errors_are_those_measured(policy, question):
    """30,000 answers far from 0; within a tenth, which is some 10 standard errors here."""
    plan = opened(policy).plan(question)
    truth, noise = np.full(30_000, 10**6), NotPrivateSeededNoise(2)
    mechanism = plan.mechanism
    if isinstance(question, Count):
        # Noise on all counts at once is drawn for as many as were asked for.
        size = getattr(mechanism, "keys", truth.size)
        rows = truth.reshape(-1, size)[:3000]
        found = np.concatenate(
            [mechanism.estimate(mechanism.noisy(row, noise=noise)) for row in rows]
        )
        truth, step = truth[: found.size], 1
    else:
        found, step = mechanism.centred(mechanism.release(truth, noise=noise)), question.step or 1
    measured = float(np.sqrt(np.mean((found - truth) ** 2.0))) * step
    assert plan.options[0].error == pytest.approx(measured, rel=0.1)


def test_ways_are_ranked_by_predicted_error():
    plan = opened(P.presence(max_groups=2)).plan(Count(**BY, epsilon=1))
    known = [one.error for one in plan.ranked]
    assert len(known) >= 3
    assert known == sorted(known)
    assert all(one.note for one in plan.ranked)
    assert {one.name for one in plan.ranked} == {one.name for one in plan.options}


@pytest.mark.parametrize("wanted", [1, 10, "3"])
@pytest.mark.parametrize(("policy", "question"), [*SETTINGS[:3], *SETTINGS[4:7]], ids=range(6))
def test_the_least_epsilon_for_an_error(policy, question, wanted):
    session = opened(policy)
    found = session.suggest(question, error=wanted)
    assert found.error <= float(Fraction(wanted))
    assert found.question.epsilon == found.epsilon
    less = session.plan(replace(question, epsilon=found.epsilon * Fraction(95, 100)))
    assert less.options[0].error > float(Fraction(wanted))
    assert not any(session.spent.values())


def test_an_error_relative_to_a_public_guess():
    found = opened(P.bounded()).suggest(Count(epsilon=1), relative="0.01", guess=1000)
    assert found.relative <= 0.01
    assert found.error == pytest.approx(found.relative * 1000)
    assert "of the guess" in str(found)


@pytest.mark.parametrize("share", ["0.5", "0.9", "0.999"])
def test_the_least_epsilon_for_a_share_certified(share):
    session = opened(P.presence(max_groups=2))
    found = session.suggest(AtMost(5, **BY, epsilon=1), certified=share, count=3)
    assert found.certified[3] >= float(Fraction(share))
    # ADP-2022 Corollary V.6: 1 - exp(-a (t + 1 - f)), at a = ε / 2.
    assert float(found.epsilon) == pytest.approx(2 * -np.log(1 - float(share)) / 3, rel=0.01)
    assert "true count" in str(found.plan)


def test_the_shares_of_the_plan_are_those_of_the_mechanism():
    """20,000 draws; within 5 standard errors of a share."""
    plan = opened(P.presence(max_groups=2)).plan(AtMost(4, **BY, epsilon=1))
    assert [count for count, _ in plan.certifies] == [0, 1, 2, 3, 4]
    for count, share in plan.certifies:
        told = plan.mechanism.release(np.full(20_000, count), noise=NotPrivateSeededNoise(count))
        assert np.mean(told.certified) == pytest.approx(share, abs=5 * 0.5 / 20_000**0.5)


def test_the_number_of_groups_by_a_public_guess():
    # Of two groups only, noise for units in both is no more than for those in one.
    asked = Count(by="place", keys=list("abcdefghijklmnopqrst"), epsilon=1)
    guess = {1: 500, 2: 100, 8: 1}
    found = opened(P.bounded()).suggest(asked, groups_of_units=guess)
    assert found.question.max_groups == 2
    assert found.compared[2] == min(found.compared.values())
    few = opened(P.bounded()).suggest(asked, groups_of_units={1: 500, 2: 1})
    assert few.question.max_groups == 1
    both = opened(P.bounded()).suggest(asked, groups_of_units=guess, relative="0.1", guess=100)
    assert both.relative <= 0.1


@pytest.mark.parametrize(
    ("question", "wanted", "word"),
    [
        (Count(epsilon=1), {}, "0 things"),
        (Count(epsilon=1), {"error": 1, "certified": "0.9"}, "2 things"),
        (Count(epsilon=1), {"relative": 1}, "relative to what"),
        (Count(epsilon=1), {"error": 0}, "error"),
        (Count(epsilon=1), {"error": "1e-99"}, "No ε up to 100"),
        (Count(epsilon=1), {"certified": "0.9"}, "No count of 0 is certified"),
        (AtMost(3, **BY, epsilon=1), {"certified": "0.9", "count": 4}, "No count of 4"),
        (AtMost(3, **BY, epsilon=1), {"certified": 1}, "certified"),
        (AtMost(3, **BY, epsilon=1), {"error": 1}, "depends on the data"),
        (Several([Count(epsilon=1)], epsilon=1), {"error": 1}, "no ε of its own"),
        (Count, {"error": 1}, "question was expected"),
        (Count(epsilon=1), {"errors": 1}, "errors"),
    ],
)
def test_what_cannot_be_suggested(question, wanted, word):
    with pytest.raises(errors.ParameterError, match=word):
        opened(P.presence(max_groups=2)).suggest(question, **wanted)


def test_an_error_that_depends_on_the_data_is_not_promised():
    question = TopK(1, **BY, epsilon=1)
    with pytest.raises(errors.ParameterError, match="depends on the data"):
        opened(P.presence(max_groups=2)).suggest(question, error=1000)
