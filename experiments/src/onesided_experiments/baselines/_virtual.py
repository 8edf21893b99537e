"""The most that any (ε, δ)-DP mechanism could do at a yes-or-no question: a bound, no mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from onesided.errors import ParameterError
from onesided.numbers import (
    MAX_RATE,
    Number,
    exp_neg_bounds,
    positive,
    probability,
    round_up,
    whole,
)

_BITS: Final = 128


@dataclass(frozen=True, slots=True)
class VirtualOptimal:
    """The most that any (ε, δ)-DP mechanism could do at answering "at most t". It draws nothing.

    Promise: no (ε, δ)-DP mechanism that says "at most t" wrongly with probability at most
    ``error`` says it rightly, at a count ``k`` below the first wrong one, more often than
    ``min(1, error e^(εk) + δ (e^(εk) - 1) / (e^ε - 1))``. Virtual: a bound that no mechanism need
    attain, so comparing with it favours differential privacy.

    Source: ADP-2022 inequality (9), with q, α, β there; α is ``error``. Errors: ParameterError.
    """

    epsilon: Fraction
    delta: Fraction
    error: Fraction

    def __init__(self, *, epsilon: Number, delta: Number, error: Number = 0) -> None:
        object.__setattr__(self, "epsilon", _ordinary(epsilon))
        object.__setattr__(self, "delta", probability(delta, name="delta"))
        object.__setattr__(self, "error", probability(error, name="error"))

    def power(self, count: int, *, threshold: int) -> float:
        """The bound for a true ``count``; 0.0 above the threshold. Rounded up, so in its favour.

        Above the threshold an answer of yes is an error, not power.
        """
        distance = whole(threshold, name="threshold") + 1 - whole(count, name="count")
        return round_up(self.bound(distance)) if distance > 0 else 0.0

    def bound(self, distance: int) -> Fraction:
        """The bound at a count ``distance`` moves below the first wrong one; at least the truth."""
        reach = whole(distance, name="distance")
        total = self.error
        # One move at a time: b' = e^ε b + δ, stopped at 1 before numbers grow.
        growth = 1 / exp_neg_bounds(self.epsilon, bits=_BITS + 2 * int(self.epsilon))[0]
        if not total and not self.delta:
            return total
        for _ in range(reach):
            total = _trim(growth * total + self.delta)
            if total >= 1:
                return Fraction(1)
        return total


def _ordinary(epsilon: Number) -> Fraction:
    """ε above 0 and at most 2^10, beyond which e^ε has no use."""
    number = positive(epsilon, name="epsilon")
    if number <= MAX_RATE:
        return number
    raise ParameterError(
        f"epsilon must be at most 2^10, got {epsilon!r}.",
        hint="Use ε of a few units.",
        value=epsilon,
    )


def _trim(number: Fraction) -> Fraction:
    """``number`` rounded up to a multiple of 2^-512, so that fractions stay short."""
    return Fraction(-((-number.numerator << 512) // number.denominator), 1 << 512)
