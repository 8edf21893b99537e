import itertools
import math
import random
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest

from onesided import errors, linear, policy
from onesided.linear._moves import corners
from onesided.policy import ABSENT, EARTH_RADIUS, Edge, Record, Shift

NEAR = Edge("point", "point nearby")


def written_out(operator, protected, records, columns):
    """Per edge, the corners of all shifts, record by record, from the policy itself."""
    matrix, found = operator.dense(), {}
    for real, other, edge in protected.moves(records):
        here, there = (
            matrix[:, columns[r]] if r in columns else 0 * matrix[:, 0] for r in (real, other)
        )
        rise, fall = np.maximum(there - here, 0).sum(), np.maximum(here - there, 0).sum()
        found.setdefault(edge, {(0, 0)}).add((int(rise), int(fall)))
    return {edge: corners(some) for edge, some in found.items()}


def pairs(shifts):
    return [(shift.rise, shift.fall) for shift in shifts]


def strategies(shape):
    if len(shape) == 1:
        (n,) = shape
        yield from (linear.Identity(n), linear.Prefix(n), linear.Suffix(n), linear.Hierarchy(n, 3))
        yield linear.Stack([linear.Identity(n), linear.Bins(n, 2, offset=1)], [2, 1])
        yield linear.Dense(np.random.default_rng(n).integers(-2, 3, (3, n)))
        yield linear.block_prefix(n, 2)
        yield linear.Haar(8) if n == 8 else linear.staggered(n)
        yield from (linear.Tents(n), linear.Tents(n, 3))
        return
    rows, columns = shape
    yield from (linear.row_prefix(shape), linear.summed_area(shape), linear.Quadtree(shape))
    yield linear.kron(linear.Haar(4), linear.Hierarchy(columns))
    yield linear.kron(linear.Bins(rows, 2), linear.Suffix(columns))
    yield linear.staggered(shape)
    yield linear.kron(linear.Tents(rows), linear.Tents(columns))
    yield linear.kron(linear.Prefix(rows), linear.Tents(columns, 2))


@pytest.mark.parametrize("metric", ["euclidean", "grid"])
@pytest.mark.parametrize("shape", [(5,), (8,), (4, 3), (4, 5)])
@pytest.mark.parametrize("radius", ["0.4", "1", "1.5", "2.3", "9"])
@pytest.mark.parametrize("source", [None, 0, -1, 2])
def test_shifts_on_a_grid_are_those_of_the_policy_pair_by_pair(metric, shape, radius, source):
    sources = [] if source is None else [(source,) * len(shape)]
    near = policy.neighbourhood(radius=radius, metric=metric, sources=sources)
    points = [Record("point", p) for p in itertools.product(*map(range, shape))]
    columns = {record: k for k, record in enumerate(points)}
    records = [*points, *([Record(ABSENT)] if sources else [])]
    moves = linear.moves_of(near, linear.Grid(shape))
    for strategy in strategies(shape):
        shifts = linear.strategy_shifts(strategy, moves)
        expected = written_out(strategy, near, records, columns)
        for edge in near.edges:
            assert pairs(shifts[edge]) == expected.get(edge, [(0, 0)])


STRANGERS = [
    ((16,), linear.kron(linear.Hierarchy(4), linear.Hierarchy(4))),
    ((16,), linear.Quadtree((4, 4))),
    ((4, 4), linear.kron(linear.Hierarchy(2), linear.Hierarchy(4), linear.Hierarchy(2))),
    ((4, 4), linear.Quadtree((2, 8))),
    ((4, 4), linear.Stack([linear.Prefix(16), linear.Quadtree((4, 4))])),
    ((4, 4), linear.Relabelled(linear.Hierarchy(8), np.arange(16) // 2)),
    ((16,), linear.Relabelled(linear.Hierarchy(8), np.arange(16) * 3 % 8)),
]


@pytest.mark.parametrize(("shape", "strategy"), STRANGERS)
@pytest.mark.parametrize("radius", ["1", "2.3", "4", "8.5"])
def test_strategies_laid_out_otherwise_than_the_moves_are_not_priced_by_far_pairs(
    shape, strategy, radius
):
    """The farthest pairs on the moves' grid need not be the farthest on the strategy's own."""
    near = policy.neighbourhood(radius=radius)
    points = [Record("point", p) for p in itertools.product(*map(range, shape))]
    shifts = linear.strategy_shifts(strategy, linear.moves_of(near, linear.Grid(shape)))
    columns = {record: k for k, record in enumerate(points)}
    assert pairs(shifts[NEAR]) == written_out(strategy, near, points, columns)[NEAR]


def test_shifts_under_graphs_and_named_places_are_those_of_the_policy():
    names = ("a", "b", "c", "d")
    graphs = (
        policy.graph([("a", "b"), ("b", "c"), ("c", "d", "1/2"), ("absent", "a")]),
        policy.graph([("b", "a"), ("c", "b", 3), ("absent", "d"), ("d", "c")], directed=True),
        policy.neighbourhood(
            radius=120_000,
            metric="haversine",
            places={"a": (0, 179), "b": (0, -180), "c": (1, -180), "d": (60, 0)},
            sources=[(61, 0)],
        ),
    )
    for protected in graphs:
        records = protected.records(names, max_groups=1)
        columns = {
            r: names.index(next(iter(r.value)))
            for r in protected.records(names, max_groups=1)
            if r.kind != ABSENT
        }
        moves = linear.moves_of(protected, names)
        for strategy in (linear.Prefix(4), linear.Haar(4), linear.Hierarchy(4, 3)):
            shifts = linear.strategy_shifts(strategy, moves)
            expected = written_out(strategy, protected, records, columns)
            assert {e: pairs(s) for e, s in shifts.items()} == expected


def test_rises_and_falls_of_a_directed_graph_stay_apart():
    down = policy.graph([(1, 0), (2, 1)], directed=True)
    (only,) = linear.strategy_shifts(linear.Suffix(3), linear.moves_of(down, 3)).values()
    assert only == (Shift(rise=0, fall=1),)
    (only,) = linear.strategy_shifts(linear.Prefix(3), linear.moves_of(down, 3)).values()
    assert only == (Shift(rise=1, fall=0),)


def test_a_value_that_is_no_cell_counts_as_being_elsewhere():
    moves = linear.moves_of(policy.graph([("a", "b"), ("b", "c")]), ["a", "b"])
    (shifts,) = linear.strategy_shifts(linear.Identity(2), moves).values()
    assert pairs(shifts) == [(1, 1)]
    (shifts,) = linear.strategy_shifts(linear.Dense([[1, 1]]), moves).values()
    assert pairs(shifts) == [(1, 0), (0, 1)]


@pytest.mark.parametrize("name", ["bounded", "unbounded", "addition_only", "removal_only"])
def test_policies_of_kinds_move_between_any_cells_and_in_and_out(name):
    protected = getattr(policy, name)()
    groups = ("a", "b", "c")
    records = protected.records(groups, max_groups=1)
    columns = {r: groups.index(next(iter(r.value))) for r in records if r.value}
    for strategy in (linear.Prefix(3), linear.Hierarchy(3), linear.Identity(3)):
        shifts = linear.strategy_shifts(strategy, linear.moves_of(protected, 3))
        expected = written_out(strategy, protected, records, columns)
        assert {e: pairs(s) for e, s in shifts.items()} == expected


def test_a_partition_makes_the_total_public_under_bounded_privacy_only():
    total = linear.Dense([[1, 1, 1]])
    open_world, closed = (
        linear.moves_of(policy.bounded(), 3, partition=partition) for partition in (False, True)
    )
    assert linear.sensitivity(linear.strategy_shifts(total, open_world)) == 1
    assert linear.sensitivity(linear.strategy_shifts(total, closed)) == 0
    both_ways = linear.moves_of(policy.unbounded(), 3, partition=True)
    assert linear.sensitivity(linear.strategy_shifts(total, both_ways)) == 1


def test_dropping_from_several_cells_is_never_priced_too_low():
    dropped = policy.presence(max_groups=2)
    moves = linear.moves_of(dropped, 3)
    (shifts,) = linear.strategy_shifts(linear.Prefix(3), moves).values()
    assert pairs(shifts) == [(0, 6)]


def joined(sweep):
    found = set()
    for starts, ends in sweep.blocks():
        for pair in zip(starts.tolist(), ends.tolist(), strict=True):
            assert pair[0] != pair[1]
            assert pair not in found
            found |= {pair, pair[::-1]}
    return found


@pytest.mark.parametrize("shape", [(6,), (3, 4)])
@pytest.mark.parametrize("radius", ["0.5", "1", "1.5", "3", "4.5"])
def test_boxes_of_whole_points_are_near_as_soon_as_two_of_their_points_are(shape, radius):
    outside = (-1,) * len(shape)
    near = policy.neighbourhood(radius=radius, metric="grid", sources=[outside])
    grid = linear.Grid(shape, spacing=3, box=True, origin=(2,) * len(shape))
    moves = linear.moves_of(near, grid)
    points = list(itertools.product(*[range(2, 2 + 3 * side) for side in shape]))
    cells = grid.locate(points).tolist()
    read = [near.space.read(p) for p in points]
    expected = {
        (a, b)
        for (a, p), (b, q) in itertools.product(zip(cells, read, strict=True), repeat=2)
        if a != b and near.space.within(p, q, near.radius)
    }
    assert joined(moves.sweeps[0][1]) == expected
    by = {c for c, p in zip(cells, read, strict=True) if near.by_a_source(p)}
    assert set(moves.borders[0][1].cells.tolist()) == by


def test_half_open_boxes_as_wide_as_the_radius_reach_the_next_box_only():
    near = policy.neighbourhood(radius=1)
    line = linear.moves_of(near, linear.Grid(5, box=True)).sweeps[0][1]
    assert joined(line) == {(a, b) for a in range(5) for b in range(5) if abs(a - b) == 1}
    plane = linear.moves_of(near, linear.Grid((3, 3), box=True)).sweeps[0][1]
    assert (0, 4) in joined(plane)
    assert (0, 2) not in joined(plane)


GLOBES = [
    ((0, 0), (1, 1), (4, 5)),
    ((80, 170), (2, 5), (6, 6)),
    ((-90, -180), (30, 60), (7, 6)),
    ((60, -180), (10, 20), (4, 18)),
    ((-10, 175), ("0.5", "0.7"), (4, 12)),
]


@pytest.mark.parametrize(("origin", "spacing", "shape"), GLOBES)
@pytest.mark.parametrize("radius", [50_000, 112_000, 900_000, 5_000_000, 30_000_000])
def test_the_globe_is_joined_across_180_degrees_and_over_the_poles(origin, spacing, shape, radius):
    near = policy.neighbourhood(radius=radius, metric="haversine", sources=[(85, 179), (0, 0)])
    steps = tuple(Fraction(step) for step in spacing)
    grid = linear.Grid(shape, origin=origin, spacing=steps)
    moves = linear.moves_of(near, grid)
    points = [
        near.space.read((origin[0] + r * steps[0], origin[1] + c * steps[1]))
        for r, c in itertools.product(*map(range, shape))
    ]
    numbered = list(enumerate(points))
    expected = {
        (a, b)
        for (a, p), (b, q) in itertools.product(numbered, repeat=2)
        if a != b and near.space.within(p, q, near.radius)
    }
    assert joined(moves.sweeps[0][1]) == expected
    by = {k for k, p in numbered if near.by_a_source(p)}
    assert set(moves.borders[0][1].cells.tolist()) == by


@pytest.mark.parametrize(("origin", "spacing", "shape"), [GLOBES[0], GLOBES[4]])
@pytest.mark.parametrize("radius", [20_000, 112_000, 900_000])
def test_boxes_on_the_globe_miss_no_pair_of_points(origin, spacing, shape, radius):
    near = policy.neighbourhood(radius=radius, metric="haversine", sources=[(0, 0)])
    steps = tuple(Fraction(step) for step in spacing)
    grid = linear.Grid(shape, origin=origin, spacing=steps, box=True)
    moves = linear.moves_of(near, grid)
    draw = random.Random(5)
    points = [
        tuple(
            first + step * side * Fraction(draw.randrange(1000), 1000)
            for first, step, side in zip(origin, steps, shape, strict=True)
        )
        for _ in range(60)
    ]
    cells, read = grid.locate(points).tolist(), [near.space.read(p) for p in points]
    known, by = joined(moves.sweeps[0][1]), set(moves.borders[0][1].cells.tolist())
    for (a, p), (b, q) in itertools.product(zip(cells, read, strict=True), repeat=2):
        assert a == b or (a, b) in known or not near.space.within(p, q, near.radius)
    assert all(a in by or not near.by_a_source(p) for a, p in zip(cells, read, strict=True))


def test_rows_on_the_globe_that_rounded_edges_bring_nearer_are_joined():
    """Edges of bins are floats, which may be off by less than a millionth of a millimetre."""
    step = Fraction(1, 100_000)
    apart = math.radians(float(step)) * EARTH_RADIUS
    near = policy.neighbourhood(radius=apart - 1e-7, metric="haversine")
    moves = linear.moves_of(near, linear.Grid((3, 1), spacing=step, box=True))
    assert (0, 2) in joined(moves.sweeps[0][1])


def test_times_are_a_line():
    near = policy.neighbourhood(radius=3600, metric="time", sources=["2026-01-01T00:00:00+00:00"])
    grid = linear.Grid(24, origin="2026-01-01T00:00:00+00:00", spacing=3600)
    moves = linear.moves_of(near, grid)
    assert joined(moves.sweeps[0][1]) == {
        (a, b) for a in range(24) for b in range(24) if abs(a - b) == 1
    }
    assert moves.borders[0][1].cells.tolist() == [0, 1]


def test_many_cells_take_no_more_than_some_arrays_of_them():
    near = policy.neighbourhood(radius=1, sources=[(0, 0)])
    moves = linear.moves_of(near, linear.Grid((500, 500)))
    tracemalloc.start()
    shifts = linear.strategy_shifts(linear.Quadtree((500, 500)), moves)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert pairs(shifts[NEAR]) == [(9, 9)]
    assert most < 200 * 250_000  # bytes; a column written out per cell would be 10^11


def test_more_pairs_than_can_be_gone_through_are_refused():
    wide = policy.neighbourhood(radius=1000)
    moves = linear.moves_of(wide, linear.Grid((1000, 1000)))
    with pytest.raises(errors.ParameterError, match="too many to go through"):
        linear.strategy_shifts(linear.summed_area((1000, 1000)), moves)


def test_cells_that_no_move_joins_are_told_apart():
    islands = policy.graph([(0, 1), (2, 3), ("absent", 4)], values=[5])
    labels = linear.moves_of(islands, 6).components().tolist()
    assert labels == [0, 0, 2, 2, -1, 5]
    lines = policy.neighbourhood(radius=1)
    rows = linear.moves_of(lines, linear.Grid((2, 3), spacing=(2, 1)))
    assert rows.components().tolist() == [0, 0, 0, 3, 3, 3]
    assert set(linear.moves_of(lines, linear.Grid((40, 50))).components().tolist()) == {0}
    globe = policy.neighbourhood(radius=120_000, metric="haversine")
    ring = linear.Grid((1, 360), origin=(0, -180))
    assert set(linear.moves_of(globe, ring).components().tolist()) == {0}


@pytest.mark.parametrize("radius", [0, -1, float("nan"), float("inf"), True])
def test_a_radius_that_is_none_is_refused(radius):
    with pytest.raises(errors.OnesidedError):
        policy.neighbourhood(radius=radius)


@pytest.mark.parametrize(
    ("protected", "cells", "words"),
    [
        (policy.neighbourhood(radius=1), "abc", "no list"),
        (policy.neighbourhood(radius=1), ["a", "b"], "where"),
        (policy.neighbourhood(radius=1), ["a", "a"], "twice"),
        (policy.neighbourhood(radius=1, places={"a": (0,), "b": (9,)}), 2, "names 2 places"),
        (policy.neighbourhood(radius=1), linear.Grid(3, origin=(0, 0)), "coordinates"),
        (policy.neighbourhood(radius=1, sources=[(0, 0)]), linear.Grid(3), "sources"),
        (policy.neighbourhood(radius=1, metric="grid"), linear.Grid(3, spacing="0.5"), "whole"),
        (policy.neighbourhood(radius=1, metric="haversine"), linear.Grid(3), "rows and columns"),
        (policy.neighbourhood(radius=1, metric="time"), linear.Grid((3, 3)), "Times"),
        (
            policy.neighbourhood(radius=1, metric="haversine"),
            linear.Grid((3, 3), origin=(89, 0)),
            "latitude 91",
        ),
        (
            policy.neighbourhood(radius=1, metric="haversine"),
            linear.Grid((3, 361), origin=(0, 0)),
            "360",
        ),
        (policy.graph([("x", "y")]), ["a", "b"], "No value"),
    ],
)
def test_layouts_that_the_policy_cannot_place_are_refused(protected, cells, words):
    with pytest.raises((errors.PolicyError, errors.ParameterError), match=words) as caught:
        linear.moves_of(protected, cells)
    assert caught.value.hint


@pytest.mark.parametrize(
    "make",
    [
        lambda: linear.Grid(0),
        lambda: linear.Grid((2, 2, 2)),
        lambda: linear.Grid((2**14, 2**14)),
        lambda: linear.Grid(3, spacing=0),
        lambda: linear.Grid(3, spacing=(1, 1)),
    ],
)
def test_grids_that_are_none_are_refused(make):
    with pytest.raises(errors.ParameterError):
        make()


def test_points_outside_the_grid_are_refused_by_name():
    boxes = linear.Grid((2, 3), origin=(10, 20), spacing="0.5", box=True)
    assert boxes.locate([[10, 20], [10.99, 21.25], ["10.5", "20.75"]]).tolist() == [0, 5, 4]
    for point in ([11, 20], [9.99, 20], [10, 21.5], [10, 19]):
        with pytest.raises(errors.DataError, match="not in any cell"):
            boxes.locate([point])
    points = linear.Grid(4, spacing="0.25", origin="0.25")
    assert points.locate([0.25, 1]).tolist() == [0, 3]
    with pytest.raises(errors.DataError, match="not in any cell"):
        points.locate([0.3])
    with pytest.raises(errors.DataError, match="coordinates"):
        boxes.locate([1, 2, 3])
    with pytest.raises(errors.OnesidedError):
        boxes.locate([[float("nan"), 20]])


def test_a_strategy_over_other_cells_is_refused():
    moves = linear.moves_of(policy.neighbourhood(radius=1), linear.Grid(4))
    with pytest.raises(errors.ParameterError, match="does not fit"):
        linear.strategy_shifts(linear.Prefix(5), moves)


def test_sums_that_would_not_fit_are_refused_rather_than_wrong():
    inner = linear.Stack([linear.Identity(4)], [2**20])
    heavy = linear.kron(inner, linear.Stack([inner], [2**20]))
    moves = linear.moves_of(policy.neighbourhood(radius=1), linear.Grid(16))
    with pytest.raises(errors.ParameterError, match="62 bits"):
        linear.strategy_shifts(heavy, moves)
