"""Means and variances of sums that one span moves together: prices, laws, intervals, choice."""

from fractions import Fraction
from itertools import product

import numpy as np
import polars as pl
import pytest

import onesided as od
from onesided import policy as p
from onesided.noise import NotPrivateSeededNoise, TwoSidedGeometric
from onesided.session import Mean, Variance
from onesided.session.values._mean import Ends, Parts
from onesided_proofs.tables import Row, Tables, subsets

PEOPLE = pl.DataFrame({"person": [1, 2, 3, 4], "minor": [True, False, False, False],
                       "v": [0, 1, 3, 3], "g": ["a"] * 4})  # fmt: skip
OPEN, SOME, NONE = {"counted": "open"}, {"where": "v >= 0"}, {}
HERE = {"by": "g", "keys": ["a"], "max_groups": 1}
# One way only, or both; and where a value may change.
ONE_SPAN = (
    (p.unbounded(), NONE),
    (p.addition_only(), NONE),
    (p.removal_only(), NONE),
    (p.sensitive("minor"), OPEN),
    (p.extended_sensitive("minor"), NONE),
)
TWO_SPANS = (
    (p.bounded(), SOME),
    (p.sensitive("minor"), NONE),
    (p.sensitive("minor"), SOME),
    (p.proposition("NOT minor"), NONE),
    (p.presence(max_groups=1), NONE),
    (p.presence(max_groups=2), NONE),
    (p.custom(kinds=["r", "absent"], edges=[("r", "r", 2), ("r", "absent")]), NONE),
    (p.tiers({"strict": ("1/2", "minor"), "rest": 1}), SOME),
)
LIKELY = {"lower_certain": False, "upper_certain": False}
VALUES = {"a": 0, "b": 1, "c": 3}
ROWS = [Row(group, frozenset(held)) for group in VALUES for held in ((), ("minor",))]
WORLD = Tables(possible=subsets(ROWS, most=2))


def ids(case):
    return f"{case[0].name}-{'-'.join(case[1]) or 'all'}"


def prepared(question, policy, table=PEOPLE, **more):
    session = od.Session(table, unit="person", policy=policy, budget=10**6, ledger=None, **more)
    return question.prepare(session._context())


def powers(rows, more):
    """The number of a unit's own means, their sum, and that of squares."""
    if not rows or (more == OPEN and any("minor" in row.facts for row in rows)):
        return [(0, 0, 0)]
    mean = sum(VALUES[row.group] for row in rows) // len(rows)
    return [(1, mean, mean**2)]


@pytest.mark.parametrize("case", [*ONE_SPAN, *TWO_SPANS], ids=ids)
@pytest.mark.parametrize("question", [Mean, Variance])
def test_the_price_is_what_moves_of_tables_lose(case, question):
    """Never less, on any edge; and no more where one span comes or goes."""
    policy, more = case
    plan = prepared(question("v", bounds=(0, 3), epsilon=1, **more), policy).plan
    made, worst = plan.mechanism, dict.fromkeys(plan.charge, 0)
    for real, other, edge in WORLD.moves(policy):
        (before,), (after,) = (powers(t.units[0], more) for t in (real, other))
        loss = 0
        for name, row in made.rows.items():
            part = made.all.get(name)
            if part is not None:
                weights = about(row, made.centre)
                changes = zip(weights, after, before, strict=True)
                step = sum(weight * (new - old) for weight, new, old in changes)
                loss += part.mechanism.loss(od.Shift(rise=max(step, 0), fall=max(-step, 0)))
        assert loss <= plan.charge[edge.name] <= edge.weight
        worst[edge.name] = max(worst[edge.name], loss)
    if case in ONE_SPAN:
        assert isinstance(made, Ends)
        assert worst == dict(plan.charge)


def about(row, centre):
    """What a row of powers about the centre takes of those about 0."""
    number, total, squares = row
    return (number - centre * total + centre**2 * squares, total - 2 * centre * squares, squares)


def test_one_span_is_all_that_its_policy_allows_and_two_where_values_change():
    for policy, more in ONE_SPAN:
        part = prepared(Mean("v", bounds=(0, 8), epsilon=1, **more), policy).plan.mechanism.above
        assert 8 in {1 / r for r in (part.mechanism.upper_rate, part.mechanism.lower_rate)
                     if r is not od.INFINITE}  # fmt: skip
    two = prepared(Mean("v", bounds=(0, 8), epsilon=1, **HERE), p.bounded()).plan.mechanism
    assert two.above.mechanism == od.mechanism.Sums("1/16", "1/16")
    middle = prepared(Mean("v", bounds=(0, 8), epsilon=1, **SOME), p.bounded()).plan.mechanism
    # A value changes by a span, of which each half is also what a unit takes with its number.
    assert middle.total.mechanism.upper_rate * 2 * 8 == 1
    assert middle.count.mechanism.upper_rate * 2 == 1


@pytest.mark.parametrize("case", [*ONE_SPAN, *TWO_SPANS, (p.bounded(), HERE)], ids=ids)
@pytest.mark.parametrize("question", [Mean, Variance])
def test_what_is_chosen_is_said_beside_what_was_passed_over(case, question):
    policy, more = case
    plan = prepared(question("v", bounds=(0, 100), epsilon=1, **more), policy).plan
    kinds = {Ends: "Parts", Parts: "Ends"}
    if getattr(plan.mechanism, "public", False):
        assert not plan.others
        return
    (other,) = plan.others
    assert other.name == kinds[type(plan.mechanism)]
    worse = float(other.note.split("about ")[-1].split()[0])
    assert worse >= 1
    if case in ONE_SPAN:
        assert type(plan.mechanism) is Ends
        assert worse > 1.3


@pytest.mark.parametrize(("policy", "upper", "lower"),
                         [(p.unbounded(), "1/60", "1/60"), (p.addition_only(), "1/60", None),
                          (p.removal_only(), None, "1/60")])  # fmt: skip
def test_noise_of_both_ends_has_the_law_of_one_span(policy, upper, lower):
    asked = prepared(Mean("v", bounds=(0, 60), epsilon=1), policy)
    secret, noise, many = asked.read(), NotPrivateSeededNoise(11), 3_000
    told = [asked.draw(secret, noise) for _ in range(many)]
    law = TwoSidedGeometric(*(rate or od.INFINITE for rate in (upper, lower)))
    twice = TwoSidedGeometric(*(2 * one for one in (law.upper, law.lower)))
    for name, truth in (("above", 7), ("below", 240 - 7)):
        drawn = np.array([int(one[name][0]) for one in told]) - truth
        for share in (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4), Fraction(9, 10)):
            assert within(drawn, law, law.quantile_upper(share) or -1, many)
            assert within(drawn, law, law.quantile_lower(share) or -1, many)
        end = law.quantile_upper if upper else law.quantile_lower
        assert not within(drawn, twice, end(Fraction(3, 4)), many)


def within(drawn, law, end, many):
    """Whether as many draws lie above ``end`` as the law says, to six standard deviations.

    Of 48 such checks one fails by chance less than once in 10 million.
    """
    share = tail(law, end)
    return abs(int((drawn > end).sum()) - many * share) <= 6 * (many * share * (1 - share)) ** 0.5


def tail(law, end):
    """Pr[D > end] of a difference of two geometrics, by summing up."""
    sides = []
    for rate in (law.upper, law.lower):
        stop = np.exp(-float(rate)) if rate is not od.INFINITE else 0.0
        sides.append((1 - stop) * stop ** np.arange(4_000))
    return np.convolve(sides[0], sides[1][::-1])[end + 4_000 :].sum()


@pytest.mark.parametrize("policy", [p.unbounded(), p.addition_only(), p.removal_only(),
                                    p.presence(max_groups=1)])  # fmt: skip
@pytest.mark.parametrize(("question", "truth"), [(Mean, 49.5), (Variance, 833.25)])
@pytest.mark.parametrize("people", [100, 1_000])
def test_bounds_hold_as_often_as_asked(policy, question, truth, people):
    table = pl.DataFrame({"person": range(people), "v": [n % 100 for n in range(people)]})
    asked = prepared(question("v", bounds=(0, 100), epsilon=1, confidence="0.9"), policy, table)
    secret, noise = asked.read(), NotPrivateSeededNoise(4)
    told = [asked.result(asked.draw(secret, noise), None) for _ in range(300)]
    missed = sum(not one.lower[0] <= truth <= one.upper[0] for one in told)
    # Binomial(300, 0.1) exceeds 57 with a chance below 1e-6.
    assert missed <= 57
    assert all(0 <= one.lower[0] <= one.estimate[0] <= one.upper[0] for one in told)


def test_a_variance_of_both_ends_is_bounded_by_all_that_its_sums_may_be():
    """Every corner and many points inside of random boxes."""
    rng = np.random.default_rng(3)
    made = prepared(Variance("v", bounds=(0, 1), epsilon=1), p.unbounded()).plan.mechanism
    value = Variance("v", bounds=(0, 1), epsilon=1).value(
        od.Session(PEOPLE, policy=p.unbounded(), budget=1)._context()
    )
    for _ in range(200):
        low = rng.exponential(3, 3) * rng.integers(0, 2, 3)
        high = low + rng.exponential(4, 3) * rng.integers(0, 2, 3)
        bounds = {
            name: od.mechanism.Interval(np.array([a]), np.array([b]), **LIKELY)
            for name, a, b in zip(made.all, low, high, strict=True)
        }
        found = {name: one.lower for name, one in bounds.items()}
        _, (least,), (most,) = made.variance(found, bounds, value)
        inside = [
            low + (high - low) * np.array(place) for place in product((0, 0.3, 0.6, 1), repeat=3)
        ]
        for x, y, z in inside:
            if x + y + z > 0:
                spread = min(max((x * z - y * y / 4) / (x + y + z) ** 2, 0), 0.25)
                assert least - 1e-12 <= spread <= most + 1e-12


@pytest.mark.parametrize("question", [Mean, Variance])
def test_of_nobody_all_of_the_bounds_are_told(question):
    none = PEOPLE.filter(pl.col("person") > 9)
    told = od.Session(none, unit="person", policy=p.addition_only(), budget=10**6).ask(
        question("v", bounds=(10, 20), epsilon=50)
    )
    assert not told.lower_certain
    assert told.lower[0] == (10 if question is Mean else 0)
    assert told.upper[0] == (20 if question is Mean else 25)


@pytest.mark.parametrize("bounds", [(0, 2**40), (-(2**45), 2**45)])
def test_sums_past_2_62_are_cut_by_themselves(bounds):
    """The second sum is the span times the number, less the first: of what was not cut."""
    low, high = bounds
    table = pl.DataFrame({"person": range(6), "v": [low, low, low, high, 0, 0]})
    asked = prepared(Mean("v", bounds=bounds, epsilon=1000), p.addition_only(), table)
    rows = asked.plan.mechanism.rows
    secret = asked.read()
    above = high - low - 2 * low
    assert secret.combined(rows["above"]).tolist() == [above]
    assert secret.combined(rows["below"]).tolist() == [6 * (high - low) - above]
    far = tuple(2**40 * one for one in rows["below"])
    assert secret.combined(far).tolist() == [2**62]
