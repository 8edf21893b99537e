"""How many are at or below each of a row of ordered points, with noise on one side or both."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from onesided._numbers import INFINITE, MAX_COUNT, Loss, Number, positive, rate, whole
from onesided.errors import DataError
from onesided.fields import Field, Rate, Whole
from onesided.mechanism._base import counts_of
from onesided.mechanism._counts import CONFIDENCE, Interval, confident
from onesided.mechanism._rates import rates_for
from onesided.noise import IntArray, Noise, SecureNoise, TwoSidedGeometric
from onesided.policy import GroupCount, Policy, Shift

_BRANCHINGS: Final = (2, 4, 8, 16, 32)


@dataclass(frozen=True)
class Cumulative:
    """Noisy counts of runs of bins, from which every cumulative count is a sum of few.

    bins: how many bins, in order. levels, branching: runs of 1, b, b^2, ... bins are counted, of
    as many sizes as there are levels; 1 counts the bins alone.
    Promise: a record in a bin is in one run of each level, so along a move with
    ``Shift(rise, fall)`` of the bins' counts the loss is exactly
    ``levels * (upper_rate * fall + lower_rate * rise)``.
    Direction: as for :class:`Counts`; where counts only fall along the moves, no cumulative count
    from either end is ever below the truth.
    Units: rates in nats per count and level; answers in counts.
    Source: the hierarchical method (Hay et al. 2010) with the noise of this policy.
    Errors: ParameterError.

    >>> from onesided.mechanism import Cumulative
    >>> Cumulative(1, 1, bins=8, levels=3).branching
    2
    """

    upper_rate: Rate = Field(rate)
    lower_rate: Rate = Field(rate)
    _: KW_ONLY
    bins: Whole = Field(whole, least=1)
    levels: Whole = Field(whole, least=1, default=1)
    branching: Whole = Field(whole, least=2, default=2)

    def __post_init__(self) -> None:
        whole(self.levels, name="levels", most=_deepest(self.bins, self.branching))

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
        """Bins alone, or runs of the sizes that make cumulative counts vary least on average."""
        query = GroupCount(max_groups=max_groups, counted=counted, truncated=truncated)
        total, number = positive(epsilon, name="epsilon"), whole(bins, name="bins", least=1)
        tried = [
            cls(
                *rates_for(policy, query, total / levels),
                bins=number,
                levels=levels,
                branching=branching,
            )
            for branching in _BRANCHINGS
            for levels in range(1, _deepest(number, branching) + 1)
        ]
        return min(tried, key=lambda one: (one.mean_variance, one.levels))

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> IntArray:
        """Noisy counts of all runs, level by level from the bins up, for each row of bins.

        ``values``: counts per bin, one or several rows after one another.
        Errors: DataError unless whole counts, as many as a multiple of ``bins``, 2^62 in all.
        """
        counts = counts_of(values)
        if counts.size % self.bins:
            raise DataError(
                f"{counts.size} counts are not whole rows of {self.bins} bins.",
                hint="Give one count per bin.",
            )
        if sum(counts.tolist()) > MAX_COUNT:
            raise DataError(
                "These counts add up to more than 2^62, which no sum of them could hold.",
                hint="Counts of people cannot be so large; check the table for overflow.",
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
        ends, used = np.arange(1, self.bins + 1), np.zeros(self.bins)
        for _ in range(self.levels - 1):
            used, ends = used + ends % self.branching, ends // self.branching
        return float(self.distribution.variance()) * float(np.mean(used + ends))

    def up_to(self, runs: IntArray) -> tuple[IntArray, IntArray]:
        """Noisy counts in the first 1, 2, ... bins per row, and of how many runs each is made."""
        return self._added(runs, [(0, end) for end in range(1, self.bins + 1)])

    def beyond(self, runs: IntArray) -> tuple[IntArray, IntArray]:
        """Noisy counts in the bins after those, and of how many runs each is made."""
        return self._added(runs, [(end, self.bins) for end in range(1, self.bins + 1)])

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
        sizes = [-(-self.bins // self.branching**level) for level in range(self.levels)]
        return [0, *np.cumsum(sizes).tolist()]

    def _runs(self, rows: IntArray, level: int) -> IntArray:
        width = self.branching**level
        starts = np.arange(0, self.bins, width)
        summed: IntArray = np.add.reduceat(rows, starts, axis=1)
        return summed

    def _added(self, runs: IntArray, spans: list[tuple[int, int]]) -> tuple[IntArray, IntArray]:
        """Noisy counts of spans of bins, and how many runs make up each."""
        starts = self._starts
        table = runs.reshape(-1, starts[-1])
        parts = [self._cover(place, end, starts) for place, end in spans]
        found = np.stack([table[:, part].sum(axis=1) for part in parts], axis=1)
        return found, np.array([len(part) for part in parts], dtype=np.int64)

    def _cover(self, place: int, end: int, starts: list[int]) -> list[int]:
        """The fewest runs that make up the bins from ``place`` to below ``end``."""
        parts = []
        while place < end:
            level = self.levels - 1
            width = self.branching**level
            while place % width or min(place + width, self.bins) > end:
                level, width = level - 1, width // self.branching
            parts.append(starts[level] + place // width)
            place += width
        return parts


def _deepest(bins: int, branching: int) -> int:
    """The number of levels up to the first run that holds everything."""
    levels, width = 1, 1
    while width < bins:
        levels, width = levels + 1, width * branching
    return levels
