"""Geometric draws: by tables, by pairs of tables, and at any rate."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, chain, count, pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from onesided import _numbers
from onesided._numbers import Infinite, Loss, Number
from onesided.errors import ParameterError
from onesided.fields import Field, Rate
from onesided.noise._source import CHUNK, VERY_MANY, Bits, IntArray, WordArray, lanes, looked_up
from onesided.noise._uniforms import (
    WORD_BITS,
    Piece,
    below_few,
    deepen,
    exp_bounds,
    many,
    one,
    resolve,
)

# The distribution of ``D = G_upper - G_lower``: what may be said about noise, never a draw.

_BITS = 256
_Bounds: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class TwoSidedGeometric:
    """``D = G_upper - G_lower``, rates in nats per count; INFINITE means no noise on that side.

    With ``p = e^-upper`` and ``q = e^-lower``::

        Pr[D = k] = (1 - p)(1 - q) / (1 - pq) * (p^k if k >= 0 else q^-k)
        Pr[D > k] = (1 - q) p^(k + 1) / (1 - pq)    for k >= -1

    Tails are rational upper bounds, above the truth by less than 2^-200; quantiles follow from
    them and so err, if ever, toward caution. Floats are for display and good to 1e-12.
    Errors: ParameterError for rates outside [2^-40, 2^10].

    >>> from onesided.noise import TwoSidedGeometric
    >>> TwoSidedGeometric(1, 1).mean()
    0.0
    """

    upper: Rate = Field(_numbers.rate)
    lower: Rate = Field(_numbers.rate)

    def tail_above(self, k: int) -> Fraction:
        """An upper bound of ``Pr[D > k]``."""
        return self._tail_above(k, _BITS)

    def tail_below(self, k: int) -> Fraction:
        """An upper bound of ``Pr[D < k]``."""
        return self._mirrored()._tail_above(-k, _BITS)  # noqa: SLF001 (same class)

    def quantile_upper(self, confidence: Number) -> int | None:
        """The least ``k`` with ``Pr[D > k] <= 1 - confidence``, for a confidence in (0, 1].

        None if there is no such k: full confidence, and noise above without end.
        """
        miss = 1 - _numbers.probability(confidence, name="confidence")
        if miss == 1:
            raise ParameterError(
                f"confidence must be above 0, got {confidence!r}.",
                hint='Give a share such as "0.95".',
                value=confidence,
            )
        return _quantile_upper(self, miss)

    def quantile_lower(self, confidence: Number) -> int | None:
        """The largest ``k`` with ``Pr[D < k] <= 1 - confidence``; None if there is none."""
        found = self._mirrored().quantile_upper(confidence)
        return None if found is None else -found

    def median(self) -> int:
        """The least ``k`` with ``Pr[D > k] <= 1/2``."""
        found = self.quantile_upper(Fraction(1, 2))
        return 0 if found is None else found

    def mean(self) -> float:
        """The mean of ``D``: ``p / (1 - p) - q / (1 - q)``."""
        return float(_mean(self.upper) - _mean(self.lower))

    def variance(self) -> float:
        """The variance of ``D``: ``p / (1 - p)^2 + q / (1 - q)^2``."""
        return float(sum(mean * (1 + mean) for mean in (_mean(self.upper), _mean(self.lower))))

    def pmf(self, k: int) -> float:
        """``Pr[D = k]``; 0.0 where it is below 2^-1074."""
        upper, lower = _numbers.round_up(self.upper), _numbers.round_up(self.lower)
        # Three roundings, and one of the exponent, at most 1100 nats: below 1e-12 in all.
        head = math.expm1(-upper) * math.expm1(-lower) / -math.expm1(-upper - lower)
        return head * math.exp(-abs(k) * (upper if k > 0 else lower)) if k else head

    def _mirrored(self) -> TwoSidedGeometric:
        """The distribution of ``-D``."""
        return TwoSidedGeometric(self.lower, self.upper)

    def search(self, miss: Fraction) -> int | None:
        """The least ``k`` with ``Pr[D > k] <= miss``, looked for anew; None if there is none."""
        if miss == 0 and not isinstance(self.upper, Infinite):
            return None
        # Tails as small as `miss` must still be told from 0.
        bits = _BITS + (miss.denominator.bit_length() if miss else 0)
        return _numbers.least_whole(
            lambda k: self._tail_above(k, bits) <= miss, start=self._guess(miss)
        )

    def _guess(self, miss: Fraction) -> int:
        """Where to look first for a quantile; the search does not depend on its being right."""
        if isinstance(self.upper, Infinite):
            return 0
        rate, other = float(self.upper), _numbers.round_up(self.lower)
        head = math.expm1(-other) / math.expm1(-rate - other)
        log_miss = math.log(miss.numerator) - math.log(miss.denominator)
        return max(0, math.ceil((math.log(head) - log_miss) / rate) - 1)

    def _tail_above(self, k: int, bits: int) -> Fraction:
        if k < -1:
            # Pr[D > k] = 1 - Pr[-D > -k - 1], so bounded by a lower bound of the other tail.
            return 1 - Fraction(_tail(self.lower, self.upper, -k, bits)[0], 1 << bits)
        return Fraction(_tail(self.upper, self.lower, k + 1, bits)[1], 1 << bits)


@lru_cache(maxsize=1024)
def _quantile_upper(law: TwoSidedGeometric, miss: Fraction) -> int | None:
    """The least ``k`` with ``Pr[D > k] <= miss``; None if there is none."""
    return law.search(miss)


def _tail(toward: Loss, away: Loss, steps: int, bits: int) -> _Bounds:
    """Bounds, in units of 2^-bits, of ``(1 - q) p^steps / (1 - pq)``; p is e^-toward, q e^-away."""
    one = 1 << bits
    p, q, power = _powers(toward, 1, bits), _powers(away, 1, bits), _powers(toward, steps, bits)
    most = one - (p[0] * q[0] >> bits)
    least = one + (-p[1] * q[1] >> bits)
    low = (one - q[1]) * power[0] // most
    high = -(-(one - q[0]) * power[1] // least)
    return low, min(high, one)


@lru_cache(maxsize=256)
def _powers(rate: Loss, steps: int, bits: int) -> _Bounds:
    """Bounds of ``e^(-rate steps)`` in units of 2^-bits."""
    if isinstance(rate, Infinite):
        return (0, 0) if steps else (1 << bits, 1 << bits)
    return exp_bounds(rate * steps, bits)


def _mean(rate: Loss) -> Fraction:
    if isinstance(rate, Infinite):
        return Fraction(0)
    # Two bits for each nat, so that even e^-1024 keeps its digits.
    bits = _BITS + 2 * int(rate)
    power = _powers(rate, 1, bits)[0]
    return Fraction(power, (1 << bits) - power)


# Tables that answer most geometric draws by one look-up, with nothing given away.
#
# ``level(rate, span)`` holds the 64-bit thresholds of one geometric variable (truncated to
# ``[0, span)`` or not) and a guide over the first 16 bits: the draw itself where those bits
# decide it, -1 where a threshold falls in between. Proof: docs/exact-sampling.md, section 4.


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
    low_1, high_1 = exp_bounds(rate, precision)
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


# Very many geometric draws at one rate: two from one look-up of 16 bits.
#
# Most of the 65,536 numbers that 16 bits can show stand for an answer, as many for each as its
# chance is worth without a remainder. The others stand for *the rest*: what the law has left
# once those are taken off it, drawn from thresholds of its own.
# Proof: docs/exact-sampling.md, section 10.

_CELL_BITS = 16
_CELLS = 1 << _CELL_BITS
# At this rate and above most pairs are worth a cell; below, the draw is split.
_PAIRED = Fraction(1, 12)
# A lower part has at most so many bits, the last one as many as 16 hold beside a draw of H.
_TOP_BITS = 8
_PAIR_BYTES = 2
# A sum up to this fits half an entry, shifted as it is.
_NEAR = 127
_SPARE = 96
_HALF, _LOW = np.uint64(32), np.uint64(2**32 - 1)


@dataclass(frozen=True, slots=True, eq=False)
class Rest(Level):
    """What is left of a law whose cells are taken off; ``digits(n)`` has n of each threshold."""

    digits: Callable[[int], list[int]]

    def settled(self, seen: int, bits: Bits) -> int:
        """The draw that begins with 64 digits that a threshold has, too."""
        depth, found = WORD_BITS, self.digits(WORD_BITS)
        while (place := bisect_right(found, seen)) and found[place - 1] == seen:
            seen, depth = deepen(seen, depth, bits)
            found = self.digits(depth)
        return place


@dataclass(frozen=True, slots=True, eq=False)
class Bulk:
    """``G = H * 2^shift + sum of parts[i] * 2^shifts[i]``, all independent, H drawn in pairs.

    ``table`` holds two draws of H, times the last part's span, in halves of an entry for each of
    the ``answered`` cells. The chance of a pair depends on its sum alone: in the other cells the
    sum is drawn, then divided.
    """

    table: NDArray[Any]
    answered: int
    sums: Rest
    shift: int
    parts: tuple[Level, ...]
    shifts: tuple[int, ...]

    def fill(self, out: IntArray, bits: Bits) -> None:
        """Overwrite ``out``. No overflow: 2048 digits leave a sum below 2^15, parts their span."""
        for start in range(0, len(out), CHUNK):
            self._fill_chunk(out[start : start + CHUNK], bits)

    def _fill_chunk(self, out: IntArray, bits: Bits) -> None:
        cells = lanes(bits, (len(out) + 1) // 2)
        pairs = looked_up(self.table, cells)
        far = self._divide(np.flatnonzero(cells >= self.answered), pairs, bits)
        drawn: NDArray[Any] = pairs.view(
            np.int8 if self.table.itemsize == _PAIR_BYTES else np.int16
        )[: len(out)]
        if self.parts:
            drawn += self.parts[-1].draw(len(out), bits)
        out[:] = drawn
        if len(self.parts) > 1:
            out <<= self.shifts[-1]
        for part, shift in zip(self.parts[:-1], self.shifts, strict=False):
            wide = part.draw(len(out), bits).astype(np.int64)
            wide <<= shift
            out += wide
        for place, draw in far:
            if place < len(out):
                out[place] += draw << self.shift

    def _divide(
        self, open_ones: IntArray, pairs: NDArray[Any], bits: Bits
    ) -> Iterator[tuple[int, int]]:
        """Put the pairs in place that the cells leave open; places and draws too large for it."""
        if not len(open_ones):
            return iter(())
        sums = self.sums.draw(len(open_ones), bits).astype(np.int64)
        firsts = shares(sums, bits)
        seconds = sums - firsts
        far = np.flatnonzero(sums > _NEAR)
        packed = seconds << 8 * self.table.itemsize // 2
        packed |= firsts
        packed <<= self.shift - self.shifts[-1] if self.shifts else 0
        packed[far] = 0
        pairs[open_ones] = packed
        return chain(
            zip((2 * open_ones[far]).tolist(), firsts[far].tolist(), strict=True),
            zip((2 * open_ones[far] + 1).tolist(), seconds[far].tolist(), strict=True),
        )


@lru_cache(maxsize=16)
def bulk(rate: Fraction) -> Bulk:
    """The tables for a rate in [2^-40, 2^10]; about 300 to 900 KB each."""
    ratio = _PAIRED / rate
    shift = (-(-ratio.numerator // ratio.denominator) - 1).bit_length() if ratio > 1 else 0
    parts, shifts, done = [], [], 0
    while done < shift:
        left = shift - done
        step = left if left <= _TOP_BITS else min(_SPLIT_BITS, left - _TOP_BITS + 1)
        parts.append(level(rate * (1 << done), 1 << step))
        shifts.append(done)
        done += step
    pairs = _paired(rate * (1 << shift), shift - shifts[-1] if shifts else 0)
    return Bulk(*pairs, shift, tuple(parts), tuple(shifts))


def shares(sums: IntArray, bits: Bits) -> IntArray:
    """For each sum a number from 0 to it, equally likely: the first of two that make it up."""
    many = sums.astype(np.uint64)
    many += np.uint64(1)
    products = bits.words((len(sums) + 1) // 2).view(np.uint32)[: len(sums)] * many
    found = (products >> _HALF).astype(np.int64)
    # 32 bits make each number as often as 2^32 // many, if the first few products are left out.
    for i in np.flatnonzero((products & _LOW) < many).tolist():
        number = int(many[i])
        if int(products[i]) % 2**32 < 2**32 % number:
            found[i] = below_few(number, 1, bits)[0]
    return found


def _paired(rate: Fraction, shift: int) -> tuple[NDArray[Any], int, Rest]:
    """The table of pairs, times ``2^shift``; how many of its cells are answers; the rest."""
    worths = _worths(rate)
    off = list(accumulate((total + 1) * worth for total, worth in enumerate(worths)))
    sums = np.arange(len(worths))
    totals = np.repeat(sums, sums + 1)
    firsts = np.concatenate([np.arange(total + 1) for total in sums])
    # No pair worth a cell has a sum above 127 at these rates, nor above 2^15 when shifted.
    half = np.int16 if shift else np.int8
    table = np.zeros((_CELLS, 2), dtype=half)
    pairs = np.stack([firsts, totals - firsts], axis=1) << shift
    table[: off[-1]] = np.repeat(pairs, np.array(worths)[totals], axis=0)
    whole = table.view(np.int32 if shift else np.int16).reshape(_CELLS)
    whole.flags.writeable = False
    return whole, off[-1], _rest(rate, off)


def _worths(rate: Fraction) -> list[int]:
    """How many whole cells a pair with the sum 0, 1, ... is worth, as long as it is worth one."""
    precision, found = WORD_BITS + _SPARE, []
    low, high = exp_bounds(rate, precision)
    chance = ((1 << precision) - high) ** 2 >> precision
    while worth := chance >> precision - _CELL_BITS:
        found.append(worth)
        chance = chance * low >> precision
    return found


def _rest(rate: Fraction, off: list[int]) -> Rest:
    """What is left of the law of a sum of two when sums up to k have ``off[k]`` cells in all."""

    def digits(depth: int) -> list[int]:
        precision = depth + _SPARE
        while (found := _left(rate, off, depth, precision)) is None:
            precision *= 2
        return found

    return Rest(rate, None, *guided(digits(WORD_BITS)), digits)


def _left(rate: Fraction, off: list[int], depth: int, precision: int) -> list[int] | None:
    """``floor(2^depth (2^16 F(k) - off[k]) / open)`` for k = 0, 1, ...; None if too imprecise.

    ``F`` is the cumulative law of a sum of two. The list ends with the first that is all ones: all
    later ones are, too.
    """
    last, found = (1 << depth) - 1, list[int]()
    open_cells = _CELLS - off[-1] << precision
    for k, ends in enumerate(_upto(rate, precision)):
        answered = off[min(k, len(off) - 1)] << precision
        least, most = (
            min(((end << _CELL_BITS) - answered << depth) // open_cells, last) for end in ends
        )
        if least != most:
            return None
        found.append(least)
        if least == last:
            break
    return found


def _upto(rate: Fraction, precision: int) -> Iterator[tuple[int, int]]:
    """Bounds of ``Pr[G + G' < k] = 1 - q^k (1 + k (1 - q))``, for k = 1, 2, ..."""
    one = 1 << precision
    low, high = below, above = exp_bounds(rate, precision)
    for k in count(1):
        yield (
            one + (-above * (one + k * (one - low)) >> precision),
            one - (below * (one + k * (one - high)) >> precision),
        )
        below, above = below * low >> precision, -(-above * high >> precision)


# Geometric draws for one rate or many, from tables where there are many draws to make.

# Below this many draws at one rate a logarithm for each is cheaper than a table's calls.
_FEW = 12


def fill(rate: Loss, out: IntArray, bits: Bits) -> None:
    """Overwrite ``out`` with draws at ``rate``; INFINITE gives zeros and takes no bits.

    Which way a draw is made depends on the number of draws; the law does not.
    """
    if isinstance(rate, Infinite):
        out[:] = 0
    elif len(out) < _FEW:
        for i, seen in enumerate(bits.words(len(out)).tolist()):
            out[i] = _decided(rate, seen, bits)
    elif len(out) < VERY_MANY:
        _fill_many(plan(rate), out, bits)
    else:
        bulk(rate).fill(out, bits)


def single(rate: Loss, bits: Bits) -> int:
    """One draw: a word asked for alone comes faster than an array of one."""
    return 0 if isinstance(rate, Infinite) else _decided(rate, bits.word(), bits)


def _decided(rate: Fraction, seen: int, bits: Bits) -> int:
    draw = one(*rate.as_integer_ratio(), seen)
    return resolve(rate, None, seen, WORD_BITS, bits) if draw is None else draw


def fill_difference(upper: Loss, lower: Loss, out: IntArray, bits: Bits) -> None:
    """Overwrite ``out`` with draws at ``upper`` less draws at ``lower``."""
    fill(upper, out, bits)
    if len(out) and not isinstance(lower, Infinite):
        other = np.empty(min(len(out), CHUNK), dtype=np.int64)
        for start in range(0, len(out), len(other)):
            part = out[start : start + len(other)]
            fill(lower, other[: len(part)], bits)
            part -= other[: len(part)]


def fill_each(piece: Piece, bits: Bits) -> IntArray:
    """A draw for each of a piece's places, at the rate that it has there."""
    out = np.zeros(piece.size, dtype=np.int64)
    finite = piece.finite
    if finite is None:
        many(piece.reciprocals, piece.exact, out, bits)
    elif len(finite):
        some = np.empty(len(finite), dtype=np.int64)
        many(piece.reciprocals[finite], lambda i: piece.exact(int(finite[i])), some, bits)
        out[finite] = some
    return out


def _fill_many(levels: Decomposition, out: IntArray, bits: Bits) -> None:
    # No overflow: levels below the last stay under their spans, whose product is under
    # 1 / (8 rate), and the last under 2^15; with rate >= 2^-40 the sum is under 2^53.
    out[:] = levels.levels[0].draw(len(out), bits)
    for level, shift in zip(levels.levels[1:], levels.shifts[1:], strict=True):
        part = level.draw(len(out), bits).astype(np.int64)
        part <<= shift
        out += part
