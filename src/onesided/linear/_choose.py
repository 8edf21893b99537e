"""Which strategy is used: by its form and size, or found by search."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np

from onesided._numbers import whole
from onesided.errors import ParameterError
from onesided.linear._moves import Moves
from onesided.linear._near import Grid
from onesided.linear._operator import Array, Dense, Operator, kron
from onesided.linear._solve import _scipy
from onesided.linear._strategies import (
    MOST_IN_TENTS,
    Haar,
    Hierarchy,
    Identity,
    Prefix,
    Quadtree,
    Suffix,
    Tents,
    block_prefix,
    grid_blocks,
    row_prefix,
    staggered,
    summed_area,
)

# Strategies found by search: gradients for some dozens of cells.


_MOST_CELLS: Final = 256
_MOST_PAIRS: Final = 2**16
_GRAIN: Final = 2**12
_LEAST: Final = 1e-3


def optimised(moves: Moves, workload: Operator, *, start: Operator, rounds: int = 200) -> Operator:
    """A strategy fitted to this workload and this policy by gradient descent, in whole numbers.

    The rows are those of ``start`` and the cells themselves, with non-negative weights for each
    cell, as in p-identity strategies (McKenna et al. 2018), and the policy's own sensitivity as
    the constraint, smoothed more and more sharply: minimised is
    ``sensitivity^2 * trace(Q (A'A)^-1 Q')``. Floats only guide the search over public numbers;
    weights are rounded to whole ones, of which the sensitivity is then worked out exactly.
    The answer is never worse than ``start`` by that measure; it may be ``start`` itself.
    Errors: ParameterError above 256 cells or for a start with negative entries;
    MissingDependencyError without SciPy.

    >>> from onesided.linear import Identity, Prefix, moves_of
    >>> from onesided.policy import addition_only
    >>> found = optimised(moves_of(addition_only(), 4), Prefix(4), start=Identity(4), rounds=5)
    >>> found.shape[1], found.largest > 0
    (4, True)
    """
    cells = whole(moves.cells, name="cells", least=2, most=_MOST_CELLS)
    rows = start.dense().astype(float)
    if rows.min() < 0:
        raise ParameterError("The start has negative entries.", hint="Start from sums of cells.")
    asked = workload.dense().astype(float)
    steps, gram = every_step(moves), asked.T @ asked
    scale = rows.max()
    values = np.concatenate([np.full(cells, 0.05), (rows / scale).ravel()])
    minimize = _scipy("optimize").minimize
    for sharpness in (20, 100, 500):
        values = minimize(
            _objective,
            values,
            args=(cells, steps, gram, sharpness),
            jac=True,
            method="L-BFGS-B",
            bounds=[(_LEAST, None)] * cells + [(0, None)] * rows.size,
            options={"maxiter": whole(rounds, name="rounds", least=1)},
        ).x
    found = _rounded(values, cells)
    return min(
        (start, found), key=lambda one: _cost(one.dense().astype(float), steps, asked, np.inf)
    )


def _rounded(values: Array, cells: int) -> Operator:
    weights = np.rint(values / values.max() * _GRAIN).astype(np.int64)
    rows = weights[cells:].reshape(-1, cells)
    return Dense(np.concatenate([np.diag(np.maximum(weights[:cells], 1)), rows[rows.any(axis=1)]]))


def _cost(matrix: Array, steps: Array, asked: Array, otherwise: float) -> float:
    """``sensitivity^2 * trace``; ``otherwise`` where the cells are not determined."""
    gram = matrix.T @ matrix
    if np.linalg.matrix_rank(gram, hermitian=True) < len(gram):
        return otherwise
    size = float(np.abs(matrix @ steps).sum(axis=0).max())
    return size**2 * float(np.sum(asked.T * np.linalg.solve(gram, asked.T)))


def _objective(
    values: Array, cells: int, steps: Array, gram: Array, sharpness: float
) -> tuple[float, Array]:
    """Log of sensitivity² · trace, and its gradient; the sensitivity as a smooth maximum."""
    own, rows = values[:cells], values[cells:].reshape(-1, cells)
    inverse = np.linalg.inv(np.diag(own**2) + rows.T @ rows)
    middle = inverse @ gram @ inverse
    trace = float(np.trace(inverse @ gram))
    # d trace = -2 tr(A' dA (A'A)^-1 G (A'A)^-1)
    slope_own = -2 * own * np.diagonal(middle) / trace
    slope_rows = -2 * rows @ middle / trace
    own_change, row_change = own[:, None] * steps, rows @ steps
    reach = np.abs(own_change).sum(axis=0) + np.abs(row_change).sum(axis=0)
    sharp = sharpness / reach.max()
    heights = np.exp(sharp * (reach - reach.max()))
    total = heights.sum()
    size = reach.max() + np.log(total) / sharp
    share = heights / total * (2 / size)
    slope_own += (np.sign(own_change) * steps) @ share
    slope_rows += (np.sign(row_change) * share) @ steps.T
    return 2 * float(np.log(size)) + float(np.log(trace)), np.concatenate(
        [slope_own, slope_rows.ravel()]
    )


def every_step(moves: Moves) -> Array:
    """Every move as a column: -1 at the cell that is left, 1 at the one that is entered."""
    for _, sweep in moves.sweeps:
        if sweep.count > _MOST_PAIRS:
            raise ParameterError(
                f"The policy joins about {sweep.count:,} pairs, too many to search with.",
                hint="Use fewer cells or a smaller radius.",
            )
    found = {(min(pair), max(pair)) for pair in moves.arrows()}
    steps = np.zeros((moves.cells, len(found)))
    for k, (one, two) in enumerate(sorted(found)):
        steps[two, k] = 1
        if one >= 0:
            steps[one, k] = -1
    return steps


# Which strategies to consider for a grid; the error decides among them.

_BLOCK_LIMIT: Final = 1_024
_STAGGERED_ON_A_LINE: Final = 1_024
_STAGGERED_ON_A_PLANE: Final = 2**18
# Where tents need no more noise than the cells alone, for all ranges.
_FEWEST_IN_TENTS: Final = 32


def candidates(grid: Grid) -> dict[str, Callable[[], Operator]]:
    """Strategies by name, each made when called for; all span every query of the grid.

    >>> sorted(candidates(Grid(8)))
    ['block prefix 2', 'block prefix 4', 'hierarchy 16', 'hierarchy 2', 'hierarchy 4', 'identity',
    'prefix', 'staggered', 'suffix', 'wavelet']
    """
    return _on_a_line(grid.cells) if grid.plane[0] == 1 else _on_a_plane(grid.plane)


def _on_a_line(n: int) -> dict[str, Callable[[], Operator]]:
    found: dict[str, Callable[[], Operator]] = {
        "identity": partial(Identity, n),
        "prefix": partial(Prefix, n),
        "suffix": partial(Suffix, n),
        **{f"hierarchy {b}": partial(Hierarchy, n, b) for b in (2, 4, 16)},
    }
    if n & (n - 1) == 0:
        found["wavelet"] = partial(Haar, n)
    for width in _widths(n):
        if -(-n // width) <= _BLOCK_LIMIT:
            found[f"block prefix {width}"] = partial(block_prefix, n, width)
    if n <= _STAGGERED_ON_A_LINE:
        found["staggered"] = partial(staggered, n)
    if _FEWEST_IN_TENTS <= n <= MOST_IN_TENTS:
        found["tents"] = partial(Tents, n)
    return found


def _on_a_plane(sides: tuple[int, int]) -> dict[str, Callable[[], Operator]]:
    rows, columns = sides

    def both(made: Callable[[int], Operator]) -> Operator:
        return kron(*map(made, sides))

    found: dict[str, Callable[[], Operator]] = {
        "identity": partial(both, Identity),
        "row prefix": partial(row_prefix, sides),
        "summed area": partial(summed_area, sides),
        "wide hierarchy": partial(both, lambda n: Hierarchy(n, max(n, 2))),
    }
    for b in (2, 4):
        found[f"quadtree {b}"] = partial(Quadtree, sides, b)
        found[f"hierarchies {b}"] = partial(both, partial(Hierarchy, branching=b))
    if all(side & (side - 1) == 0 for side in sides):
        found["wavelets"] = partial(both, Haar)
    for width in _widths(max(sides)):
        if -(-rows // width) * -(-columns // width) <= _BLOCK_LIMIT:
            for coarse in ("summed_area", "quadtree"):
                name = f"{coarse} of blocks {width}"
                found[name] = partial(grid_blocks, sides, width, coarse)
    if rows * columns <= _STAGGERED_ON_A_PLANE:
        found["staggered"] = partial(staggered, sides)
    if _FEWEST_IN_TENTS <= max(sides) <= MOST_IN_TENTS:
        found["tents"] = partial(both, lambda n: Tents(n) if n >= _FEWEST_IN_TENTS else Identity(n))
    return found


def _widths(n: int) -> list[int]:
    return [width for width in (2, 4, 8, 16, 32, 64, 256, 1024) if width < n]
