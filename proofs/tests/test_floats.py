"""No float on the way to an answer; what floats would give away."""

import numpy as np
import pytest

import onesided as od
from onesided import verify
from onesided.mechanism import Counts, Dawa, TwoPhase
from onesided.noise import NotPrivateSeededNoise, SecureNoise
from onesided.noise._noise import ExactNoise
from onesided.noise._source import NotPrivateSeededBits
from onesided_proofs.checks._floats import FloatReachedError, WatchedBits, float_free, watched
from onesided_proofs.checks._gaps import NaiveLaplace, attack_floats, attack_whole

# Corrections by the mean are declared to give floats, after everything private is done.
BEFORE_ESTIMATES = "noisy"
# Estimates made of noisy answers (least squares, averages), so floats by declaration.
ESTIMATES = {"Subsampled (unbiased)"}
ESTIMATING = TwoPhase


def shipped():
    """Programs of the catalogue that release whole numbers."""
    for case in verify.catalogue("onesided"):
        able = case.sound and hasattr(case.program, "release")
        if able and case.name not in ESTIMATES and not isinstance(case.program, ESTIMATING):
            yield case


def test_no_float_reaches_an_answer_of_a_shipped_mechanism():
    tried, found = 0, []
    for case in shipped():
        release = getattr(case.program, BEFORE_ESTIMATES, case.program.release)
        width = len(case.universe.groups)
        for seed, counts in enumerate(([0] * width, [2] * width, [1] + [0] * (width - 1))):
            values = np.array(counts, dtype=np.int64)
            noise = NotPrivateSeededNoise(seed)
            reason = float_free(lambda n, v=values, run=release: run(v, noise=n), noise)
            tried += 1
            if reason:
                found.append((case.name, case.policy.name, counts, reason))
    assert found == []
    assert tried > 300


def test_dawa_learns_its_partition_without_floats():
    dawa = Dawa(1, upper_rate=1, lower_rate=1)
    for seed, counts in enumerate(([0, 0, 0], [2, 2, 9], [1, 0, 0, 7, 7])):
        values = np.array(counts, dtype=np.int64)
        reason = float_free(
            lambda n, v=values: dawa.learn(watched(v), noise=n).labels, NotPrivateSeededNoise(seed)
        )
        assert not reason


@pytest.mark.parametrize(
    "step",
    [
        float,
        lambda v: v * 0.5,
        lambda v: v / 2,
        np.log1p,
        lambda v: v.astype(float),
        np.mean,
        lambda v: v.mean(),
        lambda v: np.where(v > 0, v, 0.5),
        lambda v: v @ np.ones(1),
        complex,
    ],
)
def test_the_watch_sees_every_way_to_a_float(step):
    with pytest.raises((FloatReachedError, TypeError)):
        step(watched(np.array([1])))


def test_the_watch_lets_whole_numbers_pass():
    values = watched(np.array([3, 1, 2]))
    total = np.cumsum(np.sort(values))[::-1] * 2
    assert total.tolist() == [12, 6, 2]
    assert not float_free(lambda noise: noise.geometric(1, 4) // 2 + 1, SecureNoise())


DRAWS = {
    "geometric": lambda n: n.geometric(1, 100),
    "small rates": lambda n: n.geometric("1/100000", 1000),
    "several rates": lambda n: n.two_sided([1, 2, "1/9"], 2, 3),
    "bernoulli": lambda n: n.bernoulli("1/3", 100),
    "few": lambda n: n.bernoulli_exp("1/3", 3),
    "uniform": lambda n: n.uniform(1000, 100),
    "permutation": lambda n: n.permutation(50),
}


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_no_float_is_made_of_random_bits(draw):
    draw(ExactNoise(WatchedBits(NotPrivateSeededBits(1))))


def test_mironovs_attack_succeeds_on_floating_point_noise_and_is_never_wrong():
    double = attack_floats(NaiveLaplace(), answers=5000)
    single = attack_floats(NaiveLaplace(bits=24, dtype=np.float32), answers=5000)
    for attack in (double, single):
        assert attack.mistakes == 0
        assert attack.success > 0.3


@pytest.mark.parametrize(
    "mechanism", [Counts(1, od.INFINITE), Counts(1, 1), Counts("1/2", "1/2")], ids=str
)
def test_the_attack_fails_on_ours(mechanism):
    attack = attack_whole(mechanism, NotPrivateSeededNoise(1), answers=5000, lookup=500_000)
    assert attack.success < 1e-3


def test_the_attack_on_ours_would_succeed_in_a_direction_that_is_not_protected():
    """It is an attack: an answer of 0 rules out a count of 1 when noise is above the truth."""
    attack = attack_whole(
        Counts(1, od.INFINITE), NotPrivateSeededNoise(1), real=0, other=1, answers=5000
    )
    assert attack.success > 0.5
