"""Asking by accuracy: the least ε at which an answer is so close to the truth, 95 of 100 times.

Promise: from public facts alone. Of the noise that a plan names, :func:`half_width` is a number
that the estimate is at most off by with probability 19/20 or more: the larger side of the
mechanism's own interval, which is as wide for every noisy count. What is cut at 0 afterwards comes
closer; what a question clips or leaves out is none of its noise, and no part of this.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

import numpy as np

from onesided.errors import ParameterError
from onesided.mechanism import Counts, CubeEstimates, GaussianSums, StairSums, Sums
from onesided.numbers import Number, positive
from onesided.session import Count, Histogram, Plan, Sum
from onesided_service._config import DatasetConfig

SURE: Final = Fraction(19, 20)
ASKED: Final = (Count, Histogram, Sum)
_DRAWN: Final = (Counts, CubeEstimates, GaussianSums, StairSums, Sums)
_FAR: Final = 2**50  # so large a count is nowhere near 0, where estimates are cut
_SLACK: Final = Fraction(1, 10**9)
_CELLS: Final = 64
_LEAST: Final = 1e-4
_MOST: Final = 100.0
_STEPS: Final = 20
_DIGITS: Final = 3


def half_width(question: Any, plan: Plan) -> float | None:
    """How far off an estimate is at most, 95 of 100 times, in its own unit; None if unknown.

    >>> import polars as pl, onesided as od
    >>> people, policy = pl.DataFrame({"person": [1, 2]}), od.policy.bounded()
    >>> session = od.Session(people, unit="person", policy=od.policy.unbounded(), budget=9)
    >>> asked = od.Count(epsilon=1)
    >>> half_width(asked, session.plan(asked))
    3.0
    """
    if not isinstance(question, ASKED) or not isinstance(plan.mechanism, _DRAWN):
        return None
    if plan.standard_deviation is None:
        return None
    mechanism = plan.mechanism
    noisy = np.array([_FAR], dtype=np.int64)
    middle = int(mechanism.estimate(noisy)[0])
    sides = mechanism.interval(noisy, confidence=SURE)
    steps = max(middle - int(sides.lower[0]), int(sides.upper[0]) - middle)
    spread = float(mechanism.distribution.variance() ** 0.5)
    # Sums are drawn in steps of their grid: as many as the plan's own unit has of them.
    return steps * plan.standard_deviation / spread if spread else 0.0


def sought(config: DatasetConfig) -> DatasetConfig:
    """How a question is read whose ε is looked for: of any ε, and of few cells.

    Some thirty plans are made to find one; of larger questions the asker makes them one by one.
    """
    cells = min(_CELLS, config.cells)
    return replace(config, cells=cells, min_epsilon=Fraction(0), max_epsilon=None)


def accurate(plan_of: Callable[[Any], Plan], question: Any, within: Number) -> Any:
    """The question with the least ε of three digits that is close enough. Free, about no row.

    Errors: ParameterError where how far off it is cannot be known before, or no ε is enough.
    """
    most = positive(within, name="within") * (1 + _SLACK)  # exactly: it may be beyond all floats

    def enough(epsilon: Fraction) -> bool:
        asked = replace(question, epsilon=epsilon)
        found = half_width(asked, plan_of(asked))
        if found is None:
            raise ParameterError(
                "How far off this answer will be cannot be said before it is asked.",
                hint="Leave the accuracy empty, and fill in ε.",
            )
        return found <= most

    low, high = math.log(_LEAST), math.log(_MOST)
    if not enough(Fraction(_MOST)):
        raise ParameterError(
            "No ε up to 100 is enough for this.", hint="Want less, or ask a coarser question."
        )
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(_rounded(math.exp(middle))) else (middle, high)
    return replace(question, epsilon=_rounded(math.exp(high)))


def _rounded(epsilon: float) -> Fraction:
    """The next number of three digits that is not smaller."""
    unit = Fraction(10) ** (math.floor(math.log10(epsilon)) + 1 - _DIGITS)
    return math.ceil(Fraction(epsilon) / unit) * unit
