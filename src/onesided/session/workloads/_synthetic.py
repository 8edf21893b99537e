"""Made-up rows, from margins that are measured under one charge.

Claim: what is charged covers all margins together. A margin is a count in public groups by itself,
with its own cut to them, so along an edge it moves by one of the policy's shifts for such a count;
all margins, each with its weight, move by a sum of one shift of each, and the noise of every number
is independent. Losses are linear in shifts, so they are largest at one of those sums. The rest (the
model, its rows, the report, and what a published sample adds) reads what was released alone.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from itertools import accumulate, combinations, pairwise
from typing import Any, ClassVar, Final, NamedTuple

import narwhals as nw
import numpy as np

from onesided._english import many
from onesided._numbers import Loss, Number, positive, rough, whole
from onesided.accounting import steps_note
from onesided.engine import Table, cross
from onesided.errors import KeysError, ParameterError
from onesided.linear import Identity
from onesided.linear.kit import FloatArray, MarginModel, cells_of
from onesided.mechanism import GaussianSums
from onesided.mechanism import Linear as Mechanism
from onesided.mechanism.kit import Together, rates_over
from onesided.noise import IntArray, TwoSidedGeometric
from onesided.policy import Edge, Shift
from onesided.session._context import QueryContext, Taken, left_out
from onesided.session._fields import Counted, Edges
from onesided.session._gaussian import Law, told_squares, with_law
from onesided.session._groups import Grouped, Groups, OnExcess
from onesided.session._plan import Plan, PlanOption, priced
from onesided.session._question import Answer, PreparedQuery, all_of
from onesided.session._release import Release
from onesided.session._sample import SampleRelease
from onesided.session._statement import Nouns, Statement, statement_of
from onesided.session.histograms._binned import BinEdges, bin_name, bins_of, context_with_bins
from onesided.session.workloads._linear import SEVERAL, corners, drawn
from onesided.show import RoleTable
from onesided.store import read_json

Margin = tuple[int, ...]
Moved = tuple[Mapping[Edge, Any], int]
ORIGIN: Final = "origin"
_MOST_COLUMNS: Final = 32
_MOST_RECORDS: Final = 10**7
_MOST_OF_PAIR, _MOST_CELLS = 2**17, 2**19
# How far a pair of columns is taken to be from independent, where it is not measured: Cohen's
# medium effect, the root of the mean squared relative difference of its cells.
_DEPENDENT: Final = 0.3
_FINE: Final = 100  # values in a bin of numbers without a grid
_MADE: Final = (
    "Every row is made up from noisy counts alone. One may equal somebody's by chance: none is "
    "compared with the data."
)
_TRUE: Final = (
    'Rows marked "true" are records of open units, as the sample published them; those marked '
    '"made" are made up from noisy counts and that sample. A made one may equal somebody\'s by '
    "chance: none is compared with the data."
)
_LISTED: Final = (
    "A margin leaves out whose value in one of its columns is missing or not listed; no row has "
    "such a value."
)
_TWO: Final = "Both answers are charged, and this promises what both lose together."


class Axis(NamedTuple):
    """A column's public values: listed ones, or bins with the grid that values of them lie on."""

    column: str
    values: tuple[Any, ...]
    bins: BinEdges | None = None
    step: Fraction | None = None
    whole: bool = False
    within: tuple[Fraction, Fraction] | None = None

    @property
    def by(self) -> str:
        """The column that rows are grouped by."""
        return self.column if self.bins is None else bin_name(self.column)

    @property
    def size(self) -> int:
        """How many values or bins there are."""
        return len(self.values)

    def drawn(self, places: IntArray, random: np.random.Generator) -> list[Any]:
        """Values: those listed, or any of a bin's grid."""
        if self.bins is None:
            return [self.values[place] for place in places.tolist()]
        grids, told = [self._grid(place) for place in range(self.size)], []
        for place, part in zip(places.tolist(), random.random(places.size).tolist(), strict=True):
            first, many, step = grids[place]
            value = (first + math.floor(part * many)) * step
            told.append(int(value) if self.whole else float(value))
        return told

    def _grid(self, place: int) -> tuple[int, int, Fraction]:
        """The values of a bin, of those that the schema allows: first and number, in steps."""
        low, high = self.bins.edges[place : place + 2] if self.bins else (0, 1)
        least, most = self.within or (low, high)
        finest = Fraction(1) if self.whole else (high - low) / Fraction(_FINE)
        for step in (self.step or finest, finest):
            first = -(-max(low, least) // step)
            many = min(-(-high // step), most // step + 1) - first
            if many > 0:
                break
        return first, max(many, 1), step

    def places(self, values: Sequence[Any]) -> IntArray:
        """Where published values lie; -1 for none."""
        if self.bins is None:
            code = {value: place for place, value in enumerate(self.values)}
            return np.array([code.get(one, -1) for one in values], dtype=np.int64)
        edges = self.bins.edges
        found = [-1 if v is None or math.isnan(v) else bisect_right(edges, v) - 1 for v in values]
        return np.array([p if p < self.size else -1 for p in found], dtype=np.int64)


class Layout(NamedTuple):
    """The columns, and which margins of them are measured, each at its weight."""

    axes: tuple[Axis, ...]
    margins: tuple[Margin, ...]
    weights: tuple[int, ...]

    @property
    def sizes(self) -> list[int]:
        """How many values each column has."""
        return [axis.size for axis in self.axes]

    def shape(self, margin: Margin) -> list[int]:
        """How many values each column of a margin has."""
        return [self.axes[v].size for v in margin]

    @property
    def spread(self) -> IntArray:
        """For each number its margin's weight."""
        each = [math.prod(self.shape(one)) for one in self.margins]
        return np.repeat(np.array(self.weights, dtype=np.int64), each)

    def parts(self, numbers: Any) -> list[Any]:
        """One array for each margin."""
        sizes = [self.shape(one) for one in self.margins]
        found = np.split(np.asarray(numbers), np.cumsum([*map(math.prod, sizes)])[:-1])
        return [part.reshape(size) for part, size in zip(found, sizes, strict=True)]

    def counts(self, rows: IntArray) -> list[FloatArray]:
        """Margins of rows that are given by their values' places."""
        found = []
        for one in self.margins:
            cells = np.zeros(self.shape(one))
            known = rows[(rows[:, list(one)] >= 0).all(axis=1)]
            np.add.at(cells, tuple(known[:, v] for v in one), 1)
            found.append(cells)
        return found

    def name(self, margin: Margin) -> str:
        """A margin in words."""
        return " × ".join(self.axes[v].column for v in margin)


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthetic:
    """Rows that are made up to have the margins of the data, as far as they were measured.

    columns: those that rows have; each with its public values.
    records: how many rows to make. About how many units there are is a good number: it decides
        which pairs are worth measuring, and no row of the data enters.
    keys: {column: values}, of columns that the schema does not list. Booleans need none.
    bins: {column: edges} of numbers, see :class:`onesided.session.Histogram`; by default those of
        the schema's bounds and step, 32 at most. A value is drawn from its bin's grid.
    pairs: which pairs of columns are measured beside each column by itself; None for those that
        public facts favour: small ones, as long as the noise for each record in all cells of a pair
        stays below 0.3, what a pair that is not measured is taken to be off by.
    counted: kinds of units that the margins are of. With the protected kinds alone an edge to open
        ones has room for a free sample of these; ``release.with_true_rows(sample)`` then makes rows
        of everybody, and those of the sample are true.
    on_excess: what happens to units with several rows; they count in one cell of each margin, but
        where the policy covers several.
    law: as in :class:`onesided.session.Count`: in a renyi account Gaussian noise errs less.
    seed: of the public randomness that rows are drawn by: no part of the promise.
    Promise: the noisy margins lose ε together, per unit of edge weight; rows, and all else, are
        made of them. The same margins and seed give the same rows.
    ``release.quality`` has each pair's predicted error, and how near the rows came to what was
    measured. Errors: KeysError for a column without public values; ParameterError.

    >>> import polars as pl, onesided as od
    >>> people = pl.DataFrame({"sex": ["f", "m"], "adult": [True, False]})
    >>> session = od.Session(people, policy=od.policy.bounded(), budget=1)
    >>> sexes = {"sex": ["f", "m"]}
    >>> rows = session.synthetic(columns=["sex", "adult"], keys=sexes, records=8, epsilon=1)
    >>> rows.frame.shape, rows.frame["origin"].unique().to_list()
    ((8, 3), ['made'])
    """

    columns: Sequence[str]
    records: int
    epsilon: Number
    keys: Edges = None
    bins: Edges = None
    pairs: Edges = None
    counted: Counted = None
    on_excess: OnExcess | None = None
    law: Law = "pure"
    seed: int = 0
    id: str | None = None
    again: bool = False
    title: str = ""

    later: ClassVar = ("law",)

    def measure(self, nouns: Nouns) -> str:
        """What the numbers are."""
        return f"Made-up rows of {nouns.units}: {', '.join(self.columns)}"

    def prepare(self, context: QueryContext) -> PreparedQuery[IntArray, Release]:
        """Check and price the question. Looks at no row."""
        epsilon = positive(self.epsilon, name="epsilon")
        records = whole(self.records, name="records", least=1, most=_MOST_RECORDS)
        whole(self.seed, name="seed", least=0, most=2**63)
        axes = self._axes(context)
        own = context_with_bins(
            context, {one.column: one.bins for one in axes if one.bins}, missing="drop"
        )
        first = own.policy.shifts(self._groups(own, (axes[0],)).query)
        counts = cache(lambda one: self._groups(own, [axes[v] for v in one]))

        def planned(layout: Layout, made: GaussianSums | None = None) -> Plan:
            return self._plan(own, counts, layout, epsilon, made)

        layout = self._layout(axes, records, partial(_geometric, rates_over(first, epsilon)))
        plan = pure = planned(layout)
        plan = with_law(self.law, pure, GaussianSums(1), partial(planned, layout), own)
        if (wide := plan.mechanism.gaussian) is not None:
            unit = wide / _squared(layout.weights)
            layout = self._layout(axes, records, lambda some: math.sqrt(unit * _squared(some)))
            plan = with_law("gaussian", pure, GaussianSums(1), partial(planned, layout), own)
        mechanism, each = plan.mechanism, list(map(counts, layout.margins))
        groups = self._first(own, each[0], axes)
        deviation = (plan.margins[0].error or 0.0) * layout.weights[0]
        weights, joint = layout.spread, self._joint(context)

        def look(taken: Taken) -> IntArray:
            return np.concatenate([one.counts(taken) for one in each]) * weights

        def result(answer: Answer, entry: int | None) -> Release:
            noisy = np.asarray(answer["noisy"], dtype=np.int64)
            measured = (noisy - mechanism.distribution.mean()) / weights
            facts = groups.published(own, plan, entry)
            listed = replace(groups, left_out=replace(groups.left_out, keys=()))
            cut = (SEVERAL * (groups.excess == "keep"), _LISTED, listed.cut(plan.certain))
            facts["cut"] = " ".join(filter(None, cut))
            made = _Made(
                layout, layout.parts(measured), deviation, self, groups.query.counted, joint,
                context, facts,
            )  # fmt: skip
            return made.release({"mechanism": mechanism, "noisy": noisy})

        return PreparedQuery(
            detail={
                **groups.detail,
                "by": [one.column for one in axes],
                "records": str(records),
                "margins": [layout.name(one) for one in layout.margins],
            },
            plan=plan,
            context=own,
            columns=tuple(dict.fromkeys(name for one in each for name in one.columns(own))),
            look=look,
            asserts=all_of(*(one.asserts for one in each)),
            draw=partial(drawn, mechanism),
            result=result,
        )

    def _first(self, context: QueryContext, groups: Groups, axes: Sequence[Axis]) -> Groups:
        """What all margins say of what they leave out, at the first of them."""
        gone = left_out(context, [a.by for a in axes], None, "recorded")
        return replace(groups, left_out=replace(gone, rises=True))

    def _plan(
        self,
        context: QueryContext,
        groups: Callable[[Margin], Groups],
        layout: Layout,
        epsilon: Fraction,
        made: GaussianSums | None,
    ) -> Plan:
        """What a layout costs at ε, or with Gaussian noise."""
        moved = [
            (context.policy.shifts(groups(one).query), w)
            for one, w in zip(layout.margins, layout.weights, strict=True)
        ]
        shifts, size = _sums(moved), layout.spread.size
        upper, lower = rates_over(shifts, epsilon)
        wide = None if made is None else made.variance
        mechanism = Mechanism(
            Identity(size), Identity(size), upper, lower, shifts=shifts, gaussian=wide
        )
        # Under a view several units may move in one count.
        squares = _squares(moved, alike=context.policy.view is None)
        known = None if made is None else told_squares(made, squares)
        first = self._first(context, groups(layout.margins[0]), layout.axes)
        deviation = math.sqrt(mechanism.distribution.variance())
        ones, pairs = len(layout.axes), len(layout.margins) - len(layout.axes)
        every = many(math.comb(ones, 2), "pair")
        plan = priced(
            context,
            mechanism,
            mechanism.shifts,
            known=known,
            about=f"{first.sentence} {_MADE}",
            standard_deviation=deviation * math.sqrt(float(np.mean(layout.spread**-2.0))),
            why=f"{many(ones, 'column')} and {pairs} of {every} measured",
        )
        return replace(
            plan,
            noise=_noted(moved, upper, lower) if made is None else plan.noise,
            margins=tuple(
                PlanOption(name=layout.name(one), error=deviation / w, note="measured")
                for one, w in zip(layout.margins, layout.weights, strict=True)
            ),
        )

    def _joint(self, context: QueryContext) -> Statement:
        """What rows are about of which some are true: everybody."""
        asked = statement_of(
            replace(self, counted=None),
            unit=context.unit,
            schema=context.declared,
            filled=context.filled,
        )
        return replace(asked, measure=asked.measure.replace("Made-up", "Made-up and true"))

    def _axes(self, context: QueryContext) -> tuple[Axis, ...]:
        """Each column's public values. Errors: KeysError, ParameterError."""
        names = [self.columns] if isinstance(self.columns, str) else list(self.columns)
        if not 1 <= len(set(names)) == len(names) <= _MOST_COLUMNS or ORIGIN in names:
            raise ParameterError(
                f"columns={names!r} are not 1 to {_MOST_COLUMNS} different columns.",
                hint=f"Name each once; {ORIGIN!r} says what is made, and is taken.",
            )
        context.table.require(*names)
        given = {"keys": self.keys or {}, "bins": self.bins or {}}
        for what, some in given.items():
            wrong = [] if not isinstance(some, Mapping) else [n for n in some if n not in names]
            if not isinstance(some, Mapping) or wrong:
                raise ParameterError(
                    f"{what}={some!r:.200} is no mapping from columns of these rows.",
                    hint=f"Write {what}={{{names[0]!r}: [...]}}.",
                )
        return tuple(self._axis(context, name, **given) for name in names)

    @staticmethod
    def _axis(context: QueryContext, name: str, *, keys: Any, bins: Any) -> Axis:
        dtype = context.schema[name]
        if name in keys and name in bins:
            raise ParameterError(
                f"{name!r} has keys and bins.", hint="List its values, or give edges."
            )
        if name in bins:
            edges = bins_of(bins[name], None)
            for low, high in pairwise(edges.edges if dtype.is_integer() else ()):
                if -(-low // 1) >= -(-high // 1):
                    raise ParameterError(
                        f"bins of {name!r}: no whole number lies from {low} to {high}.",
                        hint="Give whole edges for whole numbers.",
                    )
            known = None if context.declared is None else context.declared.columns.get(name)
            return Axis(
                name,
                tuple(range(edges.number)),
                edges,
                None if known is None else known.step,
                dtype.is_integer(),
                None if known is None else known.bounds,
            )
        listed_ = [False, True] if isinstance(dtype, nw.Boolean) else keys.get(name)
        if name in keys:
            listed_ = keys[name]
        if listed_ is None:
            raise KeysError(
                f"The public values of {name!r} are not declared.",
                hint=f"List them, keys={{{name!r}: [...]}}; or edges of numbers, "
                f"bins={{{name!r}: [0, 18, 65]}}; or declare keys, or bounds and step, in the "
                "schema.",
                column=name,
            )
        found = context.keys(listed_, (name,))
        return Axis(name, tuple(row[0] for row in found.rows))

    def _groups(self, context: QueryContext, axes: Sequence[Axis]) -> Groups:
        """One margin's counts, of units in one cell each where no policy covers several."""
        values: dict[str, Any] = {one.by: list(one.values) for one in axes}
        keeps = "keep" in context.policy.excess_modes and not context.policy.single_valued
        return Grouped(
            epsilon=self.epsilon,
            by=tuple(values),
            keys=cross(**values) if len(values) > 1 else values[axes[0].by],
            max_groups=None if keeps or context.unit is None else 1,
            on_excess=self.on_excess,
            counted=self.counted,
        ).groups(context)

    def _layout(
        self, axes: tuple[Axis, ...], records: int, noise: Callable[[Sequence[int]], float]
    ) -> Layout:
        """The margins of least predicted error, or those that were asked for.

        noise: its deviation on each number, by the margins' weights. A margin of n cells has the
        weight √n: with Σ w in all, what their noise adds up to, Σ n / w, is least there. Gaussian
        noise goes by Σ w², where n^(1/3) would be; measured, the model errs no less with that.
        """
        ones: list[Margin] = [(v,) for v in range(len(axes))]
        sizes = [one.size for one in axes]
        if self.pairs is not None:
            chosen = _asked(axes, self.pairs)
            every = cells_of(sizes, [*ones, *chosen])[1]
            if every > _MOST_CELLS:
                raise ParameterError(
                    f"A model of these pairs has {every:,} cells.",
                    hint="Ask for fewer pairs, or coarser values.",
                )
            counts = [len(chosen)]
        else:
            pairs = sorted(
                combinations(range(len(sizes)), 2), key=lambda p: (sizes[p[0]] * sizes[p[1]], p)
            )
            sums = accumulate(sizes[a] * sizes[b] for a, b in pairs)
            chosen = [one for one, n in zip(pairs, sums, strict=True) if n <= _MOST_CELLS]
            chosen = [one for one in chosen if sizes[one[0]] * sizes[one[1]] <= _MOST_OF_PAIR]
            counts = list(range(len(chosen) + 1))
        cells = [math.prod(sizes[v] for v in one) for one in (*ones, *chosen)]

        def error(some: int) -> float:
            weights = _weights(cells[: len(ones) + some])
            each = sum(n / w for n, w in zip(cells, weights, strict=False))
            return each * noise(weights) / records - some * _DEPENDENT

        some = len(ones) + min(counts, key=error)
        return Layout(axes, (*ones, *chosen)[:some], _weights(cells[:some]))


def _weights(cells: Sequence[int]) -> tuple[int, ...]:
    """As the roots of so many cells, in whole numbers."""
    each = [math.isqrt(4 * one) for one in cells]
    common = math.gcd(*each)
    return tuple(one // common for one in each)


def _geometric(rates: tuple[Loss, Loss], weights: Sequence[int]) -> float:
    """The noise of numbers that so many times as much is measured of."""
    part = Fraction(1, sum(weights))
    return math.sqrt(TwoSidedGeometric(*(rate * part for rate in rates)).variance())


def _squared(weights: Sequence[int]) -> int:
    return sum(w * w for w in weights)


def _asked(axes: Sequence[Axis], given: Any) -> list[Margin]:
    """The pairs that were named. Errors: ParameterError."""
    place = {one.column: v for v, one in enumerate(axes)}
    found = []
    if isinstance(given, str):
        with suppress(ValueError):
            given = read_json(given)
    for pair in given if isinstance(given, list | tuple) else [None]:
        named = list(pair) if isinstance(pair, list | tuple) else []
        if len(set(named)) != 2 or any(one not in place for one in named):
            raise ParameterError(
                f"pairs={given!r:.200}: each is two of {', '.join(map(repr, place))}.",
                hint='Such as pairs=[["age", "sex"]]; [] for none.',
            )
        found.append(tuple(sorted(place[one] for one in named)))
    return list(dict.fromkeys(found))


def _sums(margins: Sequence[Moved]) -> dict[Edge, tuple[Shift, ...]]:
    """Per edge the corners of how far all margins move: one shift of each, times its weight.

    Of margins with the same shifts one choice for all is enough, as losses are linear.
    """
    found: dict[Edge, tuple[Shift, ...]] = {}
    for edge in margins[0][0]:
        alike: dict[tuple[Shift, ...], int] = {}
        for shifts, weight in margins:
            some = tuple(dict.fromkeys(shifts[edge]))
            alike[some] = alike.get(some, 0) + weight
        sums = {(0, 0)}
        for some, weight in alike.items():
            sums = {(r + weight * s.rise, f + weight * s.fall) for r, f in sums for s in some}
        found[edge] = tuple(Shift(rise=r, fall=f) for r, f in sorted(sums))
    return found


def _squares(margins: Sequence[Moved], *, alike: bool) -> dict[Edge, int]:
    """Per edge how far all margins move in L2, squared; alike: by at most 1 in each count."""
    return {
        edge: sum(
            w * w * max(s.rise + s.fall if alike else s.rise**2 + s.fall**2 for s in shifts[edge])
            for shifts, w in margins
        )
        for edge in margins[0][0]
    }


def _noted(margins: Sequence[Moved], upper: Loss, lower: Loss) -> dict[str, object]:
    """What the ledger keeps: a step for each margin, as noise is independent and laws add up."""
    told = {}
    for edge in margins[0][0]:
        alike = Counter((tuple(dict.fromkeys(shifts[edge])), w) for shifts, w in margins)
        wide = [[Shift(rise=w * s.rise, fall=w * s.fall) for s in some] for some, w in alike]
        laws = [corners(shifts, upper, lower) for shifts in wide]
        each = zip(laws, alike.values(), strict=True)
        told[edge.name] = Together(tuple(Together((law,), number) for law, number in each))
    return steps_note(told)


@dataclass(frozen=True, slots=True)
class _Made:
    """What was released, and what is made of it. measured: each margin, less the noise's mean."""

    layout: Layout
    measured: list[FloatArray]
    deviation: float
    question: Synthetic
    counted: frozenset[str] | None
    joint: Statement
    context: QueryContext
    facts: Mapping[str, Any]

    @property
    def total(self) -> float:
        """How many units there seem to be, by all margins: those of few cells say most."""
        heavy = [
            w * w / part.size for w, part in zip(self.layout.weights, self.measured, strict=True)
        ]
        sums = sum(h * float(part.sum()) for h, part in zip(heavy, self.measured, strict=True))
        return max(sums / sum(heavy), 1.0)

    def release(self, own: Mapping[str, Any]) -> Release:
        """Rows that have the margins."""
        wanted = [part / self.total for part in self.measured]
        variances = [(self.deviation / w / self.total) ** 2 for w in self.layout.weights]
        number = int(self.question.records)
        rows, columns = self.made(wanted, variances, number)
        columns[ORIGIN] = ["made"] * number
        own = {**own, "with_true_rows": partial(_with_true_rows, self)}
        return self.told(columns, rows, wanted, self.total, own=own, facts=self.facts)

    def made(
        self, wanted: list[FloatArray], variances: Sequence[float], number: int
    ) -> tuple[IntArray, dict[str, list[Any]]]:
        """Rows of a model of margins, by places and by values; variances: of their parts."""
        held = self._modelled(wanted, variances)
        least = min((v for v in variances if v), default=1.0)
        margins, parts, weights = zip(
            *((self.layout.margins[i], wanted[i], least / max(variances[i], least)) for i in held),
            strict=True,
        )
        model = MarginModel(self.layout.sizes, margins, parts, weights)
        random = np.random.default_rng(self.question.seed)  # public, as what it draws from is
        rows = model.rows(number, random)
        return rows, {
            axis.column: axis.drawn(rows[:, v], random) for v, axis in enumerate(self.layout.axes)
        }

    def _modelled(self, wanted: list[FloatArray], variances: Sequence[float]) -> list[int]:
        """Which margins the model has: those asked for, or of pairs those that it gains most by.

        A pair gains by how far it is from independent, less what its noise alone would show (the
        score of McKenna et al. 2022), of what was released.
        """
        sizes, margins = self.layout.sizes, self.layout.margins
        ones, gains = list(range(len(sizes))), dict[int, float]()
        if self.question.pairs is not None:
            return list(range(len(margins)))
        for place, (a, b) in enumerate(margins[len(ones) :], len(ones)):
            both = np.maximum(np.outer(wanted[a], wanted[b]), 0)
            noise = math.sqrt(2 * variances[place] / math.pi) * both.size
            gains[place] = float(np.abs(wanted[place] - both / max(both.sum(), 1e-9)).sum()) - noise
        held = ones
        for place in sorted(gains, key=gains.__getitem__, reverse=True):
            every = cells_of(sizes, [margins[one] for one in (*held, place)])[1]
            if gains[place] > 0 and every <= _MOST_CELLS:
                held = [*held, place]
        return held

    def told(
        self,
        columns: Mapping[str, list[Any]],
        rows: IntArray,
        wanted: list[FloatArray],
        total: float,
        *,
        own: Mapping[str, Any],
        facts: Mapping[str, Any],
    ) -> Release:
        """Rows, by values and by places, as a release."""
        # Each column and pair: its noise, and how far the rows are from what was measured.
        noise = self.deviation / total
        told = self.layout.counts(rows)
        by = {
            one: (
                math.sqrt(2 / math.pi) * part.size * noise / w / 2,
                float(np.abs(part - cells / max(len(rows), 1)).sum()) / 2,
            )
            for one, part, cells, w in zip(
                self.layout.margins, wanted, told, self.layout.weights, strict=True
            )
        }
        sizes = range(len(self.layout.axes))
        every: list[Margin] = [*((v,) for v in sizes), *combinations(sizes, 2)]
        found = [by.get(one, (None, None)) for one in every]
        quality = RoleTable.of(
            {
                "margin": [self.layout.name(one) for one in every],
                "measured": [one in by for one in every],
                "noise": [one[0] for one in found],
                "off": [one[1] for one in found],
            },
            roles={"measured": "fact", "noise": "fact", "off": "fact"},
        )
        off = max(one for one in quality.columns()["off"] if one is not None)
        made = columns[ORIGIN].count("made")
        words = f"{many(made, 'row')} made, {len(rows) - made:,} true"
        names, result = [a.column for a in self.layout.axes], self.context.table.result
        return Release(
            kind="SyntheticRelease",
            told=RoleTable.of(columns, roles=dict.fromkeys(columns, "row")),
            summary=f"{words}; measured margins are off by {rough(off)} of all rows at most.",
            own={"quality": quality, **own},
            **{**facts, "_make_frame": lambda told: result(told, like=names)},
        )


def _with_true_rows(made: _Made, sample: SampleRelease, records: int | None = None) -> Release:
    """Rows of everybody, of which those of a sample of open units are true.

    sample: of the same policy, of units of one row each; that it is of the same table is yours to
    know. records: how many rows there are, by default as many as were asked for: true ones in their
    part of all units, whole rows as they were published, of those whose values are listed; the
    others have the margins of those that are not published.
    Errors: ParameterError for another sample, and one whose columns are others; or margins that
    count open units by parts.
    """
    number = whole(
        made.question.records if records is None else records,
        name="records",
        least=1,
        most=_MOST_RECORDS,
    )
    keep, kind = _required(made, sample)
    layout = made.layout
    values = _values(made, sample)
    places = np.stack([axis.places(values[axis.column]) for axis in layout.axes], axis=1)
    shown, size = layout.counts(places), len(places)
    beside = made.counted is not None and kind not in made.counted
    every = [part + cells / keep * beside for part, cells in zip(made.measured, shown, strict=True)]
    total = max(made.total + size / keep * beside, size, 1.0)
    listed = np.flatnonzero((places >= 0).all(axis=1))
    true = min(listed.size, math.floor(number * listed.size / total))
    picked = np.sort(np.random.default_rng(made.question.seed).permutation(listed)[:true])
    wanted = [part / total for part in every]
    left = [
        (number * part - cells) / max(number - true, 1)
        for part, cells in zip(wanted, layout.counts(places[picked]), strict=True)
    ]
    drawn = (1 - keep) / keep**2 * beside
    scale = number / total / max(number - true, 1)
    variances = [
        ((made.deviation / w) ** 2 + drawn * size / cells.size) * scale**2
        for w, cells in zip(layout.weights, shown, strict=True)
    ]
    rows, more = made.made(left, variances, number - true)
    told = {name: [*(values[name][row] for row in picked), *more[name]] for name in values}
    told[ORIGIN] = ["true"] * true + ["made"] * (number - true)
    rows = np.concatenate([places[picked], rows])
    return made.told(told, rows, wanted, total, own={"sample": sample}, facts=_joint(made, sample))


def _values(made: _Made, sample: SampleRelease) -> dict[str, Any]:
    """The sample's values of each column. Errors: ParameterError for other columns, or types."""
    held = Table(sample.frame).schema
    for axis in made.layout.axes:
        dtype = held.get(axis.column)
        if dtype is None or (axis.bins is not None and not dtype.is_numeric()):
            raise ParameterError(
                f"Column {axis.column!r} of the sample is {dtype or 'not there'}, and these "
                f"margins have {'numbers' if axis.bins else 'values'} of it.",
                hint="Pass a sample of the same session.",
                column=axis.column,
            )
    columns = sample.table.columns()
    return {axis.column: columns[axis.column] for axis in made.layout.axes}


def _joint(made: _Made, sample: SampleRelease) -> dict[str, Any]:
    """What rows of both answers are about, and what both lose together."""
    promise = made.facts["guarantee"]
    both = {edge: loss + sample.guarantee.epsilon[edge] for edge, loss in promise.epsilon.items()}
    about = promise.about.replace(_MADE, f"{_TRUE} {_TWO}")
    promise = replace(promise, epsilon=both, about=about, asked=made.joint.title())
    return {**made.facts, "guarantee": promise, "asked": made.joint}


def _required(made: _Made, sample: SampleRelease) -> tuple[float, str]:
    """The chance of the sample's open units, and their kind. Errors: ParameterError."""
    policy = made.context.policy
    fits = isinstance(sample, SampleRelease) and sample.policy.identity == policy.identity
    if not fits or sample.unit != made.context.unit or sample.month is not None:
        raise ParameterError(
            "True rows come from a sample of the same policy and unit, told once.",
            hint="Pass session.sample(epsilon=session.free_sample).",
        )
    ((kind, keep),) = sample.keep.items() if len(sample.keep) == 1 else ((("", 0.0),))
    counted = made.counted
    protected = frozenset(policy.kinds) - {kind, "absent"}
    if not kind or (counted is not None and counted != protected and kind not in counted):
        raise ParameterError(
            "These margins are of some kinds alone, which with the sample are not everybody.",
            hint="Ask for margins of everybody, or counted= of all protected kinds.",
        )
    if sum(sample.units.values()) != len(sample.table):
        raise ParameterError(
            "The sample has units of several rows, and a made row is a unit.",
            hint="Sample a table of one row for each unit.",
        )
    return keep, kind
