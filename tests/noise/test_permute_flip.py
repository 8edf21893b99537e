"""Permute and flip over groups of items: the law, what cannot be meant, and many items."""

import time
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from onesided import INFINITE
from onesided.errors import NoiseError, ParameterError
from onesided.noise import NotPrivateScriptedNoise, NotPrivateSeededNoise
from onesided.noise import _order as sampler
from onesided.noise.kit import NotPrivateSeededBits, permuted
from onesided.verify._enumerate import support

FALSE_ALARM = 1e-6
CASES = [
    ("1/2", (0, 1, 3), (1, 2, 5)),
    ("1", (0, 2, 5), (3, 40, 150)),
    ("1/10", (5, 0, 20, 3), (10, 1, 100, 4)),
    ("5", (0, 1), (1, 1)),
    ("1/100", (0, 50, 200), (1, 60, 130)),
    ("1/1000", (0, 7000, 9000), (2, 100, 90)),
]


def chances(rate, deficits, sizes):
    """Of each group, as the enumerating double has them."""
    found = support(("permute_and_flip", Fraction(rate), deficits, sizes), 1e-12)
    weights = np.zeros(len(deficits))
    weights[found.values[:, 0]] = found.weights
    return weights


def drawn(rate, deficits, sizes, *, seed, times):
    noise, found = NotPrivateSeededNoise(seed), np.zeros(len(deficits))
    given = np.array(deficits), np.array(sizes)
    for _ in range(times):
        found[noise.permute_and_flip(rate, *given)] += 1
    return found


def p_value(found, expected):
    told = expected > 0
    statistic = ((found - expected) ** 2 / expected)[told].sum()
    return float(stats.chi2.sf(statistic, told.sum() - 1))


@pytest.mark.parametrize(("rate", "deficits", "sizes"), CASES)
def test_groups_come_as_often_as_the_law_says(rate, deficits, sizes, long_form):
    times = 40_000 if long_form else 3000
    found = drawn(rate, deficits, sizes, seed=11, times=times)
    assert p_value(found, chances(rate, deficits, sizes) * times) > FALSE_ALARM


def test_the_law_is_that_of_flips_in_a_random_order():
    """The definition, walked through: every order, every outcome of every coin."""
    rate, deficits = 0.7, (0, 1, 1, 3)
    accepted, found = np.exp(-rate * np.array(deficits)), np.zeros(4)
    orders = list(permutations(range(4)))
    for order in orders:
        left = 1.0
        for item in order:
            found[item] += left * accepted[item] / len(orders)
            left *= 1 - accepted[item]
    grouped = chances("7/10", (0, 1, 3), (1, 2, 1))
    assert [found[0], found[1] + found[2], found[3]] == pytest.approx(grouped.tolist())


def drawn_side_by_side(rate, deficits, sizes, *, seed, times):
    """As ``drawn``, all at once; and how often each item of the first group is taken."""
    number = len(deficits)
    groups, items = permuted(
        NotPrivateSeededNoise(seed),
        Fraction(rate),
        np.tile(np.array(deficits), times),
        np.tile(np.array(sizes), times),
        np.arange(1, times + 1) * number,
    )
    assert (groups // number == np.arange(times)).all()
    of = groups % number
    assert (items < np.array(sizes)[of]).all()
    return np.bincount(of, minlength=number), np.bincount(items[of == 0], minlength=sizes[0]), of


@pytest.mark.parametrize(("rate", "deficits", "sizes"), CASES)
def test_many_draws_side_by_side_follow_the_same_law(rate, deficits, sizes, long_form):
    times = 400_000 if long_form else 20_000
    found, items, of = drawn_side_by_side(rate, deficits, sizes, seed=21, times=times)
    law = chances(rate, deficits, sizes)
    assert p_value(found, law * times) > FALSE_ALARM
    if sizes[0] > 1:  # each item of a group is as likely
        assert stats.chisquare(items).pvalue > FALSE_ALARM
    pairs = np.bincount(of[::2] * len(law) + of[1::2], minlength=len(law) ** 2)
    assert p_value(pairs, np.outer(law, law).ravel() * (times // 2)) > FALSE_ALARM


@pytest.mark.parametrize("slower", [3, 6])
def test_later_rounds_follow_the_same_law(monkeypatch, slower):
    """Rounds after the first are rare: here they are forced, by having few items come in each."""
    right = sampler._halvings
    monkeypatch.setattr(sampler, "_halvings", lambda *given: right(*given) + slower)
    rate, deficits, sizes = "1/2", (0, 1, 4), (2, 3, 9)
    found, _, _ = drawn_side_by_side(rate, deficits, sizes, seed=22, times=20_000)
    assert p_value(found, chances(rate, deficits, sizes) * 20_000) > FALSE_ALARM


def test_side_by_side_a_law_that_is_a_tenth_off_is_seen():
    rate, deficits, sizes = "1/10", (0, 8), (1, 4)
    found, _, _ = drawn_side_by_side("11/100", deficits, sizes, seed=23, times=100_000)
    assert p_value(found, chances(rate, deficits, sizes) * 100_000) < FALSE_ALARM


def test_draws_of_very_many_items_stand_beside_small_ones():
    deficits, sizes = np.array([0, 8, 0, 1]), np.array([2**60, 2**60, 1, 1])
    ends = np.tile([2, 4], 400) + np.repeat(np.arange(400) * 4, 2)
    groups, items = permuted(
        NotPrivateSeededNoise(24), Fraction(1, 8), np.tile(deficits, 400), np.tile(sizes, 400), ends
    )
    first = np.bincount(groups[::2] % 4, minlength=2)
    assert stats.binomtest(int(first[0]), 400, 1 / (1 + np.exp(-1))).pvalue > FALSE_ALARM
    assert (items[::2] > 2**40).mean() > 0.9
    assert set((groups[1::2] % 4).tolist()) == {2, 3}
    assert (items[1::2] == 0).all()


def test_a_draw_of_many_takes_no_longer_for_each_than_its_items_ask():
    """Words of random bits: a few thousand draws take some for each, whatever their items."""

    class Counting(NotPrivateSeededBits):
        taken = 0

        def words(self, count):
            Counting.taken += count
            return super().words(count)

    times, far = 2000, np.abs(np.arange(-500, 501))
    ends = np.arange(1, times + 1) * far.size
    sampler.taken_each(
        Fraction(1), np.tile(far, times), np.ones(times * far.size, np.int64), ends, Counting(25)
    )
    assert Counting.taken < 1100 * times  # about 280 in each


@pytest.mark.parametrize("first", [Fraction(1, 64), Fraction(1, 8), Fraction(1, 2)])
def test_later_passes_follow_the_same_law(monkeypatch, first):
    """Passes after the first are rare: here they are forced, by starting too early."""
    monkeypatch.setattr(sampler, "_first", lambda _bands: first)
    rate, deficits, sizes = "1/2", (0, 1, 4), (2, 3, 9)
    found = drawn(rate, deficits, sizes, seed=12, times=3000)
    assert p_value(found, chances(rate, deficits, sizes) * 3000) > FALSE_ALARM


@pytest.mark.heavy
def test_the_check_sees_a_law_that_is_a_tenth_off():
    rate, deficits, sizes = "1/10", (0, 8), (1, 4)
    found = drawn("11/100", deficits, sizes, seed=13, times=20_000)
    right = drawn(rate, deficits, sizes, seed=14, times=20_000)
    expected = chances(rate, deficits, sizes) * 20_000
    assert p_value(right, expected) > FALSE_ALARM > p_value(found, expected) * 1e-3


def test_a_rate_without_end_takes_the_nearest_alone():
    deficits, sizes = np.array([1, 0, 0, 5]), np.array([9, 1, 3, 9])
    noise, found = NotPrivateSeededNoise(15), np.zeros(4)
    for _ in range(2000):
        found[noise.permute_and_flip(INFINITE, deficits, sizes)] += 1
    assert found[0] == found[3] == 0
    assert stats.binomtest(int(found[1]), 2000, 0.25).pvalue > FALSE_ALARM


def test_more_items_than_anybody_could_list_take_no_longer():
    many = np.full(3, 2**60)
    noise = NotPrivateSeededNoise(16)
    found = [noise.permute_and_flip("1/8", np.array([0, 8, 800]), many) for _ in range(400)]
    assert stats.binomtest(found.count(0), 400, 1 / (1 + np.exp(-1))).pvalue > FALSE_ALARM
    assert 2 not in found
    far = np.abs(np.arange(-(10**6), 10**6 + 1))
    sizes = np.where(far % 2, 1, 2**20)
    start = time.process_time()
    noise.permute_and_flip("1/100", far, sizes)
    assert time.process_time() - start < 5  # 0.2 s on an idle core


@pytest.mark.parametrize(
    ("deficits", "sizes"),
    [
        ([], []),
        ([0.0, 1.0], [1, 1]),
        ([0, 1], [1]),
        ([[0]], [[1]]),
        ([1, 2], [1, 1]),
        ([0, -1], [1, 1]),
        ([0, 1], [1, 0]),
        ([0, 0], [2**62, 1]),
    ],
)
def test_groups_that_cannot_be_meant(deficits, sizes):
    silent = NotPrivateScriptedNoise([])
    with pytest.raises(ParameterError):
        silent.permute_and_flip(1, np.array(deficits), np.array(sizes))


@pytest.mark.parametrize("bad", [0, -1, float("nan"), None, True, 2000])
def test_rates_that_cannot_be_meant(bad):
    with pytest.raises(ParameterError):
        NotPrivateScriptedNoise([]).permute_and_flip(bad, np.array([0]), np.array([1]))


def test_a_source_that_is_stuck_is_refused():
    class Ones:
        def word(self):
            return 2**64 - 1

        def words(self, count):
            return np.full(count, 2**64 - 1, dtype=np.uint64)

    with pytest.raises(NoiseError):
        sampler.taken(Fraction(1), np.zeros(1, dtype=np.int64), np.array([2**50]), Ones())
