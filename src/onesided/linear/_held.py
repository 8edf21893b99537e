"""Answers held to sums of cells that are known: public totals, which cost nothing.

Claim. Let c be the least-squares cells of noisy answers ``A x + noise``, and let ``T x = t`` be
known exactly, where A spans T. With ``G = A'A`` and ``C = W G^-1 T' (T G^-1 T')^-1`` the answers
``W c + C (t - T c)`` to W are unbiased, those of least squares under ``T x = t``, and their
variances are those of ``W c`` less ``C (T G^-1 T') C'``: none is larger.
Proof. ``c + G^-1 T' (T G^-1 T')^-1 (t - T c)`` minimises ``|A x - A c|^2`` under ``T x = t``
(Lagrange). Its error is that of c less its projection on the rows of T in the norm of G^-1.
So the answers are ``C t`` and what noise is left to: least squares of the workload ``W - C T``.
A query that is a whole multiple of each total, and of no other cell, is known exactly.
"""

from __future__ import annotations

import numpy as np

from onesided.errors import ParameterError
from onesided.linear._error import error_factors, factors, weights
from onesided.linear._operator import Array, Dense, Operator, Totals
from onesided.linear._solve import check_spans, influences


class Held(Operator):
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
        self.saved, self.known = saved, known

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

    @property
    def shape(self) -> tuple[int, int]:
        return self.workload.shape

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
