"""Proofs by alignment: what they accept is private, and each way to be wrong is named."""

import math
from fractions import Fraction

import numpy as np
import pytest

from onesided import INFINITE, errors, policy
from onesided.mechanism import Counts
from onesided.verify import Universe, aligned
from onesided.verify._aligned import GivenNoise, KeptNoise, NotThatPathError, log_chance
from onesided.verify._enumerate import Settings, Walk

# Every path of the noise, for every mechanism.
pytestmark = pytest.mark.heavy

ONE = policy.presence(max_groups=1)
SINGLE = Universe(groups=("a",), units=1)


def count(path):
    return [path.draws[0] + path.real - path.other]


@pytest.mark.parametrize(
    ("alignment", "epsilon", "fault"),
    [
        (lambda path: path.draws, 1, "output"),
        (lambda path: [path.draws[0] - 1], 1, "path"),
        (lambda _path: [], 1, "path"),
        (lambda path: [*path.draws, *path.draws], 1, "path"),
        (lambda path: [path.draws[0][:0]], 1, "path"),
        (lambda path: [path.draws[0] > 0], 1, "path"),
        (count, Fraction(10**30 - 1, 10**30), "cost"),
    ],
)
def test_each_fault_is_named_with_its_path(alignment, epsilon, fault):
    report = aligned(Counts(1, INFINITE), alignment, ONE, SINGLE, epsilon=epsilon, tail=1e-3)
    assert not report.holds
    assert not report
    found = report.faults[0]
    assert found.fault == fault
    assert (found.real.tolist(), found.other.tolist()) == ([1], [0])
    assert len(found.draws) == 1
    assert found.edge.name in str(report)
    assert found.output is not None
    if fault == "cost":
        assert found.cost == 1
    if fault == "output":
        assert (found.output.tolist(), found.other_output.tolist()) == ([1], [0])


def test_the_cost_of_geometric_noise_is_exact():
    for epsilon, holds in (("0.3", True), (Fraction(3, 10) - Fraction(1, 10**40), False)):
        report = aligned(Counts("0.3", INFINITE), count, ONE, SINGLE, epsilon=epsilon, tail=1e-3)
        assert report.holds == holds


def test_a_direction_is_never_turned_round():
    seen = set()

    def spy(path):
        seen.add((*path.real.tolist(), *path.other.tolist()))
        return count(path)

    assert aligned(Counts(1, INFINITE), spy, ONE, SINGLE, epsilon=1, tail=1e-3)
    assert seen == {(1, 0)}
    both = aligned(Counts(1, INFINITE), count, policy.unbounded(), SINGLE, epsilon=1, tail=1e-3)
    assert {found.edge.name for found in both.faults} == {"absent -> record"}
    assert aligned(Counts(1, 1), count, policy.unbounded(), SINGLE, epsilon=1, tail=1e-3)


def coin(data, noise):
    noise.bernoulli("1/2", 1)
    return "nothing"


def heads(path):
    return [np.array([True])]


@pytest.mark.parametrize(("epsilon", "holds"), [("0.7", True), ("0.69", False)])
def test_paths_may_be_merged_if_they_are_paid_for_together(epsilon, holds):
    report = aligned(coin, heads, ONE, SINGLE, epsilon=epsilon)
    assert report.holds == holds
    assert max(report.cost.values()) == pytest.approx(math.log(2))
    if not holds:
        (found,) = report.faults
        assert found.fault == "merged"
        assert {found.also[0][0], found.draws[0][0]} == {True, False}


def test_whole_numbers_of_other_types_are_the_same_path():
    def program(data, noise):
        noise.geometric(1, 1)
        return ""

    kinds = iter([np.int32, np.int64] * 100_000)
    merged = lambda _path: [np.zeros(1, dtype=next(kinds))]  # noqa: E731
    report = aligned(program, merged, ONE, SINGLE, epsilon="0.4", tail=1e-3)
    assert {found.fault for found in report.faults} == {"merged"}


def everything(_data, noise):
    noise.geometric([1, 2], 2)
    noise.two_sided(2, 3, 1)
    noise.bernoulli("1/3", 1)
    noise.bernoulli_exp("1/2", 1)
    noise.bernoulli_exp(INFINITE, 1)
    noise.uniform(3, 1)
    noise.permutation(2)
    noise.permute_and_flip(1, np.array([0, 2]), np.array([1, 2]))


def test_chances_are_those_of_the_enumeration():
    def run(noise):
        kept = KeptNoise(noise)
        everything(None, kept)
        return kept

    walk, paths = Walk(run, Settings(tail=1e-4, sealed=False)), 0
    for kept, weight in walk:
        assert math.exp(float(kept.chance.exact) + kept.chance.rest) == pytest.approx(weight)
        given = GivenNoise(kept.draws)
        everything(None, given)
        given.conclude()
        assert (given.fault, given.chance) == ("", kept.chance)
        paths += 1
    assert paths > 500


@pytest.mark.parametrize(
    ("request_", "drawn"),
    [
        (("geometric", INFINITE, 1), [1]),
        (("two_sided", 1, INFINITE, 1), [-1]),
        (("bernoulli", 1, 1), [False]),
        (("bernoulli_exp", INFINITE, 1), [True]),
        (("uniform", 3, 1), [3]),
        (("permutation", 2), [0, 0]),
        (("permute_and_flip", 1, (0, 1), (1, 1)), [2]),
    ],
)
def test_what_cannot_come_out_is_impossible(request_, drawn):
    assert not log_chance(request_, np.array(drawn)).possible


def test_a_program_cannot_swallow_the_end_of_a_path():
    def stubborn(data, noise):
        try:
            noise.geometric(1, 1)
            noise.geometric(1, 1)
        except Exception:  # noqa: BLE001 - what a program may not do
            return "caught"
        return ""

    report = aligned(stubborn, lambda path: path.draws[:1], ONE, SINGLE, epsilon=1, tail=1e-3)
    assert report.faults[0].fault == "path"
    with pytest.raises(NotThatPathError):
        stubborn(None, GivenNoise([]))


def test_an_edge_that_is_not_tested_proves_nothing():
    opted = policy.sensitive("age < 18")
    records = opted.records(("a", "b"), max_groups=1)
    closed = Universe(values=tuple(r for r in records if r.kind == "sensitive"), units=1)
    report = aligned(lambda _data, _noise: 0, lambda _path: [], opted, closed, epsilon=1)
    assert report.untested
    assert not report.holds
    assert "not tested" in str(report)


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, "x"])
def test_epsilon_must_be_positive(epsilon):
    with pytest.raises(errors.ParameterError):
        aligned(Counts(1, INFINITE), count, ONE, SINGLE, epsilon=epsilon)


@pytest.mark.parametrize(
    ("alignment", "words"),
    [(lambda _path: None, "TypeError"), (lambda path: path.nothing, "AttributeError")],
)
def test_an_alignment_that_fails_is_refused(alignment, words):
    with pytest.raises(errors.ParameterError, match=words):
        aligned(Counts(1, INFINITE), alignment, ONE, SINGLE, epsilon=1, tail=1e-3)


def test_a_program_with_chance_of_its_own_is_refused():
    generator = np.random.default_rng(1)
    with pytest.raises(errors.ParameterError):
        aligned(
            lambda _data, _noise: float(generator.random()),
            lambda path: path.draws,
            ONE,
            SINGLE,
            epsilon=1,
        )


def test_a_coarse_tail_is_refused():
    with pytest.raises(errors.ParameterError, match="nothing would follow"):
        aligned(Counts("1/100", INFINITE), count, ONE, SINGLE, epsilon=1, tail=0.009)
