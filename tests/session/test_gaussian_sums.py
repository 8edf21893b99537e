"""Gaussian noise in sums, means and histograms: its price, its law, its bounds, its surfaces."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from scipy import stats

import onesided as od
from onesided import errors
from onesided import policy as p
from onesided.accounting import charge_divergences
from onesided.engine import PublicKeys
from onesided.mechanism import GaussianCounts, GaussianSums
from onesided.noise import DiscreteGaussian, NotPrivateSeededNoise
from onesided.policy import ABSENT, GroupCount, Record
from onesided.session import (
    Histogram,
    Mean,
    RowCount,
    Sum,
    Variance,
    question_from_json,
    question_to_json,
)
from onesided.session.kit import Groups, Moved, one_value
from onesided.session.values._mean import Ends, Parts, _error
from onesided_proofs.tables import Row, Tables, subsets

RENYI = {"budget": 1, "delta_budget": "1/1000000", "accounting": "renyi"}
ROWS = pl.DataFrame(
    {"person": [1, 1, 2, 3], "place": ["p1", "p2", "p2", "p3"], "minor": [True, False, False, True],
     "v": [0, 1, 3, 3], "w": [1, 2, 0, 2]}
)  # fmt: skip
MANY = {"by": "place", "keys": [f"p{i}" for i in range(100)], "max_groups": 100,
        "on_excess": "truncate"}  # fmt: skip
WEIGHT = {"weight": "w", "weight_bounds": (0, 2)}
QUESTIONS = {
    "totals": Sum("v", of="units", total_bounds=(0, 10), epsilon=1, **MANY),
    "of both signs": Sum("v", of="units", total_bounds=(-7, 10), epsilon=1, **MANY),
    "rows": Sum("v", of="rows", max_rows=3, bounds=(-5, 10), epsilon=1, **MANY),
    "row count": RowCount(max_rows=3, epsilon=1, **MANY),
    "weights": od.Count(**WEIGHT, epsilon=1, **MANY),
    "mean": Mean("v", bounds=(0, 10), epsilon=1, **MANY),
    "mean of rows": Mean("v", bounds=(0, 10), of="rows", max_rows=2, epsilon=1, **MANY),
    "proportion": Mean("minor", epsilon=1, **MANY),
    "weighted mean": Mean("v", bounds=(0, 10), **WEIGHT, epsilon=1, **MANY),
    "variance": Variance("v", bounds=(0, 10), epsilon=1, **MANY),
    "histogram": Histogram("v", bins=[*range(100)], epsilon=1, max_groups=99, on_excess="truncate"),
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


def error(plan):
    if isinstance(plan.mechanism, Parts | Ends):
        return _error(plan.mechanism, 10)
    return plan.standard_deviation


def squares(plan):
    return {edge: told["squares"] for edge, told in plan.noise["edges"].items()}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", QUESTIONS)
def test_an_untouched_account_holds_as_many(name, policy):
    asked = session(POLICIES[policy], budget=2)
    for epsilon in (1, "1/100"):
        question = replace(QUESTIONS[name], epsilon=epsilon)
        pure, gaussian, best = (
            asked.plan(replace(question, law=law)) for law in ("pure", "gaussian", "best")
        )
        assert gaussian.times >= pure.times
        assert set(gaussian.charge.values()) == {od.INFINITE}
        assert not gaussian.certain
        least = min((pure, gaussian), key=error)
        assert best.mechanism == least.mechanism
        assert best.charge == least.charge
    listed = asked.plan(QUESTIONS[name]).options
    laws = [getattr(one.question, "law", "best") for one in listed if one.question]
    assert [law for law in laws if law != "best"] == [
        "gaussian" if best.charge == pure.charge else "pure"
    ]


def test_sums_of_a_hundred_groups_have_a_deviation_of_539_in_place_of_1414():
    asked, question = session(), QUESTIONS["totals"]
    plan, pure = asked.plan(question), asked.plan(replace(question, law="pure"))
    assert plan.standard_deviation == pytest.approx(538.8, abs=0.1)
    option = {one.name: one for one in plan.options}['Sums, law="pure"']
    assert option.error == pure.standard_deviation == pytest.approx(1414.2, abs=0.1)
    assert option.question == replace(question, law="pure")
    (listed,) = (one for one in pure.options if one.name == "GaussianSums")
    assert asked.plan(listed.question).noise == plan.noise
    mean = asked.plan(replace(QUESTIONS["mean"], law="pure"))
    (listed,) = (one for one in mean.options if one.name == "Mean, Gaussian noise")
    assert listed.note.startswith("about 0.38 times the error; no pure ε")
    assert listed.error is None


# One group: everything that one unit of up to two rows can hold, and every move of it.
VALUES = {"a": 0, "b": 1, "c": 3}
HELD = [Row(group, frozenset(held)) for group in VALUES for held in ((), ("minor",))]
WORLD = Tables(possible=subsets(HELD, most=2))
ALONE = [
    *(p.unbounded(), p.addition_only(), p.removal_only(), p.bounded(), p.sensitive("minor")),
    *(p.extended_sensitive("minor"), p.presence(max_groups=1), p.presence(max_groups=2)),
    p.tiers({"strict": ("1/2", "minor"), "rest": 1}),
]


@pytest.mark.parametrize("policy", ALONE, ids=lambda one: one.name)
@pytest.mark.parametrize("where", [None, "v >= 0"])
@pytest.mark.parametrize("question", [Mean, Variance, Sum])
def test_the_price_is_the_length_of_what_moves_of_tables_change(policy, where, question):
    more = {"of": "units", "total_bounds": (0, 3)} if question is Sum else {"bounds": (0, 3)}
    asked = question("v", **more, where=where, law="gaussian", epsilon=1)
    plan = session(policy).plan(asked)
    told, worst = squares(plan), dict.fromkeys(plan.charge, 0)
    for real, other, edge in WORLD.moves(policy):
        before, after = (numbers(table.units[0], plan.mechanism) for table in (real, other))
        length = sum((new - old) ** 2 for new, old in zip(after, before, strict=True))
        worst[edge.name] = max(worst[edge.name], length)
    assert all(worst[edge] <= told[edge] for edge in told)
    few = question is not Sum and policy.name == "presence"  # two rows: no mean moves so far
    assert worst == told or few


def numbers(rows, made):
    """What a unit adds to the numbers that have Gaussian noise."""
    values = [VALUES[row.group] for row in rows]
    if isinstance(made, GaussianSums):
        return [min(sum(values), 3)]
    one = (1, sum(values) // len(values), (sum(values) // len(values)) ** 2) if rows else (0, 0, 0)
    about = (one[0], one[1] - made.centre * one[0],
             one[2] - 2 * made.centre * one[1] + made.centre**2 * one[0])  # fmt: skip
    return [
        sum(a * b for a, b in zip(made.rows[name], about, strict=True))
        for name, part in made.all.items()
        if isinstance(part.mechanism, GaussianSums)
    ]


@pytest.mark.parametrize("bounds", [(0, 2), (1, 3), (-1, 2), (-2, 2), (-3, -1)])
@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("policy", ALONE[:6], ids=lambda one: one.name)
def test_by_group_the_price_is_the_length_of_what_moves_of_records_change(policy, bounds, most):
    low, high = bounds
    groups = Groups(unit="person", by=("place",), excess="error", where=None,
                    keys=PublicKeys.of(("place",), [(one,) for one in "abcd"]),
                    query=GroupCount(max_groups=most))  # fmt: skip
    told = one_value(low, high, monotone=low >= 0).squares(policy, groups, optional=True)
    cells = [(place, value) for place in "abcd" for value in bounds]
    held = [frozenset(some) for size in range(most + 1) for some in combinations(cells, size)
            if len({place for place, _ in some}) == size]  # fmt: skip
    kinds = [kind for kind in policy.kinds if kind != ABSENT]
    records = [Record(kind, value) for kind in kinds for value in held]
    records += [Record(ABSENT)] if ABSENT in policy.kinds else []
    worst = dict.fromkeys(told, 0)
    for real in records:
        for other in records:
            edge = policy.edge_between(real, other)
            if edge is not None:
                before, after = dict(real.value), dict(other.value)
                length = sum((after.get(x, 0) - before.get(x, 0)) ** 2 for x in "abcd")
                worst[edge] = max(worst[edge], length)
    assert worst == told


def test_several_rows_of_a_unit_change_together():
    pair = Moved.of([(1, 0), (0, 1)], [(1, -1), (-1, 1)], (1, 1), 3)
    assert pair.lengths == (9, 18, 18)  # all three come, or change; who stays may lose the others
    far = Moved.of([(5,), (2,)], [(3,), (-3,)], (1,), 2)
    assert far.lengths == (100, 64, 64)  # one changes by 3, and another comes, or goes, with 5
    assert one_value(0, 5, monotone=True).lengths == (25, 25, 0)
    assert one_value(-5, 5, monotone=False).lengths == (25, 100, 100)


def test_every_sum_of_a_mean_has_the_noise_that_its_plan_tells():
    table = pl.DataFrame({"person": [1, 2, 3, 4], "v": [0, 1, 3, 3]})
    asked = Mean("v", bounds=(0, 60), epsilon=1, law="gaussian")
    prepared = asked.prepare(session(table=table)._context())
    secret, noise, many = prepared.read(), NotPrivateSeededNoise(11), 3_000
    drawn = [prepared.draw(secret, noise) for _ in range(many)]
    assert set(squares(prepared.plan).values()) == {60**2}
    law = DiscreteGaussian(prepared.plan.mechanism.above.mechanism.variance)
    size = math.sqrt(law.variance())
    for name, truth in (("above", 7), ("below", 240 - 7)):
        found = np.array([int(one[name][0]) for one in drawn]) - truth
        # σ is large: the normal law, to within 1 / σ of a chance.
        assert stats.kstest(found, stats.norm(scale=size).cdf).pvalue > FALSE_ALARM
    both = np.array([[int(one[name][0]) for name in ("above", "below")] for one in drawn])
    assert stats.pearsonr(*both.T).pvalue > FALSE_ALARM


@pytest.mark.parametrize("name", ["totals", "mean", "proportion", "histogram"])
def test_bounds_hold_as_often_as_they_say(name):
    size, epsilon = 400, "1/2"
    keys = [f"p{i}" for i in range(size)]
    rows = [(30 * group + one, place, one % 7, one % 3 == 0)
            for group, place in enumerate(keys) for one in range(30)]  # fmt: skip
    table = pl.DataFrame(rows, schema=["person", "place", "v", "minor"], orient="row")
    asked = replace(QUESTIONS[name], law="gaussian", epsilon=epsilon, confidence="0.9")
    if name == "histogram":
        truth = np.array([size * len(range(v, 30, 7)) for v in range(7)] + [0] * 92)
    else:
        asked = replace(asked, keys=keys, max_groups=1)
        values = table.group_by("place", maintain_order=True).agg(
            pl.col("v").sum().alias("totals"), pl.col("v").mean().alias("mean"),
            pl.col("minor").mean().alias("proportion"),
        )  # fmt: skip
        truth = values[name].to_numpy()
    told = session(table=table).ask(asked)
    bounds = told.interval
    missed = int(((bounds.lower > truth) | (bounds.upper < truth)).sum())
    assert stats.binom.sf(missed - 1, len(truth), 0.1) > FALSE_ALARM
    assert not bounds.lower_certain
    assert not bounds.upper_certain
    assert ((told.estimate >= bounds.lower) & (told.estimate <= bounds.upper)).all()


@pytest.mark.parametrize("name", QUESTIONS)
def test_ledgers_recompute_it_and_answers_are_told_again(name):
    asked = session()
    question = replace(QUESTIONS[name], law="gaussian", epsilon="1/10", id="monday")
    first = asked.ask(question)
    assert asked.ledger.check(laws=charge_divergences).charges == 1
    again = asked.ask(replace(question, again=True))
    assert again.told_again
    assert again.estimate.tolist() == first.estimate.tolist()
    assert again.interval.lower.tolist() == first.interval.lower.tolist()
    with pytest.raises(errors.OnesidedError):
        asked.ask(replace(question, law="pure", again=True))
    assert question_from_json(question_to_json(question)) == question
    assert "No pure ε" in str(first.guarantee)
    assert first.guarantee.headline < 1


def test_asked_together_and_as_a_ratio():
    asked, given = session(), {"epsilon": "1/20", "law": "gaussian"}
    both = asked.ask_all([replace(QUESTIONS[name], **given) for name in ("totals", "mean")])
    assert max(both.guarantee.delta.values()) > 0
    ratio = asked.ratio(
        replace(QUESTIONS["totals"], **given), replace(QUESTIONS["row count"], **given)
    )
    assert ratio.estimate.size == 100
    assert asked.ledger.check(laws=charge_divergences).charges == 2


def test_in_sql():
    given = {name: MANY[name] for name in ("keys", "max_groups", "on_excess")}
    text = "SELECT place, SUM_PER_UNIT(v) FROM visits GROUP BY place"
    more = {"total_bounds": (0, 10), "epsilon": 1, "law": "best", **given}
    assert session().question(text, **more) == replace(QUESTIONS["totals"], law="best")
    text = "SELECT place, MEAN_PER_UNIT(v) FROM visits GROUP BY place"
    more = {"bounds": (0, 10), "epsilon": 1, "law": "gaussian", **given}
    assert session().question(text, **more) == replace(QUESTIONS["mean"], law="gaussian")


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("law", ["normal", None, 1, ""])
def test_other_laws_are_refused(name, law):
    with pytest.raises(errors.ParameterError, match="law"):
        session().plan(replace(QUESTIONS[name], law=law))


@pytest.mark.parametrize("name", QUESTIONS)
def test_pure_accounts_keep_their_noise(name):
    pure = session(accounting="pure", delta_budget=0)
    best, plain = (pure.plan(replace(QUESTIONS[name], law=law)) for law in ("best", "pure"))
    assert best.mechanism == plain.mechanism
    with pytest.raises(errors.ParameterError, match="keeps no pure ε"):
        pure.ask(replace(QUESTIONS[name], law="gaussian"))
    small = session(budget="1/100")  # at δ = 1e-6 no order has any of it
    with pytest.raises(errors.ParameterError, match="at some order"):
        small.plan(replace(QUESTIONS[name], law="gaussian", epsilon="1/100"))


def test_certain_sides_are_kept_unless_it_is_asked_for():
    asked = session(p.presence(max_groups=100))
    question = replace(QUESTIONS["totals"], max_groups=None, on_excess=None)
    assert asked.plan(replace(question, law="best")).certain == ("upper",)
    assert asked.plan(replace(question, law="gaussian")).certain == ()


def test_what_no_move_changes_stays_exact():
    asked = session(p.bounded())
    mean = asked.plan(Mean("v", bounds=(0, 10), epsilon=1, law="gaussian")).mechanism
    assert isinstance(mean, Parts)
    assert mean.count.mechanism.upper_rate == od.INFINITE
    assert isinstance(mean.total.mechanism, GaussianSums)


def test_noise_wider_than_any_that_is_drawn():
    wide = Sum("v", of="units", total_bounds=(0, 2**36), epsilon="1/4", law="gaussian")
    with pytest.raises(errors.ParameterError, match="coarser steps"):
        session().plan(wide)
    assert not isinstance(session().plan(replace(wide, law="best")).mechanism, GaussianSums)
    far = GaussianSums(Fraction(2**77))
    told = far.noisy([0] * 2000, noise=NotPrivateSeededNoise(3))
    assert stats.kstest(told, stats.norm(scale=2**38.5).cdf).pvalue > FALSE_ALARM


@pytest.mark.parametrize("method", ["dawa", "best", "hierarchical"])
def test_histograms_of_other_methods_have_no_law(method):
    asked = replace(QUESTIONS["histogram"], method=method, law="gaussian")
    with pytest.raises(errors.ParameterError, match=r"law='gaussian' is for"):
        session().plan(asked)
    made = session().plan(replace(asked, method="counts")).mechanism
    assert isinstance(made, GaussianCounts)


def test_disjoint_parts_of_it_are_charged_by_what_one_move_changes():
    data = pl.DataFrame({"p": ["a", "b"] * 10, "x": [1, 2] * 10})
    session = od.Session(data, policy=p.extended_sensitive("x = 1"), **{**RENYI, "budget": 9})
    one = od.Count(law="gaussian", counted="open", epsilon=1)
    parts = [replace(one, where="p = 'a'"), od.Count(where="p = 'b'", epsilon=1)]
    plan, both = (session.plan(od.session.Several(parts, disjoint=d)) for d in (True, False))
    assert "each move changes one part" in plan.why
    assert plan.charge == both.charge
    assert all(
        one <= other
        for edge, orders in plan.divergences.items()
        for one, other in zip(orders, both.divergences[edge], strict=True)
    )
    session = od.Session(data, policy=p.unbounded(), **RENYI)
    one, known = replace(one, counted=None), od.Discover(by="p", epsilon=1, delta="1/10000000")
    with pytest.raises(errors.ParameterError, match="no charge together"):
        session.ask_all([one, known])  # it was asked for by name


def test_a_total_has_edges_along_which_nothing_moved():
    """Its loss by 0 counts was none that could be composed, and no total was told ever after."""
    data = pl.DataFrame({"x": [1, 2] * 10})
    session = od.Session(data, policy=p.extended_sensitive("x = 1"), **{**RENYI, "budget": 9})
    session.count(counted="open", law="gaussian", epsilon=1)
    total = session.total(delta="1/1000000").tight.epsilon
    assert [edge for edge, loss in total.items() if not loss] == [
        "sensitive -> absent", "absent -> sensitive"
    ]  # fmt: skip
    assert 0 < total["absent -> open"] < 3
