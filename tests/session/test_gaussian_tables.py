"""Gaussian noise in tables with margins: its weights, its price, its bounds, its surfaces."""

import itertools
import math
from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl
import pytest
from scipy import stats

import onesided as od
from onesided import errors
from onesided import policy as p
from onesided.accounting import charge_divergences
from onesided.linear import Identity, Kron, Prefix, kron, moves_of
from onesided.linear._margins import margin_factors
from onesided.linear.kit import Margins, residuals, square_most, square_shifts, squared
from onesided.mechanism import Linear
from onesided.noise import NotPrivateSeededNoise
from onesided.policy import Shift
from onesided.session import question_from_json, question_to_json
from onesided_proofs.tables import Row, Tables, subsets

RENYI = {"budget": 2, "delta_budget": "1/1000000", "accounting": "renyi"}
SEX, TOWN, AGE = ["f", "m"], list("abcdefgh"), list(range(10))
ROWS = pl.DataFrame(
    {"person": [1, 2, 3, 4], "sex": ["f", "m", "f", "f"], "town": ["a", "b", "b", "h"],
     "age": [0, 1, 2, 9], "minor": [True, False, False, True], "v": [0, 1, 3, 3]}
)  # fmt: skip
THREE = od.CrossTable(
    by=["sex", "town", "age"], keys=od.cross(sex=SEX, town=TOWN, age=AGE), epsilon=1
)
TWO = {"by": ["sex", "town"], "keys": od.cross(sex=SEX, town=TOWN), "epsilon": 1}
PARENTS = {"town": {"land": ["n"] * 5 + ["s"] * 3}}
QUESTIONS = {
    "three": THREE,
    "two-way": replace(THREE, margins=[["sex", "town"], ["town", "age"]]),
    "rollup": od.CrossTable(**TWO, margins="rollup"),
    "unequal levels": od.CrossTable(**TWO, hierarchy=PARENTS),
    "sums": od.CrossTable(
        **TWO, column="v", of="units", total_bounds=(0, 3), max_groups=1, on_excess="truncate"
    ),
    "rows": od.CrossTable(**TWO, of="rows", max_rows=3, max_groups=1, on_excess="truncate"),
    "parts": od.CrossTable(**TWO, proportions=True),
    "known total": od.CrossTable(**TWO, outside="refuse"),
}
POLICIES = {
    "bounded": p.bounded(),
    "unbounded": p.unbounded(),
    "sensitive": p.sensitive("minor"),
    "weighed": p.custom(
        kinds=["a", "b"], edges=[("a", "b", "1/2"), ("b", "a", 3)], default="b",
        rules=[("a", "minor")],
    ),
}  # fmt: skip
FALSE_ALARM = 1e-6


def session(policy=None, table=ROWS, **more):
    given = {"unit": "person", "policy": policy or p.unbounded(), **RENYI}
    return od.Session(table, noise=NotPrivateSeededNoise(1), **(given | more))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", QUESTIONS)
def test_an_untouched_account_holds_as_many_and_the_best_is_taken(name, policy):
    asked, question = session(POLICIES[policy]), QUESTIONS[name]
    pure, gaussian, best = (
        asked.plan(replace(question, law=law)) for law in ("pure", "gaussian", "best")
    )
    assert gaussian.times >= pure.times
    assert gaussian.mechanism.gaussian is not None
    assert set(gaussian.charge.values()) <= {od.INFINITE, 0}
    assert gaussian.certain == ()
    least = pure if pure.certain else min((pure, gaussian), key=lambda one: one.standard_deviation)
    assert best.mechanism.gaussian == least.mechanism.gaussian
    if name != "parts":
        listed = {one.name: one for one in pure.options}["Linear, Gaussian noise"]
        assert listed.question == replace(question, law="gaussian")
        assert listed.error == gaussian.standard_deviation


def residual(table, asked):
    """The least total squared error of any Gaussian noise on these margins, at an L2 price of 1.

    Xiao et al. 2023 (ResidualPlanner), Theorem 3: the square of the sum over residuals.
    """
    total, shares = 0.0, {s: asked.shares(s) for s in asked.chosen}
    for t in table.every:
        owed = sum(math.prod(asked.groups(s)) * some.get(t, 0.0) for s, some in shares.items())
        size = 1.0
        for axis, k in enumerate(t):
            groups = [int(labels.max()) + 1 for labels in table.levels[axis]]
            size *= groups[k] - (groups[k - 1] if k else 0)
        total += math.sqrt(owed * size / table.shape[1])
    return total**2


def entries(strategy):
    """One of the Gram matrix for each kind of pair of cells, the last of a cell itself."""
    return squared(strategy).meets(*strategy.kinds).plus_plus


SETS = [
    *((grid, [[]] * len(grid))
      for grid in ((320, 80), (2, 8, 10), (5, 7, 9, 4), (2, 2, 2), (2, 2, 2, 2), (50,))),
    ((6, 4), [[[0, 0, 0, 1, 1, 1]], [[0, 0, 1, 1]]]),
]  # fmt: skip


@pytest.mark.parametrize(("grid", "levels"), SETS)
def test_margins_of_any_orders_err_as_little_as_the_residual_planner_s(grid, levels):
    cells = Margins(levels, [tuple(len(some) + 1 for some in levels)], grid=grid)
    orders = range(sum(map(max, cells.every)) + 1)
    for least, most in {(low, high) for high in orders for low in (0, 1, high)}:
        chosen = {one: 1 for one in cells.every if least <= sum(one) <= most}
        if not chosen:
            continue
        asked = cells.with_margins(chosen)
        found = residuals(cells, asked)
        error = entries(found)[-1] * margin_factors(found, asked).sum()
        best = residual(cells, asked)
        assert best * (1 - 1e-9) <= error <= 1.0051 * best
        # For moves from cell to cell: no worse than what is best for one alone.
        paired = residuals(cells, asked, pairs=True)

        def price(strategy):
            own, *others = entries(strategy)[::-1].tolist()
            return max(own, *(2 * (own - other) for other in others))

        far, near = (price(one) * margin_factors(one, asked).sum() for one in (found, paired))
        assert near <= 1.0051 * far


def test_a_plan_errs_no_more_than_the_residual_planner_at_one_price_of_the_account():
    plan = session().plan(replace(THREE, law="gaussian"))
    table = plan.mechanism.workload
    told = {edge: one["squares"] for edge, one in plan.noise["edges"].items()}
    price = float(plan.mechanism.gaussian) / max(told.values())
    found = sum(one.error**2 * math.prod(table.groups(margin))
                for one, margin in zip(plan.margins, table.chosen, strict=True))  # fmt: skip
    assert found <= 1.01 * residual(table, table) * price


STRATEGIES = {
    "cells": Identity(12),
    "margins": Margins([[], []], [(0, 0), (1, 0), (1, 1)], [2, 5, 3], grid=(3, 4)),
    "centred": Margins([[], []], [(0, 0), (1, 0), (0, 1), (1, 1)], [9, 5, 3, 1], grid=(3, 4),
                       centred=[(0, 0), (1, 0), (0, 1), (1, 1)]),
    "of levels": Margins([[], [[0, 0, 1, 1]]], [(0, 2), (1, 1), (1, 2)], [2, 3, 7], grid=(3, 4),
                         centred=[(0, 2), (1, 1)]),
    "no total": Margins([[], []], [(0, 1), (1, 1)], [1, 4], grid=(3, 4)),
    "levels": kron(
        Margins([[[0, 0, 1]]], [(0,), (1,), (2,)]), Margins([[]], [(0,), (1,)], grid=(4,))
    ),
}  # fmt: skip


UNEQUAL = {
    "groups of unlike sizes": ([[0, 0, 1]], []),
    "groups split in unlike numbers": ([[0, 0, 1, 1], [0, 1, 2, 2]], []),
    "on the second axis alone": ([], [[0, 1, 1]]),
}


@pytest.mark.parametrize("name", UNEQUAL)
def test_unequal_parts_are_not_centred(name):
    """Prices of centred sums are worked out of pairs that stand for all, of equal parts alone."""
    levels = UNEQUAL[name]
    grid = [len(some[0]) if some else 2 for some in levels]
    chosen = [(1, 0), (0, 1)]
    table = Margins(levels, chosen, grid=grid)  # as they are they have their price
    assert not table.balanced
    for centred in ([chosen[0]], [chosen[1]], chosen):
        with pytest.raises(errors.ParameterError, match="equal parts"):
            Margins(levels, chosen, grid=grid, centred=centred)
        with pytest.raises(errors.ParameterError, match="equal parts"):
            table.with_margins(dict.fromkeys(chosen, 1), centred=centred)


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("partition", [False, True])
def test_no_move_takes_the_sums_further_in_l2(name, partition):
    strategy = STRATEGIES[name]
    columns = strategy.dense()
    gram = columns.T @ columns
    x, y = map(np.ravel, np.indices(gram.shape))
    assert np.array_equal(np.ravel(squared(strategy).meets(x, y).plus_plus), gram.ravel())
    assert np.abs(columns).max() <= strategy.largest
    assert strategy.is_non_negative == (columns.min() >= 0)
    assert np.array_equal(strategy.adjoint(np.eye(strategy.shape[0], dtype=int)), columns.T)
    if strategy.solvable:
        assert np.allclose(strategy.gram_solve(gram), np.eye(12))
    pairs = columns[:, :, None] - columns[:, None, :]
    far, alone = (pairs**2).sum(axis=0).max(), (columns**2).sum(axis=0).max()
    told = square_shifts(strategy, moves_of(p.bounded(), 12, partition=partition))
    assert list(told.values()) == [far if partition else max(far, alone)]
    told = square_shifts(strategy, moves_of(p.unbounded(), 12))
    assert list(told.values()) == [alone, alone]
    shifts = [p.Shift(rise=2, fall=1), p.Shift(rise=0, fall=2)]
    signed = [np.bincount(some[:2], minlength=12) - np.bincount(some[2:], minlength=12)
              for some in itertools.product(range(12), repeat=3)]  # fmt: skip
    furthest = max(((columns @ one) ** 2).sum() for one in signed)
    assert furthest <= square_most(strategy, shifts) <= 9 * alone
    worst = max((columns[:, some].sum(axis=1) ** 2).sum()
                for some in map(list, itertools.combinations(range(12), 3)))  # fmt: skip
    moves = moves_of(p.presence(max_groups=3), 12)
    for apart in (False, True):
        most = max(square_shifts(strategy, moves, apart=apart).values())
        assert worst <= most <= 9 * alone
    assert most == worst or name != "cells"


def test_only_margins_and_cells_are_squared():
    with pytest.raises(errors.ParameterError, match="margins or cells"):
        squared(Prefix(3))


# One attribute, one unit, and every move of it.
HELD = [Row(group, frozenset(held)) for group in "abc" for held in ((), ("minor",))]
ALONE = [
    *(p.unbounded(), p.addition_only(), p.removal_only(), p.bounded(), p.sensitive("minor")),
    *(p.extended_sensitive("minor"), p.presence(max_groups=1), p.presence(max_groups=2)),
    p.graph([("a", "b"), ("b", "c")]),
    p.tiers({"strict": ("1/2", "minor"), "rest": 1}),
]


@pytest.mark.parametrize("policy", ALONE, ids=lambda one: f"{one.name} {one.covers or ''}")
@pytest.mark.parametrize("strategy", ["cells", "weighted margins"])
def test_the_price_is_no_less_than_what_moves_of_tables_change(policy, strategy):
    question = od.CrossTable(by="place", keys=list("abc"), epsilon=1, law="gaussian",
                             strategy=strategy)  # fmt: skip
    table = pl.DataFrame({"person": [1], "place": ["a"], "minor": [True]})
    plan = session(policy, table).plan(question)
    told = {edge: one["squares"] for edge, one in plan.noise["edges"].items()}
    matrix = plan.mechanism.strategy.dense()
    most = policy.covers or 1
    worst = dict.fromkeys(plan.charge, 0)
    for real, other, edge in Tables(possible=subsets(HELD, most=most)).moves(policy):
        if all(
            len(unit) == len({row.group for row in unit}) for unit in (*real.units, *other.units)
        ):
            counts = [[sum(row.group == one for row in t.units[0]) for one in "abc"]
                      for t in (real, other)]  # fmt: skip
            change = matrix @ (np.array(counts[1]) - counts[0])
            worst[edge.name] = max(worst[edge.name], int((change**2).sum()))
    assert any(worst.values())
    assert all(worst[edge] <= told[edge] for edge in told)
    if most == 1 or strategy == "cells":
        assert worst == told


@pytest.mark.parametrize("name", ["two-way", "unequal levels", "sums", "parts"])
def test_bounds_hold_as_often_as_they_say_and_errors_are_those_of_the_plan(name):
    rng, people = np.random.default_rng(3), 3_000
    drawn = {"sex": rng.choice(SEX, people), "town": rng.choice(TOWN, people),
             "age": rng.integers(0, 10, people), "v": rng.integers(0, 4, people)}  # fmt: skip
    table = pl.DataFrame({"person": range(people), **drawn})
    question = replace(QUESTIONS[name], law="gaussian", confidence="0.9", epsilon="1/2")
    asked = session(table=table, budget=3)
    prepared = question.prepare(asked._context())
    secret, noise = prepared.read(), NotPrivateSeededNoise(7)
    truth = question.truth(asked._context())
    missed, squares, runs = np.zeros(truth.size), np.zeros(truth.size), 40
    for _ in range(runs):
        told = prepared.result(prepared.draw(secret, noise), None)
        bounds = told.interval
        assert ((told.estimate >= bounds.lower) & (told.estimate <= bounds.upper)).all()
        assert not np.any(bounds.lower_certain) or name == "parts"
        missed += (bounds.lower > truth) | (bounds.upper < truth)
        if name != "parts":
            squares += (told.unbiased[: truth.size] - truth) ** 2 / runs
    assert stats.binom.sf(missed.max() - 1, runs, 0.1) * truth.size > FALSE_ALARM
    if name != "parts":
        found, due = squares.mean(), prepared.plan.standard_deviation**2
        # A mean of squares of `runs` draws, however the sums hang together: chi-squared at worst.
        low, high = stats.chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], runs) / runs
        assert low * due <= found <= high * due


@pytest.mark.parametrize("name", QUESTIONS)
def test_ledgers_recompute_it_totals_are_told_and_answers_told_again(name):
    asked = session()
    question = replace(QUESTIONS[name], law="gaussian", epsilon="1/10", id="monday")
    first = asked.ask(question)
    assert asked.ledger.check(laws=charge_divergences).charges == 1
    again = asked.ask(replace(question, again=True))
    assert again.estimate.tolist() == first.estimate.tolist()
    assert again.interval.lower.tolist() == first.interval.lower.tolist()
    written = question_to_json(question)
    assert question_to_json(question_from_json(written)) == written
    assert "No pure ε" in str(first.guarantee)
    assert asked.total(delta="1/1000000").tight.headline <= first.guarantee.headline < 1


def test_in_sql():
    given = {"keys": TWO["keys"], "epsilon": 1, "law": "gaussian"}
    text = "SELECT sex, town, COUNT(DISTINCT person) FROM visits GROUP BY CUBE (sex, town)"
    assert session().question(text, **given) == od.CrossTable(**TWO, law="gaussian")


def test_other_accounts_keep_their_noise():
    pure = session(accounting="pure", delta_budget=0)
    assert pure.plan(replace(THREE, law="best")).mechanism.gaussian is None
    with pytest.raises(errors.ParameterError, match="keeps no pure ε"):
        pure.ask(replace(THREE, law="gaussian"))
    certain = session(p.addition_only())
    assert certain.plan(replace(THREE, law="best")).certain == ("upper",)
    with pytest.raises(errors.ParameterError, match="law"):
        pure.plan(replace(THREE, law="normal"))


def test_a_strategy_that_was_named_is_kept():
    for name in ("cells", "margins", "weighted margins"):
        plan = session().plan(replace(THREE, strategy=name, law="gaussian"))
        assert (plan.mechanism.strategy.shape[0] == 160) == (name == "cells")


def test_variances_that_are_none():
    for wrong in (0, "nan", -1, 2**79, "x"):
        with pytest.raises(errors.ParameterError):
            Linear(Identity(2), Identity(2), 1, 1, gaussian=wrong)
    made = Linear(Identity(2), Identity(2), 1, 1, gaussian=9)
    assert made.loss(od.policy.Shift(rise=0, fall=1)) == od.INFINITE
    assert made.loss(od.policy.Shift(rise=0, fall=0)) == 0


TABLES = {
    "cells": Identity(4),
    "one cell": Identity(1),
    "total": Margins([[]], [(0,), (1,)], [2, 1], grid=(3,)),
    "two axes": Margins([[], []], [(0, 0), (1, 0), (0, 1), (1, 1)], [3, 1, 2, 1], grid=(2, 2)),
    "no total": Margins([[], []], [(1, 0), (0, 1)], [1, 2], grid=(2, 2)),
    "levels": Margins([[[0, 0, 1, 1]]], [(0,), (1,), (2,)], [1, 3, 1], grid=(4,)),
    "one parent": Margins([[[0, 0, 0]]], [(0,), (1,), (2,)], [1, 3, 1], grid=(3,)),
    "one place": Margins([[], []], [(0, 0), (1, 0), (1, 1)], [1, 2, 1], grid=(3, 1)),
    "product": Kron(Margins([[]], [(0,), (1,)], [2, 1], grid=(2,)), Identity(2)),
    "products": Kron(*(Margins([[]], [(0,), (1,)], [n, 1], grid=(2,)) for n in (1, 2))),
}


@pytest.mark.parametrize("name", TABLES)
def test_the_length_of_sums_is_that_of_the_worst_cells(name):
    """Of all changes of cells of which so much in all is above 0, and so much below: exactly."""
    strategy = TABLES[name]
    dense = np.array(strategy.dense(), dtype=np.int64)
    some = np.array(list(product(range(-3, 4), repeat=dense.shape[1])))
    rises, falls = np.maximum(some, 0).sum(axis=1), np.maximum(-some, 0).sum(axis=1)
    lengths = ((some @ dense.T) ** 2).sum(axis=1)
    for rise, fall in product(range(4), repeat=2):
        within = lengths[(rises <= rise) & (falls <= fall)]
        told = square_most(strategy, [Shift(rise=rise, fall=fall)])
        assert within.max() <= told
        assert within.max() == told or dense.shape[1] == 1
        # The broken twin: every two cells share all that a cell is in.
        column = int((dense[:, 0] ** 2).sum())
        if rise == fall > 0 and name not in ("one cell", "one place"):
            assert within.max() > column * (rise - fall) ** 2


def test_sums_of_tables_that_tell_their_total_have_less_noise():
    """A value that changes its cell leaves the total, which was priced as if it did not."""
    strategy = Margins([[]], [(0,), (1,)], [1, 1], grid=(5,))
    moved = Shift(rise=3, fall=3)
    assert square_most(strategy, [moved]) == 18 < 2 * (3**2 + 3**2)
    assert square_most(strategy, [Shift(rise=0, fall=3)]) == 18


def test_whole_answers_of_coarse_margins_err_little_more_than_unbiased_ones():
    rng, sizes = np.random.default_rng(4), {"a": 7, "b": 9, "c": 2, "d": 16}
    table = pl.DataFrame({"person": range(6_000),
                          **{name: rng.integers(0, n, 6_000) % rng.integers(1, n + 1, 6_000)
                             for name, n in sizes.items()}})  # fmt: skip
    keys = od.cross(**{name: list(range(n)) for name, n in sizes.items()})
    question = od.CrossTable(by=[*sizes], keys=keys, margins=[[name] for name in sizes],
                             epsilon="1/2", law="gaussian")  # fmt: skip
    asked = session(table=table)
    prepared = question.prepare(asked._context())
    secret, noise = prepared.read(), NotPrivateSeededNoise(7)
    truth = question.truth(asked._context())
    ours = theirs = 0.0
    for _ in range(3):
        told = prepared.result(prepared.draw(secret, noise), None)
        ours += ((told.estimate - truth) ** 2).sum()
        theirs += ((told.unbiased[: truth.size] - truth) ** 2).sum()
    assert ours <= 1.5 * theirs  # 1.1 or so; 4 where the fit began at the noise of cells
