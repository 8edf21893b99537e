"""What a release promises, edge by edge."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from types import MappingProxyType
from typing import Final

from onesided._numbers import INFINITE, Infinite, Loss, odds, readable, round_up, shown, text
from onesided.errors import PolicyError
from onesided.fields import settle
from onesided.policy._base import Policy
from onesided.policy._shift import ABSENT, Record

_MUCH: Final = 10
_MUCH_DELTA: Final = Fraction(1, 100_000)


@dataclass(frozen=True)
class Guarantee:
    """Per edge, the loss (ε, δ) of one or more releases. Comparison is partial.

    ``epsilon`` and ``delta`` map an edge's name to its loss along that edge, in its own
    direction; nothing is said of the way back. ``about`` says which data the answer is about, as
    a sentence; ``scope`` names them where they are not the data as they are. ``made_for`` is the
    policy itself where it is known: many policies share a name, and the names of their edges.
    ``asked`` is what was released, in one line. ``unit`` is the column of those who are protected,
    "" for single rows, where it is known.

    >>> from onesided.policy import Guarantee
    >>> print(Guarantee("presence", {"present -> not present": 1}, {}))
    Under the policy 'presence' -- present -> not present: ε = 1 (pure, δ = 0).
    """

    policy: str
    epsilon: Mapping[str, Loss]
    delta: Mapping[str, Fraction]
    about: str = ""
    scope: str = ""
    made_for: Policy | None = field(default=None, repr=False, compare=False)
    asked: str = ""
    unit: str | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        epsilon, delta = (MappingProxyType(dict(part)) for part in (self.epsilon, self.delta))
        settle(self, epsilon=epsilon, delta=delta)

    @property
    def headline(self) -> Loss:
        """The largest ε over the edges."""
        return max(self.epsilon.values(), default=Fraction(0))

    def same_policy(self, other: Guarantee) -> bool:
        """Whether both are about one policy of one unit; by its name where either knows no more."""
        mine, theirs = self.made_for, other.made_for
        if None not in (self.unit, other.unit) and self.unit != other.unit:
            return False
        if mine is None or theirs is None or self.policy != other.policy:
            return self.policy == other.policy
        return mine is theirs or mine.identity == theirs.identity

    def implies(self, other: Guarantee) -> bool:
        """Whether this promises at least as much on every edge that ``other`` names.

        About the same policy: nothing is said across policies, whatever their edges are called.
        """
        return self.same_policy(other) and all(
            self.epsilon.get(edge, INFINITE) <= bound
            and self.delta.get(edge, Fraction(0)) <= other.delta.get(edge, Fraction(0))
            for edge, bound in other.epsilon.items()
        )

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is unusually large, and what it means in odds; empty for most.

        >>> print(*Guarantee("presence", {"present -> not present": 12}, {}).remarks)
        ε = 12 on present -> not present is large: an answer may change the odds that somebody holds
        about one person by a factor of e^12.
        """
        wide = [
            f"ε = {readable(loss)} on {edge} is large: an answer may change the odds that "
            f"somebody holds about one person by a factor of {odds(loss)}."
            for edge, loss in self.epsilon.items()
            if loss > _MUCH
        ]
        loose = [
            f"δ = {shown(delta, up=True)} on {edge} is large: that is the chance that nothing "
            "is promised, for each person."
            for edge, delta in self.delta.items()
            if delta > _MUCH_DELTA
        ]
        return (*wide, *loose)

    def as_dict(self) -> dict[str, object]:
        """For JSON: exact text beside decimals that are rounded up."""
        return {
            "policy": self.policy,
            "of": self.asked,
            "about": self.about,
            "certain_about": self.scope or "the data as they are",
            "edges": {
                edge: {
                    "epsilon": text(loss),
                    "epsilon_decimal": None if isinstance(loss, Infinite) else round_up(loss),
                    "delta": text(self.delta.get(edge, Fraction(0))),
                    "delta_decimal": round_up(self.delta.get(edge, Fraction(0))),
                }
                for edge, loss in self.epsilon.items()
            },
        }

    def __repr__(self) -> str:
        edges = f"{len(self.epsilon):,} edge{'' if len(self.epsilon) == 1 else 's'}"
        return f"Guarantee({self.policy!r}, at most ε = {readable(self.headline)} on {edges})"

    def __str__(self) -> str:
        return f"{self.asked}. {self.promise}" if self.asked else self.promise

    @property
    def promise(self) -> str:
        """The same without what was released, for where that stands already."""
        parts = ", ".join(f"{edge}: ε = {readable(loss)}" for edge, loss in self.epsilon.items())
        worst = max(self.delta.values(), default=Fraction(0))
        said = shown(worst, up=True)
        pure = " (pure, δ = 0)" if any(one != INFINITE for one in self.epsilon.values()) else ""
        delta = f", δ {'' if said[0] == '≤' else '= '}{said}" if worst else pure
        about = f" {self.about}" if self.about else ""
        return f"Under the policy '{self.policy}' -- {parts}{delta}.{about}"


# What several releases, each under a policy of its own, promise together.


def together(
    *releases: tuple[Policy, Mapping[str, Loss]], accept_unprotected: bool = False
) -> Guarantee:
    """What several pure releases, each with its loss per edge of its own policy, promise together.

    Stated for the intersection of their policies, as the exact sum along each of its edges. An
    edge that a release does not name is not promised at all: its loss is INFINITE.
    accept_unprotected: presence takes units out of the table along the edge by which it takes some
        of their groups away. Where another policy does not hide the one or the other, that edge is
        INFINITE, unless it is accepted that the sum is for the moves that both allow, and that
        somebody may be left with none (``explain()`` names such units).
    Errors: PolicyError for no release, an edge its policy does not have, or no move in common.

    >>> from onesided import policy
    >>> one, two = policy.addition_only(), policy.unbounded()
    >>> print(policy.together((one, {"record -> absent": 1}), (one, {"record -> absent": 2})))
    Under the policy 'addition_only' -- record -> absent: ε = 3 (pure, δ = 0).
    >>> both = policy.together((one, {"record -> absent": 1}), (two, {"record -> absent": 2}))
    >>> print(both.epsilon["record -> absent"])
    3
    """
    totals: dict[str, dict[str, Loss]] = {}
    joint: Policy | None = None
    for policy, losses in releases:
        unknown = set(losses) - {edge.name for edge in policy.edges}
        if unknown:
            raise PolicyError(
                f"The policy {policy.name!r} has no edge {min(unknown)!r}.",
                hint=f"Its edges are {', '.join(edge.name for edge in policy.edges)}.",
            )
        joint = policy if joint is None else joint & policy
        own = totals.setdefault(policy.identity, {})
        for name, loss in losses.items():
            own[name] = own.get(name, Fraction(0)) + loss
    if joint is None:
        raise PolicyError("There are no releases.", hint="Give (policy, {edge name: loss}) pairs.")
    sums = _sums(joint, totals, all_ways=not accept_unprotected)
    return Guarantee(joint.name, sums, {}, made_for=joint)


def _sums(
    joint: Policy, totals: Mapping[str, Mapping[str, Loss]], *, all_ways: bool
) -> dict[str, Loss]:
    result: dict[str, Loss] = {}
    for edge, chosen in joint.joins.items():
        total: Loss = Fraction(0)
        wider = joint.wider(edge) if all_ways else ()
        for part, one in zip(joint.parts, chosen, strict=True):
            hidden = not wider or part in wider
            loss = totals.get(part.identity, {}).get(one.name, INFINITE)
            total = total + (loss if hidden else INFINITE)
        result[edge.name] = total
    return result


# Distances along several moves: between records, and between whole data sets.


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
