"""Which policy is stricter: relaxation, decided exactly or by listing a finite universe."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

from onesided._numbers import INFINITE, Loss
from onesided.errors import PolicyError
from onesided.policy._base import Policy
from onesided.policy._intersection import Intersection
from onesided.policy._kinds import KindPolicy
from onesided.policy._placing import Pair, possible_pairs
from onesided.policy._shift import ABSENT, Record


def relaxes(
    first: Policy, second: Policy, *, records: Iterable[tuple[Record, Record]] | None = None
) -> bool:
    """Whether every move of ``first`` is a move of ``second`` at no smaller distance."""
    if records is not None:
        return _listed(first, second, tuple(records))
    decided = _decide(first, second)
    if decided is None:
        raise PolicyError(
            f"Whether {first.name!r} relaxes {second.name!r} depends on which records there are.",
            hint="Pass records=, pairs of how each policy sees one record of a finite universe; "
            "onesided.policy.joint_records(first, second, groups=...) lists them.",
        )
    return decided


def joint_records(
    first: Policy, second: Policy, *, groups: Sequence[str], max_groups: int | None = None
) -> tuple[tuple[Record, Record], ...]:
    """Every record over ``groups``, as each policy may see it: same groups, any kinds.

    A record absent to one is absent to both. Kinds go together unless the policies' own
    predicates rule it out, so predicates with different texts are taken to be independent.
    """
    most = len(groups) if max_groups is None else max_groups
    ours, theirs = (p.records(groups, max_groups=most) for p in (first, second))
    pairs = possible_pairs(first, second)
    return tuple(
        (one, two)
        for one, two in product(ours, theirs)
        if (one.kind, two.kind) in pairs and one.value == two.value
    )


def _listed(first: Policy, second: Policy, records: Sequence[tuple[Record, Record]]) -> bool:
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


def _decide(first: Policy, second: Policy) -> bool | None:
    """True, False, or None if it depends on the records."""
    if first == second:
        return True
    if isinstance(second, Intersection):
        verdicts = [_decide(first, part) for part in second.parts]
        return False if False in verdicts else None if None in verdicts else True
    if isinstance(first, Intersection):
        return True if any(_decide(part, second) for part in first.parts) else None
    decided = first.decides(second)
    if decided is None and ABSENT not in first.kinds and _joins_all(second):
        lightest = min(edge.weight for edge in first.edges)
        if all(edge.weight <= lightest for edge in second.edges):
            return True
        return False if all(edge.weight > lightest for edge in second.edges) else None
    return decided


def _joins_all(policy: Policy) -> bool:
    """Whether every record that is there may pass as every other, as in bounded privacy."""
    present = [kind for kind in policy.kinds if kind != ABSENT]
    joined = {(edge.source, edge.target) for edge in policy.edges}
    return isinstance(policy, KindPolicy) and set(product(present, repeat=2)) <= joined


def decide_kinds(first: KindPolicy, second: KindPolicy) -> bool | None:
    """Exact for kinds: which pairs of kinds one record can have is read off the predicates.

    False needs two pairs that surely occur: every kind is taken to have records, and predicates
    with different texts may be true or false together.
    """
    if ABSENT not in second.kinds and any(ABSENT in (e.source, e.target) for e in first.edges):
        return False
    pairs = possible_pairs(first, second)
    certain = {pair for pair in pairs if _must_occur(pair, pairs)}
    verdict: bool | None = True
    for edge in first.edges:
        sources = [pair for pair in pairs if pair[0] == edge.source]
        targets = [pair for pair in pairs if pair[0] == edge.target]
        for source, target in product(sources, targets):
            if not _weight(second, source[1], target[1]) <= edge.weight:
                if {source, target} <= certain:
                    return False
                verdict = None
    return verdict


def _must_occur(pair: Pair, pairs: frozenset[Pair]) -> bool:
    """Whether one of the two kinds has no other partner."""
    return any(sum(other[side] == pair[side] for other in pairs) == 1 for side in (0, 1))


def _weight(policy: KindPolicy, source: str, target: str) -> Loss:
    for edge in policy.edges:
        if (edge.source, edge.target) == (source, target):
            return edge.weight
    return INFINITE
