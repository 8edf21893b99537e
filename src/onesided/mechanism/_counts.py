"""Counts with noise above, below or on both sides of the truth."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onesided._numbers import INFINITE, Loss, Number, positive, rate, strict_share
from onesided.fields import Field, Rate, one_of
from onesided.mechanism._base import counts_of
from onesided.mechanism._rates import rates_for
from onesided.noise import IntArray, Noise, SecureNoise, TwoSidedGeometric
from onesided.policy import GroupCount, Policy, Shift

Correction = Literal["none", "mean", "median"]
_CORRECTIONS: Final = ("none", "mean", "median")
CONFIDENCE: Final = Fraction(95, 100)


@dataclass(frozen=True, slots=True)
class Interval:
    """Bounds on the true counts; a certain side is never wrong.

    >>> sides = {"lower_certain": False, "upper_certain": True}
    >>> bounds = Interval(np.array([-2, 3]), np.array([1, 9]), **sides)
    >>> bounds.at_least(0).lower.tolist()
    [0, 3]
    """

    lower: IntArray
    upper: IntArray
    lower_certain: bool
    upper_certain: bool

    def at_least(self, least: int) -> Interval:
        """The same bounds, where the truth is known to be at least ``least``."""
        lower, upper = np.maximum(self.lower, least), np.maximum(self.upper, least)
        return Interval(lower, upper, self.lower_certain, self.upper_certain)


@dataclass(frozen=True)
class Counts:
    """Release ``count + G_up - G_down``, two independent geometrics, for each count.

    Promise: along a move with ``Shift(rise, fall)`` the loss is exactly
    ``upper_rate * fall + lower_rate * rise`` (0 * INFINITE = 0).
    Direction: falls are hidden by noise above the truth, rises by noise below it. With
    ``lower_rate=INFINITE`` an answer is never below the truth; with ``upper_rate=INFINITE`` never
    above it.
    Units: rates in nats per count; answers in counts.
    Post-processing of the noisy answer, free of charge: ``correction`` takes the noise's mean or
    median out; ``clip`` keeps answers at or above 0, and an answer that is 0 or less stays 0.
    Source: ALap and AGeo (ADP-2022), OsdpLaplace and Algorithm 2 (OSDP), Propositions 3 and 4
    (one-sided note). Errors: ParameterError.

    >>> from onesided import INFINITE
    >>> from onesided.mechanism import Counts
    >>> from onesided.policy import Shift
    >>> counts = Counts("1/2", INFINITE)  # noise above the truth alone
    >>> counts.loss(Shift(rise=0, fall=1)), counts.loss(Shift(rise=1, fall=0))
    (Fraction(1, 2), INFINITE)
    """

    upper_rate: Rate = Field(rate)
    lower_rate: Rate = Field(rate)
    _: KW_ONLY
    correction: Field[Correction, Correction] = Field(one_of, words=_CORRECTIONS, default="none")
    clip: bool = False

    @classmethod
    def for_policy(
        cls,
        policy: Policy,
        *,
        epsilon: Number,
        max_groups: int | None = None,
        counted: Iterable[str] | None = None,
        truncated: bool = False,
        correction: Correction = "none",
        clip: bool = False,
    ) -> Counts:
        """The least noise that keeps ``(epsilon, policy)`` for a group-by count of units.

        ``max_groups=None`` is the policy's own: presence's bound, else one group per unit.
        See :class:`onesided.policy.GroupCount` for ``max_groups``, ``counted``, ``truncated``.
        """
        query = GroupCount(
            max_groups=max_groups,
            counted=None if counted is None else frozenset(counted),
            truncated=truncated,
            several_units=True,  # the loss goes by totals alone
        )
        upper, lower = rates_for(policy, query, positive(epsilon, name="epsilon"))
        return cls(upper, lower, correction=correction, clip=clip)

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> NDArray[Any]:
        """Noisy counts after correction and clipping: int64, or float64 for ``"mean"``.

        Errors: DataError unless ``values`` is a one-dimensional array of counts.
        """
        return self.estimate(self.noisy(values, noise=noise))

    def noisy(self, values: ArrayLike, *, noise: Noise | None = None) -> IntArray:
        """Noisy counts before any post-processing; what bounds are computed from."""
        counts = counts_of(values)
        source = SecureNoise() if noise is None else noise
        return counts + source.two_sided(self.upper_rate, self.lower_rate, counts.size)

    def loss(self, shift: Shift) -> Loss:
        """Exactly ``upper_rate * fall + lower_rate * rise``."""
        return self.upper_rate * shift.fall + self.lower_rate * shift.rise

    @property
    def distribution(self) -> TwoSidedGeometric:
        """The noise's exact distribution."""
        return TwoSidedGeometric(self.upper_rate, self.lower_rate)

    def estimate(self, noisy: IntArray) -> NDArray[Any]:
        """Post-process what :meth:`noisy` gave."""
        if self.correction == "mean":
            centred: NDArray[Any] = noisy - self.distribution.mean()
        elif self.correction == "median":
            centred = noisy - self.distribution.median()
        else:
            centred = noisy
        return np.where(noisy <= 0, 0, np.maximum(centred, 0)) if self.clip else centred

    def interval(self, noisy: IntArray, *, confidence: Number = CONFIDENCE) -> Interval:
        """Bounds on each true count, from what :meth:`noisy` gave.

        A side without noise is certain. The rest of the interval holds for each count on its own
        with at least ``confidence``, from the exact distribution.
        """
        return bounds_at(self.distribution, noisy, confidence).at_least(0)


def bounds_at(noise: TwoSidedGeometric, noisy: IntArray, confidence: Number) -> Interval:
    """Bounds on each true number under ``noise``, from the noisy ones.

    The interval as a whole misses with chance at most ``1 - confidence``: where neither side is
    certain, each may miss half as often.
    """
    both = INFINITE not in (noise.upper, noise.lower)
    share = shared(confidence, 2 if both else 1)
    # A side without noise is bounded by the answer itself: certain, whatever the confidence.
    most = 0 if noise.upper == INFINITE else noise.quantile_upper(share)
    least = 0 if noise.lower == INFINITE else noise.quantile_lower(share)
    return Interval(
        lower=noisy - (most or 0),
        upper=noisy - (least or 0),
        lower_certain=noise.upper == INFINITE,
        upper_certain=noise.lower == INFINITE,
    )


def confident(confidence: Number) -> Fraction:
    """A confidence as an exact share strictly between 0 and 1.

    >>> confident("0.95")
    Fraction(19, 20)
    """
    return strict_share(confidence, name="confidence", hint='Use for example "0.95".')


def shared(confidence: Number, bounds: int) -> Fraction:
    """With what confidence each of so many bounds must hold for all to hold with ``confidence``.

    By Bonferroni's inequality, so that it asks nothing of how their errors depend on each other.

    >>> shared("0.9", 2)
    Fraction(19, 20)
    """
    return 1 - (1 - confident(confidence)) / max(bounds, 1)
