"""The one gate through which a table enters: which engine claims it, and columns of known types."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import narwhals as nw

from onesided._english import a
from onesided.engine._protocol import Engine, OfFiles, Room
from onesided.engine._reading import reading
from onesided.errors import DataError


def enter(data: object) -> Engine:
    """The table in its engine.

    Errors: DataError for an object that no engine claims, and for columns of the same name.
    """
    if isinstance(data, OfFiles):
        engine = enter(data.table)
        engine.files = data.files
        return engine
    native: Any = nw.to_native(data, pass_through=True)
    for room in _rooms():
        library = sys.modules.get(room.library)
        known = () if library is None else tuple(getattr(library, name) for name in room.tables)
        if isinstance(native, known):
            with reading():
                _refuse_names(room.names(native))
                return room.open(native)
    kind = type(native)
    origin = kind.__module__.split(".")[0]
    called = kind.__name__ if origin == "builtins" else f"{kind.__name__} of {origin}"
    raise DataError(
        f"Cannot read {a(called)} as a table.",
        hint="Give a Polars, pandas or PyArrow table, a DuckDB relation, a table of Ibis, or one "
        "of Spark itself (not Spark Connect); read files with the library of your choice.",
    )


@cache
def _rooms() -> tuple[Room, ...]:
    """Every room is a folder beside this file, which says what it takes."""
    folders = [found.name for found in iter_modules([str(Path(__file__).parent)]) if found.ispkg]
    rooms = (import_module(f"onesided.engine.{name}").ROOMS for name in folders)
    return tuple(room for several in rooms for room in several)


def _refuse_names(names: Sequence[object]) -> None:
    seen: set[str] = set()
    for name in names:
        if not isinstance(name, str) or name in seen:
            why = "has the name of another one" if name in seen else "is named by no text"
            raise DataError(f"The column {name!r} {why}.", hint="Rename it.", column=name)
        seen.add(name)
