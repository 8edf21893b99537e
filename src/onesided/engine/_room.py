"""What a room says of itself at the gate: whose tables it takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from onesided.engine._protocol import Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Tables of one library, and the engine that they enter.

    library: its module; what is not loaded has no table here. tables: their classes' names in it.
    opens: the module and the name of what makes an engine of a table; it may import the library.
    names: reads the columns' names.
    """

    library: str
    tables: tuple[str, ...]
    opens: str
    names: Callable[[Any], Sequence[object]]

    def open(self, native: Any) -> Engine:
        """The engine of a table of this library."""
        module, name = self.opens.split(":")
        made: Engine = getattr(import_module(f"onesided.engine.{module}"), name)(native)
        return made
