"""How well values farther apart than one move pass as each other: by the moves that lead there."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onesided._english import many
from onesided._numbers import MAX_COUNT, Infinite, Loss, Number, positive, rough
from onesided.engine.kit import MOST_ROWS
from onesided.errors import OnesidedError, ParameterError, PolicyError
from onesided.linear import (
    Dense,
    Grid,
    Moves,
    Operator,
    Ranges,
    by_length,
    candidates,
    edge_counts,
    sensitivity,
    strategy_shifts,
)
from onesided.linear.kit import (
    MOST_PAIRS,
    Margins,
    Totals,
    held_factors,
    holds_cells,
    influences,
    notes_of,
    thinned,
)
from onesided.mechanism import Linear as Mechanism
from onesided.mechanism.kit import CONFIDENCE, Chosen, Counted, Gaussian, Steps, rates_over
from onesided.noise import IntArray, Noise, TwoSidedGeometric
from onesided.policy import Edge, Policy, Shift
from onesided.session._confidence import Confidence
from onesided.session._context import QueryContext
from onesided.session._fields import Condition, IfUnknown, Keys, Weights
from onesided.session._groups import Grouped, Groups
from onesided.session._plan import Plan, PlanOption, priced
from onesided.session._question import Answer, Check, PreparedQuery, all_of
from onesided.session._release import Release
from onesided.session._statement import Nouns
from onesided.session.histograms._binned import Binned
from onesided.session.workloads._cells import moves_of_places, public_totals
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


class OfCells:
    """A question about sums of many cells; see :class:`LinearQuery` for what it is asked with."""

    __slots__ = ()
    epsilon: Number
    strategy: Strategy
    non_negative: bool
    confidence: Number
    simultaneous: bool

    def answered(
        self,
        context: QueryContext,
        groups: Groups,
        asked: Operator,
        moves: Moves,
        makers: Callable[[], Makers],
        *,
        queries: Columns,
        apart: Apart,
        binned: Binned | None = None,
        asserts: Check | None = None,
        detail: Mapping[str, object] | None = None,
        said: str = "",
    ) -> PreparedQuery[IntArray, Release]:
        """The steps of linear queries on cells of which moves join some.

        makers: the strategies, see :func:`choose`. said: what there is to say of the cells.
        """
        cells, own = groups.by, context
        if binned is not None:
            cells, own = tuple(binned.bins), binned.context
        moves = moves if groups.where is None else moves.conditioned()
        choice = choose(
            self.strategy,
            moves,
            asked,
            positive(self.epsilon, name="epsilon"),
            makers,
            public=public_totals(moves, context, groups, cells),
        )
        confidence = Confidence(self.confidence, self.simultaneous)
        share, mechanism = confidence.of_each(asked.shape[0]), choice.as_noise(self.non_negative)
        rises = asked.is_non_negative
        groups = replace(groups, left_out=replace(groups.left_out, rises=rises))
        plan = plan_of(own, groups, choice, mechanism, f"{groups.sentence} {said}".strip())

        def tell(answer: Answer) -> dict[str, Any]:
            twice = _COUNTED_TWICE if context.unit is not None and groups.excess == "keep" else ""
            cut = groups.published(own, plan, None)["cut"]
            noisy, totals = measured(answer)
            answers = mechanism.estimate(noisy, totals)
            near, variance = answers.estimate, answers.variance
            bounds = mechanism.interval(noisy, totals, confidence=share, estimate=near)
            held = ((_HELD, totals is not None), (_CUT, not answers.fitted))
            return {
                "kind": "LinearRelease",
                "cut": " ".join(filter(None, (said, twice, cut))),
                "told": RoleTable.of(
                    {**queries, **_numbers(mechanism, near, variance, bounds)},
                    roles=dict.fromkeys(queries, "key"),
                ),
                "summary": f"{many(near.size, 'query')} by {choice.name}.",
                "bound_words": confidence.words,
                "notes": (*notes_of(choice.moves), *(words for words, holds in held if holds)),
                "own": {
                    "variance": variance,
                    "strategy": choice.name,
                    "noisy": noisy,
                    "mechanism": mechanism,
                    "policy": context.policy,
                    **confidence.facts,
                    "assurance": partial(_assurances, apart, plan.guarantee.headline),
                },
            }

        return groups.prepared(
            own,
            plan,
            draw=partial(drawn, mechanism),
            tell=tell,
            detail={**groups.detail, **(detail or {})},
            columns=groups.columns(own, *(() if binned is None else cells)),
            asserts=all_of(asserts, asserted(context, groups)),
        )


@dataclass(frozen=True, slots=True)
class LinearQuery(OfCells):
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
    >>> session = od.Session(people, policy=od.policy.addition_only(), budget=1000)
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
        groups = single_cells(context, self)
        names = groups.keys.labels()
        asked = self.workload if isinstance(self.workload, Operator) else Dense(self.workload)
        if asked.shape[1] != len(names):
            raise ParameterError(
                f"The workload has {many(asked.shape[1], 'column')} for {many(len(names), 'key')}.",
                hint="Give one weight per key, in the order of keys.",
            )
        return self.answered(
            context,
            groups,
            asked,
            moves_of_places(context.policy, names, groups.query),
            partial(_makers, context.policy, names),
            queries={"query": list(range(asked.shape[0]))},
            apart=context.policy.moves_between_places,
        )


def single_cells(context: QueryContext, asked: Any) -> Groups:
    """Groups by keys, of units in one each or as the presence policy bounds them."""
    one_value = context.policy.single_valued or "keep" not in context.policy.excess_modes
    by_unit = context.unit is not None and one_value
    return Grouped(
        epsilon=asked.epsilon,
        by=asked.by,
        keys=asked.keys,
        max_groups=1 if by_unit else None,
        on_excess="error" if by_unit else None,
        where=asked.where,
        unknown=asked.unknown,
    ).groups(context)


def drawn(mechanism: Mechanism, cells: IntArray, noise: Noise | None) -> Answer:
    """What was measured, with the totals that are public."""
    totals, noisy = mechanism.totals(cells), mechanism.noisy(cells, noise=noise)
    return {"noisy": noisy} if totals is None else {"noisy": noisy, "totals": totals}


def measured(answer: Answer) -> tuple[IntArray, IntArray | None]:
    """What :func:`drawn` gave, drawn or stored."""
    kept = answer.get("totals")
    totals = None if kept is None else np.asarray(kept, dtype=np.int64)
    return np.asarray(answer["noisy"], dtype=np.int64), totals


def _numbers(
    mechanism: Mechanism, near: Floats, variance: Floats | None, bounds: Any
) -> dict[str, Any]:
    """The columns of a release, their bounds whole."""
    size, known = near.size, False if bounds.known is None else bounds.known
    rates = {"lower_certain": mechanism.upper_rate, "upper_certain": mechanism.lower_rate}
    return {
        "estimate": near,
        "lower": np.minimum(np.ceil(bounds.lower), np.floor(near)) + 0.0,
        "upper": np.maximum(np.floor(bounds.upper), np.ceil(near)) + 0.0,
        **{
            name: np.full(size, bounds.certain and isinstance(rate, Infinite)) | known
            for name, rate in rates.items()
        },
        "standard_deviation": np.sqrt(np.full(size, np.nan) if variance is None else variance),
    }


def asserted(context: QueryContext, groups: Groups) -> Check | None:
    """What the cells are held to: where a policy names values, units' values that ``where`` leaves.

    Of two values a condition might pick one now and after a short move the other, far away.
    """
    if groups.where is None or not context.policy.between_values:
        return groups.asserts
    return all_of(replace(groups, where=None).asserts, groups.asserts)


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
    return priced(
        context,
        mechanism,
        choice.shifts,
        known=choice.steps,
        about=about,
        scope=groups.left_out.numbers(certain, groups.words)
        if groups.words
        else groups.left_out.scope(certain),
        certain=certain,
        standard_deviation=choice.error,
        why=choice.why,
        alternatives=lambda: choice.others,
    )


def corners(shifts: Sequence[Shift], upper: Loss, lower: Loss) -> Steps:
    """What is known of noise on sums that move by one of these shifts.

    Several are corners: moves lie between them, and what is linear is most at one of them.

    >>> corners([Shift(rise=1, fall=0)], Fraction(1), Fraction(1, 2)).epsilon
    Fraction(1, 2)
    """
    found = [Counted(upper, lower, shift) for shift in shifts]
    both = Chosen(max(o.epsilon for o in found), max(o.backward for o in found))
    return found[0] if len(found) == 1 else both


Makers: TypeAlias = Mapping[str, Callable[[], Operator]]
ShiftsOf: TypeAlias = Callable[[Operator], Mapping[Edge, tuple[Shift, ...]]]
_PROBED: Final = 256
_SMALL: Final = 256
_SHOWN: Final = 6
_MOST_BY_LENGTH: Final = 1_024
_FEW: Final = 32
_FEWEST: Final = 4
_FEW_CELLS: Final = 2**14
# Where every cell is joined to every other, as under the standard policies: above some 1,400 cells
# strategies of blocks, which need all pairs, are not tried by themselves. Trees there err less.
_WHOLE_PAIRS: Final = 2**22


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A strategy with the least noise for it, and how well it and the others would answer.

    error: the root of the mean squared error of the queries (of 256 of them if there are more, of
    4 to 32 for strategies without a closed form). public: the totals that answers are held to.
    gaussian: the σ² of Gaussian noise in place of the rates; squares: how far each edge's moves
    take its sums in L2, squared.
    """

    name: str
    strategy: Operator
    workload: Operator
    moves: Moves
    shifts: Mapping[Edge, tuple[Shift, ...]]
    upper_rate: Loss
    lower_rate: Loss
    error: float
    public: Totals | None = None
    why: str = ""
    others: tuple[PlanOption, ...] = ()
    gaussian: Fraction | None = None
    squares: Mapping[Edge, int] = field(default_factory=dict)

    @property
    def steps(self) -> dict[str, Steps]:
        """What is known of its loss along each edge."""
        if self.gaussian is not None:
            return {edge.name: Gaussian(self.gaussian, one) for edge, one in self.squares.items()}
        upper, lower = self.upper_rate, self.lower_rate
        return {edge.name: corners(some, upper, lower) for edge, some in self.shifts.items()}

    def as_noise(self, non_negative: bool = False) -> Mechanism:  # noqa: FBT001, FBT002
        """Noise on its sums. Errors: ParameterError where these would not fit 64 bits."""
        if self.strategy.largest * MOST_ROWS > MAX_COUNT:
            raise ParameterError(
                f"The strategy has an entry of {self.strategy.largest:,}: of that many rows sums "
                "would not fit 64 bits.",
                hint="Use entries up to 2^29.",
            )
        return Mechanism(
            self.strategy,
            self.workload,
            self.upper_rate,
            self.lower_rate,
            non_negative=non_negative,
            shifts=self.shifts,
            public=self.public,
            gaussian=self.gaussian,
        )


def choose(
    given: object,
    moves: Moves,
    workload: Operator,
    epsilon: Fraction,
    makers: Callable[[], Makers],
    *,
    public: Totals | None = None,
    shifts: ShiftsOf | None = None,
) -> Choice:
    """The strategy that was given or named, or else the one of least predicted error.

    makers: gives what is compared, by name. shifts: how far a strategy's sums move, where that is
    not what moves of one record among the cells do.

    Where moves join all cells, those that need more than 2^22 pairs are left out.
    Above 256 cells those without a closed form, such as "staggered", are compared with the best of
    the others by a few of the queries, the same ones for both.

    Only public facts enter. Errors: ParameterError for an unknown name or where nothing fits.
    """
    sized = partial(_sized, epsilon=epsilon, public=public, shifts_of=shifts)
    if given is not None and not isinstance(given, str):
        strategy = given if isinstance(given, Operator) else Dense(given)
        return sized("given", strategy, moves, workload)
    every = makers()
    if isinstance(given, str):
        if given not in every:
            raise ParameterError(
                f"There is no strategy {given!r} for these cells.",
                hint=f"Use one of {', '.join(every)}, an operator, or a matrix.",
                value=given,
            )
        return sized(given, every[given](), moves, workload)
    most = _WHOLE_PAIRS if moves.whole else MOST_PAIRS
    found: list[Choice] = []
    slow: dict[str, Operator] = {}
    for name, make in every.items():
        with suppress(OnesidedError):  # cannot be worked out at this size: another will do
            strategy = make()
            if strategy.solvable or moves.cells <= _SMALL:
                found.append(sized(name, strategy, moves, workload, most=most))
            elif holds_cells(strategy):
                slow[name] = strategy
    # Those that are slow to predict: by few queries, as a multiple of the best of the others.
    few = thinned(workload, _probes(moves.cells))
    best = min(found, key=lambda one: one.error, default=None)
    whole = beside = 1.0
    if slow and best is not None and best.error and few is not workload:
        whole, beside = best.error, sized(best.name, best.strategy, moves, few).error
    for name, strategy in slow.items():
        with suppress(OnesidedError):
            own = sized(name, strategy, moves, few)
            found.append(replace(own, workload=workload, error=own.error * whole / beside))
    if not found:
        raise ParameterError(
            "No standard strategy can be worked out for this many cells and this policy.",
            hint="Give a strategy, use larger cells, or a smaller radius.",
        )
    found.sort(key=lambda one: one.error)
    return _told(found)


def _probes(cells: int) -> int:
    """How many queries a strategy without a closed form is judged by."""
    return max(_FEWEST, min(_FEW, _FEW * _FEW_CELLS // cells))


def error_by_length(choice: Choice) -> tuple[tuple[int, float], ...]:
    """For ranges of 1, 2, 4, ... cells, the root of their mean variance; empty off the line."""
    cells = choice.strategy.shape[1]
    line = isinstance(choice.workload, Ranges) and len(choice.workload.grid) == 1
    if not line or cells > _MOST_BY_LENGTH:
        return ()
    found = by_length(choice.strategy)
    spread = TwoSidedGeometric(choice.upper_rate, choice.lower_rate).variance()
    lengths = sorted({*(2**k for k in range(cells.bit_length()) if 2**k <= cells), cells})
    saved = np.zeros(cells)
    if choice.public is not None and choice.public.of_all:
        near = influences(choice.strategy, np.ones((cells, 1)))[:, 0]
        sums = np.concatenate([[0.0], np.cumsum(near)])
        for n in lengths:
            saved[n - 1] = np.mean((sums[n:] - sums[:-n]) ** 2) / sums[-1]
    left = np.maximum(found.factor - saved, 0) * spread
    return tuple((n, math.sqrt(float(left[n - 1]))) for n in lengths)


def _told(found: Sequence[Choice]) -> Choice:
    """The first, with the others as what else could answer."""
    best = found[0]
    others = tuple(
        PlanOption(name=f"Linear, {one.name}", error=one.error, note=_noise(one))
        for one in found[1:_SHOWN]
    )
    lengths = error_by_length(best)
    by = ", ".join(f"{length}: {rough(error)}" for length, error in lengths)
    why = f"{best.name} has the least predicted error; {_noise(best)}"
    return replace(best, why=f"{why}; by cells in a range, {by}" if by else why, others=others)


def _noise(choice: Choice) -> str:
    return f"a move changes its sums by {sensitivity(choice.shifts)} at most"


def _makers(policy: Policy, names: Sequence[Any]) -> Makers:
    makers = dict(candidates(Grid(len(names))))
    if policy.between_values and not policy.by_distance:
        with suppress(PolicyError):  # the graph has circles
            counts = edge_counts(policy, names)
            makers["edge counts"] = lambda: counts
    return makers


def _sized(
    name: str,
    strategy: Operator,
    moves: Moves,
    workload: Operator,
    *,
    epsilon: Fraction,
    public: Totals | None,
    most: int = MOST_PAIRS,
    shifts_of: ShiftsOf | None = None,
) -> Choice:
    moved = partial(strategy_shifts, moves=moves, most=most)
    shifts = (shifts_of or moved)(strategy)
    upper, lower = rates_over(shifts, epsilon)
    spread = TwoSidedGeometric(upper, lower).variance()
    error = 0.0
    if not (isinstance(upper, Infinite) and isinstance(lower, Infinite)):
        probes = _PROBED if strategy.solvable or moves.cells <= _SMALL else _probes(moves.cells)
        probe = workload if isinstance(workload, Margins) else thinned(workload, probes)
        error = math.sqrt(float(np.mean(held_factors(strategy, probe, public))) * spread)
    return Choice(
        name=name,
        strategy=strategy,
        workload=workload,
        moves=moves,
        shifts=shifts,
        upper_rate=upper,
        lower_rate=lower,
        error=error,
        public=public,
    )
