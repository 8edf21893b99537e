import math
import operator
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onesided import INFINITE, errors
from onesided._numbers import (
    exact,
    exp_neg_bounds,
    from_text,
    log_up,
    non_negative,
    plain,
    positive,
    probability,
    rate,
    round_down,
    round_up,
    shown,
    text,
    whole,
)

BAD = ["abc", "", "nan", "inf", "1/0", math.nan, math.inf, -math.inf, None, True, [1], 1j, b"1"]
HUGE = ["1e1000000", "1e-1000000", Decimal("1e100000")]


@pytest.mark.parametrize("value", BAD + HUGE, ids=repr)
@pytest.mark.parametrize("reader", [exact, positive, non_negative, probability, whole, rate])
def test_what_is_no_number_is_refused_with_its_value(reader, value):
    with pytest.raises(errors.ParameterError) as caught:
        reader(value, name="epsilon")
    assert "epsilon" in str(caught.value)
    assert caught.value.hint
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, Fraction(1)),
        ("0.1", Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        (Decimal("0.25"), Fraction(1, 4)),
        (0.5, Fraction(1, 2)),
        (0.1, Fraction(0.1)),
        (np.float64(0.5), Fraction(1, 2)),
        (np.int8(3), Fraction(3)),
        (Fraction(2, 7), Fraction(2, 7)),
    ],
)
def test_numbers_come_in_exactly(value, expected):
    assert exact(value, name="x") == expected


@pytest.mark.parametrize("value", [0, -1, "-0.1", "0"])
def test_positive_refuses_zero_and_below(value):
    with pytest.raises(errors.ParameterError, match="above 0"):
        positive(value, name="epsilon")


def test_rates_have_a_range_and_may_be_infinite():
    assert rate(INFINITE, name="r") is INFINITE
    assert rate(Fraction(1, 2**40), name="r") == Fraction(1, 2**40)
    for bad in (Fraction(1, 2**40 + 1), 1025):
        with pytest.raises(errors.ParameterError, match=r"2\^-40"):
            rate(bad, name="r")


def test_infinite_is_above_everything_and_vanishes_times_zero():
    assert operator.gt(INFINITE, Fraction(10**30))
    assert operator.lt(Fraction(1), INFINITE)
    same = type(INFINITE)()
    assert operator.ge(INFINITE, same)
    assert not operator.lt(INFINITE, same)
    assert INFINITE + 1 == 1 + INFINITE == INFINITE
    assert INFINITE * 0 == 0 * INFINITE == Fraction(0)
    assert INFINITE * Fraction(1, 2) == INFINITE
    assert max(Fraction(3), INFINITE) is INFINITE
    assert pickle.loads(pickle.dumps(INFINITE)) == INFINITE
    with pytest.raises(errors.ParameterError):
        INFINITE * -1


@given(st.fractions())
def test_rounding_never_crosses_the_truth(number):
    assert Fraction(round_down(number)) <= number <= Fraction(round_up(number))
    assert from_text(text(number)) == number


@given(st.fractions(min_value=0), st.booleans())
def test_amounts_in_words_are_never_kinder_than_the_truth(number, up):
    assert Fraction(plain(number)) == number
    said = shown(number, up=up)
    mark, value = said[:2], Fraction(said.removeprefix("≤ ").removeprefix("≥ "))
    if mark == "≤ ":
        assert up
        assert number < value <= number * Fraction(1001, 1000)
    elif mark == "≥ ":
        assert not up
        assert number * Fraction(999, 1000) <= value < number
    else:
        assert value == number


def test_amounts_in_words_are_short():
    assert plain(Fraction(33, 3125000)) == shown(Fraction(33, 3125000), up=True) == "1.056e-5"
    assert shown(Fraction(5257, 10**10), up=True) == "5.257e-7"
    assert shown(Fraction(1, 3**20), up=True) == "≤ 2.868e-10"
    assert shown(Fraction(1, 3**20), up=False) == "≥ 2.867e-10"
    assert shown(Fraction(1, 3), up=True) == "1/3"
    with pytest.raises(errors.ParameterError, match="got 1e\\+400"):
        rate(Fraction(10**400), name="rate")


def test_infinite_survives_text_and_rounding():
    assert from_text(text(INFINITE)) == INFINITE
    assert round_up(INFINITE) == math.inf


@given(st.fractions(min_value=0, max_value=200), st.sampled_from([64, 128, 256]))
def test_exp_bounds_enclose_an_independent_value(exponent, bits):
    low, high = exp_neg_bounds(exponent, bits=bits)
    assert 0 <= low <= high <= 1
    assert high - low <= Fraction(1, 2**bits)
    below, above = _exp_series(exponent)
    assert low <= above
    assert below <= high


def _exp_series(exponent: Fraction) -> tuple[Fraction, Fraction]:
    """e^-x by halving the argument, summing Taylor terms of both signs, and squaring again."""
    halvings = 12
    small = exponent / 2**halvings
    scale = 2**400
    term, total, k = scale, scale, 0
    while term:
        k += 1
        term = -(term * small.numerator) // (small.denominator * k) if term else 0
        total += term
        if abs(term) <= 1:
            break
    low, high = max(total - 2 * k - 2, 0), min(total + 2 * k + 2, scale)
    for _ in range(halvings):
        low, high = low * low // scale, -(-high * high // scale)
    return Fraction(low, scale), Fraction(high, scale)


@given(st.fractions(min_value=Fraction(1, 1000), max_value=1000))
def test_log_up_is_above_and_close(number):
    value = log_up(number)
    assert float(value) == pytest.approx(math.log(number), abs=1e-12)
    low, high = exp_neg_bounds(abs(value), bits=80)
    # number <= e^value, checked through the enclosure of e^-|value|.
    assert number <= 1 / low if value >= 0 else number <= high


def test_errors_carry_values_and_survive_pickling():
    error = errors.BudgetExceededError("asked 1.", hint="ask less.", asked=Fraction(1))
    copy = pickle.loads(pickle.dumps(error))
    assert (copy.reason, copy.hint, copy.values) == ("asked 1.", "ask less.", {"asked": 1})
    assert str(copy) == "asked 1.\nHint: ask less."
