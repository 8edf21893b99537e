"""Strategies along a line of cells: each cell, prefix sums, bins, trees, wavelets."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from onesided._numbers import whole
from onesided.errors import ParameterError
from onesided.linear._operator import Array, Meets, Operator, ZeroOne

_MOST_CELLS = 2**27


def _cells(n: object) -> int:
    return whole(n, name="cells", least=1, most=_MOST_CELLS)


class _Solved(ZeroOne):
    """As many rows as cells, solved in closed form; columns differ more the farther they are."""

    def __init__(self, n: int) -> None:
        self.n = _cells(n)

    @property
    def shape(self) -> tuple[int, int]:
        return self.n, self.n

    @property
    def solvable(self) -> bool:
        return True

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


class Prefix(_Solved):
    """Row i is the sum of cells 0 .. i.

    >>> from onesided.linear import Prefix
    >>> Prefix(3).dense().tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    """

    def apply(self, values: Array) -> Array:
        return np.asarray(np.cumsum(values, axis=0))

    def adjoint(self, values: Array) -> Array:
        return np.asarray(np.cumsum(values[::-1], axis=0)[::-1])

    def meets(self, x: Array, y: Array) -> Meets:
        return Meets(self.n - np.maximum(x, y))

    def solve(self, values: Array) -> Array:
        first = np.zeros((1, *values.shape[1:]))
        return np.asarray(np.diff(np.asarray(values, dtype=float), axis=0, prepend=first))

    def gram_solve(self, values: Array) -> Array:
        last = np.zeros((1, *values.shape[1:]))
        return self.solve(-np.diff(np.asarray(values, dtype=float), axis=0, append=last))


class Suffix(_Solved):
    """Row i is the sum of cells i .. n - 1 (delta-neighbourhood, Table 2).

    >>> from onesided.linear import Suffix
    >>> Suffix(3).dense().tolist()
    [[1, 1, 1], [0, 1, 1], [0, 0, 1]]
    """

    def apply(self, values: Array) -> Array:
        return np.asarray(np.cumsum(values[::-1], axis=0)[::-1])

    def adjoint(self, values: Array) -> Array:
        return np.asarray(np.cumsum(values, axis=0))

    def meets(self, x: Array, y: Array) -> Meets:
        return Meets(1 + np.minimum(x, y))

    def solve(self, values: Array) -> Array:
        last = np.zeros((1, *values.shape[1:]))
        return np.asarray(-np.diff(np.asarray(values, dtype=float), axis=0, append=last))

    def gram_solve(self, values: Array) -> Array:
        first = np.zeros((1, *values.shape[1:]))
        return self.solve(np.diff(np.asarray(values, dtype=float), axis=0, prepend=first))


class Bins(ZeroOne):
    """Row k is the sum of the cells x with ``(x + offset) // width == k``; empty bins are none.

    >>> from onesided.linear import Bins
    >>> Bins(4, 2).dense().tolist()
    [[1, 1, 0, 0], [0, 0, 1, 1]]
    """

    def __init__(self, n: int, width: int, *, offset: int = 0) -> None:
        self.n, self.width = _cells(n), whole(width, name="width", least=1)
        self.offset = whole(offset, name="offset", most=self.width - 1)

    @property
    def shape(self) -> tuple[int, int]:
        return (self.n - 1 + self.offset) // self.width + 1, self.n

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


class Haar(Operator):
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

    @property
    def shape(self) -> tuple[int, int]:
        return self.n, self.n

    @property
    def largest(self) -> int:
        return 1

    @property
    def is_non_negative(self) -> bool:
        return self.n == 1  # the total alone

    @property
    def solvable(self) -> bool:
        return True

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
