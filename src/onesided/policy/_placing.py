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
    both_absent = {(ABSENT, ABSENT)} if ABSENT in first.kinds and ABSENT in second.kinds else set()
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


def joint_records(
    first: Policy, second: Policy, *, groups: Sequence[str], max_groups: int | None = None
) -> tuple[tuple[Record, Record], ...]:
    """Every record over ``groups``, as each policy may see it: same groups, any kinds.

    A record absent to one is absent to both. Kinds go together unless the policies' own
    predicates rule it out, so predicates with different texts are taken to be independent.

    >>> from onesided import policy
    >>> pairs = policy.joint_records(policy.sensitive("ill"), policy.bounded(), groups=["a"])
    >>> sorted({(one.kind, two.kind) for one, two in pairs})
    [('open', 'record'), ('sensitive', 'record')]
    """
    most = len(groups) if max_groups is None else max_groups
    ours, theirs = (p.records(groups, max_groups=most) for p in (first, second))
    pairs = possible_pairs(first, second)
    return tuple(
        (one, two)
        for one, two in product(ours, theirs)
        if (one.kind, two.kind) in pairs and one.value == two.value
    )


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
