"""A session whose account adds divergences: every question by one filter, never told as pure."""

import json

import polars as pl
import pytest

import onesided as od
from onesided import errors
from onesided.accounting import charge_divergences
from onesided.noise import NotPrivateSeededNoise
from onesided.session import total_guarantee

PEOPLE = pl.DataFrame({"person": [1, 2, 3], "age": [20, 30, 40], "place": ["a", "b", "b"]})
RENYI = {"budget": 4, "delta_budget": "1/1000000", "accounting": "renyi"}


def session(policy=None, **more):
    given = {"unit": "person", "policy": policy or od.policy.unbounded(), **RENYI}
    return od.Session(PEOPLE, noise=NotPrivateSeededNoise(1), **(given | more))


def test_a_session_holds_more_answers_and_says_how_many():
    asked, fit = session(), 56
    assert session(accounting="pure").plan(od.Count(epsilon="1/10")).times == 40
    assert "56 such answers fit." in str(asked.plan(od.Count(epsilon="1/10")))
    for left in range(fit, 0, -1):
        assert asked.plan(od.Count(epsilon="1/10")).times == left
        asked.count(epsilon="1/10")
    assert not asked.plan(od.Count(epsilon="1/10")).affordable
    with pytest.raises(errors.BudgetExceededError):
        asked.count(epsilon="1/10")
    assert asked.ledger.check(laws=charge_divergences).charges == fit


def test_it_is_never_told_as_pure():
    asked = session()
    for _ in range(50):
        told = asked.count(epsilon="1/10")
    assert "δ = 1e-6" in str(told.guarantee)
    assert "δ = 1e-6" in repr(asked)
    assert "δ = 1e-6" in asked._repr_html_()
    assert "left, all at" not in repr(session(accounting="pure", delta_budget=0))
    left = [asked.ledger._repr_html_(), told._repr_html_(), str(asked.plan(od.Count(epsilon=1)))]
    assert all("all at δ = 1e-6" in one for one in left)
    assert asked.plan(od.Count(epsilon="1/10")).as_dict()["times"] == 6
    for of in ("spent", "budget"):
        total = total_guarantee(asked.ledger, of=of)
        assert "pure" not in str(total)
        assert max(total.delta.values()) > 0
        assert total.headline <= 4
    assert "chosen from earlier answers" in total_guarantee(asked.ledger).about


def test_questions_asked_at_once_are_one_charge():
    alone, together = session(), session()
    questions = [od.Count(epsilon="1/10"), od.Count(epsilon="1/20")]
    for question in questions:
        alone.ask(question)
    together.ask_all(questions)
    assert together.remaining == alone.remaining
    assert together.ledger.check(laws=charge_divergences).charges == 1


def test_noise_on_one_side_gains_nothing_and_loses_nothing():
    asked = session(od.policy.addition_only())
    assert asked.plan(od.Count(epsilon="1/10")).times == 40
    for _ in range(4):
        asked.count(epsilon=1)
    assert set(asked.remaining.values()) == {0}


@pytest.mark.parametrize(
    "question",
    [
        od.session.Sum("age", bounds=(0, 100), epsilon="1/10"),
        od.session.Mean("age", bounds=(0, 100), epsilon="1/10"),
        od.session.Quantile("age", "1/2", candidates=[20, 30, 40], epsilon="1/10"),
        od.Count(by="place", keys=["a", "b"], epsilon="1/10"),
        od.session.TopK(1, by="place", keys=["a", "b"], epsilon="1/10"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_every_question_goes_through_the_filter(question):
    one_way = isinstance(question, od.session.TopK)
    policy = od.policy.addition_only() if one_way else od.policy.unbounded()
    asked = session(policy, unit=None)
    plan, pure = asked.plan(question), session(policy, unit=None, accounting="pure").plan(question)
    fit = plan.times
    assert fit >= pure.times
    both = isinstance(question, od.Count | od.Mean | od.session.Sum)  # the planner's choice
    assert plan.charge == (dict.fromkeys(pure.charge, od.INFINITE) if both else pure.charge)
    asked.ask(question)
    (entry,) = asked.ledger.entries(kind="spend")
    assert entry.divergences.keys() == entry.epsilon.keys()
    assert asked.ledger.check(laws=charge_divergences).charges == 1
    assert plan.times == fit - 1


BINS = {"bins": list(range(0, 101, 10)), "epsilon": "1/100"}


@pytest.mark.parametrize(
    "question",
    [
        od.Quantile("age", "1/2", candidates=[20, 30, 40], epsilon="1/100"),
        od.Quantile("age", "1/2", candidates=[20, 30], method="cumulative", epsilon="1/100"),
        od.Quantile("age", [f"{n}/20" for n in range(1, 20)], candidates=[2, 30], epsilon="1/100"),
        od.session.TopK(1, by="place", keys=["a", "b"], epsilon="1/100"),
        od.session.Variance("age", bounds=(0, 100), epsilon="1/100"),
        *(od.session.Histogram("age", method=one, **BINS) for one in ("dawa", "ahp")),
        od.session.Histogram("age", method="hierarchical", **BINS),
    ],
    ids=lambda one: f"{type(one).__name__} {getattr(one, 'method', '')}",
)
@pytest.mark.parametrize("policy", [od.policy.unbounded(), od.policy.bounded()], ids=str)
def test_steps_that_hide_both_ways_are_more_than_their_epsilon(question, policy):
    asked = session(policy, unit=None, budget=1)
    fit = asked.plan(question).times
    assert fit >= 350
    for _ in range(2):
        asked.ask(question)
    assert asked.plan(question).times == fit - 2
    assert asked.ledger.check(laws=charge_divergences).charges == 2
    pure = session(policy, unit=None, accounting="pure", delta_budget=0, budget=9)
    for _ in range(40):
        pure.ask(question)
    tight = pure.total(delta="1e-6").tight
    assert 0.05 < float(tight.headline) < 0.3


def test_an_answer_is_told_again_at_no_charge():
    asked = session()
    first = asked.count(epsilon="1/10", id="monday")
    left = asked.remaining
    again = asked.count(epsilon="1/10", id="monday", again=True)
    assert asked.remaining == left
    assert str(again.guarantee) == str(first.guarantee)


def test_charged_first_and_answered_later():
    asked = session()
    question = od.Count(epsilon="1/10", id="a")
    asked.charge(question)
    assert asked.plan(question).times == 55
    asked.answer(question)
    assert asked.plan(question).times == 55


def test_a_monitor_charges_the_kind_that_the_account_has(tmp_path):
    ledger = od.Ledger.open(tmp_path / "ledger.db")
    policy = od.policy.presence(max_groups=2)
    visits = pl.DataFrame({"person": [1], "place": ["a"]})
    asked = od.Session(visits, unit="person", policy=policy, ledger=ledger, **RENYI)
    asked.count(by="place", keys=["a", "b"], epsilon="1/10")
    given = {"at_most": 5, "window": 3, "policy": policy, "ledger": ledger}
    with od.Monitor(["a", "b"], epsilon="1/2", state=tmp_path / "s.db", **given):
        pass
    entry = ledger.entries(kind="spend")[-1]
    assert {one for some in entry.divergences.values() for one in some} == set(
        entry.epsilon.values()
    )
    assert json.loads(json.dumps(list(map(str, asked.remaining.values())))) == ["17/5"]


@pytest.mark.parametrize("method", ["dawaz", "ahpz", "hierarchicalz", "split"])
def test_open_counts_leave_what_is_asked_beside_them_its_law(method):
    given = {"unit": None, "policy": od.policy.sensitive("age >= 30")}
    bins = [0, 10, 20, 30, 40]
    question = od.session.Histogram("age", bins=bins, method=method, epsilon="1/10")
    asked = session(**given)
    plan = asked.plan(question)
    assert plan.times > session(**given, accounting="pure").plan(question).times
    asked.ask(question)
    assert asked.ledger.check(laws=charge_divergences).charges == 1
    assert asked.total(delta="1e-6").tight.headline <= max(plan.charge.values())
