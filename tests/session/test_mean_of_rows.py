"""Means and variances of rows: so many rows of a unit at most, picked by a hash of each."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from tests.covering import drawn

import onesided as od
from onesided import errors
from onesided.noise import NotPrivateSeededNoise
from onesided.session import Mean, Variance
from onesided.session.values._value import outward as _outward

ROWS = {
    "person": [1] * 6 + [2, 3, 3],
    "place": [*"aaabbb", *"aab"],
    "v": [5, 5, 5, 5, 1, 9, 4, 7, 7],
}


def session(table, policy=None, **more):
    given = {"unit": "person", "budget": 10**6, **more}
    return od.Session(table, policy=policy or od.policy.unbounded(), **given)


def read(asked, question):
    return asked._prepared(question, asked._context()).read()


def test_at_most_so_many_rows_of_a_unit_count_on_every_engine(engine):
    asked = session(engine(ROWS), noise=NotPrivateSeededNoise(7))
    for most, count in ((1, 3), (2, 5), (3, 6), (6, 9), (99, 9)):
        found = read(asked, Mean("v", bounds=(0, 10), of="rows", max_rows=most, epsilon=1))
        assert found.count.tolist() == [count]
    assert found.total.tolist() == [48 - 5 * 9]  # about the middle
    told = asked.mean("v", bounds=(0, 10), of="rows", max_rows=9, epsilon=10**4)
    assert told.value == pytest.approx(48 / 9, abs=0.01)
    spread = asked.variance("v", bounds=(0, 10), of="rows", max_rows=9, epsilon=10**4)
    assert spread.value == pytest.approx(np.var(ROWS["v"]), abs=0.01)
    assert "at most 9 of their rows" in str(told.guarantee)


def test_by_group_each_pair_has_its_own_rows(engine):
    asked = session(engine(ROWS))
    by = {"by": "place", "keys": ["b", "z", "a"], "max_groups": 2}
    found = read(asked, Variance("v", bounds=(0, 10), of="rows", max_rows=2, epsilon=1, **by))
    assert found.count.tolist() == [3, 0, 4]
    cut = {**by, "max_groups": 1, "on_excess": "truncate"}
    found = read(asked, Mean("v", bounds=(0, 10), of="rows", max_rows=9, epsilon=1, **cut))
    assert sum(found.count.tolist()) in (5, 6)


def test_rows_are_as_likely_as_each_other():
    """A value that many of a unit's rows have is kept as often as they are many."""
    people = 3000
    rows = pl.DataFrame({"person": np.repeat(np.arange(people), 4), "v": [1, 1, 1, 9] * people})
    asked = session(rows)
    question = Mean("v", bounds=(0, 10), of="rows", max_rows=1, epsilon=1)
    kept = int(read(asked, question).total[0]) + 5 * people
    nines = (kept - people) / 8
    # Binomial(3000, 1/4): six standard deviations are 142.
    assert abs(nines - people / 4) < 142


def test_dropping_rows_changes_no_more_of_those_kept():
    random = np.random.default_rng(3)
    question = Mean("v", bounds=(0, 4), of="rows", max_rows=3, epsilon=1)
    for _ in range(40):
        many = int(random.integers(2, 9))
        values = random.integers(0, 5, many)
        gone = random.choice(many, int(random.integers(1, many)), replace=False)
        before, after = (
            read(session(pl.DataFrame({"person": 7, "v": rows})), question)
            for rows in (values, np.delete(values, gone))
        )
        assert after.count[0] == min(3, many - gone.size)
        # About the middle of 0 .. 4 a row adds -2 to 2: as many as go are lost, and as many come.
        lost = int(before.count[0] - after.count[0])
        most = 4 * min(gone.size, int(after.count[0])) + 2 * lost
        assert abs(int(before.total[0] - after.total[0])) <= most


def test_noise_grows_with_the_rows():
    asked = session(pl.DataFrame(ROWS), od.policy.bounded())
    one = asked.plan(Mean("v", bounds=(0, 10), of="rows", max_rows=1, epsilon=6)).mechanism
    assert one.public
    assert one.total.mechanism.upper_rate * 10 == 6
    two = asked.plan(Mean("v", bounds=(0, 10), of="rows", max_rows=2, epsilon=6)).mechanism
    assert not two.public
    # Two rows change by two spans at most; their sum is that of twice the distances.
    assert two.total.mechanism.upper_rate * 2 * 20 == 6
    assert two.count.mechanism.upper_rate * 2 == 3


def test_in_a_table_of_rows_it_is_the_mean_of_rows_anyway():
    asked = od.Session(
        pl.DataFrame(ROWS),
        policy=od.policy.unbounded(),
        budget=10**6,
        noise=NotPrivateSeededNoise(7),
    )
    told = asked.mean("v", bounds=(0, 10), of="rows", epsilon=2000)
    assert told.value == pytest.approx(48 / 9, abs=0.01)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"of": "rows"}, "How many rows"),
        ({"max_rows": 2}, "no meaning"),
        ({"of": "people"}, "of must be"),
        ({"of": "rows", "max_rows": 0}, "max_rows"),
        ({"of": "rows", "max_rows": 1.5}, "max_rows"),
        ({"of": "rows", "max_rows": 2**30}, "max_rows"),
    ],
)
def test_what_cannot_be_meant(wrong, says):
    asked = session(pl.DataFrame(ROWS))
    for question in (Mean, Variance):
        with pytest.raises(errors.ParameterError, match=says):
            asked.ask(question("v", bounds=(0, 10), epsilon=1, **wrong))
    assert not any(asked.spent.values())


def test_bounds_of_a_proportion_hold_it_whatever_floats_round():
    """9 of 35 lies on the lattice of what noise can give: an end that is rounded would miss it."""
    truth, near = Fraction(9, 35), Fraction(1, 10**9)
    table = pl.DataFrame({"b": [True] * 9 + [False] * 26})
    asked = od.Session(table, policy=od.policy.addition_only(), budget=10**6)
    for told in drawn(asked, Mean("b", epsilon=1, confidence="0.9"), 300):
        lower, upper = (Fraction(told.frame[side].item()) for side in ("lower", "upper"))
        # 1 draw in 20 missed by a rounding alone; that none of 300 does has a chance of 10^-6.
        assert (lower <= truth <= upper) == (lower - near <= truth <= upper + near)
    for end in (0.1, 1 / 3, 1.0):
        low, up = _outward(np.array([end]), np.array([end]), (0.0, 1.0))
        assert low[0] < end
        assert up[0] > end or end == 1.0
    zero = _outward(np.zeros(1), np.zeros(1), (-1.0, 1.0))
    assert [end.tolist() for end in zero] == [[0.0], [0.0]]  # nothing was rounded


@pytest.mark.parametrize("family", ["presence", "addition_only", "unbounded", "bounded"])
@pytest.mark.parametrize("epsilon", [5, 20, 50])
def test_no_estimate_leaves_its_interval_and_nobody_has_any_mean(family, epsilon):
    policy = getattr(od.policy, family)(**({"max_groups": 1} if family == "presence" else {}))
    people = pl.DataFrame({"person": [1, 2, 3], "v": [1.0, 2.0, 3.0]})
    session = od.Session(people, unit="person", policy=policy, budget=1000)
    for where in (None, "v > 4"):
        for ask in (session.mean, session.variance):
            told = ask("v", bounds=(0, 5), step=1, where=where, epsilon=epsilon)
            assert told.lower[0] <= told.value <= told.upper[0]
    nobody = session.mean("v", bounds=(0, 5), step=1, where="v > 4", epsilon=50)
    assert (nobody.lower[0], nobody.upper[0]) == (0, 5)
