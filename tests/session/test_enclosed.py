from fractions import Fraction

import polars as pl
import pytest

import onesided as od
from onesided import errors

DATA = pl.DataFrame(
    {"person": [p for p in range(60) for _ in range(2)], "place": ["a", "b"] * 30 + ["a", "c"] * 30}
)
ASK = {"by": "place", "keys": ["a", "b", "c", "z"], "epsilon": 1}


def session(policy=None, **more):
    given = {"budget": 5, "delta_budget": "0.0006", **more}
    return od.Session(
        DATA, unit="person", policy=policy or od.policy.presence(max_groups=2), **given
    )


def test_both_bounds_are_never_wrong():
    asked = session(budget=1000, delta_budget="0.9")
    truth = [60, 30, 30, 0]
    for _ in range(50):
        answer = asked.enclose(**ASK, delta="1e-4")
        assert answer.lower_certain
        assert answer.upper_certain
        assert all(
            low <= true <= high
            for low, true, high in zip(answer.lower, truth, answer.upper, strict=True)
        )
        assert (answer.lower <= answer.estimate).all()
        assert (answer.estimate <= answer.upper).all()


def test_delta_is_charged_and_ends():
    asked = session()
    answer = asked.enclose(**ASK, delta="6e-4", id="once")
    ((edge, spent),) = answer.guarantee.delta.items()
    assert 0 < spent <= Fraction("6e-4")
    assert answer.guarantee.epsilon == {edge: 1}
    again = asked.enclose(**ASK, delta="6e-4", id="once", again=True)
    assert again.frame.equals(answer.frame)
    with pytest.raises(errors.BudgetExceededError):
        asked.enclose(**ASK, delta="6e-4")
    assert asked.remaining == {edge: 4}


def test_a_session_without_delta_refuses():
    with pytest.raises(errors.BudgetExceededError):
        session(delta_budget=0).enclose(**ASK, delta="1e-6")


def test_a_policy_whose_counts_rise_cannot_have_it():
    with pytest.raises(errors.UnprotectableError):
        session(od.policy.bounded()).enclose(**ASK, delta="1e-6", max_groups=2)
    with pytest.raises(errors.UnprotectableError, match="Cutting"):
        session().enclose(**ASK, delta="1e-6", on_excess="truncate")


@pytest.mark.parametrize("delta", [0, 1, -1, "0x", float("nan"), None])
def test_deltas_that_cannot_be_meant(delta):
    with pytest.raises(errors.ParameterError):
        session().enclose(**ASK, delta=delta)


def test_the_plan_says_that_both_sides_are_certain():
    plan = session().plan(od.session.Enclosed(**ASK, delta="1e-4"))
    assert plan.certain == ("upper", "lower")
    assert plan.standard_deviation == pytest.approx(1.98, abs=0.02)


def test_a_plan_knows_what_is_left_of_delta():
    asked, question = session(delta_budget="0.0004"), od.session.Enclosed(**ASK, delta="4e-4")
    assert asked.plan(question).affordable
    assert "and δ" in str(asked.plan(question))
    asked.ask(question)
    assert not asked.plan(question).affordable
    assert "More than is left." in str(asked.plan(question))
    with pytest.raises(errors.BudgetExceededError):
        asked.ask(question)


def test_a_delta_of_many_digits_is_charged_at_most_as_asked():
    """Rounded up to a few digits it would be more than a budget of just as much."""
    asked = session(delta_budget="0.000123456789")
    answer = asked.enclose(**ASK, delta="0.000123456789")
    assert max(answer.guarantee.delta.values()) <= Fraction("0.000123456789")
