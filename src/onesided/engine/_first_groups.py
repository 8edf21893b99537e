"""Cutting units down to some of their groups.

Each unit orders the groups by a hash of its own name and the group's, and keeps the first
``most`` of those that it is in. Nothing else may enter: by an order of the groups that all units
share, the last groups would be empty; by how many units are in a group, or by a unit's rows, one
unit would decide what another is counted in, or one visit what a unit keeps of the others.

Promise: a unit that leaves d of its groups loses at most d of those it was counted in, and gains
at most d others. Proof: docs/proofs/first-groups.md.

Keys of several narrow columns are one whole number: an engine sorts and compares one faster than a
row of columns, and only the columns of keys that are published are ever made again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from onesided.engine._protocol import LENGTH, Engine, Lazy
from onesided.noise import IntArray

CODE: Final = "onesided_code"
_HASH: Final = "onesided_hash"
_BITS: Final[Mapping[type, int]] = {
    nw.Boolean: 1,
    nw.Int8: 8,
    nw.UInt8: 8,
    nw.Int16: 16,
    nw.UInt16: 16,
    nw.Int32: 32,
    nw.UInt32: 32,
}
# Of these types units and the numbers of groups can be packed into one number.
_PACKED: Final = (*_BITS, nw.Int64)
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


LOWER: Final = "lower"
_CODE_BITS: Final = 62


@dataclass(frozen=True, slots=True)
class KeyCodes:
    """Keys as whole numbers below ``2 ** bits``, one to one, by the columns' types alone.

    They sort like the keys. types: the columns' types.

    >>> import polars as pl
    >>> from onesided.engine import Table
    >>> rows = pl.DataFrame({"hour": [7], "weekend": [True]}, schema_overrides={"hour": pl.Int8})
    >>> table = Table(rows)
    >>> KeyCodes.of(table.schema, table.engine).bits
    9
    """

    types: Mapping[str, nw.dtypes.DType]
    engine: Engine

    @classmethod
    def of(cls, types: Mapping[str, nw.dtypes.DType], engine: Engine) -> KeyCodes | None:
        """None unless all columns are whole numbers or booleans, and narrow enough together."""
        if not engine.packs:
            return None
        widths = [_bits(dtype) for dtype in types.values()]
        if sum(widths) > _CODE_BITS:
            return None
        return cls(types, engine)

    @property
    def bits(self) -> int:
        """How many bits a number has."""
        return sum(map(_bits, self.types.values()))

    def coded(self, rows: Lazy, unit: str | None) -> Lazy:
        """The unit and the number of each row's key. No column may hold null."""
        parts = []
        for name, dtype in self.types.items():
            given = nw.col(name).cast(nw.Int64())
            parts.append(given + _below(dtype) if _below(dtype) else given)
        widths = list(map(_bits, self.types.values()))
        code = parts[0]
        for part, width in zip(parts[1:], widths[1:], strict=True):
            code = code * 2**width + part
        return rows.select(*([unit] if unit else []), code.alias(CODE))

    def columns(self, keys: IntArray) -> dict[str, NDArray[Any]]:
        """The key columns again, each in its own type."""
        columns, shift = {}, self.bits
        for name, dtype in self.types.items():
            shift -= _bits(dtype)
            value = ((keys >> shift) & (2 ** _bits(dtype) - 1)) - _below(dtype)
            columns[name] = value.astype(type(dtype).__name__.lower().replace("boolean", "bool"))
        return columns

    def counts(self, rows: Lazy, *, unit: str | None, most: int) -> dict[str, IntArray]:
        """Units per number that occurs. Secret, as are the numbers."""
        coded = self.coded(rows, unit)
        if unit is None:
            found = self.engine.fetch(coded.group_by(CODE).agg(nw.len().alias(LENGTH)))
            numbers, counts = found[CODE], found[LENGTH]
        else:
            numbers, counts = code_counts(self.engine, coded, unit, bits=self.bits, most=most)
        if np.all(numbers[1:] > numbers[:-1]):
            return {CODE: numbers, LENGTH: counts}
        # In the numbers' own order: no engine's threads decide which draw is whose.
        order = np.argsort(numbers)
        return {CODE: numbers[order], LENGTH: counts[order]}

    def published(self, found: Any, told: IntArray) -> dict[str, NDArray[Any]]:
        """The keys whose noisy count is told, with it: largest first, then by key.

        Only their numbers are turned into keys again, in columns of their own.
        """
        kept = np.flatnonzero(told)
        lower, keys = told[kept], found[CODE][kept]
        most = int(lower.max(initial=0))
        if most < 2 ** (_CODE_BITS - self.bits):
            packed = (most - lower) << self.bits | keys
            packed.sort()
            keys, lower = packed & (2**self.bits - 1), most - (packed >> self.bits)
        else:
            order = np.lexsort((keys, -lower))
            keys, lower = keys[order], lower[order]
        return {**self.columns(keys), LOWER: lower}


def _bits(dtype: nw.dtypes.DType) -> int:
    """The bits of a type of whole numbers or booleans; too many for others."""
    return _BITS.get(type(dtype), _CODE_BITS + 1)


def _below(dtype: nw.dtypes.DType) -> int:
    """What makes the type's least value 0."""
    return int(2 ** (_bits(dtype) - 1)) if dtype.is_signed_integer() else 0
