"""Coins with a given chance."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np

from onesided import _numbers
from onesided.noise._bits import CHUNK, Bits, lanes
from onesided.noise._ladder import WORD_BITS, deepen
from onesided.noise._protocol import BoolArray

_LANE_BITS = 16


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
