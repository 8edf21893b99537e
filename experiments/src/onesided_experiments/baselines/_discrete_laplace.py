"""Two-sided competitors: discrete Laplace, the virtual (ε, δ) optimum, measure-and-combine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onesided._numbers import (
    MAX_RATE,
    Loss,
    Number,
    exp_neg_bounds,
    positive,
    probability,
    rate,
    round_up,
    whole,
)
from onesided.errors import DataError, ParameterError
from onesided.mechanism._counts import Counts
from onesided.mechanism._paid import count_moves, largest_rate
from onesided.noise import IntArray, Noise
from onesided.policy import Policy, Shift

_BITS = 128


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """Release ``count + G - G'`` with one rate on both sides: differential privacy's own noise.

    Promise: the loss is exactly ``noise_rate * (rise + fall)``, the same in both directions.
    Under a one-sided policy it keeps the promise too, with noise that :class:`Counts` saves.
    Units: rate in nats per count. Source: Ghosh, Roughgarden and Sundararajan 2009.
    Errors: ParameterError.
    """

    noise_rate: Loss

    def __init__(self, noise_rate: Loss | Number) -> None:
        object.__setattr__(self, "noise_rate", rate(noise_rate, name="noise_rate"))

    @classmethod
    def for_policy(
        cls,
        policy: Policy,
        *,
        epsilon: Number,
        max_groups: int | None = None,
        counted: Iterable[str] | None = None,
    ) -> DiscreteLaplace:
        """The least such noise that keeps ``(epsilon, policy)`` for counts of units by group."""
        moves = count_moves(policy, epsilon=epsilon, max_groups=max_groups, counted=counted)
        return cls(largest_rate(moves, lambda shift: shift.rise + shift.fall))

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> IntArray:
        """Noisy counts. Errors: DataError unless ``values`` is an array of counts."""
        return self._counts.noisy(values, noise=noise)

    def loss(self, shift: Shift) -> Loss:
        """``noise_rate * (rise + fall)``."""
        return self._counts.loss(shift)

    @property
    def _counts(self) -> Counts:
        return Counts(self.noise_rate, self.noise_rate)


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


def combine_leads(
    measured: NDArray[np.int64], leads: NDArray[np.int64], *, variance_ratio: Number
) -> NDArray[np.float64]:
    """The best linear unbiased estimate from measured counts and free leads.

    measured: counts of the selected items, with noise of their own.
    leads: how far each selected item's ranking value was above one common value (:class:`GapTopK`).
    variance_ratio: variance of the ranking noise over that of the measuring noise.
    Post-processing. The mean comes from the measurements; what an item differs from the mean by
    comes from both, weighted by their precision. Error falls to ``(1 + ratio k) / (k + ratio k)``
    of the measurements' alone, which is ``(k + 1) / (2k)`` at equal noise.

    Source: Ding, Wang, Xiao and Zhang 2020, Theorem 3 (written anew: ours needs no matrix).
    Errors: DataError unless there is one lead for each measurement; ParameterError.
    """
    if measured.shape != leads.shape:
        raise DataError(
            f"There are {measured.size} measurements for {leads.size} leads.",
            hint="Measure exactly the selected items, in the order they were given.",
        )
    ratio = float(positive(variance_ratio, name="variance_ratio"))
    centre = measured.mean()
    combined: NDArray[np.float64] = centre + (
        ratio * (measured - centre) + (leads - leads.mean())
    ) / (1 + ratio)
    return combined


def combine_gaps(
    measured: NDArray[np.int64],
    gaps: NDArray[np.int64],
    *,
    thresholds: ArrayLike,
    variance_ratio: Number,
) -> NDArray[np.float64]:
    """Measured counts and ``threshold + gap`` averaged by precision, one query at a time.

    variance_ratio: variance of the gap's noise (threshold noise included) over the measurement's.
    Post-processing. Source: Ding, Wang, Xiao and Zhang 2020, Section 6.
    Errors: DataError unless there is one gap for each measurement; ParameterError.
    """
    if measured.shape != gaps.shape:
        raise DataError(
            f"There are {measured.size} measurements for {gaps.size} gaps.",
            hint="Measure exactly the answered queries, in their order.",
        )
    ratio = float(positive(variance_ratio, name="variance_ratio"))
    guesses = np.asarray(thresholds, dtype=np.int64) + gaps
    combined: NDArray[np.float64] = (ratio * measured + guesses) / (1 + ratio)
    return combined


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
