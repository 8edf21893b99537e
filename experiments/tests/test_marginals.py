"""Trees of marginals: what is learnt, what it costs, and what the model says."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import onesided as od
from onesided import errors, verify
from onesided.mechanism import Counts
from onesided.noise import NotPrivateSeededNoise
from onesided.policy import GroupCount, Shift
from onesided_experiments.marginals import Marginals, TreeModel, _strongest_tree

EXACT = Counts(od.INFINITE, od.INFINITE)
BOUNDED = od.policy.bounded()
POLICIES = [
    BOUNDED,
    od.policy.unbounded(),
    od.policy.addition_only(),
    od.policy.removal_only(),
    od.policy.sensitive("private"),
]
SIZES = (3, 2, 4, 2, 3)
TREE = ((0, 1), (1, 2), (1, 3), (3, 4))


def test_names_of_the_library_are_found_here():
    assert od.mechanism.Marginals is Marginals
    assert od.mechanism.TreeModel is TreeModel


def people(records=20_000, seed=0):
    """Records whose attributes depend on each other along TREE."""
    random = np.random.default_rng(seed)
    codes = np.zeros((records, len(SIZES)), dtype=np.int64)
    codes[:, 0] = random.integers(SIZES[0], size=records)
    for parent, child in TREE:
        kept = random.random(records) < 0.7
        follow = (codes[:, parent] * 5 + 1) % SIZES[child]
        codes[:, child] = np.where(kept, follow, random.integers(SIZES[child], size=records))
    return codes


def counted(codes, attributes):
    found = np.zeros([SIZES[one] for one in attributes], dtype=np.int64)
    np.add.at(found, tuple(codes[:, list(attributes)].T), 1)
    return found


def test_without_noise_the_tree_and_its_pairs_come_back():
    codes = people()
    model = Marginals(SIZES, EXACT, EXACT).release(codes)
    assert {tuple(sorted(edge)) for edge in model.edges} == set(TREE)
    for edge, table in zip(model.edges, model.tables, strict=True):
        assert table.tolist() == counted(codes, edge).tolist()
        assert model.marginal(edge) == pytest.approx(counted(codes, edge))
    assert model.total == len(codes)


def test_a_table_that_is_a_tree_is_estimated_whole():
    """Each attribute an exact function of shares along the tree: a product of small tables."""
    first, second, third = np.array([1, 2]), np.array([[1, 3], [2, 2]]), np.array([[4, 1], [1, 4]])
    cells = np.einsum("a,ab,bc->abc", first, second, third)
    model = Marginals((2, 2, 2), EXACT, EXACT).release(cells.ravel())
    assert model.marginal([0, 1, 2]) == pytest.approx(cells)
    assert model.marginal([2, 0]) == pytest.approx(cells.sum(axis=1).T)


def test_codes_and_cells_say_the_same():
    codes = people(500)
    cells = np.ravel_multi_index(codes.T, SIZES)
    flat = np.bincount(cells, minlength=math.prod(SIZES))
    one, two = (
        Marginals(SIZES, Counts(1, 1), Counts(1, 1)).release(v, noise=NotPrivateSeededNoise(2))
        for v in (codes, flat)
    )
    assert one.edges == two.edges
    assert all((a == b).all() for a, b in zip(one.tables, two.tables, strict=True))


@given(st.integers(2, 6), st.integers(0, 10**6))
def test_the_tree_is_the_strongest_of_all(many, seed):
    strengths = np.random.default_rng(seed).integers(-9, 99, (many, many)).astype(float)
    strengths = strengths + strengths.T
    edges = _strongest_tree(strengths)
    best = max(
        sum(strengths[edge] for edge in tree)
        for tree in combinations(combinations(range(many), 2), many - 1)
        if spans(tree, many)
    )
    assert sum(strengths[edge] for edge in edges) == best
    reached = {0}
    for parent, child in edges:
        assert parent in reached
        assert child not in reached
        reached.add(child)


def spans(tree, many):
    group = list(range(many))
    for one, two in tree:
        group = [group[two] if g == group[one] else g for g in group]
    return len(set(group)) == 1


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
@pytest.mark.parametrize("share", ["1/2", "1/9"])
def test_both_phases_together_spend_epsilon_and_no_more(policy, share):
    mechanism = Marginals.for_policy(policy, sizes=SIZES, epsilon="1/2", share=share)
    shifts = [shift for many in policy.shifts(GroupCount()).values() for shift in many]
    losses = [mechanism.loss(shift) for shift in shifts]
    assert Fraction(49, 100) < max(losses) <= Fraction(1, 2)
    assert max(map(mechanism.learn_loss, shifts)) <= Fraction(1, 2) * Fraction(share)


@given(rise=st.integers(0, 9), fall=st.integers(0, 9))
def test_the_loss_counts_the_tables_and_has_a_direction(rise, fall):
    mechanism = Marginals(SIZES, Counts(1, od.INFINITE), Counts(2, od.INFINITE))
    loss = mechanism.loss(Shift(rise=rise, fall=fall))
    assert loss == (od.INFINITE if rise else (10 * 1 + 4 * 2) * fall)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_tables_are_unbiased_whichever_way_the_noise_goes(policy):
    """Off by more than five standard errors once in a million runs."""
    mechanism, noise = (
        Marginals.for_policy(policy, sizes=(2, 2), epsilon=1),
        NotPrivateSeededNoise(3),
    )
    found = np.array(
        [mechanism.release([50, 60, 70, 80], noise=noise).tables[0].ravel() for _ in range(800)]
    )
    errors_ = (found - [50, 60, 70, 80]).mean(axis=0) / (found.std(axis=0) / math.sqrt(800))
    assert np.abs(errors_).max() < 5


def test_the_second_phase_draws_the_noise_it_says():
    """The chi-square test of ``agrees`` on a wide table; a rate 10 % off is told apart."""
    wide = (250, 160)
    mechanism = Marginals(wide, EXACT, Counts("1/2", "1/3"))
    table = mechanism.measure(np.zeros((0, 2), int), ((0, 1),), noise=NotPrivateSeededNoise(1))[0]
    drawn = np.round(table.ravel() + mechanism.measuring.distribution.mean())
    law = verify.two_sided_law("1/2", "1/3")
    assert verify.agrees(drawn, law).accepted
    assert verify.power(law, verify.two_sided_law("0.45", "0.3"), drawn.size) > 0.99


def test_three_way_counts_beat_counting_them_all():
    codes, noise = people(), NotPrivateSeededNoise(5)
    triples = list(combinations(range(len(SIZES)), 3))
    model = Marginals.for_policy(BOUNDED, sizes=SIZES, epsilon="1/5").release(codes, noise=noise)
    plain = Counts.for_policy(BOUNDED, epsilon=Fraction(1, 5 * len(triples)), clip=True)
    ours = theirs = 0.0
    for triple in triples:
        truth = counted(codes, triple)
        ours += np.abs(model.marginal(triple) - truth).sum()
        theirs += np.abs(plain.release(truth.ravel(), noise=noise) - truth.ravel()).sum()
    assert ours < theirs / 1.5


@given(seed=st.integers(0, 10**6), epsilon=st.sampled_from(["1/100", "1", "20"]))
def test_all_answers_of_a_model_agree_and_none_is_negative(seed, epsilon):
    model = Marginals.for_policy(BOUNDED, sizes=SIZES, epsilon=epsilon).release(
        people(30, seed), noise=NotPrivateSeededNoise(seed)
    )
    whole = model.marginal(range(len(SIZES)))
    assert whole.min() >= 0
    assert whole.sum() == pytest.approx(model.total)
    assert model.marginal([3, 1]) == pytest.approx(whole.sum(axis=(0, 2, 4)).T)


def test_values_that_seem_not_to_occur_have_shares_too():
    model = TreeModel((2, 2), ((0, 1),), (np.array([[3.0, 1.0], [-1.0, 0.0]]),))
    assert model.marginal([0, 1]).tolist() == [[2.25, 0.75], [0, 0]]
    empty = TreeModel((2, 2), ((0, 1),), (np.array([[-3.0, 1.0], [-1.0, 0.0]]),))
    assert empty.marginal([0, 1]).tolist() == [[0, 0], [0, 0]]


def test_an_empty_table_works():
    model = Marginals.for_policy(BOUNDED, sizes=SIZES, epsilon=1).release(np.zeros((0, 5), int))
    assert len(model.edges) == 4
    assert np.isfinite(model.marginal([0, 4])).all()


@pytest.mark.parametrize(
    "bad",
    [
        [[0, 0]],
        [[0, 0, 0, 0, 3]],
        [[0, 0, -1, 0, 0]],
        [[0.0, 0, 0, 0, 0]],
        [[True] * 5],
        [1, 2, 3],
        [-1] * 144,
        [0.5] * 144,
        [2**53] * 144,
        [[[1]]],
        [],
        "ab",
    ],
)
def test_bad_tables_are_refused(bad):
    with pytest.raises(errors.DataError):
        Marginals.for_policy(BOUNDED, sizes=SIZES, epsilon=1).release(bad)


@pytest.mark.parametrize(
    "bad",
    [(), (2,), (2, 0), (2, -1), (2, 0.5), (2, math.nan), "23", 3, None, (2,) * 51, (2**13,) * 2],
)
def test_bad_sizes_are_refused(bad):
    with pytest.raises(errors.ParameterError):
        Marginals(bad, EXACT, EXACT)


def test_bad_parameters_and_questions_are_refused():
    for bad in (0, -1, math.nan, math.inf, "x", True):
        with pytest.raises(errors.ParameterError):
            Marginals.for_policy(BOUNDED, sizes=SIZES, epsilon=bad)
        with pytest.raises(errors.ParameterError):
            Marginals.for_policy(BOUNDED, sizes=SIZES, epsilon=1, share=bad)
        with pytest.raises(errors.ParameterError, match="plain"):
            Marginals(SIZES, bad, EXACT)
    model = Marginals(SIZES, EXACT, EXACT).release(people(10))
    for bad in ((), (0, 0), (5,), (-1,), (0.5,), ("a",)):
        with pytest.raises(errors.ParameterError):
            model.marginal(bad)
    large = TreeModel((2**13, 2**13), ((0, 1),), (np.zeros((1, 1)),))
    with pytest.raises(errors.ParameterError, match="2\\^24"):
        large.marginal([0, 1])


def test_all_pairs_are_counted_once_and_a_tree_has_one_edge_less_than_attributes():
    for many in (2, 3, 4, 5):
        made = Marginals((2,) * many, Counts(3, 5), Counts(7, 11))
        shift = Shift(rise=1, fall=2)
        assert made.learn_loss(shift) == math.comb(many, 2) * (3 * 2 + 5)
        assert made.measure_loss(shift) == (many - 1) * (7 * 2 + 11)
