"""Cells, and tiles of growing width whose borders never meet: a strategy for small moves."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from onesided.linear import Bins, Identity, Operator, Stack, conjugate_gradients, kron
from onesided_experiments._lazy import load

_TIMES: Final = 8


def tiles(side: int, width: int, weight: int) -> Operator:
    """A square grid's cells, and tiles of side 2 * width, 4 * width, ..., each level laid askew.

    The borders of level k are the odd multiples of ``width * 2^k``, so that two levels share none:
    a move of up to ``width`` cells along an axis leads over one border at most, at one level.
    weight: of the cells' own answers, against 1 of every tile.
    With width 1 and weight 1 these are the staggered tiles of :func:`onesided.linear.staggered`.
    """
    parts: list[Operator] = [kron(Identity(side), Identity(side))]
    half = width
    while True:
        along = Bins(side, 2 * half, offset=half)
        parts.append(kron(along, along))
        if along.shape[0] == 1:
            return Stack(parts, [weight] + [1] * (len(parts) - 1))
        half *= 2


def tile_matrix(side: int, width: int, weight: int) -> Any:
    """The same as a sparse matrix, for fast products."""
    sparse = load("scipy.sparse")
    cells = np.arange(side)
    blocks = [weight * sparse.identity(side * side, format="csr")]
    half = width
    while True:
        along = Bins(side, 2 * half, offset=half)
        label = along.label(cells)
        where = (label[:, None] * along.shape[0] + label).ravel()
        ones = np.ones(side * side)
        shape = (along.shape[0] ** 2, side * side)
        blocks.append(sparse.csr_matrix((ones, (where, np.arange(side * side))), shape=shape))
        if along.shape[0] == 1:
            return sparse.vstack(blocks, format="csr")
        half *= 2


def least(matrix: Any, noisy: Any) -> Any:
    """Least squares, to five digits. The cells' own rows determine all of them."""
    turned = matrix.T.tocsr()
    return conjugate_gradients(lambda cells: turned @ (matrix @ cells), turned @ noisy, close=1e-7)


def least_from_zero(matrix: Any, noisy: Any) -> Any:
    """Least squares over cells of at least 0, by projected gradients with momentum.

    The cells' own rows keep the curvature above ``weight^2``, and no row sum of the square is
    above ``steep``: Nesterov's constant momentum then gains a factor e in every ``ratio`` steps.
    """
    turned = matrix.T.tocsr()
    cells, weight = matrix.shape[1], matrix[0, 0]
    steep = float((turned @ (matrix @ np.ones(cells))).max())
    ratio = np.sqrt(steep) / weight
    best = np.maximum(noisy[:cells], 0) / weight
    ahead = best
    for _ in range(int(_TIMES * ratio)):
        lower = np.maximum(ahead - turned @ (matrix @ ahead - noisy) / steep, 0)
        ahead = lower + (ratio - 1) / (ratio + 1) * (lower - best)
        best = lower
    return best
