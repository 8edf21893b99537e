"""One-sided noise for sums to which one unit may add much: stairs where the geometric slopes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onesided._numbers import (
    INFINITE,
    MIN_RATE,
    Infinite,
    Loss,
    Number,
    exp_neg_bounds,
    rate,
    whole,
)
from onesided.errors import ParameterError
from onesided.fields import settle
from onesided.mechanism._base import counts_of
from onesided.mechanism._counts import confident
from onesided.mechanism._paid import count_moves, paid_rate
from onesided.noise import IntArray, Noise, SecureNoise
from onesided.policy import Policy, Shift

_BITS: Final = 128
_CANDIDATES: Final = 4096


@dataclass(frozen=True, slots=True)
class Staircase:
    """Release ``sum + T`` for each sum of whole values in 0 .. ``largest``, one per unit.

    T is falling stairs: ``Pr[T = k]`` is level on the first ``first`` values and then on each
    ``largest`` values, and from stair to stair it falls by ``e^-noise_rate``.
    Promise: along a move that lowers at most ``max_groups`` sums by ``fall`` in total, each by at
    most ``largest``: ``noise_rate`` for each sum, ``noise_rate * min(fall, max_groups)``. Where
    ``fall`` is more than all that (several units), once more for each further ``largest``.
    A rise has infinite loss. An answer is never below its sum.
    Units: the rate in nats per whole ``largest``, where :class:`Counts` has nats per step.

    Proof. ``T = largest * H + V``: H geometric at ``noise_rate``; V on 0 .. largest - 1, level
    before ``first`` and level after, the later level r times the earlier with ``q <= r <= 1``,
    q = e^-noise_rate. Let k < k' <= k + largest. If both lie in one turn of the stairs,
    ``Pr[k] / Pr[k']`` is 1 or 1/r <= 1/q. Else k' is in the next turn at no later place, and the
    ratio is V's at k over q times V's at k', where V never rises: at most 1/q. So a fall of one sum
    by s <= largest costs at most noise_rate; a larger one is a path of ceil(s / largest) such.
    r is q rounded up to a fraction, so V is drawn exactly, with no rejection.

    It is better than a geometric at the same loss, which is ``Counts(noise_rate / largest, ...)``,
    for one sum: no additive noise has a smaller variance or mean absolute error (found by linear
    programme; docs/proofs/stairs.md). For many sums per unit whose total is what is
    bounded, the geometric is better: it pays for the total, stairs for the number of sums.
    Source: ours, after Geng and Viswanath's two-sided staircase (2014). Errors: ParameterError.

    >>> from onesided.mechanism import Staircase
    >>> Staircase(1, largest=10).largest
    10
    """

    noise_rate: Loss
    largest: int
    first: int
    max_groups: int

    def __init__(
        self,
        noise_rate: Loss | Number,
        *,
        largest: int,
        first: int | None = None,
        max_groups: int = 1,
    ) -> None:
        top = whole(largest, name="largest", least=1, most=2**40)
        slope = rate(noise_rate, name="noise_rate")
        if slope < MIN_RATE * top:
            raise ParameterError(
                f"noise_rate {noise_rate!r} for values up to {top} is less than 2^-40 per step.",
                hint="Use a larger ε, or coarser steps.",
                value=noise_rate,
            )
        settle(
            self,
            noise_rate=slope,
            largest=top,
            first=_best_first(slope, top)
            if first is None
            else whole(first, name="first", least=1, most=top),
            max_groups=whole(max_groups, name="max_groups", least=1),
        )

    @classmethod
    def for_policy(
        cls,
        policy: Policy,
        *,
        epsilon: Number,
        largest: int,
        max_groups: int | None = None,
        counted: Iterable[str] | None = None,
    ) -> Staircase:
        """The least variance for sums, by group, of one value in 0 .. ``largest`` for each unit.

        Errors: UnprotectableError if some move raises a sum.
        """
        moves = count_moves(policy, epsilon=epsilon, max_groups=max_groups, counted=counted)
        slope = paid_rate(
            policy, moves, answers=None, what="a staircase", instead="ALap, with noise both ways"
        )
        groups = max((move.shift.fall for move in moves), default=1)
        return cls(slope, largest=largest, max_groups=groups)

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> IntArray:
        """Noisy sums. Errors: DataError unless ``values`` is an array of whole sums from 0."""
        sums = counts_of(values)
        return sums + self.draw(sums.size, SecureNoise() if noise is None else noise)

    def draw(self, size: int, noise: Noise) -> IntArray:
        """So many draws of T."""
        if isinstance(self.noise_rate, Infinite):
            return np.zeros(size, dtype=np.int64)
        turns = noise.geometric(self.noise_rate, size)
        return self.largest * turns + self._within(self.noise_rate, size, noise)

    def loss(self, shift: Shift) -> Loss:
        """``noise_rate`` for each sum that falls, and once more for each further ``largest``."""
        stairs = min(shift.fall, self.max_groups)
        if shift.fall > self.max_groups * self.largest:
            # Any split over that many sums takes at most so many stairs.
            stairs += (shift.fall - stairs) // self.largest
        return self.noise_rate * stairs + INFINITE * shift.rise

    @property
    def per_key(self) -> int:
        """``largest``: by how much a unit may change each sum."""
        return self.largest

    def mean(self) -> float:
        """The mean of T, to be taken out for unbiased answers."""
        return _moments(self.noise_rate, self.largest, np.array([self.first]))[0].item()

    def variance(self) -> float:
        """The variance of T."""
        return _moments(self.noise_rate, self.largest, np.array([self.first]))[1].item()

    def quantile(self, confidence: Number) -> int:
        """The least k with ``Pr[T > k] <= 1 - confidence``, from upper bounds of these chances.

        Errors: ParameterError for a confidence that is not strictly between 0 and 1.
        """
        miss = 1 - confident(confidence)
        bits = _BITS + miss.denominator.bit_length()
        low, high = -1, 0
        while self._tail_above(high, bits) > miss:
            low, high = high, 2 * high + self.largest
        while high - low > 1:
            middle = (low + high) // 2
            enough = self._tail_above(middle, bits) <= miss
            low, high = (low, middle) if enough else (middle, high)
        return high

    def median(self) -> int:
        """The least k with ``Pr[T > k] <= 1/2``."""
        return self.quantile(Fraction(1, 2))

    def _tail_above(self, k: int, bits: int) -> Fraction:
        """An upper bound of ``Pr[T > k]`` for k >= 0, above it by less than ``2^-bits``."""
        if isinstance(self.noise_rate, Infinite):
            return Fraction(0)
        turn, place = divmod(k, self.largest)
        later = (self.largest - self.first) * exp_neg_bounds(self.noise_rate, bits=_BITS)[1]
        if place < self.first:
            above = self.first - 1 - place + later
        else:
            above = later * (self.largest - 1 - place) / (self.largest - self.first)
        within = above / (self.first + later)
        # A later turn, or this one and a later place on it.
        beyond, here = (
            exp_neg_bounds(self.noise_rate * one, bits=bits)[1] for one in (turn + 1, turn)
        )
        return beyond * (1 - within) + here * within

    def _within(self, slope: Fraction, size: int, source: Noise) -> IntArray:
        """V: the place on a turn of the stairs."""
        late = self.largest - self.first
        if late == 0:
            return source.uniform(self.largest, size)
        later = late * exp_neg_bounds(slope, bits=_BITS)[1]
        early = source.bernoulli(self.first / (self.first + later), size)
        place = np.empty(size, dtype=np.int64)
        place[early] = source.uniform(self.first, int(early.sum()))
        place[~early] = self.first + source.uniform(late, int((~early).sum()))
        return place


def _best_first(slope: Loss, largest: int) -> int:
    """The first stair of least variance; of 4096 candidates where there are more."""
    if isinstance(slope, Infinite):
        return 1
    widths = np.unique(np.geomspace(1, largest, _CANDIDATES).round().astype(np.int64))
    if largest <= _CANDIDATES:
        widths = np.arange(1, largest + 1)
    return int(widths[np.argmin(_moments(slope, largest, widths)[1])])


def _moments(
    slope: Loss, largest: int, first: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and variance of T for each width of the first stair; public parameters only."""
    if isinstance(slope, Infinite):
        return np.zeros(first.size), np.zeros(first.size)
    early, late = first.astype(np.float64), (largest - first).astype(np.float64)
    fall = -np.expm1(-float(slope))
    share = early / (early + late * (1 - fall))
    means = (early - 1) / 2, early + (late - 1) / 2
    spreads = (early**2 - 1) / 12, np.where(late > 0, (late**2 - 1) / 12, 0.0)
    within = share * means[0] + (1 - share) * means[1]
    spread = share * (spreads[0] + (means[0] - within) ** 2)
    spread += (1 - share) * (spreads[1] + (means[1] - within) ** 2)
    turns = (1 - fall) / fall
    return largest * turns + within, largest**2 * turns / fall + spread
