"""Where the open records' shape can stand for the sensitive ones': plans from released numbers.

Nothing here sees data: only noisy counts that were paid for, and public rates. Floats are free.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import INFINITE, Infinite, Loss
from onesided.noise import IntArray, TwoSidedGeometric

Floats = NDArray[np.float64]
_LN2 = math.log(2)
# A hidden open count is at most about this many noise scales.
_HIDDEN = 2.0
TINY = 1e-9


class Rates(NamedTuple):
    """Noise on the sensitive totals of buckets (above, below), and below open counts in all."""

    upper: Loss
    lower: Loss
    open: Loss

    @property
    def error(self) -> float:
        """The mean absolute error of a bucket's total, as if the noise were continuous."""
        above, below = scale(self.upper), scale(self.lower)
        return (above * above + below * below) / max(above + below, TINY)


@dataclass(frozen=True, slots=True)
class View:
    """What is known of each cell before the buckets are measured.

    open: estimated open counts, 0 where hidden. ratio: sensitive records for each open one.
    sensitive: sensitive records expected in a hidden cell, if it has any.
    """

    open: Floats
    ratio: Floats
    sensitive: Floats

    @property
    def hidden(self) -> NDArray[np.bool_]:
        """Cells whose noisy open count was 0 or less."""
        found: NDArray[np.bool_] = self.open == 0
        return found


def scale(rate: Loss) -> float:
    """The mean of noise at this rate, about; 0 for none."""
    return 0.0 if isinstance(rate, Infinite) else 1 / float(rate)


def open_counts(lower: IntArray, rate: Loss) -> Floats:
    """Estimates from noisy counts that are at most the truth.

    The median of the noise is put back, but never more than is there for certain: where a count
    is small beside the noise, small truths are likelier, and cost more in relative error.
    """
    known = np.maximum(lower, 0).astype(np.float64)
    back = 0.0 if rate == INFINITE else -float(TwoSidedGeometric(INFINITE, rate).median())
    return known + np.minimum(known, back)


def view(lower: IntArray, blocks: IntArray, block: int, look: Rates, open_rate: Loss) -> View:
    """Ratios of each block, drawn towards the whole's by as much as its total is unsure."""
    estimates = open_counts(lower, open_rate)
    per_block = np.add.reduceat(estimates, np.arange(0, lower.size, block))
    sizes = np.diff(np.append(np.arange(0, lower.size, block), lower.size))
    unsure = scale(look.upper) + scale(look.lower)
    overall = max(float(blocks.sum()), 0.0) / max(per_block.sum() + scale(open_rate), 1.0)
    ratio = np.maximum(blocks + overall * unsure, 0) / np.maximum(per_block + unsure, TINY)
    cell = np.maximum(blocks - unsure, 0) / sizes
    most = _HIDDEN * np.maximum(overall, ratio) * scale(open_rate)
    return View(estimates, np.repeat(ratio, sizes), np.repeat(np.minimum(cell, most), sizes))


def plan(known: View, options: tuple[Rates, ...]) -> tuple[int, IntArray]:
    """The option and the partition (labels) of least predicted mean relative error."""
    found = [_partition(known, option) for option in options]
    best = min(range(len(options)), key=lambda number: found[number][1])
    return best, np.cumsum(found[best][0]) - 1


def _partition(known: View, option: Rates) -> tuple[NDArray[np.bool_], float]:
    """Where buckets start, and the error to be expected, in units of whole cells missed.

    A bucket of several cells costs the error of spreading and its share of the total's noise; a
    bucket of one cell costs the noise alone. A hidden cell in a larger bucket is published as 0.
    """
    seen, hidden, ratio = known.open, known.hidden, known.ratio
    weight = 1 / np.maximum((1 + ratio) * seen, 1)
    shift = np.minimum(_LN2 * scale(option.open), seen)
    # If open records are a random part of all, sensitive ones scatter about their share by this.
    spreading = np.sqrt(seen * ratio * (1 + ratio)) + ratio * shift
    missed = np.minimum(1, known.sensitive)
    wide = np.where(hidden, missed, weight * spreading)
    unsure = np.minimum(missed, option.error / np.maximum(known.sensitive, TINY))
    single = np.where(hidden, unsure, weight * option.error)
    share = seen * np.maximum(ratio, TINY)
    starts, value = _cheapest(single, wide, weight * share, share, option.error)
    return starts, value + float((weight * shift).sum())


def _cheapest(
    single: Floats, wide: Floats, weighted: Floats, mass: Floats, error: float
) -> tuple[NDArray[np.bool_], float]:
    """The least total cost over partitions into aligned intervals of 1, 2, 4, ... cells."""
    size = single.size
    width = 1 << max(size - 1, 0).bit_length()
    best, wide, weighted, mass = (_padded(one, width) for one in (single, wide, weighted, mass))
    joined: list[NDArray[np.bool_]] = []
    while best.size > 1:
        apart, wide, weighted, mass = (
            one.reshape(-1, 2).sum(axis=1) for one in (best, wide, weighted, mass)
        )
        together = wide + weighted / np.maximum(mass, TINY) * error
        joined.append(together <= apart)
        best = np.minimum(together, apart)
    starts = np.ones(1, dtype=np.bool_)
    inside = np.zeros(1, dtype=np.bool_)
    for one in reversed(joined):
        inside = inside | one
        # The right half starts a bucket unless it was joined with the left one.
        starts = np.column_stack([starts, ~inside]).ravel()
        inside = np.repeat(inside, 2)
    return starts[:size], float(best[0])


def _padded(values: Floats, width: int) -> Floats:
    return np.concatenate([values, np.zeros(width - values.size)])


def threshold(totals: Floats, option: Rates) -> float:
    """Below which noisy totals of hidden single cells are better published as 0.

    The share of cells that are truly 0 is read off the negative totals, which only noise makes;
    then the threshold of least predicted relative error is taken.
    """
    up, down = scale(option.upper), scale(option.lower)
    falls, rises = down / max(up + down, TINY), up / max(up + down, TINY)
    if not falls or not rises:
        return 0.0
    # One more than was seen: a few cells alone must not be taken for full by chance.
    zeros = min(float((totals < 0).sum() + 1) / falls, float(totals.size))
    tries = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 5, 6, 8, 10, 12, 14]) * up
    ordered = np.sort(totals)
    above = np.searchsorted(ordered, tries, side="right")
    none = int(np.searchsorted(ordered, 0, side="right"))
    each = np.minimum(1, option.error / np.maximum(ordered, TINY))
    kept = np.array([each[place:].sum() for place in above])
    tail = zeros * rises * np.exp(-tries / up)
    false = tail * (tries + up)
    noise = kept - np.minimum(kept, tail * np.minimum(1, option.error / np.maximum(tries, TINY)))
    missed = np.maximum((above - none) - (zeros * rises - tail), 0)
    return float(tries[int(np.argmin(false + noise + missed))])
