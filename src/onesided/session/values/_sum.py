"""What do the units' values add up to, per group?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from onesided._numbers import Number
from onesided.errors import ParameterError
from onesided.mechanism import StairSums, Sums
from onesided.mechanism.kit import CONFIDENCE
from onesided.noise import IntArray, Noise
from onesided.policy import Edge, Shift
from onesided.session._confidence import Confidence
from onesided.session._context import QueryContext
from onesided.session._count import certain_sides, deviation, reason, residual_bias
from onesided.session._estimates import Estimates, Floats, in_units
from onesided.session._groups import Grouped, Groups, names_of
from onesided.session._missing import LeftOut, left_out
from onesided.session._plan import Plan, priced
from onesided.session._question import Answer, PreparedQuery
from onesided.session.values._moments import asserted, moments
from onesided.session.values._shifts import value_shifts
from onesided.session.values._sum_noise import SumNoise
from onesided.session.values._value import Missing, Value, settle_grid, value_of


@dataclass(frozen=True, slots=True)
class Valued(Grouped):
    """A question about a column of numbers, within declared bounds and in steps of a grid.

    column: the numbers. What of a unit's rows counts, the question says.
    bounds: ``(lowest, highest)``, public. Each row's value, and then each unit's, is clipped to
        them. None: those of the session's schema.
    step: the grid that values are rounded to; the bounds must lie on it. None: the schema's, or 1.
    missing: rows without a value (null or NaN) are refused, or left out with ``"drop"``.
    confidence: how often an interval holds, for each group on its own; with simultaneous=True, for
        all groups at once. What it may miss is split over the sides that are not certain.
    The other arguments are those of :class:`onesided.session.Grouped`.
    """

    column: str
    bounds: Sequence[Number] | None = field(default=None, kw_only=True)
    step: Number | None = field(default=None, kw_only=True)
    missing: Missing = field(default="refuse", kw_only=True)
    confidence: Number = field(default=CONFIDENCE, kw_only=True)
    simultaneous: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        """A float names a place on the grid at its decimal value: 0.1 is a tenth."""
        settle_grid(self, "bounds", "step")

    def value(self, context: QueryContext) -> Value:
        """The column, its bounds and its grid, checked."""
        context.table.require(self.column)
        if self.column in names_of(self.by, name="by"):
            raise ParameterError(
                f"The question is about values of {self.column!r} and groups by it as well.",
                hint="Group by another column, or count by this one.",
                column=self.column,
            )
        if self.bounds is None:
            raise ParameterError(
                f"Within which bounds are the values of {self.column!r}?",
                hint="Pass bounds=(lowest, highest) from public knowledge (in SQL "
                "contribution_bounds_per_group => (lowest, highest)), or declare them in a schema; "
                "values beyond are clipped to them.",
                column=self.column,
            )
        return value_of(
            self.column,
            bounds=self.bounds,
            step=1 if self.step is None else self.step,
            missing=self.missing,
            schema=context.schema,
        )

    @property
    def only_rises(self) -> bool:
        """Whether more rows can only raise the answer."""
        return False

    def _left_out(self, context: QueryContext, by: tuple[str, ...]) -> LeftOut:
        numbers, missing = (self.column,), self.missing
        return left_out(context, by, self.where, self.unknown, values=numbers, missing=missing)

    def share(self, groups: Groups) -> Fraction:
        """The confidence of each group's own interval. Errors: ParameterError."""
        return Confidence(self.confidence, self.simultaneous).of_each(groups.told.size)

    def optional(self, groups: Groups) -> bool:
        """Whether a unit that is there may still add nothing to a single sum."""
        some = groups.where is not None or self.missing == "drop"
        return bool(groups.by) or some


@dataclass(frozen=True, slots=True)
class Sum(Valued):
    """What do the units' values in a column add up to, per group?

    A unit's value in a group is the sum over its rows there, clipped once per unit.
    Where noise on one side is enough it falls in stairs if these vary less, at the same loss.
    Certain bounds are about the values as rounded and clipped.
    others: True adds one group for all keys that are not listed; its own key is null.
    The other arguments are those of :class:`onesided.session.Valued`.

    >>> import polars as pl, onesided as od
    >>> people = pl.DataFrame({"person": [1, 2, 3], "age": [7, 12, 40]})
    >>> policy = od.policy.addition_only()
    >>> session = od.Session(people, unit="person", policy=policy, budget=1000)
    >>> session.sum("age", bounds=(0, 100), epsilon=1).interval.upper_certain
    True
    """

    others: bool = field(default=False, kw_only=True)

    def measure(self, units: str) -> str:
        """What the numbers are."""
        return f"Sum of {self.column}, over {units}"

    def prepare(self, context: QueryContext) -> PreparedQuery[IntArray, Estimates]:
        """Check and price the question. Looks at no row."""
        value = self.value(context)
        return self.prepared(context, value, what=f"sum of {self.column}", detail=value.detail)

    def prepared(
        self, context: QueryContext, value: Value, *, what: str, detail: Mapping[str, object]
    ) -> PreparedQuery[IntArray, Estimates]:
        """The same with other words for it, and what identifies the value in the ledger."""
        groups = self.groups(context).with_others(self.others, context.policy)
        groups = replace(groups, left_out=replace(groups.left_out, rises=value.low >= 0))
        chosen, plan = self._plan(context, groups, value)
        mechanism = chosen.mechanism

        def draw(totals: IntArray, noise: Noise | None) -> Answer:
            return {"noisy": mechanism.release(totals, noise=noise), **chosen.stored}

        def result(answer: Answer, entry: int | None) -> Estimates:
            noisy = np.asarray(answer["noisy"], dtype=np.int64)
            return Estimates.of(
                what,
                *self._numbers(chosen.of(answer), noisy, value, self.share(groups)),
                keys=groups.told,
                confidence=self.confidence,
                simultaneous=self.simultaneous,
                **groups.published(context, plan, entry),
            )

        return PreparedQuery(
            detail={**groups.detail, **detail},
            plan=plan,
            context=context,
            columns=groups.columns(context, *value.columns),
            look=lambda taken: moments(taken, groups, value).total,
            draw=draw,
            result=result,
            asserts=asserted(groups, value),
            noise=chosen.slopes,  # stairs lose the same, and answers say whether they have some
        )

    def shifts(
        self, context: QueryContext, groups: Groups, value: Value
    ) -> Mapping[Edge, tuple[Shift, ...]]:
        """Per edge, how far the sums move, in steps."""
        return value_shifts(
            context.policy,
            groups,
            low=value.low,
            high=value.high,
            optional=self.optional(groups),
            monotone=value.low >= 0,
        )

    def noise(self, context: QueryContext, groups: Groups, value: Value) -> SumNoise:
        """Which noise the sums get."""
        return self._plan(context, groups, value)[0]

    def _plan(self, context: QueryContext, groups: Groups, value: Value) -> tuple[SumNoise, Plan]:
        """The noise, and what it costs on each edge."""
        shifts = self.shifts(context, groups, value)
        chosen = SumNoise.for_shifts(
            context.policy,
            groups,
            shifts,
            largest=max(value.high, -value.low),
            epsilon=self.epsilon,
        )
        mechanism, certain = chosen.mechanism, certain_sides(chosen.mechanism)
        self.share(groups)
        each = f" The rows of each {context.unit!r} are added up, and the sum is clipped again."
        own = "" if context.unit is None else each
        return chosen, priced(
            context,
            mechanism,
            shifts,
            about=f"{groups.sentence} {value.sentence}{own}",
            scope=groups.left_out.numbers(certain),
            certain=certain,
            standard_deviation=float(value.step) * deviation(mechanism),
            bias=float(value.step) * residual_bias(mechanism),
            why=reason(mechanism),
            alternatives=lambda: chosen.other(float(value.step), certain),
        )

    def _numbers(
        self, mechanism: Sums | StairSums, noisy: IntArray, value: Value, share: Fraction
    ) -> tuple[tuple[Floats, Floats, Floats], tuple[bool, bool]]:
        """Estimates and bounds in the column's unit, and whether each bound is certain."""
        interval = mechanism.interval(noisy, confidence=share)
        centred = mechanism.centred(noisy)
        if value.low >= 0:
            interval, centred = interval.at_least(0), np.maximum(centred, 0)
        lower, upper = in_units(interval, value.step)
        certain = (interval.lower_certain, interval.upper_certain)
        estimate: Floats = np.asarray(centred * float(value.step), dtype=np.float64)
        return (estimate, lower, upper), certain
