import math

import numpy as np
import pytest

import onesided as od
from onesided import errors, verify
from onesided.mechanism import Counts
from onesided.verify import EachCount, audit

ONE_SIDED = EachCount(Counts(1, od.INFINITE))


def test_nine_tenths_of_the_true_loss_are_recovered_from_a_million_samples():
    found = audit(ONE_SIDED, (1, 0), sampler=True, samples=10**6, seed=1)
    assert 0.9 <= found.loss <= 1
    assert not found.refutes(1)
    assert found.refutes("0.9")
    assert "confidence 0.999" in str(found)


def test_the_other_direction_is_another_audit():
    """Noise above the truth does not hide a rise: the answer 0 is impossible on the other data."""
    found = audit(ONE_SIDED, (0, 1), sampler=True, samples=100_000, seed=1, processes=1)
    assert found.loss > 8
    assert found.other_hits == 0


def test_a_bound_is_not_above_the_truth_more_often_than_stated():
    """At 90 % confidence, 200 audits of a true loss of 1/2 may exceed it 20 times or so."""
    sampler = EachCount(Counts("1/2", "1/2"))
    over = sum(
        audit(
            sampler, (1, 0), sampler=True, samples=2000, confidence="0.9", seed=s, processes=1
        ).refutes("1/2")
        for s in range(200)
    )
    assert over <= 20  # both ends would have to fail at once, so far fewer in truth


def test_mechanisms_and_functions_are_audited_run_by_run():
    pair = np.array([3, 5]), np.array([2, 5])
    mechanism = Counts(3, od.INFINITE)
    found = audit(mechanism, pair, samples=4000, seed=2, processes=1)
    assert 2 < found.loss <= 3
    again = audit(
        lambda data, noise: int(data[0] + noise.geometric(3, 1)[0]), pair, samples=4000, seed=2
    )
    assert 2 < again.loss <= 3


def test_a_delta_is_taken_off():
    exact = audit(ONE_SIDED, (1, 0), sampler=True, samples=50_000, seed=3, processes=1)
    slack = audit(ONE_SIDED, (1, 0), sampler=True, samples=50_000, seed=3, processes=1, delta="0.1")
    assert slack.loss < exact.loss


def test_continuous_outputs_are_told_by_thresholds():
    def laplace(data, size, noise):
        return data + noise.geometric("1/10000", size) / 10_000

    found = audit(laplace, (1, 0), sampler=True, samples=40_000, seed=4, processes=1)
    assert 0.9 < found.loss <= 1
    assert ">=" in found.event


def test_several_cores_find_the_same_as_one():
    one = audit(ONE_SIDED, (1, 0), sampler=True, samples=100_000, seed=5, processes=1)
    two = audit(ONE_SIDED, (1, 0), sampler=True, samples=100_000, seed=5, processes=2)
    assert one == two


@pytest.mark.parametrize(
    "options", [{"samples": 10}, {"confidence": 1}, {"confidence": math.nan}, {"delta": math.inf}]
)
def test_options_that_cannot_be_meant_are_refused(options):
    with pytest.raises(errors.ParameterError):
        audit(ONE_SIDED, (1, 0), sampler=True, **options)


def test_equal_inputs_show_nothing():
    found = audit(ONE_SIDED, (1, 1), sampler=True, samples=100_000, seed=6, processes=1)
    assert found.loss < 0.05
    assert verify.audit is audit


def three_counts(values, size, noise):
    drawn = noise.two_sided("1/2", "1/2", size * len(values))
    return np.tile(values, (size, 1)) + drawn.reshape(size, -1)


@pytest.mark.heavy
def test_an_event_over_several_parts_is_found_where_no_single_output_comes_often():
    """A rise and a fall at once: each count shows half of ε, and only together all of it."""
    pair = [1, 1, 0], [1, 0, 1]
    found = audit(three_counts, pair, sampler=True, samples=200_000, seed=7, processes=1)
    assert 0.93 < found.loss <= 1
    assert "log-ratios" in found.event


def test_events_are_not_chosen_by_what_they_were_made_from():
    """Equal data: whatever looks best must not look good on the samples that count."""
    same = [1, 1, 0], [1, 1, 0]
    found = audit(three_counts, same, sampler=True, samples=50_000, seed=8, processes=1)
    assert found.loss < 0.1
