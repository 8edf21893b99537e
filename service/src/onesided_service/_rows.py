"""Where the rows of a dataset are; no request ever opens them before its charge."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import duckdb

from onesided.engine.kit import quoted
from onesided.errors import DataError, MissingDependencyError, ParameterError, first_line
from onesided.schema import Schema
from onesided.store import DatabaseUrl

_PATTERN: Final = frozenset("*?[]{}")
_CHUNK: Final = 2**20
_SETTINGS: Final[dict[str, str | bool | int | float | list[str]]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
}
NAME: Final = "snapshot"
_BEGIN: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_INSTANT: Final = "SELECT pg_backend_pid(), transaction_timestamp()"
# How rows are told as text must not hang on what somebody set for the role or the database.
_SESSION: Final = (
    "SELECT set_config(name, value, true) FROM (VALUES ('search_path', 'pg_catalog'), "
    "('TimeZone', 'UTC'), ('DateStyle', 'ISO'), ('IntervalStyle', 'postgres'), "
    "('extra_float_digits', '3'), ('bytea_output', 'hex'), "
    "('idle_in_transaction_session_timeout', '0')) AS t(name, value)"
)
# Sums of four words of each row's SHA-256, so that the order of rows does not matter.
_DIGEST: Final = (
    "SELECT count(*), {words} FROM (SELECT "
    "encode(sha256(convert_to(ROW({columns})::text, 'UTF8')), 'hex') AS h FROM {table}) AS t"
)
_WORD: Final = "coalesce(sum(('x' || substr(h, {start}, 15))::bit(60)::bigint), 0)"


@dataclass(frozen=True, slots=True)
class Looked:
    """What a check saw of rows.

    rows: a table of the declared columns. digest, mark: what tell these rows from others, for
    good and at once. types: DuckDB's name of each column's type, for a table without a row.
    """

    rows: Any
    digest: str
    mark: tuple[int, ...]
    types: Mapping[str, str]


class Source(Protocol):
    """Rows that stay as they were checked, or are refused.

    made: how many times they were read anew, so that whoever holds :meth:`rows` knows.
    """

    made: int = 0

    def look(self) -> Looked:
        """Read them anew and whole. Errors: DataError."""

    def require(self, digest: str, mark: tuple[int, ...]) -> None:
        """Errors: DataError unless these are the rows that were checked."""

    def rows(self) -> Any:
        """A table of the declared columns, once they are required. Errors: DataError."""

    def close(self) -> None:
        """Let the rows go; nothing is held where a source does not say otherwise."""
        return


class FileRows(Source):
    """The declared columns of a .parquet file, or of a table in a DuckDB database.

    These rows are the ones that were checked while names, sizes, times and places of files are.
    """

    def __init__(self, path: str, *, table: str = "", schema: Schema, threads: int = 1) -> None:
        self._path, self._table, self._schema = path, table, schema
        self._threads = threads

    def look(self) -> Looked:
        """Errors: DataError."""
        files = self._files()
        mark, rows = _mark_of(files), self.rows()
        return Looked(rows, _digest_of(files), mark, _types_of(self._read(files[0])))

    def require(self, digest: str, mark: tuple[int, ...]) -> None:  # noqa: ARG002 - by its mark
        """Errors: DataError for files that are not those of the mark."""
        if _mark_of(self._files()) != mark:
            raise DataError("The file is not the one that was checked.", hint="Check it again.")

    def rows(self) -> Any:
        """Errors: DataError for what is missing, damaged or of another kind."""
        return self._read(self._path)

    def _read(self, file: str) -> Any:
        return rows_of(file, table=self._table, schema=self._schema, threads=self._threads)[1]

    def _files(self) -> list[str]:
        return [self._path]


def rows_of(path: str, *, table: str, schema: Schema, threads: int = 1) -> tuple[Any, Any]:
    """The connection and the declared columns of a .parquet file or a DuckDB database.

    Errors: DataError for what is missing, damaged or of another kind.
    """
    file = Path(path)
    if not file.is_file() or _PATTERN & set(file.name):
        raise DataError(
            f"There is no file {str(path)!r}, or its name is a pattern.", hint="Check the path."
        )
    try:
        connection = _opened(file, table, {**_SETTINGS, "threads": threads})
        relation = (
            connection.table(table)
            if table
            else connection.read_parquet(str(file), hive_partitioning=False, binary_as_string=False)
        )
        _require_columns(schema, relation.columns, repr(str(path)))
        return connection, relation.select(*map(duckdb.ColumnExpression, schema.columns))
    except duckdb.Error as error:
        raise DataError(
            f"Cannot read {str(path)!r}: {first_line(error)}.",
            hint="Give a .parquet file, or a DuckDB database and the name of a table in it.",
        ) from error


def _require_columns(schema: Schema, columns: Sequence[str], what: str) -> None:
    """Errors: DataError where rows lack a declared column."""
    for name in schema.columns:
        if name not in columns:
            raise DataError(
                f"{what} has no column {name!r}, which the schema declares.",
                hint="Correct the schema, or the rows.",
                column=name,
            )


def empty_of(types: Mapping[str, str]) -> tuple[Any, Any]:
    """A connection and a table of these columns without a row."""
    connection = duckdb.connect(config=dict(_SETTINGS))
    columns = ", ".join(f"{quoted(name)} {kind}" for name, kind in types.items())
    connection.execute(f"CREATE TABLE {NAME} ({columns})")
    return connection, connection.table(NAME)


def _types_of(relation: Any) -> dict[str, str]:
    """The engine's name of each column's type."""
    return {name: str(kind) for name, kind in zip(relation.columns, relation.types, strict=True)}


def _mark_of(paths: Iterable[str]) -> tuple[int, ...]:
    """What tells at once that a file was replaced or written to. Errors: DataError."""
    mark: list[int] = []
    for path in paths:
        try:
            found = Path(path).stat()
        except OSError as error:
            raise DataError(f"Cannot look at {path!r}: {error.strerror}.") from error
        mark += found.st_size, found.st_mtime_ns, found.st_ino, found.st_dev
    return tuple(mark)


def _digest_of(paths: Iterable[str]) -> str:
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


def _opened(file: Path, table: str, settings: dict[str, Any]) -> Any:
    if table:
        return duckdb.connect(str(file), read_only=True, config=settings)
    if file.suffix.lower() != ".parquet":
        raise ParameterError(
            f"{str(file)!r} is no .parquet file.",
            hint="Convert it; or name a DuckDB database, and its table with table =.",
        )
    connection = duckdb.connect(config=settings)
    path = str(file).replace("'", "''")
    connection.execute(f"SET allowed_paths = ['{path}']")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET enable_progress_bar = false")
    connection.execute("SET lock_configuration = true")
    return connection


class PostgresRows(Source):
    """The declared columns of one table. place: a URL; its ``schema=`` holds the table.

    A worker holds one transaction, REPEATABLE READ and read-only, so that the server itself shows
    every question the same rows, whatever is written meanwhile. Another transaction (another
    worker, one after a restart) may begin at another instant: it reads all rows once, and goes on
    only if their digest is the one that was checked. The server keeps what the transaction still
    sees, so check a table anew, and restart the workers, where much is written to it.
    """

    def __init__(self, place: str, *, table: str, schema: Schema) -> None:
        self._url, self._name, self._schema = DatabaseUrl(place), table, schema
        self._connection: Any = None
        self._held: tuple[Any, str, Any] | None = None  # rows, digest, instant

    def look(self) -> Looked:
        """Errors: DataError."""
        rows, digest, _ = self._anew()
        from ibis.backends.sql.datatypes import DuckDBType  # noqa: PLC0415 - loaded there

        types = {name: DuckDBType.to_string(kind) for name, kind in rows.schema().items()}
        return Looked(rows, digest, (), types)

    def require(self, digest: str, mark: tuple[int, ...]) -> None:  # noqa: ARG002 - by its digest
        """Errors: DataError."""
        if self._held is None or self._held[1] != digest or not self._at(self._held[2]):
            self._anew()
        if self._held is None or self._held[1] != digest:
            raise DataError("The table is not the one that was checked.", hint="Check it again.")

    def rows(self) -> Any:
        """Errors: DataError."""
        return (self._held or self._anew())[0]

    def close(self) -> None:
        """Let the rows go."""
        if self._connection is not None:
            self._connection.close()
        self._connection = self._held = None

    def _anew(self) -> tuple[Any, str, Any]:
        self.close()
        self.made += 1
        try:
            import ibis  # noqa: PLC0415 - extras, loaded on use
            import psycopg  # noqa: PLC0415
        except ImportError as error:
            raise MissingDependencyError(
                "Rows in PostgreSQL need Ibis.", hint='pip install "onesided[ibis,postgres]"'
            ) from error
        try:
            driver = self._url.for_driver()
            _, given = driver.get_dialect()().create_connect_args(driver)
            self._connection = psycopg.connect(**{"connect_timeout": 10, **given}, autocommit=True)
            self._connection.execute(_BEGIN)
            # Within a transaction that has begun, Ibis makes savepoints and no others.
            backend = ibis.postgres.from_connection(self._connection)
            table = backend.table(self._name, database=self._url.schema)
            _require_columns(self._schema, table.columns, f"The table {self._name!r}")
            self._connection.execute(_SESSION)
            digest = self._digest(psycopg.sql)
            instant = self._connection.execute(_INSTANT).fetchone()
        except DataError:
            self.close()
            raise
        except (psycopg.Error, ibis.common.exceptions.IbisError) as error:
            self.close()
            raise DataError(
                f"Cannot read the table {self._name!r} of {self._url}: {first_line(error)}.",
                hint="Check the URL, its schema=, and that the role may SELECT from the table.",
            ) from error
        self._held = table.select(*self._schema.columns), digest, instant
        return self._held

    def _digest(self, sql: Any) -> str:
        words = sql.SQL(", ").join(sql.SQL(_WORD.format(start=at)) for at in (1, 16, 31, 46))
        query = sql.SQL(_DIGEST).format(
            words=words,
            columns=sql.SQL(", ").join(map(sql.Identifier, self._schema.columns)),
            table=sql.Identifier(self._url.schema, self._name),
        )
        return ":".join(map(str, self._connection.execute(query).fetchone()))

    def _at(self, instant: Any) -> bool:
        """Whether the transaction is still the one that began at an instant."""
        import psycopg  # noqa: PLC0415 - loaded before

        try:
            found = self._connection.execute(_INSTANT).fetchone()
        except psycopg.Error:
            return False
        return bool(found == instant)


class SparkRows(FileRows):
    """The declared columns of a .parquet file, or of all those of one folder.

    The session is this process's own, or one with the settings of spark-defaults.conf; its page of
    jobs, which shows questions to everybody on the machine, is off.
    """

    def rows(self) -> Any:
        """Errors: DataError; MissingDependencyError without Spark."""
        files = self._files()
        try:
            from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra, loaded on use
        except ImportError as error:
            raise MissingDependencyError(
                "Spark is not installed.", hint='pip install "onesided[spark]"'
            ) from error
        try:
            spark = SparkSession.builder.config("spark.ui.enabled", "false").getOrCreate()
            found = spark.read.parquet(*files)
            names = [name.replace("`", "``") for name in self._schema.columns]
            return found.select(*(f"`{name}`" for name in names))
        except Exception as error:  # Spark has no class of error that covers its gateway's, too
            raise DataError(
                f"Spark cannot read {self._path!r}: {first_line(error)}.",
                hint="Check that all its files are Parquet with the columns of the schema.",
            ) from error

    def _files(self) -> list[str]:
        """In the order of their names; what Spark leaves out (``_SUCCESS``) is left out."""
        if (place := Path(self._path)).is_file():
            return [self._path]
        found = sorted(place.iterdir()) if place.is_dir() else []
        kept = [one for one in found if not one.name.startswith(("_", "."))]
        wrong = [one for one in kept if not (one.is_file() and one.suffix.lower() == ".parquet")]
        if wrong or not kept:
            raise DataError(
                f"{str(wrong[0] if wrong else place)!r} is no .parquet file, and no folder "
                "of nothing else.",
                hint="Name a .parquet file or a folder of them, without folders inside.",
            )
        return list(map(str, kept))
