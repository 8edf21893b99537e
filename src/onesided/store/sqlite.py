"""Stores in an SQLite file, or in memory.

Journal: the classic rollback journal (DELETE), not WAL. A store at rest must be one file: with
WAL, recent rows live in a second file, and whoever copies or moves only the first one silently
loses them (of a ledger: regains budget). The rollback journal also works on network file systems
and from read-only media, and lets SQLite notice that the file was moved or unlinked under a
writer. ``synchronous=EXTRA`` also syncs the folder after the journal is removed; with FULL a power
cut could bring the journal back and undo an acknowledged row.

Waiting: SQLite gives a lock to whoever looks first. Who writes again and again takes it back before
others look, so on a busy machine one of a crowd would never have its turn. So whoever waits holds
the file's folder meanwhile, shared with others who wait: a sign that falls with its process. A
writer that sees one steps back first, for as long as others need to look, and who has waited longer
looks more often. The sign decides nothing: where a system has none, or somebody else holds the
folder, only the order in a crowd is another.
"""

from __future__ import annotations

import errno
import fcntl
import functools
import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, Dialect
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import Pool, QueuePool, StaticPool

from onesided.errors import LedgerFormatError, LedgerUnavailableError
from onesided.store._paths import make_private, tell_if_open_to_others
from onesided.store.database import IN_USE, Database, Kind, Meaning, framed_out

_NO_LINKS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})
# A hostile file may hold a value of a gigabyte; nothing but an answer is longer than this.
LONGEST_ROW: Final = 2**24
_LONGEST: Final = 2**29


class SqliteDatabase(Database):
    """One SQLite database. Writers queue on BEGIN IMMEDIATE, which takes the file's write lock.

    path: its file; None for one in memory.
    """

    def __init__(self, engine: Engine, *, name: str, kind: Kind, path: Path | None = None) -> None:
        super().__init__(engine, name=name, kind=kind, private=path is None)
        self._path = path

    def lock(self, connection: Connection) -> None:
        """Nothing to add: the transaction began with BEGIN IMMEDIATE."""

    def identify(self, found: Callable[[Connection], bool]) -> None:
        """Errors: LedgerFormatError unless the file is marked as ours and ``found`` agrees.

        Warns if others than the owner can read it.
        """
        with self.translated():
            with self.engine.connect() as connection:
                marked = connection.exec_driver_sql("PRAGMA application_id").scalar()
                if marked != self.kind.mark or not found(connection):
                    raise LedgerFormatError(
                        f"{self.name} is not {self.kind.noun}: it does not carry the mark of one.",
                        hint="Give its own file. The file was not changed.",
                        **{self.kind.key: self.name},
                    )
            with self.engine.connect() as connection:
                # Only once the file is known to be ours, and outside a transaction: undo a
                # change to WAL that another program made.
                _raw(connection).take("PRAGMA journal_mode = DELETE")
        if self._path is not None:
            tell_if_open_to_others(self._path, noun=self.kind.noun.partition(" ")[2])

    def mark(self) -> None:
        """Mark an empty file as ours."""
        with self.translated(), self.transaction(write=True) as connection:
            connection.exec_driver_sql(f"PRAGMA application_id = {self.kind.mark}")

    def meaning(self, cause: BaseException) -> Meaning:
        """By SQLite's own primary result code."""
        code = _code(cause)
        if code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_TOOBIG}:
            reason = f"is damaged or is not {self.kind.noun}"
            return LedgerFormatError, reason, "Give its own file, or restore a copy."
        unknown = ("could not be read or written", "See the cause.")
        return LedgerUnavailableError, *_REASONS.get(code, unknown)


_REASONS: Final = {
    sqlite3.SQLITE_BUSY: IN_USE,
    sqlite3.SQLITE_READONLY: (
        "cannot be written: it is read-only, or was moved or removed while open",
        "Give a file in a folder that can be written, and open it again.",
    ),
    sqlite3.SQLITE_FULL: ("cannot grow: no space is left", "Free some space."),
    sqlite3.SQLITE_IOERR: ("could not be read or written by the system", "Check the disk."),
    sqlite3.SQLITE_CANTOPEN: (
        "cannot be opened",
        "Give a file in a folder that exists and can be written.",
    ),
    sqlite3.SQLITE_CONSTRAINT: (
        "refused the row",
        "Something wrote to it without its lock. Check it.",
    ),
}


# Seconds until a process that just began to wait looks again; a writer steps back for two of them.
_LOOK: Final = 0.01


class _Waiting(sqlite3.Connection):
    """A connection that waits for its locks as the module says; in memory there is no folder.

    A transaction takes its lock when it begins and, as a writer, waits for the last readers when it
    is committed: between the two nothing waits.
    """

    folder: Path | None = None
    timeout: float = 0

    def take(self, *statements: str) -> None:
        """Run each, once the lock that it needs is free. Errors: DBAPIError."""
        for statement in statements:
            try:
                self._in_turn(functools.partial(self.execute, statement))
            except sqlite3.Error as error:
                raise DBAPIError(statement, None, error) from error

    def begin(self, *, write: bool) -> None:
        """Begin a transaction with its lock. Errors: DBAPIError."""
        if not write:
            return self.take("BEGIN", "PRAGMA schema_version")
        with _sign(self.folder, fcntl.LOCK_EX) as nobody_waits:
            pass
        if not nobody_waits:
            time.sleep(2 * _LOOK)
        return self.take("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Readers that began before may end; new ones wait meanwhile."""
        self._in_turn(super().commit)

    def _in_turn(self, act: Callable[[], object]) -> None:
        began = time.monotonic()
        while True:
            passed = time.monotonic() - began
            try:
                act()
            except sqlite3.OperationalError as error:
                if _code(error) != sqlite3.SQLITE_BUSY or passed >= self.timeout:
                    raise
            else:
                return
            with _sign(self.folder, fcntl.LOCK_SH):
                time.sleep(_LOOK / (1 + passed))


@contextmanager
def _sign(folder: Path | None, how: int) -> Iterator[bool]:
    """Hold the folder, if that can be done at once. False if it cannot because others do."""
    if folder is None:
        yield True
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        yield True
        return
    free = True
    try:
        with suppress(OSError):  # a system without such locks
            try:
                fcntl.flock(handle, how | fcntl.LOCK_NB)
            except BlockingIOError:
                free = False
        yield free
    finally:
        os.close(handle)


def _raw(connection: Connection) -> _Waiting:
    raw: Any = connection.connection.dbapi_connection
    return cast("_Waiting", raw)


def _code(error: BaseException) -> int:
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)) & 0xFF


def open_memory(kind: Kind, *, name: str) -> SqliteDatabase:
    """An empty database that is gone when it is closed."""
    engine = _engine(":memory:", StaticPool, kind=kind)
    return SqliteDatabase(engine, name=name, kind=kind)


def identified(
    path: Path,
    *,
    kind: Kind,
    name: str,
    timeout: float,
    found: Callable[[Connection], bool] = lambda _: True,
    mark: bool = False,
) -> SqliteDatabase:
    """The database in a file that is there, if it is one of this kind and ``found`` agrees.

    timeout: seconds to wait for other writers. mark: have the file, which is empty, be one.
    Errors: LedgerFormatError.
    """
    engine = _file_engine(path, kind=kind, timeout=timeout)
    database = SqliteDatabase(engine, name=name, kind=kind, path=path)
    try:
        if mark:
            database.mark()
        database.identify(found)
    except BaseException:
        database.close()
        raise
    return database


def create_file(
    path: Path, *, kind: Kind, name: str, timeout: float, fill: Callable[[Connection], None]
) -> None:
    """Make a complete store, filled by ``fill``, under another name, then give it its own.

    So ``path`` never holds half a store, and of two processes that create it at once one wins
    and both use the winner's. Only its owner can read and write it.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    engine = _file_engine(draft, kind=kind, timeout=timeout)
    try:
        make_private(draft)
        with engine.begin() as connection:
            connection.exec_driver_sql(f"PRAGMA application_id = {kind.mark}")
            fill(connection)
        engine.dispose()
        _name(draft, path)
    except SQLAlchemyError as error:
        explained = SqliteDatabase(engine, name=name, kind=kind, path=path).explain(error)
        raise explained from framed_out(error)
    except OSError as error:
        raise LedgerUnavailableError(
            f"{name} cannot be created ({error.strerror}).",
            hint="Give a file in a folder that can be written.",
            **{kind.key: name},
        ) from error
    finally:
        engine.dispose()
        for left in (draft, draft.with_name(f"{draft.name}-journal")):
            left.unlink(missing_ok=True)


@contextmanager
def wide(connection: Connection) -> Iterator[None]:
    """Let values in that are longer than any row: stored answers."""
    raw: object = connection.connection.dbapi_connection
    if not isinstance(raw, sqlite3.Connection):
        yield
        return
    before = raw.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
    try:
        yield
    finally:
        raw.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, before)


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
        make_private(path)
        draft.replace(path)
    if os.name == "posix":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _file_engine(path: Path, *, kind: Kind, timeout: float) -> Engine:
    # Mode "rw" never makes a file: one that was removed while open must not come back empty.
    place = f"file:{quote(os.fsencode(path))}?mode=rw"
    pool = functools.partial(QueuePool, timeout=timeout)
    return _engine(place, pool, kind=kind, folder=path.parent, timeout=timeout)


@functools.cache
def _dialect() -> Dialect:
    """SQLite as SQLAlchemy knows it once it has seen the version: the same for every file."""
    engine = create_engine("sqlite://")
    engine.connect().close()
    engine.dispose()
    return engine.dialect


# A statement is written once for the process, not once for each database it is run on. What is
# asked of a store is a closed set of statements.
_written: Final[dict[object, object]] = {}


def _engine(
    place: str,
    pool: Callable[..., Pool],
    *,
    kind: Kind,
    folder: Path | None = None,
    timeout: float = 0,
) -> Engine:
    dialect = _dialect()
    connect: Any = functools.partial(
        sqlite3.connect, place, uri=True, check_same_thread=False, timeout=0, factory=_Waiting
    )
    engine = Engine(
        pool(connect, dialect=dialect),
        dialect,
        URL.create("sqlite", database=place),
        execution_options={"compiled_cache": _written},
    )
    pragmas = (
        "synchronous = EXTRA",
        "foreign_keys = ON",
        "trusted_schema = OFF",
        "cell_size_check = ON",
        *(("secure_delete = ON",) if kind.forgets else ()),
    )

    @event.listens_for(engine, "connect")
    def connected(connection: _Waiting, record: object) -> None:  # noqa: ARG001
        connection.folder, connection.timeout = folder, timeout
        connection.isolation_level = None  # transactions begin below, not in the driver
        # An edited row may hold bytes that are no text; reading it must not fail but be found.
        connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_ROW)
        connection.take(*(f"PRAGMA {pragma}" for pragma in pragmas))

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        mode = connection.get_execution_options().get("onesided_mode")
        _raw(connection).begin(write=mode == "write")

    return engine
