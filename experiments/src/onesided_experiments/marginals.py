"""Tables of many attributes: learn a tree of dependent pairs, then measure its pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any, Final, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onesided.errors import DataError, ParameterError
from onesided.mechanism import Counts
from onesided.mechanism.histograms.kit import histogram_of
from onesided.mechanism.kit import Field, Fitted, Move
from onesided.noise import IntArray, Noise, SecureNoise
from onesided.numbers import Loss, Number, regular, strict_share, whole
from onesided.policy import Policy, Shift

Edges: TypeAlias = tuple[tuple[int, int], ...]
_MOST: Final = 1 << 24


class TreeModel(NamedTuple):
    """A published tree over attributes: every attribute depends on its parent alone.

    sizes: how many values each attribute has. edges: ``(parent, child)``, parents first.
    tables: for each edge, noisy joint counts of shape (parent's size, child's size).

    >>> TreeModel((2, 2), ((0, 1),), (np.array([[3.0, 0.0], [1.0, 4.0]]),)).marginal([1]).tolist()
    [4.0, 4.0]
    """

    sizes: tuple[int, ...]
    edges: Edges
    tables: tuple[NDArray[np.float64], ...]

    @property
    def total(self) -> float:
        """The estimated number of records, at least 0: the mean of what the tables add up to."""
        return max(0.0, float(np.mean([table.sum() for table in self.tables])))

    def marginal(self, attributes: Sequence[int]) -> NDArray[np.float64]:
        """Estimated counts over the given attributes, in their order; none is negative.

        All answers of one model agree with each other: they are margins of one histogram. Over all
        attributes it is a synthetic histogram.
        Errors: ParameterError for unknown or repeated attributes and for more than 2^24 cells.
        """
        wanted = [
            whole(one, name="attribute", most=len(self.sizes) - 1) for one in tuple(attributes)
        ]
        cells = math.prod(self.sizes[one] for one in wanted)
        if not wanted or len(set(wanted)) < len(wanted) or cells > _MOST:
            raise ParameterError(
                f"Counts over the attributes {wanted} cannot be given: they must differ, and have "
                "at most 2^24 cells together.",
                hint="Ask for a few attributes at a time.",
                attributes=wanted,
            )
        parts: list[Any] = [self._root(), [self.edges[0][0]]]
        for (parent, child), table in zip(self.edges, self.tables, strict=True):
            counts = np.maximum(table, 0)
            # A value of the parent that seems not to occur gets the child's shares overall.
            given = np.where(
                counts.sum(axis=1, keepdims=True) > 0,
                _shares(counts),
                _shares(counts.sum(axis=0)[None]),
            )
            parts += [given, [parent, child]]
        found: NDArray[np.float64] = np.einsum(*parts, wanted, optimize="greedy")
        return found * self.total

    def _root(self) -> NDArray[np.float64]:
        """The shares of the root's values: the mean over the tables that hold it."""
        root = self.edges[0][0]
        known = [
            np.maximum(table, 0).sum(axis=1)
            for (parent, _), table in zip(self.edges, self.tables, strict=True)
            if parent == root
        ]
        return np.asarray(_shares(np.sum(known, axis=0)[None])[0])


def _shares(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each row over its sum; a row of zeros is taken as even."""
    sums = counts.sum(axis=1, keepdims=True)
    even = np.full(counts.shape, 1 / counts.shape[1])
    return np.asarray(np.divide(counts, sums, out=even, where=sums > 0))


MAX_ATTRIBUTES: Final = 50
MAX_CELLS: Final = 1 << 24


def _sizes(sizes: object, *, name: str = "sizes") -> tuple[int, ...]:
    """Sizes that can be worked with."""
    given = tuple(sizes) if isinstance(sizes, Sequence) and not isinstance(sizes, str) else ()
    known = tuple(whole(size, name="size of an attribute", least=1) for size in given)
    cells = sum(one * two for one, two in combinations(known, 2))
    if 2 <= len(known) <= MAX_ATTRIBUTES and cells <= MAX_CELLS:
        return known
    raise ParameterError(
        f"{name} must be 2 to {MAX_ATTRIBUTES} sizes of attributes with at most 2^24 cells in all "
        f"their pairs, got {sizes!r}.",
        hint="For a single attribute use Counts or Ahp; make large attributes coarser.",
        sizes=sizes,
    )


def _plain(noise: object, *, name: str) -> Counts:
    """Counts without post-processing of their own."""
    if isinstance(noise, Counts) and noise.correction == "none" and not noise.clip:
        return noise
    raise ParameterError(
        f"{name} must be plain Counts, got {noise!r}.",
        hint="Give Counts(upper_rate, lower_rate), or use for_policy.",
        value=noise,
    )


def _part(moves: Sequence[Move], share: Fraction) -> list[Move]:
    """The same moves, each with so much of what may be lost along it."""
    return [replace(move, loss=move.loss * share) for move in moves]


class _Table(NamedTuple):
    """Records by their codes: shape (m, attributes), and how many of each, shape (m,)."""

    codes: IntArray
    counts: IntArray


@dataclass(frozen=True)
class Marginals(Fitted):
    """A model of a table with many attributes: a tree of pairs, each with a noisy joint table.

    sizes: how many values each attribute has; public.
    pairing, measuring: the noise of the two phases, as plain :class:`Counts`.
    Phase 1 adds noise to the joint counts of every pair of attributes and finds from these the
    tree of pairs that depend on each other most. Phase 2 counts the tree's pairs again, with far
    less noise, as they are few. The answer is a :class:`TreeModel`, from which counts over any
    few attributes follow. Of two attributes there is one tree, and phase 1 is spent without gain:
    count their joint histogram by Counts instead.

    Promise: with p pairs of d attributes the loss along a move is at most
    ``p * pairing.loss(shift) + (d - 1) * measuring.loss(shift)``.
    Proof: which pairs are counted in phase 1 is fixed; in each joint table a record is in one
    cell, so the table moves by no more than the full histogram. The tree is a function of the
    noisy tables. Given the tree, the same holds for its d - 1 tables; the rest is post-processing.
    Direction: as :class:`Counts` in both phases. Units: nats per count.
    Errors: ParameterError for fewer than 2 or more than 50 attributes, or pairs of more than 2^24
    cells in all.
    Source: two phases as in PrivBayes (Zhang et al., SIGMOD 2014), with its score R (2017); here
    a tree (Chow and Liu 1968) from noisy tables, so that all noise is exact, where PrivBayes draws
    pairs by the exponential mechanism.

    >>> from onesided import INFINITE, Shift
    >>> exact = Counts(INFINITE, INFINITE)
    >>> model = Marginals((2, 2), exact, exact).release([[0, 1], [1, 1], [1, 1]])
    >>> model.marginal([0]).tolist()
    [1.0, 2.0]
    """

    sizes: Field[Sequence[int], tuple[int, ...]] = Field(_sizes)
    pairing: Field[Counts, Counts] = Field(_plain)
    measuring: Field[Counts, Counts] = Field(_plain)

    @classmethod
    def fit(
        cls, policy: Policy, moves: Sequence[Move], *, sizes: Sequence[int], share: Number = "1/2"
    ) -> Self:
        """The least noise of both phases; ``share`` of ε goes to phase 1."""
        known, part = _sizes(sizes), strict_share(share, name="share")
        pairs, edges = math.comb(len(known), 2), len(known) - 1
        first = Counts.fit(policy, _part(moves, part / pairs))
        return cls(known, first, Counts.fit(policy, _part(moves, (1 - part) / edges)))

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> TreeModel:
        """The model.

        values: codes of shape (records, attributes), code of attribute i in 0 .. sizes[i] - 1; or
        the counts of all cells of the table in one dimension, the last attribute fastest.
        Errors: DataError for other shapes, codes out of range, and counts that are none.
        """
        table = self._table(values)
        source = SecureNoise() if noise is None else noise
        edges = self._learn(table, noise=source)
        return TreeModel(self.sizes, edges, self._measure(table, edges, noise=source))

    def learn(self, values: ArrayLike, *, noise: Noise) -> Edges:
        """Phase 1: the tree, as ``(parent, child)`` with parents before their children."""
        return self._learn(self._table(values), noise=noise)

    def learn_loss(self, shift: Shift) -> Loss:
        """What the noisy tables of all pairs lose at most."""
        return self.pairing.loss(shift) * math.comb(len(self.sizes), 2)

    def measure(
        self, values: ArrayLike, edges: Edges, *, noise: Noise
    ) -> tuple[NDArray[np.float64], ...]:
        """Phase 2: unbiased noisy joint counts of each of the tree's pairs."""
        return self._measure(self._table(values), edges, noise=noise)

    def measure_loss(self, shift: Shift) -> Loss:
        """What the noisy tables of the tree lose at most, whatever the tree."""
        return self.measuring.loss(shift) * (len(self.sizes) - 1)

    def loss(self, shift: Shift) -> Loss:
        """``learn_loss + measure_loss``, in nats."""
        return self.learn_loss(shift) + self.measure_loss(shift)

    def _learn(self, table: _Table, *, noise: Noise) -> Edges:
        pairs = tuple(combinations(range(len(self.sizes)), 2))
        strengths = np.full((len(self.sizes), len(self.sizes)), -np.inf)
        spread = math.sqrt(self.pairing.distribution.variance() / 2)
        for (i, j), joint in zip(
            pairs, self._joint(table, pairs, self.pairing, noise), strict=True
        ):
            strengths[i, j] = strengths[j, i] = _dependence(joint, spread)
        return _strongest_tree(strengths)

    def _measure(
        self, table: _Table, edges: Edges, *, noise: Noise
    ) -> tuple[NDArray[np.float64], ...]:
        return self._joint(table, edges, self.measuring, noise)

    def _joint(
        self, table: _Table, pairs: Edges, chance: Counts, noise: Noise
    ) -> tuple[NDArray[np.float64], ...]:
        """Joint counts of each pair with noise, less the noise's mean."""
        exact = []
        for i, j in pairs:
            cells = np.zeros(self.sizes[i] * self.sizes[j], dtype=np.int64)
            np.add.at(cells, table.codes[:, i] * self.sizes[j] + table.codes[:, j], table.counts)
            exact.append(cells)
        noisy = chance.noisy(np.concatenate(exact), noise=noise) - chance.distribution.mean()
        ends = np.cumsum([cells.size for cells in exact])[:-1]
        return tuple(
            part.astype(np.float64).reshape(self.sizes[i], self.sizes[j])
            for (i, j), part in zip(pairs, np.split(noisy, ends), strict=True)
        )

    def _table(self, values: ArrayLike) -> _Table:
        array = regular(values)
        if array.ndim == 1 and array.size == math.prod(self.sizes):
            counts = histogram_of(array, dimensions=(1,))
            filled = np.flatnonzero(counts)
            codes = np.stack(np.unravel_index(filled, self.sizes), axis=1)
            return _Table(codes.astype(np.int64), counts[filled])
        if array.ndim != 2 or array.shape[1] != len(self.sizes) or array.dtype.kind not in "iu":
            raise DataError(
                f"A table of {len(self.sizes)} attributes cannot be read from {array.dtype} of "
                f"shape {array.shape}.",
                hint="Give whole codes of shape (records, attributes), or the counts of all "
                f"{math.prod(self.sizes)} cells.",
                shape=array.shape,
            )
        bad = ((array < 0) | (array >= np.array(self.sizes, dtype=np.int64))).any(axis=0)
        if bad.any():
            where = int(np.argmax(bad))
            raise DataError(
                f"Attribute {where} has a code outside 0 .. {self.sizes[where] - 1}.",
                hint="Code every value that may occur, and give the number of them in sizes.",
                attribute=where,
            )
        return _Table(array.astype(np.int64), np.ones(array.shape[0], dtype=np.int64))


def _dependence(joint: NDArray[np.float64], spread: float) -> float:
    """How far the joint counts are from independence, less what noise alone would give."""
    total = max(float(joint.sum()), 1.0)
    expected = np.outer(joint.sum(axis=1), joint.sum(axis=0)) / total
    return float(np.abs(joint - expected).sum() - joint.size * spread) / 2


def _strongest_tree(strengths: NDArray[np.float64]) -> Edges:
    """The spanning tree of largest total strength, from attribute 0; ties go to the first."""
    reached, edges = [0], []
    left = list(range(1, len(strengths)))
    while left:
        among = strengths[np.ix_(reached, left)]
        parent, child = np.unravel_index(int(np.argmax(among)), among.shape)
        edges.append((reached[int(parent)], left[int(child)]))
        reached.append(left.pop(int(child)))
    return tuple(edges)
