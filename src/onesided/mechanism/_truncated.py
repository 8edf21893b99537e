"""Counts that are certain on both sides, at the price of a small δ."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from onesided._numbers import (
    INFINITE,
    MAX_COUNT,
    Infinite,
    Loss,
    Number,
    exp_neg_bounds,
    rate,
    strict_share,
    whole,
)
from onesided.errors import ParameterError
from onesided.fields import Field, Rate, Whole
from onesided.mechanism._base import counts_of
from onesided.mechanism._counts import Interval
from onesided.mechanism._paid import count_moves, paid_rate
from onesided.noise import IntArray, Noise, SecureNoise
from onesided.policy import Policy, Shift

_BITS: Final = 128
# Beyond this many nats a tail is bounded by 2^-4096 and not told apart from smaller ones.
_DEEPEST: Final = 2048


@dataclass(frozen=True)
class TruncatedCounts:
    """Release ``z = count + T`` for each count, T a geometric truncated to 0 .. ``width``.

    Promise: ``z - width <= count <= z``, always. Along a move that lowers the counts by ``fall``
    in total, each by at most ``per_key``: loss ``upper_rate * fall`` except with the probability
    ``delta(shift)``. Both are exact. A rise has infinite loss.
    Units: rate in nats per count; answers in counts.

    Proof. ``Pr[T = k] = (1 - q) q^k / (1 - q^(width + 1))`` with ``q = e^-rate``. When a count
    falls by s, an output z = f + k has its probability divided by exactly ``e^(rate s)`` if
    ``k <= width - s``, and is impossible otherwise; that is ``Pr[T > width - s]``. Counts are
    independent, so some count gives an impossible output with probability
    ``1 - prod(1 - Pr[T > width - s_i])``. ``ln Pr[T <= width - s]`` is concave in s, so of all
    falls with the same total the one that lowers as few counts as possible, each by ``per_key``,
    has the largest probability.

    For one count that falls by one no noise on 0 .. width has a smaller δ at that loss: δ is at
    least any ``sum c_k (Pr[T = k] - e^rate Pr[T = k + 1])`` with ``0 <= c_k <= 1``; take ``c_k =
    (e^(rate (k + 1)) - 1) / (e^(rate (width + 1)) - 1)``, for which the sum is the same for all T.
    No δ is 0: what is certain on both sides tells, now and then, a count from any smaller one.

    Source: ours. Errors: ParameterError.

    >>> from onesided.mechanism import TruncatedCounts
    >>> TruncatedCounts(1, width=10).per_key
    1
    """

    upper_rate: Rate = Field(rate)
    _: KW_ONLY
    width: Whole = Field(whole, least=1)
    per_key: Whole = Field(whole, least=1, default=1)

    @classmethod
    def for_policy(
        cls,
        policy: Policy,
        *,
        epsilon: Number,
        delta: Number,
        max_groups: int | None = None,
        counted: Iterable[str] | None = None,
    ) -> TruncatedCounts:
        """The least width that keeps ``(epsilon, delta)`` along every move of ``policy``.

        For counts of units by group. A unit in several groups meets the end of the noise in each
        of them, so the width grows with the number of groups as the rate falls.
        Errors: UnprotectableError if some move raises a count; ParameterError for δ outside (0, 1).
        """
        hint = "Use less than one in the number of people, for example 1e-6."
        share = strict_share(delta, name="delta", hint=hint)
        moves = count_moves(policy, epsilon=epsilon, max_groups=max_groups, counted=counted)
        upper = paid_rate(
            policy,
            moves,
            answers=None,
            what="a truncated count",
            instead="Counts, whose bounds are then not certain",
        )
        widest = max((move.shift.fall for move in moves), default=0)
        return cls(upper, width=_least_width(upper, widest, share))

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> IntArray:
        """Noisy counts. Errors: DataError unless ``values`` is an array of counts."""
        counts = counts_of(values)
        source = SecureNoise() if noise is None else noise
        # G = (width + 1) H + T with H and T independent: the remainder is truncated exactly.
        return counts + source.geometric(self.upper_rate, counts.size) % (self.width + 1)

    def loss(self, shift: Shift) -> Loss:
        """``upper_rate * fall``, up to :meth:`delta`; INFINITE if any count rises."""
        return self.upper_rate * shift.fall + INFINITE * shift.rise

    def delta(self, shift: Shift) -> Fraction:
        """The probability of an output that is impossible after the fall, rounded up."""
        if isinstance(self.loss(shift), Infinite) or isinstance(self.upper_rate, Infinite):
            return Fraction(0)
        return _delta(self.upper_rate, self.width, shift.fall, self.per_key)

    def interval(self, noisy: IntArray) -> Interval:
        """Bounds on the true counts, both certain, from what :meth:`release` gave."""
        lower = np.maximum(noisy - self.width, 0)
        return Interval(lower=lower, upper=noisy, lower_certain=True, upper_certain=True)


def _delta(upper: Fraction, width: int, fall: int, per_key: int) -> Fraction:
    """``1 - prod(Pr[T <= width - s_i])`` for the worst split of ``fall``, rounded up."""
    if fall == 0:
        return Fraction(0)
    places = _BITS + 2 * min(int(upper * (width + 1)), _DEEPEST)
    many, rest = divmod(fall, per_key)
    safe = _power_down(_safe(upper, width, per_key, places), many, places)
    return 1 - _down(safe * _safe(upper, width, rest, places), places)


def _safe(upper: Fraction, width: int, fall: int, places: int) -> Fraction:
    """At most ``Pr[T <= width - fall] = (1 - q^(width + 1 - fall)) / (1 - q^(width + 1))``."""
    if fall > width or fall == 0:
        return Fraction(int(fall == 0))
    tail = exp_neg_bounds(upper * (width + 1 - fall), bits=places)[1]
    whole_tail = exp_neg_bounds(upper * (width + 1), bits=places)[0]
    return _down(max(Fraction(0), 1 - tail) / (1 - whole_tail), places)


def _power_down(base: Fraction, count: int, places: int) -> Fraction:
    """At most ``base ** count``, without ever longer fractions."""
    power = Fraction(1)
    while count:
        if count & 1:
            power = _down(power * base, places)
        base, count = _down(base * base, places), count >> 1
    return power


def _down(number: Fraction, places: int) -> Fraction:
    return Fraction((number.numerator << places) // number.denominator, 1 << places)


def _least_width(upper: Loss, fall: int, share: Fraction) -> int:
    """The least width at which ``fall`` counts that fall by one keep δ. Larger widths keep it."""
    if isinstance(upper, Infinite):
        return 1

    def enough(width: int) -> bool:
        return _delta(upper, width, fall, 1) <= share

    high = 1
    while not enough(high):
        high *= 2
        if high > MAX_COUNT or upper * high > _DEEPEST:
            raise ParameterError(
                f"No width below 2^62 keeps delta at the rate {upper}.",
                hint="Use a larger ε or δ.",
            )
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
