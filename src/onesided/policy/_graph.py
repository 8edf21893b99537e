"""Values on a graph: each must be able to pass as its neighbours (Blowfish)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final

from onesided.errors import PolicyError
from onesided.fields import Field, is_flag, listing, of
from onesided.policy._base import CellMoves, Made_co, Policy, Widened
from onesided.policy._cells import GroupCount, extremes
from onesided.policy._family import Family
from onesided.policy._family import edges as edges_field
from onesided.policy._implications import Arrows, Chains, Value, require, widened_arrows
from onesided.policy._shift import ABSENT, COMMON, PUBLIC_NUMBER, Edge, Record, Shift, likely, some

VALUE: Final = "value"
NEIGHBOUR: Final = "neighbour"
_MOST_DRAWN: Final = 12
_ENDS: Final = {
    VALUE: "a value",
    NEIGHBOUR: "each of its neighbours on the graph",
    ABSENT: "not being in the data",
}


@dataclass(frozen=True, slots=True, repr=False)
class Graph(Policy):
    """One value per record; a value must be able to pass as its neighbours (Blowfish).

    The distance of values that are not neighbours is INFINITE; what follows for them anyway, along
    paths, is :func:`onesided.policy.path`. The value ``"absent"`` stands for not being there.

    >>> from onesided import policy
    >>> policy.graph([("home", "office")]).arrows.values
    ('home', 'office')
    """

    arrows: Arrows

    name = "graph"

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

    single_valued = True
    between_values = True

    def shifts(self, query: GroupCount) -> Mapping[Edge, tuple[Shift, ...]]:
        """A value leaves its cell and enters another: one down, one up, where these are asked for.

        Which column the graph is about it does not say. Cells of the one column that it can be
        about are told apart if it names all of them. Others count as any values: what is spelt in
        another way is not on it, and what another column holds may follow from the value.
        """
        keys, wide = query.values, self.one_value_shifts(query)
        alone = query.cells is not None and query.cells.alone
        if not alone or not keys or ABSENT in keys or not keys <= set(self.arrows.values):
            return wide
        found: dict[tuple[bool, bool, int], tuple[Edge, set[tuple[bool, bool]]]] = {}
        for source, target, weight in self.arrows.listed:
            alike = (source == ABSENT, target == ABSENT, id(weight))
            if alike not in found:
                found[alike] = _class(source, target, weight), set()
            found[alike][1].add((target in keys, source in keys))
        moved: dict[Edge, set[tuple[bool, bool]]] = {edge: set() for edge in wide}
        for edge, seen in found.values():
            moved[edge] |= seen
        return {edge: extremes(seen) for edge, seen in moved.items()}

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

    def moves_on(self, cells: CellMoves[Made_co]) -> Made_co:
        return cells.of_graph(self)

    def widened(self, implied: Chains) -> Widened:
        """A value that implies another must be able to pass as what that one may pass as."""
        require(implied, {str(value) for value in self.arrows.values}, policy=self.name)
        arrows, added, warnings = widened_arrows(self.arrows, implied)
        return Widened(Graph(arrows), added, warnings)

    def drawn(self) -> tuple[tuple[str, ...], tuple[Edge, ...]]:
        """The graph itself while it can be seen at once, else its kinds, at the least weights."""
        if len(self.arrows.values) > _MOST_DRAWN:
            least = {self.ends(edge): edge.weight for edge in reversed(self.edges)}
            return self.kinds, tuple(Edge(*ends, weight) for ends, weight in least.items())
        values = tuple(str(value) for value in self.arrows.values)
        return values, tuple(Edge(str(s), str(t), w) for s, t, w in self.arrows.listed)

    def sentences(self, epsilon: Fraction) -> list[str]:
        """Neighbours, values further away, and values that nobody can pass as."""
        protected = {source for source, _, _ in self.arrows.listed}
        open_values = [value for value in self.arrows.values if value not in protected]
        lone = [str(value) for value in open_values if value != ABSENT]
        one_way = sum(pair[::-1] not in self.arrows.weights for pair in self.arrows.weights)
        lines = [
            f"Protected ({edge.name}): {_ENDS[edge.source]} may pass as "
            f"{_ENDS[edge.target.split()[0]]}. {likely(epsilon * edge.weight)}"
            for edge in self.edges
        ]
        lines.append(
            "Less protected: values further apart. Along a path the odds multiply, one factor per "
            "step; where no path leads, an observer may learn for certain that it is the one and "
            "not the other."
        )
        if one_way:
            lines.append(
                f"Not protected: the way back along {one_way} of the edges, which go one way only. "
                "An observer may learn for certain that someone is at the end and not at the start."
            )
        if lone:
            lines.append(
                f"Not protected: {some(lone)}. An observer may learn for certain who is there. "
                "Warning: do not publish them in full; anyone missing is then known to be "
                "elsewhere (an exclusion attack)."
            )
        if ABSENT in open_values:
            lines.append(
                "Not protected: not being in the data. An observer may learn it for certain."
            )
        return [*lines, *([] if ABSENT in self.kinds else [PUBLIC_NUMBER]), COMMON]


def graph(
    edges: Iterable[Sequence[object]], *, directed: bool = False, values: Iterable[object] = ()
) -> Graph:
    """A value may pass as its neighbours on a graph (Blowfish; ADP-2022, Def. II.3).

    ``edges``: ``(source, target)`` or ``(source, target, weight)``, both ways unless ``directed``.
    ``values``: further values, with no neighbours; they are not protected.

    >>> from onesided import policy
    >>> ages = policy.graph([("young", "old")], directed=True)
    >>> young, old = (policy.Record("value", frozenset({age})) for age in ("young", "old"))
    >>> ages.distance(young, old), ages.distance(old, young)
    (Fraction(1, 1), INFINITE)
    """
    if not isinstance(directed, bool):
        raise PolicyError(
            f"directed is {directed!r}, and a text counts as true: fewer moves than one may mean",
            hint="Say directed=True, or directed=False for both ways.",
        )
    return Graph(Arrows.of(edges, directed=directed, values=values))


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


FAMILY: Final = Family(
    "graph",
    graph,
    {
        "edges": edges_field('[["home", "office", "1/2"]]'),
        "directed": Field(is_flag, default=False, example="true"),
        "values": Field(listing(of("text or a whole number", str, int)), default=()),
    },
    example={"edges": [["a", "b"], ["b", "c", "1/2"]], "directed": True},
)
