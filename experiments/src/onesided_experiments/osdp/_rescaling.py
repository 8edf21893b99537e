"""DAWAz with its line 9 read three ways: as printed, left out, or so that totals stay.

Algorithm 3 prints ``|B| / |Z and B|`` for a bucket B with the empty cells Z (erratum 9). The
paper's zeros come from a true-record sample at a tenth of ε; noise below the open counts at the
same rate calls a cell empty with the same chance, ``e^(-rate * count)``.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from onesided.mechanism.histograms import Zeroed
from onesided.noise import IntArray, NotPrivateSeededNoise
from onesided_experiments._model import Judged

# Real-valued noise, as the paper's authors draw it, on an exact grid of 1/1,024 of a count.
#
# A mechanism at ε/1,024 that is shown 1,024 times the counts is the one at ε whose noise is a whole
# number of steps of 1/1,024. At the rate r the mean size of that noise is Laplace's but for the
# share ``(r/1,024)²/6``, below 0.0004 for every rate here; medians, clipping and partitions scale
# alike.

GRID: Final = 1_024


def per_step(epsilon: str) -> Fraction:
    """``epsilon`` for counts in steps of the grid."""
    return Fraction(epsilon) / GRID


def real(
    release: Callable[..., Any], *counts: IntArray, noise: NotPrivateSeededNoise
) -> NDArray[np.float64]:
    """What ``release`` of a mechanism at :func:`per_step` gives, in counts."""
    told = release(*(GRID * one for one in counts), noise=noise)
    return np.asarray(told, dtype=np.float64) / GRID


Rescaling = Literal["as printed", "left out", "totals stay"]
RESCALINGS: Final[tuple[Rescaling, ...]] = ("as printed", "left out", "totals stay")
NAMES: Final[dict[Rescaling, str]] = {
    "as printed": "DAWAz, as printed",
    "left out": "DAWAz, not rescaled",
    "totals stay": "DAWAz",
}
JUDGES: Final[dict[Rescaling, Judged]] = {
    "as printed": "as run",
    "left out": "corrected",
    "totals stay": "corrected",
}


def released(
    recipe: Zeroed,
    everybody: IntArray,
    opened: IntArray,
    *,
    noise: NotPrivateSeededNoise,
    rescaling: Rescaling,
) -> NDArray[Any]:
    """Estimates of all counts: the partition is learnt from all cells, before zeros are set.

    ``recipe.release`` is ours: it leaves the zeros out before it learns.
    """
    empty = recipe.empty(opened, noise=noise)
    partition = recipe.algorithm.learn(everybody, noise=noise)
    totals = recipe.algorithm.measure(everybody, partition, noise=noise)
    each = recipe.algorithm.spread(partition, totals)
    gone = np.bincount(partition.labels[empty], minlength=partition.buckets)
    factor = np.ones(partition.buckets)
    if rescaling == "as printed":
        # The paper does not say what a bucket without zeros should do; it stays.
        factor = np.where(gone > 0, partition.sizes / np.maximum(gone, 1), 1.0)
    elif rescaling == "totals stay":
        factor = partition.sizes / np.maximum(partition.sizes - gone, 1)
    return np.where(empty, 0.0, each * factor[partition.labels])
