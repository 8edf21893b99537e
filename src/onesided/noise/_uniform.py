"""Whole numbers below a bound, equally likely."""

from __future__ import annotations

import numpy as np

from onesided.errors import NoiseError
from onesided.noise._bits import CHUNK, VERY_MANY, Bits
from onesided.noise._ladder import WORD_BITS
from onesided.noise._protocol import IntArray

# Each round fails to accept anything with a chance of at most 1/2.
_ROUNDS = 2048
# So many bits for a number, up to a bound below which they are left out once in 32 at most.
_WIDTHS = ((16, 2**11), (32, 2**27))


def below(bound: int, size: int, bits: Bits) -> IntArray:
    """Whole numbers in ``[0, bound)``, equally likely, ``1 <= bound <= 2^62``.

    Of few, or below a large bound: as many bits as ``bound - 1`` has, and again for each number
    that is too large. Of very many: 16 or 32 bits times the bound, the lower half left out.
    """
    if size >= VERY_MANY:
        for width, most in _WIDTHS:
            if 1 < bound <= most:
                return _scaled(bound, size, width, bits)
    return _cut(bound, size, bits)


def _scaled(bound: int, size: int, width: int, bits: Bits) -> IntArray:
    """``floor(bound v / 2^width)`` of numbers ``v`` of so many bits, and another of some.

    Each answer has ``2^width // bound`` numbers if those are left out whose product has a lower
    half below ``2^width % bound``.
    """
    narrow, wide = np.dtype(f"u{width // 8}"), np.dtype(f"u{width // 4}")
    out = np.empty(size, dtype=np.int64)
    for start in range(0, size, CHUNK):
        part = out[start : start + CHUNK]
        words = bits.words(-(-len(part) * width // WORD_BITS))
        products = words.view(narrow)[: len(part)].astype(wide)
        products *= wide.type(bound)
        left_out = np.flatnonzero(products.astype(narrow) < (1 << width) % bound)
        products >>= wide.type(width)
        part[:] = products
        if len(left_out):
            part[left_out] = _cut(bound, len(left_out), bits)
    return out


def _cut(bound: int, size: int, bits: Bits) -> IntArray:
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
