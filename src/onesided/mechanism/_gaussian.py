"""Noise of the exact discrete Gaussian: no pure ε, and less noise for many counts or sums."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import INFINITE, Loss, Number
from onesided.fields import Field, Flag, is_flag
from onesided.mechanism._steps import Gaussian
from onesided.mechanism.law import Noisy
from onesided.noise import DiscreteGaussian, IntArray, Noise
from onesided.noise.kit import variance_of
from onesided.policy import Shift

# Variances are rounded up to multiples of this, after a part of 2^-40 for what ledgers round up.
_GRID: Final = 2**20
_LEAST: Final = Fraction(1, 2**10)
_SPARE: Final = 1 + Fraction(1, 2**40)


@dataclass(frozen=True)
class GaussianSums(Noisy):
    """Release ``total + X`` for each total, X of the exact discrete Gaussian of σ² = ``variance``.

    Promise: no finite ε in either direction, so ``loss`` is INFINITE where anything moves; along a
    move that takes the totals an L2 distance of √squares the Rényi divergence at each order α is at
    most ``α squares / (2 σ²)``, which a renyi account adds (``steps``). Of ``Shift(rise, fall)`` no
    more is known than ``squares <= rise² + fall²``, as what rises and what falls are different
    totals; a session knows how far each of them moves. Nothing is certain on either side.
    Units: totals in steps, variance in squared steps, from 2^-10 to 2^78.
    Proof: docs/proofs/renyi.md. Source: Canonne, Kamath and Steinke 2020. Errors:
    ParameterError.

    >>> shift = Shift(rise=0, fall=3)
    >>> GaussianSums(50).loss(shift), GaussianSums(50).steps(shift).divergence(5)
    (INFINITE, Fraction(9, 20))
    """

    variance: Field[Number, Fraction] = Field(variance_of)
    _signed = True

    def loss(self, shift: Shift) -> Loss:
        """INFINITE where anything moves: the ratio of two chances grows without end."""
        return INFINITE * (shift.rise + shift.fall)

    def steps(self, shift: Shift) -> Gaussian:
        """What is known of it instead."""
        rise, fall = shift.rise, shift.fall
        return Gaussian(self.variance, rise**2 + fall**2, alike=rise + fall <= 1)

    def widened(self, parts: Iterable[tuple[Fraction, Fraction]]) -> Self:
        """With the least noise at which no part of an account grows.

        parts: for each edge what this takes of the whole account, and what it may take; the part
        falls as 1 / σ².
        """
        most = max(own / may for own, may in parts)
        variance = Fraction(math.ceil(self.variance * most * _SPARE * _GRID), _GRID)
        return replace(self, variance=max(variance, _LEAST))

    @property
    def distribution(self) -> DiscreteGaussian:
        """The noise's exact law."""
        return DiscreteGaussian(self.variance)

    @property
    def upper_rate(self) -> Loss:
        """Not INFINITE: there is noise above. No price follows from it."""
        return self.distribution.upper

    @property
    def lower_rate(self) -> Loss:
        """Not INFINITE: there is noise below."""
        return self.distribution.lower

    def _draw(self, size: int, noise: Noise) -> IntArray:
        return noise.gaussian(self.variance, size)


@dataclass(frozen=True)
class GaussianCounts(GaussianSums):
    """The same for counts of units, which are at least 0.

    Promise: that of :class:`GaussianSums`. alike: no count moves by more than 1 along any move, so
    that ``squares = rise + fall``. ``clip`` keeps estimates at or above 0.
    Source and errors: as :class:`GaussianSums`.

    >>> hundred = GaussianCounts(2904, alike=True)
    >>> shift = Shift(rise=0, fall=100)
    >>> hundred.loss(shift), round(float(hundred.steps(shift).divergence(33)), 3)
    (INFINITE, 0.568)
    """

    _: KW_ONLY
    alike: Flag = Field(is_flag, default=False)
    clip: Flag = Field(is_flag, default=False)
    _signed = False

    def estimate(self, noisy: IntArray) -> NDArray[Any]:
        """Post-process what :meth:`noisy` gave; free of charge."""
        return np.maximum(noisy, 0) if self.clip else noisy

    def steps(self, shift: Shift) -> Gaussian:
        """What is known of it instead."""
        told = GaussianSums.steps(self, shift)
        if self.alike:
            return replace(told, squares=shift.rise + shift.fall, alike=True)
        return told
