"""Strategies: along a line, in the plane, staggered, and trees over each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final

import numpy as np

from onesided._numbers import whole
from onesided.errors import ParameterError
from onesided.fields import one_of
from onesided.linear._near import Grid
from onesided.linear._operator import (
    Array,
    Kron,
    Meets,
    Operator,
    Relabelled,
    Sized,
    Stack,
    ZeroOne,
    kron,
)

# Strategies along a line of cells: each cell, prefix sums, bins, trees, wavelets.


_MOST_CELLS = 2**27
MOST_IN_TENTS: Final = 1_024


def _cells(n: object) -> int:
    return whole(n, name="cells", least=1, most=_MOST_CELLS)


class _Solved(ZeroOne):
    """As many rows as cells, solved in closed form; columns differ more the farther they are."""

    def __init__(self, n: int) -> None:
        self.n = _cells(n)
        self.shape = self.n, self.n

    solvable = True

    def monotone_on(self, plane: tuple[int, int]) -> bool:
        return 1 in plane


class Identity(_Solved):
    """Every cell by itself.

    >>> from onesided.linear import Identity
    >>> Identity(3).dense().tolist()
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    """

    def monotone_on(self, plane: tuple[int, int]) -> bool:
        del plane  # all other cells are alike
        return True

    def apply(self, values: Array) -> Array:
        return values.copy()

    def adjoint(self, values: Array) -> Array:
        return values.copy()

    def meets(self, x: Array, y: Array) -> Meets:
        return Meets((x == y).astype(np.int64))

    def gram_solve(self, values: Array) -> Array:
        return np.asarray(values, dtype=float)


class _Running(_Solved):
    """Sums of all cells up to each one, from the first or from the last."""

    forward: bool

    def apply(self, values: Array) -> Array:
        return _run(values, forward=self.forward)

    def adjoint(self, values: Array) -> Array:
        return _run(values, forward=not self.forward)

    def meets(self, x: Array, y: Array) -> Meets:
        return Meets(self.n - np.maximum(x, y) if self.forward else 1 + np.minimum(x, y))

    def solve(self, values: Array) -> Array:
        return _steps(np.asarray(values, dtype=float), forward=self.forward)

    def gram_solve(self, values: Array) -> Array:
        turned = _steps(np.asarray(values, dtype=float), forward=not self.forward)
        return _steps(turned, forward=self.forward)


class Prefix(_Running):
    """Row i is the sum of cells 0 .. i.

    >>> from onesided.linear import Prefix
    >>> Prefix(3).dense().tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    """

    forward = True


class Suffix(_Running):
    """Row i is the sum of cells i .. n - 1 (delta-neighbourhood, Table 2).

    >>> from onesided.linear import Suffix
    >>> Suffix(3).dense().tolist()
    [[1, 1, 1], [0, 1, 1], [0, 0, 1]]
    """

    forward = False


def _run(values: Array, *, forward: bool) -> Array:
    return np.asarray(
        np.cumsum(values, axis=0) if forward else np.cumsum(values[::-1], axis=0)[::-1]
    )


def _steps(values: Array, *, forward: bool) -> Array:
    """What running sums rise by from cell to cell."""
    zero = np.zeros((1, *values.shape[1:]))
    if forward:
        return np.asarray(np.diff(values, axis=0, prepend=zero))
    return np.asarray(-np.diff(values, axis=0, append=zero))


class Bins(ZeroOne):
    """Row k is the sum of the cells x with ``(x + offset) // width == k``; empty bins are none.

    >>> from onesided.linear import Bins
    >>> Bins(4, 2).dense().tolist()
    [[1, 1, 0, 0], [0, 0, 1, 1]]
    """

    def __init__(self, n: int, width: int, *, offset: int = 0) -> None:
        self.n, self.width = _cells(n), whole(width, name="width", least=1)
        self.offset = whole(offset, name="offset", most=self.width - 1)
        self.shape = (self.n - 1 + self.offset) // self.width + 1, self.n

    def monotone_on(self, plane: tuple[int, int]) -> bool:
        return 1 in plane

    @cached_property
    def starts(self) -> Array:
        """The first cell of each bin."""
        return np.maximum(np.arange(self.shape[0]) * self.width - self.offset, 0)

    @cached_property
    def sizes(self) -> Array:
        """How many cells each bin holds."""
        return np.diff(self.starts, append=self.n)

    def label(self, cells: Array) -> Array:
        """The bin of each cell."""
        return np.asarray((cells + self.offset) // self.width)

    def apply(self, values: Array) -> Array:
        return np.asarray(np.add.reduceat(values, self.starts, axis=0))

    def adjoint(self, values: Array) -> Array:
        return np.repeat(values, self.sizes, axis=0)

    def meets(self, x: Array, y: Array) -> Meets:
        return Meets((self.label(x) == self.label(y)).astype(np.int64))


class Tents(Sized):
    """Every cell, and sums of cells that overlap as tents do: for ranges of any length.

    Row k of ``tents`` weighs the cells by how near they are to its middle, from the least to the
    most and down again, and at every cell all weights add up to one number, the cell's own
    included. So whoever comes or goes moves the answers by that number wherever she is, while a
    range of cells is answered by few rows. In form a p-identity strategy (McKenna et al. 2018),
    in closed form: for all ranges within 2 % of their optimum, and nothing is searched for.
    tents: how many; by default 4/5 of the root of the number of cells, best for all ranges.
    Errors: ParameterError for more than 1,024 cells, or as many tents as cells.

    >>> Tents(4, 1).dense().tolist()
    [[11, 0, 0, 0], [0, 9, 0, 0], [0, 0, 9, 0], [0, 0, 0, 11], [5, 7, 7, 5]]
    """

    def __init__(self, n: int, tents: int | None = None) -> None:
        self.n = whole(n, name="cells", least=2, most=MOST_IN_TENTS)
        usual = max(1, round(4 * np.sqrt(self.n) / 5))
        many = whole(usual if tents is None else tents, name="tents", least=1, most=self.n - 1)
        middle = (2 * np.arange(many) + 1)[:, None] * self.n
        rows = np.maximum(0, 2 * self.n - np.abs((2 * np.arange(self.n) + 1) * many - middle))
        grain = int(np.gcd.reduce(rows, axis=None, initial=4 * self.n))
        self.tents = np.asarray(rows // grain, dtype=np.int64)
        self.own = 4 * self.n // grain - self.tents.sum(axis=0)
        for array in (self.tents, self.own):
            array.setflags(write=False)
        self.shape = self.n + many, self.n

    @property
    def largest(self) -> int:
        return int(max(self.own.max(), self.tents.max()))

    is_non_negative = True
    solvable = True
    flat = False

    def monotone_on(self, plane: tuple[int, int]) -> bool:
        """The lesser of a tent's weights at x and at y never grows as y goes away from x."""
        return 1 in plane

    def apply(self, values: Array) -> Array:
        own = self.own.reshape(-1, *([1] * (values.ndim - 1)))
        return np.concatenate([own * values, self.tents @ values])

    def adjoint(self, values: Array) -> Array:
        own = self.own.reshape(-1, *([1] * (values.ndim - 1)))
        return np.asarray(own * values[: self.n] + self.tents.T @ values[self.n :])

    def meets(self, x: Array, y: Array) -> Meets:
        both = np.minimum(self.tents[:, x], self.tents[:, y]).sum(axis=0)
        return Meets(plus_plus=both + np.where(x == y, self.own[x], 0))

    def gram_solve(self, values: Array) -> Array:
        """(D² + T'T)^-1 = D^-2 - D^-2 T' (I + T D^-2 T')^-1 T D^-2, with D the cells' own."""
        weights, system = self._systems
        scale = weights.reshape(-1, *([1] * (values.ndim - 1)))
        near = np.asarray(values, dtype=float) / scale
        return np.asarray(near - self.tents.T @ np.linalg.solve(system, self.tents @ near) / scale)

    @cached_property
    def _systems(self) -> tuple[Array, Array]:
        weights = self.own.astype(float) ** 2
        tents = self.tents.astype(float)
        return weights, np.eye(len(tents)) + (tents / weights) @ tents.T


class Haar(Sized):
    """The total, and the left less the right half of every dyadic interval; entries 1 and -1.

    Rows stand from wide to narrow and are orthogonal. Errors: ParameterError unless n is a
    power of two.

    >>> from onesided.linear import Haar
    >>> Haar(2).dense().tolist()
    [[1, 1], [1, -1]]
    """

    def __init__(self, n: int) -> None:
        self.n = _cells(n)
        if self.n & (self.n - 1):
            raise ParameterError(
                f"A wavelet needs a power of two, got {n} cells.",
                hint="Add empty cells at the end, which are public.",
                cells=n,
            )
        self.depth = self.n.bit_length() - 1
        self.shape = self.n, self.n

    largest = 1

    @property
    def is_non_negative(self) -> bool:
        return self.n == 1  # the total alone

    solvable = True

    @cached_property
    def norms(self) -> Array:
        """The squared length of each row."""
        levels = [np.full(2**k, self.n >> k, dtype=float) for k in range(self.depth)]
        return np.concatenate([[float(self.n)], *levels])

    def apply(self, values: Array) -> Array:
        rows, sums = [], values
        for _ in range(self.depth):
            left, right = sums[0::2], sums[1::2]
            rows.append(left - right)
            sums = left + right
        return np.concatenate([sums, *reversed(rows)])

    def adjoint(self, values: Array) -> Array:
        sums, at = values[:1], 1
        for k in range(self.depth):
            step = values[at : at + 2**k]
            at += 2**k
            pair = np.stack([sums + step, sums - step], axis=1)
            sums = pair.reshape(2 ** (k + 1), *values.shape[1:])
        return sums.copy()

    def meets(self, x: Array, y: Array) -> Meets:
        # With ``top`` the bits up to the highest in which x and y differ: above it they share
        # every half, there they lie in opposite halves, below it they share no interval.
        top = np.frexp((x ^ y).astype(float))[1].astype(np.int64)
        right = self._ones[x >> top]
        opposite = top > 0
        to_right = opposite & ((x >> np.maximum(top - 1, 0)) & 1 == 0)
        return Meets(
            1 + self.depth - top - right,
            to_right.astype(np.int64),
            (opposite & ~to_right).astype(np.int64),
            right,
        )

    @cached_property
    def _ones(self) -> Array:
        """How many bits of each number are set."""
        count = np.zeros(1, dtype=np.int64)
        for _ in range(self.depth):
            count = np.concatenate([count, count + 1])
        return count

    def solve(self, values: Array) -> Array:
        return self.adjoint(_scaled(np.asarray(values, dtype=float), self.norms))

    def gram_solve(self, values: Array) -> Array:
        # The rows are orthogonal and square: A^-1 = A' / N, so (A'A)^-1 = A' A / N^2.
        return self.adjoint(_scaled(self.apply(np.asarray(values, dtype=float)), self.norms**2))


def _scaled(values: Array, by: Array) -> Array:
    return np.asarray((values.T / by).T)


# Sums over a tree of intervals or squares, with Hay et al.'s least squares in linear time.


class _Tree(ZeroOne):
    """Squares of side 1, b, b^2, ... up to the whole plane, of which a line is one row.

    Rows stand from the total down to the cells; the last node of a level may be smaller. Least
    squares by the two passes of Hay, Rastogi, Miklau and Suciu 2010, with each node's own variance,
    so that smaller nodes are weighted right.
    """

    def __init__(self, grid: tuple[int, int], branching: int) -> None:
        self.grid = grid
        self.branching = whole(branching, name="branching", least=2, most=2**20)
        widths = [1]
        while widths[-1] < max(self.grid):
            widths.append(widths[-1] * self.branching)
        self.sides = tuple(
            tuple((side - 1) // width + 1 for side in self.grid) for width in reversed(widths)
        )
        self.widths = tuple(reversed(widths))
        self.shape = sum(rows * columns for rows, columns in self.sides), grid[0] * grid[1]

    solvable = True

    def monotone_on(self, plane: tuple[int, int]) -> bool:
        return plane == self.grid or (1 in self.grid and 1 in plane)

    def apply(self, values: Array) -> Array:
        levels = [values]
        for k in range(len(self.sides) - 1, 0, -1):
            levels.append(self._gather(levels[-1], k))
        return np.concatenate(levels[::-1])

    def adjoint(self, values: Array) -> Array:
        levels = self.split(values)
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
        levels = self.split(np.asarray(values, dtype=float))[::-1]
        return self.fitted(levels, [1.0] * len(levels))

    def fitted(self, levels: Sequence[Array], variances: Sequence[float]) -> Array:
        """Least squares by Hay et al.'s two passes, levels from the cells up.

        Up, each node against its children; down, what is left. variances: of a node's noise on each
        level; infinite where it was not measured, 0 where it is exact.
        """
        best, last = np.asarray(levels[0], dtype=float), len(self.sides) - 1
        spread = np.full((len(best), *([1] * (best.ndim - 1))), float(variances[0]))
        below: list[tuple[Array, Array, Array, Array]] = []
        for k, (own, variance) in enumerate(zip(levels[1:], variances[1:], strict=True)):
            sums, wide = self._gather(best, last - k), self._gather(spread, last - k)
            below.append((best, spread, sums, wide))
            if np.isinf(variance):
                best, spread = sums, wide
                continue
            # Where both are exact they agree, so either will do.
            share = _ratio(wide, wide + variance)
            best, spread = own * share + sums * (1 - share), variance * share
        for k, (cells, own, sums, wide) in reversed([*enumerate(below)]):
            best = cells + self._spread(_ratio(best - sums, wide), last - k) * own
        return best

    def gram_solve(self, values: Array) -> Array:
        # A' y = values for y = values on the cells' own rows, so A+ y = (A'A)^-1 values.
        cells = np.asarray(values, dtype=float)
        above = np.zeros((self.shape[0] - self.shape[1], *cells.shape[1:]))
        return self.solve(np.concatenate([above, cells]))

    def _gather(self, values: Array, level: int) -> Array:
        """The sum of each parent's children at ``level``, counted from the root."""
        rows, columns = self.sides[level]
        table = values.reshape(rows, columns, *values.shape[1:])
        for axis, side in enumerate((rows, columns)):
            if side > 1:
                table = np.add.reduceat(table, np.arange(0, side, self.branching), axis=axis)
        return table.reshape(-1, *values.shape[1:])

    def _spread(self, values: Array, level: int) -> Array:
        """Each parent's value for all its children at ``level``."""
        table = values.reshape(*self.sides[level - 1], *values.shape[1:])
        for axis, side in enumerate(self.sides[level]):
            if side > 1:
                keep = [slice(None)] * axis + [slice(side)]
                table = np.repeat(table, self.branching, axis=axis)[tuple(keep)]
        return table.reshape(-1, *values.shape[1:])

    def split(self, values: Array) -> list[Array]:
        """What belongs to each level, from the total down to the cells."""
        return np.split(values, np.cumsum([rows * columns for rows, columns in self.sides])[:-1])


class Hierarchy(_Tree):
    """Each level merges ``branching`` neighbours of the level below, from cells to the total.

    Rows stand from the total down to the cells. Any number of cells; the last node of a level
    may be smaller. Source: Hay, Rastogi, Miklau, Suciu 2010.

    >>> from onesided.linear import Hierarchy
    >>> Hierarchy(2).dense().tolist()
    [[1, 1], [1, 0], [0, 1]]
    """

    def __init__(self, n: int, branching: int = 2) -> None:
        super().__init__((1, _cells(n)), branching)


class Quadtree(_Tree):
    """Squares of side 1, b, b^2, ... up to the whole grid; rows from the total to the cells.

    >>> from onesided.linear import Quadtree
    >>> Quadtree((2, 2)).shape
    (5, 4)
    """

    def __init__(self, shape: int | Sequence[int], branching: int = 2) -> None:
        super().__init__(Grid(shape).plane, branching)


def _ratio(top: Array, bottom: Array) -> Array:
    """``top / bottom``, and 0 where nothing is left to share out."""
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)


# Strategies on a grid of rows and columns, and strategies for neighbourhoods of several cells.

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


class Blocks(Stack):
    """Every cell, and ``coarse`` on blocks of cells: a tree of few long steps, as a spanner is.

    ``labels``: the block of each cell. In a neighbourhood as wide as a block a move changes two
    cells and leads to a neighbouring block at most, so that coarse prefix sums stay cheap
    (Haney, Machanavajjhala, Ding 2015, the spanner of a line with longer moves).

    >>> from onesided.linear import Prefix
    >>> Blocks(Prefix(2), np.array([0, 0, 1])).dense().tolist()
    [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]]
    """

    def __init__(self, coarse: Operator, labels: Array) -> None:
        self.coarse, self.merged = coarse, Relabelled(coarse, labels)
        super().__init__([Identity(self.merged.labels.size), self.merged])

    @property
    def solvable(self) -> bool:
        return self.coarse.shape[1] <= _MOST_BLOCKS

    determined = True

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


# Tiles of every size that share no borders, applied from coarse to fine and back in O(cells).


class Staggered(Stack):
    """The stack of :func:`staggered`, with products in O(cells) in place of O(cells) per level.

    A tile of side 2h starts at an odd multiple of h, so it is made of two blocks of side h along
    each axis; blocks are summed up from those half as long. Rows are those of the stack.
    """

    # The products are those of the stack, and so is what is known of them.
    determined, monotone_on, meets = Stack.determined, Stack.monotone_on, Stack.meets
    largest = 1
    is_non_negative = True

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
        super().__init__(parts)

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
