import math

import numpy as np
import pytest

import onesided as od
from onesided import errors, verify
from onesided.mechanism import Counts
from onesided.policy import GroupCount
from onesided.verify import PathNoise, Universe, paths


@pytest.mark.parametrize(
    "case", list(verify.cases()), ids=lambda c: f"{c.name}-{c.policy.name}-{c.flaw}"
)
def test_every_line_of_the_table_is_told_right(case):
    verdict = verify.run(case)
    assert verdict.right
    if case.sound and case.name == "Counts":
        # Not only kept: the promise is tight, so no less noise would do.
        assert verdict.report.loss == pytest.approx(verdict.promised, abs=1e-6)


def test_the_table_has_both_sound_and_broken_lines():
    lines = list(verify.cases())
    assert {line.policy.name for line in lines if line.sound} >= {
        "bounded",
        "unbounded",
        "addition_only",
        "removal_only",
        "sensitive",
        "presence",
    }
    assert {line.flaw for line in lines if not line.sound} >= {
        "half the noise",
        "noise on the wrong side",
        "a symmetrised policy",
    }


def test_a_function_of_data_and_noise_can_be_checked_in_three_lines():
    def idea(data, noise):
        return len([r for r in data if r.kind == "sensitive"]) + noise.geometric(1, 1)[0]

    report = verify.exact(idea, od.policy.sensitive("x"), Universe(max_groups=0))
    assert report.loss == pytest.approx(1)
    assert report.keeps(1)
    assert not report.keeps("0.9")
    edge, finding = report.worst
    assert edge.name == "sensitive -> open"
    assert not finding.impossible


def test_truncation_breaks_one_sided_presence_noise():
    """The counterexample of docs/guarantees.md: cutting a person down to some places.

    DESIGN says that truncation only voids certificates; it voids the privacy promise as well.
    """
    policy = od.policy.presence(max_groups=1)
    one_sided = Counts(1, od.INFINITE)
    cut = GroupCount(max_groups=1, truncated=True)
    report = verify.exact(one_sided, policy, Universe(), query=cut)
    assert report.worst[1].impossible
    assert not report.keeps(20)
    honest = Counts.for_policy(policy, epsilon=1, max_groups=1, truncated=True)
    assert verify.exact(honest, policy, Universe(), query=cut).keeps(1)


def test_presence_covers_busy_people_for_any_of_their_groups():
    policy = od.policy.presence(max_groups=2)
    mechanism = Counts.for_policy(policy, epsilon=1)
    report = verify.exact(mechanism, policy, Universe(groups=("a", "b", "c"), units=1))
    assert report.keeps(1)
    assert report.loss == pytest.approx(1)


def test_paths_have_total_probability_one():
    def program(noise):
        flips = noise.bernoulli("1/3", 2)
        order = noise.permutation(3)
        return tuple(flips), tuple(order), int(noise.uniform(2, 1)[0])

    weights = [weight for _, weight in paths(program, tail=1e-12)]
    assert len(weights) == 4 * 6 * 2
    assert math.fsum(weights) == pytest.approx(1, abs=1e-14)


def test_the_number_of_draws_may_depend_on_earlier_draws():
    def until_heads(noise):
        count = 0
        while count < 5 and not noise.bernoulli("1/2", 1)[0]:
            count += 1
        return count

    table = {}
    for output, weight in paths(until_heads, tail=1e-12):
        table[output] = table.get(output, 0) + weight
    assert table == {k: 2.0 ** -(k + 1) for k in range(5)} | {5: 2.0**-5}


def test_two_sided_support_matches_the_difference_of_two_geometrics():
    apart, together = {}, {}
    for v, w in paths(lambda n: int(n.geometric(1, 1)[0] - n.geometric(2, 1)[0]), tail=1e-9):
        apart[v] = apart.get(v, 0) + w
    for v, w in paths(lambda n: int(n.two_sided(1, 2, 1)[0]), tail=1e-9):
        together[v] = w
    for v in range(-5, 6):
        assert together[v] == pytest.approx(apart[v], rel=1e-7)


def test_what_cannot_be_enumerated_is_refused():
    with pytest.raises(errors.ParameterError, match="draws"):
        list(paths(lambda n: [n.bernoulli(1, 1) for _ in range(10_001)], tail=1e-9))
    with pytest.raises(errors.ParameterError, match="paths"):
        list(paths(lambda n: n.bernoulli("1/2", 8), tail=1e-9, limit=100))
    with pytest.raises(errors.ParameterError, match="neither"):
        verify.exact(3, od.policy.bounded())
    with pytest.raises(errors.ParameterError, match="tail"):
        verify.exact(Counts(1, 1), od.policy.bounded(), tail=math.nan)
    with pytest.raises(errors.ParameterError, match="compared"):
        verify.exact(lambda _d, _n: bytearray(b"x"), od.policy.bounded())
    with pytest.raises(errors.ParameterError):
        PathNoise([], tail=1e-9).uniform(10**9, 1)
    with pytest.raises(errors.ParameterError):
        Universe(units=0)


def test_arrays_of_rates_are_enumerated_one_by_one():
    support = {tuple(v.tolist()) for v, _ in paths(lambda n: n.geometric([8, 9], 2), tail=1e-3)}
    assert support == {(0, 0)}
    assert np.array(list(support)).shape == (1, 2)
