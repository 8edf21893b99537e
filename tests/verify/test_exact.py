import itertools
import math
import random
from contextlib import suppress
from itertools import combinations
from time import perf_counter

import numpy as np
import pytest

import onesided as od
from onesided import errors, verify
from onesided.mechanism import Counts
from onesided.policy import GroupCount, Record
from onesided.verify import PathNoise, Universe, paths

SMALL = od.policy.sensitive("x")


def test_a_function_of_data_and_noise_can_be_checked_in_three_lines():
    def idea(data, noise):
        return len([r for r in data if r.kind == "sensitive"]) + noise.geometric(1, 1)[0]

    report = verify.exact(idea, od.policy.sensitive("x"), Universe(max_groups=1))
    assert report.loss == pytest.approx(1)
    assert report.keeps(1)
    assert not report.keeps("0.9")
    edge, finding = report.worst
    assert edge.name == "sensitive -> open"
    assert not finding.impossible


def test_truncation_breaks_one_sided_presence_noise():
    """The counterexample of docs/guarantees.md: cutting a person down to some places.

    One might think that truncation only voids certificates; it voids the privacy promise too.
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
    report = verify.exact(mechanism, policy, Universe(groups=("a", "b", "c"), units=1), tail=1e-10)
    assert report.keeps(1)
    assert report.loss == pytest.approx(1, abs=1e-5)


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
    apart = {}
    for v, w in paths(lambda n: int(n.geometric(1, 1)[0] - n.geometric(2, 1)[0]), tail=1e-18):
        apart[v] = apart.get(v, 0) + w
    together = dict(paths(lambda n: int(n.two_sided(1, 2, 1)[0]), tail=1e-18))
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
        verify.exact(lambda _d, _n: memoryview(b"x"), od.policy.bounded())
    with pytest.raises(errors.ParameterError, match="compared"):
        verify.exact(lambda _d, _n: iter("x"), od.policy.bounded())
    with pytest.raises(errors.ParameterError):
        PathNoise(tail=1e-9).uniform(10**9, 1)
    with pytest.raises(errors.ParameterError, match="outcomes"):
        verify.exact(Counts("1/1000", "1/1000"), od.policy.bounded())


@pytest.mark.parametrize(
    "wrong", [{"units": 0}, {"units": 9}, {"groups": itertools.count()}, {"groups": "ab"}]
)
def test_a_world_that_is_not_a_finite_list_is_refused(wrong):
    with pytest.raises(errors.ParameterError):
        Universe(**wrong)


def test_a_world_without_a_single_move_is_refused():
    with pytest.raises(errors.ParameterError, match="no move"):
        verify.exact(Counts(1, 1), od.policy.bounded(), Universe(max_groups=0))


def test_a_world_with_too_many_data_sets_is_refused():
    with pytest.raises(errors.ParameterError, match="data sets"):
        verify.exact(Counts(1, 1), od.policy.bounded(), Universe(groups=tuple("abcdefgh"), units=4))


def test_draws_as_many_as_a_secret_says_are_refused_when_they_have_no_bound():
    def idea(data, noise):
        return sum(int(noise.bernoulli(1, 1)[0]) for _ in range(10**6 * len(data)))

    with pytest.raises(errors.ParameterError, match="as often as a secret says"):
        verify.exact(idea, SMALL, Universe(max_groups=0))


def test_a_program_that_never_ends_is_refused():
    def silent(_data, _noise):
        while True:
            pass

    with pytest.raises(errors.ParameterError, match=r"more than 0\.2 seconds"):
        verify.exact(silent, SMALL, Universe(max_groups=0), patience=0.2)


def test_a_program_that_draws_for_ever_keeps_no_probability_and_is_refused():
    def endless(_data, noise):
        while True:
            noise.bernoulli("1/2", 1)

    with pytest.raises(errors.ParameterError, match="nothing would follow"):
        verify.exact(endless, SMALL, Universe(max_groups=0), tail=1e-3)


def test_a_program_that_almost_surely_ends_is_checked_up_to_its_tail():
    def until_heads(_data, noise):
        count = 0
        while not noise.bernoulli("1/2", 1)[0]:
            count += 1
        return count

    report = verify.exact(until_heads, SMALL, Universe(max_groups=0), tail=1e-9)
    assert report.loss == pytest.approx(0, abs=1e-6)
    assert 0 < report.outside < 1e-8


def test_chance_from_elsewhere_is_noticed():
    def cheat(_data, noise):
        first = noise.bernoulli("1/2", 1)[0]
        return first, noise.uniform(random.randint(2, 10**6) % 97 + 2, 1)[0]

    with pytest.raises(errors.ParameterError, match=r"asked random\.randint"):
        verify.exact(cheat, SMALL, Universe(max_groups=0))


def test_no_program_can_swallow_the_end_of_an_unlikely_path():
    def greedy(_data, noise):
        total = 0
        while True:
            with suppress(Exception):
                total += int(noise.geometric(1, 1)[0])
            if total > 3:
                return total

    report = verify.exact(greedy, SMALL, Universe(max_groups=0), tail=1e-4)
    assert report.loss == pytest.approx(0, abs=0.5)


def test_what_was_cut_is_bounded_and_what_is_proven_is_said():
    """Fine tails are the truth; the coarse bound must lie below it, and its proof above it."""
    policy = od.policy.bounded()
    one = Universe(groups=("a",), units=1)
    fine = verify.exact(Counts("1/2", "1/2"), policy, one, tail=1e-14)
    coarse = verify.exact(Counts("1/2", "1/2"), policy, one, tail=1e-3)
    assert coarse.loss <= fine.loss <= 0.5 + 1e-9
    assert 1e-4 < coarse.outside < 1e-2
    assert fine.delta("1/2") < 1e-11
    assert coarse.delta("1/2") >= coarse.outside
    # At half the true loss the true delta is Pr[f + D <= 0] (1 - e^(-1/4)), about 0.14.
    truth = (1 - math.exp(-0.25)) / (1 + math.exp(-0.5))
    assert truth <= coarse.delta("1/4") <= truth + 2 * coarse.outside
    assert fine.delta("1/4") == pytest.approx(truth, abs=1e-9)


def test_finite_noise_leaves_nothing_outside():
    def flip(data, noise):
        return bool(noise.bernoulli("1/4", 1)[0]) != ("a" in data[0].value)

    report = verify.exact(flip, od.policy.bounded(), Universe(groups=("a",), units=1))
    assert report.outside == 0
    assert report.loss == pytest.approx(math.log(3), abs=1e-12)
    assert report.delta(math.log(3)) < 1e-12


def test_the_directions_are_kept_apart():
    """One-sided noise: a fall costs 1, a rise is not hidden at all."""
    falls = verify.exact(Counts(1, od.INFINITE), od.policy.addition_only(), Universe(units=1))
    rises = verify.exact(Counts(1, od.INFINITE), od.policy.removal_only(), Universe(units=1))
    assert falls.loss == pytest.approx(2, abs=1e-6)  # one record in two groups
    assert rises.worst[1].impossible


def test_lists_are_checked_in_every_place_and_bags_in_one_order():
    def first(data, noise):
        return len(data[0].value) + noise.geometric(1, 1)[0]

    def last(data, noise):
        return len(data[-1].value) + noise.geometric(1, 1)[0]

    for program in (first, last):
        listed = Universe(groups=("a",), ordered=True)
        report = verify.exact(program, od.policy.presence(max_groups=1), listed)
        assert report.loss == pytest.approx(1, abs=1e-6)
    seen = set()
    verify.exact(lambda data, _: seen.add(data) or 0, od.policy.bounded(), Universe(groups=("a",)))
    assert len(seen) == 3


def test_an_estimate_is_given_before_and_progress_during_the_check(capsys):
    policy = od.policy.presence(max_groups=1)
    mechanism = Counts.for_policy(policy, epsilon=1)
    foretold = verify.estimate(mechanism, policy)
    calls = []
    report = verify.exact(mechanism, policy, progress=lambda *call: calls.append(call))
    assert foretold.noise_paths == report.noise_paths
    assert foretold.data_sets == report.data_sets
    assert calls[-1] == (report.data_sets, report.data_sets)
    verify.exact(mechanism, policy, progress=True)
    assert "noise paths, about" in capsys.readouterr().err


def test_several_processes_find_the_same():
    policy = od.policy.presence(max_groups=1)
    mechanism = Counts.for_policy(policy, epsilon=1)
    assert verify.exact(mechanism, policy, processes=2) == verify.exact(mechanism, policy)
    with pytest.raises(errors.ParameterError, match="cannot be sent"):
        verify.exact(lambda _d, _n: 0, policy, processes=2)


@pytest.mark.only_slow
def test_two_million_paths_take_about_a_minute():
    """65,536 noise paths for each of 30 data sets, on one core, whoever else uses the machine."""

    def sixteen_coins(data, noise):
        return sum(noise.bernoulli("1/3", 16)) + len(data[0].value)

    groups = tuple("abcde")
    values = tuple(
        Record("record", frozenset(c)) for n in range(5) for c in combinations(groups, n)
    )
    world = Universe(groups=groups, units=1, values=values[:30])
    start = perf_counter()
    report = verify.exact(sixteen_coins, od.policy.bounded(), world)
    assert report.noise_paths == 30 * 65_536
    assert perf_counter() - start < 120


def test_arrays_of_rates_are_enumerated_one_by_one():
    support = {tuple(v.tolist()) for v, _ in paths(lambda n: n.geometric([8, 9], 2), tail=1e-3)}
    assert support == {(0, 0)}
    assert np.array(list(support)).shape == (1, 2)


def test_an_edge_that_no_pair_of_data_sets_exercises_is_not_tested():
    """A universe without open records once proved every edge of ``sensitive``."""
    values = tuple(Record("sensitive", frozenset(place)) for place in "ab")
    world = Universe(units=1, values=values)
    counts = Counts.for_policy(SMALL, epsilon=1)
    report = verify.exact(counts, SMALL, world)
    assert [edge.name for edge in report.untested] == ["sensitive -> open"]
    assert report.loss == pytest.approx(1, abs=1e-6)
    assert not report.keeps(1)
    assert report.delta(1) == 1
    verdict = verify.shipped(counts, SMALL, universe=world).run()
    assert not verdict.accepted
    assert not verdict.right
    assert verdict.word == "NOT TESTED: sensitive -> open"
    assert verify.exact(counts, SMALL, Universe(units=1, max_groups=1)).keeps(1)


def test_an_edge_along_which_no_count_moves_although_it_may_is_not_tested():
    same = (Record("sensitive", frozenset("a")), Record("open", frozenset("a")))
    report = verify.exact(Counts(1, 1), SMALL, Universe(units=1, values=same))
    assert {edge.name for edge in report.untested} == {
        "sensitive -> sensitive",
        "sensitive -> open",
    }
    opened = GroupCount(max_groups=1, counted=frozenset({"open"}))
    world = Universe(units=1, max_groups=1)
    assert verify.exact(Counts(od.INFINITE, 1), SMALL, world, query=opened).keeps(1)


def test_a_light_report_does_not_call_anything_proven():
    report = verify.exact(Counts(1, od.INFINITE), od.policy.presence(max_groups=1))
    assert report.delta(1) < 1e-9
    with pytest.raises(errors.ParameterError, match="no longer holds"):
        report.light().delta(1)


def the_truth_beside_unused_noise(data, noise):
    noise.geometric("1/4", 3)
    return sum(record.kind != "absent" for record in data)


def test_nothing_is_kept_where_most_was_left_out():
    """Paths that a coarse tail cuts count for the mechanism: alone they would hide any loss."""
    report = verify.exact(the_truth_beside_unused_noise, od.policy.addition_only(), tail=1e-3)
    assert report.outside > 0.2
    assert report.loss < 1
    assert not report.keeps(1)
    assert report.keeps(1, unseen=1)
    assert report.delta(1) == 1
