"""One-sided geometric noise is the best there is: everything else is made from it.

A mechanism that sees a count in 0 .. n is a matrix, ``matrix[i][j] = Pr[answer j | count i]``.
Under a policy whose moves lower the count by one at loss ε it must satisfy, for every i and j,
``matrix[i + 1][j] <= e^ε matrix[i][j]`` and nothing else.

Theorem. With ``p = e^-ε`` and ``A`` the matrix of ``min(count + G, n)``, a matrix ``M`` keeps that
promise **iff** ``M = A T`` for a stochastic ``T``: every mechanism is one-sided geometric noise
and then something that no longer sees the data.

Proof. Row i of A is ``A_i = (1 - p) e_i + p A_{i+1}`` for i < n (either G = 0, or one step has been
taken and the rest is again geometric), and ``A_n = e_n``. So A can be inverted: ``T = A^-1 M``
has the rows ``T_i = (M_i - p M_{i+1}) / (1 - p)`` and ``T_n = M_n``. Each sums to 1, and none has
a negative entry iff M keeps its promise. The other way round is post-processing.

This is what ADP-2022 Theorem VIII.3 should say. As printed (no T, any prior, any loss that grows
with the distance) it does not hold: see docs/papers-errata.md and tests/bounds/test_optimal.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

from onesided._numbers import Number, exact, strict_share, whole
from onesided.errors import ParameterError

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
