"""Conditions on rows, decided inside the caller's engine: true, false or unknown."""

from __future__ import annotations

import re
from typing import Any, Final, TypeAlias

import narwhals as nw

from onesided.engine import _objects as objects
from onesided.engine.spark import _table as _spark
from onesided.errors import DataError, MissingDependencyError, PolicyError, first_line
from onesided.policy import Predicate

Lazy: TypeAlias = nw.LazyFrame[Any]

# How engines write types that hold, or may hold, floats.
_FLOATS: Final = re.compile(r"\b(?:double|float|halffloat|variant)\b", re.IGNORECASE)


def with_condition(frame: Lazy, predicate: Predicate, name: str) -> Lazy:
    """Add a three-valued column; NaN is treated as null, in whatever column it stands.

    Errors: DataError if the condition cannot be used on this table.
    """
    _refuse_floats_within(frame, predicate, name)
    _refuse_mixed_objects(frame, predicate, name)
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
            hint=f"The columns are {', '.join(_callers(frame))}.{_of_quotes(predicate.text)}",
        ) from error
    if dtype != nw.Boolean:
        raise DataError(
            f"The condition {predicate.text!r} gives {dtype}, not true or false.",
            hint="Write a comparison, such as age < 18.",
        )
    return result


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


def _refuse_mixed_objects(frame: Lazy, predicate: Predicate, name: str) -> None:
    """Refuse conditions on pandas columns of several types: one row would decide how all are read.

    Errors: DataError if the condition cannot do without such a column.
    """
    if not frame.implementation.is_pandas_like():
        return
    kinds = objects.kinds(nw.to_native(frame))
    mixed = [column for column, kind in kinds.items() if objects.is_mixed(kind)]
    if mixed and not _works_without(mixed, frame, predicate, name):
        raise DataError(
            f"The condition {predicate.text!r} looks into {', '.join(mixed)}, which hold Python "
            "objects of no one plain type.",
            hint="Give the columns a type, such as text or numbers.",
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
    elif frame.implementation.is_pyarrow():
        types = {name: str(native.schema.field(name).type) for name in unknown}
    elif frame.implementation.is_pandas_like():
        types = {name: str(native.dtypes[name]) for name in unknown}
    else:
        return []
    return [name for name in unknown if _FLOATS.search(types[name])]


def _callers(frame: Lazy) -> list[str]:
    """The caller's own columns."""
    names = frame.collect_schema().names()
    return [name for name in names if not name.startswith("onesided_")]


def _without_nan(frame: Lazy) -> Lazy:
    """Floats' NaN as null, so that comparing an unknown value gives unknown, not false."""
    native = nw.to_native(frame)
    if frame.implementation.is_pandas_like():
        return nw.from_native(native.assign(**_nullable(native))).lazy()  # type: ignore[no-any-return]
    floats = [name for name, dtype in frame.collect_schema().items() if dtype.is_float()]
    known = [nw.when(~nw.col(name).is_nan()).then(nw.col(name)).alias(name) for name in floats]
    return frame.with_columns(*known) if known else frame


def _nullable(native: Any) -> dict[str, Any]:
    """The columns of a pandas table with three-valued types.

    Its own null marks compare as false; its nullable types keep three values. Floats stay floats:
    as whole numbers, which they become if all of them are whole, they would be written otherwise.
    What Arrow backs has marks of its own, but for NaN, and some of it cannot be converted.
    """
    kinds = objects.kinds(native)

    def converted(name: str) -> Any:
        column = native[name]
        if kinds.get(name) == "floating" or column.dtype.kind == "f":
            return column.astype("Float32" if str(column.dtype) == "float32" else "Float64")
        return column if _has_marks(column.dtype) else column.convert_dtypes()

    return {name: converted(name) for name in native}


def _has_marks(dtype: Any) -> bool:
    """Whether the values are moments, or backed by Arrow and neither numbers nor text."""
    text = str(dtype)
    if type(dtype).__name__ != "ArrowDtype":
        return text.startswith(("timestamp", "date", "time", "duration"))
    return dtype.kind not in "biuf" and not text.startswith(("string", "large_string"))


def _with_sql(frame: Lazy, text: str, name: str) -> Lazy:
    """Add a column computed from SQL by the engine itself, or by DuckDB for pandas and PyArrow."""
    native = nw.to_native(frame)
    if frame.implementation.is_polars():
        import polars as pl  # noqa: PLC0415 - the caller's frame has loaded it already

        return nw.from_native(native.with_columns(pl.sql_expr(text).alias(name)))  # type: ignore[no-any-return]
    if frame.implementation.is_pyspark():
        return nw.from_native(_spark.with_sql(native, text, name))  # type: ignore[no-any-return]
    try:
        import duckdb  # noqa: PLC0415 - optional
    except ImportError:
        raise MissingDependencyError(
            f"SQL text such as {text!r} needs DuckDB for this kind of table.",
            hint="pip install 'onesided[duckdb]', or write a narwhals expression.",
        ) from None
    condition = duckdb.SQLExpression(text).alias(name)
    if frame.implementation.is_duckdb():
        return nw.from_native(native.select(duckdb.StarExpression(), condition))  # type: ignore[no-any-return]
    with duckdb.connect() as connection:
        pandas = frame.implementation.is_pandas_like()
        try:
            table = connection.from_df(native) if pandas else connection.from_arrow(native)
        except duckdb.Error:
            if not pandas:
                raise
            # DuckDB reads no column backwards, as frame[::-1] holds them; a copy runs forwards.
            table = connection.from_df(native.copy())
        answer = table.select(condition)
        kind = nw.Boolean if str(answer.types[0]) == "BOOLEAN" else nw.String
        values = [row[0] for row in answer.fetchall()]
    return _with_values(frame, name, values, kind)


def _with_values(frame: Lazy, name: str, values: list[Any], kind: Any) -> Lazy:
    """Add a column of Python values in which None stays unknown."""
    if frame.implementation.is_pandas_like():
        import pandas as pd  # noqa: PLC0415 - the caller's frame has loaded it already

        # A plain pandas column of booleans would turn None into False.
        dtype = "boolean" if kind is nw.Boolean else "string"
        added = nw.to_native(frame).assign(**{name: pd.array(values, dtype=dtype)})
        return nw.from_native(added).lazy()  # type: ignore[no-any-return]
    column = nw.new_series(
        name,
        [str(v) if kind is nw.String else v for v in values],
        kind,
        backend=frame.implementation,
    )
    return frame.collect().with_columns(column).lazy()
