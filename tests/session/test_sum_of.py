"""A sum says what its bounds are about: rows, so many of a unit, or the total of each unit."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest

import onesided as od
from onesided import errors
from onesided.noise import NotPrivateSeededNoise
from onesided.session import RowCount, Sum
from onesided.session.kit import prepared

ROWS = {
    "person": [1] * 6 + [2, 3, 3],
    "place": [*"aaabbb", *"aab"],
    "v": [5, 5, -9, 5, 1, 9, 4, 7, 7],
}
TOTAL = {"of": "units", "total_bounds": (0, 10)}


def session(table, policy=None, **more):
    given = {"unit": "person", "budget": 10**8, **more}
    return od.Session(table, policy=policy or od.policy.unbounded(), **given)


def read(asked, question):
    return prepared(asked, question).read().tolist()


def test_rows_are_clipped_one_by_one_and_so_many_of_a_unit_count(engine):
    asked = session(engine(ROWS))
    for most, due in ((1, 8 + 4 + 7), (2, 8 + 5 + 4 + 14), (3, 8 + 10 + 4 + 14), (9, 24 + 18)):
        assert read(asked, Sum("v", of="rows", max_rows=most, bounds=(0, 8), epsilon=1)) == [due]
    both = Sum("v", of="rows", max_rows=2, bounds=(-9, 9), epsilon=1)
    assert read(asked, both) == [-9 + 9 + 4 + 14]
    by = {"by": "place", "keys": ["b", "z", "a"], "max_groups": 2, "of": "rows", "epsilon": 1}
    assert read(asked, Sum("v", max_rows=2, bounds=(0, 8), **by)) == [13 + 7, 0, 10 + 4 + 7]


def test_totals_of_units_are_clipped_once(engine):
    asked = session(engine(ROWS))
    assert read(asked, Sum("v", **TOTAL, epsilon=1)) == [10 + 4 + 10]
    assert read(asked, Sum("v", of="units", total_bounds=(5, 50), epsilon=1)) == [25 + 5 + 14]


def test_dropping_rows_never_raises_a_sum_of_rows_from_0_up():
    """All subsets of some rows: a smaller one has no larger sum, and it moves within the price."""
    values = [0, 3, 3, 5, 9]
    asked = Sum("v", of="rows", max_rows=2, bounds=(0, 5), epsilon=1)
    for size in range(1, len(values) + 1):
        for kept in combinations(range(len(values)), size):
            before = read(session(pl.DataFrame({"person": 1, "v": values})), asked)
            rows = pl.DataFrame({"person": 1, "v": [values[i] for i in kept]})
            after = read(session(rows), asked)
            assert 0 <= before[0] - after[0] <= 2 * 5


@pytest.mark.parametrize("policy", [od.policy.presence(max_groups=1), od.policy.addition_only()])
def test_a_certain_bound_holds_for_what_the_release_says(policy):
    """For every table: of rows as many as stated, of the values as clipped; and cuts come first."""
    table = pl.DataFrame(
        {"person": [i // 4 for i in range(400)], "v": [60 + i % 40 for i in range(400)]}
    )
    asked = session(table, policy, noise=NotPrivateSeededNoise(3))
    told = asked.sum("v", of="rows", max_rows=4, bounds=(0, 100), epsilon=1)
    assert told.interval.upper_certain
    assert told.interval.upper[0] >= table["v"].sum()
    totals = asked.sum("v", **TOTAL, epsilon=1)
    assert totals.interval.upper_certain
    assert 1000 <= totals.interval.upper[0] < table["v"].sum()
    assert "add up to is clipped to 0 .. 10" in totals.cut
    for one in (told, totals):
        assert str(one).startswith(one.cut)
        assert "as they are" not in one.guarantee.about
        assert one.guarantee.scope in one.cut


def test_a_sum_that_says_neither_is_refused_naming_both():
    asked = session(pl.DataFrame(ROWS))
    with pytest.raises(errors.ParameterError, match="count one by one") as caught:
        asked.sum("v", bounds=(0, 9), epsilon=1)
    assert 'of="rows" with max_rows=' in caught.value.hint
    assert 'of="units" with total_bounds=' in caught.value.hint
    alone = od.Session(pl.DataFrame(ROWS), policy=od.policy.unbounded(), budget=10**6)
    for given in ({"bounds": (0, 9)}, {"of": "units", "total_bounds": (0, 9)}):
        assert read(alone, Sum("v", epsilon=1, **given)) == [43]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"of": "rows", "bounds": (0, 9)}, "max_rows"),
        ({"of": "rows", "bounds": (0, 9), "max_rows": 0}, "max_rows"),
        ({"of": "rows", "max_rows": 2}, "Within which bounds"),
        ({"of": "rows", "max_rows": 2, "total_bounds": (0, 9)}, "total_bounds"),
        ({"of": "units", "bounds": (0, 9)}, "total_bounds"),
        ({"of": "units", "bounds": (0, 9), "total_bounds": (0, 9)}, "total_bounds"),
        ({"of": "units", "max_rows": 2, "total_bounds": (0, 9)}, "max_rows"),
        ({"of": "units", "total_bounds": "column"}, "declare"),
        ({"of": "people", "total_bounds": (0, 9)}, "total_bounds"),
    ],
)
def test_what_no_sum_means(given, says):
    asked = session(pl.DataFrame(ROWS))
    with pytest.raises(errors.ParameterError, match=says):
        asked.sum("v", epsilon=1, **given)
    assert not any(asked.spent.values())


def test_a_schema_says_how_many_rows_count():
    schema = od.Schema(
        unit="person", max_rows=2, columns={"v": od.column("integer", bounds=(0, 8))}
    )
    asked = session(pl.DataFrame(ROWS), schema=schema, unit=None)
    assert read(asked, Sum("v", of="rows", epsilon=1)) == [8 + 5 + 4 + 14]
    assert read(asked, RowCount(epsilon=1)) == [5]
    assert read(asked, Sum("v", of="units", total_bounds=(0, 99), epsilon=1)) == [25 + 4 + 14]
    assert read(asked, Sum("v", of="units", total_bounds="column", epsilon=1)) == [8 + 4 + 8]
    assert od.Schema.from_toml(schema.to_toml()) == schema
    with pytest.raises(errors.SchemaError, match="max_rows"):
        od.Schema(unit="person", max_rows=0)


def test_large_sums_of_rows_are_cut_and_not_certain_there():
    far = 2**52
    table = pl.DataFrame({"person": np.arange(3072) // 1024, "v": np.full(3072, far)})
    asked = session(table, od.policy.addition_only(), noise=NotPrivateSeededNoise(1))
    told = asked.sum("v", of="rows", max_rows=1024, bounds=(0, far), epsilon=10**7)
    assert told.interval.upper[0] >= 3072 * far
    with pytest.raises(errors.ParameterError, match="2\\^62"):
        asked.sum("v", of="rows", max_rows=1025, bounds=(0, far), epsilon=1)
