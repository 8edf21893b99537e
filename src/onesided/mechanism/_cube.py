"""Noise above many counts at once, for units that may be in most of the groups."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from onesided._numbers import INFINITE, Infinite, Loss, Number, exp_neg_bounds, rate, whole
from onesided.errors import DataError, UnprotectableError
from onesided.fields import Field, Rate, Whole
from onesided.mechanism._base import counts_of
from onesided.mechanism._paid import count_moves, largest_rate
from onesided.noise import BoolArray, IntArray, Noise, SecureNoise
from onesided.policy import Policy, Shift

MOST_KEYS: Final = 256
_BITS: Final = 64


@dataclass(frozen=True)
class CubeCounts:
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

    @classmethod
    def for_policy(
        cls,
        policy: Policy,
        *,
        epsilon: Number,
        max_groups: int | None = None,
        counted: Iterable[str] | None = None,
        truncated: bool = False,
    ) -> CubeCounts:
        """The least noise of this kind that keeps ``(epsilon, policy)`` for counts of units.

        Errors: UnprotectableError if some move raises a count.
        """
        moves = count_moves(
            policy, epsilon=epsilon, max_groups=max_groups, counted=counted, truncated=truncated
        )
        for move in moves:
            if move.shift.rise:
                raise UnprotectableError(
                    f"Under the policy '{policy.name}' a count may have to pass as a larger one "
                    f"({move.edge.name}), so noise above the truth cannot hide it.",
                    hint="Use a policy whose moves only lower counts, or mechanism.Counts.",
                )
        return cls(largest_rate(moves, lambda shift: min(shift.fall, 1)))

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
        noisy: IntArray = counts + source.uniform(level + 1, counts.size)
        return noisy

    def at_most(self, noisy: IntArray, threshold: int) -> BoolArray:
        """True where a count is certainly at most ``threshold``; free of charge."""
        certified: BoolArray = noisy <= whole(threshold, name="threshold")
        return certified

    def loss(self, shift: Shift) -> Loss:
        """``noise_rate * min(fall, per_key)``; INFINITE if any count rises."""
        return self.noise_rate * min(shift.fall, self.per_key) + INFINITE * shift.rise

    def mean(self, keys: int) -> float:
        """The mean of each count's noise, among so many."""
        _few(whole(keys, name="keys", least=1))
        levels, chances = self.levels(keys)
        return float(chances @ levels) / 2

    def share(self, keys: int, *, room: int) -> float:
        """The chance that each count's noise is below ``room``, in double precision.

        That is how surely a count f is certified to be at most t, with room t + 1 - f.
        """
        _few(whole(keys, name="keys", least=1))
        below = whole(room, name="room")
        levels, chances = self.levels(keys)
        return float(chances @ np.minimum(1.0, below / (levels + 1)))

    def levels(self, keys: int) -> tuple[np.ndarray, np.ndarray]:
        """Levels and their chances, as doubles, for what is told of the noise."""
        if isinstance(self.noise_rate, Infinite):
            return np.zeros(1), np.ones(1)
        slope = float(self.noise_rate)
        # Both ends lie where the density is below e^-40 of its peak, at about keys / slope.
        most = (keys + 60 + 12 * keys**0.5) / slope + 40
        step = max(1, ceil(most / 2**21))
        levels = np.arange(0, most, step)
        logs = keys * np.log1p(levels) - slope * levels
        chances = np.exp(logs - logs.max())
        return levels, chances / chances.sum()

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
