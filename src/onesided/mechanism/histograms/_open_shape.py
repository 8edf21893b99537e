"""A histogram of all records that takes its shape from the open ones where that is safe."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Final, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onesided._numbers import INFINITE, Infinite, Loss, Number, positive, rate, whole
from onesided.errors import ParameterError
from onesided.fields import one_of, settle
from onesided.mechanism.histograms._split import Demands, Parts, two_histograms
from onesided.mechanism.histograms._two_phase import Partition, z_order
from onesided.noise import IntArray, Noise, SecureNoise, TwoSidedGeometric
from onesided.policy import Edge, Policy, Shift

# Where the open records' shape can stand for the sensitive ones': plans from released numbers.
#
# Nothing here sees data: only noisy counts that were paid for, and public rates. Floats are free.


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
        return np.asarray(self.open == 0)


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
    return np.asarray(np.maximum(middle + sure * (seen - middle), 0))


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
    best, *sums = (np.append(one, np.zeros(width - size)) for one in prices)
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


# Where the records are that no cell shows: put back from released totals, and free of charge.
#
# Cells whose open count is hidden are published as 0 if nothing else is known, which is best for
# relative errors and loses dense data: many small counts, each below the noise, hold most records.


Level = dict[str, Floats]
# Cells of the least density are left out, up to this share of all records.
LEFT_OUT = 1 / 20
# What released counts say is believed from so many standard deviations on.
_SURE = 3.0
# The standard deviation of a squared Laplace number, beside its mean.
_SPREAD = 5**0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """What is missing from each cell, unbiased, and how sure it is.

    cells: released counts less what was found; opened: those of open records. found: what was
    found. room: where records go that are spread evenly. unsure: the variance of the noise of
    ``opened``. buckets: 1 where a bucket's first cell is. per_bucket: the variance of a bucket's
    total. all: what is missing in all.
    """

    cells: Floats
    opened: Floats
    found: Floats
    room: Floats
    unsure: Floats
    buckets: Floats
    per_bucket: float
    all: float


def records_put_back(missing: Missing) -> IntArray:
    """What was found, with the missing records, rounded so that sums of neighbours stay.

    Densest cells first, until no more than ``LEFT_OUT`` of all records are missing.
    """
    wanted = missing.all - LEFT_OUT * (missing.all + float(missing.found.sum()))
    density = densities(missing)
    falling = np.argsort(-density, kind="stable")
    before = np.cumsum(density[falling]) - density[falling]
    taken = falling[before < wanted]
    whole = missing.found.copy()
    whole[taken] += density[taken]
    return np.diff(np.rint(np.cumsum(whole)), prepend=0).astype(np.int64)


def faint(lower: IntArray, law: TwoSidedGeometric, most: float) -> Floats:
    """Open records expected in each cell that shows none, 0 in the others; at most ``most``.

    What the noisy counts and the noise's mean add up to beyond what is seen, less three standard
    deviations of it; where many cells hold a few each, this is most of them.
    """
    size = lower.size
    known = np.maximum(lower, 0)
    # Of a count far above the noise nothing is missing on average.
    back = np.asarray(known + np.minimum(known, -law.mean()), dtype=np.float64)
    cells: Floats = np.asarray(lower - law.mean() - back, dtype=np.float64)
    missing = min(float(cells.sum()) - _SURE * (law.variance() * size) ** 0.5, most)
    if missing <= 0:
        return np.zeros(size)
    hidden = (lower <= 0).astype(np.float64)
    given = Missing(
        cells=cells,
        opened=cells,
        found=np.zeros(size),
        room=hidden,
        unsure=np.full(size, law.variance()),
        buckets=np.zeros(size),
        per_bucket=0.0,
        all=missing,
    )
    return np.minimum(densities(given), -law.mean()) * hidden


def densities(missing: Missing) -> Floats:
    """Estimates of at least 0, in sum what is missing in all.

    From the total down each interval's records go to its halves: evenly, or as what was found
    before, whichever released counts bear out on this level (or above, where they cannot tell);
    and then towards what was released, by as much as its difference from that is more than noise.
    """
    opened = float(missing.opened.sum())
    part = min(max(opened / max(float(missing.cells.sum()), opened, TINY), 0.0), 1.0)
    parts, like_found = np.array([max(missing.all, 0.0)]), True
    for level in reversed(_levels(missing)):
        node = Halves(level, parts, missing.per_bucket, part)
        like_found = node.like_found(otherwise=like_found)
        left = node.left(like_found=like_found)
        parts = np.column_stack([left, parts - left]).ravel()
    return np.asarray(parts[: missing.cells.size], dtype=np.float64)


class Halves:
    """The intervals of one length: what each half should get of its interval's records."""

    def __init__(self, level: Level, parts: Floats, per_bucket: float, part: float) -> None:
        pairs = {name: one.reshape(-1, 2) for name, one in level.items()}
        self.parts = parts
        self.both = pairs["inside"][:, 1] > 0
        buckets = pairs["buckets"].sum(axis=1)
        apart = buckets > 1
        # Inside one bucket nothing but open counts tells where its records are.
        self.told = np.where(apart, 1.0, part)
        self.seen = np.where(apart, _difference(pairs["cells"]), _difference(pairs["opened"]))
        self.noise = pairs["unsure"].sum(axis=1) + np.where(apart, buckets * per_bucket, 0)
        empty = pairs["room"].sum(axis=1, keepdims=True) <= 0
        room = np.where(empty, pairs["inside"], pairs["room"])
        self.even = parts * _lean(room)
        some = pairs["found"].sum(axis=1) > 0
        self.found = np.where(some, parts * _lean(pairs["found"]), self.even)

    def like_found(self, *, otherwise: bool) -> bool:
        """Whether released counts say so by two standard deviations."""
        even, found = self.told * self.even, self.told * self.found
        noise = np.maximum(self.noise, TINY)
        gain = ((self.seen - even) ** 2 - (self.seen - found) ** 2) / noise
        sure = _SURE * 2 * float(np.sqrt(((even - found) ** 2 / noise)[self.both].sum()))
        better = float(gain[self.both].sum())
        return otherwise if abs(better) <= sure else better > 0

    def left(self, *, like_found: bool) -> Floats:
        """The left halves' records."""
        prior = self.found if like_found else self.even
        rest = self.seen - self.told * prior
        noise = self.noise[self.both]
        uneven = float((rest[self.both] ** 2 - noise).sum())
        if uneven <= _SURE * _SPREAD * float((noise**2).sum()) ** 0.5:
            uneven = 0.0
        true = self.parts**2 * uneven / max(float((self.parts[self.both] ** 2).sum()), TINY)
        apart = prior + rest * true / np.maximum(true + self.noise, TINY)
        apart = np.where(self.both, apart, self.parts)
        return np.clip((self.parts + apart) / 2, 0, self.parts)


def _difference(pairs: Floats) -> Floats:
    return pairs[:, 0] - pairs[:, 1]


def _lean(pairs: Floats) -> Floats:
    """How much more the left half has, as a part of both."""
    return np.asarray(_difference(pairs) / np.maximum(pairs.sum(axis=1), TINY))


def _levels(missing: Missing) -> list[Level]:
    """Sums over aligned intervals of 1, 2, 4, ... cells, all but the last one."""
    size = missing.cells.size
    width = 1 << max(size - 1, 0).bit_length()
    given = {
        "cells": missing.cells, "opened": missing.opened, "unsure": missing.unsure,
        "buckets": missing.buckets, "found": missing.found, "room": missing.room,
        "inside": np.ones(size),
    }  # fmt: skip
    sums = {name: np.concatenate([one, np.zeros(width - size)]) for name, one in given.items()}
    levels = []
    while sums["cells"].size > 1:
        levels.append(sums)
        sums = {name: one.reshape(-1, 2).sum(axis=1) for name, one in sums.items()}
    return levels


Keep = Literal["records", "cells"]
BLOCK: Final = 64
# Shares of the largest rate for falls: for the first look at blocks, and then for the buckets.
_LOOK: Final = Fraction(1, 20)
_SHARES: Final = tuple(Fraction(share, 20) for share in (1, 2, 4, 9))


class OpenShapeCounts(NamedTuple):
    """Everything that noise was drawn for, and what was chosen from it.

    lower: noisy open counts, never above the truth. blocks: noisy sensitive totals of blocks of
    neighbouring cells. option, labels: which rates were taken, and each cell's bucket. totals:
    noisy sensitive totals of the buckets. records: the noisy number of all records, or None where
    it is not asked.

    >>> from onesided.policy import sensitive
    >>> shape = OpenShape.for_policy(sensitive("minor"), epsilon=1)
    >>> told = shape.measure([1, 0, 2], [30, 0, 60])
    >>> told.labels.size
    3
    """

    lower: IntArray
    blocks: IntArray
    option: int
    labels: IntArray
    totals: IntArray
    records: int | None = None


@dataclass(frozen=True, slots=True)
class OpenShape:
    """Learn from published open counts where to measure sensitive ones, and how to spread them.

    1. Open counts with noise below them, at the smallest open rate of all options; sensitive
       totals of blocks of neighbouring cells, with little of the budget. Neighbours in a table are
       those of the Z-order curve, so that aligned intervals are squares and pairs of squares.
    2. From these alone: which option of rates, and which partition into buckets, promises the
       least mean relative error. It costs nothing.
    3. More noise below the open counts, up to the option's open rate, the larger of both answers
       being kept; sensitive totals of the buckets, at the option's rates.
       Where ``records`` has rates: the number of all records.
    4. Each bucket's total goes to its cells in the shape of the open counts, times the ratio of
       sensitive to open records that their block shows; a cell that is a bucket of its own takes
       its total as it is.
    5. With ``keep="records"``, if more than a twentieth of all records is missing then: they are
       put back where released totals show them, and in the shape of what was found where nothing
       does. With ``keep="cells"`` cells that show nothing stay 0, the least relative error.

    Promise: along a move that makes sensitive counts fall by f and rise by r, and open ones rise by
    o, the loss is at most the largest over the options of ``(look.upper + upper) * f +
    (look.lower + lower) * r + open * o``, and, with the option's pair of ``records``,
    ``above * max(f - r - o, 0) + below * max(r + o - f, 0)``. A shift allows every f up to its
    fall, and so on; this sum is convex, so its largest value is at one of the corners.
    Direction: as for SplitHistogram; an open count that falls is not covered (INFINITE).
    Proof: the steps are adaptive, each a vector of two-rate geometric noise on disjoint sums. Along
    a move disjoint sums rise and fall by no more than the cells do. Given the choice made in step
    2 from what was published, the log-ratios add to the sum above. Of two answers ``x - G`` and
    ``x - G'`` the larger has noise at the sum of their rates, so step 3 loses nothing by coming
    second (and the pair itself is covered, not only the larger). All records change in number by
    ``r + o - f``, which one more count with two-rate noise answers. A record that changes cell or
    part leaves it alone, one that comes or goes does not pay for two cells: so for a policy where
    records do both, rates for the number cost nothing.
    Units: rates in nats per count. Source: ours, after the idea of OSDP section 5.2.
    Errors: ParameterError.

    >>> from onesided.policy import sensitive
    >>> shape = OpenShape.for_policy(sensitive("minor"), epsilon=1)
    >>> shape.release([1, 0, 2], [30, 0, 60]).size
    3
    >>> max(shape.losses(sensitive("minor")).values()) <= 1
    True
    """

    look: Rates
    options: tuple[Rates, ...]
    block: int = BLOCK
    records: tuple[tuple[Loss, Loss], ...] | None = None
    keep: Keep = "records"

    def __init__(
        self,
        look: Sequence[object],
        options: Sequence[Sequence[object]],
        *,
        block: int = BLOCK,
        records: Sequence[Sequence[object]] | None = None,
        keep: Keep = "records",
    ) -> None:
        """look: rates (upper, lower) of the blocks. options: (upper, lower, open) each.

        records: rates (upper, lower) of the number of all records for each option, if it is asked.
        """
        pairs = (look, *(() if records is None else records))
        unfit = records is not None and len(records) != len(options)
        if unfit or any(len(one) != 2 for one in pairs) or not options:
            raise _unfit(look, options)
        if any(len(one) != 3 for one in options):
            raise _unfit(look, options)
        made = tuple(Rates(*(rate(one, name="rate") for one in option)) for option in options)
        asked = [(rate(up, name="rate"), rate(down, name="rate")) for up, down in pairs]
        first = min(one.open for one in made)
        for one in made:
            # Refused here, not at the draw: by then the charge is on record.
            rate(
                _further(one.open, first) or INFINITE, name="rate of an option's further open noise"
            )
        settle(
            self,
            look=Rates(*asked[0], first),
            options=made,
            block=whole(block, name="block", least=1),
            records=None if records is None else tuple(asked[1:]),
            keep=_keep(keep),
        )

    @classmethod
    def for_policy(
        cls, policy: Policy, *, epsilon: Number, block: int = BLOCK, keep: Keep = "records"
    ) -> OpenShape:
        """Options from "nearly all for the open counts" to "half for single sensitive cells".

        Errors: PolicyError where all records are open, or all sensitive.
        """
        demands = Demands.of(policy, positive(epsilon, name="epsilon"))
        most = demands.most_upper
        shares = _SHARES if demands.coupled else (1 - _LOOK,)
        uppers = [most * share for share in shares]
        seen = most * _LOOK
        lowers = [demands.lower(seen + upper) for upper in uppers]
        below = min(lowers) * Fraction(1, 10)
        options = [
            (upper, _less(lower, below), demands.open_lower(seen + upper))
            for upper, lower in zip(uppers, lowers, strict=True)
        ]
        records = [
            demands.records(seen + upper, lower, opened)
            for (upper, _, opened), lower in zip(options, lowers, strict=True)
        ]
        asked = None if None in records else [pair for pair in records if pair is not None]
        return cls((seen, below), options, block=block, records=asked, keep=keep)

    def release(
        self, sensitive: ArrayLike, open_: ArrayLike, *, noise: Noise | None = None
    ) -> IntArray:
        """Estimated counts of all records: int64, not negative, in the histograms' shape.

        Errors: DataError unless both are counts over the same cells, in one or two dimensions.
        """
        found = self.estimate(self.measure(sensitive, open_, noise=noise))
        shape = np.shape(sensitive)
        placed = np.empty_like(found)
        placed[z_order(shape)] = found
        return placed.reshape(shape)

    def measure(
        self, sensitive: ArrayLike, open_: ArrayLike, *, noise: Noise | None = None
    ) -> OpenShapeCounts:
        """What is published and charged for, a table's cells along the Z-order curve.

        What is made of it by :meth:`estimate` is free, and in the same order.
        """
        both = two_histograms(sensitive, open_)
        hidden, free = (one.ravel()[z_order(one.shape)] for one in both)
        source = SecureNoise() if noise is None else noise
        lower = free - source.geometric(self.look.open, free.size)
        blocks = np.add.reduceat(hidden, np.arange(0, hidden.size, self.block))
        blocks = blocks + source.two_sided(self.look.upper, self.look.lower, blocks.size)
        known = view(lower, blocks, self.block, self.look, self.look.open)
        number, labels = plan(known, self.options)
        option = self.options[number]
        further = _further(option.open, self.look.open)
        if further is not None:
            lower = np.maximum(lower, free - source.geometric(further, free.size))
        totals = Partition(labels).totals(hidden)
        totals = totals + source.two_sided(option.upper, option.lower, totals.size)
        records = None
        if self.records is not None:
            drawn = source.two_sided(*self.records[number], 1)
            records = int(hidden.sum()) + int(free.sum()) + int(drawn[0])
        return OpenShapeCounts(lower, blocks, number, labels, totals, records)

    def estimate(self, released: OpenShapeCounts, *, keep: Keep | None = None) -> IntArray:
        """Counts of all records from what was published; both ways to read it are free.

        keep: "records" or "cells", in place of the mechanism's own.
        """
        chosen = self.keep if keep is None else _keep(keep)
        option = self.options[released.option]
        known = view(released.lower, released.blocks, self.block, self.look, option.open)
        buckets = Partition(released.labels)
        seen = known.open
        hidden = self._sensitive(released, known, buckets, seen)
        found = seen + hidden
        number = self._number(released)
        if chosen == "cells" or float(found.sum()) >= (1 - LEFT_OUT) * number:
            return np.rint(found).astype(np.int64)
        law, below = TwoSidedGeometric(option.upper, option.lower), _below(option.open)
        seen = seen + faint(released.lower, below, number - float(found.sum()))
        hidden = self._sensitive(released, known, buckets, seen)
        left = released.totals - law.mean() - np.bincount(buckets.labels, hidden)
        opened = released.lower - below.mean() - seen
        first = np.zeros(opened.size)
        first[np.unique(buckets.labels, return_index=True)[1]] = 1
        missing = Missing(
            cells=opened + (left / buckets.sizes)[buckets.labels],
            opened=opened,
            found=seen + hidden,
            room=np.ones(opened.size),
            unsure=np.full(opened.size, below.variance()),
            buckets=first,
            per_bucket=law.variance(),
            all=number - float((seen + hidden).sum()),
        )
        return records_put_back(missing)

    def _number(self, released: OpenShapeCounts) -> float:
        """The number of all records: as it was asked, or else as the parts add up."""
        option = self.options[released.option]
        if released.records is not None and self.records is not None:
            asked = TwoSidedGeometric(*self.records[released.option])
            return released.records - asked.mean()
        law, below = TwoSidedGeometric(option.upper, option.lower), _below(option.open)
        hidden = float(released.totals.sum()) - law.mean() * released.totals.size
        return hidden + float(released.lower.sum()) - below.mean() * released.lower.size

    def _sensitive(
        self, released: OpenShapeCounts, known: View, buckets: Partition, seen: Floats
    ) -> Floats:
        """Each cell's sensitive records, as far as open ones show where they are."""
        option = self.options[released.option]
        labels = buckets.labels
        totals = released.totals - float(TwoSidedGeometric(option.upper, option.lower).median())
        share = seen * np.maximum(known.ratio, TINY)
        in_bucket = np.maximum(np.bincount(labels, seen), TINY)
        # One more noise scale of open records, so that a bucket that shows next to none does not
        # give all it has to the one cell that happens to show.
        mass = np.bincount(labels, share) * (1 + scale(option.open) / in_bucket)
        spread = share * (np.maximum(totals, 0) / np.maximum(mass, TINY))[labels]
        alone = (buckets.sizes == 1)[labels]
        own: Floats = np.asarray(totals[labels], dtype=np.float64)
        found: Floats = np.where(alone, np.maximum(own, 0), spread)
        for start in range(0, labels.size, self.block):
            cells = start + np.flatnonzero((alone & known.hidden)[start : start + self.block])
            if cells.size:
                least = threshold(own[cells], option)
                found[cells] = np.where(own[cells] > least, own[cells], 0)
        return found

    def loss(self, sensitive: Shift, open_: Shift) -> Loss:
        """At most this along a move that shifts the two parts so; some option reaches it."""
        falls: Loss = INFINITE * open_.fall
        corners = list(product({0, sensitive.fall}, {0, sensitive.rise}, {0, open_.rise}))
        return falls + max(
            self._loss(number, *corner) for number in range(len(self.options)) for corner in corners
        )

    def _loss(self, number: int, fall: int, rise: int, opened: int) -> Loss:
        """That of one option along a move that shifts counts by just so much."""
        option = self.options[number]
        loss = (
            (self.look.upper + option.upper) * fall
            + (self.look.lower + option.lower) * rise
            + option.open * opened
        )
        if self.records is not None:
            above, below = self.records[number]
            loss = loss + above * max(fall - rise - opened, 0)
            loss = loss + below * max(rise + opened - fall, 0)
        return loss

    def losses(self, policy: Policy) -> dict[Edge, Loss]:
        """What each edge of ``policy`` is charged."""
        shifts = Parts.of(policy).shifts(policy)
        return {edge: max(self.loss(*pair) for pair in pairs) for edge, pairs in shifts.items()}


def _unfit(look: object, options: object) -> ParameterError:
    return ParameterError(
        f"Give two rates to look with, three for each option and, if records are counted, two more "
        f"for each, got {look!r}, {options!r}.",
        hint="OpenShape.for_policy chooses them.",
    )


def _further(wanted: Loss, spent: Loss) -> Loss | None:
    """The rate that, after ``spent``, makes ``wanted``; None if there is nothing to add."""
    return None if wanted == spent else _less(wanted, spent)


def _less(rate: Loss, spent: Loss) -> Loss:
    """What is left of a rate; no end of it is left of INFINITE."""
    if isinstance(rate, Infinite) or isinstance(spent, Infinite):
        return INFINITE
    return rate - spent


def _below(rate: Loss) -> TwoSidedGeometric:
    """The noise below an open count."""
    return TwoSidedGeometric(INFINITE, rate)


def _keep(value: str) -> Keep:
    """Whether shape keeps the number of records, or the relative error of small cells."""
    return cast("Keep", one_of(value, name="keep", words=("records", "cells")))
