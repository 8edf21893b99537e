"""The ledger in one schema of a PostgreSQL database, for many hosts."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection

from onesided.errors import LedgerFormatError, LedgerUnavailableError
from onesided.ledger import _schema
from onesided.ledger._store import ensure_current, version_table_found
from onesided.store import DatabaseUrl, postgres
from onesided.store.postgres import PostgresDatabase

_FUNCTION: Final = "onesided_append_only"
_ELSEWHERE: Final = (
    "SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
    "WHERE c.relname = 'onesided_entries' AND c.relkind = 'r' ORDER BY 1"
)
_GUARDS_FOUND: Final = (
    "SELECT count(*) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid "
    "JOIN pg_namespace n ON n.oid = c.relnamespace "
    "WHERE n.nspname = %s AND t.tgname LIKE 'onesided\\_%%\\_append\\_only' "
    "AND t.tgenabled IN ('O', 'A')"
)
_OTHERS_FOUND: Final = (
    "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
    "WHERE n.nspname = %s AND c.relname = ANY(%s) AND (c.relrowsecurity "
    "OR EXISTS (SELECT 1 FROM pg_rewrite r WHERE r.ev_class = c.oid) "
    "OR EXISTS (SELECT 1 FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal "
    "AND t.tgname <> c.relname || '_append_only'))"
)


class PostgresPlace:
    """The ledger in the schema that a URL names, or the schema of one to come.

    Errors: LedgerUnavailableError if the server cannot be reached, or there is no ledger and
    ``create`` is false; LedgerFormatError if the URL names no schema, "public" holds no ledger and
    another one does: an empty one beside it would give its whole budget again.
    """

    def __init__(self, url: DatabaseUrl, *, timeout: float, create: bool = True) -> None:
        self.name = f"ledger {url}"
        self._named = url.schema_named
        self._database = postgres.open_database(
            url, kind=_schema.KIND, name=self.name, timeout=timeout
        )
        try:
            self._refuse_absent(create=create)
        except BaseException:
            self.close()
            raise

    def _refuse_absent(self, *, create: bool) -> None:
        if self.find() is None and not create:
            raise LedgerUnavailableError(
                f"there is no {self.name}: the schema holds none.",
                hint="Check the URL; a ledger is made by its first charge.",
                ledger=self.name,
            )

    def find(self) -> PostgresDatabase | None:
        """The schema's ledger, identified."""
        database = self._database
        with database.translated(), database.transaction(write=False) as connection:
            if not version_table_found(connection, schema=database.schema):
                elsewhere = list(connection.exec_driver_sql(_ELSEWHERE).scalars())
                if elsewhere and not self._named:
                    raise _other_schema(database, elsewhere)
                return None
        ensure_current(database)
        return database

    def make(self) -> None:
        """The tables and their guards; two processes may try at once."""
        database = self._database
        with database.translated(), database.transaction(write=True) as connection:
            if not version_table_found(connection, schema=database.schema):
                _schema.create(connection, guards=guards(database))

    def damage(self, connection: Connection) -> str:
        """The guards must be there and enabled; pages are the server's own care."""
        enabled = connection.exec_driver_sql(_GUARDS_FOUND, (self._database.schema,)).scalar()
        if enabled != len(_schema.TABLES):
            return "its append-only triggers are missing or disabled"
        asked = (self._database.schema, list(_schema.TABLES))
        others = connection.exec_driver_sql(_OTHERS_FOUND, asked).scalar()
        return "it has triggers, rules or row security that are not its own" if others else ""

    def close(self) -> None:
        """Let go of the connections."""
        self._database.close()


def guards(database: PostgresDatabase) -> tuple[str, ...]:
    """The statements that make the tables append-only."""
    function = database.quoted(_FUNCTION)
    return (
        f"CREATE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'the ledger is append-only'; END $$",
        *(
            f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE "
            f"ON {database.quoted(table)} FOR EACH STATEMENT EXECUTE FUNCTION {function}()"
            for table in _schema.TABLES
        ),
    )


def _other_schema(database: PostgresDatabase, elsewhere: list[str]) -> LedgerFormatError:
    return LedgerFormatError(
        f"schema {database.schema!r} holds no ledger, but {elsewhere[0]!r} does.",
        hint=f"Name the schema in the URL: ?schema={elsewhere[0]}",
        ledger=database.name,
        schemas=tuple(elsewhere),
    )
