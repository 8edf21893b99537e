"""How many units are in each group, certain on both sides, at the price of a small δ?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Final

import numpy as np

from onesided._numbers import Infinite, Number, positive
from onesided.errors import UnprotectableError
from onesided.mechanism import TruncatedCounts
from onesided.noise import IntArray, Noise
from onesided.policy import Edge, Shift
from onesided.session._confidence import Confidence
from onesided.session._context import QueryContext
from onesided.session._groups import Grouped
from onesided.session._plan import Plan
from onesided.session._question import Answer, PreparedQuery
from onesided.session._release import Release, of_groups, sides
from onesided.session._statement import Nouns

_DIGITS: Final = 4


@dataclass(frozen=True, slots=True)
class Enclosed(Grouped):
    """How many units are in each group, with a lower and an upper bound that are never wrong?

    delta: the probability with which an answer may give away that a unit is there. It is never
        0: bounds on both sides tell, now and then, a count from a smaller one. The session's
        ``delta_budget`` must allow it. Less than one in the number of units is usual.
    The other arguments are those of :class:`onesided.session.Grouped`.
    Errors: UnprotectableError where the policy lets a count rise.

    >>> import polars as pl, onesided as od
    >>> visits = pl.DataFrame({"person": [1, 1, 2, 3], "place": ["a", "b", "b", "b"]})
    >>> policy = od.policy.presence(max_groups=2)
    >>> session = od.Session(visits, unit="person", policy=policy, budget=1000, delta_budget=1)
    >>> release = session.enclose(by="place", keys=["a", "b"], epsilon=1, delta="1/100")
    >>> release.interval.lower_certain, release.interval.upper_certain
    (True, True)
    """

    delta: Number = field(kw_only=True)

    def measure(self, nouns: Nouns) -> str:
        """What the numbers are."""
        return f"Number of {nouns.units}, enclosed"

    def prepare(self, context: QueryContext) -> PreparedQuery[IntArray, Release]:
        """Check and price the question. Looks at no row."""
        groups = self.groups(context).by_cells(context)
        shifts = context.policy.shifts(groups.query)
        if groups.query.truncated and any(s.rise for many in shifts.values() for s in many):
            raise UnprotectableError(
                "Cutting units down to max_groups lets counts rise under the policy "
                f"'{context.policy.name}', and bounds on both sides cannot hide that.",
                hint='Use on_excess="keep".'
                if "keep" in context.policy.excess_modes
                else "Bounds on both sides take moves that lower counts alone, as under "
                "presence(...) or addition_only(); or ask count(...).",
            )
        mechanism = groups.for_policy(
            TruncatedCounts, context, epsilon=self.epsilon, delta=self.delta
        )
        mean, spread = _moments(mechanism)
        pure = groups.plan(
            context,
            mechanism,
            certain=("upper", "lower"),
            standard_deviation=spread,
            bias=mean - float(np.rint(mean)),
            why=f"noise from 0 to {mechanism.width}, so that both ends are known",
        )
        plan = with_delta(pure, mechanism, shifts, most=positive(self.delta, name="delta"))

        def draw(counts: IntArray, noise: Noise | None) -> Answer:
            return {"noisy": mechanism.release(counts, noise=noise)}

        def result(answer: Answer, entry: int | None) -> Release:
            noisy = np.asarray(answer["noisy"], dtype=np.int64)
            interval = mechanism.interval(noisy)
            middle = np.rint(noisy - mean)
            estimate = np.clip(middle, interval.lower, interval.upper)
            return Release(
                kind="Estimates",
                told=of_groups(groups.keys, {"estimate": estimate, **sides(interval)}),
                bound_words=Confidence(1, simultaneous=False).words,
                own={"mechanism": mechanism},
                **groups.published(context, plan, entry),
            )

        return groups.prepared(context, plan, draw=draw, result=result)


def with_delta(
    pure: Plan, mechanism: Any, shifts: Mapping[Edge, Iterable[Shift]], *, most: Fraction
) -> Plan:
    """The plan with each edge's δ, rounded up, but not beyond what was asked for."""
    delta = {}
    for edge, many in shifts.items():
        exact = max(mechanism.delta(shift) for shift in many)
        delta[edge.name] = max(exact, min(short_share(exact), most))
    return replace(pure, guarantee=replace(pure.guarantee, delta=delta))


def short_share(delta: Fraction) -> Fraction:
    """Rounded up to a short decimal, as ledgers and sentences show it; never above 1."""
    scale = 10**_DIGITS
    while 0 < delta * scale < 10 ** (_DIGITS - 1):
        scale *= 10
    return Fraction(math.ceil(delta * scale), scale)


def _moments(mechanism: TruncatedCounts) -> tuple[float, float]:
    """Mean and standard deviation of the truncated noise, for display."""
    if isinstance(mechanism.upper_rate, Infinite):
        return 0.0, 0.0
    rate, size = float(mechanism.upper_rate), mechanism.width + 1
    mean = 1 / np.expm1(rate) - size / np.expm1(rate * size)
    spread = 1 / (4 * np.sinh(rate / 2) ** 2) - size**2 / (4 * np.sinh(rate * size / 2) ** 2)
    return float(mean), float(max(spread, 0.0) ** 0.5)
