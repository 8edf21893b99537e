"""Bounds that only papers use: what real-valued noise costs; papers mix up two of these numbers.

ADP-2021 section 2.2 and ADP-2022 section V-A3 call √2/ε the expected absolute error of Laplace
noise. It is the standard deviation; the mean absolute error is 1/ε, the same as that of
uncorrected exponential noise (docs/papers-errata.md, 6). What one side really gains is half the
variance once the mean is taken out, and ln 2/ε mean absolute error once the median is.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from onesided.bounds.kit import exp_neg, log_up, short_up
from onesided.errors import ParameterError
from onesided.numbers import Number, positive

__all__ = ["NoiseAccuracy", "exponential_noise", "laplace_noise"]

Correction = Literal["none", "mean", "median"]


@dataclass(frozen=True, slots=True)
class NoiseAccuracy:
    """In counts and counts squared; irrational numbers are rounded up.

    >>> NoiseAccuracy(mean_absolute=Fraction(1), variance=Fraction(2), bias=Fraction(0)).variance
    Fraction(2, 1)
    """

    mean_absolute: Fraction
    variance: Fraction
    bias: Fraction


def laplace_noise(epsilon: Number) -> NoiseAccuracy:
    """Laplace noise of scale 1/ε: mean absolute error 1/ε, variance 2/ε², no bias.

    >>> laplace_noise("1/2")
    NoiseAccuracy(mean_absolute=Fraction(2, 1), variance=Fraction(8, 1), bias=Fraction(0, 1))
    """
    scale = 1 / positive(epsilon, name="epsilon")
    return NoiseAccuracy(scale, 2 * scale**2, Fraction(0))


def exponential_noise(epsilon: Number, *, correction: Correction = "none") -> NoiseAccuracy:
    """Exponential noise of scale 1/ε, variance 1/ε², with its mean or median taken out, or not.

    Mean absolute error 1/ε as it is, 2/(e ε) about the mean, ln 2/ε about the median; the median
    is what makes it least. Bias 1/ε, 0 and (1 - ln 2)/ε, the size rounded up.
    Errors: ParameterError for an ε that is not above 0, or another correction.

    >>> exponential_noise("1/2").variance, exponential_noise("1/2", correction="mean").bias
    (Fraction(4, 1), Fraction(0, 1))
    """
    scale = 1 / positive(epsilon, name="epsilon")
    if correction == "none":
        return NoiseAccuracy(scale, scale**2, scale)
    if correction == "mean":
        inverse = exp_neg(Fraction(1))[1]
        return NoiseAccuracy(short_up(2 * scale * inverse), scale**2, Fraction(0))
    if correction == "median":
        half = log_up(Fraction(2), bits=96)
        # ln 2 <= half by less than 2^-96, so this is not below the bias.
        bias = short_up(scale * (1 - half + Fraction(1, 2**96)))
        return NoiseAccuracy(short_up(scale * half), scale**2, bias)
    raise ParameterError(
        f"correction must be 'none', 'mean' or 'median', got {correction!r}.",
        hint="Use 'mean' for unbiased answers, 'median' for the least absolute error.",
    )
