"""What a move does to the cells of a question, against every move of small tables.

``table_moves`` knows the definitions alone. For each policy and question, what the policy tells is
never less than what some move does, at any price of a fall and a rise; and it is just that, but for
the questions that :func:`wider` names.
"""

import random
from collections import defaultdict
from functools import cache
from itertools import permutations, product

import pytest

from onesided import policy as p
from onesided.conditions import Condition
from onesided.schema import TEXT, bits
from onesided_proofs.tables import Row, Tables, subsets

AGES = (10, 40, None)
PRICES = ((1, 0), (0, 1), (1, 1), (1, 3), (3, 1))
TYPES = {"age": bits(8), "place": TEXT}
MINOR, ADULT = "age < 18", "age >= 18"
PLACES = ("place = 'b'", "place <> 'a'", "place IN ('a', 'c') OR place IS NULL")
WHERES = (None, MINOR, ADULT, f"COALESCE({MINOR}, TRUE)", "COALESCE(age, 99) >= 18", *PLACES)
KEYS = ("", "a", "b", "ab", "bc", "abc")
POLICIES = {
    "bounded": p.bounded(),
    "unbounded": p.unbounded(),
    "addition": p.addition_only(),
    "removal": p.removal_only(),
    "sensitive": p.sensitive(MINOR),
    "by place": p.sensitive("place = 'a'"),
    "extended": p.extended_sensitive(MINOR),
    "proposition": p.proposition(ADULT),
    "tiers": p.tiers({"strict": ("1/2", MINOR), "mild": (1, "place = 'a'"), "rest": 2}),
    "leaving": p.custom(
        kinds=["s", "o", "absent"],
        edges=[("s", "s"), ("s", "o"), ("s", "absent", 2)],
        rules=[("s", MINOR)],
        default="o",
    ),
    "presence": p.presence(max_groups=1),
    "map": p.sensitive_presence(MINOR, max_groups=1),
    "wide map": p.sensitive_presence(MINOR, max_groups=2),
    "wide presence": p.presence(max_groups=2),
    "attributes": p.attributes({"place": ["a"]}),
    "some": p.attributes({"place": ["a", "c"]}),
    "all attributes": p.attributes({"place": "*"}),
    "graph": p.graph([("a", "b")], values=["c"]),
    "directed": p.graph([("a", "b", 2), ("b", "absent", "1/2")], directed=True, values=["c"]),
    "local": p.local(["a", "b", "c"], sensitive=["a"]),
    "near": p.neighbourhood(radius=1, places={"a": (0,), "b": (1,), "c": (9,)}),
    "sources": p.neighbourhood(radius=1, sources=[(1,)], places={"a": (0,), "b": (1,), "c": (9,)}),
    "two kinds": p.sensitive(MINOR) & p.sensitive("place = 'a'"),
    "dropping minors": p.sensitive(MINOR) & p.presence(max_groups=1),
    "dropping": p.bounded() & p.presence(max_groups=1),
    "bounded graph": p.bounded() & p.graph([("a", "b")], values=["c"]),
    "homes": p.view(MINOR, over="home", members=2),
    "register": p.view(MINOR, over="home", members=2, table="register"),
}


def truth(condition, values):
    """What a condition is for a row of a place and an age."""
    given = dict(zip(("place", "age"), values, strict=True))
    return bound(condition).of({name: given[name] for name in bound(condition).condition.columns})


@cache
def bound(condition):
    parsed = Condition.parse(condition)
    return parsed.bind({name: TYPES[name] for name in parsed.columns})


def conditions(policy):
    """Texts that the definitions look for in a row, and what makes one of them hold there."""
    for part in policy.parts:
        given = part.parameters()
        if part.name == "proposition":
            yield given["predicate"], {True}
        elif part.view is not None:
            yield given["predicate"], {True, None}
        for rule in part.rules:
            yield rule.predicate.text, {True, None}


def row(policy, values):
    facts = {text for text, holds in conditions(policy) if truth(text, values) in holds}
    return Row(values[0], frozenset({*facts, f"{values[1]}"}))


@cache
def world(name, *, rows):
    """Every small table with its moves, and the values behind each row."""
    policy = POLICIES[name]
    few = [("a", 10), ("a", 40), ("b", 10), ("b", 40), ("c", None)]
    pairs = few if policy.view else [*product("abc", AGES)]
    values = {row(policy, one): one for one in pairs}
    busy = frozenset(row(policy, one) for one in (("a", 10), ("b", 40), ("c", 40)))
    most = 1 if rows or policy.view else 2
    possible = (*subsets(list(values), most=most), *(() if most == 1 else (busy,)))
    homes = ("h", "h") if policy.view else ()
    registers = (frozenset(), frozenset({"h"})) if policy.view else (frozenset(),)
    tables = Tables(
        possible=possible, units=1 + bool(policy.view), homes=homes, registers=registers
    )
    return values, [(x, y, edge) for x, y, edge in tables.moves(policy)]


def kind_of(policy, values, table, place):
    units = table.units
    if policy.view is not None:
        marked = any(truth(MINOR, values[row]) is not False for rows in units for row in rows)
        other = policy.view.table is not None
        return "sensitive" if (table.homes[0] in table.marked if other else marked) else "open"
    for rule in policy.rules:
        held = [values[row] for row in units[place]]
        if all(any(truth(t.text, one) is not False for one in held) for t in rule.predicates):
            return rule.kind
    return policy.default_kind


def cells_of(policy, values, table, asked, order):
    """How many units are in each cell; None where a unit is in more than was asserted."""
    keys, where, counted, mode, most = asked
    found = defaultdict(int)
    for place, rows in enumerate(table.units):
        if not rows or (counted and kind_of(policy, values, table, place) != counted):
            continue
        held = [values[row] for row in rows]
        held = [one for one in held if where is None or truth(where, one) is True]
        inside = {one[0] for one in held if one[0] in keys} if keys else {""} if held else set()
        if len(inside) > most and mode == "error":
            return None
        if mode == "truncate" and keys:
            inside = sorted(inside, key=order.index)[:most]
        for cell in inside:
            found[cell] += 1
    return dict(found)


def query_of(policy, asked, *, rows):
    """The question as a session tells it to the policy."""
    keys, where, counted, mode, most = asked
    of_values = policy.single_valued or policy.between_values
    named = of_values and (where is None if keys else where in PLACES)
    return p.GroupCount(
        max_groups=None if mode == "keep" else most,
        counted=frozenset({counted}) if counted else None,
        truncated=mode == "truncate" and bool(keys) and not rows,
        several_units=True,
        columns=frozenset(
            (*(("place",) if keys else ()), *(Condition.parse(where).columns if where else ()))
        ),
        cells=p.Cells(
            size=len(keys) or 1,
            everything=not keys,
            where=None if where is None else Condition.parse(where),
            rows=rows,
            column="place" if named else "",
            alone=named,
            keys=frozenset(keys) if named else frozenset(),
        ),
    )


def questions(policy, *, rows):
    """Keys, condition, kind counted, what is done with units in more cells, and how many count."""
    single = rows or policy.single_valued or policy.view is not None
    modes = ["truncate"] if rows or policy.view else [*policy.excess_modes]
    told = [k for k in policy.kinds if k != p.ABSENT] if policy.rules or policy.view else []
    wheres = [one for one in WHERES if one is None or not policy.view or one != MINOR]
    for keys, where, counted, mode in product(KEYS, wheres, [None, *told], modes):
        if mode == "keep" and (counted or (where and "age" in where)) and policy.rules:
            continue  # refused: whoever changes kind, or is picked by it, may be in any number
        for most in (1,) if single or not keys else (1, 2):
            yield keys, where, counted, mode, 3 if mode == "keep" else most


def moved(name, asked, *, rows):
    """Per edge, every (rise, fall) of a move."""
    policy, (values, moves) = POLICIES[name], world(name, rows=rows)
    found = defaultdict(set)
    for order in permutations(asked[0]) if asked[3] == "truncate" else [asked[0]]:
        told = cache(lambda table, order=order: cells_of(policy, values, table, asked, order))
        for real, other, edge in moves:
            before, after = told(real), told(other)
            if before is not None and after is not None:
                change = [after.get(c, 0) - before.get(c, 0) for c in {*before, *after}]
                rise = sum(one for one in change if one > 0)
                found[edge].add((rise, rise - sum(change)))
    return found


def worst(shifts, price):
    return max(price[0] * fall + price[1] * rise for rise, fall in shifts)


def wider(policy, asked, *, rows):
    """Why what is told may be more than any move does; "" where it is not."""
    keys, where, counted, mode, _ = asked
    of_values = policy.single_valued or policy.between_values
    picks = of_values and not keys and where in PLACES
    why = {
        "each part bounds the moves of all": len(policy.parts) > 1,
        "kinds of a view change together": policy.view and counted,
        "conditions are not read there": where
        and (not policy.of_kinds or policy.view)
        and not picks,
        "one of several rows is enough for a kind": where and not rows,
        "a condition on the column of the cells": where and "place" in where and not picks,
        "one column is read in two ways": where and where.startswith("COALESCE(age"),
        "kinds by the column of the cells": any("place" in r.condition.text for r in policy.rules),
        "cut down to another cell": policy.single_valued and mode == "truncate" and not rows,
        "who is in one place keeps it or goes": policy.name == POLICIES["map"].name
        and mode == "error",
        "distances are not read": policy.by_distance or policy.name == "local",
    }
    return ", ".join(reason for reason, holds in why.items() if holds)


def of_rows():
    """The policies under which a row may be a unit."""
    for name, policy in POLICIES.items():
        if not policy.view and "presence" not in {part.name for part in policy.parts}:
            yield pytest.param(name, True, id=f"rows-{name}")


UNITS = [pytest.param(name, False, id=f"units-{name}") for name in POLICIES]


@pytest.mark.parametrize(("name", "rows"), [*of_rows(), *UNITS])
def test_what_a_policy_tells_of_cells_is_what_its_moves_do(name, rows, long_form):
    policy, exact = POLICIES[name], 0
    every = list(questions(policy, rows=rows))
    chosen = every if long_form else random.Random(name).sample(every, min(len(every), 40))
    for asked in chosen:
        told = policy.shifts(query_of(policy, asked, rows=rows))
        seen = moved(name, asked, rows=rows)
        for edge in policy.edges:
            shifts = [(one.rise, one.fall) for one in told[edge]]
            for price in PRICES:
                due = worst(seen[edge] or {(0, 0)}, price)
                assert worst(shifts, price) >= due, (asked, edge, shifts, seen[edge])
                if seen[edge] and not wider(policy, asked, rows=rows):
                    assert worst(shifts, price) == due, (asked, edge, shifts, seen[edge])
                    exact += 1
    assert exact or any(wider(policy, asked, rows=rows) for asked in chosen)
