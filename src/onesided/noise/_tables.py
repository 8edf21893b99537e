"""Tables that answer most geometric draws by one look-up, with nothing given away.

``level(rate, span)`` holds the 64-bit thresholds of one geometric variable (truncated to
``[0, span)`` or not) and a guide over the first 16 bits: the draw itself where those bits
decide it, -1 where a threshold falls in between. Proof: docs/exact-sampling.md, section 4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from onesided import _numbers
from onesided.noise._bits import Bits, WordArray, lanes, looked_up
from onesided.noise._ladder import WORD_BITS, resolve
from onesided.noise._protocol import IntArray

_GUIDE_BITS = 16
_REST_BITS = WORD_BITS - _GUIDE_BITS
# At this rate and above a table of its own fits the cache; below, the draw is split.
_DIRECT = Fraction(1, 16)
_SPLIT_BITS = 10
_PRECISION = 160


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """One factor of a geometric draw; arrays are read-only."""

    rate: Fraction
    span: int | None
    thresholds: WordArray
    guide: NDArray[np.int16]

    def draw(self, count: int, bits: Bits) -> NDArray[np.int16]:
        """``count`` exact draws from 16 bits each, and more for the few that need them."""
        cells = lanes(bits, count)
        draws: NDArray[np.int16] = looked_up(self.guide, cells)
        open_ones = np.flatnonzero(draws < 0)
        if len(open_ones):
            seen = cells[open_ones].astype(np.uint64) << np.uint64(_REST_BITS)
            seen |= bits.words(len(open_ones)) >> np.uint64(_GUIDE_BITS)
            draws[open_ones] = self._decided(seen, lambda _: bits)
        return draws

    def decide(self, seen: WordArray, more: Callable[[int], Bits]) -> IntArray:
        """The draws that begin with these words; ``more(i)`` has the further bits of the i-th."""
        draws = self.guide.take((seen >> np.uint64(_REST_BITS)).astype(np.uint16), mode="clip")
        open_ones = np.flatnonzero(draws < 0)
        if len(open_ones):
            draws[open_ones] = self._decided(seen[open_ones], lambda i: more(int(open_ones[i])))
        return draws.astype(np.int64)

    def _decided(self, seen: WordArray, more: Callable[[int], Bits]) -> NDArray[np.intp]:
        """The draws of 64 digits each; further ones are taken only where those do not decide."""
        places = np.searchsorted(self.thresholds, seen, side="right")
        # Equal to a threshold's first 64 digits: only more digits can tell.
        for i in np.flatnonzero((places > 0) & (self.thresholds[places - 1] == seen)):
            places[i] = self.settled(int(seen[i]), more(int(i)))
        return places

    def settled(self, seen: int, bits: Bits) -> int:
        """The draw that begins with 64 digits that a threshold has, too."""
        # Fits int16: 2048 digits decide no draw above 2048 ln 2 / rate + 1 < 2^15.
        return resolve(self.rate, self.span, seen, WORD_BITS, bits)


@dataclass(frozen=True, slots=True)
class Decomposition:
    """``G = sum of levels[i] * 2^shifts[i]``, the levels independent."""

    levels: tuple[Level, ...]
    shifts: tuple[int, ...]


@lru_cache(maxsize=64)
def plan(rate: Fraction) -> Decomposition:
    """The levels for a rate in [2^-40, 2^10]; about 150 KB each."""
    levels, shifts, shift = [], [], 0
    while rate < _DIRECT:
        step = min(_SPLIT_BITS, int(_DIRECT / rate).bit_length())
        levels.append(level(rate, 1 << step))
        shifts.append(shift)
        rate, shift = rate * (1 << step), shift + step
    return Decomposition((*levels, level(rate, None)), (*shifts, shift))


def level(rate: Fraction, span: int | None) -> Level:
    """The table of one geometric variable, truncated to ``[0, span)`` or not."""
    precision = _PRECISION
    while (found := _thresholds(rate, span, precision)) is None:
        precision *= 2
    return Level(rate, span, *guided(found))


def guided(found: list[int]) -> tuple[WordArray, NDArray[np.int16]]:
    """Thresholds of 64 digits, and the draw for each 16 digits, -1 where they do not decide it."""
    cells = [threshold >> _REST_BITS for threshold in found]
    guide = np.repeat(
        np.arange(len(cells) + 1, dtype=np.int16),
        [high - low for low, high in pairwise([0, *cells, 1 << _GUIDE_BITS])],
    )
    guide[cells] = -1
    thresholds = np.array(found, dtype=np.uint64)
    guide.flags.writeable = thresholds.flags.writeable = False
    return thresholds, guide


def _thresholds(rate: Fraction, span: int | None, precision: int) -> list[int] | None:
    """``floor(2^64 (1 - q^(k+1)) / (1 - q^span))`` for k = 0, 1, ...; None if too imprecise.

    Without a span the list ends with the first that is ``2^64 - 1``: all later ones are too.
    """
    low, high = _numbers.exp_neg_bounds(rate, bits=precision)
    low_1 = (low.numerator << precision) // low.denominator
    high_1 = -((-high.numerator << precision) // high.denominator)
    one = 1 << precision
    powers, last = [(low_1, high_1)], (1 << WORD_BITS) - 1
    while len(powers) < span if span else powers[-1][1] > one >> WORD_BITS:
        below, above = powers[-1]
        powers.append((below * low_1 >> precision, -(-above * high_1 >> precision)))
    whole = (one - powers[-1][1], one - powers[-1][0]) if span else (one, one)
    found = []
    for below, above in powers[: span - 1] if span else powers:
        least = ((one - above) << WORD_BITS) // whole[1]
        most = ((one - below) << WORD_BITS) // whole[0]
        if least != min(most, last):
            return None
        found.append(least)
    return found
