"""Shares certified, as a plan says them, against exact laws and against what is drawn.

False alarms: the drawn share of 4,000 answers is compared within 5 standard errors; 8 comparisons,
each alarming with chance below 10^-6.
"""

import math
from fractions import Fraction

import polars as pl
import pytest
from tests.covering import drawn

import onesided as od
from onesided.errors import ParameterError
from onesided.mechanism import Counts, SparseVector
from onesided.session._confidence import certified_shares

ASKED = 4_000


def session(most):
    table = pl.DataFrame({"person": [1, 2, 3], "place": ["1", "1", "2"]})
    policy = od.policy.presence(max_groups=most)
    return od.Session(table, unit="person", policy=policy, budget=10**6)


@pytest.mark.parametrize(("most", "groups"), [(3, 3), (3, 9)])
def test_the_share_is_that_of_the_upper_bounds_drawn(most, groups):
    here, keys = session(most), [str(number) for number in range(groups)]
    question = od.Count(by="place", keys=keys, epsilon=2)
    shares = dict(here.plan(question).certifying(3).certifies)
    assert sorted(shares) == [0, 1, 2, 3]
    releases = drawn(here, question, ASKED)
    for place, true in (("0", 0), ("1", 2), ("2", 1)):
        row = keys.index(place)
        found = sum(bool(one.interval.upper[row] <= 3) for one in releases) / ASKED
        assert abs(found - shares[true]) < 5 * math.sqrt(shares[true] * (1 - shares[true]) / ASKED)


def test_one_count_is_certified_as_one_threshold_is():
    own = certified_shares(Counts(Fraction(1, 3), od.INFINITE), 5)
    assert own == certified_shares(SparseVector(5, upper_rate=Fraction(1, 3)), 5)
    assert certified_shares(Counts(od.INFINITE, od.INFINITE), 1) == ((0, 1.0), (1, 1.0))


@pytest.mark.parametrize("mechanism", [Counts(1, 1), SparseVector(5, upper_rate=1, max_answers=2)])
def test_nothing_is_said_where_nothing_is_certain_or_answers_stop(mechanism):
    assert certified_shares(mechanism, 5) == ()


def test_far_thresholds_tell_of_their_last_counts():
    told = certified_shares(Counts(1, od.INFINITE), 10**6)
    assert (told[0][0], told[-1][0], len(told)) == (999_001, 10**6, 1_000)


def test_a_threshold_below_nothing_is_refused():
    plan = session(1).plan(od.Count(by="place", keys=["1"], epsilon=1))
    with pytest.raises(ParameterError, match="threshold"):
        plan.certifying(-1)
