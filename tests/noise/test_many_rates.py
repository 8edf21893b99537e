"""A rate for each draw: told apart by value, in pieces and bounded memory, all checked first."""

import tracemalloc
from collections import UserList
from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from onesided import INFINITE
from onesided.errors import ParameterError
from onesided.noise import NotPrivateScriptedNoise, NotPrivateSeededNoise, SecureNoise, _uniforms

WITHIN = 64 * 2**20


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(_uniforms, "_ARRAY_PIECE", 7)
    monkeypatch.setattr(_uniforms, "_LIST_PIECE", 7)


def each_rate(value):
    """The exact rate of each draw, as the pieces tell it."""
    told = _uniforms.rates(value, len(value), name="rate")
    found = [None] * len(value)
    for piece in told.pieces():
        found[piece.where] = [piece.exact(i) for i in range(piece.size)]
    return found


MIXED = [1, "1/3", 0.1, Fraction(1, 3), INFINITE, Decimal("0.1"), 1, np.float32(0.1), "1", 1024]


@pytest.mark.parametrize("wrap", [list, tuple, UserList, lambda v: np.array(v, dtype=object)])
def test_every_draw_keeps_its_own_rate(wrap, small_pieces):
    numbers = MIXED * 3
    expected = [n if n is INFINITE else _uniforms.rate(n, name="rate") for n in numbers]
    assert each_rate(wrap(numbers)) == expected


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16, np.int8, np.uint64])
def test_numbers_of_arrays_are_taken_exactly(kind, small_pieces):
    numbers = np.array([1, 3, 7.3, 1, 99, 2.6] * 5).astype(kind)
    assert each_rate(numbers) == [Fraction(n) for n in numbers.tolist()]


def test_equal_rates_in_other_clothes_are_drawn_together():
    told = _uniforms.rates([1, "1", 1.0, Fraction(1), Decimal(1), "1/2", 0.5], 7, name="rate")
    (piece,) = told.pieces()
    assert piece.exact(0) is piece.exact(4)
    assert piece.exact(5) is piece.exact(6)
    assert [piece.exact(i) for i in (0, 5)] == [1, Fraction(1, 2)]


def test_more_different_rates_than_are_merged(monkeypatch):
    monkeypatch.setattr(_uniforms, "_MERGED", 2)
    numbers = [Fraction(1, n % 5 + 1) for n in range(20)]
    assert each_rate(numbers) == numbers


BAD = [0, -1, 1025, float("nan"), float("inf"), 2.0**-41]


@pytest.mark.parametrize("bad", [*BAD, True, None, "x", INFINITE.__class__], ids=repr)
def test_a_bad_rate_in_a_late_piece_stops_all_draws(bad, small_pieces):
    numbers = [1] * 40 + [bad]
    noise = NotPrivateScriptedNoise([0] * 1000)
    for call in (
        lambda: noise.geometric(numbers, 41),
        lambda: noise.two_sided(1, numbers, 41),
        lambda: noise.two_sided(numbers, 1, 41),
    ):
        with pytest.raises(ParameterError):
            call()
    assert noise._bits.used == 0


REAL_TYPES = [np.float64, np.float32, np.float16, np.longdouble]


@pytest.mark.parametrize(
    ("bad", "kind"),
    [*product(BAD, REAL_TYPES), *product([0, -1, 2**62], [np.int64]), (2**63 + 1, np.uint64)],
)
def test_a_bad_number_in_an_array_stops_all_draws(bad, kind, small_pieces):
    numbers = np.array([1] * 40, dtype=kind)
    numbers[33] = bad
    noise = NotPrivateScriptedNoise([0] * 1000)
    with pytest.raises(ParameterError, match="rate must"):
        noise.geometric(numbers, 40)
    assert noise._bits.used == 0


def test_a_rate_that_is_only_remembered_as_another_type_is_refused():
    noise = NotPrivateSeededNoise(1)
    noise.geometric([1, 1.0, "1"], 3)
    for lookalike in (True, np.True_, b"1"):
        with pytest.raises(ParameterError):
            noise.geometric([lookalike] * 3, 3)
    with pytest.raises(ParameterError, match="upper"):
        noise.two_sided("zero", 1, 1)
    with pytest.raises(ParameterError, match="lower"):
        noise.two_sided(1, "zero", 1)


def test_pieces_do_not_change_what_a_seed_gives_at_one_piece():
    rates = [Fraction(1, n % 3 + 1) for n in range(100)]
    first, second = NotPrivateSeededNoise(5), NotPrivateSeededNoise(5)
    assert np.array_equal(first.geometric(rates, 100), second.geometric(tuple(rates), 100))


def peak_above(draw, size):
    tracemalloc.start()
    try:
        draws = draw()
        assert len(draws) == size
        return tracemalloc.get_traced_memory()[1] - draws.nbytes
    finally:
        tracemalloc.stop()


def test_memory_above_the_output_is_bounded_for_arrays(long_form):
    size = 10**7 if long_form else 3 * 10**6
    numbers = (np.arange(size) % 100 + 1).astype(np.float64)
    noise = SecureNoise()
    assert peak_above(lambda: noise.two_sided(numbers, numbers, size), size) <= WITHIN


def test_memory_above_the_output_is_bounded_for_lists(long_form):
    size = 3 * 10**6 if long_form else 5 * 10**5
    numbers = [Fraction(1, 2), 1, INFINITE, "3", 0.1] * (size // 5)
    noise = SecureNoise()
    assert peak_above(lambda: noise.geometric(numbers, size), size) <= WITHIN


def test_memory_is_bounded_when_all_numbers_of_an_array_differ():
    numbers = 1 + np.arange(10**6) / 10**6

    def tell_apart():
        for piece in _uniforms.rates(numbers, 10**6, name="rate").pieces():
            assert all(1 <= piece.exact(i) < 2 for i in range(1000))
        return numbers

    assert peak_above(tell_apart, 10**6) + numbers.nbytes <= WITHIN


@pytest.mark.heavy
def test_memory_is_bounded_when_all_objects_of_a_list_differ(long_form, monkeypatch):
    pieces = 2
    size = pieces * _uniforms._LIST_PIECE if long_form else 2**16
    if not long_form:
        monkeypatch.setattr(_uniforms, "_LIST_PIECE", size // pieces)
    numbers = [f"1/{i}" for i in range(1, size + 1)]

    def tell_apart():
        for piece in _uniforms.rates(numbers, size, name="rate").pieces():
            assert piece.size == size // pieces
        return np.zeros(0)

    assert peak_above(tell_apart, 0) <= WITHIN
