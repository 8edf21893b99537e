"""Means and variances of bounded values: quotients of noisy sums, and of squares."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import partial
from itertools import permutations
from operator import attrgetter, sub
from typing import Any, ClassVar, Final, Literal, NamedTuple, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from onesided._numbers import (
    INFINITE,
    MAX_COUNT,
    Loss,
    Number,
    exact,
    positive,
    round_down,
    round_up,
)
from onesided.accounting import steps_note
from onesided.errors import ParameterError
from onesided.fields import is_bool, one_of
from onesided.mechanism import GaussianSums, Interval, Sums
from onesided.mechanism.kit import Chosen, shared
from onesided.noise import Noise
from onesided.policy import Edge, Shift
from onesided.session._context import QueryContext
from onesided.session._count import Count, certain_sides
from onesided.session._gaussian import BEST, WHY, Law, by_law, told_squares, with_law
from onesided.session._groups import Groups
from onesided.session._plan import Plan, PlanOption, priced
from onesided.session._question import Answer, FormLine, PreparedQuery
from onesided.session._release import Release
from onesided.session._statement import Nouns
from onesided.session._ways import Way, estimates
from onesided.session.several._several import Several
from onesided.session.values._moments import Moments, Powers, asserted, moments, weighted
from onesided.session.values._shifts import Form, Moved, Vector, still
from onesided.session.values._sum import Sum, Valued
from onesided.session.values._value import (
    Floats,
    Of,
    Value,
    most_rows,
    open_ended,
    outward,
    part_of,
    ratio,
    share_of,
    spread,
    value_of,
    words_of,
)

# Means and variances of tables whose span is 1, by which ways to the same answer are compared:
# all at an end or in the middle, half at each end, and evenly.
_TABLES: Final = ((0.0, 0.0), (0.5, 0.0), (1.0, 0.0), (0.5, 1 / 4), (0.5, 1 / 12))
_MOST_WEIGHED: Final = 2**52
_FINE: Final = 1000  # the steps of a unit's own proportion
_Shifts: TypeAlias = dict[Edge, tuple[Shift, ...]]


@dataclass(frozen=True, slots=True)
class Part:
    """One of the noisy numbers that a statistic is made of."""

    mechanism: Sums | GaussianSums
    shifts: _Shifts


class Numbers:
    """Noisy numbers that a statistic is made of."""

    __slots__ = ()

    @property
    def all(self) -> dict[str, Part]:
        """By name."""
        named = ((one.name, getattr(self, one.name)) for one in fields(self))  # type: ignore[arg-type] # a dataclass
        return {name: part for name, part in named if isinstance(part, Part)}


@dataclass(frozen=True, slots=True)
class Parts(Numbers):
    """The noisy count, sum and, for a variance, sum of squares; about ``centre``, in steps.

    A number of units that no move changes for this very question is public: it costs nothing, and
    is released exactly. ends: the bounds, where the sum is that of twice the distances from their
    middle, which may lie between two steps.
    """

    centre: int
    count: Part
    total: Part
    squares: Part | None
    ends: tuple[int, int] | None = None

    @property
    def rows(self) -> dict[str, Powers]:
        """What each is made of: so many times the number of units, their sum and their squares."""
        total = (0, 1, 0) if self.ends is None else (2 * self.centre - sum(self.ends), 2, 0)
        return {"count": (1, 0, 0), "total": total, "squares": (0, 0, 1)}

    @property
    def public(self) -> bool:
        """Whether no move changes how many units count, so their number is released exactly."""
        return still(self.count.shifts)

    @property
    def why(self) -> str:
        """What it is, where there is a choice."""
        return "" if self.public else "a count, and sums about the middle of the bounds"

    def mean(self, found: Floating, bounds: Bounds, value: Value) -> Triple:
        """The mean and its bounds, in steps, of noisy parts less their means and their bounds."""
        about, times = (self.centre, 1) if self.ends is None else (sum(self.ends) / 2, 2)
        least, most = value.low - about, value.high - about
        total, count = found["total"] / times, np.maximum(found["count"], 1)
        low, high = ratio(bounds["total"], bounds["count"], least, most, times=times)
        return np.clip(total / count, least, most) + about, low + about, high + about

    def variance(self, found: Floating, bounds: Bounds, value: Value) -> Triple:
        """The same of the variance, in squares of steps; about the centre."""
        count = np.maximum(found["count"], 1)
        estimate = found["squares"] / count - (found["total"] / count) ** 2
        least, most = value.low - self.centre, value.high - self.centre
        mean_low, mean_high = ratio(bounds["total"], bounds["count"], least, most)
        size = max(least**2, most**2)
        low, high = ratio(bounds["squares"], bounds["count"], 0, size)
        outer = np.maximum(mean_low**2, mean_high**2)
        inner = np.where(
            (mean_low <= 0) & (mean_high >= 0), 0, np.minimum(mean_low**2, mean_high**2)
        )
        return estimate, low - outer, high - inner

    def counted(self, numbers: Mapping[str, Any]) -> Any:
        """How many units there are, of a number for each part."""
        return numbers["count"]

    def slopes(self, mean: float, variance: float, span: int) -> dict[str, float]:
        """By how much a unit of noise in each moves the statistic, times the number of units.

        mean, variance: of a table, where the span is 1 and starts at 0.
        """
        away, spread = (mean - 1 / 2) * span, variance * span**2
        if self.squares is not None:
            return {"count": away**2 - spread, "total": -2 * away, "squares": 1}
        return {"count": -away, "total": 1 if self.ends is None else 1 / 2}


@dataclass(frozen=True, slots=True)
class Ends(Numbers):
    """Noisy sums of how far values lie above the lowest and below the highest; in steps.

    A value at the share p of the span adds p and 1 - p of it: in all one span for each unit,
    wherever it lies, so that the number of units is in them, and one span is what all of them
    together move by where it comes or goes. Squared p^2, 2p(1 - p) and (1 - p)^2 of the squared
    span, which is what they add up to. Where a value changes, as much rises as falls.
    Proof: docs/proofs/sums.md. Source: the joint sensitivity of both sums, arXiv 2408.10438.
    """

    centre: int
    ends: tuple[int, int]
    above: Part
    between: Part | None
    below: Part

    public: ClassVar = False
    why: ClassVar = "sums of distances from both bounds, which a unit moves by one span together"

    @property
    def rows(self) -> dict[str, Powers]:
        """As :attr:`Parts.rows`: of one rounded number for each unit, so that they add up."""
        low, high = self.centre - self.ends[0], self.ends[1] - self.centre
        if self.between is None:
            return {"above": (low, 1, 0), "below": (high, -1, 0)}
        between = (2 * low * high, 2 * (high - low), -2)
        return {"above": (low**2, 2 * low, 1), "between": between, "below": (high**2, -2 * high, 1)}

    def mean(self, found: Floating, bounds: Bounds, value: Value) -> Triple:
        """As :meth:`Parts.mean`: the share of what lies above, or anywhere if there is nothing."""
        (above, up), (below, down) = ((found[n], bounds[n]) for n in ("above", "below"))
        shares = (
            part_of(above, below, nothing=1 / 2),
            part_of(up.lower, down.upper, nothing=0),
            part_of(up.upper, down.lower, nothing=1),
        )
        return tuple(value.low + share * (value.high - value.low) for share in shares)  # type: ignore[return-value] # three

    def variance(self, found: Floating, bounds: Bounds, value: Value) -> Triple:
        """As :meth:`Parts.variance`: of the shares x, y and z it is ``x z - y^2 / 4``.

        Of the sums it falls in the middle one, and in each other one rises up to
        ``other + middle + middle^2 / (2 other)`` and falls from there: least at corners of the
        bounds, and largest on their edges.
        """
        x, y, z = (np.maximum(found[name], 0) for name in self.all)
        (low_x, low_y, low_z), (high_x, high_y, high_z) = (
            [np.maximum(end(bounds[name]), 0) for name in self.all]
            for end in (attrgetter("lower"), attrgetter("upper"))
        )

        def peak(other: Floats, low: Floats, high: Floats) -> Floats:
            with np.errstate(all="ignore"):
                top = other + low_y + low_y**2 / (2 * other)
            return np.clip(np.where(other > 0, top, high), low, high)

        least = [spread(a, high_y, b, nothing=0) for a in (low_x, high_x) for b in (low_z, high_z)]
        most = [
            *(spread(peak(b, low_x, high_x), low_y, b, nothing=1 / 4) for b in (low_z, high_z)),
            *(spread(a, low_y, peak(a, low_z, high_z), nothing=1 / 4) for a in (low_x, high_x)),
        ]
        square = float(value.high - value.low) ** 2
        told = (spread(x, y, z, nothing=0), np.min(least, axis=0), np.max(most, axis=0))
        return tuple(one * square for one in told)  # type: ignore[return-value] # three

    def counted(self, numbers: Mapping[str, Any]) -> Any:
        """As :meth:`Parts.counted`: each unit adds one span, or its square."""
        span = float(self.ends[1] - self.ends[0])
        return sum(numbers.values()) / (span if self.between is None else span**2)

    def slopes(self, mean: float, variance: float, span: int) -> dict[str, float]:
        """As :meth:`Parts.slopes`."""
        del span
        if self.between is None:
            return {"above": 1 - mean, "below": -mean}
        above, below = variance + mean**2, variance + (1 - mean) ** 2
        return {
            "above": below - 2 * variance,
            "between": (above + below - 1) / 2 - 2 * variance,
            "below": above - 2 * variance,
        }


Made: TypeAlias = Parts | Ends
Floating: TypeAlias = Mapping[str, Floats]
Bounds: TypeAlias = Mapping[str, Interval]
Triple: TypeAlias = tuple[Floats, Floats, Floats]


class Fit(NamedTuple):
    """Numbers with rates, and how far a move takes all of them together, weighted."""

    made: Made
    shifts: _Shifts
    rates: Sums
    fine: int
    error: float

    def loss(self, shift: Shift) -> Loss:
        """What all of them lose along such a shift together."""
        return self.rates.loss(shift) * Fraction(1, self.fine)


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
    Where no move changes how many units count, a noisy sum over their number. Else of noisy sums of
    distances from both bounds, one span for each unit, or of a count and a sum about the middle:
    whichever has the least predicted error. A group without units has no mean: its answer is noise
    within the bounds.
    Direction: dropping a row may lower or raise somebody's mean (drop the 1 of 5 and 1), so that
    under presence it is priced as both, by up to ``high - low``.
    Of a column of true and false it is the proportion that is true, without ``bounds``; each unit's
    own in steps of a thousandth.
    weight: a column of weights, such as those of a survey: units count for their own, as in
        :class:`onesided.session.Count`, whose ``weight_bounds`` and ``weight_step`` these are. A
        unit moves both sums of distances by the largest weight times one span, together.
    law: which noise, as for :class:`onesided.session.Count`: that of each sum, at what a unit moves
        all of them by in L2, which is no more than one span where it comes or goes.
    The other arguments are those of :class:`onesided.session.Valued`.

    >>> import polars as pl, onesided as od
    >>> people = pl.DataFrame({"person": [1, 2, 3], "age": [7, 12, 40]})
    >>> session = od.Session(people, unit="person", policy=od.policy.addition_only(), budget=1000)
    >>> 0 <= session.mean("age", bounds=(0, 100), epsilon=1).value <= 100
    True
    """

    of: Of = field(default="units", kw_only=True)
    max_rows: int | None = field(default=None, kw_only=True)
    weight: str | None = field(default=None, kw_only=True)
    weight_bounds: Sequence[Number] | None = field(default=None, kw_only=True)
    weight_step: Number | None = field(default=None, kw_only=True)
    law: Law = field(default=BEST, kw_only=True)

    later: ClassVar[tuple[str, ...]] = ("weight", "weight_bounds", "weight_step", "law")
    squared: ClassVar[bool] = False
    sized: ClassVar = "means"  # what a look may find how large it is
    work: ClassVar = 3  # as many counts may take
    changed: ClassVar = "Means and variances were made of other sums before."
    form: ClassVar = (FormLine("mean", "The mean of a column"),)
    sql: ClassVar = {"AVG": {"of": "rows"}, "MEAN_PER_UNIT": {}, "AVG_PER_UNIT": {}}

    def value(self, context: QueryContext) -> Value:
        """The column, its bounds and its grid, checked; true is 1 and false is 0."""
        context.table.require(self.column)
        if context.schema[self.column] != nw.Boolean:
            return Valued.value(self, context)
        each = context.unit is not None and self.of == "units"
        if self.bounds is not None and self.ends != (Fraction(0), Fraction(1)):
            raise ParameterError(
                f"bounds={self.bounds!r}: {self.column!r} holds true and false, which are 1 and 0.",
                hint="Leave bounds= out.",
            )
        grid = (Fraction(1, _FINE) if each else 1) if self.step is None else self.step
        types = {self.column: nw.Int8()}
        return value_of(self.column, bounds=(0, 1), step=grid, missing=self.missing, schema=types)

    @property
    def statistic(self) -> str:
        """What it is called."""
        return "mean"

    def measure(self, nouns: Nouns) -> str:
        """What the numbers are."""
        over = "rows" if self.of == "rows" else nouns.units
        by = "" if self.weight is None else f", weighted by {nouns.column(self.weight)}"
        return f"{self.statistic.capitalize()} of {nouns.column(self.column)}, over {over}{by}"

    def weighed(self, context: QueryContext, value: Value) -> Value | None:
        """The weights, checked; None where all units count for 1. Errors: ParameterError."""
        given = (self.weight, self.weight_bounds, self.weight_step)
        if given == (None, None, None):
            return None
        rows = self.of == "rows" and context.unit is not None
        if self.weight is None or self.weight_bounds is None or rows or self.squared:
            raise ParameterError(
                f"weight={self.weight!r} and weight_bounds={self.weight_bounds!r} have no meaning "
                f"for this {self.statistic}{' of rows' * rows}.",
                hint="Give weight= and weight_bounds=(lowest, highest), from public knowledge, to "
                "a mean over units.",
            )
        named = Sum(self.weight, bounds=self.weight_bounds, step=self.weight_step, epsilon=1)
        found = Valued.value(replace(named, by=self.by, missing="drop"), context)
        if found.low < 0 or found.high == 0 or self.weight == self.column:
            raise ParameterError(
                f"weight={self.weight!r}, weight_bounds={self.weight_bounds!r}: a weight is never "
                "negative, nor the value itself.",
                hint="Begin the bounds at 0, and name a column of weights.",
            )
        if found.high * (value.high - value.low) > _MOST_WEIGHED:
            raise ParameterError(
                "The largest weight times the span of the values is more than 2^52 steps.",
                hint="Use coarser steps of either.",
            )
        return found

    @property
    def numbers(self) -> Mapping[str, str]:
        """The column and that of weights, and what becomes of rows that are missing a value."""
        weight = {} if self.weight is None else {self.weight: "drop"}
        return {self.column: self.missing, **weight}

    def optional(self, groups: Groups) -> bool:
        """A unit without a weight adds nothing."""
        return self.weight is not None or Valued.optional(self, groups)

    def ways(self, context: QueryContext) -> Iterator[Way]:
        """The mean, within narrower bounds, of a sum and a count, or of each value; for plans."""
        value = self.value(context)
        yield from self._by_law(context, value)
        if context.schema[self.column] == nw.Boolean or self.weight is not None:
            return
        yield from self._narrower("Mean", value)
        if self.max_rows is None and (self.of == "rows" or context.unit is None):
            half = self.shared(epsilon=exact(self.epsilon, name="epsilon") / 2)
            half["law"] = self.law
            total = Sum(
                self.column, bounds=self.bounds, step=self.step, missing=self.missing, **half
            )
            yield Way(
                "Sum over Count",
                Several([total, Count(**half)]),
                "about 0 instead of the middle of the bounds",
                told=lambda two: estimates(two[0]) / np.maximum(estimates(two[1]), 1),
            )

        def averaged(values: Floats, counts: Floats) -> float:
            mean = float(values @ counts) / max(float(counts.sum()), 1.0)
            return min(max(mean, float(values[0])), float(values[-1]))

        yield from self._in_cells(context, value, "averaged", averaged)

    def _by_law(self, context: QueryContext, value: Value) -> Iterator[Way]:
        """This question, and the same with Gaussian noise."""
        name, note = type(self).__name__, ""
        with suppress(ParameterError):  # no such law here
            both = (replace(self, law=law).prepare(context).plan for law in ("gaussian", "pure"))
            one, least = (_error(plan.mechanism, value.high - value.low) for plan in both)
            note = f"about {one / least:.2f} times the error; " if least else ""
        yield from by_law(Way(name, self, certain=True), f"{name}, Gaussian noise", context, note)

    def truth(self, public: QueryContext) -> Floats:
        """The numbers that are asked for, of a public table."""
        prepared = self.prepare(public)
        secret, centre = prepared.read(), prepared.plan.mechanism.centre
        mean = secret.total / np.maximum(secret.count, 1) + centre
        return np.asarray(mean * float(self.value(public).step), dtype=np.float64)

    def prepare(self, context: QueryContext) -> PreparedQuery[Moments, Release]:
        """Check and price the question. Looks at no row."""
        value, most = self.value(context), most_rows(context, self)
        weight, words = self.weighed(context, value), words_of(context, value, most)
        detail, columns = {**value.detail, **({"max_rows": most} if most else {})}, value.columns
        if weight is not None:
            words = f"{words} {weight.sentence.replace('Values', 'Weights', 1)}"
            detail, columns = detail | {"weight": weight.detail}, (*columns, *weight.columns)
        groups = replace(self.groups(context), words=words)
        plan = self.priced(context, groups, value, most or 1, weight)
        given: dict[str, Any] = {"value": value, "centre": plan.mechanism.centre}
        rows = {**given, "own_mean": True, "max_rows": most, "squares": self.squared}
        return self.steps(
            context,
            groups,
            value,
            plan,
            detail=groups.detail | detail,
            columns=groups.columns(context, *columns),
            look=partial(moments, groups=groups, **rows)
            if weight is None
            else partial(weighted, groups=groups, weight=weight, **given),
            asserts=asserted(groups, value),
        )

    def steps(
        self, context: QueryContext, groups: Groups, value: Value, plan: Plan, **read: Any
    ) -> PreparedQuery[Moments, Release]:
        """The question in its steps. read: detail, columns, look and asserts of moments."""
        parts: Made = plan.mechanism
        share = self.sure.of_each(groups.told.size)

        def draw(secret: Moments, noise: Noise | None) -> Answer:
            return {
                name: part.mechanism.release(secret.combined(parts.rows[name]), noise=noise)
                for name, part in parts.all.items()
            }

        def tell(answer: Answer) -> dict[str, Any]:
            return self.estimated(groups, parts, self._told(answer, parts, share, value))

        return groups.prepared(context, plan, draw=draw, tell=tell, **read)

    def priced(
        self,
        context: QueryContext,
        groups: Groups,
        value: Value,
        most: int,
        weight: Value | None = None,
    ) -> Plan:
        """The plan whose mechanism are the numbers it is made of, and all other ones in words.

        Of what it can be made of, the least predicted error; ε is all used by each. Gaussian noise
        turns with the axes it lies on: a count and a sum about the middle are sums from both ends
        turned, at the same error, so that it takes the first of them.
        most: values of one unit in a group, each of which may come, go or change. weight: what
        each counts for, which may change as well.
        """
        optional = self.optional(groups)

        def moved(adds: Sequence[Vector], changes: Sequence[Vector], by: Vector) -> _Shifts:
            return Moved.of(adds, changes, by, most).along(
                context.policy, groups, optional=optional
            )

        public = still(moved([(1,)], [(0,)] if weight is None else [(1,), (-1,)], [1]))
        found, refused = [], None
        heavy, span = 1 if weight is None else weight.high, value.high - value.low
        for form in self._forms(value, public=public, heavy=heavy):
            try:
                of_form = partial(moved, form.adds, form.changes)
                found.append(_fitted(form, of_form, self.epsilon, span))
            except ParameterError as error:
                refused = error
        if refused is not None and not found:
            raise refused

        def gaussian(noise: GaussianSums) -> Plan:
            """Of one noise, at the joint L2 norm of what a move changes all numbers by."""
            of_it = self._forms(value, public=public and not self.squared, heavy=heavy)
            made, adds, changes, weights, _ = next(of_it)
            squares = Moved.of(adds, changes, weights, most).squares(
                context.policy, groups, optional=optional
            )
            parts = []
            for place in range(len(weights)):
                own = moved(adds, changes, [place == other for other in range(len(weights))])
                parts.append(Part(Sums(INFINITE, INFINITE) if still(own) else noise, own))
            known = told_squares(noise, squares)
            return groups.plan(context, made(*parts), {}, known=known, why=WHY)

        plan = _plan(context, groups, sorted(found, key=lambda one: one.error))
        of = lambda one: _error(one.mechanism, span)  # noqa: E731 - of either plan
        return with_law(self.law, plan, GaussianSums(1), gaussian, context, error=of)

    def _forms(self, value: Value, *, public: bool, heavy: int) -> Iterator[Form]:
        """The numbers that it can be made of; where that of units is public, one sum is enough.

        heavy: the largest weight. Of a weight w and a share p a unit adds w p and w (1 - p) of a
        span: no more of both than heavy, which may be either's, or lost by one and won by another.
        """
        centre, span = (value.low + value.high) // 2, value.high - value.low
        both, to_and_fro = (value.low, value.high), ((0, span), (0, -span))
        if public:
            adds = [(1, value.low - centre), (1, value.high - centre)]
            yield Form(lambda n, s: Parts(centre, n, s, None), adds, to_and_fro, (1, 1))
            return
        yield Form(lambda a, b: Ends(centre, both, a, None, b), *shares(heavy * span, 2))
        if self.weight is not None:
            return
        doubled = [(one, 2 * other) for one, other in to_and_fro]
        made, adds = partial(Parts, centre, squares=None, ends=both), [(1, -span), (1, span)]
        yield Form(made, adds, doubled, (span, 1))

    def _told(self, answer: Answer, parts: Made, share: Fraction, value: Value) -> dict[str, Any]:
        """Estimates and bounds in the column's unit, and whether each bound is certain."""
        noisy = {part: np.asarray(answer[part], dtype=np.int64) for part in parts.all}
        # If the intervals of all parts hold, so does that of the statistic; an exact one's does.
        likely = [name for name in noisy if len(certain_sides(parts.all[name].mechanism)) < 2]
        sure = shared(share, len(likely))
        bounds = {
            part: open_ended(parts.all[part].mechanism.interval(told, confidence=sure))
            for part, told in noisy.items()
        }
        centred: dict[str, Any] = {
            part: noisy[part] - float(parts.all[part].mechanism.distribution.mean())
            for part in noisy
        }
        estimate, lower, upper = self._found(parts, centred, bounds, value)
        if likely:
            lower, upper = outward(lower, upper, self._exact(2, [MAX_COUNT], parts.centre, value))
        else:  # what is told is the truth, so that both are the statistic but for its last digit
            groups = zip(*(part.tolist() for part in noisy.values()), strict=True)
            ends = [self._exact(many, sums, parts.centre, value) for many, *sums in groups]
            lower, upper = np.array(ends, dtype=np.float64).reshape(-1, 2).T
        certain = {"lower_certain": not likely, "upper_certain": not likely}
        return {
            "estimate": np.clip(estimate, lower, upper),
            "lower": lower,
            "upper": upper,
            **certain,
        }

    def _found(self, parts: Made, centred: Floating, bounds: Bounds, value: Value) -> Triple:
        """The statistic and its bounds, of noisy parts."""
        step = float(value.step)
        return tuple(part * step for part in parts.mean(centred, bounds, value))  # type: ignore[return-value]

    def _exact(self, many: int, sums: list[int], centre: int, value: Value) -> tuple[float, float]:
        """Bounds in one group, of its true number and the sums of its values.

        No rounding makes a certain bound a wrong one.
        """
        ends = value.low * value.step, value.high * value.step
        if abs(sums[0]) < MAX_COUNT:  # it was not cut
            ends = ((Fraction(sums[0], max(many, 1)) + centre) * value.step,) * 2
        return round_down(ends[0]), round_up(ends[1])


def shares(whole: int, many: int) -> tuple[list[Vector], list[Vector], Vector]:
    """Numbers that add up to ``whole`` in each row: any of them may have all of it, or lose it."""
    adds = [tuple(whole * (one == other) for one in range(many)) for other in range(many)]
    return [*adds], [tuple(map(sub, new, old)) for new, old in permutations(adds, 2)], (1,) * many


def _fitted(form: Form, moved: Callable[[Vector], _Shifts], epsilon: Number, span: int) -> Fit:
    """Rates in proportion to the weights, at which all numbers together lose ε at most."""
    made, _, _, weights, fine = form
    shifts, parts = moved([fine * weight for weight in weights]), []
    rates = Sums.for_shifts(shifts, epsilon=fine * positive(epsilon, name="epsilon"))
    for place, weight in enumerate(weights):
        own = moved([fine * (place == other) for other in range(len(weights))])
        found = [shift for many in own.values() for shift in many]
        upper = rates.upper_rate * weight if any(one.fall for one in found) else INFINITE
        lower = rates.lower_rate * weight if any(one.rise for one in found) else INFINITE
        parts.append(Part(Sums(upper, lower), own))
    told = made(*parts)
    return Fit(told, shifts, rates, fine, _error(told, span))


def _error(made: Made, span: int) -> float:
    """The root mean square error of the statistic over these tables, times the number of units."""
    noise = {name: part.mechanism.distribution.variance() for name, part in made.all.items()}
    squares = [
        sum(slope**2 * noise[name] for name, slope in made.slopes(*table, span).items())
        for table in _TABLES
    ]
    return math.sqrt(sum(squares) / len(squares))


def _plan(context: QueryContext, groups: Groups, fits: Sequence[Fit]) -> Plan:
    """What the first of the fits costs on each edge, and how much worse the others are."""
    first, *others = fits
    exact_all = all(len(certain_sides(part.mechanism)) == 2 for part in first.made.all.values())
    certain = ("upper", "lower") if exact_all else ()
    moving = [one for one in first.made.all.values() if not still(one.shifts)]

    def alternatives() -> Iterable[PlanOption]:
        for one in others:
            worse = one.error / first.error
            note = f"{one.made.why}; about {worse:.2f} times the error, at the same charge"
            yield PlanOption(name=type(one.made).__name__, note=note)

    plan = groups.plan(
        context,
        first.made,
        first.shifts,
        loss=first.loss,
        certain=certain,
        why=first.made.why,
        alternatives=alternatives,
    )
    corners = len(moving) > 1 and any(len(many) > 1 for many in first.shifts.values())
    if corners or len({part.mechanism for part in moving}) != 1:
        return replace(plan, noise=_noise(first, moving))
    one = moving[0]
    # Of several sums that move together, no law loses more than that of one which moves as far.
    shifts = one.shifts if len(moving) == 1 else first.shifts
    return replace(plan, noise=priced(context, one.mechanism, shifts).noise)


def _noise(fit: Fit, moving: Sequence[Part]) -> Mapping[str, object]:
    """Of sums with rates of their own: by what all lose together along a move, and back.

    A move lies between the extreme shifts, and either loss is linear, so one of them loses most.
    """
    if any(certain_sides(part.mechanism) for part in moving):
        return {}
    found = {}
    for edge, many in fit.shifts.items():
        forward, back = (
            max(map(fit.loss, some)) for some in (many, [shift.negated for shift in many])
        )
        found[edge.name] = Chosen(forward, back)
    return steps_note(found)


@dataclass(frozen=True, slots=True)
class Variance(Mean):
    """What is the variance of the units' own means in a column, or of rows, per group?

    A unit's own mean is that of :class:`Mean`. The mean of their squares less the square of their
    mean, over all that are counted.
    divisor: "n", the number of those that are counted; or "n - 1", as SQL's VARIANCE and VAR_SAMP
        have it, of at least two.
    root: True takes the square root: the standard deviation, in the column's own unit.
    The other arguments are those of :class:`Mean`.

    >>> import polars as pl, onesided as od
    >>> people = pl.DataFrame({"person": [1, 2, 3], "age": [7, 12, 40]})
    >>> session = od.Session(people, unit="person", policy=od.policy.addition_only(), budget=1000)
    >>> session.variance("age", bounds=(0, 100), epsilon=1).value >= 0
    True
    """

    divisor: Literal["n", "n - 1"] = field(default="n", kw_only=True)
    root: bool = field(default=False, kw_only=True)

    form: ClassVar = (FormLine("variance", "The variance of a column"),)
    squared: ClassVar[bool] = True
    later = (*Mean.later, "divisor", "root")
    sql: ClassVar[dict[str, dict[str, Any]]] = {
        f"{word}{per_unit}": {
            **({} if per_unit else {"of": "rows"}),
            **({} if word.endswith("_POP") else {"divisor": "n - 1"}),
            **({"root": True} if word.startswith("STDDEV") else {}),
        }
        for word in ("VARIANCE", "VAR_SAMP", "VAR_POP", "STDDEV", "STDDEV_SAMP", "STDDEV_POP")
        for per_unit in ("", "_PER_UNIT")
    }

    def ways(self, context: QueryContext) -> Iterator[Way]:
        """The variance, also with Gaussian noise; for plans."""
        yield from self._by_law(context, self.value(context))

    def truth(self, public: QueryContext) -> NDArray[Any]:
        """The numbers that are asked for, of a public table."""
        secret = self.prepare(public).read()
        many = np.maximum(secret.count, 1)
        found = secret.squares / many - (secret.total / many) ** 2
        step = float(self.value(public).step)
        found = found * step**2 * share_of(secret.count, least=self.divisor == "n - 1")
        return np.asarray(np.sqrt(np.maximum(found, 0)) if self.root else found)

    @property
    def statistic(self) -> str:
        """What it is called."""
        return "standard deviation" if self.root else "variance"

    def measure(self, nouns: Nouns) -> str:
        """What the numbers are, and by what they are divided."""
        return f"{Mean.measure(self, nouns)} (divides by {self.divisor})"

    def scale(self, unit: str) -> str:
        """What the numbers are measured in, of a column in this unit."""
        return unit if self.root else f"{unit}²"

    def prepare(self, context: QueryContext) -> PreparedQuery[Moments, Release]:
        """Check and price the question. Looks at no row."""
        one_of(self.divisor, name="divisor", words=("n", "n - 1"))
        is_bool(self.root, name="root")
        return Mean.prepare(self, context)

    def _forms(self, value: Value, *, public: bool, heavy: int) -> Iterator[Form]:
        del heavy  # variances have no weights
        centre, both = (value.low + value.high) // 2, (value.low, value.high)
        far = value.high - centre
        square = far * far
        if square > MAX_COUNT // 2**10:
            raise ParameterError(
                f"The squares of values within these bounds go up to {square:,} steps.",
                hint="Use a coarser step for a variance.",
                square=square,
            )
        if not public:
            yield Form(partial(Ends, centre, both), *shares((value.high - value.low) ** 2, 3))
        adds = [(1, one - centre, (one - centre) ** 2) for one in both]
        weights = (1 if public else square, far, 1)
        yield Form(partial(Parts, centre), adds, _squares_change(far), weights, fine=4)

    def _found(self, parts: Made, centred: Floating, bounds: Bounds, value: Value) -> Triple:
        square, least = float(value.step) ** 2, self.divisor == "n - 1"
        most = ((value.high - value.low) / 2) ** 2
        ends = (
            {name: getattr(one, end) for name, one in bounds.items()} for end in ("upper", "lower")
        )
        many = map(parts.counted, (centred, *ends))
        found = zip(parts.variance(centred, bounds, value), many, strict=True)
        told = [np.clip(part, 0, most) * square * share_of(n, least=least) for part, n in found]
        return tuple(map(np.sqrt, told) if self.root else told)

    def _exact(self, many: int, sums: list[int], centre: int, value: Value) -> tuple[float, float]:
        del centre  # a variance is the same about any
        sample = self.divisor == "n - 1"
        if max(map(abs, sums)) >= MAX_COUNT:  # it was cut
            most = ((value.high - value.low) * value.step) ** 2 / 4 * (2 if sample else 1)
            ends = Fraction(0), most
        else:
            mean, square = (Fraction(one, max(many, 1)) for one in sums)
            spread = (square - mean**2) * value.step**2
            ends = (spread * (Fraction(max(many, 2), max(many - 1, 1)) if sample else 1),) * 2
        low, high = round_down(ends[0]), round_up(ends[1])
        if not self.root:
            return low, high
        # A root is rounded to the nearest: one step further, it is on its own side.
        outer = np.nextafter(np.sqrt(high), np.inf) if high else 0.0
        return float(np.nextafter(np.sqrt(low), 0)), float(outer)


def _squares_change(far: int) -> list[tuple[Fraction | int, ...]]:
    """How far a value within ``far`` of 0 changes the number, the sum and that of the squares.

    From ``far * s`` to ``far * t``, with each weighted so that ``far`` and its square count as 1,
    one way ``(t - s)(1 + t + s)`` at most, which is 9/4. Where one rises and the other falls
    ``(r, f)`` lies below ``f = 1 - (r - 1)^2``, and so below its tangents where f is 1, where
    r is 3/2, and where r is 2: these are their corners.
    """
    quarters = ((6, 3), (5, -4), (7, -2), (8, 0))
    return [
        (0, Fraction(way * total * far, 4), Fraction(way * square * far * far, 4))
        for total, square in quarters
        for way in (1, -1)
    ]
