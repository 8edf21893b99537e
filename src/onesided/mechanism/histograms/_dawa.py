"""DAWA: learn a partition into intervals by noisy costs, then measure each bucket's total."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import INFINITE, Loss, Number, positive, rate, strict_share
from onesided.errors import DataError, NoiseError, ParameterError
from onesided.fields import Field, Rate, one_of
from onesided.mechanism._counts import Counts
from onesided.mechanism._rates import rates_for
from onesided.mechanism.histograms._dawa_tree import Prices, cheapest, lead, least
from onesided.mechanism.histograms._hierarchical import TreeTotals, edges_of, tree_rate
from onesided.mechanism.histograms._interval_costs import deviations
from onesided.mechanism.histograms._two_phase import Partition, TwoPhase
from onesided.mechanism.histograms._z_order import z_order
from onesided.noise import IntArray, Noise, TwoSidedGeometric
from onesided.policy import GroupCount, Policy, Shift

Workload = Literal["cells", "ranges"]
LEARN_SHARE: Final = Fraction(1, 3)
LOOK_SHARE: Final = Fraction(1, 50)
# What a look takes a bucket to cost: 5/4 of its deviation, and a twelfth of the noise's lead. Of 28
# such pairs the one of least mean error over 39 made-up histograms at ε = 1, 0.1, 0.01.
_SEEN: Final = 20
_LED: Final = 1 / 12
# How many mean errors below 0 two-sided noise is one time in 20.
_SURE: Final = math.log(10)
# Prices are whole numbers of sixteenths of a count; a bucket's deviation counts twice, because
# the counts' distance from their mean is up to twice that from their median.
_UNIT: Final = 16
_DEVIATION: Final = 2 * _UNIT
# With these, no sum of prices leaves int64: 2^53 counts, 2^26 cells, noise of at most 2^28.
_MIN_LEARN_RATE: Final = Fraction(1, 2**20)
_MAX_CELLS: Final = 2**26
_MAX_DRAWN: Final = 2**28


def _learn_rate(value: Loss | Number, *, name: str) -> Loss:
    learnt = rate(value, name=name)
    if learnt < _MIN_LEARN_RATE:
        raise ParameterError(
            f"{name} must be at least 2^-20, got {value!r}.",
            hint="With so much noise no partition can be learnt; measure cells or the total.",
            value=value,
        )
    return learnt


@dataclass(frozen=True)
class Look:
    """Whether neighbours are alike, asked first; if not, cells are measured at these rates.

    ask_rate: of the noise on the price of the cheapest partition, in nats per count.

    >>> from onesided.mechanism import Dawa
    >>> from onesided.mechanism.histograms import Look
    >>> Dawa(1, upper_rate=1, lower_rate=1, look=Look("1/4", upper_rate=2, lower_rate=2)).look
    Look(ask_rate=Fraction(1, 4), upper_rate=Fraction(2, 1), lower_rate=Fraction(2, 1))
    """

    ask_rate: Rate = Field(rate)
    _: KW_ONLY
    upper_rate: Rate = Field(rate)
    lower_rate: Rate = Field(rate)


class _Unlearnt(Partition):
    """Every cell its own bucket, and phase 1 not run: what a look that says no publishes."""

    __slots__ = ()


@dataclass(frozen=True)
class Dawa(TwoPhase):
    """A histogram as totals of intervals that were found to hold nearly equal counts.

    Phase 1 gives every aligned interval of 1, 2, 4, ... cells a cost: twice ``sum |x - median|``,
    less noise, plus a public price per bucket; the cheapest partition into such intervals is
    published, the costs are not. Phase 2 is two-rate geometric noise on each bucket's total, its
    median taken out; or, with ``workload="ranges"``, on every level of a tree over the buckets,
    made consistent by least squares (see :class:`Hierarchical`). In two dimensions intervals are
    taken along the Z-order curve: squares, and pairs of them.

    With a ``look`` a small part of ε asks first whether neighbours are alike: the price of the
    cheapest partition, without noise on the costs, is compared with that of measuring every cell
    with all that is left. If it is not cheaper, phase 1 is left out and that is done instead; for
    ranges a tree over all cells is.

    Promise: along a move with ``Shift(rise, fall)`` phase 1 loses at most
    ``learn_rate * (rise + fall)`` and phase 2 exactly ``upper_rate * fall + lower_rate * rise``
    for every partition; a look at most ``rate * (rise + fall)``, and then the larger of the losses
    of what may follow.
    Direction: phase 2 is one-sided where the policy is. A deviation may rise or fall along any
    move, so phase 1 has no cheap direction; but its noise need only be below the truth.
    Units: rates in nats per count.

    Proof for phase 1. A formal partition takes each cell into exactly one of its buckets. Let the
    counts move from x to y by D_B inside bucket B, in L1; the sum of D_B over any partition is
    D = rise + fall. A cost moves by at most D_B, so the cost of every partition falls by at most
    D. Let the noise g make partition P the answer on x. Let g' be g except on the buckets of P,
    where it is larger by ``cost_B(y) - cost_B(x) + D_B``, a whole number from 0 to 2 D_B, and D_B
    where B is one cell, whose cost is always 0. On y with g' the price of P is that on x with g
    less exactly D; any other partition has fallen by no more than D for its costs' sake, and by
    noise only through buckets it shares with P, whose own fall was exactly D_B. So P is still
    cheapest, and where prices are equal the rule that chose it is a fixed order. Noise is at the
    rate ``learn_rate`` on cells and half that on longer intervals, so the density of g' is at
    least e^(-learn_rate D) times that of g, and g -> g' is injective.
    That is why one-sided noise suffices, why a cell must have noise although its cost is known,
    and why a cost may not be clipped at 0 after noise.

    Proof for the look. The cost of every partition moves by at most D, so the least does; in whole
    counts, rounded down, it does too. Two-sided geometric noise at ``rate`` on it loses at most
    ``rate * D``, and the decision sees no more. Given the decision the rest is one of the two.

    Source: Li, Hay, Miklau and Wang 2014; medians in place of means, which halves what a cost
    can move by; aligned intervals, which make the search O(n) and the noise's lead small.
    Errors: ParameterError for invalid rates; DataError above 2^26 cells.

    >>> from onesided.mechanism import Dawa
    >>> Dawa("1/4", upper_rate=1, lower_rate=1).workload
    'cells'
    """

    learn_rate: Rate = Field(_learn_rate)
    _: KW_ONLY
    upper_rate: Rate = Field(rate)
    lower_rate: Rate = Field(rate)
    workload: Field[Workload, Workload] = Field(one_of, words=("cells", "ranges"), default="cells")
    clip: bool = False
    look: Look | None = None

    def __post_init__(self) -> None:
        if self.workload == "ranges":
            both = (self,) if self.look is None else (self, self.look)
            for one in both:
                tree_rate(one.upper_rate, name="upper_rate")
                tree_rate(one.lower_rate, name="lower_rate")

    @classmethod
    def for_policy(
        cls,
        policy: Policy,
        *,
        epsilon: Number,
        learn_share: Number = LEARN_SHARE,
        look_share: Number | None = LOOK_SHARE,
        query: GroupCount | None = None,
        workload: Workload = "cells",
        clip: bool = False,
    ) -> Dawa:
        """``learn_share`` of ε on every edge for the partition, the rest for the totals.

        look_share: of ε on every edge, before that, for whether neighbours are alike; None does
            not ask.
        query: how units are counted; None is one group per unit, or presence's own bound.
        """
        count = GroupCount() if query is None else query
        whole, share = (
            positive(epsilon, name="epsilon"),
            strict_share(learn_share, name="learn_share"),
        )
        look = None
        if look_share is not None:
            first = whole * strict_share(look_share, name="look_share")
            above, below = rates_for(policy, count, whole - first)
            asked = both_ways_rate(policy, count, first)
            look = Look(asked, upper_rate=above, lower_rate=below)
            whole -= first
        upper, lower = rates_for(policy, count, whole * (1 - share))
        return cls(
            both_ways_rate(policy, count, whole * share),
            upper_rate=upper,
            lower_rate=lower,
            workload=workload,
            clip=clip,
            look=look,
        )

    @property
    def by_cells(self) -> bool:
        """Unless sums over ranges matter more."""
        return self.workload == "cells"

    def learn(self, counts: IntArray, *, noise: Noise) -> Partition:
        """The buckets: contiguous in one dimension, or along the Z-order curve in two."""
        if counts.size > _MAX_CELLS:
            raise DataError(
                f"The histogram has {counts.size} cells, more than 2^26.",
                hint="Use coarser cells.",
            )
        order = None if counts.ndim == 1 else z_order(counts.shape)
        line = counts if order is None else counts.ravel()[order]
        if self.look is not None and not self.alike(line, noise=noise):
            return _Unlearnt(Partition.of_cells(counts.shape).labels)
        cells = -_drawn(noise, self.learn_rate, line.size)
        half = self.learn_rate * Fraction(1, 2)
        noisy = (cost - _drawn(noise, half, cost.size) for cost in deviations(line))
        labels = np.cumsum(cheapest(cells, noisy, self._prices())) - 1
        if order is None:
            return Partition(labels)
        placed = np.empty_like(labels)
        placed[order] = labels
        return Partition(placed.reshape(counts.shape))

    def learn_loss(self, shift: Shift) -> Loss:
        """``learn_rate * (rise + fall)``, and that of the look."""
        asked: Loss = Fraction(0) if self.look is None else self.look.ask_rate
        return (self.learn_rate + asked) * (shift.rise + shift.fall)

    def loss(self, shift: Shift) -> Loss:
        """The look's, and the larger of those of the two phases and of every cell at once."""
        learnt = self.learn_loss(shift) + self.measure_loss(shift)
        if self.look is None:
            return learnt
        asked = self.look.ask_rate * (shift.rise + shift.fall)
        plain = self.look.upper_rate * shift.fall + self.look.lower_rate * shift.rise
        return max(learnt, asked + plain)

    def alike(self, line: IntArray, *, noise: Noise) -> bool:
        """Whether the cheapest partition seems cheaper than every cell at the look's rates.

        So much cheaper that noise alone says so one time in 20; of few cells it would say so often.
        For ranges: cheaper, as phase 1 prices it, than √n buckets, over which a tree is half as
        deep as over n cells. line: the cells in their order. True where there is no look.
        """
        look = self.look
        if look is None:
            return True
        ranges = self.workload == "ranges"
        prices = self._prices() if ranges else self._priced(_SEEN, _LED)
        seen = least(line.size, deviations(line), prices) // prices.deviation
        noisy = seen + int(noise.two_sided(look.ask_rate, look.ask_rate, 1)[0])
        doubt = prices.deviation * _SURE * _error(look.ask_rate, look.ask_rate)
        plain = line.size * _UNIT * _error(look.upper_rate, look.lower_rate) - doubt
        if ranges:
            plain = math.sqrt(line.size) * prices.interval
        return bool(noisy * prices.deviation < plain)

    def measure(self, counts: IntArray, partition: Partition, *, noise: Noise) -> NDArray[Any]:
        """Noisy totals of the buckets, shape (m,): int64, or float64 for ranges."""
        totals = partition.totals(counts)
        rates = (self.upper_rate, self.lower_rate)
        if self.look is not None and isinstance(partition, _Unlearnt):
            rates = (self.look.upper_rate, self.look.lower_rate)
        if self.workload == "cells":
            return Counts(*rates, correction="median").release(totals, noise=noise)
        tree = TreeTotals(*rates)
        edges = edges_of(partition)
        found = tree.release(totals, edges, noise=noise)
        return tree.non_negative(found, edges) if self.clip else found

    def measure_loss(self, shift: Shift) -> Loss:
        """``upper_rate * fall + lower_rate * rise``: a bucket moves by no more than its cells.

        For a partition that was learnt; :meth:`loss` covers what a look may do instead.
        """
        return self.upper_rate * shift.fall + self.lower_rate * shift.rise

    def _prices(self) -> Prices:
        """A bucket's price: the error of measuring it, and what noise gains from one more."""
        return self._priced(_DEVIATION, 1.0)

    def _priced(self, deviation: int, led: float) -> Prices:
        error = _error(self.upper_rate, self.lower_rate)
        long, cell = lead(self.learn_rate * Fraction(1, 2)), lead(self.learn_rate)
        return Prices(
            deviation,
            cell=round(_DEVIATION * led * cell + _UNIT * error),
            interval=round(_DEVIATION * led * long + _UNIT * error),
        )


def _error(upper: Loss, lower: Loss) -> float:
    """The mean absolute error of Laplace noise of the same variance; close for one-sided noise."""
    return math.sqrt(TwoSidedGeometric(upper, lower).variance() / 2)


def both_ways_rate(policy: Policy, query: GroupCount, epsilon: Fraction) -> Loss:
    """The largest rate r with ``r * (rise + fall) <= epsilon * weight`` on every move.

    INFINITE if no move changes a count.
    """
    return min(
        (
            epsilon * edge.weight / (shift.rise + shift.fall)
            for edge, many in policy.shifts(query).items()
            for shift in many
            if shift.rise + shift.fall
        ),
        default=INFINITE,
    )


def _drawn(noise: Noise, rate: Loss, size: int) -> IntArray:
    drawn = noise.geometric(rate, size)
    # Refused by the noise alone, and at these rates with a chance below 2^-100: nothing leaks.
    if drawn.size and drawn.max() > _MAX_DRAWN:
        raise NoiseError("A draw of noise was too large to add up.", hint="Release again.")
    return drawn
