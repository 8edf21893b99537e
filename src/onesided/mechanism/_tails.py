"""How far sums of two-rate geometric noise can stray, for bounds on answers; never a draw."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np

from onesided._numbers import Infinite
from onesided.noise import TwoSidedGeometric

_STEPS: Final = 4_000
_LARGE: Final = 700.0
# More than all roundings on the way, so that the bound is too wide rather than too narrow.
_OUTWARDS: Final = 1 + 2**-30


def tail_bound(laws: Sequence[tuple[TwoSidedGeometric, float]], share: Fraction) -> float:
    """The h that a sum of independent noise, centred, passes with chance at most ``1 - share``.

    On each side by itself. laws: pairs (noise, weight): a draw of ``noise`` times any number whose
    square is ``weight``, or draws times numbers whose squares sum up to it.
    Proof: let K be the cumulant function of the centred noise with both its geometrics taken to
    the side in question; all cumulants of a geometric are positive, so a factor w gives at most
    K(s |w|) on either side. K(s sqrt(y)) is convex in y and 0 at 0, so many factors give at most
    K(s sqrt(weight)). By Chernoff's bound exp(sum K - s h) = 1 - share for the h that is returned,
    whatever s; the least one found is taken.

    >>> tail_bound([], Fraction(19, 20))
    0.0
    >>> laws = [(TwoSidedGeometric(1, 1), 1.0)]
    >>> tail_bound(laws, Fraction(99, 100)) > tail_bound(laws, Fraction(9, 10)) > 0
    True
    """
    parts = [
        (float(rate), math.sqrt(weight))
        for law, weight in laws
        for rate in (law.upper, law.lower)
        if not isinstance(rate, Infinite) and weight > 0
    ]
    if not parts:
        return 0.0
    s = np.arange(1, _STEPS) / _STEPS * min(rate / size for rate, size in parts)
    total = np.zeros_like(s)
    for rate, size in parts:
        u = s * size
        total += math.log(-math.expm1(-rate)) - np.log(-np.expm1(u - rate))
        total -= u / math.expm1(rate) if rate < _LARGE else 0.0
    return float(np.min((total - math.log(1 - share)) / s)) * _OUTWARDS
