"""Tiles of every size that share no borders, applied from coarse to fine and back in O(cells)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onesided._numbers import whole
from onesided.linear._combine import Stack, kron
from onesided.linear._grid import Grid
from onesided.linear._line import Bins, Identity
from onesided.linear._operator import Array, Meets, Operator, ZeroOne


class Staggered(ZeroOne):
    """The stack of :func:`staggered`, with products in O(cells) in place of O(cells) per level.

    A tile of side 2h starts at an odd multiple of h, so it is made of two blocks of side h along
    each axis; blocks are summed up from those half as long. Rows are those of the stack.
    """

    def __init__(self, sides: tuple[int, int], *, cells: bool) -> None:
        self.sides, self.cells = sides, cells
        parts: list[Operator] = [kron(*(Identity(side) for side in sides))] if cells else []
        half = 1
        while True:
            tiles = [Bins(side, 2 * half, offset=half if side > 1 else 0) for side in sides]
            parts.append(kron(*tiles))
            if all(tile.shape[0] == 1 for tile in tiles):
                break
            half *= 2
        self.parts = tuple(parts)
        self._stack = Stack(parts)

    @property
    def shape(self) -> tuple[int, int]:
        return self._stack.shape

    @property
    def determined(self) -> bool:
        return self._stack.determined

    def monotone_on(self, plane: tuple[int, int]) -> bool:
        return self._stack.monotone_on(plane)

    def meets(self, x: Array, y: Array) -> Meets | None:
        return self._stack.meets(x, y)

    def apply(self, values: Array) -> Array:
        """Sums of cells, then of tiles from small to large."""
        given = np.asarray(values)
        blocks = given.reshape(*self.sides, *given.shape[1:])
        found = [given] if self.cells else []
        for _ in range(len(self.parts) - len(found)):
            tiles = _summed(_summed(blocks, 0, self._shift(0)), 1, self._shift(1))
            found.append(tiles.reshape(-1, *given.shape[1:]))
            blocks = _summed(_summed(blocks, 0, 0), 1, 0)
        return np.concatenate(found)

    def adjoint(self, values: Array) -> Array:
        """Each cell's sum over what holds it, from large tiles to small."""
        given = np.asarray(values)
        levels, at = [], 0
        for part in self.parts:
            levels.append(given[at : at + part.shape[0]])
            at += part.shape[0]
        above = levels[1:] if self.cells else levels
        sides = [self.sides]
        for _ in above[1:]:
            rows, columns = sides[-1]
            sides.append((-(-rows // 2), -(-columns // 2)))
        total: Array | None = None
        for (rows, columns), level in zip(reversed(sides), reversed(above), strict=True):
            shape = (
                (rows + self._shift(0) + 1) // 2,
                (columns + self._shift(1) + 1) // 2,
                *given.shape[1:],
            )
            tiles = level.reshape(shape)
            own = _spread(_spread(tiles, 0, rows, self._shift(0)), 1, columns, self._shift(1))
            if total is not None:
                own += _spread(_spread(total, 0, rows, 0), 1, columns, 0)
            total = own
        found: Array = np.asarray(total).reshape(-1, *given.shape[1:])
        return found + levels[0] if self.cells else found

    def _shift(self, axis: int) -> int:
        return 1 if self.sides[axis] > 1 else 0


def staggered(shape: Sequence[int] | int, *, cells: bool = True) -> Operator:
    """Tiles of side 2, 4, 8, ..., laid so that no two levels share a border along an axis.

    Cells next to each other are then apart at one level only, whatever the number of levels: the
    shift of a step is (1, 1), and one more each way for ``cells``, the cells themselves.
    Ours.

    >>> from onesided.linear import staggered
    >>> staggered(4).shape
    (10, 4)
    """
    sides = Grid(shape).plane if not isinstance(shape, int) else (1, whole(shape, name="cells"))
    return Staggered(sides, cells=cells)


def _summed(values: Array, axis: int, shift: int) -> Array:
    """Sums of neighbouring pairs along an axis; with a shift the first is on its own."""
    table = values.swapaxes(0, axis)
    size = table.shape[0]
    found = np.empty(((size + shift + 1) // 2, *table.shape[1:]), dtype=table.dtype)
    found[shift:] = table[shift::2]
    if shift:
        found[0] = table[0]
        found[1 : 1 + len(table[2::2])] += table[2::2]
    else:
        found[: size // 2] += table[1::2]
    return found.swapaxes(0, axis)


def _spread(values: Array, axis: int, size: int, shift: int) -> Array:
    """Each pair's value for both of the pair."""
    table = values.swapaxes(0, axis)
    found = np.empty((size, *table.shape[1:]), dtype=table.dtype)
    even, odd = -(-size // 2), size // 2
    found[0::2] = table[:even]
    found[1::2] = table[shift : shift + odd]
    return found.swapaxes(0, axis)
