import sys

import numpy as np
import pytest

from onesided import errors, linear, policy
from onesided.linear._solve import check_spans, conjugate_gradients, influences

LINE = policy.neighbourhood(radius="0.25", sources=[(0,)])
QUARTERS = linear.Grid(4, origin="0.25", spacing="0.25")


def line_shifts(strategy):
    return linear.strategy_shifts(strategy, linear.moves_of(LINE, QUARTERS))


def test_tables_1_to_3_of_the_paper_and_their_last_column_put_right():
    """delta-neighbourhood, section 5.1.

    Table 3 says 4, 4, 4, 2 for Table 2. Ranges that end at the last cell need one noisy sum only,
    so that they too have variance 2: the means are 3.5, 10/3, 3, 2, and the sum over all ten
    ranges is 32, not the 38 of the printed table.
    """
    direct, nested = linear.Identity(4), linear.Suffix(4)
    assert linear.sensitivity(line_shifts(direct)) == 2
    assert linear.sensitivity(line_shifts(nested)) == 1
    for strategy, scale, printed, exact in (
        (direct, 2, (8, 16, 24, 32), (8, 16, 24, 32)),
        (nested, 1, (4, 4, 4, 2), (3.5, 10 / 3, 3, 2)),
    ):
        errors_ = linear.by_length(strategy)
        assert errors_.queries.tolist() == [4, 3, 2, 1]
        assert np.allclose(errors_.factor * linear.laplace_variance(scale), exact)
        asked = linear.all_ranges(4)
        each = linear.error_factors(strategy, asked) * linear.laplace_variance(scale)
        worst = [each[asked.lengths == length].max() for length in (1, 2, 3, 4)]
        assert np.allclose(worst, printed)
    spread = linear.laplace_variance(1)
    assert linear.expected_error(nested, linear.all_ranges(4), spread) == 32
    standard = linear.moves_of(policy.graph([(a, b) for a in range(4) for b in range(a)]), 4)
    assert linear.sensitivity(linear.strategy_shifts(nested, standard)) == 3


@pytest.mark.parametrize(
    "strategy",
    [
        linear.Identity(6),
        linear.Prefix(6),
        linear.Suffix(6),
        linear.Hierarchy(6),
        linear.staggered(6),
        linear.Tents(6),
        linear.block_prefix(6, 2),
        linear.Dense(np.vstack([np.eye(6, dtype=int), np.ones((1, 6), dtype=int)])),
    ],
    ids=lambda one: type(one).__name__,
)
def test_errors_on_a_line_are_those_of_equation_5(strategy):
    matrix, asked = strategy.dense(), linear.all_ranges(6)
    rows = asked.dense()
    exact = np.diag(rows @ np.linalg.inv(matrix.T @ matrix) @ rows.T)
    assert np.allclose(linear.error_factors(strategy, asked), exact)
    assert np.allclose(linear.error_factors(strategy, linear.Dense(rows)), exact)
    assert linear.expected_error(strategy, asked, 2.0) == pytest.approx(2 * exact.sum())
    weights = np.arange(21)
    weighted = linear.expected_error(strategy, asked, 1.0, weights)
    assert weighted == pytest.approx(exact @ weights)
    table = linear.by_length(strategy)
    means = [exact[asked.lengths == length].mean() for length in table.length]
    assert np.allclose(table.factor, means)


@pytest.mark.parametrize(
    "strategy",
    [
        linear.summed_area((4, 6)),
        linear.row_prefix((4, 6)),
        linear.kron(linear.Haar(4), linear.Hierarchy(6)),
        linear.Quadtree((4, 6)),
        linear.staggered((4, 6)),
        linear.kron(linear.Tents(4), linear.Tents(6)),
        linear.grid_blocks((4, 6), 2),
        linear.Identity(24),
    ],
    ids=lambda one: type(one).__name__,
)
def test_errors_on_a_plane_are_those_of_equation_5(strategy):
    matrix = strategy.dense()
    for asked in (
        linear.sampled_ranges((4, 6), 30),
        linear.marginals((4, 6), {0}),
        linear.marginals((2, 2, 6), {0, 2}),
    ):
        rows = asked.dense()
        exact = np.diag(rows @ np.linalg.inv(matrix.T @ matrix) @ rows.T)
        assert np.allclose(linear.error_factors(strategy, asked), exact)


def test_a_strategy_that_does_not_span_the_workload_is_refused():
    pairs = linear.Bins(6, 2)
    check_spans(pairs, linear.Ranges(6, [0, 2], [4, 6]))
    check_spans(linear.staggered(6, cells=False), linear.all_ranges(6))
    for strategy, asked in (
        (pairs, linear.all_ranges(6)),
        (pairs, linear.Ranges(6, [0, 1], [2, 3])),
        (linear.staggered((4, 6), cells=False), linear.sampled_ranges((4, 6), 30)),
        (linear.Bins(2_000, 2), linear.Identity(2_000)),
    ):
        with pytest.raises(errors.ParameterError, match="span") as caught:
            check_spans(strategy, asked)
        assert "Stack" in caught.value.hint
    with pytest.raises(errors.ParameterError, match="cannot answer"):
        check_spans(linear.Prefix(5), linear.Identity(6))


def test_large_strategies_without_a_closed_form_agree_with_those_written_out(monkeypatch):
    monkeypatch.setattr("onesided.linear._solve._SMALL", 20)
    strategy, draw = linear.staggered(110), np.random.default_rng(2)
    matrix = strategy.dense().astype(float)
    noisy = draw.normal(size=matrix.shape[0])
    exact = np.linalg.lstsq(matrix, noisy, rcond=None)[0]
    assert np.allclose(linear.least_squares(strategy, noisy), exact, atol=1e-8)
    query = np.zeros((110, 1))
    query[30:90] = 1
    gram = np.linalg.inv(matrix.T @ matrix)
    assert np.allclose(influences(strategy, query), gram @ query, atol=1e-8)


@pytest.mark.parametrize("n", [6, 8])
@pytest.mark.parametrize("make", [linear.Prefix, linear.Suffix, linear.Identity, linear.Hierarchy])
def test_cells_of_at_least_0_fit_best(make, n):
    from scipy.optimize import lsq_linear

    strategy, draw = make(n), np.random.default_rng(n)
    matrix = strategy.dense().astype(float)
    for _ in range(10):
        noisy = draw.normal(scale=4, size=matrix.shape[0])
        cells = linear.non_negative(strategy, noisy)
        assert (cells >= 0).all()
        best = lsq_linear(matrix, noisy, bounds=(0, np.inf), tol=1e-13).x
        gap = np.linalg.norm(matrix @ cells - noisy) - np.linalg.norm(matrix @ best - noisy)
        assert gap < 1e-6


def test_large_strategies_are_fitted_from_below_by_descent(monkeypatch):
    monkeypatch.setattr("onesided.linear._solve._MOST_INSIDE", 20)
    strategy, draw = linear.Hierarchy(150, 4), np.random.default_rng(3)
    truth = draw.poisson(0.3, 150)
    noisy = strategy @ truth + draw.laplace(scale=2, size=strategy.shape[0])
    cells = linear.non_negative(strategy, noisy)
    free = linear.least_squares(strategy, noisy)
    assert (cells >= 0).all()
    assert np.linalg.norm(strategy @ cells - noisy) >= np.linalg.norm(strategy @ free - noisy)
    slope = strategy.T @ (strategy @ cells - noisy)
    assert np.abs(np.where(cells > 0, slope, np.minimum(slope, 0))).max() < 1e-2
    assert np.linalg.norm(cells - truth) < np.linalg.norm(free - truth)


def test_optimised_strategies_are_whole_and_never_worse_than_their_start():
    for shape, radius in (((8,), 2), ((3, 3), 1)):
        moves = linear.moves_of(policy.neighbourhood(radius=radius), linear.Grid(shape))
        asked = linear.sampled_ranges(shape, 60)

        def cost(strategy, moves=moves, asked=asked):
            size = linear.sensitivity(linear.strategy_shifts(strategy, moves))
            return size**2 * linear.expected_error(strategy, asked, 1.0)

        for start in (linear.Identity(moves.cells), linear.Prefix(moves.cells)):
            found = linear.optimised(moves, asked, start=start, rounds=30)
            assert found.dense().dtype == np.int64
            assert cost(found) <= cost(start) * (1 + 1e-9)
        assert cost(
            linear.optimised(moves, asked, start=linear.Identity(moves.cells), rounds=30)
        ) < cost(linear.Identity(moves.cells))
    with pytest.raises(errors.ParameterError, match="negative"):
        linear.optimised(moves, asked, start=linear.Dense(-np.eye(9, dtype=int)))


def test_a_tree_turns_into_counts_that_a_move_changes_by_one():
    around = policy.graph([("a", "b"), ("b", "c"), ("b", "d"), ("absent", "d")])
    names = ["a", "b", "c", "d"]
    edges = linear.edge_counts(around, names)
    moves = linear.moves_of(around, names)
    assert linear.sensitivity(linear.strategy_shifts(edges, moves)) == 1
    counts = np.array([5, 0, 7, 2])
    assert np.array_equal(edges.solve(edges @ counts), counts)
    with pytest.raises(errors.PolicyError, match="circle"):
        linear.edge_counts(policy.graph([(0, 1), (1, 2), (2, 0)]), 3)
    with pytest.raises(errors.PolicyError, match="circle"):
        linear.edge_counts(policy.graph([(0, 1), ("absent", 0), ("absent", 1)]), 2)


def test_a_directed_tree_only_falls_whichever_way_its_edges_point():
    mixed = policy.graph([(1, 0), (1, 2), (3, 2), ("absent", 0)], directed=True)
    shifts = linear.strategy_shifts(linear.edge_counts(mixed, 4), linear.moves_of(mixed, 4))
    assert {(s.rise, s.fall) for some in shifts.values() for s in some} == {(0, 1)}


def test_sampled_queries_are_public_and_the_same_every_time():
    one, two = (linear.sampled_ranges((5, 7), 40, seed=3) for _ in range(2))
    assert np.array_equal(one.lows, two.lows)
    assert np.array_equal(one.highs, two.highs)
    assert (one.lengths >= 1).all()


def test_too_much_work_is_refused_before_it_is_begun():
    with pytest.raises(errors.ParameterError, match="too much"):
        linear.error_factors(linear.Hierarchy(10**6), linear.sampled_ranges(10**6, 10**4))
    with pytest.raises(errors.ParameterError, match="too many ranges"):
        linear.by_length(linear.Prefix(10**4))


def test_large_strategies_that_determine_all_cells_need_no_scipy(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.sparse.linalg", None)
    strategy = linear.staggered((40, 40))
    cells = np.random.default_rng(1).integers(0, 9, 1_600)
    assert linear.least_squares(strategy, strategy.apply(cells)) == pytest.approx(cells, abs=1e-5)


def test_conjugate_gradients_say_when_they_lead_nowhere():
    flat = np.diag([1.0, 0.0])
    assert conjugate_gradients(lambda x: flat @ x, np.array([1.0, 1.0]), close=1e-10) is None
    found = conjugate_gradients(lambda x: 2 * x, np.array([1.0, 4.0]), close=1e-10)
    assert found.tolist() == [0.5, 2]
    nothing = conjugate_gradients(lambda x: x, np.zeros(2), close=1e-10)
    assert nothing.tolist() == [0, 0]


def test_no_errors_are_predicted_for_queries_that_cannot_be_answered():
    """The pseudo-inverse gives numbers there too, and too small ones."""
    pairs, asked = linear.Bins(4, 2), linear.Prefix(4)
    for predict in (
        lambda: linear.error_factors(pairs, asked),
        lambda: linear.expected_error(pairs, asked, 1.0),
        lambda: linear.by_length(pairs),
    ):
        with pytest.raises(errors.ParameterError, match="does not span"):
            predict()
    assert linear.error_factors(pairs, linear.Bins(4, 4)).tolist() == pytest.approx([2])


BAD_SHAPES = {
    "another grid": lambda: linear.error_factors(linear.Prefix(3), linear.all_ranges(4)),
    "too few answers": lambda: linear.least_squares(linear.Prefix(3), [1, 2]),
    "too few answers of no sign": lambda: linear.non_negative(linear.Identity(3), [1, 2]),
    "a weight too few": lambda: linear.expected_error(*[linear.Prefix(3)] * 2, 1.0, [1, 0]),
    "no query": lambda: linear.sampled_ranges(4, 0),
    "less than no query": lambda: linear.sampled_ranges(4, -1),
    "no factor": linear.kron,
    "three axes": lambda: linear.summed_area((2, 2, 2)),
}


@pytest.mark.parametrize("make", BAD_SHAPES.values(), ids=BAD_SHAPES)
def test_shapes_that_do_not_fit_are_refused_with_a_hint(make):
    with pytest.raises(errors.ParameterError) as caught:
        make()
    assert caught.value.hint


def test_parents_must_be_cells_and_a_line_is_one_row():
    with pytest.raises(errors.PolicyError, match="parent of cell 0 is 9"):
        linear.EdgeCounts(np.array([9, -1]))
    counts = np.arange(5)
    for of_a_grid in (linear.row_prefix, linear.summed_area):
        assert (of_a_grid(5) @ counts).tolist() == [0, 1, 3, 6, 10]
