"""Noise of a key and a position: the right law, drawn again the same, independent otherwise."""

import copy
import hashlib
import pickle
from fractions import Fraction

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import CTR

from onesided import INFINITE, errors
from onesided.noise import (
    FreshNoise,
    KeyedNoise,
    NotPrivateSeededNoise,
    _geometric,
    _noise,
    _uniforms,
)
from onesided.verify import agrees, geometric_law

KEY = bytes(range(32))
RATES = [Fraction(3), Fraction(1), Fraction(1, 10), Fraction(1, 1000), Fraction(1, 2**40)]


@pytest.mark.parametrize("rate", RATES, ids=str)
def test_the_law_is_exactly_geometric(rate):
    draws = KeyedNoise(KEY).geometric(rate, np.arange(100_000))
    assert agrees(draws, geometric_law(rate)).accepted
    assert not agrees(draws, geometric_law(rate * Fraction(11, 10))).accepted


@pytest.mark.parametrize("rate", RATES, ids=str)
def test_a_draw_depends_on_key_rate_and_position_alone(rate):
    everywhere = KeyedNoise(KEY).geometric(rate, np.arange(3000))
    some = np.array([2999, 7, 0, 1500, 7])
    assert (KeyedNoise(KEY).geometric(rate, some) == everywhere[some]).all()
    other = KeyedNoise(KEY[::-1]).geometric(rate, np.arange(3000))
    agreement = abs(np.corrcoef(everywhere, other)[0, 1])
    assert agreement < 6 / np.sqrt(3000)  # six deviations: a false alarm in 5e8


def test_draws_of_a_key_are_those_of_earlier_versions():
    # A monitor draws a step again after a restart, perhaps of a newer version: the same numbers.
    digest = hashlib.sha256()
    for rate in [*RATES[:3], Fraction(1, 16), *RATES[3:]]:
        drawn = KeyedNoise(KEY).geometric(rate, np.arange(20_000))
        digest.update(drawn.astype("<i8").tobytes())
    assert digest.hexdigest() == "152a6182455d84b4a9ce010d23bca6ef9fbfd4e902fb612fc7eea2e85e324b63"


def test_position_i_reads_block_i_of_the_keystream():
    stream = Cipher(AES256(KEY), CTR(bytes(16))).encryptor().update(bytes(16 * 8))
    words = np.frombuffer(stream, dtype="<u8")[::2]
    expected = [_uniforms.resolve(Fraction(1), None, int(w), 64, None) for w in words]
    assert KeyedNoise(KEY).geometric(Fraction(1), np.arange(8)).tolist() == expected


def test_what_64_digits_leave_open_is_decided_by_the_position_alone(monkeypatch):
    """Every draw is sent on to further digits; all of them are the position's own."""
    used = {}

    def recorded(rate, span, seen, depth, bits):
        for _ in range(5):
            assert used.setdefault(bits.word(), bits._place[0]) == bits._place[0]
        return 0

    level = _geometric.plan(Fraction(1)).levels[0]
    tied = level.thresholds[np.arange(20) % 5]
    monkeypatch.setattr(_geometric, "resolve", recorded)
    noise = KeyedNoise(KEY)
    level.decide(tied, lambda i: _noise._BlockBits(noise, i, 0))
    assert len(used) == 20 * 5
    first = noise._blocks(np.arange(20), table=0)[:, 0].tolist()
    assert not set(first) & set(used)


def test_no_noise_where_none_is_needed():
    assert KeyedNoise(KEY).geometric(INFINITE, np.arange(5)).tolist() == [0] * 5
    assert KeyedNoise(KEY).geometric(Fraction(1), np.arange(0)).size == 0


@pytest.mark.parametrize("key", [b"", bytes(31), "text" * 8, None])
def test_a_key_of_another_kind_is_refused(key):
    with pytest.raises(errors.NoiseError):
        KeyedNoise(key)


def test_a_key_does_not_travel():
    for travel in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(errors.NoiseError):
            travel(KeyedNoise(KEY))


def test_fresh_noise_is_the_noise_it_was_given():
    fresh = FreshNoise(NotPrivateSeededNoise(1)).geometric(Fraction(1), np.array([5, 9]))
    assert (fresh == NotPrivateSeededNoise(1).geometric(1, 2)).all()
