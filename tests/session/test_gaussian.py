"""Counts with Gaussian noise through a session: when it is taken, what it costs, how it is told."""

import math
from fractions import Fraction

import polars as pl
import pytest

import onesided as od
from onesided import errors
from onesided.accounting import charge_divergences
from onesided.mechanism import Counts, GaussianCounts
from onesided.noise import NotPrivateSeededNoise
from onesided.session import (
    question_from_json,
    question_to_json,
    release_from_json,
    release_to_json,
)

VISITS = pl.DataFrame({"person": [1, 1, 2, 3], "place": ["p1", "p2", "p2", "p3"]})
KEYS = [f"p{i}" for i in range(100)]
RENYI = {"budget": 1, "delta_budget": "1/1000000", "accounting": "renyi"}
MANY = {"by": "place", "keys": KEYS, "max_groups": 100, "on_excess": "truncate"}


def session(policy=None, **more):
    given = {"unit": "person", "policy": policy or od.policy.unbounded(), **RENYI}
    return od.Session(VISITS, noise=NotPrivateSeededNoise(1), **(given | more))


def count(law, epsilon=1, **more):
    return od.Count(**(MANY | more), law=law, epsilon=epsilon)


def test_a_hundred_groups_have_a_deviation_of_54_in_place_of_141():
    asked = session()
    assert asked.plan(count("pure")).standard_deviation == pytest.approx(141.42, abs=0.01)
    plan = asked.plan(od.Count(**MANY, epsilon=1))
    assert plan.options[2].question == count("pure")
    assert plan.standard_deviation == pytest.approx(53.88, abs=0.01)
    assert plan.certain == ()
    listed = {one.name: one for one in asked.plan(count("pure")).options}["GaussianCounts"]
    assert listed.error == plan.standard_deviation
    assert listed.question == count("gaussian")


def test_a_pure_account_says_what_it_keeps_the_planner_from():
    def kept_from(asked, policy=None):
        pure = session(policy, delta_budget=0, accounting="pure")
        options = pure.plan(asked).options
        return [one for one in options if one.name == 'GaussianCounts, law="gaussian"']

    (told,) = kept_from(od.Count(**MANY, epsilon=1))
    assert told.error == session().plan(count("gaussian")).standard_deviation
    assert "as this account adds ε" in told.note
    assert told.question is None
    assert kept_from(count("pure")) == kept_from(od.Count(epsilon=1)) == []
    assert kept_from(od.Count(**MANY, epsilon=1), od.policy.removal_only()) == []


@pytest.mark.parametrize("epsilon", [1, "1/4", "1/10", "1/100", "1/1000"])
@pytest.mark.parametrize("groups", [1, 2, 7, 100])
@pytest.mark.parametrize("policy", ["unbounded", "bounded", "sensitive", "weighted"])
def test_an_untouched_account_holds_as_many(epsilon, groups, policy):
    made = {
        "unbounded": od.policy.unbounded(),
        "bounded": od.policy.bounded(),
        "sensitive": od.policy.sensitive("person < 3"),
        "weighted": od.policy.custom(
            kinds=["a", "b"], edges=[("a", "b", "1/2"), ("b", "a", 3)], default="b",
            rules=[("a", "person < 2")],
        ),
    }[policy]  # fmt: skip
    asked = session(made, budget=2)
    given = {"epsilon": epsilon, "max_groups": groups}
    pure, gaussian = (asked.plan(count(law, **given)) for law in ("pure", "gaussian"))
    assert gaussian.times >= pure.times
    best = asked.plan(count("best", **given)).mechanism
    least = gaussian.standard_deviation < pure.standard_deviation
    assert isinstance(best, GaussianCounts if least else Counts)


def test_the_filter_holds_what_the_plan_says_and_the_ledger_recomputes_it():
    asked = session()
    for left in range(asked.plan(count("gaussian", "1/4")).times, 0, -1):
        assert asked.plan(count("gaussian", "1/4")).times == left
        told = asked.ask(count("gaussian", "1/4"))
    assert asked.plan(count("gaussian", "1/4")).times == 0
    with pytest.raises(errors.BudgetExceededError, match="order"):
        asked.ask(count("gaussian", "1/4"))
    assert asked.ledger.check(laws=charge_divergences).charges == told.entry // 2
    total = asked.total(delta="1e-6")
    assert math.isinf(float(str(total.plain.headline).replace("INFINITE", "inf")))
    assert total.tight.headline < 1
    assert total.budget.headline == 1
    assert "pure" not in str(total.plain)


def test_the_answer_alone_is_told_at_the_account_s_delta():
    asked = session()
    plan = asked.plan(count("gaussian", "1/10"))
    assert "no pure ε" in str(plan)
    assert set(plan.guarantee.delta.values()) == {Fraction(1, 10**6)}
    assert 0.3 < plan.guarantee.headline < 0.4
    assert set(plan.as_dict()["delta"].values()) == {"0"}
    assert set(plan.as_dict()["charge"].values()) == {"INFINITE"}
    told = asked.ask(count("gaussian", "1/10"))
    assert "(pure" not in str(told.guarantee)
    assert "No pure ε" in str(told.guarantee)
    assert release_from_json(release_to_json(told)).guarantee == told.guarantee
    assert question_from_json(question_to_json(count("best"))) == count("best")
    alone = asked.total(delta="1e-6").tight.headline
    assert alone <= told.guarantee.headline


def test_certainty_and_pure_accounts_keep_their_noise():
    presence = od.policy.presence(max_groups=100)
    one_sided = {"max_groups": None, "on_excess": None}
    asked = session(presence)
    assert asked.plan(count("best", **one_sided)).certain == ("upper",)
    assert asked.plan(count("gaussian", **one_sided)).certain == ()
    pure = session(accounting="pure", delta_budget=0)
    assert isinstance(pure.plan(count("best")).mechanism, Counts)
    with pytest.raises(errors.ParameterError, match="keeps no pure ε"):
        pure.ask(count("gaussian"))
    small = session(budget="1/100")  # at δ = 1e-6 no order has any of it
    assert isinstance(small.plan(count("best", "1/100")).mechanism, Counts)
    with pytest.raises(errors.ParameterError, match="at some order"):
        small.plan(count("gaussian", "1/100"))


@pytest.mark.parametrize("law", ["normal", None, 1, ""])
def test_other_laws_are_refused(law):
    with pytest.raises(errors.ParameterError, match="law"):
        session().plan(count(law))


def test_a_large_epsilon_has_the_least_noise_that_is_drawn():
    asked = session(budget=10_000)
    made = asked.plan(count("gaussian", 90, keys=["p1"], max_groups=1)).mechanism
    assert made.variance >= Fraction(1, 1024)


def test_under_a_view_a_count_may_move_by_more():
    homes = pl.DataFrame({"home": [1, 1, 2], "ill": [True, False, False], "person": [1, 2, 3]})
    view = od.policy.view("ill", over="home", members=3)
    asked = od.Session(homes, unit="person", policy=view, **RENYI)
    given = {"epsilon": 1, "where": "ill"}
    made = asked.plan(od.Count(law="gaussian", **given)).mechanism
    assert made.alike is False
    many = [od.Count(law=law, **given) for law in ("pure", "gaussian")]
    assert asked.plan(many[1]).times >= asked.plan(many[0]).times


def test_asked_together_and_in_parts_and_again():
    asked = session()
    both = asked.ask_all([count("gaussian", "1/20"), count("pure", "1/20")])
    assert max(both.guarantee.delta.values()) > 0
    assert both.guarantee.headline < 1
    assert asked.ledger.check(laws=charge_divergences).charges == 1
    first = asked.count(**MANY, law="best", epsilon="1/20", id="monday")
    again = asked.count(**MANY, law="best", epsilon="1/20", id="monday", again=True)
    assert again.told_again
    assert again.estimate.tolist() == first.estimate.tolist()
    assert (again.interval.lower == first.interval.lower).all()
    with pytest.raises(errors.ReleaseExistsError, match="another question") as caught:
        asked.count(**MANY, law="pure", epsilon="1/20", id="monday", again=True)
    assert 'told again to law="pure"' not in caught.value.hint
    one = session(unit=None)
    parts = one.parts(od.Count(epsilon="1/20", law="gaussian"), by="place", keys=["p1", "p2"])
    assert [len(part) for part in parts] == [1, 1]
    assert one.ledger.check(laws=charge_divergences).charges == 1


def test_in_sql():
    asked = session()
    text = "SELECT place, COUNT(DISTINCT person) FROM visits GROUP BY place"
    more = {name: MANY[name] for name in ("keys", "max_groups", "on_excess")}
    assert asked.question(text, epsilon=1, law="best", **more) == count("best")


def test_a_suggestion_finds_an_epsilon_for_an_error():
    found = session().suggest(count("gaussian"), error=100)
    assert found.plan.standard_deviation == pytest.approx(100, rel=0.02)


def test_the_planner_chooses_where_nobody_said_a_law_and_only_there():
    """By default, in a renyi account: the law of less error, where no side would be certain."""
    asked = session()
    for epsilon, groups in ((1, 100), (1, 1), ("1/100", 1)):
        given = MANY | {"max_groups": groups, "epsilon": epsilon}
        plan, pure, gaussian = (
            asked.plan(od.Count(**given, **law))
            for law in ({}, {"law": "pure"}, {"law": "gaussian"})
        )
        least = min((pure, gaussian), key=lambda one: one.standard_deviation)
        assert (plan.mechanism, plan.charge, plan.noise) == (
            least.mechanism, least.charge, least.noise
        )  # fmt: skip
    plain = session(accounting="pure", delta_budget=0)
    assert plain.plan(od.Count(**given)).noise == plain.plan(od.Count(**given, law="pure")).noise


def test_what_was_drawn_says_which_question_an_id_answers():
    """By its law, whether that was asked for or chosen; another law's answer is never told."""
    asked, given = session(), MANY | {"epsilon": "1/20"}
    asked.count(**given, law="pure", id="of before")  # as a default of before was charged
    with pytest.raises(errors.ReleaseExistsError, match="another question") as caught:
        asked.count(**given, id="of before", again=True)
    assert 'told again to law="pure"' in caught.value.hint
    assert asked.count(**given, law="pure", id="of before", again=True).told_again
    chosen = asked.count(**given, id="chosen")
    told = asked.count(**given, law="gaussian", id="chosen", again=True)
    assert told.told_again
    assert told.estimate.tolist() == chosen.estimate.tolist()
    one = {"epsilon": 1, "id": "one"}
    wide = session(budget=9)
    wide.count(**one)
    assert wide.count(**one, law="pure", again=True).told_again
    assert wide.ledger.check(laws=charge_divergences).charges == 1


def test_an_allowance_that_counts_epsilon_keeps_a_pure_law():
    """The same question: pure to an allowance of ε, charged and answered; as planned to others."""
    edges = ("record -> absent", "absent -> record")
    asked, given = session(), MANY | {"epsilon": "1/20"}
    ann = od.ledger.Allowance(who="ann", epsilon=dict.fromkeys(edges, 1))
    question = od.Count(**given, id="ann's")
    asked.charge(question, allowance=ann)
    (charged,) = asked.ledger.entries(kind="spend")
    assert charged.epsilon == dict.fromkeys(edges, Fraction(1, 20))
    first = asked.answer(question)
    assert "pure, δ = 0" in str(first.guarantee)
    assert isinstance(first.mechanism, Counts)
    again = asked.answer(question)
    assert again.told_again
    assert again.estimate.tolist() == first.estimate.tolist()
    curator = od.ledger.Allowance(who="curator")
    question = od.Count(**given, id="curator's")
    asked.charge(question, allowance=curator)
    *_, charged = asked.ledger.entries(kind="spend")
    assert set(charged.epsilon.values()) == {od.INFINITE}
    assert isinstance(asked.answer(question).mechanism, GaussianCounts)
    with pytest.raises(errors.LedgerError, match="never charged"):
        asked.answer(od.Count(**given, id="nobody's"))
    with pytest.raises(errors.BudgetExceededError, match='law="pure"'):
        asked.charge(od.Count(**given, law="gaussian", id="hers"), allowance=ann)


def test_beside_an_answer_with_a_delta_a_pure_law_is_kept():
    asked = session(unit=None)
    given = {"epsilon": "1/20", "by": "place", "keys": KEYS}
    known = od.Discover(by="place", epsilon="1/10", delta="1/10000000")
    alone, beside = (
        asked.plan(od.Count(**given)),
        asked.plan(od.session.Several([od.Count(**given), known])),
    )
    assert set(alone.charge.values()) == {od.INFINITE}
    assert od.INFINITE not in beside.charge.values()
    assert asked.ask_all([od.Count(**given), known]).guarantee.headline == Fraction(3, 20)
