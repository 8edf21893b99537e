"""What is asked (ranges, rectangles, marginals), and the error of each answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from itertools import product
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from onesided._numbers import whole
from onesided.errors import ParameterError
from onesided.linear._margins import Margins, has_margins, margin_factors, margin_kinds
from onesided.linear._operator import Array, Dense, Kron, Operator, Sized, Totals, ZeroOne, kron
from onesided.linear._solve import by_gradients, check_spans, descended, influences
from onesided.linear._strategies import Bins, Identity, Prefix, Staggered, Suffix

# What is asked: ranges and rectangles of cells, marginals, as operators.


_MOST_RANGES: Final = 2**24


class Ranges(ZeroOne):
    """Query q sums the cells from ``lows[q]`` up to, not including, ``highs[q]`` on every axis.

    ``shape``-d grids of any number of axes. Errors: ParameterError for ranges that are empty,
    turned around or reach outside the grid.

    >>> from onesided.linear import Ranges
    >>> Ranges(3, [0, 1], [2, 3]).dense().tolist()
    [[1, 1, 0], [0, 1, 1]]
    """

    def __init__(self, grid: int | Sequence[int], lows: ArrayLike, highs: ArrayLike) -> None:
        given = (grid,) if isinstance(grid, int) else tuple(grid)
        self.grid = tuple(whole(side, name="cells along an axis", least=1) for side in given)
        self.lows, self.highs = (_corners(ends, len(self.grid)) for ends in (lows, highs))
        if self.lows.shape != self.highs.shape or not self.lows.size:
            raise ParameterError(
                f"{len(self.lows)} lower and {len(self.highs)} upper ends make no ranges.",
                hint="Give one of each per query.",
            )
        bad = (self.lows < 0) | (self.highs > np.array(self.grid)) | (self.lows >= self.highs)
        if bad.any():
            at = int(np.argmax(bad.any(axis=1)))
            raise ParameterError(
                f"The range {self.lows[at].tolist()} .. {self.highs[at].tolist()} of query {at} "
                f"does not lie in the grid {self.grid}, or is empty.",
                hint="Cells count from 0; the upper end is the first cell not in the range.",
                query=at,
            )
        self.shape = len(self.lows), math.prod(self.grid)

    @property
    def lengths(self) -> Array:
        """How many cells each query sums."""
        return np.asarray(np.prod(self.highs - self.lows, axis=1))

    def apply(self, values: Array) -> Array:
        table = _table(values, self.grid)
        total: Array = np.zeros((len(self.lows), *values.shape[1:]), dtype=table.dtype)
        for sign, corner in _signed(self.lows, self.highs):
            total = total + sign * table[corner]
        return total

    def adjoint(self, values: Array) -> Array:
        sides = tuple(side + 1 for side in self.grid)
        table = np.zeros((*sides, *values.shape[1:]), dtype=values.dtype)
        for sign, corner in _signed(self.lows, self.highs):
            np.add.at(table, corner, sign * values)
        for axis, side in enumerate(self.grid):
            sums = np.flip(np.cumsum(np.flip(table, axis), axis=axis), axis)
            table = sums.take(np.arange(1, side + 1), axis=axis)
        return table.reshape(-1, *values.shape[1:])

    def overlaps(self) -> Callable[[Array], Array]:
        rows = len(self.lows)
        one, two = np.triu_indices(rows)
        lows = np.maximum(self.lows[one], self.lows[two])
        highs = np.maximum(np.minimum(self.highs[one], self.highs[two]), lows)
        sides = [side + 1 for side in self.grid]
        signed = [(s, np.ravel_multi_index(c, sides)) for s, c in _signed(lows, highs)]
        flat = one * rows + two

        def overlap(weights: Array) -> Array:
            """The upper half is worked out, and is the lower half turned."""
            table = _table(weights, self.grid).ravel()
            found = np.zeros(rows * rows)
            found[flat] = sum(s * table[corner] for s, corner in signed)
            square = found.reshape(rows, rows)
            return np.asarray(square + np.triu(square, 1).T)

        return overlap

    def part(self, chosen: Array) -> Ranges:
        """Some of the queries."""
        return Ranges(self.grid, self.lows[chosen], self.highs[chosen])


def _table(values: Array, grid: tuple[int, ...]) -> Array:
    """Sums of all cells before each corner of the grid."""
    table = values.reshape(*grid, *values.shape[1:])
    for axis in range(len(grid)):
        table = np.cumsum(table, axis=axis)
        first = np.zeros_like(table.take([0], axis=axis))
        table = np.concatenate([first, table], axis=axis)
    return table


def _signed(lows: Array, highs: Array) -> list[tuple[int, tuple[Array, ...]]]:
    """Inclusion and exclusion: corners of the table of sums, with their signs."""
    ends, axes = np.stack([lows, highs]), lows.shape[1]
    return [
        ((-1) ** (axes - sum(pick)), tuple(ends[side, :, axis] for axis, side in enumerate(pick)))
        for pick in product((0, 1), repeat=axes)
    ]


def thinned(workload: Operator, most: int) -> Operator:
    """At most so many of the queries, evenly spread.

    >>> from onesided.linear import Identity
    >>> thinned(Identity(100), 5).shape
    (5, 100)
    """
    queries = workload.shape[0]
    if queries <= most:
        return workload
    chosen = np.unique(np.linspace(0, queries - 1, most).astype(np.int64))
    if isinstance(workload, Ranges):
        return workload.part(chosen)
    return Dense(_rows(workload, chosen).T.astype(np.int64))


def all_ranges(n: int) -> Ranges:
    """Every range of a line of n cells, short ones first. Errors: ParameterError above 2^24.

    >>> from onesided.linear import all_ranges
    >>> all_ranges(2).dense().tolist()
    [[1, 0], [0, 1], [1, 1]]
    """
    whole(n, name="cells", least=1)
    if n * (n + 1) // 2 > _MOST_RANGES:
        raise ParameterError(
            f"A line of {n:,} cells has {n * (n + 1) // 2:,} ranges, too many to list.",
            hint="Use sampled_ranges, or by_length for exact errors.",
        )
    lows = np.concatenate([np.arange(n - length + 1) for length in range(1, n + 1)])
    lengths = np.repeat(np.arange(1, n + 1), np.arange(n, 0, -1))
    return Ranges(n, lows, lows + lengths)


def sampled_ranges(grid: int | Sequence[int], count: int, *, seed: int = 0) -> Ranges:
    """``count`` ranges or rectangles, each end uniform: public, and the same for equal seeds.

    >>> from onesided.linear import sampled_ranges
    >>> sampled_ranges((4, 5), 7).shape
    (7, 20)
    """
    whole(count, name="count", least=1)
    sides = (grid,) if isinstance(grid, int) else tuple(grid)
    draw = np.random.default_rng(seed)
    ends = [draw.integers(0, [s + 1 for s in sides], (count, len(sides))) for _ in range(2)]
    low, high = np.minimum(*ends), np.maximum(*ends)
    flat = low == high
    # An empty range becomes one cell.
    low = np.where(flat & (low == np.array(sides)), low - 1, low)
    return Ranges(grid, low, np.where(low == high, low + 1, high))


def marginals(grid: Sequence[int], axes: Collection[int]) -> Operator:
    """ZeroOne over all axes but ``axes``: one query per combination of their cells.

    Errors: ParameterError for axes that the grid does not have.

    >>> from onesided.linear import marginals
    >>> marginals((2, 2), {0}).dense().tolist()
    [[1, 1, 0, 0], [0, 0, 1, 1]]
    """
    if not all(0 <= axis < len(grid) for axis in axes):
        raise ParameterError(
            f"Axes {sorted(axes)} are not all axes of a grid of {len(grid)}.",
            hint="Axes count from 0.",
        )
    return kron(*(Identity(n) if k in axes else Bins(n, n) for k, n in enumerate(grid)))


def _corners(ends: ArrayLike, axes: int) -> Array:
    array = np.asarray(ends)
    if array.ndim == 1 and axes == 1:
        array = array.reshape(-1, 1)
    if array.ndim != 2 or array.shape[1] != axes or array.dtype.kind not in "iu":
        raise ParameterError(
            f"Ends of ranges on a grid of {axes} axes are whole numbers of shape "
            f"(queries, {axes}), got {array.dtype} with shape {array.shape}.",
            hint="Give the cell of each end on every axis.",
        )
    return array.astype(np.int64)


# Error factors of strategies that hold every cell, by conjugate gradients that stop early.
#
# Claim. Let the strategy A hold every cell as a row of its own, so that ``G = A'A`` is at least
# the identity. For a query q and any x with ``r = q - G x`` and r'x = 0 the factor ``q'G^-1 q``
# lies between ``q'x`` and ``q'x + r'r``: it is ``q'x + r'G^-1 r + r'x``, and ``G^-1`` is at most
# the identity. Conjugate gradients keep r'x at 0, and ``q'x`` only grows. So the upper end is
# reported, never too small, once the ends are within one part in a thousand: long before x itself
# is known as well.

_APART: Final = 1e-3
_CLOSE: Final = 1e-6
_DRAWS: Final = 64
_FEWEST: Final = 16
_EASY: Final = 2**15
_AT_ONCE: Final = 2**22


def holds_cells(strategy: Operator) -> bool:
    """Whether every cell is known to be a row of its own.

    >>> from onesided.linear import staggered
    >>> holds_cells(staggered(4)), holds_cells(staggered(4, cells=False))
    (True, False)
    """
    return type(strategy) is Staggered and strategy.cells


def upper_factors(strategy: Operator, queries: Array) -> Array:
    """Each column's factor, rounded up by less than one part in a thousand.

    queries: of shape (cells, many). Only for strategies that :func:`holds_cells`.
    """
    at_once = max(1, _AT_ONCE // queries.shape[0])
    parts = [
        _upper(strategy, np.asarray(queries[:, at : at + at_once], dtype=float))
        for at in range(0, queries.shape[1], at_once)
    ]
    return np.concatenate(parts)


def draws_for(cells: int) -> int:
    """How many draws :func:`sampled_factors` makes: fewer on large grids.

    >>> draws_for(100), draws_for(10**6)
    (64, 16)
    """
    return max(_FEWEST, min(_DRAWS, _DRAWS * _EASY // cells))


def sampled_factors(strategy: Operator, workload: Operator) -> Array:
    """Estimates of all factors from a few draws of made-up noise, where there are many queries.

    Answers to normal noise of variance 1 on the strategy's rows are normal with the factor as
    variance, so that m draws give the factor times a chi-squared number over m. The seed is public:
    the same question has the same estimate, and nothing of the data is in it.

    >>> from onesided.linear import Identity, staggered
    >>> sampled_factors(staggered(4), Identity(4)).shape
    (4,)
    """
    rng = np.random.default_rng(0)
    number = draws_for(strategy.shape[1])
    noise = rng.standard_normal((strategy.shape[0], number))
    answers = workload.apply(by_gradients(strategy, strategy.adjoint(noise), _CLOSE))
    return np.asarray(np.mean(answers**2, axis=1))


def understated(draws: int, chance: float) -> float:
    """By how much an estimate from so many draws is too small with less than this chance.

    Chernoff: a chi-squared number of m degrees is at most ``m t`` with a chance of at most
    ``(t e^(1 - t))^(m / 2)``; this is 1 / t.

    >>> round(understated(64, 0.01), 2)
    1.8
    """
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        likely = draws / 2 * (math.log(middle) + 1 - middle)
        low, high = (middle, high) if likely <= math.log(chance) else (low, middle)
    return 1 / low


def _upper(strategy: Operator, queries: Array) -> Array:
    found = np.zeros(queries.shape[1])

    def add(step: Array, size: Array, _way: Array) -> None:
        # q'x grows by step * q'way, and q'way is r'r: earlier residuals are orthogonal to the way.
        np.add(found, step * size, out=found)

    def product(values: Array) -> Array:
        return strategy.adjoint(strategy.apply(values))

    return found + descended(
        product, queries, add, lambda size: bool((size <= _APART * found).all())
    )


# The exact expected error of least-squares answers, before anything is drawn.

# Numbers that one look at errors may work through: some minutes on one core.
MOST_WORK: Final = 2**32
_MOST_CELLS: Final = 8_192
# Conjugate gradients take some hundreds of products where there is no closed form.
_STEPS: Final = 300
# Early stops and many queries at once make this of them.
_FEW_STEPS: Final = 16
_SMALL: Final = 256


class LengthError(NamedTuple):
    """Errors of all ranges of each length: how many there are, and their mean factor.

    Times the noise's variance, ``factor`` is the mean variance of an answer.

    >>> from onesided.linear import Identity
    >>> found = by_length(Identity(3))
    >>> found.length.tolist(), found.queries.tolist()
    ([1, 2, 3], [3, 2, 1])
    """

    length: Array
    queries: Array
    factor: Array


def error_factors(strategy: Operator, workload: Operator) -> Array:
    """Per query q, ``q (A'A)^-1 q'``: the answer's variance per variance of one noise.

    With every row's noise independent and of one variance v, the least-squares answer has
    exactly the variance v times this, and no bias once the noise's mean is taken out; eq. (5) of
    delta-neighbourhood sums it up. For staggered tiles on more than 256 cells factors are rounded
    up, by less than one part in a thousand. Post-processing such as non-negativity changes both.
    Errors: ParameterError where the strategy does not span the workload, or is over other cells,
    and where this is too much work: choose some of the queries.

    >>> from onesided.linear import Identity, Prefix, error_factors
    >>> error_factors(Identity(3), Prefix(3)).tolist()
    [1.0, 2.0, 3.0]
    """
    check_spans(strategy, workload)
    return factors(strategy, workload)


def factors(strategy: Operator, workload: Operator) -> Array:
    """:func:`error_factors` of a strategy that is known to span the workload.

    >>> from onesided.linear import Identity, Prefix
    >>> factors(Prefix(3), Identity(3)).round(3).tolist()
    [1.0, 2.0, 2.0]
    """
    short = margin_factors(strategy, workload) if isinstance(workload, Margins) else None
    if isinstance(workload, Ranges):
        short = _of_ranges(strategy, workload)
    if short is not None:
        return short
    return _near(strategy, workload) if _rounded(strategy) else _worked_out(strategy, workload)


def _rounded(strategy: Operator) -> bool:
    """Whether factors are rounded up by less than one part in a thousand, for speed."""
    return strategy.shape[1] > _SMALL and holds_cells(strategy)


def alike(strategy: Operator, workload: Operator) -> tuple[Array, Array]:
    """One query of each kind, and each query's kind: those of a kind have weights that are equal.

    But for their order, and so they have beside the weights of the total of all cells: for ranges
    by cells or by prefix sums, of which along each axis it matters how many cells there are, or
    which ends lie inside. Others are each of a kind.

    >>> alike(Identity(3), all_ranges(3))[1].tolist()
    [0, 0, 0, 1, 1, 2]
    """
    kinds = margin_kinds(strategy, workload) if isinstance(workload, Margins) else None
    if kinds is not None:
        return np.unique(kinds, return_index=True)[1], kinds
    axes = _axes(strategy, workload) if isinstance(workload, Ranges) else []
    if not axes or not all(isinstance(part, _PLAIN) for part, _, _ in axes):
        return (np.arange(workload.shape[0]),) * 2
    along = [
        high - low if isinstance(part, Identity) else 2 * (low > 0) + (high < part.shape[1])
        for part, low, high in axes
    ]
    _, chosen, kind = np.unique(
        np.stack(along, axis=1), axis=0, return_index=True, return_inverse=True
    )
    return chosen, kind.ravel()


def weights(strategy: Operator, workload: Operator, chosen: Array) -> Array:
    """Per chosen query, with what weights its least-squares answer takes the strategy's answers."""
    if isinstance(workload, Ranges) and strategy.shape[0] < chosen.size:
        every = influences(strategy, strategy.adjoint(np.eye(strategy.shape[0])))
        return np.asarray(workload.part(chosen).apply(every))
    rows = _rows(workload, chosen)
    near = by_gradients(strategy, rows) if _rounded(strategy) else influences(strategy, rows)
    return np.asarray(strategy.apply(near).T)


def _worked_out(strategy: Operator, workload: Operator) -> Array:
    queries, cells = workload.shape
    if queries * cells > MOST_WORK:
        raise ParameterError(
            f"The errors of {queries:,} queries over {cells:,} cells are too much to work out.",
            hint="Ask for those of a sample of the queries.",
            work=queries * cells,
        )
    at_once = max(1, _AT_ONCE // cells)
    parts = [
        _factors(strategy, workload, np.arange(at, min(at + at_once, queries)))
        for at in range(0, queries, at_once)
    ]
    return np.concatenate(parts)


# Kept, for a question asks for them when it chooses, when it plans and when it answers.
_near: Final = lru_cache(maxsize=4)(_worked_out)


def cost(strategy: Operator, workload: Operator) -> int:
    """How many numbers :func:`error_factors` would go through, roughly; 0 for a formula.

    >>> from onesided.linear import Identity
    >>> cost(Identity(16), Identity(16)) > 0
    True
    """
    if isinstance(workload, Ranges) and _axes(strategy, workload):
        return 0
    if isinstance(workload, Margins) and has_margins(strategy, workload):
        return 0
    steps = 1 if strategy.solvable else _FEW_STEPS if _rounded(strategy) else _STEPS
    return workload.shape[0] * workload.shape[1] * steps


def expected_error(
    strategy: Operator, workload: Operator, variance: float, weights: Array | None = None
) -> float:
    """The (weighted) sum of all queries' expected squared errors, at ``variance`` per noise.

    Errors: as for :func:`error_factors`; ParameterError unless there is one weight per query.

    >>> from onesided.linear import Identity, Prefix
    >>> expected_error(Identity(3), Prefix(3), variance=2.0)
    12.0
    """
    found = error_factors(strategy, workload)
    if weights is None:
        return float(variance * found.sum())
    if np.shape(weights) != found.shape:
        raise ParameterError(
            f"{found.size:,} queries have as many weights, got the shape {np.shape(weights)}.",
            hint="Give one weight per query, 0 for those that do not matter.",
        )
    return float(variance * (found @ np.asarray(weights)))


def by_length(strategy: Operator) -> LengthError:
    """The mean error factor of all ranges of a line, for each length.

    Errors: ParameterError above 8,192 cells, where sampled ranges serve, and where the strategy
    does not determine every cell.

    >>> from onesided.linear import Identity
    >>> by_length(Identity(3)).factor.round(3).tolist()
    [1.0, 2.0, 3.0]
    """
    cells = strategy.shape[1]
    if cells > _MOST_CELLS:
        raise ParameterError(
            f"{cells:,} cells have too many ranges to average.", hint="Use sampled_ranges."
        )
    check_spans(strategy, Identity(cells))
    inverse = influences(strategy, np.eye(cells))
    # With S the table of sums of the inverse, a range l .. h has S_hh - S_lh - S_hl + S_ll.
    table = np.zeros((cells + 1, cells + 1))
    table[1:, 1:] = inverse.cumsum(axis=0).cumsum(axis=1)
    ends = np.diagonal(table)
    means = [
        np.mean(ends[k:] + ends[:-k] - np.diagonal(table, k) - np.diagonal(table, -k))
        for k in range(1, cells + 1)
    ]
    lengths = np.arange(1, cells + 1)
    return LengthError(lengths, lengths[::-1].copy(), np.array(means))


def laplace_variance(scale: float) -> float:
    """The variance of Laplace noise: twice its scale squared.

    >>> laplace_variance(2.0)
    8.0
    """
    return 2 * scale * scale


def _rows(workload: Operator, chosen: Array) -> Array:
    """Some of the queries, a column each."""
    if isinstance(workload, Ranges):
        return workload.part(chosen).adjoint(np.eye(chosen.size))
    picked = np.zeros((workload.shape[0], chosen.size))
    picked[chosen, np.arange(chosen.size)] = 1
    return workload.adjoint(picked)


def _factors(strategy: Operator, workload: Operator, chosen: Array) -> Array:
    rows = _rows(workload, chosen)
    if _rounded(strategy):
        return upper_factors(strategy, rows)
    return np.asarray(np.sum(rows * influences(strategy, rows), axis=0))


_PLAIN: Final = (Identity, Prefix, Suffix)


def _axes(strategy: Operator, ranges: Ranges) -> list[tuple[Operator, Array, Array]]:
    """What is measured along each axis, and the ends there; none where there is no formula."""
    if isinstance(strategy, Kron):
        parts: tuple[Operator, ...] = (strategy.first, strategy.second)
    elif isinstance(strategy, Identity):
        parts = tuple(map(Identity, ranges.grid))
    else:
        parts = (strategy,) if isinstance(strategy, _PLAIN) else ()
    if tuple(part.shape[1] for part in parts) != ranges.grid or not strategy.solvable:
        return []
    return list(zip(parts, ranges.lows.T, ranges.highs.T, strict=True))


def _of_ranges(strategy: Operator, ranges: Ranges) -> Array | None:
    """(A x B)'(A x B) inverts factor by factor, and a rectangle is a product of ranges."""
    axes = _axes(strategy, ranges)
    return np.asarray(np.prod([_along(*one) for one in axes], axis=0)) if axes else None


def _along(part: Operator, lows: Array, highs: Array) -> Array:
    """Factors along one axis, worked out once for each range that occurs."""
    if isinstance(part, Identity):
        return np.asarray(highs - lows, dtype=float)
    if isinstance(part, Prefix | Suffix):
        return 1.0 + ((lows > 0) if isinstance(part, Prefix) else (highs < part.shape[1]))
    ends, place = np.unique(np.stack([lows, highs], axis=1), axis=0, return_inverse=True)
    single = Ranges(part.shape[1], ends[:, 0], ends[:, 1])
    return factors(part, single)[place.ravel()]


# Answers held to sums of cells that are known: public totals, which cost nothing.
#
# Claim. Let c be the least-squares cells of noisy answers ``A x + noise``, and let ``T x = t`` be
# known exactly, where A spans T. With ``G = A'A`` and ``C = W G^-1 T' (T G^-1 T')^-1`` the
# answers ``W c + C (t - T c)`` to W are unbiased, those of least squares under ``T x = t``, and
# their variances are those of ``W c`` less ``C (T G^-1 T') C'``: none is larger.
# Proof. ``c + G^-1 T' (T G^-1 T')^-1 (t - T c)`` minimises ``|A x - A c|^2`` under ``T x = t``
# (Lagrange). Its error is that of c less its projection on the rows of T in the norm of G^-1.
# So the answers are ``C t`` and what noise is left to: least squares of the workload ``W - C T``.
# A query that is a whole multiple of each total, and of no other cell, is known exactly.


class Held(Sized):
    """``W - C T``: the part of the answers that is left to noise, once the totals are known.

    share: C, a weight for each query and total. known: which queries are whole multiples of totals.
    saved: what each query's factor is less than without totals.

    >>> from onesided.linear import Identity, Prefix
    >>> held = Held.of(Identity(2), Prefix(2), Totals([0, 0]))
    >>> held.dense().tolist(), held.factors(Identity(2)).tolist(), held.known.tolist()
    ([[0.5, -0.5], [0.0, 0.0]], [0.5, 0.0], [False, True])
    """

    def __init__(
        self, workload: Operator, totals: Totals, share: Array, saved: Array, known: Array
    ) -> None:
        self.workload, self.totals, self.share = workload, totals, share
        self.saved, self.known, self.shape = saved, known, workload.shape

    @classmethod
    def of(cls, strategy: Operator, workload: Operator, totals: Totals) -> Held | None:
        """None where the strategy does not span the totals, which then add nothing to it."""
        try:
            check_spans(strategy, totals)
        except ParameterError:
            return None
        rows = totals.adjoint(np.eye(totals.shape[0]))
        near = influences(strategy, rows)
        joint = np.asarray(workload.apply(near), dtype=float)
        share = np.linalg.solve(totals.apply(near), joint.T).T
        known = _known(workload, totals)
        if known.any():
            within = np.asarray(workload.apply(rows))[known]
            share[known] = np.rint(within / totals.sizes)
        return cls(workload, totals, share, np.einsum("ij,ij->i", joint, share), known)

    def apply(self, values: Array) -> Array:
        told = np.asarray(values, dtype=float)
        return np.asarray(self.workload.apply(told) - self.share @ self.totals.apply(told))

    def adjoint(self, values: Array) -> Array:
        told = np.asarray(values, dtype=float)
        return np.asarray(self.workload.adjoint(told) - self.totals.adjoint(self.share.T @ told))

    def factors(self, strategy: Operator) -> Array:
        """The variance of each answer per variance of one noise; 0 where it is known."""
        return self.less(factors(strategy, self.workload))

    def weights(self, strategy: Operator, chosen: Array) -> Array:
        """Per chosen query, with what weights its answer takes the strategy's noisy answers."""
        every = np.arange(self.totals.shape[0])
        own = weights(strategy, self.workload, chosen)
        own -= self.share[chosen] @ weights(strategy, self.totals, every)
        own[self.known[chosen]] = 0
        return np.asarray(own)

    def less(self, found: Array) -> Array:
        """These factors of the answers without totals, less what the totals save."""
        return np.where(self.known, 0.0, np.maximum(found - self.saved, 0.0))


def held_factors(strategy: Operator, workload: Operator, public: Totals | None) -> Array:
    """:func:`onesided.linear.error_factors` of answers that are held to public totals.

    >>> from onesided.linear import Identity, Prefix
    >>> held_factors(Identity(2), Prefix(2), Totals([0, 0])).tolist()
    [0.5, 0.0]
    """
    found = error_factors(strategy, workload)
    held = None if public is None else Held.of(strategy, workload, public)
    return np.asarray(found if held is None else held.less(found))


def _known(workload: Operator, totals: Totals) -> Array:
    """Which queries have one weight on all cells of each total, and none on any other cell."""
    if isinstance(workload, Dense):
        matrix = workload.matrix
    elif workload.is_non_negative and workload.largest == 1:
        # Of zeros and ones: all cells of a total or none, and nothing beside.
        within = np.asarray(workload.apply(totals.adjoint(np.ones(totals.shape[0], np.int64))))
        every = np.asarray(workload.apply(np.ones(workload.shape[1], dtype=np.int64)))
        parts = np.asarray(workload.apply(totals.adjoint(np.eye(totals.shape[0], dtype=np.int64))))
        return np.asarray((within == every) & ((parts == 0) | (parts == totals.sizes)).all(axis=1))
    else:
        return np.zeros(workload.shape[0], dtype=bool)
    first = np.zeros(totals.shape[0], dtype=np.int64)
    first[totals.places[::-1]] = totals.inside[::-1]
    rebuilt = np.zeros_like(matrix)
    rebuilt[:, totals.inside] = matrix[:, first[totals.places]]
    return np.asarray((rebuilt == matrix).all(axis=1))
