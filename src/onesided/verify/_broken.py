"""Deliberately wrong mechanisms. A verifier that accepts one of these sees nothing."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from onesided._numbers import INFINITE, Loss
from onesided.mechanism import Counts
from onesided.noise import IntArray, Noise
from onesided.policy import Policy, Shift


@dataclass(frozen=True, slots=True)
class _Wrong:
    """A mechanism that does one thing and claims the loss of another."""

    does: Counts
    claims: Counts

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> IntArray:
        return self.does.noisy(values, noise=noise)

    def loss(self, shift: Shift) -> Loss:
        return self.claims.loss(shift)


def half_noise(policy: Policy) -> _Wrong:
    """Twice the rate, so half the noise that the claim needs."""
    right = Counts.for_policy(policy, epsilon=1)
    return _Wrong(Counts(_twice(right.upper_rate), _twice(right.lower_rate)), right)


def wrong_side(policy: Policy) -> _Wrong:
    """One-sided noise subtracted where it must be added, or the other way round."""
    right = Counts.for_policy(policy, epsilon=1)
    return _Wrong(Counts(right.lower_rate, right.upper_rate), right)


def folded_directions(policy: Policy) -> _Wrong:
    """``max`` of the two directions taken as one sensitivity: rises hidden by the same noise above.

    What a library that symmetrises a policy does with a one-sided mechanism: it believes that
    being hidden one way is being hidden both ways.
    """
    right = Counts.for_policy(policy, epsilon=1)
    finite = min(right.upper_rate, right.lower_rate)
    return _Wrong(Counts(finite, INFINITE), right)


def _twice(rate: Loss) -> Loss:
    return rate * 2
