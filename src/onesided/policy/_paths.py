"""Distances along several moves: between records, and between whole data sets."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count

from onesided._numbers import INFINITE, Loss
from onesided.policy._base import Policy
from onesided.policy._shift import ABSENT, Record


@dataclass(frozen=True, slots=True)
class Path:
    """The shortest way for one record to pass as another, through the ``steps`` named.

    A mechanism that keeps (ε, policy) loses at most ``ε * length`` along it.

    >>> from onesided.policy import graph
    >>> office = graph([("home", "work"), ("work", "bar")])
    >>> home, work, bar = places = office.records(["home", "work", "bar"], max_groups=1)
    >>> way = paths_from(office, home, records=places)[bar]
    >>> way.moves, way.length
    (2, Fraction(2, 1))
    """

    steps: tuple[Record, ...]
    length: Fraction

    @property
    def moves(self) -> int:
        """How many moves it takes."""
        return len(self.steps) - 1


def paths_from(
    policy: Policy, start: Record, *, records: Iterable[Record], weighted: bool = True
) -> dict[Record, Path]:
    """The shortest path to every record that ``start`` can reach by moves among ``records``.

    ``weighted=False`` counts each move as 1. Distances are directed: the way back may be longer
    or not exist. They are a quasi-metric: 0 to itself, and never longer than by way of a third.

    >>> from onesided.policy import graph
    >>> steps = graph([("a", "b", "1/2"), ("b", "c")])
    >>> a, b, c = records = steps.records(["a", "b", "c"], max_groups=1)
    >>> [str(way.length) for way in paths_from(steps, a, records=records).values()]
    ['0', '1/2', '3/2']
    """
    pool, tick = tuple(records), count()
    done: dict[Record, Path] = {}
    queue: list[tuple[Fraction, int, tuple[Record, ...]]] = [(Fraction(0), next(tick), (start,))]
    while queue:
        length, _, steps = heapq.heappop(queue)
        if steps[-1] in done:
            continue
        done[steps[-1]] = Path(steps, length)
        for other in pool:
            edge = policy.edge_between(steps[-1], other) if other not in done else None
            if edge is not None:
                step = edge.weight if weighted else Fraction(1)
                heapq.heappush(queue, (length + step, next(tick), (*steps, other)))
    return done


def path(
    policy: Policy, real: Record, other: Record, *, records: Iterable[Record], weighted: bool = True
) -> Path | None:
    """The shortest path from ``real`` to ``other`` by moves among ``records``; None if none.

    >>> from onesided import policy
    >>> places = policy.graph([("a", "b"), ("b", "c")])
    >>> records = places.records(["a", "b", "c"], max_groups=1)
    >>> policy.path(places, records[0], records[2], records=records).moves
    2
    """
    return paths_from(policy, real, records=records, weighted=weighted).get(other)


def data_distance(
    policy: Policy,
    real: Iterable[Record],
    other: Iterable[Record],
    *,
    records: Iterable[Record],
    weighted: bool = False,
) -> Loss:
    """The fewest moves (or least total length) from one data set to another; INFINITE if none.

    Data sets are bags: each record of one takes the place of one of the other, so the answer is
    the cheapest assignment by shortest paths. Absent records fill up where the policy has them.
    This is the ``k`` of the bounds on one-sided answers, counted from ``real``.

    >>> from onesided.policy import addition_only
    >>> policy = addition_only()
    >>> gone, here = rows = policy.records([], max_groups=1)
    >>> data_distance(policy, [here, here], [], records=rows)
    Fraction(2, 1)
    >>> data_distance(policy, [], [here, here], records=rows)
    INFINITE
    """
    here = [record for record in real if record.kind != ABSENT]
    there = [record for record in other if record.kind != ABSENT]
    pool = tuple(records)
    if ABSENT in policy.kinds:
        absent = Record(ABSENT)
        here, there = here + [absent] * len(there), there + [absent] * len(here)
    if len(here) != len(there):
        return INFINITE
    ways = {
        record: paths_from(policy, record, records=pool, weighted=weighted) for record in set(here)
    }
    found = ([ways[one].get(two) for two in there] for one in here)
    costs = [[None if way is None else way.length for way in row] for row in found]
    return _cheapest(costs)


def _cheapest(costs: Sequence[Sequence[Fraction | None]]) -> Loss:
    """Least total of a one-to-one assignment, by shortest augmenting paths (Bellman-Ford)."""
    size, total = len(costs), Fraction(0)
    row_of: dict[int, int] = {}
    for start in range(size):
        best: dict[int, tuple[Fraction, int | None]] = {}
        frontier: list[tuple[int, Fraction, int | None]] = [(start, Fraction(0), None)]
        while frontier:
            row, so_far, via = frontier.pop()
            for column, cost in enumerate(costs[row]):
                if cost is None or row_of.get(column) == row:
                    continue
                reached = so_far + cost
                if column not in best or reached < best[column][0]:
                    best[column] = (reached, via)
                    if column in row_of:
                        back = row_of[column]
                        held = costs[back][column]
                        if held is not None:
                            frontier.append((back, reached - held, column))
        free = [column for column in best if column not in row_of]
        if not free:
            return INFINITE
        end: int | None = min(free, key=lambda column: best[column][0])
        total += best[end][0]  # type: ignore[index]
        while end is not None:
            via = best[end][1]
            row_of[end] = start if via is None else row_of[via]
            end = via
    return total
