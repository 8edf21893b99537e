"""Totals over a tree of intervals whose levels are measured at different accuracies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import whole
from onesided.errors import ParameterError

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
_BRANCHINGS: Final = (2, 4, 8, 16, 32, 64)


def tree_sums(cells: IntArray, branching: int) -> list[IntArray]:
    """Per level, from the cells up to the one total, the sum of each node, exactly.

    A node has the next ``branching`` nodes of the level below; the last may have fewer.
    """
    fan = whole(branching, name="branching", least=2, most=2**20)
    levels = [np.asarray(cells)]
    while levels[-1].size > 1:
        levels.append(_gather(levels[-1], fan))
    return levels


def consistent(
    levels: Sequence[FloatArray], variances: Sequence[float], branching: int
) -> FloatArray:
    """The cells' least-squares estimates from noisy totals of every level, in O(n).

    levels: noisy totals, from the cells up to the one total, unbiased. variances: of a node's
    noise, one for each level; infinite where a level was not measured (its totals are not
    looked at), 0 where it is exact. The cells' own must be finite.
    Every total of the answer is the sum of its cells. Source: Hay, Rastogi, Miklau and Suciu
    2010, Theorem 3, here for any variance per level and nodes with fewer children.
    Errors: ParameterError for variances that are negative, not numbers, or of the wrong number.
    """
    _refuse(levels, variances)
    best = np.asarray(levels[0], dtype=np.float64)
    spread: FloatArray = np.full(levels[0].size, variances[0], dtype=np.float64)
    below: list[tuple[FloatArray, FloatArray, FloatArray, FloatArray]] = []
    for own, variance in zip(levels[1:], variances[1:], strict=True):
        sums, sum_spread = _gather(best, branching), _gather(spread, branching)
        below.append((best, spread, sums, sum_spread))
        if np.isinf(variance):
            best, spread = sums, sum_spread
            continue
        # Where both are exact they agree, so either will do.
        share = _ratio(sum_spread, sum_spread + variance)
        best, spread = own * share + sums * (1 - share), variance * share
    answer = best
    for cells, own_spread, sums, sum_spread in reversed(below):
        gap = np.repeat(_ratio(answer - sums, sum_spread), branching)[: cells.size]
        answer = cells + gap * own_spread
    return answer


def nodes_used(edges: IntArray, branching: int) -> FloatArray:
    """How often each level serves, over all ranges of cells, each cut into the fewest nodes.

    edges: where the tree's lowest nodes start, and the end; ``[0, 1, ..., n]`` for cells. A range
    uses a node that it holds if it does not hold the parent. It also uses, by a part, a lowest
    node that it cuts; the square of that part is taken as 1/3.
    Returns one number per level, from the lowest nodes up.
    """
    starts, ends, size = edges[:-1], edges[1:], int(edges[-1])
    used: list[float] = []
    holding = _ranges_that_hold(starts, ends, size)
    cut = ((ends - starts - 1) * (size - (ends - starts))).astype(np.float64).sum() / 3
    while starts.size > 1:
        first = np.arange(0, starts.size, branching)
        up_starts, up_ends = starts[first], ends[np.minimum(first + branching, ends.size) - 1]
        above = _ranges_that_hold(up_starts, up_ends, size)
        shared = np.repeat(above, branching)[: holding.size]
        used.append(float((holding - shared).sum()))
        starts, ends, holding = up_starts, up_ends, above
    used.append(float(holding.sum()))
    used[0] += float(cut)
    return np.asarray(used)


def level_weights(edges: IntArray, branching: int) -> FloatArray:
    """Shares of a noise rate for each level, from the lowest nodes up; in sum 1.

    A level that serves u ranges has an error in proportion to ``u / share^2``, which is least in
    sum where shares go with the cube root of u.
    """
    roots = np.cbrt(nodes_used(edges, branching))
    shares: FloatArray = roots / roots.sum()
    return shares


def best_branching(edges: IntArray) -> int:
    """The branching whose tree predicts the least error over all ranges of cells.

    One of 2, 4, ..., 64, or so many that there is nothing between the lowest nodes and the total.
    """

    def error(branching: int) -> float:
        return float(np.cbrt(nodes_used(edges, branching)).sum())

    nodes = max(2, int(edges.size) - 1)
    return min((*(b for b in _BRANCHINGS if b < nodes), nodes), key=error)


def _ranges_that_hold(starts: IntArray, ends: IntArray, size: int) -> FloatArray:
    return (starts + 1.0) * (size - ends + 1.0)


def _gather(values: NDArray[Any], branching: int) -> NDArray[Any]:
    sums: NDArray[Any] = np.add.reduceat(values, np.arange(0, values.size, branching))
    return sums


def _ratio(top: FloatArray, bottom: FloatArray) -> FloatArray:
    """``top / bottom``, and 0 where nothing is left to share out."""
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)


def _refuse(levels: Sequence[FloatArray], variances: Sequence[float]) -> None:
    good = all(v >= 0 for v in variances) and len(variances) == len(levels) and bool(variances)
    if not good or np.isinf(variances[0]):
        raise ParameterError(
            f"{len(levels)} levels need as many variances of at least 0, finite for the cells, "
            f"got {list(variances)!r}.",
            hint="Give the variance of each level's noise, from the cells up.",
        )
