"""A question over public groups and bins, as one over groups alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from itertools import product
from math import prod
from typing import Final

import narwhals as nw

from onesided._english import many
from onesided._numbers import text
from onesided.engine import PublicKeys, Table, public_keys
from onesided.engine.kit import Key, Snapshot, Step
from onesided.errors import DataError, ParameterError
from onesided.session._context import QueryContext, Taken
from onesided.session._groups import Grouped, Groups, names_of
from onesided.session._question import Check
from onesided.session.histograms._bins import BinEdges, require_numbers
from onesided.session.values._value import Missing

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
            number = taken.table.null_rows(taken.table.at(column))
            if number:
                raise DataError(
                    f"{many(number, 'row', one='has', more='have')} no value in {column!r}.",
                    hint='Fill them, or pass missing="drop" to leave them out. This number is not '
                    "for publication. Nothing was drawn and nothing was recorded.",
                    rows=number,
                    column=column,
                )


def with_bins(
    context: QueryContext, question: Grouped, bins: Mapping[str, BinEdges], *, missing: Missing
) -> Binned:
    """Bins of each row as further grouping columns, whose keys are all the cells.

    Errors: ParameterError for too many cells or a name that is taken; DataError for columns that
    are not of numbers.
    """
    if missing not in ("refuse", "drop"):
        raise ParameterError(
            f"missing={missing!r} is unknown.",
            hint='Use "refuse", or "drop" to leave rows without a value out.',
            value=missing,
        )
    for column in bins:
        context.table.require(column)
        require_numbers(column, context.schema)
        _refuse_taken(bin_name(column), context)
        bins[column].refuse_far(context.schema[column])
    table = _with_bins(context.table, bins)
    by = names_of(question.by, name="by")
    groups = public_keys(question.keys, by) if by else PublicKeys.of((), ((),))
    _refuse_ends(groups, bins)
    shared = {part.name: getattr(question, part.name) for part in fields(Grouped)}
    if context.unit is not None and not by and "keep" not in context.policy.excess_modes:
        # One value per unit is what bins of a column mean, unless something else is said.
        shared["max_groups"] = 1 if question.max_groups is None else question.max_groups
    over_by = (*by, *map(bin_name, bins))
    over = {**shared, "by": over_by, "keys": _cells(groups, bins, over_by)}
    edges = {name: [*map(text, one.edges), one.ends] for name, one in bins.items()}
    return Binned(
        replace(
            context,
            table=table,
            binned={bin_name(n): n if missing == "drop" else None for n in bins},
        ),
        Grouped(**over),
        {"bins": edges, "missing": missing},
        bins,
        tuple(bins) if missing == "refuse" else (),
    )


def _with_bins(table: Table, bins: Mapping[str, BinEdges]) -> Table:
    made: dict[str, nw.dtypes.DType] = {bin_name(name): nw.Int64() for name in bins}

    def make(rows: Snapshot) -> Snapshot:
        schema = rows.schema
        return rows.with_columns(
            {
                bin_name(name): one.expression(rows.at(name), schema[rows.at(name)])
                for name, one in bins.items()
            }
        )

    step = Step(table, made, tuple(bins), make)
    return table.made_by(step, schema={**table.schema, **made})


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


def _refuse_ends(groups: PublicKeys, bins: Mapping[str, BinEdges]) -> None:
    """Errors: ParameterError for a column beside the keys that is called as an end of a bin."""
    ends = {f"{column}_{end}" for column in bins for end in ("from", "to")}
    for name in groups.beside.columns:
        if name in ends:
            raise ParameterError(
                f"The keys have a column {name!r}, which is what an end of each bin is called.",
                hint="Leave it out of the keys, or rename it.",
                column=name,
            )


def _refuse_taken(name: str, context: QueryContext) -> None:
    if name in context.schema:
        raise ParameterError(
            f"The table has a column {name!r} already, which is what the bins are called.",
            hint="Rename it.",
            column=name,
        )
