"""Answers about compounds of groups that are wrong in one way each."""

from __future__ import annotations

from typing import Any

import numpy as np

from onesided.mechanism import Compounds, SparseVector
from onesided.noise import IntArray, Noise


def priced_once(values: IntArray, noise: Noise, *, compounds: Compounds, epsilon: int) -> Any:
    """ε for each compound, though a unit may be in several."""
    mechanism = SparseVector(0, upper_rate=epsilon)
    return mechanism.release(compounds.largest(values), noise=noise)


def totals(values: IntArray, noise: Noise, *, compounds: Compounds, epsilon: int) -> Any:
    """Adds a compound's counts up; a unit in two of its groups is in the sum twice."""
    sums = np.array([values[list(one)].sum() for one in compounds.members], dtype=np.int64)
    return SparseVector(0, upper_rate=epsilon).release(sums, noise=noise)


def names_the_fullest(values: IntArray, noise: Noise, *, compounds: Compounds, epsilon: int) -> Any:
    """The right answer, and the place of the group that decided it."""
    told = SparseVector(0, upper_rate=epsilon).release(compounds.largest(values), noise=noise)
    return told, tuple(one[int(np.argmax(values[list(one)]))] for one in compounds.members)
