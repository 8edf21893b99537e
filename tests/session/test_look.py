"""A small charged look: what it suggests, what it costs, and that it costs no less."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from tests.covering import drawn

import onesided as od
from onesided import errors, verify
from onesided.noise import NotPrivateSeededNoise
from onesided.policy import Record
from onesided.session import AtMost, Count, Mean, Sum, _suggest
from onesided.verify import Universe

P = od.policy
PLACES = list("abcdefghij")


def gifts(seed=0, rows=20_000, people=5_000):
    """Made up: most gifts about 20, a few very large; some four places each."""
    chance = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "person": chance.integers(0, people, rows),
            "place": chance.choice(PLACES, rows),
            "gift": chance.lognormal(3, 1, rows).round().astype(int),
        }
    )


def opened(policy=None, **rest):
    return od.Session(gifts(), unit="person", policy=policy or P.bounded(), budget=100, **rest)


@pytest.mark.parametrize("kind", [Sum, Mean])
def test_bounds_come_from_a_look_that_is_charged_in_a_line_of_its_own(kind):
    session = opened(noise=NotPrivateSeededNoise(1))
    named = "total_bounds" if kind is Sum else "bounds"
    given = {"of": "units", named: (0, 10**9)}
    found = session.suggest(kind("gift", **given, epsilon=1), look="1/20")
    assert found.question.epsilon == Fraction(19, 20)
    assert set(session.spent.values()) == {Fraction(1, 20)}
    (line,) = session.ledger.entries(kind="spend")
    assert line.label == "Look at how large gift is"
    assert found.look.entry == line.number
    assert f"A look was charged: ε = 1/20, entry {line.number}." in str(found)
    assert 30 <= getattr(found.question, named)[1] <= 1000
    session.ask(found.question)
    assert set(session.spent.values()) == {1}


def test_the_error_is_far_below_that_of_the_outermost_bounds():
    truth = gifts().group_by("person").agg(pl.col("gift").sum())["gift"].sum()
    asked = Sum("gift", of="units", total_bounds=(0, 10**6), epsilon=1)
    told = drawn(opened(), asked, 30, NotPrivateSeededNoise(0))
    missed = {"look": [], "outermost": [one.value - truth for one in told]}
    for seed in range(30):
        session = opened(noise=NotPrivateSeededNoise(seed))
        question = session.suggest(asked, look="1/20").question
        missed["look"].append(session.ask(question).value - truth)
    wide, near = (np.sqrt(np.mean(np.square(missed[one]))) for one in ("outermost", "look"))
    assert near < wide / 20


def test_the_number_of_groups_comes_from_a_look():
    session = opened(noise=NotPrivateSeededNoise(2))
    asked = Count(by="place", keys=PLACES, epsilon=1)
    found = session.suggest(asked, look="1/10")
    assert 2 <= found.question.max_groups <= 8
    assert found.question.on_excess == "truncate"
    assert set(session.spent.values()) == {Fraction(1, 10)}
    assert session.ask(found.question).estimate.size == len(PLACES)


def test_bounds_from_public_rows_are_free():
    session = opened()
    asked = Sum("gift", of="units", total_bounds=(0, 4000), epsilon=1)
    found = session.suggest(asked, like=gifts(7, rows=4_000, people=1_000))
    assert found.question.total_bounds[1] < 4000
    assert not any(session.spent.values())


def test_both_signs_are_cut_to_the_same_size():
    rows = gifts().with_columns(pl.col("gift") * pl.Series([1, -1] * 10_000))
    session = od.Session(rows, policy=P.unbounded(), budget=9, noise=NotPrivateSeededNoise(3))
    found = session.suggest(
        Sum("gift", of="units", total_bounds=(-5000, 9000), epsilon=1), look="1/10"
    )
    low, high = found.question.total_bounds
    assert low == -high
    assert high < 5000


@pytest.mark.parametrize(
    ("question", "wanted", "word"),
    [
        (Sum("gift", of="units", total_bounds=(0, 9), epsilon=1), {"look": 0}, "between 0 and 1"),
        (Sum("gift", of="units", total_bounds=(0, 9), epsilon=1), {"look": 1}, "between 0 and 1"),
        (Sum("gift", of="units", total_bounds=(0, 9), epsilon=1), {"look": "much"}, "look"),
        (Sum("gift", epsilon=1), {"look": "1/20"}, "bounds"),
        (Count(epsilon=1), {"look": "1/20"}, "A look finds bounds"),
        (AtMost(5, by="place", keys=PLACES, epsilon=1), {"look": "1/20"}, "A look finds bounds"),
        (
            Sum("gift", of="units", total_bounds=(0, 9), epsilon=1),
            {"look": "1/20", "error": 5},
            "its part",
        ),
        (
            Sum("gift", of="units", total_bounds=(0, 9), epsilon=1),
            {"look": "1/20", "like": gifts()},
            "its part",
        ),
    ],
)
def test_what_no_look_is_for(question, wanted, word):
    session = opened()
    with pytest.raises(errors.OnesidedError, match=word):
        session.suggest(question, **wanted)
    assert not any(session.spent.values())


def test_a_look_that_is_not_left_is_not_taken():
    session = od.Session(gifts(), unit="person", policy=P.bounded(), budget="1/100")
    with pytest.raises(errors.BudgetExceededError):
        session.suggest(Sum("gift", of="units", total_bounds=(0, 10**9), epsilon=1), look="1/20")
    assert not any(session.spent.values())


def world(policy, units):
    """So many people, each with no row, one of 1, or rows of 1 and 3; or there is none."""
    kind = "unit" if policy.name == "presence" else "record"
    values = tuple(Record(kind, frozenset(one)) for one in ((), "1", "13"))
    gone = () if kind == "unit" else (Record("absent"),)
    return Universe(groups=("1", "3"), units=units, values=(*values, *gone))


LOOK = Fraction(3, 2)


def table(data):
    """Rows of units with values 1 and 3, in two places."""
    found = [
        (unit, int(value), "ab"[value == "3"])
        for unit, one in enumerate(data)
        for value in sorted(one.value)
    ]
    schema = {"person": pl.Int64, "gift": pl.Int64, "place": pl.String}
    return pl.DataFrame(found, schema=schema, orient="row")


def checked(policy, question, units):
    def program(data, noise):
        session = od.Session(table(data), unit="person", policy=policy, budget=99, noise=noise)
        found = session.suggest(question, look="1/2")
        if max(session.spent.values()) != LOOK:
            raise RuntimeError(session.spent)
        return found.look.value

    return verify.exact(program, policy, world(policy, units), tail=1e-7, sealed=False)


ASKED = [
    (P.unbounded(), Sum("gift", of="units", total_bounds=(0, 3), epsilon=3), 2),
    (P.bounded(), Mean("gift", bounds=(0, 3), epsilon=3), 1),
    (P.presence(max_groups=1), Sum("gift", of="units", total_bounds=(0, 3), epsilon=3), 2),
    (P.unbounded(), Count(by="place", keys=["a", "b"], epsilon=3), 1),
]


@pytest.mark.heavy
@pytest.mark.slow
def test_a_session_that_looks_loses_what_it_charges_and_no_more(monkeypatch, long_form):
    """Every path of the sampler, every move; and a look priced at a sixth is seen."""
    for policy, question, units in ASKED if long_form else (ASKED[1], ASKED[3]):
        with monkeypatch.context() as patch:
            # A rank near the middle of this small world, where ranks tell most.
            patch.setattr(_suggest, "rank_to_exceed", lambda *_, units=units, **__: units - 1)
            assert checked(policy, question, units).keeps(LOOK)
            rate = _suggest.largest_rate
            patch.setattr(_suggest, "largest_rate", lambda *given, rate=rate: 6 * rate(*given))
            patch.setattr(
                _suggest,
                "priced",
                lambda *given, loss, **rest: PRICED(*given, loss=a_sixth(loss), **rest),
            )
            assert not checked(policy, question, units).keeps(LOOK)


PRICED = _suggest.priced


def a_sixth(loss):
    return lambda shift: loss(shift) / 6
