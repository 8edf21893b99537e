"""The exponential function between two fractions, and fractions cut to a readable length.

Every number of ``onesided.bounds`` and ``onesided.accounting`` is rounded one way only; the two
ends here differ by less than one part in 2^90.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from onesided._numbers import INFINITE, Infinite, Loss, exp_neg_bounds, whole

_BITS: Final = 128
_DIGITS: Final = 96
# Beyond this e^x is taken as INFINITE and e^-x as 0 from below: 10^889 decides nothing.
_LARGEST: Final = 2048
_SMALLEST: Final = Fraction(1, 2**2048)
MOST_STEPS: Final = 10**6


def exp_neg(size: Fraction) -> tuple[Fraction, Fraction]:
    """``(low, high)`` with ``low <= e^-size <= high``, for ``size >= 0``; 0 above 2048.

    >>> low, high = exp_neg(Fraction(1))
    >>> float(low), 0 < high - low < Fraction(1, 2**90)
    (0.36787944117144233, True)
    """
    if size > _LARGEST:
        return Fraction(0), exp_neg_bounds(Fraction(_LARGEST), bits=_BITS + 2 * _LARGEST)[1]
    # Two bits for each nat, and as many as a small exponent has zeros after the point.
    small = max(0, size.denominator.bit_length() - size.numerator.bit_length())
    return exp_neg_bounds(size, bits=_BITS + 2 * int(size) + min(small, 2 * _LARGEST))


def exp_bounds(exponent: Fraction) -> tuple[Fraction, Loss]:
    """``(low, high)`` with ``low <= e^exponent <= high``, for any sign.

    ``high`` is INFINITE for exponents above 2048; ``low`` is 0 for exponents below -2048.

    >>> low, high = exp_bounds(Fraction(1))
    >>> low < high, float(low), exp_bounds(Fraction(0))[0] <= 1
    (True, 2.718281828459045, True)
    """
    low, high = exp_neg(abs(exponent))
    if exponent <= 0:
        return low, high
    return 1 / high, 1 / low if low else INFINITE


def exp_down(exponent: Fraction) -> Fraction:
    """At most ``e^exponent``, by less than one part in 2^90 (0 below -2048)."""
    return exp_bounds(exponent)[0]


def exp_up(exponent: Loss) -> Loss:
    """At least ``e^exponent``, by less than one part in 2^90 (INFINITE above 2048)."""
    return exponent if isinstance(exponent, Infinite) else exp_bounds(exponent)[1]


def short_up(number: Fraction) -> Fraction:
    """``number`` if it is short, else the least fraction of 96 significant bits above it.

    >>> third = Fraction(10**40, 3 * 10**40 + 1)
    >>> short_up(third) > third, short_up(Fraction(1, 2))
    (True, Fraction(1, 2))
    """
    if number.denominator.bit_length() <= _DIGITS:
        return number
    return -_short_down(-number) if number < 0 else _short(number, up=True)


def _short_down(number: Fraction) -> Fraction:
    return _short(number, up=False)


def _short(number: Fraction, *, up: bool) -> Fraction:
    if number == 0:
        return number
    places = _DIGITS - number.numerator.bit_length() + number.denominator.bit_length()
    scaled = number * Fraction(2) ** places
    cut = -(-scaled.numerator // scaled.denominator) if up else int(scaled)
    return cut / Fraction(2) ** places


def steps(value: object, *, name: str) -> int | Infinite:
    """A number of moves: whole, from 1 to 10^6, or INFINITE where no path leads.

    Errors: ParameterError for anything else, NaN included.
    """
    if isinstance(value, Infinite):
        return value
    return whole(value, name=name, least=1, most=MOST_STEPS)


def growth(epsilon: Fraction, count: int) -> tuple[Fraction, Loss]:
    """``(low, high)`` of ``1 + e^ε + ... + e^((count - 1) ε)``: what a δ grows to over a path."""
    if epsilon == 0:
        return Fraction(count), Fraction(count)
    loss = max(epsilon, _SMALLEST)
    (low, high), (below, above) = exp_bounds(loss * count), exp_bounds(loss)
    if isinstance(high, Infinite) or isinstance(above, Infinite):
        # The largest term alone is a lower bound.
        return exp_down(loss * (count - 1)), INFINITE
    if loss != epsilon:
        return Fraction(count), (high - 1) / (below - 1)
    return max(Fraction(count), (low - 1) / (above - 1)), (high - 1) / (below - 1)
