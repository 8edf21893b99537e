"""Quantiles of rows, so many of a unit at most; and where between two values an answer lies."""

from fractions import Fraction

import duckdb
import numpy as np
import polars as pl
import pytest

import onesided as od
from onesided import errors
from onesided.noise import NotPrivateSeededNoise
from onesided.session import Quantile
from onesided.session.kit import prepared

ROWS = {
    "person": [1] * 6 + [2, 3, 3],
    "place": [*"aaabbb", *"aab"],
    "v": [5, 5, 0, 5, 1, 9, 4, 7, 7],
}
EXACT = 1900


def session(table, policy=None, **more):
    given = {"unit": "person", "budget": 10**12, "noise": NotPrivateSeededNoise(5), **more}
    return od.Session(table, policy=policy or od.policy.unbounded(), **given)


def read(asked, question):
    return [(p.tolist(), n.tolist()) for p, n in prepared(asked, question).read()]


def test_each_row_counts_up_to_so_many_of_a_unit(engine):
    asked = session(engine(ROWS))
    every = Quantile("v", bounds=(0, 9), of="rows", max_rows=6, epsilon=1)
    assert read(asked, every) == [([0, 1, 4, 5, 7, 9], [1, 1, 1, 3, 2, 1])]
    some = Quantile("v", bounds=(0, 9), of="rows", max_rows=2, epsilon=1)
    assert sum(read(asked, some)[0][1]) == 5
    by = {"by": "place", "keys": ["b", "z", "a"], "epsilon": 1}
    found = read(asked, Quantile("v", bounds=(0, 9), of="rows", max_rows=9, max_groups=2, **by))
    assert found == [([1, 5, 7, 9], [1] * 4), ([], []), ([0, 4, 5, 7], [1, 1, 2, 1])]
    cut = {**by, "max_groups": 1, "on_excess": "truncate"}
    found = read(asked, Quantile("v", bounds=(0, 9), of="rows", max_rows=9, **cut))
    assert sum(sum(n) for _, n in found) == 3 + 1 + 1


@pytest.mark.parametrize("share", ["1/2", "1/10", "9/10", "1/3", "97/100"])
@pytest.mark.parametrize("seed", range(4))
def test_without_noise_the_answer_is_that_of_sql(share, seed):
    """On the line between two values, or the lower one: DuckDB's own, within a step."""
    random = np.random.default_rng(seed)
    table = pl.DataFrame(
        {
            "person": np.arange(30) // 2,
            "v": random.integers(0, 900, 30 - seed % 2).tolist() + [900] * (seed % 2),
        }
    )
    asked = session(table)
    for interpolate, name in ((True, "quantile_cont"), (False, "quantile_disc")):
        due = (
            duckdb.from_arrow(table.to_arrow())
            .query("visits", f"SELECT {name}(v, {float(Fraction(share))}) FROM visits")
            .fetchall()[0][0]
        )
        told = asked.quantile(
            "v",
            share,
            bounds=(0, 1000),
            of="rows",
            max_rows=2,
            interpolate=interpolate,
            epsilon=EXACT,
        )
        assert abs(told.value - due) <= 1 + 1e-9, (name, share)


def test_ties_are_told_apart():
    table = pl.DataFrame({"person": range(4), "v": [10, 10, 90, 90]})
    asked, ask = session(table), {"bounds": (0, 100), "epsilon": EXACT}
    assert asked.median("v", interpolate=True, **ask).value == pytest.approx(50, abs=1)
    assert asked.median("v", interpolate=False, **ask).value == 10
    assert {asked.median("v", **ask).value for _ in range(9)} - {10, 90}
    empty = session(table.clear())
    for interpolate in (True, False):
        assert 0 <= empty.median("v", interpolate=interpolate, **ask).value <= 100


def test_a_row_changes_ranks_by_no_more_than_its_parts():
    """All tables of up to four values of a small grid, and each with one more."""
    asked = session(pl.DataFrame(ROWS))
    for interpolate in (True, False):
        question = Quantile("v", "1/3", bounds=(0, 6), interpolate=interpolate, epsilon=1)
        mechanism = prepared(asked, question).plan.mechanism
        (part,), (fine,) = mechanism.parts, mechanism.fine
        most = 2 * fine

        def distances(values, part=part, fine=fine, mechanism=mechanism):
            places, counts = np.unique(np.array(values, dtype=np.int64), return_counts=True)
            firsts, sizes, found = part.runs(*mechanism.ranks(fine, places, counts))
            every = np.zeros(7, dtype=np.int64)
            for first, size, one in zip(firsts, sizes, found, strict=True):
                every[first : first + size] = one
            return every

        seen = 0
        for number in range(7**4):
            values = [number // 7**i % 7 for i in range(4)][: number % 5]
            before = distances(values)
            for more in range(7):
                change = distances([*values, more]) - before
                seen = max(seen, int(np.abs(change).max()))
        assert seen <= most
        assert seen > most // 2


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"of": "rows"}, "max_rows"),
        ({"max_rows": 2}, "max_rows"),
        ({"of": "people"}, "of must be"),
        ({"interpolate": 2}, "interpolate"),
        ({"of": "rows", "max_rows": 2, "q": 1, "candidates": [1, 2], "bounds": None}, "Leave of="),
    ],
)
def test_what_no_quantile_means(given, says):
    asked = session(pl.DataFrame(ROWS))
    with pytest.raises(errors.ParameterError) as caught:
        asked.quantile("v", epsilon=1, **{"bounds": (0, 9), **given})
    assert says in str(caught.value)
