"""The distribution of most entropy with given margins, and rows drawn from it: post-processing.

Claim. Eliminate the columns one by one, each joined to those that margins still share with it:
column v with the later ones S(v). A distribution whose logarithm is a sum of tables of the margins
is the one of most entropy among all with its margins. It is ``prod_v p(x_v | x_S(v))``, and its
margins are read off cliques ``{v} + S(v)``, one for each column.
Proof. With most entropy under linear conditions is an exponential family of them. Summing a column
out of a product of tables joins the columns of those that hold it (Lauritzen and Spiegelhalter
1988), so upwards each clique gets the sums of those below it, and downwards its margin; S(v) lies
in the clique of its own first column. Fitted by entropic mirror descent (McKenna et al. 2019): for
a convex error of the margins, a step that gets half of what the slope promises never raises it.
Nothing here reads data: margins come in as they were released, and the rest is arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Columns = tuple[int, ...]
_ROUNDS: Final = 400
_CLOSE: Final = 1e-7
_LEAST: Final = 1e-6


def eliminated(sizes: Sequence[int], margins: Sequence[Columns]) -> list[Columns]:
    """For each column, as they are eliminated, itself and the later ones that it is joined to.

    The clique of fewest cells goes first; of equal ones the first column.

    >>> eliminated([2, 3, 2], [(0, 1), (1, 2)])
    [(0, 1), (1, 2), (2,)]
    """
    near = {v: {u for one in margins if v in one for u in one} - {v} for v in range(len(sizes))}
    found = []
    while near:
        first = min(near, key=lambda v: (math.prod(sizes[u] for u in (v, *near[v])), v))
        joined = near.pop(first)
        for u in joined:
            near[u] = (near[u] | joined) - {u, first}
        found.append((first, joined))
    place = {v: i for i, (v, _) in enumerate(found)}
    return [(v, *sorted(joined, key=place.__getitem__)) for v, joined in found]


def cells_of(sizes: Sequence[int], margins: Sequence[Columns]) -> tuple[int, int]:
    """How many cells the largest clique has, and all of them together.

    >>> cells_of([2, 3, 2], [(0, 1), (1, 2)])
    (6, 14)
    """
    each = [math.prod(sizes[v] for v in one) for one in eliminated(sizes, margins)]
    return max(each), sum(each)


class MarginModel:
    """A distribution over combinations of values of columns, fitted to margins.

    sizes: how many values each column has. margins: the columns of each, in any order; answers: an
    array for each, as parts of all, of an axis for each column; weights: how much an error of it
    counts. The same margins give the same distribution.

    >>> both = np.array([[0.5, 0.0], [0.0, 0.5]])
    >>> model = MarginModel([2, 2], [(0, 1)], [both], [1.0])
    >>> np.abs(model.margin(0) - both).max() < 0.01
    np.True_
    """

    def __init__(
        self,
        sizes: Sequence[int],
        margins: Sequence[Columns],
        answers: Sequence[Any],
        weights: Sequence[float],
    ) -> None:
        self.sizes, self.margins = tuple(sizes), tuple(margins)
        self.cliques = eliminated(sizes, margins)
        self._place = {one[0]: i for i, one in enumerate(self.cliques)}
        self._sorted = [tuple(sorted(one, key=self._place.__getitem__)) for one in self.margins]
        asked = [
            np.transpose(np.asarray(part, dtype=float), [one.index(v) for v in own])
            for part, one, own in zip(answers, self.margins, self._sorted, strict=True)
        ]
        self._fit(asked, np.asarray(weights, dtype=float) / max(weights))

    def _fit(self, asked: list[Floats], weights: Floats) -> None:
        """Tables whose margins err least; see the module."""
        tables = [np.zeros(part.shape) for part in asked]
        seen = set()
        for table, part, own in zip(tables, asked, self._sorted, strict=True):
            if len(own) == 1 and own not in seen:
                table[...] = np.log(np.maximum(part, _LEAST / part.size))
                seen.add(own)
        found, told = self._read(tables)
        error, step = self._error(found, asked, weights), 1.0
        for _ in range(_ROUNDS):
            slopes = [w * (one - part) for w, one, part in zip(weights, found, asked, strict=True)]
            tried = [t - step * slope for t, slope in zip(tables, slopes, strict=True)]
            new, read = self._read(tried)
            gain = sum(
                float(np.sum(slope * (old - now)))
                for slope, old, now in zip(slopes, found, new, strict=True)
            )
            after = self._error(new, asked, weights)
            if after > error - gain / 2:
                step /= 2
                if step < _CLOSE:
                    break
                continue
            small = error - after <= _CLOSE * error
            tables, found, told, error, step = tried, new, read, after, step * 2
            if small:
                break
        self._found, self._told = found, told

    @staticmethod
    def _error(found: list[Floats], asked: list[Floats], weights: Floats) -> float:
        parts = zip(found, asked, weights, strict=True)
        return sum(float(w * np.sum(np.square(one - part))) for one, part, w in parts) / 2

    def _read(self, tables: list[Floats]) -> tuple[list[Floats], list[Floats]]:
        """The margins of a sum of tables, and each column's distribution given the later ones."""
        logs = [np.zeros([self.sizes[v] for v in one]) for one in self.cliques]
        for table, own in zip(tables, self._sorted, strict=True):
            place = self._place[own[0]]
            logs[place] = logs[place] + self._spread(table, own, place)
        given: list[Floats] = []
        for place, (_, *rest) in enumerate(self.cliques):
            most = logs[place].max(axis=0)
            total = most + np.log(np.exp(logs[place] - most).sum(axis=0))
            given.append(np.exp(logs[place] - total))
            if rest:
                up = self._place[rest[0]]
                logs[up] = logs[up] + self._spread(total, tuple(rest), up)
        beliefs: list[Floats] = [np.ones(1)] * len(given)
        for place in reversed(range(len(given))):
            later = self.cliques[place][1:]
            if later:
                up = self._place[later[0]]
                beliefs[place] = np.multiply(given[place], self._summed(beliefs[up], up, later))
            else:
                beliefs[place] = given[place]
        found = [
            self._summed(beliefs[place], place, own)
            for own in self._sorted
            for place in (self._place[own[0]],)
        ]
        return found, given

    def _spread(self, table: Floats, own: Columns, place: int) -> Floats:
        """A table laid along the axes of a clique."""
        return table.reshape([self.sizes[v] if v in own else 1 for v in self.cliques[place]])

    def _summed(self, belief: Floats, place: int, own: Columns) -> Floats:
        """A clique's distribution summed down to some of its columns."""
        out = tuple(axis for axis, v in enumerate(self.cliques[place]) if v not in own)
        return np.asarray(belief.sum(axis=out))

    def margin(self, number: int) -> Floats:
        """What the distribution says of one of the margins, its axes as they were given."""
        own, one = self._sorted[number], self.margins[number]
        return np.transpose(self._found[number], [own.index(v) for v in one])

    def rows(self, number: int, random: np.random.Generator) -> NDArray[np.int64]:
        """So many rows, a column each, of value's places, spread as evenly as they can be.

        Given the values before, each value comes as often as the distribution says, up to 1.

        >>> model = MarginModel([2], [(0,)], [np.array([0.25, 0.75])], [1.0])
        >>> np.bincount(model.rows(8, np.random.default_rng(0))[:, 0]).tolist()
        [2, 6]
        """
        found = np.zeros((number, len(self.sizes)), dtype=np.int64)
        for place in reversed(range(len(self.cliques))):
            v, *rest = self.cliques[place]
            size = self.sizes[v]
            code = np.zeros(number, dtype=np.int64)
            for u in rest:
                code = code * self.sizes[u] + found[:, u]
            mixed = random.permutation(number)
            order = mixed[np.argsort(code[mixed], kind="stable")]
            groups, first, each = np.unique(code[order], return_index=True, return_counts=True)
            rank = np.arange(number) - np.repeat(first, each)
            shift = np.repeat(random.random(groups.size), each)
            at = (rank + shift) / np.repeat(each, each)
            ends = np.cumsum(self._told[place].reshape(size, -1)[:, groups], axis=0)
            ends = (ends / ends[-1] + np.arange(groups.size)).T.reshape(-1)
            which = np.repeat(np.arange(groups.size), each)
            value = np.searchsorted(ends, at + which, side="right") - which * size
            found[order, v] = np.clip(value, 0, size - 1)
        return found
