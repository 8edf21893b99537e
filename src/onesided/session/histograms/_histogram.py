"""How many units have values in each bin of one or several columns, per group?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from numbers import Integral
from typing import Any, ClassVar, Final, Literal, get_args

import numpy as np

from onesided._numbers import INFINITE, Loss, Number
from onesided.accounting import steps_note
from onesided.errors import DataError, ParameterError, PolicyError
from onesided.fields import one_of
from onesided.mechanism import Counts, GaussianCounts
from onesided.mechanism.histograms import (
    AGrid,
    Ahp,
    Dawa,
    Hierarchical,
    OpenShape,
    SplitCounts,
    SplitHistogram,
    zeros,
)
from onesided.mechanism.histograms.kit import Parts, histogram_of, pooled, together, z_order
from onesided.mechanism.kit import OneOf, Steps
from onesided.noise import IntArray, Noise, NotPrivateSeededNoise, TwoSidedGeometric
from onesided.policy import GroupCount, Policy
from onesided.session._context import QueryContext, Taken
from onesided.session._count import Count
from onesided.session._fields import Edges
from onesided.session._gaussian import LAWS, by_law
from onesided.session._groups import Grouped, Groups, kinds_of
from onesided.session._plan import Plan, PlanOption, promised
from onesided.session._question import Answer, FormLine, PreparedQuery, all_of
from onesided.session._release import Release
from onesided.session._statement import Nouns
from onesided.session._ways import Floats, Way
from onesided.session.histograms._binned import (
    BinEdges,
    Binned,
    bin_name,
    bins_of,
    ends_of,
    with_bins,
)
from onesided.session.values._value import Missing
from onesided.show import RoleColumn, RoleTable

Method = Literal[
    "counts", "best", "split", "open_shape", "dawa", "ahp", "hierarchical", "agrid",
    "dawaz", "ahpz", "hierarchicalz", "agridz",
]  # fmt: skip
METHODS: Final[tuple[str, ...]] = get_args(Method)
_TWO_PHASE: Final[Mapping[str, Any]] = {
    "dawa": Dawa,
    "ahp": Ahp,
    "hierarchical": Hierarchical,
    "agrid": AGrid,
}
_TWO_PARTS: Final[Mapping[str, Any]] = {"split": SplitHistogram, "open_shape": OpenShape}

Histograms = tuple[IntArray, ...]
_TRIES: Final = 5
_BY_CELLS: Final = ("counts", "best")
_BEST: Final = "estimates are pooled over cells that seem alike; bounds are of counts"
_MOST: Final = 2**17
# What these methods ask of units, except where a policy covers several groups of them.
_ONE_CELL: Final = GroupCount(max_groups=1)


@dataclass(frozen=True, slots=True)
class Histogram(Count):
    """How many units have values in each bin of a column, or of several jointly?

    column: a column of numbers; or a mapping from columns to bins, for a joint histogram.
    bins: how many equal bins between ``bounds``, or the edges in rising order. A bin holds its
        lower edge and not its upper one, but between bounds the last bin holds the highest value;
        values outside all bins are not counted.
        Without bounds those of the session's schema; without bins one for each step of its grid.
    missing: rows without a value (null or NaN) are refused, or left out with ``"drop"``.
    method: "counts" draws noise for each cell on its own and bounds each count. "best" is the
        same, bounds too, but its estimates are pooled over cells that seem alike, by their place or
        by their counts: far less error where many are alike or empty, and biased. The others look
        at the whole histogram, give estimates alone, and need every unit
        in one cell: "dawa", "ahp", "hierarchical", and "agrid" (two columns; ``records`` is a
        public guess of how many there are); "split" and "open_shape" where a policy has open
        records; and "dawaz", "ahpz", "hierarchicalz", "agridz", with zeros where no open record is.
        ``session.plan`` lists those that fit, with their errors.
    like: for plans: a *public* histogram that the answer may resemble, such as last year's release,
        or a pair (sensitive, open). Methods whose error depends on the data are tried on it.
    The other arguments are those of :class:`onesided.session.Count`; with ``by``, one histogram
    per public group.

    >>> import polars as pl, onesided as od
    >>> people = pl.DataFrame({"person": [1, 2, 3], "age": [7, 12, 40]})
    >>> policy = od.policy.addition_only()
    >>> session = od.Session(people, unit="person", policy=policy, budget=1000)
    >>> session.histogram("age", bins=[0, 18, 65], epsilon=90).estimate.tolist()
    [2, 1]
    """

    column: str | Mapping[str, object]
    bins: Edges = field(default=None, kw_only=True)
    bounds: Sequence[Number] | None = field(default=None, kw_only=True)
    missing: Missing = field(default="refuse", kw_only=True)
    method: Method = field(default="counts", kw_only=True)
    records: int | None = field(default=None, kw_only=True)
    like: object = field(default=None, kw_only=True)

    work: ClassVar = 3  # as many counts may take
    form: ClassVar = (FormLine("histogram", "The histogram of a column", number="bins"),)

    def measure(self, nouns: Nouns) -> str:
        """What the numbers are."""
        of = f"bins of {nouns.column(self.column)}"
        if not self.meaning:
            of += " (each without its upper end)"
        else:
            ends = self.bounds if isinstance(self.bounds, Sequence) else ()
            span = f" from {' to '.join(map(str, ends))}" if ends else ""
            of = f"{self.bins} equal {of}{span} (the last with its end)"
        return f"Number of {nouns.units} in {of}"

    @property
    def sized(self) -> None:
        """Nothing: its cells are its groups."""
        return

    def ways(self, context: QueryContext) -> Iterator[Way]:
        """The same histogram by each method; for plans."""
        notes = {"counts": "each cell on its own", "hierarchical": "a tree of totals, for ranges"}
        for method in (self.method, *(name for name in METHODS if name != self.method)):
            note = "" if method == self.method else notes.get(method, "")
            same = method in (*_BY_CELLS, self.method)
            other = replace(self, method=method, like=None)  # type: ignore[arg-type] # of METHODS
            closed = method in ("counts", "hierarchical")
            way = Way(f'method="{method}"', other, note, closed=closed, certain=same)
            own = by_law(way, 'method="counts", law="gaussian"', context)
            yield from own if method == self.method == "counts" else (way,)

    def truth(self, public: QueryContext) -> Floats:
        """The counts of cells, of a public table."""
        return Count.truth(replace(self, method="counts", like=None), public)

    def prepare(self, context: QueryContext) -> PreparedQuery[Any, Any]:
        """Check and price the question. Looks at no row."""
        binned = self.binned(context)
        bins = binned.bins
        if self.method not in METHODS:
            raise ParameterError(
                f"There is no method {self.method!r} for histograms.",
                hint=f"Use one of {', '.join(map(repr, METHODS))}.",
                value=self.method,
            )
        if self.method != "counts" and one_of(self.law, name="law", words=LAWS) == "gaussian":
            raise ParameterError(
                f'law={self.law!r} is for method="counts", not for method={self.method!r}.',
                hint="Leave one of them out.",
            )
        if self.method not in _BY_CELLS:
            groups = binned.question.groups(binned.context)
            return _Whole.built(self, binned, groups).prepared()
        shared = {part.name: getattr(self, part.name) for part in fields(Count)}
        cells = {part.name: getattr(binned.question, part.name) for part in fields(Grouped)}
        if self.method == "best":
            shared["law"] = "pure"  # it pools counts with noise of a pure law
        prepared = Count(**{**shared, **cells}).prepare(binned.context)
        groups = binned.question.groups(binned.context)
        # Errors: DataError for a guess that is no histogram over these bins.
        _guessed(self.like, self.method, tuple(one.number for one in bins.values()))

        def others() -> tuple[PlanOption, ...]:
            drawn = self.method == "counts" and not _unpooled(prepared.plan, groups)
            sure = prepared.plan.certain
            same = PlanOption(name='method="best"', certain=sure, note=_BEST)
            others = _others(binned, groups, self)
            return (*prepared.plan.others, *((same,) if drawn else ()), *others)

        plan = replace(prepared.plan, alternatives=others)
        if self.method == "best":
            if why := _unpooled(plan, groups):
                raise ParameterError(f'method="best" {why}.', hint='Use method="counts".')
            plan = replace(plan, standard_deviation=None, bias=0.0, why=_BEST)

        def result(answer: Answer, entry: int | None) -> Release:
            return _in_bins(prepared.result(answer, entry), bins, self.method)

        return replace(
            prepared,
            detail={**prepared.detail, **binned.detail},
            plan=plan,
            columns=binned.columns(groups),
            result=result,
            asserts=all_of(binned.asserts, prepared.asserts),
        )

    def binned(self, context: QueryContext) -> Binned:
        """The question over groups alone, the bins among them."""
        if self.others:
            raise ParameterError(
                "others=True is for counts and sums, not for histograms.",
                hint="A histogram's bins can reach outwards: give wider ends.",
            )
        if (self.weight, self.weight_bounds, self.weight_step) != (None, None, None):
            raise ParameterError(
                f"weight={self.weight!r} is for counts, not for histograms.",
                hint="Count by a column of the bins.",
            )
        return with_bins(context, self, self._bins(), missing=self.missing)

    @property
    def meaning(self) -> dict[str, object]:
        """What tells it from the same words of before: the last of equal bins holds its end."""
        return {"last bin": "closed"} if isinstance(self.bins, Integral) else {}

    @property
    def changed(self) -> str:
        """What an answer to the same words of before is told beside; "" where nothing changed."""
        said = "The last of equal bins holds the highest value now; answers of before leave it out."
        return said if self.meaning else ""

    def _bins(self) -> dict[str, BinEdges]:
        if isinstance(self.column, Mapping):
            if self.bins is not None or self.bounds is not None:
                raise ParameterError(
                    "column= names the bins of each column already, so bins= and bounds= have no "
                    "meaning.",
                    hint='Write histogram({"age": [0, 18, 65], "visits": [0, 1, 5]}, ...).',
                )
            return {name: bins_of(edges, None) for name, edges in self.column.items()}
        if not isinstance(self.column, str):
            raise ParameterError(
                f"column must be text, got {self.column!r}.",
                hint="Name one column, or give a mapping from columns to bins.",
            )
        return {self.column: bins_of(self.bins, self.bounds)}


def _in_bins(counts: Release, bins: Mapping[str, BinEdges], method: str) -> Release:
    """Counts of cells as a histogram, each bin by its ends: ``_from`` is in it, ``_to`` is not."""
    ends = {bin_name(column): (column, one) for column, one in bins.items()}
    parts: list[RoleColumn] = []
    for one in counts.table.parts:
        column, bin_ends = ends.get(one.name, ("", None))
        if one.role == "estimate" and method == "best":
            one = replace(one, values=_pooled(counts, bins))  # noqa: PLW2901 - the same column
        parts += [one] if bin_ends is None else ends_of(column, bin_ends, one.values)
    own = {**counts.own, "method": method, "bins": bins, "counts": counts}
    said = f"{_BEST[0].upper()}{_BEST[1:]}." if method == "best" else counts.summary
    made = replace(
        counts, kind="HistogramRelease", told=RoleTable(tuple(parts)), own=own, summary=said
    )
    return replace(made, own={**own, "non_negative": np.maximum(made.estimate, 0)})


def _unpooled(plan: Plan, groups: Groups) -> str:
    """Why estimates of these cells cannot be pooled; "" where they can."""
    if not isinstance(plan.mechanism, Counts | GaussianCounts):
        return "needs noise on each cell by itself, and here it is drawn for all cells at once"
    if groups.told.size <= _MOST:
        return ""
    return f"takes at most 2^17 cells, got {groups.told.size}"


def _pooled(counts: Release, bins: Mapping[str, BinEdges]) -> IntArray:
    """Estimates pooled over like cells, none outside its bounds; post-processing."""
    mechanism, bounds = counts.own["mechanism"], counts.interval
    rates = (mechanism.upper_rate, mechanism.lower_rate)
    noisy, plain = counts.own["noisy"], np.maximum(counts.estimate, 0)
    sizes = tuple(one.number for one in bins.values())
    # Neighbours on a map are neighbours along the Z-order curve; else the cells' own order.
    mapped = len(sizes) == 2 and math.prod(sizes) == noisy.size
    order = z_order(sizes) if mapped else np.arange(noisy.size)
    drawn = np.empty_like(plain)
    drawn[order] = pooled(noisy[order], *rates, plain[order])
    told: IntArray = np.clip(drawn, np.ceil(bounds.lower), np.floor(bounds.upper)).astype(np.int64)
    return told


def _others(binned: Binned, groups: Groups, asked: Histogram) -> list[PlanOption]:
    """What else could make this histogram at the same ε; for plans."""
    found = []
    for method in METHODS[len(_BY_CELLS) :]:
        tried = replace(asked, method=method)  # type: ignore[arg-type] # of METHODS
        with suppress(ParameterError, PolicyError):  # this policy has no such histogram
            found.append(_Whole.built(tried, binned, groups).option)
    return found


def _guessed(like: object, method: str, sizes: tuple[int, ...]) -> Histograms | None:
    """The public guess in the parts that the method takes; None if it does not have them."""
    if like is None:
        return None
    paired = isinstance(like, tuple)
    given = [histogram_of(part) for part in (like if isinstance(like, tuple) else (like,))]
    if any(part.shape != sizes for part in given) or len(given) > 2:
        raise DataError(
            f"like= must be one histogram of shape {sizes}, or a pair (sensitive, open) of them.",
            hint="Give whole counts from public knowledge, such as last year's release.",
        )
    if method in _TWO_PHASE:
        return (np.sum(given, axis=0),)
    if not paired:
        return None
    return tuple(given) if method in _TWO_PARTS else (np.sum(given, axis=0), given[1])


_NOTES: Final = {
    "split": "open and sensitive records counted apart",
    "open_shape": "the open records' shape lent to the sensitive ones",
    "dawa": "totals of runs of bins that seem alike",
    "ahp": "totals of sets of bins that seem alike",
    "hierarchical": "a tree of totals, for ranges",
    "agrid": "rectangles as fine as the data allow",
    "dawaz": "dawa, with zeros where no open record is",
    "ahpz": "ahp, with zeros where no open record is",
    "hierarchicalz": "hierarchical, with zeros where no open record is",
    "agridz": "agrid, with zeros where no open record is",
}


@dataclass(frozen=True, slots=True)
class _Whole:
    """One histogram over everybody, by another mechanism than counts.

    kinds: what is counted for it, each by itself: these kinds, or all.
    """

    asked: Histogram
    cells: Binned
    groups: Groups
    mechanism: Any
    kinds: tuple[frozenset[str] | None, ...] = (None,)

    @classmethod
    def built(cls, asked: Histogram, binned: Binned, groups: Groups) -> _Whole:
        """Errors: ParameterError for groups, or a unit in several cells; PolicyError."""
        policy, method = binned.context.policy, asked.method
        _refuse_unfit(groups, binned.bins, method)
        if method in _TWO_PHASE:
            return cls(asked, binned, groups, _mechanism(asked, policy))
        parts = Parts.of(policy)
        _refuse_apart(groups, policy, method, parts)
        first = parts.sensitive if method in _TWO_PARTS else None
        made = _mechanism(asked, policy, open_kinds=sorted(parts.open))
        return cls(asked, binned, groups, made, (first, parts.open))

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many bins each column has."""
        return tuple(one.number for one in self.cells.bins.values())

    @property
    def error(self) -> float | None:
        """The root mean square error per bin, worked out or on the guess; None without one.

        Errors: DataError for a guess that is no histogram over these bins.
        """
        parts = _guessed(self.asked.like, self.asked.method, self.sizes)
        if isinstance(self.mechanism, Hierarchical):
            return float(np.sqrt(np.mean(self.mechanism.variance(self.sizes))))
        if parts is None:
            return None
        truth = np.sum(parts, axis=0) if self.asked.method in _TWO_PARTS else parts[0]
        noise = NotPrivateSeededNoise(0)  # nothing secret is in it
        drawn = [self.draw(parts, noise)["estimate"] for _ in range(_TRIES)]
        missed = np.asarray(drawn, dtype=np.float64) - truth.ravel()
        return float(np.sqrt(np.mean(missed**2)))

    @property
    def option(self) -> PlanOption:
        """What a plan says of it."""
        name, note = f'method="{self.asked.method}"', _NOTES[self.asked.method]
        if not isinstance(self.mechanism, SplitHistogram):
            return PlanOption(name=name, error=self.error, note=note)
        hidden = TwoSidedGeometric(self.mechanism.upper_rate, self.mechanism.lower_rate)
        free = TwoSidedGeometric(INFINITE, self.mechanism.open_rate)
        error = float((hidden.variance() + free.variance()) ** 0.5)
        return PlanOption(name=name, error=error, certain=("lower",), note=note)

    def plan(self) -> Plan:
        """What it costs: along each edge the worst of how all that is counted may move together."""
        context, option = self.cells.context, self.option
        told: dict[str, Steps] = {}
        query = self.groups.query if len(self.kinds) == 1 else _ONE_CELL
        asked = (replace(query, counted=one) for one in self.kinds)
        loss, steps = self.mechanism.loss, getattr(self.mechanism, "steps", None)
        charge: dict[str, Loss] = {}
        for edge, some in together(context.policy, *asked).items():
            charge[edge.name] = max(loss(*one) for one in some)
            if steps is not None:
                told[edge.name] = OneOf(tuple(dict.fromkeys(steps(*one) for one in some)))
        return Plan(
            mechanism=self.mechanism,
            charge=charge,
            account=context.account,
            guarantee=promised(
                context,
                charge,
                about=self.groups.sentence,
                scope=self.groups.left_out.scope(option.certain),
            ),
            certain=option.certain,
            standard_deviation=option.error,
            why=option.note,
            noise=steps_note(told) if told else {},
        )

    def draw(self, histograms: Histograms, noise: Noise | None) -> Answer:
        """The histogram, and where open records are counted apart how many there are at least."""
        made = self.mechanism.release(*histograms, noise=noise)
        if isinstance(made, SplitCounts):
            estimate = self.mechanism.estimate(made).ravel()
            return {"estimate": estimate, "lower": np.maximum(made.open, 0).ravel()}
        return {"estimate": np.asarray(made).ravel()}

    def fitted(self, estimate: Floats) -> Floats:
        """A histogram of at least 0 of unbiased estimates; zeros that were found stay."""
        tree = getattr(self.mechanism, "algorithm", self.mechanism)
        if not isinstance(tree, Hierarchical):
            return np.maximum(estimate, 0)
        found = tree.non_negative(estimate)
        return found if tree is self.mechanism else np.where(estimate == 0, 0.0, found)

    def prepared(self) -> PreparedQuery[Histograms, Release]:
        """The question in its steps."""
        context, groups, bins = self.cells.context, self.groups, self.cells.bins
        plan, sizes, method = self.plan(), self.sizes, self.asked.method
        query = groups.query
        parts = [replace(groups, query=replace(query, counted=one)) for one in self.kinds]

        def look(taken: Taken) -> Histograms:
            return tuple(part.counts(taken).reshape(sizes) for part in parts)

        def result(answer: Answer, entry: int | None) -> Release:
            lower, ends = answer.get("lower"), []
            estimate = np.asarray(answer["estimate"], dtype=np.float64).reshape(sizes)
            places = np.indices(sizes).reshape(len(sizes), -1)
            for (column, one), place in zip(bins.items(), places, strict=True):
                ends += ends_of(column, one, place)
            told = RoleTable(tuple(ends)).plus("estimate", estimate.ravel(), "estimate")
            if lower is not None:
                told = told.plus("lower", np.asarray(lower, dtype=np.int64).ravel(), "lower")
                told = told.plus(
                    "lower_certain", np.full(estimate.size, fill_value=True), "lower_certain"
                )
            return Release(
                kind="HistogramRelease",
                told=told,
                summary=f"By {method}.",
                own={
                    "method": method,
                    "bins": bins,
                    "counts": None,
                    "non_negative": self.fitted(estimate),
                },
                **groups.published(context, plan, entry),
            )

        return PreparedQuery(
            detail={**groups.detail, **self.cells.detail, "method": method},
            plan=plan,
            context=context,
            columns=tuple(dict.fromkeys(n for one in parts for n in self.cells.columns(one))),
            look=look,
            draw=self.draw,
            result=result,
            asserts=all_of(self.cells.asserts, *(part.asserts for part in parts)),
        )


def _refuse_apart(groups: Groups, policy: Policy, method: str, parts: Parts) -> None:
    """Refuse parts that the table cannot tell apart, and units whose kept cell a move may swap.

    Without rules everybody would be in both parts. And the parts' charges know no truncation:
    where dropping a kept cell brings a cut one back, a count rises that they take to fall only.
    """
    kinds_of(sorted(parts.sensitive | parts.open), policy)
    if policy.shifts(groups.query) != policy.shifts(replace(groups.query, truncated=False)):
        raise ParameterError(
            f"method={method!r} cannot cut units down to one cell under the policy "
            f"{policy.name!r}: dropping one cell would bring another back.",
            hint='Use on_excess="error", or method="counts".',
        )


def _refuse_unfit(groups: Groups, bins: Mapping[str, BinEdges], method: str) -> None:
    if len(groups.by) > len(bins) or groups.query.counted is not None:
        raise ParameterError(
            f"method={method!r} makes one histogram of everybody, without by= or counted=.",
            hint='Use where= to pick rows, or method="counts".',
        )
    if (groups.query.max_groups or 1) != 1:
        raise ParameterError(
            f"method={method!r} needs every unit in one cell, got max_groups="
            f"{groups.query.max_groups}.",
            hint='Use max_groups=1, or method="counts".',
        )
    if len(bins) > 2 or (method.startswith("agrid") and len(bins) != 2):
        raise ParameterError(
            f"method={method!r} does not make histograms over {len(bins)} column(s): "
            f"{', '.join(map(bin_name, bins))}.",
            hint='Use one or two columns (a grid needs two), or method="counts".',
        )


def _mechanism(asked: Histogram, policy: Policy, **parts: Any) -> Any:
    """The mechanism of the method, at this ε; parts: its open kinds, where it has such.

    Errors: ParameterError, PolicyError.
    """
    if asked.method in _TWO_PARTS:
        return _TWO_PARTS[asked.method].for_policy(policy, epsilon=asked.epsilon)
    name = asked.method.removesuffix("z")
    # A tree's estimates stay as they are: cut at 0 one by one, their sums would be too large.
    options: dict[str, Any] = {"clip": name != "hierarchical"}
    if name == "agrid":
        if asked.records is None:
            raise ParameterError(
                "A grid needs to know about how many records there are.",
                hint="Pass records=, a guess from public knowledge; a bad one costs accuracy "
                "alone.",
            )
        options["records"] = asked.records
    if "keep" not in policy.excess_modes:
        options["query"] = _ONE_CELL
    maker: Any = zeros(_TWO_PHASE[name]) if asked.method != name else _TWO_PHASE[name]
    return maker.for_policy(policy, epsilon=asked.epsilon, **options, **parts)
