"""Units cut down to their first groups in Spark: as sets, and as the rows in order would tell."""

import random

import pytest

from onesided.engine._protocol import Engine
from onesided.engine._snapshot import CODE, code_counts
from onesided.engine._table import Table
from onesided.engine.spark import _engine

pytestmark = pytest.mark.xdist_group("spark")

UNITS = {
    "bigint": [*range(-20, 20), 2**63 - 1, -(2**63)],
    "string": [f"person {number}" for number in range(40)] + ["", "é", "é"],
    "double": [0.0, -0.0, 1.5, 2.5, float("inf"), *map(float, range(3, 30))],
    "date": None,
}


def coded(spark, kind, *, rows=3000, groups=30):
    """Rows of units and groups, many of them repeated, in several parts."""
    dice = random.Random(kind)
    units = UNITS[kind]
    if units is None:
        import datetime as dt

        units = [dt.date(2026, 1, 1) + dt.timedelta(days) for days in range(30)]
    chosen = [(dice.choice(units), int(groups * dice.random() ** 2)) for _ in range(rows)]
    return spark.createDataFrame(chosen, f"unit {kind}, code bigint").repartition(5)


def told(frame, most):
    table = Table(frame)
    with table.take(["unit", "code"]) as held:
        rows = held.frame.rename({"c1": CODE})
        numbers, counts = code_counts(table.engine, rows, "c0", bits=40, most=most)
    assert len(set(numbers.tolist())) == len(numbers)
    return dict(zip(numbers.tolist(), counts.tolist(), strict=True))


@pytest.mark.parametrize("kind", UNITS)
@pytest.mark.parametrize("most", [1, 3, 2**40])
def test_sets_keep_the_groups_that_rows_in_order_keep(spark, monkeypatch, kind, most):
    frame = coded(spark, kind)
    found = told(frame, most)
    monkeypatch.setattr(_engine.SparkEngine, "first_codes", Engine.first_codes)
    assert told(frame, most) == found


def test_nobody_counts_in_more_groups_than_are_kept(spark):
    frame = coded(spark, "bigint")
    for unit in UNITS["bigint"][:8]:
        alone = told(frame.where(f"unit = {unit}"), 2)
        assert set(alone.values()) == {1}
        assert len(alone) == 2


def test_who_leaves_a_group_loses_one_and_gains_one_at_most(spark):
    rows = coded(spark, "bigint").where("unit = 3").distinct()
    before = set(told(rows, 3))
    for (left,) in rows.select("code").collect():
        after = set(told(rows.where(f"code <> {left}"), 3))
        assert len(before - after) <= 1 >= len(after - before)
        assert (before == after) == (left not in before)
