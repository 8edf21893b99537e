"""What any ``Noise`` promises about shapes, refusals, processes, threads and memory."""

import copy
import os
import pickle
import threading
import tracemalloc
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onesided import INFINITE, _process, noise
from onesided.errors import NoiseError, ParameterError
from onesided.noise import NotPrivateScriptedNoise, NotPrivateSeededNoise, SecureNoise, _source

RATE = st.one_of(
    st.fractions(min_value=Fraction(1, 2**40), max_value=1024, max_denominator=2**40),
    st.just(INFINITE),
)
SIZE = st.integers(0, 40)
SEED = st.integers(0, 2**40)


@given(RATE, RATE, SIZE, SEED)
@settings(deadline=None)
def test_shapes_types_and_seeds(upper, lower, size, seed):
    first, second = NotPrivateSeededNoise(seed), NotPrivateSeededNoise(seed)
    for name, arguments in (
        ("geometric", (upper, size)),
        ("two_sided", (upper, lower, size)),
        ("bernoulli_exp", (upper, size)),
        ("bernoulli", (Fraction(1, 3), size)),
        ("uniform", (10, size)),
        ("permutation", (size,)),
    ):
        draws = getattr(first, name)(*arguments)
        assert draws.shape == (size,)
        assert draws.dtype == (np.bool_ if "bernoulli" in name else np.int64)
        assert draws.flags.owndata
        assert np.array_equal(draws, getattr(second, name)(*arguments))
        if name == "geometric":
            assert (draws >= 0).all()
        if name == "uniform":
            assert ((draws >= 0) & (draws < 10)).all()
        if name == "permutation":
            assert sorted(draws.tolist()) == list(range(size))


@given(st.lists(RATE, max_size=30), SEED)
@settings(deadline=None)
def test_a_list_of_rates_gives_a_draw_for_each(rates, seed):
    draws = NotPrivateSeededNoise(seed).geometric(rates, len(rates))
    assert draws.shape == (len(rates),)
    assert all(draw == 0 for draw, rate in zip(draws, rates, strict=True) if rate is INFINITE)


@pytest.mark.parametrize("size", [3, 30])
def test_the_same_number_in_other_clothes(size):
    expected = NotPrivateSeededNoise(1).geometric(Fraction(1, 2), size).tolist()
    for rate in ("1/2", "0.5", 0.5, Decimal("0.5"), np.float64(0.5), np.array(0.5)):
        assert NotPrivateSeededNoise(1).geometric(rate, size).tolist() == expected
    expected = NotPrivateSeededNoise(1).geometric([0.5] * size, size).tolist()
    for rates in (np.full(size, 0.5), ("1/2",) * size, np.array(["1/2"] * size)):
        assert NotPrivateSeededNoise(1).geometric(rates, size).tolist() == expected


BAD_RATES = [
    0, -1, float("nan"), float("inf"), "abc", None, True,
    Fraction(1, 2**41), 1025, "1e999999999", np.ones((2, 2)), b"1", {1: 2},
]  # fmt: skip


@pytest.mark.parametrize("bad", BAD_RATES, ids=repr)
def test_rates_that_cannot_be_meant(bad):
    silent = NotPrivateScriptedNoise([])
    for call in (
        lambda: silent.geometric(bad, 4),
        lambda: silent.geometric([1, 1, bad, 1], 4),
        lambda: silent.two_sided(1, bad, 4),
        lambda: silent.two_sided(bad, 1, 4),
        lambda: silent.bernoulli_exp(bad, 4),
    ):
        with pytest.raises(ParameterError):
            call()


@pytest.mark.parametrize("bad", [-1, 1.5, float("nan"), "x", None, True, 2**63], ids=repr)
def test_sizes_that_cannot_be_meant(bad):
    silent = NotPrivateScriptedNoise([])
    for call in (
        lambda: silent.geometric(1, bad),
        lambda: silent.two_sided(1, 1, bad),
        lambda: silent.bernoulli("1/2", bad),
        lambda: silent.bernoulli_exp(1, bad),
        lambda: silent.uniform(5, bad),
        lambda: silent.permutation(bad),
    ):
        with pytest.raises(ParameterError):
            call()


def test_other_arguments_that_cannot_be_meant():
    silent = NotPrivateScriptedNoise([])
    for chance in (-0.1, "1.1", float("nan"), "x"):
        with pytest.raises(ParameterError):
            silent.bernoulli(chance, 1)
    for below in (0, -3, 2**62 + 1, 1.5):
        with pytest.raises(ParameterError):
            silent.uniform(below, 1)
    for rates in ([1, 2], (), np.ones(5), np.ones(0)):
        with pytest.raises(ParameterError, match="entries for 3 draws"):
            silent.geometric(rates, 3)
    with pytest.raises(ParameterError):
        NotPrivateSeededNoise(-1)
    with pytest.raises(TypeError):
        SecureNoise(seed=1)


def test_stuck_sources_do_not_hang():
    with pytest.raises(NoiseError, match="stuck"):
        NotPrivateScriptedNoise([2**64 - 1] * 10_000).uniform(3, 2)
    with pytest.raises(NoiseError, match="stuck"):
        NotPrivateScriptedNoise([7] * 10_000).permutation(2)
    with pytest.raises(NoiseError, match="stuck"):
        NotPrivateScriptedNoise([0] * 10_000).bernoulli(Fraction(1, 2**3000), 1)


def words(source, count=4):
    return source.uniform(2**62, count).tolist()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("blind_to", ["", "pid", "hook"])
def test_forked_children_draw_different_bits(blind_to, monkeypatch):
    # Each of the two guards must be enough without the other.
    if blind_to == "pid":
        monkeypatch.setattr(_process.os, "getpid", lambda: 1)
    if blind_to == "hook":
        monkeypatch.setattr(_process._Forks, "_add", lambda _: None)
        monkeypatch.setattr(_process, "_FORKS", _process._Forks())
    source = SecureNoise()
    words(source)
    pipes = []
    for _ in range(2):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(write, repr(words(source)).encode())
            os._exit(0)
        os.waitpid(child, 0)
        os.close(write)
        pipes.append(read)
    seen = [os.read(read, 1000).decode() for read in pipes] + [repr(words(source))]
    for read in pipes:
        os.close(read)
    assert len(set(seen)) == 3


def test_threads_draw_different_bits():
    source, found = SecureNoise(), []
    start = threading.Barrier(8)

    def draw():
        start.wait()
        for _ in range(50):
            found.extend(words(source, 20))

    threads = [threading.Thread(target=draw) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == len(set(found)) == 8 * 50 * 20


def test_threads_sharing_tables_draw_the_right_law():
    source, means = SecureNoise(), []

    def draw():
        means.append(source.geometric(1, 200_000).mean())

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Seven standard deviations: false alarms below 1e-11.
    odds = 1 / (np.e - 1)
    assert np.allclose(means, odds, atol=7 * np.sqrt(odds * (1 + odds) / 200_000), rtol=0)


def test_copies_and_pickles_do_not_share_bits():
    source = SecureNoise()
    words(source)
    twins = [copy.copy(source), copy.deepcopy(source), pickle.loads(pickle.dumps(source)), source]
    assert len({tuple(words(twin)) for twin in twins}) == 4


def test_two_sources_differ():
    assert words(SecureNoise()) != words(SecureNoise())


def test_key_changes_after_a_bounded_amount(monkeypatch):
    keys = []
    monkeypatch.setattr(_source, "_BYTES_PER_KEY", 2**18)
    real = os.urandom
    monkeypatch.setattr(_source.os, "urandom", lambda n: keys.append(n) or real(n))
    draws = words(SecureNoise(), 2**17)
    assert len(set(draws)) == 2**17
    assert keys == [48] * 4


def test_words_are_the_keystream_of_aes_256_ctr(monkeypatch):
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    monkeypatch.setattr(_source.os, "urandom", lambda n: bytes(range(n)))
    seed = bytes(range(48))
    stream = Cipher(algorithms.AES(seed[:32]), modes.CTR(seed[32:])).encryptor()
    expected = np.frombuffer(stream.update(bytes(8 * 50_065)), dtype=np.uint64)
    bits = _source.SecureBits()
    ahead = _source._POOL_WORDS
    # Words asked for one by one are drawn ahead, and each is handed out once.
    assert bits.word() == expected[ahead - 1]
    assert np.array_equal(bits.words(50_001 - ahead), expected[ahead:50_001])
    rest = [bits.word() for _ in range(ahead + 1)]
    assert sorted(rest[:-2]) == sorted(expected[: ahead - 1].tolist())
    assert rest[-2] == expected[50_001 + ahead - 1]


def test_words_that_were_handed_out_are_overwritten():
    bits = _source.SecureBits()
    seen = [bits.word() for _ in range(3)]
    pool = bits._local.pool
    assert not set(seen) & set(pool.words.tolist())
    assert pool.words.tolist()[-3:] == [0, 0, 0]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_words_drawn_ahead_are_wiped_in_a_forked_child():
    bits = _source.SecureBits()
    bits.word()
    pool = bits._local.pool
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, repr((pool.left, set(pool.words.tolist()))).encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    assert os.read(read, 1000).decode() == "(0, {0})"
    os.close(read)
    assert pool.left == _source._POOL_WORDS - 1


@pytest.mark.parametrize("failure", [OSError("no entropy"), NotImplementedError("none")])
def test_no_entropy_is_an_error(failure, monkeypatch):
    def fail(count):
        raise failure

    monkeypatch.setattr(_source.os, "urandom", fail)
    source = SecureNoise()
    for size in (1, 100):
        with pytest.raises(NoiseError, match="no random key"):
            source.geometric(1, size)


def test_a_short_key_is_an_error(monkeypatch):
    monkeypatch.setattr(_source.os, "urandom", lambda count: bytes(count - 20))
    with pytest.raises(NoiseError, match="no random key"):
        SecureNoise().uniform(5, 1)


@pytest.mark.parametrize("size", [1, 100])
def test_a_failing_cipher_is_an_error(size):
    class Broken:
        def update(self, *_):
            raise ValueError("broken")

        def update_into(self, *_):
            raise ValueError("broken")

    bits = _source.SecureBits()
    bits.word()
    bits._local.stream.cipher = Broken()
    bits._local.pool.left = 0
    with pytest.raises(NoiseError, match="cipher failed"):
        noise._noise.ExactNoise(bits).geometric(1, size)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("geometric", (Fraction(1, 2**40),)),
        ("geometric", (1,)),
        ("two_sided", (Fraction(1, 1000), 1)),
        ("bernoulli", ("1/3",)),
        ("uniform", (2**33 + 1,)),
        ("permutation", ()),
    ],
)
def test_memory_above_the_output_is_bounded(name, arguments):
    source = SecureNoise()
    draw = getattr(source, name)
    draw(*arguments, 20)
    tracemalloc.start()
    try:
        draws = draw(*arguments, 10**7)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak - draws.nbytes <= 64 * 2**20


def test_caches_are_bounded():
    from onesided.noise import _geometric, _uniforms

    for cached in (_uniforms._exp_floor, _uniforms.cached_ladder, _geometric.plan):
        assert cached.cache_info().maxsize <= 512
    assert _uniforms._remembered.cache_info().maxsize <= 1024


def test_tables_cannot_be_written():
    from onesided.noise._geometric import plan

    for level in plan(Fraction(1, 1000)).levels:
        for array in (level.guide, level.thresholds):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1


def test_exported_names():
    assert sorted(noise.__all__) == [
        "BoolArray",
        "DiscreteGaussian",
        "FreshNoise",
        "IntArray",
        "KEY_BYTES",
        "KeyedNoise",
        "Noise",
        "NotPrivateScriptedNoise",
        "NotPrivateSeededNoise",
        "PlaceNoise",
        "PlainNoise",
        "Rates",
        "SecureNoise",
        "TwoSidedGeometric",
    ]
    assert all(hasattr(noise, name) for name in noise.__all__)
