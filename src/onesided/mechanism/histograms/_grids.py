"""AHP clusters cells by their noisy counts; AGrid and UG cut a map into rectangles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import Loss, Number, strict_share, whole
from onesided.errors import DataError, ParameterError, called
from onesided.fields import Field, MaybeWhole, Whole, settle
from onesided.mechanism._fit import Move, part_of
from onesided.mechanism._steps import Counted, Steps, Together
from onesided.mechanism.histograms._two_phase import Partition, TwoPhase
from onesided.mechanism.law import Counts
from onesided.noise import BoolArray, IntArray, Noise
from onesided.policy import Policy, Shift

Plain: TypeAlias = Field[Counts, Counts]
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
    return (np.cumsum(starts) - 1)[places.ravel()]


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
    n, s, q = (
        np.pad(np.cumsum(weights * offsets**power, axis=1), ((0, 0), (1, 0))) for power in range(3)
    )
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


def plain(noise: object, *, name: str) -> Counts:
    """:class:`Counts` without post-processing of its own. Errors: ParameterError."""
    if isinstance(noise, Counts) and noise.correction == "none" and not noise.clip:
        return noise
    raise ParameterError(
        f"{name} must be plain Counts, got {noise!r}.",
        hint="Give Counts(upper_rate, lower_rate), or use for_policy.",
        value=noise,
    )


# As in the implementation that DPBench ran (Hay et al. 2016): most of ε finds the clusters.
SHARE: Final = "17/20"
_CUT: Final = 0.35


class _OfCounts(TwoPhase):
    """Plain counts in both phases: of what is there, and of the buckets that they lead to."""

    learning: Plain
    measuring: Plain

    def learn_loss(self, shift: Shift) -> Loss:
        """Exactly what the noisy counts of phase 1 lose."""
        return self.learning.loss(shift)

    def measure(
        self, counts: IntArray, partition: Partition, *, noise: Noise
    ) -> NDArray[np.float64]:
        """Unbiased noisy totals of the buckets."""
        return unbiased(self.measuring, partition.totals(counts), noise=noise)

    def measure_loss(self, shift: Shift) -> Loss:
        """What the noisy totals lose at most: no total moves by more than the counts in it."""
        return self.measuring.loss(shift)

    def steps(self, shift: Shift) -> Steps:
        """Counts, and totals of what they grouped."""
        phases = (self.learning, self.measuring)
        return Together(tuple(Counted(o.upper_rate, o.lower_rate, shift) for o in phases))


@dataclass(frozen=True)
class Ahp(_OfCounts):
    """Estimates of all counts: cells with alike noisy counts share one measured total.

    learning, measuring: the noise of the two phases, as plain :class:`Counts`.
    Phase 1 adds noise to every count, takes small ones for 0 and puts cells of similar noisy
    counts into buckets, which need not be contiguous. Phase 2 adds fresh noise to each bucket's
    total and spreads it evenly.

    Promise: along a move the loss is at most ``learning.loss(shift) + measuring.loss(shift)``.
    Proof: the buckets are a function of the noisy counts of phase 1 alone, which lose
    ``learning.loss(shift)``. Given the buckets, a record moves the totals by no more than it
    moves the counts, in each direction; the rest is post-processing. Reached where the record
    leaves and enters different buckets.
    Direction: as :class:`Counts` in both phases; one-sided rates serve one-sided policies.
    Units: nats per count; estimates in counts, float64, unbiased noise, at least 0 if ``clip``.
    Source: Zhang, Chen, Xu, Meng and Xie, SDM 2014, with the clusters optimal for the noisy counts
    instead of greedy. The share of ε and the cut are those of the implementation that DPBench
    (Hay et al., SIGMOD 2016) ran. Errors: ParameterError.

    >>> from onesided import Shift
    >>> from onesided.policy import addition_only
    >>> ahp = Ahp.for_policy(addition_only(), epsilon=1)
    >>> ahp.loss(Shift(rise=0, fall=1)), ahp.release([5, 5, 0, 90]).size
    (Fraction(1, 1), 4)
    """

    learning: Plain = Field(plain)
    measuring: Plain = Field(plain)
    clip: bool = True

    @classmethod
    def fit(
        cls, policy: Policy, moves: Sequence[Move], *, share: Number = SHARE, clip: bool = True
    ) -> Self:
        """The least noise of both phases; ``share`` of ε goes to phase 1."""
        return cls(*phases(policy, moves, share), clip=clip)

    @property
    def by_cells(self) -> bool:
        """Yes: a cell's place is not used."""
        return True

    def learn(self, counts: IntArray, *, noise: Noise) -> Partition:
        """Buckets of cells with similar noisy counts, from the lowest to the highest."""
        noisy = self.learning.noisy(counts.ravel(), noise=noise)
        return Partition(self.group(noisy).reshape(counts.shape))

    def group(self, noisy: IntArray) -> IntArray:
        """The bucket of each cell, from phase 1's noisy counts: post-processing."""
        chance = self.learning.distribution
        middle = chance.mean()
        scale = math.sqrt(chance.variance() / 2)
        cut = math.floor(middle + _CUT * math.log(noisy.size) * scale)
        values = np.where(noisy > cut, noisy, math.floor(middle))
        return clusters(values, variance=self.measuring.distribution.variance())

    steps = _OfCounts.steps  # its own: no other class's steps are taken on trust


def phases(policy: Policy, moves: Sequence[Move], share: Number) -> tuple[Counts, Counts]:
    """The least noise of both phases: ``share`` of ε for the first, the rest for the second."""
    part = strict_share(share, name="share")
    first = Counts.fit(policy, part_of(moves, part))
    return first, Counts.fit(policy, part_of(moves, 1 - part))


def unbiased(counts: Counts, totals: IntArray, *, noise: Noise) -> NDArray[np.float64]:
    """``totals`` with noise, less the noise's mean; the mean is public."""
    noisy = counts.noisy(totals, noise=noise).astype(np.float64)
    return noisy - np.float64(counts.distribution.mean())


# The paper's constants: one cell for each C / ε records, half that on the second level.
_C: Final = 10.0
_MOST: Final = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class GridPartition(Partition):
    """A partition into rectangles that also carries phase 1's noisy counts, public like it.

    coarse: unbiased noisy counts of the coarse cells, shape (c,). parents: the coarse cell that
    each bucket lies in, shape (m,).

    >>> GridPartition(np.array([0, 0, 1]), np.array([7.0]), np.array([0, 0])).parents.tolist()
    [0, 0]
    """

    coarse: NDArray[np.float64]
    parents: IntArray

    def __init__(self, labels: IntArray, coarse: NDArray[np.float64], parents: IntArray) -> None:
        Partition.__init__(self, labels)
        settle(self, coarse=coarse, parents=parents)


@dataclass(frozen=True)
class AGrid(_OfCounts):
    """Estimates of a two-dimensional histogram from an adaptive grid.

    side: coarse cells along each axis (fewer if the histogram is shorter); public.
    learning, measuring: the noise of the two phases, as plain :class:`Counts`.
    columns: how many columns a flat histogram has, row after row; None takes two dimensions only.
    Phase 1 counts a coarse grid with noise; each coarse cell is split more finely the more
    records it seems to hold. Phase 2 counts the fine cells with fresh noise. Then, free of charge,
    the two levels are reconciled: weighted by their variances, and made to add up.

    Promise: along a move the loss is at most ``learning.loss(shift) + measuring.loss(shift)``.
    Proof: coarse cells are fixed in advance and disjoint, so their counts move by no more than
    the histogram's; the fine cells are a function of the noisy coarse counts. Given them, the
    fine counts move by no more than the histogram's either; the rest is post-processing.
    Direction: as :class:`Counts` in both phases. Units: nats per count; estimates in counts.
    Errors: DataError for a histogram that is no map: not two dimensions, or flat and not
    ``columns`` times a whole number.
    Source: Qardaji, Yang and Li, ICDE 2013 (AG, with its constants c = 10 and c2 = 5), where
    cells here are aligned with the bins of the histogram.

    >>> from onesided import Shift
    >>> from onesided.policy import addition_only
    >>> grid = AGrid.for_policy(addition_only(), epsilon=1, records=1000)
    >>> grid.side, grid.loss(Shift(rise=0, fall=1)), grid.release(np.ones((4, 4), dtype=int)).shape
    (10, Fraction(1, 1), (4, 4))
    """

    side: Whole = Field(whole, least=1, most=_MOST)
    learning: Plain = Field(plain)
    measuring: Plain = Field(plain)
    columns: MaybeWhole = Field(whole, least=1, default=None, optional=True)
    clip: bool = True

    @classmethod
    def fit(
        cls,
        policy: Policy,
        moves: Sequence[Move],
        *,
        records: int,
        share: Number = "1/2",
        **options: Any,
    ) -> Self:
        """The least noise of both phases; ``share`` of ε goes to phase 1.

        records: a *public* guess of how many there are, from which the coarse grid follows:
        ``max(10, sqrt(records ε / 10) / 4)`` along each axis. A bad guess costs accuracy alone.
        options: ``columns`` and ``clip``.
        """
        side = max(10, math.ceil(_side(policy, moves, records) / 4))
        return called(cls, min(side, _MOST), *phases(policy, moves, share), **options)

    def learn(self, counts: IntArray, *, noise: Noise) -> GridPartition:
        """Fine cells, smaller where the noisy coarse counts are larger."""
        shape = _map(counts.shape, self.columns)
        cells = coarse_cells(shape, self.side).reshape(counts.shape)
        coarse = unbiased(self.learning, Partition(cells).totals(counts), noise=noise)
        labels, parents = refine(shape, self.side, self.parts(coarse))
        return GridPartition(labels.reshape(counts.shape), coarse, parents)

    def measure(
        self, counts: IntArray, partition: Partition, *, noise: Noise
    ) -> NDArray[np.float64]:
        """Unbiased noisy counts of the fine cells, reconciled with the coarse ones.

        Both levels are weighted by their precision and the difference is shared out evenly,
        which is the least-squares estimate for these two levels.
        """
        fine = unbiased(self.measuring, partition.totals(counts), noise=noise)
        if not isinstance(partition, GridPartition):
            return fine
        below = np.bincount(partition.parents, fine)
        parts = np.bincount(partition.parents)
        above = self.learning.distribution.variance()
        each = self.measuring.distribution.variance()
        if above + each == 0:
            return fine
        both = (below * above + partition.coarse * parts * each) / (above + parts * each)
        return fine + ((both - below) / parts)[partition.parents]

    steps = _OfCounts.steps

    def parts(self, coarse: NDArray[np.float64]) -> IntArray:
        """Along each axis, how many fine cells each coarse one should have."""
        spread = _spread(self.measuring)
        if spread == 0:
            return np.full(coarse.size, _MOST)
        wanted = np.ceil(np.sqrt(np.maximum(coarse, 0) / (_C / 2 * spread)))
        return np.clip(wanted, 1, _MOST).astype(np.int64)


@dataclass(frozen=True)
class UniformGrid(_OfCounts):
    """UG: a fixed grid of ``side`` by ``side`` cells, each counted with noise and spread evenly.

    Nothing is learnt. Promise: the loss is at most ``measuring.loss(shift)``, reached where the
    record leaves and enters different cells. Source: Qardaji, Yang and Li, ICDE 2013.
    Units: nats per count; estimates in counts. ``columns`` and errors: as for :class:`AGrid`.

    >>> from onesided import Shift
    >>> from onesided.policy import addition_only
    >>> grid = UniformGrid.for_policy(addition_only(), epsilon=1, records=1000)
    >>> grid.loss(Shift(rise=0, fall=1)), grid.release(np.ones((2, 3), dtype=int)).shape
    (Fraction(1, 1), (2, 3))
    """

    side: Whole = Field(whole, least=1, most=_MOST)
    measuring: Plain = Field(plain)
    columns: MaybeWhole = Field(whole, least=1, default=None, optional=True)
    clip: bool = True

    _by_totals = True

    @classmethod
    def fit(cls, policy: Policy, moves: Sequence[Move], *, records: int, **options: Any) -> Self:
        """The least noise, on a grid for ``records`` records.

        records: a *public* guess of how many there are; ``sqrt(records ε / 10)`` cells along each
        axis follow from it. options: ``columns`` and ``clip``.
        """
        side = math.ceil(_side(policy, moves, records))
        return called(cls, min(max(side, 1), _MOST), Counts.fit(policy, moves), **options)

    def learn(self, counts: IntArray, *, noise: Noise) -> Partition:  # noqa: ARG002 - no chance
        """The fixed grid: of the counts only their shape matters."""
        cells = coarse_cells(_map(counts.shape, self.columns), self.side)
        return Partition(cells.reshape(counts.shape))

    def learn_loss(self, shift: Shift) -> Loss:  # noqa: ARG002 - nothing is learnt
        """0."""
        return Fraction(0)

    def steps(self, shift: Shift) -> Counted:
        """Counts of the grid's cells."""
        return Counted(self.measuring.upper_rate, self.measuring.lower_rate, shift)


def coarse_cells(shape: tuple[int, int], side: int) -> IntArray:
    """The coarse cell of each bin: ``side`` near-equal strips along each axis, or fewer.

    >>> coarse_cells((2, 4), 2).tolist()
    [[0, 0, 1, 1], [2, 2, 3, 3]]
    """
    rows, columns = (_strips(length, side)[0] for length in shape)
    return rows[:, None] * min(side, shape[1]) + columns


def refine(shape: tuple[int, int], side: int, parts: IntArray) -> tuple[IntArray, IntArray]:
    """The fine cell of each bin, and the coarse cell of each fine one.

    Coarse cell c is split into ``parts[c]`` by ``parts[c]``; no fine cell is less than a bin.

    >>> fine, parents = refine((2, 2), 1, np.array([2]))
    >>> fine.tolist(), parents.tolist()
    ([[0, 1], [2, 3]], [0, 0, 0, 0])
    """
    cells = coarse_cells(shape, side)
    (row, top, height), (column, left, width) = (_strips(length, side) for length in shape)
    # Per coarse cell first, so that each has as many fine cells as its bins allow.
    down = np.minimum(parts, np.repeat(height, width.size))
    across = np.minimum(parts, np.tile(width, height.size))
    begins = np.concatenate([[0], np.cumsum(down * across)])
    inside = np.arange(shape[0]) - top[row], np.arange(shape[1]) - left[column]
    lower = inside[0][:, None] * down[cells] // height[row][:, None]
    right = inside[1] * across[cells] // width[column]
    labels = begins[:-1][cells] + lower * across[cells] + right
    return labels, np.repeat(np.arange(parts.size), down * across)


def _map(shape: tuple[int, ...], columns: int | None) -> tuple[int, int]:
    """Rows and columns of a histogram.

    Errors: DataError for one that is no map.
    """
    if len(shape) == 2 and columns in (None, shape[1]):
        return shape[0], shape[1]
    if len(shape) == 1 and columns and shape[0] % columns == 0:
        return shape[0] // columns, columns
    raise DataError(
        f"A histogram of shape {shape} is no map of {columns or 'rows and'} columns.",
        hint="Give counts[row, column], or columns=... for a flat histogram; "
        "for one dimension use Ahp.",
        shape=shape,
    )


def _strips(length: int, side: int) -> tuple[IntArray, IntArray, IntArray]:
    """Of an axis in near-equal strips: each bin's strip, each strip's first bin, its length."""
    strips = np.arange(length) * min(side, length) // length
    sizes = np.bincount(strips).astype(np.int64)
    return strips, np.cumsum(sizes) - sizes, sizes


def _side(policy: Policy, moves: Sequence[Move], records: int) -> float:
    """Cells along each axis for one cell per ``10 / ε`` records, by what ε gives here."""
    many = whole(records, name="records", least=1)
    spread = _spread(Counts.fit(policy, moves))
    return math.sqrt(many / (_C * spread)) if spread else float(_MOST)


def _spread(noise: Counts) -> float:
    """``1 / ε`` of the Laplace noise of the same variance."""
    return math.sqrt(noise.distribution.variance() / 2)
