"""Histograms of DPBench, ranges to ask of them, tiles, and how methods are drawn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from onesided.errors import DataError
from onesided.linear import Bins, Identity, Operator, Ranges, Stack, conjugate_gradients, kron
from onesided.noise import IntArray
from onesided_experiments._model import Curve, Look, Row
from onesided_experiments._tables import load, locate

LINES: Final = (
    "adult", "hepth", "income", "medcost", "nettrace", "patent", "searchlogs", "bids_all",
    "bids_fj", "md_sal_fa", "lc_req_f1", "lc_req_f2", "lc_dtir_all", "lc_dtir_f1",
)  # fmt: skip
PLANES: Final = (
    "beijing_cabs_e", "gowalla", "adult_2d", "loan_2d", "md_sal_2d", "sf_cabs_e", "beijing_cabs_s",
)  # fmt: skip
Floats = NDArray[np.float64]


def found(data: Path | None, names: tuple[str, ...], *, axes: int) -> list[Path]:
    """The files that are there."""
    paths = [locate(data, f"dpbench{axes}d", f"{name}.npy") for name in names]
    return [path for path in paths if path]


def read(path: str, *, side: int | None = None) -> IntArray:
    """A histogram; a plane is cut down to ``side`` by adding up blocks of cells."""
    try:
        counts: IntArray = np.load(path, allow_pickle=False).astype(np.int64)
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read: {error}", hint="It may be cut short.") from error
    if side is None:
        return counts
    block = counts.shape[0] // side
    return np.asarray(counts.reshape(side, block, side, block).sum(axis=(1, 3)))


def of_lengths(cells: int, lengths: list[int], each: int, seed: int) -> Ranges:
    """``each`` ranges of every length, wherever they may start."""
    draw = np.random.default_rng(seed)
    lows = np.concatenate([draw.integers(0, cells - n + 1, each) for n in lengths])
    return Ranges(cells, lows, lows + np.repeat(lengths, each))


def squared(ranges: Ranges, estimate: Any, truth: IntArray) -> Floats:
    """The squared error of each range."""
    off = np.asarray(estimate, dtype=np.float64).ravel() - truth.ravel()
    return np.asarray(ranges.apply(off) ** 2, dtype=np.float64)


# Cells, and tiles of growing width whose borders never meet: a strategy for small moves.

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


# How methods are drawn, in every figure of this paper.

LOOKS: Final = {
    "ours": Look("ours, δ-neighbourhood", "blue"),
    "ours, sides": Look("ours, δ in steps over sides", "green", "diamond"),
    "ours, at least 0": Look("ours, cells of at least 0", "sky", "circle"),
    "ours, sides, at least 0": Look("ours, δ over sides, at least 0", "black", "circle"),
    "identity": Look("identity, standard", "grey", "cross"),
    "hierarchy": Look("hierarchy, standard", "orange", "triangle"),
    "DAWA": Look("DAWA, standard", "vermillion", "square"),
    "AGrid": Look("AGrid, standard", "purple", "diamond"),
    "isotonic": Look("ours, isotonic (5.5)", "purple", "diamond"),
    "50 visits": Look("50 to 149 visits", "sky"),
    "150 visits": Look("150 to 499 visits", "orange"),
    "500 visits": Look("500 visits or more", "vermillion"),
    "delta 1": Look("ours, δ = 1 cell", "blue"),
    "delta 16": Look("ours, δ = 16 cells", "sky", "diamond"),
    "delta 256": Look("ours, δ = 256 cells", "green", "triangle"),
    "Table 1": Look("Table 1 (counts as they are)", "vermillion", "square"),
    "Table 2": Look("Table 2 (sums to the end)", "blue"),
}


def curve(rows: Iterable[Row], look: str, x: str, y: str) -> Curve:
    """Points of the rows, in the order of ``x``."""
    return Curve.of(LOOKS[look], sorted(rows, key=lambda row: row[x]), x, y)


def level(look: str, xs: Sequence[float], y: float) -> Curve:
    """A horizontal line: what does not depend on δ."""
    return Curve(look=replace(LOOKS[look], dashed=True), x=list(xs), y=[y] * len(xs))
