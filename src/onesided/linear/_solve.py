"""Least squares: closed forms where a strategy has one, conjugate gradients, totals on trees."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from onesided._english import many
from onesided._numbers import positive
from onesided._plugins import optional
from onesided.errors import ParameterError
from onesided.linear._operator import Array, Operator, Totals
from onesided.linear._strategies import Hierarchy, Prefix, Suffix

_SMALL: Final = 1_024
_EXACT: Final = 1e-12
_MOST_STEPS: Final = 10_000
_CLOSE: Final = 1e-10
_APART: Final = 1e-6
_CLOSEST: Final = 1e-8
_NEAR_ENOUGH: Final = 1e-6
_NEARER: Final = 1e-3
_MOST_INSIDE: Final = 2_048
_BLOCK: Final = 64
_KEEP: Final = 0.995
_DAMPED: Final = 1e-8
_MOST_NEWTON: Final = 100


def least_squares(strategy: Operator, noisy: Array) -> Array:
    """The cells that fit the noisy answers best: ``A+ noisy``, in floats.

    Errors: ParameterError unless there is one answer per row.

    >>> from onesided.linear import Prefix, least_squares
    >>> least_squares(Prefix(3), [1, 3, 6]).tolist()
    [1.0, 2.0, 3.0]
    """
    answers = one_per_row(strategy, noisy)
    found = strategy.solve(answers)
    if found is not None:
        return found
    if strategy.shape[1] <= _SMALL:
        matrix = strategy.dense().astype(float)
        return np.asarray(np.linalg.lstsq(matrix, answers, rcond=None)[0])
    if strategy.determined:
        return by_gradients(strategy, strategy.adjoint(answers))
    return _iterate(strategy, answers)


Solver: TypeAlias = Callable[[Array], Array]


class Fit(NamedTuple):
    """Cells of at least 0, and whether their sums are known to be the nearest to the answers.

    >>> Fit(np.array([1.0]), near=True).near
    True
    """

    cells: Array
    near: bool


def non_negative(operator: Operator, answers: Array) -> Array:
    """Cells of at least 0 whose sums are nearest to these answers: :func:`nearest`.

    Errors: ParameterError unless there is one answer per row, and where it is not known that these
    cells are the nearest.

    >>> from onesided.linear import Identity
    >>> non_negative(Identity(3), np.array([4.0, -2.0, 1.0])).tolist()
    [4.0, 0.0, 1.0]
    """
    found = nearest(operator, answers)
    if not found.near:
        raise ParameterError(
            f"The fit of {many(operator.shape[0], 'answer')} to cells of at least 0 did not end.",
            hint="Ask fewer queries at once.",
        )
    return found.cells


def nearest(
    operator: Operator, answers: Array, *, totals: Totals | None = None, sums: Array | None = None
) -> Fit:
    """Cells of at least 0, with these totals, whose sums are nearest to these answers.

    The sums of such cells are a convex set, and this is the projection on it: it is as near as
    the answers were, or nearer, to the sums of any such cells, the true ones too.
    In closed form where no two cells are added up; prefix sums by isotonic regression (Hay et al.
    2010; delta-neighbourhood, section 5.5; where all its bounds are those of a cut); others by an
    interior point method for up to 2,048 answers or cells, up to a part in 10^6 of the squared
    distance; above that by L-BFGS-B, without the totals and up to a part in 10^3.
    ``near`` says whether that was reached.
    Errors: ParameterError unless there is one answer per row.

    >>> from onesided.linear import Identity
    >>> nearest(Identity(3), [4, -2, 1], totals=Totals([0, 0, 0]), sums=[4]).cells.tolist()
    [3.5, 0.0, 0.5]
    """
    wanted = one_per_row(operator, answers)
    kept = None if totals is None else np.maximum(np.asarray(sums, dtype=float), 0)
    if isinstance(operator, Prefix | Suffix) and (totals is None or totals.of_all):
        forward = isinstance(operator, Prefix)
        rising = wanted if forward else wanted[::-1]
        most = np.inf if kept is None else kept[0]
        risen = rising if kept is None else rising[:-1]
        steps = _scipy("optimize").isotonic_regression(risen).x if risen.size else risen
        upto = np.clip(steps, 0, most) if kept is None else np.append(np.clip(steps, 0, most), most)
        cells = np.diff(upto, prepend=0.0)
        return Fit(np.asarray(cells if forward else cells[::-1]), near=True)
    unlike = 1 + np.arange(operator.shape[1]) * 0.618033988749895 % 1
    own = operator.adjoint(operator.apply(np.ones(operator.shape[1])))
    apart = operator.adjoint(operator.apply(unlike)) - own * unlike
    if operator.is_non_negative and np.abs(apart).max() <= _EXACT * np.abs(own).max():
        best = np.divide(operator.adjoint(wanted), own, out=np.zeros_like(unlike), where=own > 0)
        if totals is None or kept is None:
            return Fit(np.asarray(np.maximum(best, 0)), near=True)
        return Fit(_with_totals(best, own, totals, kept), near=True)
    if min(operator.shape) <= _MOST_INSIDE:
        return _inside(operator, wanted, totals, kept)
    return _bounded(operator, wanted)


def _with_totals(best: Array, own: Array, totals: Totals, kept: Array) -> Array:
    """Each total's cells of at least 0 that are nearest, where cell i counts ``own[i]`` times.

    They are ``max(best - level / own, 0)``; cells that do not count take up what is left over.
    """
    cells = np.maximum(best, 0)
    for k, total in enumerate(kept):
        among = totals.inside[totals.places == k]
        free, some = among[own[among] == 0], among[own[among] > 0]
        cells[free] = 0
        if free.size and cells[some].sum() <= total:
            cells[free] = (total - cells[some].sum()) / free.size
            continue
        order = np.argsort(-best[some] * own[some], kind="stable")
        some = some[order]
        levels = (np.cumsum(best[some]) - total) / np.cumsum(1 / own[some])
        last = np.flatnonzero((best * own)[some] > levels)
        level = levels[last[-1] if last.size else 0]
        cells[some] = np.maximum(best[some] - level / own[some], 0)
    return np.asarray(cells)


def _inside(operator: Operator, wanted: Array, totals: Totals | None, kept: Array | None) -> Fit:
    """The same inside the cells above 0, by Newton's steps corrected once (Mehrotra 1992).

    With slopes z of at least 0, and any price of the totals, ``2 x'z`` bounds how much nearer to
    the answers, squared, any sums of such cells could be; steps end where that, with what the
    slopes are off by, is a part in 10^8 of the squared distance, or in 10^6 and falls no more.
    """
    rows, cells = operator.shape
    size = float(np.abs(wanted).max()) or 1.0
    x = np.full(cells, size / cells)
    prices = np.zeros(0 if totals is None else totals.shape[0])
    if totals is not None and kept is not None:
        kept = np.maximum(kept, _EXACT * size)
        x[totals.inside] = (kept / totals.sizes)[totals.places]
    z = np.full(cells, max(float(np.abs(operator.adjoint(operator.apply(x) - wanted)).max()), 1.0))
    solver = _by_cells(operator) if cells <= rows else _by_rows(operator)
    held: tuple[Totals, Array, Array] | None = None
    # Cells in no query cost nothing, and grow: what their slopes are off by does not matter.
    counted, over = np.ones(cells, dtype=bool), math.inf
    if operator.is_non_negative:
        counted = operator.adjoint(operator.apply(np.ones(cells))) > 0
    for _ in range(_MOST_NEWTON):
        gap = operator.apply(x) - wanted
        slope, left = operator.adjoint(gap), _squared(gap, gap)
        if totals is not None:
            slope = slope - totals.adjoint(prices)
        off, middle = slope - z, _squared(x, z) / cells
        before, over = over, 2 * (middle * cells + _squared(np.abs(off) * counted, x))
        near = over <= _NEAR_ENOUGH * left + _EXACT * size * size
        if over <= _CLOSEST * left + _EXACT * size * size or (near and over > before / 2):
            return Fit(x, near=True)
        try:
            solve = solver(z / x)
            if totals is not None and kept is not None:
                held = totals, kept, solve(totals.adjoint(np.eye(prices.size)))
        except np.linalg.LinAlgError:  # as near as floats can tell
            break
        move, change, _ = _step(-x * z, (x, z, off), solve, held)
        part = min(_within(x, move), _within(z, change))
        after = _squared(x + part * move, z + part * change) / cells
        target = (after / middle) ** 3 * middle - x * z - move * change
        move, change, turn = _step(target, (x, z, off), solve, held)
        part = min(1.0, _KEEP * min(_within(x, move), _within(z, change)))
        x, z, prices = x + part * move, z + part * change, prices + part * turn
    return Fit(x, near=False)


def _step(
    target: Array,
    point: tuple[Array, Array, Array],
    solve: Solver,
    held: tuple[Totals, Array, Array] | None,
) -> tuple[Array, Array, Array]:
    """How cells, slopes and prices move for products ``x z`` to move by ``target``.

    point: cells, slopes, and what the slopes are off by.
    """
    x, z, off = point
    move, turn = solve(target / x - off), np.zeros(0)
    if held is not None:
        totals, kept, ways = held
        turn = np.linalg.solve(totals.apply(ways), kept - totals.apply(x + move))
        move = move + ways @ turn
    return move, (target - z * move) / x, turn


def _within(values: Array, step: Array) -> float:
    """How much of a step keeps all values at 0 or above; of more than all of it, 1 / _KEEP."""
    down = step < 0
    most = 1 / _KEEP
    return min(most, float(np.min(values[down] / -step[down]))) if down.any() else most


def _by_cells(operator: Operator) -> Callable[[Array], Solver]:
    """What solves ``(W'W + diag(weights)) x = y``, for few cells."""
    square = np.asarray(operator.adjoint(operator.apply(np.eye(operator.shape[1]))), dtype=float)
    damped = _DAMPED**2 * float(square.diagonal().max())
    return lambda weights: _cholesky(square + np.diag(weights + damped))


def _by_rows(operator: Operator) -> Callable[[Array], Solver]:
    """The same for few rows, by the identity of Woodbury."""
    rows, cells = operator.shape
    overlaps = operator.overlaps()
    # Or else sums of cells are lost beside cells that cost nothing.
    damped = _DAMPED * float(np.max(operator.adjoint(operator.apply(np.ones(cells))))) / cells

    def solver(weights: Array) -> Solver:
        reach = 1 / (weights + damped)
        inner = _cholesky(np.eye(rows) + overlaps(reach))

        def solve(values: Array) -> Array:
            near = (values.T * reach).T
            turned = operator.adjoint(inner(operator.apply(near)))
            return np.asarray(near - (turned.T * reach).T)

        return solve

    return solver


def _cholesky(matrix: Array) -> Solver:
    """What solves ``matrix x = y`` for a positive definite matrix, in blocks of 64.

    BLAS multiplies such blocks in the calling thread. Larger ones it shares out to threads, which
    wait for each other: on busy cores that took 20 times as long.
    Errors: LinAlgError where it is not positive definite.
    """
    size = len(matrix)
    many = -(-size // _BLOCK)
    padded = np.eye(many * _BLOCK)
    padded[:size, :size] = matrix
    parts = padded.reshape(many, _BLOCK, many, _BLOCK).transpose(0, 2, 1, 3).copy()
    inverse = np.empty((many, _BLOCK, _BLOCK))
    for k in range(many):
        inverse[k] = np.linalg.inv(np.linalg.cholesky(parts[k, k]))
        below = parts[k + 1 :, k] @ inverse[k].T
        parts[k + 1 :, k] = below
        turned = below.transpose(0, 2, 1)
        for i in range(k + 1, many):
            parts[i, k + 1 : i + 1] -= below[i - k - 1] @ turned[: i - k]

    def solve(values: Array) -> Array:
        found = np.zeros((many * _BLOCK, *values.shape[1:]))
        found[:size] = values
        told = found.reshape(many, _BLOCK, -1)
        for k in range(many):
            told[k] = inverse[k] @ (told[k] - (parts[k, :k] @ told[:k]).sum(axis=0))
        for k in reversed(range(many)):
            above = parts[k + 1 :, k].transpose(0, 2, 1) @ told[k + 1 :]
            told[k] = inverse[k].T @ (told[k] - above.sum(axis=0))
        return found[:size]

    return solve


def influences(strategy: Operator, queries: Array) -> Array:
    """``(A'A)^-1`` times each column of ``queries`` (cells, many): of which errors are made."""
    found = strategy.gram_solve(queries)
    if found is not None:
        return found
    if strategy.shape[1] <= _SMALL:
        matrix = strategy.dense().astype(float)
        return np.asarray(np.linalg.pinv(matrix.T @ matrix, hermitian=True) @ queries)
    return by_gradients(strategy, queries) if strategy.determined else _twice(strategy, queries)


def check_spans(strategy: Operator, workload: Operator) -> None:
    """Refuse a strategy from whose answers some query cannot be had at all.

    A query of the workload with unlike weights is rebuilt from the strategy's rows; a set of
    queries that are not all spanned has no more than accidental weights where that works.
    Errors: ParameterError.

    >>> from onesided.linear import Dense, Identity
    >>> check_spans(Identity(2), Dense([[1, 1]]))
    >>> check_spans(Dense([[1, 1]]), Identity(2))
    Traceback (most recent call last):
        ...
    onesided.errors.ParameterError: The strategy does not span the workload: some query is no
    combination of its rows. Hint: Add the cells themselves, for example with Stack([Identity(n),
    ...]).
    """
    if strategy.shape[1] != workload.shape[1]:
        raise ParameterError(
            f"A strategy over {many(strategy.shape[1], 'cell')} cannot answer a workload over "
            f"{workload.shape[1]:,}.",
            hint="Build both on the same cells.",
        )
    if strategy.determined:
        return
    for turn in (0.618033988749895, 0.414213562373095):
        weights = 0.5 + (np.arange(1, workload.shape[0] + 1) * turn) % 1.0
        query = workload.adjoint(weights)
        if strategy.shape[1] <= _SMALL:
            matrix = strategy.dense().astype(float)
            rows = np.linalg.lstsq(matrix.T, query, rcond=None)[0]
        else:
            rows = _iterate(strategy.T, query)
        size = max(float(np.linalg.norm(query)), 1.0)
        missed = float(np.linalg.norm(strategy.adjoint(rows) - query)) / size
        if not missed <= _APART:
            raise ParameterError(
                "The strategy does not span the workload: some query is no combination of its "
                "rows.",
                hint="Add the cells themselves, for example with Stack([Identity(n), ...]).",
                missed=missed,
            )


def one_per_row(strategy: Operator, noisy: object) -> Array:
    """Answers as floats. Errors: ParameterError."""
    answers: Array = np.asarray(noisy, dtype=float)
    if answers.shape[:1] != strategy.shape[:1]:
        raise ParameterError(
            f"The strategy has {many(strategy.shape[0], 'row')}, got answers of shape "
            f"{answers.shape}.",
            hint="Give one answer per row of the strategy, in the order of its rows.",
        )
    return answers


def _iterate(operator: Operator, values: Array) -> Array:
    """LSMR: least squares of least norm, by products alone."""
    sparse = _scipy("sparse.linalg")
    linear = _scipy("sparse.linalg").LinearOperator(
        operator.shape,
        matvec=lambda values: operator.apply(np.asarray(values, dtype=float).ravel()),
        rmatvec=lambda values: operator.adjoint(np.asarray(values, dtype=float).ravel()),
        dtype=float,
    )
    found = sparse.lsmr(linear, values, atol=_EXACT, btol=_EXACT, conlim=0, maxiter=_MOST_STEPS)
    return np.asarray(found[0])


def _twice(strategy: Operator, queries: Array) -> Array:
    """``A+ (A')+`` times each query, which also serves where the cells are not determined."""
    each = queries.reshape(len(queries), -1).T
    found = [_iterate(strategy, _iterate(strategy.T, query)) for query in each]
    return np.stack(found, axis=1).reshape(queries.shape)


def by_gradients(strategy: Operator, queries: Array, close: float = _CLOSE) -> Array:
    """``(A'A)^-1`` times one query, or each column of some, by conjugate gradients."""
    start = np.asarray(queries, dtype=float)
    found = conjugate_gradients(
        lambda values: strategy.adjoint(strategy.apply(values)), start, close=close
    )
    return _twice(strategy, start) if found is None else found


def conjugate_gradients(
    product: Callable[[Array], Array], start: Array, *, close: float
) -> Array | None:
    """The x whose positive definite ``product`` is ``start``, up to ``close`` of its length.

    Of several columns, each up to so much of its own. None if 10,000 steps do not lead there.

    >>> conjugate_gradients(lambda x: 2 * x, np.array([2.0, 4.0]), close=1e-9).tolist()
    [1.0, 2.0]
    """
    found, first = np.zeros_like(start), _products(start, start)

    def add(step: Array, _size: Array, way: Array) -> None:
        np.add(found, step * way, out=found)

    def near(size: Array) -> bool:
        return bool(np.all(size <= close * close * first))

    return found if near(descended(product, start, add, near)) else None


def descended(
    product: Callable[[Array], Array],
    start: Array,
    add: Callable[[Array, Array, Array], None],
    done: Callable[[Array], bool],
) -> Array:
    """Conjugate gradients, all columns at once: the squared lengths of what is left at the end.

    add: told of each step its length, what was left before, and its way.
    Lengths are summed by einsum: BLAS does so in threads, which wait for each other a thousand
    times as long as the sum takes where cores are busy. So SciPy's own, which not everybody has,
    takes as long on idle cores and five times on busy ones.
    """
    left, way = start.copy(), start.copy()
    size = _products(left, left)
    for _ in range(_MOST_STEPS):
        if done(size):
            break
        turned = product(way)
        curve = _products(way, turned)
        if np.any((size > 0) & ~(curve > 0)):
            break
        step = np.divide(size, curve, out=np.zeros_like(size), where=size > 0)
        add(step, size, way)
        left -= step * turned
        before, size = size, _products(left, left)
        way *= np.divide(size, before, out=np.zeros_like(size), where=before > 0)
        way += left
    return size


def _products(one: Array, two: Array) -> Array:
    """The product of two vectors, or of each column with the other's."""
    return np.asarray(np.einsum("i...,i...->...", one, two))


def _squared(one: Array, two: Array) -> float:
    return float(_products(one, two))


Loss: TypeAlias = Callable[[Array], tuple[float, Array]]


def _gaps(operator: Operator, answers: Array) -> Loss:
    """Half the squared distance of cells' sums from the answers, and its slopes."""

    def loss(cells: Array) -> tuple[float, Array]:
        gap = operator.apply(cells) - answers
        return _squared(gap, gap) / 2, operator.adjoint(gap)

    return loss


def _lowest(loss: Loss, start: Array, **options: float) -> Array:
    """A minimum over cells of at least 0, by L-BFGS-B."""
    found = _scipy("optimize").minimize(
        loss,
        np.maximum(start, 0),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * len(start),
        options=options,
    )
    return np.asarray(found.x)


def _bounded(operator: Operator, answers: Array) -> Fit:
    """By gradients. How near it is follows from sums that are no longer than the answers are.

    With sums r away and slopes g, no cells x* of at least 0 are nearer, squared, by more than
    ``2 (g'x - min(g) sum(x*))``, and what x* sum up to is at most the sum of their answers.
    """
    loss = _gaps(operator, answers)
    own = operator.adjoint(operator.apply(np.ones(operator.shape[1])))
    start = np.divide(operator.adjoint(answers), own, where=own > 0, out=0.0 * own)
    cells = _lowest(loss, start, maxiter=1_000, ftol=0, gtol=0)
    half, slope = loss(cells)
    most = math.sqrt(answers.size) * float(np.linalg.norm(answers))
    over = _squared(slope, cells) - min(float(slope.min()), 0.0) * most
    return Fit(cells, near=operator.is_non_negative and 2 * over <= _NEARER * 2 * half)


def _scipy(part: str) -> Any:
    reason = "This strategy needs SciPy's solvers, and SciPy is not installed."
    return optional(f"scipy.{part}", reason, 'pip install "onesided[linear]"')


# Cells of at least 0 that are likely behind noisy answers, where most cells are empty.
#
# Claim. Only noisy answers and public facts enter, so the fit is free of charge. It minimises
# ``sum h(gap / scale) + sum log(1 + 10 x / (3 scale))`` over cells x of at least 0. The gaps are
# those of the strategy's noisy answers, and h is Huber's function: the square below the scale,
# and beyond it the distance, as in the likelihood of noise with geometric tails. Each cell's
# prior falls with one power of its size, from three tenths of the scale on: a small cell is drawn
# to 0 and a large one is left as it is.
# Why not least squares? Cells of at least 0 lift what noise put below 0, and sums of many empty
# cells add that up. Least squares weighs a total against all the cells below it, and still lets
# them.
# The prior is wrong where cells are full, and least squares is right there. So the answer is the
# mean of both, weighted by the share of cells that the likely fit leaves empty.
# The power, the three tenths and the mixture were chosen on eight made-up maps (cities, roads,
# round numbers, smooth and scattered ones): there its squared error of rectangles is 0.70 to 0.79
# of least squares' in the geometric mean, and at most 1.07 on any.

_PART: Final = 0.3
# Where to stop, for what is measured in units of the noise.
_LIKELY: Final = {"maxiter": 200, "maxcor": 10, "ftol": 1e-7, "gtol": 1e-4}
_EMPTY: Final = 1e-9
_NEAR: Final = 1e-4


def likeliest(strategy: Operator, noisy: Array, *, scale: float) -> Array:
    """Cells of at least 0 that are likely behind noisy answers, best where most cells are empty.

    scale: of a row's noise: the mean distance from its middle. The strategy's largest entry says
    what one row's noise is to a cell. A local optimum, the same for equal answers.
    Errors: ParameterError unless there is one answer per row, and for a scale that is not above 0;
    MissingDependencyError without SciPy.

    >>> from onesided.linear import staggered
    >>> strategy = staggered((4, 4))
    >>> cells = np.zeros(16)
    >>> cells[5] = 100
    >>> likeliest(strategy, strategy.apply(cells), scale=1.0).round()[5]
    np.float64(100.0)
    """
    noise, part = float(positive(scale, name="scale")), _PART / strategy.largest
    answers = one_per_row(strategy, noisy) / noise
    least = _least(strategy, answers)
    found = _likely(strategy, answers, least, part)
    empty = float(np.mean(found <= _EMPTY))
    return np.asarray((empty * found + (1 - empty) * least) * noise)


def _least(strategy: Operator, answers: Array) -> Array:
    """Least squares over cells of at least 0, from those over all."""
    start = by_gradients(strategy, strategy.adjoint(answers), _NEAR)
    return _lowest(_gaps(strategy, answers), start, **_LIKELY)


def _likely(strategy: Operator, answers: Array, start: Array, part: float) -> Array:
    def loss(cells: Array) -> tuple[float, Array]:
        gap = strategy.apply(cells) - answers
        near = np.clip(gap, -1, 1)
        prior = 1 + cells / part
        height = float(np.sum(near * gap - near * near / 2) + np.sum(np.log(prior)))
        return height, strategy.adjoint(near) + 1 / (part * prior)

    return _lowest(loss, start, **_LIKELY)


# Totals over a tree of intervals whose levels are measured at different accuracies.


FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]


def tree_sums(cells: NDArray[Any], branching: int) -> list[NDArray[Any]]:
    """Per level, from the cells up to the one total, the sum of each node, exactly.

    A node has the next ``branching`` nodes of the level below; the last may have fewer.

    >>> [level.tolist() for level in tree_sums(np.array([1, 2, 3]), 2)]
    [[1, 2, 3], [3, 3], [6]]
    """
    tree = Hierarchy(len(cells), branching)
    return tree.split(tree.apply(np.asarray(cells)))[::-1]


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
    good = all(v >= 0 for v in variances) and len(variances) == len(levels) and bool(variances)
    if not good or np.isinf(variances[0]):
        raise ParameterError(
            f"{len(levels)} levels need as many variances of at least 0, finite for the cells, "
            f"got {list(variances)!r}.",
            hint="Give the variance of each level's noise, from the cells up.",
        )
    return Hierarchy(len(levels[0]), branching).fitted(levels, variances)


# Counts of at least 0 over a tree, whose sums stay those that the tree knows well.
#
# Claim. From consistent estimates, every node of the answer is at least 0, is the sum of its
# children, and the children are the nearest such numbers (least squares) to their own estimates.
# Method. From the root down: the root's estimate, or 0; then each node's children are projected
# onto the numbers of at least 0 with that sum, which takes one common amount off those that stay
# above 0.
# Why not the least squares of all levels at once, or each cell cut at 0? A cut lifts every cell
# whose noise was below 0, and a sum over m empty cells by m times the mean of that. Least squares
# weighs a total against the many cells below it, and so still lets them lift it. Here what is
# lifted in one cell is taken off its siblings, so a node's total keeps its own error, and a range
# is as near as the nodes that it is made of. On made-up histograms with 2 to 100 % of the cells
# filled, its squared error over ranges and over cells was below that of both, and of the unbiased
# estimates.
# It sees noisy estimates alone, so it is free of charge.


def non_negative_tree(cells: FloatArray, branching: int) -> FloatArray:
    """Cells of at least 0 from consistent estimates of cells: totals first, then their parts.

    branching: of the tree that the estimates come from. Errors: ParameterError for no branching.

    >>> import numpy as np
    >>> non_negative_tree(np.array([4.0, 1.0, -2.0]), 3).tolist()
    [3.0, 0.0, 0.0]
    """
    levels = tree_sums(np.asarray(cells, dtype=np.float64), branching)
    totals: FloatArray = np.maximum(levels[-1], 0.0)
    for level in levels[-2::-1]:
        totals = _shared(level, totals, min(branching, level.size))
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
    return np.asarray(np.maximum(nodes - least[:, None], 0.0).ravel()[: level.size])


# How a tree's levels share a noise rate, and its branching: least error over all ranges of cells.
#
# Claim. Let every node of level k be measured at variance ``v_k`` and estimates be least squares.
# With b children a node, let ``s_0 = v_0`` and ``1 / s_k = 1 / v_k + 1 / (b s_(k-1))``, the
# variances of the way up. Over ranges with both ends drawn at random the mean variance is, up to
# rounding at the ends of uneven trees, ``F = s_root / 6 + sum over nodes of s (b - 1) / 6 (2p -
# p^2)``, where s is the children's variance and p the node's share of all cells.
# Proof idea. Least-squares errors are a Gaussian's on the tree: given a node's, those of its
# children are an even part of it and deviations of covariance ``s (I - J / b)``, independent of
# all others. A range takes part of a node's deviations only if it ends in the node, with chance
# ``2p - p^2``. With t of the node's cells in it that gives ``s b t (1 - t)``, and ``s b / 6`` in
# the mean over its ends; ``s / 6`` less because a child's own part within is even.
# F is concave in the variances (sums and parallel sums are), so it lies below its tangents. With
# ``v = 1 / share^2`` a tangent is least where shares go with the cube roots of its slopes, so
# each step of that rule lowers F. It starts from even shares. Only public facts enter.

_POWERS: Final = (2, 4, 8, 16, 32, 64)
_MOST_LEVELS: Final = 8
_ROUNDS: Final = 120
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
    found = []
    for start in starts:
        shares, (error, following) = start, tree.error(start)
        for _ in range(_ROUNDS):
            shares, before = following, error
            error, following = tree.error(shares)
            if before - error < _LEAST * _LEAST * error:
                break
        found.append((error, shares))
    return min(found, key=lambda one: one[0])


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
