"""Which groups a unit keeps: by its own name and theirs alone, and differently for each unit."""

import random
from collections import Counter
from itertools import combinations, permutations

import duckdb
import narwhals as nw
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onesided as od
from onesided.engine import _packed
from onesided.engine._protocol import Engine
from onesided.engine._snapshot import CODE, code_counts, first_groups
from onesided.engine._table import Table
from onesided.noise import NotPrivateSeededNoise

EXACT = 1000


def on_polars(frame):
    return frame


def on_duckdb(frame):
    connection = duckdb.connect()
    connection.register("source", frame.to_arrow())
    connection.execute("CREATE TABLE t AS SELECT * FROM source")
    return connection.table("t")


def counts_of(pairs, *, bits, most, start=on_polars, kind=pl.Int64):
    """In how many units' first groups each number is."""
    frame = pl.DataFrame(pairs, schema={"u": pl.Int64, "code": pl.Int64}, orient="row")
    held = Table(start(frame.with_columns(pl.col("u").cast(kind))))
    with held.take(["u", "code"]) as rows:
        coded = rows.frame.rename({"c1": CODE})
        numbers, counts = code_counts(held.engine, coded, "c0", bits=bits, most=most)
    return dict(zip(numbers.tolist(), counts.tolist(), strict=True))


def kept(pairs, **more):
    """For each unit the groups it is counted in, told by counting each unit alone."""
    found = {}
    for unit in sorted({unit for unit, _ in pairs}):
        alone = counts_of([pair for pair in pairs if pair[0] == unit], **more)
        assert set(alone.values()) == {1}
        found[unit] = set(alone)
    return found


ends = st.sampled_from([0, 1, 2, -(2**63), 2**63 - 1])
rows = st.lists(st.tuples(ends, st.integers(0, 12)), max_size=40)


def check(pairs, most, bits, **more):
    alone = kept(pairs, bits=bits, most=most, **more)
    wanted = {}
    for group in (group for groups in alone.values() for group in groups):
        wanted[group] = wanted.get(group, 0) + 1
    assert counts_of(pairs, bits=bits, most=most, **more) == wanted
    for unit, groups in alone.items():
        own = {code for one, code in pairs if one == unit}
        assert groups <= own
        assert len(groups) == min(most, len(own))


@settings(deadline=None, max_examples=40)
@given(rows, st.integers(1, 5), st.sampled_from([4, 20, 32, 33]))
def test_counts_are_those_of_each_unit_on_its_own(pairs, most, bits):
    """Also where one unit is so far from the others that they are sorted another way."""
    check(pairs, most, bits)


@pytest.mark.parametrize("kind", [pl.Int64, pl.String])
def test_so_are_those_of_duckdb_and_of_units_that_are_text(kind):
    rng = random.Random(3)
    for _ in range(6):
        pairs = [(rng.choice([0, 1, 2, 2**62]), rng.randrange(13)) for _ in range(30)]
        check(pairs, rng.randint(1, 4), 4, start=on_duckdb, kind=kind)
        check(pairs, rng.randint(1, 4), 4, kind=kind)


@pytest.mark.parametrize("start", [on_polars, on_duckdb])
@pytest.mark.parametrize("far", [False, True])
def test_parts_of_the_units_and_of_the_rows_are_put_together(monkeypatch, start, far):
    """With and without a most, however few rows are held and counted at once."""
    for name, few in (("_FEW", 0), ("_TOGETHER", 7), ("_STRIDE", 3)):
        monkeypatch.setattr(_packed, name, few)
    rng = random.Random(5)
    units = [0, 1, 2, 5, 2**62] if far else [-3, -2, 0, 1]
    for _ in range(5):
        pairs = [(rng.choice(units), rng.randrange(13)) for _ in range(40)]
        check(pairs, rng.randint(1, 4), 4, start=start)
        wanted = Counter(group for _, group in set(pairs))
        assert counts_of(pairs, bits=4, most=None, start=start) == wanted
    assert counts_of([], bits=4, most=2, start=start) == {}


def test_nobody_is_in_a_part_of_another(monkeypatch):
    """How a unit's groups are chosen does not depend on who is held with it, or how many are."""
    pairs = everybody(range(40), 12)
    for start in (on_polars, on_duckdb):
        base = counts_of(pairs, bits=4, most=3, start=start)
        with monkeypatch.context() as patch:
            patch.setattr(_packed, "_TOGETHER", 50)
            assert counts_of(pairs, bits=4, most=3, start=start) == base


def everybody(units, groups):
    return [(unit, group) for unit in units for group in range(groups)]


def test_what_a_unit_keeps_does_not_depend_on_how_far_the_others_are():
    near = everybody(range(50), 12)
    base = counts_of(near, bits=4, most=5)
    there = counts_of([*near, (2**62, 15)], bits=4, most=5)
    assert there == {**base, 15: 1}


@pytest.mark.parametrize("bits", [5, 32, 33])
@pytest.mark.parametrize("start", [on_polars, on_duckdb])
def test_all_groups_are_kept_alike(start, bits):
    counts = counts_of(everybody(range(4000), 24), bits=bits, most=6, start=start)
    assert sorted(counts) == list(range(24))
    # 1,000 each, with a standard deviation of 27.
    assert 850 < min(counts.values()) <= max(counts.values()) < 1150


@pytest.mark.parametrize("start", [on_polars, on_duckdb])
def test_every_unit_has_an_order_of_its_own(start):
    frame = pl.DataFrame(everybody(range(2000), 24), schema=["u", "g"], orient="row")
    held = Table(start(frame))
    with held.take(["u", "g"]) as rows:
        first = first_groups(held.engine, rows.frame, "c0", ["c1"], most=6).collect()
    own = pl.DataFrame({"u": first["c0"].to_list(), "g": first["c1"].to_list()})
    sets = own.group_by("u").agg(pl.col("g").sort())["g"].to_list()
    assert len(sets) == 2000
    assert {len(groups) for groups in sets} == {6}
    together = sum({0, 1} <= set(groups) for groups in sets)
    assert 60 < together < 160  # 6 * 5 / (24 * 23) of 2,000 is 109


@pytest.mark.parametrize("most", [1, 2, 3])
def test_leaving_d_groups_moves_at_most_d_out_and_d_in(most):
    """For every order of five groups, everything a unit can be in, and all that it can leave."""
    places = [frozenset(c) for n in range(6) for c in combinations(range(5), n)]
    for order in permutations(range(5)):
        first = {own: frozenset(sorted(own, key=order.index)[:most]) for own in places}
        for own in places:
            for fewer in places:
                if fewer <= own:
                    left = len(own - fewer)
                    assert len(first[own] - first[fewer]) <= left
                    assert len(first[fewer] - first[own]) <= left


def test_ties_that_all_count_as_last_would_let_two_in_for_one():
    """The negative control, and a counterexample to what DESIGN 7 says of ties."""

    def first(hashes, most):
        return {g for g in hashes if sum(h <= hashes[g] for h in hashes.values()) <= most}

    assert first({"a": 7, "b": 7, "c": 7}, 2) == set()
    assert first({"b": 7, "c": 7}, 2) == {"b", "c"}


class _OneHash:
    """An engine whose hash is the same for all."""

    leading = Engine.leading

    def with_hash(self, frame, names, hashed):  # noqa: ARG002
        return frame.with_columns(nw.lit(7).alias(hashed))


def test_equal_hashes_are_told_apart_by_the_groups_names():
    pairs = pl.DataFrame({"u": [1, 1, 1, 2, 2], "g": ["c", "a", "b", "c", "b"]})
    for turned in (pairs, pairs.reverse()):
        kept = first_groups(_OneHash(), nw.from_native(turned.lazy()), "u", ["g"], most=2)
        found = kept.collect()
        told = set(zip(found["u"].to_list(), found["g"].to_list(), strict=True))
        assert told == {(1, "a"), (1, "b"), (2, "b"), (2, "c")}


def test_an_order_by_how_full_groups_are_would_move_other_units():
    """The negative control: one unit leaves a group, and another is counted elsewhere."""

    def first(table):
        full = {g: sum(g in own for own in table) for own in table for g in own}
        return [min(own, key=lambda g: (-full[g], g)) for own in table]

    here, there = [{1, 2}, {1}, {2}], [{1, 2}, set(), {2}]
    assert first(here)[0] != first([one or {2} for one in there])[0]


@pytest.mark.parametrize("kind", [pl.Int64, pl.String, pl.UInt64, pl.Boolean])
@pytest.mark.parametrize("far", [False, True])
def test_units_of_any_type_keep_as_many(kind, far):
    units = pl.Series("u", [0, 0, 0, 1, 1, 1]).cast(pl.Int64)
    table = pl.DataFrame({"u": units.cast(kind), CODE: [0, 1, 2] * 2})
    if far and kind == pl.Int64:
        table = table.with_columns(u=pl.when(pl.col("u") == 1).then(2**62).otherwise(0))
    held = Table(table.rename({CODE: "code"}))
    with held.take(["u", "code"]) as rows:
        frame = rows.frame.rename({"c1": CODE})
        _, counts = code_counts(held.engine, frame, "c0", bits=3, most=2)
    assert counts.sum() == 4


def counted(data, **more):
    session = od.Session(
        data,
        unit="person",
        policy=od.policy.unbounded(),
        budget=10**4,
        noise=NotPrivateSeededNoise(7),
    )
    asked = {"by": "hour", "max_groups": 5, "epsilon": EXACT, "on_excess": "truncate", **more}
    return session.count(keys=range(24), **asked).estimate


@pytest.mark.parametrize("text", [False, True])
def test_everybody_keeps_hours_of_their_own(text):
    people = [str(p) if text else p for p in range(300) for _ in range(24)]
    table = pl.DataFrame({"person": people, "hour": list(range(24)) * 300})
    for data in (table, table.to_arrow(), nw.from_native(table).lazy().to_native()):
        counts = counted(data)
        assert counts.sum() == 1500
        assert counts.max() < 2.5 * counts.min()
