"""A histogram of all records that takes its shape from the open ones where that is safe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from onesided._frozen import settle
from onesided._numbers import INFINITE, Infinite, Loss, Number, positive, rate, whole
from onesided.errors import ParameterError
from onesided.mechanism.histograms._open_shape_plan import (
    TINY,
    Rates,
    open_counts,
    plan,
    scale,
    threshold,
    view,
)
from onesided.mechanism.histograms._two_parts import Demands, Parts, two_histograms
from onesided.mechanism.histograms._z_order import z_order
from onesided.noise import IntArray, Noise, SecureNoise, TwoSidedGeometric
from onesided.policy import Edge, Policy, Shift

BLOCK: Final = 64
# Shares of the largest rate for falls: for the first look at blocks, and then for the buckets.
_LOOK: Final = Fraction(1, 20)
_SHARES: Final = tuple(Fraction(share, 20) for share in (1, 2, 4, 9))


class OpenShapeCounts(NamedTuple):
    """Everything that noise was drawn for, and what was chosen from it.

    lower: noisy open counts, never above the truth. blocks: noisy sensitive totals of blocks of
    neighbouring cells. option, labels: which rates were taken, and each cell's bucket. totals:
    noisy sensitive totals of the buckets.

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
    4. Each bucket's total goes to its cells in the shape of the open counts, times the ratio of
       sensitive to open records that their block shows; a cell that is a bucket of its own takes
       its total as it is.

    Promise: along a move that shifts sensitive counts by ``(rise, fall)`` and open ones by
    ``(opened, 0)`` the loss is at most the largest over the options of
    ``(look.upper + upper) * fall + (look.lower + lower) * rise + open * opened``.
    Direction: as for SplitHistogram; an open count that falls is not covered (INFINITE).
    Proof: the steps are adaptive, each a vector of two-rate geometric noise on disjoint sums. Along
    a move disjoint sums rise and fall by no more than the cells do. Given the choice made in step
    2 from what was published, the log-ratios add to the sum above. Of two answers ``x - G`` and
    ``x - G'`` the larger has noise at the sum of their rates, so step 3 loses nothing by coming
    second (and the pair itself is covered, not only the larger).
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

    def __init__(
        self, look: Sequence[object], options: Sequence[Sequence[object]], *, block: int = BLOCK
    ) -> None:
        """look: rates (upper, lower) of the blocks. options: (upper, lower, open) each."""
        if len(look) != 2 or not options or any(len(one) != 3 for one in options):
            raise ParameterError(
                f"Give two rates to look with and three for each option, got {look!r}, "
                f"{options!r}.",
                hint="OpenShape.for_policy chooses them.",
            )
        made = tuple(Rates(*(rate(one, name="rate") for one in option)) for option in options)
        above, below = (rate(one, name="rate of the look") for one in look)
        first = min(one.open for one in made)
        for one in made:
            # Refused here, not at the draw: by then the charge is on record.
            rate(
                _further(one.open, first) or INFINITE, name="rate of an option's further open noise"
            )
        size = whole(block, name="block", least=1)
        settle(self, look=Rates(above, below, first), options=made, block=size)

    @classmethod
    def for_policy(cls, policy: Policy, *, epsilon: Number, block: int = BLOCK) -> OpenShape:
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
        return cls((seen, below), options, block=block)

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
        totals = np.add.reduceat(hidden, _starts(labels))
        totals = totals + source.two_sided(option.upper, option.lower, totals.size)
        return OpenShapeCounts(lower, blocks, number, labels, totals)

    def estimate(self, released: OpenShapeCounts) -> IntArray:
        """Counts of all records from what was published."""
        option = self.options[released.option]
        known = view(released.lower, released.blocks, self.block, self.look, option.open)
        labels, starts = released.labels, _starts(released.labels)
        seen = open_counts(released.lower, option.open)
        median = TwoSidedGeometric(option.upper, option.lower).median()
        totals = released.totals.astype(np.float64) - median
        share = seen * np.maximum(known.ratio, TINY)
        in_bucket = np.maximum(np.add.reduceat(seen, starts), TINY)
        mass = np.add.reduceat(share, starts)
        # One more noise scale of open records, so that a bucket that shows next to none does not
        # give all it has to the one cell that happens to show.
        mass = np.maximum(mass * (1 + scale(option.open) / in_bucket), TINY)
        spread = seen + share * (np.maximum(totals, 0) / mass)[labels]
        alone = np.diff(np.append(starts, labels.size))[labels] == 1
        own = totals[labels]
        found = np.where(alone, seen + np.maximum(own, 0), spread)
        for start in range(0, labels.size, self.block):
            cells = start + np.flatnonzero((alone & known.hidden)[start : start + self.block])
            if cells.size:
                least = threshold(own[cells], option)
                found[cells] = np.where(own[cells] > least, own[cells], 0)
        rounded: IntArray = np.rint(found).astype(np.int64)
        return rounded

    def loss(self, sensitive: Shift, open_: Shift) -> Loss:
        """At most this along a move that shifts the two parts so; some option reaches it."""
        falls: Loss = INFINITE * open_.fall
        return falls + max(
            (self.look.upper + option.upper) * sensitive.fall
            + (self.look.lower + option.lower) * sensitive.rise
            + option.open * open_.rise
            for option in self.options
        )

    def losses(self, policy: Policy) -> dict[Edge, Loss]:
        """What each edge of ``policy`` is charged."""
        shifts = Parts.of(policy).shifts(policy)
        return {edge: max(self.loss(*pair) for pair in pairs) for edge, pairs in shifts.items()}


def _further(wanted: Loss, spent: Loss) -> Loss | None:
    """The rate that, after ``spent``, makes ``wanted``; None if there is nothing to add."""
    return None if wanted == spent else _less(wanted, spent)


def _less(rate: Loss, spent: Loss) -> Loss:
    """What is left of a rate; no end of it is left of INFINITE."""
    if isinstance(rate, Infinite) or isinstance(spent, Infinite):
        return INFINITE
    return rate - spent


def _starts(labels: IntArray) -> IntArray:
    """Where each bucket starts."""
    return np.flatnonzero(np.diff(labels, prepend=-1))
