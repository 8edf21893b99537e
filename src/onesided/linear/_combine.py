"""Larger operators made of smaller ones: stacks, Kronecker products, cells merged or renumbered."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from onesided._numbers import whole
from onesided.errors import ParameterError
from onesided.linear._operator import Array, Meets, Operator, listed_cells


class Stack(Operator):
    """Operators one below the other, each scaled by a whole weight of at least 1.

    Errors: ParameterError for parts of unlike width, or weights that are not one for each.

    >>> from onesided.linear import Identity, Prefix, Stack
    >>> Stack([Identity(2), Prefix(2)]).dense().tolist()
    [[1, 0], [0, 1], [1, 0], [1, 1]]
    """

    def __init__(self, parts: Sequence[Operator], weights: Sequence[int] | None = None) -> None:
        self.parts = tuple(parts)
        given = [1] * len(self.parts) if weights is None else list(weights)
        self.weights = tuple(whole(w, name="weight", least=1, most=2**20) for w in given)
        widths = {part.shape[1] for part in self.parts}
        if len(widths) != 1 or len(self.weights) != len(self.parts):
            raise ParameterError(
                f"Cannot stack operators with {sorted(widths)} columns and "
                f"{len(self.weights)} weights for {len(self.parts)} parts.",
                hint="All parts speak of the same cells, and each has one weight.",
            )

    @property
    def shape(self) -> tuple[int, int]:
        return sum(part.shape[0] for part in self.parts), self.parts[0].shape[1]

    @property
    def largest(self) -> int:
        return max(w * part.largest for w, part in zip(self.weights, self.parts, strict=True))

    @property
    def is_non_negative(self) -> bool:
        return all(part.is_non_negative for part in self.parts)

    @property
    def determined(self) -> bool:
        return any(part.determined for part in self.parts)

    def monotone_on(self, plane: tuple[int, int]) -> bool:
        return all(part.monotone_on(plane) for part in self.parts)

    def apply(self, values: Array) -> Array:
        pairs = zip(self.weights, self.parts, strict=True)
        return np.concatenate([weight * part.apply(values) for weight, part in pairs])

    def adjoint(self, values: Array) -> Array:
        ends = accumulate(part.shape[0] for part in self.parts)
        total: Array = np.zeros((self.shape[1], *values.shape[1:]), dtype=values.dtype)
        for weight, part, end in zip(self.weights, self.parts, ends, strict=True):
            total = total + weight * part.adjoint(values[end - part.shape[0] : end])
        return total

    def meets(self, x: Array, y: Array) -> Meets | None:
        found = [part.meets(x, y) for part in self.parts]
        known = [one for one in found if one is not None]
        if len(known) < len(found):
            return None
        pairs = list(zip(self.weights, known, strict=True))
        return Meets(*(sum(w * one[k] for w, one in pairs) for k in range(4)))


class Kron(Operator):
    """The Kronecker product: ``first`` along the rows of a grid, ``second`` along its columns.

    >>> from onesided.linear import Identity, Kron, Prefix
    >>> Kron(Identity(2), Prefix(2)).shape
    (4, 4)
    """

    def __init__(self, first: Operator, second: Operator) -> None:
        self.first, self.second = first, second

    @property
    def shape(self) -> tuple[int, int]:
        (a, b), (c, d) = self.first.shape, self.second.shape
        return a * c, b * d

    @property
    def largest(self) -> int:
        return self.first.largest * self.second.largest

    @property
    def is_non_negative(self) -> bool:
        both = self.first.is_non_negative and self.second.is_non_negative
        return both or super().is_non_negative

    @property
    def solvable(self) -> bool:
        return self.first.solvable and self.second.solvable

    @property
    def determined(self) -> bool:
        return self.first.determined and self.second.determined

    def monotone_on(self, plane: tuple[int, int]) -> bool:
        """Falls are a product of column sizes less one of overlaps: right if sizes are constant.

        On any other grid than that of its factors what is near by cells may be far by factors.
        """
        if plane != (self.first.shape[1], self.second.shape[1]):
            return False
        return all(
            one.monotone_on((1, one.shape[1])) and _even(one) for one in (self.first, self.second)
        )

    def apply(self, values: Array) -> Array:
        return _along(values, self.first.shape[1], self.first.apply, self.second.apply)

    def adjoint(self, values: Array) -> Array:
        return _along(values, self.first.shape[0], self.first.adjoint, self.second.adjoint)

    def meets(self, x: Array, y: Array) -> Meets | None:
        width = self.second.shape[1]
        one = self.first.meets(x // width, y // width)
        two = self.second.meets(x % width, y % width)
        if one is None or two is None:
            return None
        # A product of entries is positive where their signs agree, at x and at y.
        return Meets(
            one[0] * two[0] + one[1] * two[1] + one[2] * two[2] + one[3] * two[3],
            one[0] * two[1] + one[1] * two[0] + one[2] * two[3] + one[3] * two[2],
            one[0] * two[2] + one[2] * two[0] + one[1] * two[3] + one[3] * two[1],
            one[0] * two[3] + one[3] * two[0] + one[1] * two[2] + one[2] * two[1],
        )

    def gram_solve(self, values: Array) -> Array | None:
        if not self.solvable:
            return None
        return _along(values, self.first.shape[1], self.first.gram_solve, self.second.gram_solve)

    def solve(self, values: Array) -> Array | None:
        if not self.solvable:
            return None
        return _along(values, self.first.shape[0], self.first.solve, self.second.solve)


class Relabelled(Operator):
    """``operator`` on cells that were merged or renumbered: cell x is its column ``labels[x]``.

    Errors: ParameterError for labels that are none of its columns.

    >>> from onesided.linear import Identity, Relabelled
    >>> Relabelled(Identity(2), [0, 0, 1]).dense().tolist()
    [[1, 1, 0], [0, 0, 1]]
    """

    def __init__(self, operator: Operator, labels: Array) -> None:
        self.operator = operator
        self.labels = listed_cells(labels, name="Labels")
        if self.labels.min() < 0 or self.labels.max() >= operator.shape[1]:
            raise ParameterError(
                f"Labels must lie in 0 .. {operator.shape[1] - 1}.",
                hint="Each cell is one of the operator's columns.",
            )

    @property
    def shape(self) -> tuple[int, int]:
        return self.operator.shape[0], self.labels.size

    @property
    def largest(self) -> int:
        return self.operator.largest

    @property
    def is_non_negative(self) -> bool:
        return self.operator.is_non_negative or super().is_non_negative

    def monotone_on(self, plane: tuple[int, int]) -> bool:
        """Merging neighbours on a line keeps their order."""
        ordered = 1 in plane and bool(np.all(np.diff(self.labels) >= 0))
        return ordered and self.operator.monotone_on((1, self.operator.shape[1]))

    def apply(self, values: Array) -> Array:
        merged = np.zeros((self.operator.shape[1], *values.shape[1:]), dtype=values.dtype)
        np.add.at(merged, self.labels, values)
        return self.operator.apply(merged)

    def adjoint(self, values: Array) -> Array:
        return self.operator.adjoint(values)[self.labels]

    def meets(self, x: Array, y: Array) -> Meets | None:
        return self.operator.meets(self.labels[x], self.labels[y])


def kron(*parts: Operator) -> Operator:
    """The Kronecker product of one or more operators, the first along the slowest axis.

    Errors: ParameterError for none.

    >>> from onesided.linear import Identity, kron
    >>> kron(Identity(2), Identity(3)).shape
    (6, 6)
    """
    if not parts:
        raise ParameterError("Nothing to multiply.", hint="Give one operator per axis.")
    product = parts[0]
    for part in parts[1:]:
        product = Kron(product, part)
    return product


def _even(operator: Operator) -> bool:
    """Whether all columns have the same sums of positive and of negative entries."""
    cells = np.arange(operator.shape[1])
    sizes = operator.meets(cells, cells)
    return sizes is not None and all(np.unique(size).size == 1 for size in (sizes[0], sizes[3]))


def _along(values: Array, length: int, first: object, second: object) -> Array:
    """``first`` along the leading axis of a grid, ``second`` along the other."""
    tail = values.shape[1:]
    many = math.prod(tail)
    grid = values.reshape(length, -1)
    middle = _run(first, grid)
    rows = middle.shape[0]
    turned = middle.reshape(rows, -1, many).transpose(1, 0, 2).reshape(-1, rows * many)
    done = _run(second, np.ascontiguousarray(turned))
    back = done.reshape(done.shape[0], rows, many).transpose(1, 0, 2)
    return back.reshape(rows * done.shape[0], *tail)


def _run(function: object, values: Array) -> Array:
    return np.asarray(function(values))  # type: ignore[operator]
