"""The exact discrete Gaussian: draws by rejection, and what may be said of its law.

Source: Canonne, Kamath and Steinke 2020 ("The discrete Gaussian for differential privacy"),
Algorithm 3, Fact 18 and Proposition 25. Proof: docs/proofs/renyi.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Final

import numpy as np

from onesided import _numbers
from onesided._numbers import MAX_RATE, MIN_RATE, Number, exp_neg_bounds
from onesided.errors import ParameterError
from onesided.fields import Field
from onesided.noise import _uniforms
from onesided.noise._source import Bits, BoolArray, IntArray

_AT_ONCE: Final = 2**16
_BITS: Final = 256
LEAST: Final = Fraction(1, 2**10)
MOST: Final = Fraction(2**78)
# Above this, what is said of the law comes from the normal law's tail, which exceeds it.
_SUMMED: Final = 2**10
_OUTWARDS: Final = 1 + 2**-20


def variance_of(value: object, *, name: str) -> Fraction:
    """A variance parameter σ². Errors: ParameterError outside 2^-10 .. 2^78."""
    number = _numbers.positive(value, name=name)
    if LEAST <= number <= MOST:
        return number
    raise ParameterError(
        f"{name} must lie between 2^-10 and 2^78, got {value!r}.",
        hint="A smaller variance is no noise; for a larger one count in coarser steps.",
        value=value,
    )


def drawn(
    variance: Fraction, size: int, laplace: Callable[[Fraction, int], IntArray], bits: Bits
) -> IntArray:
    """``Pr[X = x]`` in proportion to ``e^(-x² / (2 variance))``, exactly, for each of ``size``.

    laplace: draws Y, ``Pr[Y = y]`` in proportion to ``e^(-rate |y|)``. With t = floor(σ) + 1 and
    rate 1/t, Y is accepted with the chance ``e^(-(|y| - σ²/t)² / (2 σ²))``; the product is in
    proportion to the law above.
    """
    scale = math.isqrt(variance.numerator // variance.denominator) + 1
    out = np.empty(size, dtype=np.int64)
    left = np.arange(size)
    while left.size:
        again = []
        for some in np.array_split(left, -(-left.size // _AT_ONCE)):
            tried = laplace(Fraction(1, scale), some.size)
            taken = _accepted(np.abs(tried), variance, scale, bits)
            out[some[taken]] = tried[taken]
            again.append(some[~taken])
        left = np.concatenate(again)
    return out


def _accepted(sizes: IntArray, variance: Fraction, scale: int, bits: Bits) -> BoolArray:
    """For each whether a geometric draw at its own rate is above 0, of which that is the chance."""
    values, places = np.unique(sizes, return_inverse=True)
    over, under = variance.as_integer_ratio()
    twice = 2 * over * under * scale**2
    squares = [(size * under * scale - over) ** 2 for size in values.tolist()]
    least, most = MIN_RATE.denominator, MAX_RATE.numerator
    usual = [twice <= square * least and square <= twice * most for square in squares]
    given = _uniforms.reciprocals_of_ratios(
        (square if good else twice, twice) for square, good in zip(squares, usual, strict=True)
    )
    out = np.empty(sizes.size, dtype=np.bool_)
    one = np.flatnonzero(np.array(usual)[places])
    draws = np.empty(one.size, dtype=np.int64)
    _uniforms.many(
        given[places[one]], lambda i: Fraction(squares[places[one[i]]], twice), draws, bits
    )
    out[one] = draws > 0
    for i in np.flatnonzero(~np.array(usual)[places]).tolist():
        rate = Fraction(squares[places[i]], twice)
        out[i] = not rate or _uniforms.flip_few(_uniforms.exp_digits(rate), 1, bits)[0]
    return out


@dataclass(frozen=True)
class DiscreteGaussian:
    """``Pr[X = x]`` in proportion to ``e^(-x² / (2 variance))``, for every whole number x.

    variance: the parameter σ², exact, from 2^-10 to 2^78; the variance of X is no larger. Noise on
    both sides, symmetric about 0. Quantiles err, if ever, toward caution: by sums of rational
    bounds up to σ² = 2^10, beyond it by the tail of the normal law. Floats are for display.
    Errors: ParameterError. Source: Canonne, Kamath and Steinke 2020.

    >>> law = DiscreteGaussian(4)
    >>> law.median(), law.quantile_upper("0.95"), round(law.variance(), 6)
    (0, 3, 4.0)
    """

    parameter: Field[Number, Fraction] = Field(variance_of)

    @property
    def upper(self) -> Fraction:
        """1 / σ²: that there is noise above; no price follows from it."""
        return 1 / self.parameter

    @property
    def lower(self) -> Fraction:
        """1 / σ²: that there is noise below."""
        return 1 / self.parameter

    def mean(self) -> float:
        """0."""
        return 0.0

    def median(self) -> int:
        """0."""
        return 0

    def variance(self) -> float:
        """The variance of X: σ² but for a little less where σ² is below 1."""
        if self.parameter > _SUMMED:
            return float(self.parameter)  # less by a part of e^(-2 π² σ²)
        masses, _ = masses_of(self.parameter)
        return 2 * math.fsum(x * x * (mass / 2**_BITS) for x, mass in enumerate(masses))

    def tail_above(self, k: int) -> Fraction:
        """An upper bound of ``Pr[X > k]``, for k of at least 0 and σ² up to 2^10."""
        masses, beyond = masses_of(self.parameter)
        return Fraction(sum(masses[k + 1 :]) + beyond, 2**_BITS)

    def quantile_upper(self, confidence: Number) -> int | None:
        """A k with ``Pr[X > k] <= 1 - confidence``, hardly above the least; None at confidence 1.

        For a confidence of at least 1/2.
        """
        miss = 1 - _numbers.probability(confidence, name="confidence")
        if not 0 <= miss <= Fraction(1, 2):
            raise ParameterError(
                f"confidence must be at least 1/2, got {confidence!r}.",
                hint='Give a share such as "0.95".',
                value=confidence,
            )
        return _quantile(self.parameter, miss) if miss else None

    def quantile_lower(self, confidence: Number) -> int | None:
        """The same below: ``Pr[X < k] <= 1 - confidence``."""
        found = self.quantile_upper(confidence)
        return None if found is None else -found


@lru_cache(maxsize=256)
def _quantile(variance: Fraction, miss: Fraction) -> int:
    if variance <= _SUMMED and miss >= Fraction(1, 2**100):
        masses, tail = masses_of(variance)
        least = miss * 2**_BITS
        for k in range(len(masses) - 1, -1, -1):
            tail += masses[k]
            if tail > least:
                return k
    # Pr[X > k] <= Pr[N >= k] for the normal N of variance σ² (Proposition 25), and e^(-k²/2σ²).
    rough = math.log(miss.denominator) - math.log(miss.numerator)
    far = math.sqrt(2 * rough) if rough > 600 else -NormalDist().inv_cdf(float(miss))
    return math.ceil(far * _OUTWARDS * math.sqrt(variance)) + 1


@lru_cache(maxsize=8)
def masses_of(variance: Fraction) -> tuple[Sequence[int], int]:
    """Upper bounds of ``Pr[X = x]`` for x = 0, 1, ..., and of all beyond, in units of 2^-256.

    As far as about 19 σ, where less than 2^-256 is left (X is sub-Gaussian with parameter σ²).

    >>> masses, beyond = masses_of(Fraction(1))
    >>> round(masses[0] / 2**256, 6), beyond
    (0.398942, 1)
    """
    reach = math.isqrt(math.ceil(2 * _BITS * variance)) + 1
    bits = _BITS + 64
    (low, high), (low_two, high_two) = (
        ((least * 2**bits) // 1, -(-most * 2**bits // 1))
        for least, most in (exp_neg_bounds(k / (2 * variance), bits=bits) for k in (1, 2))
    )
    lows, highs = [2**bits], [2**bits]
    # e^(-(x + 1)²/2σ²) = e^(-x²/2σ²) e^(-(2x + 1)/2σ²), each rounded down, and up.
    for _ in range(reach):
        lows.append(lows[-1] * low >> bits)
        highs.append(-(-highs[-1] * high >> bits))
        low, high = low * low_two >> bits, -(-high * high_two >> bits)
    whole = 2 * sum(lows) - lows[0]
    return tuple(-(-(one << _BITS) // whole) for one in highs), 1
