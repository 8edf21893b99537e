"""Thresholds against numbers from elsewhere, and the paths that chance almost never takes."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from onesided.errors import NoiseError
from onesided.noise import NotPrivateScriptedNoise
from onesided.noise._geometric import plan
from onesided.noise._source import NotPrivateScriptedBits
from onesided.noise._uniforms import DEEPEST, exp_digits, ladder, resolve

RATES = [
    Fraction(1, 2**40),
    Fraction(1, 1000),
    Fraction(1, 10),
    Fraction(1, 3),
    Fraction(1),
    Fraction(10),
    Fraction(1024),
]
ONES = 2**64 - 1
DIGITS = 2000


def taylor_exp(rate, scale_bits=DIGITS + 64):
    """e^-rate as an integer over 2^scale_bits: series on rate / 2^m, then m squarings."""
    halvings = 80
    work = scale_bits + 2 * halvings + 64
    x = (rate.numerator << work) // (rate.denominator << halvings)
    total, term, k = 0, 1 << work, 0
    while term:
        total += -term if k % 2 else term
        k += 1
        term = (term * x >> work) // k
    for _ in range(halvings):
        total = total * total >> work
    return total >> work - scale_bits


def decimal_exp(exponent, digits=800):
    with localcontext() as context:
        context.prec = digits
        return (-Decimal(exponent.numerator) / Decimal(exponent.denominator)).exp()


def first_digits(number, depth, digits=800):
    with localcontext() as context:
        context.prec = digits
        return int(number * 2**depth)


def cumulative(rate, span, k):
    with localcontext() as context:
        context.prec = 800
        whole = 1 - decimal_exp(rate * span) if span else Decimal(1)
        return (1 - decimal_exp(rate * (k + 1))) / whole


@pytest.mark.parametrize("rate", RATES, ids=str)
def test_thresholds_are_the_first_64_digits(rate):
    for level in plan(rate).levels:
        count = len(level.thresholds)
        for k in sorted({0, 1, count // 3, count // 2, count - 1} & set(range(count))):
            expected = first_digits(cumulative(level.rate, level.span, k), 64)
            assert int(level.thresholds[k]) == expected


@pytest.mark.parametrize("rate", RATES, ids=str)
def test_taylor_series_agrees_with_the_first_threshold(rate):
    last = plan(rate).levels[-1]
    power = taylor_exp(last.rate)
    scale = DIGITS + 64
    assert int(last.thresholds[0]) == ((1 << scale) - power) >> scale - 64


@pytest.mark.parametrize("rate", RATES, ids=str)
def test_levels_rebuild_the_rate_and_shifts(rate):
    levels = plan(rate)
    for level, shift in zip(levels.levels, levels.shifts, strict=True):
        assert level.rate == rate * 2**shift
    for level, low, high in zip(
        levels.levels[:-1], levels.shifts[:-1], levels.shifts[1:], strict=True
    ):
        assert level.span == 2 ** (high - low)
        assert len(level.thresholds) == level.span - 1
    assert levels.levels[-1].span is None


@pytest.mark.parametrize("rate", RATES, ids=str)
def test_guide_answers_only_where_all_64_digit_numbers_agree(rate):
    for level in plan(rate).levels:
        cells = np.arange(2**16, dtype=np.uint64) << np.uint64(48)
        low = np.searchsorted(level.thresholds, cells, side="right")
        # The last number of a cell must lie strictly below the next threshold.
        high = np.searchsorted(level.thresholds, cells + np.uint64(2**48 - 1), side="right")
        touched = np.isin(np.arange(2**16), level.thresholds >> np.uint64(48))
        assert np.array_equal(level.guide < 0, touched)
        assert np.array_equal(level.guide[~touched], low[~touched])
        assert np.array_equal(low[~touched], high[~touched])


@pytest.mark.parametrize("depth", [64, 128, 256, 512])
@pytest.mark.parametrize("rate", RATES, ids=str)
def test_rungs_are_below_the_truth_by_at_most_two_units(rate, depth):
    rungs = ladder(rate, None, depth)
    for i, rung in enumerate(rungs.rungs):
        truth = decimal_exp(rate * 2**i) if rate * 2**i < 2000 else Decimal(0)
        assert rung <= first_digits(truth, rungs.precision) + 1
        assert first_digits(truth, rungs.precision) <= rung + 2


def digits_of(rate, span, k, words):
    whole = first_digits(cumulative(rate, span, k), 64 * words)
    return [whole >> 64 * (words - 1 - i) & ONES for i in range(words)]


@pytest.mark.parametrize("words", [2, 4, 8], ids=["128", "256", "512"])
@pytest.mark.parametrize("k", [0, 3])
@pytest.mark.parametrize("rate", [Fraction(1, 1000), Fraction(1, 10), Fraction(1)], ids=str)
def test_ties_are_decided_by_the_digits_beyond(rate, k, words):
    # U follows the threshold for all words but the last, and differs there by one unit.
    word_list = digits_of(rate, None, k, words)
    for change, expected in ((-1, k), (1, k + 1)):
        script = [*word_list[:-1], word_list[-1] + change]
        bits = NotPrivateScriptedBits(script)
        assert resolve(rate, None, bits.word(), 64, bits) == expected
        assert bits.used == words


@pytest.mark.parametrize("words", [2, 4])
@pytest.mark.parametrize("k", [0, 5, 30])
def test_truncated_ties_are_decided_by_the_digits_beyond(k, words):
    rate, span = Fraction(1, 1000), 64
    word_list = digits_of(rate, span, k, words)
    for change, expected in ((-1, k), (1, k + 1)):
        bits = NotPrivateScriptedBits([*word_list[:-1], word_list[-1] + change])
        assert resolve(rate, span, bits.word(), 64, bits) == expected


def vector_script(cells, following):
    """Words for 16-bit look-ups of ``cells``, padded with 0, then ``following``."""
    cells = [*cells, *[0] * (-len(cells) % 4)]
    return [
        sum(cell << 16 * j for j, cell in enumerate(cells[i : i + 4]))
        for i in range(0, len(cells), 4)
    ] + following


@pytest.mark.parametrize("words", [2, 4], ids=["128", "256"])
def test_the_look_up_path_hands_a_tie_to_the_ladder(words):
    # Draw 5 of 20 equals the first threshold's 64 digits; the others are certain zeros.
    digits = digits_of(Fraction(1), None, 0, words)
    cells = [0] * 20
    cells[5] = digits[0] >> 48
    second = (digits[0] << 16) & ONES
    for change, expected in ((-1, 0), (1, 1)):
        script = vector_script(cells, [second, *digits[1:-1], digits[-1] + change])
        draws = NotPrivateScriptedNoise(script).geometric(1, 20)
        assert draws[5] == expected
        assert draws.sum() == expected


def test_the_look_up_path_without_a_tie():
    digits = digits_of(Fraction(1), None, 0, 1)
    for change, expected in ((-(2**16), 0), (2**16, 1)):
        # Only 48 of the word's bits are used, so one unit of them is 2^16 of the word.
        script = vector_script([digits[0] >> 48] + [0] * 19, [(digits[0] << 16 & ONES) + change])
        assert NotPrivateScriptedNoise(script).geometric(1, 20).tolist() == [expected] + [0] * 19


def test_the_far_tail_is_resolved():
    # U = 1 - 2^-70: the first 64 digits are ones, the draw lies beyond the table.
    seen = [ONES, ONES ^ (1 << 58 - 1)]
    exact_u = Fraction(seen[0] << 64 | seen[1], 2**128)
    expected = 0
    while cumulative(Fraction(1), None, expected) <= Decimal(exact_u.numerator) / Decimal(
        exact_u.denominator
    ):
        expected += 1
    assert expected > len(plan(Fraction(1)).levels[-1].thresholds) - 1
    script = vector_script([2**16 - 1] + [0] * 19, [ONES, seen[1]])
    assert NotPrivateScriptedNoise(script).geometric(1, 20)[0] == expected
    bits = NotPrivateScriptedBits(seen)
    assert resolve(Fraction(1), None, bits.word(), 64, bits) == expected


@pytest.mark.parametrize("size", [1, 20])
def test_a_stuck_source_is_reported(size):
    noise = NotPrivateScriptedNoise([ONES] * 4 * DEEPEST)
    with pytest.raises(NoiseError, match="do not decide"):
        noise.geometric(Fraction(1, 2**40), size)


def test_the_largest_draw_fits_the_tables_type_and_62_bits():
    # The most that 2048 digits decide, at the least rate of a table and of all.
    for rate, bound in ((Fraction(1, 16), 2**15), (Fraction(1, 2**40), 2**53)):
        seen = (1 << DEEPEST) - (1 << 60)
        draw = resolve(rate, None, seen, DEEPEST, NotPrivateScriptedBits([]))
        assert 1300 / rate < draw < bound


@pytest.mark.parametrize("rate", [Fraction(1, 1000), Fraction(1, 16), Fraction(1), Fraction(7)])
def test_ladder_and_table_decide_alike(rate):
    # Two independent ways from the same digits to the draw, truncated levels and the last.
    numbers = np.random.default_rng(7).integers(0, 2**64, 1000, dtype=np.uint64)
    for level in plan(rate).levels:
        near = np.concatenate([level.thresholds[:300] + np.uint64(d) for d in (-1 % 2**64, 1)])
        # A number that equals a threshold's digits is open to both ways, and not compared here.
        for seen in np.setdiff1d(np.concatenate([numbers, near]), level.thresholds):
            draw = resolve(level.rate, level.span, int(seen), 64, NotPrivateScriptedBits([]))
            assert draw == np.searchsorted(level.thresholds, seen, side="right")


@pytest.mark.parametrize("rate", RATES, ids=str)
@pytest.mark.parametrize("depth", [16, 64, 128, 256])
def test_digits_of_exp(rate, depth):
    assert exp_digits(rate)(depth) == first_digits(decimal_exp(rate, 600), depth, 600)
    assert exp_digits(rate)(depth) == taylor_exp(rate) >> DIGITS + 64 - depth


@pytest.mark.parametrize("words", [2, 3, 5])
def test_coin_ties_are_decided_by_the_digits_beyond(words):
    total = first_digits(decimal_exp(Fraction(1)), 64 * words)
    digits = [total >> 64 * (words - 1 - i) & ONES for i in range(words)]
    for change, expected in ((-1, True), (1, False)):
        script = [*digits[:-1], digits[-1] + change, 0, 0, 0, 0]
        assert NotPrivateScriptedNoise(script).bernoulli_exp(1, 1).tolist() == [expected]


def test_coin_ties_on_the_look_up_path():
    third = 0x5555555555555555
    for last, expected in ((third - 1, True), (third + 1, False)):
        script = vector_script([0x5555] * 1 + [2**16 - 1] * 19, [third, last])
        draws = NotPrivateScriptedNoise(script).bernoulli(Fraction(1, 3), 20)
        assert draws.tolist() == [expected] + [False] * 19


def test_a_dyadic_chance_meets_its_own_digits():
    # U equal to 1/2 in every digit seen is not below 1/2.
    assert NotPrivateScriptedNoise([2**63, 0, 0, 1]).bernoulli(Fraction(1, 2), 1).tolist() == [
        False
    ]
    assert NotPrivateScriptedNoise([2**63 - 1]).bernoulli(Fraction(1, 2), 1).tolist() == [True]
