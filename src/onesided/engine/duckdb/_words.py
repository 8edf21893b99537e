"""Conditions on a table in DuckDB."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from onesided.conditions import Translator
from onesided.engine._words import Words


def words(native: Any, *, check: Callable[[Sequence[str]], None]) -> Words:
    """How conditions are asked of this table. check: refuses columns that are not plain text."""
    import duckdb  # noqa: PLC0415 - the caller's table came by it

    from onesided.engine.duckdb._condition import DuckDBTerms, column_type  # noqa: PLC0415

    held = dict(zip(native.columns, map(str, native.types), strict=True))
    return Words(
        held=held,
        types={column: column_type(kind) for column, kind in held.items()},
        translator=Translator(DuckDBTerms(held)),
        add=lambda made, name: native.select(
            duckdb.StarExpression(), duckdb.SQLExpression(made).alias(name)
        ),
        keep=lambda made: native.filter(duckdb.SQLExpression(made)),
        check=lambda columns: check(tuple(columns)),
    )
