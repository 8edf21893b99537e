"""Totals over a tree: noise on every level, then the one histogram that fits them best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import MIN_RATE, Loss, Number, exact, positive, rate, whole
from onesided.errors import ParameterError
from onesided.fields import Field, MaybeWhole, Rate, settle
from onesided.linear.kit import (
    FloatArray,
    best_branching,
    consistent,
    level_weights,
    non_negative_tree,
    tree_sums,
)
from onesided.mechanism._rates import rates_for
from onesided.mechanism.histograms._two_phase import Partition, TwoPhase
from onesided.mechanism.histograms._z_order import z_order
from onesided.noise import IntArray, Noise, TwoSidedGeometric
from onesided.policy import GroupCount, Policy, Shift

_PARTS: Final = 2**12


@dataclass(frozen=True, slots=True)
class TreeTotals:
    """Noisy totals of every node of a tree, and the lowest nodes that fit them best.

    Promise: along a move with ``Shift(rise, fall)`` the loss is exactly
    ``upper_rate * fall + lower_rate * rise``, whatever the number of nodes: a lowest node that
    moves by one moves one node on each level by one, and the levels' shares of the rates add up
    to 1. (A move whose two cells share a node cancels there and loses less.)
    """

    upper_rate: Loss
    lower_rate: Loss
    branching: int | None = None
    shares: tuple[Fraction, ...] | None = None

    def release(self, totals: IntArray, edges: IntArray, *, noise: Noise) -> FloatArray:
        """Consistent estimates of the lowest nodes, float64; unbiased.

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
        return consistent(levels, variances, fan)

    def non_negative(self, found: FloatArray, edges: IntArray) -> FloatArray:
        """The lowest nodes' totals with none below 0, from what :meth:`release` gave; free.

        The whole tree is projected from the total down. Nodes are not cut at 0 one by one, which
        would lift every sum of many.
        """
        return non_negative_tree(found, self._fan(edges))

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

    def loss(self, shift: Shift) -> Loss:
        """``upper_rate * fall + lower_rate * rise``."""
        return self.upper_rate * shift.fall + self.lower_rate * shift.rise


def tree_rate(value: Loss | Number, *, name: str) -> Loss:
    """``value`` as a rate of which every level's share can be drawn; at least 2^-28.

    Refused here, not at the draw: by then the charge is on record.
    """
    found = rate(value, name=name)
    if found >= MIN_RATE * _PARTS:
        return found
    raise ParameterError(
        f"{name} must be at least 2^-28 for a tree, got {value!r}.",
        hint="Each level gets a share of it; use a larger ε, or no tree.",
        value=value,
    )


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
class Hierarchical(TwoPhase):
    """A histogram for ranges: noise on every level of a tree, made consistent by least squares.

    Every level is measured at its share of both rates; shares are chosen for all ranges of cells,
    from public facts (the idea of GreedyH), and so is the branching, unless they are given. In two
    dimensions the tree is over the Z-order curve, so with ``branching=4`` it is a quadtree.
    Nothing is learnt: each cell is its own bucket. Estimates are unbiased, and so are their sums;
    ``clip``, or :meth:`non_negative` afterwards, projects the whole tree onto counts of at least
    0, from the total down.

    Promise: along a move with ``Shift(rise, fall)`` the loss is exactly
    ``upper_rate * fall + lower_rate * rise``.
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
    upper_rate: Rate = Field(tree_rate)
    lower_rate: Rate = Field(tree_rate)
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

    @classmethod
    def for_policy(
        cls,
        policy: Policy,
        *,
        epsilon: Number,
        query: GroupCount | None = None,
        branching: int | None = None,
        clip: bool = False,
        shares: Sequence[Number] | None = None,
    ) -> Hierarchical:
        """The least noise that keeps ``(epsilon, policy)``, shared among the levels.

        query: how units are counted; None is one group per unit, or presence's own bound.
        shares: of each level in the rates, from the cells up, in sum 1; None chooses them.
        """
        count = GroupCount() if query is None else query
        upper, lower = rates_for(policy, count, positive(epsilon, name="epsilon"))
        given: Any = None if shares is None else tuple(shares)
        return cls(upper_rate=upper, lower_rate=lower, branching=branching, clip=clip, shares=given)

    def learn(self, counts: IntArray, *, noise: Noise) -> Partition:  # noqa: ARG002 - learns nothing
        """One bucket per cell, in the order of the Z-curve in two dimensions."""
        return self._partition(counts.shape)

    def learn_loss(self, shift: Shift) -> Loss:  # noqa: ARG002 - learns nothing
        """Nothing."""
        return Fraction(0)

    def measure(self, counts: IntArray, partition: Partition, *, noise: Noise) -> NDArray[Any]:
        """Consistent estimates of the buckets' totals: float64, shape (m,)."""
        edges = edges_of(partition)
        found = self._tree().release(partition.totals(counts), edges, noise=noise)
        return self._tree().non_negative(found, edges) if self.clip else found

    def non_negative(self, estimate: FloatArray) -> FloatArray:
        """A histogram with no count below 0: each total's parts are the nearest that add up to it.

        Free of charge. estimate: what :meth:`release` gave without ``clip``.
        """
        partition = self._partition(estimate.shape)
        line = np.empty(estimate.size)
        line[partition.labels.ravel()] = estimate.ravel()
        return self._tree().non_negative(line, edges_of(partition))[partition.labels]

    def measure_loss(self, shift: Shift) -> Loss:
        """``upper_rate * fall + lower_rate * rise``."""
        return self._tree().loss(shift)

    @staticmethod
    def _partition(shape: tuple[int, ...]) -> Partition:
        if len(shape) == 1:
            return Partition.of_cells(shape)
        cells = math.prod(shape)
        place = np.empty(cells, dtype=np.int64)
        place[z_order(shape)] = np.arange(cells)
        return Partition(place.reshape(shape))

    def _tree(self) -> TreeTotals:
        return TreeTotals(self.upper_rate, self.lower_rate, self.branching, self.shares)
