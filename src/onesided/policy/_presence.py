"""Having been somewhere is protected; not having been there is not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, islice
from typing import Final, Literal

from onesided._english import many
from onesided._numbers import whole
from onesided.fields import Field, Whole, fields_of
from onesided.policy._base import Policy, Widened
from onesided.policy._cells import GroupCount
from onesided.policy._family import Family, Option
from onesided.policy._implications import Addition, Chains
from onesided.policy._shift import ABSENT, COMMON, Edge, Record, Shift, likely

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
        return tuple(
            Record(UNIT, frozenset(chosen))
            for size in range(max_groups + 1)
            for chosen in combinations(groups, size)
        )

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


FAMILY: Final = Family(
    "presence",
    presence,
    fields_of(Presence),
    example={"max_groups": 2},
    options={
        "max_groups": Option(
            "max_groups", "the most groups (such as places) of one person that ε should cover"
        )
    },
)
