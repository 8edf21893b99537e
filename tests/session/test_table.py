"""Tables with margins: they add up, stay within their bounds, and these within the truth."""

import itertools
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import onesided as od
from onesided.errors import DataError, KeysError, ParameterError, SqlError
from onesided.linear import Identity, Kron
from onesided.linear._error import _worked_out
from onesided.linear._margins import margin_factors
from onesided.linear.kit import Margins, best_weights, kept_within, tightened, whole_cells
from onesided.noise import NotPrivateSeededNoise

P = od.policy

SEX, AGE = ["f", "m"], [0, 1, 2]
KEYS = od.cross(sex=SEX, age=AGE)
PARENTS = {"town": {"land": ["n", "n", "s"]}}
TOWN = ["a", "b", "c"]


def people(rows, seed, *, missing=False):
    rng = np.random.default_rng(seed)
    made = {
        "person": list(range(rows)),
        "sex": rng.choice(SEX, rows).tolist(),
        "age": rng.integers(0, 3, rows).tolist(),
        "town": rng.choice(TOWN, rows).tolist(),
        "pay": rng.integers(0, 9, rows).tolist(),
    }
    if missing:
        made["sex"][::3] = [None] * len(made["sex"][::3])
    types = {name: pl.String if name in ("sex", "town") else pl.Int64 for name in made}
    return pl.DataFrame(made, types)


def check(release, data, value=None):
    """What each row truly is, within what is certain; null in a key stands for all."""
    told, due = release.columns(), []
    for row in zip(*(told[name] for name in release.keys.names), strict=True):
        part = data
        for name, key in zip(release.keys.names, row, strict=True):
            part = part if key is None else part.filter(pl.col(name) == key)
        due.append(part.height if value is None else part[value].sum())
    due, lower, upper = np.array(due), release.interval.lower, release.interval.upper
    assert np.all((lower <= release.estimate) & (release.estimate <= upper))
    for side, wrong in (("lower_certain", lower > due), ("upper_certain", upper < due)):
        assert not np.any(np.array(told[side]) & wrong), side
    return due


POLICIES = {
    "addition_only": P.addition_only(),
    "removal_only": P.removal_only(),
    "bounded": P.bounded(),
    "unbounded": P.unbounded(),
    "sensitive": P.sensitive("pay < 3"),
    "presence": P.presence(max_groups=1),
    "graph": P.graph([("f", "m")]),
}


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("strategy", [None, "cells", "margins", "weighted margins"])
def test_it_adds_up_and_certain_bounds_are_never_wrong(name, strategy):
    for seed, outside, missing in itertools.product(range(4), ("leave", "refuse"), (False, True)):
        data = people(7 * seed, seed, missing=missing)
        unit = None if name != "presence" else "person"
        session = od.Session(
            data, unit=unit, policy=POLICIES[name], budget=10**6, noise=NotPrivateSeededNoise(seed)
        )
        question = od.CrossTable(
            by=["sex", "age"], keys=KEYS, epsilon=1, strategy=strategy, outside=outside
        )
        if outside == "refuse" and missing and data.height:
            with pytest.raises(DataError, match="no cell"):
                session.ask(question)
            assert not any(session.spent.values())
            continue
        release = session.ask(question)
        check(release, data.drop_nulls())
        cells = release.estimate[-6:].reshape(2, 3)
        assert release.estimate.dtype.kind == "i"
        assert release.estimate.min() >= 0
        due = [cells.sum(), *cells.sum(axis=0), *cells.sum(axis=1), *cells.reshape(-1)]
        assert release.estimate.tolist() == due


@pytest.mark.parametrize("strategy", ["cells", "levels"])
def test_levels_of_a_hierarchy_add_up(strategy):
    data = people(40, 1)
    data = data.with_columns(land=pl.col("town").replace_strict({"a": "n", "b": "n", "c": "s"}))
    session = od.Session(data, policy=P.addition_only(), budget=10**6)
    question = od.CrossTable(
        by=["town", "sex"], keys=od.cross(town=TOWN, sex=SEX), hierarchy=PARENTS,
        epsilon=1, strategy=strategy,
    )  # fmt: skip
    release = session.ask(question)
    assert release.keys.names == ("land", "town", "sex")
    told = dict(zip(release.labels, release.estimate.tolist(), strict=True))
    check(release, data)
    assert told["n", None, "f"] == told["n", "a", "f"] + told["n", "b", "f"]
    assert told[None, None, None] == told["n", None, None] + told["s", None, None]
    assert len(told) == 3 * 6


def test_rollup_and_listed_margins():
    session = od.Session(people(9, 0), policy=P.addition_only(), budget=10**6)
    asked = {"by": ["sex", "age"], "keys": KEYS, "epsilon": 50}
    rolled = session.table(**asked, margins="rollup")
    assert [row for row in rolled.labels if None in row] == [(None, None), ("f", None), ("m", None)]
    few = session.table(**asked, margins=[["age"], []])
    assert few.labels == [(None, None), (None, 0), (None, 1), (None, 2)]
    assert few.estimate[0] == few.estimate[1:].sum() == 9
    assert len(session.table(**asked, margins=False)) == 6


def test_sums_and_rows_and_proportions():
    data = people(30, 2)
    session = od.Session(data, policy=P.addition_only(), budget=10**6)
    asked = {"by": ["sex", "age"], "keys": KEYS}
    sums = session.table(**asked, column="pay", bounds=(0, 9), epsilon=90)
    assert check(sums, data, "pay").tolist() == sums.estimate.tolist()
    parts = session.table(**asked, proportions=True, epsilon=90)
    assert parts.estimate[0] == 1
    assert np.isclose(parts.estimate[-6:].sum(), 1)
    many = pl.DataFrame({"home": [1, 1, 1, 2], "sex": ["f", "m", "f", "f"], "age": [0, 1, 2, 0]})
    homes = od.Session(many, unit="home", policy=P.addition_only(), budget=10**6)
    question = od.CrossTable(**asked, of="rows", max_rows=2, max_groups=3, epsilon=99)
    assert homes.plan(question).charge == {"home -> absent": 99} or homes.plan(question).charge
    assert homes.ask(question).estimate[0] == 4
    with pytest.raises(ParameterError, match="does not add up"):
        homes.table(**asked, epsilon=1, max_groups=3)


@pytest.mark.parametrize("outside", ["leave", "refuse"])
@pytest.mark.parametrize("where", [None, "age < 2"])
@pytest.mark.parametrize("name", ["bounded", "sensitive"])
def test_the_only_cell_of_a_table_is_no_public_total(name, where, outside):
    """Moves go from it to no cell; only that everybody is in it, and stays, is public."""
    session = od.Session(people(30, 3), policy=POLICIES[name], budget=10**6)
    asked = od.CrossTable(by="sex", keys=["f"], epsilon=1, where=where, outside=outside)
    plan = session.plan(asked)
    told = outside == "refuse" and where is None
    assert (plan.mechanism.public is not None) == told
    assert (plan.margins[0].error > 0) != told


def test_public_totals_are_held():
    session = od.Session(people(30, 3), policy=P.bounded(), budget=10**6)
    given = {"by": ["sex", "age"], "keys": KEYS, "epsilon": "1/10"}
    asked, closed = od.CrossTable(**given), od.CrossTable(**given, outside="refuse")
    held = session.ask(closed)
    assert held.estimate[0] == held.interval.lower[0] == held.interval.upper[0] == 30
    assert held.columns()["lower_certain"][:2] == [True, False]
    assert session.plan(asked).margins[0].error > 0
    assert session.plan(closed).margins[0].error == 0


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"keys": {"sex": ["f", "m"], "age": [0, 1]}}, KeysError),
        ({"margins": [["town"]]}, ParameterError),
        ({"margins": []}, ParameterError),
        ({"margins": "all of them"}, ParameterError),
        ({"outside": "maybe"}, ParameterError),
        ({"strategy": "wishes"}, ParameterError),
        ({"bounds": (0, 1)}, ParameterError),
        ({"column": "pay", "bounds": (-1, 1)}, ParameterError),
        ({"column": "pay", "bounds": (0, 1), "outside": "refuse"}, ParameterError),
        ({"hierarchy": {"town": {"land": ["n"]}}}, ParameterError),
        ({"hierarchy": {"sex": {"land": ["n"]}}}, ParameterError),
        ({"hierarchy": {"sex": {"age": ["n", "s"]}}}, ParameterError),
        ({"hierarchy": {"sex": ["n", "s"]}}, ParameterError),
        ({"epsilon": float("nan")}, ParameterError),
        ({"confidence": float("nan")}, ParameterError),
    ],
)
def test_what_has_no_meaning_is_refused_before_any_charge(wrong, error):
    session = od.Session(people(9, 0), policy=P.addition_only(), budget=10)
    with pytest.raises(error):
        session.table(**{"by": ["sex", "age"], "keys": KEYS, "epsilon": 1, **wrong})
    assert not any(session.spent.values())


def test_predicted_errors_are_those_of_draws():
    """Each of 4 margins, 2,000 tables: off by more than 15 % in fewer than one run of 10^5."""
    session = od.Session(people(3000, 0), policy=P.unbounded(), budget=10**9)
    question = od.CrossTable(by=["sex", "age"], keys=KEYS, epsilon=1)
    plan, noise = session.plan(question), NotPrivateSeededNoise(5)
    mechanism = plan.mechanism
    cells = np.full(6, 500)
    found = np.array([mechanism.release(cells, noise=noise).estimate for _ in range(2000)])
    due = np.asarray(mechanism.workload.apply(cells))
    parts = [np.mean(part**2) ** 0.5 for part in np.split((found - due).T, [1, 4, 6])]
    for margin, error in zip(plan.margins, parts, strict=True):
        assert abs(error / margin.error - 1) < 0.15, margin


def table_of(grid, parents=None):
    levels = [[] for _ in grid] if parents is None else parents
    one = Margins(levels, [tuple(len(axis) + 1 for axis in levels)], grid=grid)
    return one.with_margins(dict.fromkeys(one.every, 1))


def test_closed_forms_are_those_of_matrices():
    rng = np.random.default_rng(1)
    even = table_of((6, 3, 4), [[[0, 0, 0, 1, 1, 1]], [], [[0, 0, 1, 1]]])
    some = even.with_margins({(2, 1, 2): 3, (0, 1, 0): 2, (1, 0, 1): 5, (0, 0, 0): 1})
    matrix, values = some.dense(), rng.normal(size=(72, 2))
    solved = np.linalg.solve((matrix.T @ matrix).astype(float), values)
    assert np.allclose(some.gram_solve(values), solved)
    assert np.array_equal(some.apply(np.arange(72)), matrix @ np.arange(72))
    rows = rng.integers(0, 9, (some.shape[0], 2))
    assert np.array_equal(some.adjoint(rows), matrix.T @ rows)
    one, two = rng.integers(0, 72, (2, 50))
    both = np.minimum(matrix[:, one], matrix[:, two]).sum(axis=0)
    assert np.array_equal(some.meets(one, two).plus_plus, both)
    odd = table_of((6, 3), [[[0, 0, 0, 1, 1, 2]], []])
    first = Margins([[[0, 0, 0, 1, 1, 2]]], [(2,), (1,)], [3, 1])
    product = Kron(first, Margins([[]], [(0,), (1,)], grid=(3,)))
    pairs = ((some, even), (Identity(72), even), (product, odd), (Identity(18), odd))
    for strategy, asked in pairs:
        assert np.allclose(margin_factors(strategy, asked), _worked_out(strategy, asked))


def test_weights_are_at_least_as_good_as_any_few_others():
    asked = table_of((12, 5))

    def error(weights):
        made = asked.with_margins({one: w for one, w in weights.items() if w})
        return sum(weights.values()) ** 2 * margin_factors(made, asked).sum()

    found = best_weights(asked, asked)
    best = error(dict(zip(found.chosen, found.weights, strict=True)))
    for tried in itertools.product((0, 1, 2, 5, 9), repeat=3):
        for last in (1, 3, 6):
            weights = dict(zip(asked.chosen, (*tried, last), strict=True))
            assert best <= 1.02 * error(weights)


def enumerated(grid, most):
    for cells in itertools.product(range(most + 1), repeat=int(np.prod(grid))):
        yield np.array(cells)


@pytest.mark.parametrize("seed", range(40))
def test_bounds_that_travel_hold_for_every_table_that_fits_them(seed):
    """All tables of up to 2 in each of 4 cells: any within the bounds is within what they imply."""
    rng, table = np.random.default_rng(seed), table_of((2, 2))
    truth = [p.astype(float) for p in table.parts(table.apply(rng.integers(0, 3, 4)))]
    low = [np.maximum(p - rng.integers(0, 2, p.shape), 0) for p in truth]
    high = [np.where(rng.random(p.shape) < 0.6, p + rng.integers(0, 2, p.shape), np.inf)
            for p in truth]  # fmt: skip
    narrow = tightened(table, low, high)
    fits = 0
    for cells in enumerated((2, 2), 2):
        parts = table.parts(table.apply(cells))
        if all(np.all((a <= p) & (p <= b)) for a, p, b in zip(low, parts, high, strict=True)):
            fits += 1
            for a, p, b in zip(narrow[0], parts, narrow[1], strict=True):
                assert np.all((a <= p) & (p <= b))
    assert fits


def test_whole_cells_are_near_and_keep_what_is_certain():
    rng, table = np.random.default_rng(0), table_of((12, 9))
    cells = rng.poisson(rng.exponential(2, 108))
    noisy = cells + rng.laplace(0, 4, 108)
    found = whole_cells(table, noisy, np.zeros(108), np.full(108, np.inf), int(cells.sum()))
    assert found.sum() == cells.sum()
    assert found.min() >= 0
    before, after = (np.sum((table.apply(one) - table.apply(cells)) ** 2) for one in (noisy, found))
    assert after < before
    low = [np.zeros(table.groups(one)) for one in table.chosen]
    high = [np.full(table.groups(one), 5.0) for one in table.chosen]
    kept = kept_within(table, found, low, high)
    assert kept.sum() <= 5
    low = [np.full(table.groups(one), 2.0) for one in table.chosen]
    assert kept_within(table, found, low, [x * np.inf for x in high]).min() >= 2


def test_where_a_unit_may_be_in_several_cells_that_is_said_first_and_no_sql():
    rows = pl.DataFrame({"who": [1, 1, 2], "sex": ["f", "f", "m"], "town": ["a", "b", "b"]})
    keys = od.cross(sex=["f", "m"], town=["a", "b"])
    policy = od.policy.presence(max_groups=2)
    session = od.Session(rows, unit="who", policy=policy, budget=200)
    table = session.table(by=["sex", "town"], keys=keys, epsilon=99)
    assert table.warnings[0].startswith("Who is in several cells counts in each")
    query = "SELECT sex, town, COUNT(DISTINCT who) FROM t GROUP BY CUBE (sex, town)"
    with pytest.raises(SqlError, match="no COUNT"):
        session.sql(query, keys=keys, epsilon=1)
    alone = od.Session(rows, unit="who", policy=od.policy.bounded(), budget=200)
    cut = alone.table(by=["sex", "town"], keys=keys, epsilon=99, on_excess="truncate")
    assert not any("counts in each" in one for one in cut.warnings)


@pytest.mark.parametrize("policy", ["addition_only", "removal_only"])
def test_certain_bounds_of_a_fine_grid_hold_as_the_floats_they_are(policy):
    """3/10 is above the float 0.3, and 1/10 below 0.1: the nearest float would be a false bound."""
    for tenths in range(1, 12):
        data = pl.DataFrame({"p": ["a"], "x": [tenths / 10]})
        session = od.Session(data, policy=POLICIES[policy], budget=100)
        table = session.table(
            by="p", keys=["a"], column="x", bounds=(0, 2), step="1/10", epsilon=95
        )
        due = Fraction(tenths, 10)
        for one in od.certain(table).rows.values():
            assert one.sure.upper is None or one.sure.upper >= due
            assert one.sure.lower is None or one.sure.lower <= due
        assert od.certain(table).certainly_less(due) == []
