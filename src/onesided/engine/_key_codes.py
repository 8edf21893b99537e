"""One whole number for each key of several narrow columns, and counts of such numbers.

An engine sorts and compares one number faster than a row of columns, and only the columns of keys
that are published are ever made again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from onesided.engine._first_groups import first_groups
from onesided.engine._table import LENGTH, Lazy, distinct
from onesided.noise import IntArray

CODE: Final = "onesided_code"
LOWER: Final = "lower"
# Odd, so that they have inverses; small, so that no product with 33 bits leaves 63.
_STIR: Final = 0x1E3779B1
_TURN: Final = 0x165667B5
_HALF_BITS: Final = 32
_CODE_BITS: Final = 62
_BITS: Final[Mapping[type, int]] = {
    nw.Boolean: 1,
    nw.Int8: 8,
    nw.UInt8: 8,
    nw.Int16: 16,
    nw.UInt16: 16,
    nw.Int32: 32,
    nw.UInt32: 32,
}
# Units are numbered afresh, so how wide they are is no matter, but they must fit 64 bits.
_UNITS: Final = (*_BITS, nw.Int64)


@dataclass(frozen=True, slots=True)
class KeyCodes:
    """Keys as whole numbers below ``2 ** bits``, one to one, by the columns' types alone.

    A key's number must not depend on which other keys occur: units that are in too many groups
    keep those of lowest number, so that would let one unit decide what another is counted in.
    The numbers are stirred, or units would keep the groups whose first column is least.
    types: the columns' types; split: how many of them make the upper half.
    """

    types: Mapping[str, nw.dtypes.DType]
    split: int

    @classmethod
    def of(cls, types: Mapping[str, nw.dtypes.DType], engine: nw.Implementation) -> KeyCodes | None:
        """None unless all columns are whole numbers or booleans, and narrow enough together.

        Nor for other engines than these two: Arrow-backed pandas, for one, has no remainders.
        """
        if not (engine.is_polars() or engine.is_duckdb()):
            return None
        widths = [_bits(dtype) for dtype in types.values()]
        if sum(widths) > _CODE_BITS:
            return None
        for split in range(1, len(widths) + 1):
            if max(sum(widths[:split]), sum(widths[split:])) <= _HALF_BITS:
                return cls(types, split)
        return None

    @property
    def bits(self) -> int:
        """How many bits a number has."""
        return self._upper + self._lower

    @property
    def _upper(self) -> int:
        return sum(_bits(dtype) for dtype in list(self.types.values())[: self.split])

    @property
    def _lower(self) -> int:
        return sum(_bits(dtype) for dtype in list(self.types.values())[self.split :])

    def coded(self, rows: Lazy, unit: str | None) -> Lazy:
        """The unit and the number of each row's key. No column may hold null."""
        names = list(self.types)
        upper = self._packed(names[: self.split])
        if self._lower:
            lower = (self._packed(names[self.split :]) + upper * _STIR) % 2**self._lower
            turned = ((upper + lower) * _TURN) % 2**self._upper
            code = turned * 2**self._lower + lower
        else:
            code = (upper * _TURN) % 2**self._upper
        return rows.select(*([unit] if unit else []), code.alias(CODE))

    def keys(self, codes: IntArray) -> IntArray:
        """Numbers that sort like the keys themselves: what was stirred, unstirred."""
        # Wraps at 2^64, of which 2^upper and 2^lower are divisors.
        unsigned = codes.view(np.uint64)
        turned, lower = unsigned >> np.uint64(self._lower), unsigned & _mask(self._lower)
        back = np.uint64(pow(_TURN, -1, 2**self._upper))
        upper = (turned * back - lower) & _mask(self._upper)
        lower = (lower - upper * np.uint64(_STIR)) & _mask(self._lower)
        return (upper << np.uint64(self._lower) | lower).view(np.int64)

    def columns(self, keys: IntArray) -> dict[str, NDArray[Any]]:
        """The key columns again, each in its own type."""
        columns, shift = {}, self.bits
        for name, dtype in self.types.items():
            shift -= _bits(dtype)
            value = ((keys >> shift) & (2 ** _bits(dtype) - 1)) - _below(dtype)
            columns[name] = value.astype(type(dtype).__name__.lower().replace("boolean", "bool"))
        return columns

    def counts(self, rows: Lazy, *, unit: str | None, most: int) -> nw.DataFrame[Any]:
        """Units per number that occurs. Secret, as are the numbers."""
        coded = self.coded(rows, unit)
        if coded.implementation.is_polars():
            held = coded.collect()
            pairs = None if unit is None else self._pairs(held, unit)
            if unit is None or pairs is not None:
                return _runs(held[CODE] if pairs is None else self._cut(pairs, most))
            coded = held.lazy()
        if unit is not None:
            coded = first_groups(distinct(coded), unit, [CODE], most=most, order=CODE)
        return coded.group_by(CODE).agg(nw.len().alias(LENGTH)).collect()

    def published(self, found: nw.DataFrame[Any], told: IntArray) -> dict[str, NDArray[Any]]:
        """The keys whose noisy count is told, with it: largest first, then by key.

        Only their numbers are turned into keys again, in columns of their own.
        """
        kept = np.flatnonzero(told)
        lower, numbers = told[kept], found[CODE].to_numpy()[kept]
        keys, most = self.keys(numbers), int(lower.max(initial=0))
        if most < 2 ** (_CODE_BITS - self.bits):
            packed = (most - lower) << self.bits | keys
            packed.sort()
            keys, lower = packed & (2**self.bits - 1), most - (packed >> self.bits)
        else:
            order = np.lexsort((keys, -lower))
            keys, lower = keys[order], lower[order]
        return {**self.columns(keys), LOWER: lower}

    def _packed(self, names: Sequence[str]) -> nw.Expr:
        """These columns as one number, the first one in the highest place."""
        parts = [nw.col(n).cast(nw.Int64()) + _below(self.types[n]) for n in names]
        widths = [_bits(self.types[n]) for n in names]
        pairs = list(zip(parts, widths, strict=True))
        return reduce(lambda whole, part: whole * 2 ** part[1] + part[0], pairs[1:], parts[0])

    def _pairs(self, held: nw.DataFrame[Any], unit: str) -> nw.Series[Any] | None:
        """Unit and number as one number, each pair once, sorted; None if that does not fit.

        How units are numbered changes nothing that comes out, so it may depend on the data.
        """
        units = held[unit]
        if not isinstance(units.dtype, _UNITS):
            return None
        if held.is_empty():
            return held[CODE]
        first = int(units.min())
        if int(units.max()) - first >= 2 ** (_CODE_BITS - self.bits):
            return None
        pairs = ((units.cast(nw.Int64()) - first) * 2**self.bits + held[CODE]).sort()
        once: nw.Series[Any] = pairs.filter(_starts(pairs))
        return once

    def _cut(self, pairs: nw.Series[Any], most: int) -> nw.Series[Any]:
        """The numbers of each unit's ``most`` groups: those without that many before them."""
        units = pairs // 2**self.bits
        over = (units == units.shift(min(most, len(units)))).fill_null(False)  # noqa: FBT003
        kept: nw.Series[Any] = (pairs.filter(~over) % 2**self.bits).alias(CODE)
        return kept


def _runs(codes: nw.Series[Any]) -> nw.DataFrame[Any]:
    """How often each number occurs."""
    turned = codes.sort()
    rows = turned.to_frame().with_row_index(LENGTH).filter(_starts(turned))
    later = nw.col(LENGTH).shift(-1).fill_null(len(turned))
    return rows.with_columns((later - nw.col(LENGTH)).alias(LENGTH))


def _starts(turned: nw.Series[Any]) -> nw.Series[Any]:
    """Where a sorted series has another value than before."""
    return (turned != turned.shift(1)).fill_null(True)  # noqa: FBT003


def _mask(bits: int) -> np.uint64:
    return np.uint64(2**bits - 1)


def _bits(dtype: nw.dtypes.DType) -> int:
    """The bits of a type of whole numbers or booleans; too many for others."""
    return _BITS.get(type(dtype), _CODE_BITS + 1)


def _below(dtype: nw.dtypes.DType) -> int:
    """What makes the type's least value 0."""
    return int(2 ** (_bits(dtype) - 1)) if dtype.is_signed_integer() else 0
