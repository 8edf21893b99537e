"""AGrid and UG: a map in rectangles, finer where a first noisy look found more."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import Loss, Number, whole
from onesided.errors import DataError
from onesided.fields import settle
from onesided.mechanism._counts import Counts
from onesided.mechanism.histograms._ahp import asked_of, phases, plain, unbiased
from onesided.mechanism.histograms._two_phase import Partition, TwoPhase
from onesided.noise import IntArray, Noise
from onesided.policy import GroupCount, Policy, Shift

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


@dataclass(frozen=True, slots=True)
class AGrid(TwoPhase):
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

    side: int
    learning: Counts
    measuring: Counts
    columns: int | None = None
    clip: bool = True

    def __post_init__(self) -> None:
        _check_grid(self)

    @classmethod
    def for_policy(
        cls,
        policy: Policy,
        *,
        epsilon: Number,
        records: int,
        counted: Iterable[str] | None = None,
        query: GroupCount | None = None,
        share: Number = "1/2",
        columns: int | None = None,
        clip: bool = True,
    ) -> AGrid:
        """The least noise that keeps ``(epsilon, policy)``; ``share`` of ε goes to phase 1.

        records: a *public* guess of how many there are, from which the coarse grid follows:
        ``max(10, sqrt(records ε / 10) / 4)`` along each axis. A bad guess costs accuracy alone.
        """
        first, second = phases(policy, epsilon, asked_of(query, counted), share)
        side = max(10, math.ceil(_side(policy, epsilon, counted, records) / 4))
        return cls(min(side, _MOST), first, second, columns=columns, clip=clip)

    def learn(self, counts: IntArray, *, noise: Noise) -> GridPartition:
        """Fine cells, smaller where the noisy coarse counts are larger."""
        shape = _map(counts.shape, self.columns)
        cells = coarse_cells(shape, self.side).reshape(counts.shape)
        coarse = unbiased(self.learning, Partition(cells).totals(counts), noise=noise)
        labels, parents = refine(shape, self.side, self.parts(coarse))
        return GridPartition(labels.reshape(counts.shape), coarse, parents)

    def learn_loss(self, shift: Shift) -> Loss:
        """What the noisy coarse counts lose."""
        return self.learning.loss(shift)

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
        reconciled: NDArray[np.float64] = fine + ((both - below) / parts)[partition.parents]
        return reconciled

    def measure_loss(self, shift: Shift) -> Loss:
        """What the noisy fine counts lose at most."""
        return self.measuring.loss(shift)

    def parts(self, coarse: NDArray[np.float64]) -> IntArray:
        """Along each axis, how many fine cells each coarse one should have."""
        spread = _spread(self.measuring)
        if spread == 0:
            return np.full(coarse.size, _MOST)
        wanted = np.ceil(np.sqrt(np.maximum(coarse, 0) / (_C / 2 * spread)))
        return np.clip(wanted, 1, _MOST).astype(np.int64)


@dataclass(frozen=True, slots=True)
class UniformGrid(TwoPhase):
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

    side: int
    measuring: Counts
    columns: int | None = None
    clip: bool = True

    def __post_init__(self) -> None:
        _check_grid(self)

    @classmethod
    def for_policy(
        cls,
        policy: Policy,
        *,
        epsilon: Number,
        records: int,
        counted: Iterable[str] | None = None,
        columns: int | None = None,
        clip: bool = True,
    ) -> UniformGrid:
        """The least noise that keeps ``(epsilon, policy)``, on a grid for ``records`` records.

        records: a *public* guess of how many there are; ``sqrt(records ε / 10)`` cells along each
        axis follow from it.
        """
        noise = Counts.for_policy(policy, epsilon=epsilon, counted=counted)
        side = math.ceil(_side(policy, epsilon, counted, records))
        return cls(min(max(side, 1), _MOST), noise, columns=columns, clip=clip)

    def learn(self, counts: IntArray, *, noise: Noise) -> Partition:  # noqa: ARG002 - no chance
        """The fixed grid: of the counts only their shape matters."""
        cells = coarse_cells(_map(counts.shape, self.columns), self.side)
        return Partition(cells.reshape(counts.shape))

    def learn_loss(self, shift: Shift) -> Loss:  # noqa: ARG002 - nothing is learnt
        """0."""
        return Fraction(0)

    def measure(
        self, counts: IntArray, partition: Partition, *, noise: Noise
    ) -> NDArray[np.float64]:
        """Unbiased noisy counts of the cells."""
        return unbiased(self.measuring, partition.totals(counts), noise=noise)

    def measure_loss(self, shift: Shift) -> Loss:
        """What the noisy counts lose at most."""
        return self.measuring.loss(shift)


def coarse_cells(shape: tuple[int, int], side: int) -> IntArray:
    """The coarse cell of each bin: ``side`` near-equal strips along each axis, or fewer.

    >>> coarse_cells((2, 4), 2).tolist()
    [[0, 0, 1, 1], [2, 2, 3, 3]]
    """
    rows, columns = (_strips(length, side)[0] for length in shape)
    cells: IntArray = rows[:, None] * min(side, shape[1]) + columns
    return cells


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


def _check_grid(grid: AGrid | UniformGrid) -> None:
    """Refuse grids without cells, and noise that is not plain."""
    settle(grid, side=whole(grid.side, name="side", least=1, most=_MOST))
    if grid.columns is not None:
        settle(grid, columns=whole(grid.columns, name="columns", least=1))
    plain(grid.measuring, name="measuring")
    if isinstance(grid, AGrid):
        plain(grid.learning, name="learning")


def _strips(length: int, side: int) -> tuple[IntArray, IntArray, IntArray]:
    """Of an axis in near-equal strips: each bin's strip, each strip's first bin, its length."""
    strips = np.arange(length) * min(side, length) // length
    sizes = np.bincount(strips).astype(np.int64)
    return strips, np.cumsum(sizes) - sizes, sizes


def _side(policy: Policy, epsilon: Number, counted: Iterable[str] | None, records: int) -> float:
    """Cells along each axis for one cell per ``10 / ε`` records, by what ε gives here."""
    many = whole(records, name="records", least=1)
    spread = _spread(Counts.for_policy(policy, epsilon=epsilon, counted=counted))
    return math.sqrt(many / (_C * spread)) if spread else float(_MOST)


def _spread(noise: Counts) -> float:
    """``1 / ε`` of the Laplace noise of the same variance."""
    return math.sqrt(noise.distribution.variance() / 2)
