"""Coins with a given chance, and whole numbers below a bound."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np

from onesided import _numbers
from onesided.errors import NoiseError
from onesided.noise._bits import Bits, lanes
from onesided.noise._geometric import CHUNK
from onesided.noise._ladder import WORD_BITS, deepen
from onesided.noise._protocol import BoolArray, IntArray

_LANE_BITS = 16
# Each round fails to accept anything with a chance of at most 1/2.
_ROUNDS = 2048


def flip(digits: Callable[[int], int], size: int, bits: Bits) -> BoolArray:
    """True with the chance ``x < 1`` whose ``digits(depth)`` are ``floor(2^depth x)``.

    ``U < x`` is decided by the first binary digit in which they differ.
    """
    out = np.empty(size, dtype=np.bool_)
    first = digits(_LANE_BITS)
    for start in range(0, size, CHUNK):
        part = out[start : start + CHUNK]
        seen = lanes(bits, len(part))
        np.less(seen, np.uint16(first), out=part)
        for i in np.flatnonzero(seen == first):
            part[i] = _below(digits, first, _LANE_BITS, bits)
    return out


def flip_few(digits: Callable[[int], int], size: int, bits: Bits) -> BoolArray:
    """The same from a word for each coin, without numpy's start-up cost."""
    threshold = digits(WORD_BITS)
    draws = [bits.word() for _ in range(size)]
    return np.array(
        [
            seen < threshold or (seen == threshold and _below(digits, seen, WORD_BITS, bits))
            for seen in draws
        ],
        dtype=np.bool_,
    )


def _below(digits: Callable[[int], int], seen: int, depth: int, bits: Bits) -> bool:
    """Whether ``U < x`` when the first ``depth`` digits of both are ``seen``."""
    threshold = seen
    while seen == threshold:
        seen, depth = deepen(seen, depth, bits)
        threshold = digits(depth)
    return seen < threshold


def rational_digits(chance: Fraction) -> Callable[[int], int]:
    """The binary digits of a fraction."""
    over, under = chance.as_integer_ratio()
    return lambda depth: (over << depth) // under


def exp_digits(rate: Fraction) -> Callable[[int], int]:
    """The binary digits of ``e^-rate``."""
    over, under = rate.as_integer_ratio()
    return lambda depth: _exp_floor(over, under, depth)


# Two ints for the rate: a fraction's hash costs more than all the rest of the look-up.
@lru_cache(maxsize=512)
def _exp_floor(over: int, under: int, depth: int) -> int:
    rate = Fraction(over, under)
    bits = depth + 64
    while True:
        low, high = (
            (end.numerator << depth) // end.denominator
            for end in _numbers.exp_neg_bounds(rate, bits=bits)
        )
        # e^-rate is irrational, so it lies inside a cell and some precision shows that.
        if low == high:
            return low
        bits *= 2


def below(bound: int, size: int, bits: Bits) -> IntArray:
    """Whole numbers in ``[0, bound)``, equally likely, ``1 <= bound <= 2^62``.

    Takes as many bits as ``bound - 1`` has, and again for each number that is too large.
    """
    out = np.zeros(size, dtype=np.int64)
    drop = WORD_BITS - (bound - 1).bit_length()
    if drop == WORD_BITS:
        return out
    done = barren = 0
    while done < size and barren < _ROUNDS:
        numbers = bits.words(min(size - done, CHUNK)) >> np.uint64(drop)
        numbers = numbers[numbers < bound]
        out[done : done + len(numbers)] = numbers
        done += len(numbers)
        barren = 0 if len(numbers) else barren + 1
    if done < size:
        raise _stuck(bound)
    return out


def below_few(bound: int, size: int, bits: Bits) -> IntArray:
    """The same from words drawn one by one, without numpy's start-up cost."""
    drop = WORD_BITS - (bound - 1).bit_length()
    if drop == WORD_BITS:
        return np.zeros(size, dtype=np.int64)
    return np.array([_one_below(bound, drop, bits) for _ in range(size)], dtype=np.int64)


def _one_below(bound: int, drop: int, bits: Bits) -> int:
    for _ in range(_ROUNDS):
        number = bits.word() >> drop
        if number < bound:
            return number
    raise _stuck(bound)


def _stuck(bound: int) -> NoiseError:
    return NoiseError(
        f"{_ROUNDS} times no number below {bound} came out.",
        hint="The source of random bits is stuck. Nothing was released.",
    )
