"""How many units have values in each of many ranges of a column, or rectangles of two?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Final, Literal, get_args

import narwhals as nw
import numpy as np

from onesided._english import many
from onesided._numbers import Number, exact, text
from onesided.errors import DataError, ParameterError
from onesided.fields import one_of
from onesided.linear import Grid, candidates
from onesided.linear import Ranges as Workload
from onesided.linear import all_ranges as every_range
from onesided.mechanism.kit import CONFIDENCE
from onesided.noise import IntArray
from onesided.session._context import QueryContext, Taken
from onesided.session._fields import Condition, Edges, EdgesOf, IfUnknown
from onesided.session._groups import Grouped
from onesided.session._question import PreparedQuery, all_of
from onesided.session._release import Release
from onesided.session._statement import Nouns
from onesided.session._ways import Floats, Way, estimates
from onesided.session.histograms._binned import (
    _NOWHERE,
    BinEdges,
    Binned,
    bin_name,
    bins_of,
    with_bins,
)
from onesided.session.histograms._histogram import Histogram, Method
from onesided.session.values._value import Missing
from onesided.session.workloads._cells import Axis, moves_between
from onesided.session.workloads._linear import Columns, OfCells, Strategy

Outside = Literal["clamp", "refuse"]
_MOST_LISTED: Final = 2**20


@dataclass(frozen=True, slots=True)
class RangeQuery(OfCells):
    """How many units (rows, if the session's unit is the row) lie in each range of a column?

    column: a column of numbers; two of them for rectangles (for the metric "haversine" latitude
        and longitude, in degrees); or a mapping from columns to bins.
    ranges: (low, high) pairs in the column's own unit, for two columns ((low, high), (low, high));
        all at edges of bins, low in the range and high not, but for the highest value of equal
        bins. Or "all" (one column), "cells",
        "prefixes", or ranges of cells from :mod:`onesided.linear`.
    bins, bounds: how many equal bins between the bounds, or the edges in rising order; for two
        columns a pair of each. At most 1,024 per column.
    outside: "clamp" counts a value beyond the bins in the nearest bin, so that the end bins reach
        outwards for ever; "refuse" refuses data with such values, and the promise is about data
        without.
    missing: rows without a value (null or NaN) are refused, or left out with ``"drop"``.
    epsilon, strategy, non_negative, confidence, simultaneous, where, unknown, id, again: as in
        :class:`onesided.session.LinearQuery`. ``missing`` and ``outside`` hold for all rows.
    Direction and loss: noise on the sums that the strategy measures, as the moves of values need
    it; see :mod:`onesided.session.workloads._cells` for which cells a move of values joins.

    >>> import polars as pl, onesided as od
    >>> people = pl.DataFrame({"person": [1, 2, 3], "age": [7, 12, 40]})
    >>> session = od.Session(people, policy=od.policy.addition_only(), budget=1000)
    >>> session.ranges("age", [(0, 20)], bins=[0, 20, 100], epsilon=90).estimate.round().tolist()
    [2.0]
    """

    column: str | Sequence[str] | Mapping[str, object]
    ranges: object
    bins: Edges = field(default=None, kw_only=True)
    bounds: EdgesOf = field(default=None, kw_only=True)
    epsilon: Number = field(kw_only=True)
    strategy: Strategy = field(default=None, kw_only=True)
    non_negative: bool = field(default=False, kw_only=True)
    outside: Outside = field(default="clamp", kw_only=True)
    missing: Missing = field(default="refuse", kw_only=True)
    confidence: Number = field(default=CONFIDENCE, kw_only=True)
    simultaneous: bool = field(default=False, kw_only=True)
    where: Condition = field(default=None, kw_only=True)
    unknown: IfUnknown = field(default="recorded", kw_only=True)
    id: str | None = field(default=None, kw_only=True)
    again: bool = field(default=False, kw_only=True)
    title: str = field(default="", kw_only=True)

    work: ClassVar = 4  # as many counts may take

    def measure(self, nouns: Nouns) -> str:
        """What the numbers are."""
        return f"Number of {nouns.units} in ranges of {nouns.column(self.column)}"

    def prepare(self, context: QueryContext) -> PreparedQuery[IntArray, Release]:
        """Check and price the question. Looks at no row."""
        binned = self.binned(context)
        bins, clamped = binned.bins, self.outside == "clamp"
        groups = binned.question.groups(binned.context)
        asked = workload_of(self.ranges, bins)
        axes = [Axis.of(name, one, context.schema[name]) for name, one in bins.items()]
        return self.answered(
            context,
            groups,
            asked,
            moves_between(
                context.policy,
                axes,
                clamped=clamped,
                partition=self.missing == "refuse",
                query=groups.query,
            ),
            partial(candidates, Grid(asked.grid)),
            queries=_told(asked, bins),
            apart=partial(context.policy.moves_along, whole=[axis.whole for axis in axes]),
            binned=binned,
            asserts=all_of(
                binned.asserts, None if clamped else partial(_refuse_outside, bins=bins)
            ),
            detail={**binned.detail, "outside": self.outside},
            said="Values beyond the bins count in the nearest bin."
            if clamped
            else "About data that lie within the bins, all of them.",
        )

    def ways(self, context: QueryContext) -> Iterator[Way]:
        """The ranges, fitted, and added up from histograms; for plans."""
        yield Way("Linear", self, closed=True, certain=True)
        fitted = replace(self, non_negative=True)
        note = "fitted to counts of at least 0: less error, but biased"
        yield Way("Linear, non_negative=True", fitted, note)
        bins = self.binned(context).bins
        queries = workload_of(self.ranges, bins)
        methods: tuple[Method, ...] = ("dawa", "ahp")
        for method in methods:
            other = Histogram(
                {name: list(one.edges) for name, one in bins.items()},
                method=method,
                epsilon=self.epsilon,
                missing=self.missing,
                where=self.where,
                unknown=self.unknown,
                max_groups=1 if context.unit is not None else None,
            )
            yield Way(
                f'Histogram, method="{method}", added up',
                other,
                "runs of cells that seem alike, for data that are",
                told=lambda release: queries.apply(estimates(release)),
            )

    def truth(self, public: QueryContext) -> Floats:
        """The numbers that are asked for, of a public table."""
        workload = workload_of(self.ranges, self.binned(public).bins)
        return np.asarray(workload.apply(self.prepare(public).read()), dtype=np.float64)

    def binned(self, context: QueryContext) -> Binned:
        """The question as a histogram's, over cells."""
        question = Grouped(epsilon=self.epsilon, where=self.where, unknown=self.unknown)
        return with_bins(context, question, self._bins(), missing=self.missing)

    def _bins(self) -> dict[str, BinEdges]:
        """Bins of one or two columns. Errors: ParameterError."""
        one_of(self.outside, name="outside", words=get_args(Outside))
        if isinstance(self.column, Mapping):
            if self.bins is not None or self.bounds is not None:
                raise ParameterError(
                    "column= names the bins of each column already.", hint="Leave bins= out."
                )
            given = {name: bins_of(edges, None) for name, edges in self.column.items()}
        elif isinstance(self.column, str):
            given = {self.column: bins_of(self.bins, self.bounds)}
        else:
            names = tuple(self.column)
            pairs: list[tuple[object, ...]] = []
            for what, part in (("bins", self.bins), ("bounds", self.bounds)):
                one = (None,) * len(names) if part is None and what == "bounds" else part
                if isinstance(one, int) and not isinstance(one, bool):
                    one = (one,) * len(names)
                if not isinstance(one, Sequence) or isinstance(one, str) or len(one) != len(names):
                    raise ParameterError(
                        f"{what} must have one part for each of {many(len(names), 'column')}, got "
                        f"{one!r}.",
                        hint="For example bins=(64, 64), bounds=((0, 1), (0, 1)).",
                        value=one,
                    )
                pairs.append(tuple(one))
            if len(set(names)) != len(names):
                raise ParameterError("A column is named twice.", hint="Name two columns.")
            every = zip(names, *pairs, strict=True)
            given = {name: bins_of(bins, bounds) for name, bins, bounds in every}
        if len(given) not in (1, 2):
            raise ParameterError(
                f"Ranges are over one column or two, got {len(given)}.",
                hint="Use histogram(...) for more.",
            )
        if self.outside == "clamp":
            return {name: BinEdges(one.edges, drawn=True) for name, one in given.items()}
        return given


def workload_of(ranges: object, bins: Mapping[str, BinEdges]) -> Workload:
    """Ranges of cells. Errors: ParameterError for ends that are no edges, or lie outside."""
    shape = tuple(one.number for one in bins.values())
    if isinstance(ranges, Workload):
        if ranges.grid != shape:
            raise ParameterError(
                f"Ranges over a grid of {ranges.grid} do not fit bins of {shape}.",
                hint="Build them on as many cells as there are bins.",
            )
        return ranges
    if isinstance(ranges, str):
        if ranges == "all" and len(shape) == 1:
            return every_range(shape[0])
        if ranges not in ("cells", "prefixes"):
            raise ParameterError(
                f"ranges={ranges!r} is unknown{' for two columns' if ranges == 'all' else ''}.",
                hint='Use "all" (one column), "cells", "prefixes", or a list of ranges.',
                value=ranges,
            )
        places = np.stack(np.unravel_index(np.arange(int(np.prod(shape))), shape), axis=1)
        if len(places) > _MOST_LISTED:
            raise ParameterError(
                f"{len(places):,} queries are too many to list.", hint="Name the ones you need."
            )
        return Workload(shape, places if ranges == "cells" else np.zeros_like(places), places + 1)
    if not isinstance(ranges, Sequence) or not ranges:
        raise ParameterError(
            f"ranges must be a list of (low, high) pairs, got {ranges!r}.",
            hint='Or "all", "cells" or "prefixes".',
            value=ranges,
        )
    lows, highs = [], []
    for place, given in enumerate(ranges):
        parts = (given,) if len(shape) == 1 else given
        if not isinstance(parts, Sequence) or len(parts) != len(shape):
            raise ParameterError(
                f"Range {place} must have (low, high) for each of {len(shape)} columns, got "
                f"{given!r}.",
                hint="For two columns, ((low, high), (low, high)).",
                position=place,
            )
        ends = [_ends(part, *pair, place) for part, pair in zip(parts, bins.items(), strict=True)]
        lows.append([low for low, _ in ends])
        highs.append([high for _, high in ends])
    return Workload(shape, np.array(lows), np.array(highs))


def _ends(part: Any, column: str, bins: BinEdges, place: int) -> tuple[int, int]:
    """The cells of one range of one column."""
    if not isinstance(part, Sequence) or isinstance(part, str) or len(part) != 2:
        raise ParameterError(
            f"Range {place} of {column!r} must be (low, high), got {part!r}.",
            hint="Both at edges of bins.",
            position=place,
        )
    low, high = (_edge(end, column, bins, place) for end in part)
    if low >= high:
        raise ParameterError(
            f"Range {place} of {column!r}, {part!r}, is empty or turned around.",
            hint="Give the lower end first.",
            position=place,
        )
    return low, high


def _edge(end: object, column: str, bins: BinEdges, place: int) -> int:
    value = exact(end, name="end of a range")
    for number, edge in enumerate(bins.edges):
        if edge == value or float(edge) == float(value):
            return number
    nearest = min(bins.edges, key=lambda edge: abs(edge - value))
    raise ParameterError(
        f"Range {place} of {column!r} ends at {text(value)}, which is no edge of a bin.",
        hint=f"The nearest edge is {text(nearest)}; bins go from {text(bins.edges[0])} to "
        f"{text(bins.edges[-1])}.",
        position=place,
        value=value,
    )


def _told(asked: Workload, bins: Mapping[str, BinEdges]) -> Columns:
    """The ranges, column by column; ``_from`` is in the range, ``_to`` is not."""
    told: dict[str, list[Any]] = {}
    for axis, (column, one) in enumerate(bins.items()):
        edges = [float(edge) for edge in one.edges]
        told[f"{column}_from"] = [edges[cell] for cell in asked.lows[:, axis].tolist()]
        told[f"{column}_to"] = [edges[cell] for cell in asked.highs[:, axis].tolist()]
    return told


def _refuse_outside(taken: Taken, bins: Mapping[str, BinEdges]) -> None:
    """Hold the curator to data within the bins. Errors: DataError."""
    table = taken.table
    for column in bins:
        place, value = table.at(bin_name(column)), table.at(column)
        beyond = (nw.col(place) == _NOWHERE) & ~nw.col(value).is_null()
        if number := table.rows_where(beyond):
            raise DataError(
                f"{many(number, 'row', one='lies', more='lie')} outside the bins of {column!r}.",
                hint='Use wider bounds, or outside="clamp" where the policy allows. This number '
                "is not for publication. Nothing was drawn and nothing was recorded.",
                rows=number,
                column=column,
            )
