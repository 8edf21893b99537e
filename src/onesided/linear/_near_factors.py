"""Error factors of strategies that hold every cell, by conjugate gradients that stop early.

Claim. Let the strategy A hold every cell as a row of its own, so that ``G = A'A`` is at least the
identity. For a query q and any x with ``r = q - G x`` and r'x = 0 the factor ``q'G^-1 q`` lies
between ``q'x`` and ``q'x + r'r``: it is ``q'x + r'G^-1 r + r'x``, and ``G^-1`` is at most the
identity. Conjugate gradients keep r'x at 0, and ``q'x`` only grows. So the upper end is reported,
never too small, once the ends are within one part in a thousand: long before x itself is known
as well.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from onesided.linear._operator import Array, Operator
from onesided.linear._staggered import Staggered

_APART: Final = 1e-3
_MOST_STEPS: Final = 10_000
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
    answers = workload.apply(_solved(strategy, strategy.adjoint(noise)))
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


def _solved(strategy: Operator, sums: Array) -> Array:
    """``(A'A)^-1`` times each column, to a millionth of its length."""
    left, way, found = sums.copy(), sums.copy(), np.zeros_like(sums)
    size = first = _columns(sums, sums)
    for _ in range(_MOST_STEPS):
        if (size <= _CLOSE * _CLOSE * first).all():
            break
        turned = strategy.adjoint(strategy.apply(way))
        step = np.divide(size, _columns(way, turned), out=np.zeros_like(size), where=size > 0)
        found += step * way
        left -= step * turned
        before, size = size, _columns(left, left)
        way *= np.divide(size, before, out=np.zeros_like(size), where=before > 0)
        way += left
    return found


def _upper(strategy: Operator, queries: Array) -> Array:
    left, way = queries.copy(), queries.copy()
    size = _columns(left, left)
    found = np.zeros(queries.shape[1])
    for _ in range(_MOST_STEPS):
        if (size <= _APART * found).all():
            break
        turned = strategy.adjoint(strategy.apply(way))
        step = np.divide(size, _columns(way, turned), out=np.zeros_like(size), where=size > 0)
        # q'x grows by step * q'way, and q'way is r'r: earlier residuals are orthogonal to the way.
        found += step * size
        left -= step * turned
        before, size = size, _columns(left, left)
        way *= np.divide(size, before, out=np.zeros_like(size), where=before > 0)
        way += left
    return found + size


def _columns(one: Array, two: Array) -> Array:
    products: Array = np.einsum("ij,ij->j", one, two)
    return products
