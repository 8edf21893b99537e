"""The cells that a question counts units in, and how far one move can take their numbers.

Claim. A question asks for a vector of numbers, one for each of its *cells*: how many units of the
kinds counted, with rows that meet the condition, are in each. For each edge a policy tells shifts
``(rise, fall)`` so that every move along it goes no further, both ways, than one of them.

A unit is in a set of the cells before the move and in another one after: ``p`` and ``q`` of them.
It changes each number by one at most, and what is in both sets changes nothing. So
``rise = q - o`` and ``fall = p - o``, where at least ``o >= p + q - size`` cells are in both.
:meth:`GroupCount.between` takes the largest over all p and q that units of both kinds can have.
How many these are is what is proved of a kind: none, if it is not counted, is absent, or no row of
such a unit can make the condition true; exactly one, if everything is one cell and each of its rows
is sure to make the condition true. Rows are decided by :func:`onesided.conditions.truths`, which
takes each comparison that is written in another way for independent, and tries unknown as a value.

What is wider than that is said where a policy decides it: kinds of a view, conditions and columns
beside the values that a policy names, and units with several rows of which a kind needs one only.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from onesided._numbers import whole
from onesided.conditions import ANY, Condition, Truth
from onesided.policy._shift import ABSENT, Shift

_MOST_TOLD: Final = 16
_NOTHING: Final[Mapping[str, frozenset[Truth]]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """The cells of a question, as much of them as a policy must know.

    size: how many there are. everything: whether they are one cell, of no column. where: which rows
    count; None if all do. rows: whether each row is a unit. column, keys: the one column that tells
    cells apart and their values, where a policy that names values may read them; else "" and ().
    alone: whether no other column can be the one that a policy means which names none.

    >>> Cells(size=1, everything=True).rows
    False
    """

    size: int
    everything: bool = False
    where: Condition | None = None
    rows: bool = False
    column: str = ""
    keys: AbstractSet[Hashable] = frozenset()
    alone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCount:
    """A count of units per group, as much of it as a policy must know.

    max_groups: the most groups that one unit can be counted in. None is what the policy itself
        assumes: presence counts every group and covers ``max_groups`` of them by its noise; any
        other policy takes one group per unit, as in a histogram. Of an intersection it is what
        presence assumes, if presence is among its parts.
    counted: the kinds that are counted; None counts every kind.
    truncated: units in more groups are cut down to ``max_groups`` of them. What is kept may
        then change when something is dropped, and the policy has to price that.
    several_units: the asker's price goes by the total change of all counts, so that it holds where
        one move changes several units, as under a view. False: each count changes by 1 at most.
    cells: which groups these are; None where that is not known, and any number of them may be.
    columns: all that tell groups apart or pick rows; None where these are not known, or one may be
        made of others.

    >>> from onesided.policy import GroupCount
    >>> GroupCount(counted=frozenset({"open"})).counts("sensitive")
    False
    """

    max_groups: int | None = None
    counted: frozenset[str] | None = None
    truncated: bool = False
    several_units: bool = False
    cells: Cells | None = None
    columns: frozenset[str] | None = None

    def __post_init__(self) -> None:
        if self.max_groups is not None:
            whole(self.max_groups, name="max_groups", least=1)

    def counts(self, kind: str) -> bool:
        """Whether records of ``kind`` can add to an answer."""
        return kind != ABSENT and (self.counted is None or kind in self.counted)

    def at_most(self, groups: int) -> int:
        """So many groups, or as many as there are."""
        return groups if self.cells is None else min(groups, self.cells.size)

    def between(
        self, source: str, target: str, where: Mapping[str, frozenset[Truth]] = _NOTHING
    ) -> tuple[Shift, ...]:
        """The largest shifts where a unit of one kind may become any unit of another.

        No move rises and falls further than each of them; of too many, what is larger than all.
        where: what the condition can be for a row of each kind; all of it for those left out.

        >>> one, two = (GroupCount(cells=Cells(size=n)) for n in (1, 2))
        >>> one.between("record", "record")
        (Shift(rise=0, fall=1), Shift(rise=1, fall=0))
        >>> two.between("record", "record")
        (Shift(rise=1, fall=1),)
        """
        few, many = self._span(source, where.get(source, ANY))
        fewer, more = self._span(target, where.get(target, ANY))
        size = many + more if self.cells is None else self.cells.size
        rise, fall = min(more, size - few), min(many, size - fewer)
        told = range(size - fall, rise + 1)
        if rise + fall <= size or len(told) > _MOST_TOLD:
            return (Shift(rise=rise, fall=fall),)
        return tuple(Shift(rise=up, fall=size - up) for up in told)

    def _span(self, kind: str, found: frozenset[Truth]) -> tuple[int, int]:
        """In how many cells, at least and at most, a unit of the kind is."""
        if not self.counts(kind):
            return 0, 0
        if self.cells is None:
            return 0, self.max_groups or 1
        if self.cells.where is not None and True not in found:
            return 0, 0
        sure = self.cells.where is None or found == {True}
        return int(self.cells.everything and sure), self.at_most(self.max_groups or 1)

    @property
    def values(self) -> AbstractSet[Hashable]:
        """The cells' values, for a policy that names values; none if it must not know them.

        A unit that is cut down to one of several cells may be kept in another one after a move.
        """
        cells = self.cells
        return frozenset() if cells is None or (self.truncated and cells.size > 1) else cells.keys


def extremes(moves: Iterable[tuple[bool, bool]]) -> tuple[Shift, ...]:
    """Of moves of one value, each by whether a cell rises and whether one falls; none is none.

    >>> extremes([(False, False), (False, True)])
    (Shift(rise=0, fall=1),)
    """
    found = set(moves)
    most = found & {(True, True)} or found - {(False, False)} or {(False, False)}
    return tuple(Shift(rise=int(rise), fall=int(fall)) for rise, fall in sorted(most))
