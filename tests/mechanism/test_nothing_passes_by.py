"""The couplings of docs/proofs on shipped code, written from the definitions alone.

Nothing of the data passes by the noise, and what the noise must make up for costs at most the loss
that is charged.
"""

import math
from fractions import Fraction

import numpy as np
import pytest

import onesided as od
from onesided.mechanism import Counts
from onesided.mechanism.histograms import (
    AGrid,
    Ahp,
    Dawa,
    Hierarchical,
    OpenShape,
    SplitHistogram,
    UniformGrid,
    zeros,
)
from onesided.policy import Shift

SENSITIVE, EXTENDED = od.policy.sensitive("s"), od.policy.extended_sensitive("s")
ADDITION, BOUNDED = od.policy.addition_only(), od.policy.bounded()


class Drawn(np.ndarray):
    """Noise that has not been chosen yet: what it is added to tells which it must have been."""

    source = None
    rates = None

    def __array_finalize__(self, whole):
        self.source, self.rates = getattr(whole, "source", None), getattr(whole, "rates", None)

    def __array_ufunc__(self, ufunc, method, one, two):
        assert method == "__call__"
        noise, exact = (one, two) if isinstance(one, Drawn) else (two, one)
        noisy = noise.source.met(np.asarray(exact, dtype=np.int64), *noise.rates)
        if ufunc in (np.less_equal, np.greater_equal):  # ``exact <= noise``
            return noisy <= 0
        assert ufunc is np.add or (ufunc is np.subtract and two is noise)
        return noisy


class Replayed:
    """Noise by which each noisy number comes out as on the first data; it keeps the exact ones."""

    def __init__(self, random, first=None):
        self.random, self.first = random, first
        self.noisy, self.exact, self.rates = [], [], []

    def two_sided(self, upper, lower, size):
        drawn = np.zeros(size, dtype=np.int64).view(Drawn)
        drawn.source, drawn.rates = self, (upper, lower)
        return drawn

    def geometric(self, rate, size):
        return self.two_sided(od.INFINITE, rate, size)

    def met(self, exact, upper, lower):
        if self.first is None:
            above, below = (self.some(rate, exact.shape) for rate in (upper, lower))
            noisy = exact + above - below
        else:
            noisy = self.first.noisy[len(self.noisy)]
            assert noisy.shape == exact.shape
        self.noisy.append(noisy)
        self.exact.append(exact)
        self.rates.append((upper, lower))
        return noisy

    def some(self, rate, shape):
        if rate == od.INFINITE:
            return np.zeros(shape, dtype=np.int64)
        return self.random.exponential(1 / float(rate), shape).astype(np.int64)


def coupled(mechanism, one, two, random):
    """What it costs that the same comes out of both data; fails if it does not."""
    first = Replayed(random)
    second = Replayed(random, first)
    told, other = mechanism.release(*one, noise=first), mechanism.release(*two, noise=second)
    assert first.rates == second.rates
    assert repr(told) == repr(other)
    assert all(map(np.array_equal, parts(told), parts(other)))
    cost = Fraction(0)
    pairs = zip(first.exact, second.exact, first.rates, strict=True)
    for x, y, (upper, lower) in pairs:
        cost = cost + upper * int(np.maximum(x - y, 0).sum())
        cost = cost + lower * int(np.maximum(y - x, 0).sum())
    return cost


def parts(told):
    tables = getattr(told, "tables", told if isinstance(told, tuple) else (told,))
    return [np.asarray(part) for part in tables]


def histogram(random, shape):
    most = random.choice([3, 20, 1000])
    return random.integers(0, most, shape) * (random.random(shape) < random.choice([0.2, 1]))


def moved(random, counts, fall, rise):
    """``counts`` after a move; the two cells may be one."""
    counts = counts.copy()
    if fall:
        filled = np.flatnonzero(counts)
        counts.flat[random.choice(filled)] -= 1
    if rise:
        counts.flat[random.integers(counts.size)] += 1
    return counts


MOVES = [(BOUNDED, 1, 1), (od.policy.unbounded(), 0, 1), (ADDITION, 1, 0), (SENSITIVE, 1, 1)]


@pytest.mark.parametrize(("policy", "fall", "rise"), MOVES, ids=lambda p: getattr(p, "name", ""))
@pytest.mark.parametrize("shape", [(1,), (2,), (37,), (8, 5)])
def test_two_phases_see_the_data_through_noise_alone(policy, fall, rise, shape):
    random = np.random.default_rng(1)
    made = [Ahp.for_policy(policy, epsilon=1), Hierarchical.for_policy(policy, epsilon=1)]
    if len(shape) == 2:
        made.append(AGrid.for_policy(policy, epsilon=1, records=400))
        made.append(UniformGrid.for_policy(policy, epsilon=1, records=400))
    for mechanism in made:
        for _ in range(10):
            one = histogram(random, shape)
            one.flat[0] += 1
            two = moved(random, one, fall, rise)
            cost = coupled(mechanism, (one,), (two,), random)
            assert cost <= mechanism.loss(Shift(rise=rise, fall=fall)) <= 1


PARTS = [
    (SENSITIVE, 0, (1, 1), (0, 0)),
    (SENSITIVE, 1, (1, 0), (0, 1)),
    (EXTENDED, 0, (1, 0), (0, 0)),
    (EXTENDED, 1, (0, 1), (0, 0)),
    (EXTENDED, 2, (0, 0), (0, 1)),
]


@pytest.mark.parametrize(("policy", "place", "hidden", "opened"), PARTS)
@pytest.mark.parametrize("shape", [(1,), (90,), (8, 5)])
def test_sensitive_and_open_parts_are_charged_per_edge(policy, place, hidden, opened, shape):
    random, edge = np.random.default_rng(2), policy.edges[place]
    split = SplitHistogram.for_policy(policy, epsilon=1)
    shaped = OpenShape.for_policy(policy, epsilon=1, block=7)
    recipes = [zeros(kind).for_policy(policy, epsilon=1) for kind in (Ahp, Hierarchical)]
    for _ in range(10):
        private, free = histogram(random, shape), histogram(random, shape)
        private.flat[0] += 1
        other, others = moved(random, private, *hidden), moved(random, free, *opened)
        for mechanism in (split, shaped):
            cost = coupled(mechanism, (private, free), (other, others), random)
            assert cost <= mechanism.losses(policy)[edge] <= 1
        for mechanism in recipes:
            cost = coupled(mechanism, (private + free, free), (other + others, others), random)
            assert cost <= mechanism.losses(policy)[edge] <= 1


class Peeking(Ahp):
    """Buckets by the true counts."""

    def learn(self, counts, *, noise):
        del noise
        return od.mechanism.histograms.Partition(self.group(counts.ravel()))


def test_the_check_sees_what_passes_by():
    random, peeking = np.random.default_rng(4), Peeking(Counts(1, 1), Counts(1, 1))
    one, two = np.array([5, 40]), np.array([5, 5])
    with pytest.raises(AssertionError):
        coupled(peeking, (one,), (two,), random)


# DAWA's first phase: the draws that keep the chosen partition the cheapest.


class Given:
    """Noise that was chosen beforehand, level by level."""

    def __init__(self, levels):
        self.levels = list(levels)

    def geometric(self, rate, size):
        del rate
        level = self.levels.pop(0)
        assert level.size == size
        return level.copy()


def aligned(size):
    """The intervals that are offered: cells, then those of 2, 4, ... cells, cut off at the end."""
    levels, width = [[(i, i + 1) for i in range(size)]], 2
    while width < 2 * size:
        ends = ((start, min(start + width, size)) for start in range(0, size, width))
        levels.append([(start, end) for start, end in ends if end - start > width // 2])
        width *= 2
    return levels


def deviation(cells):
    return int(np.abs(cells - np.sort(cells)[cells.size // 2]).sum())


def test_dawa_finds_the_same_buckets_with_noise_that_costs_no_more_than_charged():
    random = np.random.default_rng(5)
    for _ in range(300):
        size, rate = int(random.integers(1, 40)), random.choice([0.05, 0.5, 3])
        one = random.integers(0, random.choice([2, 60]), size)
        two = np.maximum(one + random.integers(-1, 2, size) * (random.random(size) < 2 / size), 0)
        levels, mechanism = aligned(size), Dawa(float(rate), upper_rate=1, lower_rate=1)
        chances = [-math.expm1(-rate), *[-math.expm1(-rate / 2)] * (len(levels) - 1)]
        noise = [
            random.geometric(chance, len(level)) - 1
            for chance, level in zip(chances, levels, strict=True)
        ]
        found = mechanism.learn(one, noise=Given(noise)).labels
        starts = np.flatnonzero(np.diff(found, prepend=-1))
        buckets = set(zip(starts.tolist(), [*starts[1:].tolist(), size], strict=True))
        cost = 0.0
        for place, level in enumerate(levels):
            for number, (start, end) in enumerate(level):
                if (start, end) in buckets:
                    x, y = one[start:end], two[start:end]
                    more = deviation(y) - deviation(x) + int(np.abs(x - y).sum())
                    assert more >= 0
                    noise[place][number] += more
                    cost += more * rate / (1 if place == 0 else 2)
        assert cost <= rate * np.abs(one - two).sum() * (1 + 1e-12)
        assert np.array_equal(mechanism.learn(two, noise=Given(noise)).labels, found)
