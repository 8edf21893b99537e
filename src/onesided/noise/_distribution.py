"""The distribution of ``D = G_upper - G_lower``: what may be said about noise, never a draw."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

from onesided import _numbers
from onesided._numbers import Infinite, Loss, Number
from onesided.errors import ParameterError
from onesided.fields import Field, Rate

_BITS = 256
_Bounds: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class TwoSidedGeometric:
    """``D = G_upper - G_lower``, rates in nats per count; INFINITE means no noise on that side.

    With ``p = e^-upper`` and ``q = e^-lower``::

        Pr[D = k] = (1 - p)(1 - q) / (1 - pq) * (p^k if k >= 0 else q^-k)
        Pr[D > k] = (1 - q) p^(k + 1) / (1 - pq)    for k >= -1

    Tails are rational upper bounds, above the truth by less than 2^-200; quantiles follow from
    them and so err, if ever, toward caution. Floats are for display and good to 1e-12.
    Errors: ParameterError for rates outside [2^-40, 2^10].

    >>> from onesided.noise import TwoSidedGeometric
    >>> TwoSidedGeometric(1, 1).mean()
    0.0
    """

    upper: Rate = Field(_numbers.rate)
    lower: Rate = Field(_numbers.rate)

    def tail_above(self, k: int) -> Fraction:
        """An upper bound of ``Pr[D > k]``."""
        return self._tail_above(k, _BITS)

    def tail_below(self, k: int) -> Fraction:
        """An upper bound of ``Pr[D < k]``."""
        return self._mirrored()._tail_above(-k, _BITS)  # noqa: SLF001 (same class)

    def quantile_upper(self, confidence: Number) -> int | None:
        """The least ``k`` with ``Pr[D > k] <= 1 - confidence``, for a confidence in (0, 1].

        None if there is no such k: full confidence, and noise above without end.
        """
        miss = 1 - _numbers.probability(confidence, name="confidence")
        if miss == 1:
            raise ParameterError(
                f"confidence must be above 0, got {confidence!r}.",
                hint='Give a share such as "0.95".',
                value=confidence,
            )
        return _quantile_upper(self, miss)

    def quantile_lower(self, confidence: Number) -> int | None:
        """The largest ``k`` with ``Pr[D < k] <= 1 - confidence``; None if there is none."""
        found = self._mirrored().quantile_upper(confidence)
        return None if found is None else -found

    def median(self) -> int:
        """The least ``k`` with ``Pr[D > k] <= 1/2``."""
        found = self.quantile_upper(Fraction(1, 2))
        return 0 if found is None else found

    def mean(self) -> float:
        """The mean of ``D``: ``p / (1 - p) - q / (1 - q)``."""
        return float(_mean(self.upper) - _mean(self.lower))

    def variance(self) -> float:
        """The variance of ``D``: ``p / (1 - p)^2 + q / (1 - q)^2``."""
        return float(sum(mean * (1 + mean) for mean in (_mean(self.upper), _mean(self.lower))))

    def pmf(self, k: int) -> float:
        """``Pr[D = k]``; 0.0 where it is below 2^-1074."""
        upper, lower = _numbers.round_up(self.upper), _numbers.round_up(self.lower)
        # Three roundings, and one of the exponent, at most 1100 nats: below 1e-12 in all.
        head = math.expm1(-upper) * math.expm1(-lower) / -math.expm1(-upper - lower)
        return head * math.exp(-abs(k) * (upper if k > 0 else lower)) if k else head

    def _mirrored(self) -> TwoSidedGeometric:
        """The distribution of ``-D``."""
        return TwoSidedGeometric(self.lower, self.upper)

    def search(self, miss: Fraction) -> int | None:
        """The least ``k`` with ``Pr[D > k] <= miss``, looked for anew; None if there is none."""
        if miss == 0 and not isinstance(self.upper, Infinite):
            return None
        # Tails as small as `miss` must still be told from 0.
        bits = _BITS + (miss.denominator.bit_length() if miss else 0)

        def enough(k: int) -> bool:
            return self._tail_above(k, bits) <= miss

        high = self._guess(miss)
        low, step = high - 1, 1
        while not enough(high):
            low, high, step = high, high + step, 2 * step
        step = 1
        while enough(low):
            low, high, step = low - step, low, 2 * step
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if enough(middle) else (middle, high)
        return high

    def _guess(self, miss: Fraction) -> int:
        """Where to look first for a quantile; the search does not depend on its being right."""
        if isinstance(self.upper, Infinite):
            return 0
        rate, other = float(self.upper), _numbers.round_up(self.lower)
        head = math.expm1(-other) / math.expm1(-rate - other)
        log_miss = math.log(miss.numerator) - math.log(miss.denominator)
        return max(0, math.ceil((math.log(head) - log_miss) / rate) - 1)

    def _tail_above(self, k: int, bits: int) -> Fraction:
        if k < -1:
            # Pr[D > k] = 1 - Pr[-D > -k - 1], so bounded by a lower bound of the other tail.
            return 1 - Fraction(_tail(self.lower, self.upper, -k, bits)[0], 1 << bits)
        return Fraction(_tail(self.upper, self.lower, k + 1, bits)[1], 1 << bits)


@lru_cache(maxsize=1024)
def _quantile_upper(law: TwoSidedGeometric, miss: Fraction) -> int | None:
    """The least ``k`` with ``Pr[D > k] <= miss``; None if there is none."""
    return law.search(miss)


def _tail(toward: Loss, away: Loss, steps: int, bits: int) -> _Bounds:
    """Bounds, in units of 2^-bits, of ``(1 - q) p^steps / (1 - pq)``; p is e^-toward, q e^-away."""
    one = 1 << bits
    p, q, power = _powers(toward, 1, bits), _powers(away, 1, bits), _powers(toward, steps, bits)
    most = one - (p[0] * q[0] >> bits)
    least = one + (-p[1] * q[1] >> bits)
    low = (one - q[1]) * power[0] // most
    high = -(-(one - q[0]) * power[1] // least)
    return low, min(high, one)


@lru_cache(maxsize=256)
def _powers(rate: Loss, steps: int, bits: int) -> _Bounds:
    """Bounds of ``e^(-rate steps)`` in units of 2^-bits."""
    if isinstance(rate, Infinite):
        return (0, 0) if steps else (1 << bits, 1 << bits)
    low, high = _numbers.exp_neg_bounds(rate * steps, bits=bits)
    return (
        (low.numerator << bits) // low.denominator,
        -((-high.numerator << bits) // high.denominator),
    )


def _mean(rate: Loss) -> Fraction:
    if isinstance(rate, Infinite):
        return Fraction(0)
    # Two bits for each nat, so that even e^-1024 keeps its digits.
    bits = _BITS + 2 * int(rate)
    power = _powers(rate, 1, bits)[0]
    return Fraction(power, (1 << bits) - power)
