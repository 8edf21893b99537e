"""Many repetitions at once: how many fit, their noise, and what is made of their errors."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from onesided.noise import IntArray, NotPrivateSeededNoise
from onesided.numbers import INFINITE, Loss

Floats = NDArray[np.float64]
MOST: Final = 10_000
_CELLS: Final = 13_500_000
_QUICK_CELLS: Final = 100_000
_CHUNK: Final = 2_000_000


def repetitions(items: int, *, quick: bool) -> int:
    """10,000, or fewer where there are so many items that they would take too long."""
    if quick:
        return max(10, min(100, _QUICK_CELLS // items))
    return max(200, min(MOST, _CELLS // items))


def chunks(repeats: int, items: int, *, least: int = 1) -> Iterator[int]:
    """Sizes that add up to ``repeats``, each small enough to stay near the processor."""
    size = max(1, min(_CHUNK // items, math.ceil(repeats / least)))
    for start in range(0, repeats, size):
        yield min(size, repeats - start)


def two_sided(
    noise: NotPrivateSeededNoise, upper: Loss, lower: Loss, rows: int, items: int
) -> IntArray:
    """A ``rows`` by ``items`` table of noise; INFINITE is no noise on that side."""
    if lower == INFINITE:
        return noise.geometric(upper, rows * items).reshape(rows, items)
    return noise.two_sided(upper, lower, rows * items).reshape(rows, items)


def mean_and_spread(values: Floats) -> tuple[float, float]:
    """The mean over repetitions, and half its 95 % interval (normal approximation)."""
    kept = values[np.isfinite(values)]
    if kept.size == 0:
        return math.nan, math.nan
    half = 1.96 * float(kept.std(ddof=1)) / math.sqrt(kept.size) if kept.size > 1 else math.nan
    return float(kept.mean()), half


def measured(name: str, values: Any) -> dict[str, float]:
    """Two entries of a row: the mean and its spread."""
    mean, spread = mean_and_spread(np.asarray(values, dtype=np.float64))
    return {name: mean, f"{name}_spread": spread}
