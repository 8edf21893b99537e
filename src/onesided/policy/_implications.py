"""Correlations: no open fact may imply a protected one (left open in OSDP, section 7)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, islice
from typing import Final, TypeAlias

from onesided.errors import PolicyError
from onesided.policy import _families
from onesided.policy._attributes import Attributes
from onesided.policy._base import Policy
from onesided.policy._graph import Arrows, Graph, Local, Value
from onesided.policy._kinds import KindPolicy
from onesided.policy._neighbourhood import Neighbourhood
from onesided.policy._presence import Presence
from onesided.policy._shift import Edge

Chains: TypeAlias = Mapping[str, Mapping[str, tuple[str, ...]]]
_MOST_SETS: Final = 20_000


@dataclass(frozen=True, slots=True)
class Addition:
    """One fact that became protected, and the shortest chain of implications that made it so."""

    fact: str
    chain: tuple[str, ...]
    change: str

    def __str__(self) -> str:
        steps = " implies ".join(repr(fact) for fact in self.chain)
        return (
            f"{self.change}, because {steps}. Smallest example: one record in {self.fact!r}, told "
            f"openly, says for certain that {self.chain[-1]!r} holds as well, which is protected."
        )


@dataclass(frozen=True, slots=True)
class Widened:
    """A policy closed under implications, what was added to it, and what still leaks."""

    policy: Policy
    added: tuple[Addition, ...]
    warnings: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.added:
            return "\n".join(("Nothing had to be added.", *self.warnings))
        return "\n".join((*(str(addition) for addition in self.added), *self.warnings))


def implied_places(
    steps: Iterable[tuple[str, str]], *, entrances: Iterable[str]
) -> tuple[tuple[str, str], ...]:
    """Implications from a floor plan: who was in ``place`` must have been in ``passed``.

    ``steps`` are ``(from, to)`` ways, one direction each. A place implies every place without
    which it cannot be reached from the entrances.
    Errors: PolicyError for places that cannot be reached at all.
    """
    ways: dict[str, set[str]] = {}
    for here, there in steps:
        ways.setdefault(here, set()).add(there)
        ways.setdefault(there, set())
    doors = tuple(entrances)
    everywhere = _reached(ways, doors, without=None)
    lost = sorted(set(ways) - everywhere)
    if lost or not doors:
        raise PolicyError(
            f"{lost[0]!r} cannot be reached from the entrances." if lost else "No entrances.",
            hint="Add the way that leads there, or make it an entrance.",
        )
    return tuple(
        (place, passed)
        for passed in sorted(everywhere)
        for place in sorted(everywhere - _reached(ways, doors, without=passed) - {passed})
    )


def _reached(
    ways: Mapping[str, set[str]], doors: Sequence[str], *, without: str | None
) -> set[str]:
    seen: set[str] = set()
    todo = [door for door in doors if door != without]
    while todo:
        place = todo.pop()
        if place not in seen:
            seen.add(place)
            todo += [there for there in ways.get(place, ()) if there != without]
    return seen


def closed_under(policy: Policy, implications: Iterable[tuple[str, str]]) -> Widened:
    """The least widening of ``policy`` under which no open fact implies a protected one."""
    chains = _chains([(str(fact), str(implied)) for fact, implied in implications])
    if isinstance(policy, Neighbourhood):
        policy = policy.as_graph()
    if isinstance(policy, Presence):
        return _presence(policy, chains)
    if isinstance(policy, Attributes):
        return _attributes(policy, chains)
    if isinstance(policy, Graph | Local):
        return _values(policy, chains)
    if isinstance(policy, KindPolicy):
        facts = set(chains) | {implied for ends in chains.values() for implied in ends}
        return (_kinds if facts <= set(policy.kinds) else _rules)(policy, chains)
    raise PolicyError(
        f"The policy {policy.name!r} cannot be widened as a whole.",
        hint="Close each of the policies under the implications, then combine them.",
    )


def _chains(implications: Sequence[tuple[str, str]]) -> Chains:
    """For each fact, everything that it implies and the shortest chain there."""
    direct: dict[str, list[str]] = {}
    for fact, implied in implications:
        direct.setdefault(fact, []).append(implied)
    chains: dict[str, dict[str, tuple[str, ...]]] = {}
    for fact in direct:
        found: dict[str, tuple[str, ...]] = {fact: (fact,)}
        todo = deque([fact])
        while todo:
            here = todo.popleft()
            for implied in direct.get(here, ()):
                if implied not in found:
                    found[implied] = (*found[here], implied)
                    todo.append(implied)
        chains[fact] = {implied: way for implied, way in found.items() if implied != fact}
    return chains


def _copied(
    weights: Mapping[tuple[Value, Value], Fraction], chains: Chains, *, loops: bool
) -> tuple[dict[tuple[Value, Value], Fraction], tuple[Addition, ...]]:
    """Give each fact the arrows of what it implies, at no larger weight."""
    result, added = dict(weights), []
    for fact, ends in chains.items():
        for implied, chain in ends.items():
            new = []
            for (source, target), weight in weights.items():
                pair = (fact, target)
                if source != implied or (fact == target and not loops):
                    continue
                if pair not in result or weight < result[pair]:
                    result[pair] = weight
                    new.append(str(target))
            if new:
                change = f"{fact!r} must now be able to pass as {', '.join(map(repr, new))}"
                added.append(Addition(fact, chain, change))
    return result, tuple(added)


def _traps(weights: Mapping[tuple[Value, Value], Fraction], chains: Chains) -> tuple[str, ...]:
    """Protected facts that may only pass as facts that imply them, which hides nothing."""
    targets: dict[Value, set[Value]] = {}
    for source, target in weights:
        targets.setdefault(source, set()).add(target)
    return tuple(
        f"Warning: {source!r} may only pass as {', '.join(map(repr, sorted(map(str, to))))}, and "
        "each of these implies it, so it stays known. Let it pass as something else too."
        for source, to in targets.items()
        if all(target == source or source in chains.get(str(target), ()) for target in to)
        and to != {source}
    )


def _values(policy: Graph | Local, chains: Chains) -> Widened:
    _require(chains, {str(value) for value in policy.arrows.values}, policy)
    names = {str(value): value for value in policy.arrows.values}
    plain = {(str(s), str(t)): weight for s, t, weight in policy.arrows.listed}
    weights, added = _copied(plain, chains, loops=False)  # type: ignore[arg-type]
    edges = [(names[str(s)], names[str(t)], weight) for (s, t), weight in weights.items()]
    arrows = Arrows.of(edges, directed=True, values=policy.arrows.values)
    return Widened(type(policy)(arrows), added, _traps(weights, chains))


def _kinds(policy: KindPolicy, chains: Chains) -> Widened:
    plain: dict[tuple[Value, Value], Fraction] = {
        (edge.source, edge.target): edge.weight for edge in policy.edges
    }
    weights, added = _copied(plain, chains, loops=True)
    if not added:
        return Widened(policy, (), _traps(weights, chains))
    edges = tuple(Edge(str(s), str(t), weight) for (s, t), weight in weights.items())
    wider = KindPolicy("custom", policy.kinds, edges, policy.rules, policy.default_kind)
    return Widened(wider, added, _traps(weights, chains))


def _rules(policy: KindPolicy, chains: Chains) -> Widened:
    """Facts are conditions on rows: whoever meets one that implies a rule's, gets its kind."""
    texts = [rule.predicate.text for rule in policy.rules]
    added, wider = [], []
    for rule in policy.rules:
        new = [fact for fact, ends in chains.items() if rule.predicate.text in ends]
        new = [fact for fact in new if fact not in texts[: texts.index(rule.predicate.text)]]
        if new and not rule.predicate.sql:
            raise PolicyError(
                f"The predicate {rule.predicate.text!r} is an expression, the facts are text.",
                hint="Write the policy's predicate as SQL.",
            )
        wider.append(" OR ".join(f"({text})" for text in (rule.predicate.text, *new)))
        added += [
            Addition(
                fact,
                chains[fact][rule.predicate.text],
                f"Rows with {fact!r} are now {rule.kind!r}",
            )
            for fact in new
        ]
    known = set(texts) & {implied for ends in chains.values() for implied in ends}
    if chains and not known:
        _require(chains, {*policy.kinds, *texts}, policy)
    return Widened(_rebuilt(policy, wider) if added else policy, tuple(added))


def _rebuilt(policy: KindPolicy, conditions: Sequence[str]) -> KindPolicy:
    """The policy with other conditions in its rules, in its own family where that takes SQL."""
    if policy.name == "sensitive":
        return _families.sensitive(conditions[0])
    if policy.name == "extended_sensitive":
        return _families.extended_sensitive(conditions[0])
    return _families.custom(
        kinds=policy.kinds,
        edges=[(edge.source, edge.target, edge.weight) for edge in policy.edges],
        rules=[(rule.kind, c) for rule, c in zip(policy.rules, conditions, strict=True)],
        default=policy.default_kind,
    )


def _attributes(policy: Attributes, chains: Chains) -> Widened:
    """Facts are ``attribute=value``; one that implies a sensitive value becomes sensitive."""
    sensitive = {name: set(values) for name, values in policy.sensitive}
    added = []
    for fact, ends in chains.items():
        for implied, chain in ends.items():
            name, value = policy.split(fact)
            if policy.is_sensitive(*policy.split(implied)) and not policy.is_sensitive(name, value):
                sensitive.setdefault(name, set()).add(value)
                added.append(Addition(fact, chain, f"{fact!r} is now a sensitive value"))
                break
    listed = tuple(sorted((name, tuple(sorted(values))) for name, values in sensitive.items()))
    return Widened(Attributes(listed) if added else policy, tuple(added))


def _presence(policy: Presence, chains: Chains) -> Widened:
    """To hide one visit, every visit that implies it has to go with it."""
    groups = set(chains) | {implied for ends in chains.values() for implied in ends}
    together = {
        group: frozenset({group, *(fact for fact, ends in chains.items() if group in ends)})
        for group in groups
    }
    most = policy.max_groups
    needed = max(
        _largest_union(list(together.values()), size) + most - size
        for size in range(min(most, len(groups)) + 1)
    )
    if needed <= most:
        return Widened(policy, ())
    added = [
        Addition(
            fact,
            chain,
            f"Up to {needed} groups instead of {most} are now hidden at once",
        )
        for fact, ends in chains.items()
        for chain in ends.values()
    ]
    return Widened(Presence(needed), tuple(added))


def _largest_union(sets: Sequence[frozenset[str]], size: int) -> int:
    """The most elements in a union of ``size`` of the sets; a bound where there are too many."""
    chosen = list(islice(combinations(sets, size), _MOST_SETS + 1))
    if len(chosen) > _MOST_SETS:
        return sum(sorted((len(one) for one in sets), reverse=True)[:size])
    return max(len(frozenset().union(*many)) for many in chosen)


def _require(chains: Chains, known: set[str], policy: Policy) -> None:
    """Refuse facts that the policy has never heard of: a slip of the pen would protect nobody."""
    for fact in (*chains, *(implied for ends in chains.values() for implied in ends)):
        if fact not in known:
            raise PolicyError(
                f"The policy {policy.name!r} does not know {fact!r}.",
                hint=f"It knows {', '.join(sorted(known)[:12])}.",
                fact=fact,
            )
