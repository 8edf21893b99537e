"""How well values farther apart than one move pass as each other: by the moves that lead there."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias

from onesided._numbers import Infinite, Loss, Number, positive

# The most moves that lead from a value to any other so far from it.
Apart: TypeAlias = Callable[[Fraction], int]
_LARGE: Final = 700


@dataclass(frozen=True, slots=True)
class Assurance:
    """What still holds for values ``distance`` apart: ``moves`` moves, each at the stated loss.

    odds: whatever is published is at most this many times as likely under one as under the other.

    >>> import polars as pl, onesided as od
    >>> ages = pl.DataFrame({"age": [7, 12, 40]})
    >>> session = od.Session(ages, policy=od.policy.neighbourhood(radius=5), budget=10)
    >>> release = session.ranges("age", "cells", bins=range(0, 101, 5), epsilon=1)
    >>> [one.moves for one in release.assurance(5, 10)]
    [1, 2]
    """

    distance: Number
    moves: int
    epsilon: Loss
    odds: float


def assured(apart: Apart, distance: Number, epsilon: Loss) -> Assurance:
    """At one distance. Errors: ParameterError unless it is above 0 and moves lead so far."""
    far = positive(distance, name="distance")
    moves = apart(far)
    total = epsilon if isinstance(epsilon, Infinite) else epsilon * moves
    odds = math.inf if isinstance(total, Infinite) or total > _LARGE else math.exp(total)
    return Assurance(far, moves, total, odds)
