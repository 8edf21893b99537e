"""Laws by brute force: what is drawn tells neighbours apart by no more than they are charged.

Random tiny tables and the moves of ``test_neighbours``, which are written out there by hand; every
class of question. All that a question draws on both tables is enumerated, whatever it is made of:
noise, and numbers that are told exactly. The worst ratio of both laws is held against the charge of
that very edge, and in a renyi account the divergence of each order, too.
"""

import importlib.util
import math
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import onesided as od
from onesided import errors
from onesided._numbers import ORDERS
from onesided.session._asks import QUESTIONS
from onesided.verify._exact import Settings, compare, distribution

_SPEC = importlib.util.spec_from_file_location(
    "near", Path(__file__).with_name("test_neighbours.py")
)
near = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(near)

HOW = Settings(tail=2e-5, limit=2_500, sealed=False)  # larger worlds are passed over
KEYS = (["x"], ["x", "y"], ["y", "z"])
NOT_HERE = {
    "Synthetic": "measures margins of columns, as CrossTable does, and several at once",
    "Sample": "draws rows, whose law is that of a coin for each (test_sample)",
    "Enclosed": "Count, with its range",
}


def picked(rng, policy):
    """What narrows a question: groups, who counts, and which rows."""
    excess = rng.choice([mode for mode in policy.excess_modes if mode != "error"])
    most = None if excess == "keep" else rng.randint(1, 2)
    kinds = sorted({rule.kind for rule in policy.rules} | {policy.default_kind})
    counted = rng.choice((None, None, *kinds)) if policy.rules else None
    where = rng.choice((None, None, "v > 0", "s", "p = 'x'", "p <> 'x' OR v IS NULL"))
    alone = {"epsilon": rng.choice((4, 6, 9)), "counted": counted, "where": where}
    alone |= {"unknown": rng.choice(("possible", "recorded"))}
    return alone, {"by": "p", "keys": rng.choice(KEYS), "max_groups": most, "on_excess": excess}


def drawn(rng, policy):
    """One question of a class by chance."""
    alone, groups = picked(rng, policy)
    given = {**alone, **groups} if rng.random() < 0.6 else alone
    rows = {"of": "rows", "max_rows": rng.randint(1, 2), "bounds": rng.choice(((-2, 1), (0, 2)))}
    units = {"of": "units", "total_bounds": rng.choice(((0, 2), (-1, 1)))}
    some, often = {"missing": "drop"}, rng.choice((None, 1))
    cells = {k: v for k, v in alone.items() if k != "counted"}
    bins = rng.choice(([-2, 0, 6], [0, 6], [-2, 6]))
    ranges = rng.choice(("cells", "prefixes", [(0, 1)], [(0, len(bins) - 1), (0, 1)]))
    table = {**alone, "by": ["p"], "keys": {"p": groups["keys"]}, "margins": rng.random() < 0.5}
    table |= {"on_excess": groups["on_excess"], "outside": rng.choice(("leave", "refuse"))}
    table |= {"max_groups": 1} if groups["on_excess"] == "truncate" else {}
    wheres = rng.choice((("p = 'x'", "p = 'y'"), ("v > 0", "v <= 0"), ("s", "NOT s")))
    parts = [od.Count(where=one, epsilon=rng.choice((3, 5))) for one in wheres]
    whole = od.Count(epsilon=1, **({"by": "p", "keys": ["x"]} if "by" in given else {}))
    asked = {
        "Count": lambda: od.Count(others="by" in given and rng.random() < 0.3, **given),
        "RowCount": lambda: od.session.RowCount(max_rows=2, **given),
        "AtMost": lambda: od.AtMost(rng.randint(0, 2), **given),
        "AtLeast": lambda: od.AtLeast(rng.randint(1, 2), **given),
        "Above": lambda: od.Above(rng.randint(0, 1), max_answers=often, **given),
        "Below": lambda: od.Below(rng.randint(1, 2), max_answers=often, **given),
        "TopK": lambda: od.TopK(1, **alone, **groups),
        "Sum": lambda: od.Sum("v", **rng.choice((rows, units)), **some, **given),
        "Mean": lambda: od.Mean("v", **{**rows, "bounds": (0, 2)}, **some, **given),
        "Variance": lambda: od.Variance("v", bounds=(0, 2), **some, **alone),
        "Ratio": lambda: od.Ratio([replace(whole, where="v > 0"), whole], epsilon=6),
        "Quantile": lambda: od.Quantile(
            "v", rng.choice(("1/2", 0, 1)), candidates=[-2, 0, 1], **some, **given
        ),
        "Histogram": lambda: od.Histogram("v", bins=bins, **some, **given),
        "RangeQuery": lambda: od.RangeQuery("v", ranges, bins=bins, **some, **cells),
        "LinearQuery": lambda: od.LinearQuery(
            [[rng.randint(0, 2) for _ in groups["keys"]]], by="p", keys=groups["keys"], **cells
        ),
        "CrossTable": lambda: od.CrossTable(**table),
        "Discover": lambda: od.Discover(by="p", delta=rng.choice((None, "1/100")), **alone),
        "Ngrams": lambda: od.Ngrams(by="p", order="v", n=2, max_groups=1, **alone),
        "Several": lambda: od.Several(parts, disjoint=rng.random() < 0.5),
    }
    if "keep" in policy.excess_modes:  # presence hides groups that are counted: here places
        del asked["Histogram"], asked["RangeQuery"], asked["Quantile"]
    name = rng.choice(sorted(asked))
    return name, asked[name]


def test_every_class_of_questions_is_asked():
    rng = random.Random(1)
    seen = {drawn(rng, od.policy.bounded())[0] for _ in range(600)}
    assert seen | NOT_HERE.keys() == QUESTIONS.keys()


def plainer(value):
    """What was drawn, so that equal answers are equal."""
    if isinstance(value, dict):
        return tuple((name, plainer(one)) for name, one in value.items())
    if isinstance(value, list | tuple):
        return tuple(map(plainer, value))
    return tuple(np.asarray(value).ravel().tolist()) if isinstance(value, np.ndarray) else value


def law_of(units, policy, question, *, renyi):
    """The plan, and the law of all that is drawn; rows of a unit's number."""
    rows = [(name, *row) for name, own in enumerate(units) for row in own]
    more = {"accounting": "renyi"} if renyi else {}
    session = od.Session(
        pl.DataFrame(rows, schema=near.SCHEMA, orient="row"),
        unit="u",
        policy=policy,
        budget=10**6,
        delta_budget="9/10",
        **more,
    )
    steps = session._prepared(question, session._context())
    read = steps.read()
    return steps.plan, distribution(lambda noise: plainer(steps.draw(read, noise)), HOW)[0]


def divergence(here, there, order):
    """Of the outputs that were enumerated on both sides."""
    both = [(here.weights[o], q) for o, q in there.weights.items() if here.weights.get(o) and q]
    logs = [order * math.log(p) - (order - 1) * math.log(q) for p, q in both]
    most = max(logs, default=0)
    return (most + math.log(sum(math.exp(one - most) for one in logs or [0]))) / (order - 1)


# Sparse vectors and peeling leave out what is drawn seldom in the middle of their law.
_INTERACTIVE = ("TopK", "Above", "Below", "AtMost", "AtLeast", "Discover", "Ngrams", "Quantile")


def fault(family, seed):
    """What is wrong with a question by chance, and how many laws were compared; "" if nothing."""
    rng = random.Random(f"laws {family} {seed}")
    found, compared = near.FAMILIES[family], 0
    units = [near.rows_of_unit(rng) for _ in range(rng.randint(0, 2))] + [()]
    place = rng.randrange(len(units))
    if family == "graph":
        units = [tuple((own[0][0], v, f) for _, v, f in own) if own else () for own in units]
    name, make = drawn(rng, found.policy)
    renyi = rng.random() < 0.4 and name not in _INTERACTIVE
    for edge, other in found.moves(units[place], rng):
        neighbour = [*units[:place], other, *units[place + 1 :]]
        try:
            question = make()
            if renyi and hasattr(question, "law"):
                question = replace(question, law="pure")
            plan, here = law_of(units, found.policy, question, renyi=renyi)
            _, there = law_of(neighbour, found.policy, question, renyi=renyi)
        except errors.OnesidedError:
            continue  # refused, by what is asked or by what an enumeration may take
        edges = {one.name: one for one in found.policy.edges}
        loss, pair = compare(edges[edge], units, neighbour, here, there)
        charge, delta, compared = plan.charge[edge], float(plan.delta.get(edge, 0)), compared + 1
        told = (family, seed, question, edge, units, neighbour, str(charge))
        cut = 1e-9 + here.lost + there.lost * math.exp(charge) if delta else 0  # not enumerated
        over = pair.delta(charge) > delta + cut if delta else loss.loss > charge + 1e-6
        if charge != od.INFINITE and over:
            return f"loses {loss.loss}: {told}", compared
        for order, bound in zip(ORDERS, (plan.divergences or {}).get(edge, ()), strict=False):
            if renyi and divergence(here, there, float(order)) > float(bound) + 1e-5:
                return f"at order {order}: {told}", compared
    return "", compared


@pytest.mark.parametrize("family", near.FAMILIES)
def test_no_law_loses_more_than_is_charged(family, rounds, long_form):
    """Each seed asks one question along all moves of one unit."""
    for seed in rounds(25):
        wrong, compared = fault(family, seed)
        assert not wrong, wrong
        rounds.cases += compared
    assert rounds.cases > 0 or not long_form


def test_the_harness_sees_what_is_not_paid_for(monkeypatch):
    """Two places for one."""
    wrong = near.Family(od.policy.presence(max_groups=1), near.presence(2).moves)
    monkeypatch.setitem(near.FAMILIES, "wrong", wrong)
    assert any(fault("wrong", seed)[0] for seed in range(400))
