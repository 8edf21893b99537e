"""The samplers behind the names of the ``Noise`` protocol, written once over ``Bits``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from onesided import _numbers
from onesided._numbers import Infinite, Loss, Number
from onesided.errors import ParameterError
from onesided.noise import _bernoulli, _geometric, _shuffle
from onesided.noise._bits import Bits, NotPrivateScriptedBits, NotPrivateSeededBits
from onesided.noise._protocol import BoolArray, IntArray, Rates
from onesided.noise._secure import SecureBits

# Below this many coins, words drawn one by one are faster than numpy's calls.
_FEW = 16
_Grouped: TypeAlias = tuple[list[Loss], IntArray | None]


class ExactNoise:
    """Every draw independent and exactly distributed, given fair bits.

    Integers only: no float is computed from random bits. Rates are in nats per count, exact,
    from 2^-40 to 2^10, or INFINITE (always 0, and no bits are taken). Errors: ParameterError
    for rates, chances and sizes that cannot be meant, before any bit is drawn; NoiseError when
    bits cannot be had. Safe for several threads as far as its bits are.
    Proof: docs/exact-sampling.md
    """

    def __init__(self, bits: Bits) -> None:
        self._bits = bits

    def geometric(self, rate: Rates, size: int) -> IntArray:
        """``Pr[G = k] = (1 - e^-rate) e^(-rate k)`` for k = 0, 1, 2, ...; at most 2^53."""
        size = _size(size)
        rates, codes = _rates(rate, size, name="rate")
        return self._draw(rates, codes, size)

    def two_sided(self, upper: Rates, lower: Rates, size: int) -> IntArray:
        """``G_upper - G_lower``: noise above the truth at rate ``upper``, below at ``lower``."""
        size = _size(size)
        uppers, upper_codes = _rates(upper, size, name="upper")
        lowers, lower_codes = _rates(lower, size, name="lower")
        out = self._draw(uppers, upper_codes, size)
        if lower_codes is not None:
            out -= self._draw(lowers, lower_codes, size)
        elif not isinstance(lowers[0], Infinite):
            for start in range(0, size, _geometric.CHUNK):
                part = out[start : start + _geometric.CHUNK]
                part -= self._draw(lowers, None, len(part))
        return out

    def bernoulli(self, probability: Fraction | Number, size: int) -> BoolArray:
        """True with the given rational probability; this is also the mask of a Poisson sample."""
        size = _size(size)
        chance = _numbers.probability(probability, name="probability")
        if chance in {0, 1}:
            return np.full(size, chance == 1)
        flip = _bernoulli.flip_few if size < _FEW else _bernoulli.flip
        return flip(_bernoulli.rational_digits(chance), size, self._bits)

    def bernoulli_exp(self, rate: Loss | Number, size: int) -> BoolArray:
        """True with probability ``e^-rate``; its complement, ``~``, has ``1 - e^-rate``."""
        size = _size(size)
        number = _numbers.rate(rate, name="rate")
        if isinstance(number, Infinite):
            return np.zeros(size, dtype=np.bool_)
        flip = _bernoulli.flip_few if size < _FEW else _bernoulli.flip
        return flip(_bernoulli.exp_digits(number), size, self._bits)

    def uniform(self, below: int, size: int) -> IntArray:
        """Whole numbers from 0 to ``below - 1``, equally likely; ``1 <= below <= 2^62``."""
        size = _size(size)
        return _bernoulli.below(_numbers.whole(below, name="below", least=1), size, self._bits)

    def permutation(self, length: int) -> IntArray:
        """The numbers 0 .. length - 1 in an order chosen uniformly among all orders.

        Read as ranks (the rank of item ``i`` is the ``i``-th entry) it is just as uniform.
        """
        return _shuffle.shuffled(_size(length, name="length"), self._bits)

    def _draw(self, rates: list[Loss], codes: IntArray | None, size: int) -> IntArray:
        out = np.empty(size, dtype=np.int64)
        if codes is None:
            _geometric.fill(rates[0], out, self._bits)
        else:
            _geometric.fill_groups(rates, codes, out, self._bits)
        return out


class SecureNoise(ExactNoise):
    """Noise for production: AES-256-CTR bits under keys of the operating system.

    Promise: as :class:`ExactNoise`, with bits that nobody can predict or repeat. Threads,
    forked processes, copies and unpickled twins never share bits. There is no seed.
    """

    def __init__(self) -> None:
        super().__init__(SecureBits())


class NotPrivateSeededNoise(ExactNoise):
    """The same samplers over reproducible bits, for tests. NOT PRIVATE: the seed gives it away."""

    def __init__(self, seed: int) -> None:
        super().__init__(NotPrivateSeededBits(seed))


class NotPrivateScriptedNoise(ExactNoise):
    """The same samplers over 64-bit words that the test chose. NOT PRIVATE.

    Draws of many at one rate take 16 bits each, lowest first; draws of few a word each.
    """

    def __init__(self, words: Iterable[int]) -> None:
        super().__init__(NotPrivateScriptedBits(words))


def _size(size: object, *, name: str = "size") -> int:
    return _numbers.whole(size, name=name)


def _rates(rate: Any, size: int, *, name: str) -> _Grouped:
    """The distinct rates, and for each draw which of them it has; None when there is only one."""
    if isinstance(rate, Infinite | str | Decimal | Real):
        return [_numbers.rate(rate, name=name)], None
    if isinstance(rate, np.ndarray):
        return _array_rates(rate, size, name=name)
    if not isinstance(rate, Sequence):
        return [_numbers.rate(rate, name=name)], None
    _check_length(len(rate), size, name=name)
    # The type is part of the key: True must not pass because 1 did.
    codes: dict[tuple[type, object], int] = {}
    places = np.empty(size, dtype=np.int64)
    found: list[Loss] = []
    for i, value in enumerate(rate):
        key = (type(value), value)
        try:
            code = codes.get(key)
        except TypeError:
            code = None
        if code is None:
            found.append(_numbers.rate(value, name=name))
            code = codes[key] = len(found) - 1
        places[i] = code
    return found, places


def _array_rates(rate: NDArray[Any], size: int, *, name: str) -> _Grouped:
    if rate.ndim == 0:
        return _rates(rate.item(), size, name=name)
    if rate.ndim != 1:
        raise ParameterError(
            f"{name} must be one number or a list of them, got an array of shape {rate.shape}.",
            hint="Give a one-dimensional array.",
            shape=rate.shape,
        )
    _check_length(len(rate), size, name=name)
    if rate.dtype.kind not in "iuf":
        return _rates(rate.tolist(), size, name=name)
    distinct, places = np.unique(rate, return_inverse=True)
    found = [_numbers.rate(value, name=name) for value in distinct.tolist()]
    return found, places.astype(np.int64, copy=False)


def _check_length(length: int, size: int, *, name: str) -> None:
    if length != size:
        raise ParameterError(
            f"{name} has {length} entries for {size} draws.",
            hint="Give one rate, or one for each draw.",
            length=length,
            size=size,
        )
