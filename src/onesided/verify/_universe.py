"""A world so small that every data set in it can be listed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, product
from typing import Final, TypeAlias

import numpy as np

from onesided._numbers import whole
from onesided.errors import ParameterError, PolicyError
from onesided.fields import settle
from onesided.noise import IntArray
from onesided.policy import Edge, GroupCount, Policy, Record

Data: TypeAlias = tuple[Record, ...]
MAX_DATA_SETS: Final = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Universe:
    """Every data set of ``units`` records over ``groups``, each in at most ``max_groups`` of them.

    max_groups: None leaves the records unbounded.
    values: the records themselves, instead of all that the policy can make of ``groups``.
    ordered: data sets are lists and any place may move; otherwise they are bags, and programs
        always see them in one fixed order.
    Errors: ParameterError for a world that is not finite or too large to list.

    >>> from onesided.policy import presence
    >>> world = Universe(groups=("gym",), units=2)
    >>> len(world.records(presence(max_groups=1))), len(list(world.moves(presence(max_groups=1))))
    (2, 2)
    """

    groups: tuple[str, ...] = ("a", "b")
    units: int = 2
    max_groups: int | None = None
    values: tuple[Record, ...] = ()
    ordered: bool = False

    def __post_init__(self) -> None:
        whole(self.units, name="units", least=1, most=8)
        for name in ("groups", "values"):
            given = getattr(self, name)
            if isinstance(given, str) or not isinstance(given, Sequence):
                raise ParameterError(
                    f"{name} must be a finite list, got {given!r}: only a world whose data sets "
                    "can all be listed can be checked exactly.",
                    hint='Give a tuple such as ("a", "b"); for larger worlds use verify.audit.',
                )
            settle(self, **{name: tuple(given)})

    def __str__(self) -> str:
        kind = "list" if self.ordered else "bag"
        if self.values:
            return f"every {kind} of {self.units} of {len(self.values)} given records"
        most = "any number" if self.max_groups is None else f"at most {self.max_groups}"
        groups = ", ".join(self.groups)
        return f"every {kind} of {self.units} records, each in {most} of the groups {groups}"

    def records(self, policy: Policy) -> tuple[Record, ...]:
        """Every record that one unit can be."""
        if not isinstance(policy, Policy):
            raise PolicyError(
                f"policy must be a Policy, got {policy!r}.",
                hint="Make one with onesided.policy, for example presence(max_groups=3).",
            )
        if self.values:
            return self.values
        most = len(self.groups) if self.max_groups is None else self.max_groups
        return policy.records(self.groups, max_groups=min(most, len(self.groups)))

    def moves(self, policy: Policy) -> Iterator[tuple[Data, Data, Edge]]:
        """Every ``(X, Y, edge)``: X holds a record where Y holds one that it must be able to be.

        In a world of bags it is the same which of several equal records moves.
        """
        records = self.records(policy)
        _refuse_too_large(len(records), self.units, ordered=self.ordered)
        joined = tuple(policy.moves(records))
        rank = {record: place for place, record in enumerate(records)}
        if self.ordered:
            for place in range(self.units):
                for rest in product(records, repeat=self.units - 1):
                    for real, other, edge in joined:
                        yield (
                            (*rest[:place], real, *rest[place:]),
                            (*rest[:place], other, *rest[place:]),
                            edge,
                        )
            return
        for rest in combinations_with_replacement(records, self.units - 1):
            for real, other, edge in joined:
                yield (
                    tuple(sorted((real, *rest), key=rank.__getitem__)),
                    tuple(sorted((other, *rest), key=rank.__getitem__)),
                    edge,
                )

    def count(self, data: Data, query: GroupCount) -> IntArray:
        """How many units are in each group, the way ``query`` counts them."""
        counts = np.zeros(len(self.groups), dtype=np.int64)
        for record in data:
            if not query.counts(record.kind):
                continue
            own = [g for g in self.groups if _is_in(g, record.value)]
            for group in own[: query.max_groups] if query.truncated else own:
                counts[self.groups.index(group)] += 1
        return counts


def _is_in(group: str, value: object) -> bool:
    return group in value if isinstance(value, frozenset) else group == value


def _refuse_too_large(records: int, units: int, *, ordered: bool) -> None:
    sets = records**units if ordered else math.comb(records + units - 1, units)
    if sets > MAX_DATA_SETS:
        raise ParameterError(
            f"This world has {sets:,} data sets, more than {MAX_DATA_SETS:,}.",
            hint="Use fewer groups, units or values; for real sizes use verify.audit.",
            data_sets=sets,
        )
