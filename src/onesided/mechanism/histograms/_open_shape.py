"""A histogram of all records that takes its shape from the open ones where that is safe."""

from __future__ import annotations

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
from onesided.mechanism.histograms._open_shape_plan import (
    TINY,
    Rates,
    View,
    plan,
    scale,
    threshold,
    view,
)
from onesided.mechanism.histograms._open_shape_records import (
    LEFT_OUT,
    Missing,
    faint,
    records_put_back,
)
from onesided.mechanism.histograms._two_parts import Demands, Parts, two_histograms
from onesided.mechanism.histograms._two_phase import Partition
from onesided.mechanism.histograms._z_order import z_order
from onesided.noise import IntArray, Noise, SecureNoise, TwoSidedGeometric
from onesided.policy import Edge, Policy, Shift

Floats = NDArray[np.float64]
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
        if len(shape) == 1:
            return found
        placed = np.empty_like(found)
        placed[z_order(shape)] = found
        return placed.reshape(shape)

    def measure(
        self, sensitive: ArrayLike, open_: ArrayLike, *, noise: Noise | None = None
    ) -> OpenShapeCounts:
        """What is published and charged for, a table's cells along the Z-order curve.

        What is made of it by :meth:`estimate` is free, and in the same order.
        """
        hidden, free = two_histograms(sensitive, open_)
        if hidden.ndim == 2:
            order = z_order(hidden.shape)
            hidden, free = hidden.ravel()[order], free.ravel()[order]
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
            rounded: IntArray = np.rint(found).astype(np.int64)
            return rounded
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
