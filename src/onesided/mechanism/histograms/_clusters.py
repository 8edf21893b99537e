"""Sorted values into clusters of similar ones. Only what was published comes in here."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from onesided.noise import BoolArray, IntArray

# A cluster may not reach beyond this many distinct values; longer runs are cut.
REACH: Final = 128
_AT_ONCE: Final = 1 << 20


def clusters(values: IntArray, *, variance: float) -> IntArray:
    """The cluster of each value, numbered in order of value.

    Minimises ``sum over clusters C of (squared deviations within C) + variance / |C|``: what an
    even spread of C's total errs by, if the total is measured with noise of that ``variance``.
    Equal values stay together. Two neighbours in order whose gap squared is at least three
    times ``variance`` are best apart whatever surrounds them, so runs between such gaps are
    solved on their own, each exactly, by dynamic programming; a run of more than ``REACH``
    distinct values is cut first. Time O(n log n + n REACH), all of it vectorised.
    """
    distinct, places, times = np.unique(values, return_inverse=True, return_counts=True)
    spaced = np.diff(distinct).astype(np.float64) ** 2 >= 3 * variance
    starts: BoolArray = np.concatenate([[True], spaced])
    order = np.arange(distinct.size)
    starts |= (order - np.maximum.accumulate(np.where(starts, order, 0))) % REACH == 0
    begins = np.flatnonzero(starts)
    lengths = np.diff(np.append(begins, distinct.size))
    width = 2
    while width < 2 * REACH:
        alike = np.flatnonzero((lengths > width // 2) & (lengths <= width))
        step = _AT_ONCE // width
        for first in range(0, alike.size, step):
            run = alike[first : first + step]
            _solve((distinct, times), variance, begins[run], lengths[run], starts)
        width *= 2
    found: IntArray = (np.cumsum(starts) - 1)[places.ravel()]
    return found


def _solve(
    bag: tuple[IntArray, IntArray],
    variance: float,
    begins: IntArray,
    lengths: IntArray,
    starts: BoolArray,
) -> None:
    """Mark in ``starts`` where the best clusters of each run begin; all runs at once."""
    distinct, times = bag
    width, rows = int(lengths.max()), np.arange(lengths.size)
    places = begins[:, None] + np.arange(width)
    inside = np.arange(width) < lengths[:, None]
    places = np.minimum(places, distinct.size - 1)
    weights = np.where(inside, times[places], 0).astype(np.float64)
    # Relative to the run's first value, so that squares lose no digits.
    offsets = np.where(inside, distinct[places] - distinct[begins][:, None], 0).astype(np.float64)
    n, s, q = (_sums(weights * offsets**power) for power in range(3))
    best = np.zeros((rows.size, width + 1))
    last = np.zeros((rows.size, width + 1), dtype=np.int64)
    for end in range(1, width + 1):
        size = np.maximum(n[:, end, None] - n[:, :end], 1)
        total = s[:, end, None] - s[:, :end]
        error = q[:, end, None] - q[:, :end] + (variance - total * total) / size
        costs = best[:, :end] + error
        last[:, end] = np.argmin(costs, axis=1)
        best[:, end] = costs[rows, last[:, end]]
    place = lengths.copy()
    while place.any():
        place = last[rows, place]
        starts[begins + place] = True


def _sums(parts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Running sums along each row, from 0."""
    return np.pad(np.cumsum(parts, axis=1), ((0, 0), (1, 0)))
