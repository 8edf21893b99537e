"""Does the work of a release depend on the secret counts?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from onesided.noise import Noise, NotPrivateSeededNoise

_BATCH: Final = 50


@dataclass(frozen=True, slots=True)
class Timing:
    """Median time of a release on two inputs, interleaved, in nanoseconds.

    noise_floor: how far two halves of the *same* input's runs lie apart; a difference between
    the inputs that is not above a few times this was not seen.
    """

    one: float
    two: float
    noise_floor: float

    @property
    def apart(self) -> float:
        """The second input's time against the first's, as a share."""
        return self.two / self.one - 1


def time_release(
    release: Callable[[Any], object], one: NDArray[Any], two: NDArray[Any], *, runs: int = 2000
) -> Timing:
    """Time ``release(one)`` and ``release(two)`` by turns, so that drift meets both alike."""
    times = np.zeros((2, runs))
    for run in range(runs):
        for place, values in enumerate((one, two) if run % 2 else (two, one)):
            side = place if run % 2 else 1 - place
            start = perf_counter_ns()
            release(values)
            times[side, run] = perf_counter_ns() - start
    first, second = np.median(times, axis=1)
    halves = np.median(times[0, 0::2]), np.median(times[0, 1::2])
    return Timing(float(first), float(second), float(abs(halves[0] / halves[1] - 1)))


def draws_differ(
    release: Callable[[NDArray[Any], Noise], object],
    one: NDArray[Any],
    two: NDArray[Any],
    *,
    seeds: int = _BATCH,
) -> bool:
    """Whether, at the same random bits, the two inputs ever take different amounts of them.

    Bits left over are compared: after both releases the next draws must be equal.
    """
    for seed in range(seeds):
        left = []
        for values in (one, two):
            noise = NotPrivateSeededNoise(seed)
            release(values, noise)
            left.append(noise.uniform(2**62, 4).tolist())
        if left[0] != left[1]:
            return True
    return False
