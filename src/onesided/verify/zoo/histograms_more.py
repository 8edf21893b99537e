"""Clustered and gridded histograms that are wrong in one way each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onesided.mechanism.histograms import AGrid, Ahp, Marginals, Partition, Zeroed
from onesided.mechanism.histograms.kit import Edges, GridPartition, coarse_cells, refine
from onesided.noise import IntArray, Noise
from onesided.policy import Record
from onesided.verify._universe import Data


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
