"""Means and variances of bounded values: noisy sums divided by noisy counts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import MAX_COUNT, Loss, positive, round_down, round_up
from onesided.errors import ParameterError
from onesided.mechanism import Interval, Sums
from onesided.mechanism.kit import shared
from onesided.noise import Noise
from onesided.policy import Edge, Shift
from onesided.session._context import QueryContext
from onesided.session._count import certain_sides
from onesided.session._estimates import Estimates, Floats, uncut
from onesided.session._groups import Groups
from onesided.session._plan import Plan, priced, promised
from onesided.session._question import Answer, PreparedQuery
from onesided.session.values._moments import Moments, asserted, moments
from onesided.session.values._of import Of, most_rows, words_of
from onesided.session.values._shifts import value_shifts
from onesided.session.values._sum import Valued
from onesided.session.values._value import Value


@dataclass(frozen=True, slots=True)
class Part:
    """One of the noisy numbers that a statistic is made of."""

    mechanism: Sums
    shifts: dict[Edge, tuple[Shift, ...]]


@dataclass(frozen=True, slots=True)
class Parts:
    """The noisy count, sum and, for a variance, sum of squares; about ``centre``, in steps.

    Those that some move can change share ε equally; what a move costs them adds up. A number of
    units that no move changes for this very question is public: it costs nothing, and is released
    exactly.
    """

    centre: int
    count: Part
    total: Part
    squares: Part | None

    @property
    def all(self) -> dict[str, Part]:
        """By name."""
        parts = {"count": self.count, "total": self.total, "squares": self.squares}
        return {name: part for name, part in parts.items() if part is not None}

    @property
    def public(self) -> bool:
        """Whether no move changes how many units count, so their number is released exactly."""
        return _still(self.count.shifts)

    def release(self, secret: Moments, noise: Noise | None) -> Answer:
        """Noisy numbers, in steps."""
        return {
            name: part.mechanism.release(getattr(secret, name), noise=noise)
            for name, part in self.all.items()
        }


@dataclass(frozen=True, slots=True)
class Mean(Valued):
    """What is the mean, over the units of a group, of each unit's own mean in a column?

    Each row is rounded to the grid and clipped to the bounds; a unit's rows in a group are added
    up as whole numbers of steps and divided by their number, rounded down. So each unit counts
    once, and a unit with many rows counts no more than others; where each row is a unit it is the
    mean of rows.
    With ``of="rows"`` it is the mean of rows, of which a unit has ``max_rows`` in a group at most.
    A hash of the unit and the row decides which, so that no row is likelier than another. A move
    may change all of them, and their number: noise grows with ``max_rows``.
    A noisy sum about a public centre over a noisy count. A group without units has no mean: its
    answer is noise within the bounds.
    Direction: dropping a row may lower or raise somebody's mean (drop the 1 of 5 and 1), so that
    under presence it is priced as both, by up to ``high - low``.
    The arguments are those of :class:`onesided.session.Valued`.

    >>> import polars as pl, onesided as od
    >>> people = pl.DataFrame({"person": [1, 2, 3], "age": [7, 12, 40]})
    >>> policy = od.policy.addition_only()
    >>> session = od.Session(people, unit="person", policy=policy, budget=1000)
    >>> 0 <= session.mean("age", bounds=(0, 100), epsilon=1).value <= 100
    True
    """

    of: Of = field(default="units", kw_only=True)
    max_rows: int | None = field(default=None, kw_only=True)

    squared: ClassVar[bool] = False

    def measure(self, units: str) -> str:
        """What the numbers are."""
        over = "rows" if self.of == "rows" else units
        return f"{type(self).__name__} of {self.column}, over {over}"

    def prepare(self, context: QueryContext) -> PreparedQuery[Moments, Estimates]:
        """Check and price the question. Looks at no row."""
        value, most = self.value(context), most_rows(context, self)
        groups = replace(self.groups(context), words=words_of(context, value, most))
        parts = self._parts(context, groups, value, most or 1)
        plan = _plan(context, groups, parts)
        self.share(groups)
        name = "variance" if parts.squares else "mean"

        def result(answer: Answer, entry: int | None) -> Estimates:
            return self._told(name, answer, parts, (groups, value), (context, plan, entry))

        return PreparedQuery(
            detail={**groups.detail, **value.detail, **({"max_rows": most} if most else {})},
            plan=plan,
            context=context,
            columns=groups.columns(context, *value.columns),
            look=lambda taken: moments(
                taken,
                groups,
                value,
                centre=parts.centre,
                squares=parts.squares is not None,
                own_mean=True,
                max_rows=most,
            ),
            draw=parts.release,
            result=result,
            asserts=asserted(groups, value),
        )

    def _parts(self, context: QueryContext, groups: Groups, value: Value, most: int) -> Parts:
        """The parts of least noise: about the middle of the bounds, or about 0.

        most: values of one unit in a group; they add up to no more than so often the farthest.
        """
        epsilon, optional = positive(self.epsilon, name="epsilon"), self.optional(groups)

        def moved(low: int, high: int, *, monotone: bool) -> dict[Edge, tuple[Shift, ...]]:
            shifts = value_shifts(
                context.policy,
                groups,
                low=min(low, most * low),
                high=max(high, most * high),
                optional=optional,
                monotone=monotone,
            )
            return dict(shifts)

        counted = moved(1, 1, monotone=True)
        share = epsilon / ((2 if self.squared else 1) + (0 if _still(counted) else 1))

        def part(low: int, high: int) -> Part:
            # Who loses a row may have a larger mean than before, or one farther from the centre.
            shifts = moved(low, high, monotone=False)
            return Part(Sums.for_shifts(shifts, epsilon=share), shifts)

        count = Part(Sums.for_shifts(counted, epsilon=share), counted)

        def about(centre: int) -> Parts:
            low, high = value.low - centre, value.high - centre
            far = max(low * low, high * high)
            least = 0 if low <= 0 <= high else min(low * low, high * high)
            squares = part(least, _roomy(far)) if self.squared else None
            return Parts(centre, count, part(low, high), squares)

        tried = [about(centre) for centre in ((value.low + value.high) // 2, 0)]
        return min(tried, key=lambda parts: parts.total.mechanism.distribution.variance())

    def _told(
        self,
        name: str,
        answer: Answer,
        parts: Parts,
        asked: tuple[Groups, Value],
        told: tuple[QueryContext, Plan, int | None],
    ) -> Estimates:
        (groups, value), (context, plan, entry) = asked, told
        noisy = {part: np.asarray(answer[part], dtype=np.int64) for part in parts.all}
        # If the intervals of all parts hold, so does that of the statistic; a public count's does.
        sure = shared(self.share(groups), len(noisy) - parts.public)
        bounds = {
            part: _open_ended(parts.all[part].mechanism.interval(told, confidence=sure))
            for part, told in noisy.items()
        }
        centred = {
            part: noisy[part] - float(parts.all[part].mechanism.distribution.mean())
            for part in noisy
        }
        statistic = _variance if parts.squares else _mean
        estimate, *ends = statistic(centred, bounds, parts.centre, value)
        certain = all(side.lower_certain and side.upper_certain for side in bounds.values())
        lower, upper = _exactly(noisy, parts.centre, value) if certain else ends
        return Estimates.of(
            f"{name} of {self.column}",
            (estimate, lower, upper),
            (certain, certain),
            keys=groups.keys,
            confidence=self.confidence,
            simultaneous=self.simultaneous,
            **groups.published(context, plan, entry),
        )


@dataclass(frozen=True, slots=True)
class Variance(Mean):
    """What is the variance of the units' own means in a column, per group?

    A unit's own mean is that of :class:`Mean`. The mean of their squares less the square of their
    mean, over all counted units (not n - 1).
    The arguments are those of :class:`onesided.session.Valued`.

    >>> import polars as pl, onesided as od
    >>> people = pl.DataFrame({"person": [1, 2, 3], "age": [7, 12, 40]})
    >>> policy = od.policy.addition_only()
    >>> session = od.Session(people, unit="person", policy=policy, budget=1000)
    >>> session.variance("age", bounds=(0, 100), epsilon=1).value >= 0
    True
    """

    squared: ClassVar[bool] = True


def _still(shifts: dict[Edge, tuple[Shift, ...]]) -> bool:
    """Whether nothing moves along any edge."""
    return all(shift == Shift(rise=0, fall=0) for many in shifts.values() for shift in many)


def _roomy(square: int) -> int:
    """The greatest square of a value. Errors: ParameterError if sums of it cannot be held."""
    if square > MAX_COUNT // 2**10:
        raise ParameterError(
            f"The squares of values within these bounds go up to {square:,} steps.",
            hint="Use a coarser step for a variance.",
            square=square,
        )
    return square


def _plan(context: QueryContext, groups: Groups, parts: Parts) -> Plan:
    """Charge each edge the sum of what the parts lose along it."""
    losses = [priced(context, part.mechanism, part.shifts).charge for part in parts.all.values()]
    charge: dict[str, Loss] = {
        edge: sum((loss[edge] for loss in losses), Fraction(0)) for edge in losses[0]
    }
    exact_all = all(len(certain_sides(part.mechanism)) == 2 for part in parts.all.values())
    certain = ("upper", "lower") if exact_all else ()
    scope = groups.left_out.numbers(certain, groups.words)
    return Plan(
        mechanism=parts,
        charge=charge,
        account=context.account,
        guarantee=promised(context, charge, about=groups.sentence, scope=scope),
        certain=certain,
    )


def _mean(
    centred: dict[str, Any], bounds: dict[str, Interval], centre: int, value: Value
) -> tuple[Floats, Floats, Floats]:
    step = float(value.step)
    low, high = _about_centre(bounds["total"], bounds["count"], value, centre)
    estimate = centred["total"] / np.maximum(centred["count"], 1)
    inside = np.clip(estimate, value.low - centre, value.high - centre)
    return tuple((part + centre) * step for part in (inside, low, high))  # type: ignore[return-value]


def _variance(
    centred: dict[str, Any], bounds: dict[str, Interval], centre: int, value: Value
) -> tuple[Floats, Floats, Floats]:
    square = float(value.step) ** 2
    most = ((value.high - value.low) / 2) ** 2
    count = np.maximum(centred["count"], 1)
    estimate = centred["squares"] / count - (centred["total"] / count) ** 2
    mean_low, mean_high = _about_centre(bounds["total"], bounds["count"], value, centre)
    size = max((value.low - centre) ** 2, (value.high - centre) ** 2)
    least, largest = _ratio(bounds["squares"], bounds["count"], 0, size)
    outer = np.maximum(mean_low**2, mean_high**2)
    inner = np.where((mean_low <= 0) & (mean_high >= 0), 0, np.minimum(mean_low**2, mean_high**2))
    return tuple(  # type: ignore[return-value]
        np.clip(part, 0, most) * square for part in (estimate, least - outer, largest - inner)
    )


def _exactly(
    told: dict[str, NDArray[np.int64]], centre: int, value: Value
) -> tuple[Floats, Floats]:
    """Bounds where nothing had to be hidden; rounding never turns a certain bound into a wrong one.

    What is told is the truth then, so that both are the statistic but for its last digit.
    """
    known = zip(*(part.tolist() for part in told.values()), strict=True)
    ends = value.low * value.step, value.high * value.step
    within = (Fraction(0), (ends[1] - ends[0]) ** 2 / 4) if "squares" in told else ends
    found = []
    for many, *sums in known:
        if max(map(abs, sums)) >= MAX_COUNT:  # it was cut
            found.append(within)
            continue
        mean, *squares = (Fraction(one, max(many, 1)) for one in sums)
        spread = [(square - mean**2) * value.step**2 for square in squares]
        found.append((spread[0] if spread else (mean + centre) * value.step,) * 2)
    lower, upper = [round_down(low) for low, _ in found], [round_up(high) for _, high in found]
    return np.array(lower, dtype=np.float64), np.array(upper, dtype=np.float64)


def _open_ended(steps: Interval) -> Interval:
    """Bounds on a sum in floats, infinite where it may have been cut."""
    lower, upper = (np.asarray(end, dtype=np.float64) for end in uncut(steps))
    return replace(steps, lower=lower, upper=upper)  # type: ignore[arg-type] # in floats


def _about_centre(
    total: Interval, count: Interval, value: Value, centre: int
) -> tuple[Floats, Floats]:
    return _ratio(total, count, value.low - centre, value.high - centre)


def _ratio(total: Interval, count: Interval, least: float, most: float) -> tuple[Floats, Floats]:
    """Bounds on total / count, given that somebody was counted."""
    few, many = np.maximum(count.lower, 1), np.maximum(count.upper, 1)
    low = np.minimum(total.lower / few, total.lower / many)
    high = np.maximum(total.upper / few, total.upper / many)
    return np.clip(low, least, most), np.clip(high, least, most)
