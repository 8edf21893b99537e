"""Moves of one unit and how far they shift counts, in values and in words."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any, Final, TypeAlias

from onesided._numbers import INFINITE, Loss, positive, readable, round_up, whole
from onesided.errors import PolicyError
from onesided.fields import settle
from onesided.show import ESTIMATE, GROUND, INK, UNSURE, element, long, text

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
_ONE: Final = Fraction(1)


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


def listed_edges(edges: object, *, example: str) -> Iterator[tuple[Any, Any, Fraction]]:
    """Each edge in turn: source, target and weight, which is 1 if it is left out.

    Equal weights are one object: there may be millions.

    A mapping from edges to weights is refused, for its weights would be lost on the way, and so
    is a set of two values, which has no direction. Errors: PolicyError.
    """
    if isinstance(edges, Mapping | str) or not isinstance(edges, Iterable):
        raise PolicyError(
            f"Edges must be a list of (source, target) or (source, target, weight), got {edges!r}.",
            hint=f"For example [{example}].",
        )
    shared = {_ONE: _ONE}
    for parts in edges:
        ordered = isinstance(parts, tuple | list) or (
            hasattr(parts, "__len__") and not isinstance(parts, str | AbstractSet | Mapping)
        )
        if not ordered or len(parts) not in (2, 3):
            raise PolicyError(
                f"An edge must be (source, target) or (source, target, weight), got {parts!r}.",
                hint=f"For example {example}.",
            )
        source, target, *rest = parts
        if not rest:
            yield source, target, _ONE
        else:
            weight = positive(rest[0], name="weight of an edge")
            yield source, target, shared.setdefault(weight, weight)


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
    leaks = {
        ABSENT: "that someone is not in the data",
        "record": "that a record is there, and what it holds",
    }
    lines += [
        f"Not protected: {_target(kind)}. An observer may learn for certain "
        f"{leaks.get(kind, f'that a record is {kind}, and what it holds')}."
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
    # What the policy invites if it is used naively.
    hidden = " or ".join(sorted(protected - {ABSENT}))
    exposed = " or ".join(k for k in kinds if k not in protected and k != ABSENT)
    if hidden and exposed:
        lines.append(
            f"Warning: never publish all {exposed} records. Anyone missing from them is then known "
            f"to be {hidden} (an exclusion attack). A sample, or counts with noise, avoids it."
        )
    if not hidden:
        lines.append(
            "Warning: this protects those who are NOT in the data. Publishing a share of the "
            "records in the clear would satisfy it. Use addition_only to protect people in it."
        )
    return [*lines, COMMON]


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


def _source(kind: str) -> str:
    return "someone who is not in the data" if kind == ABSENT else f"each {_noun(kind)}"


def _target(kind: str) -> str:
    return "not being in the data" if kind == ABSENT else f"any {_noun(kind)}"


def _noun(kind: str) -> str:
    return kind if kind == "record" else f"{kind} record"


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


# Which moves imply which: arrows between values, weighted, and what follows from them.

# Directed, weighted arrows between values.

Value: TypeAlias = str | int


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
        for given, aim, weight in listed_edges(edges, example='("home", "office")'):
            source, target = _value(given), _value(aim)
            if source == target:
                raise PolicyError(
                    f"The edge {source!r} -> {target!r} leads nowhere.",
                    hint="A value passes as itself anyway.",
                    edge=source,
                )
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


# A policy as a picture: kinds as boxes, moves as arrows.
#
# Colours never carry meaning alone: what is protected also has a solid frame and what is not a
# dashed one, with the words beside it.

Spot: TypeAlias = tuple[float, float]
_HEIGHT: Final = 40.0
_TIP: Final = (
    '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="9" markerHeight="9" '
    f'orient="auto"><path d="M0 0 10 5 0 10z" fill="{INK}"/></marker></defs>'
    f'<rect width="100%" height="100%" fill="{GROUND}"/>'
)


def draw(boxes: Sequence[str], edges: Sequence[Edge], *, title: str) -> str:
    """The picture; arrows go from the real record to what it must be able to pass as."""
    ends = (end for edge in edges for end in (edge.source, edge.target))
    names = list(dict.fromkeys((*boxes, *ends)))
    sources = {edge.source for edge in edges}
    width = max(108.0, 24 + max(map(long, names)))
    spots, (across, down) = _layout(names, width)
    body = [_way(edge, edges, spots, width) for edge in edges]
    body += [_box(name, spots[name], width, protected=name in sources) for name in names]
    legend = "Arrows: what is real must be indistinguishable from what they point to."
    if any(edge.weight != 1 for edge in edges):
        legend += " Numbers: how far apart (1 elsewhere)."
    across = max(across, 24 + long(legend, 12))
    inside = (
        f"{_TIP}{text(12, 24, title, size=16, ink=INK)}"
        f'<g transform="translate(0 36)">{"".join(body)}</g>'
        f"{text(12, down + 52, legend, size=12)}"
    )
    return element(inside, (across, down + 64), title=title, said=legend)


def _layout(names: Sequence[str], width: float) -> tuple[dict[str, Spot], Spot]:
    """Two side by side, more around an ellipse; and the size of the whole."""
    margin_x, margin_y = width / 2 + 40, _HEIGHT / 2 + 56
    if len(names) <= 2:
        gap = width + 170
        spots = {name: (margin_x + place * gap, margin_y) for place, name in enumerate(names)}
        return spots, (2 * margin_x + (len(names) - 1) * gap, 2 * margin_y)
    round_x = max(width * 0.95, 30.0 * len(names)) + 30
    round_y = max(110.0, 26.0 * len(names))
    spots = {}
    for place, name in enumerate(names):
        angle = 2 * math.pi * place / len(names) - math.pi / 2
        spots[name] = (
            margin_x + round_x * (1 + math.cos(angle)),
            margin_y + round_y * (1 + math.sin(angle)),
        )
    down = max(y for _, y in spots.values()) + margin_y
    return spots, (2 * (margin_x + round_x), down)


def _box(name: str, spot: Spot, width: float, *, protected: bool) -> str:
    x, y = spot[0] - width / 2, spot[1] - _HEIGHT / 2
    colour, dash = (ESTIMATE, "") if protected else (UNSURE, ' stroke-dasharray="6 4"')
    word = "protected" if protected else "not protected"
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{_HEIGHT:.0f}" rx="8" '
        f'fill="{GROUND}" stroke="{colour}" stroke-width="2"{dash}/>'
        f"{text(spot[0], spot[1] - 2, name, ink=INK, middle=True)}"
        f"{text(spot[0], spot[1] + 14, word, size=12, ink=colour, middle=True)}"
    )


def _way(edge: Edge, edges: Sequence[Edge], spots: dict[str, Spot], width: float) -> str:
    """One move; ways there and back bend apart, a loop stands outside its box."""
    label = "" if edge.weight == 1 else str(edge.weight)
    if edge.source == edge.target:
        # A loop on the side of the box that looks away from the middle.
        spot = spots[edge.source]
        middle = tuple(sum(one) / len(spots) for one in zip(*spots.values(), strict=True))
        side, up = (1 if spot[0] > middle[0] else -1), (1 if spot[1] > middle[1] + 1 else -1)
        x, y = spot[0] + side * (width / 2 - 26), spot[1] + up * _HEIGHT / 2
        path = (
            f"M{x - side * 14:.1f} {y:.1f}C{x - side * 22:.1f} {y + up * 42:.1f} "
            f"{x + side * 30:.1f} {y + up * 42:.1f} {x + side * 14:.1f} {y:.1f}"
        )
        return _line(path) + _weight((x + side * 4, y + up * 32), label)
    there_and_back = any((e.source, e.target) == (edge.target, edge.source) for e in edges)
    (x1, y1), (x2, y2) = spots[edge.source], spots[edge.target]
    length = math.hypot(x2 - x1, y2 - y1)
    bend = 26.0 if there_and_back else 0.0
    mid = ((x1 + x2) / 2 - (y2 - y1) / length * bend, (y1 + y2) / 2 + (x2 - x1) / length * bend)
    start, end = _border((x1, y1), mid, width), _border((x2, y2), mid, width)
    line = f"M{start[0]:.1f} {start[1]:.1f}Q{mid[0]:.1f} {mid[1]:.1f} {end[0]:.1f} {end[1]:.1f}"
    # Not at the middle, where the diagonals of a crowded picture cross.
    share = 0.28
    at = tuple(
        (1 - share) ** 2 * a + 2 * share * (1 - share) * m + share**2 * b
        for a, m, b in zip(start, mid, end, strict=True)
    )
    return _line(line) + _weight((at[0], at[1]), label)


def _line(path: str) -> str:
    return (
        f'<path d="{path}" fill="none" stroke="{INK}" stroke-width="1.5" marker-end="url(#tip)"/>'
    )


def _weight(spot: Spot, label: str) -> str:
    """An edge's weight on the ground, so that lines below it stay legible."""
    if not label:
        return ""
    wide = long(label, 12) + 8
    return (
        f'<rect x="{spot[0] - wide / 2:.1f}" y="{spot[1] - 9:.1f}" width="{wide:.1f}" height="18" '
        f'rx="4" fill="{GROUND}"/>{text(spot[0], spot[1] + 4.5, label, size=12, middle=True)}'
    )


def _border(centre: Spot, towards: Spot, width: float) -> Spot:
    """Where a line from the centre of a box leaves it."""
    dx, dy = towards[0] - centre[0], towards[1] - centre[1]
    scale = min(
        (width / 2 + 2) / abs(dx) if dx else math.inf,
        (_HEIGHT / 2 + 2) / abs(dy) if dy else math.inf,
    )
    return centre[0] + dx * scale, centre[1] + dy * scale
