"""The largest count of each compound of groups: one number says that all of them are small."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from onesided._numbers import whole
from onesided.errors import DataError, ParameterError
from onesided.fields import Field
from onesided.mechanism._base import counts_of
from onesided.noise import IntArray
from onesided.policy import Shift

Places = tuple[tuple[int, ...], ...]


def _members(given: object, *, name: str) -> Places:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ParameterError(
            f"{name} must list the groups' places for each compound, got {given!r}.",
            hint="For example [[0, 1], [1, 2]].",
        )
    read = tuple(tuple(whole(place, name=name) for place in one) for one in given)
    if not read or not all(read):
        raise ParameterError("A compound has no group.", hint="Give each at least one.")
    return tuple(tuple(dict.fromkeys(one)) for one in read)


@dataclass(frozen=True)
class Compounds:
    """Sets of groups, such as routes of stops; of each, the largest count among its groups.

    "Every group of the compound has at most t units" is one statement about that largest count,
    so a mechanism for counts answers it once, at any number of groups.
    members: for each compound the places of its groups among the counts; a group may be in several.

    Promise: a move that lowers ``fall`` counts by one each lowers at most ``reach(fall)`` of the
    largest counts, by one each; and so for rises.
    Proof: docs/proofs/compounds.md. Errors: ParameterError; DataError.

    >>> from onesided.policy import Shift
    >>> routes = Compounds([[0, 1], [1, 2]])
    >>> routes.largest([0, 7, 9]).tolist()
    [7, 9]
    >>> routes.shift(Shift(rise=0, fall=3))
    Shift(rise=0, fall=2)
    """

    members: Field[Sequence[Sequence[int]], Places] = Field(_members)

    def largest(self, counts: ArrayLike) -> IntArray:
        """The largest count of each compound. Errors: DataError for too few counts."""
        given = counts_of(counts)
        if given.size <= self._places.max():
            raise DataError(
                f"There are {given.size} counts, but a compound has a group at place "
                f"{self._places.max()}.",
                hint="Give a count for every group.",
            )
        found: IntArray = np.maximum.reduceat(given[self._places], self._starts)
        return found

    def reach(self, groups: int) -> int:
        """The most compounds that a change in so many groups can reach; never too small.

        Groups that are in the same compounds reach no more together than one of them does.
        """
        asked = whole(groups, name="groups")
        return min(len(self.members), sum(self._widths[:asked]))

    def shift(self, shift: Shift) -> Shift:
        """How far the largest counts can move where the counts, each by at most 1, move so far."""
        return Shift(rise=self.reach(shift.rise), fall=self.reach(shift.fall))

    @cached_property
    def _places(self) -> IntArray:
        return np.array([place for one in self.members for place in one], dtype=np.int64)

    @cached_property
    def _starts(self) -> IntArray:
        ends = np.cumsum([len(one) for one in self.members], dtype=np.int64)
        return np.concatenate([np.zeros(1, dtype=np.int64), ends[:-1]])

    @cached_property
    def _widths(self) -> tuple[int, ...]:
        """In how many compounds groups are, largest first; once for groups in the same ones."""
        inside: dict[int, list[int]] = {}
        for number, one in enumerate(self.members):
            for place in one:
                inside.setdefault(place, []).append(number)
        kinds = {tuple(numbers) for numbers in inside.values()}
        return tuple(sorted(map(len, kinds), reverse=True))
