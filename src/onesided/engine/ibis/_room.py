"""Whose tables enter through Ibis."""

from __future__ import annotations

from typing import Final

from onesided.engine._room import Room
from onesided.engine.ibis._open import open_table

ROOMS: Final = (
    Room(
        library="ibis.expr.types.relations",
        tables=("Table",),
        open=open_table,
        names=lambda table: table.columns,
    ),
)
