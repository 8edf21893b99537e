"""What one move of a policy makes of a table, family by family, from the definitions alone.

A unit without rows is not in the table: that is asked once, in :func:`_by_unit`, for all families.
It knows no ``edge_between``, ``relaxes`` or ``shifts``, but only a policy's name and its parameters
as they are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations, product
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from onesided.errors import ParameterError
from onesided.policy import Edge, Intersection, Policy

_MOST_TABLES: Final = 5_000
_GONE: Final = "absent"


class Row(NamedTuple):
    """One row: the group it lies in, and the conditions that are true of it.

    >>> Row("gym", frozenset({"minor"})).group
    'gym'
    """

    group: str
    facts: frozenset[str] = frozenset()


Rows: TypeAlias = frozenset[Row]


class Move(NamedTuple):
    """A table that one move reaches, along which edge, and whose rows differ (None: nobody's)."""

    table: Table
    edge: Edge
    place: int | None


@dataclass(frozen=True, slots=True)
class Table:
    """A small table: the rows of each unit, by its place. A unit without rows is not in it.

    possible: every set of rows that one unit may have, a public fact. homes: the household of each
    unit, for views; marked: the households that another table marks.

    >>> a, b = Row("a"), Row("b")
    >>> Table((frozenset({a}), frozenset()), subsets([a, b], most=1)).holds(1)
    False
    """

    units: tuple[Rows, ...]
    possible: tuple[Rows, ...] = field(compare=False)
    homes: tuple[str | None, ...] = ()
    marked: frozenset[str] = frozenset()

    def holds(self, place: int) -> bool:
        """Whether the unit is in the table: whether it has a row."""
        return bool(self.units[place])

    def changed(self, place: int, rows: Rows) -> Table:
        """The table in which that unit has these rows."""
        return replace(self, units=(*self.units[:place], rows, *self.units[place + 1 :]))


# The edge of a move from some rows to others; None where a unit is not in the table.
Rule: TypeAlias = Callable[[Any, Rows | None, Rows | None], Edge | None]


def table_moves(policy: Policy, table: Table) -> Iterator[Move]:
    """Every table that one move of ``policy`` reaches from ``table``, with the move's edge.

    Errors: ParameterError for a family that has no moves on tables.

    >>> from onesided.policy import presence
    >>> a, b = Row("a"), Row("b")
    >>> both = Table((frozenset({a, b}),), subsets([a, b]))
    >>> [len(move.table.units[0]) for move in table_moves(presence(max_groups=2), both)]
    [0, 1, 1]
    """
    if policy.name not in FAMILIES:
        raise ParameterError(
            f"The family {policy.name!r} has no moves on tables.",
            hint="Write them in onesided_proofs.tables, from the family's definition.",
            value=policy.name,
        )
    return FAMILIES[policy.name](policy, table)


def subsets(rows: Sequence[Row], *, most: int | None = None) -> tuple[Rows, ...]:
    """Every set of up to ``most`` of the rows, none included.

    >>> [len(one) for one in subsets([Row("a"), Row("b")])]
    [0, 1, 1, 2]
    """
    sizes = range((len(rows) if most is None else most) + 1)
    return tuple(frozenset(some) for size in sizes for some in combinations(rows, size))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """Every table of ``units`` units with these ``possible`` rows each, as a world for ``exact``.

    >>> from onesided.policy import presence
    >>> world = Tables(possible=subsets([Row("a")]), units=2)
    >>> len(list(world.data_sets())), len(list(world.moves(presence(max_groups=1))))
    (4, 4)
    """

    possible: tuple[Rows, ...]
    units: int = 1
    homes: tuple[str | None, ...] = ()
    registers: tuple[frozenset[str], ...] = (frozenset(),)

    def __post_init__(self) -> None:
        size = len(self.possible) ** self.units * len(self.registers)
        if size > _MOST_TABLES:
            raise ParameterError(
                f"This world has {size:,} tables, more than {_MOST_TABLES:,}.",
                hint="Use fewer units, or fewer sets of rows.",
                data_sets=size,
            )

    def data_sets(self) -> Iterator[Table]:
        """All of them."""
        for units, marked in product(product(self.possible, repeat=self.units), self.registers):
            yield Table(units, self.possible, self.homes, marked)

    def moves(self, policy: Policy) -> Iterator[tuple[Table, Table, Edge]]:
        """Every ``(X, Y, edge)``."""
        for real in self.data_sets():
            for move in table_moves(policy, real):
                yield real, move.table, move.edge

    def count(self, data: Table, query: Hashable) -> Any:
        """Errors: ParameterError: programs are given the tables themselves."""
        del data, query
        raise ParameterError(
            "A mechanism is given counts, which a world of tables does not make.",
            hint="Give a function of (table, noise).",
        )


def _by_unit(rule: Rule) -> Callable[[Any, Table], Iterator[Move]]:
    """Moves that change the rows of one unit."""

    def moves(policy: Policy, table: Table) -> Iterator[Move]:
        for place, real in enumerate(table.units):
            for rows in dict.fromkeys((frozenset[Row](), *table.possible)):
                there = table.changed(place, rows)
                before, after = (t.units[place] if t.holds(place) else None for t in (table, there))
                edge = rule(policy, before, after) if rows != real else None
                if edge is not None:
                    yield Move(there, edge, place)

    return moves


def _bounded(_: Policy, before: Rows | None, after: Rows | None) -> Edge | None:
    return Edge("record", "record") if before and after else None


def _addition(_: Policy, before: Rows | None, after: Rows | None) -> Edge | None:
    return Edge("record", _GONE) if before and not after else None


def _removal(_: Policy, before: Rows | None, after: Rows | None) -> Edge | None:
    return Edge(_GONE, "record") if after and not before else None


def _unbounded(policy: Policy, before: Rows | None, after: Rows | None) -> Edge | None:
    return _addition(policy, before, after) or _removal(policy, before, after)


def _hit(rows: Rows, condition: str) -> bool:
    """Whether any row of the unit meets the condition."""
    return any(condition in row.facts for row in rows)


def _sensitive(policy: Policy, before: Rows | None, after: Rows | None) -> Edge | None:
    """OSDP, Def. 3.2: who is sensitive may pass as anybody who is there."""
    mark = str(policy.parameters()["predicate"])
    if not (before and after and _hit(before, mark)):
        return None
    return Edge("sensitive", "sensitive" if _hit(after, mark) else "open")


def _extended(policy: Policy, before: Rows | None, after: Rows | None) -> Edge | None:
    """OSDP, Def. 10.1, without its clause on sensitive records that are there already."""
    mark = str(policy.parameters()["predicate"])
    if before and not after and _hit(before, mark):
        return Edge("sensitive", _GONE)
    if after and not before:
        return Edge(_GONE, "sensitive" if _hit(after, mark) else "open")
    return None


def _proposition(policy: Policy, before: Rows | None, after: Rows | None) -> Edge | None:
    """ADP-2022, Def. IV.1, as corrected: a move is allowed where p(real) implies p(other)."""
    mark = str(policy.parameters()["predicate"])
    if not (before and after):
        return None
    real, other = (all(mark in row.facts for row in rows) for rows in (before, after))
    ends = ("open" if real else "protected", "open" if other else "protected")
    return Edge(*ends) if other or not real else None


def _tiers(policy: Policy, before: Rows | None, after: Rows | None) -> Edge | None:
    """Whoever is in a tier that has an ε may pass as anybody who is there."""
    tiers: Any = policy.parameters()["tiers"]
    rules = [(name, condition[0]) for name, _, *condition in tiers if condition]
    if not (before and after):
        return None
    source, target = (_kind(rows, rules, tiers[-1][0]) for rows in (before, after))
    epsilon = {name: text for name, text, *_ in tiers}[source]
    return None if epsilon == "INFINITE" else Edge(source, target, Fraction(epsilon))


def _custom(policy: Policy, before: Rows | None, after: Rows | None) -> Edge | None:
    """The listed pairs of kinds; the kind absent is not being there."""
    given: Any = policy.parameters()
    source, target = (
        _kind(rows, given["rules"], given["default"]) if rows else _GONE for rows in (before, after)
    )
    for one, other, weight in given["edges"]:
        if (one, other) == (source, target):
            return Edge(source, target, Fraction(weight))
    return None


def _kind(rows: Rows, rules: Sequence[Sequence[str]], default: str) -> str:
    """The first rule that holds for any row."""
    return next((kind for kind, condition in rules if _hit(rows, condition)), default)


def _presence(policy: Policy, before: Rows | None, after: Rows | None) -> Edge | None:
    """ADP-2021, Defs. 7 to 9: rows of at most ``max_groups`` groups go, and none comes."""
    most: Any = policy.parameters()["max_groups"]
    rest = after or frozenset()
    if not (before and rest < before) or len({row.group for row in before - rest}) > most:
        return None
    return Edge("present", "not present")


def _sensitive_presence(policy: Policy, before: Rows | None, after: Rows | None) -> Edge | None:
    """As presence for who is sensitive; what the condition reads may change in rows that stay.

    It is taken to read all facts of a row.
    """
    given: Any = policy.parameters()
    here, there = ({row.group for row in rows or ()} for rows in (before, after))
    if not (before and _hit(before, given["predicate"]) and there <= here):
        return None
    if len(here - there) > given["max_groups"]:
        return None
    opened = after and not _hit(after, given["predicate"])
    return Edge("sensitive", "open" if opened else "sensitive")


def _attributes(policy: Policy, before: Rows | None, after: Rows | None) -> Edge | None:
    """ADP-2021, Defs. 7 to 9: sensitive values become any of their attribute; others stay."""
    sensitive: Any = policy.parameters()["sensitive"]
    if not (before and after and _facts(before) == _facts(after)):
        return None
    here, there = (_values(rows, next(iter(sensitive))) for rows in (before, after))
    if here is None or there is None or here.keys() != there.keys() or here == there:
        return None
    hidden = (
        not {"*", here[name]}.isdisjoint(sensitive.get(name, ()))
        for name in here
        if here[name] != there[name]
    )
    return Edge("sensitive values", "any values") if all(hidden) else None


def _values(rows: Rows, only: str) -> dict[str, str] | None:
    """The value of each attribute; None where a row's attribute has two."""
    pairs = [row.group.split("=", 1) if "=" in row.group else [only, row.group] for row in rows]
    found = dict(pairs)
    return found if len(found) == len(pairs) else None


def _facts(rows: Rows) -> set[frozenset[str]]:
    return {row.facts for row in rows}


def _value(rows: Rows | None) -> str | None:
    """The one value that a unit holds; None if it holds several."""
    return _GONE if rows is None else next(iter(rows)).group if len(rows) == 1 else None


def _graph(policy: Policy, before: Rows | None, after: Rows | None) -> Edge | None:
    """Blowfish: along the arrows; whatever else a row says stays."""
    listed: Any = policy.parameters()["edges"]
    source, target = _value(before), _value(after)
    if before and after and _facts(before) != _facts(after):
        return None
    for one, other, weight in listed:
        if (one, other) == (source, target):
            into = _GONE if after is None else "value" if before is None else "neighbour"
            suffix = "" if Fraction(weight) == 1 else f" at {Fraction(weight)}"
            start = _GONE if before is None else "value"
            return Edge(start, into + suffix, Fraction(weight))
    return None


def _local(policy: Policy, before: Rows | None, after: Rows | None) -> Edge | None:
    """One letter in place of another: nobody comes or goes."""
    listed: Any = policy.parameters()["edges"]
    if not (before and after and _facts(before) == _facts(after)):
        return None
    for one, other, weight in listed:
        if (one, other) == (_value(before), _value(after)):
            return Edge(one, other, Fraction(weight))
    return None


def _neighbourhood(policy: Policy, before: Rows | None, after: Rows | None) -> Edge | None:
    """delta-neighbourhood, section 4, in the plane: x and y are near, or x is by a source."""
    given: Any = policy.parameters()
    places = {name: tuple(map(Fraction, point)) for name, point in given["places"].items()}
    sources = [tuple(map(Fraction, point)) for point in given.get("sources", ())]
    held = [_value(rows) for rows in (before, after) if rows]
    if not held or any(one not in places for one in held):
        return None
    points = [places[one] for one in held if one is not None]
    if before and after:
        near = _near(points[0], points[1], given) and _facts(before) == _facts(after)
        return Edge("point", "point nearby") if near else None
    if not any(_near(points[0], source, given) for source in sources):
        return None
    return Edge("point by a source", _GONE) if before else Edge(_GONE, "point by a source")


def _near(one: Sequence[Fraction], two: Sequence[Fraction], given: Mapping[str, Any]) -> bool:
    apart = [abs(a - b) for a, b in zip(one, two, strict=True)]
    radius = Fraction(given["radius"])
    if given["metric"] == "grid":
        return sum(apart) <= radius
    return sum(a * a for a in apart) <= radius * radius


def _view(policy: Policy, table: Table) -> Iterator[Move]:
    """OSDP, section 7: a sensitive unit changes, and its household's rows in another table may."""
    given: Any = policy.parameters()
    for place, real in enumerate(table.units):
        if not (table.holds(place) and _in_view(given, table, place)):
            continue
        home = table.homes[place]
        marks = {table.marked}
        if "table" in given and home is not None:
            marks = {table.marked | {home}, table.marked - {home}}
        for rows, marked in product(table.possible, marks):
            there = replace(table.changed(place, rows), marked=marked)
            if there != table and there.holds(place):
                kind = "sensitive" if _in_view(given, there, place) else "open"
                yield Move(there, Edge("sensitive", kind), place if rows != real else None)


def _in_view(given: Mapping[str, Any], table: Table, place: int) -> bool:
    """Whether the unit's household has any row that meets the condition, or is too large."""
    home = table.homes[place]
    if home is None:
        return True
    own = [rows for rows, at in zip(table.units, table.homes, strict=True) if at == home and rows]
    marked = any(_hit(rows, given["predicate"]) for rows in own)
    return len(own) > given["members"] or (home in table.marked if "table" in given else marked)


def _intersection(policy: Policy, table: Table) -> Iterator[Move]:
    """What every part's move reaches, as far as the part for which it is furthest."""
    parts = policy.parts if isinstance(policy, Intersection) else ()
    first, *others = ({m.table: m for m in table_moves(part, table)} for part in parts)
    for reached, move in first.items():
        steps = [move, *(found[reached] for found in others if reached in found)]
        if len(steps) == len(parts):
            source, target = (
                _joined([getattr(step.edge, end) for step in steps]) for end in ("source", "target")
            )
            weight = max(step.edge.weight for step in steps)
            yield Move(reached, Edge(source, target, weight), move.place)


def _joined(names: Sequence[str]) -> str:
    return names[0] if len(set(names)) == 1 else " & ".join(names)


# One function for each family of the registry; tests/verify/test_table_moves.py compares the two.
FAMILIES: Final[Mapping[str, Callable[[Any, Table], Iterator[Move]]]] = MappingProxyType(
    {
        "addition_only": _by_unit(_addition),
        "attributes": _by_unit(_attributes),
        "bounded": _by_unit(_bounded),
        "custom": _by_unit(_custom),
        "extended_sensitive": _by_unit(_extended),
        "graph": _by_unit(_graph),
        "intersection": _intersection,
        "local": _by_unit(_local),
        "neighbourhood": _by_unit(_neighbourhood),
        "presence": _by_unit(_presence),
        "proposition": _by_unit(_proposition),
        "removal_only": _by_unit(_removal),
        "sensitive": _by_unit(_sensitive),
        "sensitive_presence": _by_unit(_sensitive_presence),
        "tiers": _by_unit(_tiers),
        "unbounded": _by_unit(_unbounded),
        "view": _view,
    }
)
