"""Whose tables run in Polars."""

from __future__ import annotations

from typing import Final

from onesided.engine._room import Room
from onesided.engine.polars._engine import PolarsEngine

ROOMS: Final = (
    Room(
        library="polars",
        tables=("DataFrame", "LazyFrame"),
        open=PolarsEngine,
        names=lambda table: table.collect_schema().names(),
    ),
)
