"""Geometric draws by a logarithm in whole numbers: ``G = floor(-ln(1 - U) / rate)``.

One word of 64 digits gives bounds of ``-ln(1 - U)``, whatever the rate; where both bounds agree on
the draw it is decided, and otherwise the ladder of ``_ladder.py`` decides from the same digits.
No table belongs to a rate, so a draw at any rate costs the same, for one rate or for thousands.
Proof: docs/exact-sampling.md, section 9.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import Infinite, Loss
from onesided.noise._bits import Bits, WordArray
from onesided.noise._ladder import WORD_BITS, resolve
from onesided.noise._protocol import IntArray

# Draws at a time: a dozen arrays of this length stay in the processor's cache.
CHUNK = 2**13
# Digits that choose the reciprocal; of its logarithm; and of a logarithm in an array.
_INDEX = 11
_FINE = 64
_COARSE = 59
_SPARE = 32
# What the fixed-point sums may be short of, in their last digit: one number's, an array's.
_SLACK = 2**11
_MANY_SLACK = 256
# Below this 1 - U is left to the ladder; in an array already where its first 16 digits are 0.
_LEAST = 2**32
_LEADING = 16
# The bits of the reciprocal of a rate, and the most that a word can be shifted by.
_RECIPROCAL = 63
_MOST_SHIFT = 63
# A log has 59 digits, a word 64.
_DROP = _FINE - _COARSE
_ONE, _HALF, _FIRST = np.uint64(1), np.uint64(32), np.uint64(48)
_LOW = np.uint64(2**32 - 1)


@dataclass(frozen=True, slots=True, eq=False)
class Logarithms:
    """``factors[i] = floor(2^23 / (2^11 + i + 1))`` and bounds below of ``ln(factors[i] / 2^11)``.

    ``turns[e]`` is a bound below of ``e ln 2``. Units 2^-64; in the arrays, that follow, 2^-59.
    ``leading[c]`` is how many of the 16 digits of ``c`` come before its first 1.
    """

    factors: list[int]
    fine: list[int]
    turns: list[int]
    many_factors: WordArray
    coarse: WordArray
    coarse_turns: WordArray
    leading: NDArray[np.uint8]


@lru_cache(maxsize=1)
def logarithms() -> Logarithms:
    """The tables, made at the first draw that needs them."""
    whole, drop = 1 << _INDEX, _FINE - _COARSE
    logs = _from_one(whole)
    factors = [(whole * whole << 1) // (whole + i + 1) for i in range(whole)]
    fine = [logs[factor - whole] >> _SPARE for factor in factors]
    turns = [e * logs[-1] >> _SPARE for e in range(WORD_BITS)]
    coarse, short = [n >> drop for n in fine], [n >> drop for n in turns[: _LEADING + 1]]
    many_factors, coarse_logs, coarse_turns = (
        np.array(numbers, dtype=np.uint64) for numbers in (factors, coarse, short)
    )
    leading = np.repeat(
        np.arange(_LEADING, -1, -1, dtype=np.uint8), [1, *(1 << n for n in range(_LEADING))]
    )
    for array in (many_factors, coarse_logs, coarse_turns):
        array.flags.writeable = False
    leading.flags.writeable = False
    return Logarithms(factors, fine, turns, many_factors, coarse_logs, coarse_turns, leading)


def _from_one(whole: int) -> list[int]:
    """Bounds below of ``ln(1 + i / whole)``, for i up to ``whole``, in units of 2^-96.

    ``ln(c + 1) - ln(c) = 2 (x + x^3/3 + x^5/5 + ...)`` with ``x = 1 / (2 c + 1)``. What four terms
    leave out is less than one unit, and so is what each loses: a step is short of 20 at most.
    """
    found, total = [0], 0
    for odd in range(2 * whole + 1, 4 * whole, 2):
        power, square = (1 << _FINE + _SPARE) // odd, odd * odd
        term = power
        for exponent in (3, 5, 7):
            power //= square
            term += power // exponent
        total += 2 * term
        found.append(total)
    return found


def one(over: int, under: int, seen: int) -> int | None:
    """The draw at rate ``over / under`` that the 64 digits ``seen`` decide, if they do."""
    # 1 - U lies above `left` and is at most `left + 1`, in units of 2^-64.
    left = 0xFFFF_FFFF_FFFF_FFFF - seen
    if left < _LEAST:
        return None
    tables = logarithms()
    turn = 64 - left.bit_length()
    scaled = left << turn
    place = (scaled >> 52) - 2048
    # The factor makes of `scaled` a number 1 - x just below 1: x is less than 2^-10.4.
    x = (1 << 75) - tables.factors[place] * scaled >> 11
    x_2 = x * x >> 64
    log = tables.turns[turn] + tables.fine[place] + x + (x_2 >> 1)
    log += (x_2 * x >> 64) // 3 + (x_2 * x_2 >> 66) + _SLACK
    product, over = log * under, over << 64
    draw = product // over
    # As far down as the logarithm may be: it is short of _SLACK, and `left` of one.
    if not draw or product - draw * over >= (_SLACK + (2 << turn)) * under:
        return draw
    return None


@dataclass(frozen=True, slots=True, eq=False)
class Reciprocals:
    """``numbers[i]`` is ``2^(shifts[i] + 5)`` over the i-th rate, within 2^10, and below 2^63."""

    numbers: WordArray
    shifts: WordArray

    def __getitem__(self, places: slice | IntArray) -> Reciprocals:
        return Reciprocals(self.numbers[places], self.shifts[places])


def reciprocals(rates: Sequence[Loss]) -> Reciprocals:
    """Of exact rates; for INFINITE a number that is never used."""
    numbers, shifts = [], []
    for rate in rates:
        over, under = (1, 1) if isinstance(rate, Infinite) else rate.as_integer_ratio()
        shift = _RECIPROCAL + over.bit_length() - under.bit_length()
        number = (under << shift) // over
        if number >> _RECIPROCAL:
            number, shift = number >> 1, shift - 1
        numbers.append(number)
        shifts.append(min(shift - _DROP, _MOST_SHIFT))
    return Reciprocals(np.array(numbers, dtype=np.uint64), np.array(shifts, dtype=np.uint64))


def reciprocals_of_floats(rates: NDArray[np.float64]) -> Reciprocals:
    """Of public rates that are floats. A quotient is within 2^-53 of itself of the true one."""
    parts, exponents = np.frexp(1 / rates)
    shifts = np.minimum(_RECIPROCAL - _DROP - exponents.astype(np.int64), _MOST_SHIFT)
    return Reciprocals(np.ldexp(parts, _RECIPROCAL).astype(np.uint64), shifts.astype(np.uint64))


def many(rates: Reciprocals, exact: Callable[[int], Loss], out: IntArray, bits: Bits) -> None:
    """Overwrite ``out`` with a draw at each of the rates, none of which is INFINITE."""
    for start in range(0, len(out), CHUNK):
        part = slice(start, min(start + CHUNK, len(out)))
        words = bits.words(part.stop - start)
        draws, undecided = _draws(words, rates[part])
        out[part] = draws
        for i in np.flatnonzero(undecided).tolist():
            rate = exact(start + i)
            if not isinstance(rate, Infinite):
                out[start + i] = resolve(rate, None, int(words[i]), WORD_BITS, bits)


def _draws(words: WordArray, rates: Reciprocals) -> tuple[WordArray, NDArray[np.bool_]]:
    """The draws that the words decide, and which they leave open."""
    logs, turns = _logs(~words)
    # The high word of a product of 63 bits by 63.
    low, number = rates.numbers & _LOW, rates.numbers >> _HALF
    logs_low, logs_high = logs & _LOW, logs >> _HALF
    middle = logs_low * low
    middle >>= _HALF
    middle += logs_high * low
    middle += logs_low * number
    middle >>= _HALF
    product = logs_high * number
    product += middle
    slack = logs >> np.uint64(54)
    slack += np.left_shift(_ONE, turns)
    slack += np.uint64(_MANY_SLACK)
    draws = product + slack
    draws >>= rates.shifts
    product -= np.minimum(product, slack)
    product >>= rates.shifts
    undecided = draws != product
    undecided |= turns == _LEADING
    return draws, undecided


def _logs(left: WordArray) -> tuple[WordArray, WordArray]:
    """Bounds below of ``-ln(left / 2^64)`` in units of 2^-59, short of 256 at most; leading zeros.

    They hold where there are fewer than 16 zeros.
    """
    tables = logarithms()
    turns = tables.leading.take((left >> _FIRST).astype(np.intp)).astype(np.uint64)
    scaled = left << turns
    places = (scaled >> np.uint64(52)).astype(np.intp)
    places -= 1 << _INDEX
    # Modulo 2^64: 2^74 less a product that is smaller by less than 2^64.
    scaled >>= _ONE
    scaled *= tables.many_factors.take(places, mode="clip")
    x = np.negative(scaled, out=scaled)
    total = tables.coarse.take(places, mode="clip")
    total += tables.coarse_turns.take(turns.astype(np.intp))
    total += x >> np.uint64(15)
    x >>= _HALF
    power = x * x
    total += power >> np.uint64(26)
    power >>= _HALF
    power *= x
    total += (power >> np.uint64(35)) // np.uint64(3)
    power >>= _HALF
    power *= x
    total += power >> np.uint64(47)
    return total, turns
