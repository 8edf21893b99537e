"""How well values farther apart than one move pass as each other: by the moves that lead there."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onesided._english import many
from onesided._numbers import MAX_COUNT, Infinite, Loss, Number, positive
from onesided.accounting import steps_note
from onesided.engine.kit import MOST_ROWS
from onesided.errors import ParameterError
from onesided.linear import Dense, Grid, Operator
from onesided.linear.kit import notes_of
from onesided.mechanism import Linear as Mechanism
from onesided.mechanism.kit import CONFIDENCE, Chosen, Counted, Steps
from onesided.noise import IntArray, Noise
from onesided.policy import Shift
from onesided.session._confidence import Confidence
from onesided.session._context import QueryContext
from onesided.session._fields import Condition, IfUnknown, Keys, Weights
from onesided.session._groups import Grouped, Groups
from onesided.session._plan import Plan, priced
from onesided.session._question import Answer, Check, PreparedQuery, all_of
from onesided.session._release import Release
from onesided.session._statement import Nouns
from onesided.session.workloads._cells import moves_of_places, public_totals
from onesided.session.workloads._strategies import Choice, choose
from onesided.show import RoleTable

# The most moves that lead from a value to any other so far from it.
Apart: TypeAlias = Callable[[Fraction], int]
_LARGE: Final = 700
SEVERAL: Final = "Who is in several cells counts in each, and in a margin as often."


@dataclass(frozen=True, slots=True)
class Assurance:
    """What still holds for values ``distance`` apart: ``moves`` moves, each at the stated loss.

    odds: whatever is published is at most this many times as likely under one as under the other.

    >>> import polars as pl, onesided as od
    >>> ages = pl.DataFrame({"age": [7, 12, 40]})
    >>> session = od.Session(ages, policy=od.policy.neighbourhood(radius=5), budget=10)
    >>> release = session.ranges("age", "cells", bins=range(0, 101, 5), epsilon=1)
    >>> [one.moves for one in release.assurance(5, 10)]
    [1, 2]
    """

    distance: Number
    moves: int
    epsilon: Loss
    odds: float


# Linear queries over public groups: a strategy chosen by its error, and answers that agree.

Floats = NDArray[np.float64]
Strategy = str | Operator | ArrayLike | None
Columns = Mapping[str, list[Any]]


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

    workload: Weights
    by: str | Sequence[str] = field(kw_only=True)
    keys: Keys = field(kw_only=True)
    epsilon: Number = field(kw_only=True)
    strategy: Strategy = field(default=None, kw_only=True)
    non_negative: bool = field(default=False, kw_only=True)
    confidence: Number = field(default=CONFIDENCE, kw_only=True)
    simultaneous: bool = field(default=False, kw_only=True)
    where: Condition = field(default=None, kw_only=True)
    unknown: IfUnknown = field(default="recorded", kw_only=True)
    id: str | None = field(default=None, kw_only=True)
    again: bool = field(default=False, kw_only=True)
    title: str = field(default="", kw_only=True)

    work: ClassVar = 6  # as many counts may take

    def measure(self, nouns: Nouns) -> str:
        """What the numbers are."""
        return f"Linear queries on the number of {nouns.units}"

    def prepare(self, context: QueryContext) -> PreparedQuery[IntArray, Release]:
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
        moves = moves if groups.where is None else moves.conditioned()
        choice = choose(
            self.strategy,
            moves,
            asked,
            positive(self.epsilon, name="epsilon"),
            Grid(len(names)),
            tree=(context.policy, names),
            public=public_totals(moves, context, groups, groups.by),
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
) -> PreparedQuery[IntArray, Release]:
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
        public=choice.public,
    )

    def draw(counts: IntArray, noise: Noise | None) -> Answer:
        totals, noisy = mechanism.totals(counts), mechanism.noisy(counts, noise=noise)
        return {"noisy": noisy} if totals is None else {"noisy": noisy, "totals": totals}

    rises = choice.workload.is_non_negative
    groups = replace(groups, left_out=replace(groups.left_out, rises=rises))
    plan = plan_of(context, groups, choice, mechanism, about or groups.sentence)
    return PreparedQuery(
        detail={**groups.detail, **(detail or {})},
        plan=plan,
        context=context,
        columns=columns,
        look=groups.counts,
        asserts=asserts,
        draw=draw,
        result=_result_maker(
            context,
            groups,
            choice,
            mechanism,
            queries=queries,
            confidence=confidence,
            share=share,
            plan=plan,
            apart=apart,
        ),
    )


def _result_maker(
    context: QueryContext,
    groups: Groups,
    choice: Choice,
    mechanism: Mechanism,
    *,
    queries: Columns,
    confidence: Confidence,
    share: Fraction,
    plan: Plan,
    apart: Apart,
) -> Callable[[Answer, int | None], Release]:
    """Makes the release of noisy sums, drawn or stored."""

    def result(answer: Answer, entry: int | None) -> Release:
        facts = groups.published(context, plan, entry)
        if context.unit is not None and groups.excess == "keep":
            facts["cut"] = f"{_COUNTED_TWICE} {facts['cut']}".strip()
        noisy = np.asarray(answer["noisy"], dtype=np.int64)
        kept = answer.get("totals")
        totals = None if kept is None else np.asarray(kept, dtype=np.int64)
        answers = mechanism.estimate(noisy, totals)
        lower, upper, certain, known = mechanism.interval(
            noisy, totals, confidence=share, estimate=answers.estimate
        )
        sure = False if known is None else known
        names: dict[str, Any] = dict.fromkeys(queries, "key")
        size, variance = answers.estimate.size, answers.variance
        spread = np.full(size, np.nan) if variance is None else np.sqrt(variance)
        columns = {
            **queries,
            "estimate": answers.estimate,
            "lower": lower,
            "upper": upper,
            "lower_certain": np.full(size, certain and isinstance(mechanism.upper_rate, Infinite))
            | sure,
            "upper_certain": np.full(size, certain and isinstance(mechanism.lower_rate, Infinite))
            | sure,
            "standard_deviation": spread,
        }
        return Release(
            kind="LinearRelease",
            told=RoleTable.of(columns, roles=names),
            summary=f"{many(size, 'query')} by {choice.name}.",
            bound_words=confidence.words,
            notes=(
                *notes_of(choice.moves),
                *(() if totals is None else (_HELD,)),
                *(() if answers.fitted else (_CUT,)),
            ),
            own={
                "variance": variance,
                "strategy": choice.name,
                "noisy": noisy,
                "mechanism": mechanism,
                "policy": context.policy,
                **confidence.facts,
                "assurance": partial(_assurances, apart, plan.guarantee.headline),
            },
            **facts,
        )

    return result


_COUNTED_TWICE: Final = "Who is in several of the groups that are added up counts in each."
_HELD: Final = (
    "Answers are held to the public totals, which are told exactly and cost nothing: no move of "
    "the policy changes them. Moves of another policy on the ledger may."
)
_CUT: Final = (
    "No counts of at least 0 were found that are surely the nearest to the answers: each answer is "
    "cut at 0 by itself, and sums of answers may differ."
)


def _assurances(apart: Apart, epsilon: Loss, *distances: Number) -> tuple[Assurance, ...]:
    """How well values at each distance pass as each other: ε grows by one for every move.

    distances: in the policy's own unit for a neighbourhood, else in moves. On the globe a way of
    such moves must lie inside the grid.
    Errors: ParameterError unless they are above 0, and where no moves lead so far.
    """
    told = []
    for distance in distances:
        far = positive(distance, name="distance")
        moves = apart(far)
        total = epsilon if isinstance(epsilon, Infinite) else epsilon * moves
        odds = math.inf if isinstance(total, Infinite) or total > _LARGE else math.exp(total)
        told.append(Assurance(far, moves, total, odds))
    return tuple(told)


def plan_of(
    context: QueryContext,
    groups: Groups,
    choice: Choice,
    mechanism: Mechanism,
    about: str,
    *,
    sums: bool = False,
) -> Plan:
    """What the chosen strategy costs. sums: noise on one side is certain whatever is measured."""
    sides = {"upper": mechanism.lower_rate, "lower": mechanism.upper_rate}
    clear = sums or mechanism.of_cells
    certain = tuple(s for s, rate in sides.items() if clear and isinstance(rate, Infinite))
    plan = priced(
        context,
        mechanism,
        choice.shifts,
        about=about,
        scope=groups.left_out.numbers(certain, groups.words)
        if groups.words
        else groups.left_out.scope(certain),
        certain=certain,
        standard_deviation=choice.error,
        why=choice.why,
        alternatives=lambda: choice.others,
    )
    upper, lower = mechanism.upper_rate, mechanism.lower_rate
    told = {edge.name: corners(some, upper, lower) for edge, some in choice.shifts.items()}
    return replace(plan, noise=steps_note(told))


def corners(shifts: Sequence[Shift], upper: Loss, lower: Loss) -> Steps:
    """What is known of noise on sums that move by one of these shifts.

    Several are corners: moves lie between them, and what is linear is most at one of them.
    """
    found = [Counted(upper, lower, shift) for shift in shifts]
    both = Chosen(max(o.epsilon for o in found), max(o.backward for o in found))
    return found[0] if len(found) == 1 else both
