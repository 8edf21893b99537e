"""Units and the numbers of groups, packed into whole numbers that are sorted and counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, runtime_checkable

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from onesided.engine._protocol import LENGTH, Engine, Lazy
from onesided.noise import IntArray

# Of these types units can be packed beside the numbers of groups.
_UNITS: Final = (
    nw.Boolean,
    *(nw.Int8, nw.Int16, nw.Int32, nw.Int64),
    *(nw.UInt8, nw.UInt16, nw.UInt32),
)
_MOST_BITS: Final = 32
# Bits of a unit's own order, at least, beside those that tell its groups apart.
_HASH_BITS: Final = 16
_LEAST_BITS: Final = 34
_WORD: Final = 64
_FEW: Final = 2**16  # rows that any way is fast for
_TOGETHER: Final = 2**24  # rows of units that are sorted at once: 128 MB
_STRIDE: Final = 2**19  # those of which groups are counted at once: memory that stays


@runtime_checkable
class Sorted(Protocol):
    """An engine of which numbers of pairs are sorted sooner than narwhals counts them."""

    def packed(
        self, rows: Lazy, unit: str, code: str, packing: Packing, part: int
    ) -> Sequence[NDArray[Any]]:
        """Rows of one part of the units as numbers; places, and units, where these are apart.

        rows: the unit and the number of a group, never null, repeated or not.
        """


@dataclass(frozen=True, slots=True)
class Packing:
    """How pairs of a unit and a group become whole numbers below 2^64.

    A group's place in a unit's order is the top of a hash of both, and below it the group's number:
    a function of unit and group alone, in which no two groups of a unit are alike. Where units are
    close enough for it, unit and place are sorted as one number; the order, and so the outcome, is
    the same. Where all groups count, the number of a group is its place.

    engine: whose rows these are. bits, width: of a group's number, and of its place. least: what
    units are counted from; None where they are too far apart. most: how many groups of a unit
    count; None for all. parts: which units come together is a hash of theirs, so that few rows are
    held at once.
    """

    engine: Sorted
    bits: int
    width: int
    least: int | None
    most: int | None
    parts: int

    @classmethod
    def of(
        cls, engine: Engine, among: Lazy, unit: str, *, bits: int, most: int | None
    ) -> Packing | None:
        """For the units of these rows; None where nothing would be faster."""
        kind = among.collect_schema()[unit]
        if not (isinstance(engine, Sorted) and isinstance(kind, _UNITS) and bits <= _MOST_BITS):
            return None
        own = nw.col(unit).cast(nw.Int64())
        ends = {"low": own.min(), "high": own.max(), LENGTH: nw.len()}
        found = engine.fetch(among.select(*(made.alias(name) for name, made in ends.items())))
        low, high, height = (int(found[name][0]) for name in ends)
        width = bits if most is None else max(_LEAST_BITS, bits + _HASH_BITS)
        near = high - low < 2 ** (_WORD - width)
        parts = max(1, -(-height // _TOGETHER))
        if most is None and (not near or height < _FEW):
            return None
        return cls(engine, bits, width, low if near else None, most, parts)

    @property
    def dropped(self) -> int:
        """How many bits of a hash are none of a place's."""
        return _WORD - self.width + self.bits

    def counts(self, rows: Lazy, unit: str, code: str) -> tuple[IntArray, IntArray]:
        """``(numbers, counts)``: in how many units' first groups each number is. Secret."""
        found = [(np.zeros(0, dtype=np.uint32), np.zeros(0, dtype=np.int64))]
        for part in range(self.parts):
            held = self.engine.packed(rows, unit, code, self, part)
            found += self._counted([np.require(one, requirements="W") for one in held])
        numbers, counts = (np.concatenate(one) for one in zip(*found, strict=True))
        order = np.argsort(numbers, kind="stable")
        numbers, counts = _added(numbers[order], counts[order])
        return numbers.astype(np.int64), counts

    def _counted(self, held: Sequence[NDArray[Any]]) -> Iterator[tuple[NDArray[Any], IntArray]]:
        """Groups and how often, some rows after the others. held: places, units if beside."""
        places, owners = held[0], held[-1]
        if self.least is not None:
            places.sort()
        else:
            order = np.lexsort(held)
            places, owners = places[order], owners[order]
        before = [places[:0], owners[:0]]  # the last ones of the rows before, each once
        for start in range(0, places.size, _STRIDE):
            some = slice(start, start + _STRIDE)
            pairs = zip(before, (places[some], owners[some]), strict=True)
            both = [np.concatenate(pair) for pair in pairs]
            once = _begins(both[0]) | _begins(both[1])
            both = [one[once] for one in both]
            own = both[1] if self.least is None else both[1] >> np.uint64(self.width)
            kept = np.ones(own.size, dtype=np.bool_)
            if self.most is not None:
                np.not_equal(own[self.most :], own[: -self.most], out=kept[self.most :])
            kept[: before[0].size] = False
            before = [one[-(self.most or 1) :] for one in both]
            groups = (both[0][kept] & np.uint64(2**self.bits - 1)).astype(np.uint32)
            groups.sort()
            yield _added(groups, np.ones(groups.size, dtype=np.int64))


def _added(groups: NDArray[Any], counts: IntArray) -> tuple[NDArray[Any], IntArray]:
    """Each group once, and the sum of its counts. groups: in order."""
    starts = np.flatnonzero(_begins(groups))
    return groups[starts], np.add.reduceat(counts, starts) if starts.size else counts


def _begins(ordered: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether another value begins."""
    new = np.ones(ordered.size, dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return new
