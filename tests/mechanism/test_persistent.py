"""Coins that follow from a key: exact, lazy, and each the same whenever it is asked for."""

import hashlib
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onesided import INFINITE, errors, policy
from onesided.mechanism import PersistentSample
from onesided.mechanism.kit import KeyedCoins

KEY = hashlib.sha256(b"a key of a test").digest()
MANY = 20_000
# Above so many standard deviations a right coin is rejected once in 10^6.
FAR = 4.892


def drawn(coins, ask):
    return sum(ask(coins, b"%d" % one) for one in range(MANY))


def deviations(found, chance):
    return abs(found - MANY * chance) / math.sqrt(MANY * chance * (1 - chance))


@pytest.mark.parametrize("rate", ["1/10", "1", "5/2"])
def test_coins_have_their_chance_and_no_chance_10_percent_off(rate):
    found = drawn(KeyedCoins(KEY), lambda coins, unit: coins.keeps(Fraction(rate), unit))
    assert deviations(found, -math.expm1(-float(Fraction(rate)))) < FAR
    if rate != "5/2":  # there 10 % of the rate are two of these deviations
        assert deviations(found, -math.expm1(-1.1 * float(Fraction(rate)))) > FAR or rate == "1/10"


def test_leaving_has_its_chance_and_months_are_independent():
    coins, chance = KeyedCoins(KEY), Fraction(1, 5)
    months = [[coins.leaves(chance, b"%d" % one, month) for one in range(MANY)] for month in (2, 3)]
    for one in months:
        assert deviations(sum(one), 0.2) < FAR
        assert deviations(sum(one), 0.22) > FAR
    assert deviations(sum(a and b for a, b in zip(*months, strict=True)), 0.04) < FAR


def test_more_digits_decide_where_the_first_ones_do_not():
    coins = KeyedCoins(KEY)
    told = set()
    for one in range(40):
        unit = b"%d" % one
        first = int.from_bytes(coins._digest(b"leaves", 2, unit, 0))
        second = int.from_bytes(coins._digest(b"leaves", 2, unit, 1))
        half = Fraction(2 * first + 1, 2**513)  # in the middle of what the first digits leave open
        assert coins.leaves(half, unit, 2) == (second < 2**511)
        told.add(coins.leaves(half, unit, 2))
        assert not coins.leaves(Fraction(first, 2**512), unit, 2)
        assert coins.leaves(Fraction(first + 1, 2**512), unit, 2)
    assert told == {True, False}


@given(st.binary(), st.fractions("1/1000", 9))
def test_a_larger_rate_keeps_whom_a_smaller_one_kept(unit, rate):
    coins = KeyedCoins(KEY)
    kept = coins.keeps(rate, unit)
    assert kept == KeyedCoins(KEY).keeps(rate, unit)
    assert coins.keeps(rate + 1, unit) >= kept
    assert coins.keeps(INFINITE, unit)


@pytest.mark.parametrize("key", [b"", bytes(31), bytes(33), "x" * 32, None])
def test_what_is_no_key_is_refused(key):
    with pytest.raises(errors.ParameterError, match="32 bytes"):
        KeyedCoins(key)


@pytest.mark.parametrize("attrition", [0, 1, -1, 2, float("nan"), float("inf"), "a"])
def test_what_is_no_attrition_is_refused(attrition):
    with pytest.raises(errors.ParameterError, match="attrition"):
        PersistentSample.for_policy(policy.sensitive("m"), epsilon=1, attrition=attrition)


def test_a_policy_without_open_kinds_has_no_stream():
    with pytest.raises(errors.UnprotectableError):
        PersistentSample.for_policy(policy.bounded(), epsilon=1)
