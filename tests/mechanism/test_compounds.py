from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import onesided as od
from onesided import INFINITE, errors
from onesided.mechanism import AdaptiveSparseVector, Compounds, SparseVector
from onesided.noise import NotPrivateSeededNoise

PLACES = st.integers(0, 5)
MEMBERS = st.lists(st.lists(PLACES, min_size=1, max_size=4), min_size=1, max_size=5)


def most_reached(members, groups):
    """The definition: over all sets of so many groups, the most compounds that meet one."""
    return max(
        sum(bool(set(one) & set(chosen)) for one in members)
        for chosen in combinations(range(6), groups)
    )


@given(MEMBERS, st.integers(0, 4))
def test_reach_is_never_less_than_any_groups_reach(members, groups):
    compounds = Compounds(members)
    assert compounds.reach(groups) >= most_reached(members, groups)
    assert compounds.reach(groups) <= len(members)
    assert compounds.reach(1) == most_reached(members, 1)


@given(MEMBERS, st.lists(st.integers(1, 9), min_size=6, max_size=6), st.sets(PLACES))
def test_largest_counts_fall_by_one_in_as_many_as_are_reached(members, counts, dropped):
    compounds = Compounds(members)
    after = [count - (place in dropped) for place, count in enumerate(counts)]
    fall = compounds.largest(counts) - compounds.largest(after)
    assert set(fall.tolist()) <= {0, 1}
    assert fall.sum() <= compounds.reach(len(dropped))
    assert compounds.largest(counts).tolist() == [max(counts[g] for g in one) for one in members]


@given(MEMBERS)
def test_compounds_apart_reach_one_each(members):
    apart = Compounds([[number] for number in range(len(members))])
    assert [apart.reach(n) for n in (0, 1, len(members) + 1)] == [0, 1, len(members)]


def test_one_compound_costs_what_a_single_count_does():
    policy = od.policy.presence(max_groups=10)
    one = Compounds([range(50)])
    for kind, more in ((SparseVector, {}), (AdaptiveSparseVector, {"max_answers": 3})):
        made = kind.for_policy(policy, thresholds=5, epsilon=1, compounds=one, **more)
        assert made.upper_rate == 1
    each = SparseVector.for_policy(policy, thresholds=5, epsilon=1)
    assert each.upper_rate * 10 == 1


def test_weights_of_edges_and_the_limit_on_answers_are_kept():
    policy = od.policy.presence(max_groups=3)
    routes = Compounds([[0, 1], [1, 2], [3]])
    made = SparseVector.for_policy(policy, thresholds=0, epsilon=6, compounds=routes)
    assert made.upper_rate * routes.reach(3) == 6
    stops = SparseVector.for_policy(
        policy, thresholds=0, epsilon=6, max_answers=1, compounds=routes
    )
    assert stops.upper_rate == 6


def test_rising_counts_are_refused_through_compounds():
    with pytest.raises(errors.UnprotectableError, match="larger"):
        SparseVector.for_policy(
            od.policy.unbounded(), thresholds=1, epsilon=1, compounds=Compounds([[0, 1]])
        )


def test_without_noise_it_is_the_conjunction():
    routes = Compounds([[0, 1], [1, 2]])
    told = SparseVector(3, upper_rate=INFINITE).release(routes.largest([0, 3, 4]))
    assert told.certified.tolist() == [True, False]


def test_the_share_certified_is_that_of_one_count():
    """A false alarm once in a million runs: 20,000 draws, a bound of five deviations."""
    noise, draws = NotPrivateSeededNoise(7), 20_000
    largest = Compounds([range(20)]).largest([3] * 20)
    told = SparseVector(4, upper_rate=1).release(np.repeat(largest, draws), noise=noise)
    share, expected = told.certified.mean(), 1 - np.exp(-2)
    width = 5 * np.sqrt(expected * (1 - expected) / draws)
    assert abs(share - expected) < width
    assert abs(share - (1 - np.exp(-2 * 0.9))) > width, "a rate wrong by 10 % is seen"


@pytest.mark.parametrize("members", ["ab", 3, [], [[]], [[0], []], [[-1]], [[0.5]], [["a"]]])
def test_what_is_no_compound_is_refused(members):
    with pytest.raises(errors.ParameterError):
        Compounds(members)


def test_too_few_counts_are_refused():
    with pytest.raises(errors.DataError, match="place 4"):
        Compounds([[0, 4]]).largest([1, 2])
