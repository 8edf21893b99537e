"""Margins of a table: sums of its cells over attributes and over levels of hierarchies.

Claim. Let each axis have levels ``0 .. L``, each splitting the one before into equal parts; let
``P_l`` be the average over the parts of level l, and ``Q_l = P_l - P_{l-1}``. The Gram matrix of
margins with weights w is ``sum_t lambda_t Q_t`` over products ``Q_t`` of the axes' differences,
with ``lambda_t = sum of w_s^2 b_s`` over the margins s that are at least as fine as t on each axis,
``b_s`` the cells that one sum of s adds up. So its inverse is ``sum_t Q_t / lambda_t``.
Proof. A margin's own Gram matrix is ``b_s P_s``, and ``P_s Q_t`` is ``Q_t`` if s is as fine as t on
each axis, else 0: averages over nested equal parts commute, and the finer one changes nothing.
Under pure epsilon a move changes each margin it changes by its weight, so that weights ``w`` cost
their sum; in L2 the sum of their squares.

Residuals. Let each group of level l be one of k in a group of level l - 1. *Centred* along an axis,
a sum of level l is k times itself less that of the group above it: whole, with the Gram matrix
``k^2 s_l Q_l``, s_l places in a group; at level 0 it is the sum of all. So margins centred along
all axes have ``lambda_t = w_t^2 c_t``, each by itself, and with them every Gram matrix of this form
(ResidualPlanner, Xiao et al. 2023, draws correlated noise instead). Its entry for two cells is a
sum of whole numbers over the margins that they share, some below 0: what no weights alone can do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import accumulate, pairwise, product
from typing import Any, Final

import numpy as np

from onesided._numbers import whole
from onesided.errors import ParameterError
from onesided.linear._moves import Moves, strategy_shifts
from onesided.linear._near import Listed
from onesided.linear._operator import Array, Kron, Meets, Operator, Sized, listed_cells
from onesided.linear._strategies import Identity
from onesided.policy import Edge, Shift

Level = tuple[int, ...]
_MOST_SOLVED: Final = 2_048
_WEIGHTS: Final = (0, 1, 2, 3, 4, 6, 8, 12, 16)
_MOST: Final = 2.0**52
_NEAR: Final = 1e-3
_DESCENTS: Final = 1_000
_CLOSE: Final = 1 + 1e-5
_ROUNDED: Final = 1 + 1 / 200  # what whole weights may err more
_SIZES: Final = 40
_MOST_WEIGHT: Final = 2**20


class Margins(Sized):
    """For each chosen margin, one sum for every combination of its axes' groups.

    levels: for each axis its levels, from coarse to fine: the group of each place on the axis,
        counted from 0. One group of all, and each place by itself, are put before and after them.
    chosen: for each margin its level on each axis; 0 sums over the axis. weights: whole numbers.
    centred: those of which each sum is less those of the groups above it; see the module.
    Cells are in the order of their places, the last axis fastest; so are the sums of a margin.
    Errors: ParameterError for levels that do not split the ones before, or margins that are none.

    >>> table = Margins([[[0, 0, 1]]], [(0,), (1,)])
    >>> table.dense().tolist()
    [[1, 1, 1], [1, 1, 0], [0, 0, 1]]
    """

    def __init__(
        self,
        levels: Sequence[Sequence[object]],
        chosen: Sequence[Sequence[int]],
        weights: Sequence[int] | None = None,
        *,
        grid: Sequence[int] | None = None,
        centred: Collection[Level] = (),
    ) -> None:
        self.centred = frozenset(centred)
        self.levels = tuple(
            _levels(some, None if grid is None else grid[axis]) for axis, some in enumerate(levels)
        )
        self.chosen: tuple[Level, ...] = tuple(tuple(map(int, one)) for one in chosen)
        given = [1] * len(self.chosen) if weights is None else list(weights)
        self.weights = tuple(whole(w, name="weight", least=1, most=_MOST_WEIGHT) for w in given)
        tops = [len(axis) for axis in self.levels]
        wrong = [
            one
            for one in self.chosen
            if len(one) != len(tops) or any(not 0 <= k < n for k, n in zip(one, tops, strict=False))
        ]
        uneven = bool(self.centred) and not self.balanced
        if wrong or uneven or not self.chosen or len(set(self.chosen)) != len(given):
            raise ParameterError(
                f"Margins {list(self.chosen)} with {len(given)} weights are not each a level, "
                f"once, of {tops} levels.",
                hint="Give a level for each axis, 0 for the sum over it; centre equal parts alone.",
            )
        self.shape = self.ends[-1], math.prod(self.grid)

    @cached_property
    def grid(self) -> tuple[int, ...]:
        """How many places each axis has."""
        return tuple(axis[-1].size for axis in self.levels)

    def with_margins(
        self, weights: Mapping[Level, int], *, centred: Collection[Level] = ()
    ) -> Margins:
        """Other margins of the same table, each with its weight."""
        levels, given = [axis[1:-1] for axis in self.levels], [*weights.values()]
        return Margins(levels, [*weights], given, grid=self.grid, centred=centred)

    @property
    def every(self) -> tuple[Level, ...]:
        """All margins that there are, from the total to the cells."""
        return tuple(product(*(range(len(axis)) for axis in self.levels)))

    def along(self, one: Level) -> list[Array]:
        """The group of each place on each axis, in a margin."""
        return [axis[k] for axis, k in zip(self.levels, one, strict=True)]

    def groups(self, one: Level) -> tuple[int, ...]:
        """How many groups a margin has on each axis."""
        return tuple(int(labels.max()) + 1 for labels in self.along(one))

    @property
    def ends(self) -> list[int]:
        """Where each margin's rows end."""
        return list(accumulate(math.prod(self.groups(one)) for one in self.chosen))

    def parts(self, rows: Array) -> list[Array]:
        """One array for each margin, an axis for each axis."""
        found = np.split(rows, self.ends[:-1])
        sizes = map(self.groups, self.chosen)
        return [
            part.reshape(*size, *rows.shape[1:]) for part, size in zip(found, sizes, strict=True)
        ]

    @property
    def largest(self) -> int:
        scales = zip(self.weights, self.chosen, strict=True)
        return max(w * math.prod(self.splits(one)) for w, one in scales)

    @property
    def is_non_negative(self) -> bool:
        return not self.centred

    @property
    def determined(self) -> bool:
        last = self.every[-1]
        return last in self.chosen and (
            last not in self.centred or self.centred == frozenset(self.every)
        )

    def splits(self, one: Level) -> tuple[int, ...]:
        """Per axis, in how many groups each one above is split; 1 where it is not centred."""
        if one not in self.centred:
            return (1,) * len(one)
        above = self.groups(tuple(max(k - 1, 0) for k in one))
        return tuple(a // b for a, b in zip(self.groups(one), above, strict=True))

    @cached_property
    def squares(self) -> dict[Level, int]:
        """The Gram matrix's entry for two cells is the sum of these over what they share."""
        found = dict.fromkeys(self.every, 0)
        for w, one in zip(self.weights, self.chosen, strict=True):
            ways = [((0, k * k), (1, -k))[: 1 + (one in self.centred and level > 0)]
                    for k, level in zip(self.splits(one), one, strict=True)]  # fmt: skip
            for way in product(*ways):
                at = tuple(level - up for level, (up, _) in zip(one, way, strict=True))
                found[at] += w * w * math.prod(share for _, share in way)
        return {one: share for one, share in found.items() if share}

    @property
    def solvable(self) -> bool:
        small = len(self.levels) == 1 and self.shape[1] <= _MOST_SOLVED
        return self.determined and (self.balanced or small)

    @cached_property
    def balanced(self) -> bool:
        """Whether each level's groups all hold as many places."""
        return all(np.unique(np.bincount(k)).size == 1 for axis in self.levels for k in axis)

    def apply(self, values: Array) -> Array:
        cells = values.reshape(*self.grid, *values.shape[1:])
        return np.concatenate(
            [
                w * self._less(self.summed(cells, one), one).reshape(-1, *values.shape[1:])
                for w, one in zip(self.weights, self.chosen, strict=True)
            ]
        )

    def adjoint(self, values: Array) -> Array:
        total: Array = np.zeros((*self.grid, *values.shape[1:]), dtype=values.dtype)
        for w, one, part in zip(self.weights, self.chosen, self.parts(values), strict=True):
            total = total + w * self.spread(self._less(part, one), one)
        return total.reshape(-1, *values.shape[1:])

    @cached_property
    def kinds(self) -> tuple[Array, Array]:
        """One pair of cells for each way to share groups, of equal parts; the last is a cell twice.

        One of each pair is the first cell: all are alike.
        """
        along = []
        for axis in self.levels:
            same = np.sum([labels == labels[0] for labels in axis], axis=0)
            along.append(np.unique(same, return_index=True)[1].tolist())
        ends = [np.ravel_multi_index(places, self.grid) for places in product(*along)]
        return np.zeros(len(ends), dtype=np.int64), np.array(ends)

    def _less(self, part: Array, one: Level) -> Array:
        """A margin centred, where it is; a symmetric map."""
        for axis, (k, split) in enumerate(zip(one, self.splits(one), strict=True)):
            if one in self.centred and k:
                above = _parents(self.levels[axis][k], self.levels[axis][k - 1])
                part = split * part - np.take(_summed(part, above, axis), above, axis=axis)
        return part

    def meets(self, x: Array, y: Array) -> Meets | None:
        """Two columns share the margins in which both cells are in one group."""
        if self.centred:
            return None
        here, there = np.unravel_index(x, self.grid), np.unravel_index(y, self.grid)
        same = [
            [labels[a] == labels[b] for labels in axis]
            for axis, a, b in zip(self.levels, here, there, strict=True)
        ]
        both = np.zeros(np.shape(x), dtype=np.int64)
        for w, one in zip(self.weights, self.chosen, strict=True):
            both += w * np.all([axis[k] for axis, k in zip(same, one, strict=True)], axis=0)
        return Meets(both, 0, 0, 0)

    def monotone_on(self, plane: tuple[int, int]) -> bool:
        """Falls grow as cells share fewer groups: the far corners share the fewest of all."""
        rows = self.grid[0] if len(self.grid) == 2 else 1
        ordered = all(bool(np.all(np.diff(k) >= 0)) for axis in self.levels for k in axis)
        return ordered and len(self.grid) <= 2 and plane == (rows, self.shape[1] // rows)

    def summed(self, cells: Array, one: Level) -> Array:
        """A margin of cells that are laid out by axis."""
        return _gathered(cells, self.along(one))

    def spread(self, part: Array, one: Level) -> Array:
        """For each cell its group's number."""
        return _spread(part, self.along(one))

    def gram_solve(self, values: Array) -> Array | None:
        if not self.solvable:
            return None
        if not self.balanced:
            return np.asarray(self._inverse @ np.asarray(values, dtype=float))
        return self.by_parts(values, self.eigenvalues)

    @cached_property
    def _inverse(self) -> Array:
        matrix = self.dense().astype(float)
        return np.linalg.inv(matrix.T @ matrix)

    @cached_property
    def eigenvalues(self) -> dict[Level, float]:
        """The Gram matrix's, for each product of differences; see the module."""
        found = dict.fromkeys(self.every, 0)
        for one, share in self.squares.items():
            for t in product(*(range(k + 1) for k in one)):
                found[t] += share * (self.shape[1] // math.prod(self.groups(one)))
        return {t: float(value) for t, value in found.items()}

    def size_of(self, one: Level) -> float:
        """How many cells each sum of a margin of equal parts adds up."""
        return self.shape[1] / math.prod(self.groups(one))

    def by_parts(self, values: Array, divisors: Mapping[Level, float]) -> Array:
        """``sum_t Q_t values / divisors[t]``, for equal parts."""
        cells = np.asarray(values, dtype=float).reshape(*self.grid, *values.shape[1:])
        found = np.zeros_like(cells)
        steps = list(product((0, 1), repeat=len(self.grid)))
        for one in self.every:
            finer = [(sum(e), tuple(np.add(one, e).tolist())) for e in steps]
            share = sum((-1) ** odd / divisors[t] for odd, t in finer if t in divisors)
            if share:
                found += self.spread(self.summed(cells, one) * (share / self.size_of(one)), one)
        return found.reshape(-1, *values.shape[1:])

    def shares(self, one: Level) -> dict[Level, float]:
        """``q' Q_t q`` of one sum q of a margin of equal parts, for each t it has a part in."""
        found = {}
        for t in product(*(range(k + 1) for k in one)):
            share = 1.0
            for axis, (k, step) in enumerate(zip(one, t, strict=True)):
                groups = [int(labels.max()) + 1 for labels in self.levels[axis]]
                size = self.grid[axis]
                before = groups[step - 1] if step else 0
                share *= (size / groups[k]) ** 2 * (groups[step] - before) / size
            found[t] = share
        return found


def has_margins(strategy: Operator, workload: Margins) -> bool:
    """Whether :func:`margin_factors` has a closed form.

    >>> has_margins(Identity(4), Margins([[], []], [(0, 0)], grid=(2, 2)))
    True
    """
    if isinstance(strategy, Margins) and strategy.solvable and strategy.balanced:
        return _alike(strategy, workload)
    return _axes_of(strategy, workload.grid) is not None


def margin_factors(strategy: Operator, workload: Margins) -> Array | None:
    """The variance of each margin per variance of one noise, in closed form; None where none is.

    >>> margin_factors(Identity(4), Margins([[], []], [(0, 0), (1, 0)], grid=(2, 2))).tolist()
    [4.0, 2.0, 2.0]
    """
    if not has_margins(strategy, workload):
        return None
    if isinstance(strategy, Margins) and strategy.balanced:
        values = strategy.eigenvalues
        factors = [
            sum(share / values[t] for t, share in workload.shares(one).items())
            for one in workload.chosen
        ]
        sizes = [math.prod(workload.groups(one)) for one in workload.chosen]
        scales = np.square(np.asarray(workload.weights, dtype=float))
        return np.repeat(np.asarray(factors) * scales, sizes)
    parts = _axes_of(strategy, workload.grid) or []
    along = [
        [_along_axis(part, labels) for labels in axis]
        for part, axis in zip(parts, workload.levels, strict=True)
    ]
    found = []
    for w, one in zip(workload.weights, workload.chosen, strict=True):
        grid = np.ones(1)
        for axis, k in zip(along, one, strict=True):
            grid = np.multiply.outer(grid, axis[k]).reshape(-1)
        found.append(w * w * grid)
    return np.concatenate(found)


def margin_kinds(strategy: Operator, workload: Margins) -> Array | None:
    """Numbers that are equal for sums whose weights are alike but for order; None if unknown."""
    if isinstance(strategy, Margins) and strategy.balanced and _alike(strategy, workload):
        return np.repeat(np.arange(len(workload.chosen)), np.diff(workload.ends, prepend=0))
    if type(strategy) is Identity:
        sizes = workload.apply(np.ones(workload.shape[1], dtype=np.int64))
        return np.unique(sizes, return_inverse=True)[1].reshape(-1)
    return None


def _owed(table: Margins, asked: Margins, *, known: bool) -> Array:
    """How much of the asked sums' squares lies in each of the table's parts, in their order."""
    owed = dict.fromkeys(table.every, 0.0)
    for one in asked.chosen:
        for t, share in asked.shares(one).items():
            owed[t] += math.prod(asked.groups(one)) * share
    if known:
        owed[table.every[0]] = 0.0
    return np.array([*owed.values()])


def best_weights(table: Margins, asked: Margins, *, known: bool = False) -> Margins:
    """Margins of equal parts, at whole weights of least total squared error at one epsilon.

    The error of ``asked`` is that of its parts over the eigenvalues, times the square of the sum
    of weights; weights are changed one by one while that gets less. known: the total is public, and
    needs none. Cells are always measured a little; noise is drawn the faster, the smaller weights.

    >>> two = Margins([[], []], [(0, 0), (1, 1)], grid=(9, 9))
    >>> best_weights(two, two).weights
    (3, 16)
    """
    every, parts = table.every, _owed(table, asked, known=known)
    needed = parts > 0
    finer = np.array(
        [[all(a <= b for a, b in zip(t, s, strict=True)) for s in every] for t in every]
    )
    gains = (finer * [table.size_of(s) for s in every])[needed]

    def error(weights: Array) -> float:
        values = gains @ np.square(weights)
        found = np.divide(parts[needed], values, out=np.full(values.size, np.inf), where=values > 0)
        return float(weights.sum() ** 2 * found.sum())

    tried = []
    for first in (1, 4, 16):
        weights = np.array([float(s in asked.chosen) for s in every])
        weights[0], weights[-1] = weights[0] * (not known), first
        tried.append(_descended(weights, error, int(known)))
    best = min(tried, key=error)
    common = math.gcd(*map(int, best))
    return table.with_margins({s: int(w) // common for s, w in zip(every, best, strict=True) if w})


def residuals(
    table: Margins, asked: Margins, *, known: bool = False, pairs: bool = False
) -> Margins:
    """Centred margins, of equal parts, at whole weights of least total squared error in L2.

    With squared weights v what one cell adds to the Gram matrix is ``sum v_t a_t``; with ``pairs``
    the price is the most of it and of ``|column x - column y|^2``, which is linear in v as well.
    The error is ``sum parts_t / (v_t c_t)``: at one price least for ``v_t`` in proportion to
    ``sqrt(parts_t / (c_t a_t))``. Several prices are mixed, by multiplicative steps (Yu 2010).
    Of cells that nobody asked for only the sums are told apart; weights are the least of those in
    proportion that err 1/200 more at most. known: the total is public, and needs none.

    >>> two = Margins([[], []], [(1, 0), (0, 1)], grid=(2, 2))
    >>> residuals(two, two).weights
    (5, 3, 3, 1)
    """
    every, parts = table.every, _owed(table, asked, known=known)
    needed = parts > 0
    chosen = [t for t, some in zip(every, needed, strict=True) if some or needed[-1]]
    centred = tuple(chosen)
    chosen += [] if needed[-1] else every[-1:]
    single = [table.with_margins({t: 1}, centred=[t] if t in centred else []) for t in chosen]
    columns = np.stack([_entries(one) for one in single], axis=1).astype(float)
    own, others = columns[-1], columns[:-1]
    prices = np.stack([own, *(2 * (own - others))]) if pairs else own[None]
    gains = np.array([[one.eigenvalues[t] for one in single] for t in every])[needed]
    owed = [parts[every.index(t)] if t in centred else 0.0 for t in chosen]
    wanted = owed / np.array([one.eigenvalues[t] for one, t in zip(single, chosen, strict=True)])
    mixed = np.full(len(prices), 1 / len(prices))
    for _ in range(_DESCENTS):
        cost = mixed @ prices
        shares = np.sqrt(np.divide(wanted, cost, out=np.zeros(cost.size), where=cost > 0))
        found = prices @ shares
        if found.max() <= _CLOSE * (mixed @ found):
            break
        mixed *= found / (mixed @ found)

    def error(squares: Array) -> float:
        return float((prices @ squares).max() * (parts[needed] / (gains @ squares)).sum())

    ratios, tried = np.sqrt(shares / shares[shares > 0].min()), []
    for size in range(1, _SIZES):
        tried.append(np.clip(np.rint(ratios * size), 1, _MOST_WEIGHT))
        if error(tried[-1] ** 2) <= _ROUNDED * error(shares):
            break
    best = min(tried, key=lambda weights: error(weights**2))
    return table.with_margins(dict(zip(chosen, map(int, best), strict=True)), centred=centred)


def _entries(strategy: Margins) -> Array:
    """The Gram matrix's entries, one for each kind of pair of cells; the last of a cell itself."""
    meets = _Squared(strategy).meets(*strategy.kinds)
    return np.zeros(0) if meets is None else np.asarray(meets.plus_plus)


def _descended(weights: Array, error: Callable[[Array], float], first: int) -> Array:
    """Weights changed one by one while the error gets less; the last one stays above 0."""
    now, before = error(weights), math.inf
    while now < before:
        before = now
        for place in range(first, weights.size):
            tried = np.repeat(weights[None], len(_WEIGHTS), axis=0)
            tried[:, place] = _WEIGHTS
            found = [error(one) if one[-1] else math.inf for one in tried]
            if min(found) < now:
                now, weights = min(found), tried[int(np.argmin(found))]
    return weights


def square_shifts(strategy: Operator, moves: Moves, *, apart: bool = False) -> dict[Edge, int]:
    """Per edge, how far its moves take the answers of margins, or cells, in L2: squared, at most.

    Claim: two columns are as far apart as ``squared`` says in L1. Where a move takes k units at
    once, the square of k changes is at most k times the sum of theirs; of cells it is that sum if
    they lie ``apart``. Where moves join all cells, one pair of each kind stands for all.
    Errors: ParameterError for other strategies.

    >>> from onesided.linear import moves_of
    >>> from onesided.policy import bounded
    >>> moves = moves_of(bounded(), 4, partition=True)
    >>> table = Margins([[], []], [(0, 0), (1, 0), (1, 1)], [9, 2, 3], grid=(2, 2))
    >>> list(square_shifts(table, moves).values())
    [26]
    """
    times = dict.fromkeys(moves.edges, 1)
    for edge, border in () if apart and type(strategy) is Identity else moves.borders:
        times[edge] = max(times[edge], border.times)
    if moves.whole and isinstance(strategy, Margins) and strategy.balanced:
        sweep = Listed(*strategy.kinds)
        moves = replace(moves, sweeps=tuple((edge, sweep) for edge, _ in moves.sweeps))
    return {
        edge: times[edge] * max(one.rise + one.fall for one in some)
        for edge, some in strategy_shifts(squared(strategy), moves).items()
    }


def square_most(strategy: Operator, shifts: Iterable[Shift]) -> int:
    """How far a shift of all cells, of one of these sizes, takes the answers in L2: squared.

    Claim: with c the squared length of a cell's column, and g the least product of two cells'
    columns, it is the largest of ``c (rise² + fall²) - 2 g rise fall``, ``c rise²``, ``c fall²``.
    Proof: changes of cells of which those above 0 add up to rise at most, and those below 0 to
    fall, are convex, and so is the norm: it is largest at a corner, where one cell rises and
    another falls, or one of them alone moves. Errors: as for ``square_shifts``.

    >>> from onesided.policy import Shift
    >>> table = Margins([[]], [(0,), (1,)], [2, 1], grid=(3,))
    >>> square_most(table, [Shift(rise=1, fall=1)]), square_most(table, [Shift(rise=3, fall=1)])
    (5, 45)
    """
    c, g = _norms(strategy)
    moved = [(one.rise, one.fall) for one in shifts]
    return max(max(c * (r * r + f * f) - 2 * g * r * f, c * r * r, c * f * f) for r, f in moved)


def _norms(strategy: Operator) -> tuple[int, int]:
    """Of the columns of cells the squared length, the same of all, and the least product of two.

    Where groups are of many sizes nothing is centred, and no product is below 0: two cells that
    lie as far apart on each axis as its groups do share the sums of everything.
    """
    if type(strategy) is Kron:
        (c, g), (d, h) = _norms(strategy.first), _norms(strategy.second)
        return c * d, min(c * h, g * d, g * h)
    if not isinstance(strategy, Margins):
        return int(squared(strategy) is strategy), int(strategy.shape[1] == 1)
    if strategy.balanced:
        entries = [int(one) for one in _entries(strategy).tolist()]
        return entries[-1], min(entries)
    each = list(zip(strategy.chosen, strategy.weights, strict=True))
    whole_table = (w * w for one, w in each if math.prod(strategy.groups(one)) == 1)
    return sum(w * w for _, w in each), sum(whole_table)


def squared(strategy: Operator) -> Operator:
    """What changes in L1 as much as margins, cells, and products of them in L2: squared.

    Its columns meet as theirs do in their Gram matrix. Errors: ParameterError for others.

    >>> squared(Margins([[]], [(0,)], [3], grid=(2,))).dense().tolist()
    [[9, 9]]
    """
    if type(strategy) is Kron:
        return Kron(squared(strategy.first), squared(strategy.second))
    if isinstance(strategy, Margins):
        return _Squared(strategy)
    if type(strategy) is Identity:
        return strategy
    raise ParameterError(
        "Its entries are not those of margins or cells.", hint="Use one of the named strategies."
    )


class _Squared(Margins):
    """Margins whose weights are entries of a Gram matrix, some of them below 0."""

    def __init__(self, of: Margins) -> None:
        self.levels, self.centred = of.levels, frozenset()
        self.chosen, self.weights = tuple(of.squares), tuple(of.squares.values())
        self.shape = len(self.chosen), of.shape[1]  # a column has an entry for each margin

    @property
    def largest(self) -> int:
        return max(map(abs, self.weights))

    def monotone_on(self, plane: tuple[int, int]) -> bool:
        return min(self.weights) > 0 and super().monotone_on(plane)


def tightened(
    table: Margins, lower: Sequence[Array], upper: Sequence[Array]
) -> tuple[list[Array], list[Array]]:
    """Certain bounds of margins, each made as narrow as the others let it; infinite where none is.

    lower, upper: for each margin of ``table`` bounds that hold, lower ones from 0 up.
    Claim: what is returned holds wherever the bounds given hold and each margin is the sum of
    cells, none below 0. Proof: of a group and the finer groups that it is the sum of, the sum of
    their upper bounds is one of the group, and one of theirs is the group's less the lower bounds
    of the others; for lower bounds the other way round. Nothing of the kind is true of persons
    who lie in several cells, or in none, and count once in a margin: such a margin is no sum.

    >>> two = Margins([[]], [(0,), (1,)], grid=(2,))
    >>> given = [np.array([0.0]), np.array([2.0, 0.0])], [np.array([3.0]), np.full(2, np.inf)]
    >>> [one.tolist() for one in tightened(two, *given)[1]]
    [[3.0], [3.0, 1.0]]
    """
    low, high = ([np.where(np.abs(one) < _MOST, one, way) for one in some]
                 for some, way in ((lower, 0.0), (upper, np.inf)))  # fmt: skip
    pairs = [
        (a, b)
        for a, coarse in enumerate(table.chosen)
        for b, fine in enumerate(table.chosen)
        if a != b and all(x <= y for x, y in zip(coarse, fine, strict=True))
    ]
    for _ in range(2):
        for a, b in pairs:
            _exchange(table, a, b, low, high)
    return low, high


def _exchange(table: Margins, a: int, b: int, low: list[Array], high: list[Array]) -> None:
    """What a coarse margin ``a`` and a fine one ``b`` say of each other."""
    both = zip(table.along(table.chosen[b]), table.along(table.chosen[a]), strict=True)
    above = [_parents(fine, coarse) for fine, coarse in both]
    summed, spread = partial(_gathered, along=above), partial(_spread, along=above)
    # Sums below 2^52 are exact in floats; larger ones bound nothing, so none is rounded.
    low[a] = np.minimum(np.maximum(low[a], summed(low[b])), _MOST)
    known = np.isfinite(high[b])
    finite = np.where(known, high[b], 0)
    sums, missing = summed(finite), summed((~known).astype(np.int64))
    exact = sums < _MOST
    high[a] = np.minimum(high[a], np.where((missing == 0) & exact, sums, np.inf))
    rest = spread(summed(low[b])) - low[b]
    high[b] = np.minimum(high[b], spread(high[a]) - rest)
    held = (spread(missing) - ~known == 0) & spread(exact)
    beside = np.where(held, spread(sums) - finite, np.inf)
    low[b] = np.maximum(low[b], spread(low[a]) - beside)


def _parents(fine: Array, coarse: Array) -> Array:
    found = np.zeros(int(fine.max()) + 1, dtype=np.int64)
    found[fine] = coarse
    return found


def whole_cells(
    table: Margins, answers: Array, least: Array, most: Array, total: int | None = None
) -> Array:
    """Whole cells in ``least .. most`` whose margins are near to ``answers``; with this total.

    The nearest cells by alternating directions (Boyd et al. 2011) in the norm of the margins of
    ``table``, where parts are equal, else in that of cells; then rounded by their running sums, so
    that each run of cells is off by less than 1; of two axes columns are mended along rows.

    >>> two = Margins([[], []], [(1, 0), (0, 1), (1, 1)], grid=(2, 2))
    >>> whole_cells(two, np.array([-2.0, 4, 4, 4]), np.zeros(4), np.full(4, 9.0)).tolist()
    [0, 3, 3, 5]
    """
    near, room = answers - least, most - least
    cells = np.clip(near, 0, room)
    if table.balanced and np.any(near != cells):
        cells = _nearest(table, near, room)
    if total is not None:
        # Lowered in proportion, or raised by what room there is, to the total that is known.
        have, wanted = float(cells.sum()), total - float(least.sum())
        if have >= wanted:
            cells = cells * (wanted / have) if have else cells
        elif (open_to := np.minimum(room - cells, wanted)).sum() > 0:
            cells = cells + open_to * ((wanted - have) / open_to.sum())
    found = _rounded(cells)
    if len(table.grid) == 2:
        # Columns' sums drawn to what they were: one up, one down in a row leaves the row's sum.
        wanted, told = cells.reshape(table.grid), found.reshape(table.grid).copy()
        due = _rounded(wanted.sum(axis=0))
        # Those that were rounded up, or down, may be turned round.
        up, down = told > wanted, told < wanted
        for _ in range(2 * table.grid[1]):
            much = told.sum(axis=0) - due
            first, last = int(np.argmax(much)), int(np.argmin(much))
            many = min(int(much[first]), -int(much[last]))
            rows = np.flatnonzero(up[:, first] & down[:, last])[:many]
            if not rows.size:
                break
            told[rows, first] -= 1
            told[rows, last] += 1
            up[rows, first] = down[rows, last] = False
        found = told.reshape(-1)
    return np.asarray(np.clip(found + least, least, np.minimum(most, _MOST)), dtype=np.int64)


def _nearest(table: Margins, near: Array, room: Array, rounds: int = 200) -> Array:
    """Cells from 0 to ``room`` whose margins are nearest, up to some thousandths."""
    heavy = table.eigenvalues
    pull = math.sqrt(min(v for v in heavy.values() if v) * max(heavy.values()))
    own = table.by_parts(near, {t: 1 / v if v else math.inf for t, v in heavy.items()})
    divisors = {t: v + pull for t, v in heavy.items()}
    # From what the margins say alone: cells that nobody asked for may be noise and little else.
    cells = np.clip(table.by_parts(near, {t: 1.0 for t, v in heavy.items() if v}), 0, room)
    off = np.zeros_like(near)
    for _ in range(rounds):
        free = table.by_parts(own + pull * (cells - off), divisors)
        before, cells = cells, np.clip(free + off, 0, room)
        off += free - cells
        if np.abs(cells - before).max() < _NEAR and np.abs(free - cells).max() < _NEAR:
            break
    return cells


def _rounded(cells: Array) -> Array:
    """Whole numbers of which every running sum is off by half at most."""
    return np.diff(np.floor(np.cumsum(cells) + 0.5 - 1e-9), prepend=0).astype(np.int64)


def kept_within(
    table: Margins, cells: Array, lower: Sequence[Array], upper: Sequence[Array]
) -> Array:
    """Whole cells lowered, and raised, until each margin is within its certain bounds.

    >>> one = Margins([[]], [(0,), (1,)], grid=(2,))
    >>> bounds = [np.array([0]), np.zeros(2)], [np.array([3]), np.full(2, np.inf)]
    >>> kept_within(one, np.array([4, 2]), *bounds).tolist()
    [2, 1]
    """
    found = cells.reshape(table.grid).copy()
    for one, low, high in zip(table.chosen, lower, upper, strict=True):
        sums = table.summed(found, one)
        for place in np.argwhere((sums > high) | (sums < low)):
            at = tuple(place)
            groups = zip(table.along(one), place, strict=True)
            picked = np.ix_(*(np.flatnonzero(labels == g) for labels, g in groups))
            some = found[picked].reshape(-1)
            over, under = sums[at] > high[at], max(float(low[at] - sums[at]), 0.0)
            fewer = _rounded(some * (float(high[at]) / some.sum())) if over else some
            found[picked] = (fewer + _rounded(np.full(some.size, under / some.size))).reshape(
                found[picked].shape
            )
    return found.reshape(-1)


def _levels(given: Sequence[object], size: int | None) -> tuple[Array, ...]:
    some = [listed_cells(labels, name="A level") for labels in given]
    if size is None and not some:
        raise ParameterError("An axis has no level.", hint="Give grid=, how many places it has.")
    places = some[0].size if size is None else whole(size, name="places of an axis", least=1)
    first, last = np.zeros(places, dtype=np.int64), np.arange(places)
    levels = [first, *some, last]
    for before, labels in pairwise(levels):
        split = labels.size == places == before.size
        pairs = np.unique(np.stack([labels, before]), axis=1) if split else np.zeros((2, 0))
        told = np.unique(pairs[0])
        if (
            not split
            or told.size != pairs.shape[1]
            or not np.array_equal(told, np.arange(told.size))
        ):
            raise ParameterError(
                f"A level {labels.tolist()[:8]} is none of {places} places, or does not split the "
                "one before.",
                hint="Number the groups of each level from 0; each lies in one of the coarser.",
            )
    if len(levels) > 2 and places == 1:
        return first, last
    return tuple(levels)


def _gathered(cells: Array, along: Sequence[Array]) -> Array:
    """Sums by groups on each axis."""
    for axis, labels in enumerate(along):
        cells = _summed(cells, labels, axis)
    return cells


def _spread(part: Array, along: Sequence[Array]) -> Array:
    """For each place its group's number, on each axis."""
    for axis, labels in enumerate(along):
        part = np.take(part, labels, axis=axis)
    return part


def _summed(cells: Array, labels: Array, axis: int) -> Array:
    groups = int(labels.max()) + 1
    if groups == 1:
        return np.asarray(cells.sum(axis=axis, keepdims=True))
    order = np.argsort(labels, kind="stable")
    if groups == labels.size and np.array_equal(order, np.arange(groups)):
        return cells
    starts = np.searchsorted(labels[order], np.arange(groups))
    return np.add.reduceat(np.take(cells, order, axis=axis), starts, axis=axis)


def _alike(one: Margins, two: Margins) -> bool:
    return len(one.levels) == len(two.levels) and all(
        len(a) == len(b) and all(map(np.array_equal, a, b))
        for a, b in zip(one.levels, two.levels, strict=True)
    )


def _axes_of(strategy: Operator, grid: tuple[int, ...]) -> list[Operator] | None:
    """One solvable operator for each axis, of which the strategy is the product."""
    if type(strategy) is Identity:
        return [Identity(n) for n in grid]
    if len(grid) > 1 and type(strategy) is Kron:
        before = _axes_of(strategy.first, grid[:-1])
        last = _axes_of(strategy.second, grid[-1:])
        return None if before is None or last is None else [*before, *last]
    fits = len(grid) == 1 and strategy.shape[1] == grid[0] and isinstance(strategy, Margins)
    return [strategy] if fits and strategy.solvable else None


def _along_axis(part: Operator, labels: Array) -> Any:
    """``q' G^-1 q`` of each group of one axis."""
    if type(part) is Identity:
        return np.bincount(labels).astype(float)
    rows = np.zeros((labels.size, int(labels.max()) + 1))
    rows[np.arange(labels.size), labels] = 1
    near = part.gram_solve(rows)
    return np.einsum("ij,ij->j", rows, np.zeros_like(rows) if near is None else near)
