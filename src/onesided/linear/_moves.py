"""A policy's moves among cells, and how far they take the answers of a strategy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np

from onesided._english import many
from onesided.errors import ParameterError, PolicyError
from onesided.linear._near import (
    Cells,
    Grid,
    Listed,
    Sweep,
    Window,
    globe_cells,
    globe_sweep,
    plane_cells,
    plane_sweep,
)
from onesided.linear._operator import Array, Meets, Operator, Sized, change, listed_cells
from onesided.policy import ABSENT, Edge, Graph, GroupCount, Neighbourhood, Policy, Record, Shift

# A policy's moves among the cells of a histogram.


Layout: TypeAlias = "int | Sequence[int] | Sequence[str] | Grid"
_MOST_NAMED: Final = 3_000
Corner = tuple[int, int]


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

    def arrows(self) -> set[Corner]:
        """All moves, from cell to cell; -1 is absence."""
        found: set[Corner] = set()
        for _, sweep in self.sweeps:
            for starts, ends in sweep.blocks():
                found |= set(zip(starts.tolist(), ends.tolist(), strict=True))
                if sweep.both_ways:
                    found |= set(zip(ends.tolist(), starts.tolist(), strict=True))
        for _, border in self.borders:
            met = border.cells.tolist()
            found |= {(-1, cell) if border.enter else (cell, -1) for cell in met}
        return found

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
        """Any cell to any other; also out of and into all cells unless records stay inside."""
        grid, _ = _read(self.cells, values=False)
        rows, columns = grid.plane
        everywhere = np.arange(grid.cells)
        sweeps: list[tuple[Edge, Sweep]] = []
        borders: list[tuple[Edge, Border]] = []
        for edge, shifts in policy.shifts(self.query).items():
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
                if single and self.partition:
                    continue
                if shift.fall:
                    borders.append((edge, Border(everywhere, enter=False, times=shift.fall)))
                if shift.rise:
                    borders.append((edge, Border(everywhere, enter=True, times=shift.rise)))
        return Moves(grid.cells, policy.edges, tuple(sweeps), tuple(borders), whole=bool(sweeps))

    def of_graph(self, policy: Graph) -> Moves:
        """Arrows by class. A value that is no cell counts as being elsewhere."""
        names = _read(self.cells, values=True)[1]
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
        pairs: dict[Edge, Any] = {}
        for key, found in inside.items():
            sides = (
                Record(ABSENT) if value == ABSENT else Record("value", frozenset({value}))
                for value in known[key]
            )
            edge = policy.edge_between(*sides)
            if edge is None:  # the arrow was just read from the policy
                raise PolicyError(f"The policy has no edge {known[key][0]!r} -> {known[key][1]!r}.")
            pairs[edge] = found
        return listed_moves(len(names), policy, pairs)

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
            globe = policy.metric == "haversine"
            near = next(edge for edge in policy.edges if ABSENT not in (edge.source, edge.target))
            sweep = globe_sweep(policy, grid) if globe else plane_sweep(policy, grid)
            borders: list[tuple[Edge, Border]] = []
            if policy.sources:
                found = globe_cells(policy, grid) if globe else plane_cells(policy, grid)
                others = [edge for edge in policy.edges if edge != near]
                borders += [(edge, Border(found, enter=edge.source == ABSENT)) for edge in others]
            return Moves(grid.cells, policy.edges, ((near, sweep),), tuple(borders))
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


# A policy whose graph is a tree, turned into counts on the tree's edges that move one by one.


class EdgeCounts(Sized):
    """Row v: the sum of all cells below the edge from cell v to its parent, v among them.

    parents: the parent of each cell, -1 for a root (its row is its tree's total, which is the
        count on its edge to absence where records come and go there).
    signs: -1 where the row is taken negative, so that a move up the edge is a rise.
    A move along an edge changes that edge's row by one and no other: under the policy these are
    counts in which a person adds or removes one, so that any mechanism for such counts may be run
    on them; :meth:`solve` turns answers back into cells.
    Source: Haney, Machanavajjhala, Ding 2015, policies that are trees.
    Errors: PolicyError where the parents form a circle, or are no cells; ParameterError for signs
    that are not 1 or -1, one for each cell.

    >>> from onesided.linear import EdgeCounts
    >>> EdgeCounts([-1, 0, 0]).dense().tolist()
    [[1, 1, 1], [0, 1, 0], [0, 0, 1]]
    """

    def __init__(self, parents: Array, signs: Array | None = None) -> None:
        self.parents = listed_cells(parents, name="Parents")
        given = np.ones_like(self.parents) if signs is None else signs
        self.signs = listed_cells(given, name="Signs")
        # A move changes its row by the sign: with others than these by more than it is priced for.
        if self.signs.size != self.parents.size or not np.isin(self.signs, (-1, 1)).all():
            raise ParameterError(
                f"{self.parents.size} cells need as many signs, each 1 or -1.",
                hint="Scale a strategy by the weights of a Stack.",
                signs=signs,
            )
        size = self.parents.size
        beyond = np.flatnonzero((self.parents < -1) | (self.parents >= size))
        if beyond.size:
            cell = int(beyond[0])
            raise PolicyError(
                f"The parent of cell {cell} is {int(self.parents[cell])}, of {many(size, 'cell')}.",
                hint="Cells count from 0; -1 marks a root.",
            )
        # Cells so that those below an edge stand together: the order, depths, and where each ends.
        children: list[list[int]] = [[] for _ in range(size)]
        for cell, parent in enumerate(self.parents.tolist()):
            if parent >= 0:
                children[parent].append(cell)
        order = np.empty(size, dtype=np.int64)
        depths, ends = np.zeros(size + 1, dtype=np.int64), np.zeros(size, dtype=np.int64)
        depths[-1] = -1
        at, stack = 0, [(root, False) for root in np.flatnonzero(self.parents < 0)[::-1].tolist()]
        while stack:
            cell, done = stack.pop()
            if done:
                ends[cell] = at
                continue
            order[at] = cell
            at += 1
            depths[cell] = depths[self.parents[cell]] + 1 if self.parents[cell] >= 0 else 0
            stack.append((cell, True))
            stack += [(child, False) for child in children[cell]]
        if at < size:
            raise PolicyError("The parents form a circle.", hint="Every cell leads to a root.")
        self.order, self.depths, self.ends, self.shape = order, depths, ends, (size, size)

    solvable = True
    largest = 1

    @property
    def is_non_negative(self) -> bool:
        return bool(np.all(self.signs > 0))  # a row is its sign times a sum that is never empty

    @cached_property
    def _places(self) -> Array:
        places = np.empty_like(self.order)
        places[self.order] = np.arange(self.order.size)
        return places

    def apply(self, values: Array) -> Array:
        first = np.zeros((1, *values.shape[1:]), dtype=values.dtype)
        sums = np.concatenate([first, np.cumsum(values[self.order], axis=0)])
        return _times(self.signs, sums[self.ends] - sums[self._places])

    def adjoint(self, values: Array) -> Array:
        signed = _times(self.signs, values)
        steps = np.zeros((self.order.size + 1, *values.shape[1:]), dtype=signed.dtype)
        np.add.at(steps, self._places, signed)
        np.subtract.at(steps, self.ends, signed)
        return np.asarray(np.cumsum(steps, axis=0)[self._places])

    def meets(self, x: Array, y: Array) -> Meets:
        """Two columns share the edges above both cells."""
        one, two = x.copy(), y.copy()
        apart = np.flatnonzero(one != two)
        while apart.size:
            here, there = one[apart], two[apart]
            lower = self.depths[here] >= self.depths[there]
            other = self.depths[there] >= self.depths[here]
            one[apart] = np.where(lower, self._above(here), here)
            two[apart] = np.where(other, self._above(there), there)
            apart = apart[one[apart] != two[apart]]
        plus, minus = self._signed_depths
        found = one >= 0
        return Meets(np.where(found, plus[one], 0), 0, 0, np.where(found, minus[one], 0))

    def solve(self, values: Array) -> Array:
        edges = _times(self.signs, np.asarray(values, dtype=float))
        cells = edges.copy()
        inner = np.flatnonzero(self.parents >= 0)
        np.subtract.at(cells, self.parents[inner], edges[inner])
        return cells

    def gram_solve(self, values: Array) -> Array:
        cells = np.asarray(values, dtype=float)
        edges = cells.copy()
        inner = np.flatnonzero(self.parents >= 0)
        edges[inner] -= cells[self.parents[inner]]
        return self.solve(_times(self.signs, edges))

    def _above(self, cells: Array) -> Array:
        return np.where(cells >= 0, self.parents[cells], -1)

    @cached_property
    def _signed_depths(self) -> tuple[Array, Array]:
        """How many rows above each cell, itself included, are positive, and negative."""
        plus, minus = (self.signs > 0).astype(np.int64), (self.signs < 0).astype(np.int64)
        for cell in self.order:
            if self.parents[cell] >= 0:
                plus[cell] += plus[self.parents[cell]]
                minus[cell] += minus[self.parents[cell]]
        return plus, minus


def edge_counts(policy: Policy, cells: Layout) -> EdgeCounts:
    """The edge counts of a policy whose moves form a tree over the cells (or several).

    Cells by absence become roots. Where every move along an edge goes one way, the row's sign is
    chosen so that a move makes it fall: the noise may then be above the truth alone.
    Errors: PolicyError if the moves form a circle, absence included.

    >>> from onesided import linear, policy
    >>> linear.edge_counts(policy.graph([(0, 1), (1, 2)]), 3).dense().tolist()
    [[1, 1, 1], [0, 1, 1], [0, 0, 1]]
    """
    moves = moves_of(policy, cells)
    arrows = moves.arrows()
    parents = _parents(moves.cells, arrows)
    up = np.array([(cell, int(p)) in arrows for cell, p in enumerate(parents)])
    down = np.array([(int(p), cell) in arrows for cell, p in enumerate(parents)])
    return EdgeCounts(parents, np.where(down & ~up, -1, 1))


def _parents(cells: int, arrows: set[tuple[int, int]]) -> Array:
    """Parents by a walk from absence first, then from the first cell not yet reached."""
    joined: dict[int, list[int]] = defaultdict(list)
    edges = {(min(pair), max(pair)) for pair in arrows}
    for one, two in sorted(edges):
        joined[one].append(two)
        joined[two].append(one)
    parents = np.full(cells, -2, dtype=np.int64)
    used = 0
    for root in range(-1, cells):
        if root >= 0 and parents[root] != -2:
            continue
        if root >= 0:
            parents[root] = -1
        queue = [root]
        for cell in queue:
            for other in joined[cell]:
                if other >= 0 and parents[other] == -2:
                    parents[other] = cell
                    used += 1
                    queue.append(other)
    if used != len(edges):
        raise PolicyError(
            f"The policy's moves over {cells:,} cells form a circle, so they are no tree.",
            hint="Use prefix sums, a hierarchy or blocks, whose sensitivity is worked out for "
            "any policy.",
        )
    return parents


def _times(signs: Array, values: Any) -> Array:
    return np.asarray(signs.reshape(-1, *([1] * (values.ndim - 1))) * values)


# How far a strategy's answers can move along one move of a policy, rises and falls apart.

# Some minutes of work on one core.
MOST_PAIRS: Final = 10**9
_BLOCK: Final = 2**20
_FEW: Final = 2**16
_MOST_SUM: Final = 2**60


def strategy_shifts(
    strategy: Operator, moves: Moves, *, most: int = MOST_PAIRS
) -> dict[Edge, tuple[Shift, ...]]:
    """Per edge, the extreme shifts of ``strategy @ counts``; exact whole numbers.

    A move x -> y between cells shifts the answers by column y less column x; one that leaves a
    cell takes its column away, one that enters adds it. Kept are the corners of the region of
    (rise, fall) that bound ``upper_rate * fall + lower_rate * rise`` for all rates. An edge
    along which nothing moves has Shift(rise=0, fall=0).
    Cost: one formula per pair of joined cells; for strategies whose changes grow with distance
    only the farthest pairs are looked at.
    most: how many pairs may be gone through.
    Errors: ParameterError for shapes that do not match, or more pairs than that.

    >>> from onesided import linear, policy
    >>> moves = linear.moves_of(policy.graph([(0, 1), (1, 2)]), 3)
    >>> list(linear.strategy_shifts(linear.Prefix(3), moves).values())
    [(Shift(rise=1, fall=0), Shift(rise=0, fall=1))]
    """
    if strategy.shape[1] != moves.cells:
        raise ParameterError(
            f"A strategy over {many(strategy.shape[1], 'cell')} does not fit the policy's "
            f"{many(moves.cells, 'cell')}.",
            hint="Use one layout of cells for both.",
        )
    if strategy.shape[0] * strategy.largest > _MOST_SUM:
        raise ParameterError(
            f"Columns of {many(strategy.shape[0], 'row')} with entries up to {strategy.largest:,} "
            "may have sums that do not fit 62 bits.",
            hint="Use smaller weights.",
        )
    found: dict[Edge, list[Corner]] = {edge: [(0, 0)] for edge in moves.edges}
    seen: dict[int, list[Corner]] = {}
    for edge, sweep in moves.sweeps:
        if id(sweep) not in seen:
            seen[id(sweep)] = _swept(strategy, sweep, most)
        found[edge] += seen[id(sweep)]
    for edge, border in moves.borders:
        found[edge] += _crossed(strategy, border)
    return {
        edge: tuple(Shift(rise=rise, fall=fall) for rise, fall in corners(all_of_it))
        for edge, all_of_it in found.items()
    }


def sensitivity(shifts: Mapping[Edge, Iterable[Shift]]) -> int:
    """The largest L1 distance along any move: what the paper calls the sensitivity.

    >>> from onesided import linear, policy
    >>> moves = linear.moves_of(policy.graph([(0, 1), (1, 2)]), 3)
    >>> linear.sensitivity(linear.strategy_shifts(linear.Prefix(3), moves))
    1
    """
    return max(shift.rise + shift.fall for many in shifts.values() for shift in many)


def _swept(strategy: Operator, sweep: Sweep, most: int) -> list[Corner]:
    corner_to_corner = sweep.plane is not None and strategy.monotone_on(sweep.plane)
    pairs = sweep.far() if corner_to_corner else sweep
    # Of two cells, where there are two: of one, more strategies have a formula.
    formula = strategy.meets(_PROBE[0], np.array([strategy.shape[1] - 1]))
    work = pairs.count if formula else pairs.count * sum(strategy.shape)
    if work > most:
        raise ParameterError(
            f"The policy joins about {pairs.count:,} pairs of cells, too many to go through for "
            "this strategy.",
            hint="Use fewer cells, a smaller radius, or a strategy whose changes grow with "
            "distance: identity, hierarchy or quadtree, or on a line prefix sums.",
            pairs=pairs.count,
        )
    front: list[Corner] = []
    for starts, ends in _gathered(pairs.blocks()):
        rise, fall = change(strategy, starts, ends)
        front = _extended(front, rise, fall)
    swapped = [(fall, rise) for rise, fall in front] if sweep.both_ways else []
    return front + swapped


def _gathered(blocks: Iterable[tuple[Array, Array]]) -> Iterator[tuple[Array, Array]]:
    """The same pairs in fewer blocks: where everything is joined there is one per distance."""
    starts: list[Array] = []
    ends: list[Array] = []
    for one, two in blocks:
        starts.append(one)
        ends.append(two)
        if sum(map(len, starts)) >= _FEW:
            yield np.concatenate(starts), np.concatenate(ends)
            starts, ends = [], []
    if starts:
        yield np.concatenate(starts), np.concatenate(ends)


_PROBE: Final = (np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))


def _crossed(strategy: Operator, border: Border) -> list[Corner]:
    """Leaving takes a column's positive entries down and its negative ones up; entering back.

    In several cells at once, the sums of each at its most: never too little.
    """
    front: list[Corner] = []
    formula = strategy.meets(*_PROBE) is not None
    size = _BLOCK if formula else max(1, 4 * _BLOCK // sum(strategy.shape))
    for cells in (border.cells[at : at + size] for at in range(0, len(border.cells), size)):
        rise, fall = _column_sums(strategy, cells)
        if not border.enter:
            rise, fall = fall, rise
        front = _extended(front, rise, fall)
    if border.times > 1 and front:
        rises, falls = zip(*front, strict=True)
        front = [(border.times * max(rises), border.times * max(falls))]
    return front


def _column_sums(strategy: Operator, cells: Array) -> tuple[Array, Array]:
    sizes = strategy.meets(cells, cells)
    if sizes is not None:
        shape = cells.shape
        return np.broadcast_to(sizes[0], shape), np.broadcast_to(sizes[3], shape)
    columns = strategy.columns(cells)
    return np.maximum(columns, 0).sum(axis=0), np.maximum(-columns, 0).sum(axis=0)


def _extended(front: list[Corner], rise: Array, fall: Array) -> list[Corner]:
    """The corners with these pairs added; most are below a corner known, and drop out at once."""
    if rise.size:
        top = int(np.argmax(rise + fall))
        front = [*front, (int(rise[top]), int(fall[top]))]
    new = np.ones(rise.shape, dtype=bool)
    for known_rise, known_fall in front:
        new &= (rise > known_rise) | (fall > known_fall)
    if not new.any():
        return corners(front)
    others = np.unique(np.stack([rise[new], fall[new]], axis=1), axis=0)
    return corners([*front, *((int(r), int(f)) for r, f in others)])


def corners(points: Iterable[Corner]) -> list[Corner]:
    """The upper right of the points' convex hull, from most rise to most fall."""
    front: list[Corner] = []
    for rise, fall in sorted(set(points), reverse=True):
        if front and fall <= front[-1][1]:
            continue
        while len(front) > 1 and _inside(front[-2], front[-1], (rise, fall)):
            front.pop()
        front.append((rise, fall))
    return front


def _inside(one: Corner, middle: Corner, two: Corner) -> bool:
    """Whether the middle one lies on or below the line from one to two."""
    along = (two[0] - one[0]) * (middle[1] - one[1]) - (two[1] - one[1]) * (middle[0] - one[0])
    return along >= 0
