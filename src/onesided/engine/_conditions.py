"""Conditions on rows, translated to the engine's own expressions: true, false or unknown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import narwhals as nw

from onesided.conditions import Condition, Node, Translator
from onesided.errors import DataError, UnknownColumnError
from onesided.policy import Predicate
from onesided.schema import Type

Lazy: TypeAlias = nw.LazyFrame[Any]
_NOTHING: Final[Mapping[str, str]] = {}


def with_condition(
    frame: Lazy, predicate: Predicate, name: str, refused: Mapping[str, str] = _NOTHING
) -> Lazy:
    """Add a three-valued column. refused: columns that may not be used, with what they hold.

    Errors: UnknownColumnError; DataError for a column of a type that conditions cannot look at;
    ConditionError for mixtures of types.
    """
    condition, native = predicate.readable(), nw.to_native(frame)
    add = _on_polars if frame.implementation.is_polars() else _on_duckdb
    if frame.implementation.is_pyspark():
        add = _on_spark
    return nw.from_native(add(native, condition, name, refused))  # type: ignore[no-any-return]


def _typed(
    condition: Condition, natives: Mapping[str, str], types: Mapping[str, Type | None]
) -> Node:
    """The condition with types. Errors: as :func:`with_condition`."""
    for column in condition.columns:
        if column in natives and types.get(column) is None:
            raise DataError(
                f"The condition {condition.text!r} looks into {column}, which holds "
                f"{natives[column]}.",
                hint="Conditions look at text, booleans, numbers, dates and moments. Put the "
                "value into a column of its own, of such a type.",
                column=column,
            )
        if column.startswith("onesided_"):
            raise UnknownColumnError(
                f"The table has no column {column!r}.",
                hint="Names that begin with onesided_ are ours.",
                column=column,
            )
    own = {n: kind for n, kind in types.items() if kind and not n.startswith("onesided_")}
    return condition.bind(own).tree


def _on_polars(native: Any, condition: Condition, name: str, refused: Mapping[str, str]) -> Any:
    from onesided.engine.polars._condition import PolarsTerms, column_type  # noqa: PLC0415

    schema = native.collect_schema()
    held = {column: str(dtype) for column, dtype in schema.items()} | dict(refused)
    types = {n: None if n in refused else column_type(dtype) for n, dtype in schema.items()}
    tree = _typed(condition, held, types)
    made = Translator(PolarsTerms(schema)).three_valued(tree)
    return native.with_columns(made.alias(name))


def _on_duckdb(native: Any, condition: Condition, name: str, refused: Mapping[str, str]) -> Any:
    import duckdb  # noqa: PLC0415 - the caller's table came by it

    from onesided.engine.duckdb._condition import DuckDBTerms, column_type  # noqa: PLC0415
    from onesided.engine.duckdb._text import refuse_collated  # noqa: PLC0415

    held = dict(zip(native.columns, map(str, native.types), strict=True))
    types = {n: None if n in refused else column_type(kind) for n, kind in held.items()}
    tree = _typed(condition, held | dict(refused), types)
    refuse_collated(native, condition.columns)
    made = duckdb.SQLExpression(Translator(DuckDBTerms(held)).three_valued(tree))
    return native.select(duckdb.StarExpression(), made.alias(name))


def _on_spark(native: Any, condition: Condition, name: str, refused: Mapping[str, str]) -> Any:
    from onesided.engine.spark._condition import SparkTerms, column_type  # noqa: PLC0415

    held = {field.name: field.dataType.simpleString() for field in native.schema}
    types = {n: None if n in refused else column_type(kind) for n, kind in held.items()}
    tree = _typed(condition, held | dict(refused), types)
    made = Translator(SparkTerms(held)).three_valued(tree)
    return native.select("*", made.alias(name))
