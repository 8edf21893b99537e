"""ZeroOne over a tree of intervals, with Hay et al.'s least squares in linear time."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from onesided._numbers import whole
from onesided.linear._line import Bins
from onesided.linear._operator import Array, Meets, ZeroOne


class Hierarchy(ZeroOne):
    """Each level merges ``branching`` neighbours of the level below, from cells to the total.

    Rows stand from the total down to the cells. Any number of cells; the last node of a level
    may be smaller. Source: Hay, Rastogi, Miklau, Suciu 2010; least squares by their two passes,
    with each node's own variance, so that smaller nodes are weighted right.

    >>> from onesided.linear import Hierarchy
    >>> Hierarchy(2).dense().tolist()
    [[1, 1], [1, 0], [0, 1]]
    """

    def __init__(self, n: int, branching: int = 2) -> None:
        self.n = Bins(n, 1).n
        self.branching = whole(branching, name="branching", least=2, most=2**20)
        widths = [1]
        while widths[-1] < self.n:
            widths.append(widths[-1] * self.branching)
        self.levels = tuple(Bins(self.n, width) for width in reversed(widths))

    @property
    def shape(self) -> tuple[int, int]:
        return sum(level.shape[0] for level in self.levels), self.n

    @property
    def solvable(self) -> bool:
        return True

    def monotone_on(self, plane: tuple[int, int]) -> bool:
        return 1 in plane

    def apply(self, values: Array) -> Array:
        rows = [values]
        for _ in self.levels[1:]:
            rows.append(_gather(rows[-1], self.branching))
        return np.concatenate(rows[::-1])

    def adjoint(self, values: Array) -> Array:
        levels = self._split(values)
        total = levels[0]
        for level in levels[1:]:
            total = level + np.repeat(total, self.branching, axis=0)[: len(level)]
        return total

    def meets(self, x: Array, y: Array) -> Meets:
        count = np.zeros(x.shape, dtype=np.int64)
        for level in self.levels:
            count += (x // level.width) == (y // level.width)
        return Meets(count)

    def solve(self, values: Array) -> Array:
        """Up: each node's own answer weighed against its children's sum; down: what is left."""
        levels = self._split(np.asarray(values, dtype=float))
        best = [levels[-1]]
        for own, spread in zip(levels[-2::-1], self._sums[::-1], strict=True):
            share = _tall(spread / (spread + 1), own)
            best.append(own * share + _gather(best[-1], self.branching) * (1 - share))
        best.reverse()
        sums = best[0]
        for below, spread, own in zip(best[1:], self._sums, self._spreads[1:], strict=True):
            gap = (sums - _gather(below, self.branching)) / _tall(spread, sums)
            sums = below + self._down(gap, below) * _tall(own, below)
        return np.asarray(sums)

    def gram_solve(self, values: Array) -> Array:
        # A' y = values for y = values on the cells' own rows, so A+ y = (A'A)^-1 values.
        cells = np.asarray(values, dtype=float)
        above = np.zeros((self.shape[0] - self.n, *cells.shape[1:]))
        return self.solve(np.concatenate([above, cells]))

    @cached_property
    def _spreads(self) -> list[Array]:
        """Per level from the root, each node's variance from itself and all below it."""
        spreads = [np.ones(self.n)]
        for _ in self.levels[1:]:
            sums = _gather(spreads[-1], self.branching)
            spreads.append(sums / (sums + 1))
        return spreads[::-1]

    @cached_property
    def _sums(self) -> list[Array]:
        """Per level above the cells, the variance of the sum of each node's children."""
        return [_gather(spread, self.branching) for spread in self._spreads[1:]]

    def _down(self, values: Array, below: Array) -> Array:
        return np.repeat(values, self.branching, axis=0)[: len(below)]

    def _split(self, values: Array) -> list[Array]:
        ends = np.cumsum([level.shape[0] for level in self.levels])[:-1]
        return np.split(values, ends)


def _gather(values: Array, branching: int) -> Array:
    return np.asarray(np.add.reduceat(values, np.arange(0, len(values), branching), axis=0))


def _tall(values: Array, like: Array) -> Array:
    """A column per node, to go with many right-hand sides."""
    return values.reshape(-1, *([1] * (like.ndim - 1)))
