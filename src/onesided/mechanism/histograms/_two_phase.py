"""Histograms in two phases: learn a partition of the cells, then measure its buckets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onesided._english import many
from onesided._numbers import INFINITE, Loss, Number, positive, rate, regular, strict_share
from onesided.errors import DataError, ParameterError, UnprotectableError
from onesided.fields import Field, Rate, settle
from onesided.mechanism._fit import Fitted, count_moves, counts_of, largest_rate
from onesided.mechanism._steps import Steps, beside
from onesided.noise import BoolArray, IntArray, Noise, SecureNoise
from onesided.policy import Edge, GroupCount, Policy, Shift

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


class TwoPhase(Fitted, ABC):
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
        return each[partition.labels]


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


def z_order(shape: tuple[int, ...]) -> IntArray:
    """Flat positions of the cells in the order of interleaved row and column bits, or of a line.

    Every 2^k by 2^k square at multiples of 2^k, and every two such side by side in one larger
    square, is one run of the curve if it lies inside the table.

    >>> z_order((2, 2)).tolist()
    [0, 1, 2, 3]
    """
    if len(shape) == 1:
        return np.arange(shape[0], dtype=np.int64)
    rows, columns = np.indices(shape, dtype=np.int64)
    code = np.zeros(shape, dtype=np.int64)
    for bit in range(max(shape).bit_length()):
        code |= (rows >> bit & 1) << (2 * bit + 1) | (columns >> bit & 1) << (2 * bit)
    return np.argsort(code.ravel(), kind="stable").astype(np.int64)


ZERO_SHARE: Final = Fraction(1, 10)
OPEN_KINDS: Final = ("open",)


@dataclass(frozen=True)
class Zeroed:
    """A two-phase algorithm on all records, with zeros where open records seem to be none.

    The open counts less geometric noise at ``open_rate`` are compared with 0; where they are not
    above it, the estimate is 0. An algorithm that estimates cells is then given the other cells
    alone, in their order (along the Z-order curve in two dimensions). One for ranges or rectangles
    is given all, and a bucket's total goes to those of its cells that are left, if any is.

    Promise: along a move that shifts all counts by ``all_shift`` and the open ones by
    ``open_shift``, the loss is at most ``algorithm.loss(all_shift) + open_rate * open_shift.rise``
    and infinite if an open count falls.
    Direction: a sensitive record that passes as an open one makes an open count rise, which noise
    below hides; an empty cell stays empty, so no cell is spared by chance. Open records are not
    hidden.
    Proof: given the zeros, which are published, the other cells are a histogram along which the
    move shifts counts by no more than along all of them.
    What it costs in accuracy: a cell with sensitive records and no open one is set to 0. Its
    records are missing from estimates of cells; for ranges they go to the cells beside it.
    Source: OSDP Algorithm 3, which learns the partition first. Its line 9 prints the factor
    ``|B| / |Z and B|``; what keeps the bucket's total is ``|B| / (|B| - |Z and B|)``. For single
    cells either is up to twice as far off as leaving cells out.
    Errors: ParameterError for an invalid rate.

    >>> from onesided.mechanism.histograms import Ahp
    >>> from onesided.policy import sensitive
    >>> made = zeros(Ahp).for_policy(sensitive("minor"), epsilon=1, open_kinds=["open"])
    >>> made.release([3, 0, 5], [3, 0, 5]).tolist()[1]
    0.0
    """

    algorithm: TwoPhase
    _: KW_ONLY
    open_rate: Rate = Field(rate)

    def release(
        self, values: ArrayLike, open_values: ArrayLike, *, noise: Noise | None = None
    ) -> FloatArray:
        """Estimates of all counts, from the counts of all records and those of the open ones.

        Errors: DataError unless both are histograms of one shape.
        """
        counts, opened = histogram_of(values), histogram_of(open_values)
        if counts.shape != opened.shape:
            raise DataError(
                f"All counts have shape {counts.shape}, the open ones {opened.shape}.",
                hint="Count both over the same cells.",
            )
        source = SecureNoise() if noise is None else noise
        kept = ~self.empty(opened, noise=source)
        if self.algorithm.by_cells:
            return self._of_cells(counts, kept, source)
        partition = self.algorithm.learn(counts, noise=source)
        totals = self.algorithm.measure(counts, partition, noise=source)
        return spread_over(partition, totals, kept, clip=self.algorithm.clip)

    def _of_cells(self, counts: IntArray, kept: BoolArray, noise: Noise) -> FloatArray:
        """The algorithm's estimates of the kept cells, as if there were no others."""
        order = z_order(counts.shape)
        asked = order[kept.ravel()[order]]
        cells: FloatArray = np.zeros(counts.size)
        if asked.size:
            cells[asked] = self.algorithm.release(counts.ravel()[asked], noise=noise)
        return cells.reshape(counts.shape)

    def empty(self, opened: IntArray, *, noise: Noise) -> BoolArray:
        """Cells whose noisy open count is not above 0; all that are truly 0 are among them."""
        drawn = noise.geometric(self.open_rate, opened.size).reshape(opened.shape)
        return opened <= drawn

    def loss(self, all_shift: Shift, open_shift: Shift) -> Loss:
        """``algorithm.loss(all_shift) + open_rate * rise`` of the open counts."""
        return (
            self.algorithm.loss(all_shift)
            + self.open_rate * open_shift.rise
            + INFINITE * open_shift.fall
        )

    def losses(
        self,
        policy: Policy,
        *,
        open_kinds: Iterable[str] = OPEN_KINDS,
        query: GroupCount | None = None,
    ) -> dict[Edge, Loss]:
        """Per edge of ``policy``, at most this; exact where an edge has one shift.

        query: how units are counted; None is one group per unit, or presence's own bound.
        """
        count = GroupCount() if query is None else query
        opened = replace(count, counted=frozenset(open_kinds))
        return {
            edge: max(self.loss(*both) for both in pairs)
            for edge, pairs in together(policy, count, opened).items()
        }

    def steps(self, all_shift: Shift, open_shift: Shift) -> Steps:
        """The zeros, which lose what one-sided noise does, and then the algorithm's own steps.

        Given the zeros the algorithm sees a smaller move or the same. Errors: ParameterError of an
        algorithm that does not tell its steps.
        """
        told = getattr(self.algorithm, "steps", None)
        if told is None:
            raise ParameterError(
                f"{type(self.algorithm).__name__} does not tell its steps.",
                hint="Its loss says what is known of it.",
            )
        lost = self.open_rate * open_shift.rise + INFINITE * open_shift.fall
        return beside(lost, told(all_shift))


def together(policy: Policy, *queries: GroupCount) -> dict[Edge, list[tuple[Shift, ...]]]:
    """Per edge how the histograms that these ask for may move together.

    >>> from onesided.policy import addition_only
    >>> [len(some) for some in together(addition_only(), GroupCount(), GroupCount()).values()]
    [1]
    """
    each = [policy.shifts(one) for one in queries]
    return {edge: list(product(*(shifts[edge] for shifts in each))) for edge in policy.edges}


@dataclass(frozen=True, slots=True)
class Zeros:
    """An algorithm waiting for a policy and ε: DAWAz is ``zeros(Dawa)``.

    >>> from onesided.mechanism.histograms import Ahp
    >>> zeros(Ahp).algorithm.__name__
    'Ahp'
    """

    algorithm: type[TwoPhase]
    share: Fraction

    def for_policy(
        self,
        policy: Policy,
        *,
        epsilon: Number,
        open_kinds: Iterable[str] = OPEN_KINDS,
        **options: Any,
    ) -> Zeroed:
        """``share`` of ε on every edge for the zeros, the rest for the algorithm.

        options: for the algorithm's own ``for_policy``; ``query``, or ``max_groups`` and
            ``truncated``, say how open units are counted too, and in how many groups.
        Errors: UnprotectableError if a move lowers an open count; ParameterError for options that
        the algorithm does not have.
        """
        whole = positive(epsilon, name="epsilon")
        moves = count_moves(
            policy,
            epsilon=whole * self.share,
            counted=open_kinds,
            max_groups=options.get("max_groups"),
            truncated=options.get("truncated", False),
            query=options.get("query"),
        )
        for move in moves:
            if move.shift.fall:
                raise UnprotectableError(
                    f"The move {move.edge.name} lowers an open count, and the recipe shows for "
                    "certain where open counts are above 0.",
                    hint="Use the algorithm itself, without the open records.",
                    edge=move.edge.name,
                )
        zero_rate = largest_rate(moves, lambda shift: shift.rise)
        inner = self.algorithm.for_policy(policy, epsilon=whole * (1 - self.share), **options)
        return Zeroed(inner, open_rate=zero_rate)


def zeros(algorithm: type[TwoPhase], *, share: Number = ZERO_SHARE) -> Zeros:
    """The recipe for any two-phase algorithm: ``zeros(Dawa).for_policy(policy, epsilon=1)``.

    Errors: ParameterError unless ``share`` lies strictly between 0 and 1.

    >>> from onesided.mechanism.histograms import Ahp
    >>> zeros(Ahp, share="1/5").share
    Fraction(1, 5)
    """
    if not (isinstance(algorithm, type) and issubclass(algorithm, TwoPhase)):
        raise ParameterError(
            f"The recipe needs an algorithm in two phases, got {algorithm!r}.",
            hint="Give the class itself: Dawa, Ahp, AGrid or Hierarchical.",
        )
    return Zeros(algorithm, strict_share(share, name="share"))


def spread_over(
    partition: Partition, totals: NDArray[Any], kept: BoolArray, *, clip: bool
) -> FloatArray:
    """Each bucket's total evenly over its kept cells, zeros elsewhere; post-processing."""
    labels = partition.labels
    left = np.bincount(labels[kept], minlength=partition.buckets)
    each = np.asarray(totals, dtype=np.float64) / np.maximum(left, 1)
    if clip:
        each = np.maximum(each, 0.0)
    return np.where(kept, each[labels], 0.0)
