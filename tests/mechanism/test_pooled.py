import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onesided import INFINITE
from onesided.mechanism import Counts
from onesided.mechanism.histograms.kit import pooled
from onesided.noise import NotPrivateSeededNoise

RATES = [
    ("1/10", "1/10"), ("1/10", INFINITE), (INFINITE, "1/10"), (1, "1/100"), (INFINITE, INFINITE),
]  # fmt: skip
FAINT = [("1/200", "1/200"), ("1/20", INFINITE), (INFINITE, "1/2"), (1, 1)]
PLACES = np.arange(1_024)
SHAPES = {
    "smooth": 200 * np.exp(-(((PLACES - 400) / 150) ** 2)),
    "spikes": np.where(PLACES % 37 == 0, 900, 0),
    "levels": np.random.default_rng(1).choice([0, 20, 100, 400], 1_024),
    "falling": 20_000 / (1 + PLACES),
    "dense": 5_000 * (1 + np.sin(PLACES / 25)),
}


@given(
    st.lists(st.integers(-(2**20), 2**53) | st.integers(-50, 50), max_size=40),
    st.sampled_from(RATES),
)
def test_any_noisy_counts_give_whole_counts_of_at_least_0(noisy, rates):
    seen = np.array(noisy, dtype=np.int64)
    law = Counts(*rates)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = pooled(seen, law.upper_rate, law.lower_rate, np.maximum(seen, 0))
    assert found.shape == seen.shape
    assert found.dtype == np.int64
    assert (found >= 0).all()


@pytest.mark.parametrize("rates", FAINT)
@pytest.mark.parametrize("name", SHAPES)
def test_the_error_of_many_cells_is_hardly_ever_larger(name, rates):
    """Ratios of the mean of 4 draws of 1,024 cells, seeded: no chance is in it."""
    truth = np.random.default_rng(2).poisson(SHAPES[name])
    law, noise = Counts(*rates, correction="median"), NotPrivateSeededNoise(3)
    missed = np.zeros(2)
    for _ in range(4):
        noisy = law.noisy(truth, noise=noise)
        plain = np.maximum(law.estimate(noisy), 0)
        found = pooled(noisy, law.upper_rate, law.lower_rate, plain)
        missed += [np.abs(one - truth).sum() for one in (plain, found)]
    less = name == "spikes" or (name == "smooth" and rates[0] == "1/200")
    assert missed[1] <= (0.5 if less else 1.1) * missed[0]


def test_where_there_is_no_noise_nothing_is_drawn_anywhere():
    seen = np.array([0, 3, 900, 1])
    assert pooled(seen, INFINITE, INFINITE, seen).tolist() == seen.tolist()


def test_what_stands_alone_stays_and_like_neighbours_are_one():
    """One draw, seeded: 512 cells of 300, of 20 and of 0, and one of 5,000 among the last."""
    truth = np.repeat([300, 20, 0, 0], 128)
    truth[450] = 5_000
    noisy = Counts("1/50", "1/50").noisy(truth, noise=NotPrivateSeededNoise(4))
    found = pooled(noisy, Fraction(1, 50), Fraction(1, 50), np.maximum(noisy, 0))
    assert abs(found[450] - 5_000) < 500
    found[450] = 5_000
    assert np.abs(found - truth).sum() < np.abs(noisy - truth).sum() / 8


def test_a_line_of_any_length_is_pooled_and_blocks_stand_alone():
    noisy = NotPrivateSeededNoise(5).two_sided(Fraction(1, 20), Fraction(1, 20), 2**12 + 3)
    plain = np.maximum(noisy, 0)
    found = pooled(noisy, Fraction(1, 20), Fraction(1, 20), plain)
    first = pooled(noisy[: 2**12], Fraction(1, 20), Fraction(1, 20), plain[: 2**12])
    assert np.array_equal(found[: 2**12], first)
    assert found[: 2**12].sum() < plain.sum() / 50
