"""The least noise that a policy allows: rates from shifts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from onesided._numbers import INFINITE, Loss, sampled
from onesided.errors import PolicyError
from onesided.policy import Edge, GroupCount, Policy, Shift


@dataclass(frozen=True, slots=True)
class _Bound:
    """``upper_rate * fall + lower_rate * rise <= loss``, the demand of one move."""

    shift: Shift
    loss: Fraction


def rates_for(policy: Policy, query: GroupCount, epsilon: Fraction) -> tuple[Loss, Loss]:
    """``(upper, lower)`` rates of least total variance that keep ε times every edge's weight.

    A side that no move needs gets INFINITE: no noise there, and certainty for the reader.

    >>> from onesided.policy import bounded, presence
    >>> rates_for(presence(max_groups=2), GroupCount(), Fraction(1))
    (Fraction(1, 2), INFINITE)
    >>> rates_for(bounded(), GroupCount(max_groups=1), Fraction(1))
    (Fraction(1, 2), Fraction(1, 2))
    """
    if not isinstance(policy, Policy):
        raise PolicyError(
            f"policy must be a Policy, got {policy!r}.",
            hint="Make one with onesided.policy, for example presence(max_groups=3).",
        )
    return rates_over(policy.shifts(query), epsilon)


def rates_over(shifts: Mapping[Edge, Iterable[Shift]], epsilon: Fraction) -> tuple[Loss, Loss]:
    """As :func:`rates_for`, for a query that is no count: its extreme shifts per edge.

    >>> from onesided.policy import addition_only
    >>> (edge,) = addition_only().edges
    >>> rates_over({edge: [Shift(rise=0, fall=4)]}, Fraction(1))
    (Fraction(1, 4), INFINITE)
    """
    return choose(
        _Bound(shift, epsilon * edge.weight) for edge, many in shifts.items() for shift in many
    )


def choose(bounds: Iterable[_Bound]) -> tuple[Loss, Loss]:
    """The feasible point of least ``variance(upper) + variance(lower)``, exact and feasible.

    Only public parameters enter, so floats may guide the search; the result is a fraction that
    meets every bound exactly.
    """
    needs = [bound for bound in bounds if bound.shift.fall or bound.shift.rise]
    falls = [bound for bound in needs if bound.shift.fall]
    rises = [bound for bound in needs if bound.shift.rise]
    if any(bound.shift.fall and bound.shift.rise for bound in needs):
        return _both(needs, falls, rises)
    upper = min((bound.loss / bound.shift.fall for bound in falls), default=INFINITE)
    lower = min((bound.loss / bound.shift.rise for bound in rises), default=INFINITE)
    return _in_range(upper), _in_range(lower)


def _both(
    needs: Sequence[_Bound], falls: Sequence[_Bound], rises: Sequence[_Bound]
) -> tuple[Loss, Loss]:
    """Some move both raises and lowers counts, so the two rates share its budget."""

    def lower_for(upper: Fraction) -> Fraction:
        return min((b.loss - upper * b.shift.fall) / b.shift.rise for b in rises)

    ceiling = min(bound.loss / bound.shift.fall for bound in falls)
    candidates = [*_corners(needs), _search(ceiling, lower_for)]
    feasible = [upper for upper in candidates if 0 < upper <= ceiling and lower_for(upper) > 0]
    # Ties within rounding go to the corner: it is the shorter fraction.
    upper = min(feasible, key=lambda rate: round(math.log(_cost(rate, lower_for(rate))), 9))
    return _in_range(upper), _in_range(lower_for(upper))


def _corners(needs: Sequence[_Bound]) -> list[Fraction]:
    """Where two demands meet, and the balanced point where both rates are equal."""
    balanced = min(b.loss / (b.shift.fall + b.shift.rise) for b in needs)
    corners = [balanced]
    for one, two in combinations(needs, 2):
        slope = one.shift.fall * two.shift.rise - two.shift.fall * one.shift.rise
        if slope:
            corners.append((one.loss * two.shift.rise - two.loss * one.shift.rise) / slope)
    return corners


def _search(ceiling: Fraction, lower_for: Callable[[Fraction], Fraction]) -> Fraction:
    """Golden-section search for the best upper rate; the cost is convex in it."""
    shrink = (math.sqrt(5) - 1) / 2
    left, right = 0.0, 1.0

    def cost(share: float) -> float:
        upper = ceiling * Fraction(share)
        lower = lower_for(upper)
        return _cost(upper, lower) if upper > 0 and lower > 0 else math.inf

    for _ in range(80):
        one, two = right - shrink * (right - left), left + shrink * (right - left)
        left, right = (left, two) if cost(one) <= cost(two) else (one, right)
    return ceiling * Fraction((left + right) / 2).limit_denominator(10**6)


def _cost(upper: Fraction, lower: Fraction) -> float:
    """The variance of ``G_upper - G_lower``."""
    return variance(upper) + variance(lower)


def variance(rate: Fraction | float) -> float:
    """The variance of a geometric at ``rate``: ``e^-r / (1 - e^-r)^2``, for choosing only.

    Above 0 for any rate, infinite for one below all use: who asks for such is told so by others.
    """
    half = math.sinh(float(min(rate, 700)) / 2)
    square = 4 * half * half
    return 1 / square if square else math.inf


def _in_range(rate: Loss) -> Loss:
    """Refuse rates that the samplers do not offer."""
    return sampled(
        rate, hint="Use a more ordinary ε, fewer groups per unit, or less extreme edge weights."
    )
