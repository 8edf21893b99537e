"""Bits for production: the AES-256-CTR keystream under keys of the operating system."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from weakref import WeakSet

import numpy as np
from cryptography.hazmat.primitives.ciphers import AEADEncryptionContext, Cipher, CipherContext
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import CTR

from onesided._process import this_process
from onesided.errors import NoiseError
from onesided.noise._bits import WordArray

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


def _new_stream() -> _Stream:
    try:
        seed = os.urandom(_KEY_BYTES + _BLOCK_BYTES)
        cipher = Cipher(AES256(seed[:_KEY_BYTES]), CTR(seed[_KEY_BYTES:])).encryptor()
    except Exception as error:
        raise NoiseError(
            f"The operating system gave no random key: {error}.", hint=_NO_BITS_HINT
        ) from error
    return _Stream(cipher, this_process(), _BYTES_PER_KEY)


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
                raise _cipher_failed(error) from error
        return out[:count]

    def word(self) -> int:
        """One word, of those that this thread drew ahead."""
        pool: _Pool | None = getattr(self._local, "pool", None)
        if pool is None or not pool.left or pool.process != this_process():
            pool = self._refilled()
        pool.left = place = pool.left - 1
        words = pool.words
        word: int = words[place]
        words[place] = 0
        return word

    def _refilled(self) -> _Pool:
        """A new pool; what is left of one that another process filled is never used."""
        pool = self._local.pool = _Pool(self.words(_POOL_WORDS).data, this_process(), _POOL_WORDS)
        _POOLS.add(pool)
        return pool

    def _stream(self, wanted: int) -> _Stream:
        """This thread's stream with ``wanted`` bytes still to give, re-keyed if need be."""
        stream: _Stream | None = getattr(self._local, "stream", None)
        if stream is None or stream.left < wanted or stream.process != this_process():
            stream = self._local.stream = _new_stream()
        stream.left -= wanted
        return stream


def _cipher_failed(error: Exception) -> NoiseError:
    return NoiseError(f"The cipher failed: {error}.", hint=_NO_BITS_HINT)
