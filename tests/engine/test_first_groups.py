"""Which groups a unit keeps: by its own name and theirs alone, and differently for each unit."""

from itertools import combinations, permutations

import narwhals as nw
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import onesided as od
from onesided.engine._first_groups import (
    CODE,
    _key,
    _shuffled,
    _sorted_counts,
    _unshuffled,
    code_counts,
    first_groups,
)
from onesided.engine._table import Table

EXACT = 1000


def kept(units, codes, *, bits, most):
    """For each unit the groups it is counted in, told by counting each unit alone."""
    pairs = {}
    for unit in sorted(set(units)):
        own = [code for one, code in zip(units, codes, strict=True) if one == unit]
        numbers, counts = _sorted_counts(
            np.full(len(own), unit, dtype=np.int64), np.array(own), bits=bits, most=most
        )
        assert set(counts.tolist()) <= {1}
        pairs[unit] = set(numbers.tolist())
    return pairs


rows = st.lists(
    st.tuples(st.sampled_from([0, 1, 2, -(2**63), 2**63 - 1]), st.integers(0, 12)), max_size=40
)


@given(rows, st.integers(1, 5), st.sampled_from([4, 20, 32]))
def test_counts_are_those_of_each_unit_on_its_own(pairs, most, bits):
    """Also where one unit is so far from the others that units are numbered another way."""
    units, codes = [p[0] for p in pairs], [p[1] for p in pairs]
    numbers, counts = _sorted_counts(
        np.array(units, dtype=np.int64), np.array(codes, dtype=np.int64), bits=bits, most=most
    )
    alone = kept(units, codes, bits=bits, most=most)
    wanted = {}
    for groups in alone.values():
        for group in groups:
            wanted[group] = wanted.get(group, 0) + 1
    assert dict(zip(numbers.tolist(), counts.tolist(), strict=True)) == wanted
    for unit, groups in alone.items():
        own = {code for one, code in pairs if one == unit}
        assert groups <= own
        assert len(groups) == min(most, len(own))


@pytest.mark.parametrize("width", [30, 31, 32])
def test_every_unit_has_an_order_of_its_own_in_which_no_two_groups_are_alike(width):
    codes = np.arange(500, dtype=np.int64)
    orders = set()
    for unit in (0, 1, 2, -1, 2**40):
        keys = _key(np.full(500, unit, dtype=np.int64), width)
        places = _shuffled(codes, keys, width)
        assert len(np.unique(places)) == 500
        assert places.max() < 2**width
        assert _unshuffled(places, keys, width).tolist() == codes.tolist()
        orders.add(tuple(np.argsort(places).tolist()))
    assert len(orders) == 5


def test_all_groups_are_kept_alike():
    units, codes = np.repeat(np.arange(4000), 24), np.tile(np.arange(24), 4000)
    numbers, counts = _sorted_counts(units, codes, bits=5, most=6)
    assert numbers.tolist() == list(range(24))
    # 1,000 each, with a standard deviation of 27.
    assert 850 < counts.min() <= counts.max() < 1150
    pairs = [set(np.flatnonzero(_firsts(unit, 24, 6)).tolist()) for unit in range(2000)]
    together = sum({0, 1} <= own for own in pairs)
    assert 60 < together < 160  # 6 * 5 / (24 * 23) of 2,000 is 109


def _firsts(unit, groups, most):
    codes = np.arange(groups)
    numbers, _ = _sorted_counts(np.full(groups, unit), codes, bits=5, most=most)
    return np.isin(codes, numbers)


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
    frame = held.frame.rename({"code": CODE})
    _, counts = code_counts(held.engine, frame, "u", bits=3, most=2)
    assert counts.sum() == 4


def counted(data, **more):
    session = od.Session(data, unit="person", policy=od.policy.unbounded(), budget=10**4)
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
