"""Integer matrices that are never written out: products with vectors, and how columns differ."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onesided._english import many
from onesided._numbers import regular, whole
from onesided.errors import DataError, ParameterError

Array = NDArray[Any]
_DENSE_LIMIT: Final = 2**26
# Numbers of a matrix of totals; of more totals than that only the sum of all is held.
_MOST_TOTALS: Final = 2**24
# What an operator says of its entries beside its products.
_KNOWN: Final = (
    "columns",
    "determined",
    "flat",
    "gram_solve",
    "is_non_negative",
    "largest",
    "meets",
    "monotone_on",
    "solvable",
    "solve",
)


class Meets(NamedTuple):
    """How two columns x and y meet, summed over rows: the signs of x, then of y.

    Where each row's entries other than 0 have one magnitude, its weight, rows count by that; where
    not, by the lesser of the two entries, and no row has entries of both signs. ``plus_minus`` sums
    the rows where x holds a positive entry and y a negative one.

    >>> Meets(plus_plus=3).minus_minus
    0
    """

    plus_plus: Any = 0
    plus_minus: Any = 0
    minus_plus: Any = 0
    minus_minus: Any = 0


class Operator(ABC):
    """An integer matrix of ``shape`` (rows, columns). Integers in, exact integers out (int64).

    Errors of ``@`` and ``+``: DataError for values, ParameterError for operators that do not fit.

    >>> from onesided.linear import Prefix
    >>> (Prefix(3) @ [1, 2, 3]).tolist()
    [1, 3, 6]
    """

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    @abstractmethod
    def apply(self, values: Array) -> Array:
        """The matrix times ``values``, of shape (columns,) or (columns, many)."""

    @abstractmethod
    def adjoint(self, values: Array) -> Array:
        """The transposed matrix times ``values``, of shape (rows,) or (rows, many)."""

    def meets(self, x: Array, y: Array) -> Meets | None:
        """How columns ``x`` and ``y`` meet, pair by pair; None where no formula is known."""
        del x, y
        return None

    @property
    def flat(self) -> bool:
        """Whether :meth:`meets` is of rows of one magnitude, so that it multiplies in products.

        Else it sums the lesser of two entries of one sign, of which products are no products.
        """
        return True

    def gram_solve(self, values: Array) -> Array | None:
        """``(A' A)^-1 values`` in floats; None where no closed form is known."""
        del values
        return None

    def solve(self, values: Array) -> Array | None:
        """The least-squares solution ``A+ values`` in floats; None without a closed form."""
        return self.gram_solve(self.adjoint(np.asarray(values, dtype=float)))

    @property
    def solvable(self) -> bool:
        """Whether :meth:`gram_solve` has a closed form; then every column is determined too."""
        return False

    @property
    def determined(self) -> bool:
        """Whether the columns are known to be independent, so that every query is spanned."""
        return self.solvable

    def monotone_on(self, plane: tuple[int, int]) -> bool:
        """For each x, rises and falls from x to y never shrink as y goes away along an axis.

        plane: the rows and columns in which the cells lie, which the matrix itself does not know.
        """
        del plane
        return False

    @property
    def largest(self) -> int:
        """A bound of the entries' magnitudes. Errors: ParameterError above 2^26 entries."""
        if (found := _extremes(self)) is None:
            raise ParameterError(
                f"How large the entries of a matrix of shape {self.shape} are is not known.",
                hint="Give the operator a property largest, a bound of their magnitudes.",
                shape=self.shape,
            )
        return max(-found[0], found[1])

    @property
    def is_non_negative(self) -> bool:
        """Whether no entry is below 0: then noise on one side of the cells stays on that side.

        Read off the entries; False too where these are too many to write out (2^26), so that
        nothing is called certain that was not looked at.

        >>> from onesided.linear import Dense, Haar, Prefix
        >>> [operator.is_non_negative for operator in (Prefix(10**6), Haar(4), Dense([[1, 0]]))]
        [True, False, True]
        """
        found = _extremes(self)
        return found is not None and found[0] >= 0

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Whoever writes another product has other entries: what was known of them is forgotten.

        Otherwise the formulas of a parent would price, and call certain, what its child does.
        """
        super().__init_subclass__(**kwargs)
        own = vars(cls)
        written = [name for name in ("apply", "adjoint", "columns") if name in own]
        parents = [vars(base) for base in cls.__mro__[1:] if base is not Operator]
        if any(name in parent for parent in parents for name in written):
            for name in _KNOWN:
                if name not in own:
                    setattr(cls, name, vars(Operator)[name])

    @property
    def T(self) -> Operator:  # noqa: N802 - the name that arrays use
        """The transposed matrix."""
        return Transposed(self)

    def __matmul__(self, other: Array | Operator) -> Any:
        if isinstance(other, Operator):
            return Product(self, other)
        values = np.asarray(other)
        if values.ndim not in (1, 2) or values.shape[0] != self.shape[1]:
            raise DataError(
                f"A matrix of {many(self.shape[1], 'column')} does not fit values of shape "
                f"{values.shape}.",
                hint="Give one value per cell, cells in rows of the grid.",
            )
        return self.apply(values)

    def __add__(self, other: Operator) -> Operator:
        return OperatorSum(self, other)

    def columns(self, cells: Array) -> Array:
        """The matrix's columns at ``cells``, written out."""
        chosen = np.zeros((self.shape[1], len(cells)), dtype=np.int64)
        chosen[cells, np.arange(len(cells))] = 1
        return self.apply(chosen)

    def overlaps(self) -> Callable[[Array], Array]:
        """``A diag(weights) A'`` as a function of a weight for each cell."""
        matrix = self.dense().astype(float)
        return lambda weights: np.asarray((matrix * weights) @ matrix.T)

    def dense(self) -> Array:
        """The matrix written out. Errors: ParameterError above 2^26 entries."""
        if self.shape[0] * self.shape[1] > _DENSE_LIMIT:
            raise ParameterError(
                f"A matrix of shape {self.shape} is too large to write out.",
                hint="Use its products with vectors.",
                shape=self.shape,
            )
        return self.columns(np.arange(self.shape[1]))


def listed_cells(given: object, *, name: str) -> Array:
    """One whole number for each cell, never to be changed.

    Errors: ParameterError for anything else, DataError for rows that differ in length.
    """
    array = regular(given)
    if array.ndim != 1 or not array.size or array.dtype.kind not in "iu":
        raise ParameterError(
            f"{name} must be a list of whole numbers, got {array.dtype} with shape {array.shape}.",
            hint="Give one for each cell.",
        )
    cells = array.astype(np.int64)
    cells.setflags(write=False)
    return cells


def _extremes(operator: Operator) -> tuple[int, int] | None:
    """The least and the largest entry, a few columns at a time; None above 2^26 entries."""
    rows, columns = operator.shape
    if rows * columns > _DENSE_LIMIT:
        return None
    some = max(1, 2**22 // (rows + columns))
    parts = [np.arange(first, min(first + some, columns)) for first in range(0, columns, some)]
    found = [(int(part.min()), int(part.max())) for part in map(operator.columns, parts)]
    return min(low for low, _ in found), max(high for _, high in found)


def change(operator: Operator, x: Array, y: Array) -> tuple[Array, Array]:
    """``(rise, fall)`` for each pair: how much the rows rise and fall from column x to column y."""
    both = operator.meets(x, y)
    if both is None:
        return _written_out(operator, x, y)
    here, there = operator.meets(x, x), operator.meets(y, y)
    if here is None or there is None:  # a formula for pairs is one for equal columns
        return _written_out(operator, x, y)
    rise = (there.plus_plus - both.plus_plus) + (here.minus_minus - both.minus_minus)
    fall = (here.plus_plus - both.plus_plus) + (there.minus_minus - both.minus_minus)
    return np.broadcast_to(rise, x.shape), np.broadcast_to(fall, x.shape)


def _written_out(operator: Operator, x: Array, y: Array) -> tuple[Array, Array]:
    """Without a formula: columns are written out, a few at a time."""
    at_once = max(1, 2**22 // (operator.shape[0] + operator.shape[1]))
    rises, falls = [], []
    for start in range(0, len(x), at_once):
        part = slice(start, start + at_once)
        step = operator.columns(y[part]) - operator.columns(x[part])
        rises.append(np.maximum(step, 0).sum(axis=0))
        falls.append(np.maximum(-step, 0).sum(axis=0))
    return np.concatenate(rises), np.concatenate(falls)


class Sized(Operator):
    """A matrix of which it is known when it is made how large it is."""

    shape: tuple[int, int] = (0, 0)


class ZeroOne(Sized):
    """A matrix of zeros and ones: each row is a sum of cells."""

    largest = 1
    is_non_negative = True


class Composed(Sized):
    """A matrix made of others."""

    parts: tuple[Operator, ...] = ()

    @property
    def is_non_negative(self) -> bool:
        return all(part.is_non_negative for part in self.parts) or super().is_non_negative

    @property
    def flat(self) -> bool:
        return all(part.flat for part in self.parts)


class Transposed(Composed):
    """Rows become columns."""

    def __init__(self, operator: Operator) -> None:
        self.operator, self.parts, self.shape = operator, (operator,), operator.shape[::-1]

    @property
    def largest(self) -> int:
        return self.operator.largest

    @property
    def T(self) -> Operator:  # noqa: N802 - the name that arrays use
        return self.operator

    def apply(self, values: Array) -> Array:
        return self.operator.adjoint(values)

    def adjoint(self, values: Array) -> Array:
        return self.operator.apply(values)


class Dense(Sized):
    """A matrix given in full; for small ones.

    Errors: ParameterError unless it is of integers, DataError if its rows differ in length.

    >>> from onesided.linear import Dense
    >>> (Dense([[1, -1]]) @ [5, 3]).tolist()
    [2]
    """

    def __init__(self, matrix: object) -> None:
        array = regular(matrix)
        if array.ndim != 2 or array.size == 0 or array.dtype.kind not in "iu":
            raise ParameterError(
                f"A strategy or workload must be a two-dimensional array of whole numbers, got "
                f"{array.dtype} with shape {array.shape}.",
                hint="Scale fractions up to whole numbers, so that its sensitivity is exact.",
            )
        if max(-int(array.min()), int(array.max())) > 2**31:
            raise ParameterError(
                "A matrix has an entry above 2^31.", hint="Scale it down to smaller numbers."
            )
        self.matrix = array.astype(np.int64)
        self.matrix.setflags(write=False)
        self.shape = self.matrix.shape[0], self.matrix.shape[1]

    @property
    def largest(self) -> int:
        return int(np.abs(self.matrix).max())

    @property
    def is_non_negative(self) -> bool:
        return bool(self.matrix.min() >= 0)

    def apply(self, values: Array) -> Array:
        return np.asarray(self.matrix @ values)

    def adjoint(self, values: Array) -> Array:
        return np.asarray(self.matrix.T @ values)

    def columns(self, cells: Array) -> Array:
        return self.matrix[:, cells]


class Product(Composed):
    """One matrix after another: ``left @ right``. Errors: ParameterError if they do not fit.

    >>> from onesided.linear import Bins, Dense
    >>> (Dense([[1, 1]]) @ Bins(4, 2)).dense().tolist()
    [[1, 1, 1, 1]]
    """

    def __init__(self, left: Operator, right: Operator) -> None:
        if left.shape[1] != right.shape[0]:
            raise ParameterError(
                f"Matrices of shapes {left.shape} and {right.shape} have no product.",
                hint="The left one's columns are the right one's rows.",
            )
        self.left, self.right = self.parts = left, right
        self.shape = left.shape[0], right.shape[1]

    @property
    def largest(self) -> int:
        return self.left.largest * self.right.largest * self.left.shape[1]

    def apply(self, values: Array) -> Array:
        return self.left.apply(self.right.apply(values))

    def adjoint(self, values: Array) -> Array:
        return self.right.adjoint(self.left.adjoint(values))


class OperatorSum(Composed):
    """Two matrices added up. Errors: ParameterError if they differ in shape.

    >>> from onesided.linear import Identity, Prefix
    >>> OperatorSum(Identity(2), Prefix(2)).dense().tolist()
    [[2, 0], [1, 2]]
    """

    def __init__(self, one: Operator, two: Operator) -> None:
        if one.shape != two.shape:
            raise ParameterError(
                f"Matrices of shapes {one.shape} and {two.shape} have no sum.",
                hint="Use matrices of the same shape, or stack them.",
            )
        self.one, self.two = self.parts = one, two
        self.shape = one.shape

    @property
    def largest(self) -> int:
        return self.one.largest + self.two.largest

    def apply(self, values: Array) -> Array:
        return self.one.apply(values) + self.two.apply(values)

    def adjoint(self, values: Array) -> Array:
        return self.one.adjoint(values) + self.two.adjoint(values)


# Larger operators made of smaller ones: stacks, Kronecker products, cells merged or renumbered.


class Stack(Composed):
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
        self.shape = sum(part.shape[0] for part in self.parts), widths.pop()

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


class Kron(Composed):
    """The Kronecker product: ``first`` along the rows of a grid, ``second`` along its columns.

    >>> from onesided.linear import Identity, Kron, Prefix
    >>> Kron(Identity(2), Prefix(2)).shape
    (4, 4)
    """

    def __init__(self, first: Operator, second: Operator) -> None:
        self.first, self.second = self.parts = first, second
        (a, b), (c, d) = first.shape, second.shape
        self.shape = a * c, b * d

    @property
    def largest(self) -> int:
        return self.first.largest * self.second.largest

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
        if plane != (self.first.shape[1], self.second.shape[1]) or not self.flat:
            return False
        for one in (self.first, self.second):
            cells = np.arange(one.shape[1])
            sizes = one.meets(cells, cells)
            # All columns have the same sums of positive and of negative entries.
            even = sizes is not None and all(np.unique(sizes[at]).size == 1 for at in (0, 3))
            if not (one.monotone_on((1, one.shape[1])) and even):
                return False
        return True

    def apply(self, values: Array) -> Array:
        return _along(values, self.first.shape[1], self.first.apply, self.second.apply)

    def adjoint(self, values: Array) -> Array:
        return _along(values, self.first.shape[0], self.first.adjoint, self.second.adjoint)

    def meets(self, x: Array, y: Array) -> Meets | None:
        """Of rows that are not flat only the sums of each column are products."""
        if not self.flat and not np.array_equal(x, y):
            return None
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


class Relabelled(Composed):
    """``operator`` on cells that were merged or renumbered: cell x is its column ``labels[x]``.

    Errors: ParameterError for labels that are none of its columns.

    >>> from onesided.linear import Identity, Relabelled
    >>> Relabelled(Identity(2), [0, 0, 1]).dense().tolist()
    [[1, 1, 0], [0, 0, 1]]
    """

    def __init__(self, operator: Operator, labels: Array) -> None:
        self.operator, self.parts = operator, (operator,)
        self.labels = listed_cells(labels, name="Labels")
        if self.labels.min() < 0 or self.labels.max() >= operator.shape[1]:
            raise ParameterError(
                f"Labels must lie in 0 .. {operator.shape[1] - 1}.",
                hint="Each cell is one of the operator's columns.",
            )
        self.shape = operator.shape[0], self.labels.size

    @property
    def largest(self) -> int:
        return self.operator.largest

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


class Totals(ZeroOne):
    """Row k: the sum of the cells with ``labels`` k. A cell with a label below 0 is in no sum.

    Labels are numbered anew, in order, without gaps. Errors: ParameterError for labels of which all
    are below 0, or that are no whole numbers.

    >>> Totals([5, -1, 5, 7]).dense().tolist()
    [[1, 0, 1, 0], [0, 0, 0, 1]]
    """

    def __init__(self, labels: ArrayLike) -> None:
        given = listed_cells(labels, name="Labels")
        self.inside = np.flatnonzero(given >= 0)
        if not self.inside.size:
            raise ParameterError("No cell is in a total.", hint="Label some cells from 0 up.")
        names, self.places = np.unique(given[self.inside], return_inverse=True)
        if names.size > 1 and names.size * given.size > _MOST_TOTALS:
            names, self.places = names[:1], np.zeros_like(self.places)
        self.shape = names.size, given.size

    @property
    def of_all(self) -> bool:
        """Whether it is the one total of all cells."""
        return self.shape[0] == 1 and self.inside.size == self.shape[1]

    @property
    def sizes(self) -> Array:
        """How many cells each sums."""
        return np.bincount(self.places)

    def apply(self, values: Array) -> Array:
        if self.of_all:
            return np.asarray(values.sum(axis=0, keepdims=True))
        found = np.zeros((self.shape[0], *values.shape[1:]), dtype=values.dtype)
        np.add.at(found, self.places, values[self.inside])
        return found

    def adjoint(self, values: Array) -> Array:
        found = np.zeros((self.shape[1], *values.shape[1:]), dtype=values.dtype)
        found[self.inside] = values[self.places]
        return found


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


def _along(
    values: Array, length: int, first: Callable[[Array], Any], second: Callable[[Array], Any]
) -> Array:
    """``first`` along the leading axis of a grid, ``second`` along the other."""
    tail = values.shape[1:]
    many = math.prod(tail)
    middle = np.asarray(first(values.reshape(length, -1)))
    rows = middle.shape[0]
    turned = middle.reshape(rows, -1, many).transpose(1, 0, 2).reshape(-1, rows * many)
    done = np.asarray(second(np.ascontiguousarray(turned)))
    back = done.reshape(done.shape[0], rows, many).transpose(1, 0, 2)
    return back.reshape(rows * done.shape[0], *tail)
