"""A world of a few households, in which every data set and every move of a view can be listed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product
from typing import Final, NamedTuple

import numpy as np

from onesided._numbers import whole
from onesided.errors import ParameterError, PolicyError
from onesided.noise import IntArray
from onesided.policy import Edge, GroupCount, Policy, View

_MOST_DATA_SETS: Final = 5_000


class Person(NamedTuple):
    """One unit: its household (None if it has none), whether its rows mark it, where it is."""

    home: str | None
    marks: bool
    groups: frozenset[str]


class Homes(NamedTuple):
    """A data set: its persons, and the households that another table marks.

    >>> Homes((Person("a", True, frozenset()),), frozenset()).persons[0].home
    'a'
    """

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
        if size > _MOST_DATA_SETS:
            raise ParameterError(
                f"This world has {size:,} data sets, more than {_MOST_DATA_SETS:,}.",
                hint="Use fewer persons or groups.",
                data_sets=size,
            )

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
