"""Geometric draws for one rate or many, from tables where there are many draws to make."""

from __future__ import annotations

import numpy as np

from onesided._numbers import MAX_COUNT, Infinite, Loss
from onesided.errors import NoiseError
from onesided.noise._arguments import Piece
from onesided.noise._bits import Bits
from onesided.noise._ladder import WORD_BITS, resolve
from onesided.noise._protocol import IntArray
from onesided.noise._tables import Decomposition, plan

# Draws at a time: the pieces stay in the processor's cache.
CHUNK = 2**16
# Below this many draws at one rate the ladder is cheaper than a table's calls.
_FEW = 12
# Below this many it is cheaper than making a table, which pays where tables do not stay cached.
_FEW_OF_MANY = 200
_CACHED = plan.cache_info().maxsize or 0


def fill(rate: Loss, out: IntArray, bits: Bits, few: int = _FEW) -> None:
    """Overwrite ``out`` with draws at ``rate``; INFINITE gives zeros and takes no bits.

    Fewer than ``few`` draws are made without a table; the law is the same.
    """
    if isinstance(rate, Infinite):
        out[:] = 0
    elif len(out) < few:
        # One word asked for alone comes faster than an array of one.
        words = bits.words(len(out)).tolist() if len(out) > 1 else [bits.word() for _ in out]
        for i, seen in enumerate(words):
            out[i] = checked(resolve(rate, None, seen, WORD_BITS, bits))
    else:
        levels = plan(rate)
        for start in range(0, len(out), CHUNK):
            _fill_chunk(levels, out[start : start + CHUNK], bits)


def grouped(piece: Piece, bits: Bits) -> IntArray:
    """A draw for each of a piece's places, at the rate that it has there."""
    _, rates, count, codes = piece
    few = _FEW if count <= _CACHED else _FEW_OF_MANY
    out = np.empty(len(codes), dtype=np.int64)
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=count))
    start = 0
    for rate, end in zip(rates, ends.tolist(), strict=True):
        draws = np.empty(end - start, dtype=np.int64)
        fill(rate, draws, bits, few)
        out[order[start:end]] = draws
        start = end
    return out


def checked(draw: int) -> int:
    """``draw``, refused where a count plus it could leave 64 bits."""
    if draw < MAX_COUNT:
        return draw
    raise NoiseError(
        "A noise draw does not fit 62 bits.",
        hint="The rate is too small for counts of this type.",
        draw=draw,
    )


def _fill_chunk(levels: Decomposition, out: IntArray, bits: Bits) -> None:
    # No overflow: levels below the last stay under their spans, whose product is under
    # 1 / (8 rate), and the last under 2^15; with rate >= 2^-40 the sum is under 2^53.
    out[:] = levels.levels[0].draw(len(out), bits)
    for level, shift in zip(levels.levels[1:], levels.shifts[1:], strict=True):
        part = level.draw(len(out), bits).astype(np.int64)
        part <<= shift
        out += part
