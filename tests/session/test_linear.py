"""Ranges and linear queries in sessions: which cells moves of values join, answers, refusals."""

import math
from fractions import Fraction
from itertools import pairwise, product

import narwhals as nw
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import onesided as od
from onesided import linear, verify
from onesided.errors import DataError, OnesidedError, ParameterError, PolicyError
from onesided.mechanism._linear import _outward
from onesided.noise import NotPrivateSeededNoise
from onesided.policy import Record
from onesided.session import LinearQuery, RangeQuery
from onesided.session.histograms._binned import BinEdges
from onesided.session.workloads._cells import Axis, moves_between, moves_of_places
from onesided.verify import Universe

NEAR = od.policy.neighbourhood
FLOAT, WHOLE = nw.Float64(), nw.Int64()


def session(values, policy, *, budget=100, seed=1, **columns):
    frame = pl.DataFrame({"x": values, **columns}, strict=False)
    return od.Session(frame, policy=policy, budget=budget, noise=NotPrivateSeededNoise(seed))


def pairs_of(moves):
    """Every pair of different cells that some move joins, both ways."""
    found = set()
    for _, sweep in moves.sweeps:
        for starts, ends in sweep.blocks():
            some = set(zip(starts.tolist(), ends.tolist(), strict=True))
            found |= some | ({(b, a) for a, b in some} if sweep.both_ways else set())
    return {(a, b) for a, b in found if a != b}


def axis(edges, dtype=FLOAT):
    return Axis.of("x", BinEdges(tuple(Fraction(e) for e in edges)), dtype)


def cell(edges, value):
    """What the engine does, by the definition."""
    return sum(edge <= value for edge in edges[1:-1])


# Which cells a move of values joins


@given(
    st.lists(st.integers(-20, 20), min_size=2, max_size=7, unique=True).map(sorted),
    st.integers(1, 12),
    st.sampled_from(["grid", "euclidean", "time"]),
)
def test_whole_numbers_within_the_radius_are_in_joined_cells_and_no_others(edges, radius, metric):
    moves = moves_between(
        NEAR(radius=radius, metric=metric), [axis(edges, WHOLE)], clamped=True, partition=True
    )
    values = range(edges[0] - 15, edges[-1] + 16)
    truth = {
        (cell(edges, a), cell(edges, b))
        for a, b in product(values, values)
        if abs(a - b) <= radius and cell(edges, a) != cell(edges, b)
    }
    assert pairs_of(moves) == truth


@given(
    st.lists(st.integers(-40, 40), min_size=2, max_size=7, unique=True).map(sorted),
    st.integers(1, 24),
)
def test_real_numbers_within_the_radius_are_in_joined_cells_and_no_others(eighths, radius):
    edges = [Fraction(e, 8) for e in eighths]
    radius = Fraction(radius, 8)
    moves = moves_between(NEAR(radius=radius), [axis(edges)], clamped=True, partition=True)
    # The closest values of two cells: as near below the one's end as is wanted, and the other's
    # start. Rational numbers stand for real ones.
    little = Fraction(1, 10**9)
    truth = set()
    for i, j in product(range(len(edges) - 1), repeat=2):
        if i < j and edges[j] - (edges[i + 1] - little) <= radius:
            truth |= {(i, j), (j, i)}
    assert pairs_of(moves) == truth


def test_values_move_further_than_cells_centres_do():
    """BinEdges two wide and a radius of one: centres are two apart, values at a border are not."""
    policy = NEAR(radius=1)
    edges = [0, 2, 4, 6]
    truth = pairs_of(moves_between(policy, [axis(edges)], clamped=True, partition=True))
    assert truth == {(0, 1), (1, 0), (1, 2), (2, 1)}
    centres = linear.moves_of(policy, linear.Grid(3, origin=1, spacing=2))
    assert pairs_of(centres) == set()
    # A radius of one and a half widths: two cells apart, where r / w would say one.
    wider = moves_between(NEAR(radius=3), [axis(edges)], clamped=True, partition=True)
    assert (0, 2) in pairs_of(wider)


def test_edges_are_taken_as_the_engine_rounds_them():
    """Tenths as floats are not equally wide, so that a tenth may lead two bins on."""
    edges = [Fraction(k, 10) for k in range(11)]
    moves = moves_between(NEAR(radius="0.1"), [axis(edges)], clamped=True, partition=True)
    rounded = [Fraction(float(e)) for e in edges]
    far = {(i, j) for i, j in pairs_of(moves) if j == i + 2}
    narrow = {i for i in range(8) if rounded[i + 2] - rounded[i + 1] < Fraction(1, 10)}
    assert far == {(i, i + 2) for i in narrow}
    assert far
    # And such values exist: both are floats, a tenth apart at most.
    i, j = min(far)
    low = np.nextafter(float(edges[i + 1]), 0)
    high = float(edges[j])
    assert Fraction(high) - Fraction(float(low)) <= Fraction(1, 10) + Fraction(1, 2**50)
    # Sixteenths are what they are.
    exact = moves_between(
        NEAR(radius="1/16"), [axis([Fraction(k, 16) for k in range(9)])], clamped=True,
        partition=True,
    )  # fmt: skip
    assert max(j - i for i, j in pairs_of(exact)) == 1


@pytest.mark.parametrize("radius", [1, "3/2", 2, "5/2"])
@pytest.mark.parametrize("metric", ["euclidean", "grid"])
@pytest.mark.parametrize("edges", [[0, 2, 4, 6, 8], [0, 1, 3, 4, 8]])
def test_rectangles_of_whole_numbers_are_joined_if_some_points_in_them_are(radius, metric, edges):
    policy = NEAR(radius=radius, metric=metric)
    other = [0, 3, 4, 6]
    axes = [axis(edges, WHOLE), Axis.of("y", BinEdges(tuple(map(Fraction, other))), WHOLE)]
    found = pairs_of(moves_between(policy, axes, clamped=True, partition=True))
    points = list(product(range(-3, 12), range(-3, 10)))
    truth = set()
    for (a, b), (c, d) in product(points, points):
        near = policy.space.within(
            (Fraction(a), Fraction(b)), (Fraction(c), Fraction(d)), policy.radius
        )
        if near:
            truth.add((cell(edges, a) * 3 + cell(other, b), cell(edges, c) * 3 + cell(other, d)))
    truth = {(one, two) for one, two in truth if one != two}
    # Unequal bins are as near as the nearest such bins: never too few.
    assert truth <= found
    if [b - a for a, b in pairwise(edges)] == [2] * 4 and metric == "grid":
        alone = moves_between(policy, [axes[0]], clamped=True, partition=True)
        assert {(i // 3, j // 3) for i, j in found if i % 3 == j % 3} == pairs_of(alone)


def test_sources_reach_every_cell_with_a_value_nearby():
    policy = NEAR(radius=2, sources=[(0,)])
    moves = moves_between(policy, [axis([-4, -2, 0, 2, 4])], clamped=True, partition=True)
    # 2 is in the last cell and within 2 of the source. The first cell ends at -2 and comes as near
    # as is wanted, which counts as near.
    assert {tuple(border.cells.tolist()) for _, border in moves.borders} == {(0, 1, 2, 3)}
    assert {border.enter for _, border in moves.borders} == {True, False}
    ends = NEAR(radius=1, sources=[(100,)])
    (_, border), _ = moves_between(ends, [axis([0, 2, 4])], clamped=True, partition=True).borders
    assert border.cells.tolist() == [1]


def test_a_graph_over_numbers_is_mapped_to_cells_and_beyond_the_ends():
    policy = od.policy.graph([(k, k + 2) for k in range(-3, 9)])
    moves = moves_between(policy, [axis([0, 2, 4, 6], WHOLE)], clamped=True, partition=True)
    assert pairs_of(moves) == {(0, 1), (1, 0), (1, 2), (2, 1)}
    assert not moves.borders
    kept = moves_between(policy, [axis([0, 2, 4, 6], WHOLE)], clamped=False, partition=True)
    assert {tuple(border.cells.tolist()) for _, border in kept.borders} == {(0, 2)}


def test_a_place_that_is_no_key_is_elsewhere_not_out_of_reach():
    policy = NEAR(radius=1, places={"a": (0,), "b": (1,), "c": (5,)})
    moves = moves_of_places(policy, ["a"])
    assert len(moves.borders) == 2
    assert not moves_of_places(policy, ["c"]).borders


# Exact verification of the whole path


def answers(data, policy, noise, **question):
    values = [int(record.value[0]) for record in data]
    frame = pl.DataFrame({"x": values}, schema={"x": pl.Int64})
    asked = od.Session(frame, policy=policy, budget=question["epsilon"], noise=noise)
    release = asked.ranges("x", **question)
    assert min(asked.remaining.values()) == 0
    return tuple(release.noisy.tolist()), tuple(release.estimate.tolist())


@pytest.mark.heavy
@pytest.mark.parametrize("strategy", ["prefix", "identity"])
def test_a_session_of_ranges_loses_what_the_ledger_charged(strategy):
    policy = NEAR(radius=1)
    world = Universe(
        groups=("any",), units=1, values=tuple(Record("point", (v,)) for v in range(-1, 5))
    )

    def program(data, noise):
        return answers(
            data, policy, noise, ranges="cells", bins=[0, 2, 4], strategy=strategy, epsilon=8
        )

    report = verify.exact(program, policy, world, tail=1e-4, sealed=False)
    assert report.keeps(8)
    assert report.loss > 7.9 if strategy == "prefix" else report.loss > 3.9


def test_a_session_that_took_distances_of_centres_would_be_seen():
    """Centres two apart, a radius of one: nothing would move, and nothing would be hidden."""
    policy = NEAR(radius=1)
    strategy = linear.Prefix(3)
    moves = linear.moves_of(policy, linear.Grid(3, origin=1, spacing=2))
    wrong = od.mechanism._linear.Linear.for_policy(
        NEAR(radius=2), strategy=strategy, workload=strategy, epsilon=6,
        cells=linear.Grid(3, origin=1, spacing=2),
    )  # fmt: skip
    assert linear.sensitivity(linear.strategy_shifts(strategy, moves)) == 0
    values = tuple(Record("point", (v,)) for v in range(6))
    world = Universe(groups=("any",), units=1, values=values)

    def program(data, noise):
        counts = np.bincount([int(r.value[0]) // 2 for r in data], minlength=3)
        return tuple(wrong.noisy(counts, noise=noise).tolist())

    # A radius of two as centres see it: one cell on. Values 1 and 4 of cells two apart are not
    # within two, but 1 and 3, or with a radius of three 1 and 4, are.
    assert verify.exact(program, NEAR(radius=2), world, tail=1e-6, sealed=False).keeps(6)
    assert not verify.exact(program, NEAR(radius=3), world, tail=1e-6, sealed=False).keeps(6)


@pytest.mark.heavy
def test_comings_and_goings_by_a_source_are_charged(monkeypatch):
    policy = NEAR(radius=1, sources=[(0,)])
    values = (*(Record("point", (v,)) for v in range(4)), Record("absent"))
    world = Universe(groups=("any",), units=1, values=values)

    def program(data, noise):
        there = [record for record in data if record.kind != "absent"]
        return answers(
            there, policy, noise, ranges="all", bins=[0, 2, 4], strategy="prefix", epsilon=8
        )

    report = verify.exact(program, policy, world, tail=1e-4, sealed=False)
    assert report.keeps(8)
    # Prefix sums the wrong way round: a record that enters by the source is in all of them.
    monkeypatch.setattr("onesided.session.workloads._cells._by_sources", lambda *_: np.array([1]))
    assert not verify.exact(program, policy, world, tail=1e-4, sealed=False).keeps(8)


# Answers


def test_without_moves_answers_are_exact_and_free_on_every_engine(engine):
    frame = engine({"x": [0, 1, 1, 5, 9, 12, -3], "y": [0.0, 0.5, 1.0, 0.25, 0.75, 2.0, -1.0]})
    still = od.Session(frame, policy=NEAR(radius="1/2", metric="euclidean"), budget=1)
    release = still.ranges("x", [(0, 2), (2, 10), (0, 10)], bins=range(0, 11, 2), epsilon=1)
    assert release.estimate.tolist() == [4, 3, 7]
    assert still.spent == {"point -> point nearby": 0}
    assert any("public relative to each other" in note for note in release.notes)


@pytest.mark.parametrize("outside", ["clamp", "refuse"])
def test_values_beyond_the_bins(outside):
    policy = NEAR(radius="1/2")
    asked = session([0, 1, 5], policy)
    kept = asked.ranges("x", "cells", bins=[0, 2, 6], epsilon=1, outside=outside)
    assert kept.estimate.tolist() == [2, 1]
    beyond = session([0, 1, 5, 9, -4, None, None], policy)
    if outside == "refuse":
        with pytest.raises(DataError, match="2 rows lie outside"):
            beyond.ranges("x", "cells", bins=[0, 2, 6], epsilon=1, outside=outside, missing="drop")
        return
    found = beyond.ranges("x", "cells", bins=[0, 2, 6], epsilon=1, missing="drop")
    assert found.estimate.tolist() == [3, 2]
    with pytest.raises(DataError, match="2 rows have no value"):
        beyond.ranges("x", "cells", bins=[0, 2, 6], epsilon=1)


@pytest.mark.parametrize("column", ["x", "y"])
@pytest.mark.parametrize("top", [4, "9/2"])
def test_the_last_of_equal_bins_holds_its_upper_edge_as_in_histograms(engine, column, top):
    frame = engine({"x": [0, 2, 4, 4], "y": [0.0, 2.0, 4.0, float(Fraction(top))]})
    ask = {"bins": 2, "bounds": (0, top), "epsilon": 40}
    told = od.Session(frame, policy=od.policy.unbounded(), budget=1000)
    counts = told.histogram(column, **ask).estimate.round().tolist()
    for outside in ("clamp", "refuse"):
        found = told.ranges(column, "cells", outside=outside, **ask)
        assert found.estimate.round().tolist() == counts
    beyond = engine({"x": [0, 5], "y": [0.0, 5.0]})
    with pytest.raises(DataError, match="1 row lies outside"):
        od.Session(beyond, policy=od.policy.unbounded(), budget=1000).ranges(
            column, "cells", outside="refuse", **ask
        )


def test_moves_to_the_upper_edge_of_the_last_of_equal_bins_are_priced():
    policy = od.policy.graph([(0, 6), (6, 7), (7, 2)])
    made = [BinEdges(tuple(map(Fraction, (0, 3, 6))), closed=closed) for closed in (True, False)]
    axes = [Axis.of("x", one, WHOLE) for one in made]
    found = [moves_between(policy, [one], clamped=False, partition=True) for one in axes]
    assert [pairs_of(moves) for moves in found] == [{(0, 1), (1, 0)}, set()]
    assert {tuple(border.cells.tolist()) for _, border in found[0].borders} == {(0, 1)}
    # A top edge that is no whole number is no value of theirs.
    odd = BinEdges((Fraction(0), Fraction(3), Fraction("11/2")), closed=True)
    assert not Axis.of("x", odd, WHOLE).closed


def test_rectangles_of_two_columns():
    x, y = [0.1, 0.4, 0.6, 0.9], [0.1, 0.6, 0.4, 0.9]
    asked = session(x, NEAR(radius=1), y=y)
    release = asked.ranges(
        ("x", "y"), [((0, "1/2"), (0, 1)), ((0, 1), ("1/2", 1)), (("1/2", 1), ("1/2", 1))],
        bins=(2, 2), bounds=((0, 1), (0, 1)), epsilon=40,
    )  # fmt: skip
    assert release.estimate.round().tolist() == [2, 2, 1]
    assert list(release.columns())[:4] == ["x_from", "x_to", "y_from", "y_to"]
    assert release.frame.height == 3


def test_answers_agree_have_the_variance_foretold_and_bounds_that_hold():
    """400 releases of 3 ranges; mean and variance within 5 standard errors."""
    counts = np.arange(1, 17)
    truth = np.array([36, 100, 136])
    asked = session(np.repeat(np.arange(16), counts).tolist(), NEAR(radius=1))
    release = asked.ranges(
        "x", [(0, 8), (8, 16), (0, 16)], bins=range(17), epsilon=1, confidence="0.9"
    )
    assert release.estimate[0] + release.estimate[1] == pytest.approx(release.estimate[2])
    noise, wide = NotPrivateSeededNoise(3), release.upper - release.estimate
    found = np.array([release.mechanism.release(counts, noise=noise).estimate for _ in range(400)])
    assert np.all(found[:, 2] == 136)
    assert wide[2] == release.variance[2] == 0
    off = (found.mean(axis=0) - truth)[:2] / np.sqrt(release.variance[:2] / 400)
    assert np.all(np.abs(off) < 5)
    spread = found.var(axis=0)[:2] / release.variance[:2]
    assert np.all(np.abs(spread - 1) < 5 * math.sqrt(5 / 400))
    assert np.all(np.mean(np.abs(found - truth) <= wide, axis=0) > 0.9)


_PEOPLE = pl.DataFrame(
    {"who": [1, 2, 3, 4, 5], "x": [0, 1, 1, 2, 3], "open": [True, False, True, True, False]}
)
_ALONE = _PEOPLE.select("x")
_STEPS_BOTH = [(0, 1), (1, 2), (2, 3)]
_WHOLE = {"bins": range(5), "epsilon": 1}


@pytest.mark.parametrize(
    ("frame", "policy", "unit", "more", "public"),
    [
        (_PEOPLE, od.policy.bounded(), None, {}, True),
        (_PEOPLE, od.policy.bounded(), "who", {}, True),
        (_PEOPLE, od.policy.sensitive("not open"), None, {}, True),
        (_PEOPLE, od.policy.sensitive("not open"), "who", {}, True),
        (_ALONE, NEAR(radius=1), None, {}, True),
        (_ALONE, od.policy.graph(_STEPS_BOTH), None, {}, True),
        # Another column may be the one that these are about, and x only follow from it.
        (_PEOPLE, NEAR(radius=1), None, {}, False),
        (_PEOPLE, od.policy.graph(_STEPS_BOTH), None, {}, False),
        (_ALONE, NEAR(radius=1, sources=[(0,)]), None, {}, False),
        (_ALONE, od.policy.graph([*_STEPS_BOTH, ("absent", 0)]), None, {}, False),
        (_PEOPLE, od.policy.unbounded(), None, {}, False),
        (_PEOPLE, od.policy.unbounded(), "who", {}, False),
        (_PEOPLE, od.policy.addition_only(), None, {}, False),
        (_PEOPLE, od.policy.removal_only(), None, {}, False),
        (_PEOPLE, od.policy.extended_sensitive("not open"), None, {}, False),
        (_PEOPLE, od.policy.presence(max_groups=2), "who", {}, False),
        # Whom a condition picks may change; a value may come to be missing.
        (_PEOPLE, od.policy.bounded(), None, {"where": "open"}, False),
        (_ALONE, NEAR(radius=1), None, {"where": "x > 0"}, False),
        (_PEOPLE, od.policy.bounded(), None, {"missing": "drop"}, False),
    ],
)
def test_the_number_of_all_is_told_exactly_where_no_move_changes_it(
    frame, policy, unit, more, public
):
    asked = od.Session(frame, unit=unit, policy=policy, budget=100, ledger=None)
    told = asked.ranges("x", [(0, 4), (0, 2)], non_negative=True, **_WHOLE, **more).frame
    sure = [(row["lower_certain"], row["upper_certain"]) for row in told.iter_rows(named=True)]
    assert (sure[0] == (True, True)) is public
    assert sure[1] != (True, True)
    if public:
        assert told.row(0, named=True)["estimate"] == 5
        assert told["lower"][0] == told["upper"][0] == 5
    assert ((told["lower"] <= told["estimate"]) & (told["estimate"] <= told["upper"])).all()


def test_a_unit_that_may_be_counted_nowhere_or_twice_makes_no_public_total():
    asked = od.Session(_PEOPLE, unit="who", policy=od.policy.bounded(), budget=100, ledger=None)
    told = asked.linear([[1, 1, 1, 1]], by="x", keys=[0, 1, 2, 3], epsilon=1).frame
    assert not told["lower_certain"][0]


def test_an_answer_of_before_public_totals_is_read_as_it_was(tmp_path):
    asked = {"bins": range(5), "epsilon": 1, "id": "r"}
    session = od.Session(
        _ALONE, policy=od.policy.bounded(), budget=9, ledger=str(tmp_path / "ledger.db")
    )
    first = session.ranges("x", [(0, 4), (0, 2)], **asked)
    free = first.mechanism.estimate(first.noisy)
    held = first.mechanism.estimate(first.noisy, np.array([5]))
    assert held.estimate.tolist() == first.estimate.tolist()
    assert free.totals is None
    assert free.variance[0] > 0 == held.variance[0]
    again = session.ranges("x", [(0, 4), (0, 2)], **asked, again=True)
    assert again.estimate.tolist() == first.estimate.tolist()


def test_upper_bounds_are_certain_where_noise_is_above_single_cells():
    policy = od.policy.addition_only()
    for seed in range(20):
        release = session([0, 1, 1, 3], policy, seed=seed).ranges(
            "x", "all", bins=range(5), epsilon=1, strategy="identity"
        )
        assert release.upper_certain
        assert not release.lower_certain
        assert np.all(release.upper >= [1, 2, 0, 1, 3, 2, 1, 3, 3, 4])
        other = session([0], policy, seed=seed).ranges(
            "x", "all", bins=range(5), epsilon=1, strategy="hierarchy 2"
        )
        assert not other.upper_certain


@pytest.mark.parametrize("way", [-np.inf, np.inf])
def test_certain_bounds_are_never_rounded_past_the_truth(way):
    sums = np.array([-1, 0, 2**53 - 1, 2**53 + 1, 2**53 + 2, 2**61 + 1, -(2**53) - 1])
    for exact, told in zip(sums.tolist(), _outward(sums, way).tolist(), strict=True):
        assert (Fraction(told) - exact) * way >= 0 or told == exact
        assert abs(exact) >= 2**53 or told == exact


def test_non_negative_answers_are_those_of_cells_of_at_least_zero():
    pytest.importorskip("scipy")
    asked = session([3] * 9, NEAR(radius=1))
    release = asked.ranges("x", "cells", bins=range(9), epsilon=1, non_negative=True)
    assert np.all(release.estimate >= 0)


def test_a_stored_answer_is_read_again_and_never_drawn_again():
    asked = session(range(10), NEAR(radius=1), budget=1)
    ask = {"bins": range(11), "epsilon": 1, "id": "first"}
    one = asked.ranges("x", "all", **ask)
    again = asked.ranges("x", "all", **ask, again=True)
    assert again.noisy.tolist() == one.noisy.tolist()
    assert again.frame.equals(one.frame)
    assert asked.remaining["point -> point nearby"] == 0
    for other in ({"strategy": "identity"}, {"bins": range(12)}, {"outside": "refuse"}):
        with pytest.raises(OnesidedError, match="another question"):
            asked.ranges("x", "all", **{**ask, **other})
    with pytest.raises(OnesidedError):
        asked.ranges("x", "all", bins=range(11), epsilon=1)


def test_a_plan_spends_nothing_and_names_the_others():
    asked = session(range(10), NEAR(radius=1))
    plan = asked.plan(RangeQuery("x", "all", bins=range(65), epsilon=1))
    text = str(plan)
    assert "fix has the least predicted error" in text
    assert "Linear, block prefix" in text
    assert "by cells in a range, 1:" in text
    assert plan.charge == {"point -> point nearby": 1}
    assert not any(asked.spent.values())
    wide = asked.plan(RangeQuery("x", "all", bins=range(65), epsilon=1, strategy="identity"))
    assert wide.standard_deviation > 3 * plan.standard_deviation


def test_assurance_grows_by_one_epsilon_for_every_move():
    asked = session(range(10), NEAR(radius=40))
    release = asked.ranges("x", "all", bins=range(0, 201, 20), epsilon="1/2")
    near, edge, far = release.assurance(1, 40, 81)
    assert (near.moves, edge.moves, far.moves) == (1, 1, 3)
    assert far.epsilon == Fraction(3, 2)
    assert far.odds == pytest.approx(math.exp(1.5))
    with pytest.raises(ParameterError):
        release.assurance(0)


def test_queries_over_named_groups_under_a_graph():
    policy = od.policy.graph([("a", "b"), ("b", "c"), ("d", "e")])
    asked = session([0] * 7, policy, place=list("aabccde"))
    release = asked.linear(
        [[1, 1, 1, 0, 0], [0, 0, 0, 1, 1]], by="place", keys=list("abcde"), epsilon=30
    )
    assert release.estimate.round().tolist() == [5, 2]
    assert any("2 groups of cells" in note for note in release.notes)
    part = asked.plan(LinearQuery([[1]], by="place", keys=["a"], epsilon=1))
    assert part.charge == {"value -> neighbour": 1}


def test_a_person_counts_in_one_cell():
    frame = pl.DataFrame({"who": [1, 1, 2], "x": [1, 5, 1]})
    asked = od.Session(frame, policy=NEAR(radius=1), unit="who", budget=1)
    with pytest.raises(OnesidedError, match="more than 1 bin"):
        asked.ranges("x", "all", bins=range(7), epsilon=1)
    presence = od.Session(frame, policy=od.policy.presence(max_groups=2), unit="who", budget=1)
    plan = presence.plan(RangeQuery("x", "all", bins=range(7), epsilon=1, strategy="identity"))
    assert plan.mechanism.upper_rate == Fraction(1, 2)


@pytest.mark.heavy
def test_a_row_on_its_own_is_in_one_cell_whatever_the_policy_covers():
    """Presence in two groups of a unit, where the unit is the row: one sum falls, by one."""
    policy = od.policy.presence(max_groups=2)
    world = Universe(groups=("0", "2"), units=2, max_groups=1)

    def program(data, noise):
        values = [int(place) for record in data for place in record.value]
        frame = pl.DataFrame({"x": values}, schema={"x": pl.Int64})
        asked = od.Session(frame, policy=policy, budget=2, noise=noise)
        release = asked.ranges("x", "cells", bins=[0, 2, 4], strategy="identity", epsilon=2)
        return tuple(release.noisy.tolist())

    report = verify.exact(program, policy, world, tail=1e-4, sealed=False)
    assert report.keeps(2)
    assert report.loss > 1.9
    asked = od.Session(pl.DataFrame({"x": [0, 2]}), policy=policy, budget=2)
    release = asked.linear([[1, 1]], by="x", keys=[0, 2], epsilon=2, strategy="identity")
    assert release.mechanism.upper_rate == 2


# Bad input


@pytest.mark.parametrize(
    "question",
    [
        {"ranges": [(0, 11)]},
        {"ranges": [(0, "1/2")]},
        {"ranges": [(5, 5)]},
        {"ranges": [(5, 2)]},
        {"ranges": [(0, float("nan"))]},
        {"ranges": [(0, 1, 2)]},
        {"ranges": []},
        {"ranges": "every"},
        {"ranges": 7},
        {"ranges": linear.all_ranges(4)},
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": float("inf")},
        {"bins": [0]},
        {"bins": [1, 0]},
        {"bins": 3},
        {"bins": range(2_000)},
        {"outside": "drop"},
        {"missing": "keep"},
        {"strategy": "magic"},
        {"strategy": [[1, 0]]},
        {"strategy": [[0] * 10]},
        {"confidence": 1},
        {"column": "nowhere"},
        {"column": ("x", "x")},
        {"column": ("x", "y", "x")},
        {"column": "word"},
    ],
)
def test_bad_questions_draw_and_charge_nothing(question):
    asked = session([1, 2, 3], NEAR(radius=1), y=[1, 2, 3], word=["a", "b", "c"])
    ask = {"column": "x", "ranges": [(0, 2)], "bins": range(11), "epsilon": 1, **question}
    with pytest.raises(OnesidedError):
        asked.ranges(ask.pop("column"), ask.pop("ranges"), **ask)
    assert not any(asked.spent.values())


@pytest.mark.parametrize("radius", [0, -1, float("nan"), float("inf"), True])
def test_bad_radii(radius):
    with pytest.raises(OnesidedError):
        NEAR(radius=radius)


@pytest.mark.parametrize(
    ("policy", "problem"),
    [
        (NEAR(radius=1, sources=[(0, 0)]), "coordinates"),
        (NEAR(radius=1, metric="grid"), "whole numbers"),
        (NEAR(radius=100, metric="haversine"), "latitude first"),
        (od.policy.graph([("a", "b")]), "graph over them"),
        (od.policy.graph([(1, 2)]), "whole numbers"),
    ],
)
def test_policies_that_cannot_place_the_cells(policy, problem):
    asked = session([0.5, 1.5], policy)
    with pytest.raises(PolicyError, match=problem):
        asked.ranges("x", "all", bins=[0, 1, 2], epsilon=1)


def test_places_on_the_globe_across_the_date_line_and_by_the_poles():
    policy = NEAR(radius=100_000, metric="haversine")
    frame = pl.DataFrame({"lat": [0.0, 60.0, 85.0], "lon": [179.9, 180.1, 10.0]})
    asked = od.Session(frame, policy=policy, budget=1)
    ask = {"bins": (6, 6), "outside": "refuse", "epsilon": 1}
    plan = asked.plan(RangeQuery(("lat", "lon"), "cells", bounds=((0, 90), (150, 210)), **ask))
    assert plan.affordable
    with pytest.raises(DataError, match="outside the bins of 'lon'"):
        asked.ranges(("lat", "lon"), "cells", bounds=((0, 90), (150, 210)), **ask)
    with pytest.raises(OnesidedError, match="latitude"):
        asked.ranges(("lat", "lon"), "cells", bounds=((0, 100), (150, 210)), **ask)
    # Near the pole all longitudes are near each other; at the equator only neighbours are.
    axes = [
        Axis.of("lat", BinEdges(tuple(map(Fraction, range(0, 91, 10)))), FLOAT),
        Axis.of("lon", BinEdges(tuple(map(Fraction, range(-180, 181, 30)))), FLOAT),
    ]
    pairs = pairs_of(moves_between(policy, axes, clamped=False, partition=True))
    rows = {
        row: {(i % 12, j % 12) for i, j in pairs if i // 12 == j // 12 == row} for row in (0, 8)
    }
    assert (0, 11) in rows[0]
    assert (0, 2) not in rows[0]
    assert len(rows[8]) == 12 * 11


# Versions that do not know 16 bits refuse such columns whole.
@pytest.mark.parametrize(
    "kind", [k for k in ("Float32", "Float16") if hasattr(pl, k) and hasattr(nw, k)]
)
def test_narrow_floats_are_compared_with_the_edges_themselves(kind):
    # Of 16 bits, 0.02998 and 100 are less than 100 apart, below 0.03 and below 100.03.
    frame = pl.DataFrame({"x": [0.02998, 100]}, schema={"x": getattr(pl, kind)})
    asked = od.Session(frame, policy=NEAR(radius=100), budget=1)
    for edges, cells in (([0, "0.03", "100.03", 200], [1, 1, 0]), ([0, 1, 10**39], [1, 1])):
        question = RangeQuery("x", "cells", bins=edges, epsilon=1)
        assert question.prepare(asked._context()).read().tolist() == cells
        assert asked.plan(question).affordable


def test_workloads_that_do_not_fit():
    policy = od.policy.graph([("a", "b")])
    asked = session([0], policy, place=["a"])
    for workload in ([[1, 1, 1]], [[0.5, 1]], [1, 1], [[2**40, 1]]):
        with pytest.raises(OnesidedError):
            asked.linear(workload, by="place", keys=["a", "b"], epsilon=1)
    with pytest.raises(OnesidedError):
        asked.linear([[1, 1]], by="place", keys=["c", "d"], epsilon=1)
    leaving = session([0], od.policy.graph([("a", "absent")]), place=["a"])
    with pytest.raises(PolicyError, match="not being there"):
        leaving.linear([[1, 1]], by="place", keys=["a", "absent"], epsilon=1)
    near = session([0], NEAR(radius=1, places={"a": (0,)}), place=["a"])
    with pytest.raises(PolicyError, match="does not know where"):
        near.linear([[1]], by="place", keys=["c"], epsilon=1)


def test_where_all_cells_are_joined_large_tables_do_not_go_through_all_pairs():
    # 70 x 70 cells: 24 million pairs for each of a dozen strategies of blocks.
    rows = pl.DataFrame({"x": [0, 1], "y": [1, 0]})
    session = od.Session(rows, policy=od.policy.bounded(), budget=1)
    edges = (list(range(71)),) * 2
    plan = session.plan(RangeQuery(("x", "y"), [((0, 9), (3, 70))], bins=edges, epsilon=1))
    names = [one.name for one in plan.options]
    assert "Linear, quadtree 4" in names
    assert not any("blocks" in name for name in names)


def test_bounds_are_whole_and_what_was_clamped_is_said_first():
    """The truth is a whole number, so that no bound need lie between two."""
    data = pl.DataFrame({"age": [-5, 7, 12, 40, 200]})
    own = od.Session(data, policy=od.policy.unbounded(), budget=100)
    told = own.ranges("age", "all", bins=[0, 20, 50, 100], epsilon=1)
    for side in (told.lower, told.upper):
        assert (side == side.round()).all()
    assert (told.lower <= told.estimate).all()
    assert (told.estimate <= told.upper).all()
    assert told.warnings[0].startswith("Values beyond the bins count in the nearest bin.")
    assert str(told).count("Values beyond the bins") == 1
