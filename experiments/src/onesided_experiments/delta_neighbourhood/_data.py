"""Histograms of DPBench, and ranges to ask of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from onesided.errors import DataError
from onesided.linear import Ranges
from onesided.noise import IntArray
from onesided_experiments._files import locate

LINES: Final = (
    "adult", "hepth", "income", "medcost", "nettrace", "patent", "searchlogs", "bids_all",
    "bids_fj", "md_sal_fa", "lc_req_f1", "lc_req_f2", "lc_dtir_all", "lc_dtir_f1",
)  # fmt: skip
PLANES: Final = (
    "beijing_cabs_e",
    "gowalla",
    "adult_2d",
    "loan_2d",
    "md_sal_2d",
    "sf_cabs_e",
    "beijing_cabs_s",
)
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
