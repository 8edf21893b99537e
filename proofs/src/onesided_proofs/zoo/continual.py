"""Continual counts that are wrong in one way each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onesided.mechanism import ContinualCount
from onesided.noise import IntArray, Noise


@dataclass(frozen=True, slots=True)
class Redrawn:
    """A node is made noisy anew each time an answer needs it, at the price of one draw."""

    right: ContinualCount

    def release(self, values: IntArray, *, noise: Noise) -> IntArray:
        """The answers at every step."""
        found: list[int] = []
        for time in range(1, values.size + 1):
            law, start, total = self.right.law(time), 0, 0
            for level in reversed(range(time.bit_length())):
                if time >> level & 1:
                    node = int(values[start : start + 2**level].sum())
                    total += node + int(noise.two_sided(law.upper, law.lower, 1)[0])
                    start += 2**level
            found.append(total)
        return np.array(found, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class RunningNoise:
    """One draw for the whole stream: differences of answers are exact."""

    right: ContinualCount

    def release(self, values: IntArray, *, noise: Noise) -> IntArray:
        """The answers at every step."""
        law = self.right.law(1)
        return np.asarray(np.cumsum(values) + noise.two_sided(law.upper, law.lower, 1)[0])


@dataclass(frozen=True, slots=True)
class Visits:
    """Counts per place, told step by step; ``places`` has the place that is counted in each step.

    Sound if ``right`` was made for as many visits of one person; else it charges them as fewer.
    """

    right: ContinualCount
    places: tuple[int, ...]

    def release(self, values: IntArray, *, noise: Noise) -> IntArray:
        """The answers at every step."""
        return self.right.release(values[list(self.places)], noise=noise)
