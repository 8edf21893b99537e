"""Conditions on a table in DuckDB."""

from __future__ import annotations

from typing import Any

from onesided.engine._words import Words


def words(native: Any) -> Words:
    """How conditions are asked of this table."""
    import duckdb  # noqa: PLC0415 - the caller's table came by it

    from onesided.engine.duckdb._condition import DuckDBTerms, column_type  # noqa: PLC0415

    held = dict(zip(native.columns, map(str, native.types), strict=True))
    return Words(
        held=held,
        types={column: column_type(kind) for column, kind in held.items()},
        terms=DuckDBTerms(held),
        add=lambda made, name: native.select(
            duckdb.StarExpression(), duckdb.SQLExpression(made).alias(name)
        ),
        keep=lambda made: native.filter(duckdb.SQLExpression(made)),
    )
