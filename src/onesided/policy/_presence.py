"""Having been somewhere is protected; not having been there is not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Final

from onesided._numbers import whole
from onesided.policy._base import Policy
from onesided.policy._shift import Edge, GroupCount, Record, Shift, check_counted

UNIT: Final = "unit"
_EDGE: Final = Edge("present", "not present")


@dataclass(frozen=True, slots=True)
class Presence(Policy):
    """A unit is the set of groups it is in; a move drops some of them and never adds any.

    Moves: ``x -> y`` for y a proper subset of x with at most ``max_groups`` fewer groups.
    A unit in no more than ``max_groups`` groups may thus pass as any part of itself in one move,
    as in ADP-2021 (Definitions 7 to 9); one in ``m`` groups needs ``ceil(m / max_groups)`` moves to
    pass as having been nowhere.
    """

    max_groups: int

    def __post_init__(self) -> None:
        bound = whole(self.max_groups, name="max_groups", least=1)
        object.__setattr__(self, "max_groups", bound)

    @property
    def name(self) -> str:
        return "presence"

    @property
    def kinds(self) -> tuple[str, ...]:
        return (UNIT,)

    @property
    def edges(self) -> tuple[Edge, ...]:
        return (_EDGE,)

    def ends(self, edge: Edge) -> tuple[str, str]:  # noqa: ARG002 - there is one kind
        return UNIT, UNIT

    def shifts(self, query: GroupCount) -> Mapping[Edge, tuple[Shift, ...]]:
        """Dropping groups lowers counts and raises none -- unless units are cut down.

        If a unit in more than ``query.max_groups`` groups is truncated, then what is dropped from
        the kept part makes room for groups that were cut, and those counts *rise*. No way of
        cutting avoids this, so one-sided noise would have infinite loss (docs/guarantees.md).
        """
        check_counted(self, query)
        bound = min(self.max_groups, query.max_groups or self.max_groups)
        return {_EDGE: (Shift(rise=bound if query.truncated else 0, fall=bound),)}

    @property
    def excess_modes(self) -> tuple[str, ...]:
        """Counting everyone whole is what the policy means; truncating costs its one side."""
        return ("keep", "error", "truncate")

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

    def drawn(self) -> tuple[tuple[str, ...], tuple[Edge, ...]]:
        return (), self.edges

    def sentences(self, epsilon: Fraction) -> list[str]:
        from onesided.policy._words import presence_sentences  # noqa: PLC0415 - words come last

        return presence_sentences(self, epsilon)


def presence(*, max_groups: int) -> Presence:
    """Protect where units were, not where they were not (ADP-2021, Definitions 7 to 9).

    ``max_groups``: how many groups of one unit a single ε covers.
    """
    return Presence(max_groups)
