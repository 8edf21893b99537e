"""How many are at or below each of a row of ordered points, with noise on one side or both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from onesided._numbers import INFINITE, Loss, Number, positive, rate, whole
from onesided.errors import DataError
from onesided.mechanism._base import counts_of
from onesided.mechanism._counts import CONFIDENCE, Interval, confident
from onesided.mechanism._rates import rates_for
from onesided.noise import IntArray, Noise, SecureNoise, TwoSidedGeometric
from onesided.policy import GroupCount, Policy, Shift


@dataclass(frozen=True, slots=True)
class Cumulative:
    """Noisy counts of dyadic runs of bins, from which every cumulative count is a sum of few.

    bins: how many bins, in order. levels: how many sizes of runs are counted: 1 counts the bins
    alone, ``ceil(log2(bins)) + 1`` counts runs of 1, 2, 4, ... bins up to all of them.
    Promise: a record in a bin is in one run of each level, so along a move with
    ``Shift(rise, fall)`` of the bins' counts the loss is exactly
    ``levels * (upper_rate * fall + lower_rate * rise)``.
    Direction: as for :class:`Counts`; where counts only fall along the moves, no cumulative count
    from either end is ever below the truth.
    Source: the hierarchical method (Hay et al. 2010) with the noise of this policy.
    """

    upper_rate: Loss
    lower_rate: Loss
    bins: int
    levels: int

    def __init__(
        self, upper_rate: Loss | Number, lower_rate: Loss | Number, *, bins: int, levels: int = 1
    ) -> None:
        object.__setattr__(self, "upper_rate", rate(upper_rate, name="upper_rate"))
        object.__setattr__(self, "lower_rate", rate(lower_rate, name="lower_rate"))
        object.__setattr__(self, "bins", whole(bins, name="bins", least=1))
        deepest = (self.bins - 1).bit_length() + 1
        object.__setattr__(self, "levels", whole(levels, name="levels", least=1, most=deepest))

    @classmethod
    def for_policy(
        cls,
        policy: Policy,
        *,
        bins: int,
        epsilon: Number,
        max_groups: int | None = None,
        counted: frozenset[str] | None = None,
        truncated: bool = False,
    ) -> Cumulative:
        """Runs of every size or bins alone, whichever has the smaller mean variance."""
        query = GroupCount(max_groups=max_groups, counted=counted, truncated=truncated)
        total = positive(epsilon, name="epsilon")
        deepest = (whole(bins, name="bins", least=1) - 1).bit_length() + 1
        tried = [
            cls(*rates_for(policy, query, total / levels), bins=bins, levels=levels)
            for levels in {1, deepest}
        ]
        return min(tried, key=lambda one: (one.mean_variance, one.levels))

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> IntArray:
        """Noisy counts of all runs, level by level from the bins up, for each row of bins.

        ``values``: counts per bin, one or several rows after one another.
        Errors: DataError unless whole counts, as many as a multiple of ``bins``.
        """
        counts = counts_of(values)
        if counts.size % self.bins:
            raise DataError(
                f"{counts.size} counts are not whole rows of {self.bins} bins.",
                hint="Give one count per bin.",
            )
        rows = counts.reshape(-1, self.bins)
        runs = np.concatenate([self._runs(rows, level) for level in range(self.levels)], axis=1)
        source = SecureNoise() if noise is None else noise
        drawn = source.two_sided(self.upper_rate, self.lower_rate, runs.size)
        return runs.reshape(-1) + drawn

    def loss(self, shift: Shift) -> Loss:
        """Exactly ``levels * (upper_rate * fall + lower_rate * rise)``."""
        return (self.upper_rate * shift.fall + self.lower_rate * shift.rise) * self.levels

    @property
    def distribution(self) -> TwoSidedGeometric:
        """The exact distribution of each run's noise."""
        return TwoSidedGeometric(self.upper_rate, self.lower_rate)

    @property
    def mean_variance(self) -> float:
        """The variance of a cumulative count, averaged over the points."""
        used = [len(self._parts(end)) for end in range(1, self.bins + 1)]
        return float(self.distribution.variance()) * float(np.mean(used))

    def up_to(self, runs: IntArray) -> tuple[IntArray, IntArray]:
        """Noisy counts in the first 1, 2, ... bins per row, and of how many runs each is made."""
        table = runs.reshape(-1, self._starts[-1])
        parts = [self._parts(end) for end in range(1, self.bins + 1)]
        found = np.stack([table[:, part].sum(axis=1) for part in parts], axis=1)
        return found, np.array([len(part) for part in parts], dtype=np.int64)

    def beyond(self, runs: IntArray) -> tuple[IntArray, IntArray]:
        """Noisy counts in the bins after those, and of how many runs each is made."""
        table = runs.reshape(-1, self._starts[-1])
        parts = [self._rest(end) for end in range(1, self.bins + 1)]
        found = np.stack([table[:, part].sum(axis=1) for part in parts], axis=1)
        return found, np.array([len(part) for part in parts], dtype=np.int64)

    def interval(
        self, found: IntArray, used: IntArray, *, confidence: Number = CONFIDENCE
    ) -> Interval:
        """Bounds on all true cumulative counts at once; a side without noise is certain."""
        sides = sum(rate != INFINITE for rate in (self.upper_rate, self.lower_rate))
        miss = (1 - confident(confidence)) / (self._starts[-1] * max(sides, 1))
        law = self.distribution
        above = 0 if self.upper_rate == INFINITE else law.quantile_upper(1 - miss) or 0
        below = 0 if self.lower_rate == INFINITE else law.quantile_lower(1 - miss) or 0
        return Interval(
            lower=found - used * above,
            upper=found - used * below,
            lower_certain=self.upper_rate == INFINITE,
            upper_certain=self.lower_rate == INFINITE,
        ).at_least(0)

    @property
    def _starts(self) -> list[int]:
        """Where each level's runs begin in a row of runs, and where the row ends."""
        sizes = [-(-self.bins // 2**level) for level in range(self.levels)]
        return [0, *np.cumsum(sizes).tolist()]

    def _runs(self, rows: IntArray, level: int) -> IntArray:
        width = 2**level
        starts = np.arange(0, self.bins, width)
        summed: IntArray = np.add.reduceat(rows, starts, axis=1)
        return summed

    def _parts(self, end: int) -> list[int]:
        """The fewest runs that make up the first ``end`` bins."""
        parts, place = [], 0
        while place < end:
            level = max(
                level
                for level in range(self.levels)
                if place % 2**level == 0 and min(place + 2**level, self.bins) <= end
            )
            parts.append(self._starts[level] + place // 2**level)
            place += 2**level
        return parts

    def _rest(self, start: int) -> list[int]:
        """The fewest runs that make up the bins from ``start`` on."""
        parts, place = [], start
        while place < self.bins:
            level = max(level for level in range(self.levels) if place % 2**level == 0)
            parts.append(self._starts[level] + place // 2**level)
            place += 2**level
        return parts
