"""What the curator may know of the data before asking. Nothing here is for publication."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import or_
from typing import TypeAlias

import narwhals as nw

from onesided.engine.kit import LENGTH, whole_of
from onesided.errors import ParameterError
from onesided.session._context import QueryContext, Taken
from onesided.session._groups import Grouped, Groups
from onesided.session.histograms._binned import Binned
from onesided.session.histograms._bins import BinEdges
from onesided.session.histograms._histogram import Histogram
from onesided.session.values._moments import outside as outside_bounds
from onesided.session.values._quantile import Quantile
from onesided.session.values._sum import Valued
from onesided.session.values._value import Value
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
    value: Value | None = None
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
    if isinstance(question, Quantile) and noisy_max:
        value = question.values(context).value
    elif isinstance(question, Valued):
        value = question.value(context)
    more = (*(binned.bins if binned else ()), *(value.columns if value else ()))
    every = context.using(counted=frozenset())
    columns = dict.fromkeys([*groups.columns(context, *more), *every])
    unreadable = context.table.unreadable()
    with context.taken(tuple(columns), checked=False) as taken:
        beyond, empty = 0, 0
        if binned is not None:
            beyond, empty = _outside_bins(taken, binned.bins, groups)
        elif value is not None:
            beyond, empty = outside_bounds(taken, groups, value)
        return _facts(taken, groups, beyond, empty, unreadable)


def _facts(
    taken: Taken, groups: Groups, beyond: int, empty: int, unreadable: Mapping[str, int]
) -> Diagnostics:
    inner, inside = replace(groups, others=False).inside(taken)
    rows, table, unit = inside.rows(inner), inner.table, inner.unit
    over, largest = 0, 1
    if unit is not None and groups.by:
        bound = groups.query.max_groups or taken.policy.covers or 1
        over, largest = table.units_over(rows, inside.keys, unit=unit, most=bound)
    return Diagnostics(
        rows=table.height(),
        rows_without_unit=table.null_rows(unit) if unit else 0,
        rows_of_undecided_kind=taken.undecided_rows(),
        counted_outside_keys=table.outside(rows, inside.keys, unit=unit) if groups.by else 0,
        units_over_bound=over,
        most_groups_of_a_unit=largest,
        values_outside_bounds=beyond,
        values_missing=empty,
        unreadable=unreadable,
    )


def _outside_bins(taken: Taken, bins: Mapping[str, BinEdges], groups: Groups) -> tuple[int, int]:
    """How many counted rows have a value outside the bins, and how many lack one. Secret."""
    places = taken.at(tuple(bins))
    rows = taken.rows(places, where=groups.where, counted=groups.query.counted)
    empty = reduce(or_, (nw.col(place).is_null() for place in places))
    ends = zip(places, bins.values(), strict=True)
    beyond = reduce(or_, (one.beyond(place, taken.schema[place]) for place, one in ends))
    return tuple(  # type: ignore[return-value] # a pair
        whole_of(taken.table.scalar(rows.filter(which).select(nw.len().alias(LENGTH))))
        for which in (~empty & beyond, empty)
    )
