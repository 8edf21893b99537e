"""``--schema``: what the columns of files are read as, and the keys that it names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import narwhals as nw

from onesided.engine import Table
from onesided.engine.kit import Snapshot, quoted
from onesided.schema import Schema


def read_schema(path: Path | None) -> Schema | None:
    """The schema in a file, if one is named. Errors: SchemaError."""
    return None if path is None else Schema.read(path)


@contextmanager
def as_declared(table: Any, schema: Schema | None) -> Iterator[Any]:
    """Within, a file's table with its text read as declared, where it has columns of the schema.

    Errors: SchemaError where a typed file holds another type.
    """
    if schema is None:
        yield table
        return
    declared = Table(table, declared=schema, complete=False)
    with declared.source(usable(declared), records=True) as rows:
        yield under_names(rows)


def usable(table: Table) -> list[str]:
    """The columns of a file's table that can be read."""
    return [name for name in table.engine.types if name not in table.engine.refused]


def under_names(rows: Snapshot) -> Any:
    """A snapshot's columns under the names that people use."""
    told = (f"{place} AS {quoted(name)}" for name, place in rows.names.items())
    return nw.to_native(rows.frame).project(", ".join(told))


def file_of_keys(schema: Schema | None, column: str) -> Path | None:
    """The file in which the schema says that the keys of a column stand, if it names one."""
    known = None if schema is None else schema.columns.get(column)
    if known is None or not isinstance(known.keys, str):
        return None
    return (
        Path(known.keys) if schema is None or schema.folder is None else schema.folder / known.keys
    )
