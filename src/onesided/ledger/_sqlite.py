"""The ledger in an SQLite file, or in memory.

Journal: the classic rollback journal (DELETE), not WAL. A privacy ledger at rest must be one
file: with WAL, recent charges live in a second file, and whoever copies or moves only the first
one silently regains budget. The rollback journal also works on network file systems and from
read-only media, and lets SQLite notice that the file was moved or unlinked under a writer.
``synchronous=EXTRA`` also syncs the folder after the journal is removed; with FULL a power cut
could bring the journal back and undo an acknowledged charge.
"""

from __future__ import annotations

import errno
import os
import secrets
import sqlite3
from pathlib import Path
from typing import Final
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import StaticPool

from onesided.errors import LedgerError, LedgerFormatError, LedgerUnavailableError
from onesided.ledger import _schema
from onesided.ledger._store import Store, version_table_found

_NO_LINKS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})
APPLICATION_ID: Final = 0x6F6E6531  # "one1"; SQLite keeps it in the file's header

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


class SqliteStore(Store):
    """One SQLite database. Writers queue on BEGIN IMMEDIATE, which takes the file's write lock."""

    def lock(self, connection: Connection) -> None:
        """Nothing to add: the transaction began with BEGIN IMMEDIATE."""

    def identify(self) -> None:
        """Errors: LedgerFormatError unless the file is a ledger of ours."""
        with self._translated():
            with self._live_engine().connect() as connection:
                marked = connection.exec_driver_sql("PRAGMA application_id").scalar()
                if marked != APPLICATION_ID or not version_table_found(connection):
                    raise LedgerFormatError(
                        f"{self.name} is not a ledger: it does not carry a ledger's mark.",
                        hint="Give the ledger's own file. The file was not changed.",
                        ledger=self.name,
                    )
            with self._live_engine().connect() as connection:
                # Only once the file is known to be ours, and outside a transaction: undo a
                # change to WAL that another program made.
                outside = connection.execution_options(onesided_mode="outside")
                outside.exec_driver_sql("PRAGMA journal_mode = DELETE")

    def explain(self, error: SQLAlchemyError) -> LedgerError:
        """By SQLite's own primary result code."""
        cause = getattr(error, "orig", None) or error
        code = getattr(cause, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        values = {"ledger": self.name, "cause": str(cause)}
        if code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
            return LedgerFormatError(
                f"{self.name} is damaged or is not a ledger ({cause}).",
                hint="Give the ledger's own file, or restore a copy.",
                **values,
            )
        reason, hint = _REASONS.get(code, ("could not be read or written", "See the cause."))
        return LedgerUnavailableError(f"{self.name} {reason} ({cause}).", hint=hint, **values)

    def damage(self, connection: Connection) -> str:
        """SQLite's integrity check, then the guards."""
        complaint = connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar()
        if complaint != "ok":
            return f"SQLite finds: {complaint}"
        found = connection.exec_driver_sql("SELECT sql FROM sqlite_master WHERE type = 'trigger'")
        held = set(found.scalars()) >= set(GUARDS)
        return "" if held else "its append-only triggers are missing or changed"


_REASONS: Final = {
    sqlite3.SQLITE_BUSY: (
        "is in use by another process",
        "Try again, or give Ledger.open a longer timeout.",
    ),
    sqlite3.SQLITE_READONLY: (
        "cannot be written: it is read-only, or was moved or removed while open",
        "Give a file in a folder that can be written, and open the ledger again.",
    ),
    sqlite3.SQLITE_FULL: ("cannot grow: no space is left", "Free some space."),
    sqlite3.SQLITE_IOERR: ("could not be read or written by the system", "Check the disk."),
    sqlite3.SQLITE_CANTOPEN: (
        "cannot be opened",
        "Give a file in a folder that exists and can be written.",
    ),
    sqlite3.SQLITE_CONSTRAINT: (
        "refused the row",
        "Something wrote to the ledger without its lock. Check the ledger.",
    ),
}


def open_memory() -> Store:
    """A ledger that is gone when it is closed."""
    engine = create_engine(
        "sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False}
    )
    _configure(engine, timeout=0)
    store = SqliteStore(engine, name="the ledger in memory", private=True)
    with engine.begin() as connection:
        _schema.create(connection, guards=GUARDS)
    return store


def open_file(path: Path, *, timeout: float, create: bool = True) -> Store:
    """The ledger at ``path``, made if there is no file yet and ``create`` allows it.

    The path is looked at through SQLite only: opening and closing a file by hand would drop the
    locks that another connection of this process holds on it.
    """
    path = path.expanduser().resolve()
    if not path.parent.is_dir():
        raise LedgerUnavailableError(
            f"the folder of ledger {path} does not exist.", hint="Make it first.", ledger=str(path)
        )
    if not path.exists():
        if not create:
            raise LedgerUnavailableError(
                f"there is no ledger {path}.",
                hint="Check the path; a ledger is made by the first publication.",
                ledger=str(path),
            )
        _create_file(path, timeout=timeout)
    _refuse_empty(path)
    engine = _engine(path, mode="rw", timeout=timeout)
    store = SqliteStore(engine, name=f"ledger {path}")
    try:
        store.identify()
        store.ensure_current()
    except BaseException:
        store.close()
        raise
    return store


def _create_file(path: Path, *, timeout: float) -> None:
    """Make a complete ledger under another name, then give it its own.

    So ``path`` never holds half a ledger, and of two processes that create it at once one wins
    and both use the winner's.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    engine = _engine(draft, mode="rwc", timeout=timeout)
    try:
        with engine.begin() as connection:
            connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
            _schema.create(connection, guards=GUARDS)
        engine.dispose()
        _name(draft, path)
    except SQLAlchemyError as error:
        raise SqliteStore(engine, name=f"ledger {path}").explain(error) from error
    except OSError as error:
        raise LedgerUnavailableError(
            f"ledger {path} cannot be created ({error.strerror}).",
            hint="Give a file in a folder that can be written.",
            ledger=str(path),
        ) from error
    finally:
        engine.dispose()
        for left in (draft, draft.with_name(f"{draft.name}-journal")):
            left.unlink(missing_ok=True)


def _name(draft: Path, path: Path) -> None:
    try:
        os.link(draft, path)
    except FileExistsError:
        return
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # Some file systems have no links: reserve the name, then fill it. Whoever looks in
        # between sees an empty file and refuses it, which is safe.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o644))
        draft.replace(path)
    if os.name == "posix":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _refuse_empty(path: Path) -> None:
    # A ledger is never empty, so an empty file may be one that a disaster emptied.
    if path.is_file() and path.stat().st_size == 0:
        raise LedgerFormatError(
            f"ledger {path} is an empty file.",
            hint="If it never was a ledger, remove it and open the ledger again; otherwise "
            "restore a copy, because its budget may be spent.",
            ledger=str(path),
        )


def _engine(path: Path, *, mode: str, timeout: float) -> Engine:
    # Mode "rw" never makes a file: one that was removed while open must not come back empty.
    engine = create_engine(
        URL.create(
            "sqlite+pysqlite",
            database=f"file:{quote(os.fsencode(path))}",
            query={"mode": mode, "uri": "true"},
        ),
        connect_args={"check_same_thread": False},
    )
    _configure(engine, timeout=timeout)
    return engine


def _configure(engine: Engine, *, timeout: float) -> None:
    @event.listens_for(engine, "connect")
    def connected(connection: sqlite3.Connection, record: object) -> None:  # noqa: ARG001
        connection.isolation_level = None  # transactions begin below, not in the driver
        # An edited row may hold bytes that are no text; reading it must not fail but be found.
        connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        for pragma in (
            f"busy_timeout = {int(timeout * 1000)}",
            "synchronous = EXTRA",
            "foreign_keys = ON",
            "trusted_schema = OFF",
            "cell_size_check = ON",
        ):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        mode = connection.get_execution_options().get("onesided_mode", "read")
        if mode != "outside":
            connection.exec_driver_sql("BEGIN IMMEDIATE" if mode == "write" else "BEGIN")
