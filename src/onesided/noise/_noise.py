"""The samplers behind the names of the ``Noise`` protocol, written once over ``Bits``."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from onesided import _numbers
from onesided._numbers import INFINITE, Infinite, Loss, Number
from onesided.noise import _arguments, _bernoulli, _geometric, _permute_flip, _shuffle, _uniform
from onesided.noise._bits import Bits, NotPrivateScriptedBits, NotPrivateSeededBits
from onesided.noise._protocol import BoolArray, IntArray, Rates
from onesided.noise._secure import SecureBits
from onesided.noise._spread import FROM, cores, spread

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
        size = _arguments.size(size)
        rates = _arguments.rates(rate, size, name="rate")
        if size == 1 and not isinstance(rates, _arguments.EachRate):
            return _one(_geometric.single(rates, self._bits))
        return self._draw(rates, INFINITE, size)

    def two_sided(self, upper: Rates, lower: Rates, size: int) -> IntArray:
        """``G_upper - G_lower``: noise above the truth at rate ``upper``, below at ``lower``."""
        size = _arguments.size(size)
        uppers = _arguments.rates(upper, size, name="upper")
        lowers = _arguments.rates(lower, size, name="lower")
        if not isinstance(lowers, _arguments.EachRate):
            if size == 1 and not isinstance(uppers, _arguments.EachRate):
                above = _geometric.single(uppers, self._bits)
                return _one(above - _geometric.single(lowers, self._bits))
            return self._draw(uppers, lowers, size)
        out = self._draw(uppers, INFINITE, size)
        for piece in lowers.pieces():
            out[piece.where] -= _geometric.fill_each(piece, self._bits)
        return out

    def bernoulli(self, probability: Fraction | Number, size: int) -> BoolArray:
        """True with the given rational probability; this is also the mask of a Poisson sample."""
        size = _arguments.size(size)
        chance = _arguments.chance(probability)
        if chance.denominator == 1:
            return np.full(size, chance.numerator == 1)
        flip = _bernoulli.flip_few if size < _FEW else _bernoulli.flip
        return flip(_bernoulli.rational_digits(chance), size, self._bits)

    def bernoulli_exp(self, rate: Loss | Number, size: int) -> BoolArray:
        """True with probability ``e^-rate``; its complement, ``~``, has ``1 - e^-rate``."""
        size = _arguments.size(size)
        number = _arguments.rate(rate, name="rate")
        if isinstance(number, Infinite):
            return np.zeros(size, dtype=np.bool_)
        flip = _bernoulli.flip_few if size < _FEW else _bernoulli.flip
        return flip(_bernoulli.exp_digits(number), size, self._bits)

    def uniform(self, below: int, size: int) -> IntArray:
        """Whole numbers from 0 to ``below - 1``, equally likely; ``1 <= below <= 2^62``."""
        size = _arguments.size(size)
        if type(below) is not int or not 1 <= below <= _numbers.MAX_COUNT:
            below = _numbers.whole(below, name="below", least=1)
        draw = _uniform.below_few if size < _FEW else _uniform.below
        return draw(below, size, self._bits)

    def permutation(self, length: int) -> IntArray:
        """The numbers 0 .. length - 1 in an order chosen uniformly among all orders.

        Read as ranks (the rank of item ``i`` is the ``i``-th entry) it is just as uniform.
        """
        return _shuffle.shuffled(_arguments.size(length, name="length"), self._bits)

    def permute_and_flip(self, rate: Loss | Number, deficits: IntArray, sizes: IntArray) -> int:
        """The group of the item that is the first of a random order to be accepted.

        Group ``g`` has ``sizes[g]`` items, each accepted with the chance ``e^(-rate deficits[g])``
        when its turn comes. Time grows with the groups, not with the items.
        """
        number = _arguments.rate(rate, name="rate")
        short, many = _arguments.groups(deficits, sizes)
        if isinstance(number, Infinite):
            sure = np.flatnonzero(short == 0)
            found = _permute_flip.taken(Fraction(1), short[sure], many[sure], self._bits)
            return int(sure[found])
        return _permute_flip.taken(number, short, many, self._bits)

    def _draw(self, uppers: Loss | _arguments.EachRate, lower: Loss, size: int) -> IntArray:
        out = np.empty(size, dtype=np.int64)
        if isinstance(uppers, _arguments.EachRate):
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
