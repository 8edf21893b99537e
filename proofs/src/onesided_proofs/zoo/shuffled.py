"""Noise of a crowd that is wrong in one way each, at a rate of 4 for two senders."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onesided.mechanism.local import ShuffledCounts
from onesided.noise import IntArray, Noise

_RATE = 4
_HALF = Fraction(1, 2)


def coins(rows: list[list[int]], noise: Noise) -> IntArray:
    """Each sender adds a token with a chance of a half: with none added the truth shows."""
    return _total(rows, noise.bernoulli(_HALF, len(rows)))


def halves(rows: list[list[int]], noise: Noise) -> IntArray:
    """Each sender adds a geometric variable at twice the rate: together they are none at half."""
    return _total(rows, noise.geometric(2 * _RATE, len(rows)))


def two_marks(rows: list[list[int]], noise: Noise) -> IntArray:
    """A second kind of token for noise of the first sender: the shuffler hides that no more."""
    pair = ShuffledCounts(_RATE, senders=2)
    first, second = pair.tokens([0], noise=noise), pair.tokens(rows[1], noise=noise)
    return np.array([rows[0][0] + int(second[0]), int(first[0])], dtype=np.int64)


def away(members: list[bool], noise: Noise) -> Any:
    """Only those who are there send, so a missing sender is seen by missing noise."""
    pair = ShuffledCounts(_RATE, senders=2)
    return sum(int(pair.tokens([1], noise=noise)[0]) for _ in members)


def _total(rows: list[list[int]], added: NDArray[Any]) -> IntArray:
    total = sum(row[0] for row in rows) + int(added.sum())
    return np.array([total], dtype=np.int64)
