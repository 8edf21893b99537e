"""Values joined by arrows: Blowfish graphs, and the input alphabets of local policies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final, TypeAlias

from onesided._numbers import INFINITE, Loss, positive
from onesided.errors import PolicyError
from onesided.policy._base import Policy
from onesided.policy._shift import (
    ABSENT,
    Edge,
    GroupCount,
    Record,
    Shift,
    listed_edges,
    one_value_shifts,
)

Value: TypeAlias = str | int
VALUE: Final = "value"
NEIGHBOUR: Final = "neighbour"
_MOST_DRAWN: Final = 12
_ONE: Final = Fraction(1)


@dataclass(frozen=True)
class Arrows:
    """Directed, weighted arrows between values: each pair at most once, and no loops.

    Errors: PolicyError for values that are not text or whole numbers, loops, repeated arrows with
    different weights, or no arrows at all.
    """

    listed: tuple[tuple[Value, Value, Fraction], ...]
    values: tuple[Value, ...]

    @classmethod
    def of(
        cls, edges: Iterable[Sequence[object]], *, directed: bool, values: Iterable[object] = ()
    ) -> Arrows:
        """From ``(source, target)`` or ``(source, target, weight)``; both ways unless directed."""
        weights: dict[tuple[Value, Value], Fraction] = {}
        shared: dict[object, Fraction] = {1: _ONE}
        for parts in listed_edges(edges, example='("home", "office")'):
            source, target, weight = _arrow(parts, shared)
            for pair in ((source, target),) if directed else ((source, target), (target, source)):
                if weights.setdefault(pair, weight) != weight:
                    raise PolicyError(
                        f"The edge {source!r} -> {target!r} is given twice with different weights.",
                        hint="Give each pair once; directed=True lets the two ways differ.",
                        edge=source,
                    )
        if not weights:
            raise PolicyError(
                "The policy has no edges, so it protects nobody.",
                hint='Add at least one, such as ("home", "office").',
            )
        mentioned = {value for pair in weights for value in pair}
        known = mentioned | {_value(value) for value in values}
        return cls(
            tuple((*pair, weights[pair]) for pair in sorted(weights, key=_pair_order)),
            tuple(sorted(known, key=_order)),
        )

    @cached_property
    def weights(self) -> Mapping[tuple[Value, Value], Fraction]:
        """The weight of each arrow."""
        return {(source, target): weight for source, target, weight in self.listed}

    def weight(self, source: Value, target: Value) -> Loss:
        """The weight of one arrow; INFINITE if there is none."""
        return self.weights.get((source, target), INFINITE)

    def within(self, other: Arrows) -> bool:
        """Whether each arrow is one of ``other`` with no larger weight there."""
        return all(other.weight(s, t) <= weight for s, t, weight in self.listed)

    def stored(self) -> list[list[object]]:
        """For TOML."""
        return [[source, target, str(weight)] for source, target, weight in self.listed]


@dataclass(frozen=True, slots=True)
class Graph(Policy):
    """One value per record; a value must be able to pass as its neighbours (Blowfish).

    The distance of values that are not neighbours is INFINITE; what follows for them anyway, along
    paths, is :func:`onesided.policy.path`. The value ``"absent"`` stands for not being there.
    """

    arrows: Arrows

    @property
    def name(self) -> str:
        return "graph"

    @property
    def kinds(self) -> tuple[str, ...]:
        return (VALUE, ABSENT) if ABSENT in self.arrows.values else (VALUE,)

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """One class of moves per weight, apart for comings and goings: a map may be large."""
        listed = self.arrows.listed
        # Arrows of one weight share the number, and hashing it a million times takes seconds.
        few = {(s == ABSENT, t == ABSENT, id(w)): (s, t, w) for s, t, w in listed}
        found = {_class(*arrow) for arrow in few.values()}
        return tuple(sorted(found, key=lambda e: (e.source == ABSENT, e.weight, e.target)))

    def ends(self, edge: Edge) -> tuple[str, str]:
        ends = (edge.source, edge.target)
        return tuple(ABSENT if e.split()[0] == ABSENT else VALUE for e in ends)  # type: ignore[return-value]

    @property
    def single_valued(self) -> bool:
        return True

    @property
    def excess_modes(self) -> tuple[str, ...]:
        """A record holds one value, so units with several are refused unless cut to one."""
        return ("error", "truncate")

    def shifts(self, query: GroupCount) -> Mapping[Edge, tuple[Shift, ...]]:
        """A value leaves its cell and enters another: one down, one up."""
        return one_value_shifts(self, query)

    def records(self, groups: Sequence[str], *, max_groups: int) -> tuple[Record, ...]:
        """One record per group; a group that is not on the graph has no moves."""
        present = [Record(VALUE, frozenset({g})) for g in groups if max_groups and g != ABSENT]
        return (*([Record(ABSENT)] if ABSENT in self.kinds else []), *present)

    def edge_between(self, real: Record, other: Record) -> Edge | None:
        pair = (_held(real), _held(other))
        weight = self.arrows.weights.get(pair)  # type: ignore[arg-type]
        return None if weight is None else _class(*pair, weight)  # type: ignore[arg-type]

    def parameters(self) -> dict[str, object]:
        mentioned = {value for arrow in self.arrows.listed for value in arrow[:2]}
        lone = [value for value in self.arrows.values if value not in mentioned]
        stored: dict[str, object] = {"edges": self.arrows.stored(), "directed": True}
        return {**stored, "values": lone} if lone else stored

    def decides(self, other: Policy) -> bool | None:
        """Exact among graphs."""
        return self.arrows.within(other.arrows) if isinstance(other, Graph) else None

    def drawn(self) -> tuple[tuple[str, ...], tuple[Edge, ...]]:
        """The graph itself while it can be seen at once, else its kinds, at the least weights."""
        if len(self.arrows.values) > _MOST_DRAWN:
            least = {self.ends(edge): edge.weight for edge in reversed(self.edges)}
            return self.kinds, tuple(Edge(*ends, weight) for ends, weight in least.items())
        values = tuple(str(value) for value in self.arrows.values)
        return values, tuple(Edge(str(s), str(t), w) for s, t, w in self.arrows.listed)

    def sentences(self, epsilon: Fraction) -> list[str]:
        from onesided.policy._words import graph_sentences  # noqa: PLC0415 - words come last

        return graph_sentences(self, epsilon)


@dataclass(frozen=True, slots=True)
class Local(Policy):
    """One person's own input: which letters of an alphabet must be able to pass as which.

    Every letter is a kind and every arrow an edge of its own, so that a randomiser's loss is
    stated pair by pair.
    """

    arrows: Arrows

    @property
    def name(self) -> str:
        return "local"

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(str(value) for value in self.arrows.values)

    @property
    def edges(self) -> tuple[Edge, ...]:
        return tuple(Edge(str(s), str(t), weight) for s, t, weight in self.arrows.listed)

    @property
    def single_valued(self) -> bool:
        return True

    @property
    def excess_modes(self) -> tuple[str, ...]:
        return ("error", "truncate")

    def shifts(self, query: GroupCount) -> Mapping[Edge, tuple[Shift, ...]]:
        return one_value_shifts(self, query)

    def records(self, groups: Sequence[str], *, max_groups: int) -> tuple[Record, ...]:
        """The letters, whatever the groups; a letter is counted in the group of its name."""
        del groups, max_groups
        return tuple(Record(kind, frozenset({kind})) for kind in self.kinds)

    def edge_between(self, real: Record, other: Record) -> Edge | None:
        weight = self.arrows.weights.get((real.kind, other.kind))
        return None if weight is None else Edge(real.kind, other.kind, weight)

    def parameters(self) -> dict[str, object]:
        return {"alphabet": list(self.arrows.values), "edges": self.arrows.stored()}

    def decides(self, other: Policy) -> bool | None:
        """Exact among local policies."""
        return self.arrows.within(other.arrows) if isinstance(other, Local) else None

    def sentences(self, epsilon: Fraction) -> list[str]:
        from onesided.policy._words import local_sentences  # noqa: PLC0415 - words come last

        return local_sentences(self, epsilon)


def graph(
    edges: Iterable[Sequence[object]],
    *,
    directed: bool = False,
    values: Iterable[object] = (),
) -> Graph:
    """A value may pass as its neighbours on a graph (Blowfish; ADP-2022, Def. II.3).

    ``edges``: ``(source, target)`` or ``(source, target, weight)``, both ways unless ``directed``.
    ``values``: further values, with no neighbours; they are not protected.
    """
    if not isinstance(directed, bool):
        raise PolicyError(
            f"directed is {directed!r}, and a text counts as true: fewer moves than one may mean",
            hint="Say directed=True, or directed=False for both ways.",
        )
    return Graph(Arrows.of(edges, directed=directed, values=values))


def local(
    alphabet: Iterable[str],
    *,
    edges: Iterable[Sequence[object]] | None = None,
    sensitive: Iterable[str] | None = None,
) -> Local:
    """What one person answers: directed, weighted moves between letters.

    ``edges`` go one way each. ``sensitive`` instead makes each of these letters pass as every
    other. With neither, every letter may pass as every other (ordinary local privacy).
    Errors: PolicyError for letters outside the alphabet, or for both ``edges`` and ``sensitive``.
    """
    if isinstance(alphabet, str) or not isinstance(alphabet, Iterable):
        raise PolicyError(
            f"An alphabet must be a list of letters, got {alphabet!r}.",
            hint='For example ["yes", "no"].',
        )
    letters = [_letter(letter) for letter in alphabet]
    if len(letters) < 2:
        raise PolicyError(
            f"An alphabet needs at least two letters, got {letters!r}.",
            hint="List every answer that a person can give, such as yes and no.",
        )
    if edges is not None and sensitive is not None:
        raise PolicyError("Give edges or sensitive, not both.", hint="edges can say it all.")
    if edges is None:
        sources = letters if sensitive is None else list(sensitive)
        edges = [(source, target) for source in sources for target in letters if source != target]
    arrows = Arrows.of(edges, directed=True, values=letters)
    if any("->" in letter for letter in letters):
        raise PolicyError("A letter must not contain '->'.", hint="Edges are named with it.")
    outside = set(arrows.values) - set(letters)
    if outside or len(set(letters)) != len(letters):
        raise PolicyError(
            f"{min(outside, key=_order)!r} is not in the alphabet."
            if outside
            else "A letter is in the alphabet twice.",
            hint="List every answer that a person can give once, in the alphabet.",
            value=min(outside, key=_order, default=""),
        )
    return Local(arrows)


def _letter(value: object) -> str:
    if isinstance(value, str) and value:
        return value
    raise PolicyError(f"A letter must be text, got {value!r}.", hint="For example 'yes'.")


def _arrow(
    parts: Sequence[object], shared: dict[object, Fraction]
) -> tuple[Value, Value, Fraction]:
    """An arrow from its parts; the weight may be left out. Equal weights become one object."""
    source, target, *rest = parts
    ends = (_value(source), _value(target))
    if ends[0] == ends[1]:
        raise PolicyError(
            f"The edge {source!r} -> {target!r} leads nowhere.",
            hint="A value passes as itself anyway.",
            edge=source,
        )
    if not rest:
        return (*ends, _ONE)
    weight = positive(rest[0], name="weight of an edge")
    return (*ends, shared.setdefault(weight, weight))


def _value(value: object) -> Value:
    if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
        return value
    raise PolicyError(
        f"A value of a graph must be text or a whole number, got {value!r}.",
        hint="Name each place or cell.",
    )


def _order(value: Value) -> tuple[bool, Value]:
    return isinstance(value, str), value


def _pair_order(pair: tuple[Value, Value]) -> tuple[object, object]:
    return _order(pair[0]), _order(pair[1])


def _held(record: Record) -> object:
    """The one value that a record holds."""
    if record.kind == ABSENT:
        return ABSENT
    if isinstance(record.value, frozenset):
        return next(iter(record.value)) if len(record.value) == 1 else None
    return record.value


def _class(source: Value, target: Value, weight: Fraction) -> Edge:
    """The class of moves that an arrow belongs to."""
    into = ABSENT if target == ABSENT else VALUE if source == ABSENT else NEIGHBOUR
    suffix = "" if weight == 1 else f" at {weight}"
    return Edge(ABSENT if source == ABSENT else VALUE, f"{into}{suffix}", weight)
