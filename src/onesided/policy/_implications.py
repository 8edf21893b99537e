"""Which moves imply which: arrows between values, weighted, and what follows from them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final, TypeAlias

from onesided._numbers import INFINITE, Loss, positive
from onesided.errors import PolicyError
from onesided.policy._shift import listed_edges

# Directed, weighted arrows between values.

Value: TypeAlias = str | int
_ONE: Final = Fraction(1)


@dataclass(frozen=True)
class Arrows:
    """Directed, weighted arrows between values: each pair at most once, and no loops.

    Errors: PolicyError for values that are not text or whole numbers, loops, repeated arrows with
    different weights, or no arrows at all.
    """

    listed: tuple[tuple[Value, Value, Fraction], ...]
    values: tuple[Value, ...]

    @classmethod
    def of(
        cls, edges: Iterable[Sequence[object]], *, directed: bool, values: Iterable[object] = ()
    ) -> Arrows:
        """From ``(source, target)`` or ``(source, target, weight)``; both ways unless directed."""
        weights: dict[tuple[Value, Value], Fraction] = {}
        shared: dict[object, Fraction] = {1: _ONE}
        for parts in listed_edges(edges, example='("home", "office")'):
            source, target, weight = _arrow(parts, shared)
            for pair in ((source, target),) if directed else ((source, target), (target, source)):
                if weights.setdefault(pair, weight) != weight:
                    raise PolicyError(
                        f"The edge {source!r} -> {target!r} is given twice with different weights.",
                        hint="Give each pair once; directed=True lets the two ways differ.",
                        edge=source,
                    )
        if not weights:
            raise PolicyError(
                "The policy has no edges, so it protects nobody.",
                hint='Add at least one, such as ("home", "office").',
            )
        mentioned = {value for pair in weights for value in pair}
        known = mentioned | {_value(value) for value in values}
        return cls(
            tuple((*pair, weights[pair]) for pair in sorted(weights, key=pair_order)),
            tuple(sorted(known, key=order)),
        )

    @cached_property
    def weights(self) -> Mapping[tuple[Value, Value], Fraction]:
        """The weight of each arrow."""
        return {(source, target): weight for source, target, weight in self.listed}

    def weight(self, source: Value, target: Value) -> Loss:
        """The weight of one arrow; INFINITE if there is none."""
        return self.weights.get((source, target), INFINITE)

    def within(self, other: Arrows) -> bool:
        """Whether each arrow is one of ``other`` with no larger weight there."""
        return all(other.weight(s, t) <= weight for s, t, weight in self.listed)

    def stored(self) -> list[list[object]]:
        """For TOML."""
        return [[source, target, str(weight)] for source, target, weight in self.listed]


def _arrow(
    parts: Sequence[object], shared: dict[object, Fraction]
) -> tuple[Value, Value, Fraction]:
    """An arrow from its parts; the weight may be left out. Equal weights become one object."""
    source, target, *rest = parts
    ends = (_value(source), _value(target))
    if ends[0] == ends[1]:
        raise PolicyError(
            f"The edge {source!r} -> {target!r} leads nowhere.",
            hint="A value passes as itself anyway.",
            edge=source,
        )
    if not rest:
        return (*ends, _ONE)
    weight = positive(rest[0], name="weight of an edge")
    return (*ends, shared.setdefault(weight, weight))


def _value(value: object) -> Value:
    if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
        return value
    raise PolicyError(
        f"A value of a graph must be text or a whole number, got {value!r}.",
        hint="Name each place or cell.",
    )


def order(value: Value) -> tuple[bool, Value]:
    return isinstance(value, str), value


def pair_order(pair: tuple[Value, Value]) -> tuple[object, object]:
    return order(pair[0]), order(pair[1])


# Correlations: no open fact may imply a protected one (left open in OSDP, section 7).

# For each fact, everything that it implies and the shortest chain there.
Chains: TypeAlias = Mapping[str, Mapping[str, tuple[str, ...]]]


@dataclass(frozen=True, slots=True)
class Addition:
    """One fact that became protected, and the shortest chain of implications that made it so.

    >>> print(Addition("ward", ("ward", "hall"), "'ward' is now protected"))
    'ward' is now protected, because 'ward' implies 'hall'. Smallest example: one record in 'ward',
    if published, reveals for certain that 'hall' holds, which is protected.
    """

    fact: str
    chain: tuple[str, ...]
    change: str

    def __str__(self) -> str:
        steps = " implies ".join(repr(fact) for fact in self.chain)
        return (
            f"{self.change}, because {steps}. Smallest example: one record in {self.fact!r}, if "
            f"published, reveals for certain that {self.chain[-1]!r} holds, which is protected."
        )


def implied_places(
    steps: Iterable[tuple[str, str]], *, entrances: Iterable[str]
) -> tuple[tuple[str, str], ...]:
    """Implications from a floor plan: who was in ``place`` must have been in ``passed``.

    ``steps`` are ``(from, to)`` ways, one direction each. A place implies every place without
    which it cannot be reached from the entrances.
    Errors: PolicyError for places that cannot be reached at all.

    >>> from onesided import policy
    >>> policy.implied_places([("door", "hall"), ("hall", "ward")], entrances=["door"])
    (('hall', 'door'), ('ward', 'door'), ('ward', 'hall'))
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


def chains(implications: Iterable[tuple[str, str]]) -> Chains:
    """All that follows from pairs (fact, implied)."""
    direct: dict[str, list[str]] = {}
    for fact, implied in implications:
        direct.setdefault(str(fact), []).append(str(implied))
    follows: dict[str, dict[str, tuple[str, ...]]] = {}
    for fact in direct:
        found: dict[str, tuple[str, ...]] = {fact: (fact,)}
        todo = deque([fact])
        while todo:
            here = todo.popleft()
            for implied in direct.get(here, ()):
                if implied not in found:
                    found[implied] = (*found[here], implied)
                    todo.append(implied)
        follows[fact] = {implied: way for implied, way in found.items() if implied != fact}
    return follows


def copied(
    weights: Mapping[tuple[Value, Value], Fraction], implied_by: Chains, *, loops: bool
) -> tuple[dict[tuple[Value, Value], Fraction], tuple[Addition, ...]]:
    """Give each fact the arrows of what it implies, at no larger weight."""
    result, added = dict(weights), []
    for fact, ends in implied_by.items():
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


def traps(weights: Mapping[tuple[Value, Value], Fraction], implied_by: Chains) -> tuple[str, ...]:
    """Protected facts that may only pass as facts that imply them, which hides nothing."""
    targets: dict[Value, set[Value]] = {}
    for source, target in weights:
        targets.setdefault(source, set()).add(target)
    return tuple(
        f"Warning: {source!r} may only pass as {', '.join(map(repr, sorted(map(str, to))))}, and "
        "each of these implies it, so it stays known. Let it pass as something else too."
        for source, to in targets.items()
        if all(target == source or source in implied_by.get(str(target), ()) for target in to)
        and to != {source}
    )


def widened_arrows(
    arrows: Arrows, implied_by: Chains
) -> tuple[Arrows, tuple[Addition, ...], tuple[str, ...]]:
    """Arrows between values that are facts themselves, what was added, and warnings."""
    names = {str(value): value for value in arrows.values}
    plain: dict[tuple[Value, Value], Fraction] = {
        (str(s), str(t)): weight for s, t, weight in arrows.listed
    }
    weights, added = copied(plain, implied_by, loops=False)
    edges = [(names[str(s)], names[str(t)], weight) for (s, t), weight in weights.items()]
    wider = Arrows.of(edges, directed=True, values=arrows.values)
    return wider, added, traps(weights, implied_by)


def require(implied_by: Chains, known: set[str], *, policy: str) -> None:
    """Refuse facts that the policy has never heard of: a slip of the pen would protect nobody."""
    for fact in (*implied_by, *(implied for ends in implied_by.values() for implied in ends)):
        if fact not in known:
            raise PolicyError(
                f"The policy {policy!r} does not know {fact!r}.",
                hint=f"It knows {', '.join(sorted(known)[:12])}.",
                fact=fact,
            )
