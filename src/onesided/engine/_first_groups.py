"""Cutting units down to some of their groups.

Each unit orders the groups by a hash of its own name and the group's, and keeps the first
``most`` of those that it is in. Nothing else may enter: by an order of the groups that all units
share, the last groups would be empty; by how many units are in a group, or by a unit's rows, one
unit would decide what another is counted in, or one visit what a unit keeps of the others.

Promise: a unit that leaves d of its groups loses at most d of those it was counted in, and gains
at most d others. Proof: docs/proofs/first-groups.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import narwhals as nw

from onesided.engine._protocol import LENGTH, Engine, Lazy
from onesided.noise import IntArray

CODE: Final = "onesided_code"
_HASH: Final = "onesided_hash"
# Of these types units and the numbers of groups can be packed into one number.
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
_MOST_BITS: Final = 32


def first_groups(
    engine: Engine, pairs: Lazy, unit: str, names: Sequence[str], *, most: int
) -> Lazy:
    """The pairs in at most ``most`` groups of each unit; ``pairs`` holds each of them once.

    Groups of equal hash come in the order of their names. Counting them all as last would let one
    visit that is dropped bring in two others.

    >>> import polars as pl
    >>> from onesided.engine import Table
    >>> table = Table(pl.DataFrame({"unit": [1, 1, 2], "place": ["a", "b", "a"]}))
    >>> with table.take(["unit", "place"]) as rows:
    ...     kept = first_groups(table.engine, rows.frame, "c0", ["c1"], most=1)
    ...     sorted(kept.collect()["c0"].to_list())
    [1, 2]
    """
    hashed = engine.with_hash(pairs, [unit, *names], _HASH)
    return engine.leading(hashed, unit, [_HASH, *names], most=most).drop(_HASH)


def code_counts(
    engine: Engine, rows: Lazy, unit: str, *, bits: int, most: int
) -> tuple[IntArray, IntArray]:
    """``(numbers, counts)``: in how many units' first groups each number is. Secret.

    rows: the unit and the number of a group (below ``2 ** bits``) in the column :data:`CODE`,
    repeated or not. Which way is taken depends on the engine, on types and on how many groups
    there may be: the two choose differently.
    """
    kind = rows.collect_schema()[unit]
    if isinstance(kind, _PACKED) and bits <= _MOST_BITS:
        packed = engine.packed_counts(rows, unit, CODE, bits=bits, most=most)
        if packed is not None:
            return packed
    pairs = engine.first_codes(rows, unit, CODE, most=most)
    if pairs is None:
        distinct = engine.distinct(rows.select(unit, CODE))
        pairs = first_groups(engine, distinct, unit, [CODE], most=most)
    found = engine.fetch(pairs.group_by(CODE).agg(nw.len().alias(LENGTH)))
    return found[CODE], found[LENGTH]
