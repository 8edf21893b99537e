"""Counts and thresholds of a session, with noise that is drawn for all of the counts at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onesided._english import many
from onesided._numbers import INFINITE, Infinite, Loss, Number, log_up, rate, whole
from onesided.errors import DataError
from onesided.fields import Field, Rate, Whole
from onesided.mechanism._adaptive import AdaptiveSparseVector
from onesided.mechanism._base import counts_of
from onesided.mechanism._counts import CONFIDENCE, Correction, Counts, Interval, confident
from onesided.mechanism._cube import MOST_KEYS, CubeCounts
from onesided.mechanism._paid import Move, largest_rate
from onesided.mechanism._sparse_vector import (
    SparseAnswers,
    SparseVector,
    Thresholds,
    decide,
    thresholds_of,
    with_thresholds,
)
from onesided.noise import IntArray, Noise
from onesided.policy import Shift

# What a share in double precision is trusted to, many times its error.
_SPARE: Final = 1e-6


@dataclass(frozen=True)
class CubeEstimates:
    """:class:`CubeCounts` of so many ``keys``, corrected, clipped and bounded as :class:`Counts`.

    Promise: that of :class:`CubeCounts`. An upper bound is the noisy count, and never wrong.
    Units: rate in nats per count; answers in counts. Errors: ParameterError.
    Proof: docs/proofs/many-counts.md. Source: ours.

    >>> seven = CubeEstimates(1, keys=7)
    >>> seven.loss(Shift(rise=0, fall=7)), seven.distribution.median()
    (Fraction(1, 1), 3)
    """

    noise_rate: Rate = Field(rate)
    _: KW_ONLY
    keys: Whole = Field(whole, least=1, most=MOST_KEYS)
    correction: Correction = "none"
    clip: bool = False

    def __post_init__(self) -> None:
        Counts(1, 1, correction=self.correction)  # refuses what is no correction

    @classmethod
    def in_place_of(
        cls, counts: Counts, moves: Iterable[Move], *, keys: int
    ) -> CubeEstimates | None:
        """The same answers with a third less noise on average, or more; None where they have not.

        moves: what ``counts`` keep. No edge is charged more than by ``counts``.

        >>> from onesided import policy
        >>> from onesided.mechanism.kit import count_moves
        >>> week = policy.presence(max_groups=7)
        >>> alone, moves = Counts.for_policy(week, epsilon=1), count_moves(week, epsilon=1)
        >>> CubeEstimates.in_place_of(alone, moves, keys=7).noise_rate
        Fraction(1, 1)
        >>> CubeEstimates.in_place_of(alone, moves, keys=30) is None
        True
        """
        found = _rate_of(counts.upper_rate, moves, keys=keys)
        if found is None:
            return None
        return cls(found, keys=keys, correction=counts.correction, clip=counts.clip)

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> NDArray[Any]:
        """Noisy counts after correction and clipping. Errors: as :meth:`noisy`."""
        return self.estimate(self.noisy(values, noise=noise))

    def noisy(self, values: ArrayLike, *, noise: Noise | None = None) -> IntArray:
        """Noisy counts before any post-processing. Errors: DataError unless there are ``keys``."""
        counts = counts_of(values)
        if counts.size != self.keys:
            raise DataError(
                f"{many(counts.size, 'count')} were given for {many(self.keys, 'key')}.",
                hint="Noise on all counts at once is for one number of counts; give each of them.",
                keys=self.keys,
            )
        return CubeCounts(self.noise_rate).release(counts, noise=noise)

    def loss(self, shift: Shift) -> Loss:
        """As :meth:`CubeCounts.loss`, each count falling by at most 1."""
        return CubeCounts(self.noise_rate).loss(shift)

    @property
    def per_key(self) -> int:
        """1: by how much a unit may change each count."""
        return 1

    @property
    def upper_rate(self) -> Loss:
        """The rate of the noise above; together for all counts."""
        return self.noise_rate

    @property
    def lower_rate(self) -> Loss:
        """INFINITE: no noise is below."""
        return INFINITE

    @property
    def distribution(self) -> CubeLaw:
        """The law of each count's noise."""
        return law_of(self.noise_rate, self.keys)

    def estimate(self, noisy: IntArray) -> NDArray[Any]:
        """Post-process what :meth:`noisy` gave, as :meth:`Counts.estimate` does."""
        centred: NDArray[Any] = noisy
        if self.correction == "mean":
            centred = noisy - self.distribution.mean()
        elif self.correction == "median":
            centred = noisy - self.distribution.median()
        return np.where(noisy <= 0, 0, np.maximum(centred, 0)) if self.clip else centred

    def interval(self, noisy: IntArray, *, confidence: Number = CONFIDENCE) -> Interval:
        """The noisy count above, for certain; below each holds with at least ``confidence``."""
        reach = self.distribution.quantile(confident(confidence))
        none = isinstance(self.noise_rate, Infinite)
        return Interval(noisy - reach, noisy, lower_certain=none, upper_certain=True).at_least(0)


@dataclass(frozen=True)
class CubeThresholds:
    """Certify "at most t" by :class:`CubeCounts`: :class:`SparseVector` that never stops.

    Promise: along a move that lowers any number of counts, each by at most 1, the loss is at most
    ``noise_rate``; a move that raises a count has infinite loss. ``certified`` is never wrong. For
    n counts, each of at most t is certified at least as often as with independent noise at
    ``noise_rate / n``.
    Units: rate in nats per count; thresholds, counts and values in units of the count.
    Proof: docs/proofs/many-counts.md. Source: ours. Errors: ParameterError.

    >>> limits = CubeThresholds([5, 0], noise_rate=INFINITE)
    >>> limits.release([5, 1]).certified.tolist()
    [True, False]
    """

    thresholds: Field[int | Sequence[int], Thresholds] = Field(thresholds_of)
    _: KW_ONLY
    noise_rate: Rate = Field(rate)

    @classmethod
    def in_place_of(
        cls, alone: SparseVector | AdaptiveSparseVector, moves: Iterable[Move], *, keys: int
    ) -> CubeThresholds | None:
        """The same answers, each at least as often certified; None where that is little or unsure.

        >>> from onesided import policy
        >>> from onesided.mechanism.kit import count_moves
        >>> week, asked = policy.presence(max_groups=7), {"epsilon": 1}
        >>> alone = SparseVector.for_policy(week, thresholds=5, **asked)
        >>> CubeThresholds.in_place_of(alone, count_moves(week, **asked), keys=7).noise_rate
        Fraction(1, 1)
        """
        if not isinstance(alone, SparseVector) or alone.max_answers is not None:
            return None
        found = _rate_of(alone.upper_rate, moves, keys=keys)
        if found is None or keys * alone.upper_rate > found:
            return None
        return cls(alone.thresholds, noise_rate=found)

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> SparseAnswers:
        """Ask for all of ``values`` at once. Errors: as :meth:`SparseVector.release`."""
        counts, levels = with_thresholds(values, self.thresholds)
        return decide(CubeCounts(self.noise_rate).release(counts, noise=noise), levels, left=None)

    def power(self, below: int, *, keys: int) -> float:
        """How often a count so far below its threshold is certified, in double precision."""
        return law_of(self.noise_rate, keys).below(whole(below, name="below") + 1)

    def loss(self, shift: Shift) -> Loss:
        """As :meth:`CubeCounts.loss`, each count falling by at most 1."""
        return CubeCounts(self.noise_rate).loss(shift)


@dataclass(frozen=True)
class CubeLaw:
    """The law of one count's noise among so many, in double precision."""

    levels: NDArray[np.float64]
    chances: NDArray[np.float64]
    noise_rate: Loss
    keys: int

    def mean(self) -> float:
        """Half the mean of the level."""
        return float(self.chances @ self.levels) / 2

    def variance(self) -> float:
        """That of a uniform number, and a quarter of the level's."""
        first, second = self.chances @ self.levels, self.chances @ self.levels**2
        return float((second + 2 * first) / 12 + (second - first**2) / 4)

    def below(self, room: int) -> float:
        """The chance of less than ``room``."""
        return float(self.chances @ np.minimum(1.0, room / (self.levels + 1)))

    def median(self) -> int:
        """The least k such that at most k is at least as likely as not."""
        return self._least(0.5)

    def quantile(self, confidence: Fraction) -> int:
        """A k such that at most k has at least this chance; the least, or a little more.

        Below 10^-4 a miss is bounded by ``e^(-noise_rate k / keys)``, in fractions.
        """
        if isinstance(self.noise_rate, Infinite):
            return 0
        miss = 1 - confidence
        if miss > 100 * Fraction(_SPARE):
            return self._least(float(confidence) + _SPARE)
        return ceil(self.keys * log_up(1 / miss, bits=96) / self.noise_rate) + 1

    def _least(self, share: float) -> int:
        low, high = 0, 1
        while self.below(high + 1) < share:
            low, high = high, 2 * high
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self.below(middle + 1) >= share else (middle + 1, high)
        return low


@lru_cache(maxsize=16)
def law_of(noise_rate: Loss, keys: int) -> CubeLaw:
    """The law of :class:`CubeCounts` at this rate, among so many counts."""
    levels, chances = CubeCounts(noise_rate).levels(keys)
    return CubeLaw(levels, chances, noise_rate, keys)


def _rate_of(alone: Loss, moves: Iterable[Move], *, keys: int) -> Fraction | None:
    """The rate of noise on all counts at once, in place of independent noise; None if it cannot be.

    It cannot where a count may rise, or where some edge would be charged more. It is not worth
    while unless its mean, about (keys + 1) / (2 rate), is a third below that of independent noise,
    1 / alone: someone who leaves one of several groups may lose all of ε, and no longer a share.
    """
    known = list(moves)
    if not known or keys > MOST_KEYS or any(move.shift.rise for move in known):
        return None
    found = largest_rate(known, lambda shift: min(shift.fall, 1))
    most: dict[object, int] = {}
    for move in known:
        most[move.edge] = max(most.get(move.edge, 0), move.shift.fall)
    if isinstance(found, Infinite) or any(alone * fall < found for fall in most.values()):
        return None
    return found if 3 * (keys + 1) * alone <= 4 * found else None
