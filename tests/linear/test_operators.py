import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onesided import errors, linear
from onesided.linear._operator import change

SMALL = [
    linear.Identity(5),
    linear.Prefix(5),
    linear.Suffix(5),
    linear.Bins(7, 3, offset=1),
    linear.Haar(1),
    linear.Haar(8),
    linear.Hierarchy(1),
    linear.Hierarchy(7),
    linear.Hierarchy(9, 3),
    linear.Quadtree((5, 7)),
    linear.Quadtree((4, 4), 3),
    linear.block_prefix(7, 3),
    linear.grid_blocks((5, 6), 2),
    linear.grid_blocks((5, 6), 2, "quadtree"),
    linear.Tents(2),
    linear.Tents(9),
    linear.Tents(10, 4),
    linear.kron(linear.Tents(4), linear.Tents(5, 2)),
    linear.kron(linear.Stack([linear.Tents(3), linear.Identity(3)], [2, 1]), linear.Haar(4)),
    linear.Relabelled(linear.Tents(4, 2), np.array([0, 1, 1, 3, 2])),
    linear.Blocks(linear.Tents(3), np.array([0, 0, 1, 2])),
    linear.staggered(9),
    linear.staggered(8, cells=False),
    linear.staggered((5, 6)),
    linear.row_prefix((3, 4)),
    linear.summed_area((3, 4)),
    linear.kron(linear.Haar(4), linear.Hierarchy(3)),
    linear.kron(linear.Prefix(3), linear.Haar(4)),
    linear.kron(linear.Haar(2), linear.Haar(4)),
    linear.kron(linear.Hierarchy(4), linear.Hierarchy(5)),
    linear.kron(linear.Dense([[1, 2], [0, 3]]), linear.Identity(3)),
    linear.kron(linear.Stack([linear.Haar(2), linear.Identity(2)], [2, 1]), linear.Haar(4)),
    linear.Stack([linear.Haar(4), linear.Identity(4)], [1, 3]),
    linear.Relabelled(linear.Haar(4), np.array([0, 1, 1, 3, 2])),
    linear.Dense([[1, 2], [0, 3]]) @ linear.Bins(4, 2),
    linear.Dense([[1, -2], [0, 3]]) + linear.Identity(2),
    linear.Haar(4).T,
    linear.EdgeCounts(np.array([-1, 0, 0, 1, 1, 2, -1])),
    linear.EdgeCounts(np.array([-1, 0, 1, 1]), np.array([1, -1, 1, -1])),
    linear.all_ranges(5),
    linear.sampled_ranges((4, 5), 20),
    linear.sampled_ranges((2, 3, 4), 9),
    linear.marginals((2, 3, 4), {0, 2}),
]


@pytest.fixture(params=SMALL, ids=lambda one: f"{type(one).__name__}{one.shape}")
def operator(request):
    return request.param


def test_products_are_those_of_the_matrix_written_out(operator):
    matrix, draw = operator.dense(), np.random.default_rng(0)
    rows, columns = operator.shape
    assert matrix.shape == (rows, columns)
    assert matrix.dtype == np.int64
    assert np.abs(matrix).max() <= operator.largest
    for tail in ((), (1,), (3,)):
        values = draw.integers(-5, 9, (columns, *tail))
        assert np.array_equal(operator @ values, matrix @ values)
        values = draw.integers(-5, 9, (rows, *tail))
        assert np.array_equal(operator.T @ values, matrix.T @ values)
        assert np.array_equal(operator.T.T @ operator.adjoint(values), matrix @ matrix.T @ values)


def test_whether_an_entry_is_below_zero_is_read_off_the_entries(operator):
    assert operator.is_non_negative == bool(operator.dense().min() >= 0)
    assert linear.Operator.is_non_negative.fget(operator) == operator.is_non_negative
    assert linear.Operator.largest.fget(operator) == np.abs(operator.dense()).max()


def _named(name, parent, matrix):
    class Own(parent):
        shape = matrix.shape

        def __init__(self):
            """Nothing is known but the products."""

        def apply(self, values):
            return matrix @ values

        def adjoint(self, values):
            return matrix.T @ values

    Own.__name__ = Own.__qualname__ = name
    return Own()


@pytest.mark.parametrize("name", ["Identity", "Prefix", "Sum", "Bins", "Custom"])
@pytest.mark.parametrize("weights", [[1, 1], [1, -1], [0, 7]])
def test_neither_a_name_nor_a_parent_vouches_for_entries(name, weights):
    for parent in (linear.Operator, linear.Bins, linear.Identity):
        own = _named(name, parent, np.array([weights]))
        assert own.is_non_negative == (min(weights) >= 0)
        assert own.largest == max(map(abs, weights))
        x, y = np.array([0]), np.array([1])
        rise, fall = change(own, x, y)  # the parent's formula is not that of other entries
        assert (rise[0] - fall[0]) == weights[1] - weights[0]
        assert (linear.kron(own, linear.Identity(2)).is_non_negative) == own.is_non_negative


def test_what_is_too_large_to_look_at_is_not_called_certain():
    class Vast(linear.Operator):
        shape = (2**14, 2**14)

        def apply(self, values):
            return values

        adjoint = apply

    assert not Vast().is_non_negative
    with pytest.raises(errors.ParameterError, match="largest"):
        _ = Vast().largest


def test_changes_between_columns_are_exact_rises_and_falls_apart(operator):
    matrix, cells = operator.dense(), operator.shape[1]
    x, y = np.repeat(np.arange(cells), cells), np.tile(np.arange(cells), cells)
    rise, fall = change(operator, x, y)
    step = matrix[:, y] - matrix[:, x]
    assert np.array_equal(rise, np.maximum(step, 0).sum(axis=0))
    assert np.array_equal(fall, np.maximum(-step, 0).sum(axis=0))


def test_closed_forms_are_the_pseudo_inverse(operator):
    if not operator.solvable:
        assert operator.gram_solve(np.zeros(operator.shape[1])) is None
        return
    matrix, draw = operator.dense(), np.random.default_rng(1)
    assert operator.determined
    for tail in ((), (3,)):
        noisy = draw.normal(size=(matrix.shape[0], *tail))
        assert np.allclose(operator.solve(noisy), np.linalg.pinv(matrix) @ noisy)
        values = draw.normal(size=(matrix.shape[1], *tail))
        gram = np.linalg.inv(matrix.T @ matrix)
        assert np.allclose(operator.gram_solve(values), gram @ values)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.sampled_from(range(6)), min_size=1, max_size=3),
    st.lists(st.integers(0, 2**40), min_size=64, max_size=64),
)
def test_products_stay_exact_for_large_counts(picks, counts):
    makers = (linear.Identity, linear.Prefix, linear.Suffix, linear.Hierarchy, linear.Haar)
    parts = [(*makers, lambda n: linear.Bins(n, 3))[pick](4) for pick in picks]
    operator = linear.kron(*parts)
    values = counts[: operator.shape[1]]
    exact = [sum(int(a) * b for a, b in zip(row, values, strict=True)) for row in operator.dense()]
    assert (operator @ np.array(values)).tolist() == exact


def test_monotone_strategies_are_told_by_their_farthest_pairs_alone():
    """Every operator that says it is monotone gives the same shifts when all pairs are seen."""
    from onesided import policy

    class Slow(linear.Operator):
        def __init__(self, inner):
            self.inner = inner

        shape = property(lambda self: self.inner.shape)
        apply = property(lambda self: self.inner.apply)
        adjoint = property(lambda self: self.inner.adjoint)
        meets = property(lambda self: self.inner.meets)

    seen = 0
    for radius in ("1", "2.3", "9"):
        for grid, makers in (
            ((9,), (linear.Identity, linear.Prefix, linear.Suffix, linear.Hierarchy)),
            ((9,), (lambda n: linear.Hierarchy(n, 3), linear.staggered)),
            ((9,), (linear.Tents, lambda n: linear.Tents(n, 4))),
            ((9,), (lambda n: linear.block_prefix(n, 2), lambda n: linear.Bins(n, 4))),
            ((5, 6), (linear.Quadtree, linear.staggered)),
            ((5, 6), (lambda s: linear.kron(*map(linear.Hierarchy, s)),)),
        ):
            for metric in ("euclidean", "grid"):
                near = policy.neighbourhood(radius=radius, metric=metric)
                moves = linear.moves_of(near, linear.Grid(grid))
                for make in makers:
                    operator = make(grid[0] if len(grid) == 1 else grid)
                    assert operator.monotone_on(linear.Grid(grid).plane)
                    all_pairs = linear.strategy_shifts(Slow(operator), moves)
                    assert linear.strategy_shifts(operator, moves) == all_pairs
                    seen += 1
    assert seen == 78


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: linear.Haar(6), "power of two"),
        (lambda: linear.Identity(0), "cells"),
        (lambda: linear.Prefix(-1), "cells"),
        (lambda: linear.Hierarchy(5, 1), "branching"),
        (lambda: linear.Bins(4, 0), "width"),
        (lambda: linear.Tents(1), "cells"),
        (lambda: linear.Tents(1025), "cells"),
        (lambda: linear.Tents(4, 4), "tents"),
        (lambda: linear.Tents(4, 0), "tents"),
        (lambda: linear.Tents(4, float("nan")), "tents"),
        (lambda: linear.Bins(4, 2, offset=2), "offset"),
        (lambda: linear.Dense([[0.5]]), "whole numbers"),
        (lambda: linear.Dense([[float("nan")]]), "whole numbers"),
        (lambda: linear.Dense([1, 2]), "two-dimensional"),
        (lambda: linear.Dense([[2**40]]), "2\\^31"),
        (lambda: linear.Stack([linear.Identity(2), linear.Identity(3)]), "stack"),
        (lambda: linear.Stack([linear.Identity(2)], [0]), "weight"),
        (lambda: linear.Stack([]), "stack"),
        (lambda: linear.Identity(2) @ linear.Identity(3), "product"),
        (lambda: linear.Identity(2) + linear.Identity(3), "sum"),
        (lambda: linear.Relabelled(linear.Identity(2), np.array([2])), "Labels"),
        (lambda: linear.grid_blocks((4, 4), 2, "none"), "coarse"),
        (lambda: linear.Identity(10**5).dense(), "too large"),
        (lambda: linear.Ranges(4, [2], [2]), "empty"),
        (lambda: linear.Ranges(4, [3], [2]), "query 0"),
        (lambda: linear.Ranges(4, [0, -1], [4, 2]), "query 1"),
        (lambda: linear.Ranges((4, 4), [[0, 0]], [[4, 5]]), "does not lie"),
        (lambda: linear.Ranges(4, [0, 1], [2]), "no ranges"),
        (lambda: linear.Ranges(4, [0.0], [2.0]), "whole numbers"),
        (lambda: linear.Ranges((4, 4), [0], [2]), "shape"),
        (lambda: linear.all_ranges(10**5), "too many"),
        (lambda: linear.marginals((2, 2), {2}), "axes"),
        (lambda: linear.EdgeCounts(np.array([1, 0])), "circle"),
        (lambda: linear.EdgeCounts(np.array([-2, 0])), "parent of cell 0 is -2"),
        (lambda: linear.EdgeCounts(np.array([-1, 0.5])), "whole numbers"),
        (lambda: linear.EdgeCounts(np.array([-1, 0]), np.array([1, 1000])), "1 or -1"),
        (lambda: linear.EdgeCounts(np.array([-1, 0]), np.array([1, 0])), "1 or -1"),
        (lambda: linear.EdgeCounts(np.array([-1, 0]), np.array([1, 0.5])), "whole numbers"),
        (lambda: linear.EdgeCounts(np.array([-1, 0]), np.array([1])), "as many signs"),
        (lambda: linear.Relabelled(linear.Identity(2), np.array([0, 1.5])), "whole numbers"),
    ],
)
def test_bad_operators_are_refused(make, words):
    with pytest.raises((errors.ParameterError, errors.PolicyError), match=words) as caught:
        make()
    assert caught.value.hint


@pytest.mark.parametrize("values", [np.zeros(4), np.zeros((3, 2)), np.zeros((5, 2, 2)), 3])
def test_values_of_the_wrong_shape_are_refused(values):
    with pytest.raises(errors.DataError, match="does not fit"):
        linear.Prefix(5) @ values


def composed(draw, cells, depth):
    """Some operator over ``cells`` cells, made of others."""
    leaves = (
        linear.Identity(cells), linear.Prefix(cells), linear.Hierarchy(cells, 3),
        linear.Bins(cells, 3, offset=1), linear.staggered(cells),
        linear.Tents(cells) if cells > 1 else linear.Prefix(1),
        linear.Dense(draw.integers(-2, 3, (3, cells))),
        linear.EdgeCounts(np.arange(-1, cells - 1) // 2, draw.choice([-1, 1], cells)),
    )  # fmt: skip
    kind = int(draw.integers(5)) if depth else -1
    if kind == 0 and cells % 2 == 0:
        parts = (composed(draw, cells // 2, depth - 1), composed(draw, 2, depth - 1))
        return linear.kron(*(parts if draw.random() < 0.5 else parts[::-1]))
    if kind == 1:
        parts = [composed(draw, cells, depth - 1) for _ in range(2)]
        return linear.Stack(parts, draw.integers(1, 4, 2).tolist())
    if kind == 2:
        return linear.Relabelled(composed(draw, 6, depth - 1), draw.integers(0, 6, cells))
    if kind == 3:
        return linear.Blocks(composed(draw, 4, depth - 1), np.sort(draw.integers(0, 4, cells)))
    if kind == 4:
        part = composed(draw, cells, depth - 1)
        return part.T @ part
    return leaves[int(draw.integers(len(leaves)))]


def grows(table, row, column):
    """Whether entries never shrink away from this one, along either axis."""
    down, right = np.diff(table, axis=0), np.diff(table, axis=1)
    return (
        np.all(down[row:] >= 0) and np.all(down[:row] <= 0)
        and np.all(right[:, column:] >= 0) and np.all(right[:, :column] <= 0)
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(60))
def test_whatever_operators_are_made_of_columns_differ_as_they_are_written_out(seed):
    draw = np.random.default_rng(seed)
    cells = int(draw.choice([4, 8, 12]))
    operator = composed(draw, cells, 3)
    full = np.stack([operator.apply(cell) for cell in np.eye(cells, dtype=np.int64)], axis=1)
    assert np.array_equal(operator.adjoint(np.eye(len(full), dtype=np.int64)), full.T)
    assert np.abs(full).max() <= operator.largest
    x, y = (place.ravel() for place in np.meshgrid(np.arange(cells), np.arange(cells)))
    step = full[:, y] - full[:, x]
    truth = [np.maximum(way * step, 0).sum(axis=0) for way in (1, -1)]
    assert np.array_equal(change(operator, x, y), truth)
    for rows in (1, 2, 4, cells):
        plane = (rows, cells // rows)
        if operator.monotone_on(plane):
            for one in range(cells):
                for way in truth:
                    table = way.reshape(cells, cells)[:, one].reshape(plane)
                    assert grows(table, *divmod(one, plane[1]))
