"""One row for each unit: its rows counted, its values added up, or its largest or smallest kept.

What it does to moves of whole units: nothing. A unit's row here follows from its own rows alone,
and every unit with a row has one. So tables that differ by all that one unit holds are mapped to
tables that differ by that unit's one row. Proof: docs/proofs/per-unit.md.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import narwhals as nw

from onesided._numbers import whole
from onesided.engine._snapshot import Snapshot, is_wide
from onesided.engine._table import Step, Table
from onesided.errors import DataError, ParameterError

_HINT: Final = (
    'Give "count", ("sum", column, (lowest, highest)), ("max", column), or ("min", column).'
)
_MOST: Final = 2**30  # so that 2^33 rows of a unit add up within 64 bits


def units_of(table: Table, unit: str, columns: Mapping[str, object]) -> Table:
    """The table of units, with these columns. Looks at no row.

    columns: by name, ``"count"`` of rows; ``("sum", column, (lowest, highest))`` of whole numbers,
        each row clipped to the bounds; ``("max", column)`` or ``("min", column)`` of whole numbers
        or dates. Null values are left out; a unit without any has a sum of 0 and no largest.
    Errors: ParameterError for what is none of these; DataError for columns of other types, and for
    names that the table has.

    >>> import polars as pl
    >>> visits = Table(pl.DataFrame({"person": [1, 1, 2], "spent": [5, 900, 7]}))
    >>> made = units_of(visits, "person", {"n": "count", "spent_all": ("sum", "spent", (0, 100))})
    >>> with made.take(["person", "n", "spent_all"]) as rows:
    ...     sorted(rows.frame.collect().rows())
    [(1, 2, 105), (2, 1, 7)]
    """
    if not columns:
        raise ParameterError("Nothing is asked of each unit's rows.", hint=_HINT)
    told = {name: _column(table, name, given) for name, given in columns.items()}
    said = json.dumps([table.joined, unit, columns], default=str, sort_keys=True)
    types: dict[str, nw.dtypes.DType] = {
        unit: table.schema[unit],
        **{name: one.type for name, one in told.items()},
    }
    needs = tuple(dict.fromkeys([unit, *(one.column for one in told.values() if one.column)]))
    of = {name: one.column for name, one in told.items() if one.column}
    step = Step(table, types, needs, lambda rows: _units(rows, unit, told), thins=of)
    return table.made_by(step, schema=types, joined=hashlib.sha256(said.encode()).hexdigest())


@dataclass(frozen=True, slots=True)
class _Made:
    """What a unit's rows become. column: of what; "" of nothing. how: sum, max or min."""

    type: nw.dtypes.DType
    column: str
    how: str
    row: Callable[[nw.Expr], nw.Expr]


def _units(rows: Snapshot, unit: str, told: Mapping[str, _Made]) -> Snapshot:
    """One row for each unit."""
    own = rows.at(unit)
    places = rows.fresh(told)
    given = {
        places[name]: one.row(nw.col(rows.at(one.column) if one.column else own))
        for name, one in told.items()
    }
    frame = rows.frame.select(nw.col(own), *(row.alias(n) for n, row in given.items()))
    added = (getattr(nw.col(places[name]), one.how)() for name, one in told.items())
    frame = frame.group_by(own).agg(*added)
    sums = [nw.col(places[n]).cast(nw.Int64()) for n, one in told.items() if one.how == "sum"]
    frame = frame.with_columns(*sums) if sums else frame
    return replace(rows, frame=frame, names={unit: own, **places})


def _column(table: Table, name: str, given: object) -> _Made:
    """What each row brings, and how a unit's rows become one. Errors: as :func:`units_of`."""
    if name in table.schema or name in table.engine.refused:
        raise DataError(
            f"{name!r} is a column of the table already.",
            hint="Give the new column another name.",
            column=name,
        )
    if given == "count":
        return _Made(nw.Int64(), "", "sum", lambda _: nw.lit(1).cast(nw.Int64()))
    how, column, *bounds = given if isinstance(given, tuple) and len(given) > 1 else (given, "")
    if how not in ("sum", "max", "min") or len(bounds) != (how == "sum"):
        raise ParameterError(f"{name}={given!r} is nothing to keep of a unit's rows.", hint=_HINT)
    table.require(column)
    dtype = table.schema[column]
    number = dtype.is_integer() and not is_wide(dtype)
    if not number and not (isinstance(dtype, nw.Date) and how != "sum"):
        raise DataError(
            f"Column {column!r} holds {dtype}, of which a unit's {how} is not taken.",
            hint="Whole numbers of 64 bits have all three, dates a largest and a smallest. Cast "
            "it, or round it to whole steps, first.",
            column=column,
        )
    if how != "sum":
        return _Made(dtype, column, str(how), lambda value: value)
    low, high = _ends(bounds[0])
    return _Made(nw.Int64(), column, "sum", lambda value: _clipped(value, low, high))


def _ends(bounds: Any) -> tuple[int, int]:
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ParameterError(
            f"The bounds of a sum are a pair (lowest, highest), got {bounds!r}.", hint=_HINT
        )
    low, high = (whole(one, name="bounds", least=-_MOST, most=_MOST) for one in bounds)
    if low >= high:
        raise ParameterError(f"bounds={bounds!r}: the lowest is not below the highest.", hint=_HINT)
    return low, high


def _clipped(value: nw.Expr, low: int, high: int) -> nw.Expr:
    """A row's value within the bounds, 0 where there is none."""
    given = value.cast(nw.Int64())
    inside = nw.when(given > high).then(nw.lit(high)).otherwise(given)
    inside = nw.when(given < low).then(nw.lit(low)).otherwise(inside)
    return nw.when(given.is_null()).then(nw.lit(0)).otherwise(inside).cast(nw.Int64())
