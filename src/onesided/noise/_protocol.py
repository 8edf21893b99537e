"""The one seam through which randomness enters a mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import Loss, Number

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
        ...

    def two_sided(self, upper: Rates, lower: Rates, size: int) -> IntArray:
        """``G_upper - G_lower``: noise above the truth at rate ``upper``, below at ``lower``."""
        ...

    def bernoulli(self, probability: Fraction | Number, size: int) -> BoolArray:
        """True with the given rational probability."""
        ...

    def bernoulli_exp(self, rate: Loss | Number, size: int) -> BoolArray:
        """True with probability ``e^-rate``; its complement has ``1 - e^-rate``."""
        ...

    def uniform(self, below: int, size: int) -> IntArray:
        """Whole numbers from 0 to ``below - 1``, equally likely; ``1 <= below <= 2^62``."""
        ...

    def permutation(self, length: int) -> IntArray:
        """The numbers 0 .. length - 1 in an order chosen uniformly among all orders."""
        ...

    def permute_and_flip(self, rate: Loss | Number, deficits: IntArray, sizes: IntArray) -> int:
        """A group of items, by the item that is the first of a random order to be accepted.

        Group ``g`` has ``sizes[g]`` items, each accepted with the chance ``e^(-rate deficits[g])``
        when its turn comes; so each accepted item is as likely to be the first. Deficits are whole
        numbers from 0, and some are 0; sizes at least 1, and 2^62 in all.
        """
        ...
