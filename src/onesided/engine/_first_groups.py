"""Cutting units down to some of their groups.

Each unit orders the groups by a hash of its own name and the group's, and keeps the first
``most`` of those that it is in. Nothing else may enter: by an order of the groups that all units
share, the last groups would be empty; by how many units are in a group, or by a unit's rows, one
unit would decide what another is counted in, or one visit what a unit keeps of the others.

Promise: a unit that leaves d of its groups loses at most d of those it was counted in, and gains
at most d others. Proof: docs/proofs/first-groups.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from onesided.engine._protocol import LENGTH, Engine, Lazy
from onesided.noise import IntArray

CODE: Final = "onesided_code"
_HASH: Final = "onesided_hash"
_PLACE: Final = "onesided_place"
# Of these types units and the numbers of groups are packed into one number, and sorted as such.
_PACKED: Final = (
    nw.Boolean,
    nw.Int8,
    nw.UInt8,
    nw.Int16,
    nw.UInt16,
    nw.Int32,
    nw.UInt32,
    nw.Int64,
)
# Bits in which a unit orders its groups, at least; 34 are left to tell 10^10 units apart.
_ORDER_BITS: Final = 30
_MOST_BITS: Final = 32
# Groups of which a table with a count for each is small.
_COUNTED_BITS: Final = 24
# Odd, so that multiplying by them loses nothing.
_FIRST: Final = np.uint64(0x9E3779B97F4A7C15)
_SECOND: Final = np.uint64(0xD6E8FEB86659FD93)


def first_groups(
    engine: Engine, pairs: Lazy, unit: str, names: Sequence[str], *, most: int
) -> Lazy:
    """The pairs in at most ``most`` groups of each unit; ``pairs`` holds each of them once.

    Groups of equal hash come in the order of their names. Counting them all as last would let one
    visit that is dropped bring in two others.

    >>> import polars as pl
    >>> from onesided.engine import Table
    >>> table = Table(pl.DataFrame({"unit": [1, 1, 2], "place": ["a", "b", "a"]}))
    >>> kept = first_groups(table.engine, table.frame, "unit", ["place"], most=1)
    >>> sorted(kept.collect()["unit"].to_list())
    [1, 2]
    """
    hashed = engine.with_hash(pairs, [unit, *names], _HASH).with_columns(nw.lit(1).alias(_PLACE))
    place = nw.col(_PLACE).cum_sum().over(unit, order_by=[_HASH, *names])
    counted = hashed.with_columns(place.alias(_PLACE))
    return counted.filter(nw.col(_PLACE) <= most).drop(_HASH, _PLACE)


def code_counts(
    engine: Engine, rows: Lazy, unit: str, *, bits: int, most: int
) -> tuple[IntArray, IntArray]:
    """``(numbers, counts)``: in how many units' first groups each number is. Secret.

    rows: the unit and the number of a group (below ``2 ** bits``) in the column :data:`CODE`,
    repeated or not. Which way is taken depends on types alone: the two choose differently.
    """
    kind = rows.collect_schema()[unit]
    if engine.packs and isinstance(kind, _PACKED) and bits <= _MOST_BITS:
        found = engine.fetch(rows.select(nw.col(unit).cast(nw.Int64()), CODE))
        return _sorted_counts(found[unit], found[CODE], bits=bits, most=most)
    pairs = first_groups(engine, engine.distinct(rows.select(unit, CODE)), unit, [CODE], most=most)
    found = engine.fetch(pairs.group_by(CODE).agg(nw.len().alias(LENGTH)))
    return found[CODE], found[LENGTH]


def _sorted_counts(
    units: IntArray, codes: IntArray, *, bits: int, most: int
) -> tuple[IntArray, IntArray]:
    """The same by one sort of one number for each row: the unit above, the group's place below."""
    width = max(bits, _ORDER_BITS)
    numbers, names = _numbered(units, most=2 ** (64 - width))
    packed = _shuffled(codes, _key(units, width), width)
    packed |= numbers << np.uint64(width)
    packed.sort()
    packed = packed[_starts(packed)]
    owner = packed >> np.uint64(width)
    # A pair is among the unit's first if the unit has not had so many before it.
    kept = np.ones(packed.size, dtype=np.bool_)
    kept[most:] = owner[most:] != owner[: max(owner.size - most, 0)]
    packed, owner = packed[kept], owner[kept]
    found = _unshuffled(packed & _mask(width), _key(names(owner), width), width)
    if bits <= _COUNTED_BITS:
        counts = np.bincount(found, minlength=0)
        there = np.flatnonzero(counts)
        return there, counts[there]
    there, counts = np.unique(found, return_counts=True)
    return there, counts


def _numbered(
    units: IntArray, *, most: int
) -> tuple[NDArray[np.uint64], Callable[[NDArray[np.uint64]], IntArray]]:
    """Numbers below ``most``, one for each unit, and how to get its name from one.

    They only hold a unit's pairs together: nothing that comes out depends on them.
    """
    least, largest = int(units.min(initial=0)), int(units.max(initial=0))
    if largest - least < most:
        near = units.view(np.uint64) - np.uint64(least % 2**64)
        return near, lambda numbers: (numbers + np.uint64(least % 2**64)).view(np.int64)
    names, far = np.unique(units, return_inverse=True)
    return far.astype(np.uint64), lambda numbers: names[numbers.astype(np.int64)]


def _key(units: IntArray, width: int) -> NDArray[np.uint64]:
    """By what a unit's order of the groups differs from others'."""
    mixed = units.view(np.uint64) * _FIRST
    mixed ^= mixed >> np.uint64(32)
    mixed *= _SECOND
    mixed >>= np.uint64(64 - width)
    return mixed


def _shuffled(codes: IntArray, keys: NDArray[np.uint64], width: int) -> NDArray[np.uint64]:
    """Each group's place in its unit's order: for each key a permutation of ``2 ** width``."""
    half, mask = np.uint64((width + 1) // 2), _mask(width)
    places = codes.astype(np.uint64)
    places ^= keys
    for factor in (_FIRST, _SECOND):
        places *= factor
        places &= mask
        places ^= places >> half
    return places


def _unshuffled(places: NDArray[np.uint64], keys: NDArray[np.uint64], width: int) -> IntArray:
    """The groups again: each step of :func:`_shuffled` backwards."""
    half, mask = np.uint64((width + 1) // 2), _mask(width)
    codes = places.copy()
    for factor in (_SECOND, _FIRST):
        codes ^= codes >> half
        codes *= np.uint64(pow(int(factor), -1, 2**64))
        codes &= mask
    codes ^= keys
    return codes.view(np.int64)


def _starts(turned: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Where a sorted array has another value than before."""
    starts = np.ones(turned.size, dtype=np.bool_)
    starts[1:] = turned[1:] != turned[:-1]
    return starts


def _mask(bits: int) -> np.uint64:
    return np.uint64(2**bits - 1)
