"""Answers about disjoint parts: what is charged, against every move of small tables."""

import random
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from tests.policy.test_cells import POLICIES, cells_of, world

import onesided as od
from onesided import errors
from onesided import policy as p
from onesided._numbers import ORDERS
from onesided.accounting import charge_divergences, counts_loss, divergences
from onesided.conditions import Condition, apart, evaluate
from onesided.mechanism import Counts
from onesided.policy import Shift
from onesided.schema import BOOLEAN, NUMBER, TEXT, bits
from onesided.session import AtMost, Count, Mean, Several, Sum, TopK
from onesided.session.several._several import charged_apart

ROWS = pl.DataFrame(
    {"person": [1, 1, 2], "place": ["a", "b", "a"], "age": [10, 40, 40], "home": ["h", "h", "i"]}
)
PARTS = {
    "by place": (["place = 'a'", "place = 'b'", "place IN ('c', 'd')"], ""),
    "by age": (["age < 18", "age >= 18"], ""),
    "by age, some": (["age >= 18 AND place = 'a'", "age < 18 AND place <> 'c'"], ""),
    "places in parts": (["place = 'a'", "place IN ('b', 'c')"], "place"),
    "places in parts by age": (["age < 18", "age >= 18"], "place"),
}
ALL = {name: one for name, one in POLICIES.items() if name != "register"}


def opened(policy, unit=None, **more):
    return od.Session(ROWS, policy=policy, unit=unit, **{"budget": 10**6, **more})


def counts(wheres, by="", *, busy=None):
    more = {"by": "place", "keys": list("abc"), "max_groups": busy} if by else {}
    return [Count(where=where, epsilon=n, **more) for n, where in enumerate(wheres, 1)]


def lost(plan, changes):
    """What one move loses, exactly: each part by its own noise."""
    return sum(
        (part.mechanism.loss(Shift(rise=rise, fall=fall)) for part, (rise, fall) in changes),
        Fraction(0),
    )


def worst(name, plan, wheres, by, *, rows):
    """Per edge, the most that any move of any small table loses."""
    policy, (values, moves) = POLICIES[name], world(name, rows=rows)
    keys, found = "abc" if by else "", {}
    told = {}

    def numbers(table):
        if table not in told:
            asked = [(keys, where, None, "keep", 3) for where in wheres]
            told[table] = [cells_of(policy, values, table, one, keys) for one in asked]
        return told[table]

    for real, other, edge in moves:
        changes = []
        for part, before, after in zip(plan.parts, numbers(real), numbers(other), strict=True):
            change = [after.get(c, 0) - before.get(c, 0) for c in {*before, *after}]
            rise = sum(one for one in change if one > 0)
            changes.append((part, (rise, rise - sum(change))))
        found[edge.name] = max(found.get(edge.name, 0), lost(plan, changes))
    return found


@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize("rows", [True, False], ids=["rows", "units"])
@pytest.mark.parametrize("name", ALL)
def test_no_move_loses_more_than_disjoint_parts_are_charged(name, rows, parts):
    policy, (wheres, by) = POLICIES[name], PARTS[parts]
    if rows and (policy.view or "presence" in {part.name for part in policy.parts}):
        return  # there a row is no unit
    if policy.name == "sensitive_presence" and parts == "places in parts by age":
        return  # refused: the parts are by what decides kinds
    single = rows or policy.single_valued or policy.covers
    asked = counts(wheres, by, busy=None if single else 3)
    if by and not rows and not policy.covers:
        asked = [replace(one, on_excess="error") for one in asked]
    session = opened(policy, None if rows else "person")
    plan = session.plan(Several(asked, disjoint=True))
    alone = session.plan(Several(asked))
    seen = worst(name, plan, wheres, by, rows=rows)
    for edge, charge in plan.charge.items():
        assert seen.get(edge, 0) <= charge <= alone.charge[edge], (edge, plan.why)
    ruled = any("place" in rule.condition.text for rule in policy.rules)
    if rows and policy.of_kinds and parts == "by place" and not ruled:
        assert {edge: seen[edge] for edge in plan.charge} == dict(plan.charge)


def test_the_charge_is_the_largest_leaving_one_and_entering_another_or_the_sum():
    by_place = counts(PARTS["by place"][0])  # at 1, 2 and 3
    charged = {
        name: set(opened(ALL[name]).plan(Several(by_place, disjoint=True)).charge.values())
        for name in ("addition", "removal", "unbounded", "bounded", "sensitive", "attributes")
    }
    largest = {"addition": {3}, "removal": {3}, "unbounded": {3}}
    assert charged == {**largest, "bounded": {5}, "sensitive": {5}, "attributes": {5}}
    # Both ways cost less where the noise does: leaving takes the upper rate, entering the lower.
    session = opened(p.bounded())
    prepared = session.plan(Several(by_place[:2]))
    rates = ((Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 4), Fraction(3, 4)))

    def due(*rates):
        plans = [
            replace(one, mechanism=Counts(*pair), charge={"record -> record": max(pair)})
            for one, pair in zip(prepared.parts, rates, strict=True)
        ]
        return charged_apart(session._context(), plans, "place")[0]["record -> record"].epsilon

    assert due(*rates) == Fraction(3, 2)  # from the first to the second: 3/4 + 3/4
    assert due(rates[0], rates[0]) == due(rates[1], rates[1]) == 1
    assert due((1, Fraction(1, 8)), (Fraction(1, 8), Fraction(1, 8))) == Fraction(9, 8)


def test_the_reason_stands_in_the_guarantee_and_the_column_in_the_ledger():
    session = opened(p.addition_only())
    asked = counts(["place = 'a'", "place = 'b'"])
    answers = session.ask_all(asked, disjoint=True, id="places")
    assert answers.guarantee.headline == 2
    assert "each move changes one part: the charge is the largest" in answers.statement.promise
    (spent,) = session.ledger.entries(kind="spend")
    assert (spent.detail["disjoint"], spent.epsilon) == ("place", {"record -> absent": 2})
    again = session.ask_all(asked, disjoint=True, id="places", again=True)
    assert again.told_again
    with pytest.raises(errors.ReleaseExistsError):
        session.ask_all(asked, id="places", again=True)
    why = {
        "one unit may have rows in several": opened(p.addition_only(), "person"),
        "a whole group": opened(p.view("age < 18", over="home", members=2)),
        "one unit may": opened(p.presence(max_groups=2), "person"),
    }
    for words, one in why.items():
        plan = one.plan(Several(asked, disjoint=True))
        assert words in plan.why
        assert "the charge is their sum" in str(plan.guarantee)


def test_units_that_became_rows_lie_in_one_part():
    session = opened(p.addition_only(), "person").per_unit(n="count")
    asked = [Count(where="n = 1", epsilon=1), Count(where="n > 1", epsilon=2)]
    assert session.plan(Several(asked, disjoint=True)).guarantee.headline == 2


def test_other_questions_add_the_two_largest_where_a_row_may_move():
    session = opened(p.bounded())
    wheres = PARTS["by place"][0]
    asked = [
        Sum("age", bounds=(0, 90), where=wheres[0], epsilon=1),
        Mean("age", bounds=(0, 90), where=wheres[1], epsilon=2),
        TopK(1, by="home", keys=["h", "i"], where=wheres[2], epsilon=4),
    ]
    plan = session.plan(Several(asked, disjoint=True))
    own = sorted(part.charge["record -> record"] for part in plan.parts)
    assert plan.charge["record -> record"] == own[1] + own[2]


RENYI = {"accounting": "renyi", "delta_budget": "1/1000000"}
LAWS = {
    "pure": [{"law": "pure"}] * 3,
    "gaussian": [{"law": "gaussian"}] * 3,
    "mixed": [{"law": "gaussian"}, {"law": "pure"}, {"law": "gaussian"}],
}


def lost_at(part, shift, order):
    """D_α of what one part's own draws lose along a shift: enumerated, from below."""
    made = part.mechanism
    if isinstance(made, Counts):
        law = divergences(counts_loss(made, [shift]))
        return law[ORDERS.index(order)]
    # Each count is drawn by itself, and a single row moves one by 1.
    twice, x = 2 * float(made.variance), np.arange(-2_000.0, 2_001.0)
    log_sum = [
        np.logaddexp.reduce((a * (x - 1) ** 2 - (a + 1) * x**2) / twice) for a in (order - 1, 0)
    ]
    return (shift.rise + shift.fall) * (log_sum[0] - log_sum[1]) / (order - 1)


@pytest.mark.parametrize("laws", LAWS)
@pytest.mark.parametrize("parts", ["by place", "by age, some"])
@pytest.mark.parametrize("name", ["addition", "unbounded", "bounded", "sensitive", "attributes"])
def test_no_move_loses_more_at_any_order_than_disjoint_parts_are_charged(name, parts, laws):
    """Every move of every small table, by the laws that are drawn; two parts where it changes two.

    The broken twin charges the largest part alone: moves between parts lose more.
    """
    policy, (wheres, _) = POLICIES[name], PARTS[parts]
    asked = [replace(one, **law) for one, law in zip(counts(wheres), LAWS[laws], strict=False)]
    plan = opened(policy, **RENYI).plan(Several(asked, disjoint=True))
    alone = opened(policy, **RENYI).plan(Several(asked))
    values, moves = world(name, rows=True)
    keys = [("", where, None, "keep", 3) for where in wheres]
    told, beyond = {}, False
    for real, other, edge in moves:
        for table in (real, other):
            if table not in told:
                told[table] = [cells_of(policy, values, table, one, "") for one in keys]
        shifts = []
        for before, after in zip(told[real], told[other], strict=True):
            change = [after.get(c, 0) - before.get(c, 0) for c in {*before, *after}]
            rise = sum(one for one in change if one > 0)
            shifts.append(Shift(rise=rise, fall=rise - sum(change)))
        for order in (2, 3, 9, 33):
            place = ORDERS.index(order)
            loss = sum(
                lost_at(part, shift, order)
                for part, shift in zip(plan.parts, shifts, strict=True)
                if shift.rise or shift.fall
            )
            assert loss <= float(plan.divergences[edge.name][place]) + 1e-9
            largest = max(float(part.divergences[edge.name][place]) for part in plan.parts)
            beyond |= loss > largest + 1e-9
    # A value of the place changes, and its row's age stays.
    moved = name in ("bounded", "sensitive") or (name, parts) == ("attributes", "by place")
    assert beyond == moved
    for edge, orders in plan.divergences.items():
        both = zip(orders, alone.divergences[edge], strict=True)
        assert all(one <= other for one, other in both)
    if name in ("addition", "unbounded"):
        largest = [
            {e: max(one.divergences[e][at] for one in plan.parts) for e in plan.charge}
            for at in range(len(ORDERS))
        ]
        assert all(plan.divergences[e][at] == one[e] for at, one in enumerate(largest) for e in one)


def test_disjoint_parts_hold_as_many_answers_as_one_part_does():
    """Of Gaussian and of pure noise, in a renyi account; a session's totals know it, too."""
    for law in ("gaussian", "pure"):
        asked = [Count(where=f"place = '{one}'", epsilon="1/50", law=law) for one in "abcd"]
        session = opened(p.unbounded(), **RENYI, budget=1)
        times = session.plan(Several(asked, disjoint=True)).times
        assert times == session.plan(asked[0]).times
        assert times > 3 * session.plan(Several(asked)).times
        for _ in range(3):
            answers = session.ask_all(asked, disjoint=True)
        assert session.ledger.check(laws=charge_divergences).charges == 3
        one = opened(p.unbounded(), **RENYI, budget=1)
        for _ in range(3):
            one.ask(asked[0])
        assert session.total(delta="1/1000000").tight.epsilon == pytest.approx(
            one.total(delta="1/1000000").tight.epsilon
        )
        assert answers.guarantee.headline == session.plan(asked[0]).guarantee.headline


def test_parts_of_many_prices_are_charged_by_what_a_row_can_tell():
    """Of ε alone where one holds, and else their sum."""
    wheres = [f"age = {one}" for one in range(10)]
    for law, whole in (("pure", Fraction(19, 100)), ("gaussian", od.INFINITE)):
        asked = [
            Count(where=where, epsilon=Fraction(n, 100), law=law)
            for n, where in enumerate(wheres, 1)
        ]
        session = opened(p.bounded(), **RENYI, budget=9)
        plan, both = (session.plan(Several(asked, disjoint=one)) for one in (True, False))
        assert set(plan.charge.values()) == {whole}
        if law == "gaussian":
            assert plan.divergences == both.divergences
        session.ask_all(asked, disjoint=True)
        assert session.ledger.check(laws=charge_divergences).charges == 1


@pytest.mark.parametrize(
    "wheres",
    [
        ["age < 18", "age <= 18 AND age >= 17"],
        ["age < 18", None],
        ["age < 18", "home = 'h'"],
        ["age < 18", "NOT (age < 18)"],
        ["LOWER(place) = 'a'", "LOWER(place) = 'b'"],
        ["place = 'a' OR age > 3", "place = 'b'"],
        ["place <> 'a'", "place = 'b'"],
        ["age + 1 < 18", "age * age > 900"],
        ["age IS NULL", "age IS NULL"],
    ],
)
def test_parts_that_are_not_shown_to_be_disjoint_are_refused(wheres):
    session = opened(p.addition_only())
    with pytest.raises(errors.ParameterError, match=r"shown to be disjoint|no where= says"):
        session.ask_all([Count(where=one, epsilon=1) for one in wheres], disjoint=True)
    with pytest.raises(errors.ParameterError, match="True or False"):
        session.ask_all(counts(["age < 18"]), disjoint="yes")
    assert not any(session.spent.values())


def test_rows_that_may_be_in_every_part_need_a_column_without_missing_values():
    places = ["place = 'a'", "place = 'b'"]
    asked = [AtMost(1, by="home", keys=["h"], where=one, epsilon=1) for one in places]
    with pytest.raises(errors.ParameterError, match="shown to be disjoint"):
        opened(p.addition_only()).plan(Several(asked, disjoint=True))
    required = od.Schema(columns={"place": od.column("text", required=True)})
    session = opened(p.addition_only(), schema=required)
    assert session.plan(Several(asked, disjoint=True)).guarantee.headline == 1


def test_parts_writes_the_questions():
    session = opened(p.addition_only())
    people = session.parts(Count(epsilon=90), by="place", keys=["a", "b", "it's"])
    assert [int(one.value) for one in people] == [2, 1, 0]
    assert people.guarantee.headline == 90
    ages = {"young": "age < 18", "old": "age >= 18"}
    told = session.parts(Count(where="place = 'a'", epsilon=90), by=ages, id="ages")
    assert [int(one.value) for one in told] == [1, 1]
    assert next(one.title for one in told).startswith("young: Number of rows, where (place = 'a')")
    for given in ({"by": "place"}, {"by": "place", "keys": "ab"}, {"by": {}}, {"by": 3}):
        with pytest.raises(errors.ParameterError, match="make no parts"):
            session.parts(Count(epsilon=1), **given)
    with pytest.raises(errors.ConditionError, match="no value to make a part of"):
        session.parts(Count(epsilon=1), by="age", keys=[0.5])


TYPES = {"n": bits(8), "x": NUMBER, "t": TEXT, "f": BOOLEAN}
POINTS = {
    "n": [None, *range(-2, 5)],
    "x": [None, -1.0, -0.0, 0.0, 0.1, 0.5, 1e300],
    "t": [None, "", "a", "A", "ab", "b", "é"],
    "f": [None, True, False],
}
LITERALS = {
    "n": ["-1", "0", "2", "1.5", "3"],
    "x": ["-1", "0", "0.1", "0.5", "1e300"],
    "t": ["''", "'a'", "'A'", "'ab'", "'b'"],
}


def test_what_is_shown_disjoint_is_by_every_row(long_form):
    """Random conditions: no row of any values is in two, and true or unknown where it is known."""
    chance, shown = random.Random(7), 0

    def part(name):
        if name == "f":
            return chance.choice(["f", "NOT f", "f = TRUE", "f = FALSE", "f IS NULL"])
        one, two = chance.choices(LITERALS[name], k=2)
        ways = ["{n} = {a}", "{n} < {a}", "{n} >= {a}", "{n} IN ({a}, {b})", "{n} IS NULL"]
        ways += ["{n} BETWEEN {a} AND {b}", "{n} > {a} AND {n} <= {b}", "{a} > {n}"]
        return chance.choice(ways).format(n=name, a=one, b=two)

    def condition():
        own = part(name)
        other = part(chance.choice([*TYPES]))
        mixed = [own, own, f"({own}) AND ({other})", f"({own}) OR ({part(name)})"]
        return chance.choice([*mixed, f"({other}) OR ({own})"])

    rows = [
        dict(zip(TYPES, values, strict=True))
        for values in zip(*(chance.choices(POINTS[n], k=900) for n in TYPES), strict=True)
    ]
    for _ in range(20_000 if long_form else 600):
        name = chance.choice([*TYPES])
        found = [Condition.parse(condition()) for _ in range(chance.choice([2, 2, 3]))]
        bounds = [one.bind(TYPES).tree for one in found]
        truths = [[evaluate(tree, row) for tree in bounds] for row in rows]
        column = apart(found, TYPES)
        if column is not None:
            shown += 1
            assert all(row.count(True) <= 1 for row in truths), found
        known = apart(found, TYPES, known={"n", "t"})
        if known is not None:
            full = [told for told, row in zip(truths, rows, strict=True) if row[known] is not None]
            assert all(sum(one is not False for one in told) <= 1 for told in full), found
    assert shown > 40


def test_intervals_of_numbers_that_an_engine_may_round_must_leave_an_end_out():
    near = ["x <= 0.1", "x >= 0.100000000000001"]
    far = ["x <= 0.1", "x >= 0.2"]
    half = ["x < 0.1", "x >= 0.1"]
    points = ["x = 0.1", "x = 0.100000000000001"]
    told = [apart([Condition.parse(t) for t in one], TYPES) for one in (near, far, half, points)]
    assert told == [None, "x", "x", None]
    for one, two in combinations(["n = 1", "n = 2", "n > 2 AND n < 9"], 2):
        assert apart([Condition.parse(one), Condition.parse(two)], TYPES) == "n"
