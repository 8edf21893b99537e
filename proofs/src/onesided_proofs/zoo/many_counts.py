"""Noise on all counts at once that is wrong in one way each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from onesided.mechanism import CubeCounts
from onesided.noise import IntArray, Noise


@dataclass(frozen=True, slots=True)
class Wrong:
    """A function of counts, noise and the right mechanism, in the shape of one."""

    run: Callable[[IntArray, Noise, CubeCounts], Any]
    right: CubeCounts

    def release(self, values: IntArray, *, noise: Noise) -> Any:
        """What the function gives."""
        return self.run(values, noise, self.right)


def without_descents(values: IntArray, noise: Noise, right: CubeCounts) -> Any:
    """The level as a sum of geometrics alone: as of a simplex, and drawn in a cube."""
    level = int(noise.geometric(right.noise_rate, values.size + 1).sum())
    return values + noise.uniform(level + 1, values.size)


def one_level(values: IntArray, noise: Noise, right: CubeCounts) -> Any:
    """The level as one geometric: small cubes are far too likely."""
    level = int(noise.geometric(right.noise_rate, 1)[0])
    return values + noise.uniform(level + 1, values.size)


def same_for_all(values: IntArray, noise: Noise, right: CubeCounts) -> Any:
    """One noise for all counts: their differences are told."""
    return values + noise.geometric(right.noise_rate, 1)


def without_zero(values: IntArray, noise: Noise, right: CubeCounts) -> Any:
    """Each count's noise is below the level, which may not be 0: off by one."""
    level = 1 + int(noise.geometric(right.noise_rate, values.size).sum())
    return values + noise.uniform(level, values.size)


def half_noise(values: IntArray, noise: Noise, right: CubeCounts) -> Any:
    """At twice the rate."""
    return CubeCounts(right.noise_rate * 2).release(values, noise=noise)
