"""Totals over trees, and DAWA: intervals found to hold nearly equal counts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import INFINITE, Infinite, Loss, Number, exact, rate, strict_share, whole
from onesided.errors import DataError, NoiseError, ParameterError, called
from onesided.fields import Field, MaybeWhole, Rate, one_of, settle
from onesided.linear.kit import (
    FloatArray,
    best_branching,
    consistent,
    level_weights,
    non_negative_tree,
    tree_sums,
)
from onesided.mechanism._fit import Move, TwoRates, choose, part_of
from onesided.mechanism._steps import Chosen, Counted, OneOf, Steps, Together, both_ways
from onesided.mechanism.histograms._two_phase import Partition, TwoPhase, z_order
from onesided.mechanism.law import Counts
from onesided.noise import BoolArray, IntArray, Noise, TwoSidedGeometric
from onesided.policy import Policy, Shift


def deviations(counts: IntArray) -> Iterator[IntArray]:
    """For lengths 2, 4, 8, ...: ``sum |x_i - median|`` over each aligned interval.

    At length w the intervals are [0, w), [w, 2w), ...; the last one is cut off at the end and
    left out if nothing but one interval of length w/2 remains of it, for it is that interval.
    Stops when one interval holds everything.
    Direction: one count that moves by 1, either way, moves a deviation by -1, 0 or 1. For it is
    the least over t of ``sum |x_i - t|``, each of which moves by at most 1.
    Time O(n log^2 n), memory O(n). Exact while the total of ``counts`` is below 2^62.

    >>> import numpy as np
    >>> [level.tolist() for level in deviations(np.array([1, 5, 2, 2]))]
    [[4, 0], [4]]
    """
    line = counts.copy()
    size = line.size
    width = 1
    while width < size:
        half, width = width, 2 * width
        whole = size // width * width
        # Both halves of a row are sorted already, which the stable sort is quick to merge.
        rows = line[:whole].reshape(-1, width)
        rows.sort(axis=1, kind="stable")
        found = rows[:, half:].sum(axis=1) - rows[:, :half].sum(axis=1)
        if size - whole > half:
            rest = line[whole:]
            rest.sort(kind="stable")
            middle = rest.size // 2
            last = rest[rest.size - middle :].sum() - rest[:middle].sum()
            found = np.append(found, last)
        yield found


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
    # From the top: the first merged interval on the way down is a bucket; else each cell is.
    starts = np.zeros(cells.size, dtype=np.bool_)
    covered = np.zeros(1, dtype=np.bool_)
    for level in range(len(merged), 0, -1):
        width = 1 << level
        keep = np.zeros(covered.size, dtype=np.bool_)
        keep[: merged[level - 1].size] = merged[level - 1]
        starts[np.flatnonzero(keep & ~covered) * width] = True
        below = -(-cells.size // (width // 2))
        covered = np.repeat(covered | keep, 2)[:below]
    starts[~covered] = True
    return starts


def least(cells: int, intervals: Iterable[IntArray], prices: Prices) -> int:
    """What the cheapest partition costs, from true deviations: whole public units.

    Direction: a count that moves by 1 moves it by at most ``prices.deviation``, either way, for
    that is how far it moves the cost of any one partition.

    >>> import numpy as np
    >>> from onesided.mechanism.histograms._dawa import deviations
    >>> least(4, deviations(np.array([1, 5, 2, 2])), Prices(10, 3, 3))
    9
    """
    best = np.full(cells, prices.cell, dtype=np.int64)
    for deviation in intervals:
        pairs = best[0 : 2 * deviation.size : 2] + best[1 : 2 * deviation.size : 2]
        own = prices.deviation * deviation + prices.interval
        best = np.concatenate([np.minimum(own, pairs), best[2 * deviation.size :]])
    return int(best.sum())


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
    low, high = mean, 4 * mean + 4
    for _ in range(60):
        x = (low + high) / 2
        rare = x * math.log(x / mean * (1 + mean) / (1 + x)) - math.log((1 + x) / (1 + mean))
        low, high = (x, high) if rare < math.log(2) else (low, x)
    return high


_PARTS: Final = 2**12


def least_rate(
    value: Loss | Number,
    *,
    name: str,
    bits: int = 28,
    what: str = " for a tree",
    hint: str = "Each level gets a share of it; use a larger ε, or no tree.",
) -> Loss:
    """``value`` as a rate of at least 2^-bits: 28 where every level's share of it is to be drawn.

    Refused here, not at the draw: by then the charge is on record.
    """
    found = rate(value, name=name)
    if found >= Fraction(1, 2**bits):
        return found
    reason = f"{name} must be at least 2^-{bits}{what}, got {value!r}."
    raise ParameterError(reason, hint=hint, value=value)


def level_shares(edges: IntArray, branching: int) -> list[Fraction]:
    """What each level gets of the rates, from the lowest nodes up: exact, and in sum exactly 1.

    Public: from the tree alone. A share of 0 leaves a level unmeasured.
    """
    parts = np.floor(level_weights(edges, branching) * _PARTS).astype(int).tolist()
    # What rounding leaves goes to the lowest nodes, which must be measured.
    parts[0] += _PARTS - sum(parts)
    return [Fraction(part, _PARTS) for part in parts]


def edges_of(partition: Partition) -> IntArray:
    """Where each bucket starts, and the end, in cells: for buckets in a row."""
    return np.concatenate([[0], np.cumsum(partition.sizes)])


@dataclass(frozen=True)
class Hierarchical(TwoRates, TwoPhase):
    """A histogram for ranges: noise on every level of a tree, made consistent by least squares.

    Every level is measured at its share of both rates; shares are chosen for all ranges of cells,
    from public facts (the idea of GreedyH), and so is the branching, unless they are given. In two
    dimensions the tree is over the Z-order curve, so with ``branching=4`` it is a quadtree.
    Nothing is learnt: each cell is its own bucket. Estimates are unbiased, and so are their sums;
    ``clip``, or :meth:`non_negative` afterwards, projects the whole tree onto counts of at least
    0, from the total down.

    Promise: along a move with ``Shift(rise, fall)`` the loss is exactly
    ``upper_rate * fall + lower_rate * rise``, whatever the number of nodes: a lowest node that
    moves by one moves one node on each level by one, and the levels' shares of the rates add up
    to 1. (A move whose two cells share a node cancels there and loses less.)
    Direction: one-sided noise where the policy moves counts one way only; its mean is taken out,
    so no answer is certain on a side.
    Units: rates in nats per count, for all levels together.
    Source: Hay, Rastogi, Miklau and Suciu 2010; GreedyH of Li, Hay, Miklau and Wang 2014.
    Errors: ParameterError for invalid rates or an invalid branching.

    >>> from onesided.mechanism import Hierarchical
    >>> Hierarchical(upper_rate=1, lower_rate=1, branching=4).branching
    4
    """

    _: KW_ONLY
    upper_rate: Rate = Field(least_rate)
    lower_rate: Rate = Field(least_rate)
    branching: MaybeWhole = Field(whole, least=2, most=2**20, default=None, optional=True)
    clip: bool = False
    shares: tuple[Fraction, ...] | None = None

    def __post_init__(self) -> None:
        if self.shares is None:
            return
        given = tuple(exact(one, name="share") for one in self.shares)
        small = any(0 < one < Fraction(1, _PARTS) for one in given)
        if not given or sum(given) != 1 or given[0] <= 0 or min(given) < 0 or small:
            raise ParameterError(
                f"The levels' shares must add up to exactly 1, got {self.shares!r}.",
                hint="From the cells up; that of the cells above 0, none between 0 and 2^-12.",
                value=self.shares,
            )
        settle(self, shares=given)

    def learn(self, counts: IntArray, *, noise: Noise) -> Partition:  # noqa: ARG002 - learns nothing
        """One bucket per cell, in the order of the Z-curve in two dimensions."""
        return self._partition(counts.shape)

    def learn_loss(self, shift: Shift) -> Loss:  # noqa: ARG002 - learns nothing
        """Nothing."""
        return Fraction(0)

    def measure(self, counts: IntArray, partition: Partition, *, noise: Noise) -> NDArray[Any]:
        """Consistent estimates of the buckets' totals: float64, shape (m,)."""
        return self.totals(partition.totals(counts), edges_of(partition), noise=noise)

    def totals(self, totals: IntArray, edges: IntArray, *, noise: Noise) -> FloatArray:
        """Consistent estimates of the lowest nodes, float64; unbiased without ``clip``.

        edges: public; where each lowest node starts, and the end, in cells.
        """
        fan = self._fan(edges)
        laws = self._laws(edges, fan)
        levels: list[FloatArray] = []
        for sums, law in zip(tree_sums(totals, fan), laws, strict=True):
            if law is None:
                levels.append(np.zeros(sums.size))
                continue
            noisy = sums + noise.two_sided(law.upper, law.lower, sums.size)
            levels.append(noisy.astype(np.float64) - law.mean())
        variances = [math.inf if law is None else law.variance() for law in laws]
        found = consistent(levels, variances, fan)
        return non_negative_tree(found, fan) if self.clip else found

    def non_negative(self, estimate: FloatArray) -> FloatArray:
        """A histogram with no count below 0: each total's parts are the nearest that add up to it.

        Free of charge: the whole tree is projected from the total down. Nodes are not cut at 0 one
        by one, which would lift every sum of many.
        estimate: what :meth:`release` gave without ``clip``.
        """
        partition = self._partition(estimate.shape)
        line = np.empty(estimate.size)
        line[partition.labels.ravel()] = estimate.ravel()
        fan = self._fan(edges_of(partition))
        return non_negative_tree(line, fan)[partition.labels]

    def variance(self, shape: tuple[int, ...]) -> FloatArray:
        """Of the estimate of each cell, without ``clip``; in the order of the buckets, in O(n).

        Of a node's children only their sum learns from elsewhere; what else a child's variance
        holds stays.
        """
        edges = edges_of(self._partition(shape))
        fan, below = self._fan(edges), []
        laws = self._laws(edges, fan)
        spread = np.full(edges.size - 1, math.inf if laws[0] is None else laws[0].variance())
        for law in laws[1:]:
            sums = np.add.reduceat(spread, np.arange(0, spread.size, fan))
            below.append((spread, sums))
            spread = sums
            if law is not None:
                own = law.variance()
                spread = np.divide(own * sums, own + sums, out=np.zeros_like(sums), where=sums > 0)
        for each, sums in reversed(below):
            every, told = (np.repeat(one, fan)[: each.size] for one in (sums, spread))
            part = np.divide(each, every, out=np.zeros_like(each), where=every > 0)
            spread = each * (1 - part) + part * part * told
        return spread

    def measure_loss(self, shift: Shift) -> Loss:
        """``upper_rate * fall + lower_rate * rise``."""
        return self.loss(shift)

    def steps(self, shift: Shift) -> Chosen:
        """Its levels as one step: how much each gets depends on the number of cells."""
        return Chosen(self.loss(shift), self.loss(shift.negated))

    @staticmethod
    def _partition(shape: tuple[int, ...]) -> Partition:
        cells = math.prod(shape)
        place = np.empty(cells, dtype=np.int64)
        place[z_order(shape)] = np.arange(cells)
        return Partition(place.reshape(shape))

    def _fan(self, edges: IntArray) -> int:
        return best_branching(edges) if self.branching is None else self.branching

    def _laws(self, edges: IntArray, fan: int) -> list[TwoSidedGeometric | None]:
        """Each level's noise, from the lowest nodes up; None where it is not measured."""
        chosen = level_shares(edges, fan)
        shares = chosen if self.shares is None else self.shares
        if len(shares) != len(chosen):
            raise ParameterError(
                f"{len(shares)} shares do not fit a tree of {len(chosen)} levels.",
                hint="Give one share per level, from the lowest nodes up to the one total.",
            )
        return [
            TwoSidedGeometric(self.upper_rate * share, self.lower_rate * share) if share else None
            for share in shares
        ]


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
# With these, no sum of prices leaves int64: 2^53 counts, 2^26 cells, noise of at most 2^28 (and
# rates for learning of at least 2^-20).
_MAX_CELLS: Final = 2**26
_MAX_DRAWN: Final = 2**28


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

    learn_rate: Rate = Field(
        least_rate,
        bits=20,
        what="",
        hint="With so much noise no partition can be learnt; measure cells or the total.",
    )
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
                least_rate(one.upper_rate, name="upper_rate")
                least_rate(one.lower_rate, name="lower_rate")

    @classmethod
    def fit(
        cls,
        policy: Policy,  # noqa: ARG003
        moves: Sequence[Move],
        *,
        learn_share: Number = LEARN_SHARE,
        look_share: Number | None = LOOK_SHARE,
        **options: Any,
    ) -> Self:
        """``learn_share`` of ε on every edge for the partition, the rest for the totals.

        look_share: of ε on every edge, before that, for whether neighbours are alike; None does
            not ask. options: ``workload`` and ``clip``.
        """
        share, look = strict_share(learn_share, name="learn_share"), None
        if look_share is not None:
            first = strict_share(look_share, name="look_share")
            above, below = choose(part_of(moves, 1 - first))
            asked = _both_ways_rate(part_of(moves, first))
            look = Look(asked, upper_rate=above, lower_rate=below)
            moves = part_of(moves, 1 - first)
        upper, lower = choose(part_of(moves, 1 - share))
        learnt = _both_ways_rate(part_of(moves, share))
        return called(cls, learnt, upper_rate=upper, lower_rate=lower, look=look, **options)

    @property
    def by_cells(self) -> bool:
        """Unless sums over ranges matter more."""
        return self.workload == "cells"

    def learn(self, counts: IntArray, *, noise: Noise) -> Partition:
        """The buckets: contiguous in one dimension, or along the Z-order curve in two."""
        if counts.size > _MAX_CELLS:
            raise DataError(
                f"The histogram has {counts.size} cells, more than 2^26.", hint="Use coarser cells."
            )
        order = z_order(counts.shape)
        line = counts.ravel()[order]
        if self.look is not None and not self.alike(line, noise=noise):
            return _Unlearnt(Partition.of_cells(counts.shape).labels)
        cells = -_drawn(noise, self.learn_rate, line.size)
        half = self.learn_rate * Fraction(1, 2)
        noisy = (cost - _drawn(noise, half, cost.size) for cost in deviations(line))
        labels = np.cumsum(cheapest(cells, noisy, self._prices())) - 1
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

    def steps(self, shift: Shift) -> Steps:
        """The look at the least cost, and then a partition and its totals, or all cells at once."""

        def measured(upper: Loss, lower: Loss) -> Steps:
            whole = Counted(upper, lower, shift)
            back = Counted(upper, lower, shift.negated)
            # Over a tree the levels' shares depend on the partition: they are one step.
            return whole if self.workload == "cells" else Chosen(whole.epsilon, back.epsilon)

        moved = shift.rise + shift.fall
        learn = both_ways(self.learn_rate * moved)
        learnt = Together((learn, measured(self.upper_rate, self.lower_rate)))
        if self.look is None:
            return learnt
        ask, either = self.look.ask_rate, (Shift(rise=0, fall=moved), Shift(rise=moved, fall=0))
        asked = OneOf(tuple(Counted(ask, ask, one) for one in either))
        plain = measured(self.look.upper_rate, self.look.lower_rate)
        return Together((asked, OneOf((learnt, plain))))

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
        prices = self._prices() if ranges else self._prices(_SEEN, _LED)
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
        tree = Hierarchical(upper_rate=rates[0], lower_rate=rates[1], clip=self.clip)
        return tree.totals(totals, edges_of(partition), noise=noise)

    def measure_loss(self, shift: Shift) -> Loss:
        """``upper_rate * fall + lower_rate * rise``: a bucket moves by no more than its cells.

        For a partition that was learnt; :meth:`loss` covers what a look may do instead.
        """
        return self.upper_rate * shift.fall + self.lower_rate * shift.rise

    def _prices(self, deviation: int = _DEVIATION, led: float = 1.0) -> Prices:
        """A bucket's price: the error of measuring it, and what noise gains from one more."""
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


def _both_ways_rate(moves: Iterable[Move]) -> Loss:
    """The largest rate r with ``r * (rise + fall)`` within what each move may lose."""
    each = (move.loss / (move.shift.rise + move.shift.fall) for move in moves)
    return min(each, default=INFINITE)


def _drawn(noise: Noise, rate: Loss, size: int) -> IntArray:
    drawn = noise.geometric(rate, size)
    # Refused by the noise alone, and at these rates with a chance below 2^-100: nothing leaks.
    if drawn.size and drawn.max() > _MAX_DRAWN:
        raise NoiseError("A draw of noise was too large to add up.", hint="Release again.")
    return drawn
