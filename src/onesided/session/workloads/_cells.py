"""Which cells of a table one move of the policy joins: moves of values, not of cells' centres.

Claim: if data differ by one move of the policy, from a record with value x to one with value y,
then the cells of x and y are equal or are one of the pairs that :func:`moves_between` lists.
Proof: a cell is the interval of the values that the engine sends to it, by comparison with the
very edges used here. Two intervals hold values within the radius of each other exactly if the
least distance between them is below the radius (or equal, where it is reached, as between whole
numbers). So values within r can lie ceil(r / w) cells of width w apart, not r / w, and not as far
as centres would say. Values beyond the first and last edge are drawn to the end cells, which makes
those cells longer outwards and changes no distance between cells.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import narwhals as nw
import numpy as np

from onesided.errors import ParameterError, PolicyError
from onesided.linear import Border, Grid, Moves, moves_of
from onesided.linear.kit import Cells as Places
from onesided.linear.kit import Listed, Sweep, Totals, Window, listed_moves, placed_moves
from onesided.policy import (
    ABSENT,
    Cells,
    Edge,
    Graph,
    GroupCount,
    Neighbourhood,
    Policy,
    Record,
    Shift,
)
from onesided.session._context import QueryContext
from onesided.session._groups import Groups
from onesided.session.histograms._binned import BinEdges


@dataclass(frozen=True, slots=True)
class Axis:
    """One column's cells: cell i holds the values from ``edges[i]`` to ``edges[i + 1]``.

    The upper edge belongs to the next cell. edges: as the engine compares with them, which for
    floats is after rounding. whole: the values are whole numbers, and the edges are too. closed:
    the last cell holds its upper edge, which is nearer to no other cell than its lower one.
    """

    column: str
    edges: tuple[Fraction, ...]
    whole: bool
    closed: bool = False

    @classmethod
    def of(cls, column: str, bins: BinEdges, dtype: nw.dtypes.DType) -> Axis:
        """The cells of these bins."""
        if dtype.is_integer():
            edges = tuple(Fraction(-(-edge.numerator // edge.denominator)) for edge in bins.edges)
            closed = bins.closed and edges[-1] == bins.edges[-1]
            return cls(column, edges, whole=True, closed=closed)
        rounded = tuple(Fraction(float(edge)) for edge in bins.edges)
        return cls(column, rounded, whole=False, closed=bins.closed)

    @property
    def cells(self) -> int:
        """How many there are."""
        return len(self.edges) - 1

    def least_gaps(self) -> list[Fraction]:
        """For cells 0, 1, 2, ... apart, the least distance between values of such cells."""
        one = 1 if self.whole else 0
        gaps = [Fraction(0)]
        for apart in range(1, self.cells):
            gap = min(self.edges[i + apart] - self.edges[i + 1] for i in range(self.cells - apart))
            gaps.append(gap + one)
        return gaps

    def distances(self, point: Fraction) -> list[Fraction]:
        """From each cell to a point; end cells reach outwards for ever."""
        found: list[Fraction] = []
        for i in range(self.cells):
            high = self.edges[i + 1] - 1 if self.whole else self.edges[i + 1]
            below = Fraction(0) if i == 0 else self.edges[i] - point
            above = Fraction(0) if i == self.cells - 1 else point - high
            found.append(max(below, above, Fraction(0)))
        return found


def moves_between(
    policy: Policy,
    axes: Sequence[Axis],
    *,
    clamped: bool,
    partition: bool,
    query: GroupCount = GroupCount(),  # noqa: B008 - frozen
) -> Moves:
    """The policy's moves among the cells of one or two columns, rows by the first column.

    clamped: values beyond the ends are in the end cells; otherwise there are none in the data.
    partition: for policies of kinds, every record lies in exactly one of the cells. query: for
    them, how many cells of a unit are counted.
    Where a condition picks records, :meth:`onesided.linear.Moves.conditioned` of what is returned.
    Errors: PolicyError for a policy that cannot place these cells.
    """
    return policy.moves_on(_Laid(axes, clamped=clamped, partition=partition, query=query))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Laid:
    """Cells of one or two columns, and a policy's moves among them."""

    axes: Sequence[Axis] = field(kw_only=False)
    clamped: bool
    partition: bool
    query: GroupCount

    def of_kinds(self, policy: Policy) -> Moves:
        shape = tuple(axis.cells for axis in self.axes)
        return moves_of(policy, Grid(shape), partition=self.partition, query=self.query)

    def of_graph(self, policy: Graph) -> Moves:
        """A graph over whole numbers, each in the cell of its number."""
        values, axis = [v for v in policy.arrows.values if v != ABSENT], self.axes[0]
        if len(self.axes) > 1 or not axis.whole or not all(isinstance(v, int) for v in values):
            raise PolicyError(
                "Ranges under a graph need one column of whole numbers, and a graph over them.",
                hint="Use linear(by=..., keys=...) for named values, or a neighbourhood for "
                "points.",
            )
        pairs: dict[Edge, list[tuple[int, int]]] = defaultdict(list)
        for source, target, _ in policy.arrows.listed:
            ends = [self._cell(value) for value in (source, target)]
            records = (
                Record(ABSENT) if value == ABSENT else Record("value", frozenset({value}))
                for value in (source, target)
            )
            edge = policy.edge_between(*records)
            if edge is not None:
                pairs[edge].append((ends[0], ends[1]))
        return listed_moves(axis.cells, policy, pairs)

    def of_points(self, policy: Neighbourhood) -> Moves:
        """Points on a line or in a plane. Of unequal bins, as near as the nearest such bins are."""
        if policy.metric == "haversine":
            return self._on_globe(policy)
        axes = self.axes
        if policy.metric == "grid" and not all(axis.whole for axis in axes):
            raise PolicyError(
                "The metric 'grid' is about whole numbers, but a column holds floats.",
                hint='Cast the columns to whole numbers, or use metric="euclidean".',
            )
        if policy.metric == "time" and len(axes) > 1:
            raise PolicyError("Times are one column.", hint='Use metric="euclidean" for two.')
        rows, columns = (1, axes[0].cells) if len(axes) == 1 else (axes[0].cells, axes[1].cells)
        across = axes[-1].least_gaps()
        down = axes[0].least_gaps() if len(axes) == 2 else [Fraction(0)]
        strict = (not axes[0].whole, not axes[-1].whole)
        widths: list[int] = []
        for gap in down:
            near = [k for k, wide in enumerate(across) if _near(policy, (gap, wide), strict)]
            if not near:
                break
            widths.append(max(near))
        uneven = _uneven(policy, axes[0], widths[0]) if len(axes) == 1 else None
        sweep: Sweep = uneven or Window(rows, columns, widths)
        near_edge = next(edge for edge in policy.edges if ABSENT not in (edge.source, edge.target))
        beside = _by_sources(policy, axes)
        borders = [
            (edge, Border(beside, enter=edge.source == ABSENT))
            for edge in policy.edges
            if edge != near_edge
        ]
        return Moves(rows * columns, policy.edges, ((near_edge, sweep),), tuple(borders))

    def _cell(self, value: object) -> int:
        if not isinstance(value, int):
            return -1
        (axis,) = self.axes
        cell = min(max(bisect_right(axis.edges, value) - 1, 0), axis.cells - 1)
        last = value < axis.edges[-1] or (axis.closed and value == axis.edges[-1])
        return cell if self.clamped or (axis.edges[0] <= value and last) else -1

    def _on_globe(self, policy: Neighbourhood) -> Moves:
        """Latitude and longitude, in equal bins."""
        if self.clamped or len(self.axes) != 2:
            raise PolicyError(
                "Places on the globe need two columns, latitude first, and a grid that holds them "
                "all: drawing places in to its border may bring them nearer or farther.",
                hint='Pass outside="refuse" and bins for latitude and longitude.',
            )
        steps = [(axis.edges[-1] - axis.edges[0]) / axis.cells for axis in self.axes]
        for axis, step in zip(self.axes, steps, strict=True):
            # The margins of what is near on the globe are wider than this.
            if any(
                abs(edge - axis.edges[0] - i * step) > Fraction(1, 10**12)
                for i, edge in enumerate(axis.edges)
            ):
                raise ParameterError(
                    f"Bins of {axis.column!r} are not equally wide.",
                    hint="On the globe, give a number of bins and bounds.",
                    column=axis.column,
                )
        shape = (self.axes[0].cells, self.axes[1].cells)
        origin = (self.axes[0].edges[0], self.axes[1].edges[0])
        return moves_of(policy, Grid(shape, origin=origin, spacing=tuple(steps), box=True))


def moves_of_places(
    policy: Policy,
    names: Sequence[object],
    query: GroupCount = GroupCount(),  # noqa: B008 - frozen
) -> Moves:
    """The policy's moves among groups by name; others are elsewhere. Errors: PolicyError."""
    if ABSENT in names and policy.between_values:
        raise PolicyError(
            f"A group is called {ABSENT!r}, which is what not being there is called.",
            hint="Rename it.",
        )
    return policy.moves_on(_Named(names, query))


@dataclass(frozen=True, slots=True)
class _Named:
    """Groups by name, and a policy's moves among them."""

    names: Sequence[object]
    query: GroupCount

    def of_kinds(self, policy: Policy) -> Moves:
        return moves_of(policy, len(self.names), query=self.query)

    def of_graph(self, policy: Graph) -> Moves:
        return moves_of(policy, self.names)  # type: ignore[arg-type]

    def of_points(self, policy: Neighbourhood) -> Moves:
        return placed_moves(policy, self.names)


def public_totals(
    moves: Moves, context: QueryContext, groups: Groups, columns: Sequence[str]
) -> Totals | None:
    """Totals of cells that every move leaves as they are, and are therefore told exactly.

    Where a policy names values: those of cells that no moves join, if the cells' columns are the
    only ones that it can be about. Elsewhere the number of all units, each in exactly one cell, if
    the policy's own shifts of that one number are 0 (:mod:`onesided.policy._base`).
    """
    labels = moves.components()
    if not (labels >= 0).any():
        return None
    if context.policy.between_values:
        return Totals(labels) if context.alone(*columns) else None
    by_unit = context.unit is not None
    if labels.any() or (by_unit and groups.query.max_groups != 1):
        return None
    everything = Cells(size=1, everything=True, rows=not by_unit)
    whole = replace(groups.query, cells=everything, max_groups=1)
    still = context.policy.shifts(whole).values()
    public = all(shift == Shift(rise=0, fall=0) for shifts in still for shift in shifts)
    return Totals(labels) if public else None


def _uneven(policy: Neighbourhood, axis: Axis, width: int) -> Listed | None:
    """Each pair of cells by itself, where bins differ in length; None where all are alike."""
    one, strict = (1 if axis.whole else 0), (not axis.whole, not axis.whole)
    pairs = [
        (i, j)
        for i in range(axis.cells)
        for j in range(i + 1, min(i + width, axis.cells - 1) + 1)
        if _near(policy, (Fraction(0), axis.edges[j] - axis.edges[i + 1] + one), strict)
    ]
    alike = sum(axis.cells - d for d in range(1, min(width, axis.cells - 1) + 1))
    if len(pairs) == alike or not pairs:
        return None
    starts, ends = np.array(pairs, dtype=np.int64).T
    return Listed(np.concatenate([starts, ends]), np.concatenate([ends, starts]))


def _near(
    policy: Neighbourhood, gaps: tuple[Fraction, Fraction], strict: tuple[bool, bool]
) -> bool:
    """Whether cells this far apart hold values within the radius of each other."""
    if policy.metric == "grid":
        return sum(gaps) <= policy.radius
    squared = gaps[0] ** 2 + gaps[1] ** 2
    # The upper end of an interval of real numbers is not in it, so the gap is never reached.
    if any(gap > 0 and open_end for gap, open_end in zip(gaps, strict, strict=True)):
        return squared < policy.radius**2
    return squared <= policy.radius**2


def _by_sources(policy: Neighbourhood, axes: Sequence[Axis]) -> Places:
    """The cells with a value within the radius of a source; in doubt, near."""
    wanted = 2 if policy.metric == "time" else len(axes)
    if any(len(source) != wanted for source in policy.sources):
        raise PolicyError(
            f"The policy's sources do not have {len(axes)} coordinates.",
            hint="Give one per column, in the order of the columns.",
        )
    if policy.metric == "time" and any(source[1] for source in policy.sources):
        raise PolicyError(
            "A column of numbers needs sources in plain seconds.", hint="Write them as seconds."
        )
    power = 1 if policy.metric == "grid" else 2
    shape = tuple(axis.cells for axis in axes)
    near = np.zeros(shape if len(shape) == 2 else (1, *shape), dtype=bool)
    for source in policy.sources:
        along = np.array([d**power for d in axes[-1].distances(source[len(axes) - 1])])
        rows = [Fraction(0)] if len(axes) == 1 else axes[0].distances(source[0])
        for row, apart in enumerate(rows):
            near[row] |= (along <= policy.radius**power - apart**power).astype(bool)
    return np.flatnonzero(near.ravel())
