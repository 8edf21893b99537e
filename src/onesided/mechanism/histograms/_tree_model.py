"""What a tree of joint tables says about the whole table. All of it is post-processing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import whole
from onesided.errors import ParameterError

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
            parts += [_given_parent(table), [parent, child]]
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
        root_shares: NDArray[np.float64] = _shares(np.sum(known, axis=0)[None])[0]
        return root_shares


def _given_parent(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """The shares of the child's values for each of the parent's.

    A value of the parent that seems not to occur gets the child's shares overall.
    """
    counts = np.maximum(table, 0)
    overall = _shares(counts.sum(axis=0)[None])
    return np.where(counts.sum(axis=1, keepdims=True) > 0, _shares(counts), overall)


def _shares(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each row over its sum; a row of zeros is taken as even."""
    sums = counts.sum(axis=1, keepdims=True)
    even = np.full(counts.shape, 1 / counts.shape[1])
    shares: NDArray[np.float64] = np.divide(counts, sums, out=even, where=sums > 0)
    return shares
