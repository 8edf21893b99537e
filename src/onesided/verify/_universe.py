"""Worlds so small that every data set in them can be listed: of records, sums and households."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from onesided._numbers import MAX_COUNT, whole
from onesided.engine import PublicKeys
from onesided.errors import ParameterError, PolicyError
from onesided.fields import settle
from onesided.noise import IntArray
from onesided.policy import Edge, GroupCount, Intersection, Policy, Record, Shift, View
from onesided.session.kit import Groups, value_shifts

Data: TypeAlias = tuple[Record, ...]
MAX_DATA_SETS: Final = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Universe:
    """Every data set of ``units`` records over ``groups``, each in at most ``max_groups`` of them.

    max_groups: None leaves the records unbounded.
    values: the records themselves, instead of all that the policy can make of ``groups``.
    ordered: data sets are lists and any place may move; otherwise they are bags, and programs
        always see them in one fixed order.
    Errors: ParameterError for a world that is not finite or too large to list.

    >>> from onesided.policy import presence
    >>> world = Universe(groups=("gym",), units=2)
    >>> len(world.records(presence(max_groups=1))), len(list(world.moves(presence(max_groups=1))))
    (2, 2)
    """

    groups: tuple[str, ...] = ("a", "b")
    units: int = 2
    max_groups: int | None = None
    values: tuple[Record, ...] = ()
    ordered: bool = False

    def __post_init__(self) -> None:
        whole(self.units, name="units", least=1, most=8)
        for name in ("groups", "values"):
            given = getattr(self, name)
            if isinstance(given, str) or not isinstance(given, Sequence):
                raise ParameterError(
                    f"{name} must be a finite list, got {given!r}: only a world whose data sets "
                    "can all be listed can be checked exactly.",
                    hint='Give a tuple such as ("a", "b"); for larger worlds use verify.audit.',
                )
            settle(self, **{name: tuple(given)})

    def __str__(self) -> str:
        kind = "list" if self.ordered else "bag"
        if self.values:
            return f"every {kind} of {self.units} of {len(self.values)} given records"
        most = "any number" if self.max_groups is None else f"at most {self.max_groups}"
        groups = ", ".join(self.groups)
        return f"every {kind} of {self.units} records, each in {most} of the groups {groups}"

    def records(self, policy: Policy) -> tuple[Record, ...]:
        """Every record that one unit can be."""
        refuse_no_policy(policy)
        if self.values:
            return self.values
        most = len(self.groups) if self.max_groups is None else self.max_groups
        return policy.records(self.groups, max_groups=min(most, len(self.groups)))

    def moves(self, policy: Policy) -> Iterator[tuple[Data, Data, Edge]]:
        """Every ``(X, Y, edge)``: X holds a record where Y holds one that it must be able to be.

        In a world of bags it is the same which of several equal records moves.
        """
        records = self.records(policy)
        units, bags = self.units, math.comb(len(records) + self.units - 1, self.units)
        sets = len(records) ** units if self.ordered else bags
        hint = "Use fewer groups, units or values; for real sizes use verify.audit."
        _refuse_more(sets, MAX_DATA_SETS, hint)
        joined = tuple(policy.moves(records))
        rank = {record: place for place, record in enumerate(records)}
        if self.ordered:
            for place in range(self.units):
                for rest in product(records, repeat=self.units - 1):
                    for real, other, edge in joined:
                        yield (
                            (*rest[:place], real, *rest[place:]),
                            (*rest[:place], other, *rest[place:]),
                            edge,
                        )
            return
        for rest in combinations_with_replacement(records, self.units - 1):
            for real, other, edge in joined:
                yield (
                    tuple(sorted((real, *rest), key=rank.__getitem__)),
                    tuple(sorted((other, *rest), key=rank.__getitem__)),
                    edge,
                )

    def count(self, data: Data, query: GroupCount) -> IntArray:
        """How many units are in each group, the way ``query`` counts them."""
        counts = np.zeros(len(self.groups), dtype=np.int64)
        for record in data:
            if not query.counts(record.kind):
                continue
            held = record.value if isinstance(record.value, frozenset) else {record.value}
            own = [group for group in self.groups if group in held]
            for group in own[: query.max_groups] if query.truncated else own:
                counts[self.groups.index(group)] += 1
        return counts


def _refuse_more(size: int, most: int, hint: str, *, of: str = "data sets") -> None:
    """Errors: ParameterError for a world that is too large to list."""
    if size > most:
        raise ParameterError(
            f"This world has {size:,} {of}, more than {most:,}.", hint=hint, size=size
        )


def refuse_no_policy(policy: object) -> None:
    """Errors: PolicyError."""
    if not isinstance(policy, Policy):
        raise PolicyError(
            f"policy must be a Policy, got {policy!r}.",
            hint="Make one with onesided.policy, for example presence(max_groups=3).",
        )


Sums: TypeAlias = tuple[int, ...]
_MAX_PAIRS: Final = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SumUniverse:
    """Every pair of sums that one unit's record, passing as another, can turn into each other.

    A mechanism checked on it is given whole numbers, one per group: what units with values
    within ``bounds`` add up to, in steps of the grid. Along an edge of the policy the sums of all
    groups together rise and fall by no more than the policy's moves allow; every pair of sums that
    keeps to this is tried, so also some that no data give. A pass here is the stricter one.

    bounds: the least and greatest value of a unit, in steps: whole numbers.
    groups: how many sums there are; 1 for a sum without groups.
    query: how many groups a unit may be in, and which kinds are added up.
    Errors: ParameterError for a world too large to list.

    >>> from onesided.policy import addition_only
    >>> world = SumUniverse(bounds=(0, 2))
    >>> [shift for many in world.shifts(addition_only()).values() for shift in many]
    [Shift(rise=0, fall=2)]
    >>> print(world)
    every pair of 1 sum in which a unit has from 0 to 2
    """

    bounds: tuple[int, int]
    groups: int = 1
    query: GroupCount = field(default_factory=lambda: GroupCount(max_groups=1))

    def __post_init__(self) -> None:
        whole(self.groups, name="groups", least=1, most=4)
        if not (isinstance(self.bounds, tuple | list) and len(self.bounds) == 2):
            raise ParameterError(
                f"bounds must be two whole numbers, got {self.bounds!r}.",
                hint="Give the least and greatest value of a unit in steps, such as (0, 3).",
            )
        low, high = (whole(end, name="bounds", least=-MAX_COUNT) for end in self.bounds)
        if low > high:
            raise ParameterError(f"bounds=({low}, {high}) end before they begin.")
        settle(self, bounds=(low, high))

    def __str__(self) -> str:
        sums = "1 sum" if self.groups == 1 else f"{self.groups} sums"
        low, high = self.bounds
        return f"every pair of {sums} in which a unit has from {low} to {high}"

    def shifts(self, policy: Policy) -> Mapping[Edge, tuple[Shift, ...]]:
        """Per edge, how far the sums move, as a session prices them."""
        by = ("group",) if self.groups > 1 else ()
        keys = PublicKeys.of(by, [("a",) if by else ()])
        groups = Groups(unit="unit", by=by, keys=keys, query=self.query, where=None, excess="keep")
        low, high = self.bounds
        return value_shifts(policy, groups, low=low, high=high, optional=True, monotone=low >= 0)

    def moves(self, policy: Policy) -> Iterator[tuple[Sums, Sums, Edge]]:
        """Every ``(X, Y, edge)``: sums X that must be able to pass as Y."""
        shifts = self.shifts(policy)
        side = max((max(s.rise, s.fall) for many in shifts.values() for s in many), default=0)
        least = 0 if self.bounds[0] >= 0 else -side
        pairs = (side - least + 1) ** (2 * self.groups)
        _refuse_more(pairs, _MAX_PAIRS, "Use smaller bounds or fewer groups.", of="pairs of sums")
        places = list(product(range(least, side + 1), repeat=self.groups))
        for real, other in product(places, repeat=2):
            risen, fallen = _risen(real, other), _risen(other, real)
            for edge, many in shifts.items():
                if any(risen <= shift.rise and fallen <= shift.fall for shift in many):
                    yield real, other, edge

    def count(self, data: Sums, _query: GroupCount) -> IntArray:
        """What the mechanism is given."""
        return np.array(data, dtype=np.int64)


def _risen(real: Sums, other: Sums) -> int:
    """By how much the sums that are higher on ``other`` are higher, all together."""
    return sum(max(there - here, 0) for here, there in zip(real, other, strict=True))


_MOST_DATA_SETS: Final = 5_000


class Person(NamedTuple):
    """One unit: its household (None if it has none), whether its rows mark it, where it is."""

    home: str | None
    marks: bool
    groups: frozenset[str]


class Homes(NamedTuple):
    """A data set: its persons, and the households that another table marks."""

    persons: tuple[Person, ...]
    marked: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Households:
    """Every data set of persons in these households, each in at most ``max_groups`` of ``groups``.

    Kinds and moves are worked out here from the definition of a view, apart from the code that
    prices and reads it. homes: each person's household; None for one without.
    Errors: ParameterError for a world too large to list; PolicyError for another policy.

    >>> from onesided import policy
    >>> homes = policy.view("age < 18", over="household", members=2)
    >>> world = Households(policy=homes, homes=("a", "a"), groups=("gym",))
    >>> len(list(world.data_sets())), len(list(world.moves(homes)))
    (16, 72)
    """

    policy: View
    homes: tuple[str | None, ...] = ("a", "a", "b")
    groups: tuple[str, ...] = ("p",)
    max_groups: int = 1

    def __post_init__(self) -> None:
        whole(self.max_groups, name="max_groups", least=1)
        size = len(self._values()) ** len(self.homes) * len(self._registers())
        _refuse_more(size, _MOST_DATA_SETS, "Use fewer persons or groups.")

    def __str__(self) -> str:
        homes = ", ".join(str(home) for home in self.homes)
        return f"every data set of persons in the households {homes}"

    def data_sets(self) -> Iterator[Homes]:
        """All of them."""
        for chosen in product(self._values(), repeat=len(self.homes)):
            persons = tuple(Person(h, *one) for h, one in zip(self.homes, chosen, strict=True))
            for marked in self._registers():
                yield Homes(persons, marked)

    def sensitive(self, data: Homes, place: int) -> bool:
        """Whether a person is, by the definition."""
        home = data.persons[place].home
        if home is None or self.homes.count(home) > self.policy.members:
            return True
        if self.policy.table is not None:
            return home in data.marked
        return any(person.marks for person in data.persons if person.home == home)

    def moves(self, policy: Policy) -> Iterator[tuple[Homes, Homes, Edge]]:
        """Every ``(X, Y, edge)``: in Y one that is sensitive in X is another, at home still."""
        if policy != self.policy:
            raise PolicyError(
                f"This world is of another policy than {policy.name!r}.",
                hint="Give Households the policy that is checked.",
            )
        stays, opens = policy.edges
        for real in self.data_sets():
            for place in range(len(self.homes)):
                if self.sensitive(real, place):
                    for other in self._others(real, place):
                        yield real, other, stays if self.sensitive(other, place) else opens

    def count(self, data: Homes, query: GroupCount) -> IntArray:
        """How many persons of the counted kinds are in each group."""
        counts = np.zeros(len(self.groups), dtype=np.int64)
        for place, person in enumerate(data.persons):
            if query.counts("sensitive" if self.sensitive(data, place) else "open"):
                counts += [group in person.groups for group in self.groups]
        return counts

    def _others(self, real: Homes, place: int) -> Iterator[Homes]:
        person = real.persons[place]
        here = {real.marked}
        if self.policy.table is not None and person.home is not None:
            here = {real.marked | {person.home}, real.marked - {person.home}}
        for value, marked in product(self._values(), here):
            changed = Person(person.home, *value)
            persons = (*real.persons[:place], changed, *real.persons[place + 1 :])
            if (persons, marked) != tuple(real):
                yield Homes(persons, marked)

    def _values(self) -> list[tuple[bool, frozenset[str]]]:
        """What a person can be, but for the household; only rows of the data mark here."""
        marks = (False, True) if self.policy.table is None else (False,)
        sizes = range(self.max_groups + 1)
        held = [frozenset(some) for size in sizes for some in combinations(self.groups, size)]
        return list(product(marks, held))

    def _registers(self) -> list[frozenset[str]]:
        """The households that the other table may mark."""
        homes = sorted({home for home in self.homes if home is not None})
        if self.policy.table is None:
            return [frozenset()]
        return [frozenset(s) for n in range(len(homes) + 1) for s in combinations(homes, n)]


# What one move of a policy makes of a table, family by family, from the definitions alone.
#
# A unit without rows is not in the table: that is asked once, in :func:`_by_unit`, for all
# families. Nothing in production imports this. It knows no ``edge_between``, ``relaxes`` or
# ``shifts``, but only a policy's name and its parameters as they are stored.

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
            hint="Write them in onesided.verify._universe, from the family's definition.",
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
