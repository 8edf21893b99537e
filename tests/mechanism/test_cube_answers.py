"""Noise on all counts at once in a session: chosen where it is better, bounded, never wrong.

And why nothing needs choosing where the total fall is bounded: independent noise is best there.
"""

import math
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from onesided import INFINITE, errors, policy
from onesided.mechanism import Counts, CubeEstimates, CubeThresholds, SparseVector
from onesided.mechanism._cube import law_of
from onesided.mechanism.kit import count_moves
from onesided.noise import NotPrivateSeededNoise
from onesided.policy import Shift
from onesided.verify import agrees, power


def chosen(keys, groups, *, threshold=None, over=None):
    over = over or policy.presence(max_groups=groups)
    asked = {"epsilon": 2, "max_groups": groups}
    moves = count_moves(over, **asked)
    if threshold is None:
        return CubeEstimates.in_place_of(Counts.for_policy(over, **asked), moves, keys=keys)
    alone = SparseVector.for_policy(over, thresholds=threshold, **asked)
    return CubeThresholds.in_place_of(alone, moves, keys=keys)


@pytest.mark.parametrize("groups", [1, 2, 3, 7])
def test_it_is_chosen_where_it_is_better_and_nowhere_else(groups):
    for keys in range(1, 3 * groups):
        third = 3 * (keys + 1) <= 4 * groups
        assert (chosen(keys, groups) is not None) == third
        at_once = chosen(keys, groups, threshold=4)
        assert (at_once is not None) == (third and keys <= groups)
    assert chosen(257, 300) is None


def test_it_is_not_chosen_where_a_count_may_rise_or_an_edge_would_pay_more():
    assert chosen(3, 3, over=policy.unbounded()) is None
    assert chosen(3, 3, over=policy.removal_only()) is None
    counts, moves = Counts(1, INFINITE), count_moves(policy.presence(max_groups=3), epsilon=3)
    assert CubeEstimates.in_place_of(counts, moves, keys=3).noise_rate == 3
    # A second edge that lowers one count pays 1 with independent noise, and would pay 3.
    other = count_moves(policy.addition_only(), epsilon=3, max_groups=1)
    assert CubeEstimates.in_place_of(counts, [*moves, *other], keys=3) is None
    stops = SparseVector(3, upper_rate=1, max_answers=2)
    assert CubeThresholds.in_place_of(stops, moves, keys=3) is None


@pytest.mark.parametrize("epsilon", [Fraction(1, 4), Fraction(1), Fraction(5)])
def test_up_to_as_many_keys_as_groups_more_is_certified_at_every_room(epsilon):
    for keys in (1, 2, 7, 30):
        law = law_of(epsilon, keys)
        alone = [-math.expm1(-float(epsilon) * room / keys) for room in range(1, 60)]
        found = [law.below(room) for room in range(1, 60)]
        assert (np.array(found) >= np.array(alone) - 1e-9).all()
        assert keys == 1 or found[0] > alone[0]


def test_bounds_hold_as_often_as_they_say_and_one_closer_would_not():
    for keys, epsilon in ((2, 1), (7, "1/3"), (40, 3)):
        law = CubeEstimates(epsilon, keys=keys).distribution
        for sure in (Fraction(1, 2), Fraction(95, 100), Fraction(999, 1000)):
            reach = law.quantile(sure)
            assert law.below(reach + 1) >= sure
            assert reach == 0 or law.below(reach) < float(sure) + 1e-5
        rare = law.quantile(1 - Fraction(1, 10**9))
        assert 1 - law.below(rare + 1) <= 1e-9
        assert law.mean() == pytest.approx(
            sum(1 - law.below(room) for room in range(1, 5000)), rel=1e-6
        )
        squares = sum((2 * room - 1) * (1 - law.below(room)) for room in range(1, 5000))
        assert law.variance() == pytest.approx(squares - law.mean() ** 2, rel=1e-5)


@pytest.mark.parametrize("epsilon", [1, 3])
def test_draws_follow_the_law(epsilon):
    """False alarm one in a million for each of two; a rate off by a tenth is seen."""
    pytest.importorskip("scipy")
    made, source = CubeEstimates(epsilon, keys=5), NotPrivateSeededNoise(11)
    zeros = np.zeros(5, dtype=np.int64)
    drawn = np.array([made.noisy(zeros, noise=source)[0] for _ in range(6000)])
    right, wrong = made.distribution, law_of(Fraction(epsilon) * Fraction(11, 10), 5)

    def at_most(law):
        return lambda k: law.below(max(k + 1, 0))

    found = agrees(drawn, at_most(right))
    assert found.accepted, found
    assert power(at_most(right), at_most(wrong), 6000) > 0.5


def test_corrections_are_those_of_counts():
    noisy = np.array([0, 3, 40])
    for correction in ("none", "mean", "median"):
        made = CubeEstimates(1, keys=3, correction=correction, clip=True)
        taken = {"none": 0, "mean": made.distribution.mean(), "median": 1}[correction]
        assert made.estimate(noisy) == pytest.approx([0, max(3 - taken, 0), 40 - taken])
    exact = CubeEstimates(INFINITE, keys=2).interval(np.array([4, 5]))
    assert exact.lower.tolist() == exact.upper.tolist() == [4, 5]
    assert exact.lower_certain
    assert CubeThresholds(3, noise_rate=1).loss(Shift(rise=1, fall=0)) == INFINITE


def test_bad_input_is_refused():
    for wrong in ({"keys": 0}, {"keys": 257}, {"keys": 2.5}, {"keys": 2, "correction": "mode"}):
        with pytest.raises(errors.ParameterError):
            CubeEstimates(1, **wrong)
    for rate in (0, -1, math.nan, "x"):
        with pytest.raises(errors.ParameterError):
            CubeEstimates(rate, keys=2)
        with pytest.raises(errors.ParameterError):
            CubeThresholds(1, noise_rate=rate)
    with pytest.raises(errors.DataError, match="3 counts were given for 2 keys"):
        CubeEstimates(1, keys=2).noisy([1, 2, 3])
    with pytest.raises(errors.DataError):
        CubeThresholds([1, 2], noise_rate=1).release([1, 2, 3])
    with pytest.raises(errors.ParameterError):
        CubeThresholds(-1, noise_rate=1)


SIZE = 4


def up_sets():
    """All up-sets of a square of cells, the last row and column standing for all beyond."""
    for heights in combinations_with_replacement(range(SIZE + 1), SIZE):
        yield {
            (i, j) for i in range(SIZE) for j in range(SIZE) if j >= sorted(heights)[SIZE - 1 - i]
        }


def lumped(line, q):
    """The last cell of a run that falls by q from there on."""
    return [*line[:-1], line[-1] / (1 - q)]


@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(9, 10)])
def test_within_the_l1_ball_no_law_is_below_independent_noise_in_fractions(q):
    """Random laws that keep ε for each unit of fall: never likelier to be small, for any up-set."""
    source = np.random.Generator(np.random.PCG64(5))
    geometric = lumped([(1 - q) * q**k for k in range(SIZE)], q)
    cells = list(product(range(SIZE), repeat=2))
    for _ in range(12):
        first = {cell: int(x) for cell, x in zip(cells, source.integers(0, 9, 16), strict=True)}
        if not any(first.values()):
            continue
        law = {
            z: max(
                first[a] * q ** (z[0] - a[0] + z[1] - a[1])
                for a in cells
                if a[0] <= z[0] and a[1] <= z[1]
            )
            for z in cells
        }
        for z in cells:
            law[z] /= (1 - q) ** z.count(SIZE - 1)
        total = sum(law.values())
        for chosen_set in up_sets():
            found = sum(law[z] for z in chosen_set) / total
            assert found >= sum(geometric[i] * geometric[j] for i, j in chosen_set)


def test_within_the_l1_ball_the_linear_programme_finds_independent_noise():
    optimize = pytest.importorskip("scipy.optimize")
    q = math.exp(-1)
    geometric = lumped([(1 - q) * q**k for k in range(SIZE)], q)
    place = {z: i for i, z in enumerate(product(range(SIZE), repeat=2))}
    rows = []
    for (i, j), at in place.items():
        for to in ((i + 1, j), (i, j + 1)):
            if to in place:
                row = np.zeros(len(place))
                last = SIZE - 1 in (to[0] * (to[0] != i), to[1] * (to[1] != j))
                row[at], row[place[to]] = q, -(1 - q) if last else -1
                rows.append(row)
    for chosen_set in up_sets():
        aim = [float(z in chosen_set) for z in place]
        found = optimize.linprog(
            aim, A_ub=rows, b_ub=np.zeros(len(rows)), A_eq=np.ones((1, 16)), b_eq=[1]
        )
        least = sum(geometric[i] * geometric[j] for i, j in chosen_set)
        assert found.fun == pytest.approx(least, abs=1e-9)


def test_within_the_cube_the_linear_programme_finds_the_cube():
    """Over all laws that are added to two counts, cut at 16: its mean, and its share at a room."""
    optimize = pytest.importorskip("scipy.optimize")
    size, rate = 17, 2.0
    place = {z: i for i, z in enumerate(product(range(size), repeat=2))}
    rows = []
    for (i, j), at in place.items():
        for to in ((i + 1, j), (i, j + 1), (i + 1, j + 1)):
            if to in place:
                row = np.zeros(len(place))
                row[at], row[place[to]] = 1, -math.exp(rate)
                rows.append(row)
    limits = {"A_ub": np.array(rows), "b_ub": np.zeros(len(rows))}
    whole = {"A_eq": np.ones((1, size**2)), "b_eq": [1]}
    law = law_of(Fraction(2), 2)
    for aim, due in (
        ([sum(z) / 2 for z in place], law.mean()),
        ([sum(x >= 2 for x in z) / 2 for z in place], 1 - law.below(2)),
    ):
        assert optimize.linprog(aim, **limits, **whole).fun == pytest.approx(due, abs=1e-4)
