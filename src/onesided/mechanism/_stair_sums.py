"""Whole-number totals, of either sign, with stairs of noise on one side of the truth."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from numpy.typing import ArrayLike

from onesided._numbers import INFINITE, Loss, Number
from onesided.mechanism._counts import CONFIDENCE, Interval, confident
from onesided.mechanism._staircase import Staircase
from onesided.mechanism._sums import Sums, totals_of
from onesided.noise import IntArray, Noise, SecureNoise
from onesided.policy import Shift


@dataclass(frozen=True, slots=True)
class StairSums:
    """Release ``total + T`` for each total, or ``total - T`` if ``below``; T as :class:`Staircase`.

    Promise: along a move that lowers (``below``: raises) at most ``stairs.max_groups`` totals, each
    by at most ``stairs.largest``: ``stairs.noise_rate`` for each of these totals. A move that goes
    the other way has infinite loss.
    Direction: as :class:`Sums` with noise on one side, which it can take the place of. What
    differs is who pays: slopes charge for all that moves, stairs for each total that does.
    Units: as :class:`Staircase`; totals and answers in steps.
    Proof: a total that falls by s has noise greater by s to be hidden in, whatever its size or
    sign; so that of :class:`Staircase` holds. Below, all signs are changed.
    Source: ours.

    >>> from onesided import Shift
    >>> stairs = Staircase(noise_rate=1, largest=10, first=3)
    >>> StairSums(stairs).loss(Shift(rise=0, fall=10))
    Fraction(1, 1)
    >>> StairSums(stairs).loss(Shift(rise=1, fall=0))
    INFINITE
    >>> StairSums(stairs, below=True).loss(Shift(rise=10, fall=0))
    Fraction(1, 1)
    """

    stairs: Staircase
    below: bool = False

    @classmethod
    def in_place_of(
        cls, sums: Sums, *, largest: int, max_groups: int, first: int | None = None
    ) -> StairSums:
        """Stairs that lose what ``sums`` does where totals move by ``largest`` each.

        ``sums`` must have noise on one side only. Errors: as :class:`Staircase`.
        """
        below = sums.upper_rate == INFINITE
        slope = (sums.lower_rate if below else sums.upper_rate) * largest
        return cls(Staircase(slope, largest=largest, first=first, max_groups=max_groups), below)

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> IntArray:
        """Noisy totals. Errors: DataError unless whole numbers within ``-2^62 .. 2^62``."""
        totals = totals_of(values)
        drawn = self.stairs.draw(totals.size, SecureNoise() if noise is None else noise)
        return totals - drawn if self.below else totals + drawn

    def loss(self, shift: Shift) -> Loss:
        """As :meth:`Staircase.loss`, of what rises if ``below``."""
        turned = Shift(rise=shift.fall, fall=shift.rise) if self.below else shift
        return self.stairs.loss(turned)

    @property
    def per_key(self) -> int:
        """``stairs.largest``: by how much a unit may change each total."""
        return self.stairs.largest

    @property
    def max_groups(self) -> int:
        """``stairs.max_groups``: how many totals a unit may change in one move."""
        return self.stairs.max_groups

    @property
    def upper_rate(self) -> Loss:
        """INFINITE if no noise is above, else how fast the stairs fall, in nats per step."""
        return INFINITE if self.below else self._slope

    @property
    def lower_rate(self) -> Loss:
        """The same below."""
        return self._slope if self.below else INFINITE

    @property
    def _slope(self) -> Loss:
        return self.stairs.noise_rate * Fraction(1, self.stairs.largest)

    @property
    def distribution(self) -> Staircase:
        """How far an answer is from the truth, on whichever side."""
        return self.stairs

    def centred(self, noisy: IntArray) -> IntArray:
        """Noisy totals less the noise's median."""
        middle = self.stairs.median()
        return noisy + middle if self.below else noisy - middle

    def interval(self, noisy: IntArray, *, confidence: Number = CONFIDENCE) -> Interval:
        """Bounds on each true total; the side without noise is certain."""
        reach = self.stairs.quantile(confident(confidence))
        return Interval(
            lower=noisy if self.below else noisy - reach,
            upper=noisy + reach if self.below else noisy,
            lower_certain=self.below,
            upper_certain=not self.below,
        )
