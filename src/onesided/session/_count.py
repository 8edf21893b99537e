"""How many units are in each group?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np

from onesided._numbers import INFINITE, Infinite, Number, exact, positive
from onesided.errors import ParameterError, UnprotectableError
from onesided.mechanism import (
    Counts,
    CubeEstimates,
    Cumulative,
    GaussianCounts,
    GaussianSums,
    StairSums,
    Sums,
    TruncatedCounts,
)
from onesided.mechanism.kit import CONFIDENCE, Correction
from onesided.noise import IntArray, Noise
from onesided.policy import Cells, Edge, GroupCount, Shift, bounded
from onesided.session._confidence import Confidence
from onesided.session._context import QueryContext
from onesided.session._gaussian import BEST, WHY, Law, by_law, with_law
from onesided.session._groups import Grouped, Groups, names_of
from onesided.session._plan import Plan, PlanOption
from onesided.session._question import Answer, FormLine, PreparedQuery
from onesided.session._release import Release, of_groups, sides
from onesided.session._statement import Nouns
from onesided.session._ways import MOST_CELLS, Floats, Way, drawn_at_once, moves_of, why_at_once
from onesided.session.workloads._linear import LinearQuery

_OF_TREES: Final = ("by", "keys", "epsilon", "where", "unknown")


@dataclass(frozen=True, slots=True, kw_only=True)
class Count(Grouped):
    """How many units (rows, if the session's unit is the row) are in each group?

    confidence: how often an interval holds, for each group on its own; with simultaneous=True, for
        all groups at once. What it may miss is split over the sides that are not certain.
    correction: "median" or "mean" takes the noise's centre out of the estimate; "none" leaves it.
    others: True adds one group for all keys that are not listed; its own key is null. Rows with a
        null in a key column are in no group.
    law: which noise, where the account adds divergences. "pure" keeps a pure ε. "gaussian" keeps
        none and is the exact discrete Gaussian, at which an untouched account holds as many such
        answers; by default it is taken where its error is less and no side would be certain.
    weight: a column of weights, such as those of a survey: each unit counts for its own instead of
        for 1, and the answer is a sum. It is rounded to steps of ``weight_step`` (1) and *clipped
        to* ``weight_bounds``, (lowest, highest), both public; a unit of several rows has their
        mean weight, and rows without one are left out. Needs no ``correction``.
    The other arguments are those of :class:`onesided.session.Grouped`.

    >>> import polars as pl, onesided as od
    >>> visits = pl.DataFrame({"person": [1, 1, 2, 3], "place": ["a", "b", "b", "b"]})
    >>> policy = od.policy.presence(max_groups=2)
    >>> session = od.Session(visits, unit="person", policy=policy, budget=1000)
    >>> release = session.count(by="place", keys=["a", "b"], epsilon=90)
    >>> release.interval.upper.tolist()
    [1, 3]
    """

    confidence: Number = CONFIDENCE
    simultaneous: bool = False
    correction: Correction = "median"
    others: bool = False
    law: Law = BEST
    weight: str | None = None
    weight_bounds: Sequence[Number] | None = None
    weight_step: Number | None = None

    form: ClassVar = (FormLine("count", "How many units there are"),)
    later: ClassVar = ("law", "weight", "weight_bounds", "weight_step")

    def measure(self, nouns: Nouns) -> str:
        """What the numbers are."""
        weighted = "" if self.weight is None else f", weighted by {nouns.column(self.weight)}"
        return f"{Grouped.measure(self, nouns)}{weighted}"

    def weights(self) -> Any:
        """The sum of weights that it asks for, as a question. Errors: ParameterError."""
        from onesided.session.values._sum import Sum  # noqa: PLC0415 - made of what is here

        usual = self.correction == "median"
        if self.weight is None or self.weight_bounds is None or not usual:
            raise ParameterError(
                f"weight={self.weight!r}, weight_bounds={self.weight_bounds!r} and "
                f"correction={self.correction!r} do not go together.",
                hint="Give weight= and weight_bounds=(lowest, highest), from public knowledge; "
                "what a correction takes out of counts, sums have taken out.",
            )
        names = ("confidence", "simultaneous", "others", "law")
        kept = self.shared(**{name: getattr(self, name) for name in names})
        asked = Sum(
            self.weight, bounds=self.weight_bounds, step=self.weight_step, missing="drop", **kept
        )
        if asked.ends[0] < 0:
            raise ParameterError(
                f"weight_bounds={self.weight_bounds!r}: a weight is never negative.",
                hint="Begin them at 0; a sum of other numbers is session.sum.",
            )
        return asked

    def prepare(self, context: QueryContext) -> PreparedQuery[IntArray, Release]:
        """Check and price the question. Looks at no row."""
        if (self.weight, self.weight_bounds, self.weight_step) != (None, None, None):
            return self.weights().of_weights(context)  # type: ignore[no-any-return]
        groups = self.groups(context).with_others(self.others, context.policy).by_cells(context)
        groups = replace(groups, query=replace(groups.query, several_units=True))
        alone = groups.for_policy(
            Counts, context, epsilon=self.epsilon, correction=self.correction, clip=True
        )
        least = self._least(context, groups, alone)
        sure = Confidence(self.confidence, self.simultaneous)
        share = sure.of_each(groups.told.size)

        def plan_of(made: Counts | CubeEstimates | GaussianCounts) -> Plan:
            others = partial(self._others, context, groups)
            return groups.plan(
                context, made, alternatives=others, **facts_of(made, self.correction)
            )

        alike = context.policy.view is None  # under a view several units may move in one count
        one = GaussianCounts(1, alike=alike, clip=least.clip)
        plan = with_law(self.law, plan_of(least), one, plan_of, context)
        mechanism = plan.mechanism
        if mechanism is least is not alone:
            about = f"{plan.guarantee.about} {drawn_at_once(groups.told.size)}"
            plan = replace(plan, guarantee=replace(plan.guarantee, about=about))
        else:
            plan = replace(plan, query=groups.query, by=groups.by)

        def draw(counts: IntArray, noise: Noise | None) -> Answer:
            return {"noisy": mechanism.noisy(counts, noise=noise)}

        def tell(answer: Answer) -> dict[str, Any]:
            noisy = np.asarray(answer["noisy"], dtype=np.int64)
            bounds = mechanism.interval(noisy, confidence=share)
            told = {"estimate": mechanism.estimate(noisy), **sides(bounds)}
            return {
                "kind": "CountRelease",
                "told": of_groups(groups.told, told),
                "bound_words": sure.words,
                "own": {"noisy": noisy, "mechanism": mechanism, **sure.facts},
            }

        return groups.prepared(context, plan, draw=draw, tell=tell)

    @property
    def sized(self) -> str | None:
        """What a look may find how large it is."""
        return "groups" if self.by and self.weight is None else None

    def ways(self, context: QueryContext) -> Iterator[Way]:
        """These counts, trees of them, and the same of units cut to fewer groups; for plans."""
        yield from by_law(Way("Counts", self, closed=True, certain=True), "GaussianCounts", context)
        if self.weight is not None:
            return
        by, most = names_of(self.by, name="by"), self.max_groups or 1
        plain = self.counted is None and not self.others and most == 1
        size = context.keys(self.keys, by).size if by else 0
        if plain and 1 < size <= MOST_CELLS:
            asked = {name: getattr(self, name) for name in _OF_TREES}
            for name in ("hierarchy 2", "hierarchy 16", "wavelet"):
                trees = LinearQuery(np.eye(size, dtype=np.int64), strategy=name, **asked)
                note = "totals of runs of groups, which the counts are made to agree with"
                yield Way(f"Linear, {name}", trees, note, closed=True)
        for fewer in sorted({1, most // 2} - {0, most}) if most > 1 and not self.others else ():
            cut = replace(self, max_groups=fewer, on_excess="truncate")
            note = "less noise; units in more groups are truncated"
            yield Way(f"Counts, max_groups={fewer}", cut, note)

    def truth(self, public: QueryContext) -> Floats:
        """The numbers that are asked for, of a public table."""
        step = 1 if self.weight_step is None else float(exact(self.weight_step, name="weight_step"))
        return Grouped.truth(self, public) * step

    def _least(
        self, context: QueryContext, groups: Groups, alone: Counts
    ) -> Counts | CubeEstimates:
        """Independent noise, or noise on all counts at once where its mean is smaller."""
        moves = moves_of(groups, context, self.epsilon)
        return CubeEstimates.in_place_of(alone, moves, keys=groups.told.size) or alone

    def _others(self, context: QueryContext, groups: Groups) -> tuple[PlanOption, ...]:
        """The same counts if everybody's every fact were hidden, and otherwise corrected."""
        most = groups.query.max_groups or context.policy.covers
        ways = self._corrections(context, groups)
        even = all(edge.weight == 1 for edge in context.policy.edges)
        if context.policy.name == "bounded" or not even or most is None:
            return ways
        query = GroupCount(max_groups=most, cells=Cells(size=groups.told.size))
        two_sided = Counts.for_policy(bounded(), epsilon=self.epsilon, query=query)
        return (
            PlanOption(
                name="Counts under bounded differential privacy",
                error=deviation(two_sided),
                note="hides everything about everybody",
            ),
            *ways,
        )

    def _corrections(self, context: QueryContext, groups: Groups) -> tuple[PlanOption, ...]:
        """The same noise with another part of it taken out, where that makes a difference."""
        alone = groups.for_policy(Counts, context, epsilon=self.epsilon)
        mechanism = self._least(context, groups, alone)
        certain = certain_sides(mechanism)
        if not residual_bias(mechanism, "none"):
            return ()
        ways = [(mechanism, name, _NOTES[name]) for name in _NOTES if name != self.correction]
        if mechanism is not alone:
            ways.append((alone, self.correction, "noise for each count on its own, at ε shared"))
        return tuple(
            PlanOption(
                name=f'{type(made).__name__}, correction="{name}"',
                error=math.hypot(deviation(made), residual_bias(made, name)),
                certain=certain,
                note=note,
            )
            for made, name, note in ways
        )


_NOTES: Final[Mapping[Correction, str]] = {
    "mean": "unbiased: the least mean square error, before anything is kept at 0",
    "median": "the least mean absolute error",
    "none": "never below the truth, or never above, as the noise lies",
}


Added: TypeAlias = Counts | CubeEstimates | GaussianSums | Sums | StairSums | Cumulative


def deviation(mechanism: Added) -> float:
    """The standard deviation of the mechanism's noise."""
    return float(mechanism.distribution.variance() ** 0.5)


def residual_bias(mechanism: Added, correction: Correction = "median") -> float:
    """What the correction leaves of the noise's mean in the estimates."""
    noise = mechanism.distribution
    taken = {"none": 0.0, "mean": float(noise.mean()), "median": float(noise.median())}
    much = float(noise.mean()) - taken[correction]
    return -much if isinstance(mechanism, StairSums) and mechanism.below else much


def reason(mechanism: Added) -> str:
    """Why the noise is on the sides it is on."""
    if isinstance(mechanism, GaussianSums):
        return WHY
    certain = certain_sides(mechanism)
    if isinstance(mechanism, CubeEstimates):
        return why_at_once()
    if len(certain) == 2:
        return "no move of the policy can change the answer, so the exact answer is released"
    if certain == ("upper",):
        return "the policy only lets answers fall, so noise above hides every move"
    if certain == ("lower",):
        return "the policy only lets answers rise, so noise below hides every move"
    return "the policy lets answers rise and fall, so both sides need noise"


def certain_sides(mechanism: Added) -> tuple[str, ...]:
    """The sides on which the answer will never be wrong."""
    sides = {"upper": mechanism.lower_rate, "lower": mechanism.upper_rate}
    return tuple(side for side, rate in sides.items() if rate == INFINITE)


def facts_of(
    mechanism: Added, correction: Correction = "median", *, step: float = 1.0
) -> dict[str, Any]:
    """What a plan says of estimates with such noise, in steps of this size."""
    return {
        "certain": certain_sides(mechanism),
        "standard_deviation": step * deviation(mechanism),
        "bias": step * residual_bias(mechanism, correction),
        "why": reason(mechanism),
    }


# How many units are in each group, certain on both sides, at the price of a small δ?


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

        def tell(answer: Answer) -> dict[str, Any]:
            noisy = np.asarray(answer["noisy"], dtype=np.int64)
            interval = mechanism.interval(noisy)
            estimate = np.clip(np.rint(noisy - mean), interval.lower, interval.upper)
            return {
                "told": of_groups(groups.keys, {"estimate": estimate, **sides(interval)}),
                "bound_words": Confidence(1, simultaneous=False).words,
                "own": {"mechanism": mechanism},
            }

        return groups.prepared(context, plan, draw=draw, tell=tell)


def with_delta(
    pure: Plan, mechanism: Any, shifts: Mapping[Edge, Iterable[Shift]], *, most: Fraction
) -> Plan:
    """The plan with each edge's δ, rounded up, but not beyond what was asked for.

    >>> import polars as pl, onesided as od
    >>> session = od.Session(pl.DataFrame({"v": [1]}), policy=od.policy.removal_only(), budget=9)
    >>> moves = {edge: [Shift(rise=0, fall=1)] for edge in od.policy.removal_only().edges}
    >>> made, plan = TruncatedCounts(1, width=8), session.plan(od.Count(epsilon=1))
    >>> [str(one) for one in with_delta(plan, made, moves, most=1).guarantee.delta.values()]
    ['2121/10000000']
    """
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
