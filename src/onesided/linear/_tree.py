"""Totals over a tree of intervals whose levels are measured at different accuracies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import whole
from onesided.errors import ParameterError

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]


def tree_sums(cells: IntArray, branching: int) -> list[IntArray]:
    """Per level, from the cells up to the one total, the sum of each node, exactly.

    A node has the next ``branching`` nodes of the level below; the last may have fewer.

    >>> [level.tolist() for level in tree_sums(np.array([1, 2, 3]), 2)]
    [[1, 2, 3], [3, 3], [6]]
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

    >>> levels = [np.array([1.0, 2.0]), np.array([5.0])]
    >>> consistent(levels, [1.0, 0.0], branching=2).tolist()
    [2.0, 3.0]
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
