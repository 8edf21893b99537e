"""Chance that is not on the paths: refused, or noticed because runs differ."""

import datetime as dt
import gc
import os
import random
import threading
import time
from os import urandom
from random import random as drawn
from time import time as now

import numpy as np
import pytest

import onesided as od
from onesided import errors, verify
from onesided.mechanism import Counts
from onesided.noise import SecureNoise
from onesided.verify import Universe

ONE = Universe(groups=("a",), units=1)
POLICY = od.policy.addition_only()
GENERATOR = np.random.default_rng(3)
SECURE = SecureNoise()
SYSTEM = random.SystemRandom()


def refused(program):
    with pytest.raises(errors.ParameterError) as caught:
        verify.exact(program, POLICY, ONE)
    return str(caught.value)


@pytest.mark.parametrize(
    "draw",
    [
        lambda: SECURE.geometric(1, 1),
        lambda: SecureNoise().bernoulli("1/2", 1),
        lambda: random.getrandbits(3) + 1,
        lambda: random.Random(3).random(),
        drawn,
        lambda: SYSTEM.randrange(2),
        lambda: np.random.default_rng().random(),
        lambda: np.random.rand(3),  # noqa: NPY002 - it is the old one that is tried
        lambda: os.urandom(3) + b"x",
        lambda: urandom(3) + b"x",
        now,
        lambda: time.perf_counter() + 1,
        lambda: dt.datetime.now(dt.UTC),
        lambda: dt.date.today().year,  # noqa: DTZ011 - any clock is tried
    ],
)
def test_every_other_source_of_chance_is_refused_by_name_even_if_nothing_comes_of_it(draw):
    def program(data, noise):
        draw()
        return len(data) + noise.geometric(1, 1)[0]

    assert "no enumeration can see" in refused(program)


def test_a_generator_that_was_made_before_is_noticed_since_runs_differ():
    def program(_data, noise):
        return int(noise.geometric(3, 1)[0]) + int(GENERATOR.random() < 0.05)

    assert "another output" in refused(program)


def test_own_noise_at_three_times_the_rate_is_refused_in_every_run():
    """It was accepted in 34 of 50 runs, since it mostly adds nothing."""

    def own_noise(data, _noise):
        return len(data) + int(SecureNoise().geometric(3, 1)[0])

    assert all("SecureBits" in refused(own_noise) for _ in range(50))


def test_a_mechanism_that_does_not_hand_its_noise_on_is_refused():
    class Forgets:
        def release(self, values, *, noise):
            noise.geometric(1, 1)
            return Counts(1, od.INFINITE).noisy(values)

    assert "hand its noise on" in refused(Forgets())


def test_weights_that_do_not_sum_to_one_are_refused():
    """One draw, kept: the paths came to a total of 1.4."""
    kept = []

    def program(_data, noise):
        if not kept or kept[-1] > 2:
            kept.append(int(noise.geometric(1, 1)[0]))
        return kept[-1]

    assert "run to the next" in refused(program)


def test_noise_that_is_kept_for_later_is_refused():
    held = []

    def program(_data, noise):
        held.append(noise)
        return int(held[0].geometric(1, 1)[0])

    assert "outside the run" in refused(program)


@pytest.mark.parametrize("period", range(2, 40))
def test_what_changes_every_so_many_runs_is_noticed(period):
    runs = iter(range(10**9))

    def program(_data, noise):
        return int(noise.uniform(period * 2, 1)[0]), next(runs) % period == 0

    assert "another output" in refused(program)


def test_other_threads_keep_their_clock_and_everything_is_put_back():
    seen, asked, told = [], threading.Semaphore(0), threading.Semaphore(0)

    def answer():
        while asked.acquire() and not seen.count(None):
            seen.append((time.time(), os.urandom(2)))
            told.release()

    def program(_data, noise):
        asked.release()
        told.acquire()
        return int(noise.uniform(2, 1)[0])

    other = threading.Thread(target=answer)
    other.start()

    before = time.time, os.urandom, np.random.rand, random.random
    with pytest.raises(errors.ParameterError):
        verify.exact(lambda _d, _n: time.time(), POLICY, ONE)
    verify.exact(program, POLICY, ONE)
    assert seen
    seen.append(None)
    asked.release()
    other.join()
    assert (time.time, os.urandom, np.random.rand, random.random) == before


def test_a_collection_in_the_middle_of_a_run_may_read_the_clock():
    seen = []

    def timed(_phase, _about):
        seen.append(time.perf_counter())

    def program(_data, noise):
        gc.collect(0)  # the youngest alone: a whole one takes seconds in a process of many tests
        return int(noise.uniform(2, 1)[0])

    before = list(gc.callbacks)
    gc.callbacks.append(timed)
    try:
        verify.exact(program, POLICY, ONE)
    finally:
        gc.callbacks.remove(timed)
    assert seen
    assert gc.callbacks == before


def test_two_checks_at_once_do_not_get_into_each_others_way():
    found = []

    def check():
        found.append(verify.exact(Counts(1, od.INFINITE), POLICY, ONE).keeps(1))

    threads = [threading.Thread(target=check) for _ in range(4)]
    before = time.time
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 4
    assert time.time is before


def test_a_session_may_be_checked_with_its_clock():
    def program(_data, noise):
        time.time()
        return int(noise.geometric(1, 1)[0])

    assert verify.exact(program, POLICY, ONE, sealed=False).loss == pytest.approx(0, abs=1e-6)


def test_a_program_that_fails_is_refused_with_its_reason():
    assert "failed with ZeroDivisionError" in refused(lambda _d, _n: 1 // 0)


@pytest.mark.parametrize(
    "wrong",
    [lambda: 0, lambda _data: 0, lambda _data, _noise, _more: 0, lambda *, _data, _noise: 0],
)
def test_a_program_with_other_arguments_is_refused_before_it_is_run(wrong):
    assert "(data, noise)" in refused(wrong)
