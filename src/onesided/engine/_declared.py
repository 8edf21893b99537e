"""A table as a schema declares it: typed columns must be of their types, text is read as them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import narwhals as nw

from onesided.engine._protocol import Engine
from onesided.errors import SchemaError, UnknownColumnError
from onesided.schema import Reading, Schema

# What engines call a column that holds nothing at all.
_NOTHING: Final = ("Null", "void")


def declare(
    engine: Engine, schema: Schema, *, unit: str | None = None, complete: bool = True
) -> dict[str, str]:
    """Read the engine's text as ``schema`` declares it, and say which. Looks at no row.

    unit: the column of units, if the schema does not name it. complete: every declared column must
    be there.
    Errors: UnknownColumnError; SchemaError where a typed column is of another type, and where
    several texts would be one unit.
    """
    held = dict(engine.types)
    readings: dict[str, Reading] = {}
    unit = schema.unit if unit is None else unit
    for name, column in schema.columns.items():
        dtype, refused = held.get(name), engine.refused.get(name)
        if dtype is None and refused is None:
            if complete:
                raise UnknownColumnError(
                    f"The schema declares a column {name!r}, which the table does not have.",
                    hint=f"Its columns are {', '.join(list(held)[:50])}.",
                    column=name,
                )
        elif (
            refused in _NOTHING
            or name in engine.odd
            or (refused is None and isinstance(dtype, nw.String))
        ):
            reading = schema.reading(name)
            reading = reading.of_unit(name) if name == unit else reading
            if reading != Reading("text") or refused:
                readings[name] = reading
        elif refused is not None or dtype is None or not _holds(dtype, column.type):
            raise SchemaError(
                f"The schema declares {name!r} as {column.type}, but the table holds "
                f"{refused or dtype}.",
                hint="Correct the schema, or cast the column: only text is read as what a schema "
                "says.",
                column=name,
            )
    if isinstance(unit, str) and unit not in schema.columns and unit not in engine.refused:
        text = isinstance(held.get(unit), nw.String)
        readings |= {unit: Reading("text", schema.missing)} if text and schema.missing else {}
    if readings:
        engine.read_as(readings)
    return {name: one.kind for name, one in readings.items() if one.kind != "text"}


def _holds(dtype: nw.dtypes.DType, kind: str) -> bool:
    """Whether a typed column is of a declared type."""
    if isinstance(dtype, nw.Datetime):
        return kind == ("datetime with zone" if dtype.time_zone is not None else "datetime")
    if kind == "number":
        return dtype.is_float() or dtype.is_decimal()
    plain: Mapping[str, type[nw.dtypes.DType]] = {
        "boolean": nw.Boolean,
        "date": nw.Date,
        "time": nw.Time,
        "duration": nw.Duration,
    }
    return (
        dtype.is_integer()
        if kind == "integer"
        else kind in plain and isinstance(dtype, plain[kind])
    )
