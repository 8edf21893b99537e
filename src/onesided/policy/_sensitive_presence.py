"""The policy of a map: who did not agree may pass as at fewer places, and as one who agreed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Final

from onesided._english import many
from onesided._numbers import whole
from onesided.errors import PolicyError
from onesided.fields import Field, Whole, fields_of
from onesided.policy._base import Policy, Widened
from onesided.policy._cells import GroupCount
from onesided.policy._family import PREDICATE, Family, Option
from onesided.policy._implications import Chains
from onesided.policy._predicate import Predicate, Rule
from onesided.policy._presence import Presence
from onesided.policy._shift import ABSENT, COMMON, Edge, Record, Shift, likely

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
        return tuple(
            Record(kind, frozenset(chosen))
            for kind in self.kinds
            for size in range(max_groups + 1)
            for chosen in combinations(groups, size)
        )

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


FAMILY: Final = Family(
    "sensitive_presence",
    sensitive_presence,
    {"predicate": PREDICATE, **fields_of(SensitivePresence)},
    example={"predicate": "NOT agreed", "max_groups": 2},
    options={
        "sensitive": Option(
            "predicate", "SQL that is true for sensitive rows, such as 'age < 18 or not opt_in'"
        ),
        "max_groups": Option(
            "max_groups", "the most groups (such as places) of one person that ε should cover"
        ),
    },
)
