"""A policy's moves among the cells of a histogram."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

import numpy as np

from onesided._english import many
from onesided.errors import ParameterError, PolicyError
from onesided.linear._grid import Grid
from onesided.linear._near import globe_cells, globe_sweep, plane_cells, plane_sweep
from onesided.linear._sweeps import Cells, Listed, Sweep, Window
from onesided.policy import ABSENT, Edge, Graph, GroupCount, Neighbourhood, Policy, Record

Layout: TypeAlias = "int | Sequence[int] | Sequence[str] | Grid"
_MOST_NAMED: Final = 3_000


@dataclass(frozen=True, slots=True)
class Border:
    """Cells from which records leave for good (``enter=False``), or into which they come.

    ``times``: in how many different cells at once.

    >>> Border(np.array([0, 1]), enter=False).times
    1
    """

    cells: Cells
    enter: bool
    times: int = 1


@dataclass(frozen=True)
class Moves:
    """Every move among ``cells`` cells, and between a cell and absence, by the policy's edges.

    >>> from onesided.policy import addition_only, graph
    >>> moves_of(addition_only(), 3).components().tolist()
    [-1, -1, -1]
    >>> len(moves_of(addition_only(), 3).borders)
    1
    """

    cells: int
    edges: tuple[Edge, ...]
    sweeps: tuple[tuple[Edge, Sweep], ...]
    borders: tuple[tuple[Edge, Border], ...]
    whole: bool = False

    def components(self) -> Cells:
        """Which cells moves join, in either direction: one label each; -1 if also with absence.

        The total over the cells of one label from 0 is public: no move changes it.
        """
        labels = np.arange(self.cells)
        if self.whole:
            labels[:] = 0
        for _, sweep in () if self.whole else self.sweeps:
            labels = _joined(labels, sweep.near())
        for _, border in self.borders:
            outside = np.unique(labels[border.cells])
            labels = np.where(np.isin(labels, outside) | (labels < 0), -1, labels)
        return labels

    def conditioned(self) -> Moves:
        """The same where a condition decides which records are counted, and moves may change that.

        What moves out of a cell may then leave them all; what moves into one may come from none.
        """
        borders = list(self.borders)
        for edge, sweep in self.sweeps:
            every = np.arange(self.cells)  # a window has moves within each cell as well
            pairs = (sweep.starts, sweep.ends) if isinstance(sweep, Listed) else (every, every)
            borders += [
                (edge, Border(np.unique(cells), enter=enter))
                for cells, enter in zip(pairs, (False, True), strict=True)
            ]
        return replace(self, borders=tuple(borders))


def moves_of(
    policy: Policy,
    cells: Layout,
    *,
    partition: bool = False,
    query: GroupCount = GroupCount(),  # noqa: B008 - frozen
) -> Moves:
    """The policy's moves, where each record is counted in one cell.

    cells: for a graph, the number of cells or a :class:`Grid` (its values are then the numbers
        from 0, or the same as text), or a list of its values in the order of the cells; for a
        neighbourhood a :class:`Grid` (a number or shape is one at the origin, 1 apart), or names
        of its places; for any other policy the number or the names. A value or a place that is
        no cell is elsewhere: records come from it and go to it.
    partition: for policies of kinds: True asserts that every record that is counted lies in
        exactly one of the cells. Otherwise it may lie outside all of them, and a record that may
        change may come and go.
    query: for policies of kinds, how many of a unit's cells are counted, as in a histogram.
    Errors: PolicyError for cells that the policy cannot place; ParameterError for bad layouts.

    >>> from onesided import linear, policy
    >>> moves = linear.moves_of(policy.graph([(0, 1), (1, 2)]), 3)
    >>> moves.components().tolist()
    [0, 0, 0]
    """
    return policy.moves_on(_Laid(cells, partition=partition, query=query))


@dataclass(frozen=True, slots=True)
class _Laid:
    """Cells as they were given, and a policy's moves among them."""

    cells: Layout
    partition: bool = field(kw_only=True)
    query: GroupCount = field(kw_only=True)

    def of_kinds(self, policy: Policy) -> Moves:
        grid, _ = _read(self.cells, values=False)
        return _of_kinds(policy, grid, partition=self.partition, query=self.query)

    def of_graph(self, policy: Graph) -> Moves:
        return _of_graph(policy, _read(self.cells, values=True)[1])

    def of_points(self, policy: Neighbourhood) -> Moves:
        grid, names = _read(self.cells, values=False)
        named = any(isinstance(name, str) for name in names)
        if policy.places and not named and not isinstance(self.cells, Grid):
            raise PolicyError(
                f"The policy names {many(len(policy.places), 'place')}, but the cells were only "
                "counted.",
                hint="Give the places' names in the order of the cells, or a Grid.",
            )
        if not named:
            return _of_grid(policy, grid)
        most = max(len(names), len(policy.places))
        if most > _MOST_NAMED:
            raise ParameterError(
                f"{most:,} named places are too many to compare pair by pair.",
                hint="Lay the cells out as a Grid.",
            )
        return placed_moves(policy, names)


def notes_of(moves: Moves) -> tuple[str, ...]:
    """What the policy leaves open, in sentences.

    >>> from onesided.policy import bounded
    >>> notes_of(moves_of(bounded(), 3))[-1]
    'Cells that one move joins are hidden from each other at the stated loss; cells that k moves
    join, at k times as much.'
    """
    labels = moves.components()
    public = int(np.unique(labels[labels >= 0]).size)
    notes = [
        "Cells that one move joins are hidden from each other at the stated loss; cells that k "
        "moves join, at k times as much."
    ]
    if public > 1 or (public and (labels < 0).any()):
        groups = f"each of {public} groups" if public > 1 else "one group"
        notes.append(
            "Cells that no moves join are public relative to each other: under this policy "
            f"everyone may learn how many are in {groups} of cells."
        )
    elif public:
        notes.append("Nobody comes or goes under this policy: the total is public.")
    return tuple(notes)


def _read(cells: Layout, *, values: bool) -> tuple[Grid, list[int | str]]:
    """The grid, and the cells' names. ``values``: numbers in a list are names, not a shape."""
    if isinstance(cells, Grid):
        return cells, list(range(cells.cells))
    if isinstance(cells, str):
        raise ParameterError(f"{cells!r} is no list of cells.", hint="Give a number or names.")
    if isinstance(cells, Sequence) and (values or any(isinstance(cell, str) for cell in cells)):
        names: list[int | str] = list(cells)
        if isinstance(cells, tuple) and not any(isinstance(cell, str) for cell in cells):
            raise ParameterError(
                f"{cells!r} may be the shape of a grid, or two values of the graph.",
                hint="Give Grid(shape), or the values as a list.",
                cells=cells,
            )
        if not names or len(set(names)) != len(names):
            raise ParameterError("A cell is named twice, or none is.", hint="Name each once.")
        return Grid(len(names)), names
    grid = Grid(cells)  # type: ignore[arg-type]
    return grid, list(range(grid.cells))


def _of_graph(policy: Graph, names: list[int | str]) -> Moves:
    """Arrows by class. A value that is no cell counts as being elsewhere."""
    place: dict[object, int] = {name: k for k, name in enumerate(names)}
    if not any(value in place for value in policy.arrows.values):
        place = {str(name): k for k, name in enumerate(names)}
    inside: dict[tuple[object, ...], list[tuple[int, int]]] = defaultdict(list)
    known: dict[tuple[object, ...], tuple[object, object]] = {}
    key: tuple[object, ...]
    for source, target, weight in policy.arrows.listed:
        ends = (place.get(source, -1), place.get(target, -1))
        if ends == (-1, -1):
            continue
        key = (source == ABSENT, target == ABSENT, weight)
        known.setdefault(key, (source, target))
        inside[key].append(ends)
    if not inside:
        raise PolicyError(
            "No value of the graph is one of the cells.",
            hint="Name the cells as the graph's values, in order.",
        )
    pairs = {_edge_of(policy, *known[key]): found for key, found in inside.items()}
    return listed_moves(len(names), policy, pairs)


def _edge_of(policy: Policy, source: object, target: object) -> Edge:
    ends = [
        Record(ABSENT) if value == ABSENT else Record("value", frozenset({value}))
        for value in (source, target)
    ]
    edge = policy.edge_between(*ends)
    if edge is None:  # the arrow was just read from the policy
        raise PolicyError(f"The policy has no edge {source!r} -> {target!r}.")
    return edge


def _of_grid(policy: Neighbourhood, grid: Grid) -> Moves:
    globe = policy.metric == "haversine"
    near = next(edge for edge in policy.edges if ABSENT not in (edge.source, edge.target))
    sweep = globe_sweep(policy, grid) if globe else plane_sweep(policy, grid)
    borders: list[tuple[Edge, Border]] = []
    if policy.sources:
        found = globe_cells(policy, grid) if globe else plane_cells(policy, grid)
        others = [edge for edge in policy.edges if edge != near]
        borders += [(edge, Border(found, enter=edge.source == ABSENT)) for edge in others]
    return Moves(grid.cells, policy.edges, ((near, sweep),), tuple(borders))


def placed_moves(policy: Neighbourhood, names: Sequence[object]) -> Moves:
    """Places by name, pair by pair. A place of the policy that is no cell is elsewhere.

    Errors: PolicyError for cells without a place.

    >>> from onesided.policy import neighbourhood
    >>> near = neighbourhood(radius=5, places={"home": (0, 0), "shop": (3, 4), "sea": (99, 0)})
    >>> placed_moves(near, ["home", "shop", "sea"]).components().tolist()
    [0, 0, 2]
    """
    known = [name for name, _ in policy.places]
    place: dict[object, int] = {str(name): k for k, name in enumerate(names)}
    policy.records([str(name) for name in names], max_groups=1)  # refuses cells without a place
    pairs: dict[Edge, list[tuple[int, int]]] = defaultdict(list)
    for real, other, edge in policy.moves(policy.records(known, max_groups=1)):
        pairs[edge].append((_cell_of(real, place), _cell_of(other, place)))
    return listed_moves(len(names), policy, pairs)


def listed_moves(
    cells: int, policy: Policy, pairs: Mapping[Edge, Sequence[tuple[int, int]]]
) -> Moves:
    """Moves given one by one, from cell to cell, those within a cell too; -1 is not in any cell.

    >>> from onesided.policy import addition_only
    >>> policy = addition_only()
    >>> listed_moves(3, policy, {policy.edges[0]: [(0, -1), (1, 2)]}).components().tolist()
    [-1, 1, 1]
    """
    sweeps: list[tuple[Edge, Sweep]] = []
    borders: list[tuple[Edge, Border]] = []
    for edge, some in pairs.items():
        starts, ends = np.array(some, dtype=np.int64).T
        within = (starts >= 0) & (ends >= 0)
        if within.any():
            sweeps.append((edge, Listed(starts[within], ends[within])))
        for kept, gone, enter in ((starts, ends, False), (ends, starts, True)):
            crossed = np.unique(kept[(kept >= 0) & (gone < 0)])
            if crossed.size:
                borders.append((edge, Border(crossed, enter=enter)))
    return Moves(cells, policy.edges, tuple(sweeps), tuple(borders))


def _cell_of(record: Record, place: Mapping[object, int]) -> int:
    """The cell of a record at a named place; -1 for one that is elsewhere, or absent."""
    if record.kind == ABSENT:
        return -1
    return place.get(next(iter(record.value)), -1)  # type: ignore[call-overload]


def _of_kinds(policy: Policy, grid: Grid, *, partition: bool, query: GroupCount) -> Moves:
    """Any cell to any other; also out of and into all cells unless records stay inside."""
    rows, columns = grid.plane
    everywhere = np.arange(grid.cells)
    sweeps: list[tuple[Edge, Sweep]] = []
    borders: list[tuple[Edge, Border]] = []
    for edge, shifts in policy.shifts(query).items():
        for shift in shifts:
            single = shift.rise == shift.fall == 1
            if shift.rise and shift.fall and not single:
                raise PolicyError(
                    f"Under the policy {policy.name!r} a record may leave "
                    f"{many(shift.fall, 'cell')} and "
                    f"enter {shift.rise} in one move, which is not priced for linear queries.",
                    hint="Count one value per record.",
                )
            if single:
                sweeps.append((edge, Window(rows, columns, [columns - 1] * rows)))
            if single and partition:
                continue
            if shift.fall:
                borders.append((edge, Border(everywhere, enter=False, times=shift.fall)))
            if shift.rise:
                borders.append((edge, Border(everywhere, enter=True, times=shift.rise)))
    return Moves(grid.cells, policy.edges, tuple(sweeps), tuple(borders), whole=bool(sweeps))


def _joined(labels: Cells, sweep: Sweep) -> Cells:
    """Labels after joining the ends of each pair: smaller labels win, chains are cut short."""
    while True:
        before = labels.copy()
        for starts, ends in sweep.blocks():
            one, two = labels[starts], labels[ends]
            least = np.minimum(one, two)
            np.minimum.at(labels, np.concatenate([one, two]), np.concatenate([least, least]))
        shorter = labels[labels]
        while not np.array_equal(shorter, labels):
            labels, shorter = shorter, shorter[shorter]
        if np.array_equal(labels, before):
            return labels
