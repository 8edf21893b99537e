"""A policy whose graph is a tree, turned into counts on the tree's edges that move one by one."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import Any

import numpy as np

from onesided._english import many
from onesided.errors import ParameterError, PolicyError
from onesided.linear._moves import Border, Layout, moves_of
from onesided.linear._operator import Array, Meets, Operator, listed_cells
from onesided.policy import Policy


class EdgeCounts(Operator):
    """Row v: the sum of all cells below the edge from cell v to its parent, v among them.

    parents: the parent of each cell, -1 for a root (its row is its tree's total, which is the
        count on its edge to absence where records come and go there).
    signs: -1 where the row is taken negative, so that a move up the edge is a rise.
    A move along an edge changes that edge's row by one and no other: under the policy these are
    counts in which a person adds or removes one, so that any mechanism for such counts may be run
    on them; :meth:`solve` turns answers back into cells.
    Source: Haney, Machanavajjhala, Ding 2015, policies that are trees.
    Errors: PolicyError where the parents form a circle, or are no cells; ParameterError for signs
    that are not 1 or -1, one for each cell.

    >>> from onesided.linear import EdgeCounts
    >>> EdgeCounts([-1, 0, 0]).dense().tolist()
    [[1, 1, 1], [0, 1, 0], [0, 0, 1]]
    """

    def __init__(self, parents: Array, signs: Array | None = None) -> None:
        self.parents = listed_cells(parents, name="Parents")
        given = np.ones_like(self.parents) if signs is None else signs
        self.signs = listed_cells(given, name="Signs")
        # A move changes its row by the sign: with others than these by more than it is priced for.
        if self.signs.size != self.parents.size or not np.isin(self.signs, (-1, 1)).all():
            raise ParameterError(
                f"{self.parents.size} cells need as many signs, each 1 or -1.",
                hint="Scale a strategy by the weights of a Stack.",
                signs=signs,
            )
        self.order, self.depths, self.ends = _tour(self.parents)

    @property
    def shape(self) -> tuple[int, int]:
        return self.parents.size, self.parents.size

    @property
    def solvable(self) -> bool:
        return True

    @property
    def largest(self) -> int:
        return 1

    @property
    def is_non_negative(self) -> bool:
        return bool(np.all(self.signs > 0))  # a row is its sign times a sum that is never empty

    @cached_property
    def _places(self) -> Array:
        places = np.empty_like(self.order)
        places[self.order] = np.arange(self.order.size)
        return places

    def apply(self, values: Array) -> Array:
        first = np.zeros((1, *values.shape[1:]), dtype=values.dtype)
        sums = np.concatenate([first, np.cumsum(values[self.order], axis=0)])
        return _times(self.signs, sums[self.ends] - sums[self._places])

    def adjoint(self, values: Array) -> Array:
        signed = _times(self.signs, values)
        steps = np.zeros((self.order.size + 1, *values.shape[1:]), dtype=signed.dtype)
        np.add.at(steps, self._places, signed)
        np.subtract.at(steps, self.ends, signed)
        return np.asarray(np.cumsum(steps, axis=0)[self._places])

    def meets(self, x: Array, y: Array) -> Meets:
        """Two columns share the edges above both cells."""
        one, two = x.copy(), y.copy()
        apart = np.flatnonzero(one != two)
        while apart.size:
            here, there = one[apart], two[apart]
            lower = self.depths[here] >= self.depths[there]
            other = self.depths[there] >= self.depths[here]
            one[apart] = np.where(lower, self._above(here), here)
            two[apart] = np.where(other, self._above(there), there)
            apart = apart[one[apart] != two[apart]]
        plus, minus = self._signed_depths
        found = one >= 0
        return Meets(
            np.where(found, plus[one], 0),
            0,
            0,
            np.where(found, minus[one], 0),
        )

    def solve(self, values: Array) -> Array:
        edges = _times(self.signs, np.asarray(values, dtype=float))
        cells = edges.copy()
        inner = np.flatnonzero(self.parents >= 0)
        np.subtract.at(cells, self.parents[inner], edges[inner])
        return cells

    def gram_solve(self, values: Array) -> Array:
        cells = np.asarray(values, dtype=float)
        edges = cells.copy()
        inner = np.flatnonzero(self.parents >= 0)
        edges[inner] -= cells[self.parents[inner]]
        return self.solve(_times(self.signs, edges))

    def _above(self, cells: Array) -> Array:
        return np.where(cells >= 0, self.parents[cells], -1)

    @cached_property
    def _signed_depths(self) -> tuple[Array, Array]:
        """How many rows above each cell, itself included, are positive, and negative."""
        plus, minus = (self.signs > 0).astype(np.int64), (self.signs < 0).astype(np.int64)
        for cell in self.order:
            if self.parents[cell] >= 0:
                plus[cell] += plus[self.parents[cell]]
                minus[cell] += minus[self.parents[cell]]
        return plus, minus


def edge_counts(policy: Policy, cells: Layout) -> EdgeCounts:
    """The edge counts of a policy whose moves form a tree over the cells (or several).

    Cells by absence become roots. Where every move along an edge goes one way, the row's sign is
    chosen so that a move makes it fall: the noise may then be above the truth alone.
    Errors: PolicyError if the moves form a circle, absence included.

    >>> from onesided import linear, policy
    >>> linear.edge_counts(policy.graph([(0, 1), (1, 2)]), 3).dense().tolist()
    [[1, 1, 1], [0, 1, 1], [0, 0, 1]]
    """
    moves = moves_of(policy, cells)
    arrows: set[tuple[int, int]] = set()
    for _, sweep in moves.sweeps:
        for starts, ends in sweep.blocks():
            arrows |= set(zip(starts.tolist(), ends.tolist(), strict=True))
            if sweep.both_ways:
                arrows |= set(zip(ends.tolist(), starts.tolist(), strict=True))
    for _, border in moves.borders:
        arrows |= _outside(border)
    parents = _parents(moves.cells, arrows)
    up = np.array([(cell, int(p)) in arrows for cell, p in enumerate(parents)])
    down = np.array([(int(p), cell) in arrows for cell, p in enumerate(parents)])
    return EdgeCounts(parents, np.where(down & ~up, -1, 1))


def _outside(border: Border) -> set[tuple[int, int]]:
    cells = border.cells.tolist()
    return {(-1, cell) for cell in cells} if border.enter else {(cell, -1) for cell in cells}


def _parents(cells: int, arrows: set[tuple[int, int]]) -> Array:
    """Parents by a walk from absence first, then from the first cell not yet reached."""
    joined: dict[int, list[int]] = defaultdict(list)
    edges = {(min(pair), max(pair)) for pair in arrows}
    for one, two in sorted(edges):
        joined[one].append(two)
        joined[two].append(one)
    parents = np.full(cells, -2, dtype=np.int64)
    used = 0
    for root in range(-1, cells):
        if root >= 0 and parents[root] != -2:
            continue
        if root >= 0:
            parents[root] = -1
        queue = [root]
        for cell in queue:
            for other in joined[cell]:
                if other >= 0 and parents[other] == -2:
                    parents[other] = cell
                    used += 1
                    queue.append(other)
    if used != len(edges):
        raise PolicyError(
            f"The policy's moves over {cells:,} cells form a circle, so they are no tree.",
            hint="Use prefix sums, a hierarchy or blocks, whose sensitivity is worked out for "
            "any policy.",
        )
    return parents


def _tour(parents: Array) -> tuple[Array, Array, Array]:
    """Cells so that those below an edge stand together: the order, depths, and where each ends."""
    size = parents.size
    beyond = np.flatnonzero((parents < -1) | (parents >= size))
    if beyond.size:
        cell = int(beyond[0])
        raise PolicyError(
            f"The parent of cell {cell} is {int(parents[cell])}, of {many(size, 'cell')}.",
            hint="Cells count from 0; -1 marks a root.",
        )
    children: list[list[int]] = [[] for _ in range(size)]
    for cell, parent in enumerate(parents.tolist()):
        if parent >= 0:
            children[parent].append(cell)
    order = np.empty(size, dtype=np.int64)
    depths, ends = np.zeros(size + 1, dtype=np.int64), np.zeros(size, dtype=np.int64)
    depths[-1] = -1
    at, stack = 0, [(root, False) for root in np.flatnonzero(parents < 0)[::-1].tolist()]
    while stack:
        cell, done = stack.pop()
        if done:
            ends[cell] = at
            continue
        order[at] = cell
        at += 1
        depths[cell] = depths[parents[cell]] + 1 if parents[cell] >= 0 else 0
        stack.append((cell, True))
        stack += [(child, False) for child in children[cell]]
    if at < size:
        raise PolicyError("The parents form a circle.", hint="Every cell leads to a root.")
    return order, depths, ends


def _times(signs: Array, values: Any) -> Array:
    return np.asarray(signs.reshape(-1, *([1] * (values.ndim - 1))) * values)
