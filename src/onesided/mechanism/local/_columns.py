"""Columns of chances that keep a policy's constraints, in exact fractions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

from onesided.mechanism.local._odds import round_up_to

# For each edge (x, y), by places: a chance of x times this is the least that y must have.
Least: TypeAlias = Mapping[tuple[int, int], Fraction]
Matrix: TypeAlias = list[list[Fraction]]


def lifted(column: Mapping[int, Fraction], count: int, least: Least) -> list[Fraction]:
    """The least column of 64-bit chances that is not below ``column`` and keeps all constraints.

    Raises each target to what its sources demand. Rounding up keeps ``v(y) >= t v(x)``, and never
    makes a chance larger than the one it came from, so that cycles come to rest.
    """
    held = [round_up_to(column.get(place, Fraction(0)), bits=64) for place in range(count)]
    for _ in range(count + 1):
        changed = False
        for (x, y), share in least.items():
            due = round_up_to(held[x] * share, bits=64)
            if held[y] < due:
                held[y], changed = due, True
        if not changed:
            break
    return held


def solve_ones(matrix: Matrix) -> list[Fraction] | None:
    """The exact solution c of ``matrix @ c = 1``; None if the matrix is singular.

    Bareiss's elimination: whole numbers throughout, no common factors to look for.
    """
    count = len(matrix)
    rows = [_whole_row(row) for row in matrix]
    before = 1
    for step in range(count):
        pivot = next((r for r in range(step, count) if rows[r][step]), None)
        if pivot is None:
            return None
        rows[step], rows[pivot] = rows[pivot], rows[step]
        head = rows[step]
        for r in range(step + 1, count):
            row, first = rows[r], rows[r][step]
            for j in range(step, count + 1):
                row[j] = (row[j] * head[step] - first * head[j]) // before
        before = head[step]
    found = [Fraction(0)] * count
    for r in reversed(range(count)):
        rest = sum((rows[r][j] * found[j] for j in range(r + 1, count)), Fraction(0))
        found[r] = (rows[r][count] - rest) / rows[r][r]
    return found


def _whole_row(row: Sequence[Fraction]) -> list[int]:
    """A row and the right-hand side 1, times what makes all of them whole."""
    common = max(entry.denominator for entry in row)
    return [*(int(entry * common) for entry in row), common]
