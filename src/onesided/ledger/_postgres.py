"""The ledger in one schema of a PostgreSQL database, for many hosts."""

from __future__ import annotations

from functools import partial
from typing import Final

from sqlalchemy import Connection

from onesided.errors import LedgerFormatError, LedgerUnavailableError
from onesided.ledger import _schema
from onesided.ledger._store import Store, version_table_found
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


def open_database(url: DatabaseUrl, *, timeout: float, create: bool = True) -> Store:
    """The ledger in the schema that ``url`` names; made if absent and ``create`` is true."""
    database = postgres.open_database(url, kind=_schema.KIND, name=f"ledger {url}", timeout=timeout)
    store = Store(database, damage=partial(_damage, database))
    try:
        _prepare(database, named=url.schema_named, create=create)
        store.ensure_current()
    except BaseException:
        store.close()
        raise
    return store


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


def _prepare(database: PostgresDatabase, *, named: bool, create: bool) -> None:
    """Make the tables where there are none; two processes may try at once.

    Errors: LedgerUnavailableError if there are none and ``create`` is false; LedgerFormatError if
    the URL names no schema and another one holds a ledger: a second, empty one beside it would
    give its whole budget again.
    """
    with database.translated():
        with database.transaction(write=False) as connection:
            if version_table_found(connection, schema=database.schema):
                return
            elsewhere = list(connection.exec_driver_sql(_ELSEWHERE).scalars())
        if elsewhere and not named:
            raise LedgerFormatError(
                f"schema {database.schema!r} holds no ledger, but {elsewhere[0]!r} does.",
                hint=f"Name the schema in the URL: ?schema={elsewhere[0]}",
                ledger=database.name,
                schemas=tuple(elsewhere),
            )
        if not create:
            raise LedgerUnavailableError(
                f"there is no {database.name}: the schema holds none.",
                hint="Check the URL; a ledger is made by the first publication.",
                ledger=database.name,
            )
        with database.transaction(write=True) as connection:
            if not version_table_found(connection, schema=database.schema):
                _schema.create(connection, guards=guards(database))


def _damage(database: PostgresDatabase, connection: Connection) -> str:
    """The guards must be there and enabled; pages are the server's own care."""
    enabled = connection.exec_driver_sql(_GUARDS_FOUND, (database.schema,)).scalar()
    wanted = len(_schema.TABLES)
    return "" if enabled == wanted else "its append-only triggers are missing or disabled"
