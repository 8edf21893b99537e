"""A world of sums so small that every pair of them that a move may join can be listed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Final, TypeAlias

import numpy as np

from onesided._numbers import MAX_COUNT, whole
from onesided.engine import PublicKeys
from onesided.errors import ParameterError
from onesided.fields import settle
from onesided.noise import IntArray
from onesided.policy import Edge, GroupCount, Policy, Shift
from onesided.session.kit import Groups, value_shifts

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
    [Shift(rise=0, fall=2), Shift(rise=0, fall=0)]
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
        if pairs > _MAX_PAIRS:
            raise ParameterError(
                f"This world has {pairs:,} pairs of sums, more than {_MAX_PAIRS:,}.",
                hint="Use smaller bounds or fewer groups.",
                pairs=pairs,
            )
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
