"""A distribution fitted to margins: what it says of itself is true, and it errs no more for it."""

from itertools import combinations, product

import numpy as np
import pytest

from onesided.linear._graph import eliminated
from onesided.linear.kit import MarginModel, cells_of


def margins_of(joint, chosen):
    axes = range(joint.ndim)
    return [
        np.transpose(
            joint.sum(axis=tuple(a for a in axes if a not in one)), np.argsort(np.argsort(one))
        )
        for one in chosen
    ]


def written_out(model):
    """Every combination's probability, from each column's distribution given the later ones."""
    joint = np.ones(model.sizes)
    for at in product(*map(range, model.sizes)):
        for one, given in zip(model.cliques, model._told, strict=True):
            joint[at] *= given[tuple(at[v] for v in one)]
    return joint


CASES = [
    ([2, 3], [(0, 1)]),
    ([3, 2, 2], [(0,), (1,), (2,), (1, 0), (1, 2)]),
    ([2, 3, 2, 2], [(0, 1), (1, 2), (2, 3), (3, 0)]),
    ([2, 2, 3, 2, 1], [(0,), (4,), (2, 1), (3, 1), (2, 3), (0, 4)]),
]


@pytest.mark.parametrize(("sizes", "chosen"), CASES)
@pytest.mark.parametrize("seed", range(3))
def test_margins_of_a_distribution_are_found_again_and_read_off_right(sizes, chosen, seed):
    joint = np.random.default_rng(seed).dirichlet(np.ones(np.prod(sizes)) * 3).reshape(sizes)
    asked = margins_of(joint, chosen)
    model = MarginModel(sizes, chosen, asked, [1.0] * len(chosen))
    whole = written_out(model)
    assert abs(whole.sum() - 1) < 1e-9
    for number, told in enumerate(margins_of(whole, chosen)):
        assert np.allclose(model.margin(number), told, atol=1e-9)
        assert np.abs(told - asked[number]).sum() / 2 < 0.01


def test_with_no_pairs_columns_are_independent_and_with_one_no_more_than_it_says():
    ones = [np.array([0.2, 0.8]), np.array([0.5, 0.3, 0.2])]
    model = MarginModel([2, 3], [(0,), (1,)], ones, [1.0, 1.0])
    assert np.allclose(written_out(model), np.outer(*ones), atol=1e-4)
    joint = np.random.default_rng(1).dirichlet(np.ones(12)).reshape(2, 3, 2)
    model = MarginModel([2, 3, 2], chosen := [(0, 1), (1, 2)], margins_of(joint, chosen), [1, 1])
    left, right = margins_of(joint, chosen)
    due = left[:, :, None] * right[None] / right.sum(axis=1)[None, :, None]
    assert np.abs(written_out(model) - due).sum() / 2 < 0.02  # of most entropy on a tree


@pytest.mark.parametrize("seed", range(5))
def test_margins_that_do_not_fit_each_other_or_lie_below_0_are_drawn_together(seed):
    rng, sizes = np.random.default_rng(seed), [3, 4, 2]
    chosen = [*((v,) for v in range(3)), *combinations(range(3), 2)]
    joint = rng.dirichlet(np.ones(24)).reshape(sizes)
    true = margins_of(joint, chosen)
    asked = [one + rng.normal(0, 0.1, one.shape) for one in true]
    model = MarginModel(sizes, chosen, asked, [1.0] * len(chosen))
    found = [model.margin(number) for number in range(len(chosen))]
    assert all((one >= 0).all() and abs(one.sum() - 1) < 1e-9 for one in found)
    off, was = (
        sum(float(np.square(one - due).sum()) for one, due in zip(some, true, strict=True))
        for some in (found, asked)
    )
    assert off < was
    again = MarginModel(sizes, chosen, asked, [1.0] * len(chosen))
    assert all(np.array_equal(model.margin(n), again.margin(n)) for n in range(len(chosen)))


@pytest.mark.parametrize(("sizes", "chosen"), CASES)
def test_rows_have_the_margins(sizes, chosen):
    joint = np.random.default_rng(7).dirichlet(np.ones(np.prod(sizes))).reshape(sizes)
    model = MarginModel(sizes, chosen, margins_of(joint, chosen), [1.0] * len(chosen))
    rows = model.rows(5000, np.random.default_rng(2))
    assert rows.shape == (5000, len(sizes))
    for number, one in enumerate(chosen):
        cells = np.zeros([sizes[v] for v in one])
        np.add.at(cells, tuple(rows[:, v] for v in one), 1 / 5000)
        assert np.abs(cells - model.margin(number)).sum() / 2 < 0.02


def test_cliques_hold_every_margin_and_are_counted():
    sizes = [2, 3, 4, 5]
    chosen = [(0, 1), (1, 2), (2, 3), (3, 0)]
    cliques = eliminated(sizes, chosen)
    assert sorted(one[0] for one in cliques) == [0, 1, 2, 3]
    assert all(any(set(pair) <= set(one) for one in cliques) for pair in chosen)
    each = [np.prod([sizes[v] for v in one]) for one in cliques]
    assert cells_of(sizes, chosen) == (max(each), sum(each))
    assert cells_of(sizes, []) == (5, 14)
