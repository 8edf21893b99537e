"""Odds that never exceed ``e^ε``: exact fractions in place of irrational numbers."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from onesided._numbers import (
    INFINITE,
    MAX_RATE,
    Infinite,
    Loss,
    Number,
    exp_neg_bounds,
    log_up,
    rate,
)
from onesided.errors import ParameterError

# Significant bits of a chance. The loss that they cost is below 2^-54.
_BITS: Final = 56
_LOSS_BITS: Final = 64
_READABLE: Final = Fraction(1, 2**48)
_LEAST: Final = Fraction(1, 2**44)


def finite(epsilon: Loss | Number, *, name: str = "epsilon") -> Fraction:
    """``epsilon`` as an exact fraction in [2^-40, 2^10]. Errors: ParameterError."""
    number = rate(epsilon, name=name)
    if isinstance(number, Infinite):
        raise ParameterError(
            f"{name} must be finite: an infinite one would send the truth as it is.",
            hint="Leave the values that need no protection out of the policy's edges instead.",
            value=epsilon,
        )
    return number


def shrink(exponent: Fraction) -> Fraction:
    """A fraction ``t`` in ``(e^-exponent, 1)``, close above; ``1/t`` may stand for ``e^exponent``.

    It is further above than :func:`loss_of` rounds up, so that ``loss_of(1/t) <= exponent``.
    Errors: ParameterError below 2^-44.
    """
    if exponent < _LEAST:
        raise ParameterError(
            f"A loss of {float(exponent):.3g} along an edge is too small to randomise for.",
            hint="Give a larger epsilon or weight: nothing could be learnt from the reports.",
        )
    # A larger exponent is cut: t is then too large, which is more private.
    exponent = min(exponent, MAX_RATE)
    bits = _BITS + int(exponent * 3 / 2) + 1
    high = exp_neg_bounds(exponent, bits=bits + 8)[1]
    return round_up_to(high, bits=_BITS) + _unit(high)


def round_up_to(number: Fraction, *, bits: int = _BITS) -> Fraction:
    """The least number of ``bits`` significant bits that is not below ``number``; monotone."""
    if number == 0:
        return number
    unit = _unit(number, bits=bits)
    return -(-number // unit) * unit


def _unit(number: Fraction, *, bits: int = _BITS) -> Fraction:
    """The worth of the last significant bit: ``2^(e - bits)`` where ``2^(e-1) <= number < 2^e``."""
    exponent = number.numerator.bit_length() - number.denominator.bit_length()
    if number >= Fraction(2) ** exponent:
        exponent += 1
    return Fraction(2) ** (exponent - bits)


def loss_of(odds: Loss) -> Loss:
    """The natural logarithm of exact odds, rounded up by at most 2^-64."""
    return INFINITE if isinstance(odds, Infinite) else log_up(odds, bits=_LOSS_BITS)


def readable(loss: Loss) -> Loss:
    """The simplest fraction from ``loss`` to 2^-48 above it: 1/3, where the loss is just below."""
    if isinstance(loss, Infinite):
        return loss
    low, high, parts = loss, loss + _READABLE, []
    while math.ceil(low) > high:
        parts.append(math.floor(low))
        low, high = 1 / (high - parts[-1]), 1 / (low - parts[-1])
    found = Fraction(math.ceil(low))
    for part in reversed(parts):
        found = part + 1 / found
    return found


def ratio(over: Fraction, under: Fraction) -> Loss:
    """``over / under``; INFINITE if only ``under`` is 0, and 0 if ``over`` is."""
    if over == 0:
        return Fraction(0)
    return INFINITE if under == 0 else over / under
