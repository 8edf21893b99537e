"""Neighbours by brute force: what a question reads changes along no move by more than is charged.

Random tiny tables, each policy's moves written out here by hand, every question whose charge is a
price per unit of change, every engine. The question reads both tables; the change of what it read,
rises and falls apart, is priced by the mechanism's own loss and held against the plan's charge of
that very edge. Nothing is drawn, so one disagreement is one wrong guarantee.
"""

import random
from dataclasses import dataclass
from itertools import chain, combinations

import duckdb
import numpy as np
import polars as pl
import pytest

import onesided as od
from onesided import errors
from onesided.policy import Shift

P = od.policy
PLACES, VALUES, FLAGS = ("x", "y", "z"), (-2, 0, 1, 5), (True, False, None)
CONNECTION = duckdb.connect()
ENGINES = {
    "polars": lambda frame: frame,
    "polars-lazy": lambda frame: frame.lazy(),
    "pandas": lambda frame: frame.to_pandas(),
    "pyarrow": lambda frame: frame.to_arrow(),
    "duckdb": lambda frame: CONNECTION.from_arrow(frame.to_arrow()),
}


@dataclass(frozen=True)
class Family:
    """A policy, and how a unit's rows may be replaced: ``(edge, rows)`` for each move."""

    policy: od.policy.Policy
    moves: object


def rows_of_unit(rng, *, least=1):
    return tuple(
        (rng.choice(PLACES), rng.choice(VALUES), rng.choice(FLAGS))
        for _ in range(rng.randint(least, 3))
    )


def sensitive(rows):
    return any(flag is not False for _, _, flag in rows)


def dropped(rows, most):
    """Every way to drop up to ``most`` places with all their rows."""
    places = sorted({place for place, _, _ in rows})
    for picked in chain.from_iterable(combinations(places, n) for n in range(1, most + 1)):
        yield tuple(row for row in rows if row[0] not in picked)


def presence(most):
    def moves(rows, rng):
        for left in dropped(rows, most):
            yield "present -> not present", left

    return Family(P.presence(max_groups=most), moves)


def mapped(most):
    def moves(rows, rng):
        for left in (rows, *dropped(rows, most)) if rows and sensitive(rows) else ():
            flags = rng.choice((FLAGS, (False,)))
            other = tuple((place, value, rng.choice(flags)) for place, value, _ in left)
            kind = "open" if other and not sensitive(other) else "sensitive"
            yield f"sensitive -> {kind}", other

    return Family(P.sensitive_presence("s", max_groups=most), moves)


def added(name):
    def moves(rows, rng):
        if not rows:
            yield name, rows_of_unit(rng)

    return moves


def removed(name):
    def moves(rows, rng):
        if rows:
            yield name, ()

    return moves


def both(*parts):
    def moves(rows, rng):
        for part in parts:
            yield from part(rows, rng)

    return moves


def replaced(rows, rng):
    if rows:
        yield "record -> record", rows_of_unit(rng)


def from_sensitive(rows, rng):
    if rows and sensitive(rows):
        other = rows_of_unit(rng)
        yield f"sensitive -> {'sensitive' if sensitive(other) else 'open'}", other


def extended(rows, rng):
    if rows and sensitive(rows):
        yield "sensitive -> absent", ()
    if not rows:
        other = rows_of_unit(rng)
        yield f"absent -> {'sensitive' if sensitive(other) else 'open'}", other


def proposition(rows, rng):
    if not rows:
        return
    other = rows_of_unit(rng)
    kind, target = (("protected" if sensitive(r) else "open") for r in (rows, other))
    if kind == "protected" or target == "open":
        yield f"{kind} -> {target}", other


def joint(rows, rng):
    if rows and sensitive(rows):  # nobody leaves the table: `sensitive` has no such move
        for left in filter(None, dropped(rows, 1)):
            kind = "sensitive" if sensitive(left) else "open"
            yield f"present & sensitive -> not present & {kind}", left


def neighbours_on_a_graph(rows, rng):
    if rows:
        place = rng.choice(PLACES)
        target = {"x": ["y"], "y": ["x", "z"], "z": ["y"]}[rows[0][0]]
        if place in target:
            yield "value -> neighbour", tuple((place, v, f) for _, v, f in rows)


FAMILIES = {
    "presence-1": presence(1),
    "presence-2": presence(2),
    "map-1": mapped(1),
    "map-2": mapped(2),
    "addition-only": Family(P.addition_only(), removed("record -> absent")),
    "removal-only": Family(P.removal_only(), added("absent -> record")),
    "unbounded": Family(
        P.unbounded(), both(removed("record -> absent"), added("absent -> record"))
    ),
    "bounded": Family(P.bounded(), replaced),
    "sensitive": Family(P.sensitive("s"), from_sensitive),
    "extended": Family(P.extended_sensitive("s"), extended),
    "proposition": Family(P.proposition("not s"), proposition),
    "presence & sensitive": Family(P.presence(max_groups=1) & P.sensitive("s"), joint),
    "graph": Family(P.graph([("x", "y"), ("y", "z")]), neighbours_on_a_graph),
}


def questions(rng, policy):
    """Questions of every priced kind, with and without what narrows them."""
    excess = rng.choice(policy.excess_modes)
    most = None if excess == "keep" else rng.randint(1, 3)
    told = sorted({rule.kind for rule in policy.rules} | {policy.default_kind})
    where = rng.choice((None, "v > 0", "s", "s or v is null"))
    keys = sorted(rng.sample(PLACES, rng.randint(1, 3)))
    counted = rng.choice((None, *told)) if policy.rules else None
    by = {"by": "p", "keys": keys, "epsilon": 1, "max_groups": most, "on_excess": excess}
    picked = {"where": where, "unknown": rng.choice(("possible", "recorded"))}
    by |= {**picked, "counted": counted}
    alone = {"epsilon": 1, **picked, "counted": counted}
    bounds = rng.choice(((-2, 5), (0, 3), (-1, 1)))
    for given in (by, {**by, "max_groups": None}, {**by, "on_excess": None}, alone):
        yield od.Count(**given)
    s = od.session
    if not (policy.single_valued or policy.between_values):
        yield od.Count(**by, others=True)
        yield s.Sum("v", of="units", total_bounds=bounds, **by, others=True)
    yield s.Sum("v", of="units", total_bounds=bounds, **by)
    yield s.Sum("v", of="units", total_bounds=bounds, **alone)
    for given in (by, alone):
        yield s.Mean("v", bounds=bounds, **given)
        yield s.Mean("s", missing="drop", **given)
        heavy = {"weight": "v", "weight_bounds": (0, max(bounds[1], 1))}
        yield s.Mean("s", missing="drop", **heavy, **given)
        yield od.Count(weight="v", weight_bounds=(max(bounds[0], 0), bounds[1]), **given)
    yield s.Variance("v", bounds=bounds, **alone)
    rows = {"bounds": bounds, "of": "rows", "max_rows": rng.randint(1, 3)}
    yield s.Mean("v", **rows, missing=rng.choice(("drop", "refuse")), **alone)
    yield s.Mean("v", **rows, **by)
    yield s.Variance("v", **rows, **alone)
    yield s.Sum("v", **rows, missing=rng.choice(("drop", "refuse")), **alone)
    yield s.Sum("v", **rows, **by)
    if "keep" not in policy.excess_modes:  # presence hides groups that are counted: here values
        yield s.Histogram("v", bins=[-2, 0, 2, 6], missing="drop", epsilon=1, **picked)
        yield s.Quantile("v", "1/2", candidates=[-2, 0, 1, 5], method="cumulative", **alone)
    yield from quantiles(rng, by, alone)
    yield s.Above(1, max_answers=rng.choice((None, 1)), **by)
    yield s.TopK(1, **by)


def quantiles(rng, by, alone):
    """Of units and of rows, with each way between two values."""
    s = od.session
    share, ends = rng.choice(("1/2", "1/10", "2/3")), rng.choice(((-2, 5), (0, 3)))
    yield s.Quantile("v", share, bounds=ends, missing=rng.choice(("drop", "refuse")), **alone)
    yield s.Quantile("v", ["1/4", "3/4"], candidates=[-2, 0, 1, 5], **by)
    rows = {"of": "rows", "max_rows": rng.randint(1, 3), "bounds": ends}
    how = rng.choice((None, True, False))
    yield s.Quantile("v", share, **rows, missing="drop", interpolate=how, **alone)
    yield s.Quantile("v", share, **rows, interpolate=how, **by)
    yield s.Quantile("v", share, bounds=ends, interpolate=how, **by)


SCHEMA = {"u": pl.Int64, "p": pl.String, "v": pl.Int64, "s": pl.Boolean}


def prepared(make, units, policy, question):
    """The question on a table of one engine."""
    rows = [(name, *row) for name, own in enumerate(units) for row in own]
    data = make(pl.DataFrame(rows, schema=SCHEMA, orient="row"))
    session = od.Session(data, unit="u", policy=policy, budget=100)
    return session._prepared(question, session._context())


class Still:
    """Noise that is always 0, and remembers at which rates it was asked for."""

    def __init__(self):
        self.rates = []

    def geometric(self, rate, size):
        self.rates.append((rate, od.INFINITE))
        return np.zeros(size, dtype=np.int64)

    def two_sided(self, upper, lower, size):
        self.rates.append((upper, lower))
        return np.zeros(size, dtype=np.int64)


def shift(before, after):
    change = after.astype(object) - before.astype(object)
    rise = sum(int(c) for c in change.flat if c > 0)
    fall = sum(-int(c) for c in change.flat if c < 0)
    return Shift(rise=rise, fall=fall)


def product(rate, change):
    return rate * change if change else 0


def price(here, there):
    """What the change of what is read costs, by the mechanism's own loss or by the rates used."""
    before, after = here.read(), there.read()
    if isinstance(before, list):
        return price_of_ranks(here.plan.mechanism, before, after)
    if isinstance(before, np.ndarray):
        return here.plan.mechanism.loss(shift(before, after))
    noise = Still()
    before, after = here.draw(before, noise), there.draw(after, Still())
    assert len(noise.rates) == len(before)
    moved = [shift(before[part], after[part]) for part in before]
    pairs = zip(noise.rates, moved, strict=True)
    return sum(product(up, one.fall) + product(low, one.rise) for (up, low), one in pairs)


def price_of_ranks(mechanism, before, after):
    """The exact worst loss of the candidates drawn, from the law and not from a price per move."""
    parts = [
        worst_ratio(one, *(in_parts(mechanism, place, held) for held in ends))
        for ends in zip(before, after, strict=True)
        for place, one in enumerate(mechanism.parts)
    ]
    return sum(parts) * (1 - 1e-9)  # sums of doubles


def in_parts(mechanism, place, held):
    """Ranks in the parts that the mechanism makes of them, if it does."""
    found = getattr(mechanism, "ranks", None)
    return held if found is None else found(mechanism.fine[place], *held)


def worst_ratio(one, before, after):
    here, there = (chances(one, *held) for held in (before, after))
    return max(float(np.log(p / q)) for p, q in zip(here, there, strict=True) if p)


def chances(one, places, counts):
    """Each candidate's chance to be the first accepted in a random order."""
    a, b = one.q.as_integer_ratio()
    total, held = sum(counts), dict(zip(places, counts, strict=True))
    distances = []
    for candidate in range(one.candidates):
        below = sum(n for place, n in held.items() if place < candidate)
        at = held.get(candidate, 0)
        distances.append(max(b * below - a * total, a * total - b * (below + at)))
    if one.noise_rate == od.INFINITE:
        accepted = np.array([float(d == min(distances)) for d in distances])
    else:
        accepted = np.exp(-float(one.noise_rate) * (np.array(distances) - min(distances)))
    nodes, shares = np.polynomial.legendre.leggauss(one.candidates)
    alone = 1 - np.outer(accepted, (nodes + 1) / 2)
    others = [np.delete(alone, i, axis=0).prod(axis=0) for i in range(one.candidates)]
    return [p * float(other @ (shares / 2)) for p, other in zip(accepted, others, strict=True)]


@pytest.mark.heavy
@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_read_changes_by_no_more_than_is_charged(family, rounds, long_form):
    """On engines in turn, half of the rounds on Polars; the short form on Polars and one other."""
    others = [engine for engine in ENGINES if engine != "polars"]
    first = list(FAMILIES).index(family)
    for seed in rounds(2):
        engine = others[(first + seed // 2) % len(others)] if seed % 2 else "polars"
        rounds.cases += charged(family, engine, seed)
    assert rounds.cases > 0 or not long_form


def charged(family, engine, seed):
    """How many neighbours were tried, each no further away than its move is charged."""
    rng = random.Random(f"{family} {engine} {seed}")
    found, make, checked = FAMILIES[family], ENGINES[engine], 0
    units = [rows_of_unit(rng) for _ in range(rng.randint(1, 3))] + [()]
    place = rng.randrange(len(units))
    if family == "graph":
        units = [tuple((own[0][0], v, f) for _, v, f in own) if own else () for own in units]
    for question in questions(rng, found.policy):
        for edge, other in found.moves(units[place], rng):
            neighbour = [*units[:place], other, *units[place + 1 :]]
            try:
                here = prepared(make, units, found.policy, question)
                there = prepared(make, neighbour, found.policy, question)
                cost = price(here, there)
            except errors.OnesidedError:
                continue
            charge = here.plan.charge[edge]
            assert cost <= charge, (seed, units, neighbour, question, edge, cost, charge)
            checked += 1
    return checked


@pytest.mark.parametrize(
    "wrong",
    [
        Family(P.presence(max_groups=1), presence(2).moves),
        Family(P.addition_only(), lambda _, rng: [("record -> absent", rows_of_unit(rng))]),
        Family(P.sensitive("s"), lambda _, rng: [("sensitive -> open", rows_of_unit(rng))]),
    ],
    ids=["two places for one", "a record that changes", "open records that change"],
)
def test_the_harness_sees_moves_that_are_not_paid_for(monkeypatch, wrong):
    monkeypatch.setitem(FAMILIES, "wrong", wrong)
    with pytest.raises(AssertionError, match="Fraction"):
        sum(charged("wrong", "polars", seed) for seed in range(40))
