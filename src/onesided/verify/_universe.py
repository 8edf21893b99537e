"""Worlds so small that every data set in them can be listed: of records, sums and households."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, combinations_with_replacement, product
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

import numpy as np

from onesided._numbers import MAX_COUNT, whole
from onesided.engine import PublicKeys
from onesided.errors import ParameterError, PolicyError
from onesided.fields import settle
from onesided.mechanism.kit import refuse_no_policy
from onesided.noise import IntArray
from onesided.policy import Edge, GroupCount, Policy, Record, Shift, View
from onesided.session.kit import Groups, value_shifts

Data: TypeAlias = tuple[Record, ...]


class World(Protocol):
    """A world so small that all of its data sets and every move between them can be listed."""

    def moves(self, policy: Policy, /) -> Iterator[tuple[Any, Any, Edge]]:
        """Every ``(X, Y, edge)``."""

    def count(self, data: Any, query: Any, /) -> Any:
        """What a mechanism is given of a data set."""


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
