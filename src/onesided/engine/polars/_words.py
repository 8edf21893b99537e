"""Conditions on a table in Polars."""

from __future__ import annotations

from typing import Any

from onesided.engine._words import Words


def words(native: Any) -> Words:
    """How conditions are asked of this table."""
    from onesided.engine.polars._condition import PolarsTerms, column_type  # noqa: PLC0415

    schema = native.collect_schema()
    return Words(
        held={column: str(dtype) for column, dtype in schema.items()},
        types={column: column_type(dtype) for column, dtype in schema.items()},
        terms=PolarsTerms(schema),
        add=lambda made, name: native.with_columns(made.alias(name)),
        keep=native.filter,
    )
