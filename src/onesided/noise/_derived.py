"""Bits that a task on another machine can repeat: derived from a secret and the task's part.

An engine that runs a failed task again must get the same coins again: otherwise a task that fails
when many rows are kept would be drawn until few are. So the coins of one part of a table are a
function of a secret, drawn once for one release, and of the part's number. Nothing here makes up
a secret: production draws it from :class:`onesided.noise.SecureNoise`.
"""

from __future__ import annotations

from typing import Final, NoReturn

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import CTR
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from onesided._numbers import whole
from onesided._process import this_process
from onesided.errors import NoiseError
from onesided.noise._bits import WordArray
from onesided.noise._noise import ExactNoise, SecureNoise
from onesided.noise._protocol import Noise

_PURPOSE: Final = b"onesided part of a sample, version 1"
# Five numbers below 2^62: 310 bits, more than HKDF-SHA256 can pass on.
_NUMBERS: Final = 5
_BELOW: Final = 2**62
_SECRET_BYTES: Final = 8 * _NUMBERS
_KEY_BYTES: Final = 32
_WORD_BYTES: Final = 8
_BYTES_PER_KEY: Final = 2**30


def new_secret(noise: Noise | None) -> bytes:
    """A secret for one release, of at least 256 bits. Use it for nothing else and keep it nowhere.

    noise: for tests; None draws from the operating system.

    >>> len(new_secret(None)) >= 32
    True
    """
    source = SecureNoise() if noise is None else noise
    return source.uniform(_BELOW, _NUMBERS).astype("<i8").tobytes()


class PartNoise(ExactNoise):
    """The noise of part number ``part`` of ``parts``, under one release's secret.

    Promise: as :class:`onesided.noise.ExactNoise`, as long as nobody knows the secret. Parts share
    no bits: the key of each is HKDF-SHA256 of the secret and of the two numbers, the bits are
    AES-256 in counter mode. Two objects for one part give the same bits, so each part must be
    drawn, and published, once; what was lost before that may be drawn again and is the same.
    Errors: ParameterError for numbers that are not a part; NoiseError for a secret of another
    length, a copy, or use in a forked process.

    >>> secret = bytes(40)  # of new_secret(None)
    >>> one, again = (PartNoise(secret, part=1, parts=3) for _ in range(2))
    >>> one.geometric(1, 5).tolist() == again.geometric(1, 5).tolist()
    True
    """

    def __init__(self, secret: bytes, *, part: int, parts: int) -> None:
        many = whole(parts, name="parts", least=1, most=_BELOW)
        number = whole(part, name="part", least=0, most=many - 1)
        super().__init__(_PartBits(secret, number, many))


class _PartBits:
    """The keystream of one part."""

    def __init__(self, secret: bytes, part: int, parts: int) -> None:
        if not isinstance(secret, bytes) or len(secret) != _SECRET_BYTES:
            raise NoiseError(
                f"A secret has {_SECRET_BYTES} bytes.", hint="Make it with new_secret()."
            )
        self._secret = secret
        self._part = part.to_bytes(8, "big") + parts.to_bytes(8, "big")
        self._process = this_process()
        self._keys = self._left = 0
        self._next_key()

    def __reduce__(self) -> NoReturn:
        raise NoiseError(
            "The noise of a part cannot be copied: the copy would repeat its bits.",
            hint="Make it where it is used.",
        )

    def words(self, count: int) -> WordArray:
        """A new array of ``count`` words."""
        return np.frombuffer(bytearray(self._bytes(count * _WORD_BYTES)), dtype=np.uint64)

    def word(self) -> int:
        """One word."""
        return int.from_bytes(self._bytes(_WORD_BYTES), "little")

    def _bytes(self, count: int) -> bytes:
        if self._process != this_process():
            raise NoiseError(
                "The noise of a part was used in a forked process.",
                hint="Make it where it is used: both processes would draw the same bits.",
            )
        found = []
        while count:
            if not self._left:
                self._next_key()
            step = min(count, self._left)
            found.append(self._cipher.update(bytes(step)))
            self._left -= step
            count -= step
        return b"".join(found)

    def _next_key(self) -> None:
        """The part's next key, for at most 2^30 bytes. No key serves twice: the nonce may be 0."""
        info = _PURPOSE + self._part + self._keys.to_bytes(8, "big")
        key = HKDF(algorithm=SHA256(), length=_KEY_BYTES, salt=None, info=info).derive(self._secret)
        self._cipher = Cipher(AES256(key), CTR(bytes(16))).encryptor()
        self._keys += 1
        self._left = _BYTES_PER_KEY
