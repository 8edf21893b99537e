"""Quantiles over public candidates: near in rank, or with counts of who is at or below each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Final, Literal, get_args

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from onesided._numbers import Number, exact, probability, text
from onesided.engine import PublicKeys
from onesided.errors import ParameterError
from onesided.fields import one_of
from onesided.mechanism import Cumulative, Interval, isotonic
from onesided.mechanism.kit import CONFIDENCE
from onesided.noise import IntArray
from onesided.session._confidence import Confidence
from onesided.session._context import QueryContext, Taken
from onesided.session._count import certain_sides, reason
from onesided.session._groups import Grouped, Groups
from onesided.session._question import Answer, FormLine, PreparedQuery, all_of
from onesided.session._release import Release, of_groups
from onesided.session._statement import Nouns
from onesided.session._ways import MOST_CELLS, Way, estimates
from onesided.session.histograms._binned import MOST_BINS, BinEdges, Binned, edges_of, with_bins
from onesided.session.values._moments import asserted
from onesided.session.values._noisy_max import (
    FINEST,
    Candidates,
    Shares,
    candidates_of,
    counted_as,
    inner,
    plan_of,
    ranked,
)
from onesided.session.values._value import (
    Missing,
    Of,
    most_rows,
    refuse_own_groups,
    require_numbers,
    settle_grid,
    words_of,
)
from onesided.session.workloads._ranges import RangeQuery

QuantileMethod = Literal["noisy_max", "cumulative"]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cumulated:
    """Who is at or below each candidate, and the quantiles that follow, of a release.

    q: the share asked for; :meth:`at` gives any other, free of charge.
    estimates: how many units are at or below each candidate, and in all; a row per group. They
        rise: they are the nearest rising row to ``unbiased``, what the runs add up to.
    below, above: bounds on how many are at or below, and above, each candidate (the last column:
        in all, and 0). A group's hold all at once with ``confidence``; certain sides are never
        wrong about the rows that the answer says it is about.
    one_each: whether nobody has more than one value, so that those are numbers of units.
    truncated: whether units were cut to some of their values.

    >>> import polars as pl, onesided as od
    >>> ages = pl.DataFrame({"person": [1, 2], "age": [20, 30]})
    >>> session = od.Session(ages, unit="person", policy=od.policy.removal_only(), budget=1)
    >>> told = session.maximum("age", candidates=[20, 30], epsilon=1)
    >>> sorted(told.at("1/2"))
    ['estimate', 'lower', 'upper']
    """

    candidates: tuple[Fraction, ...]
    q: Fraction
    estimates: Floats
    unbiased: Floats
    below: Interval
    above: Interval
    confidence: Number
    one_each: bool
    truncated: bool = False

    @property
    def own(self) -> dict[str, Any]:
        """What a release says of itself by these names."""
        told = {one.name: getattr(self, one.name) for one in fields(self)}
        return {**told, "at": self.at, "certified_share": self.certified_share}

    def at(self, q: Number) -> dict[str, list[float]]:
        """Per group, the smallest candidate with at least a share ``q`` at or below it.

        q=0 gives the smallest value's candidate, q=1 the largest's. ``lower`` and ``upper``
        enclose the true quantile with ``confidence``: a value lies above the candidate before its
        own. They are -inf below all candidates, inf above.
        """
        share = _share(q)
        ends = np.array([-np.inf, *(float(one) for one in self.candidates), np.inf])
        rough = _first(self.estimates, np.maximum(_part(share, self.estimates[:, -1:]), 0.5))
        least = np.maximum(_part(share, self.below.lower[:, -1:]), 1)
        most = np.maximum(_part(share, self.below.upper[:, -1:]), 1)
        lower, upper = _first(self.below.upper, least), _first(self.below.lower, most)
        # Beyond the last value all counts are alike but for noise; the interval knows better.
        inside = np.clip(rough, np.minimum(lower, upper), upper)
        return {
            "estimate": ends[1 + np.minimum(inside, len(self.candidates) - 1)].tolist(),
            "lower": ends[lower].tolist(),
            "upper": ends[1 + upper].tolist(),
        }

    def certified_share(self, candidate: Number, *, of: int) -> Floats:
        """Per group, the share of ``of`` units that certainly has no value above ``candidate``.

        of: how many units the group has, of those with a value and within ``where``; it must be
        public knowledge.
        Errors: ParameterError if no side is certain, or for a value that is no candidate.
        """
        wanted = exact(candidate, name="candidate")
        if wanted not in self.candidates:
            raise ParameterError(
                f"{text(wanted)} is not one of the candidates.",
                hint="Ask about one of those that were given.",
                value=wanted,
            )
        place = self.candidates.index(wanted)
        if self.truncated:
            raise ParameterError(
                "Nothing is certain here: units were cut to some of their values, and what was "
                "cut may be above.",
                hint='Use on_excess="keep" or "error"; below and above bound the data as cut.',
            )
        if self.above.upper_certain:
            share = (of - self.above.upper[:, place]) / of
        elif self.below.lower_certain and self.one_each:
            share = self.below.lower[:, place] / of
        else:
            raise ParameterError(
                "Nothing is certain here: this policy needs noise on both sides."
                if self.one_each
                else "Nothing is certain here: a unit may have values on both sides.",
                hint=f"Use below and above, which hold at confidence {self.confidence}.",
            )
        # Towards 0: a rounded share must not claim one unit too many.
        return np.nextafter(np.clip(share, 0, 1), 0) * (share > 0)


# A share between 0 and 1, ends included; or a ParameterError.
_share: Final = partial(probability, name="q", hint="1/2 is the median.")
_NAMED: Final = {"0": "Minimum", "1/2": "Median", "1": "Maximum"}


@dataclass(frozen=True, slots=True)
class Quantile(Grouped):
    """Near which public candidate does the quantile ``q`` of units' own means, or of rows, lie?

    column: a column of numbers.
    of: "units" counts a unit once in a group, with the mean of its rows there, rounded down to a
        step. "rows" counts rows, of which a unit has ``max_rows`` in a group at most, by a hash
        as :class:`Mean` picks them; noise grows with ``max_rows``.
    q: 1/2 is the median, 0 the smallest and 1 the largest value. Several in a list come
        out rising and share ε: evenly, or from ten on by halves, at the cost of its levels. Rounded
        to a fraction of at most a million parts.
    bounds, step: the candidates are all steps between the bounds, up to 2^40 of them.
    candidates: or at least one number, in rising order, from public knowledge, up to 131,072; a
        value counts as the next candidate from it upwards.
    interpolate: between the values on either side of the quantile, True takes the step on the line
        between them at the rank ``q (n - 1)``, as SQL's PERCENTILE_CONT, False the lower one, as
        PERCENTILE_DISC; None takes any step from one to the other.
    interval: True adds bounds in the column's own unit, at ``confidence``: ε is shared by the
        estimate, a candidate below the quantile and one above it. They are about values as
        rounded and clipped, or taken up to the next candidate. Not with interpolate=.
    method: "noisy_max" is near in rank; no bound is certain. "cumulative" counts who is at or
        below each of the candidates, up to 1,024, with certain sides where the policy has them;
        a unit there counts with each of its rows, or, where a policy moves whole records, for 0
        and 1 with its smallest or largest, so that they are the table's own. By default 0 and 1
        are answered so, and all others by "noisy_max".
    missing: rows without a value (null or NaN) are refused, or left out with ``"drop"``.
    confidence: of the error in ranks; of "cumulative", with which a group's bounds hold all at
        once, where they are not certain; with simultaneous=True, those of all groups.
    The other arguments are those of :class:`onesided.session.Grouped`.

    >>> import polars as pl, onesided as od
    >>> people = pl.DataFrame({"person": [1, 2, 3], "age": [7, 12, 40]})
    >>> session = od.Session(people, unit="person", policy=od.policy.addition_only(), budget=1000)
    >>> session.median("age", candidates=[7, 12, 40], epsilon=100).value
    12.0
    >>> session.median("age", candidates=[10, 20, 50], epsilon=100).value
    20.0
    """

    column: str
    q: Number | Sequence[Number] = Fraction(1, 2)
    candidates: Sequence[Number] | None = field(default=None, kw_only=True)
    bounds: Sequence[Number] | None = field(default=None, kw_only=True)
    step: Number | None = field(default=None, kw_only=True)
    of: Of = field(default="units", kw_only=True)
    max_rows: int | None = field(default=None, kw_only=True)
    interpolate: bool | None = field(default=None, kw_only=True)
    method: QuantileMethod | None = field(default=None, kw_only=True)
    missing: Missing = field(default="refuse", kw_only=True)
    confidence: Number = field(default=CONFIDENCE, kw_only=True)
    simultaneous: bool = field(default=False, kw_only=True)
    interval: bool = field(default=False, kw_only=True)

    only_rises: ClassVar = False  # a share may fall
    work: ClassVar = 3  # as many counts may take
    groups_at_once: ClassVar = 2_000  # each is drawn on its own
    form: ClassVar = (
        FormLine("median", "The median of a column"),
        FormLine("minimum", "The smallest value of a column", given={"q": 0}),
        FormLine("maximum", "The largest value of a column", given={"q": 1}),
    )
    sql: ClassVar = {
        "MEDIAN": {"q": Fraction(1, 2), "of": "rows", "interpolate": True},
        "MEDIAN_PER_UNIT": {"q": Fraction(1, 2)},
        "QUANTILE": {"of": "rows", "interpolate": False},
        "QUANTILE_PER_UNIT": {},
        "PERCENTILE_CONT": {"of": "rows", "interpolate": True},
        "PERCENTILE_DISC": {"of": "rows", "interpolate": False},
        "MIN": {"q": 0},
        "MAX": {"q": 1},
    }
    later: ClassVar = ("of", "max_rows", "interpolate", "interval")  # than JSON of version 1

    def __post_init__(self) -> None:
        """A float names a place on the grid at its decimal value: 0.1 is a tenth."""
        settle_grid(self, "candidates", "bounds", "step")

    @property
    def formerly(self) -> Quantile | None:
        """What the same words meant in 0.2, where they mean something else today."""
        if self.of == "units" and self.interpolate is None:
            return None
        return replace(self, of="units", max_rows=None, interpolate=None)

    @property
    def numbers(self) -> Mapping[str, str]:
        """The column, and what becomes of rows that are missing a value."""
        return {self.column: self.missing}

    def measure(self, nouns: Nouns) -> str:
        """What the numbers are."""
        named = ", ".join(text(q.limit_denominator(FINEST)) for q in self.shares)
        over = "rows" if self.of == "rows" else nouns.units
        what = _NAMED.get(named) or f"Quantile{'s' * (len(self.shares) > 1)} {named}"
        return f"{what} of {nouns.column(self.column)}, over {over}"

    def scale(self, unit: str) -> str:
        """What the numbers are measured in, of a column in this unit."""
        return unit

    def prepare(self, context: QueryContext) -> PreparedQuery[Any, Any]:
        """Check and price the question. Looks at no row."""
        shares = self.shares
        if self.chosen_method == "cumulative":
            if self.interval:
                raise ParameterError(
                    "Cumulative counts have bounds already.", hint="Leave interval= out."
                )
            if (self.of, self.max_rows, self.interpolate) != ("units", None, None):
                raise ParameterError(
                    "The smallest and the largest value, and cumulative counts, are of all rows.",
                    hint="Leave of=, max_rows= and interpolate= out.",
                )
            return self._cumulative(context, shares)
        return self._noisy_max(context, inner(shares))

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """The shares asked for, one or several, exact. Errors: ParameterError."""
        if not isinstance(self.q, list | tuple | np.ndarray):
            return (_share(self.q),)
        if not len(self.q):
            raise ParameterError("Which quantile? q is empty.", hint="1/2 is the median.")
        return tuple(map(_share, self.q))

    @property
    def chosen_method(self) -> QuantileMethod:
        """The method, or the one that q has by default. Errors: ParameterError."""
        if self.method is None:
            shares = self.shares
            return "cumulative" if len(shares) == 1 and shares[0] in (0, 1) else "noisy_max"
        return one_of(self.method, name="method", words=get_args(QuantileMethod))  # type: ignore[no-any-return]

    def values(self, context: QueryContext) -> Candidates:
        """The column, its grid and the candidates for the noisy maximum, checked."""
        refuse_own_groups(self)
        return candidates_of(context, self)

    def ways(self, context: QueryContext) -> Iterator[Way]:
        """Near in rank, by counting, and by ranges from the lowest candidate; for plans."""
        own = "cumulative" if self.chosen_method == "cumulative" else "noisy maximum"
        near = Way(
            "noisy maximum",
            replace(self, method="noisy_max"),
            "the candidate that is nearest in rank, with noise on the ranks",
            told=lambda release: release.estimates.T.reshape(-1),
        )
        ways = [*([] if {0, 1} & set(self.shares) else [near]), *self._by_counting(context)]
        for way in sorted(ways, key=lambda one: own not in one.name):
            mine = own in way.name
            yield replace(way, question=self, note="", certain=True) if mine else way

    def truth(self, public: QueryContext) -> Floats:
        """Per share and group, the first candidate with so much at or below it."""
        ranks = replace(self, method="noisy_max")
        found, secret, places = ranks.values(public), ranks.prepare(public).read(), []
        for share in self.shares:
            for held, counts in secret:
                upto = np.cumsum(counts)
                most = int(upto[-1]) if upto.size else 0
                place = int(np.searchsorted(upto, max(math.ceil(share * most), 1)))
                places.append(int(held[place]) if most else 0)
        return found.numbers(np.array(places, dtype=np.int64))

    def _by_counting(self, context: QueryContext) -> Iterator[Way]:
        found = replace(self, method="noisy_max").values(context)
        if found.number > MOST_CELLS:
            return
        step, shares = found.value.step, self.shares
        points = [int(one) * step for one in found.steps(np.arange(found.number)).tolist()]
        grid: dict[str, Any] = {"candidates": points, "bounds": None, "step": None}
        yield Way(
            'method="cumulative"',
            replace(self, q=shares[0], method="cumulative", **grid),
            "counts of who is at or below each candidate; every share at once",
            told=lambda release: np.array([x for q in shares for x in release.at(q)["estimate"]]),
        )
        if self.by or context.unit is not None:
            return
        numbers = np.array([float(point) for point in points])

        def reached(release: Any) -> Floats:
            """Per share, the first candidate with so much at or below it, of rising counts."""
            rising = np.maximum.accumulate(estimates(release))
            wanted = np.array([float(q) for q in shares]) * rising[-1]
            places = np.minimum(np.searchsorted(rising, wanted), numbers.size - 1)
            return np.asarray(numbers[places], dtype=np.float64)

        asked = RangeQuery(
            self.column,
            "prefixes",
            bins=[points[0] - step / 2, *(point + step / 2 for point in points)],
            epsilon=self.epsilon,
            missing=self.missing,
            where=self.where,
            unknown=self.unknown,
        )
        note = "the strategy of least error for counts up to each candidate"
        yield Way("ranges from the lowest candidate", asked, note, told=reached)

    def _noisy_max(
        self, context: QueryContext, shares: tuple[Fraction, ...]
    ) -> PreparedQuery[Any, Release]:
        found, most = self.values(context), most_rows(context, self)
        groups = replace(self.groups(context), words=words_of(context, found, most))
        if self.interval and self.interpolate is not None:
            raise ParameterError(
                "interval= has no meaning beside interpolate=.",
                hint="Leave interpolate= out: the bounds hold for either.",
            )
        sure = Confidence(self.confidence, self.simultaneous)
        sure_of_each = sure.of_each(groups.keys.size * len(shares))
        plan = plan_of(context, groups, found, shares, self, confidence=sure_of_each, most=most)
        ranks = plan.mechanism.rank_errors(sure_of_each)

        given = {"keys": groups.keys, "q": tuple(shares), "confidence": self.confidence}

        def tell(answer: Answer) -> dict[str, Any]:
            made = Shares.from_answer(
                answer, found, enclosed=self.interval, rank_error=ranks, **given
            )
            return {**made.told, "bound_words": sure.words if self.interval else ""}

        detail = {**groups.detail, **found.value.detail, "q": list(map(text, shares))}
        return groups.prepared(
            context,
            plan,
            draw=plan.mechanism.release,
            tell=tell,
            detail=detail if most is None else {**detail, "max_rows": most},
            columns=groups.columns(context, *found.value.columns),
            look=lambda taken: ranked(taken, groups, found, most),
            asserts=asserted(groups, found.value),
        )

    def _cumulative(
        self, context: QueryContext, shares: tuple[Fraction, ...]
    ) -> PreparedQuery[IntArray, Release]:
        if len(shares) > 1:
            raise ParameterError(
                "Cumulative counts answer every share at once.",
                hint="Ask for one q; release.at(q) gives any other, free of charge.",
            )
        binned, share = self.binned(context), shares[0]
        points = binned.bins[self.column].edges
        groups, row, said = self._runs(context, binned)
        names = groups.by[:-1]
        mechanism = groups.for_policy(
            Cumulative, context, bins=len(points) + 1, epsilon=self.epsilon
        )
        plan = groups.plan(
            context,
            mechanism,
            certain=certain_sides(mechanism),
            standard_deviation=mechanism.mean_variance**0.5,
            why=f"{mechanism.levels} sizes of runs; {reason(mechanism)}",
        )
        plan = replace(plan, guarantee=replace(plan.guarantee, scope=""))
        rows = groups.keys.rows[:: len(points) + 1]
        keys = PublicKeys.of(names, tuple(row[:-1] for row in rows))
        sure = Confidence(self.confidence, self.simultaneous)
        each = sure.of_each(keys.size)

        def tell(answer: Answer) -> dict[str, Any]:
            made = Cumulated(
                candidates=points,
                q=share,
                **_cumulated(mechanism, answer["runs"], each),
                confidence=self.confidence,
                one_each=groups.query.max_groups == 1,
                truncated=groups.query.truncated or row == "smallest",
            )
            return {
                "kind": "QuantileRelease",
                "told": of_groups(keys, {name: np.array(v) for name, v in made.at(share).items()}),
                "bound_words": sure.words,
                "own": made.own,
                "cut": f"{said} {groups.cut(())}".strip(),
            }

        return groups.prepared(
            binned.context,
            plan,
            draw=lambda counts, noise: {"runs": mechanism.release(counts, noise=noise)},
            tell=tell,
            detail={**groups.detail, **binned.detail},
            columns=binned.columns(groups),
            look=partial(_farthest, groups=groups, row=row) if row else groups.counts,
            asserts=all_of(binned.asserts, groups.asserts),
        )

    def _runs(self, context: QueryContext, binned: Binned) -> tuple[Groups, str, str]:
        """The groups and runs between candidates, which row of a unit counts, and what is said."""
        groups, points = binned.question.groups(binned.context), binned.bins[self.column].edges
        # The counts rise with rows, and are certain; what is told of them is neither. A row without
        # a value is in no run between candidates, which are no groups to who asks.
        left, own = groups.left_out, (self.column,)
        others = tuple(name for name in left.keys if name not in own)
        values = own if others != left.keys else ()
        left = replace(left, keys=others, values=values, rises=self.only_rises)
        row = self._one_row(context)  # of a unit in a group, whose run is no bin of its own
        groups = replace(groups, left_out=left, noun="group" if row else groups.noun)
        size, higher = len(points), "as above all"
        said = counted_as(self.column, points, size, higher=higher, step=None)
        if row:
            said = f"{said} Each {context.each} counts once, with their {row} row."
        if row and not groups.by[:-1]:
            alone = replace(groups.query, max_groups=1, truncated=False)
            groups = replace(groups, query=alone, excess="single")
        return groups, row, said

    def _one_row(self, context: QueryContext) -> str:
        """Which row of a unit counts; "" where all do.

        A policy of kinds lets any record pass as any other, so that whatever is made of a unit's
        rows moves as one value does. Where some of its rows may go, one may rise as another falls.
        """
        policy = context.policy
        whole = all(part.of_kinds for part in policy.parts) and policy.view is None
        cut = self.on_excess in (None, "truncate") and "keep" not in policy.excess_modes
        if context.row_each or not (whole and cut) or self.chosen_method != "cumulative":
            return ""
        return {Fraction(0): "smallest", Fraction(1): "largest"}.get(self.shares[0], "")

    def meaning(self, context: QueryContext) -> dict[str, object]:
        """What tells it from the same words of before: which row of a unit counts."""
        row = self._one_row(context)
        return {"row": row} if row else {}

    @property
    def changed(self) -> str:
        """What an answer to the same words of before is told beside; "" where nothing changed."""
        ends = len(self.shares) == 1 and self.shares[0] in (0, 1)
        said = "Of a unit's rows its smallest or largest counts now; before, it was one by a hash."
        return said if ends else ""

    def binned(self, context: QueryContext) -> Binned:
        """The question over groups alone, with the runs between candidates among them."""
        context.table.require(self.column)
        require_numbers(self.column, context.schema)
        if self.candidates is None or self.bounds is not None or self.step is not None:
            raise ParameterError(
                f"Cumulative counts of {self.column!r} need candidates=, numbers in rising order.",
                hint='Give candidates= alone, from public knowledge, or method="noisy_max" for '
                "bounds= and step=; or declare bounds and a step in a schema, of at most "
                f"{MOST_BINS:,} values.",
                column=self.column,
            )
        points = edges_of(self.candidates, name="candidates")
        if not points:
            raise ParameterError("There are no candidates.", hint="Give at least one number.")
        bins = {self.column: BinEdges(points, open_ends=True)}
        return with_bins(context, self, bins, missing=self.missing)


def _farthest(taken: Taken, groups: Groups, row: str) -> IntArray:
    """The counts of units by the run of their smallest or largest row in each group. Secret."""
    taken, groups = groups.inside(taken)
    rows, run = groups.rows(taken), nw.col(groups.by[-1])
    kept = [str(taken.unit), *groups.by[:-1]]
    rows = rows.filter(run >= 0).group_by(*kept).agg(run.max() if row == "largest" else run.min())
    cut = groups.query.max_groups if groups.excess == "truncate" else None
    return taken.table.counts(rows, groups.keys, unit=taken.unit, most=cut)


def _part(share: Fraction, numbers: NDArray[Any]) -> Floats:
    """``share`` of each number, rounded once: in floats 7/25 of 25 is more than 7."""
    return np.array([[float(share * Fraction(n)) for n in row] for row in numbers.tolist()])


def _cumulated(mechanism: Cumulative, runs: IntArray, confidence: Number) -> dict[str, Any]:
    """Estimates, the same rising, and bounds of who is at or below, and above, each candidate."""
    runs = np.asarray(runs, dtype=np.int64)
    found, used = mechanism.up_to(runs)
    rest, others = mechanism.beyond(runs)
    below = mechanism.interval(found, used, confidence=confidence)
    above = mechanism.interval(rest, others, confidence=confidence)
    unbiased = found - used * float(mechanism.distribution.mean())
    # A count made of more runs varies more.
    rising = isotonic(unbiased, np.broadcast_to(1 / used, unbiased.shape))
    estimates = np.maximum(rising, 0)
    return {"estimates": estimates, "unbiased": unbiased, "below": below, "above": above}


def _first(cumulated: NDArray[Any], wanted: NDArray[Any]) -> IntArray:
    """Per row, the first candidate that reaches what is wanted; past the last if none does."""
    reached = cumulated[:, :-1] >= wanted
    first: IntArray = np.where(reached.any(axis=1), reached.argmax(axis=1), reached.shape[1])
    return first
