"""A channel chosen by a linear programme, and made exact."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

import numpy as np

from onesided.errors import MissingDependencyError
from onesided.mechanism.local._columns import Least, Matrix, lifted
from onesided.mechanism.local._estimate import FloatArray

_NOISE: Final = 1e-9
_BITS: Final = 53
_MOST_SPARE: Final = Fraction(1, 8)


def programmed(count: int, least: Least) -> Matrix:
    """Rows of chances that keep ``least`` exactly; k-ary response at the least weight if need be.

    The programme maximises how far each letter's own report is likelier from it than from any
    other, at least and on average. Floats end here: the table is repaired in exact fractions.
    """
    rows = _exact(_solved(count, least), count, least)
    if rows and np.linalg.matrix_rank([[float(p) for p in row] for row in rows], tol=1e-6) == count:
        return rows
    share = max(least.values())
    own = 1 / (1 + (count - 1) * share)
    return [[own if x == o else own * share for o in range(count)] for x in range(count)]


def _solved(count: int, least: Least) -> FloatArray:
    """The programme's table, as good as floats are."""
    try:
        from scipy.optimize import linprog  # noqa: PLC0415 - optional, and slow to load
        from scipy.sparse import coo_array  # noqa: PLC0415 - as above
    except ImportError:
        raise MissingDependencyError(
            "This policy's randomiser is chosen by a linear programme, which needs scipy.",
            hint="pip install 'onesided[verify]', or use k_ary_response.",
        ) from None
    margin, entries, line = count * count, [], 0
    for (x, y), share in least.items():
        for o in range(count):
            entries += [(line, x * count + o, float(share)), (line, y * count + o, -1.0)]
            line += 1
    for o in range(count):
        for z in set(range(count)) - {o}:
            own, other = o * count + o, z * count + o
            entries += [(line, other, 1.0), (line, own, -1.0), (line, margin, 1.0)]
            line += 1
    rows, columns, values = (np.array(part) for part in zip(*entries, strict=True))
    sums = [(x, x * count + o, 1.0) for x in range(count) for o in range(count)]
    ones, where, all_ones = (np.array(part) for part in zip(*sums, strict=True))
    gain = np.zeros(margin + 1)
    gain[[x * count + x for x in range(count)]] = -1 / count
    gain[margin] = -1
    found: Any = linprog(
        gain,
        A_ub=coo_array((values, (rows, columns)), shape=(line, margin + 1)).tocsr(),
        b_ub=np.zeros(line),
        A_eq=coo_array((all_ones, (ones, where)), shape=(count, margin + 1)).tocsr(),
        b_eq=np.ones(count),
        bounds=(0, 1),
        method="highs",
    )
    if found.x is None:
        return np.full((count, count), 1 / count)
    table: FloatArray = np.clip(found.x[:margin], 0, 1).reshape(count, count)
    return table


def _exact(table: FloatArray, count: int, least: Least) -> Matrix:
    """Lift each column to its constraints, scale down, and give what is missing to one column.

    Sums and multiples of columns that keep the constraints keep them. What the rows lack differs a
    little between letters; scaling makes all of it large enough for that to be within the odds.
    Nothing is returned where that would take too much.
    """
    clean = np.where(table < _NOISE, 0, table)
    columns = [
        lifted({x: Fraction(float(clean[x, o])) for x in range(count)}, count, least)
        for o in range(count)
    ]
    sums = [sum(column[x] for column in columns) for x in range(count)]
    spare = Fraction(1, 2**24)
    while spare < _MOST_SPARE:
        unit = Fraction(1, 2**_BITS)
        scale = (1 - spare) / max(sums) // unit * unit
        lacking = [1 - scale * total for total in sums]
        if all(lacking[x] * share <= lacking[y] for (x, y), share in least.items()):
            break
        spare *= 2
    else:
        return []
    rows = [[scale * column[x] for column in columns] for x in range(count)]
    for members in _components(count, least):
        # The column that is likeliest throughout changes least, and keeps other zeros as they are.
        fullest = max(members, key=lambda o: min(columns[o][x] for x in members))
        for x in members:
            rows[x][fullest] += lacking[x]
    return rows


def _components(count: int, least: Least) -> list[list[int]]:
    """Letters joined by edges, whichever way; between components nothing is compared."""
    group = list(range(count))
    for x, y in least:
        old, new = group[x], group[y]
        group = [new if found == old else found for found in group]
    return [[x for x in range(count) if group[x] == g] for g in dict.fromkeys(group)]
