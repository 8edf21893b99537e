"""Is a count at most t? A certified yes, or unknown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass

from numpy.typing import ArrayLike

from onesided._numbers import INFINITE, Loss, Number, exp_neg_bounds, rate, round_down, whole
from onesided.errors import UnprotectableError
from onesided.fields import Field, Rate, Whole
from onesided.mechanism._counts import Counts
from onesided.noise import BoolArray, Noise
from onesided.policy import Policy, Shift


@dataclass(frozen=True)
class AtMost:
    """Certify the counts that are at most ``threshold``; say nothing of the others.

    Promise: True is never wrong. False means unknown. Along a move the loss is
    ``upper_rate * fall``; a move that raises a count has infinite loss.
    Power: a count f <= t is certified with probability ``1 - e^(-upper_rate (t + 1 - f))``, the
    most that any mechanism at this loss can do.
    Source: ADP-2021 Theorem 11, ADP-2022 Corollary V.6, with integer noise. Errors: ParameterError.

    >>> from onesided.mechanism import AtMost
    >>> from onesided.policy import Shift
    >>> print(AtMost(5, upper_rate="1/2").loss(Shift(rise=0, fall=1)))
    1/2
    """

    threshold: Whole = Field(whole)
    _: KW_ONLY
    upper_rate: Rate = Field(rate)

    @classmethod
    def for_policy(
        cls,
        policy: Policy,
        *,
        threshold: int,
        epsilon: Number,
        max_groups: int | None = None,
        counted: Iterable[str] | None = None,
    ) -> AtMost:
        """The decision at the least noise under ``policy``.

        Errors: UnprotectableError if some move raises a count, for then nothing can be certain.
        """
        counts = Counts.for_policy(policy, epsilon=epsilon, max_groups=max_groups, counted=counted)
        if counts.lower_rate != INFINITE:
            raise UnprotectableError(
                f"Under the policy '{policy.name}' a count may have to pass as a larger one, so "
                "no 'at most' can be certain.",
                hint="Use Counts for a 95 % bound, or a policy such as presence or addition_only.",
            )
        return cls(threshold, upper_rate=counts.upper_rate)

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> BoolArray:
        """True where the count is certainly at most ``threshold``."""
        certified: BoolArray = self._counts.noisy(values, noise=noise) <= self.threshold
        return certified

    def loss(self, shift: Shift) -> Loss:
        """``upper_rate * fall``; INFINITE if any count rises."""
        return self._counts.loss(shift)

    def power(self, count: int) -> float:
        """The probability that a true count of ``count`` is certified, rounded down."""
        room = self.threshold + 1 - whole(count, name="count")
        if room <= 0:
            return 0.0
        miss = self.upper_rate * room
        if miss == INFINITE:
            return 1.0
        return round_down(1 - exp_neg_bounds(miss, bits=80)[1])  # type: ignore[arg-type]

    @property
    def _counts(self) -> Counts:
        return Counts(self.upper_rate, INFINITE)
