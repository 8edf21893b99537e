"""The one seam through which randomness enters, and where its bits come from."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Protocol, TypeAlias, final
from weakref import WeakSet

import numpy as np
from cryptography.hazmat.primitives.ciphers import AEADEncryptionContext, Cipher, CipherContext
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import CTR
from numpy.typing import NDArray

from onesided import _numbers
from onesided._numbers import Loss, Number
from onesided._process import this_process
from onesided.errors import NoiseError

# The one seam through which randomness enters a mechanism.


IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]
Rates: TypeAlias = Loss | Number | Sequence[Loss | Number]


class Noise(Protocol):
    """What a mechanism may ask of chance. Every draw is independent and exactly distributed.

    ``size`` is the number of draws; the answer is a new one-dimensional array of that length.
    Rates are in nats per count and exact; ``INFINITE`` means the draw is always 0. Where a
    sequence of rates is given its length must be ``size``.

    >>> from onesided import INFINITE
    >>> from onesided.noise import SecureNoise
    >>> noise: Noise = SecureNoise()
    >>> noise.two_sided(INFINITE, INFINITE, 3).tolist(), len(noise.permutation(4))
    ([0, 0, 0], 4)
    """

    def geometric(self, rate: Rates, size: int) -> IntArray:
        """``Pr[G = k] = (1 - e^-rate) e^(-rate k)`` for k = 0, 1, 2, ..."""

    def two_sided(self, upper: Rates, lower: Rates, size: int) -> IntArray:
        """``G_upper - G_lower``: noise above the truth at rate ``upper``, below at ``lower``."""

    def gaussian(self, variance: Number, size: int) -> IntArray:
        """The discrete Gaussian: ``Pr[X = x]`` as ``e^(-x² / (2 variance))``, for all whole x."""

    def bernoulli(self, probability: Fraction | Number, size: int) -> BoolArray:
        """True with the given rational probability."""

    def bernoulli_exp(self, rate: Loss | Number, size: int) -> BoolArray:
        """True with probability ``e^-rate``; its complement has ``1 - e^-rate``."""

    def uniform(self, below: int, size: int) -> IntArray:
        """Whole numbers from 0 to ``below - 1``, equally likely; ``1 <= below <= 2^62``."""

    def permutation(self, length: int) -> IntArray:
        """The numbers 0 .. length - 1 in an order chosen uniformly among all orders."""

    def permute_and_flip(self, rate: Loss | Number, deficits: IntArray, sizes: IntArray) -> int:
        """A group of items, by the item that is the first of a random order to be accepted.

        Group ``g`` has ``sizes[g]`` items, each accepted with the chance ``e^(-rate deficits[g])``
        when its turn comes; so each accepted item is as likely to be the first. Deficits are whole
        numbers from 0, and some are 0; sizes at least 1, and 2^62 in all.
        """


# A source of noise as a mechanism of someone's own sees it.

_DRAWS: Final = (
    "geometric",
    "two_sided",
    "gaussian",
    "bernoulli",
    "bernoulli_exp",
    "uniform",
    "permutation",
    "permute_and_flip",
)


@final
class PlainNoise:
    """The draws of a source and nothing else, of one class whatever the source.

    So what a mechanism meets while it is checked is what it meets when it answers.

    >>> from onesided.noise import NotPrivateSeededNoise, SecureNoise
    >>> type(PlainNoise(SecureNoise())) is type(PlainNoise(NotPrivateSeededNoise(1)))
    True
    >>> len(PlainNoise(SecureNoise()).geometric(1, 3))
    3
    """

    __slots__ = _DRAWS

    geometric: Any
    two_sided: Any
    gaussian: Any
    bernoulli: Any
    bernoulli_exp: Any
    uniform: Any
    permutation: Any
    permute_and_flip: Any

    def __init__(self, source: Noise) -> None:
        for name in _DRAWS:
            setattr(self, name, getattr(source, name))


# Where random bits come from: the interface the samplers use, and the sources for tests.

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

    def word(self) -> int:
        """One word, as an int in [0, 2^64). Errors: NoiseError."""


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


# Bits for production: the AES-256-CTR keystream under keys of the operating system.

_KEY_BYTES = 32
_BLOCK_BYTES = 16
_WORD_BYTES = 8
# Far below what AES in counter mode can give under one key (2^68 bytes before it can be told
# from chance); small enough that a key that leaks tells little about earlier noise.
_BYTES_PER_KEY = 2**30
_STEP_WORDS = 2**14
_ZEROS = bytes(_STEP_WORDS * _WORD_BYTES)
# Words drawn ahead where they are asked for one by one.
_POOL_WORDS = 64
_NO_BITS_HINT = "Nothing was drawn. No weaker generator is used in its place."


@dataclass(slots=True)
class _Stream:
    """One key's keystream, and the process that it belongs to."""

    cipher: CipherContext | AEADEncryptionContext
    process: tuple[int, int]
    left: int


@dataclass(slots=True, weakref_slot=True, eq=False)
class _Pool:
    """Words drawn ahead for one thread of one process; those handed out are overwritten."""

    words: memoryview
    process: tuple[int, int]
    left: int

    def wipe(self) -> None:
        self.left = 0
        for place in range(len(self.words)):
            self.words[place] = 0


# What a forked child finds here is its parent's: it overwrites it before anything else runs.
_POOLS: WeakSet[_Pool] = WeakSet()


def _wipe_all() -> None:
    for pool in list(_POOLS):
        pool.wipe()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_wipe_all)


class SecureBits:
    """Unpredictable bits, a stream of its own for each thread and process.

    Promise: no two threads, processes or copies of this object share a key. A key serves at
    most 2^30 bytes. Errors: NoiseError when the operating system or the cipher fails.

    >>> SecureBits().words(3).dtype
    dtype('uint64')
    """

    def __init__(self) -> None:
        self._local = threading.local()

    def __reduce__(self) -> tuple[type[SecureBits], tuple[()]]:
        """A copy, or an unpickled twin, starts afresh: keys never travel."""
        return SecureBits, ()

    def words(self, count: int) -> WordArray:
        """A new array of ``count`` words."""
        # A cipher may write up to a block beyond its input: two words more.
        out = np.empty(count + _BLOCK_BYTES // _WORD_BYTES, dtype=np.uint64)
        for start in range(0, count, _STEP_WORDS):
            step = min(_STEP_WORDS, count - start)
            stream = self._stream(step * _WORD_BYTES)
            zeros = _ZEROS if step == _STEP_WORDS else _ZEROS[: step * _WORD_BYTES]
            try:
                stream.cipher.update_into(zeros, out[start:].view(np.uint8).data)
            except Exception as error:
                raise NoiseError(f"The cipher failed: {error}.", hint=_NO_BITS_HINT) from error
        return out[:count]

    def word(self) -> int:
        """One word, of those that this thread drew ahead."""
        pool: _Pool | None = getattr(self._local, "pool", None)
        if pool is None or not pool.left or pool.process != this_process():
            # What is left of one that another process filled is never used.
            drawn = self.words(_POOL_WORDS).data
            pool = self._local.pool = _Pool(drawn, this_process(), _POOL_WORDS)
            _POOLS.add(pool)
        pool.left = place = pool.left - 1
        words = pool.words
        word: int = words[place]
        words[place] = 0
        return word

    def _stream(self, wanted: int) -> _Stream:
        """This thread's stream with ``wanted`` bytes still to give, re-keyed if need be."""
        stream: _Stream | None = getattr(self._local, "stream", None)
        if stream is None or stream.left < wanted or stream.process != this_process():
            try:
                seed = os.urandom(_KEY_BYTES + _BLOCK_BYTES)
                cipher = Cipher(AES256(seed[:_KEY_BYTES]), CTR(seed[_KEY_BYTES:])).encryptor()
            except Exception as error:
                raise NoiseError(
                    f"The operating system gave no random key: {error}.", hint=_NO_BITS_HINT
                ) from error
            stream = self._local.stream = _Stream(cipher, this_process(), _BYTES_PER_KEY)
        stream.left -= wanted
        return stream
