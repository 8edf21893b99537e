"""Pairs of cells that a move joins, a block at a time; never all of them at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Cells = NDArray[np.int64]
_BLOCK: Final = 2**20


class Sweep(ABC):
    """Some pairs of cells. ``both_ways``: each pair is a move in both directions.

    plane: the rows and columns in which pairs are a window around each cell, if they are.

    >>> sweep = Window(1, 4, [1])
    >>> sweep.both_ways, sweep.plane, isinstance(sweep.near(), Sweep)
    (True, (1, 4), True)
    """

    both_ways: bool = True
    plane: tuple[int, int] | None = None

    @property
    @abstractmethod
    def count(self) -> int:
        """How many pairs there are, or a bound."""

    @abstractmethod
    def blocks(self) -> Iterator[tuple[Cells, Cells]]:
        """All pairs."""

    def far(self) -> Sweep:
        """Pairs enough for an operator that is monotone on the sweep's plane."""
        return self

    def near(self) -> Sweep:
        """Pairs enough to tell which cells are joined by any number of moves."""
        return self


class Listed(Sweep):
    """Pairs given one by one, each a move from the first to the second only.

    >>> pairs = Listed(np.array([0, 1]), np.array([1, 2]))
    >>> pairs.count, [(a.tolist(), b.tolist()) for a, b in pairs.blocks()]
    (2, [([0, 1], [1, 2])])
    """

    both_ways = False

    def __init__(self, starts: Cells, ends: Cells) -> None:
        self.starts, self.ends = starts, ends

    @property
    def count(self) -> int:
        return len(self.starts)

    def blocks(self) -> Iterator[tuple[Cells, Cells]]:
        for at in range(0, len(self.starts), _BLOCK):
            yield self.starts[at : at + _BLOCK], self.ends[at : at + _BLOCK]


class Window(Sweep):
    """On a grid, cells ``dr`` rows apart are near if at most ``widths[dr]`` columns apart.

    >>> [(a.tolist(), b.tolist()) for a, b in Window(1, 3, [1]).blocks()]
    [([0, 1], [1, 2])]
    """

    def __init__(self, rows: int, columns: int, widths: list[int]) -> None:
        self.rows, self.columns = rows, columns
        self.plane = (rows, columns)
        self.widths = [min(width, columns - 1) for width in widths[:rows]]

    @property
    def count(self) -> int:
        across = [width for width in self.widths if width >= 0]
        return self.rows * self.columns * (sum(2 * w + 1 for w in across[1:]) + across[0])

    def blocks(self) -> Iterator[tuple[Cells, Cells]]:
        for down, width in enumerate(self.widths):
            for right in range(1 if down == 0 else -width, width + 1):
                yield from self._pairs(down, right)

    def _pairs(self, down: int, right: int) -> Iterator[tuple[Cells, Cells]]:
        columns = np.arange(max(0, -right), self.columns - max(0, right))
        at_once = max(1, _BLOCK // max(1, columns.size))
        for top in range(0, self.rows - down, at_once):
            rows = np.arange(top, min(top + at_once, self.rows - down))
            starts = (rows[:, None] * self.columns + columns).ravel()
            yield starts, starts + down * self.columns + right

    def far(self) -> Sweep:
        """The farthest cell in each direction, or what the border leaves of it."""
        # A row further down that is as wide makes a nearer row needless.
        best, corners = -1, []
        for down in range(len(self.widths) - 1, -1, -1):
            if self.widths[down] > best:
                best = self.widths[down]
                corners.append((down, best))
        return _Far(self.rows, self.columns, corners)

    def near(self) -> Sweep:
        """Next columns and next rows: whoever is near a cell further off is near these too."""
        steps = [min(width, most) for width, most in zip(self.widths, (1, 0), strict=False)]
        return Window(self.rows, self.columns, steps)


class _Far(Sweep):
    def __init__(self, rows: int, columns: int, corners: list[tuple[int, int]]) -> None:
        self.rows, self.columns, self.corners = rows, columns, corners

    @property
    def count(self) -> int:
        return 2 * self.rows * self.columns * len(self.corners)

    def blocks(self) -> Iterator[tuple[Cells, Cells]]:
        at_once = max(1, _BLOCK // self.columns)
        for top in range(0, self.rows, at_once):
            row = np.arange(top, min(top + at_once, self.rows))[:, None]
            column = np.arange(self.columns)[None, :]
            starts = (row * self.columns + column).ravel()
            for down, right in self.corners:
                for way in (right, -right):
                    end_row = np.minimum(row + down, self.rows - 1)
                    end_column = np.clip(column + way, 0, self.columns - 1)
                    yield starts, (end_row * self.columns + end_column).ravel()


class Bands(Sweep):
    """Rows ``first[k]`` and ``second[k]`` (not above it): near if few columns apart, or nearly all.

    Cells are near if their columns are at most ``close[k]`` apart, or at least ``around[k]``,
    which is the way around the globe.
    """

    def __init__(
        self, columns: int, first: Cells, second: Cells, close: Cells, around: Cells
    ) -> None:
        self.columns = columns
        self.first, self.second = first, second
        self.close, self.around = close, around

    def near(self) -> Sweep:
        """Next columns and next rows, and the first column with the last."""
        some = np.flatnonzero(self.second - self.first <= 1)
        last = np.where(self.around[some] < self.columns, self.columns - 1, self.columns)
        step = np.minimum(self.close[some], 1)
        last = np.maximum(last, step + 1)
        return Bands(self.columns, self.first[some], self.second[some], step, last)

    @property
    def count(self) -> int:
        apart = np.minimum(self.close, self.columns - 1) + np.maximum(self.columns - self.around, 0)
        return int(np.sum((2 * apart + 1) * self.columns))

    def blocks(self) -> Iterator[tuple[Cells, Cells]]:
        most = int(min(self.close.max(initial=0), self.columns - 1))
        least = int(max(min(self.around.min(initial=self.columns), self.columns), most + 1))
        for right in (*range(most + 1), *range(least, self.columns)):
            rows = np.flatnonzero((right <= self.close) | (right >= self.around))
            apart = rows[self.first[rows] < self.second[rows]]
            if right:  # within a row a pair is met once
                yield from self._pairs(rows, right)
            yield from self._pairs(apart, -right)

    def _pairs(self, rows: Any, right: int) -> Iterator[tuple[Cells, Cells]]:
        columns = np.arange(max(0, -right), self.columns - max(0, right))
        at_once = max(1, _BLOCK // max(1, columns.size))
        for top in range(0, rows.size, at_once):
            some = rows[top : top + at_once]
            starts = (self.first[some, None] * self.columns + columns).ravel()
            yield starts, (self.second[some, None] * self.columns + columns + right).ravel()
