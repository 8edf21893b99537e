"""What is asked: ranges and rectangles of cells, marginals, as operators."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from onesided._numbers import whole
from onesided.errors import ParameterError
from onesided.linear._combine import kron
from onesided.linear._line import Bins, Identity
from onesided.linear._operator import Array, Dense, Operator, ZeroOne

_MOST_RANGES: Final = 2**24


class Ranges(ZeroOne):
    """Query q sums the cells from ``lows[q]`` up to, not including, ``highs[q]`` on every axis.

    ``shape``-d grids of any number of axes. Errors: ParameterError for ranges that are empty,
    turned around or reach outside the grid.

    >>> from onesided.linear import Ranges
    >>> Ranges(3, [0, 1], [2, 3]).dense().tolist()
    [[1, 1, 0], [0, 1, 1]]
    """

    def __init__(self, grid: int | Sequence[int], lows: ArrayLike, highs: ArrayLike) -> None:
        given = (grid,) if isinstance(grid, int) else tuple(grid)
        self.grid = tuple(whole(side, name="cells along an axis", least=1) for side in given)
        self.lows, self.highs = (_corners(ends, len(self.grid)) for ends in (lows, highs))
        if self.lows.shape != self.highs.shape or not self.lows.size:
            raise ParameterError(
                f"{len(self.lows)} lower and {len(self.highs)} upper ends make no ranges.",
                hint="Give one of each per query.",
            )
        bad = (self.lows < 0) | (self.highs > np.array(self.grid)) | (self.lows >= self.highs)
        if bad.any():
            at = int(np.argmax(bad.any(axis=1)))
            raise ParameterError(
                f"The range {self.lows[at].tolist()} .. {self.highs[at].tolist()} of query {at} "
                f"does not lie in the grid {self.grid}, or is empty.",
                hint="Cells count from 0; the upper end is the first cell not in the range.",
                query=at,
            )

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.lows), math.prod(self.grid)

    @property
    def lengths(self) -> Array:
        """How many cells each query sums."""
        return np.asarray(np.prod(self.highs - self.lows, axis=1))

    def apply(self, values: Array) -> Array:
        table = values.reshape(*self.grid, *values.shape[1:])
        for axis in range(len(self.grid)):
            table = np.cumsum(table, axis=axis)
            first = np.zeros_like(table.take([0], axis=axis))
            table = np.concatenate([first, table], axis=axis)
        total: Array = np.zeros((len(self.lows), *values.shape[1:]), dtype=table.dtype)
        for sign, corner in self._signed():
            total = total + sign * table[corner]
        return total

    def adjoint(self, values: Array) -> Array:
        sides = tuple(side + 1 for side in self.grid)
        table = np.zeros((*sides, *values.shape[1:]), dtype=values.dtype)
        for sign, corner in self._signed():
            np.add.at(table, corner, sign * values)
        for axis, side in enumerate(self.grid):
            sums = np.flip(np.cumsum(np.flip(table, axis), axis=axis), axis)
            table = sums.take(np.arange(1, side + 1), axis=axis)
        return table.reshape(-1, *values.shape[1:])

    def part(self, chosen: Array) -> Ranges:
        """Some of the queries."""
        return Ranges(self.grid, self.lows[chosen], self.highs[chosen])

    def _signed(self) -> list[tuple[int, tuple[Array, ...]]]:
        """Inclusion and exclusion: corners of the table of sums, with their signs."""
        ends = np.stack([self.lows, self.highs])
        return [
            (
                (-1) ** (len(self.grid) - sum(pick)),
                tuple(ends[side, :, axis] for axis, side in enumerate(pick)),
            )
            for pick in product((0, 1), repeat=len(self.grid))
        ]


def thinned(workload: Operator, most: int) -> Operator:
    """At most so many of the queries, evenly spread.

    >>> from onesided.linear import Identity
    >>> thinned(Identity(100), 5).shape
    (5, 100)
    """
    queries = workload.shape[0]
    if queries <= most:
        return workload
    chosen = np.unique(np.linspace(0, queries - 1, most).astype(np.int64))
    if isinstance(workload, Ranges):
        return workload.part(chosen)
    picked = np.zeros((queries, chosen.size), dtype=np.int64)
    picked[chosen, np.arange(chosen.size)] = 1
    return Dense(workload.adjoint(picked).T)


def all_ranges(n: int) -> Ranges:
    """Every range of a line of n cells, short ones first. Errors: ParameterError above 2^24.

    >>> from onesided.linear import all_ranges
    >>> all_ranges(2).dense().tolist()
    [[1, 0], [0, 1], [1, 1]]
    """
    whole(n, name="cells", least=1)
    if n * (n + 1) // 2 > _MOST_RANGES:
        raise ParameterError(
            f"A line of {n:,} cells has {n * (n + 1) // 2:,} ranges, too many to list.",
            hint="Use sampled_ranges, or by_length for exact errors.",
        )
    lows = np.concatenate([np.arange(n - length + 1) for length in range(1, n + 1)])
    lengths = np.repeat(np.arange(1, n + 1), np.arange(n, 0, -1))
    return Ranges(n, lows, lows + lengths)


def sampled_ranges(grid: int | Sequence[int], count: int, *, seed: int = 0) -> Ranges:
    """``count`` ranges or rectangles, each end uniform: public, and the same for equal seeds.

    >>> from onesided.linear import sampled_ranges
    >>> sampled_ranges((4, 5), 7).shape
    (7, 20)
    """
    whole(count, name="count", least=1)
    sides = (grid,) if isinstance(grid, int) else tuple(grid)
    draw = np.random.default_rng(seed)
    ends = [draw.integers(0, [s + 1 for s in sides], (count, len(sides))) for _ in range(2)]
    low, high = np.minimum(*ends), np.maximum(*ends)
    flat = low == high
    # An empty range becomes one cell.
    low = np.where(flat & (low == np.array(sides)), low - 1, low)
    return Ranges(grid, low, np.where(low == high, low + 1, high))


def marginals(grid: Sequence[int], axes: Collection[int]) -> Operator:
    """ZeroOne over all axes but ``axes``: one query per combination of their cells.

    Errors: ParameterError for axes that the grid does not have.

    >>> from onesided.linear import marginals
    >>> marginals((2, 2), {0}).dense().tolist()
    [[1, 1, 0, 0], [0, 0, 1, 1]]
    """
    if not all(0 <= axis < len(grid) for axis in axes):
        raise ParameterError(
            f"Axes {sorted(axes)} are not all axes of a grid of {len(grid)}.",
            hint="Axes count from 0.",
        )
    return kron(*(Identity(n) if k in axes else Bins(n, n) for k, n in enumerate(grid)))


def _corners(ends: ArrayLike, axes: int) -> Array:
    array = np.asarray(ends)
    if array.ndim == 1 and axes == 1:
        array = array.reshape(-1, 1)
    if array.ndim != 2 or array.shape[1] != axes or array.dtype.kind not in "iu":
        raise ParameterError(
            f"Ends of ranges on a grid of {axes} axes are whole numbers of shape "
            f"(queries, {axes}), got {array.dtype} with shape {array.shape}.",
            hint="Give the cell of each end on every axis.",
        )
    return array.astype(np.int64)
