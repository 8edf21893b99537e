"""Checks for what enumeration cannot see, and whether work depends on secrets."""

import numpy as np
import pytest

import onesided as od
from onesided import verify
from onesided.mechanism import AtMost, Counts
from onesided.noise import NotPrivateSeededNoise, SecureNoise
from onesided_proofs.checks._own import repeats
from onesided_proofs.checks._timing import draws_differ, time_release

from .test_table import PAGE, first_words


@pytest.mark.heavy
@pytest.mark.xdist_group("proofs")
def test_every_own_check_tells_sound_from_broken():
    checks = list(verify.own_checks())
    assert all(check.right for check in checks), [c for c in checks if not c.right]
    told = {case.name for case in verify.catalogue("onesided")} | {check.name for check in checks}
    assert first_words(PAGE) == told
    assert {check.name for check in checks if not check.sound} == {
        "two runs differ",
        "alignment",
        "certificates",
        "no missing values",
        "no float reaches an answer",
        "geometric law",
        "audit of ε = 1",
        "work does not depend on counts",
        "samplers, word by word",
        "samplers, from keys",
        "samplers, by their law",
        "what is said of noise",
        "charges of a session",
        "losses, by the laws of both data sets",
        "what policies say, by moves of tables",
        "parts, by their definition",
        "rows, added up by hand",
        "bounds that a curator asserts",
        "bounds that travel",
        "arithmetic of bounds",
        "bounds by margins",
    }


def test_a_fixed_seed_is_seen():
    assert repeats(lambda: NotPrivateSeededNoise(0))
    assert not repeats(SecureNoise)


SMALL, LARGE = np.zeros(40, dtype=np.int64), np.full(40, 2**60, dtype=np.int64)


@pytest.mark.parametrize("mechanism", [Counts(1, od.INFINITE), Counts("1/3", 2), Counts("1/99", 1)])
def test_the_draws_of_a_release_do_not_depend_on_the_counts(mechanism):
    assert not draws_differ(lambda v, n: mechanism.noisy(v, noise=n), SMALL, LARGE)


def test_the_draws_of_a_decision_do_not_depend_on_the_counts():
    decision = AtMost(5, upper_rate=1)
    assert not draws_differ(lambda v, n: decision.release(v, noise=n), SMALL, LARGE)


def test_a_sampler_that_tries_again_is_seen():
    def again(values, noise):
        while (values + noise.two_sided(1, 1, len(values))).min() < 0:
            pass

    assert draws_differ(again, np.zeros(3, dtype=np.int64), np.full(3, 99))


def test_the_clock_sees_a_release_whose_time_depends_on_the_counts():
    """The measurement can say no; benchmarks/verify.py shows that of ours it says nothing."""
    slow = time_release(
        lambda values: sum(range(int(values[0]))), np.array([10]), np.array([20_000]), runs=200
    )
    assert slow.apart > 1
