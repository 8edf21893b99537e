"""Which noise a sum gets, what is said of it, and answers that were drawn with another."""

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import onesided as od
from onesided.ledger import decode_columns
from onesided.mechanism import StairSums, Sums
from onesided.noise import NotPrivateSeededNoise
from onesided.session import Sum
from onesided.session.values import _sum

TABLE = pl.DataFrame(
    {"person": [1, 1, 2, 3, 4], "place": list("abaab"), "pay": [10, 20, 35, 64, 80]}
)
ADDED = od.policy.addition_only()


def Asked(column, *, bounds, **more):  # noqa: N802 - as the class
    return Sum(column, of="units", total_bounds=bounds, **more)


def session(policy=ADDED, **more):
    return od.Session(TABLE, unit="person", policy=policy, budget=10**5, **more)


@pytest.mark.parametrize(
    ("policy", "bounds", "more", "side"),
    [
        (ADDED, (0, 100), {}, "upper"),
        (ADDED, (50, 100), {}, "upper"),
        (ADDED, (-100, 0), {}, "lower"),
        (od.policy.removal_only(), (0, 100), {}, "lower"),
        (od.policy.presence(max_groups=2), (0, 100), {}, "upper"),
        (od.policy.sensitive("pay < 20"), (0, 100), {"counted": "open"}, "lower"),
    ],
)
def test_one_side_gets_stairs_as_high_as_the_largest_value(policy, bounds, more, side):
    plan = session(policy).plan(Asked("pay", bounds=bounds, epsilon=4, **more))
    assert isinstance(plan.mechanism, StairSums)
    assert (plan.mechanism.stairs.noise_rate, plan.mechanism.stairs.largest) == (4, 100)
    assert plan.certain == (side,)
    assert max(plan.charge.values()) == 4
    slopes = plan.others[0]
    assert slopes.name == "Sums"
    assert plan.options[0].error == pytest.approx(0.751 * slopes.error, rel=1e-2)
    assert "StairSums" in str(plan)
    assert "charges the same" in str(plan)


@pytest.mark.parametrize(
    ("policy", "bounds", "more"),
    [
        (od.policy.unbounded(), (0, 100), {}),
        (od.policy.bounded(), (0, 100), {}),
        (ADDED, (-1, 100), {}),
        (od.policy.presence(max_groups=2), (-100, 0), {}),
        (ADDED, (0, 1), {}),
        (ADDED, (0, 100), {"epsilon": "1/100"}),
        # Stairs vary less here, but less of their mean is taken out with the median.
        (ADDED, (0, 20), {"epsilon": 1}),
        (ADDED, (0, 2**41), {"epsilon": 4}),
        (ADDED, (0, 100), {"epsilon": 2000}),
    ],
)
def test_all_others_keep_to_slopes(policy, bounds, more):
    asked = session(policy, noise=NotPrivateSeededNoise(7))
    plan = asked.plan(Asked("pay", bounds=bounds, **{"epsilon": 4, **more}))
    assert isinstance(plan.mechanism, Sums)
    assert not any("charges the same" in one.note for one in plan.others)


@pytest.mark.parametrize("epsilon", ["1/4", 1, 4])
@pytest.mark.parametrize(("policy", "sign"), [(ADDED, 1), (od.policy.removal_only(), -1)])
def test_the_planned_error_is_that_of_the_estimates_with_its_bias(policy, sign, epsilon):
    """40,000 answers: off by more than 6 % less than once in a million runs."""
    plan = session(policy).plan(Asked("pay", bounds=(0, 100), epsilon=epsilon))
    drawn = plan.mechanism.release(np.zeros(40_000, dtype=np.int64), noise=NotPrivateSeededNoise(5))
    missed = plan.mechanism.centred(drawn).astype(float)
    assert math.sqrt(np.mean(missed**2)) == pytest.approx(plan.options[0].error, rel=0.06)
    assert np.mean(missed) == pytest.approx(plan.bias, rel=0.2)
    assert sign * plan.bias > 0


def test_who_is_in_several_groups_pays_for_each_sum():
    groups = {"by": "place", "keys": ["a", "b"], "max_groups": 2, "on_excess": "error"}
    plan = session().plan(Asked("pay", bounds=(0, 100), epsilon=8, **groups))
    stairs = plan.mechanism.stairs
    assert (stairs.noise_rate, stairs.max_groups) == (4, 2)
    assert plan.charge == {"record -> absent": 8}
    cut = session().plan(Asked("pay", bounds=(0, 100), epsilon=8, **{**groups, "max_groups": 1}))
    assert (cut.mechanism.stairs.noise_rate, cut.mechanism.stairs.max_groups) == (8, 1)


def test_the_certain_side_is_never_wrong_and_the_unit_is_the_columns_own():
    asked, truth = session(), 30 + 35 + 64 + 80
    for _ in range(20):
        total = asked.sum("pay", of="units", total_bounds=(0, 100), step="1/2", epsilon=4)
        assert total.upper[0] >= truth
        assert total.lower[0] <= total.estimate[0] <= total.upper[0]
        assert total.upper[0] * 2 == int(total.upper[0] * 2)


@pytest.mark.parametrize("drawn", ["slopes", "stairs"])
def test_a_stored_answer_is_told_with_the_noise_it_was_drawn_with(drawn, monkeypatch):
    """Answers stored before there were stairs have the same rates, and say nothing of stairs."""
    asked = session()
    question = Asked("pay", bounds=(0, 100), epsilon=4, id="once", confidence="0.99")
    if drawn == "slopes":
        monkeypatch.setattr(_sum, "_WORTH", 0)
    first, left = asked.ask(question), asked.remaining
    mechanism = asked.plan(question).mechanism
    assert isinstance(mechanism, Sums if drawn == "slopes" else StairSums)
    monkeypatch.setattr(_sum, "_WORTH", 0.999 if drawn == "slopes" else 0)
    assert type(asked.plan(question).mechanism) is not type(mechanism)
    again = asked.ask(replace(question, again=True))
    assert again.columns() == first.columns()
    assert (again.guarantee, again.entry) == (first.guarantee, first.entry)
    assert asked.remaining == left
    facts, _ = decode_columns(asked._account.recall("once").payload)
    assert ("first_stair" in facts) == (drawn == "stairs")
