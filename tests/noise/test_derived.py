"""Noise that a task on another machine can repeat, and nobody else."""

import copy
import hmac
import math
import pickle
from hashlib import sha256

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import CTR

from onesided import _process, errors
from onesided.noise import NotPrivateSeededNoise, _noise
from onesided.noise._noise import PartNoise, new_secret

SECRET = new_secret(NotPrivateSeededNoise(1))


def words(secret=SECRET, part=0, parts=4, count=8):
    return PartNoise(secret, part=part, parts=parts)._bits.words(count).tolist()


def test_a_part_repeats_its_own_bits_and_shares_none():
    seen = [words(part=part, parts=parts) for parts in (3, 4) for part in range(parts)]
    seen += [words(secret=new_secret(None)), words(secret=new_secret(None))]
    assert len({word for one in seen for word in one}) == 8 * len(seen)
    assert words(part=2) == words(part=2)


def test_the_bits_are_those_of_the_standards():
    """HKDF of RFC 5869 by hand, then AES-256 in counter mode from 0."""
    info = b"onesided part of a sample, version 1"
    info += b"".join(n.to_bytes(8, "big") for n in (2, 4, 0))
    extracted = hmac.new(bytes(32), SECRET, sha256).digest()
    key = hmac.new(extracted, info + b"\x01", sha256).digest()
    expected = Cipher(AES256(key), CTR(bytes(16))).encryptor().update(bytes(64))
    assert np.array(words(part=2), dtype=np.uint64).tobytes() == expected


def test_one_word_at_a_time_is_the_same_stream():
    bits = PartNoise(SECRET, part=1, parts=4)._bits
    assert [bits.word() for _ in range(8)] == words(part=1)


def test_a_key_serves_only_so_many_bytes(monkeypatch):
    monkeypatch.setattr(_noise, "_BYTES_PER_KEY", 16)
    found = words(count=9)
    assert len(set(found)) == 9
    monkeypatch.undo()
    assert words(count=9)[:2] == found[:2]
    assert words(count=9)[2:] != found[2:]


def test_coins_have_their_chance():
    # 20,000 coins, six deviations: false alarm 2e-9.
    coins = PartNoise(SECRET, part=0, parts=1).bernoulli_exp(1, 20_000)
    keep = math.exp(-1)
    assert abs(coins.sum() - 20_000 * keep) < 6 * math.sqrt(20_000 * keep * (1 - keep))


@pytest.mark.parametrize("use", [copy.copy, copy.deepcopy, pickle.dumps])
def test_copies_are_refused(use):
    with pytest.raises(errors.NoiseError, match="cannot be copied"):
        use(PartNoise(SECRET, part=0, parts=1)._bits)
    with pytest.raises(errors.NoiseError, match="cannot be copied"):
        copy.deepcopy(PartNoise(SECRET, part=0, parts=1))


def test_a_forked_process_is_refused(monkeypatch):
    noise = PartNoise(SECRET, part=0, parts=1)
    monkeypatch.setattr(_process.os, "getpid", lambda: -1)
    with pytest.raises(errors.NoiseError, match="forked"):
        noise.bernoulli_exp(1, 1)


@pytest.mark.parametrize("secret", [b"", b"x" * 32, "x" * 40, None, bytearray(40)])
def test_secrets_of_another_make_are_refused(secret):
    with pytest.raises(errors.NoiseError, match="40 bytes"):
        PartNoise(secret, part=0, parts=1)


@pytest.mark.parametrize(("part", "parts"), [(-1, 2), (2, 2), (0, 0), (True, 2), (0.5, 2)])
def test_numbers_that_are_no_part_are_refused(part, parts):
    with pytest.raises(errors.ParameterError):
        PartNoise(SECRET, part=part, parts=parts)


def test_secrets_have_310_bits_of_the_source():
    many = [new_secret(None) for _ in range(200)]
    assert len(set(many)) == 200
    numbers = np.frombuffer(b"".join(many), dtype="<i8")
    assert numbers.min() >= 0
    assert numbers.max() < 2**62
    assert numbers.max() > 2**61


def test_it_is_no_public_name():
    import onesided.noise

    assert not any("Part" in name or "secret" in name for name in onesided.noise.__all__)
