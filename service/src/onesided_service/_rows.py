"""Rows in files that DuckDB reads, and an empty table of the same columns.

No request ever opens the first before its charge.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import duckdb

from onesided.errors import DataError, ParameterError, first_line
from onesided.schema import Schema
from onesided_service._sources import Looked, Source

_PATTERN: Final = frozenset("*?[]{}")
_CHUNK: Final = 2**20
_SETTINGS: Final[dict[str, str | bool | int | float | list[str]]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
}
NAME: Final = "snapshot"


class FileRows(Source):
    """The declared columns of a .parquet file, or of a table in a DuckDB database.

    These rows are the ones that were checked while size, times and place of the file are.
    """

    def __init__(self, path: str, *, table: str, schema: Schema) -> None:
        self._path, self._table, self._schema = path, table, schema

    def look(self) -> Looked:
        """Errors: DataError."""
        mark = mark_of([self._path])
        rows = self.rows()
        return Looked(rows, digest_of([self._path]), mark, types_of(rows))

    def require(self, digest: str, mark: tuple[int, ...]) -> None:  # noqa: ARG002 - by its mark
        """Errors: DataError."""
        require_mark([self._path], mark)

    def rows(self) -> Any:
        """Errors: DataError for what is missing, damaged or of another kind."""
        return rows_of(self._path, table=self._table, schema=self._schema)[1]


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


def mark_of(paths: Iterable[str]) -> tuple[int, ...]:
    """What tells at once that a file was replaced or written to. Errors: DataError."""
    mark: list[int] = []
    for path in paths:
        try:
            found = Path(path).stat()
        except OSError as error:
            raise DataError(f"Cannot look at {path!r}: {error.strerror}.") from error
        mark += found.st_size, found.st_mtime_ns, found.st_ino, found.st_dev
    return tuple(mark)


def require_mark(paths: Iterable[str], mark: tuple[int, ...]) -> None:
    """Errors: DataError for files that are not those of the mark."""
    if mark_of(paths) != mark:
        raise DataError("The file is not the one that was checked.", hint="Check it again.")


def digest_of(paths: Iterable[str]) -> str:
    """The SHA-256 of the bytes of one file, or of the digests of several. Errors: DataError."""
    each = [_digest(path) for path in paths]
    return each[0] if len(each) == 1 else hashlib.sha256(":".join(each).encode()).hexdigest()


def _digest(path: str) -> str:
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
