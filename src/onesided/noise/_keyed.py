"""Noise that depends on a key and a position alone: drawn again, it is the same."""

from __future__ import annotations

from typing import Final, NoReturn, Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import ECB

from onesided._numbers import Infinite, Loss
from onesided.errors import NoiseError
from onesided.noise._bits import WordArray
from onesided.noise._protocol import IntArray, Noise
from onesided.noise._tables import plan

KEY_BYTES: Final = 32
_WORDS_PER_BLOCK: Final = 2
# A block's number: the position in 64 bits; above it the table in 16, the refinement in 48.
_TABLE_SHIFT: Final = 48


class PlaceNoise(Protocol):
    """What a stream asks of chance: one draw for each of some positions.

    >>> from onesided.noise import SecureNoise
    >>> stream: PlaceNoise = FreshNoise(SecureNoise())
    """

    def geometric(self, rate: Loss, positions: IntArray) -> IntArray:
        """``Pr[G = k] = (1 - e^-rate) e^(-rate k)`` for each of the positions."""
        ...


class FreshNoise:
    """Draws of ordinary noise, whatever the positions: nothing can be drawn again.

    >>> import numpy as np
    >>> from onesided import INFINITE
    >>> from onesided.noise import SecureNoise
    >>> FreshNoise(SecureNoise()).geometric(INFINITE, np.array([4, 9])).tolist()
    [0, 0]
    """

    def __init__(self, noise: Noise) -> None:
        self._noise = noise

    def geometric(self, rate: Loss, positions: IntArray) -> IntArray:
        """A new draw for each of the positions."""
        return self._noise.geometric(rate, positions.size)


class KeyedNoise:
    """The noise of one step: the same key, rate and position give the same draw, on any machine.

    Promise: for whoever does not know the key, draws of different positions and of different
    keys are independent, each exactly geometric. Position ``i`` reads block ``i`` of the AES-256
    keystream in counter mode from zero; what that leaves open is decided by blocks that no other
    position reads. So a draw does not depend on which other positions are asked for.
    A key serves one set of answers: used for two true counts at one position, it would tell
    their difference. Units: rate in nats per count. Errors: NoiseError for a key of another
    length, and for a copy.
    Proof: docs/proofs/keyed-noise.md

    >>> noise = KeyedNoise(bytes(32))
    >>> some, all_of_them = np.array([3, 5]), np.arange(6)
    >>> bool((noise.geometric(1, some) == noise.geometric(1, all_of_them)[some]).all())
    True
    """

    def __init__(self, key: bytes) -> None:
        if not isinstance(key, bytes) or len(key) != KEY_BYTES:
            raise NoiseError(
                f"A key of noise has {KEY_BYTES} bytes.", hint="Derive one for each step."
            )
        # One block at a time, each numbered by us: this is counter mode in any order.
        self._cipher = Cipher(AES256(key), ECB()).encryptor()  # noqa: S305 - numbered blocks

    def __reduce__(self) -> NoReturn:
        raise NoiseError("A key of noise does not travel.", hint="Derive it where it is used.")

    def geometric(self, rate: Loss, positions: IntArray) -> IntArray:
        """One draw for each position, a whole number from 0 to 2^62."""
        places = np.ascontiguousarray(positions, dtype=np.int64)
        out = np.zeros(places.size, dtype=np.int64)
        if isinstance(rate, Infinite) or not places.size:
            return out
        levels = plan(rate)
        for table, (level, shift) in enumerate(zip(levels.levels, levels.shifts, strict=True)):
            words = self._blocks(places, table=table)[:, 0]

            def more(place: int, table: int = table) -> _BlockBits:
                return _BlockBits(self, int(places[place]), table)

            out += level.decide(words, more) << shift
        return out

    def _blocks(self, places: IntArray, *, table: int, refinement: int = 0) -> WordArray:
        """The two words of each place's block."""
        numbers = np.empty((places.size, _WORDS_PER_BLOCK), dtype=">u8")
        numbers[:, 0] = table << _TABLE_SHIFT | refinement
        numbers[:, 1] = places.view(np.uint64)
        try:
            text = self._cipher.update(numbers.tobytes())
        except Exception as error:
            raise NoiseError(f"The cipher failed: {error}.", hint="Nothing was drawn.") from error
        return np.frombuffer(text, dtype="<u8").reshape(-1, _WORDS_PER_BLOCK)


class _BlockBits:
    """The further bits of one position in one table: the rest of its block, then its own blocks."""

    def __init__(self, noise: KeyedNoise, place: int, table: int) -> None:
        self._noise, self._place, self._table = noise, np.array([place]), table
        self._next = 1

    def word(self) -> int:
        """One word."""
        block, half = divmod(self._next, _WORDS_PER_BLOCK)
        self._next += 1
        words = self._noise._blocks(self._place, table=self._table, refinement=block)  # noqa: SLF001
        return int(words[0, half])

    def words(self, count: int) -> WordArray:
        """A new array of ``count`` words."""
        return np.array([self.word() for _ in range(count)], dtype=np.uint64)
