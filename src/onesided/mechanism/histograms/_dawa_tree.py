"""The cheapest partition into dyadic intervals, from noisy prices of the intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from onesided._numbers import Infinite, Loss
from onesided.noise import BoolArray, IntArray


@dataclass(frozen=True, slots=True)
class Prices:
    """What a bucket costs besides its deviation, in whole public units.

    deviation: units per count of deviation. cell, interval: the price of having one more bucket.

    >>> Prices(deviation=1, cell=3, interval=3).cell
    3
    """

    deviation: int
    cell: int
    interval: int


def cheapest(cells: IntArray, intervals: Iterable[IntArray], prices: Prices) -> BoolArray:
    """Where buckets start in the cheapest partition.

    cells: the noisy deviation of each cell as a bucket of its own, shape (n,). intervals: those
        of the intervals that :func:`deviations` lists, level by level.
    A tie goes to the longer interval at each node, a rule that looks at nothing but the node's
    two prices: among equally cheap partitions the choice is by a fixed order of partitions.

    >>> cells, wider = np.zeros(4, dtype=np.int64), [np.array([0, 9]), np.array([9])]
    >>> cheapest(cells, wider, Prices(deviation=1, cell=3, interval=3)).tolist()
    [True, False, True, True]
    """
    best = prices.deviation * cells + prices.cell
    merged: list[BoolArray] = []
    for noisy in intervals:
        pairs = best[0 : 2 * noisy.size : 2] + best[1 : 2 * noisy.size : 2]
        own = prices.deviation * noisy + prices.interval
        keep = own <= pairs
        merged.append(keep)
        # An interval without a neighbour goes up as it is.
        best = np.concatenate([np.where(keep, own, pairs), best[2 * noisy.size :]])
    return _starts(merged, cells.size)


def least(cells: int, intervals: Iterable[IntArray], prices: Prices) -> int:
    """What the cheapest partition costs, from true deviations: whole public units.

    Direction: a count that moves by 1 moves it by at most ``prices.deviation``, either way, for
    that is how far it moves the cost of any one partition.

    >>> import numpy as np
    >>> from onesided.mechanism.histograms._interval_costs import deviations
    >>> least(4, deviations(np.array([1, 5, 2, 2])), Prices(10, 3, 3))
    9
    """
    best = np.full(cells, prices.cell, dtype=np.int64)
    for deviation in intervals:
        pairs = best[0 : 2 * deviation.size : 2] + best[1 : 2 * deviation.size : 2]
        own = prices.deviation * deviation + prices.interval
        best = np.concatenate([np.minimum(own, pairs), best[2 * deviation.size :]])
    return int(best.sum())


def _starts(merged: list[BoolArray], size: int) -> BoolArray:
    """From the top: the first merged interval on the way down is a bucket; else each cell is."""
    starts = np.zeros(size, dtype=np.bool_)
    covered = np.zeros(1, dtype=np.bool_)
    for level in range(len(merged), 0, -1):
        width = 1 << level
        keep = np.zeros(covered.size, dtype=np.bool_)
        keep[: merged[level - 1].size] = merged[level - 1]
        starts[np.flatnonzero(keep & ~covered) * width] = True
        below = -(-size // (width // 2))
        covered = np.repeat(covered | keep, 2)[:below]
    starts[~covered] = True
    return starts


@lru_cache(maxsize=256)
def lead(rate: Loss) -> float:
    """What a binary tree of geometric noise can gain per bucket; a public number.

    Among the 2^k ways down a binary tree, the largest sum of k independent geometrics is about
    ``k x`` where the chance of such a sum, ``exp(-k I(x))``, has fallen to 2^-k (the speed of a
    branching random walk). A partition with more buckets has more noise to gain by, so each
    bucket is charged x: about 2.68 means of the noise. Below it, chance alone splits everything.
    """
    if isinstance(rate, Infinite) or rate > 100:
        return 0.0
    mean = 1 / math.expm1(float(rate))

    def unlikely(x: float) -> float:
        return x * math.log(x / mean * (1 + mean) / (1 + x)) - math.log((1 + x) / (1 + mean))

    low, high = mean, 4 * mean + 4
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if unlikely(middle) < math.log(2) else (low, middle)
    return high
