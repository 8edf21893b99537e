"""What the curator may know of the data before asking. Nothing here is for publication."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import TypeAlias

import narwhals as nw

from onesided.engine.kit import LENGTH, missing, whole_of
from onesided.errors import ParameterError
from onesided.session._context import QueryContext
from onesided.session._groups import Grouped, Groups
from onesided.session.histograms._binned import Binned
from onesided.session.histograms._bins import BinEdges, _below
from onesided.session.histograms._histogram import Histogram
from onesided.session.values._moments import outside as outside_bounds
from onesided.session.values._quantile import Quantile
from onesided.session.values._sum import Valued
from onesided.session.workloads._ranges import RangeQuery

Inspected: TypeAlias = Grouped | RangeQuery


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """Facts about the real data for the curator's eyes. NOT for publication.

    unreadable: how many texts of a column are not of the form that the schema declares.

    >>> import polars as pl, onesided as od
    >>> visits = pl.DataFrame({"person": [1, 1, 2, 3], "place": ["a", "b", "b", "b"]})
    >>> policy = od.policy.presence(max_groups=2)
    >>> session = od.Session(visits, unit="person", policy=policy, budget=1000)
    >>> session.inspect(od.Count(by="place", keys=["a"], epsilon=1)).counted_outside_keys
    3
    """

    rows: int
    rows_without_unit: int
    rows_of_undecided_kind: int
    counted_outside_keys: int
    units_over_bound: int
    most_groups_of_a_unit: int
    values_outside_bounds: int = 0
    values_missing: int = 0
    unreadable: Mapping[str, int] = field(default_factory=dict)


def inspected(context: QueryContext, question: Inspected) -> Diagnostics:
    """Facts about the real data behind a question. Errors: ParameterError."""
    binned: Binned | None = None
    noisy_max = isinstance(question, Quantile) and question.chosen_method == "noisy_max"
    if isinstance(question, Histogram | Quantile | RangeQuery) and not noisy_max:
        binned = question.binned(context)
        context, groups = binned.context, binned.question.groups(binned.context)
    elif isinstance(question, Grouped):
        groups = question.groups(context)
    else:
        raise ParameterError(
            f"There is nothing to inspect for {question!r}.",
            hint="Give a question over public groups, bins or candidates, such as "
            'onesided.Count(by="place", keys=places, epsilon=1).',
        )
    beyond, empty = 0, 0
    if binned is not None:
        beyond, empty = _outside_bins(binned, groups)
    elif isinstance(question, Quantile):
        beyond, empty = outside_bounds(context, groups, question.values(context).value)
    elif isinstance(question, Valued):
        beyond, empty = outside_bounds(context, groups, question.value(context))
    return _facts(context, groups, beyond, empty)


def _facts(context: QueryContext, groups: Groups, beyond: int, empty: int) -> Diagnostics:
    rows, table, unit = groups.rows(context), context.table, context.unit
    over, largest = 0, 1
    if unit is not None and groups.by:
        bound = groups.query.max_groups or context.policy.covers or 1
        over, largest = table.units_over(rows, groups.keys, unit=unit, most=bound)
    return Diagnostics(
        rows=table.height(),
        rows_without_unit=table.null_rows(unit) if unit else 0,
        rows_of_undecided_kind=context.undecided_rows(),
        counted_outside_keys=table.outside(rows, groups.keys, unit=unit) if groups.by else 0,
        units_over_bound=over,
        most_groups_of_a_unit=largest,
        values_outside_bounds=beyond,
        values_missing=empty,
        unreadable=table.unreadable(),
    )


def _outside_bins(binned: Binned, groups: Groups) -> tuple[int, int]:
    """How many counted rows have a value outside the bins, and how many lack one. Secret."""
    context, bins = binned.plain, binned.bins
    rows = context.rows(tuple(bins), where=groups.where, counted=groups.query.counted)
    empty = reduce(or_, (missing(column, context.schema[column]) for column in bins))
    beyond = reduce(or_, (_beyond(context, column, one) for column, one in bins.items()))
    return tuple(  # type: ignore[return-value] # a pair
        whole_of(context.table.scalar(rows.filter(which).select(nw.len().alias(LENGTH))))
        for which in (~empty & beyond, empty)
    )


def _beyond(context: QueryContext, column: str, bins: BinEdges) -> nw.Expr:
    if bins.open_ends:
        return nw.lit(value=False)
    first, last = (_below(bins.edges[end], context.schema[column]) for end in (0, -1))
    return (nw.col(column) < first) | (nw.col(column) >= last)
