"""Where random bits come from: the interface the samplers use, and the sources for tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from onesided import _numbers
from onesided.errors import NoiseError

WordArray: TypeAlias = NDArray[np.uint64]

# Draws at a time: the pieces stay in the processor's cache, and its calls are few.
CHUNK = 2**18
# From so many draws on at one rate, or below one bound, they are made in the way for very many.
VERY_MANY = 2**14
_LOOK_UPS = 2**15


class Bits(Protocol):
    """Independent fair bits, 64 at a time."""

    def words(self, count: int) -> WordArray:
        """A new array of ``count`` words; the caller owns it. Errors: NoiseError."""
        ...

    def word(self) -> int:
        """One word, as an int in [0, 2^64). Errors: NoiseError."""
        ...


def lanes(bits: Bits, count: int) -> NDArray[np.uint16]:
    """``count`` independent 16-bit numbers, four to a word, unused ones thrown away."""
    return bits.words((count + 3) // 4).view(np.uint16)[:count]


def looked_up(table: NDArray[Any], cells: NDArray[np.uint16]) -> NDArray[Any]:
    """``table[cells]``, for a table of 2^16 entries.

    numpy widens the cells before it looks them up: memory that is used again for it, and that the
    processor's cache holds, makes this twice as fast. Every cell is below 2^16; "clip" only spares
    numpy a second look at them.
    """
    if len(cells) <= _LOOK_UPS:
        return table.take(cells, mode="clip")
    found = np.empty(len(cells), dtype=table.dtype)
    places = np.empty(_LOOK_UPS, dtype=np.intp)
    for start in range(0, len(cells), _LOOK_UPS):
        some = cells[start : start + _LOOK_UPS]
        index = places[: len(some)]
        index[:] = some
        table.take(index, mode="clip", out=found[start : start + _LOOK_UPS])
    return found


class NotPrivateSeededBits:
    """Reproducible bits of numpy's PCG64. Anyone who knows the seed knows the noise.

    >>> first, again = NotPrivateSeededBits(7), NotPrivateSeededBits(7)
    >>> first.word() == again.word()
    True
    """

    def __init__(self, seed: int) -> None:
        self._source = np.random.PCG64(_numbers.whole(seed, name="seed"))

    def words(self, count: int) -> WordArray:
        """A new array of ``count`` words."""
        return self._source.random_raw(count)

    def word(self) -> int:
        """One word."""
        return int(self._source.random_raw())


class NotPrivateScriptedBits:
    """Feeds chosen words, in order; an error when they run out. For tests of rare paths.

    >>> bits = NotPrivateScriptedBits([7, 9])
    >>> bits.word(), bits.used
    (7, 1)
    """

    def __init__(self, words: Iterable[int]) -> None:
        self._words = np.array(list(words), dtype=np.uint64)
        self.used = 0

    def words(self, count: int) -> WordArray:
        """A copy of the next ``count`` words. Errors: NoiseError when fewer are left."""
        if self.used + count > len(self._words):
            raise NoiseError("The scripted bits ran out.", asked=count)
        self.used += count
        return self._words[self.used - count : self.used].copy()

    def word(self) -> int:
        """The next word. Errors: NoiseError when none is left."""
        return int(self.words(1)[0])
