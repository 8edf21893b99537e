"""Whole-number totals, of either sign, with noise above, below or on both sides of the truth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from onesided._numbers import MAX_COUNT, Loss, Number, positive, rate, regular
from onesided.errors import DataError
from onesided.fields import Field, Rate
from onesided.mechanism._counts import CONFIDENCE, Interval, bounds_at
from onesided.mechanism._rates import rates_over
from onesided.noise import IntArray, Noise, SecureNoise, TwoSidedGeometric
from onesided.policy import Edge, Shift


@dataclass(frozen=True)
class Sums:
    """Release ``total + G_up - G_down``, two independent geometrics, for each total.

    Promise: along a move with ``Shift(rise, fall)`` of the totals, each an L1 sum over them, the
    loss is at most ``upper_rate * fall + lower_rate * rise`` (0 * INFINITE = 0), and exactly that
    where the totals can move so far.
    Direction: as for :class:`Counts`. What differs is that totals may be negative, and that one
    record may move them by more than 1: sums of bounded values, in steps of a declared grid.
    Units: rates in nats per step; totals and answers in steps.
    Source: Propositions 3 and 4 of the one-sided note, for any sensitivity. Errors: ParameterError.

    >>> from onesided.mechanism import Sums
    >>> from onesided.policy import Shift
    >>> print(Sums("1/10", "1/5").loss(Shift(rise=3, fall=5)))
    11/10
    """

    upper_rate: Rate = Field(rate)
    lower_rate: Rate = Field(rate)

    @classmethod
    def for_shifts(cls, shifts: Mapping[Edge, Iterable[Shift]], *, epsilon: Number) -> Sums:
        """The least noise that loses at most ``epsilon`` times an edge's weight along it.

        ``shifts``: per edge, every extreme way in which the totals can move.
        """
        return cls(*rates_over(shifts, positive(epsilon, name="epsilon")))

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> IntArray:
        """Noisy totals. Errors: DataError unless whole numbers within ``-2^62 .. 2^62``."""
        totals = totals_of(values)
        source = SecureNoise() if noise is None else noise
        return totals + source.two_sided(self.upper_rate, self.lower_rate, totals.size)

    def loss(self, shift: Shift) -> Loss:
        """Exactly ``upper_rate * fall + lower_rate * rise``."""
        return self.upper_rate * shift.fall + self.lower_rate * shift.rise

    @property
    def distribution(self) -> TwoSidedGeometric:
        """The noise's exact distribution."""
        return TwoSidedGeometric(self.upper_rate, self.lower_rate)

    def centred(self, noisy: IntArray) -> IntArray:
        """Noisy totals less the noise's median."""
        return noisy - self.distribution.median()

    def interval(self, noisy: IntArray, *, confidence: Number = CONFIDENCE) -> Interval:
        """Bounds on each true total; a side without noise is certain."""
        return bounds_at(self.distribution, noisy, confidence)


def totals_of(values: ArrayLike) -> IntArray:
    """``values`` as a one-dimensional array of whole numbers in [-2^62, 2^62]; no float."""
    array = regular(values)
    if array.size == 0 and array.ndim == 1:
        return np.zeros(0, dtype=np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise DataError(
            f"Totals must be a one-dimensional array of whole numbers, got {array.dtype} "
            f"with shape {array.shape}.",
            hint="Count in steps of a grid: numpy.asarray(totals, dtype=numpy.int64).",
        )
    bad = (array < -MAX_COUNT) | (array > MAX_COUNT)
    if bad.any():
        where = int(np.argmax(bad))
        raise DataError(
            f"Total {array[where]} at position {where} is outside -2^62 .. 2^62.",
            hint="Use a coarser step, or narrower bounds.",
            position=where,
        )
    return array.astype(np.int64)
