"""How well values farther apart than one move pass as each other: by the moves that lead there."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias

from onesided._numbers import Infinite, Loss, Number, positive
from onesided.errors import ParameterError
from onesided.policy import Neighbourhood, Policy
from onesided.session.workloads._cells import Axis

# The most moves that lead from a value to any other so far from it.
Apart: TypeAlias = Callable[[Fraction], int]
_MOST_STEPS: Final = 10**6
_LARGE: Final = 700


@dataclass(frozen=True, slots=True)
class Assurance:
    """What still holds for values ``distance`` apart: ``moves`` moves, each at the stated loss.

    odds: whatever is published is at most this many times as likely under one as under the other.
    """

    distance: Number
    moves: int
    epsilon: Loss
    odds: float


def assured(apart: Apart, distance: Number, epsilon: Loss) -> Assurance:
    """At one distance. Errors: ParameterError unless it is above 0 and moves lead so far."""
    far = positive(distance, name="distance")
    moves = apart(far)
    total = epsilon if isinstance(epsilon, Infinite) else epsilon * moves
    odds = math.inf if isinstance(total, Infinite) or total > _LARGE else math.exp(total)
    return Assurance(far, moves, total, odds)


def along_axes(policy: Policy, axes: Sequence[Axis], far: Fraction) -> int:
    """The moves between values of columns of numbers, ``far`` apart.

    Whole numbers cannot stop between whole numbers. Where two columns are not both floats, the way
    leads along one axis and then the other, and no shorter way is taken for granted; it stays
    within the grid. What is no neighbourhood counts distance in moves.
    """
    if not isinstance(policy, Neighbourhood):
        return math.ceil(far)
    steps = [_step(policy, whole=axis.whole) for axis in axes]
    if policy.metric == "grid" or len(axes) == 1:
        return math.ceil((math.floor(far) if axes[0].whole else far) / steps[0]) or 1
    if not any(axis.whole for axis in axes):
        return math.ceil(far / policy.radius)
    if far > _MOST_STEPS:
        raise ParameterError(
            f"A distance above {_MOST_STEPS:,} is too far to work out.", hint="Ask for less."
        )
    # Sweep a coordinate of whole numbers; the other one takes what is left.
    swept, other = steps if axes[0].whole else steps[::-1]
    return max(
        math.ceil(one / swept) + _root((far**2 - one**2) / other**2)
        for one in range(math.floor(far) + 1)
    )


def over_places(policy: Policy, far: Fraction) -> int:
    """The moves between named places, by way of other places alone; else distance in moves."""
    return _between_places(policy, far) if isinstance(policy, Neighbourhood) else math.ceil(far)


def _between_places(policy: Neighbourhood, far: Fraction) -> int:
    points = [point for _, point in policy.places]
    within = policy.space.within
    near = [
        [k for k, two in enumerate(points) if within(one, two, policy.radius)] for one in points
    ]
    most = 1
    for start, one in enumerate(points):
        moves = {start: 0}
        queue = [start]
        for place in queue:
            for other in near[place]:
                if other not in moves:
                    moves[other] = moves[place] + 1
                    queue.append(other)
        for end, two in enumerate(points):
            if not within(one, two, far):
                continue
            if end not in moves:
                names = (policy.places[start][0], policy.places[end][0])
                raise ParameterError(
                    f"No moves lead from {names[0]!r} to {names[1]!r}, which are so far apart: "
                    "nothing hides one of them from the other.",
                    hint="Use a larger radius, or a smaller distance.",
                )
            most = max(most, moves[end])
    return most


def _step(policy: Neighbourhood, *, whole: bool) -> Fraction:
    """How far one move leads along an axis. Errors: ParameterError if nowhere."""
    step = Fraction(math.floor(policy.radius)) if whole else policy.radius
    if not step:
        raise ParameterError(
            "No moves join different cells of this grid: nothing is hidden at a distance.",
            hint="Use a radius of at least one step.",
        )
    return step


def _root(squared: Fraction) -> int:
    """The least whole number whose square is not below ``squared``."""
    return math.isqrt(math.ceil(squared) - 1) + 1 if squared > 0 else 0
