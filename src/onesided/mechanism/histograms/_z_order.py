"""A curve through the cells of a table that keeps squares together."""

from __future__ import annotations

import numpy as np

from onesided.noise import IntArray


def z_order(shape: tuple[int, ...]) -> IntArray:
    """Flat positions of the cells in the order of interleaved row and column bits.

    Every 2^k by 2^k square at multiples of 2^k, and every two such side by side in one larger
    square, is one run of the curve if it lies inside the table.
    """
    rows, columns = np.indices(shape, dtype=np.int64)
    code = np.zeros(shape, dtype=np.int64)
    for bit in range(max(shape).bit_length()):
        code |= (rows >> bit & 1) << (2 * bit + 1) | (columns >> bit & 1) << (2 * bit)
    return np.argsort(code.ravel(), kind="stable").astype(np.int64)
