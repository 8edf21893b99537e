"""A column of numbers cut into public bins."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise, product
from math import prod
from typing import Any, Final, get_args

import narwhals as nw
import numpy as np

from onesided._numbers import Number, exact, text, whole
from onesided.engine import PublicKeys, public_keys
from onesided.engine.kit import Key, Snapshot, Step
from onesided.errors import DataError, ParameterError
from onesided.fields import one_of
from onesided.session._context import QueryContext, Taken
from onesided.session._groups import Grouped, Groups, names_of
from onesided.session._question import Check
from onesided.session.values._value import Missing, no_value
from onesided.show import RoleColumn

MOST_BINS: Final = 1024
_NOWHERE: Final = -1
# What every engine compares whole numbers and floats with; some fail beyond it, as rows are read.
_MOST_WHOLE: Final = 2**63 - 1
_MOST_WIDE: Final = 2**126
_WIDE: Final = (nw.UInt64, nw.Int128, nw.UInt128)
_MOST_FLOAT: Final = int(sys.float_info.max)


@dataclass(frozen=True, slots=True)
class BinEdges:
    """Edges in rising order. Public.

    Bin ``i`` holds the values from edge ``i`` to below edge ``i + 1``, and values outside are in no
    bin; with ``open_ends`` bin 0 holds what is at or below the first edge, bin ``i`` what is above
    edge ``i - 1`` and at or below edge ``i``, and the last bin what is above the last edge.
    closed: the last bin holds its upper edge as well, as bins between a lowest and a highest do.
    drawn: the end bins also hold what lies beyond them.
    """

    edges: tuple[Fraction, ...]
    open_ends: bool = False
    closed: bool = False
    drawn: bool = False

    @property
    def number(self) -> int:
        """How many bins there are."""
        return len(self.edges) + (1 if self.open_ends else -1)

    @property
    def ends(self) -> str:
        """What the ends hold, for the ledger."""
        return "with ends" if self.open_ends else "closed" if self.closed else ""

    def expression(self, column: str, dtype: nw.dtypes.DType) -> nw.Expr:
        """The bin of each row's value; -1 where there is no value or no bin."""
        given, known = compared(column, dtype), ~nw.col(column).is_null()
        if self.open_ends:
            points = [_at_most(edge, dtype) for edge in self.edges]
            found = _search(lambda edge: given <= edge, points, 0)
            return nw.when(known).then(found).otherwise(nw.lit(_NOWHERE)).cast(nw.Int64())
        edges = [_below(edge, dtype) for edge in self.edges[:-1]]
        found = _search(lambda edge: given < edge, edges[1:], 0)
        inside = known if self.drawn else known & ~self.beyond(column, dtype)
        return nw.when(inside).then(found).otherwise(nw.lit(_NOWHERE)).cast(nw.Int64())

    def beyond(self, column: str, dtype: nw.dtypes.DType) -> nw.Expr:
        """Whether each row's value lies outside the edges; null where there is none."""
        if self.open_ends:
            return nw.lit(value=False)
        given, last = compared(column, dtype), self.edges[-1]
        above = given > _at_most(last, dtype) if self.closed else given >= _below(last, dtype)
        return (given < _below(self.edges[0], dtype)) | above


def compared(column: str, dtype: nw.dtypes.DType) -> nw.Expr:
    """What edges are compared with: some engines round an edge to a short float's type."""
    return nw.col(column).cast(nw.Float64()) if dtype.is_float() else nw.col(column)


def _search(left_of: Callable[[float], nw.Expr], edges: list[float], first: int) -> nw.Expr:
    """How many edges the value is not left of: a binary search as one expression."""
    if not edges:
        return nw.lit(first)
    middle = len(edges) // 2
    left = _search(left_of, edges[:middle], first)
    right = _search(left_of, edges[middle + 1 :], first + middle + 1)
    return nw.when(left_of(edges[middle])).then(left).otherwise(right)


def _below(edge: Fraction, dtype: nw.dtypes.DType) -> float:
    """What to compare with so that ``value < edge``: whole numbers stay whole."""
    return -(-edge.numerator // edge.denominator) if dtype.is_integer() else float(edge)


def _at_most(edge: Fraction, dtype: nw.dtypes.DType) -> float:
    """As :func:`_below`, so that ``value <= edge``."""
    return edge.numerator // edge.denominator if dtype.is_integer() else float(edge)


def edges_of(
    edges: Sequence[Number], *, name: str = "bins", most: int = MOST_BINS
) -> tuple[Fraction, ...]:
    """Edges in rising order. Errors: ParameterError naming the first that is out of order.

    most: how many there may be: engines are handed a comparison for each, per row.
    """
    if isinstance(edges, str) or not isinstance(edges, Sequence | range):
        raise ParameterError(
            f"{name} must be a list of numbers in rising order, got {edges!r}.",
            hint="They must come from public knowledge, never from the data.",
            value=edges,
        )
    if len(edges) > most:
        raise ParameterError(
            f"{len(edges):,} {name} were given, more than {most:,}.",
            hint="Use fewer, or put the bin into a column of its own and count by that.",
            number=len(edges),
        )
    given = tuple(exact(edge, name=name) for edge in edges)
    for one, two in pairwise(given):
        if one >= two:
            raise ParameterError(
                f"{name} must rise, but {text(two)} comes after {text(one)}.",
                hint="Sort them, and give each once.",
                values=(one, two),
            )
    return given


def bins_of(bins: Any, bounds: Sequence[Number] | None) -> BinEdges:
    """Bins from their number and bounds, which hold the highest value, too; or from edges."""
    if bins is None:
        raise ParameterError(
            "Which bins?", hint="Pass bins= as edges, or as a number together with bounds=."
        )
    if isinstance(bins, Sequence | range) and not isinstance(bins, str):
        if bounds is not None:
            raise ParameterError(
                "bins are edges already, so bounds= has no meaning.",
                hint="Give either edges, or a number of bins and bounds.",
            )
        edges = edges_of(bins)
        if len(edges) < 2:
            raise ParameterError(
                f"{len(edges)} edge makes no bin.", hint="Give at least two edges."
            )
        return BinEdges(edges)
    number = whole(bins, name="bins", least=1, most=MOST_BINS)
    if bounds is None:
        raise ParameterError(
            f"{number} bins of which range?",
            hint="Pass bounds=(lowest, highest) from public knowledge, or the edges as bins=.",
        )
    low, high = edges_of(bounds, name="bounds")[:: max(1, len(bounds) - 1)]
    step = (high - low) / number
    edges = tuple(low + step * i for i in range(number + 1))
    return BinEdges(edges, closed=True)


def ends_of(column: str, bins: BinEdges, places: Any) -> list[RoleColumn]:
    """The columns that name bins by their ends, a row for each place of a bin."""
    edges, at = np.array([float(edge) for edge in bins.edges]), np.asarray(places)
    return [
        RoleColumn(f"{column}_from", "key", edges[at]),
        RoleColumn(f"{column}_to", "key", edges[at + 1]),
    ]


# A question over public groups and bins, as one over groups alone.

MOST_CELLS: Final = 2**24


@dataclass(frozen=True, slots=True)
class Binned:
    """The context with a column of bins beside each binned one, and the question over them."""

    context: QueryContext
    question: Grouped
    detail: Mapping[str, object]
    bins: Mapping[str, BinEdges]
    checked: tuple[str, ...]

    def columns(self, groups: Groups) -> tuple[str, ...]:
        """The columns that the question over groups looks at, and the binned ones."""
        return groups.columns(self.context, *self.bins)

    @property
    def asserts(self) -> Check | None:
        """Holds rows to have values in the binned columns; None where they may lack them."""
        return self._refuse_missing if self.checked else None

    def _refuse_missing(self, taken: Taken) -> None:
        """NaN and null are in no bin, which a certain bound would not say. Errors: DataError."""
        for column in self.checked:
            if number := taken.table.null_rows(taken.table.at(column)):
                raise no_value(number, column)


def with_bins(
    context: QueryContext, question: Grouped, bins: Mapping[str, BinEdges], *, missing: Missing
) -> Binned:
    """Bins of each row as further grouping columns, whose keys are all the cells.

    Errors: ParameterError for too many cells or a name that is taken; DataError for columns that
    are not of numbers.
    """
    binned = context_with_bins(context, bins, missing=missing)
    by = names_of(question.by, name="by")
    groups = public_keys(question.keys, by) if by else PublicKeys.of((), ((),))
    ends = [f"{column}_{end}" for column in bins for end in ("from", "to")]
    if taken := [name for name in groups.beside.columns if name in ends]:
        raise ParameterError(
            f"The keys have a column {taken[0]!r}, which is what an end of each bin is called.",
            hint="Leave it out of the keys, or rename it.",
            column=taken[0],
        )
    most = question.max_groups
    if context.unit is not None and not by and "keep" not in context.policy.excess_modes:
        # One value per unit is what bins of a column mean, unless something else is said.
        most = 1 if most is None else most
    over_by = (*by, *map(bin_name, bins))
    over = question.shared(by=over_by, keys=_cells(groups, bins, over_by), max_groups=most)
    edges = {name: [*map(text, one.edges), one.ends] for name, one in bins.items()}
    return Binned(
        binned,
        Grouped(**over),
        {"bins": edges, "missing": missing},
        bins,
        tuple(bins) if missing == "refuse" else (),
    )


def context_with_bins(
    context: QueryContext, bins: Mapping[str, BinEdges], *, missing: Missing
) -> QueryContext:
    """The context with a column of bins beside each of these. Errors: as :func:`with_bins`."""
    one_of(missing, name="missing", words=get_args(Missing))
    table, schema = context.table, context.schema
    for column, one in bins.items():
        table.require(column)
        dtype = schema[column]
        if not (dtype.is_integer() or dtype.is_float()):
            raise DataError(
                f"Column {column!r} holds {dtype}, not whole numbers or floats.",
                hint="Cast it, or count by it as it is.",
                column=column,
            )
        if bin_name(column) in schema:
            raise ParameterError(
                f"The table has a column {bin_name(column)!r} already, which is what the bins are "
                "called.",
                hint="Rename it.",
                column=bin_name(column),
            )
        whole_numbers = _MOST_WIDE if isinstance(dtype, _WIDE) else _MOST_WHOLE
        most = whole_numbers if dtype.is_integer() else _MOST_FLOAT
        if one.edges[0] < -most or one.edges[-1] > most:
            raise ParameterError(
                f"An edge is farther from 0 than any value that {dtype} holds.",
                hint="Take a nearer one.",
            )
    made: dict[str, nw.dtypes.DType] = {bin_name(name): nw.Int64() for name in bins}
    named = {bin_name(n): n if missing == "drop" else None for n in bins}

    def make(rows: Snapshot) -> Snapshot:
        schema = rows.schema
        return rows.with_columns(
            {
                bin_name(name): one.expression(rows.at(name), schema[rows.at(name)])
                for name, one in bins.items()
            }
        )

    step = Step(table, made, tuple(bins), make)
    binned = table.made_by(step, schema={**table.schema, **made})
    return replace(context, table=binned, binned=named)


def bin_name(column: str) -> str:
    """What the column of bins is called beside the column itself."""
    return f"{column}_bin"


def _cells(
    groups: PublicKeys, bins: Mapping[str, BinEdges], by: tuple[str, ...]
) -> list[Key] | dict[str, list[object]]:
    """Every public group with every bin, the last bins fastest, and what travels with the group."""
    each = prod(one.number for one in bins.values())
    if groups.size * each > MOST_CELLS:
        raise ParameterError(
            f"This histogram has {groups.size * each:,} cells, more than {MOST_CELLS:,}.",
            hint="Use fewer bins, columns or groups.",
            cells=groups.size * each,
        )
    ranges = [range(one.number) for one in bins.values()]
    cells: list[Key] = [(*group, *cell) for group in groups.rows for cell in product(*ranges)]
    if not groups.beside.columns:
        return cells
    columns = map(list, zip(*cells, strict=True))
    more = groups.beside.columns.items()
    told = {name: [value for value in values for _ in range(each)] for name, values in more}
    return {**dict(zip(by, columns, strict=True)), **told}
