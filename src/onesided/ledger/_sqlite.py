"""The ledger in an SQLite file, or in memory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, NoReturn

from sqlalchemy import Connection

from onesided.errors import LedgerFormatError, LedgerUnavailableError
from onesided.ledger import _schema
from onesided.ledger._store import ensure_current, version_table_found
from onesided.store import sqlite
from onesided.store.sqlite import SqliteDatabase

# INSERT OR REPLACE deletes without firing DELETE triggers, so an insertion may only ever come
# after the last row and may not collide with an earlier release.
GUARDS: Final = (
    *(
        f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
        "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
        for table in _schema.TABLES
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


class MemoryPlace:
    """A ledger that is gone when it is closed."""

    name = "the ledger in memory"

    def __init__(self) -> None:
        self._database = sqlite.open_memory(_schema.KIND, name=self.name)
        self.make()

    def find(self) -> SqliteDatabase:
        """The one database."""
        return self._database

    def make(self) -> None:
        """Fill it."""
        with self._database.transaction(write=True) as connection:
            _fill(connection)

    def damage(self, connection: Connection) -> str:
        """As for a file."""
        return _damage(self._database, connection)

    def close(self) -> None:
        """Nothing else is held."""


class FilePlace:
    """A ledger at a path, or the path of one to come.

    The path is looked at through SQLite only: opening and closing a file by hand would drop the
    locks that another connection of this process holds on it.
    Errors: LedgerUnavailableError if no ledger can be there, or is not there and ``create`` is
    false; LedgerFormatError for a file that is none.
    """

    def __init__(self, path: Path, *, timeout: float, create: bool = True) -> None:
        self._path = path.expanduser().resolve()
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
        _refuse_empty(self._path)
        database = sqlite.open_file(
            self._path, kind=_schema.KIND, name=self.name, timeout=self._timeout
        )
        try:
            database.identify(version_table_found)
            ensure_current(database)
        except BaseException:
            database.close()
            raise
        self._database = database
        return database

    def make(self) -> None:
        """A file for its owner alone."""
        sqlite.create_file(
            self._path, kind=_schema.KIND, name=self.name, timeout=self._timeout, fill=_fill
        )

    def damage(self, connection: Connection) -> str:
        """SQLite's integrity check, then the guards."""
        return _damage(self._database, connection)

    def close(self) -> None:
        """Nothing else is held."""

    def _refuse(self, reason: str, *, hint: str) -> NoReturn:
        raise LedgerUnavailableError(reason, hint=hint, ledger=str(self._path))


def _fill(connection: Connection) -> None:
    _schema.create(connection, guards=GUARDS)


def _damage(database: SqliteDatabase, connection: Connection) -> str:
    """SQLite's integrity check, then the guards."""
    complaint = database.damage(connection)
    if complaint:
        return complaint
    found = connection.exec_driver_sql("SELECT sql FROM sqlite_master WHERE type = 'trigger'")
    held = set(found.scalars())
    if not held >= set(GUARDS):
        return "its append-only triggers are missing or changed"
    return "" if held == set(GUARDS) else "it has triggers that are not its own"


def _refuse_empty(path: Path) -> None:
    # A ledger is never empty, so an empty file may be one that a disaster emptied.
    if path.is_file() and path.stat().st_size == 0:
        raise LedgerFormatError(
            f"ledger {path} is an empty file.",
            hint="If it never was a ledger, remove it and open the ledger again; otherwise "
            "restore a copy, because its budget may be spent.",
            ledger=str(path),
        )
