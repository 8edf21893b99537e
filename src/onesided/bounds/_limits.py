"""What no mechanism can do better."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import (
    INFINITE,
    Infinite,
    Loss,
    Number,
    exp_neg_bounds,
    non_negative,
    probability,
    whole,
)
from onesided.errors import ParameterError

# The exponential function between two fractions, and fractions cut to a readable length.
#
# Every number of ``onesided.bounds`` and ``onesided.accounting`` is rounded one way only; the two
# ends here differ by less than one part in 2^90.

_BITS: Final = 128
_DIGITS: Final = 96
# Beyond this e^x is taken as INFINITE and e^-x as 0 from below: 10^889 decides nothing.
_LARGEST: Final = 2048


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
    return -_short(-number, up=False) if number < 0 else _short(number, up=True)


def _short(number: Fraction, *, up: bool) -> Fraction:
    if number == 0:
        return number
    places = _DIGITS - number.numerator.bit_length() + number.denominator.bit_length()
    scaled = number * Fraction(2) ** places
    cut = -(-scaled.numerator // scaled.denominator) if up else int(scaled)
    return cut / Fraction(2) ** places


def share_below_one(value: object, *, name: str) -> Fraction:
    """A share in [0, 1).

    >>> share_below_one("1/3", name="p")
    Fraction(1, 3)
    """
    number = probability(value, name=name)
    if number < 1:
        return number
    raise ParameterError(
        f"{name} must be below 1, got {value!r}.", hint="Give a share in [0, 1).", value=value
    )


# How often many counts can be certified at once: a limit that no mechanism can pass.
#
# A unit may be in ``max_groups`` of the groups, and a move takes it out of all of them. Of n groups
# ``free`` hold f units, the others (``full``) t + 1, and ``room`` is t + 1 - f. No group that is
# full may be certified to hold at most t. A mechanism that sees the counts alone cannot tell where
# free and full ones are but by the data, and after some moves r more of them look free. So,
# averaged over all places that the free ones can have, at least c are certified with probability at
# most
#
#     T(c) = min over k of  e^(k room ε) * prod over j = 1 .. k max_groups of (1 - c / (free + j)),
#
# whatever the mechanism. Proof: docs/proofs/many-counts.md. Independent noise at ε / max_groups
# certifies the share 1 - e^(-room ε / max_groups), and for many groups nothing does better.

_ROUNDING = 1e-9
_MOST = 10**6


def certified_share(
    *, epsilon: Number, max_groups: int, room: int = 1, free: int, full: int
) -> float:
    """The most of the ``free`` counts that any mechanism certifies on average; rounded up.

    epsilon: what each move may lose. room: t + 1 - f, at least 1.
    Errors: ParameterError for invalid numbers, or more than a million counts.

    >>> from math import exp
    >>> limit = certified_share(epsilon=1, max_groups=2, free=10**4, full=10**4)
    >>> round(limit, 3), round(1 - exp(-1 / 2), 3)  # no mechanism; independent noise
    (0.4, 0.393)
    >>> certified_share(epsilon=1, max_groups=2, free=10, full=0)  # nothing to confuse them with
    1.0
    """
    loss = float(non_negative(epsilon, name="epsilon")) * whole(room, name="room", least=1)
    groups = whole(max_groups, name="max_groups", least=1)
    number, others = whole(free, name="free", least=1), whole(full, name="full")
    if number + others > _MOST:
        raise ParameterError(
            f"{number + others:,} counts are more than {_MOST:,}.",
            hint="The limit hardly moves any more: ask for fewer.",
        )
    tails = np.exp(_log_tail(loss, groups, number, others))
    return min(1.0, float(tails.mean()) * (1 + _ROUNDING) + _ROUNDING)


def _log_tail(loss: float, groups: int, free: int, full: int) -> NDArray[np.float64]:
    """``ln T(c)`` for c = 1 .. free. In k it is convex, so its least is found by halving.

    Each block of factors is nearer to 1 than the one before.
    """
    count, most = np.arange(1, free + 1), full // groups
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, free + full + 1)))])

    def at(k: NDArray[np.int64]) -> NDArray[np.float64]:
        more = k * groups
        found: NDArray[np.float64] = (
            k * loss
            + logs[free + more - count]
            + logs[free]
            - logs[free + more]
            - logs[free - count]
        )
        return found

    low, high = np.zeros(free, dtype=np.int64), np.full(free, most, dtype=np.int64)
    while (low < high).any():
        middle = (low + high) // 2
        falls = at(np.minimum(middle + 1, most)) < at(middle)
        low, high = np.where(falls & (low < high), middle + 1, low), np.where(falls, high, middle)
    return np.minimum(0.0, at(low))
