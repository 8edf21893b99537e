"""Which policy is stricter: relaxation, decided exactly or by listing a finite universe."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Final, TypeAlias

from onesided._numbers import INFINITE, Loss
from onesided.errors import PolicyError
from onesided.policy._base import Policy
from onesided.policy._intersection import Intersection
from onesided.policy._kinds import KindPolicy
from onesided.policy._shift import ABSENT, Record

Pair: TypeAlias = tuple[str, str]
_MOST_PREDICATES: Final = 12


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

    A record absent to one is absent to both.
    """
    most = len(groups) if max_groups is None else max_groups
    ours, theirs = (p.records(groups, max_groups=most) for p in (first, second))
    return tuple(
        (one, two)
        for one, two in product(ours, theirs)
        if (one.kind == ABSENT) == (two.kind == ABSENT) and one.value == two.value
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
        return True if all(edge.weight <= lightest for edge in second.edges) else None
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


def possible_pairs(first: KindPolicy, second: KindPolicy) -> frozenset[Pair]:
    """The pairs of kinds that one record can have under the two policies.

    Where neither policy has rules, kinds of the same name are taken to be the same.
    """
    both_absent = {(ABSENT, ABSENT)} if ABSENT in first.kinds and ABSENT in second.kinds else set()
    ours, theirs = _present(first), _present(second)
    if not first.rules and not second.rules and set(ours) == set(theirs):
        return frozenset(both_absent | {(kind, kind) for kind in ours})
    texts = sorted({r.text for p in (first, second) for rule in p.rules for r in rule.predicates})
    unruled = any(not p.rules and len(_present(p)) > 1 for p in (first, second))
    if unruled or len(texts) > _MOST_PREDICATES:
        return frozenset(both_absent | set(product(ours, theirs)))
    seen = {(_kind(first, true), _kind(second, true)) for true in _subsets(texts)}
    return frozenset(both_absent | seen)


def _present(policy: Policy) -> list[str]:
    return [kind for kind in policy.kinds if kind != ABSENT]


def _subsets(texts: Sequence[str]) -> Iterator[frozenset[str]]:
    for chosen in product((False, True), repeat=len(texts)):
        yield frozenset(text for text, picked in zip(texts, chosen, strict=True) if picked)


def _kind(policy: KindPolicy, true: frozenset[str]) -> str:
    """The kind of a unit for which exactly the predicates ``true`` hold."""
    for rule in policy.rules:
        if all(predicate.text in true for predicate in rule.predicates):
            return rule.kind
    return policy.default_kind


def _must_occur(pair: Pair, pairs: frozenset[Pair]) -> bool:
    """Whether one of the two kinds has no other partner."""
    return any(sum(other[side] == pair[side] for other in pairs) == 1 for side in (0, 1))


def _weight(policy: KindPolicy, source: str, target: str) -> Loss:
    for edge in policy.edges:
        if (edge.source, edge.target) == (source, target):
            return edge.weight
    return INFINITE
