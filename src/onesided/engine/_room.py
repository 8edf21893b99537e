"""What a room says of itself at the gate: whose tables it takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from onesided.engine._protocol import Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Tables of one library, and the engine that they enter.

    library: its module; what is not loaded has no table here. tables: their classes' names in it.
    names: reads the columns' names.
    """

    library: str
    tables: tuple[str, ...]
    open: Callable[[Any], Engine]
    names: Callable[[Any], Sequence[object]]
