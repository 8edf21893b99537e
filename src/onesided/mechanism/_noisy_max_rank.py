"""A public candidate above which about so many values lie, by noise on ranks from above."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import ArrayLike

from onesided._numbers import INFINITE, Infinite, Loss, Number, rate, whole
from onesided.errors import DataError
from onesided.fields import Field, Rate, Whole
from onesided.mechanism._base import counts_of
from onesided.mechanism._counts import CONFIDENCE, confident
from onesided.mechanism._noisy_max_quantile import MOST_CANDIDATES
from onesided.mechanism._paid import count_moves, largest_rate
from onesided.noise import IntArray, Noise, SecureNoise
from onesided.policy import Policy, Shift


@dataclass(frozen=True)
class NoisyMaxRank:
    """Release one of ``candidates`` ordered candidates, above which about ``above`` values lie.

    Every value is one of the candidates. With R values above candidate x and E at it, its distance
    is ``d(x) = max(R - above, above - R - E)``. Permute and flip by these distances, as
    :class:`onesided.mechanism.NoisyMaxQuantile` does by its own. No number of values is needed.

    Promise: along a move with ``Shift(rise, fall)`` of how many values each candidate has, the
    loss is at most ``2 noise_rate max(rise, fall)``.
    Proof. One value more: R and R + E rise by 0 or 1, so each of the two terms changes by -1, 0 or
    1. A value that becomes another: R and R + E change by -1, 0 or 1. So changes lie within
    [-1, 1], spans add up, and permute and flip loses ``noise_rate`` times the span.
    Direction: no side is certain, and one direction saves nothing: a value more takes candidates
    below it that lie too low farther off, and those that lie too high nearer.
    Units: rate in nats per rank; the answer is a place, from 0. Errors: ParameterError.

    >>> from onesided.policy import Shift
    >>> print(NoisyMaxRank("1/4", above=2, candidates=9).loss(Shift(rise=1, fall=1)))
    1/2
    """

    noise_rate: Rate = Field(rate)
    _: KW_ONLY
    above: Whole = Field(whole, least=0)
    candidates: Whole = Field(whole, least=1, most=MOST_CANDIDATES)

    @classmethod
    def for_policy(
        cls,
        policy: Policy,
        *,
        above: int,
        candidates: int,
        epsilon: Number,
        max_groups: int | None = None,
        counted: Iterable[str] | None = None,
        truncated: bool = False,
    ) -> NoisyMaxRank:
        """The least noise that keeps ``(epsilon, policy)`` for one value per unit."""
        made = cls(INFINITE, above=above, candidates=candidates)
        moves = count_moves(
            policy, epsilon=epsilon, max_groups=max_groups, counted=counted, truncated=truncated
        )
        return cls(largest_rate(moves, made.span), above=above, candidates=candidates)

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> int:
        """A place, from one count per candidate. Errors: DataError unless so many counts."""
        counts = counts_of(values)
        if counts.size != self.candidates:
            raise DataError(
                f"{counts.size} counts for {self.candidates} candidates.",
                hint="Give one count per candidate.",
            )
        source = SecureNoise() if noise is None else noise
        distances = self.distances(counts)
        sizes = np.ones_like(distances)
        return int(source.permute_and_flip(self.noise_rate, distances - distances.min(), sizes))

    def loss(self, shift: Shift) -> Loss:
        """``2 noise_rate max(rise, fall)``."""
        return self.noise_rate * self.span(shift)

    def span(self, shift: Shift) -> int:
        """How far apart the changes of two candidates' distances can lie along a move."""
        return 2 * max(shift.rise, shift.fall)

    def distances(self, counts: IntArray) -> IntArray:
        """How many ranks each candidate lies from the one that is looked for. Secret."""
        higher = np.cumsum(counts[::-1], dtype=np.int64)[::-1] - counts
        found: IntArray = np.maximum(higher - self.above, self.above - higher - counts)
        return found

    def rank_error(self, *, confidence: Number = CONFIDENCE) -> float:
        """By how many ranks an answer misses at most, with this confidence.

        Of N candidates fewer than one in e^(rate d) are accepted at distance d, and one is sure.
        """
        if isinstance(self.noise_rate, Infinite):
            return 0.0
        odds = math.log(self.candidates) - math.log(1 - confident(confidence))
        return odds / float(self.noise_rate)
