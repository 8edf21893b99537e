"""How far a strategy's answers can move along one move of a policy, rises and falls apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import numpy as np

from onesided._english import many
from onesided.errors import ParameterError
from onesided.linear._moves import Border, Moves
from onesided.linear._operator import Array, Operator, change
from onesided.linear._sweeps import Sweep
from onesided.policy import Edge, Shift

# Some minutes of work on one core.
MOST_PAIRS: Final = 10**9
_BLOCK: Final = 2**20
_FEW: Final = 2**16
_MOST_SUM: Final = 2**60
Corner = tuple[int, int]


def strategy_shifts(
    strategy: Operator, moves: Moves, *, most: int = MOST_PAIRS
) -> dict[Edge, tuple[Shift, ...]]:
    """Per edge, the extreme shifts of ``strategy @ counts``; exact whole numbers.

    A move x -> y between cells shifts the answers by column y less column x; one that leaves a
    cell takes its column away, one that enters adds it. Kept are the corners of the region of
    (rise, fall) that bound ``upper_rate * fall + lower_rate * rise`` for all rates. An edge
    along which nothing moves has Shift(rise=0, fall=0).
    Cost: one formula per pair of joined cells; for strategies whose changes grow with distance
    only the farthest pairs are looked at.
    most: how many pairs may be gone through.
    Errors: ParameterError for shapes that do not match, or more pairs than that.

    >>> from onesided import linear, policy
    >>> moves = linear.moves_of(policy.graph([(0, 1), (1, 2)]), 3)
    >>> list(linear.strategy_shifts(linear.Prefix(3), moves).values())
    [(Shift(rise=1, fall=0), Shift(rise=0, fall=1))]
    """
    if strategy.shape[1] != moves.cells:
        raise ParameterError(
            f"A strategy over {many(strategy.shape[1], 'cell')} does not fit the policy's "
            f"{many(moves.cells, 'cell')}.",
            hint="Use one layout of cells for both.",
        )
    if strategy.shape[0] * strategy.largest > _MOST_SUM:
        raise ParameterError(
            f"Columns of {many(strategy.shape[0], 'row')} with entries up to {strategy.largest:,} "
            "may "
            "have sums that do not fit 62 bits.",
            hint="Use smaller weights.",
        )
    found: dict[Edge, list[Corner]] = {edge: [(0, 0)] for edge in moves.edges}
    seen: dict[int, list[Corner]] = {}
    for edge, sweep in moves.sweeps:
        if id(sweep) not in seen:
            seen[id(sweep)] = _swept(strategy, sweep, most)
        found[edge] += seen[id(sweep)]
    for edge, border in moves.borders:
        found[edge] += _crossed(strategy, border)
    return {
        edge: tuple(Shift(rise=rise, fall=fall) for rise, fall in corners(all_of_it))
        for edge, all_of_it in found.items()
    }


def sensitivity(shifts: Mapping[Edge, Iterable[Shift]]) -> int:
    """The largest L1 distance along any move: what the paper calls the sensitivity.

    >>> from onesided import linear, policy
    >>> moves = linear.moves_of(policy.graph([(0, 1), (1, 2)]), 3)
    >>> linear.sensitivity(linear.strategy_shifts(linear.Prefix(3), moves))
    1
    """
    return max(shift.rise + shift.fall for many in shifts.values() for shift in many)


def _swept(strategy: Operator, sweep: Sweep, most: int) -> list[Corner]:
    corner_to_corner = sweep.plane is not None and strategy.monotone_on(sweep.plane)
    pairs = sweep.far() if corner_to_corner else sweep
    work = pairs.count if strategy.meets(*_PROBE) else pairs.count * sum(strategy.shape)
    if work > most:
        raise ParameterError(
            f"The policy joins about {pairs.count:,} pairs of cells, too many to go through for "
            "this strategy.",
            hint="Use fewer cells, a smaller radius, or a strategy whose changes grow with "
            "distance: identity, hierarchy or quadtree, or on a line prefix sums.",
            pairs=pairs.count,
        )
    front: list[Corner] = []
    for starts, ends in _gathered(pairs.blocks()):
        rise, fall = change(strategy, starts, ends)
        front = _extended(front, rise, fall)
    swapped = [(fall, rise) for rise, fall in front] if sweep.both_ways else []
    return front + swapped


def _gathered(blocks: Iterable[tuple[Array, Array]]) -> Iterator[tuple[Array, Array]]:
    """The same pairs in fewer blocks: where everything is joined there is one per distance."""
    starts: list[Array] = []
    ends: list[Array] = []
    for one, two in blocks:
        starts.append(one)
        ends.append(two)
        if sum(map(len, starts)) >= _FEW:
            yield np.concatenate(starts), np.concatenate(ends)
            starts, ends = [], []
    if starts:
        yield np.concatenate(starts), np.concatenate(ends)


_PROBE: Final = (np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))


def _crossed(strategy: Operator, border: Border) -> list[Corner]:
    """Leaving takes a column's positive entries down and its negative ones up; entering back.

    In several cells at once, the sums of each at its most: never too little.
    """
    front: list[Corner] = []
    for cells in _chunks(border.cells, strategy):
        rise, fall = _column_sums(strategy, cells)
        if not border.enter:
            rise, fall = fall, rise
        front = _extended(front, rise, fall)
    if border.times > 1 and front:
        rises, falls = zip(*front, strict=True)
        front = [(border.times * max(rises), border.times * max(falls))]
    return front


def _column_sums(strategy: Operator, cells: Array) -> tuple[Array, Array]:
    sizes = strategy.meets(cells, cells)
    if sizes is not None:
        shape = cells.shape
        return np.broadcast_to(sizes[0], shape), np.broadcast_to(sizes[3], shape)
    columns = strategy.columns(cells)
    return np.maximum(columns, 0).sum(axis=0), np.maximum(-columns, 0).sum(axis=0)


def _chunks(cells: Array, strategy: Operator) -> Iterator[Array]:
    formula = strategy.meets(*_PROBE) is not None
    size = _BLOCK if formula else max(1, 4 * _BLOCK // sum(strategy.shape))
    return (cells[at : at + size] for at in range(0, len(cells), size))


def _extended(front: list[Corner], rise: Array, fall: Array) -> list[Corner]:
    """The corners with these pairs added; most are below a corner known, and drop out at once."""
    if rise.size:
        top = int(np.argmax(rise + fall))
        front = [*front, (int(rise[top]), int(fall[top]))]
    new = np.ones(rise.shape, dtype=bool)
    for known_rise, known_fall in front:
        new &= (rise > known_rise) | (fall > known_fall)
    if not new.any():
        return corners(front)
    others = np.unique(np.stack([rise[new], fall[new]], axis=1), axis=0)
    return corners([*front, *((int(r), int(f)) for r, f in others)])


def corners(points: Iterable[Corner]) -> list[Corner]:
    """The upper right of the points' convex hull, from most rise to most fall."""
    front: list[Corner] = []
    for rise, fall in sorted(set(points), reverse=True):
        if front and fall <= front[-1][1]:
            continue
        while len(front) > 1 and _inside(front[-2], front[-1], (rise, fall)):
            front.pop()
        front.append((rise, fall))
    return front


def _inside(one: Corner, middle: Corner, two: Corner) -> bool:
    """Whether the middle one lies on or below the line from one to two."""
    along = (two[0] - one[0]) * (middle[1] - one[1]) - (two[1] - one[1]) * (middle[0] - one[0])
    return along >= 0
