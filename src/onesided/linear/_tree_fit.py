"""Counts of at least 0 over a tree, whose sums stay those that the tree knows well.

Claim. From consistent estimates, every node of the answer is at least 0, is the sum of its
children, and the children are the nearest such numbers (least squares) to their own estimates.
Method. From the root down: the root's estimate, or 0; then each node's children are projected onto
the numbers of at least 0 with that sum, which takes one common amount off those that stay above 0.
Why not the least squares of all levels at once, or each cell cut at 0? A cut lifts every cell whose
noise was below 0, and a sum over m empty cells by m times the mean of that. Least squares weighs a
total against the many cells below it, and so still lets them lift it. Here what is lifted in one
cell is taken off its siblings, so a node's total keeps its own error, and a range is as near as the
nodes that it is made of. On made-up histograms with 2 to 100 % of the cells filled, its squared
error over ranges and over cells was below that of both, and of the unbiased estimates.
It sees noisy estimates alone, so it is free of charge.
"""

from __future__ import annotations

import numpy as np

from onesided._numbers import whole
from onesided.linear._tree import FloatArray


def non_negative_tree(cells: FloatArray, branching: int) -> FloatArray:
    """Cells of at least 0 from consistent estimates of cells: totals first, then their parts.

    branching: of the tree that the estimates come from. Errors: ParameterError for no branching.

    >>> import numpy as np
    >>> non_negative_tree(np.array([4.0, 1.0, -2.0]), 3).tolist()
    [3.0, 0.0, 0.0]
    """
    fan = whole(branching, name="branching", least=2, most=2**20)
    levels: list[FloatArray] = [np.asarray(cells, dtype=np.float64)]
    while levels[-1].size > 1:
        levels.append(np.add.reduceat(levels[-1], np.arange(0, levels[-1].size, fan)))
    totals: FloatArray = np.maximum(levels[-1], 0.0)
    for level in levels[-2::-1]:
        totals = _shared(level, totals, min(fan, level.size))
    return totals


def _shared(level: FloatArray, totals: FloatArray, fan: int) -> FloatArray:
    """Each ``fan`` neighbours' projection onto numbers of at least 0 that add up to their total."""
    padded = np.full(totals.size * fan, -np.inf)
    padded[: level.size] = level
    nodes: FloatArray = padded.reshape(totals.size, fan)
    falling = -np.sort(-nodes, axis=1)
    sums = np.cumsum(np.where(np.isinf(falling), 0.0, falling), axis=1)
    # Taken off each of the k largest, so that these add up to the total.
    off = (sums - totals[:, None]) / np.arange(1, fan + 1)
    kept = np.maximum((falling > off).sum(axis=1), 1)
    least = off[np.arange(totals.size), kept - 1]
    found: FloatArray = np.maximum(nodes - least[:, None], 0.0).ravel()[: level.size]
    return found
