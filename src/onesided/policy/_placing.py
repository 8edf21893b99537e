"""Which kinds one and the same record can have under two policies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Final, TypeAlias

from onesided.policy._base import Policy
from onesided.policy._shift import ABSENT, Record

Pair: TypeAlias = tuple[str, str]
_MOST_PREDICATES: Final = 12


def possible_pairs(first: Policy, second: Policy) -> frozenset[Pair]:
    """The pairs of kinds that one record can have under the two policies.

    Where neither policy has rules, kinds of the same name are taken to be the same.

    >>> from onesided import policy
    >>> sorted(policy.possible_pairs(policy.sensitive("ill"), policy.bounded()))
    [('open', 'record'), ('sensitive', 'record')]
    """
    absent = reaches_absence(first) and reaches_absence(second)
    both_absent = {(ABSENT, ABSENT)} if absent else set()
    ours, theirs = _present(first), _present(second)
    if not (first.of_kinds and second.of_kinds):
        return frozenset(both_absent | set(product(ours, theirs)))
    if not first.rules and not second.rules and set(ours) == set(theirs):
        return frozenset(both_absent | {(kind, kind) for kind in ours})
    texts = sorted({r.text for p in (first, second) for rule in p.rules for r in rule.predicates})
    unruled = any(not p.rules and len(_present(p)) > 1 for p in (first, second))
    if unruled or len(texts) > _MOST_PREDICATES:
        return frozenset(both_absent | set(product(ours, theirs)))
    seen = {(_kind(first, true), _kind(second, true)) for true in _subsets(texts)}
    return frozenset(both_absent | seen)


def reaches_absence(policy: Policy) -> bool:
    """Whether some unit need not be there before or after a move.

    >>> from onesided import policy
    >>> reaches_absence(policy.presence(max_groups=1)), reaches_absence(policy.bounded())
    (True, False)
    """
    ends = (end for edge in policy.edges for way in policy.ways(edge) for end in way)
    return ABSENT in policy.kinds or ABSENT in ends


def joint_records(
    first: Policy, second: Policy, *, groups: Sequence[str], max_groups: int | None = None
) -> tuple[tuple[Record, Record], ...]:
    """Every record over ``groups``, as each policy may see it: same groups, any kinds.

    A record absent to one is absent to both, also to one that knows no absent records: it then has
    no move there. Kinds go together unless the policies' own predicates rule it out, so predicates
    with different texts are taken to be independent.

    >>> from onesided import policy
    >>> pairs = policy.joint_records(policy.sensitive("ill"), policy.bounded(), groups=["a"])
    >>> sorted({(one.kind, two.kind) for one, two in pairs})
    [('open', 'record'), ('sensitive', 'record')]
    """
    most = len(groups) if max_groups is None else max_groups
    ours, theirs = (p.records(groups, max_groups=most) for p in (first, second))
    pairs = possible_pairs(first, second)
    absent = reaches_absence(first) or reaches_absence(second)
    return tuple(
        (one, two)
        for one, two in product(ours, theirs)
        if (one.kind, two.kind) in pairs - {(ABSENT, ABSENT)} and one.value == two.value
    ) + (((Record(ABSENT), Record(ABSENT)),) if absent else ())


def _present(policy: Policy) -> list[str]:
    return [kind for kind in policy.kinds if kind != ABSENT]


def _subsets(texts: Sequence[str]) -> Iterator[frozenset[str]]:
    for chosen in product((False, True), repeat=len(texts)):
        yield frozenset(text for text, picked in zip(texts, chosen, strict=True) if picked)


def _kind(policy: Policy, true: frozenset[str]) -> str:
    """The kind of a unit for which exactly the predicates ``true`` hold."""
    for rule in policy.rules:
        if all(predicate.text in true for predicate in rule.predicates):
            return rule.kind
    return policy.default_kind
