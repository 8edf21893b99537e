"""Linear queries over public groups: a strategy chosen by its error, and answers that agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onesided._english import many
from onesided._numbers import MAX_COUNT, Infinite, Number, exact, positive
from onesided.engine.kit import MOST_ROWS
from onesided.errors import ParameterError
from onesided.linear import Dense, Grid, Identity, Kron, Operator
from onesided.linear.kit import notes_of, understated
from onesided.mechanism import Interval, LinearAnswers
from onesided.mechanism import Linear as Mechanism
from onesided.mechanism.kit import CONFIDENCE, shared, tail_bound
from onesided.noise import IntArray
from onesided.policy import Guarantee, Policy
from onesided.session._confidence import Confidence
from onesided.session._context import QueryContext
from onesided.session._groups import Grouped, Groups
from onesided.session._missing import Unknown
from onesided.session._plan import Plan, priced
from onesided.session._question import Answer, Check, PreparedQuery, all_of
from onesided.session._release import Release
from onesided.session._text import share_words
from onesided.session.workloads._assurance import Apart, Assurance, assured
from onesided.session.workloads._cells import moves_of_places
from onesided.session.workloads._strategies import Choice, choose

Floats = NDArray[np.float64]
# The part of what a bound may miss that goes to a variance estimated from draws.
_UNSURE: Final = 20
Strategy = str | Operator | ArrayLike | None
Columns = Mapping[str, list[Any]]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LinearRelease(Release):
    """Answers to linear queries, all from one set of noisy sums. Everything here is public.

    estimate: one per query; they agree with each other. variance: of each, exact for unbounded
    least squares; None if too much to work out. lower, upper: what holds with ``confidence``, each
    query's on its own or those of all at once if ``simultaneous``; certain where
    ``upper_certain`` or ``lower_certain``.
    strategy: which sums were measured. notes: what the policy leaves open, in sentences.

    >>> import polars as pl, onesided as od
    >>> people = pl.DataFrame({"person": [1, 2, 3], "age": [7, 12, 40]})
    >>> policy = od.policy.addition_only()
    >>> session = od.Session(people, policy=policy, budget=1000)
    >>> release = session.linear([[1, 1], [1, 0]], by="age", keys=[7, 12], epsilon=90)
    >>> release.labels, release.estimate.round().tolist()
    ([0, 1], [2.0, 1.0])
    """

    queries: Columns = field(repr=False)
    estimate: Floats
    variance: Floats | None
    lower: Floats
    upper: Floats
    lower_certain: bool
    upper_certain: bool
    confidence: Number
    simultaneous: bool = False
    strategy: str
    notes: tuple[str, ...]
    noisy: IntArray = field(repr=False)
    mechanism: Mechanism = field(repr=False)
    policy: Policy = field(repr=False)
    _apart: Apart = field(repr=False, compare=False)

    @property
    def summary(self) -> str:
        """What was found, in a few words."""
        return f"{many(self.estimate.size, 'query')} by {self.strategy}."

    @property
    def interval(self) -> Interval:
        """The bounds, a row per query."""
        return Interval(self.lower, self.upper, self.lower_certain, self.upper_certain)  # type: ignore[arg-type] # in floats

    @property
    def labels(self) -> list[Any]:
        """The queries: their numbers, or the ends of their ranges."""
        rows = list(zip(*self.queries.values(), strict=True))
        return [row[0] for row in rows] if len(self.queries) == 1 else rows

    def columns(self) -> dict[str, list[Any]]:
        """The queries, estimate, bounds, standard deviation."""
        size = self.estimate.size
        spread = np.full(size, np.nan) if self.variance is None else np.sqrt(self.variance)
        return {
            **self.queries,
            "estimate": self.estimate.tolist(),
            "lower": self.lower.tolist(),
            "upper": self.upper.tolist(),
            "lower_certain": [self.lower_certain] * size,
            "upper_certain": [self.upper_certain] * size,
            "standard_deviation": spread.tolist(),
        }

    @property
    def bound_words(self) -> str:
        """How sure a bound is that is not certain."""
        return share_words(self.confidence, together=self.simultaneous)

    def assurance(self, *distances: Number) -> tuple[Assurance, ...]:
        """How well values at each distance pass as each other: ε grows by one for every move.

        distances: in the policy's own unit for a neighbourhood, else in moves. On the globe a
        way of such moves must lie inside the grid.
        Errors: ParameterError unless they are above 0, and where no moves lead so far.
        """
        epsilon = self.guarantee.headline
        return tuple(assured(self._apart, distance, epsilon) for distance in distances)

    def __str__(self) -> str:
        return " ".join([Release.__str__(self), *self.notes])


@dataclass(frozen=True, slots=True)
class LinearQuery:
    """Sums of units over public groups, each query with its own weights.

    workload: whole numbers, one row per query and one column per key in the order of ``keys``; or
        an operator from :mod:`onesided.linear`.
    by, keys: the grouping column and its public groups; under a graph or a neighbourhood they
        are named like its values or places.
    epsilon: loss per unit of edge weight, in nats.
    strategy: which sums to measure: an operator, a matrix, a name that ``plan`` shows, or None
        for the least predicted error.
    non_negative: fit counts of at least 0: less error as a rule, but biased.
    confidence: how often an interval holds that is not certain, for each query on its own; with
        simultaneous=True, for all queries at once.
    where: SQL text that picks rows. A move may change whom it picks, so that under a graph or a
        neighbourhood every cell's comings and goings are charged.
    unknown: as in :class:`onesided.session.Grouped`.
    id, again: as in :class:`onesided.session.Grouped`.
    A unit is counted in one group; the presence policy brings its own bound.

    >>> import polars as pl, onesided as od
    >>> people = pl.DataFrame({"person": [1, 2, 3], "age": [7, 12, 40]})
    >>> policy = od.policy.addition_only()
    >>> session = od.Session(people, policy=policy, budget=1000)
    >>> release = session.linear([[1, 1]], by="age", keys=[7, 12], epsilon=90)
    >>> release.interval.upper.tolist(), release.upper_certain
    ([2.0], True)
    """

    workload: Operator | ArrayLike
    by: str | Sequence[str] = field(kw_only=True)
    keys: object = field(kw_only=True)
    epsilon: Number = field(kw_only=True)
    strategy: Strategy = field(default=None, kw_only=True)
    non_negative: bool = field(default=False, kw_only=True)
    confidence: Number = field(default=CONFIDENCE, kw_only=True)
    simultaneous: bool = field(default=False, kw_only=True)
    where: object = field(default=None, kw_only=True)
    unknown: Unknown = field(default="recorded", kw_only=True)
    id: str | None = field(default=None, kw_only=True)
    again: bool = field(default=False, kw_only=True)

    def measure(self, units: str) -> str:
        """What the numbers are."""
        return f"Linear queries on the number of {units}"

    def prepare(self, context: QueryContext) -> PreparedQuery[IntArray, LinearRelease]:
        """Check and price the question. Looks at no row."""
        groups = self.cells(context)
        names = [row[0] if len(row) == 1 else row for row in groups.keys.rows]
        asked = self.workload if isinstance(self.workload, Operator) else Dense(self.workload)
        if asked.shape[1] != len(names):
            raise ParameterError(
                f"The workload has {many(asked.shape[1], 'column')} for {many(len(names), 'key')}.",
                hint="Give one weight per key, in the order of keys.",
            )
        moves = moves_of_places(context.policy, names, groups.query)
        choice = choose(
            self.strategy,
            moves if groups.where is None else moves.conditioned(),
            asked,
            positive(self.epsilon, name="epsilon"),
            Grid(len(names)),
            tree=(context.policy, names),
        )
        return answered(
            context,
            groups,
            choice,
            queries={"query": list(range(asked.shape[0]))},
            non_negative=self.non_negative,
            confidence=Confidence(self.confidence, self.simultaneous),
            columns=groups.columns(context),
            asserts=asserted(context, groups),
            apart=context.policy.moves_between_places,
        )

    def cells(self, context: QueryContext) -> Groups:
        """Units in one group each, or as the presence policy bounds them."""
        one_value = context.policy.single_valued or "keep" not in context.policy.excess_modes
        by_unit = context.unit is not None and one_value
        return Grouped(
            epsilon=self.epsilon,
            by=self.by,
            keys=self.keys,
            max_groups=1 if by_unit else None,
            on_excess="error" if by_unit else None,
            where=self.where,
            unknown=self.unknown,
        ).groups(context)


def asserted(context: QueryContext, groups: Groups) -> Check | None:
    """What the cells are held to: where a policy names values, units' values that ``where`` leaves.

    Moves from cell to cell are those of a unit's one value, whether or not a condition picks it: of
    two values, a condition might pick one now and after a short move the other, far away.
    """
    if groups.where is None or not context.policy.between_values:
        return groups.asserts
    return all_of(replace(groups, where=None).asserts, groups.asserts)


def answered(
    context: QueryContext,
    groups: Groups,
    choice: Choice,
    *,
    queries: Columns,
    non_negative: bool,
    confidence: Confidence,
    columns: tuple[str, ...],
    asserts: Check | None,
    apart: Apart,
    detail: Mapping[str, object] | None = None,
    about: str = "",
) -> PreparedQuery[IntArray, LinearRelease]:
    """The steps of a question about linear queries, once its strategy is chosen."""
    share = confidence.of_each(choice.workload.shape[0])
    if choice.strategy.largest * MOST_ROWS > MAX_COUNT:
        raise ParameterError(
            f"The strategy has an entry of {choice.strategy.largest:,}: of that many rows sums "
            "would not fit 64 bits.",
            hint="Use entries up to 2^29.",
        )
    mechanism = Mechanism(
        choice.strategy,
        choice.workload,
        choice.upper_rate,
        choice.lower_rate,
        non_negative=non_negative,
        shifts=choice.shifts,
    )
    rises = choice.workload.is_non_negative
    groups = replace(groups, left_out=replace(groups.left_out, rises=rises))
    plan = _plan(context, groups, choice, mechanism, about or groups.sentence)
    return PreparedQuery(
        detail={**groups.detail, **(detail or {})},
        plan=plan,
        context=context,
        columns=columns,
        look=groups.counts,
        asserts=asserts,
        draw=lambda counts, noise: {"noisy": mechanism.noisy(counts, noise=noise)},
        result=_result_maker(
            context,
            choice,
            mechanism,
            queries=queries,
            confidence=confidence,
            share=share,
            guarantee=plan.guarantee,
            cut=groups.cut(plan.certain),
            apart=apart,
        ),
    )


def _result_maker(
    context: QueryContext,
    choice: Choice,
    mechanism: Mechanism,
    *,
    queries: Columns,
    confidence: Confidence,
    share: Fraction,
    guarantee: Guarantee,
    cut: str,
    apart: Apart,
) -> Callable[[Answer, int | None], LinearRelease]:
    """Makes the release of noisy sums, drawn or stored."""

    def result(answer: Answer, entry: int | None) -> LinearRelease:
        noisy = np.asarray(answer["noisy"], dtype=np.int64)
        answers = mechanism.estimate(noisy)
        lower, upper, certain = _bounds(mechanism, answers, share)
        return LinearRelease(
            queries=queries,
            estimate=answers.estimate,
            variance=answers.variance,
            lower=lower,
            upper=upper,
            lower_certain=certain and isinstance(mechanism.upper_rate, Infinite),
            upper_certain=certain and isinstance(mechanism.lower_rate, Infinite),
            confidence=exact(confidence.share, name="confidence"),
            simultaneous=confidence.simultaneous,
            strategy=choice.name,
            notes=notes_of(choice.moves),
            noisy=noisy,
            mechanism=mechanism,
            policy=context.policy,
            guarantee=guarantee,
            entry=entry,
            cut=cut,
            _make_frame=lambda columns: context.table.result(columns, like=()),
            _apart=apart,
        )

    return result


def _bounds(
    mechanism: Mechanism, answers: LinearAnswers, share: Fraction
) -> tuple[Floats, Floats, bool]:
    """Lower and upper bounds per query, and whether a side without noise is certain."""
    if answers.variance is None:
        unknown = np.full(answers.estimate.size, np.inf)
        return -unknown, unknown, False
    noisy, law, found = answers.noisy, mechanism.distribution, answers
    if mechanism.non_negative:
        ways, asked = mechanism.strategy, mechanism.workload
        found = Mechanism(ways, asked, mechanism.upper_rate, mechanism.lower_rate).estimate(noisy)
    spread = law.variance()
    factors = answers.variance / spread if spread else np.zeros(found.estimate.size)
    if mechanism.draws:  # estimated: it may be too small, at a part of the chance to miss
        missed = (1 - share) / _UNSURE
        share, factors = share + missed, factors * understated(mechanism.draws, float(missed))
    certain = _one_sided(mechanism.strategy, mechanism.workload)
    rates = (mechanism.upper_rate, mechanism.lower_rate)
    sides = sum(not (certain and isinstance(rate, Infinite)) for rate in rates)
    wide = tail_bound([(law, 1.0)], shared(share, sides)) * np.sqrt(factors)
    lower, upper = found.estimate - wide, found.estimate + wide
    if certain:  # sums of answers with noise on one side have it on that side
        far = sum(map(abs, noisy.tolist())) * mechanism.workload.largest > MAX_COUNT
        sums = noisy if far else mechanism.workload.apply(noisy)
        least, most = (
            np.full(lower.size, way) if far else _outward(sums, way) for way in (-np.inf, np.inf)
        )
        lower = least if isinstance(mechanism.upper_rate, Infinite) else lower
        upper = most if isinstance(mechanism.lower_rate, Infinite) else upper
    return lower, upper, certain


def _outward(sums: IntArray, way: float) -> Floats:
    """As floats; where not every whole number is one, the next one that way."""
    found = np.asarray(sums, dtype=float)
    return np.where(np.abs(found) < 2**53, found, np.nextafter(found, way))


def _one_sided(strategy: Operator, workload: Operator) -> bool:
    """Whether the answers are sums, with no weight below 0, of the cells as they were measured.

    Then noise that lies on one side of the cells lies on that side of every answer. Both are read
    off the entries: a name, or what a class is derived from, proves nothing of another product.
    """
    return _of_cells(strategy) and workload.is_non_negative


def _of_cells(strategy: Operator) -> bool:
    """Whether row k of a strategy is cell k."""
    if type(strategy) is Kron:
        return _of_cells(strategy.first) and _of_cells(strategy.second)
    return type(strategy) is Identity


def _plan(
    context: QueryContext, groups: Groups, choice: Choice, mechanism: Mechanism, about: str
) -> Plan:
    sides = {"upper": mechanism.lower_rate, "lower": mechanism.upper_rate}
    clear = _one_sided(choice.strategy, choice.workload)
    certain = tuple(s for s, rate in sides.items() if clear and isinstance(rate, Infinite))
    return priced(
        context,
        mechanism,
        choice.shifts,
        about=about,
        scope=groups.left_out.scope(certain),
        certain=certain,
        standard_deviation=choice.error,
        why=choice.why,
        alternatives=lambda: choice.others,
    )
