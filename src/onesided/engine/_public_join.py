"""Public columns beside the rows: each row gets those of one public row at most, or nulls.

What a join does to moves: nothing. Public values stand once each in ``on``, so a row is joined with
one public row or none, whatever the other rows are: rows are mapped one by one, and a table that
differs by some rows of a unit is mapped to one that differs by the images of the same rows of the
same unit. Groups by a public column are unions of groups by ``on``: who drops d of these drops at
most d of their unions. Where a policy says which values a record may pass as, it says so of ``on``
and not of what follows from it: there a join is refused.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import narwhals as nw

from onesided.engine._keys import PublicKeys, check_types, public_keys
from onesided.engine._protocol import Column
from onesided.engine._snapshot import Snapshot, comparable_keys
from onesided.engine._table import Step, Table
from onesided.errors import DataError

_PLAIN: Final = (bool, int, float, str, dt.date)


def joined_with(table: Table, frame: object, on: str) -> Table:
    """The table with the columns of a public one. Looks at no row.

    Errors: KeysError for values of ``on`` that stand there twice, or could never match;
    DataError for columns that the table has already, or of other types.

    >>> import polars as pl
    >>> visits = Table(pl.DataFrame({"place": ["gym", "bar"]}))
    >>> joined = joined_with(visits, {"place": ["gym"], "area": ["north"]}, "place")
    >>> with joined.take(["area"]) as rows:
    ...     sorted(rows.columns(["c1"])["c1"], key=str)
    [None, 'north']
    """
    table.require(on)
    table.refuse_collated(on)
    given = public_keys(frame, (on,))
    check_types(given, table.schema)
    added = {name: _of_one_type(name, v) for name, v in given.beside.columns.items()}
    _refuse_names(table, added)
    types = {name: _type_of(values) for name, values in added.items()}
    step = Step(table, types, (on,), lambda rows: _joined(rows, given, added, on))
    told = json.dumps([table.joined, on, given.digest, added], default=str, sort_keys=True)
    digest = hashlib.sha256(told.encode()).hexdigest()
    return table.made_by(step, schema={**table.schema, **types}, joined=digest)


def _joined(
    rows: Snapshot, given: PublicKeys, added: Mapping[str, Sequence[Any]], on: str
) -> Snapshot:
    own, dtype = rows.at(on), rows.comparable(rows.at(on))
    places = rows.fresh(added)
    columns: dict[str, Column] = {own: comparable_keys(given, rows.schema, [own])[own]}
    columns |= {places[name]: values for name, values in added.items()}
    small = rows.engine.small(columns, like={own: dtype}).with_columns(nw.col(own).cast(dtype))
    frame = rows.frame.with_columns(nw.col(own).cast(dtype)).join(small, on=[own], how="left")
    return replace(rows, frame=frame, names={**rows.names, **places})


def _type_of(values: Sequence[Any]) -> nw.dtypes.DType:
    first = next(value for value in values if value is not None)
    kinds = {bool: nw.Boolean(), int: nw.Int64(), float: nw.Float64(), str: nw.String()}
    return kinds.get(type(first), nw.Date())


def _of_one_type(name: str, values: Sequence[Any]) -> list[Any]:
    """Values of a type that every engine has: beside floats whole numbers become floats."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        return [None if value is None else float(value) for value in values]
    if len(kinds) == 1 and kinds <= set(_PLAIN):
        small = kinds != {int} or all(v is None or -(2**63) <= v < 2**63 for v in values)
        if small:
            return list(values)
    raise DataError(
        f"The public column {name!r} is not all text, all booleans, all whole numbers of 64 bits, "
        "all numbers or all dates.",
        hint="Leave it out, or give it one of these types.",
        column=name,
    )


def _refuse_names(table: Table, added: Mapping[str, object]) -> None:
    for name in added:
        if name in table.schema or name in table.engine.refused:
            raise DataError(
                f"The public column {name!r} has the name of a column of the table.",
                hint="Rename it: the table's own columns stay as they are.",
                column=name,
            )
    if not added:
        raise DataError(
            "The public table has no column but the one that it is joined on.",
            hint="Give a table with what is known of each value.",
        )
