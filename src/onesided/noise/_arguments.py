"""Sizes, chances and rates as callers give them: checked, exact, and told apart in pieces.

The usual types are checked with integers only, at a fraction of the cost of
:mod:`onesided._numbers`, which judges all the rest and words every refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onesided import _numbers
from onesided._english import many
from onesided._numbers import MAX_COUNT, MAX_RATE, MIN_RATE, Infinite, Loss
from onesided.errors import ParameterError
from onesided.noise._source import IntArray
from onesided.noise._uniforms import Reciprocals, reciprocals, reciprocals_of_floats

# Draws whose rates are told apart at a time: an array's take 8 bytes each, a list's may be objects.
_ARRAY_PIECE = 2**19
_LIST_PIECE = 2**17
# Above so many different rates in a piece of a list, equal ones may be drawn apart.
_MERGED = 2**15
_LONGEST_TEXT = 40
_ONE_NUMBER = frozenset({Fraction, int, float, str, Infinite})
_MIN_SHIFT = MIN_RATE.denominator.bit_length() - 1
_MAX_SHIFT = MAX_RATE.numerator.bit_length() - 1


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """The rates of a stretch of draws; ``finite`` says which are, None for all of them."""

    where: slice
    exact: Callable[[int], Loss]
    reciprocals: Reciprocals
    finite: IntArray | None = None

    @property
    def size(self) -> int:
        """How many draws."""
        return int(self.where.stop - self.where.start)


def size(value: object, *, name: str = "size") -> int:
    """A number of draws. Errors: ParameterError."""
    if type(value) is int and 0 <= value <= MAX_COUNT:
        return value
    return _numbers.whole(value, name=name)


def chance(value: object) -> Fraction:
    """A probability. Errors: ParameterError."""
    if type(value) is Fraction and 0 <= value.numerator <= value.denominator:
        return value
    return _numbers.probability(value, name="probability")


def rate(value: object, *, name: str) -> Loss:
    """A rate. Errors: ParameterError."""
    if type(value) is Fraction:
        over, under = value.as_integer_ratio()
        if under <= over << _MIN_SHIFT and over <= under << _MAX_SHIFT:
            return value
    elif (type(value) is str and len(value) <= _LONGEST_TEXT) or type(value) in {int, float}:
        return _remembered(value, name)
    return _numbers.rate(value, name=name)


@lru_cache(maxsize=1024, typed=True)
def _remembered(value: object, name: str) -> Loss:
    return _numbers.rate(value, name=name)


def groups(deficits: object, sizes: object) -> tuple[IntArray, IntArray]:
    """Deficits and sizes of groups of items. Errors: ParameterError."""
    short, many = (_numbers.regular(given) for given in (deficits, sizes))
    whole = short.dtype.kind in "iu" and many.dtype.kind in "iu"
    if short.ndim != 1 or short.shape != many.shape or not short.size or not whole:
        raise ParameterError(
            f"Groups need a deficit and a size each, as whole numbers; got {short.dtype} of shape "
            f"{short.shape} and {many.dtype} of shape {many.shape}.",
            hint="Give two one-dimensional arrays of integers, of the same length.",
        )
    if short.min() != 0 or many.min() < 1 or short.max() > MAX_COUNT or many.max() > MAX_COUNT:
        raise ParameterError(
            "Deficits must start from 0 and sizes from 1.",
            hint="Take the smallest deficit off all of them; leave empty groups out.",
        )
    if sum(many.tolist()) > MAX_COUNT:
        raise ParameterError("There are more than 2^62 items.", hint="Use fewer candidates.")
    return short.astype(np.int64), many.astype(np.int64)


def rates(value: Any, count: int, *, name: str) -> Loss | EachRate:
    """One rate, or one for each of ``count`` draws, all checked. Errors: ParameterError."""
    if type(value) in _ONE_NUMBER:
        return rate(value, name=name)
    if isinstance(value, np.ndarray):
        if value.ndim == 0:
            return rate(value.item(), name=name)
        if value.ndim != 1:
            raise ParameterError(
                f"{name} must be one number or a list of them, got an array of shape "
                f"{value.shape}.",
                hint="Give a one-dimensional array.",
                shape=value.shape,
            )
        if value.dtype.kind not in "iuf":
            value = value.tolist()
    elif isinstance(value, str | Decimal | Real) or not isinstance(value, Sequence):
        return rate(value, name=name)
    if len(value) != count:
        raise ParameterError(
            f"{name} has {many(len(value), 'entry')} for {many(count, 'draw')}.",
            hint="Give one rate, or one for each draw.",
            length=len(value),
            size=count,
        )
    return EachRate(value, name).checked()


@dataclass(frozen=True, slots=True)
class EachRate:
    """A rate for each draw. Memory is bounded, however many draws and different rates."""

    source: Sequence[Any] | NDArray[Any]
    name: str
    only: Piece | None = None

    def checked(self) -> EachRate:
        """Itself, after a look at every rate. Errors: ParameterError."""
        if isinstance(self.source, np.ndarray):
            for start in range(0, len(self.source), _ARRAY_PIECE):
                part = self.source[start : start + _ARRAY_PIECE]
                # To 64 bits first: the limits would be rounded to a narrower type, but not to this.
                numbers = part.astype(np.float64)
                good = (numbers >= float(MIN_RATE)) & (numbers <= float(MAX_RATE))
                if not good.all():
                    # Worded, and decided, by the one who knows.
                    for i in np.flatnonzero(~good):
                        _numbers.rate(part[i].item(), name=self.name)
            return self
        if len(self.source) <= _LIST_PIECE:
            # Told apart once, for the check and for the draws.
            return EachRate(self.source, self.name, next(self._list_pieces(), None))
        for _ in self._list_pieces():
            pass
        return self

    def pieces(self) -> Iterator[Piece]:
        """Stretches that together cover all draws."""
        if self.only is not None:
            return iter((self.only,))
        if isinstance(self.source, np.ndarray):
            return self._array_pieces(self.source)
        return self._list_pieces()

    def _array_pieces(self, source: NDArray[Any]) -> Iterator[Piece]:
        for start in range(0, len(source), _ARRAY_PIECE):
            part = source[start : start + _ARRAY_PIECE].astype(np.float64)

            def exact(place: int, part: NDArray[np.float64] = part) -> Loss:
                return rate(float(part[place]), name=self.name)

            yield Piece(slice(start, start + len(part)), exact, reciprocals_of_floats(part))

    def _list_pieces(self) -> Iterator[Piece]:
        for start in range(0, len(self.source), _LIST_PIECE):
            stop = min(start + _LIST_PIECE, len(self.source))
            # Held here, so that no two of them share an id.
            found, codes = self._told_apart([self.source[i] for i in range(start, stop)])

            def exact(place: int, found: list[Loss] = found, codes: IntArray = codes) -> Loss:
                return found[int(codes[place])]

            infinite = np.array([isinstance(one, Infinite) for one in found], dtype=np.bool_)
            finite = np.flatnonzero(~infinite[codes]) if infinite.any() else None
            yield Piece(slice(start, stop), exact, reciprocals(found)[codes], finite)

    def _told_apart(self, part: list[Any]) -> tuple[list[Loss], IntArray]:
        ids = np.fromiter(map(id, part), dtype=np.uintp, count=len(part))
        _, firsts, places = np.unique(ids, return_index=True, return_inverse=True)
        found: list[Loss] = []
        codes: dict[object, int] = {}
        code_of = np.empty(len(firsts), dtype=np.int64)
        for i, first in enumerate(firsts.tolist()):
            number = rate(part[first], name=self.name)
            key = number if isinstance(number, Infinite) else number.as_integer_ratio()
            code = codes.get(key)
            if code is None:
                code = len(found)
                found.append(number)
                if code < _MERGED:
                    codes[key] = code
            code_of[i] = code
        return found, code_of[places]
