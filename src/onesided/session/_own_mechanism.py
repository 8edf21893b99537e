"""A mechanism of the curator's own on counts or sums: priced by its loss, checked before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import Number, positive, probability, whole
from onesided.errors import DataError, ParameterError
from onesided.fields import one_of
from onesided.mechanism import CheckRecord
from onesided.mechanism.kit import source_of
from onesided.noise import IntArray, Noise, PlainNoise, SecureNoise
from onesided.policy import Edge, Shift
from onesided.session._context import QueryContext, Taken
from onesided.session._count import short_share
from onesided.session._fields import OwnCode
from onesided.session._groups import Grouped, Groups
from onesided.session._plan import Plan, priced
from onesided.session._question import Answer, PreparedQuery
from onesided.session._release import Release, of_groups
from onesided.session._statement import Nouns
from onesided.session.values._moments import asserted, moments
from onesided.session.values._sum import Sum, words_of_totals
from onesided.session.values._value import Missing, Value, settle_grid

Shifts = Mapping[Edge, tuple[Shift, ...]]


@dataclass(frozen=True, slots=True)
class OwnMechanism(Grouped):
    """What does a mechanism of your own answer, on counts of units per group, or on sums?

    For the curator alone: the mechanism is code that sees true numbers.
    mechanism: has ``release(counts, noise=...)``, which gives one number per group, and
        ``loss(shift)``, which is charged and may not exceed ε times an edge's weight. What it may
        have: ``delta(shift)``, the probability with which that loss may fail, charged as well; and
        what its loss holds for: ``per_key``, by how much a unit may change each number, and
        ``max_groups``, how many groups one move may take from a unit, or give it. Without these
        two it must hold for every move with that shift.
    statistic: what it is given: "count", or "sum" of ``column``, each unit's total clipped to
        ``bounds``, as whole numbers of ``step``: ``of="units"`` of :class:`onesided.session.Sum`.
    check: the record of ``onesided.verify.Case(mechanism, policy, epsilon, ...).run()``, which
        must have passed for this very source, policy, ε and ``max_groups``; for sums on an
        ``onesided.verify.SumUniverse`` whose moves go as far as these.
    unverified: True to go without; the guarantee then rests on what the mechanism says of itself.
    The other arguments are those of :class:`onesided.session.Grouped`.
    Promise: along a move, (ε, δ) is what the mechanism says of the worst shift.
    Errors: ParameterError without a record that fits, for a loss above ε, and where a move goes
    beyond ``per_key`` or ``max_groups``, of which ``loss`` does not speak.

    >>> import polars as pl, onesided as od
    >>> rows = pl.DataFrame({"person": [1, 2], "place": ["gym", "bar"]})
    >>> session = od.Session(rows, unit="person", policy=od.policy.presence(max_groups=1), budget=9)
    >>> asked = {"by": "place", "keys": ["gym"], "statistic": "count", "unverified": True}
    >>> session.release(od.mechanism.Counts(2, od.INFINITE), epsilon=2, **asked).title
    'Counts on the number of units (person) by place'
    """

    mechanism: OwnCode
    statistic: str = field(kw_only=True)
    column: str | None = field(default=None, kw_only=True)
    bounds: Sequence[Number] | None = field(default=None, kw_only=True)
    step: Number | None = field(default=None, kw_only=True)
    missing: Missing = field(default="refuse", kw_only=True)
    check: CheckRecord | None = field(default=None, kw_only=True)
    unverified: bool = field(default=False, kw_only=True)

    only_rises: ClassVar = False  # nothing is known of how it answers

    def __post_init__(self) -> None:
        """A float names a place on the grid at its decimal value: 0.1 is a tenth."""
        settle_grid(self, "bounds", "step")

    @property
    def numbers(self) -> Mapping[str, str]:
        """The column, if there is one, and what becomes of rows that are missing a value."""
        return {} if self.column is None else {self.column: self.missing}

    def measure(self, nouns: Nouns) -> str:
        """What the numbers are."""
        of = f"sum of {nouns.column(self.column)}, over" if self.statistic == "sum" else "number of"
        return f"{type(self.mechanism).__name__} on the {of} {nouns.units}"

    def prepare(self, context: QueryContext) -> PreparedQuery[IntArray, Release]:
        """Check and price the question. Looks at no row."""
        one_of(self.statistic, name="statistic", words=("count", "sum"))
        groups, asked, value = self.groups(context), self._sums(), None
        shifts, each = context.policy.shifts(groups.query), 1
        if asked is not None:
            value = asked.value(context)
            shifts = asked.shifts(context, groups, value)
            each = max(value.high, 0) + max(-value.low, 0)
        self._refuse_further_moves(context, groups, per_key=each)
        assurance = self._assurance(context, groups, value, shifts)
        plan = self._priced(context, groups, value, shifts, assurance)
        # On made-up numbers: an answer of another form is refused before anything is charged.
        self._answer(np.zeros(groups.keys.size, dtype=np.int64), None)

        def look(taken: Taken) -> IntArray:
            return groups.counts(taken) if value is None else moments(taken, groups, value).total

        def draw(numbers: IntArray, noise: Noise | None) -> Answer:
            return {"values": self._answer(numbers, noise)}

        def tell(answer: Answer) -> dict[str, Any]:
            values = _in_units(np.asarray(answer["values"]), value)
            return {
                "kind": "OwnRelease",
                "told": of_groups(groups.keys, {"estimate": values}),
                "own": {"values": values, "assurance": assurance},
            }

        return groups.prepared(
            context,
            plan,
            draw=draw,
            tell=tell,
            detail=groups.detail if value is None else {**groups.detail, **value.detail},
            columns=groups.columns(context, *(() if value is None else value.columns)),
            look=look,
            noise=source_of(self.mechanism),
            asserts=groups.asserts if value is None else asserted(groups, value),
        )

    def _sums(self) -> Sum | None:
        """The sums that the mechanism is given; None for counts. Errors: ParameterError."""
        if self.statistic == "count":
            if (self.column, self.bounds, self.step) != (None, None, None):
                raise ParameterError(
                    "column, bounds and step have no meaning for counts.",
                    hint='Leave them out, or ask for statistic="sum".',
                )
            return None
        if self.column is None:
            raise ParameterError("Sums of which column?", hint='Pass column="hours", for example.')
        if self.bounds is None:
            raise ParameterError(
                "Within which bounds is the total of one unit?",
                hint="Pass bounds=(lowest, highest) from public knowledge.",
            )
        return Sum(
            self.column,
            of="units",
            total_bounds=self.bounds,
            step=self.step,
            missing=self.missing,
            epsilon=self.epsilon,
            by=self.by,
        )

    def _refuse_further_moves(self, context: QueryContext, groups: Groups, *, per_key: int) -> None:
        """A loss may hold only where each number moves so far, or so many do; a total hides that.

        per_key: how far a unit moves each number: a count by 1, a sum from the lowest of what a
        unit adds, or 0, to the highest, or 0.
        """
        moves = [one for many in context.policy.shifts(groups.query).values() for one in many]
        pairs = max((max(one.rise, one.fall) for one in moves), default=0)
        made = type(self.mechanism).__name__
        for name, most, about, instead in (
            ("per_key", per_key, "a unit changes each number by", "narrower bounds"),
            (
                "max_groups",
                min(pairs, groups.keys.size),
                "the groups of a unit that a move changes are",
                "a policy whose moves change fewer groups",
            ),
        ):
            told = getattr(self.mechanism, name, None)
            if told is not None and (held := whole(told, name=f"{name} of {made}")) < most:
                raise ParameterError(
                    f"By its {name}, the loss of {made} holds where {about} at most {held}; "
                    f"here it is up to {most}.",
                    hint=f"Use a mechanism whose {name} is at least {most}, or {instead}. Nothing "
                    "was drawn and nothing was recorded.",
                    most=most,
                )

    def _assurance(
        self, context: QueryContext, groups: Groups, value: Value | None, shifts: Shifts
    ) -> str:
        """What the guarantee rests on. Errors: ParameterError without a record that fits."""
        epsilon = Fraction(positive(self.epsilon, name="epsilon"))
        why = "there is no record of a check"
        if self.check is not None:
            why = self.check.misfit(
                self.mechanism,
                policy=context.policy,
                epsilon=epsilon,
                query=groups.query,
                sums=None if value is None else shifts,
            )
        if not why and self.check is not None:
            return (
                f"Checked on every noise in one small universe ({self.check.universe}), not "
                "proved for other data."
            )
        if self.unverified is True:
            return "Not checked: the loss is what the mechanism says of itself."
        world = f"query={groups.query!r}"
        if value is not None:
            ends, sums = (value.low, value.high), 2 if groups.by else 1
            world = f"universe=SumUniverse(bounds={ends}, groups={sums}, {world})"
        raise ParameterError(
            f"{type(self.mechanism).__name__} may not be used: {why}.",
            hint="Run onesided.verify.Case(mechanism, policy, epsilon, universe=...).run() with "
            f"{world} and pass its record as check=; unverified=True goes without. "
            "Nothing was drawn and nothing was recorded.",
        )

    def _priced(
        self,
        context: QueryContext,
        groups: Groups,
        value: Value | None,
        shifts: Shifts,
        assurance: str,
    ) -> Plan:
        """The plan at the mechanism's own loss. Errors: ParameterError above ε."""
        if value is None:
            plan = groups.plan(context, self.mechanism, why=assurance)
        else:
            about = replace(groups, words=words_of_totals(context, value)).sentence
            plan = priced(context, self.mechanism, shifts, about=about, why=assurance)
        delta, told = self._deltas(shifts), f"{plan.guarantee.about} {assurance}"
        plan = replace(
            plan,
            guarantee=replace(plan.guarantee, about=told, delta=delta),
            noise={} if any(delta.values()) else plan.noise,
        )
        for edge in context.policy.edges:
            most = positive(self.epsilon, name="epsilon") * edge.weight
            if not plan.charge[edge.name] <= most:
                raise ParameterError(
                    f"By its own loss, {type(self.mechanism).__name__} loses "
                    f"{plan.charge[edge.name]} along {edge.name}, more than {most}.",
                    hint="Give it more noise, or ask at a larger epsilon. Nothing was drawn and "
                    "nothing was recorded.",
                )
        return plan

    def _deltas(self, shifts: Shifts) -> dict[str, Fraction]:
        """Per edge, how likely the loss may fail, by the mechanism's own word."""
        own = getattr(self.mechanism, "delta", None)
        if own is None:
            return {edge.name: Fraction(0) for edge in shifts}
        if not callable(own):
            raise ParameterError(
                f"delta of {type(self.mechanism).__name__} must be a method, got {own!r}.",
                hint="delta(shift) gives the probability with which the loss may fail; call "
                "anything else by another name.",
            )
        worst = {edge.name: max(map(own, many)) for edge, many in shifts.items()}
        return {edge: short_share(probability(one, name="delta")) for edge, one in worst.items()}

    def _answer(self, numbers: IntArray, noise: Noise | None) -> NDArray[Any]:
        """What the mechanism answers. Errors: DataError unless one number per group."""
        source = PlainNoise(SecureNoise() if noise is None else noise)
        values = np.asarray(self.mechanism.release(numbers.copy(), noise=source))
        if values.shape != numbers.shape or values.dtype.kind not in "biuf":
            raise DataError(
                f"{type(self.mechanism).__name__} must give one number per group, "
                f"got {values.dtype} with shape {values.shape}.",
                hint="Return a one-dimensional array, as long as what it is given.",
            )
        return values


def _in_units(values: NDArray[Any], value: Value | None) -> NDArray[Any]:
    """The answers in the column's unit."""
    if value is None or value.step == 1:
        return values
    return np.asarray(values * float(value.step), dtype=np.float64)
