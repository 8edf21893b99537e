"""All strategies of zeros and ones over four cells, as the paper's claim of optimality is tried."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement, product
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onesided.errors import ParameterError
from onesided.linear import Moves, Operator
from onesided.linear.kit import every_step
from onesided.numbers import whole

Array = NDArray[Any]
_MOST_BINARY: Final = 4


class BinaryStrategy(NamedTuple):
    """A strategy of zeros and ones and what it costs: eq. (5), per unit of noise.

    >>> from onesided.linear import Identity, moves_of
    >>> from onesided.policy import addition_only
    >>> found = list(every_binary_strategy(moves_of(addition_only(), 2), Identity(2)))
    >>> min(one.error for one in found)
    2.0
    """

    matrix: Array
    sensitivity: int
    error: float


def every_binary_strategy(moves: Moves, workload: Operator) -> Iterator[BinaryStrategy]:
    """Every set of different 0/1 rows over at most four cells that determines all the cells.

    ``error`` is ``sensitivity^2 * trace(Q (A'A)^-1 Q')``; times 2/ε² it is the sum of the
    queries' variances under Laplace noise. A row that is repeated is another strategy, which
    this does not list: on a line of four cells :func:`best_repeated` looks at those.

    >>> from onesided.linear import Identity, moves_of
    >>> from onesided.policy import addition_only
    >>> len(list(every_binary_strategy(moves_of(addition_only(), 2), Identity(2))))
    4
    """
    cells = whole(moves.cells, name="cells", least=1, most=_MOST_BINARY)
    steps = every_step(moves)
    rows = np.array(list(product((0, 1), repeat=cells)))[1:]
    asked = workload.dense().astype(float)
    for chosen in range(1, 2 ** len(rows)):
        picked = rows[[k for k in range(len(rows)) if chosen >> k & 1]]
        if len(picked) < cells:
            continue
        found = _costed(picked, steps, asked)
        if found is not None:
            yield found


def best_repeated(moves: Moves, workload: Operator, most: int) -> BinaryStrategy:
    """The best 0/1 strategy of at most ``most`` rows, repeated rows allowed.

    Errors: ParameterError for too many cells, or fewer rows than cells.

    >>> from onesided.linear import Prefix, moves_of
    >>> from onesided.policy import addition_only
    >>> best_repeated(moves_of(addition_only(), 2), Prefix(2), 3).matrix.tolist()
    [[0, 1], [1, 0]]
    """
    cells = whole(moves.cells, name="cells", least=1, most=_MOST_BINARY)
    steps, asked = every_step(moves), workload.dense().astype(float)
    rows = np.array(list(product((0, 1), repeat=cells)))[1:]
    best: BinaryStrategy | None = None
    for count in range(cells, most + 1):
        for chosen in combinations_with_replacement(range(len(rows)), count):
            found = _costed(rows[list(chosen)], steps, asked)
            if found is not None and (best is None or found.error < best.error):
                best = found
    if best is None:
        raise ParameterError(
            f"No strategy of {most} rows determines {cells} cells.", hint="Allow more rows."
        )
    return best


def _costed(matrix: Array, steps: Array, asked: Array) -> BinaryStrategy | None:
    """None if the matrix does not determine the cells."""
    gram = matrix.T @ matrix
    if round(float(np.linalg.det(gram))) == 0:  # a whole number below 10^4
        return None
    size = int(np.abs(matrix @ steps).sum(axis=0).max())
    solved: Any = np.linalg.solve(gram.astype(float), asked.T)
    return BinaryStrategy(matrix, size, size**2 * float(np.sum(asked.T * solved)))
