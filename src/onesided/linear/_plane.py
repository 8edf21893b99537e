"""Strategies on a grid of rows and columns, and strategies for neighbourhoods of several cells."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final

import numpy as np

from onesided._numbers import whole
from onesided.fields import one_of
from onesided.linear._combine import Kron, Relabelled, Stack
from onesided.linear._grid import Grid
from onesided.linear._line import Bins, Identity, Prefix
from onesided.linear._operator import Array, Meets, Operator, ZeroOne

_MOST_BLOCKS: Final = 2_048


def row_prefix(shape: int | Sequence[int]) -> Operator:
    """Prefix sums along each row of a grid.

    >>> from onesided.linear import row_prefix
    >>> row_prefix((1, 2)).dense().tolist()
    [[1, 0], [1, 1]]
    """
    rows, columns = Grid(shape).plane
    return Kron(Identity(rows), Prefix(columns))


def summed_area(shape: int | Sequence[int]) -> Operator:
    """The summed-area table: each entry the sum of all cells above and to the left.

    >>> summed_area((2, 2)).dense()[-1].tolist()
    [1, 1, 1, 1]
    """
    rows, columns = Grid(shape).plane
    return Kron(Prefix(rows), Prefix(columns))


class Quadtree(ZeroOne):
    """Squares of side 1, b, b^2, ... up to the whole grid; rows from the total to the cells.

    >>> from onesided.linear import Quadtree
    >>> Quadtree((2, 2)).shape
    (5, 4)
    """

    def __init__(self, shape: int | Sequence[int], branching: int = 2) -> None:
        self.grid = Grid(shape).plane
        self.branching = whole(branching, name="branching", least=2, most=2**20)
        widths = [1]
        while widths[-1] < max(self.grid):
            widths.append(widths[-1] * self.branching)
        self.sides = tuple(
            tuple((side - 1) // width + 1 for side in self.grid) for width in reversed(widths)
        )
        self.widths = tuple(reversed(widths))

    @property
    def shape(self) -> tuple[int, int]:
        return sum(rows * columns for rows, columns in self.sides), self.grid[0] * self.grid[1]

    @property
    def solvable(self) -> bool:
        return True

    def monotone_on(self, plane: tuple[int, int]) -> bool:
        return plane == self.grid

    def apply(self, values: Array) -> Array:
        levels = [values]
        for k in range(len(self.sides) - 1, 0, -1):
            levels.append(self._gather(levels[-1], k))
        return np.concatenate(levels[::-1])

    def adjoint(self, values: Array) -> Array:
        levels = self._split(values)
        total = levels[0]
        for k in range(1, len(levels)):
            total = levels[k] + self._spread(total, k)
        return total

    def meets(self, x: Array, y: Array) -> Meets:
        columns = self.grid[1]
        (r, c), (s, d) = divmod(x, columns), divmod(y, columns)
        count = np.zeros(x.shape, dtype=np.int64)
        for width in self.widths:
            count += (r // width == s // width) & (c // width == d // width)
        return Meets(count)

    def solve(self, values: Array) -> Array:
        """Hay et al.'s two passes: up, each node against its children; down, what is left."""
        levels = self._split(np.asarray(values, dtype=float))
        best = {len(levels) - 1: levels[-1]}
        for k in range(len(levels) - 2, -1, -1):
            share = _tall(self._sums[k] / (self._sums[k] + 1), levels[k])
            best[k] = levels[k] * share + self._gather(best[k + 1], k + 1) * (1 - share)
        sums = best[0]
        for k in range(1, len(levels)):
            gap = (sums - self._gather(best[k], k)) / _tall(self._sums[k - 1], sums)
            sums = best[k] + self._spread(gap, k) * _tall(self._spreads[k], sums)
        return np.asarray(sums)

    def gram_solve(self, values: Array) -> Array:
        # A' y = values for y = values on the cells' own rows, so A+ y = (A'A)^-1 values.
        cells = np.asarray(values, dtype=float)
        above = np.zeros((self.shape[0] - self.shape[1], *cells.shape[1:]))
        return self.solve(np.concatenate([above, cells]))

    @cached_property
    def _spreads(self) -> list[Array]:
        """Per level from the root, each node's variance from itself and all below it."""
        spreads = [np.ones(self.shape[1])]
        for k in range(len(self.sides) - 1, 0, -1):
            sums = self._gather(spreads[-1], k)
            spreads.append(sums / (sums + 1))
        return spreads[::-1]

    @cached_property
    def _sums(self) -> list[Array]:
        """Per level above the cells, the variance of the sum of each node's children."""
        return [self._gather(spread, k) for k, spread in enumerate(self._spreads) if k]

    def _gather(self, values: Array, level: int) -> Array:
        """ZeroOne of each parent's children at ``level``, counted from the root."""
        rows, columns = self.sides[level]
        table = values.reshape(rows, columns, *values.shape[1:])
        for axis, side in enumerate((rows, columns)):
            table = np.add.reduceat(table, np.arange(0, side, self.branching), axis=axis)
        return table.reshape(-1, *values.shape[1:])

    def _spread(self, values: Array, level: int) -> Array:
        """Each parent's value for all its children at ``level``."""
        table = values.reshape(*self.sides[level - 1], *values.shape[1:])
        for axis, side in enumerate(self.sides[level]):
            keep = [slice(None)] * axis + [slice(side)]
            table = np.repeat(table, self.branching, axis=axis)[tuple(keep)]
        return table.reshape(-1, *values.shape[1:])

    def _split(self, values: Array) -> list[Array]:
        return np.split(values, np.cumsum([rows * columns for rows, columns in self.sides])[:-1])


class Blocks(Operator):
    """Every cell, and ``coarse`` on blocks of cells: a tree of few long steps, as a spanner is.

    ``labels``: the block of each cell. In a neighbourhood as wide as a block a move changes two
    cells and leads to a neighbouring block at most, so that coarse prefix sums stay cheap
    (Haney, Machanavajjhala, Ding 2015, the spanner of a line with longer moves).

    >>> from onesided.linear import Prefix
    >>> Blocks(Prefix(2), np.array([0, 0, 1])).dense().tolist()
    [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]]
    """

    def __init__(self, coarse: Operator, labels: Array) -> None:
        self.coarse = coarse
        self.merged = Relabelled(coarse, labels)
        self._both = Stack([Identity(self.merged.labels.size), self.merged])

    @property
    def shape(self) -> tuple[int, int]:
        return self._both.shape

    @property
    def largest(self) -> int:
        return self._both.largest

    @property
    def is_non_negative(self) -> bool:
        return self._both.is_non_negative

    @property
    def solvable(self) -> bool:
        return self.coarse.shape[1] <= _MOST_BLOCKS

    @property
    def determined(self) -> bool:
        return True

    def monotone_on(self, plane: tuple[int, int]) -> bool:
        return self._both.monotone_on(plane)

    def apply(self, values: Array) -> Array:
        return self._both.apply(values)

    def adjoint(self, values: Array) -> Array:
        return self._both.adjoint(values)

    def meets(self, x: Array, y: Array) -> Meets | None:
        return self._both.meets(x, y)

    def gram_solve(self, values: Array) -> Array | None:
        """(I + L'GL)^-1 = I - L' (I + GD)^-1 G L, with L the blocks and D their sizes.

        For the values at hand: the inverse itself would cost four times as much.
        """
        if not self.solvable:
            return None
        cells = np.asarray(values, dtype=float)
        sums = np.zeros((self.coarse.shape[1], *cells.shape[1:]))
        np.add.at(sums, self.merged.labels, cells)
        gram, system = self._systems
        return np.asarray(cells - np.linalg.solve(system, gram @ sums)[self.merged.labels])

    @cached_property
    def _systems(self) -> tuple[Array, Array]:
        coarse = self.coarse.dense().astype(float)
        gram = coarse.T @ coarse
        sizes = np.bincount(self.merged.labels, minlength=len(gram))
        return gram, np.eye(len(gram)) + gram * sizes


def block_prefix(n: int, width: int) -> Blocks:
    """Every cell of a line, and prefix sums of blocks of ``width`` cells.

    >>> from onesided.linear import block_prefix
    >>> block_prefix(4, 2).shape
    (6, 4)
    """
    bins = Bins(n, width)
    return Blocks(Prefix(bins.shape[0]), bins.label(np.arange(n)))


def grid_blocks(shape: Sequence[int], width: int, coarse: str = "summed_area") -> Blocks:
    """Every cell of a grid, and a strategy on square blocks of side ``width``.

    coarse: "summed_area", "row_prefix" or "quadtree". Errors: ParameterError for another.

    >>> from onesided.linear import grid_blocks
    >>> grid_blocks((4, 4), 2).shape
    (20, 16)
    """
    rows, columns = (Bins(side, width) for side in Grid(shape).plane)
    sides = (rows.shape[0], columns.shape[0])
    makers = {"summed_area": summed_area, "row_prefix": row_prefix, "quadtree": Quadtree}
    labels = rows.label(np.arange(rows.n))[:, None] * sides[1] + columns.label(np.arange(columns.n))
    return Blocks(makers[one_of(coarse, name="coarse", words=makers)](sides), labels.ravel())


def _tall(values: Array, like: Array) -> Array:
    """A column per node, to go with many right-hand sides."""
    return values.reshape(-1, *([1] * (like.ndim - 1)))
