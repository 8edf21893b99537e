"""OSDP's DAWAz as its text reads, with plain composition: what a careful reader would write."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from onesided.noise import IntArray, Noise

_ZEROS, _LEARN = Fraction(1, 10), Fraction(1, 4)


@dataclass(frozen=True, slots=True)
class DirectDawaz:
    """DAWAz at ``epsilon`` under ``sensitive``, each step by the plain argument for it.

    A tenth of ε: open counts with noise below them; cells not above 0 are set Z. A quarter of the
    rest: every aligned interval's ``sum |x - mean|``, rounded down, with two-sided noise. A record
    that changes cell moves two counts by one, and each of them one cost by less than 2 on every
    level: by at most 4 in all, rounded. The rest: each bucket's total, which goes evenly to its
    cells outside Z, at least 0.

    >>> from onesided.noise import NotPrivateSeededNoise
    >>> rival = DirectDawaz(Fraction(1))
    >>> rival.release(np.array([0, 0, 9, 9]), np.array([0, 0, 8, 8]), NotPrivateSeededNoise(1)).size
    4
    """

    epsilon: Fraction

    def release(self, counts: IntArray, opened: IntArray, noise: Noise) -> NDArray[np.float64]:
        """Estimates of all counts, from those of all and of open records."""
        zeros = opened <= noise.geometric(self.epsilon * _ZEROS, opened.size)
        rest = self.epsilon * (1 - _ZEROS)
        size = counts.size
        levels = max(size - 1, 1).bit_length()
        width = 1 << levels
        line = np.concatenate([counts, np.zeros(width - size, dtype=np.int64)])
        rate = rest * _LEARN / (4 * levels)
        price = 1 / float(rest * (1 - _LEARN) / 2)
        best = np.full(width, price)
        joined = []
        while best.size > 1:
            rows = line.reshape(best.size // 2, -1)
            wide = rows.shape[1]
            away = np.abs(wide * rows - rows.sum(axis=1, keepdims=True)).sum(axis=1) // wide
            noisy = away + noise.two_sided(rate, rate, rows.shape[0])
            own, apart = noisy + price, best.reshape(-1, 2).sum(axis=1)
            joined.append(own <= apart)
            best = np.minimum(own, apart)
        starts, inside = np.ones(1, dtype=np.bool_), np.zeros(1, dtype=np.bool_)
        for one in reversed(joined):
            inside = inside | one
            starts = np.column_stack([starts, ~inside]).ravel()
            inside = np.repeat(inside, 2)
        starts = starts[:size]
        labels = np.cumsum(starts) - 1
        half = rest * (1 - _LEARN) / 2
        totals = np.add.reduceat(counts, np.flatnonzero(starts))
        totals = totals + noise.two_sided(half, half, totals.size)
        left = np.bincount(labels[~zeros], minlength=totals.size)
        each = np.maximum(totals / np.maximum(left, 1), 0)
        return np.where(zeros, 0.0, each[labels])
