"""Rows in a table of PostgreSQL, which each worker reads as they were at one instant.

A worker holds one transaction, REPEATABLE READ and read-only, so that the server itself shows
every question the same rows, whatever is written meanwhile. Another transaction (another worker,
one after a restart) may begin at another instant: it reads all rows once, and goes on only if
their digest is the one that was checked. The server keeps what the transaction still sees, so
check a table anew, and restart the workers, where much is written to it.
"""

from __future__ import annotations

from typing import Any, Final

from onesided.errors import DataError, MissingDependencyError, first_line
from onesided.schema import Schema
from onesided.store import DatabaseUrl
from onesided_service._sources import Looked, Source

_BEGIN: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_INSTANT: Final = "SELECT pg_backend_pid(), transaction_timestamp()"
# How rows are told as text must not hang on what somebody set for the role or the database.
_SETTINGS: Final = (
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


class PostgresRows(Source):
    """The declared columns of one table. place: a URL; its ``schema=`` holds the table."""

    def __init__(self, place: str, *, table: str, schema: Schema) -> None:
        self._url, self._name, self._schema = DatabaseUrl(place), table, schema
        self._connection: Any = None
        self._held: tuple[Any, str, Any] | None = None  # rows, digest, instant

    def look(self) -> Looked:
        """Errors: DataError."""
        rows, digest, _ = self._anew()
        return Looked(rows, digest, (), _duckdb_types(rows))

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
            self._connection = _connected(psycopg, self._url)
            # Within a transaction that has begun, Ibis makes savepoints and no others.
            backend = ibis.postgres.from_connection(self._connection)
            table = backend.table(self._name, database=self._url.schema)
            self._refuse_missing(table.columns)
            self._connection.execute(_SETTINGS)
            digest = self._digest(psycopg.sql)
            instant = self._connection.execute(_INSTANT).fetchone()
        except (psycopg.Error, ibis.common.exceptions.IbisError) as error:
            self.close()
            raise DataError(
                f"Cannot read the table {self._name!r} of {self._url}: {first_line(error)}.",
                hint="Check the URL, its schema=, and that the role may SELECT from the table.",
            ) from error
        self._held = table.select(*self._schema.columns), digest, instant
        return self._held

    def _refuse_missing(self, columns: Any) -> None:
        for name in self._schema.columns:
            if name not in columns:
                self.close()
                raise DataError(
                    f"The table {self._name!r} has no column {name!r}, which the schema declares.",
                    hint="Correct the schema, or the table.",
                    column=name,
                )

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


def _connected(psycopg: Any, url: DatabaseUrl) -> Any:
    _, arguments = url.for_driver().get_dialect()().create_connect_args(url.for_driver())
    connection = psycopg.connect(**{"connect_timeout": 10, **arguments}, autocommit=True)
    connection.execute(_BEGIN)
    return connection


def _duckdb_types(rows: Any) -> dict[str, str]:
    from ibis.backends.sql.datatypes import DuckDBType  # noqa: PLC0415 - an extra, loaded on use

    return {name: DuckDBType.to_string(kind) for name, kind in rows.schema().items()}
