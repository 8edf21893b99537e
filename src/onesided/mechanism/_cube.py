"""Noise above many counts at once, for units that may be in most of the groups."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onesided._english import many
from onesided._numbers import (
    INFINITE,
    Infinite,
    Loss,
    Number,
    exp_neg_bounds,
    least_whole,
    log_up,
    rate,
    whole,
)
from onesided.errors import DataError
from onesided.fields import Field, Flag, Rate, Whole, is_flag, one_of
from onesided.mechanism._certify import (
    AdaptiveSparseVector,
    SparseAnswers,
    SparseVector,
    Thresholds,
    decide,
    thresholds_of,
    with_thresholds,
)
from onesided.mechanism._fit import Fitted, Move, counts_of, largest_rate
from onesided.mechanism._steps import Gaussian
from onesided.mechanism.law import CORRECTIONS, Correction, Counts, Noisy, corrected
from onesided.noise import BoolArray, DiscreteGaussian, IntArray, Noise, SecureNoise
from onesided.noise.kit import variance_of
from onesided.policy import Shift

MOST_KEYS: Final = 256
_BITS: Final = 64


@dataclass(frozen=True)
class CubeCounts(Fitted):
    """Release ``count + Z_i`` for all counts, Z uniform on {0, ..., L}^n, L one random level.

    ``Pr[L]`` is as ``e^(-noise_rate L) (L + 1)^n``, so that ``Pr[Z = z]`` is as
    ``e^(-noise_rate max z)``: what a move costs depends on the count that falls most, not on how
    many fall. For a unit in at most ℓ0 of n groups the mean of the noise is about
    ``(n + 1) / (2 ε) - 1/2``, that of :class:`Counts` at ε/ℓ0 about ``ℓ0 / ε - 1/2``: it is
    better if n + 1 < 2 ℓ0, up to twice, and worse for more groups. For many more groups than a
    unit is in, nothing is better than :class:`Counts` (docs/proofs/many-counts.md).

    Promise: along a move that lowers any number of counts, each by at most ``per_key``, the loss
    is at most ``noise_rate * min(fall, per_key)``; a move that raises a count has infinite loss.
    An answer is never below its count. The counts of one release are drawn together: asked for in
    parts, each part is a release of its own.
    Units: rate in nats per count; at most 256 counts.

    Proof and exact draw: docs/proofs/many-counts.md. Source: the one-sided form of the K-norm
    mechanism (Hardt and Talwar 2010) on whole numbers; ADP-2021's remark on isotropy.
    Errors: ParameterError.

    >>> from onesided import policy
    >>> from onesided.mechanism import CubeCounts
    >>> week = CubeCounts.for_policy(policy.presence(max_groups=7), epsilon=1)
    >>> week.noise_rate, round(week.mean(7), 2), round(week.share(7, room=7), 2)
    (Fraction(1, 1), 3.5, 0.85)
    """

    noise_rate: Rate = Field(rate)
    _: KW_ONLY
    per_key: Whole = Field(whole, least=1, default=1)

    _fitted = "noise_rate"
    _what = "noise on all counts at once"

    @staticmethod
    def pays(keys: int, *, max_groups: int) -> bool:
        """Whether the mean of this noise is below that of :class:`Counts`: keys + 1 < 2 groups.

        >>> CubeCounts.pays(7, max_groups=7), CubeCounts.pays(100, max_groups=7)
        (True, False)
        """
        number = whole(keys, name="keys", least=1)
        groups = whole(max_groups, name="max_groups", least=1)
        return number + 1 < 2 * min(groups, number)

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> IntArray:
        """The counts with noise above them.

        Errors: DataError unless ``values`` is a one-dimensional array of at most 256 counts.
        """
        counts = counts_of(values)
        _few(counts.size)
        if isinstance(self.noise_rate, Infinite) or not counts.size:
            return counts
        source = SecureNoise() if noise is None else noise
        level = self._eulerian(counts.size, source)
        level += int(source.geometric(self.noise_rate, counts.size + 1).sum())
        return counts + source.uniform(level + 1, counts.size)

    def at_most(self, noisy: IntArray, threshold: int) -> BoolArray:
        """True where a count is certainly at most ``threshold``; free of charge."""
        return noisy <= whole(threshold, name="threshold")

    def loss(self, shift: Shift) -> Loss:
        """``noise_rate * min(fall, per_key)``; INFINITE if any count rises."""
        return self.noise_rate * min(shift.fall, self.per_key) + INFINITE * shift.rise

    def mean(self, keys: int) -> float:
        """The mean of each count's noise, among so many."""
        _few(whole(keys, name="keys", least=1))
        return law_of(self.noise_rate, keys).mean()

    def share(self, keys: int, *, room: int) -> float:
        """The chance that each count's noise is below ``room``, in double precision.

        That is how surely a count f is certified to be at most t, with room t + 1 - f.
        """
        _few(whole(keys, name="keys", least=1))
        return law_of(self.noise_rate, keys).below(whole(room, name="room"))

    def _eulerian(self, keys: int, noise: Noise) -> int:
        """A whole number k, with probability as A(n, k) q^k: the first flip that comes out true.

        All flips are made, so that the work does not tell which.
        """
        flips = [noise.bernoulli(chance, 1)[0] for chance in _flips(self.noise_rate, keys)]
        return int(np.argmax([*flips, True]))


def _few(keys: int) -> None:
    if keys > MOST_KEYS:
        raise DataError(
            f"{keys:,} counts were given; noise on all at once is for at most {MOST_KEYS}.",
            hint="Use Counts: for many counts nothing is better.",
            keys=keys,
        )


@lru_cache(maxsize=64)
def _flips(noise_rate: Fraction, keys: int) -> tuple[Fraction, ...]:
    """For k = 0, 1, ...: the chance of k, given that it is not less; the last is certain."""
    q, row = _rounded_up(noise_rate), eulerian(keys)
    weights = [
        number * q.numerator**k * q.denominator ** (keys - 1 - k) for k, number in enumerate(row)
    ]
    left, chances = sum(weights), []
    for weight in weights[:-1]:
        chances.append(Fraction(weight, left))
        left -= weight
    return tuple(chances)


def _rounded_up(noise_rate: Fraction) -> Fraction:
    """A fraction of few bits that is at least ``e^-noise_rate``, and at most one part in 2^60 more.

    >>> 0 <= float(_rounded_up(Fraction(1))) - 0.36787944117144233 < 1e-15
    True
    """
    bits = _BITS + ceil(noise_rate * 3 / 2)
    high = exp_neg_bounds(noise_rate, bits=bits)[1]
    return Fraction(ceil(high * 2**bits), 2**bits)


@lru_cache(maxsize=64)
def eulerian(keys: int) -> tuple[int, ...]:
    """A(n, k) for k = 0 .. n - 1: how many orders of n things have k descents.

    >>> eulerian(1), eulerian(4)
    ((1,), (1, 11, 11, 1))
    """
    row = [1]
    for n in range(2, keys + 1):
        before = [0, *row, 0]
        row = [(k + 1) * before[k + 1] + (n - k) * before[k] for k in range(n)]
    return tuple(row)


# What a share in double precision is trusted to, many times its error.
_SPARE: Final = 1e-6


@dataclass(frozen=True)
class CubeEstimates(Noisy):
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
    correction: Field[Correction, Correction] = Field(one_of, words=CORRECTIONS, default="none")
    clip: bool = False

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

    def estimate(self, noisy: IntArray) -> NDArray[Any]:
        """Post-process what :meth:`noisy` gave, as :meth:`Counts.estimate` does."""
        return corrected(self, noisy, self.correction, clip=self.clip)

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

    # 1: by how much a unit may change each count.
    per_key = 1

    @property
    def upper_rate(self) -> Loss:
        """The rate of the noise above; together for all counts."""
        return self.noise_rate

    # INFINITE: no noise is below.
    lower_rate = INFINITE

    @property
    def distribution(self) -> CubeLaw:
        """The law of each count's noise."""
        return law_of(self.noise_rate, self.keys)


@dataclass(frozen=True)
class CubeThresholds:
    """Certify "at most t" by :class:`CubeCounts`: :class:`SparseVector` that never stops.

    Promise: along a move that lowers any number of counts, each by at most 1, the loss is at most
    ``noise_rate``; a move that raises a count has infinite loss. ``certified`` is never wrong. For
    n counts, each of at most t is certified at least as often as with independent noise at
    ``noise_rate / n``. below: the mirror, as for :class:`SparseVector`: "at least t", where counts
    only rise.
    Units: rate in nats per count; thresholds, counts and values in units of the count.
    Proof: docs/proofs/many-counts.md. Source: ours. Errors: ParameterError.

    >>> limits = CubeThresholds([5, 0], noise_rate=INFINITE)
    >>> limits.release([5, 1]).certified.tolist()
    [True, False]
    """

    thresholds: Field[int | Sequence[int], Thresholds] = Field(thresholds_of)
    _: KW_ONLY
    noise_rate: Rate = Field(rate)
    below: Flag = Field(is_flag, default=False)

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
        if alone.below:
            moves = [replace(move, shift=move.shift.negated) for move in moves]
        found = _rate_of(alone.rate, moves, keys=keys)
        if found is None or keys * alone.rate > found:
            return None
        return cls(alone.thresholds, noise_rate=found, below=alone.below)

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> SparseAnswers:
        """Ask for all of ``values`` at once. Errors: as :meth:`SparseVector.release`."""
        counts, levels = with_thresholds(values, self.thresholds)
        drawn, sign = CubeCounts(self.noise_rate).release(0 * counts, noise=noise), self.sign
        return decide(counts + sign * drawn, levels, left=None, sign=sign)

    def power(self, room: int, *, keys: int) -> float:
        """How often a count so far on the certified side of its threshold is certified, about."""
        return law_of(self.noise_rate, keys).below(whole(room, name="room") + 1)

    def loss(self, shift: Shift) -> Loss:
        """As :meth:`CubeCounts.loss`, each count falling by at most 1; rising, with noise below."""
        return CubeCounts(self.noise_rate).loss(shift.negated if self.below else shift)

    @property
    def sign(self) -> int:
        """1 where noise is above the truth, -1 where it is below."""
        return -1 if self.below else 1


@dataclass(frozen=True)
class CubeLaw:
    """The law of one count's noise among so many, in double precision."""

    levels: NDArray[np.float64]
    chances: NDArray[np.float64]
    noise_rate: Loss
    keys: int

    @property
    def upper(self) -> Loss:
        """The rate of the noise above; together for all counts."""
        return self.noise_rate

    @property
    def lower(self) -> Loss:
        """INFINITE: no noise is below."""
        return INFINITE

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

    quantile_upper = quantile

    def quantile_lower(self, confidence: Fraction) -> int:  # noqa: ARG002 - certain in any case
        """0: the noise is never below it."""
        return 0

    def _least(self, share: float) -> int:
        return least_whole(lambda k: k >= 0 and self.below(k + 1) >= share)


@lru_cache(maxsize=16)
def law_of(noise_rate: Loss, keys: int) -> CubeLaw:
    """The law of :class:`CubeCounts` at this rate, among so many counts."""
    if isinstance(noise_rate, Infinite):
        return CubeLaw(np.zeros(1), np.ones(1), noise_rate, keys)
    slope = float(noise_rate)
    # Both ends lie where the density is below e^-40 of its peak, at about keys / slope.
    most = (keys + 60 + 12 * keys**0.5) / slope + 40
    levels = np.arange(0, most, max(1, ceil(most / 2**21)), dtype=np.float64)
    logs = keys * np.log1p(levels) - slope * levels
    chances = np.exp(logs - logs.max())
    return CubeLaw(levels, chances / chances.sum(), noise_rate, keys)


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


# Noise of the exact discrete Gaussian: no pure ε, and less noise for many counts or sums.

# Variances are rounded up to multiples of this, after a part of 2^-40 for what ledgers round up.
_GRID: Final = 2**20
_LEAST: Final = Fraction(1, 2**10)
_TAIL: Final = 1 + Fraction(1, 2**40)


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
        variance = Fraction(math.ceil(self.variance * most * _TAIL * _GRID), _GRID)
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
