"""What selected values overstate: shrunk by how many are expected to be noise on small counts.

Claim. Candidates with counts that are small beside the noise, anywhere from 0 to its mean M
(uniformly: no more is known of them), reach the value v in a number of ``(e - 1) n0 e^(-v/M)``; one
that does so has ``M / (e - 1)`` in the mean. These are the false selections. From one rank to the
next their expected number rises by ``d_r`` while one value is seen, so that value is a false
selection with a chance of about d_r. That chance can only rise as values fall, for the law of noise
falls faster than that of counts plus noise; so the d_r are made monotone (the nearest such
sequence) and at most 1. The answer is the posterior mean: ``M / (e - 1)`` with that chance, and
with the rest of it the value less M, which is right where nothing is known of the count.
Where counts stand out ``n0 e^(-v/M)`` is next to nothing, and nothing is shrunk. n0 is the number
of candidates less the selections that are not false. No constant was chosen on data: e - 1 and
1 / (e - 1) are integrals of e^u and u e^u over 0 to 1. All is computed from what was published and
from the public number of candidates, so it costs nothing.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import Infinite, Loss
from onesided.noise import IntArray

Floats = NDArray[np.float64]
_ROUNDS: Final = 3
_INFLATED: Final = math.e - 1


def chances_of_noise(values: IntArray, candidates: int, rate: Loss) -> Floats:
    """For each selected value, largest first, about how likely it is noise on a small count."""
    if isinstance(rate, Infinite) or not values.size:
        return np.zeros(values.shape)
    reached = np.exp(-float(rate) * np.maximum(np.asarray(values, dtype=np.float64), 0.0))
    empty = float(candidates)
    chances = np.zeros(values.shape)
    for _ in range(_ROUNDS):
        chances = np.minimum(_rising(np.diff(_INFLATED * empty * reached, prepend=0.0)), 1.0)
        empty = candidates - float((1 - chances).sum())
    return chances


def without_false(values: IntArray, candidates: int, rate: Loss) -> Floats:
    """Selected values, largest first, less the noise's mean and shrunk; at least 0."""
    mean = 0.0 if isinstance(rate, Infinite) else 1 / math.expm1(float(rate))
    centred: Floats = np.maximum(values - mean, 0.0)
    chances = chances_of_noise(values, candidates, rate)
    return (1 - chances) * centred + chances * np.minimum(mean / _INFLATED, centred)


def _rising(steps: Floats) -> Floats:
    """The nearest sequence that never falls (least squares), by pooling neighbours."""
    means: list[float] = []
    sizes: list[int] = []
    for step in steps.tolist():
        means.append(step)
        sizes.append(1)
        while len(means) > 1 and means[-2] > means[-1]:
            last, size = means.pop(), sizes.pop()
            means[-1] = (means[-1] * sizes[-1] + last * size) / (sizes[-1] + size)
            sizes[-1] += size
    return np.repeat(means, sizes)
