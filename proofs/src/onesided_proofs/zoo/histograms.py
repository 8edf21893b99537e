"""Histogram algorithms cut down to what can be enumerated, and ones that are wrong in one way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onesided.linear.kit import consistent, tree_sums
from onesided.mechanism.histograms import AGrid, Ahp, Dawa, Marginals, Partition, TwoPhase, Zeroed
from onesided.mechanism.histograms.kit import (
    Edges,
    GridPartition,
    Prices,
    cheapest,
    coarse_cells,
    deviations,
    least,
    refine,
)
from onesided.noise import BoolArray, IntArray, Noise
from onesided.numbers import INFINITE, Loss
from onesided.policy import GroupCount, Record, Shift
from onesided.verify import Data, Universe

_ALL = GroupCount(max_groups=1)
_OPEN = GroupCount(counted=frozenset({"open"}))


@dataclass(frozen=True, slots=True)
class Learning:
    """Right: the first phase on its own, on the data's counts above some that everyone knows."""

    algorithm: TwoPhase
    known: tuple[int, ...]

    def release(self, values: IntArray, *, noise: Noise) -> IntArray:
        """The bucket of each cell."""
        labels: IntArray = self.algorithm.learn(values + self.known, noise=noise).labels
        return labels

    def loss(self, shift: Shift) -> Loss:
        """The algorithm's own for its first phase."""
        return self.algorithm.learn_loss(shift)


@dataclass(frozen=True, slots=True)
class Looking:
    """Right: the decision of a look on its own, on the data's counts above some that are known."""

    algorithm: Dawa
    known: tuple[int, ...]

    def release(self, values: IntArray, *, noise: Noise) -> bool:
        """Whether neighbours seem alike."""
        return self.algorithm.alike(values + self.known, noise=noise)

    def loss(self, shift: Shift) -> Loss:
        """The look's own."""
        asked = self.algorithm.look
        return INFINITE if asked is None else asked.ask_rate * (shift.rise + shift.fall)


@dataclass(frozen=True, slots=True)
class WithOpen:
    """A program on records: counts of all and of the open ones, and what ``run`` makes of them.

    known: open records that are in every data set.
    """

    run: Callable[[IntArray, IntArray, Noise], Any]
    world: Universe
    known: tuple[int, ...]

    def __call__(self, data: Data, noise: Noise) -> Any:
        """What it publishes."""
        counts = self.world.count(data, _ALL) + self.known
        return self.run(counts, self.world.count(data, _OPEN) + self.known, noise)


@dataclass(frozen=True, slots=True)
class Released:
    """Right: the recipe as shipped, as a function of both histograms."""

    mechanism: Zeroed

    def __call__(self, counts: IntArray, opened: IntArray, noise: Noise) -> Any:
        """Its estimates."""
        return self.mechanism.release(counts, opened, noise=noise)


@dataclass(frozen=True, slots=True)
class WrongLearning:
    """A first phase that is wrong, in the shape of a mechanism; it states no loss."""

    run: Callable[[IntArray, Noise], BoolArray]
    known: tuple[int, ...]

    def release(self, values: IntArray, *, noise: Noise) -> IntArray:
        """The bucket of each cell."""
        labels: IntArray = np.cumsum(self.run(values + self.known, noise)) - 1
        return labels


def quiet_cells(counts: IntArray, noise: Noise, *, rate: int, price: int) -> BoolArray:
    """Cells as buckets cost their price and have no noise; other costs are clipped at 0."""
    noisy = (
        np.maximum(cost + noise.two_sided(rate, rate, cost.size), 0) for cost in deviations(counts)
    )
    return cheapest(np.zeros_like(counts), noisy, Prices(1, price, price))


def look_in_units(counts: IntArray, noise: Noise, *, rate: int) -> BoolArray:
    """A count moves the least price by 20 units, and its noise is as if that were 1."""
    price = least(counts.size, deviations(counts), Prices(20, 16, 16))
    alike = price + int(noise.two_sided(rate, rate, 1)[0]) < 58
    return np.array([True, *[alike] * (counts.size - 1)])


def ties_by_deviation(counts: IntArray, noise: Noise, *, right: Dawa) -> BoolArray:
    """Right noise, but the true deviation, not a rule, says which of two equal prices wins."""
    costs = list(deviations(counts))
    half = right.learn_rate * Fraction(1, 2)
    cells = -2 * noise.geometric(right.learn_rate, counts.size)
    noisy = [2 * (cost - noise.geometric(half, cost.size)) + np.minimum(cost, 1) for cost in costs]
    return cheapest(cells, noisy, Prices(1, 2, 2))


def whole_rate_per_level(counts: IntArray, noise: Noise, *, rate: int) -> Any:
    """A tree whose every level is measured as if it were the only one."""
    levels = [
        (sums + noise.two_sided(rate, rate, sums.size)).astype(np.float64)
        for sums in tree_sums(counts, 2)
    ]
    return consistent(levels, [1.0] * len(levels), 2)


def raw_zeros(_counts: IntArray, opened: IntArray, _noise: Noise) -> Any:
    """Cells without an open record are shown as such."""
    return opened == 0


def small_counts_dropped(
    _counts: IntArray, opened: IntArray, noise: Noise, *, right: Zeroed
) -> Any:
    """Open counts below 2 are clipped to 0 before noise: one record may move them by 2."""
    return right.empty(np.where(opened < 2, 0, opened), noise=noise)


def certain_zeros(_counts: IntArray, opened: IntArray, noise: Noise, *, right: Zeroed) -> Any:
    """Noise on both sides, so that an empty cell may show a count; zeros are taken at 0 exactly."""
    return opened + noise.two_sided(right.open_rate, INFINITE, opened.size) == 0


class RawClusters(Ahp):
    """AHP whose clusters come from the true counts: no noise in phase 1."""

    def learn(self, counts: IntArray, *, noise: Noise) -> Partition:  # noqa: ARG002 - the flaw
        """The clusters of the true counts."""
        return Partition(self.group(counts))


class RawGrid(AGrid):
    """AGrid whose fine cells follow the true coarse counts."""

    def learn(self, counts: IntArray, *, noise: Noise) -> GridPartition:
        """Noisy coarse counts beside a partition that was learnt without noise."""
        shape = (counts.size // (self.columns or 1), self.columns or 1)
        cells = coarse_cells(shape, self.side).ravel()
        true = Partition(cells).totals(counts)
        coarse = self.learning.noisy(true, noise=noise).astype(np.float64)
        labels, parents = refine(shape, self.side, self.parts(true.astype(np.float64)))
        return GridPartition(labels.ravel(), coarse, parents)


class RawReconciled(AGrid):
    """AGrid that makes its fine counts add up to the true coarse ones."""

    def measure(
        self, counts: IntArray, partition: Partition, *, noise: Noise
    ) -> NDArray[np.float64]:
        """Reconciled with what phase 1 did not publish."""
        shape = (counts.size // (self.columns or 1), self.columns or 1)
        cells = coarse_cells(shape, self.side).ravel()
        true = Partition(cells).totals(counts).astype(np.float64)
        parents = partition.parents if isinstance(partition, GridPartition) else cells
        told = GridPartition(partition.labels, true, parents)
        return AGrid.measure(self, counts, told, noise=noise)


def _value(record: Record) -> frozenset[str]:
    return record.value if isinstance(record.value, frozenset) else frozenset()


def zeroed(mechanism: Zeroed, data: Data, noise: Noise) -> NDArray[np.float64]:
    """Right: all records and the open ones, as the recipe takes them."""
    both = (data, tuple(record for record in data if record.kind == "open"))
    counts, opened = (
        np.array([sum(group in _value(r) for r in part) for group in ("a", "b")], dtype=np.int64)
        for part in both
    )
    return mechanism.release(counts, opened, noise=noise)


def tree_of(mechanism: Marginals, data: Data, noise: Noise) -> Edges:
    """Right if the mechanism is: what phase 1 publishes."""
    return mechanism.learn(_codes(data), noise=noise)


def tables_of(mechanism: Marginals, data: Data, noise: Noise) -> tuple[NDArray[np.float64], ...]:
    """Right if the mechanism is: what phase 2 publishes of one tree."""
    return mechanism.measure(_codes(data), ((0, 1), (1, 2)), noise=noise)


def _codes(data: Data) -> IntArray:
    """Records whose cell is named by their codes, such as "011"."""
    cells = [cell for record in data for cell in _value(record)]
    return np.array([[int(code) for code in cell] for cell in cells], dtype=np.int64).reshape(-1, 3)
