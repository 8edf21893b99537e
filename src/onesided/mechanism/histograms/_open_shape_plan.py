"""Where the open records' shape can stand for the sensitive ones': plans from released numbers.

Nothing here sees data: only noisy counts that were paid for, and public rates. Floats are free.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
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
# A bucket holds at most about this many times its noise in cells that show no open record.
_LOAD = 8.0
# A block is clear if it is this many standard deviations above the noise; so many pairs are asked.
_CLEAR, _PAIRS = 5.0, 5
# Sensitive counts are never taken to follow the open ones more closely than this.
_TRUSTED = 1 / 50
# The median of a squared normal number.
_MEDIAN = 0.455
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
    sensitive: sensitive records expected in a hidden cell, if it has any. load: those expected in
    any cell, as near as blocks show it. uneven: how far sensitive counts are from the ratio times
    the open ones, as a part of them, beyond what chance does.
    """

    open: Floats
    ratio: Floats
    sensitive: Floats
    load: Floats
    uneven: float = 0.0

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
    sensitive = np.minimum(cell, most)
    law = TwoSidedGeometric(look.upper, look.lower)
    ratios, faint, load = (
        np.repeat(one, sizes) for one in (ratio, sensitive, _drawn_in(blocks, law) / sizes)
    )
    uneven = _uneven(blocks, per_block, law, open_rate, block)
    return View(estimates, ratios, faint, load, uneven)


def _drawn_in(blocks: IntArray, law: TwoSidedGeometric) -> Floats:
    """Totals of blocks, drawn towards their mean by as much as their differences are noise."""
    seen = blocks - law.mean()
    middle = float(seen.mean())
    sure = max(0.0, 1 - law.variance() / max(float(seen.var()), TINY))
    drawn: Floats = np.maximum(middle + sure * (seen - middle), 0)
    return drawn


def _uneven(
    blocks: IntArray, open_: Floats, law: TwoSidedGeometric, open_rate: Loss, block: int
) -> float:
    """How much the ratio changes from block to block, as a part of it, beyond noise and chance.

    From the median of the squared differences of neighbours, so that a few borders between
    regions of different ratios do not count. Only blocks far above the noise are asked.
    """
    noise = law.variance()
    hidden = block * scale(open_rate) ** 2
    clear = (blocks > _CLEAR * noise**0.5) & (open_ > _CLEAR * hidden**0.5) & (open_ > 0)
    pairs = np.flatnonzero(clear[:-1] & clear[1:])
    if pairs.size < _PAIRS:
        return _TRUSTED
    most, least = np.maximum(blocks, 1), np.maximum(open_, 1)
    steps = np.log(most / least)
    chance = noise / most**2 + hidden / least**2 + 1 / most + 1 / least
    squares = (steps[pairs] - steps[pairs + 1]) ** 2 - _MEDIAN * (chance[pairs] + chance[pairs + 1])
    found = float(np.median(squares)) / _MEDIAN / 2
    return math.sqrt(max(found, _TRUSTED**2))


def plan(known: View, options: tuple[Rates, ...]) -> tuple[int, IntArray]:
    """The option and the partition (labels) of least predicted mean relative error."""
    found = [_partition(known, option) for option in options]
    best = min(range(len(options)), key=lambda number: found[number][1])
    return best, found[best][0]


def _partition(known: View, option: Rates) -> tuple[IntArray, float]:
    """Each cell's bucket, and the error to be expected, in units of whole cells missed.

    A bucket of several cells costs the error of spreading and its share of the total's noise; a
    bucket of one cell costs the noise alone. A cell that shows open records and is better off
    alone leaves its interval, whatever becomes of the others. A hidden cell in a larger bucket is
    published as 0, unless records are put back; so that it can be told where, no bucket holds much
    in hidden cells.
    """
    seen, hidden, ratio = known.open, known.hidden, known.ratio
    weight = 1 / np.maximum((1 + ratio) * seen, 1)
    shift = np.minimum(_LN2 * scale(option.open), seen)
    # If open records are a random part of all, sensitive ones scatter about their share by this.
    chance = seen * ratio * (1 + ratio) + (known.uneven * seen * ratio) ** 2
    spreading = np.sqrt(chance) + ratio * shift
    missed = np.minimum(1, known.sensitive)
    wide = np.where(hidden, missed, weight * spreading)
    unsure = np.minimum(missed, option.error / np.maximum(known.sensitive, TINY))
    single = np.where(hidden, unsure, weight * option.error)
    share = seen * np.maximum(ratio, TINY)
    alone = ~hidden & (single < wide)
    prices = (single, wide, weight * share, share, np.where(hidden, known.load, 0))
    starts, value = _cheapest([np.where(alone, 0, one) for one in prices], option.error)
    labels = np.cumsum(starts)
    labels[alone] = labels.size + np.arange(np.count_nonzero(alone))
    value += float((weight * shift).sum() + single[alone].sum())
    return np.unique(labels, return_inverse=True)[1].astype(np.int64), value


def _cheapest(prices: Sequence[Floats], error: float) -> tuple[NDArray[np.bool_], float]:
    """Where buckets start in the cheapest partition into aligned intervals of 1, 2, 4, ... cells.

    prices: of each cell alone, of spreading to it, of its part of a total's noise, that part, and
    its load. An interval whose ``load`` is above the limit is not a bucket.
    """
    size = prices[0].size
    width = 1 << max(size - 1, 0).bit_length()
    best, *sums = (_padded(one, width) for one in prices)
    joined: list[NDArray[np.bool_]] = []
    while best.size > 1:
        apart = best.reshape(-1, 2).sum(axis=1)
        sums = [one.reshape(-1, 2).sum(axis=1) for one in sums]
        together = sums[0] + sums[1] / np.maximum(sums[2], TINY) * error
        keep = (together <= apart) & (sums[3] <= _LOAD * error)
        joined.append(keep)
        best = np.where(keep, together, apart)
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
