"""Moves of one unit and how far they shift counts, in values and in words."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, Final, TypeAlias

from onesided._numbers import INFINITE, Loss, positive, readable, round_up, whole
from onesided.errors import PolicyError
from onesided.fields import settle

# Words that the sentences of all families share.

COMMON: Final = "This holds whatever else the observer knows about the other people in the data."
PUBLIC_NUMBER: Final = "How many records there are in total is treated as public."


def odds(epsilon: float) -> str:
    """``e^epsilon`` in readable digits, rounded up; large values are named as what they are."""
    if epsilon > 20:
        return "more than 485 million"
    value = math.exp(epsilon)
    return f"{math.ceil(value * 100) / 100:,.2f}" if value < 1000 else f"{math.ceil(value):,}"


def likely(epsilon: Fraction, *, other: str = "it would then have been") -> str:
    """What the odds at ``epsilon`` mean. They hold for this ε alone, so the sentence names it.

    >>> likely(Fraction(1, 2))
    'At ε = 1/2, whatever is published is at most 1.65 times as likely as it would then have been.'
    """
    times = odds(round_up(epsilon))
    loss = readable(epsilon)
    return f"At ε = {loss}, whatever is published is at most {times} times as likely as {other}."


def some(values: Sequence[str]) -> str:
    """A list that stays short."""
    shown = ", ".join(repr(value) for value in values[:6])
    return shown if len(values) <= 6 else f"{shown} and {len(values) - 6} more"


# How far answers can move when one record passes as another.

ABSENT = "absent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """The most that a query's answers can rise and fall along one move, each an L1 total.

    Direction: from the real data X to the data Y that it must be able to pass as; ``fall`` is
    what is lower on Y, ``rise`` what is higher. The two are never merged.

    >>> from onesided.policy import Shift
    >>> Shift(rise=0, fall=2)
    Shift(rise=0, fall=2)
    """

    rise: int
    fall: int

    def __post_init__(self) -> None:
        settle(self, rise=whole(self.rise, name="rise"), fall=whole(self.fall, name="fall"))

    @property
    def negated(self) -> Shift:
        """How far the numbers with their signs turned move: they fall where these rise."""
        return Shift(rise=self.fall, fall=self.rise)


@dataclass(frozen=True, slots=True)
class Edge:
    """A directed class of moves: a ``source`` record must be able to pass as a ``target``.

    ``weight`` is the distance of the move: a mechanism at ε may lose ε times it.

    >>> from onesided.policy import Edge
    >>> Edge("ill", "well", "1/2").name
    'ill -> well'
    """

    source: str
    target: str
    weight: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        settle(self, weight=positive(self.weight, name="weight of an edge"))

    @property
    def name(self) -> str:
        """``"source -> target"``, the edge's name in guarantees and ledgers."""
        return f"{self.source} -> {self.target}"

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Record:
    """One unit's record: its kind, and what it holds (for a group-by count, its groups).

    >>> from onesided.policy import Record
    >>> Record("value", frozenset({"home"})).kind
    'value'
    """

    kind: str
    value: Hashable = frozenset()


def listed_edges(edges: object, *, example: str) -> Iterator[Sequence[Any]]:
    """The parts of each edge in turn: source, target and, if given, weight.

    A mapping from edges to weights is refused, for its weights would be lost on the way, and so
    is a set of two values, which has no direction. Errors: PolicyError.
    """
    if isinstance(edges, Mapping | str) or not isinstance(edges, Iterable):
        raise PolicyError(
            f"Edges must be a list of (source, target) or (source, target, weight), got {edges!r}.",
            hint=f"For example [{example}].",
        )
    for parts in edges:
        ordered = isinstance(parts, tuple | list) or (
            hasattr(parts, "__len__") and not isinstance(parts, str | AbstractSet | Mapping)
        )
        if not ordered or len(parts) not in (2, 3):
            raise PolicyError(
                f"An edge must be (source, target) or (source, target, weight), got {parts!r}.",
                hint=f"For example {example}.",
            )
        yield parts


def require_records(*given: object) -> None:
    """Refuse what is no record. Errors: PolicyError."""
    for one in given:
        if not isinstance(one, Record):
            raise PolicyError(
                f"A record was expected, got {one!r}.",
                hint='Write onesided.policy.Record(kind, value), such as Record("visits", '
                'frozenset({"gym"})); policy.kinds names the kinds.',
            )


# Kinds and their edges in words.


def kind_sentences(kinds: Sequence[str], edges: Sequence[Edge], epsilon: Fraction) -> list[str]:
    """One sentence per edge and one per unprotected kind, then what the family invites."""
    lines = [
        f"Protected ({edge.name}): {_source(edge.source)} may pass as {_target(edge.target)}. "
        f"{likely(epsilon * edge.weight)}"
        for edge in edges
    ]
    protected = {edge.source for edge in edges}
    lines += [
        f"Not protected: {_target(kind)}. An observer may learn for certain {_leak(kind)}."
        for kind in kinds
        if kind not in protected
    ]
    lines += [
        f"Not protected: that a record is {source} and not {target}. An observer may learn this "
        "for certain."
        for source, target in _told_apart(kinds, edges)
    ]
    if ABSENT not in kinds:
        lines.append(PUBLIC_NUMBER)
    return [*lines, *_warnings(kinds, protected), COMMON]


def _told_apart(kinds: Sequence[str], edges: Sequence[Edge]) -> list[tuple[str, str]]:
    """Protected kinds that no chain of moves lets pass as some other kind that is there."""
    targets: dict[str, set[str]] = {}
    for edge in edges:
        targets.setdefault(edge.source, set()).add(edge.target)
    apart = []
    for source in targets:
        reached, todo = {source}, [source]
        while todo:
            new = targets.get(todo.pop(), set()) - reached
            reached |= new
            todo += new
        apart += [
            (source, kind)
            for kind in kinds
            if source != ABSENT and kind not in (reached | {ABSENT})
        ]
    return apart


def _warnings(kinds: Sequence[str], protected: set[str]) -> list[str]:
    """What the policy invites if it is used naively."""
    lines = []
    hidden = sorted(protected - {ABSENT})
    exposed = [kind for kind in kinds if kind not in protected and kind != ABSENT]
    if hidden and exposed:
        lines.append(
            f"Warning: never publish all {' or '.join(exposed)} records. Anyone missing from "
            f"them is then known to be {' or '.join(hidden)} (an exclusion attack). A sample, or "
            "counts with noise, avoids it."
        )
    if not hidden:
        lines.append(
            "Warning: this protects those who are NOT in the data. Publishing a share of the "
            "records in the clear would satisfy it. Use addition_only to protect people in it."
        )
    return lines


def _source(kind: str) -> str:
    return "someone who is not in the data" if kind == ABSENT else f"each {_noun(kind)}"


def _target(kind: str) -> str:
    return "not being in the data" if kind == ABSENT else f"any {_noun(kind)}"


def _noun(kind: str) -> str:
    return kind if kind == "record" else f"{kind} record"


def _leak(kind: str) -> str:
    if kind == ABSENT:
        return "that someone is not in the data"
    if kind == "record":
        return "that a record is there, and what it holds"
    return f"that a record is {kind}, and what it holds"


# Whether every move of one policy is a move of another, at no smaller distance.

# Every policy is one; the class itself stands above this file.
Policy: TypeAlias = Any


def listed(first: Policy, second: Policy, records: Sequence[tuple[Record, Record]]) -> bool:
    """Relaxation by looking at every pair of records."""
    for (here, seen_here), (there, seen_there) in product(records, repeat=2):
        edge = None
        if (here, seen_here) != (there, seen_there):
            edge = first.edge_between(here, there)
        if edge is not None:
            other = second.edge_between(seen_here, seen_there)
            if other is None or not other.weight <= edge.weight:
                return False
    return True


def decide(first: Policy, second: Policy) -> bool | None:
    """True, False, or None if it depends on the records."""
    if first == second:
        return True
    if len(second.parts) > 1:
        return all_of(decide(first, part) for part in second.parts)
    if len(first.parts) > 1:
        return True if any(decide(part, second) for part in first.parts) else None
    decided: bool | None = first.decides(second)
    if decided is None and second.of_kinds:
        return within_kinds(first, second)
    return decided


def within_kinds(first: Policy, second: Policy) -> bool | None:
    """By whether units are there before and after: kinds of ``second`` may be any at both ends.

    A move of ``first`` that leads from a unit that is there to one that is not needs an edge from
    every kind to absent, and so on for the other ways. False if no such edge is there at all: some
    move of ``first`` goes that way.
    """
    return all_of(
        _spanned(second, source, target, edge.weight)
        for edge in first.edges
        for source, target in first.ways(edge)
    )


def relaxed_before(first: Policy, second: Policy) -> bool:
    """Whether earlier versions took ``first`` to relax ``second`` although units may leave.

    They forgot that a move of a policy without absent records may take somebody out of the table.
    Totals say so where they promised too much.

    >>> from onesided import policy
    >>> relaxed_before(policy.presence(max_groups=2), policy.bounded())
    True
    """
    ways = [(edge, way) for edge in first.edges for way in first.ways(edge)]
    stay = [(edge, way) for edge, way in ways if ABSENT not in way]
    if not second.of_kinds or ABSENT in first.kinds or len(stay) == len(ways):
        return False
    return all(_spanned(second, way[0], way[1], edge.weight) for edge, way in stay)


def all_of(verdicts: Iterable[bool | None]) -> bool | None:
    """False if one is False, else None if one is unknown."""
    seen = set(verdicts)
    return False if False in seen else None if None in seen else True


def _spanned(policy: Policy, source: str, target: str, weight: Loss) -> bool | None:
    """Whether all records that are there, or not, as the ends are, may pass so at that weight."""
    weights = {(edge.source, edge.target): edge.weight for edge in policy.edges}
    present = [kind for kind in policy.kinds if kind != ABSENT]
    before, after = ([ABSENT] if end == ABSENT else present for end in (source, target))
    held = {weights.get(pair, INFINITE) <= weight for pair in product(before, after)}
    return held.pop() if len(held) == 1 else None
