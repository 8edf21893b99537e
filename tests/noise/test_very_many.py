"""Draws by logarithms, by pairs and by several threads: bounds, rare ways, laws, no shared bits.

Six deviations and more are a false alarm less than once in 5e8; seeds are fixed where they can be.
"""

import os
import threading
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from onesided import INFINITE
from onesided.errors import NoiseError
from onesided.noise import (
    NotPrivateScriptedNoise,
    NotPrivateSeededNoise,
    SecureNoise,
    _geometric,
    _noise,
    _source,
)
from onesided.noise import _uniforms as logarithm
from onesided.noise._source import VERY_MANY, NotPrivateScriptedBits
from onesided.noise._uniforms import resolve
from onesided.verify import agrees, geometric_law

RATES = [Fraction(1, 2**40), Fraction(1, 1000), Fraction(1, 10), Fraction(1), Fraction(7, 3)]
EXTREMES = [Fraction(63), Fraction(65), Fraction(1024), Fraction(1, 13), Fraction(1, 12)]
ONES = 2**64 - 1
WORDS = np.random.default_rng(11).integers(0, 2**64, 2000, dtype=np.uint64)
BORDERS = [0, 1, 2**63 - 1, 2**63, *(ONES - 2**k + d for k in range(1, 64) for d in (-1, 0, 1))]


def true_log(left):
    with localcontext() as context:
        context.prec = 60
        return -(Decimal(left) / 2**64).ln()


def test_logarithms_are_short_by_no_more_than_their_slack():
    left = np.array([w for w in [*WORDS.tolist(), *BORDERS] if 0 < w <= ONES], dtype=np.uint64)
    found, turns = logarithm._logs(left)
    good = turns < logarithm._LEADING
    assert (good == (left >= 2**48)).all()
    for number, log in zip(left[good].tolist(), found[good].tolist(), strict=True):
        assert -Decimal("1e-9") <= true_log(number) * 2**59 - log < logarithm._MANY_SLACK


def test_tables_of_logarithms_are_below_the_truth_by_little():
    tables = logarithm.logarithms()
    for i in range(0, 2048, 31):
        assert tables.factors[i] == 2**23 // (2048 + i + 1)
        truth = -true_log(2**53 * tables.factors[i]) + 0
        assert 0 <= truth * 2**64 - tables.fine[i] < 2
    for e in range(64):
        assert 0 <= true_log(2 ** (64 - e)) * 2**64 - tables.turns[e] < 2
    assert tables.leading[[0, 1, 2, 3, 2**15 - 1, 2**15]].tolist() == [16, 15, 14, 14, 1, 0]
    for array in (tables.many_factors, tables.coarse, tables.coarse_turns, tables.leading):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize("rate", [*RATES, *EXTREMES], ids=str)
def test_logarithm_and_ladder_decide_alike(rate):
    words = np.array([*WORDS[:300].tolist(), *BORDERS], dtype=np.uint64)
    seen = words.tolist()
    some = logarithm.reciprocals([rate])[np.zeros(len(words), dtype=np.int64)]
    draws, undecided = logarithm._draws(words, some)
    for i, word in enumerate(seen):
        alone = logarithm.one(*rate.as_integer_ratio(), word)
        if alone is None and undecided[i]:
            continue
        right = resolve(rate, None, word, 64, NotPrivateScriptedBits([]))
        assert alone in {None, right}
        assert undecided[i] or draws[i] == right


@pytest.mark.parametrize("rate", [0.1, 1 / 3, 2.0**-40, 1024.0, 0.9999999999999999], ids=str)
def test_reciprocals_of_floats_are_within_their_slack(rate):
    found = logarithm.reciprocals_of_floats(np.array([rate]))
    number, shift = int(found.numbers[0]), int(found.shifts[0])
    exact = logarithm.reciprocals([Fraction(rate)])
    assert abs(number - int(exact.numbers[0])) <= 2**10 or shift != int(exact.shifts[0])
    if shift < 63:
        assert abs(Fraction(number) * Fraction(rate) - 2 ** (shift + 5)) <= 2**10 * Fraction(rate)
    assert number < 2**63


@pytest.mark.parametrize("rate", [Fraction(1), Fraction(1, 2**40)], ids=str)
def test_what_a_logarithm_leaves_open_is_decided_by_the_ladder(rate):
    for seen in (ONES, ONES - 1, ONES - 2**31):
        script = [seen, *WORDS[:40].tolist()]
        right = resolve(rate, None, seen, 64, NotPrivateScriptedBits(script[1:]))
        for given in (rate, [rate], np.array([float(rate)])):
            assert NotPrivateScriptedNoise(script).geometric(given, 1).tolist() == [right]


@pytest.mark.parametrize("rate", [*RATES, *EXTREMES[3:]], ids=str)
def test_very_many_draws_follow_the_law(rate):
    draws = NotPrivateSeededNoise(20260102).geometric(rate, 3 * 10**5 + 1)
    assert agrees(draws, geometric_law(rate)).accepted
    assert not agrees(draws, geometric_law(rate * Fraction(11, 10))).accepted
    # Two of one look-up are independent.
    ranks = np.minimum(draws[:-1].reshape(-1, 2), int(3 / rate) + 3)
    assert abs(np.corrcoef(ranks.T)[0, 1]) < 6 / np.sqrt(len(ranks))


@pytest.mark.parametrize("rate", [*RATES, *EXTREMES], ids=str)
def test_pairs_and_parts_rebuild_the_rate(rate):
    tables = _geometric.bulk(rate)
    assert tables.sums.rate == rate * 2**tables.shift >= Fraction(1, 12)
    ends = [*tables.shifts[1:], tables.shift][: len(tables.parts)]
    for part, low, high in zip(tables.parts, tables.shifts, ends, strict=True):
        assert (part.rate, part.span) == (rate * 2**low, 2 ** (high - low))
    assert tables.answered < 2**16
    with pytest.raises(ValueError, match="read-only"):
        tables.table[0] = 1


def test_a_tie_in_what_cells_leave_is_decided_by_further_digits():
    sums = _geometric.bulk(Fraction(1, 10)).sums
    for k in (0, 5, 100):
        digits = sums.digits(192)[k]
        for change, right in ((-1, k), (1, k + 1)):
            near = digits + change
            bits = NotPrivateScriptedBits([near >> 64 & ONES, near & ONES, 0, 0, 0, 0])
            assert sums.settled(near >> 128, bits) == right
    stuck = NotPrivateScriptedBits([ONES] * 100)
    with pytest.raises(NoiseError, match="do not decide"):
        sums.settled(ONES, stuck)


def test_sums_are_divided_evenly():
    sums = np.repeat(np.arange(6), 60_000)
    firsts = _geometric.shares(sums, NotPrivateSeededNoise(9)._bits)
    assert ((firsts >= 0) & (firsts <= sums)).all()
    for total in range(6):
        found = np.bincount(firsts[sums == total], minlength=total + 1)
        expected = 60_000 / (total + 1)
        assert (abs(found - expected) < 6 * np.sqrt(expected)).all()
    # A product whose lower half is too small is drawn again: of 3 only v = 0 is left out.
    bits = NotPrivateScriptedBits([0, 2**63])
    assert _geometric.shares(np.array([2]), bits).tolist() == [2]
    assert bits.used == 2


@pytest.mark.parametrize("size", [VERY_MANY, VERY_MANY + 1, 2**18 - 1, 2**18 + 3])
@pytest.mark.parametrize("rate", [Fraction(1, 12), Fraction(1, 999)], ids=str)
def test_odd_numbers_of_draws(size, rate):
    draws = NotPrivateSeededNoise(size).geometric(rate, size)
    assert draws.shape == (size,)
    assert draws.min() >= 0
    # Far ones, that no half of an entry holds, come as often as they should.
    far = -np.expm1(-float(rate) * 128 * 2 ** _geometric.bulk(rate).shift)
    expected = size * (1 - far)
    found = (draws >= 128 * 2 ** _geometric.bulk(rate).shift).sum()
    assert abs(found - expected) < 6 * np.sqrt(expected) + 6


@pytest.fixture
def two_cores(monkeypatch):
    monkeypatch.setattr(_noise, "FROM", 2**10)
    monkeypatch.setattr(_noise, "cores", lambda: 2)


@pytest.mark.parametrize(("upper", "lower"), [(1, INFINITE), (1, "1/10"), (INFINITE, "1/500")])
def test_two_threads_draw_the_law_from_streams_of_their_own(upper, lower, two_cores, monkeypatch):
    owners, real = {}, _source.SecureBits.words

    def words(self, count):
        drawn = real(self, count)
        owners.setdefault(threading.get_ident(), []).append(drawn[:4].tobytes())
        return drawn

    monkeypatch.setattr(_source.SecureBits, "words", words)
    draws = SecureNoise().two_sided(upper, lower, 100_001)
    assert len(owners) == 2
    first, second = (set(seen) for seen in owners.values())
    assert not first & second
    halves = draws[:50_001], draws[50_001:]
    for half in halves:
        one, two = (
            0 if r is INFINITE else 1 / np.expm1(float(Fraction(r))) for r in (upper, lower)
        )
        spread = np.sqrt((one * (1 + one) + two * (1 + two)) / len(half))
        assert abs(half.mean() - (one - two)) < 7 * spread


def test_threads_end_before_a_draw_does(two_cores):
    before = threading.active_count()
    SecureNoise().geometric(1, 10_000)
    assert threading.active_count() == before


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_after_a_draw_by_threads_draws_other_bits(two_cores):
    source = SecureNoise()
    source.geometric("1/1000", 5000)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, source.geometric("1/1000", 5000)[:50].tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    theirs = os.read(read, 1000)
    os.close(read)
    assert theirs != source.geometric("1/1000", 5000)[:50].tobytes()


def test_what_a_thread_raises_is_raised(two_cores, monkeypatch):
    def broken(self, count):
        if threading.current_thread() is not threading.main_thread():
            raise NoiseError("no bits")
        return np.zeros(count, dtype=np.uint64)

    monkeypatch.setattr(_source.SecureBits, "words", broken)
    with pytest.raises(NoiseError, match="no bits"):
        SecureNoise().geometric(1, 40_000)


def test_without_threads_the_caller_draws_all(two_cores, monkeypatch):
    def refused(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_noise.Thread, "start", refused)
    draws = SecureNoise().geometric(1, 10_001)
    assert (draws >= 0).all()
    assert 0.5 < draws.mean() < 0.7


def test_bits_that_can_be_repeated_are_drawn_by_one_thread(two_cores):
    first, second = (NotPrivateSeededNoise(3).geometric(1, 40_000) for _ in range(2))
    assert (first == second).all()
    assert 1 <= _noise.cores() <= 4
