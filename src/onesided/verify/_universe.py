"""A world so small that every data set in it can be listed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

import numpy as np

from onesided._numbers import whole
from onesided.noise import IntArray
from onesided.policy import Edge, GroupCount, Policy, Record

Data: TypeAlias = tuple[Record, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Universe:
    """Every data set of ``units`` records over ``groups``, each in at most ``max_groups`` of them.

    ``max_groups=None`` leaves the records unbounded.
    """

    groups: tuple[str, ...] = ("a", "b")
    units: int = 2
    max_groups: int | None = None

    def __post_init__(self) -> None:
        whole(self.units, name="units", least=1, most=8)

    def records(self, policy: Policy) -> tuple[Record, ...]:
        """Every record that one unit can be."""
        most = len(self.groups) if self.max_groups is None else self.max_groups
        return policy.records(self.groups, max_groups=min(most, len(self.groups)))

    def moves(self, policy: Policy) -> Iterator[tuple[Data, Data, Edge]]:
        """Every ``(X, Y, edge)`` whose first record differs; order among the others is free.

        Programs see data sets as bags, so moving the first record stands for moving any.
        """
        records = self.records(policy)
        joined = tuple(policy.moves(records))
        for rest in product(records, repeat=self.units - 1):
            if list(rest) == sorted(rest, key=records.index):
                for real, other, edge in joined:
                    yield (real, *rest), (other, *rest), edge

    def count(self, data: Data, query: GroupCount) -> IntArray:
        """How many units are in each group, the way ``query`` counts them."""
        counts = np.zeros(len(self.groups), dtype=np.int64)
        for record in data:
            if not query.counts(record.kind):
                continue
            own = [g for g in self.groups if g in record.value]  # type: ignore[operator]
            for group in own[: query.max_groups] if query.truncated else own:
                counts[self.groups.index(group)] += 1
        return counts
