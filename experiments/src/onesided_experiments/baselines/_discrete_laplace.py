"""Discrete Laplace noise: differential privacy's own, the same in both directions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from numpy.typing import ArrayLike

from onesided.mechanism import Counts
from onesided.mechanism.kit import Field, Rate, count_moves, largest_rate
from onesided.noise import IntArray, Noise
from onesided.numbers import Loss, Number, rate
from onesided.policy import Policy, Shift


@dataclass(frozen=True)
class DiscreteLaplace:
    """Release ``count + G - G'`` with one rate on both sides: differential privacy's own noise.

    Promise: the loss is exactly ``noise_rate * (rise + fall)``, the same in both directions.
    Under a one-sided policy it keeps the promise too, with noise that :class:`Counts` saves.
    Units: rate in nats per count. Source: Ghosh, Roughgarden and Sundararajan 2009.
    Errors: ParameterError.
    """

    noise_rate: Rate = Field(rate)

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
