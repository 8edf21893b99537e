"""Whose tables run in Spark."""

from __future__ import annotations

from typing import Final

from onesided.engine._room import Room
from onesided.engine.spark._engine import SparkEngine

ROOMS: Final = (
    Room(
        library="pyspark.sql.classic.dataframe",
        tables=("DataFrame",),
        open=SparkEngine,
        names=lambda table: table.columns,
    ),
)
