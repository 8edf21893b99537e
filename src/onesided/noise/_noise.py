"""The noise that mechanisms are given: exact draws, over threads, derived, or of a key."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import pairwise
from threading import Thread
from typing import Final, NoReturn, Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import CTR, ECB
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from onesided import _numbers
from onesided._numbers import INFINITE, Infinite, Loss, Number, whole
from onesided._process import this_process
from onesided.errors import NoiseError
from onesided.noise import _gaussian, _geometric, _order, _uniforms
from onesided.noise._geometric import plan
from onesided.noise._source import (
    Bits,
    BoolArray,
    IntArray,
    Noise,
    NotPrivateScriptedBits,
    NotPrivateSeededBits,
    Rates,
    SecureBits,
    WordArray,
)

# One large task over several threads, that share nothing but the array they fill.


# From so many draws on, a thread is worth its start.
FROM = 2**20
_MOST = 4


def cores() -> int:
    """How many cores this process may use, four at most."""
    if hasattr(os, "sched_getaffinity"):
        return min(len(os.sched_getaffinity(0)), _MOST)
    return min(os.cpu_count() or 1, _MOST)


def spread(fill: Callable[[IntArray], None], out: IntArray, threads: int) -> None:
    """Have each of so many threads fill a stretch of ``out``; the caller's fills the first.

    All have ended when this returns, so none is there when the process forks later. What one
    raises is raised here.
    """
    if threads == 1 or len(out) < threads:
        return fill(out)
    step = -(-len(out) // threads)
    first, *others = (out[start : start + step] for start in range(0, len(out), step))
    failures: list[BaseException] = []

    def guarded(part: IntArray) -> None:
        try:
            fill(part)
        except BaseException as failure:  # noqa: BLE001 - raised below, by the caller's thread
            failures.append(failure)

    started = []
    for part in others:
        helper = Thread(target=guarded, args=(part,))
        try:
            helper.start()
        except RuntimeError:  # no thread can be had: at the end of the process, or too many
            guarded(part)
        else:
            started.append(helper)
    guarded(first)
    for helper in started:
        helper.join()
    if failures:
        raise failures[0]
    return None


# The samplers behind the names of the ``Noise`` protocol, written once over ``Bits``.

# Below this many coins, words drawn one by one are faster than numpy's calls.
_FEW = 16


class ExactNoise:
    """Every draw independent and exactly distributed, given fair bits.

    Integers only: no float is computed from random bits. Rates are in nats per count, exact,
    from 2^-40 to 2^10, or INFINITE (always 0, and no bits are taken). Errors: ParameterError
    for invalid rates, chances and sizes, before any bit is drawn; NoiseError when
    bits cannot be had. Safe for several threads as far as its bits are.
    Proof: docs/exact-sampling.md
    """

    def __init__(self, bits: Bits) -> None:
        self._bits = bits

    def geometric(self, rate: Rates, size: int) -> IntArray:
        """``Pr[G = k] = (1 - e^-rate) e^(-rate k)`` for k = 0, 1, 2, ...; at most 2^53."""
        size = _uniforms.size(size)
        rates = _uniforms.rates(rate, size, name="rate")
        if size == 1 and not isinstance(rates, _uniforms.EachRate):
            return _one(_geometric.single(rates, self._bits))
        return self._draw(rates, INFINITE, size)

    def two_sided(self, upper: Rates, lower: Rates, size: int) -> IntArray:
        """``G_upper - G_lower``: noise above the truth at rate ``upper``, below at ``lower``."""
        size = _uniforms.size(size)
        uppers = _uniforms.rates(upper, size, name="upper")
        lowers = _uniforms.rates(lower, size, name="lower")
        if not isinstance(lowers, _uniforms.EachRate):
            if size == 1 and not isinstance(uppers, _uniforms.EachRate):
                above = _geometric.single(uppers, self._bits)
                return _one(above - _geometric.single(lowers, self._bits))
            return self._draw(uppers, lowers, size)
        out = self._draw(uppers, INFINITE, size)
        for piece in lowers.pieces():
            out[piece.where] -= _geometric.fill_each(piece, self._bits)
        return out

    def gaussian(self, variance: Number, size: int) -> IntArray:
        """``Pr[X = x]`` as ``e^(-x² / (2 variance))`` for all whole x; 2^-10 to 2^78."""
        size = _uniforms.size(size)
        parameter = _gaussian.variance_of(variance, name="variance")
        laplace = lambda rate, many: self.two_sided(rate, rate, many)  # noqa: E731
        return _gaussian.drawn(parameter, size, laplace, self._bits)

    def bernoulli(self, probability: Fraction | Number, size: int) -> BoolArray:
        """True with the given rational probability; this is also the mask of a Poisson sample."""
        size = _uniforms.size(size)
        chance = _uniforms.chance(probability)
        if chance.denominator == 1:
            return np.full(size, chance.numerator == 1)
        flip = _uniforms.flip_few if size < _FEW else _uniforms.flip
        return flip(_uniforms.rational_digits(chance), size, self._bits)

    def bernoulli_exp(self, rate: Loss | Number, size: int) -> BoolArray:
        """True with probability ``e^-rate``; its complement, ``~``, has ``1 - e^-rate``."""
        size = _uniforms.size(size)
        number = _uniforms.rate(rate, name="rate")
        if isinstance(number, Infinite):
            return np.zeros(size, dtype=np.bool_)
        flip = _uniforms.flip_few if size < _FEW else _uniforms.flip
        return flip(_uniforms.exp_digits(number), size, self._bits)

    def uniform(self, below: int, size: int) -> IntArray:
        """Whole numbers from 0 to ``below - 1``, equally likely; ``1 <= below <= 2^62``."""
        size = _uniforms.size(size)
        if type(below) is not int or not 1 <= below <= _numbers.MAX_COUNT:
            below = _numbers.whole(below, name="below", least=1)
        draw = _uniforms.below_few if size < _FEW else _uniforms.below
        return draw(below, size, self._bits)

    def permutation(self, length: int) -> IntArray:
        """The numbers 0 .. length - 1 in an order chosen uniformly among all orders.

        Read as ranks (the rank of item ``i`` is the ``i``-th entry) it is just as uniform.
        """
        return _order.shuffled(_uniforms.size(length, name="length"), self._bits)

    def permute_and_flip(self, rate: Loss | Number, deficits: IntArray, sizes: IntArray) -> int:
        """The group of the item that is the first of a random order to be accepted.

        Group ``g`` has ``sizes[g]`` items, each accepted with the chance ``e^(-rate deficits[g])``
        when its turn comes. Time grows with the groups, not with the items.
        """
        number = _uniforms.rate(rate, name="rate")
        short, many = _uniforms.groups(deficits, sizes)
        if isinstance(number, Infinite):
            sure = np.flatnonzero(short == 0)
            found = _order.taken(Fraction(1), short[sure], many[sure], self._bits)
            return int(sure[found])
        return _order.taken(number, short, many, self._bits)

    def permute_and_flip_each(
        self, rate: Fraction, deficits: IntArray, sizes: IntArray, ends: IntArray
    ) -> tuple[IntArray, IntArray]:
        """Of many draws, whose groups stand together up to ``ends``, each one's group and item."""
        number = _uniforms.rate(rate, name="rate")
        return _order.taken_each(number, deficits, sizes, ends, self._bits)  # type: ignore[arg-type] # finite

    def _draw(self, uppers: Loss | _uniforms.EachRate, lower: Loss, size: int) -> IntArray:
        out = np.empty(size, dtype=np.int64)
        if isinstance(uppers, _uniforms.EachRate):
            for piece in uppers.pieces():
                out[piece.where] = _geometric.fill_each(piece, self._bits)
            if not isinstance(lower, Infinite):
                out += self._draw(INFINITE, lower, size)
            return out

        def fill(part: IntArray) -> None:
            _geometric.fill_difference(uppers, lower, part, self._bits)

        spread(fill, out, self._threads if size >= FROM else 1)
        return out

    @property
    def _threads(self) -> int:
        """How many threads may draw at once: one, as bits have an order that can be repeated."""
        return 1


def _one(draw: int) -> IntArray:
    out = np.empty(1, dtype=np.int64)
    out[0] = draw
    return out


def permuted(
    noise: Noise, rate: Loss, deficits: IntArray, sizes: IntArray, ends: IntArray
) -> tuple[IntArray, IntArray]:
    """Many draws of permute and flip at one rate: of each the group, and which of its items.

    The groups of a draw stand together, up to its ``ends``. Sources with samplers of their own
    draw one after the other.

    >>> from onesided import INFINITE
    >>> given = (np.array(one) for one in ([0, 1, 2, 0], [1, 9, 9, 1], [2, 4]))
    >>> groups, items = permuted(SecureNoise(), INFINITE, *given)
    >>> groups.tolist(), items.tolist()
    ([0, 3], [0, 0])
    """
    if isinstance(noise, ExactNoise) and not isinstance(rate, Infinite):
        return noise.permute_and_flip_each(rate, deficits, sizes, ends)
    groups, items = np.empty_like(ends), np.zeros_like(ends)
    for draw, (start, end) in enumerate(pairwise([0, *ends.tolist()])):
        group = start + noise.permute_and_flip(rate, deficits[start:end], sizes[start:end])
        groups[draw], many = group, int(sizes[group])
        items[draw] = noise.uniform(many, 1)[0] if many > 1 else 0
    return groups, items


class SecureNoise(ExactNoise):
    """Noise for production: AES-256-CTR bits under keys of the operating system.

    Promise: as :class:`ExactNoise`, with bits that nobody can predict or repeat. Threads,
    forked processes, copies and unpickled twins never share bits. There is no seed.

    >>> from onesided.noise import SecureNoise
    >>> bool(SecureNoise().geometric("1/2", 3).min() >= 0)
    True
    """

    def __init__(self) -> None:
        super().__init__(SecureBits())

    @property
    def _threads(self) -> int:
        """As many as there are cores: each thread has a key of its own."""
        return cores()


class NotPrivateSeededNoise(ExactNoise):
    """The same samplers over reproducible bits, for tests. NOT PRIVATE: the seed gives it away.

    >>> from onesided.noise import NotPrivateSeededNoise
    >>> one, two = NotPrivateSeededNoise(7), NotPrivateSeededNoise(7)
    >>> bool((one.geometric(1, 5) == two.geometric(1, 5)).all())
    True
    """

    def __init__(self, seed: int) -> None:
        super().__init__(NotPrivateSeededBits(seed))


class NotPrivateScriptedNoise(ExactNoise):
    """The same samplers over 64-bit words that the test chose. NOT PRIVATE.

    Draws of many at one rate take 16 bits each, lowest first; draws of few a word each.

    >>> script = [0, 2**63, 2**64 - 1]
    >>> NotPrivateScriptedNoise(script).uniform(4, 1).tolist()
    [0]
    """

    def __init__(self, words: Iterable[int]) -> None:
        super().__init__(NotPrivateScriptedBits(words))


# Bits that a task on another machine can repeat: derived from a secret and the task's part.
#
# An engine that runs a failed task again must get the same coins again: otherwise a task that fails
# when many rows are kept would be drawn until few are. So the coins of one part of a table are a
# function of a secret, drawn once for one release, and of the part's number. Nothing here makes up
# a secret: production draws it from :class:`onesided.noise.SecureNoise`.

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


# Noise that depends on a key and a position alone: drawn again, it is the same.

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
