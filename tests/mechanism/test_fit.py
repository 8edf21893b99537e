"""One fit for every mechanism: as much as each move may lose, and no more."""

from fractions import Fraction

import pytest

import onesided as od
from onesided import errors
from onesided.errors import ParameterError
from onesided.mechanism import (
    AdaptiveSparseVector,
    AtMost,
    CubeCounts,
    NoisyMaxQuantile,
    NoisyMaxRank,
    RecordSample,
    SeveralQuantiles,
    SparseVector,
    Staircase,
    TopK,
    TruncatedCounts,
    UnknownKeys,
    histograms,
)
from onesided.policy import GroupCount, Shift

FALLS = od.policy.custom(kinds=["a", "b", "absent"], edges=[("a", "absent"), ("b", "absent", 3)])
RISES = od.policy.custom(kinds=["a", "b", "absent"], edges=[("absent", "a"), ("absent", "b", 3)])
ONE_RATE = [
    (TopK, {"k": 2}, FALLS, 3),
    (SparseVector, {"thresholds": 1, "max_answers": 2}, FALLS, 3),
    (SparseVector, {"thresholds": 1}, FALLS, 3),
    (AdaptiveSparseVector, {"thresholds": 1, "max_answers": 2}, FALLS, 3),
    (AtMost, {"threshold": 1}, FALLS, 3),
    (CubeCounts, {}, FALLS, 3),
    (Staircase, {"largest": 1}, FALLS, 3),
    (TruncatedCounts, {"delta": "1/1000"}, FALLS, 3),
    (NoisyMaxQuantile, {"q": "1/3", "candidates": 4}, FALLS, 3),
    (NoisyMaxRank, {"above": 1, "candidates": 4}, RISES, 3),
    (SeveralQuantiles, {"shares": ["1/3", "2/3"], "candidates": 4}, RISES, 3),
    (UnknownKeys, {"threshold": 1}, RISES, 3),
    (RecordSample, {}, RISES, 1),
]


@pytest.mark.parametrize(("kind", "options", "policy", "groups"), ONE_RATE)
def test_no_move_loses_more_than_it_may_and_one_all_of_it(kind, options, policy, groups):
    epsilon = Fraction(2, 3)
    most = None if kind is RecordSample else groups
    made = kind.for_policy(policy, epsilon=epsilon, max_groups=most, **options)
    left = [
        epsilon * edge.weight - made.loss(shift)
        for edge, shifts in policy.shifts(GroupCount(max_groups=groups)).items()
        for shift in shifts
    ]
    assert min(left) == 0


@pytest.mark.parametrize(("kind", "options", "policy", "groups"), ONE_RATE)
def test_the_loss_is_in_proportion_to_the_rate(kind, options, policy, groups):
    """The fit reads what a move costs off the loss at rate 1."""
    if kind is TruncatedCounts:
        options = {"width": 4}
    fall, rise = (2, 0) if policy is FALLS else (0, 1)
    moved = Shift(rise=rise, fall=fall)
    one, third = (kind(**{kind._fitted: rate}, **options).loss(moved) for rate in (1, "1/3"))
    assert one == 3 * third > 0


def test_options_that_a_mechanism_does_not_have_are_refused():
    with pytest.raises(ParameterError, match="TopK: got an unexpected keyword argument 'kk'"):
        TopK.for_policy(FALLS, epsilon=1, k=1, kk=2)
    with pytest.raises(ParameterError, match="missing a required argument: 'k'"):
        TopK.for_policy(FALLS, epsilon=1)


def test_a_query_is_given_whole_or_in_parts():
    whole = TopK.for_policy(FALLS, epsilon=1, k=9, query=GroupCount(max_groups=3))
    assert whole == TopK.for_policy(FALLS, epsilon=1, k=9, max_groups=3)
    with pytest.raises(ParameterError, match="no max_groups or truncated beside it"):
        TopK.for_policy(FALLS, epsilon=1, k=9, max_groups=2, query=GroupCount(max_groups=3))


def test_what_one_rate_cannot_cover_is_refused():
    view = od.policy.view("age < 18", over="home", members=6)
    several = od.policy.GroupCount(counted=frozenset({"open"}), several_units=True)
    pairs = od.mechanism.Compounds([[0], [0]])
    presence = od.policy.presence(max_groups=1)
    for made, policy, asked in (
        (od.mechanism.Counts, view, {"counted": {"open"}, "compounds": pairs}),
        (od.mechanism.AtMost, presence, {"threshold": 3, "compounds": pairs}),
        (od.mechanism.TopK, view, {"k": 3, "query": several}),
        (od.mechanism.SparseVector, presence, {"thresholds": 5, "upper_rate": 2}),
        (od.mechanism.Counts, presence, {"lower_rate": 2}),
    ):
        with pytest.raises(errors.ParameterError):
            made.for_policy(policy, epsilon=1, **asked)


def test_zeros_cover_as_many_groups_as_their_algorithm():
    recipe = histograms.zeros(histograms.Ahp)
    policy = od.policy.sensitive("minor")
    whole = recipe.for_policy(policy, epsilon=1, query=od.policy.GroupCount(max_groups=5))
    assert recipe.for_policy(policy, epsilon=1, max_groups=5) == whole


def test_a_staircase_refuses_moves_that_only_raise():
    with pytest.raises(errors.UnprotectableError):
        od.mechanism.Staircase.for_policy(od.policy.removal_only(), epsilon=1, largest=10)
