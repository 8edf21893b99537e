"""How a tree's levels share a noise rate, and its branching: least error over all ranges of cells.

Claim. Let every node of level k be measured at variance ``v_k`` and estimates be least squares.
With b children a node, let ``s_0 = v_0`` and ``1 / s_k = 1 / v_k + 1 / (b s_(k-1))``, the variances
of the way up. Over ranges with both ends drawn at random the mean variance is, up to rounding at
the ends of uneven trees, ``F = s_root / 6 + sum over nodes of s (b - 1) / 6 (2p - p^2)``, where s
is the children's variance and p the node's share of all cells.
Proof idea. Least-squares errors are a Gaussian's on the tree: given a node's, those of its children
are an even part of it and deviations of covariance ``s (I - J / b)``, independent of all others. A
range takes part of a node's deviations only if it ends in the node, with chance ``2p - p^2``. With
t of the node's cells in it that gives ``s b t (1 - t)``, and ``s b / 6`` in the mean over its ends;
``s / 6`` less because a child's own part within is even.
F is concave in the variances (sums and parallel sums are), so it lies below its tangents. With
``v = 1 / share^2`` a tangent is least where shares go with the cube roots of its slopes, so each
step of that rule lowers F. It starts from even shares. Only public facts enter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from onesided.linear._tree import FloatArray, IntArray

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
