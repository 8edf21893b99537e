"""A dataset's rows, and an empty table of the same columns: no request ever opens the first."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import duckdb

from onesided.errors import DataError, ParameterError, first_line
from onesided.schema import Schema

_PATTERN: Final = frozenset("*?[]{}")
_CHUNK: Final = 2**20
_SETTINGS: Final[dict[str, str | bool | int | float | list[str]]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
}
NAME: Final = "snapshot"


def rows_of(path: str, *, table: str, schema: Schema) -> tuple[Any, Any]:
    """The connection and the declared columns of a .parquet file or a DuckDB database.

    Errors: DataError for what is missing, damaged or of another kind.
    """
    file = Path(path)
    if not file.is_file() or _PATTERN & set(file.name):
        raise DataError(
            f"There is no file {str(path)!r}, or its name is a pattern.", hint="Check the path."
        )
    try:
        connection = _opened(file, table)
        relation = (
            connection.table(table)
            if table
            else connection.read_parquet(str(file), hive_partitioning=False, binary_as_string=False)
        )
        missing = [name for name in schema.columns if name not in relation.columns]
        if missing:
            raise DataError(
                f"{str(path)!r} has no column {missing[0]!r}, which the schema declares.",
                hint="Correct the schema, or the file.",
                column=missing[0],
            )
        return connection, relation.select(*map(duckdb.ColumnExpression, schema.columns))
    except duckdb.Error as error:
        raise DataError(
            f"Cannot read {str(path)!r}: {first_line(error)}.",
            hint="Give a .parquet file, or a DuckDB database and the name of a table in it.",
        ) from error


def empty_of(types: Mapping[str, str]) -> tuple[Any, Any]:
    """A connection and a table of these columns without a row."""
    connection = duckdb.connect(config=dict(_SETTINGS))
    columns = ", ".join(f"{_quoted(name)} {kind}" for name, kind in types.items())
    connection.execute(f"CREATE TABLE {NAME} ({columns})")
    return connection, connection.table(NAME)


def types_of(relation: Any) -> dict[str, str]:
    """The engine's name of each column's type."""
    return {name: str(kind) for name, kind in zip(relation.columns, relation.types, strict=True)}


def mark_of(path: str) -> list[int]:
    """What tells at once that a file was replaced or written to. Errors: DataError."""
    try:
        found = Path(path).stat()
    except OSError as error:
        raise DataError(f"Cannot look at {path!r}: {error.strerror}.") from error
    return [found.st_size, found.st_mtime_ns, found.st_ino, found.st_dev]


def digest_of(path: str) -> str:
    """The SHA-256 of a file's bytes. Errors: DataError."""
    seen = hashlib.sha256()
    try:
        with Path(path).open("rb") as file:
            while chunk := file.read(_CHUNK):
                seen.update(chunk)
    except OSError as error:
        raise DataError(f"Cannot read {path!r}: {error.strerror}.") from error
    return seen.hexdigest()


def _opened(file: Path, table: str) -> Any:
    if table:
        return duckdb.connect(str(file), read_only=True, config=dict(_SETTINGS))
    if file.suffix.lower() != ".parquet":
        raise ParameterError(
            f"{str(file)!r} is no .parquet file.",
            hint="Convert it; or name a DuckDB database, and its table with table =.",
        )
    connection = duckdb.connect(config=dict(_SETTINGS))
    path = str(file).replace("'", "''")
    connection.execute(f"SET allowed_paths = ['{path}']")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET enable_progress_bar = false")
    connection.execute("SET lock_configuration = true")
    return connection


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
