"""What the curator may know of the data before asking. Nothing here is for publication."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TypeAlias

import narwhals as nw

from onesided.engine._table import LENGTH, missing, whole_of
from onesided.errors import ParameterError
from onesided.policy import Presence
from onesided.session._binned import Binned
from onesided.session._bins import Bins, _below
from onesided.session._desk import Desk
from onesided.session._groups import Grouped, Groups
from onesided.session._histogram import Histogram
from onesided.session._moments import outside as outside_bounds
from onesided.session._quantile import Quantile
from onesided.session._ranges import Ranges
from onesided.session._sum import Valued

Inspected: TypeAlias = Grouped | Ranges


@dataclass(frozen=True, slots=True)
class Curator:
    """Facts about the real data for the curator's eyes. NOT for publication."""

    rows: int
    rows_without_unit: int
    rows_of_undecided_kind: int
    counted_outside_keys: int
    units_over_bound: int
    most_groups_of_a_unit: int
    values_outside_bounds: int = 0
    values_missing: int = 0


def inspected(desk: Desk, question: Inspected) -> Curator:
    """Facts about the real data behind a question. Errors: ParameterError."""
    binned: Binned | None = None
    if isinstance(question, Histogram | Quantile | Ranges):
        binned = question.binned(desk)
        desk, groups = binned.desk, binned.question.groups(binned.desk)
    elif isinstance(question, Grouped):
        groups = question.groups(desk)
    else:
        raise ParameterError(
            f"There is nothing to inspect for {question!r}.",
            hint="Give a question over public groups, bins or candidates, such as "
            'onesided.Count(by="place", keys=places, epsilon=1).',
        )
    beyond, empty = 0, 0
    if binned is not None:
        beyond, empty = _outside_bins(binned, groups)
    elif isinstance(question, Valued):
        beyond, empty = outside_bounds(desk, groups, question.value(desk))
    return _facts(desk, groups, beyond, empty)


def _facts(desk: Desk, groups: Groups, beyond: int, empty: int) -> Curator:
    rows, table, unit = groups.rows(desk), desk.table, desk.unit
    over, largest = 0, 1
    if unit is not None and groups.by:
        own = desk.policy.max_groups if isinstance(desk.policy, Presence) else 1
        bound = groups.query.max_groups or own
        over, largest = table.units_over(rows, groups.keys, unit=unit, most=bound)
    return Curator(
        rows=table.height(),
        rows_without_unit=table.null_rows(unit) if unit else 0,
        rows_of_undecided_kind=table.undecided_rows(desk.policy.rules),
        counted_outside_keys=table.outside(rows, groups.keys, unit=unit) if groups.by else 0,
        units_over_bound=over,
        most_groups_of_a_unit=largest,
        values_outside_bounds=beyond,
        values_missing=empty,
    )


def _outside_bins(binned: Binned, groups: Groups) -> tuple[int, int]:
    """How many counted rows have a value outside the bins, and how many lack one. Secret."""
    desk, bins = binned.plain, binned.bins
    rows = desk.rows(tuple(bins), where=groups.where, counted=groups.query.counted)
    empty = reduce(or_, (missing(column, desk.schema[column]) for column in bins))
    beyond = reduce(or_, (_beyond(desk, column, one) for column, one in bins.items()))
    return tuple(  # type: ignore[return-value] # a pair
        whole_of(desk.table.scalar(rows.filter(which).select(nw.len().alias(LENGTH))))
        for which in (~empty & beyond, empty)
    )


def _beyond(desk: Desk, column: str, bins: Bins) -> nw.Expr:
    if bins.open_ends:
        return nw.lit(value=False)
    first, last = (_below(bins.edges[end], desk.schema[column]) for end in (0, -1))
    return (nw.col(column) < first) | (nw.col(column) >= last)
