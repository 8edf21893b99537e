"""Having been somewhere is protected; not having been there is not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, islice
from typing import Final, Literal, NoReturn

from onesided._english import many
from onesided._numbers import whole
from onesided.errors import PolicyError
from onesided.fields import Field, Text, Whole, fields_of, is_name
from onesided.policy._base import GroupCount, Policy, Predicate, Rule, Widened, over_groups
from onesided.policy._family import PREDICATE, Family, Option
from onesided.policy._shift import (
    ABSENT,
    COMMON,
    PUBLIC_NUMBER,
    Addition,
    Chains,
    Edge,
    Record,
    Shift,
    likely,
)

UNIT: Final = "unit"
_EDGE: Final = Edge("present", "not present")
_MOST_SETS: Final = 20_000
_ABSENT: Final = "if they had not been there"


@dataclass(frozen=True, repr=False)
class Presence(Policy):
    """A unit is the set of groups it is in; a move drops some of them and never adds any.

    Moves: ``x -> y`` for y a proper subset of x with at most ``max_groups`` fewer groups.
    A unit in no more than ``max_groups`` groups may thus pass as any part of itself in one move,
    as in ADP-2021 (Definitions 7 to 9); one in ``m`` groups needs ``ceil(m / max_groups)`` moves to
    pass as having been nowhere. Whoever drops all that she has leaves the table: those moves are
    none of a policy that keeps the number of units public, such as bounded privacy.

    >>> from onesided import policy
    >>> policy.presence(max_groups=3).covers
    3
    """

    max_groups: Whole = Field(whole, least=1, example="3")

    name = "presence"
    kinds = (UNIT,)
    edges = (_EDGE,)

    def ends(self, edge: Edge) -> tuple[str, str]:  # noqa: ARG002 - there is one kind
        return UNIT, UNIT

    def ways(self, edge: Edge) -> tuple[tuple[str, str], ...]:
        """Whoever drops all that she has is no longer in the table; others are."""
        return self.ends(edge), (UNIT, ABSENT)

    def shifts(self, query: GroupCount) -> Mapping[Edge, tuple[Shift, ...]]:
        """Dropping groups lowers counts and raises none -- unless units are cut down.

        If a unit in more than ``query.max_groups`` groups is truncated, then what is dropped from
        the kept part makes room for groups that were cut, and those counts *rise*. No way of
        cutting avoids this, so one-sided noise would have infinite loss (docs/guarantees.md).
        """
        self.check_counted(query)
        kept = query.max_groups or self.max_groups
        bound = query.at_most(min(self.max_groups, kept))
        cut = query.at_most(kept + bound) - kept if query.truncated else 0
        return {_EDGE: (Shift(rise=max(cut, 0), fall=bound),)}

    @property
    def covers(self) -> int:
        return self.max_groups

    @property
    def other_values(self) -> Literal["dropped"]:
        """Rows of dropped groups go; some rows of a group may go and others stay."""
        return "dropped"

    # Counting everyone whole is what the policy means; truncating costs its one side.
    excess_modes = ("keep", "error", "truncate")

    def records(self, groups: Sequence[str], *, max_groups: int) -> tuple[Record, ...]:
        return over_groups(self.kinds, groups, max_groups)

    def edge_between(self, real: Record, other: Record) -> Edge | None:
        if not (isinstance(real.value, frozenset) and isinstance(other.value, frozenset)):
            return None
        dropped = real.value - other.value
        return _EDGE if other.value < real.value and len(dropped) <= self.max_groups else None

    def parameters(self) -> dict[str, object]:
        return {"max_groups": self.max_groups}

    def decides(self, other: Policy) -> bool | None:
        """Exact among presence policies: each drops up to its own number of groups."""
        return self.max_groups <= other.max_groups if isinstance(other, Presence) else None

    def widened(self, implied: Chains) -> Widened:
        """To hide one visit, every visit that implies it has to go with it."""
        groups = set(implied) | {group for ends in implied.values() for group in ends}
        together = [
            frozenset({group, *(fact for fact, ends in implied.items() if group in ends)})
            for group in groups
        ]
        most = self.max_groups
        needed = max(
            _largest_union(together, size) + most - size
            for size in range(min(most, len(groups)) + 1)
        )
        change = f"Up to {many(needed, 'group')} instead of {most} are now hidden at once"
        if needed <= most:
            return Widened(self, ())
        added = [
            Addition(fact, chain, change)
            for fact, ends in implied.items()
            for chain in ends.values()
        ]
        return Widened(Presence(needed), tuple(added))

    def drawn(self) -> tuple[tuple[str, ...], tuple[Edge, ...]]:
        return (), self.edges

    def sentences(self, epsilon: Fraction) -> list[str]:
        """Both directions of the presence policy, and what the bound means for busy people."""
        bound = self.max_groups
        groups = "group" if bound == 1 else f"{bound} groups"
        each = "group by group" if bound == 1 else f"for any {bound} of them"
        return [
            f"Protected (present -> not present): that someone was in any given {groups} "
            f"(for instance, visited those places). {likely(epsilon, other=_ABSENT)}",
            f"Someone in more than {bound} is protected {each}; to hide m groups at once the odds "
            f"are raised to the power m/{bound}, rounded up.",
            "Not protected: that someone was NOT in a group. An observer may learn for certain "
            "that "
            "a group had at most so many people; that is what makes a published upper bound exact.",
            COMMON,
        ]


def presence(*, max_groups: int) -> Presence:
    """Protect where units were, not where they were not (ADP-2021, Definitions 7 to 9).

    ``max_groups``: how many groups of one unit a single ε covers.

    >>> from onesided import policy
    >>> places = policy.presence(max_groups=3)
    >>> ((edge, (shift,)),) = places.shifts(policy.GroupCount()).items()
    >>> edge.name, shift
    ('present -> not present', Shift(rise=0, fall=3))
    """
    return Presence(max_groups)


def _largest_union(sets: Sequence[frozenset[str]], size: int) -> int:
    """The most elements in a union of ``size`` of the sets; a bound where there are too many."""
    chosen = list(islice(combinations(sets, size), _MOST_SETS + 1))
    if len(chosen) > _MOST_SETS:
        return sum(sorted((len(one) for one in sets), reverse=True)[:size])
    return max(len(frozenset().union(*many)) for many in chosen)


# The policy of a map: who did not agree may pass as at fewer places, and as one who agreed.

SENSITIVE: Final = "sensitive"
OPEN: Final = "open"
_STAYS: Final = Edge(SENSITIVE, SENSITIVE)
_OPENS: Final = Edge(SENSITIVE, OPEN)


@dataclass(frozen=True, repr=False)
class SensitivePresence(Policy):
    """A sensitive unit may pass as one in fewer groups, sensitive or open; an open one as nobody.

    Moves of a unit for any of whose rows ``condition`` is true or unknown: rows of at most
    ``max_groups`` of its groups go, none comes, and the columns that the condition reads may hold
    anything in the rows that stay; all other columns stay. Who drops all rows leaves the table. So
    a kind is hidden as well as a place: dropping no row and changing kind is a move.
    Edges: sensitive -> sensitive, and absence; sensitive -> open, where a row stays.

    Counts of everybody only fall: "at most" is certain. Counts of open units only rise, by **all**
    groups that the unit has afterwards, so those are bounded by what is enforced: "at least" is
    certain. The intersection of presence and sensitive is less: there somebody who did not agree
    and is in one group has no move at all.

    >>> from onesided import policy
    >>> visits = policy.sensitive_presence("NOT agreed", max_groups=2)
    >>> places = frozenset({"place"})  # no column that the condition reads
    >>> opened = policy.GroupCount(counted=frozenset({"open"}), max_groups=3, columns=places)
    >>> {edge.name: shift for edge, (shift,) in visits.shifts(opened).items()}
    {'sensitive -> sensitive': Shift(rise=0, fall=0), 'sensitive -> open': Shift(rise=3, fall=0)}
    """

    condition: Predicate
    max_groups: Whole = Field(whole, least=1, example="3")

    name = "sensitive_presence"
    kinds = (SENSITIVE, OPEN)
    edges = (_STAYS, _OPENS)

    @property
    def rules(self) -> tuple[Rule, ...]:
        return (Rule(SENSITIVE, self.condition),)

    default_kind = OPEN

    @property
    def covers(self) -> int:
        return self.max_groups

    # As presence; a count of one kind bounds the groups of whoever changes kind.
    excess_modes = ("keep", "truncate", "error")

    def ways(self, edge: Edge) -> tuple[tuple[str, str], ...]:
        """Whoever drops all that she has is no longer in the table."""
        gone = ((SENSITIVE, ABSENT),) if edge == _STAYS else ()
        return (self.ends(edge), *gone)

    def shifts(self, query: GroupCount) -> Mapping[Edge, tuple[Shift, ...]]:
        """Of all kinds, as presence; of one kind, all groups of the unit that changes kind.

        Where cells or their condition look at a column that decides kinds, rows that stay may
        leave a cell and enter another one, as where whole records are replaced.
        Errors: PolicyError where one kind is counted and nothing bounds a unit's groups.
        """
        self.check_counted(query)
        if self._reads(query):
            bounded = replace(query, max_groups=self._of_one(query))
            gone = bounded.between(SENSITIVE, ABSENT)
            stays = dict.fromkeys((*bounded.between(SENSITIVE, SENSITIVE), *gone))
            return {_STAYS: tuple(stays), _OPENS: bounded.between(SENSITIVE, OPEN)}
        (drops,) = Presence(self.max_groups).shifts(replace(query, counted=None)).values()
        sensitive, opened = query.counts(SENSITIVE), query.counts(OPEN)
        if sensitive and opened:
            cells = query.cells
            # Whoever is open afterwards has a row, which is all that a row, or one cell, has.
            same = cells and (cells.rows or (cells.everything and cells.where is None))
            return {_STAYS: drops, _OPENS: (Shift(rise=0, fall=0),) if same else drops}
        most = query.at_most(self._of_one(query))
        opens = Shift(rise=most, fall=0) if opened else Shift(rise=0, fall=most)
        return {_STAYS: drops if sensitive else (Shift(rise=0, fall=0),), _OPENS: (opens,)}

    reads_columns = True

    def bounds_groups(self, query: GroupCount) -> bool:
        """Where one kind counts, or a column that decides kinds is looked at."""
        return self._reads(query) or query.counts(SENSITIVE) != query.counts(OPEN)

    def _reads(self, query: GroupCount) -> bool:
        """Whether what tells cells apart, or picks their rows, may change in a row that stays."""
        cells, read, used = query.cells, self.condition.condition, query.columns
        if cells and cells.everything and cells.where is None:
            return False
        return read is None or used is None or not used.isdisjoint(read.columns)

    def _of_one(self, query: GroupCount) -> int:
        """In how many groups a unit is counted. Errors: PolicyError where nothing bounds that."""
        if query.max_groups is None:
            raise PolicyError(
                "A unit may be in any number of groups, all of which come or go in a count when "
                "its kind changes.",
                hint='Bound them: on_excess="truncate" and max_groups=, the most groups in which '
                "one unit is to be counted.",
            )
        return query.max_groups

    def records(self, groups: Sequence[str], *, max_groups: int) -> tuple[Record, ...]:
        return over_groups(self.kinds, groups, max_groups)

    def edge_between(self, real: Record, other: Record) -> Edge | None:
        here, there = real.value, other.value
        if real.kind != SENSITIVE or not isinstance(here, frozenset):
            return None
        if not (isinstance(there, frozenset) and there <= here):
            return None
        if len(here - there) > self.max_groups or real == other:
            return None
        return _OPENS if other.kind == OPEN else _STAYS

    def parameters(self) -> dict[str, object]:
        return {"predicate": self.condition.text, "max_groups": self.max_groups}

    def decides(self, other: Policy) -> bool | None:
        """Exact among those of one condition: each drops up to its own number of groups."""
        if isinstance(other, SensitivePresence) and self.condition == other.condition:
            return self.max_groups <= other.max_groups
        return None

    def widened(self, implied: Chains) -> Widened:
        """To hide one visit, every visit that implies it has to go with it."""
        wider = Presence(self.max_groups).widened(implied)
        if not isinstance(wider.policy, Presence) or not wider.added:
            return Widened(self, ())
        return Widened(replace(self, max_groups=wider.policy.max_groups), wider.added)

    def sentences(self, epsilon: Fraction) -> list[str]:
        """What is hidden of whom, and what counts of everybody and of open ones may tell."""
        bound = many(self.max_groups, "group")
        return [
            f"Somebody is sensitive where {self.condition.text}, or where that is unknown.",
            f"Protected ({_STAYS.name}): that somebody sensitive was in any {bound}, or at all. "
            f"{likely(epsilon, other='if they had not been there')}",
            f"Protected ({_OPENS.name}): the same, and that they are sensitive: they may pass as "
            f"open, wherever they still are. {likely(epsilon)}",
            "Not protected: somebody open, and that somebody sensitive was NOT in a group. An "
            "observer may learn for certain that at most so many people were in a group, and that "
            "at least so many open ones were.",
            f"Warning: never publish all {OPEN} records. Anyone missing from them is then known "
            f"to be {SENSITIVE} (an exclusion attack).",
            COMMON,
        ]


def sensitive_presence(predicate: object, *, max_groups: int) -> SensitivePresence:
    """Protect where sensitive units were, and that they are sensitive: the policy of a map.

    predicate: a condition (docs/conditions.md), true where a row is sensitive; unknown counts as
        true, and a unit is sensitive if any of its rows is. max_groups: how many groups of one
        unit a single ε covers. Errors: as :class:`SensitivePresence`; ConditionError.

    >>> from onesided import policy
    >>> places = policy.sensitive_presence("NOT agreed", max_groups=3)
    >>> places.kinds, [edge.name for edge in places.edges]
    (('sensitive', 'open'), ['sensitive -> sensitive', 'sensitive -> open'])
    """
    return SensitivePresence(Predicate.of(predicate), max_groups)


# Sensitive by the answer of a query: a unit is of the kind of its group, such as its household.


@dataclass(frozen=True, repr=False)
class View(Policy):
    """A unit is sensitive if its group is; a group is, if any row of it meets a condition.

    A group is all units with one value in the column ``over``; rows are those of the data or, with
    ``table``, of that other table. A group of more than ``members`` units is sensitive, too, and so
    is a unit without a group. Each unit is in one group at most.

    Moves: a unit that is sensitive in the real data changes all its values but its group; with
    ``table``, the rows of its group there may change, too, also alone. Other units of the group
    change kind along with it. Units stay in their groups, whose sizes are not hidden.
    Edges by whether the unit is sensitive afterwards. Source: OSDP, section 7, left open there.
    Errors: PolicyError, ParameterError, ConditionError.

    >>> from onesided import policy
    >>> homes = policy.view("age < 18", over="household", members=6)
    >>> opened = policy.GroupCount(counted=frozenset({"open"}), several_units=True)
    >>> {edge.name: shift for edge, (shift,) in homes.shifts(opened).items()}["sensitive -> open"]
    Shift(rise=6, fall=0)
    """

    condition: Predicate
    over: Text = Field(is_name, example='"household"')
    members: Whole = Field(whole, least=1, example="6")
    table: Field[str | None, str | None] = Field(
        is_name, default=None, optional=True, example='"register"'
    )

    name = "view"
    kinds = (SENSITIVE, OPEN)
    edges = (_STAYS, _OPENS)
    default_kind = OPEN

    @property
    def view(self) -> View:
        return self

    @property
    def other_values(self) -> Literal["replaced"]:
        """A move may replace all that a unit holds but its group."""
        return "replaced"

    def shifts(self, query: GroupCount) -> Mapping[Edge, tuple[Shift, ...]]:
        """Where all kinds count, one unit's groups go and come. Else the whole group's may.

        Along sensitive -> sensitive its group stays sensitive, so nobody else changes kind. Along
        sensitive -> open all of its units do, at most ``members``: none becomes sensitive.
        Errors: PolicyError where kinds are counted and what is asked knows one unit alone.
        """
        self.check_counted(query)
        stays = query.between(SENSITIVE, SENSITIVE)
        opened = query.counts(OPEN)
        if query.counts(SENSITIVE) == opened:
            return {_STAYS: stays, _OPENS: stays}
        if not query.several_units:
            raise PolicyError(
                f"Under a view by {self.over!r} up to {many(self.members, 'unit')} change kind in "
                "one move, and only counts are priced for that.",
                hint='Ask session.count(counted="open"), or leave kinds out. For samples and all '
                f"else open a session with unit={self.over!r} and sensitive(...): its kind is "
                "decided over all its rows, and one coin or price is for all of it.",
                over=self.over,
            )
        most = query.at_most(query.max_groups or 1) * self.members
        opens = Shift(rise=most, fall=0) if opened else Shift(rise=0, fall=most)
        return {_STAYS: stays, _OPENS: (opens,)}

    def decides(self, other: Policy) -> bool | None:
        """By another table a move may change rows of several units there: no record's move does."""
        if self.table is not None and other.of_kinds:
            return False
        return True if self == other else None

    def records(self, groups: Sequence[str], *, max_groups: int) -> NoReturn:
        """Errors: PolicyError: its moves join data sets, not records."""
        del groups, max_groups
        self._refuse_records()

    def edge_between(self, real: Record, other: Record) -> NoReturn:
        """Errors: PolicyError: whether units are sensitive depends on the others of their group."""
        del real, other
        self._refuse_records()

    def _refuse_records(self) -> NoReturn:
        raise PolicyError(
            "The moves of a view join data sets, not single records: a unit's kind depends on "
            f"others of its {self.over}.",
            hint="onesided.verify.Households lists small data sets and every move between them.",
        )

    def parameters(self) -> dict[str, object]:
        other = {} if self.table is None else {"table": self.table}
        text = self.condition.text
        return {"predicate": text, "over": self.over, "members": self.members, **other}

    def sentences(self, epsilon: Fraction) -> list[str]:
        """What marks a group, what is hidden of its units, and what is told of everybody."""
        over, where = self.over, "" if self.table is None else f" in the table {self.table!r}"
        kept = "" if self.table is None else ", and so may its rows in that table"
        return [
            f"A unit is sensitive if its {over} is: if any row of it{where} meets "
            f"{self.condition.text}, or may. So is a {over} of more than "
            f"{many(self.members, 'unit')}, and a unit without one.",
            f"Protected ({_STAYS.name}): all that a sensitive unit holds may pass as anything else "
            f"in the same {over}{kept}. {likely(epsilon)}",
            f"Protected ({_OPENS.name}): that a {over} is sensitive. It may pass as one that is "
            f"not, where one unit's rows{' or its own rows' if kept else ''} decide it. "
            f"{likely(epsilon)}",
            f"Not protected: which {over} a unit is in, and how many units are in it. Not "
            f"protected: units of an open {over}; an observer may learn for certain all that they "
            "hold.",
            f"Warning: if two rows of a {over} meet the condition, no one move hides it: two moves "
            "do, and odds multiply.",
            PUBLIC_NUMBER,
            COMMON,
        ]


def view(predicate: object, *, over: str, members: int, table: str | None = None) -> View:
    """A unit is sensitive if any row of its group is, such as any row of its household.

    predicate: a condition (docs/conditions.md), true where a row marks its group; unknown counts
        as true. over: the column that groups units. members: how many units may change kind in one
        move; larger groups are sensitive as they are. table: the name of another table, with the
        column ``over``, whose rows mark groups; see ``tables`` of :class:`onesided.Session`.
    Errors: as :class:`View`.

    >>> from onesided import policy
    >>> policy.view("age < 18", over="household", members=6).kinds
    ('sensitive', 'open')
    """
    return View(Predicate.of(predicate), over, members, table)


_GROUPS: Final = Option(
    "max_groups", "the most groups (such as places) of one person that ε should cover"
)
FAMILIES: Final = (
    Family(
        "presence",
        presence,
        fields_of(Presence),
        example={"max_groups": 2},
        options={"max_groups": _GROUPS},
    ),
    Family(
        "sensitive_presence",
        sensitive_presence,
        {"predicate": PREDICATE, **fields_of(SensitivePresence)},
        example={"predicate": "NOT agreed", "max_groups": 2},
        options={
            "sensitive": Option(
                "predicate", "SQL that is true for sensitive rows, such as 'age < 18 or not opt_in'"
            ),
            "max_groups": _GROUPS,
        },
    ),
    Family(
        "view",
        view,
        {"predicate": PREDICATE, **fields_of(View)},
        example={"predicate": "age < 18", "over": "household", "members": 6},
    ),
)
