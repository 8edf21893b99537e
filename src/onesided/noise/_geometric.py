"""Geometric draws for one rate or many, from tables where there are many draws to make."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from onesided._numbers import Infinite, Loss
from onesided.noise._arguments import Piece
from onesided.noise._bits import CHUNK, VERY_MANY, Bits
from onesided.noise._ladder import WORD_BITS, resolve
from onesided.noise._logarithm import many, one
from onesided.noise._pairs import bulk
from onesided.noise._protocol import IntArray
from onesided.noise._tables import Decomposition, plan

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
