"""Points of a metric space that must be able to pass as points nearby."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Final

from onesided.errors import PolicyError
from onesided.policy._base import Policy
from onesided.policy._graph import Arrows, Graph
from onesided.policy._metric import METRICS, Metric, Point
from onesided.policy._shift import ABSENT, Edge, GroupCount, Record, Shift, one_value_shifts

POINT: Final = "point"
_NEAR: Final = Edge(POINT, "point nearby")
_LEAVE: Final = Edge("point by a source", ABSENT)
_ENTER: Final = Edge(ABSENT, "point by a source")


@dataclass(frozen=True, slots=True)
class Neighbourhood(Policy):
    """Points within ``radius`` may pass as each other; by a source, also as absent, and back.

    ``places`` names positions, so that groups of a count have a place on the map.
    """

    radius: Fraction
    metric: str
    sources: tuple[Point, ...]
    places: tuple[tuple[str, Point], ...]
    _given: tuple[tuple[str, ...], ...]

    @property
    def name(self) -> str:
        return "neighbourhood"

    @property
    def kinds(self) -> tuple[str, ...]:
        return (POINT, ABSENT) if self.sources else (POINT,)

    @property
    def edges(self) -> tuple[Edge, ...]:
        return (_NEAR, _LEAVE, _ENTER) if self.sources else (_NEAR,)

    def ends(self, edge: Edge) -> tuple[str, str]:
        ends = (edge.source, edge.target)
        return tuple(ABSENT if end == ABSENT else POINT for end in ends)  # type: ignore[return-value]

    @property
    def single_valued(self) -> bool:
        return True

    @property
    def excess_modes(self) -> tuple[str, ...]:
        """A record is one point, so units with several are refused unless cut to one."""
        return ("error", "truncate")

    @property
    def space(self) -> Metric:
        """How points are read and compared."""
        return METRICS[self.metric]

    def shifts(self, query: GroupCount) -> Mapping[Edge, tuple[Shift, ...]]:
        """A point leaves its cell and enters another: one down, one up."""
        return one_value_shifts(self, query)

    def records(self, groups: Sequence[str], *, max_groups: int) -> tuple[Record, ...]:
        """One record per group; each must be one of ``places``."""
        for group in groups:
            self._located(frozenset({group}))
        present = [Record(POINT, frozenset({group})) for group in groups if max_groups]
        return (*([Record(ABSENT)] if self.sources else []), *present)

    def edge_between(self, real: Record, other: Record) -> Edge | None:
        if ABSENT in (real.kind, other.kind):
            if real.kind == other.kind:
                return None
            present = self._located(real.value if other.kind == ABSENT else other.value)
            edge = _LEAVE if other.kind == ABSENT else _ENTER
            return edge if self.by_a_source(present) else None
        near = self.space.within(self._located(real.value), self._located(other.value), self.radius)
        return _NEAR if near else None

    def by_a_source(self, point: Point) -> bool:
        """Whether a point that was read lies within the radius of a source."""
        return any(self.space.within(point, source, self.radius) for source in self.sources)

    def as_graph(self) -> Graph:
        """The policy over its ``places`` alone, as a graph."""
        names = tuple(name for name, _ in self.places)
        moves = self.moves(self.records(names, max_groups=1))
        return Graph(
            Arrows.of(
                [(_name(real), _name(other), edge.weight) for real, other, edge in moves],
                directed=True,
                values=names,
            )
        )

    def _located(self, value: object) -> Point:
        """The position of a record's value: a point, or the name of a place."""
        if isinstance(value, frozenset) and len(value) == 1:
            (name,) = value
            for known, point in self.places:
                if known == name:
                    return point
        elif not isinstance(value, frozenset):
            return self.space.read(value)
        raise PolicyError(
            f"The policy does not know where {value!r} is.",
            hint="Give neighbourhood(..., places={name: point}) for every group.",
        )

    def parameters(self) -> dict[str, object]:
        stored: dict[str, object] = {"radius": str(self.radius), "metric": self.metric}
        texts = [list(point) for point in self._given]
        if self.sources:
            stored["sources"] = texts[: len(self.sources)]
        if self.places:
            names = [name for name, _ in self.places]
            stored["places"] = dict(zip(names, texts[len(self.sources) :], strict=True))
        return stored

    def decides(self, other: Policy) -> bool | None:
        """Exact in the space of all points where radii decide; sources may leave it open."""
        if not isinstance(other, Neighbourhood) or self.metric != other.metric:
            return None
        wider = self.radius <= other.radius
        if wider and set(self.sources) <= set(other.sources):
            return True
        if self.metric == "haversine":
            return None
        floor = self.radius.__floor__() if self.metric == "grid" else self.radius
        return False if floor > other.radius or (self.sources and not other.sources) else None

    def drawn(self) -> tuple[tuple[str, ...], tuple[Edge, ...]]:
        """A nearby point is a point too, so its move is a loop."""
        return self.kinds, tuple(Edge(*self.ends(edge)) for edge in self.edges)

    def sentences(self, epsilon: Fraction) -> list[str]:
        from onesided.policy._words import near_sentences  # noqa: PLC0415 - words come last

        return near_sentences(self, epsilon)


def neighbourhood(
    *,
    radius: object,
    sources: Iterable[object] = (),
    metric: str = "euclidean",
    places: Mapping[str, object] | None = None,
) -> Neighbourhood:
    """Points within ``radius`` of each other may pass as each other (delta-neighbourhood).

    metric: "euclidean" (exact coordinates of any dimension), "grid" (steps between cells that
        share a side), "haversine" (latitude and longitude in degrees, radius in metres) or "time"
        (seconds or datetimes, radius in seconds or a timedelta).
    sources: where records come and go; with none, their number is public.
    places: named positions, for counts by place.
    Errors: PolicyError for an unknown metric or points that it cannot read.
    """
    if metric not in METRICS:
        raise PolicyError(
            f"There is no metric {metric!r}.",
            hint=f"Use one of {', '.join(METRICS)}.",
            metric=metric,
        )
    space = METRICS[metric]
    origins, named = list(sources), sorted((places or {}).items())
    return Neighbourhood(
        space.read_radius(radius),
        metric,
        tuple(space.read(point) for point in origins),
        tuple((name, space.read(point)) for name, point in named),
        tuple(_text(point) for point in (*origins, *(point for _, point in named))),
    )


def _text(point: object) -> tuple[str, ...]:
    """A point as it will be read back from TOML, exactly."""
    parts = point if isinstance(point, tuple | list) else (point,)
    return tuple(
        part.isoformat()
        if isinstance(part, datetime)
        else str(Fraction(part))
        if isinstance(part, float)
        else str(part)
        for part in parts
    )


def _name(record: Record) -> str:
    return ABSENT if record.kind == ABSENT else next(iter(record.value))  # type: ignore[call-overload]
