"""Totals over a tree of intervals whose levels are measured at different accuracies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

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


# Counts of at least 0 over a tree, whose sums stay those that the tree knows well.
#
# Claim. From consistent estimates, every node of the answer is at least 0, is the sum of its
# children, and the children are the nearest such numbers (least squares) to their own estimates.
# Method. From the root down: the root's estimate, or 0; then each node's children are projected
# onto
# the numbers of at least 0 with that sum, which takes one common amount off those that stay above
# 0.
# Why not the least squares of all levels at once, or each cell cut at 0? A cut lifts every cell
# whose
# noise was below 0, and a sum over m empty cells by m times the mean of that. Least squares
# weighs a
# total against the many cells below it, and so still lets them lift it. Here what is lifted in one
# cell is taken off its siblings, so a node's total keeps its own error, and a range is as near as
# the
# nodes that it is made of. On made-up histograms with 2 to 100 % of the cells filled, its squared
# error over ranges and over cells was below that of both, and of the unbiased estimates.
# It sees noisy estimates alone, so it is free of charge.


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


# How a tree's levels share a noise rate, and its branching: least error over all ranges of cells.
#
# Claim. Let every node of level k be measured at variance ``v_k`` and estimates be least squares.
# With b children a node, let ``s_0 = v_0`` and ``1 / s_k = 1 / v_k + 1 / (b s_(k-1))``, the
# variances
# of the way up. Over ranges with both ends drawn at random the mean variance is, up to rounding at
# the ends of uneven trees, ``F = s_root / 6 + sum over nodes of s (b - 1) / 6 (2p - p^2)``, where
# s
# is the children's variance and p the node's share of all cells.
# Proof idea. Least-squares errors are a Gaussian's on the tree: given a node's, those of its
# children
# are an even part of it and deviations of covariance ``s (I - J / b)``, independent of all
# others. A
# range takes part of a node's deviations only if it ends in the node, with chance ``2p - p^2``.
# With
# t of the node's cells in it that gives ``s b t (1 - t)``, and ``s b / 6`` in the mean over its
# ends;
# ``s / 6`` less because a child's own part within is even.
# F is concave in the variances (sums and parallel sums are), so it lies below its tangents. With
# ``v = 1 / share^2`` a tangent is least where shares go with the cube roots of its slopes, so each
# step of that rule lowers F. It starts from even shares. Only public facts enter.

_POWERS: Final = (2, 4, 8, 16, 32, 64)
_MOST_LEVELS: Final = 8
_STEPS: Final = 120
# A level with less than this is left out.
_LEAST: Final = 1e-3


@dataclass(frozen=True, slots=True)
class _Tree:
    """Per level, how often its deviations meet a range, and how many children its nodes have."""

    weights: FloatArray
    children: FloatArray

    def error(self, shares: FloatArray) -> tuple[float, FloatArray]:
        """The mean variance, and the shares that lower it next."""
        number = shares.size
        spread, own = np.zeros(number), shares * shares
        spread[0] = 1 / own[0]
        for k in range(1, number):
            spread[k] = 1 / (own[k] + 1 / (self.children[k - 1] * spread[k - 1]))
        slopes = np.zeros(number)
        carried = 0.0
        for k in range(number - 1, -1, -1):
            slope = self.weights[k] + carried
            slopes[k] = slope * (spread[k] * own[k]) ** 2
            if k:
                below = spread[k - 1]
                carried = slope * (spread[k] / below) ** 2 / self.children[k - 1]
        found = np.cbrt(slopes)
        found[1:][found[1:] < _LEAST * found.sum()] = 0
        return float(self.weights @ spread), found / found.sum()


def level_weights(edges: IntArray, branching: int) -> FloatArray:
    """Shares of a noise rate for each level, from the lowest nodes up; in sum 1.

    edges: where the tree's lowest nodes start, and the end; ``[0, 1, ..., n]`` for cells.

    >>> import numpy as np
    >>> level_weights(np.arange(3), 2).sum().round(6)
    np.float64(1.0)
    """
    return _best(edges, branching)[1]


def best_branching(edges: IntArray) -> int:
    """The branching whose tree predicts the least error over all ranges of cells.

    One of 2, 4, ..., 64, or one that makes a full tree of one to eight levels.

    >>> best_branching(np.arange(17)) >= 2
    True
    """
    nodes = max(2, int(edges.size) - 1)
    full = {_root(nodes, height) for height in range(1, _MOST_LEVELS + 1)}
    tries = sorted({*(b for b in _POWERS if b < nodes), *full})
    return min(tries, key=lambda b: _best(edges, b)[0])


def _root(nodes: int, height: int) -> int:
    """The least branching that has so many lowest nodes under one total at this height."""
    found = max(2, int(nodes ** (1 / height)) - 1)
    while found**height < nodes:
        found += 1
    return found


def _best(edges: IntArray, branching: int) -> tuple[float, FloatArray]:
    tree = _tree(edges, branching)
    shares = np.full(tree.weights.size, 1 / tree.weights.size)
    if shares.size == 1:
        return float(tree.weights[0]), shares
    # With and without the total: its share falls to 0 only slowly.
    starts = [shares, np.append(shares[:-1], 0) * shares.size / (shares.size - 1)]
    found = [_descent(tree, start) for start in starts]
    return min(found, key=lambda one: one[0])


def _descent(tree: _Tree, shares: FloatArray) -> tuple[float, FloatArray]:
    error, following = tree.error(shares)
    for _ in range(_STEPS):
        shares, before = following, error
        error, following = tree.error(shares)
        if before - error < _LEAST * _LEAST * error:
            break
    return error, shares


def _tree(edges: IntArray, branching: int) -> _Tree:
    widths = np.diff(edges).astype(np.float64)
    size = float(widths.sum())
    weights: list[float] = []
    children: list[float] = []
    while widths.size > 1:
        first = np.arange(0, widths.size, branching)
        number = np.diff(first, append=widths.size).astype(np.float64)
        children.append(widths.size / first.size)
        widths = np.add.reduceat(widths, first)
        part = widths / size
        weights.append(float(((number - 1) / 6 * part * (2 - part)).sum()))
    return _Tree(np.array([*weights, 1 / 6]), np.array(children))
