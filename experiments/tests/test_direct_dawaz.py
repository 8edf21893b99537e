from fractions import Fraction

import numpy as np

from onesided.noise import NotPrivateSeededNoise
from onesided_experiments.baselines import DirectDawaz


def test_flat_stretches_are_found_and_zeros_stay():
    truth = np.repeat([0, 400, 0, 90], 64)
    found = DirectDawaz(Fraction(2)).release(truth, truth - truth // 10, NotPrivateSeededNoise(1))
    assert not found[truth == 0].any()
    # Ten standard deviations of a single cell's noise.
    assert np.abs(found - truth).max() < 20


def test_any_number_of_cells_is_taken():
    for size in (1, 3, 64, 65):
        found = DirectDawaz(Fraction(1)).release(
            np.full(size, 9), np.full(size, 9), NotPrivateSeededNoise(2)
        )
        assert found.shape == (size,)
