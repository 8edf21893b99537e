"""The zero-set recipe: open records say which cells are empty; any two-phase algorithm the rest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onesided._numbers import INFINITE, Loss, Number, positive, rate, strict_share
from onesided.errors import DataError, ParameterError, UnprotectableError, called
from onesided.fields import Field, Rate
from onesided.mechanism.histograms._two_phase import (
    FloatArray,
    Partition,
    TwoPhase,
    histogram_of,
)
from onesided.mechanism.histograms._z_order import z_order
from onesided.noise import BoolArray, IntArray, Noise, SecureNoise
from onesided.policy import Edge, GroupCount, Policy, Shift

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
        order = np.arange(counts.size) if counts.ndim == 1 else z_order(counts.shape)
        asked = order[kept.ravel()[order]]
        cells: FloatArray = np.zeros(counts.size)
        if asked.size:
            cells[asked] = self.algorithm.release(counts.ravel()[asked], noise=noise)
        return cells.reshape(counts.shape)

    def empty(self, opened: IntArray, *, noise: Noise) -> BoolArray:
        """Cells whose noisy open count is not above 0; all that are truly 0 are among them."""
        drawn = noise.geometric(self.open_rate, opened.size).reshape(opened.shape)
        none: BoolArray = opened <= drawn
        return none

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
        opened = policy.shifts(replace(count, counted=frozenset(open_kinds)))
        return {
            edge: max(self.loss(one, two) for one in many for two in opened[edge])
            for edge, many in policy.shifts(count).items()
        }


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

        options: for the algorithm's own ``for_policy``; a ``query`` among them says how open
            units are counted too, and in how many groups.
        Errors: UnprotectableError if a move lowers an open count; ParameterError for options that
        the algorithm does not have.
        """
        whole = positive(epsilon, name="epsilon")
        given = options.get("query")
        count = GroupCount() if given is None else given
        if not isinstance(count, GroupCount):
            raise ParameterError(
                f"query must be a GroupCount, got {given!r}.",
                hint="For example onesided.policy.GroupCount(max_groups=2).",
            )
        query = replace(count, counted=frozenset(open_kinds))
        zero_rate = _rises_rate(policy, query, whole * self.share)
        build: Any = self.algorithm
        inner = called(build.for_policy, policy, epsilon=whole * (1 - self.share), **options)
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
    cells: FloatArray = np.where(kept, each[labels], 0.0)
    return cells


def _rises_rate(policy: Policy, query: GroupCount, epsilon: Fraction) -> Loss:
    """The largest rate r with ``r * rise <= epsilon * weight`` on every move."""
    found: Loss = INFINITE
    for edge, many in policy.shifts(query).items():
        for shift in many:
            if shift.fall:
                raise UnprotectableError(
                    f"The move {edge.name} lowers an open count, and the recipe shows for certain "
                    "where open counts are above 0.",
                    hint="Use the algorithm itself, without the open records.",
                    edge=edge.name,
                )
            if shift.rise:
                found = min(found, epsilon * edge.weight / shift.rise)
    return found
