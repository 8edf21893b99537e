"""Fast noise in floats, to try what is public: never for data that anything is promised of."""

from __future__ import annotations

from typing import Final

import numpy as np

from onesided._numbers import Infinite, Loss, Number, rate
from onesided.noise import IntArray, NotPrivateSeededNoise

_TINY: Final = 1e-300


class RoughNoise(NotPrivateSeededNoise):
    """Seeded noise whose permute and flip is the maximum of exponentials in floats.

    >>> import numpy as np
    >>> RoughNoise(1).permute_and_flip(50, np.array([3, 0]), np.array([10, 1]))
    1
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._floats = np.random.default_rng(seed)

    def permute_and_flip(self, rate: Loss | Number, deficits: IntArray, sizes: IntArray) -> int:
        """As :class:`onesided.noise.Noise` says, within what floats can tell."""
        scale = _scale(rate)
        if not scale:
            near = np.flatnonzero(np.asarray(deficits) == 0)
            weights = np.asarray(sizes, dtype=np.float64)[near]
            return int(self._floats.choice(near, p=weights / weights.sum()))
        # The largest of n exponentials, from one uniform number to the power 1 / n.
        drawn = np.log(np.maximum(self._floats.random(len(sizes)), _TINY))
        reach = -np.log(-np.expm1(drawn / np.asarray(sizes, dtype=np.float64))) * scale
        return int(np.argmax(reach - np.asarray(deficits, dtype=np.float64)))


def _scale(given: Loss | Number) -> float:
    found = rate(given, name="rate")
    return 0.0 if isinstance(found, Infinite) else float(1 / found)
