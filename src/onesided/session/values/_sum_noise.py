"""Which noise a sum gets: slopes on the sides it needs, or stairs where one side is enough."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from onesided._numbers import INFINITE, Number
from onesided.errors import ParameterError
from onesided.mechanism import GaussianSums, StairSums, Sums
from onesided.policy import Edge, Policy, Shift
from onesided.session._count import deviation, residual_bias
from onesided.session._groups import Groups
from onesided.session._plan import PlanOption
from onesided.session._question import Answer

# Stairs are worth a second kind of noise if their error is smaller by a thousandth.
_WORTH: Final = 0.999
_FIRST: Final = "first_stair"


@dataclass(frozen=True, slots=True)
class SumNoise:
    """Geometric slopes for sums by group, and the stairs that could take their place, if any.

    Stairs lose as much as slopes along every edge: one move changes at most so many sums, each by
    at most the largest value, and the worst that the slopes pay for is that all of them move so
    far, for which both pay the same.

    >>> slopes = Sums(1, INFINITE)
    >>> SumNoise(slopes, None).mechanism is slopes
    True
    """

    slopes: Sums
    stairs: StairSums | None
    gaussian: GaussianSums | None = None

    @classmethod
    def for_shifts(
        cls,
        policy: Policy,
        groups: Groups,
        shifts: Mapping[Edge, Iterable[Shift]],
        *,
        largest: int,
        epsilon: Number,
    ) -> SumNoise:
        """For sums whose extreme shifts these are, of values up to ``largest`` from 0."""
        slopes = Sums.for_shifts(shifts, epsilon=epsilon)
        if (slopes.upper_rate == INFINITE) == (slopes.lower_rate == INFINITE):
            return cls(slopes, None)
        moved = _sums_moved(policy, groups)
        # Rates and values beyond what stairs are made for keep to slopes.
        with suppress(ParameterError):
            stairs = StairSums.in_place_of(slopes, largest=largest, max_groups=moved)
            if all(
                stairs.loss(one) == slopes.loss(one) for many in shifts.values() for one in many
            ):
                return cls(slopes, stairs)
        return cls(slopes, None)

    @property
    def mechanism(self) -> Sums | StairSums | GaussianSums:
        """The noise with the smaller error, what the median leaves of its mean included."""
        if self.gaussian is not None:
            return self.gaussian
        if self.stairs is None:
            return self.slopes
        return self.stairs if error(self.stairs) < _WORTH * error(self.slopes) else self.slopes

    @property
    def stored(self) -> Answer:
        """What an answer says of the noise in it."""
        mechanism = self.mechanism
        return {_FIRST: mechanism.stairs.first} if isinstance(mechanism, StairSums) else {}

    @property
    def kind(self) -> Sums | GaussianSums:
        """What a stored answer must have; stairs lose as slopes, and it says if it has stairs."""
        return self.gaussian or self.slopes

    def of(self, answer: Answer) -> Sums | StairSums | GaussianSums:
        """The noise in an answer; stored ones say whether they have stairs, and older ones none."""
        if self.gaussian is not None:
            return self.gaussian
        first = answer.get(_FIRST)
        if first is None or self.stairs is None:
            return self.slopes
        return replace(self.stairs, stairs=replace(self.stairs.stairs, first=first))

    def other(self, step: float, certain: tuple[str, ...]) -> tuple[PlanOption, ...]:
        """The slopes that were passed over."""
        if self.mechanism is self.slopes:
            return ()
        note = "geometric noise, which charges the same"
        return (
            PlanOption(name="Sums", error=step * error(self.slopes), certain=certain, note=note),
        )


def error(mechanism: Sums | StairSums) -> float:
    """The root mean square error of an estimate, in steps."""
    return math.hypot(deviation(mechanism), residual_bias(mechanism))


def _sums_moved(policy: Policy, groups: Groups) -> int:
    """The most sums that one move can change: as many as it changes counts of units."""
    counts = [
        max(one.rise, one.fall) for many in policy.shifts(groups.query).values() for one in many
    ]
    return max(counts) if groups.by else 1
