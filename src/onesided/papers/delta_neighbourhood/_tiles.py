"""Cells, and tiles of growing width whose borders never meet: a strategy for small moves."""

from __future__ import annotations

from typing import Any

import numpy as np

from onesided.linear import Bins, Identity, Operator, Stack, kron
from onesided.papers._lazy import load


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


def tile_solver(side: int, width: int, weight: int) -> Any:
    """Least squares for :func:`tiles` by products with a sparse matrix, to five digits."""
    sparse, solvers = (
        load(f"scipy.{name}", extra="linear") for name in ("sparse", "sparse.linalg")
    )
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
            break
        half *= 2
    matrix = sparse.vstack(blocks, format="csr")

    def solve(noisy: Any) -> Any:
        found = solvers.lsmr(matrix, noisy, atol=1e-6, btol=1e-6, conlim=0, maxiter=2_000)
        return np.asarray(found[0])

    return solve
