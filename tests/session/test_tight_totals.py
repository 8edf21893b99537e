"""Tight totals of sums, means and variances, and when they are a guarantee."""

from fractions import Fraction

import polars as pl
import pytest

import onesided as od
from onesided import accounting as acc
from onesided.mechanism import Sums
from onesided.noise import NotPrivateSeededNoise
from onesided.numbers import INFINITE
from onesided.policy import Shift

PAY = pl.DataFrame({"pay": [20, 30, 40]})
SUM = od.session.Sum("pay", bounds=(0, 100), epsilon="1/100")
MEAN = od.session.Mean("pay", bounds=(0, 100), epsilon="1/100")
VARIANCE = od.session.Variance("pay", bounds=(0, 100), epsilon="1/100")


def session(policy=None, **more):
    given = {"policy": policy or od.policy.unbounded(), "budget": 9, **more}
    return od.Session(PAY, noise=NotPrivateSeededNoise(1), **given)


def law(upper, lower, shift):
    """What the largest shift of one sum loses, by its own law."""
    return acc.counts_loss(od.mechanism.Counts(upper, lower), shift)


@pytest.mark.parametrize("question", [SUM, MEAN, VARIANCE], ids=lambda one: type(one).__name__)
def test_a_hundred_answers_lose_together_far_less_than_one(question):
    asked = session()
    for _ in range(3):
        asked.ask(question)
    charges = asked.ledger.entries(kind="spend") * 33
    total = acc.total_of(asked.policy, charges, delta="1/1000000")
    assert total.plain.headline == Fraction(99, 100)
    assert total.tight.headline < Fraction(1, 2)
    assert not total.fixed
    assert "Had this been the plan" in str(total)


def test_the_note_of_a_sum_is_the_law_of_its_noise():
    asked = session()
    asked.ask(SUM)
    (entry,) = asked.ledger.entries(kind="spend")
    for edge, epsilon in entry.epsilon.items():
        found = acc.charge_loss(entry.detail[acc.NOTE], edge=edge, epsilon=epsilon)
        note = entry.detail[acc.NOTE]
        rates = (Fraction(note["upper"]), Fraction(note["lower"]))
        shifts = [Shift(rise=rise, fall=fall) for rise, fall in note["edges"][edge]]
        assert max(Sums(*rates).loss(one) for one in shifts) == epsilon == found.largest
        assert [found.delta(at) for at in (0, "1/200")] == [
            max(law(*rates, one).delta(at) for one in shifts) for at in (0, "1/200")
        ]


def test_noise_on_one_side_has_no_note_and_gains_nothing():
    asked = session(od.policy.addition_only())
    asked.ask(SUM)
    asked.count(epsilon="1/100")
    assert all(acc.NOTE not in one.detail for one in asked.ledger.entries(kind="spend"))
    total = asked.total(delta="1e-9")
    assert total.tight.headline == total.plain.headline == Fraction(2, 100)


def test_one_charge_is_one_plan_and_the_budget_stands_beside():
    asked = session(delta_budget="1/1000000", budget=1, accounting="renyi")
    asked.ask_all([SUM, MEAN, SUM])
    total = asked.total(delta="1/1000000")
    assert total.fixed
    assert "Tight:" in str(total)
    assert "By its budget: Under the policy 'unbounded' -- " in str(total)
    assert set(total.budget.delta.values()) == {Fraction(1, 10**6)}
    (entry,) = asked.ledger.entries(kind="spend")
    assert len(entry.detail[acc.NOTE]["parts"]) == 3
    assert max(some[0] for some in entry.divergences.values()) < Fraction(1, 1000)
    asked.ledger.check(laws=acc.charge_divergences)


def test_sums_fit_a_renyi_account_like_counts():
    asked = session(delta_budget="1/1000000", budget=1, accounting="renyi")
    assert [asked.plan(one).times for one in (SUM, od.Count(epsilon="1/100"))] == [351, 350]
    assert asked.plan(MEAN).times > 350


@pytest.mark.parametrize("policy", [od.policy.unbounded, od.policy.bounded])
def test_a_plan_loses_no_more_than_the_filter_that_holds_it(policy):
    """Two phases that a move may take in several ways: the worst at each level is 1.117 here."""
    bins = {"bins": list(range(0, 101, 10)), "method": "dawa", "epsilon": "1/40"}
    asked = session(policy(), delta_budget="1/1000000", budget=1, accounting="renyi")
    plan = asked.plan(od.session.Histogram("pay", **bins))
    given = {"delta": plan.delta, "divergences": plan.divergences, "label": "cells"}
    for _ in range(plan.times):
        asked.account.spend(plan.charge, **given, detail={acc.NOTE: plan.noise})
    assert Fraction(7, 10) < asked.total(delta="1/1000000").tight.headline <= 1
    entries = asked.ledger.entries(kind="spend")
    assert acc.total_of(asked.policy, entries, delta="1/1000000").tight.headline <= 1


def test_divergences_at_no_delta_promise_nothing():
    two = acc.divergences(acc.two_way_loss("1/10", "1/10"))
    assert acc.by_orders(two, Fraction(0)) is INFINITE
    assert acc.by_orders(two, Fraction(-1, 2)) is INFINITE
    assert acc.by_orders([INFINITE] * 11, Fraction(1, 2)) is INFINITE
    loose = acc.by_orders(two, Fraction(1, 10**6))
    assert acc.two_way_loss("1/10", "1/10").delta(loose) <= Fraction(1, 10**6)
