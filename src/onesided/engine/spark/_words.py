"""Conditions on a table in Spark."""

from __future__ import annotations

from typing import Any

from onesided.engine._words import Words


def words(native: Any) -> Words:
    """How conditions are asked of this table."""
    from onesided.engine.spark._condition import SparkTerms, column_type  # noqa: PLC0415

    held = {field.name: field.dataType.simpleString() for field in native.schema}
    return Words(
        held=held,
        types={column: column_type(kind) for column, kind in held.items()},
        terms=SparkTerms(held),
        add=lambda made, name: native.select("*", made.alias(name)),
        keep=native.filter,
    )
