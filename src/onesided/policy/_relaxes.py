"""Whether every move of one policy is a move of another, at no smaller distance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any, TypeAlias

from onesided._numbers import INFINITE, Loss
from onesided.policy._shift import ABSENT, Record

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
