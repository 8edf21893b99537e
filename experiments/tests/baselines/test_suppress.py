"""Suppress: what it drops, what it truly costs, and that nobody runs it unawares."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import onesided as od
from onesided import bounds, errors, verify
from onesided.noise import NotPrivateSeededNoise
from onesided.policy import GroupCount, Shift
from onesided_experiments.baselines import ACCEPTED, Suppress

SECRET = od.policy.sensitive("private")


@pytest.mark.parametrize(
    "said", ["", "yes", True, None, "Open to exclusion attacks", ACCEPTED + "."]
)
def test_it_refuses_to_run_unless_the_danger_is_accepted_word_for_word(said):
    with pytest.raises(errors.ParameterError, match="missing has something to hide") as caught:
        Suppress(10, accept=said)
    assert 'accept="open to exclusion attacks"' in str(caught.value)
    with pytest.raises(errors.ParameterError):
        Suppress(10)


def test_under_one_sided_privacy_it_costs_the_threshold_not_epsilon():
    mechanism = Suppress(10, accept=ACCEPTED)
    query = mechanism.query(SECRET, epsilon=1)
    assert query == GroupCount(counted=frozenset({"open"}))
    losses = {
        edge.name: max(mechanism.loss(shift) for shift in shifts)
        for edge, shifts in SECRET.shifts(query).items()
    }
    assert losses == {"sensitive -> sensitive": 0, "sensitive -> open": 10}
    assert bounds.exclusion_freedom(SECRET, losses) == bounds.suppress_freedom(10) == 10


def test_without_a_threshold_nothing_is_hidden():
    mechanism = Suppress(od.INFINITE, accept=ACCEPTED)
    assert mechanism.release([3, 0]).tolist() == [3, 0]
    assert mechanism.loss(Shift(rise=1, fall=0)) == od.INFINITE
    assert mechanism.loss(Shift(rise=0, fall=0)) == 0


def test_the_enumerated_loss_is_the_threshold():
    mechanism = Suppress(3, accept=ACCEPTED)
    query = mechanism.query(SECRET, epsilon=1)
    world = verify.Universe(units=2, max_groups=1)
    report = verify.exact(mechanism, SECRET, world, query=query)
    found = {edge.name: finding.loss for edge, finding in report.findings.items()}
    assert found["sensitive -> open"] == pytest.approx(3)
    assert found["sensitive -> sensitive"] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("policy", "threshold", "kept"),
    [
        (SECRET, 1, {"sensitive", "open"}),
        (SECRET, "1.01", {"open"}),
        (od.policy.bounded(), 2, set()),
        (od.policy.unbounded(), "1/2", {"record"}),
        (od.policy.removal_only(), 100, {"record"}),
        (
            od.policy.tiers({"strict": ("1/2", "a"), "usual": (3, "b"), "rest": 7}),
            2,
            {"usual", "rest"},
        ),
    ],
)
def test_a_kind_asks_for_what_the_edges_out_of_it_promise(policy, threshold, kept):
    mechanism = Suppress(threshold, accept=ACCEPTED)
    assert mechanism.query(policy, epsilon=1).counted == kept


@given(
    asked=st.dictionaries(
        st.fractions(min_value="1/100", max_value=50),
        st.lists(st.integers(0, 99), min_size=4, max_size=4),
        min_size=1,
        max_size=6,
    )
)
def test_records_that_ask_for_less_never_reach_the_answer(asked):
    """At a rate of 1000 noise is 0 but for a chance of e^-1000."""
    mechanism = Suppress(1000, accept=ACCEPTED)
    assert mechanism.release(asked).tolist() == [0, 0, 0, 0]
    kept = {1000: [1, 2, 3, 4], od.INFINITE: [1, 0, 0, 0]}
    assert mechanism.release(asked | kept).tolist() == [2, 2, 3, 4]


def test_its_noise_is_two_sided_at_the_threshold(long_form):
    """False alarms are those of ``agrees`` (1e-6); a rate 10 % off is rejected 99 times in 100."""
    draws = 400_000 if long_form else 40_000
    rate = Fraction(1, 2)
    answers = Suppress(rate, accept=ACCEPTED).release(
        np.full(draws, 100), noise=NotPrivateSeededNoise(5)
    )
    law = verify.two_sided_law(rate, rate)
    assert verify.agrees(answers - 100, law).accepted
    assert verify.power(law, verify.two_sided_law("0.45", "0.45"), draws) > 0.99


@pytest.mark.parametrize(
    "bad", [0, -1, math.nan, math.inf, True, "x", None, 2**11, Fraction(1, 2**41)]
)
def test_bad_thresholds_are_refused(bad):
    with pytest.raises(errors.ParameterError, match="threshold"):
        Suppress(bad, accept=ACCEPTED)


def test_bad_data_and_bad_asks_are_refused():
    mechanism = Suppress(1, accept=ACCEPTED)
    for bad in ([-1], [0.5], [[1]], [2**62 + 1], {}, {1: [1], 2: [1, 2]}):
        with pytest.raises(errors.DataError):
            mechanism.release(bad)
    with pytest.raises(errors.DataError, match="2\\^62"):
        mechanism.release({2: [2**62], 3: [2**62]})
    for bad in (0, -1, math.nan, "x"):
        with pytest.raises(errors.ParameterError, match="own"):
            mechanism.release({bad: [1]})
        with pytest.raises(errors.ParameterError):
            mechanism.query(SECRET, epsilon=bad)
