"""What no mechanism can do better, and what leaving somebody out gives away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import (
    INFINITE,
    Infinite,
    Loss,
    Number,
    exact,
    non_negative,
    strict_share,
    whole,
)
from onesided.errors import ParameterError, PolicyError
from onesided.policy import ABSENT, Policy

# Freedom from exclusion attacks: how far leaving somebody out can give them away.


def exclusion_freedom(
    policy: Policy, losses: Mapping[str, Loss], *, protected: Sequence[str] = ("sensitive",)
) -> Loss:
    """φ: an observer's odds that a protected record is one value rather than another grow by e^φ.

    The largest loss over the edges from protected kinds to *every* kind of record, as given by
    name (a pure ``Guarantee.epsilon``); INFINITE if the policy has no such edge or no loss is
    given for it. ε for a mechanism that keeps (ε, P)-OSDP.
    Direction: only from the protected record; the observer's prior must treat records as
    independent. Source: OSDP Definition 3.4, Theorem 3.1.
    Errors: PolicyError for a kind that the policy does not have, and for a view.

    >>> from onesided.policy import sensitive
    >>> policy = sensitive("minor")
    >>> exclusion_freedom(policy, {edge.name: 1 for edge in policy.edges})
    1
    """
    unknown = set(protected) - set(policy.kinds)
    if unknown or not protected:
        raise PolicyError(
            f"The policy {policy.name!r} has no kind {min(unknown, default='')!r}.",
            hint=f"Its kinds are {', '.join(policy.kinds)}.",
        )
    if policy.view is not None:
        raise PolicyError(
            f"Under a view a record stays in its {policy.view.over}, so it cannot pass as one of "
            "another, and φ is infinite.",
            hint=f"Take unit={policy.view.over!r} and sensitive(...).",
        )
    present = [kind for kind in policy.kinds if kind != ABSENT]
    known = {(edge.source, edge.target): edge.name for edge in policy.edges}
    found = [
        losses.get(known.get((source, target), ""), INFINITE)
        for source in protected
        for target in present
    ]
    return max(found)


def suppress_freedom(threshold: Loss | Number) -> Loss:
    """φ = τ for the Suppress algorithm of personalised privacy; INFINITE for τ = ∞.

    Suppress drops every record that asks for less than τ and runs a τ-private computation on the
    rest. Leaving the protected record out is what an observer may notice, at e^τ, however
    small an ε the record asked for.
    Two conditions that the paper leaves unsaid (tests/bounds/test_exclusion.py): the
    protected record does ask for less than τ, and the computation is τ-private for *adding and
    removing* records; with replacement only, its size may tell and φ is infinite.
    Source: OSDP Theorem 3.4.

    >>> from onesided.bounds import suppress_freedom
    >>> suppress_freedom(2)
    Fraction(2, 1)
    """
    if isinstance(threshold, Infinite):
        return threshold
    return non_negative(threshold, name="threshold")


# How often many counts can be certified at once: a limit that no mechanism can pass.
#
# A unit may be in ``max_groups`` of the groups, and a move takes it out of all of them. Of n
# groups
# ``free`` hold f units, the others (``full``) t + 1, and ``room`` is t + 1 - f. No group that is
# full
# may be certified to hold at most t. A mechanism that sees the counts alone cannot tell where free
# and full ones are but by the data, and after some moves r more of them look free. So, averaged
# over
# all places that the free ones can have, at least c are certified with probability at most
#
#     T(c) = min over k of  e^(k room ε) * prod over j = 1 .. k max_groups of (1 - c / (free + j)),
#
# whatever the mechanism. Proof: docs/proofs/many-counts.md. Independent noise at ε / max_groups
# certifies the share 1 - e^(-room ε / max_groups), and for many groups nothing does better.

_ROUNDING = 1e-9
_MOST = 10**6


def certified_share(
    *, epsilon: Number, max_groups: int, room: int = 1, free: int, full: int
) -> float:
    """The most of the ``free`` counts that any mechanism certifies on average; rounded up.

    epsilon: what each move may lose. room: t + 1 - f, at least 1.
    Errors: ParameterError for invalid numbers, or more than a million counts.

    >>> from math import exp
    >>> limit = certified_share(epsilon=1, max_groups=2, free=10**4, full=10**4)
    >>> round(limit, 3), round(1 - exp(-1 / 2), 3)  # no mechanism; independent noise
    (0.4, 0.393)
    >>> certified_share(epsilon=1, max_groups=2, free=10, full=0)  # nothing to confuse them with
    1.0
    """
    loss = float(non_negative(epsilon, name="epsilon")) * whole(room, name="room", least=1)
    groups = whole(max_groups, name="max_groups", least=1)
    number, others = whole(free, name="free", least=1), whole(full, name="full")
    if number + others > _MOST:
        raise ParameterError(
            f"{number + others:,} counts are more than {_MOST:,}.",
            hint="The limit hardly moves any more: ask for fewer.",
        )
    tails = np.exp(_log_tail(loss, groups, number, others))
    return min(1.0, float(tails.mean()) * (1 + _ROUNDING) + _ROUNDING)


def _log_tail(loss: float, groups: int, free: int, full: int) -> NDArray[np.float64]:
    """``ln T(c)`` for c = 1 .. free. In k it is convex, so its least is found by halving.

    Each block of factors is nearer to 1 than the one before.
    """
    count, most = np.arange(1, free + 1), full // groups
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, free + full + 1)))])

    def at(k: NDArray[np.int64]) -> NDArray[np.float64]:
        more = k * groups
        found: NDArray[np.float64] = (
            k * loss
            + logs[free + more - count]
            + logs[free]
            - logs[free + more]
            - logs[free - count]
        )
        return found

    low, high = np.zeros(free, dtype=np.int64), np.full(free, most, dtype=np.int64)
    while (low < high).any():
        middle = (low + high) // 2
        falls = at(np.minimum(middle + 1, most)) < at(middle)
        low, high = np.where(falls & (low < high), middle + 1, low), np.where(falls, high, middle)
    return np.minimum(0.0, at(low))


# One-sided geometric noise is the best there is: everything else is made from it.
#
# A mechanism that sees a count in 0 .. n is a matrix, ``matrix[i][j] = Pr[answer j | count i]``.
# Under a policy whose moves lower the count by one at loss ε it must satisfy, for every i and j,
# ``matrix[i + 1][j] <= e^ε matrix[i][j]`` and nothing else.
#
# Theorem. With ``p = e^-ε`` and ``A`` the matrix of ``min(count + G, n)``, a matrix ``M`` keeps
# that
# promise **iff** ``M = A T`` for a stochastic ``T``: every mechanism is one-sided geometric noise
# and then something that no longer sees the data.
#
# Proof. Row i of A is ``A_i = (1 - p) e_i + p A_{i+1}`` for i < n (either G = 0, or one step has
# been
# taken and the rest is again geometric), and ``A_n = e_n``. So A can be inverted: ``T = A^-1 M``
# has the rows ``T_i = (M_i - p M_{i+1}) / (1 - p)`` and ``T_n = M_n``. Each sums to 1, and none
# has
# a negative entry iff M keeps its promise. The other way round is post-processing.
#
# This is what ADP-2022 Theorem VIII.3 should say. As printed (no T, any prior, any loss that grows
# with the distance) it does not hold: see docs/papers-errata.md and tests/bounds/test_optimal.py.

Matrix: TypeAlias = tuple[tuple[Fraction, ...], ...]


def geometric_matrix(largest: int, *, ratio: Number) -> Matrix:
    """The matrix of ``min(count + G, largest)``, with ``ratio = e^-ε`` in (0, 1).

    Source: ADP-2022 Definition VIII.1, which gives the mass at the end twice (erratum 11): it is
    ``ratio^(largest - count)``, everything that was clamped.

    >>> [str(share) for share in geometric_matrix(2, ratio="1/2")[0]]
    ['1/2', '1/4', '1/4']
    """
    n, p = whole(largest, name="largest", least=1, most=4096), _ratio(ratio)
    rows = []
    for count in range(n + 1):
        inside = [(1 - p) * p ** (answer - count) for answer in range(count, n)]
        rows.append((*([Fraction(0)] * count), *inside, p ** (n - count)))
    return tuple(rows)


def post_processing(matrix: Sequence[Sequence[Number]], *, ratio: Number) -> Matrix | None:
    """The ``T`` with ``matrix = geometric_matrix(n, ratio) T``; None if the matrix breaks ε.

    Exact. A mechanism whose moves *raise* the count is handled by reversing its rows.
    Errors: ParameterError for rows that are not distributions over the same answers.

    >>> rough = [["1/2", "1/2"], [0, 1]]
    >>> post_processing(rough, ratio="1/2")[0]
    (Fraction(1, 1), Fraction(0, 1))
    >>> post_processing([[1, 0], [0, 1]], ratio="1/2") is None
    True
    """
    rows, p = _rows(matrix), _ratio(ratio)
    made = [
        tuple((x - p * y) / (1 - p) for x, y in zip(one, two, strict=True))
        for one, two in pairwise(rows)
    ]
    made.append(rows[-1])
    return None if any(x < 0 for row in made for x in row) else tuple(made)


def _ratio(value: Number) -> Fraction:
    hint = "It is e^-ε, for example 1/2 for ε = ln 2."
    return strict_share(value, name="ratio", hint=hint)


def _rows(matrix: Sequence[Sequence[Number]]) -> Matrix:
    rows = tuple(tuple(exact(x, name="probability") for x in row) for row in matrix)
    right = rows and all(
        len(row) == len(rows[0]) and sum(row) == 1 and all(x >= 0 for x in row) for row in rows
    )
    if right:
        return rows
    raise ParameterError(
        "Each row of a mechanism's matrix must hold probabilities that sum to exactly 1.",
        hint="Use fractions; all rows list the same answers.",
    )
