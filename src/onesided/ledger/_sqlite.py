"""The ledger in an SQLite file, or in memory."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

from sqlalchemy import Connection

from onesided.errors import LedgerFormatError, LedgerUnavailableError
from onesided.ledger import _schema
from onesided.ledger._store import Store, version_table_found
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


def open_memory() -> Store:
    """A ledger that is gone when it is closed."""
    database = sqlite.open_memory(_schema.KIND, name="the ledger in memory")
    with database.transaction(write=True) as connection:
        _fill(connection)
    return _store(database)


def open_file(path: Path, *, timeout: float, create: bool = True) -> Store:
    """The ledger at ``path``, made if there is no file yet and ``create`` allows it.

    The path is looked at through SQLite only: opening and closing a file by hand would drop the
    locks that another connection of this process holds on it.
    """
    path = path.expanduser().resolve()
    name = f"ledger {path}"
    if not path.parent.is_dir():
        raise LedgerUnavailableError(
            f"the folder of {name} does not exist.", hint="Make it first.", ledger=str(path)
        )
    if not path.exists():
        if not create:
            raise LedgerUnavailableError(
                f"there is no {name}.",
                hint="Check the path; a ledger is made by the first publication.",
                ledger=str(path),
            )
        sqlite.create_file(path, kind=_schema.KIND, name=name, timeout=timeout, fill=_fill)
    _refuse_empty(path)
    database = sqlite.open_file(path, kind=_schema.KIND, name=name, timeout=timeout)
    store = _store(database)
    try:
        database.identify(version_table_found)
        store.ensure_current()
    except BaseException:
        store.close()
        raise
    return store


def _store(database: SqliteDatabase) -> Store:
    return Store(database, damage=partial(_damage, database))


def _fill(connection: Connection) -> None:
    _schema.create(connection, guards=GUARDS)


def _damage(database: SqliteDatabase, connection: Connection) -> str:
    """SQLite's integrity check, then the guards."""
    complaint = database.damage(connection)
    if complaint:
        return complaint
    found = connection.exec_driver_sql("SELECT sql FROM sqlite_master WHERE type = 'trigger'")
    held = set(found.scalars()) >= set(GUARDS)
    return "" if held else "its append-only triggers are missing or changed"


def _refuse_empty(path: Path) -> None:
    # A ledger is never empty, so an empty file may be one that a disaster emptied.
    if path.is_file() and path.stat().st_size == 0:
        raise LedgerFormatError(
            f"ledger {path} is an empty file.",
            hint="If it never was a ledger, remove it and open the ledger again; otherwise "
            "restore a copy, because its budget may be spent.",
            ledger=str(path),
        )
