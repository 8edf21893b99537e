"""Counts of units' first groups by one sort, where units and groups are whole numbers."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import polars as pl

from onesided.noise import IntArray

_PLACE: Final = "onesided_place"
_COUNT: Final = "onesided_count"
# Bits of a unit's own order, at least, beside those that tell its groups apart.
_HASH_BITS: Final = 16
_LEAST_BITS: Final = 34
_WORD: Final = 64


def packed_counts(
    rows: Any, unit: str, code: str, *, bits: int, most: int
) -> tuple[IntArray, IntArray]:
    """``(numbers, counts)``: in how many units' first ``most`` groups each number is. Secret.

    rows: a lazy table of the unit and the number of a group, below ``2 ** bits``. A group's place
    in a unit's order is the top of a hash of both, and below it the group's number: a function of
    unit and group alone, in which no two groups of a unit are alike. Where units are close enough
    for it, unit and place are sorted as one number; the order, and so the outcome, is the same.
    """
    width = max(_LEAST_BITS, bits + _HASH_BITS)
    numbers = rows.select(pl.col(unit).cast(pl.Int64), pl.col(code).cast(pl.Int64))
    own = pl.struct(unit, code).hash(0) // _word(2 ** (_WORD - width + bits))
    place = own * _word(2**bits) + pl.col(code).cast(pl.UInt64)
    held = numbers.select(unit, place.alias(_PLACE)).collect(engine="streaming")
    if held.is_empty():
        nothing = np.zeros(0, dtype=np.int64)
        return nothing, nothing
    least, largest = held[unit].min(), held[unit].max()
    if largest - least < 2 ** (_WORD - width):
        first = _by_one_number(held.lazy(), unit, least, width=width, most=most)
    else:
        ordered = held.lazy().unique().sort(unit, _PLACE)
        first = ordered.filter(pl.col(unit).ne_missing(pl.col(unit).shift(most)))
    told = (pl.col(_PLACE) % _word(2**bits)).cast(pl.Int64).alias(code)
    counts = first.group_by(told).agg(pl.len().cast(pl.Int64).alias(_COUNT)).collect()
    return counts[code].to_numpy(), counts[_COUNT].to_numpy()


def _by_one_number(held: Any, unit: str, least: int, *, width: int, most: int) -> Any:
    """The first places of each unit, each of them once."""
    above = (pl.col(unit) - pl.lit(least, pl.Int64)).cast(pl.UInt64) * _word(2**width)
    ordered = held.select((above + pl.col(_PLACE)).sort().alias(_PLACE))
    distinct = ordered.filter(pl.col(_PLACE).ne_missing(pl.col(_PLACE).shift(1)))
    owner = pl.col(_PLACE) // _word(2**width)
    first = distinct.filter(owner.ne_missing(owner.shift(most)))
    return first.select(pl.col(_PLACE) % _word(2**width))


def _word(value: int) -> Any:
    return pl.lit(value, pl.UInt64)
