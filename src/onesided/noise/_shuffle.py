"""Random orders, each equally likely: deal into buckets, then sort each by random keys.

Proof: docs/exact-sampling.md, section 7.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onesided.errors import NoiseError
from onesided.noise._bits import CHUNK, Bits, lanes
from onesided.noise._protocol import IntArray

# Above this length numbers are dealt into buckets, whose mean length is at most 2^_BUCKET_BITS.
_UNDEALT = 2**15
_BUCKET_BITS = 15
_MOST_BUCKET_BITS = 16
# Up to this length one sort of 64-bit keys is fastest.
_SHORT = 2**10
# Up to this length 32-bit keys are soon all different, and two radix sorts are faster.
_MEDIUM = 2**16
# Each round finds equal keys with a chance of at most 2/5: all do with less than 2^-300.
_ROUNDS = 256


def shuffled(length: int, bits: Bits) -> IntArray:
    """0 .. length - 1, each order equally likely."""
    if length <= _UNDEALT:
        return _order(length, bits)
    count = 1 << min(_MOST_BUCKET_BITS, (length >> _BUCKET_BITS).bit_length())
    out, ends = _dealt(length, count, bits)
    start = 0
    for end in ends.tolist():
        bucket = out[start:end]
        bucket[:] = bucket[_order(len(bucket), bits)]
        start = end
    return out


def _dealt(length: int, count: int, bits: Bits) -> tuple[IntArray, IntArray]:
    """0 .. length - 1, grouped by a bucket drawn for each; and where each bucket ends."""
    chosen = np.empty(length, dtype=np.uint16)
    sizes = np.zeros(count, dtype=np.int64)
    drop = np.uint16(_MOST_BUCKET_BITS - (count - 1).bit_length())
    for start in range(0, length, CHUNK):
        part = chosen[start : start + CHUNK]
        np.right_shift(lanes(bits, len(part)), drop, out=part)
        sizes += np.bincount(part, minlength=count)
    ends = np.cumsum(sizes)
    free = ends - sizes
    out = np.empty(length, dtype=np.int64)
    for start in range(0, length, CHUNK):
        part = chosen[start : start + CHUNK]
        here = np.bincount(part, minlength=count)
        places = np.repeat(free - (np.cumsum(here) - here), here)
        places += np.arange(len(part))
        out[places] = np.argsort(part, kind="stable") + start
        free += here
    return out, ends


def _order(length: int, bits: Bits) -> IntArray:
    """0 .. length - 1, each order equally likely: the order of random keys.

    Given that all keys differ each order is equally likely, by symmetry; keys that do not all
    differ are thrown away together.
    """
    for _ in range(_ROUNDS):
        keys: NDArray[np.uint64] | NDArray[np.uint32]
        if _SHORT < length <= _MEDIUM:
            keys = bits.words((length + 1) // 2).view(np.uint32)[:length]
            order = _by_halves(keys)
        else:
            keys = bits.words(length)
            order = np.argsort(keys)
        keys = keys[order]
        if bool((keys[1:] != keys[:-1]).all()):
            return order.astype(np.int64, copy=False)
    raise NoiseError(
        f"{_ROUNDS} times some of {length} random words were the same.",
        hint="The source of random bits is stuck. Nothing was released.",
    )


def _by_halves(keys: NDArray[np.uint32]) -> IntArray:
    """An order that puts equal keys side by side: numpy sorts 16 bits in time linear in length."""
    halves = keys.view(np.uint16)
    # Which half comes first depends on the machine and does not matter: both are as random.
    order = np.argsort(halves[::2], kind="stable")
    return order[np.argsort(halves[1::2][order], kind="stable")]
