"""How far answers can move when one record passes as another."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from onesided._numbers import positive, whole
from onesided.errors import PolicyError
from onesided.fields import settle

ABSENT = "absent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """The most that a query's answers can rise and fall along one move, each an L1 total.

    Direction: from the real data X to the data Y that it must be able to pass as; ``fall`` is
    what is lower on Y, ``rise`` what is higher. The two are never merged.

    >>> from onesided.policy import Shift
    >>> Shift(rise=0, fall=2)
    Shift(rise=0, fall=2)
    """

    rise: int
    fall: int

    def __post_init__(self) -> None:
        settle(self, rise=whole(self.rise, name="rise"), fall=whole(self.fall, name="fall"))


@dataclass(frozen=True, slots=True)
class Edge:
    """A directed class of moves: a ``source`` record must be able to pass as a ``target``.

    ``weight`` is the distance of the move: a mechanism at ε may lose ε times it.

    >>> from onesided.policy import Edge
    >>> Edge("ill", "well", "1/2").name
    'ill -> well'
    """

    source: str
    target: str
    weight: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        settle(self, weight=positive(self.weight, name="weight of an edge"))

    @property
    def name(self) -> str:
        """``"source -> target"``, the edge's name in guarantees and ledgers."""
        return f"{self.source} -> {self.target}"

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Record:
    """One unit's record: its kind, and what it holds (for a group-by count, its groups).

    >>> from onesided.policy import Record
    >>> Record("value", frozenset({"home"})).kind
    'value'
    """

    kind: str
    value: Hashable = frozenset()


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

    >>> from onesided.policy import GroupCount
    >>> GroupCount(counted=frozenset({"open"})).counts("sensitive")
    False
    """

    max_groups: int | None = None
    counted: frozenset[str] | None = None
    truncated: bool = False
    several_units: bool = False

    def __post_init__(self) -> None:
        if self.max_groups is not None:
            whole(self.max_groups, name="max_groups", least=1)

    def counts(self, kind: str) -> bool:
        """Whether records of ``kind`` can add to an answer."""
        return kind != ABSENT and (self.counted is None or kind in self.counted)


def listed_edges(edges: object, *, example: str) -> Iterator[Sequence[Any]]:
    """The parts of each edge in turn: source, target and, if given, weight.

    A mapping from edges to weights is refused, for its weights would be lost on the way, and so
    is a set of two values, which has no direction. Errors: PolicyError.
    """
    if isinstance(edges, Mapping | str) or not isinstance(edges, Iterable):
        raise PolicyError(
            f"Edges must be a list of (source, target) or (source, target, weight), got {edges!r}.",
            hint=f"For example [{example}].",
        )
    for parts in edges:
        ordered = isinstance(parts, tuple | list) or (
            hasattr(parts, "__len__") and not isinstance(parts, str | AbstractSet | Mapping)
        )
        if not ordered or len(parts) not in (2, 3):
            raise PolicyError(
                f"An edge must be (source, target) or (source, target, weight), got {parts!r}.",
                hint=f"For example {example}.",
            )
        yield parts


def require_records(*given: object) -> None:
    """Refuse what is no record. Errors: PolicyError."""
    for one in given:
        if not isinstance(one, Record):
            raise PolicyError(
                f"A record was expected, got {one!r}.",
                hint='Write onesided.policy.Record(kind, value), such as Record("visits", '
                'frozenset({"gym"})); policy.kinds names the kinds.',
            )
