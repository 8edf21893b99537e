"""Least squares: closed forms where a strategy has one, conjugate gradients where not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from onesided._english import many
from onesided._numbers import positive
from onesided.errors import MissingDependencyError, ParameterError
from onesided.linear._operator import Array, Operator
from onesided.linear._strategies import Identity, Prefix, Suffix

_SMALL: Final = 1_024
_EXACT: Final = 1e-12
_MOST_STEPS: Final = 10_000
_CLOSE: Final = 1e-10
_APART: Final = 1e-6


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
        return _by_gradients(strategy, strategy.adjoint(answers))
    return _iterate(strategy, answers)


def non_negative(strategy: Operator, noisy: Array) -> Array:
    """The cells of at least 0 that fit the noisy answers best.

    Prefix sums of such cells are those that never fall: isotonic regression (Hay et al. 2010;
    delta-neighbourhood, section 5.5). Others by SciPy: exact active sets when small, L-BFGS-B
    when large.
    Errors: ParameterError unless there is one answer per row.

    >>> from onesided.linear import Identity
    >>> non_negative(Identity(3), np.array([4.0, -2.0, 1.0])).tolist()
    [4.0, 0.0, 1.0]
    """
    answers = one_per_row(strategy, noisy)
    if isinstance(strategy, Identity):
        return np.asarray(np.maximum(answers, 0))
    if isinstance(strategy, Prefix | Suffix):
        forward = isinstance(strategy, Prefix)
        rising = answers if forward else answers[::-1]
        sums = np.maximum(_scipy("optimize").isotonic_regression(rising).x, 0)
        cells = np.diff(sums, prepend=0.0)
        return np.asarray(cells if forward else cells[::-1])
    if strategy.shape[1] <= _SMALL:
        matrix = strategy.dense().astype(float)
        return np.asarray(_scipy("optimize").lsq_linear(matrix, answers, bounds=(0, np.inf)).x)
    return _bounded(strategy, answers)


def influences(strategy: Operator, queries: Array) -> Array:
    """``(A'A)^-1`` times each column of ``queries`` (cells, many): of which errors are made."""
    found = strategy.gram_solve(queries)
    if found is not None:
        return found
    if strategy.shape[1] <= _SMALL:
        matrix = strategy.dense().astype(float)
        return np.asarray(np.linalg.pinv(matrix.T @ matrix, hermitian=True) @ queries)
    solve = _by_gradients if strategy.determined else _twice
    return np.stack([solve(strategy, query) for query in np.asarray(queries).T], axis=1)


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
    linear = _linear_operator(operator)
    found = sparse.lsmr(linear, values, atol=_EXACT, btol=_EXACT, conlim=0, maxiter=_MOST_STEPS)
    return np.asarray(found[0])


def _twice(strategy: Operator, query: Array) -> Array:
    """``A+ (A')+ query``, which also serves where the cells are not determined."""
    return _iterate(strategy, _iterate(strategy.T, query))


def _by_gradients(strategy: Operator, query: Array) -> Array:
    """``(A'A)^-1 query`` by conjugate gradients."""
    start = np.asarray(query, dtype=float)
    found = conjugate_gradients(
        lambda values: strategy.adjoint(strategy.apply(values)), start, close=_CLOSE
    )
    return _twice(strategy, start) if found is None else found


def conjugate_gradients(
    product: Callable[[Array], Array], start: Array, *, close: float
) -> Array | None:
    """The x whose positive definite ``product`` is ``start``, up to ``close`` of its length.

    None if 10,000 steps do not lead there. Lengths are summed by einsum: BLAS does so in threads,
    which wait for each other a thousand times as long as the sum takes where cores are busy. So
    SciPy's own, which not everybody has, takes as long on idle cores and five times on busy ones.

    >>> conjugate_gradients(lambda x: 2 * x, np.array([2.0, 4.0]), close=1e-9).tolist()
    [1.0, 2.0]
    """
    found, left, way = np.zeros_like(start), start.copy(), start.copy()
    size = first = _squared(left, left)
    for _ in range(_MOST_STEPS):
        if size <= close * close * first:
            return found
        turned = product(way)
        curve = _squared(way, turned)
        if not curve > 0:
            return None
        found += size / curve * way
        left -= size / curve * turned
        before, size = size, _squared(left, left)
        way = left + size / before * way
    return None


def _squared(one: Array, two: Array) -> float:
    return float(np.einsum("i,i->", one, two))


def _bounded(strategy: Operator, answers: Array) -> Array:
    start = np.maximum(least_squares(strategy, answers), 0)

    def loss(cells: Array) -> tuple[float, Array]:
        gap = strategy.apply(cells) - answers
        return _squared(gap, gap) / 2, strategy.adjoint(gap)

    found = _scipy("optimize").minimize(
        loss,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * len(start),
        options={"maxiter": 2_000, "ftol": 1e-12, "gtol": 1e-6},
    )
    return np.asarray(found.x)


def _linear_operator(operator: Operator) -> Any:
    return _scipy("sparse.linalg").LinearOperator(
        operator.shape,
        matvec=lambda values: operator.apply(np.asarray(values, dtype=float).ravel()),
        rmatvec=lambda values: operator.adjoint(np.asarray(values, dtype=float).ravel()),
        dtype=float,
    )


def _scipy(part: str) -> Any:
    from importlib import import_module  # noqa: PLC0415 - an extra

    try:
        return import_module(f"scipy.{part}")
    except ImportError:
        raise MissingDependencyError(
            "This strategy needs SciPy's solvers, and SciPy is not installed.",
            hint='pip install "onesided[linear]"',
        ) from None


# Cells of at least 0 that are likely behind noisy answers, where most cells are empty.
#
# Claim. Only noisy answers and public facts enter, so the fit is free of charge. It minimises
# ``sum h(gap / scale) + sum log(1 + 10 x / (3 scale))`` over cells x of at least 0. The gaps are
# those of the strategy's noisy answers, and h is Huber's function: the square below the scale, and
# beyond it the distance, as in the likelihood of noise with geometric tails. Each cell's prior
# falls
# with one power of its size, from three tenths of the scale on: a small cell is drawn to 0 and a
# large one is left as it is.
# Why not least squares? Cells of at least 0 lift what noise put below 0, and sums of many empty
# cells add that up. Least squares weighs a total against all the cells below it, and still lets
# them.
# The prior is wrong where cells are full, and least squares is right there. So the answer is the
# mean
# of both, weighted by the share of cells that the likely fit leaves empty.
# The power, the three tenths and the mixture were chosen on eight made-up maps (cities, roads,
# round
# numbers, smooth and scattered ones): there its squared error of rectangles is 0.70 to 0.79 of
# least
# squares' in the geometric mean, and at most 1.07 on any.

_PART: Final = 0.3
_STEPS: Final = 200
_KEPT: Final = 10
_FLAT: Final = 1e-7
_SLOPE: Final = 1e-4
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
    sums = strategy.adjoint(answers)
    found = conjugate_gradients(
        lambda cells: strategy.adjoint(strategy.apply(cells)), sums, close=_NEAR
    )

    def loss(cells: Array) -> tuple[float, Array]:
        gap = strategy.apply(cells) - answers
        return float(np.einsum("i,i->", gap, gap)) / 2, strategy.adjoint(gap)

    return _descended(loss, np.zeros_like(sums) if found is None else found)


def _likely(strategy: Operator, answers: Array, start: Array, part: float) -> Array:
    def loss(cells: Array) -> tuple[float, Array]:
        gap = strategy.apply(cells) - answers
        near = np.clip(gap, -1, 1)
        prior = 1 + cells / part
        height = float(np.sum(near * gap - near * near / 2) + np.sum(np.log(prior)))
        return height, strategy.adjoint(near) + 1 / (part * prior)

    return _descended(loss, start)


def _descended(loss: Callable[[Array], tuple[float, Array]], start: Array) -> Array:
    """A minimum over cells of at least 0, for what is measured in units of the noise."""
    found = _scipy("optimize").minimize(
        loss,
        np.maximum(start, 0),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * len(start),
        options={"maxiter": _STEPS, "maxcor": _KEPT, "ftol": _FLAT, "gtol": _SLOPE},
    )
    return np.asarray(found.x)
