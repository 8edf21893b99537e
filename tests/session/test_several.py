"""Several questions at once: one plan, one charge, one line, and all answers or none."""

import json
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import onesided as od
from onesided import errors, verify
from onesided.accounting import NOTE, charge_loss
from onesided.noise import NotPrivateSeededNoise
from onesided.policy import Record
from onesided.session import Count, Histogram, Mean, Sum, TopK
from onesided.verify import Universe

VISITS = pl.DataFrame(
    {
        "person": [1, 1, 2, 3, 4, 5],
        "place": ["a", "b", "b", "b", "a", "c"],
        "age": [20, 20, 30, 40, 50, 60],
    }
)
KEYS = ["a", "b", "c"]


def opened(budget=1000, policy=None, **rest):
    policy = policy or od.policy.presence(max_groups=2)
    return od.Session(VISITS, unit="person", policy=policy, budget=budget, **rest)


def counts(epsilon=1, **rest):
    return Count(by="place", keys=KEYS, epsilon=epsilon, **rest)


def test_one_plan_one_charge_one_line():
    session = opened()
    asked = [counts(2), TopK(1, by="place", keys=KEYS, epsilon=3)]
    plan = session.plan(od.session.Several(asked))
    alone = [session.plan(one) for one in asked]
    (edge,) = session.remaining
    assert plan.charge[edge] == sum(one.charge[edge] for one in alone) == 5
    assert [one.name for one in plan.options] == ["1. Counts", "2. TopK"]
    assert "1. Counts" in str(plan)
    answers = session.ask_all(asked, id="week 47")
    spends = session.ledger.entries(kind="spend")
    assert len(spends) == 1
    assert spends[0].epsilon[edge] == 5
    assert [part["label"] for part in spends[0].detail["questions"]] == [
        "Number of units (person) by place",
        "The largest number of units (person) by place",
    ]
    assert answers.guarantee.epsilon[edge] == 5
    assert answers[0].guarantee.epsilon[edge] == 2
    assert answers.entry == answers[1].entry == spends[0].number
    assert session.spent[edge] == 5


def test_too_little_is_left_for_one_of_them_so_none_is_answered():
    session = opened(budget=3)
    with pytest.raises(errors.BudgetExceededError):
        session.ask_all([counts(2), counts(2)])
    assert not any(session.spent.values())
    with pytest.raises(errors.ParameterError, match="is not below"):
        session.ask_all([counts(1), Sum("age", of="units", total_bounds=(9, 3), epsilon=1)])
    with pytest.raises(errors.DataError):
        session.ask_all([counts(1), Sum("place", of="units", total_bounds=(0, 3), epsilon=1)])
    assert not any(session.spent.values())


def test_answers_are_told_again_with_their_charge():
    session = opened()
    asked = [counts(2), Histogram("age", bins=[0, 30, 90], epsilon=1)]
    first = session.ask_all(asked, id="monday")
    spent = session.spent
    with pytest.raises(errors.ReleaseExistsError) as caught:
        session.ask_all(asked, id="monday")
    assert caught.value.values["state"] == "stored"
    again = session.ask_all(asked, id="monday", again=True)
    assert session.spent == spent
    assert again.told_again
    assert all(one.told_again and one.entry == first.entry for one in again)
    for one, two in zip(first, again, strict=True):
        assert one.columns() == two.columns()
    for other in (
        asked[:1],
        asked[::-1],
        [counts(1), asked[1]],
        [counts(2, confidence="0.9"), asked[1]],
    ):
        with pytest.raises(errors.ReleaseExistsError) as caught:
            session.ask_all(other, id="monday", again=True)
        assert caught.value.values["state"] == "other"
    same = [counts("2.0"), Histogram("age", bins=(0, 30, 90), epsilon=1.0)]
    assert session.ask_all(same, id="monday", again=True).told_again


def test_the_budget_is_split_by_weights():
    session = opened()
    (edge,) = session.remaining
    answers = session.ask_all([counts(), counts()], epsilon=3, weights=[1, 2])
    assert [one.guarantee.epsilon[edge] for one in answers] == [1, 2]
    evenly = session.ask_all([counts(9), counts(1)], epsilon=4)
    assert [one.guarantee.epsilon[edge] for one in evenly] == [2, 2]
    own = session.ask_all([counts(3), counts(1)], weights=[1, 1])
    assert [one.guarantee.epsilon[edge] for one in own] == [2, 2]


@pytest.mark.parametrize("policy", [od.policy.bounded(), od.policy.presence(max_groups=2)])
@pytest.mark.parametrize("total", ["1/10", 1, 4])
def test_the_budget_is_split_to_equal_relative_errors(policy, total):
    session = opened(policy=policy)
    more = {"max_groups": 2} if policy.name == "bounded" else {}
    asked = [counts(**more), Sum("age", of="units", total_bounds=(0, 100), epsilon=1)]
    guesses = [2, 10_000]
    plan = session.plan(od.session.Several(asked, epsilon=total, guesses=guesses))
    parts = [p.options[0].error / size for p, size in zip(plan.parts, guesses, strict=True)]
    assert parts[0] == pytest.approx(parts[1], rel=2e-3)
    assert sum(p.guarantee.headline for p in plan.parts) == Fraction(total)


def test_edges_are_added_one_by_one():
    """A question that leaves an edge alone costs nothing there."""
    session = opened(policy=od.policy.sensitive("age < 35"))
    one, two = counts(max_groups=2), Count(counted="open", epsilon=1)
    alone = [session.plan(q).charge for q in (one, two)]
    both = session.plan(od.session.Several([one, two])).charge
    assert both == {edge: alone[0][edge] + alone[1][edge] for edge in both}
    assert len({*alone[1].values()}) > 1


def test_release_protocol(tmp_path):
    session = opened()
    answers = session.ask_all([counts(50), Mean("age", bounds=(0, 100), epsilon=50)])
    assert len(answers) == 2
    assert answers.frame["title"].to_list() == [one.title for one in answers]
    assert "Number of units (person) by place" in str(answers)
    assert "Together: Under the policy" in str(answers)
    assert len(repr(answers).splitlines()) <= 10
    place = answers.write(tmp_path / "out", formats=["csv", "json"])
    assert (place / "1" / "release.csv").exists()
    assert (place / "2" / "guarantee.json").exists()
    told = json.loads((place / "guarantee.json").read_text())
    assert told["guarantee"]["edges"]["present -> not present"]["epsilon"] == "100"
    with pytest.raises(errors.ParameterError, match="no single value"):
        _ = answers.value


@pytest.mark.parametrize(
    ("given", "word"),
    [
        (([],), "0 questions"),
        (("count",), "must be a list"),
        (([Count],), "question was expected"),
        (([counts(id="own")],), "id of its own"),
        (([od.session.Several([counts()])],), "several already"),
    ],
)
def test_what_cannot_be_asked_together(given, word):
    with pytest.raises(errors.ParameterError, match=word):
        opened().ask_all(*given)


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"weights": [1]}, "one number for each"),
        ({"weights": [1, 0]}, "weights"),
        ({"weights": [1, -1]}, "weights"),
        ({"guesses": "12"}, "must be a list"),
        ({"weights": [1, 1], "guesses": [1, 1]}, "Give one of them|both say"),
        ({"epsilon": 0}, "epsilon"),
    ],
)
def test_shares_that_cannot_be_meant(given, word):
    with pytest.raises(errors.ParameterError, match=word):
        opened().ask_all([counts(), counts()], **given)


@dataclass(frozen=True)
class WithoutEpsilon:
    id: str | None = None
    again: bool = False

    def prepare(self, context):
        return counts(3).prepare(context)

    def measure(self, units):
        return counts(3).measure(units)


def test_a_question_without_an_epsilon_has_no_share():
    session = opened()
    assert len(session.ask_all([WithoutEpsilon(), counts()])) == 2
    with pytest.raises(errors.ParameterError, match="no share of a budget"):
        session.ask_all([WithoutEpsilon(), counts()], weights=[1, 1])


PAIR = (Fraction(1), Fraction(2))


def rows(data):
    found = [(unit, place) for unit, one in enumerate(data) for place in sorted(one.value)]
    return pl.DataFrame(found, schema={"person": pl.Int64, "place": pl.String}, orient="row")


def exact(asked):
    values = tuple(Record("unit", frozenset(v)) for v in ((), "p", "q"))
    world = Universe(groups=("p", "q"), units=1, values=values)
    policy = od.policy.presence(max_groups=1)

    def program(data, noise):
        session = od.Session(rows(data), policy=policy, unit="person", budget=9, noise=noise)
        return asked(session)

    return verify.exact(program, policy, world, tail=1e-5, sealed=False)


@pytest.mark.heavy
def test_a_pair_asked_at_once_loses_exactly_the_sum():
    def both(session):
        asked = [Count(by="place", keys=["p"], epsilon=one) for one in PAIR]
        answers = session.ask_all(asked)
        if session.spent != {"present -> not present": 3}:
            raise RuntimeError(session.spent)
        return tuple(tuple(one.noisy.tolist()) for one in answers)

    report = exact(both)
    assert report.keeps(3, unseen=0.05)
    assert report.loss > 2.95
    # The negative control: charged as the dearer of the two, it would be found out.
    assert not report.keeps(2)
    assert not report.keeps("2.9")


def test_noise_that_two_answers_share_would_be_seen():
    """The negative control of the proof: each answer needs noise of its own."""

    def shared(session):
        asked = [Count(by="place", keys=["p", "q"], epsilon=one) for one in (1, 1)]
        prepared = [one.prepare(session._context()) for one in asked]
        secret = prepared[0].read()
        first = prepared[0].draw(secret, session._noise)["noisy"]
        return tuple(first.tolist()), tuple((2 * secret + 7 - (first - secret)).tolist())

    assert not exact(shared).keeps(2)


def test_answers_are_those_of_the_questions_alone():
    """With one seed the same noise is drawn, in the order of the questions."""
    asked = [counts(1), counts("1/2"), TopK(2, by="place", keys=KEYS, epsilon=1)]
    together = opened(noise=NotPrivateSeededNoise(3)).ask_all(asked)
    session = opened(noise=NotPrivateSeededNoise(3))
    for one, two in zip(together, [session.ask(q) for q in asked], strict=True):
        assert one.columns() == two.columns()
    assert not np.array_equal(together[0].noisy, together[1].noisy)


def test_the_tight_total_of_answers_asked_at_once_is_that_of_each_on_its_own():
    policy = od.policy.unbounded()
    small = [Count(epsilon="1/100") for _ in range(40)]
    together, apart = opened(9, policy), opened(9, policy)
    together.ask_all([*small, Sum("age", of="units", total_bounds=(0, 9), epsilon="1/50")])
    for one in (*small, Sum("age", of="units", total_bounds=(0, 9), epsilon="1/50")):
        apart.ask(one)
    one, two = (session.total(delta="1e-6") for session in (together, apart))
    assert one.tight.headline == two.tight.headline < one.plain.headline == two.plain.headline
    assert one.charges == 1


def test_a_note_of_several_that_does_not_add_up_is_not_believed():
    """The negative control: parts that lose less than was charged, and parts of parts."""
    session = opened(9, od.policy.unbounded())
    session.ask_all([Count(epsilon="1/4"), Count(epsilon="1/4")])
    (line,) = session.ledger.entries(kind="spend")
    note, edge = line.detail[NOTE], next(iter(line.epsilon))
    half = Fraction(1, 2)
    assert charge_loss(note, edge=edge, epsilon=half).delta("0.4") < charge_loss(
        None, edge=edge, epsilon=half
    ).delta("0.4")
    plain = charge_loss(None, edge=edge, epsilon=Fraction(3)).delta(1)
    assert charge_loss(note, edge=edge, epsilon=Fraction(3)).delta(1) == plain
    nested = {**note, "parts": [{"note": note, "epsilon": {edge: "1/2"}}]}
    unread = [nested, {**note, "parts": []}, {**note, "parts": [1]}, {**note, "version": 9}]
    least = charge_loss(None, edge=edge, epsilon=half).delta("0.4")
    assert all(charge_loss(one, edge=edge, epsilon=half).delta("0.4") == least for one in unread)
