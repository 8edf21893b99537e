"""Histograms in two phases: learn a partition of the cells, then measure its buckets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onesided._english import many
from onesided._numbers import Loss, regular
from onesided.errors import DataError
from onesided.fields import settle
from onesided.mechanism._base import counts_of
from onesided.noise import IntArray, Noise, SecureNoise
from onesided.policy import Shift

FloatArray = NDArray[np.float64]
# Sums and small multiples of them stay far inside int64.
MAX_TOTAL: Final = 2**53


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """Which bucket each cell is in: public once learnt.

    labels: the histogram's shape; bucket numbers 0 .. m - 1, each of them used.
    sizes: how many cells each bucket has, shape (m,).
    Errors: DataError for labels that are not such numbers.

    >>> from onesided.mechanism import Partition
    >>> Partition([0, 0, 1]).sizes.tolist()
    [2, 1]
    """

    labels: IntArray
    sizes: IntArray

    def __init__(self, labels: ArrayLike) -> None:
        array = np.asarray(labels)
        if array.dtype.kind not in "iu" or array.ndim not in (1, 2) or array.size == 0:
            raise DataError(
                f"Labels must be whole numbers in one or two dimensions, got {array.dtype} with "
                f"shape {array.shape}.",
                hint="Give the bucket number of every cell.",
            )
        # The size is checked before anything of the length of the largest label is made.
        if array.min() < 0 or array.max() >= array.size:
            raise DataError(
                f"Labels lie in {array.min()} .. {array.max()}, but "
                f"{many(array.size, 'cell', one='has', more='have')} at "
                f"most the buckets 0 .. {array.size - 1}.",
                hint="Number the buckets 0, 1, 2, ...",
            )
        sizes = np.bincount(array.ravel()).astype(np.int64)
        if not sizes.all():
            raise DataError(
                f"Bucket {int(np.argmin(sizes))} has no cell.", hint="Number buckets without gaps."
            )
        labels = array.astype(np.int64)
        for public in (labels, sizes):
            public.setflags(write=False)
        settle(self, labels=labels, sizes=sizes)

    @classmethod
    def of_cells(cls, shape: tuple[int, ...]) -> Partition:
        """One bucket for each cell: nothing is learnt."""
        return cls(np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape))

    @property
    def buckets(self) -> int:
        """How many buckets there are."""
        return int(self.sizes.size)

    def totals(self, counts: IntArray) -> IntArray:
        """The exact sum of ``counts`` in each bucket, shape (m,)."""
        if counts.shape != self.labels.shape:
            raise DataError(
                f"A histogram of shape {counts.shape} does not fit a partition of shape "
                f"{self.labels.shape}.",
                hint="Measure the histogram that the partition was learnt for.",
            )
        sums = np.zeros(self.buckets, dtype=np.int64)
        np.add.at(sums, self.labels.ravel(), counts.ravel())
        return sums


class TwoPhase(ABC):
    """A histogram algorithm in two phases. ``release`` never looks at ``loss``, nor vice versa.

    Promise: ``learn`` loses at most ``learn_loss(shift)`` and, for every fixed partition,
    ``measure`` at most ``measure_loss(shift)``; their sum is the loss of the whole, because the
    second phase sees of the first only what it published (sequential composition).
    A histogram has one or two dimensions, whole counts and a total of at most 2^53.
    Subclasses are frozen dataclasses with a field ``clip``: True keeps estimates at or above 0.

    >>> from onesided import INFINITE
    >>> from onesided.mechanism import Counts
    >>> from onesided.mechanism.histograms import Ahp
    >>> exact = Counts(INFINITE, INFINITE)
    >>> isinstance(Ahp(exact, exact), TwoPhase), Ahp(exact, exact).release([4, 4, 9]).tolist()
    (True, [4.0, 4.0, 9.0])
    """

    __slots__ = ()
    clip: bool

    @property
    def by_cells(self) -> bool:
        """Whether estimates are meant cell by cell, so that known cells may be left out."""
        return False

    @abstractmethod
    def learn(self, counts: IntArray, *, noise: Noise) -> Partition:
        """Phase 1: the buckets, from the data and noise."""

    @abstractmethod
    def learn_loss(self, shift: Shift) -> Loss:
        """What :meth:`learn` costs along a move."""

    @abstractmethod
    def measure(self, counts: IntArray, partition: Partition, *, noise: Noise) -> NDArray[Any]:
        """Phase 2: a noisy total for each bucket, shape (m,), after any post-processing."""

    @abstractmethod
    def measure_loss(self, shift: Shift) -> Loss:
        """What :meth:`measure` costs along a move, whatever the partition."""

    def loss(self, shift: Shift) -> Loss:
        """``learn_loss + measure_loss``, in nats."""
        return self.learn_loss(shift) + self.measure_loss(shift)

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> FloatArray:
        """Estimates of all counts, in the histogram's shape.

        Errors: DataError unless ``values`` is a histogram that :func:`histogram_of` accepts.
        """
        counts = histogram_of(values)
        source = SecureNoise() if noise is None else noise
        partition = self.learn(counts, noise=source)
        return self.spread(partition, self.measure(counts, partition, noise=source))

    def spread(self, partition: Partition, totals: NDArray[Any]) -> FloatArray:
        """Each bucket's total evenly over its cells; post-processing, free of charge."""
        each = np.asarray(totals, dtype=np.float64) / partition.sizes
        if self.clip:
            each = np.maximum(each, 0.0)
        cells: FloatArray = each[partition.labels]
        return cells


def histogram_of(values: ArrayLike, *, dimensions: tuple[int, ...] = (1, 2)) -> IntArray:
    """``values`` as a histogram: int64 counts, at least one cell, in all at most 2^53.

    Errors: DataError for floats, negative counts, no cell, too many dimensions, a large total.

    >>> histogram_of([[1, 2], [3, 4]]).shape
    (2, 2)
    """
    array = regular(values)
    if array.ndim not in dimensions or array.size == 0:
        wanted = " or ".join(str(d) for d in dimensions)
        raise DataError(
            f"A histogram must have {wanted} dimension(s) and at least one cell, got shape "
            f"{array.shape}.",
            hint="Give an array of whole counts, one for each cell.",
            shape=array.shape,
        )
    counts = counts_of(array.ravel())
    # Floats suffice to see that the sum could not be held; the exact sum decides near the limit.
    if counts.sum(dtype=np.float64) > 2 * MAX_TOTAL or int(counts.sum()) > MAX_TOTAL:
        raise DataError(
            "The histogram's total is above 2^53, the most that these algorithms take.",
            hint="Counts of people are far below it; check the table for overflow.",
        )
    return counts.reshape(array.shape)
