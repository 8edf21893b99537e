"""Continual counts: certain at all times, noise as foretold, streams that are refused."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onesided import policy as policies
from onesided import verify
from onesided.errors import DataError, NoiseError, ParameterError
from onesided.linear import Prefix
from onesided.noise import NotPrivateSeededNoise
from onesided.numbers import INFINITE
from onesided.policy import Record, Shift
from onesided.verify import Universe
from onesided_experiments.continual import ContinualCount

RATES = [(1, INFINITE), (INFINITE, 1), (2, "1/2")]


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=40),
    st.sampled_from(RATES),
    st.booleans(),
    st.integers(0, 99),
)
def test_bounds_of_a_side_without_noise_hold_at_all_times(steps, rates, known, seed):
    horizon = len(steps) if known else None
    mechanism = ContinualCount(*rates, horizon=horizon)
    stream = mechanism.stream(noise=NotPrivateSeededNoise(seed))
    for time, truth in enumerate(np.cumsum(steps), start=1):
        answer = stream.step(steps[time - 1])
        bounds = answer.interval()
        if bounds.upper_certain:
            assert bounds.upper[0] >= truth
        if bounds.lower_certain:
            assert bounds.lower[0] <= truth
        assert answer.variance == pytest.approx(mechanism.variance(time))
        assert answer.nodes <= 2 * time.bit_length()


@given(st.integers(1, 300), st.booleans())
def test_no_step_is_in_more_nodes_than_it_was_charged_for(steps, known):
    """The noise is drawn once for each node; its rate is one level's share."""

    class Counting:
        def __init__(self):
            self.draws = []

        def two_sided(self, upper, _lower, size):
            self.draws.append((upper, size))
            return np.zeros(size, dtype=np.int64)

    noise = Counting()
    mechanism = ContinualCount(1, 1, horizon=steps if known else None)
    stream = mechanism.stream(noise=noise)
    losses = np.zeros(steps, dtype=object)
    open_nodes = []
    for time in range(steps):
        stream.step(0)
        # Rebuild, from its definition, which steps the node drawn now is the sum of.
        size = (time + 1 if known else time + 2 - 2 ** ((time + 1).bit_length() - 1)) or 1
        size &= -size
        open_nodes.append(size)
        losses[time + 1 - size : time + 1] += noise.draws[-1][0]
    assert len(noise.draws) == steps
    assert max(losses) == 1 if not known or steps > 1 else max(losses) <= 1


def test_without_noise_the_answers_are_the_running_total():
    mechanism = ContinualCount(INFINITE, INFINITE, horizon=None)
    values = np.arange(50)
    assert mechanism.release(values).tolist() == np.cumsum(values).tolist()
    assert mechanism.variance(50) == 0


def test_columns_are_counted_side_by_side():
    mechanism = ContinualCount(INFINITE, INFINITE, horizon=4, width=3)
    values = np.arange(12).reshape(4, 3)
    assert mechanism.release(values).tolist() == np.cumsum(values, axis=0).tolist()


def test_answers_have_the_noise_that_was_foretold():
    """4,000 streams of 13 steps, z below 5 in mean and variance: a false alarm in 10^5 runs."""
    mechanism = ContinualCount.for_policy(policies.presence(max_groups=1), epsilon=1, horizon=13)
    noise = NotPrivateSeededNoise(7)
    wide = ContinualCount(mechanism.upper_rate, INFINITE, horizon=13, width=4_000)
    stream = wide.stream(noise=noise)
    for time in range(1, 14):
        answer = stream.step(np.zeros(4_000, dtype=np.int64))
        spread = mechanism.variance(time)
        assert abs(answer.estimate.mean()) < 5 * (spread / 4_000) ** 0.5
        # The fourth moment of a sum of geometrics is at most 9 variances squared.
        assert abs(answer.estimate.var() / spread - 1) < 5 * (8 / 4_000) ** 0.5
        other = answer.interval(confidence="0.9")
        assert np.mean(other.lower > 0) < 0.1
        doubled = 2 * spread
        assert abs(answer.estimate.var() / doubled - 1) > 5 * (8 / 4_000) ** 0.5 * 0.9


def test_a_stream_without_an_end_pays_only_logarithms():
    mechanism = ContinualCount.for_policy(policies.unbounded(), epsilon=1, horizon=None)
    known = ContinualCount.for_policy(policies.unbounded(), epsilon=1, horizon=1023)
    assert mechanism.loss(Shift(rise=0, fall=1)) == 1
    assert mechanism.variance(1023) < 4 * known.variance(1023)


@pytest.mark.parametrize(
    "policy",
    [
        policies.presence(max_groups=1),
        policies.presence(max_groups=7),
        policies.attributes({"place": "*"}),
        policies.unbounded(),
        policies.bounded(),
        policies.graph([("a", "b")]),
        policies.presence(max_groups=2) & policies.sensitive("minor"),
    ],
    ids=lambda policy: f"{policy.name}",
)
@pytest.mark.parametrize("events", [1, 2, 5])
def test_every_event_of_a_unit_is_priced_whatever_the_policy(policy, events):
    made = ContinualCount.for_policy(policy, epsilon=2, horizon=4, max_events=events)
    plain = policy.shifts(policies.GroupCount())
    for edge, many in plain.items():
        for shift in many:
            # All events of a unit, and no others, move on an edge along which counts move.
            both = Shift(rise=events * bool(shift.rise), fall=events * bool(shift.fall))
            assert made.loss(both) <= 2 * edge.weight
    assert (made.lower_rate == INFINITE) == all(
        not shift.rise for many in plain.values() for shift in many
    )


@pytest.mark.parametrize("events", [0, -1, 2.5, "x", True])
def test_bad_numbers_of_events(events):
    with pytest.raises(ParameterError):
        ContinualCount.for_policy(policies.unbounded(), epsilon=1, horizon=4, max_events=events)


def test_a_vehicle_whose_positions_are_near_is_counted_by_prefix_sums():
    """Positions at two times on a line of 3 cells; any one may have been the next cell.

    The stream is of prefix sums over cells, of which such a move changes one, at one time.
    """
    near = policies.neighbourhood(
        radius=1, places={f"{t}{x}": (10 * t, x) for t in (1, 2) for x in (0, 1, 2)}
    )
    # Times are ten apart, so no move changes a time.
    mechanism = ContinualCount(8, 8, horizon=2, width=2)
    strategy = Prefix(3)

    def program(data, noise):
        counts = np.zeros((2, 3), dtype=np.int64)
        for record in data:
            (name,) = record.value
            counts[int(name[0]) - 1, int(name[1])] += 1
        sums = np.array([strategy.apply(step)[:2] for step in counts])
        return tuple(mechanism.release(sums, noise=noise).ravel().tolist())

    names = tuple(name for name, _ in near.places)
    values = tuple(Record("point", frozenset({name})) for name in names)
    world = Universe(groups=names, units=1, values=values)
    report = verify.exact(program, near, world, tail=1e-6)
    assert report.keeps(mechanism.loss(Shift(rise=1, fall=0)))
    assert report.loss > 7.9
    assert not report.keeps("7.9")


@pytest.mark.parametrize("horizon", [0, -1, 2.5, True, "x", 2**41])
def test_bad_horizons(horizon):
    with pytest.raises(ParameterError):
        ContinualCount(1, 1, horizon=horizon)


def test_bad_steps_change_nothing():
    stream = ContinualCount(1, INFINITE, horizon=2).stream(noise=NotPrivateSeededNoise(1))
    for bad in (-1, 0.5, [1, 2], float("nan"), 2**63):
        with pytest.raises((DataError, OverflowError)):
            stream.step(bad)
    assert stream.time == 0
    stream.step(2**61)
    with pytest.raises(DataError, match="62 bits"):
        stream.step(2**62)
    stream.step(0)
    with pytest.raises(DataError, match="horizon of 2 steps is over"):
        stream.step(0)
    assert stream.time == 2


def test_bad_rates_and_shapes():
    for bad in (0, -1, float("nan"), float("inf"), True):
        with pytest.raises(ParameterError):
            ContinualCount(bad, 1, horizon=4)
        with pytest.raises(ParameterError):
            ContinualCount.for_policy(policies.unbounded(), epsilon=bad, horizon=4)
    with pytest.raises(DataError, match="2 counts, got 1"):
        ContinualCount(1, 1, horizon=4, width=2).release([1, 2])
    with pytest.raises(ParameterError):
        ContinualCount(Fraction(1, 2**40), 1, horizon=None)  # shared out, too small to draw


class Failing:
    """Fails at every third draw, and passes the others on."""

    def __init__(self):
        self.inner, self.draws = NotPrivateSeededNoise(5), 0

    def two_sided(self, upper, lower, size):
        self.draws += 1
        if self.draws % 3 == 1:
            raise NoiseError("No bits.")
        return self.inner.two_sided(upper, lower, size)


@pytest.mark.parametrize("double", [copy.copy, copy.deepcopy, pickle.dumps])
def test_no_stream_can_be_doubled(double):
    with pytest.raises(ParameterError, match="copied"):
        double(ContinualCount(1, "1/2", horizon=40).stream())


def test_a_certain_bound_survives_draws_that_fail():
    stream = ContinualCount("1/4", INFINITE, horizon=None).stream(noise=Failing())
    total = 0
    for count in range(60):
        try:
            answer = stream.step(count)
        except NoiseError:
            continue  # not counted, and not in later answers either
        total += count
        assert answer.interval().upper_certain
        assert answer.interval().upper[0] >= total


def test_steps_of_many_threads_are_each_taken_once():
    stream = ContinualCount(1000, 1000, horizon=400).stream()
    with ThreadPoolExecutor(8) as pool:
        times = [answer.time for answer in pool.map(lambda _: stream.step(1), range(400))]
    assert sorted(times) == list(range(1, 401))


def test_counts_of_all_so_far_never_fall_and_err_less():
    mechanism = ContinualCount("1/4", "1/4", horizon=256)
    counts = np.random.default_rng(1).integers(0, 2, 256)
    truth, before, after = np.cumsum(counts), [], []
    for seed in range(12):
        stream = mechanism.stream(noise=NotPrivateSeededNoise(seed))
        answers = [stream.step([count]) for count in counts]
        rising = mechanism.rising(answers)
        assert rising.shape == (256, 1)
        assert (np.diff(rising[:, 0]) >= 0).all()
        assert (rising >= 0).all()
        plain = np.array([answer.estimate[0] for answer in answers])
        before.append(((plain - truth) ** 2).mean())
        after.append(((rising[:, 0] - truth) ** 2).mean())
    assert np.mean(after) < 0.8 * np.mean(before)
    assert mechanism.rising([]).shape == (0, 1)
    clear = ContinualCount(INFINITE, INFINITE, horizon=4)
    told = clear.stream()
    assert clear.rising([told.step([2]), told.step([1])]).tolist() == [[2], [3]]
