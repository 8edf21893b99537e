"""Sensitive by the answer of a query: a unit is of the kind of its group, such as its household."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, NoReturn

from onesided._english import many
from onesided._numbers import whole
from onesided.errors import PolicyError
from onesided.fields import Field, Text, Whole, fields_of, is_name
from onesided.policy._base import Policy
from onesided.policy._cells import GroupCount
from onesided.policy._family import PREDICATE, Family
from onesided.policy._predicate import GroupRule, Predicate
from onesided.policy._shift import COMMON, PUBLIC_NUMBER, Edge, Record, Shift, likely

SENSITIVE: Final = "sensitive"
OPEN: Final = "open"
_STAYS: Final = Edge(SENSITIVE, SENSITIVE)
_OPENS: Final = Edge(SENSITIVE, OPEN)


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
    def view(self) -> GroupRule:
        return GroupRule(self.condition, self.over, self.members, self.table)

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
            self._refuse_kinds()
        most = query.at_most(query.max_groups or 1) * self.members
        opens = Shift(rise=most, fall=0) if opened else Shift(rise=0, fall=most)
        return {_STAYS: stays, _OPENS: (opens,)}

    def decides(self, other: Policy) -> bool | None:
        """By another table a move may change rows of several units there: no record's move does."""
        if self.table is not None and other.of_kinds:
            return False
        return True if self == other else None

    def _refuse_kinds(self) -> NoReturn:
        raise PolicyError(
            f"Under a view by {self.over!r} up to {many(self.members, 'unit')} change kind in one "
            "move, and only counts are priced for that.",
            hint='Ask session.count(counted="open"), or leave kinds out. For samples and all else '
            f"open a session with unit={self.over!r} and sensitive(...): its kind is decided over "
            "all its rows, and one coin or price is for all of it.",
            over=self.over,
        )

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


FAMILY: Final = Family(
    "view",
    view,
    {"predicate": PREDICATE, **fields_of(View)},
    example={"predicate": "age < 18", "over": "household", "members": 6},
)
