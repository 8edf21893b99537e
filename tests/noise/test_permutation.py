"""Is every order equally likely? Counted on all orders of four and five, by every path."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from scipy import stats

from onesided.noise import NotPrivateScriptedNoise, NotPrivateSeededNoise, _order

# Chance that a correct shuffle fails one test. Seeds are fixed, so a run is reproducible.
FALSE_ALARM = 1e-6

# Lengths that are met only far up are brought down, so that a few items take each path.
PATHS = {
    "64-bit keys": {},
    "32-bit keys": {"_SHORT": 1},
    "dealt, then 64-bit keys": {"_UNDEALT": 1, "_BUCKET_BITS": 2},
    "dealt, then 32-bit keys": {"_UNDEALT": 1, "_BUCKET_BITS": 1, "_SHORT": 0},
    "dealt in small pieces": {"_UNDEALT": 1, "_BUCKET_BITS": 2, "CHUNK": 3},
    "more buckets than items": {"_UNDEALT": 1, "_BUCKET_BITS": 0},
}


@pytest.fixture(params=PATHS, ids=str)
def path(request, monkeypatch):
    for name, value in PATHS[request.param].items():
        monkeypatch.setattr(_order, name, value)
    return request.param


def p_value(shuffle, length, times):
    """Chi-square over all orders, each expected equally often."""
    orders = {order: i for i, order in enumerate(permutations(range(length)))}
    counts = np.zeros(len(orders))
    for _ in range(times):
        counts[orders[tuple(shuffle(length))]] += 1
    return stats.chisquare(counts).pvalue


@pytest.mark.parametrize("length", [4, 5])
def test_every_order_is_equally_likely(length, path, long_form):
    noise = NotPrivateSeededNoise(20260101)
    times = 40_000 if long_form else 4000
    assert p_value(lambda n: noise.permutation(n).tolist(), length, times) > FALSE_ALARM


def swap_with_any(random):
    """The best-known wrong shuffle: each item changes places with any, not with a later one."""

    def shuffle(length):
        items = list(range(length))
        for i in range(length):
            j = random.integers(length)
            items[i], items[j] = items[j], items[i]
        return items

    return shuffle


def short_keys(random):
    """Keys of 3 bits, equal ones left in place."""
    return lambda length: np.argsort(random.integers(8, size=length), kind="stable").tolist()


def dealt_but_not_shuffled(random):
    """Buckets whose contents stay in order."""

    def shuffle(length):
        bucket = random.integers(4, size=length)
        first = [i for i in range(length) if bucket[i] % 2]
        rest = [i for i in range(length) if not bucket[i] % 2]
        return [*random.permutation(first).tolist(), *rest]

    return shuffle


@pytest.mark.parametrize("length", [4, 5])
@pytest.mark.parametrize("wrong", [swap_with_any, short_keys, dealt_but_not_shuffled])
def test_biased_shuffles_are_rejected(wrong, length):
    assert p_value(wrong(np.random.default_rng(1)), length, 4000) < FALSE_ALARM


@pytest.mark.parametrize("length", [0, 1, 2, 1024, 1025, 2**15, 2**15 + 1, 2**16 + 3, 300_001])
def test_each_number_comes_once(length):
    order = NotPrivateSeededNoise(1).permutation(length)
    assert order.dtype == np.int64
    assert order.flags.owndata
    assert np.array_equal(np.sort(order), np.arange(length))


@pytest.mark.parametrize("length", [1000, 20_000, 500_000])
def test_long_orders_look_uniform(length):
    """Where numbers go, which of two neighbours is larger, and which neighbours stay together."""
    noise = NotPrivateSeededNoise(20260101)
    orders = [noise.permutation(length) for _ in range(1_000_000 // length)]
    edges = np.arange(17) * length // 16
    table = np.zeros((16, 16))
    for order in orders:
        for row, (low, high) in enumerate(pairwise(edges)):
            table[row] += np.histogram(order[low:high], edges)[0]
    expected = np.outer(np.diff(edges), np.diff(edges)) / length * len(orders)
    # Rows and columns are fixed, and so 15 x 15 cells are free; cells vary a little less.
    assert stats.chi2.sf(((table - expected) ** 2 / expected).sum(), 225) > FALSE_ALARM
    descents = sum(int((order[1:] < order[:-1]).sum()) for order in orders)
    deviation = (length + 1) / 12 * len(orders)
    assert abs(descents - (length - 1) / 2 * len(orders)) < 6 * np.sqrt(deviation)
    together = sum(int((order[1:] == order[:-1] + 1).sum()) for order in orders)
    mean = (length - 1) / length * len(orders)
    tails = stats.poisson.cdf(together, mean), stats.poisson.sf(together - 1, mean)
    assert min(tails) > FALSE_ALARM


def test_repeated_keys_are_thrown_away():
    script = [5, 5, 9, 3, 2, 1]
    assert NotPrivateScriptedNoise(script).permutation(3).tolist() == [2, 1, 0]


def test_repeated_short_keys_are_thrown_away(monkeypatch):
    monkeypatch.setattr(_order, "_SHORT", 1)
    same, rising = 7 << 32 | 7, 2 << 32 | 1
    # 32-bit keys (7, 7, 0) and then (1, 2, 0).
    noise = NotPrivateScriptedNoise([same, 0, rising, 0])
    assert noise.permutation(3).tolist() == [2, 0, 1]


def test_keys_that_differ_in_one_half_only_are_told_apart(monkeypatch):
    monkeypatch.setattr(_order, "_SHORT", 1)
    for step in (1, 2**16):
        keys = [5 * step, 3 * step, 4 * step, 0]
        script = [keys[1] << 32 | keys[0], keys[3] << 32 | keys[2]]
        assert NotPrivateScriptedNoise(script).permutation(4).tolist() == [3, 1, 2, 0]
