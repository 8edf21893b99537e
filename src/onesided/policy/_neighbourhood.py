"""Distances that decide who is near whom; in doubt two points ARE near.

Euclidean, grid and time distances are compared exactly. Great-circle distances are compared in
floating point with a margin a thousand times its error, on the side of caution.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import Final, TypeAlias

from onesided._numbers import exact, positive, whole
from onesided.errors import ParameterError, PolicyError
from onesided.fields import Field, is_flag, is_number, is_text, listing, of, table
from onesided.policy._base import CellMoves, GroupCount, Made_co, Policy, Widened, extremes
from onesided.policy._family import Family, edge_list
from onesided.policy._shift import (
    ABSENT,
    COMMON,
    PUBLIC_NUMBER,
    Arrows,
    Chains,
    Edge,
    Record,
    Shift,
    Value,
    likely,
    require,
    some,
    widened_arrows,
)

# Values on a graph: each must be able to pass as its neighbours (Blowfish).

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
        values, one = frozenset(self.arrows.values), None
        if query.cells is None or not query.cells.alone:
            return wide
        if all(isinstance(value, str) for value in values):
            one = query.picked(values - {ABSENT})
        held = keys if one is None else one
        if (one is None and not keys) or ABSENT in held or not held <= values:
            return wide
        found: dict[tuple[bool, bool, int], tuple[Edge, set[tuple[bool, bool]]]] = {}
        for source, target, weight in self.arrows.listed:
            alike = (source == ABSENT, target == ABSENT, id(weight))
            if alike not in found:
                found[alike] = _class(source, target, weight), set()
            enters, leaves = target in held, source in held
            stays = one is not None and enters and leaves
            found[alike][1].add((False, False) if stays else (enters, leaves))
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


Point: TypeAlias = tuple[Fraction, ...]
EARTH_RADIUS: Final = 6_371_008.8  # metres, the mean radius R1 of the WGS 84 ellipsoid
_MARGIN: Final = 2.0**-40
_TINY: Final = 1e-290
_PLAIN, _LOCAL, _ZONED = Fraction(0), Fraction(1), Fraction(2)


@dataclass(frozen=True, slots=True)
class Metric:
    """How points and radii are read, and when two points are within a radius of each other."""

    read: Callable[[object], Point]
    within: Callable[[Point, Point, Fraction], bool]
    read_radius: Callable[[object], Fraction]
    unit: str


def _radius(value: object) -> Fraction:
    return positive(value, name="radius")


def _seconds(value: object) -> Fraction:
    if isinstance(value, timedelta):
        value = Fraction(value // timedelta(microseconds=1), 10**6)
    return positive(value, name="radius")


def _parts(point: object, *, what: str) -> Sequence[object]:
    if isinstance(point, tuple | list) and point:
        return point
    raise PolicyError(
        f"A point must be {what}, got {point!r}.", hint="For example (1, 2), or (1,) on a line."
    )


def _coordinates(point: object) -> Point:
    return tuple(
        exact(part, name="coordinate") for part in _parts(point, what="a tuple of coordinates")
    )


def _cells(point: object) -> Point:
    return tuple(
        Fraction(whole(part, name="cell", least=-(2**62)))
        for part in _parts(point, what="a tuple of whole numbers")
    )


def _place(point: object) -> Point:
    """``(latitude, longitude)`` in degrees; longitudes that name one meridian become equal."""
    parts = _parts(point, what="(latitude, longitude) in degrees")
    if len(parts) != 2:
        raise PolicyError(f"A place must be (latitude, longitude), got {point!r}.", hint="Degrees.")
    latitude, longitude = (exact(part, name="latitude or longitude") for part in parts)
    if -90 <= latitude <= 90 and -360 <= longitude <= 360:
        return latitude, (longitude + 180) % 360 - 180
    raise PolicyError(
        f"There is no place at latitude {parts[0]}, longitude {parts[1]}.",
        hint="Latitude comes first, from -90 to 90 degrees; longitude from -180 to 180.",
    )


def _moment(point: object) -> Point:
    """Seconds, and whether they are plain numbers, local times or times with a zone."""
    if isinstance(point, tuple | list) and len(point) == 1:
        point = point[0]
    if isinstance(point, str):
        try:
            return (exact(point, name="time"), _PLAIN)
        except ParameterError:
            point = _parsed(point)
    if isinstance(point, datetime):
        zoned = point.tzinfo is not None
        start = datetime(1970, 1, 1, tzinfo=UTC if zoned else None)
        microseconds = (point - start) // timedelta(microseconds=1)
        return (Fraction(microseconds, 10**6), _ZONED if zoned else _LOCAL)
    return (exact(point, name="time"), _PLAIN)


def _parsed(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise PolicyError(
            f"{text!r} is not a time.", hint='Write seconds, or "2026-01-31T12:00:00+00:00".'
        ) from None


def _same_shape(one: Point, two: Point) -> None:
    if len(one) != len(two):
        raise PolicyError(
            f"Points of {len(one)} and of {len(two)} coordinates cannot be compared.",
            hint="Give all points and sources in the same space.",
        )


def _euclidean(one: Point, two: Point, radius: Fraction) -> bool:
    _same_shape(one, two)
    return sum((a - b) ** 2 for a, b in zip(one, two, strict=True)) <= radius**2


def _steps(one: Point, two: Point, radius: Fraction) -> bool:
    _same_shape(one, two)
    return sum(abs(a - b) for a, b in zip(one, two, strict=True)) <= radius


def _elapsed(one: Point, two: Point, radius: Fraction) -> bool:
    if one[1] != two[1]:
        raise PolicyError(
            "Times with a zone, times without and plain seconds cannot be compared.",
            hint="Write all of them the same way.",
        )
    return abs(one[0] - two[0]) <= radius


def _great_circle(one: Point, two: Point, radius: Fraction) -> bool:
    """Compare haversines, which are sums of terms >= 0 and so lose no relative precision.

    Differences are taken exactly before anything is rounded, longitudes around the globe; the
    cosine of a latitude is the sine of its exact distance from the pole. Every factor is then
    right to a few units in the last place, far inside the margin.
    """
    if radius >= 4 * int(EARTH_RADIUS):  # more than half the girth; floats may not hold it
        return True
    half_angle = float(radius) / (2 * EARTH_RADIUS)
    if half_angle >= math.pi / 2 * (1 - _MARGIN):
        return True
    apart = abs(one[1] - two[1]) % 360
    apart = min(apart, 360 - apart)
    polar = _sine(90 - abs(one[0])) * _sine(90 - abs(two[0]))
    haversine = _sine(abs(one[0] - two[0]) / 2) ** 2 + polar * _sine(apart / 2) ** 2
    return haversine * (1 - _MARGIN) <= math.sin(half_angle) ** 2 + _TINY


def _sine(degrees: Fraction) -> float:
    return math.sin(math.radians(float(degrees)))


METRICS: Final = MappingProxyType(
    {
        "euclidean": Metric(_coordinates, _euclidean, _radius, ""),
        "grid": Metric(_cells, _steps, _radius, " steps between cells that share a side"),
        "haversine": Metric(_place, _great_circle, _radius, " metres"),
        "time": Metric(_moment, _elapsed, _seconds, " seconds"),
    }
)


# Points of a metric space that must be able to pass as points nearby.

POINT: Final = "point"
_NEAR: Final = Edge(POINT, "point nearby")
_LEAVE: Final = Edge("point by a source", ABSENT)
_ENTER: Final = Edge(ABSENT, "point by a source")
_MOST_STEPS: Final = 10**6


@dataclass(frozen=True, slots=True, repr=False)
class Neighbourhood(Policy):
    """Points within ``radius`` may pass as each other; by a source, also as absent, and back.

    ``places`` names positions, so that groups of a count have a place on the map.

    >>> from onesided import policy
    >>> policy.neighbourhood(radius=250, metric="haversine").space.unit
    ' metres'
    """

    radius: Fraction
    metric: str
    sources: tuple[Point, ...]
    places: tuple[tuple[str, Point], ...]
    _given: tuple[tuple[str, ...], ...]

    name = "neighbourhood"

    @property
    def kinds(self) -> tuple[str, ...]:
        return (POINT, ABSENT) if self.sources else (POINT,)

    @property
    def edges(self) -> tuple[Edge, ...]:
        return (_NEAR, _LEAVE, _ENTER) if self.sources else (_NEAR,)

    def ends(self, edge: Edge) -> tuple[str, str]:
        ends = (edge.source, edge.target)
        return tuple(ABSENT if end == ABSENT else POINT for end in ends)  # type: ignore[return-value]

    single_valued = True
    between_values = True
    by_distance = True

    @property
    def space(self) -> Metric:
        """How points are read and compared."""
        return METRICS[self.metric]

    def shifts(self, query: GroupCount) -> Mapping[Edge, tuple[Shift, ...]]:
        """A point leaves its cell and enters another: one down, one up."""
        return self.one_value_shifts(query)

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
        held = sorted(map(repr, value)) if isinstance(value, frozenset) else [repr(value)]
        raise PolicyError(
            f"The policy does not know where {' and '.join(held) or 'no group'} is.",
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
        """Exact in the space of all points where radii decide; sources and names leave it open.

        What depends on where ``other`` puts a name is told by records: see :meth:`relaxes`.
        """
        if not isinstance(other, Neighbourhood) or self.metric != other.metric:
            return None
        wider = self.radius <= other.radius
        if wider and set(self.sources) <= set(other.sources):
            # A name stands for its point alone: what is near under one policy may be far apart, or
            # no place at all, under another that puts the same names elsewhere.
            mine, theirs = dict(self.places), dict(other.places)
            same = not theirs or (bool(mine) and mine.items() <= theirs.items())
            return True if same else None
        if self.metric == "haversine":
            return None
        floor = self.radius.__floor__() if self.metric == "grid" else self.radius
        return False if floor > other.radius or (self.sources and not other.sources) else None

    def moves_on(self, cells: CellMoves[Made_co]) -> Made_co:
        return cells.of_points(self)

    def moves_along(self, far: Fraction, *, whole: Sequence[bool]) -> int:
        """Whole numbers cannot stop between whole numbers.

        Where two columns are not both floats, the way leads along one axis and then the other, and
        no shorter way is taken for granted; it stays within the grid.
        """
        steps = [self._step(one) for one in whole]
        if self.metric == "grid" or len(whole) == 1:
            return math.ceil((math.floor(far) if whole[0] else far) / steps[0]) or 1
        if not any(whole):
            return math.ceil(far / self.radius)
        if far > _MOST_STEPS:
            raise ParameterError(
                f"A distance above {_MOST_STEPS:,} is too far to work out.", hint="Ask for less."
            )
        # Sweep a coordinate of whole numbers; the other one takes what is left.
        swept, other = steps if whole[0] else steps[::-1]
        return max(
            math.ceil(one / swept) + _root((far**2 - one**2) / other**2)
            for one in range(math.floor(far) + 1)
        )

    def moves_between_places(self, far: Fraction) -> int:
        points, most = dict(self.places), 1
        near = {name: self._within(point, self.radius) for name, point in self.places}
        for start, point in points.items():
            moves, queue = {start: 0}, deque([start])
            while queue:
                place = queue.popleft()
                for other in near[place]:
                    if other not in moves:
                        moves[other] = moves[place] + 1
                        queue.append(other)
            for end in self._within(point, far):
                if end not in moves:
                    raise ParameterError(
                        f"No moves lead from {start!r} to {end!r}, which are so far apart: "
                        "nothing hides one of them from the other.",
                        hint="Use a larger radius, or a smaller distance.",
                    )
                most = max(most, moves[end])
        return most

    def _within(self, point: Point, far: Fraction) -> list[str]:
        """The places so near to a point."""
        return [name for name, other in self.places if self.space.within(point, other, far)]

    def _step(self, whole: bool) -> Fraction:  # noqa: FBT001 - a column's own kind
        """How far one move leads along an axis. Errors: ParameterError if nowhere."""
        step = Fraction(math.floor(self.radius)) if whole else self.radius
        if not step:
            raise ParameterError(
                "No moves join different cells of this grid: nothing is hidden at a distance.",
                hint="Use a radius of at least one step.",
            )
        return step

    def widened(self, implied: Chains) -> Widened:
        return self.as_graph().widened(implied)

    def drawn(self) -> tuple[tuple[str, ...], tuple[Edge, ...]]:
        """A nearby point is a point too, so its move is a loop."""
        return self.kinds, tuple(Edge(*self.ends(edge)) for edge in self.edges)

    def sentences(self, epsilon: Fraction) -> list[str]:
        """Points nearby, points further away, and comings and goings."""
        distance = f"{self.radius}{self.space.unit}"
        lines = [
            "Protected (point -> point nearby): someone's location may pass as any other point "
            f"within {distance}. {likely(epsilon)}",
            "Less protected: points further away. For every further radius the odds are multiplied "
            "once more, so an observer may learn the wider area nearly for certain.",
        ]
        if not self.sources:
            return [*lines, PUBLIC_NUMBER, COMMON]
        near = f"within {distance} of one of {len(self.sources)} sources"
        return [
            *lines,
            f"Protected (point by a source -> absent): someone {near} may pass as not being there. "
            f"{likely(epsilon)}",
            f"Protected (absent -> point by a source): not being there may pass as being {near}. "
            f"{likely(epsilon)}",
            "Less protected: that someone far from every source is there at all.",
            COMMON,
        ]


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

    >>> from onesided import policy
    >>> places = {"home": (0, 0), "shop": (3, 4), "sea": (99, 0)}
    >>> near = policy.neighbourhood(radius=5, places=places)
    >>> home, shop, sea = (policy.Record("point", frozenset({name})) for name in places)
    >>> near.distance(home, shop), near.distance(home, sea)
    (Fraction(1, 1), INFINITE)
    """
    if metric not in METRICS:
        raise PolicyError(
            f"There is no metric {metric!r}.",
            hint=f"Use one of {', '.join(METRICS)}.",
            metric=metric,
        )
    if places is not None and not isinstance(places, Mapping):
        raise PolicyError(
            f"places must be a mapping from names to points, got {places!r}.",
            hint='For example {"home": (0, 0), "shop": (3, 4)}.',
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


def _root(squared: Fraction) -> int:
    """The least whole number whose square is not below ``squared``."""
    return math.isqrt(math.ceil(squared) - 1) + 1 if squared > 0 else 0


_point: Final = listing(is_number, "a list of numbers")


FAMILIES: Final = (
    Family(
        "graph",
        graph,
        {
            "edges": edge_list('[["home", "office", "1/2"]]'),
            "directed": Field(is_flag, default=False, example="true"),
            "values": Field(listing(of("text or a whole number", str, int)), default=()),
        },
        example={"edges": [["a", "b"], ["b", "c", "1/2"]], "directed": True},
    ),
    Family(
        "neighbourhood",
        neighbourhood,
        {
            "radius": Field(is_number, example='"1/2"'),
            "metric": Field(is_text, default="euclidean", example='"haversine"'),
            "sources": Field(listing(_point, "a list of points"), default=(), example="[[0, 0]]"),
            "places": Field(table(_point), default=None, example="{ a = [0, 1] }"),
        },
        example={
            "radius": 5,
            "places": {"a": [0, 0], "b": [3, 4], "c": [10, 0]},
            "sources": [[0, -1]],
        },
    ),
)
