"""Where a ledger is kept: in an SQLite file, in memory, or in one schema of PostgreSQL."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, NoReturn

from sqlalchemy import Connection

from onesided.errors import LedgerFormatError, LedgerUnavailableError
from onesided.ledger._store import (
    KIND,
    TABLES,
    Place,
    create,
    metadata,
    require_version,
    tables_of,
    version_table_found,
)
from onesided.store import DatabaseUrl, postgres, sqlite
from onesided.store.postgres import PostgresDatabase
from onesided.store.sqlite import SqliteDatabase

# INSERT OR REPLACE deletes without firing DELETE triggers, so an insertion may only ever come
# after the last row and may not collide with an earlier release.
GUARDS: Final = (
    *(
        f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
        "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
        for table in TABLES
        for verb in ("UPDATE", "DELETE")
    ),
    "CREATE TRIGGER onesided_entries_in_order BEFORE INSERT ON onesided_entries "
    "WHEN NEW.number IS NOT (SELECT coalesce(max(number), 0) + 1 FROM onesided_entries) "
    "OR EXISTS (SELECT 1 FROM onesided_entries WHERE policy_id = NEW.policy_id "
    "AND kind = NEW.kind AND release_id = NEW.release_id) "
    "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END",
    "CREATE TRIGGER onesided_payloads_once BEFORE INSERT ON onesided_payloads "
    "WHEN EXISTS (SELECT 1 FROM onesided_payloads WHERE charge = NEW.charge) "
    "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END",
)


class _SqlitePlace(Place):
    def damage(self, connection: Connection) -> str:
        """SQLite's integrity check, then the guards."""
        with sqlite.wide(connection):
            complaint = connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar()
        if complaint != "ok":
            return f"SQLite finds: {complaint}"
        found = connection.exec_driver_sql("SELECT sql FROM sqlite_master WHERE type = 'trigger'")
        held = set(found.scalars())
        if not held >= set(GUARDS):
            return "its append-only triggers are missing or changed"
        return "" if held == set(GUARDS) else "it has triggers that are not its own"


class MemoryPlace(_SqlitePlace):
    """A ledger that is gone when it is closed."""

    name = "the ledger in memory"

    def __init__(self) -> None:
        self._database = sqlite.open_memory(KIND, name=self.name)
        self.make()

    def find(self) -> SqliteDatabase:
        """The one database."""
        return self._database

    def make(self) -> None:
        """Fill it."""
        with self._database.transaction(write=True) as connection:
            _fill(connection)


class FilePlace(_SqlitePlace):
    """A ledger at a path, or the path of one to come.

    The path is looked at through SQLite only: opening and closing a file by hand would drop the
    locks that another connection of this process holds on it.
    Errors: LedgerUnavailableError if no ledger can be there, or is not there and ``create`` is
    false; LedgerFormatError for a file that is none.
    """

    def __init__(self, path: Path, *, timeout: float, create: bool = True) -> None:
        self.file = self._path = path.expanduser().resolve()
        self._timeout = timeout
        self.name = f"ledger {self._path}"
        folder = self._path.parent
        if not folder.is_dir():
            self._refuse(f"the folder of {self.name} does not exist.", hint="Make it first.")
        if self._path.exists():
            return
        if not create:
            hint = "Check the path; a ledger is made by its first charge."
            self._refuse(f"there is no {self.name}.", hint=hint)
        if not os.access(folder, os.W_OK | os.X_OK):
            hint = "Give a file in a folder that can be written."
            self._refuse(f"{self.name} cannot be created.", hint=hint)

    def find(self) -> SqliteDatabase | None:
        """The file's ledger, identified."""
        if not self._path.exists():
            return None
        if self._path.is_file() and self._path.stat().st_size == 0:
            raise LedgerFormatError(
                f"ledger {self._path} is an empty file.",
                hint="If it never was a ledger, remove it and open the ledger again; otherwise "
                "restore a copy, because its budget may be spent.",
                ledger=str(self._path),
            )
        database = sqlite.identified(
            self._path, kind=KIND, name=self.name, timeout=self._timeout, found=version_table_found
        )
        try:
            require_version(database)
        except BaseException:
            database.close()
            raise
        return database

    def make(self) -> None:
        """A file for its owner alone."""
        sqlite.create_file(self._path, kind=KIND, name=self.name, timeout=self._timeout, fill=_fill)

    def _refuse(self, reason: str, *, hint: str) -> NoReturn:
        raise LedgerUnavailableError(reason, hint=hint, ledger=str(self._path))


def _fill(connection: Connection) -> None:
    create(connection, (*tables_of(connection.dialect), *GUARDS))


# The ledger in one schema of a PostgreSQL database, for many hosts.


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


class PostgresPlace(Place):
    """The ledger in the schema that a URL names, or the schema of one to come.

    Errors: LedgerUnavailableError if the server cannot be reached, or there is no ledger and
    ``create`` is false; LedgerFormatError if the URL names no schema, "public" holds no ledger and
    another one does: an empty one beside it would give its whole budget again.
    """

    def __init__(self, url: DatabaseUrl, *, timeout: float, create: bool = True) -> None:
        self.name = f"ledger {url}"
        self._named = url.schema_named
        self._database = postgres.open_database(url, kind=KIND, name=self.name, timeout=timeout)
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
                    raise LedgerFormatError(
                        f"schema {database.schema!r} holds no ledger, but {elsewhere[0]!r} does.",
                        hint=f"Name the schema in the URL: ?schema={elsewhere[0]}",
                        ledger=database.name,
                        schemas=tuple(elsewhere),
                    )
                return None
        require_version(database)
        return database

    def make(self) -> None:
        """The tables and their guards; two processes may try at once."""
        database = self._database
        with database.translated(), database.transaction(write=True) as connection:
            if not version_table_found(connection, schema=database.schema):
                metadata.create_all(connection)
                create(connection, guards(database))

    def damage(self, connection: Connection) -> str:
        """The guards must be there and enabled; pages are the server's own care."""
        enabled = connection.exec_driver_sql(_GUARDS_FOUND, (self._database.schema,)).scalar()
        if enabled != len(TABLES):
            return "its append-only triggers are missing or disabled"
        asked = (self._database.schema, list(TABLES))
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
            for table in TABLES
        ),
    )
