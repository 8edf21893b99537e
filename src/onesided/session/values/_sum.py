"""What do rows, or the totals of units, add up to, and how many are there, per group?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Final, Literal, Self

import numpy as np

from onesided._numbers import INFINITE, Number, exact
from onesided.errors import ParameterError
from onesided.mechanism import GaussianSums, StairSums, Sums
from onesided.mechanism.kit import CONFIDENCE
from onesided.noise import IntArray, Noise
from onesided.policy import Edge, Policy, Shift
from onesided.session._confidence import Confidence
from onesided.session._context import QueryContext
from onesided.session._count import deviation, facts_of, residual_bias
from onesided.session._gaussian import BEST, Law, by_law, told_squares, with_law
from onesided.session._groups import Grouped, Groups
from onesided.session._plan import Plan, PlanOption
from onesided.session._question import Answer, FormLine, PreparedQuery
from onesided.session._release import Release, of_groups, sides
from onesided.session._statement import Nouns
from onesided.session._ways import MOST_CELLS, Floats, Way, estimates
from onesided.session.values._moments import asserted, moments
from onesided.session.values._shifts import Moved, one_value
from onesided.session.values._value import (
    Missing,
    Of,
    Value,
    counted_rows,
    ends_of_rows,
    in_units,
    most_rows,
    refuse_own_groups,
    require_numbers,
    settle_grid,
    value_of,
    words_of,
    words_of_rows,
)
from onesided.session.workloads._ranges import RangeQuery


@dataclass(frozen=True, slots=True)
class Valued(Grouped):
    """A question about a column of numbers, within declared bounds and in steps of a grid.

    column: the numbers. What of a unit's rows counts, the question says.
    bounds: ``(lowest, highest)`` of one row's value, public; values beyond are clipped to them.
        None: those of the session's schema.
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

    only_rises: ClassVar = False

    def __post_init__(self) -> None:
        """A float names a place on the grid at its decimal value: 0.1 is a tenth."""
        settle_grid(self, "bounds", "step")

    def scale(self, unit: str) -> str:
        """What the numbers are measured in, of a column in this unit."""
        return unit

    def value(self, context: QueryContext) -> Value:
        """The column, its bounds and its grid, checked."""
        context.table.require(self.column)
        refuse_own_groups(self)
        bounds = self._ends
        if bounds is None:
            require_numbers(self.column, context.schema)
            raise ParameterError(
                f"Within which bounds are the values of {self.column!r}?",
                hint="Pass bounds=(lowest, highest) of one row's value, from public knowledge, or "
                "declare them in a schema; values beyond are clipped to them.",
                column=self.column,
            )
        return value_of(
            self.column,
            bounds=bounds,
            step=1 if self.step is None else self.step,
            missing=self.missing,
            schema=context.schema,
        )

    @property
    def _ends(self) -> Sequence[Number] | None:
        """Within which bounds a number is summed."""
        return self.bounds

    def within(self, low: Number, high: Number) -> Self:
        """The same within other bounds."""
        return replace(self, bounds=(low, high))

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        """The bounds, exact; for a look. Errors: ParameterError."""
        low, high = (exact(end, name="bounds") for end in self._ends or ())
        return low, high

    def _narrower(self, named: str, value: Value) -> Iterator[Way]:
        """The same within narrower bounds; for plans."""
        for part in (2, 4):
            low = value.low if value.low >= 0 else -(-value.low // part)
            high = low + (value.high - low) // part if value.low >= 0 else value.high // part
            if low < high and (low, high) != (value.low, value.high):
                ends = low * value.step, high * value.step
                name = f"{named}, bounds=({float(ends[0]):g}, {float(ends[1]):g})"
                yield Way(name, self.within(*ends), "less noise; larger values are clipped")

    def _in_cells(
        self,
        context: QueryContext,
        value: Value,
        named: str,
        told: Callable[[Floats, Floats], float],
    ) -> Iterator[Way]:
        """How many rows have each value of the grid, unless these are too many; for plans.

        told: the number asked for, of the values and their counts.
        """
        steps = range(value.low, value.high + 1)
        if self.by or self.counted is not None or context.unit is not None:
            return
        if len(steps) > MOST_CELLS:
            return
        edges = [step * value.step - value.step / 2 for step in (*steps, value.high + 1)]
        values: Floats = np.array(steps, dtype=np.float64) * float(value.step)
        cells = RangeQuery(
            self.column,
            "cells",
            bins=edges,
            epsilon=self.epsilon,
            missing=self.missing,
            where=self.where,
            unknown=self.unknown,
        )
        yield Way(
            f"counts of each value, {named}",
            cells,
            "noise on each value's count, times the value",
            told=lambda release: np.array([told(values, estimates(release))]),
        )

    @property
    def numbers(self) -> Mapping[str, str]:
        """The column, and what becomes of rows that are missing a value."""
        return {self.column: self.missing}

    @property
    def sure(self) -> Confidence:
        """How often bounds hold."""
        return Confidence(self.confidence, self.simultaneous)

    def estimated(self, groups: Groups, made: object, told: dict[str, Any]) -> dict[str, Any]:
        """What a release of these columns says of itself. made: their noise."""
        return {
            "told": of_groups(groups.told, told),
            "bound_words": self.sure.words,
            "own": {"mechanism": made, **self.sure.facts},
        }

    def optional(self, groups: Groups) -> bool:
        """Whether a unit that is there may still add nothing to a single sum."""
        some = groups.where is not None or self.missing == "drop"
        return bool(groups.by) or some


@dataclass(frozen=True, slots=True)
class Sum(Valued):
    """What do a column's rows, or the totals of its units, add up to, per group?

    of: in a session with ``unit=``, which numbers the bounds are about. "rows": each row's value is
        clipped to ``bounds``, and of a unit ``max_rows`` rows count in a group at most, those
        farthest from 0, so that dropping rows never raises a sum of values from 0 up. "units":
        what a unit's rows in a group add up to is clipped to ``total_bounds``. Without ``unit=``
        each row is a unit, and ``bounds`` is all that is needed.
    max_rows: with "rows", public. total_bounds: with "units", ``(lowest, highest)`` of one unit's
        total in a group, public; each row is clipped to these and 0 as well, so that rows of
        opposite signs cancel less. "column" takes a schema's bounds of a row, as 0.2 did.
    Where noise on one side is enough it falls in stairs if these vary less, at the same loss.
    Certain bounds are about the numbers as they were cut; ``release.cut`` says how.
    others: True adds one group for all keys that are not listed; its own key is null.
    law: which noise, as for :class:`onesided.session.Count`.
    The other arguments are those of :class:`onesided.session.Valued`.

    >>> import polars as pl, onesided as od
    >>> visits = pl.DataFrame({"person": [1, 1, 2, 3], "cost": [7, 12, 40, 60]})
    >>> session = od.Session(visits, unit="person", policy=od.policy.addition_only(), budget=1000)
    >>> release = session.sum("cost", of="rows", max_rows=2, bounds=(0, 50), epsilon=90)
    >>> release.value, release.interval.upper_certain
    (109.0, True)
    >>> session.sum("cost", of="units", total_bounds=(0, 50), epsilon=90).value
    109.0
    """

    of: Of | None = field(default=None, kw_only=True)
    max_rows: int | None = field(default=None, kw_only=True)
    total_bounds: Sequence[Number] | Literal["column"] | None = field(default=None, kw_only=True)
    others: bool = field(default=False, kw_only=True)
    law: Law = field(default=BEST, kw_only=True)

    work: ClassVar = 2  # as many counts may take
    form: ClassVar = (FormLine("sum", "The sum of a column", given={"of": "rows"}),)
    sql: ClassVar = {"SUM": {"of": "rows"}, "SUM_PER_UNIT": {"of": "units"}}
    later: ClassVar = ("of", "max_rows", "total_bounds", "law")

    @staticmethod
    def from_version_1(given: Mapping[str, Any]) -> dict[str, Any]:
        """What was asked in JSON of version 1, where bounds were those of a unit's total.

        A schema's bounds of a row were taken for it.
        """
        bounds = given.get("bounds") or "column"
        return {**given, "bounds": None, "of": "units", "total_bounds": bounds}

    def measure(self, nouns: Nouns) -> str:
        """What the numbers are."""
        over = "rows" if self.of == "rows" else f"totals of {nouns.units}"
        return (
            f"Sum of {nouns.column(self.column)}, over {'rows' if nouns.units == 'rows' else over}"
        )

    def __post_init__(self) -> None:
        """A float names a place on the grid at its decimal value: 0.1 is a tenth."""
        settle_grid(self, "bounds", "step")
        if self.total_bounds != "column":
            settle_grid(self, "total_bounds")

    def within(self, low: Number, high: Number) -> Self:
        """The same within other bounds, of whatever these bounds are."""
        named = "bounds" if self.total_bounds is None else "total_bounds"
        return replace(self, **{named: (low, high)})  # type: ignore[arg-type] # one of the two

    def identified(self, context: QueryContext) -> Sum:
        """The same in the form that tells it from others: as 0.2 wrote it, if it meant this.

        It clipped each row of a unit to the bounds as well: the same where 0 is within them.
        """
        if self.of != "units" or self.total_bounds is None:
            return self
        low, high = (exact(end, name="total_bounds") for end in self.total_bounds)
        if context.unit is not None and not low <= 0 <= high:
            return self
        return replace(self, of=None, bounds=self.total_bounds, total_bounds=None)

    @property
    def sized(self) -> str:
        """What a look may find how large it is."""
        return "means" if self.of == "rows" else "sums"

    @property
    def formerly(self) -> Sum | None:
        """What the same words meant in 0.2, where they mean something else today."""
        if self.of != "rows" or self.max_rows is None:
            return None
        return replace(self, of="units", max_rows=None, bounds=None, total_bounds=self.bounds)

    @property
    def from_zero(self) -> bool:
        """Whether no sum can be below 0."""
        ends = self._ends
        return isinstance(ends, list | tuple) and exact(ends[0], name="bounds") >= 0

    @property
    def _ends(self) -> Sequence[Number] | None:
        return self.bounds if self.total_bounds is None else self.total_bounds

    def value(self, context: QueryContext) -> Value:
        """The column, the bounds of a row or of a unit's total, and the grid, checked."""
        totals, unit = self.total_bounds is not None, context.unit
        if unit is not None and self.of is None:
            raise ParameterError(
                f"Do rows count one by one, or each {unit!r} once, with its total?",
                hint=f'Pass of="rows" with max_rows=, the most rows of one {unit!r} that count, '
                f'and bounds of one row; or of="units" with total_bounds=(lowest, highest) of the '
                f"total of one {unit!r}.",
            )
        if totals and (self.of != "units" or self.bounds is not None):
            raise ParameterError(
                "total_bounds= bounds the total of each unit, and bounds= a row's value.",
                hint='Pass of="units" with total_bounds=, or bounds= alone.',
            )
        if self.of == "units" and unit is not None and not totals:
            raise ParameterError(
                f"Within which bounds is the total of one {unit!r}?",
                hint="Pass total_bounds=(lowest, highest) from public knowledge; bounds of a "
                "column are about one row.",
            )
        if self.total_bounds == "column":
            raise ParameterError(
                f'total_bounds="column" asks for declared bounds of {self.column!r}, and there '
                "are none.",
                hint="Pass total_bounds=(lowest, highest), or declare the column's bounds.",
            )
        return Valued.value(self, context)

    def ways(self, context: QueryContext) -> Iterator[Way]:
        """The sums, within narrower bounds, and by counts of each value; for plans."""
        value = self.value(context)
        yield from by_law(Way("Sums", self, closed=True, certain=True), "GaussianSums", context)
        yield from self._narrower("Sums", value)
        yield from self._in_cells(context, value, "added up", lambda v, n: float(v @ n))

    def truth(self, public: QueryContext) -> Floats:
        """The numbers that are asked for, of a public table."""
        return Valued.truth(self, public) * float(self.value(public).step)

    def prepare(self, context: QueryContext) -> PreparedQuery[IntArray, Release]:
        """Check and price the question. Looks at no row."""
        value, most = self.value(context), most_rows(context, self)
        told: dict[str, object] = {} if most is None else {"max_rows": most}
        return self.prepared(
            context,
            value,
            detail={**value.detail, **told},
            words=self.words(context, value, most),
            most=most,
        )

    def words(self, context: QueryContext, value: Value, most: int | None) -> str:
        """Which numbers are added up, exactly."""
        if most is None:
            return words_of_totals(context, value)
        return f"{value.sentence} {words_of_rows(context, most)[:-1]}, those farthest from 0."

    def of_weights(self, context: QueryContext) -> PreparedQuery[IntArray, Release]:
        """The sum of each unit's own mean, for weighted counts.

        Taking some of a unit's rows away may raise its mean, so that under presence it is priced as
        rise and fall, as a mean is.
        """
        value, own = Valued.value(self, context), context.unit is not None
        words = words_of(context, value, None)
        return self.prepared(context, value, detail=value.detail, words=words, own_mean=own)

    def prepared(
        self,
        context: QueryContext,
        value: Value,
        *,
        detail: Mapping[str, object],
        words: str,
        most: int | None = None,
        own_mean: bool = False,
    ) -> PreparedQuery[IntArray, Release]:
        """The same with other words for it, and what identifies the value in the ledger.

        words: which numbers are added up, exactly. most: how many rows of a unit, if rows count.
        own_mean: whether each unit adds its own mean instead of its clipped total.
        """
        groups = self.groups(context).with_others(self.others, context.policy)
        left = replace(groups.left_out, rises=value.low >= 0 and not own_mean)
        groups = replace(groups, left_out=left, words=words)
        share, step = self.sure.of_each(groups.told.size), float(value.step)
        moved, optional = _moved(value, most, own_mean=own_mean), self.optional(groups)
        shifts = moved.along(context.policy, groups, optional=optional)
        low, high = ends_of_rows(value, most)
        chosen = SumNoise.for_shifts(
            context.policy, groups, shifts, largest=max(high, -low), epsilon=self.epsilon
        )

        def plan_of(made: Sums | StairSums | GaussianSums) -> Plan:
            facts, known = facts_of(made, step=step), None
            if isinstance(made, GaussianSums):
                squares = moved.squares(context.policy, groups, optional=optional)
                known = told_squares(made, squares)
            others = partial(chosen.other, step, facts["certain"])
            return groups.plan(context, made, shifts, known=known, alternatives=others, **facts)

        plan = with_law(self.law, plan_of(chosen.mechanism), GaussianSums(1), plan_of, context)
        mechanism = plan.mechanism
        gaussian = isinstance(mechanism, GaussianSums)

        def draw(totals: IntArray, noise: Noise | None) -> Answer:
            first = {_FIRST: mechanism.stairs.first} if isinstance(mechanism, StairSums) else {}
            return {"noisy": mechanism.release(totals, noise=noise), **first}

        def tell(answer: Answer) -> dict[str, Any]:
            noisy = np.asarray(answer["noisy"], dtype=np.int64)
            drawn = mechanism if gaussian else chosen.of(answer)
            return self.estimated(groups, mechanism, _numbers(drawn, noisy, value, share))

        return groups.prepared(
            context,
            plan,
            draw=draw,
            tell=tell,
            detail={**groups.detail, **detail},
            columns=groups.columns(context, *value.columns),
            look=lambda taken: (
                moments(taken, groups, value, max_rows=most, farthest=True, own_mean=own_mean).total
            ),
            asserts=asserted(groups, value),
            # Stairs lose as slopes do, and an answer says if it has stairs.
            noise=mechanism if gaussian else chosen.slopes,
        )

    def shifts(
        self, context: QueryContext, groups: Groups, value: Value, most: int | None = None
    ) -> Mapping[Edge, tuple[Shift, ...]]:
        """Per edge, how far the sums move, in steps."""
        moved = _moved(value, most, own_mean=False)
        return moved.along(context.policy, groups, optional=self.optional(groups))


def _numbers(drawn: Any, noisy: IntArray, value: Value, share: Fraction) -> dict[str, Any]:
    """Estimates and bounds in the column's unit, and whether each bound is certain."""
    interval, centred = drawn.interval(noisy, confidence=share), drawn.centred(noisy)
    if value.low >= 0:
        interval, centred = interval.at_least(0), np.maximum(centred, 0)
    lower, upper = in_units(interval, value.step)
    estimate = np.asarray(centred * float(value.step), dtype=np.float64)
    return {"estimate": estimate, **sides(interval), "lower": lower, "upper": upper}


def _moved(value: Value, most: int | None, *, own_mean: bool) -> Moved:
    """How far a unit moves the sum of its group."""
    low, high = ends_of_rows(value, most)
    return one_value(low, high, monotone=value.low >= 0 and not own_mean)


def words_of_totals(context: QueryContext, value: Value) -> str:
    """Which numbers are added up, exactly, where each unit has one total."""
    if context.unit is None:
        return value.sentence
    return (
        f"{value.around_zero.sentence} What the rows of each {context.each} in a group add up to "
        f"is clipped to {value.ends}."
    )


# Rows are sums of ones.


@dataclass(frozen=True, slots=True)
class RowCount(Grouped):
    """How many rows are there, per group? Each unit adds its rows there, ``max_rows`` at most.

    It is the sum of ones: a move that takes a unit out of a group lowers it by ``max_rows`` at
    most, and dropping some of a unit's rows never raises it. Certain bounds are about the rows as
    cut. Where each row is a unit of its own, ask :class:`onesided.session.Count`.
    max_rows: the most rows of one unit that count in a group, public; any further ones are left
        out. None: that of the session's schema.
    confidence, simultaneous, law: as in :class:`onesided.session.Sum`. others: True adds one group
    for all keys that are not listed. The other arguments are those of
    :class:`onesided.session.Grouped`. Errors: ParameterError.

    >>> import polars as pl, onesided as od
    >>> visits = pl.DataFrame({"person": [1, 1, 1, 2], "place": ["a", "a", "a", "a"]})
    >>> policy = od.policy.presence(max_groups=1)
    >>> session = od.Session(visits, unit="person", policy=policy, budget=1000)
    >>> session.row_count(by="place", keys=["a"], max_rows=2, epsilon=90).estimate.tolist()
    [3.0]
    """

    max_rows: int | None = field(default=None, kw_only=True)
    confidence: Number = field(default=CONFIDENCE, kw_only=True)
    simultaneous: bool = field(default=False, kw_only=True)
    others: bool = field(default=False, kw_only=True)
    law: Law = field(default=BEST, kw_only=True)

    work: ClassVar = 2  # as many counts may take
    later: ClassVar = ("law",)

    def measure(self, nouns: Nouns) -> str:
        """What the numbers are."""
        return f"Number of rows of {nouns.units}"

    def ways(self, context: QueryContext) -> Iterator[Way]:
        """The rows, and the same with other noise; for plans."""
        yield from by_law(Way("Sums", self, closed=True, certain=True), "GaussianSums", context)

    def prepare(self, context: QueryContext) -> PreparedQuery[IntArray, Release]:
        """Check and price the question. Looks at no row."""
        if context.unit is None:
            raise ParameterError(
                "Each row is a unit of its own here, so it counts once.",
                hint="Ask count(...), without max_rows.",
            )
        rows, words = counted_rows(context, self.max_rows)
        given = {n.name: getattr(self, n.name) for n in fields(self) if n.name != "max_rows"}
        asked = Sum("", bounds=(0, rows.high), **given)
        return asked.prepared(context, rows, detail={"max_rows": str(rows.high)}, words=words)


# Which noise a sum gets: slopes on the sides it needs, or stairs where one side is enough.


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
    def mechanism(self) -> Sums | StairSums:
        """The noise with the smaller error, what the median leaves of its mean included."""
        if self.stairs is None:
            return self.slopes
        return self.stairs if error(self.stairs) < _WORTH * error(self.slopes) else self.slopes

    def of(self, answer: Answer) -> Sums | StairSums:
        """The noise in an answer; stored ones say whether they have stairs, and older ones none."""
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
