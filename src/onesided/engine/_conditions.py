"""Conditions on rows, decided inside the caller's engine: true, false or unknown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import narwhals as nw

from onesided.engine.spark import _plan as _spark
from onesided.errors import DataError, MissingDependencyError, PolicyError, first_line
from onesided.policy import Predicate

Lazy: TypeAlias = nw.LazyFrame[Any]

# How engines write types that hold, or may hold, floats.
_FLOATS: Final = re.compile(r"\b(?:double|float|halffloat|variant)\b", re.IGNORECASE)


def with_condition(
    frame: Lazy, predicate: Predicate, name: str, refused: Mapping[str, str] | None = None
) -> Lazy:
    """Add a three-valued column; NaN is treated as null, in whatever column it stands.

    Errors: DataError if the condition cannot be used on this table.
    """
    _refuse_floats_within(frame, predicate, name)
    try:
        known = _without_nan(frame)
        result = _evaluated(known, predicate, name)
        dtype = result.collect_schema()[name]
        if frame.implementation.is_pyspark():
            _spark.require_rowwise(nw.to_native(known), nw.to_native(result), predicate.text)
    except (MissingDependencyError, PolicyError):
        raise
    except Exception as error:
        raise DataError(
            f"The condition {predicate.text!r} cannot be used on this table: {first_line(error)}",
            hint=f"The columns are {', '.join(_callers(frame))}."
            f"{_of_quotes(predicate.text)}{_of_refused(refused or {})}",
        ) from error
    if dtype != nw.Boolean:
        raise DataError(
            f"The condition {predicate.text!r} gives {dtype}, not true or false.",
            hint="Write a comparison, such as age < 18.",
        )
    return result


def _of_refused(refused: Mapping[str, str]) -> str:
    held = ", ".join(f"{name} holds {kind}" for name, kind in refused.items())
    return f" {held}, of which nothing can be asked." if held else ""


def _of_quotes(text: str) -> str:
    return " Text stands in 'single quotes'; double ones name a column." if '"' in text else ""


def _evaluated(frame: Lazy, predicate: Predicate, name: str) -> Lazy:
    if predicate.expression is not None:
        return frame.with_columns(predicate.expression.alias(name))
    return _with_sql(frame, predicate.text, name)


def _refuse_floats_within(frame: Lazy, predicate: Predicate, name: str) -> None:
    """Refuse conditions on floats in structures, lists and maps: their NaN compares as known.

    Errors: DataError if the condition cannot do without such a column.
    """
    schema = frame.collect_schema()
    nested = [column for column, dtype in schema.items() if _holds_floats(dtype)]
    nested += [column for column in _unknown_floats(frame, schema) if column not in nested]
    if nested and not _works_without(nested, frame, predicate, name):
        raise DataError(
            f"The condition {predicate.text!r} looks into {', '.join(nested)}, where NaN would "
            "count as known.",
            hint="Put the number into a column of its own, and write the condition on that.",
        )


def _works_without(columns: list[str], frame: Lazy, predicate: Predicate, name: str) -> bool:
    rest = [column for column in frame.collect_schema().names() if column not in columns]
    try:
        _evaluated(frame.select(*rest), predicate, name).collect_schema()
    except MissingDependencyError:
        raise
    except Exception:  # noqa: BLE001 - whatever the engine says, it does not work
        return False
    return True


def _holds_floats(dtype: nw.dtypes.DType) -> bool:
    """Whether floats stand within a structure, a list or a map."""
    if type(dtype).__name__ == "Map":  # Unknown to older versions of narwhals.
        inner = [dtype.key, dtype.value]  # type: ignore[attr-defined]
    elif isinstance(dtype, nw.Struct):
        inner = [field.dtype for field in dtype.fields]
    elif isinstance(dtype, nw.List | nw.Array):
        inner = [dtype.inner]
    else:
        return False
    made = [part() if isinstance(part, type) else part for part in inner]
    return any(part.is_float() or _holds_floats(part) for part in made)


def _unknown_floats(frame: Lazy, schema: nw.Schema) -> list[str]:
    """Columns with floats in types whose content narwhals does not tell: unions, dictionaries."""
    native: Any = nw.to_native(frame)
    unknown = [
        column
        for column, dtype in schema.items()
        if "Unknown" in str(dtype) or dtype == nw.Categorical
    ]
    if frame.implementation.is_pyspark():
        types = {name: native.schema[name].dataType.simpleString() for name in unknown}
    elif frame.implementation.is_duckdb():
        types = dict(zip(native.columns, map(str, native.types), strict=True))
    else:
        return []
    return [name for name in unknown if _FLOATS.search(types[name])]


def _callers(frame: Lazy) -> list[str]:
    """The caller's own columns."""
    names = frame.collect_schema().names()
    return [name for name in names if not name.startswith("onesided_")]


def _without_nan(frame: Lazy) -> Lazy:
    """Floats' NaN as null, so that comparing an unknown value gives unknown, not false."""
    floats = [name for name, dtype in frame.collect_schema().items() if dtype.is_float()]
    known = [nw.when(~nw.col(name).is_nan()).then(nw.col(name)).alias(name) for name in floats]
    return frame.with_columns(*known) if known else frame


def _with_sql(frame: Lazy, text: str, name: str) -> Lazy:
    """Add a column computed from SQL by the engine itself."""
    native = nw.to_native(frame)
    if frame.implementation.is_polars():
        import polars as pl  # noqa: PLC0415 - the caller's frame has loaded it already

        return nw.from_native(native.with_columns(pl.sql_expr(text).alias(name)))  # type: ignore[no-any-return]
    if frame.implementation.is_pyspark():
        return nw.from_native(_spark.with_sql(native, text, name))  # type: ignore[no-any-return]
    import duckdb  # noqa: PLC0415 - the caller's frame has loaded it already

    condition = duckdb.SQLExpression(text).alias(name)
    return nw.from_native(native.select(duckdb.StarExpression(), condition))  # type: ignore[no-any-return]
