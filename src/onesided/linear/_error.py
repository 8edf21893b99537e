"""The exact expected error of least-squares answers, before anything is drawn."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from onesided.errors import ParameterError
from onesided.linear._combine import Kron
from onesided.linear._line import Identity, Prefix, Suffix
from onesided.linear._near_factors import holds_cells, upper_factors
from onesided.linear._operator import Array, Operator
from onesided.linear._solve import check_spans, influences
from onesided.linear._workload import Ranges

# Numbers that one look at errors may work through: some minutes on one core.
MOST_WORK: Final = 2**32
_AT_ONCE: Final = 2**22
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
    if isinstance(workload, Ranges):
        short = _of_ranges(strategy, workload)
        if short is not None:
            return short
    return _near(strategy, workload) if _rounded(strategy) else _worked_out(strategy, workload)


def _rounded(strategy: Operator) -> bool:
    """Whether factors are rounded up by less than one part in a thousand, for speed."""
    return strategy.shape[1] > _SMALL and holds_cells(strategy)


@lru_cache(maxsize=4)
def _near(strategy: Operator, workload: Operator) -> Array:
    """Kept, for a question asks for them when it chooses, when it plans and when it answers."""
    return _worked_out(strategy, workload)


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


def cost(strategy: Operator, workload: Operator) -> int:
    """How many numbers :func:`error_factors` would go through, roughly; 0 for a formula.

    >>> from onesided.linear import Identity
    >>> cost(Identity(16), Identity(16)) > 0
    True
    """
    if isinstance(workload, Ranges) and _has_formula(strategy, workload):
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


def _factors(strategy: Operator, workload: Operator, chosen: Array) -> Array:
    if isinstance(workload, Ranges):
        rows = workload.part(chosen).adjoint(np.eye(chosen.size))
    else:
        picked = np.zeros((workload.shape[0], chosen.size))
        picked[chosen, np.arange(chosen.size)] = 1
        rows = workload.adjoint(picked)
    if _rounded(strategy):
        return upper_factors(strategy, rows)
    return np.asarray(np.sum(rows * influences(strategy, rows), axis=0))


def _has_formula(strategy: Operator, ranges: Ranges) -> bool:
    if isinstance(strategy, Kron):
        sides = (strategy.first.shape[1], strategy.second.shape[1])
        return ranges.grid == sides and strategy.solvable
    return isinstance(strategy, Identity | Prefix | Suffix)


def _of_ranges(strategy: Operator, ranges: Ranges) -> Array | None:
    if not _has_formula(strategy, ranges):
        return None
    if isinstance(strategy, Kron):
        # (A x B)'(A x B) inverts factor by factor, and a rectangle is a product of ranges.
        return np.asarray(
            np.prod(
                [
                    _along(part, ranges.lows[:, axis], ranges.highs[:, axis])
                    for axis, part in enumerate((strategy.first, strategy.second))
                ],
                axis=0,
            )
        )
    if isinstance(strategy, Identity):
        return ranges.lengths.astype(float)
    if len(ranges.grid) > 1:
        return None
    if isinstance(strategy, Prefix):
        return 1.0 + (ranges.lows[:, 0] > 0)
    return 1.0 + (ranges.highs[:, 0] < strategy.shape[1])


def _along(part: Operator, lows: Array, highs: Array) -> Array:
    """Factors along one axis, worked out once for each range that occurs."""
    ends, place = np.unique(np.stack([lows, highs], axis=1), axis=0, return_inverse=True)
    single = Ranges(part.shape[1], ends[:, 0], ends[:, 1])
    return factors(part, single)[place.ravel()]
