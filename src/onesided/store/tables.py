"""A store of tables of its kind: an SQLite file or a PostgreSQL schema, made if there is none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Self

from sqlalchemy import Connection, MetaData
from sqlalchemy.exc import SQLAlchemyError

from onesided.errors import LedgerError, LedgerUnavailableError
from onesided.store import postgres, sqlite
from onesided.store._paths import DatabaseUrl
from onesided.store.database import Database, Kind, framed_out


class Tables:
    """A store whose rows may change; a subclass says its kind, its tables and what it is called.

    adopts: whether an empty file is taken for a new store rather than refused.
    """

    kind: ClassVar[Kind]
    metadata: ClassVar[MetaData]
    noun: ClassVar[str]
    adopts: ClassVar[bool] = False

    def __init__(self, database: Database) -> None:
        self.name = database.name
        self._database = database

    @classmethod
    def open(cls, where: str | Path | DatabaseUrl | None, *, timeout: float = 60.0) -> Self:
        """The store at a path or a URL, or one in memory. timeout: seconds to wait for writers.

        Errors: LedgerFormatError for a file that is something else; LedgerUnavailableError.
        """
        if where is None:
            store = cls(sqlite.open_memory(cls.kind, name=f"{cls.noun} in memory"))
        elif isinstance(where, DatabaseUrl) or (isinstance(where, str) and "://" in where):
            url = DatabaseUrl.of(where)
            name = f"{cls.noun} {url}"
            store = cls(postgres.open_database(url, kind=cls.kind, name=name, timeout=timeout))
        else:
            store = cls(cls._file(Path(where).expanduser().resolve(), timeout))
        try:
            with store.transaction(write=True) as connection:
                cls.metadata.create_all(connection)
        except BaseException:
            store.close()
            raise
        return store

    @classmethod
    def _file(cls, path: Path, timeout: float) -> Database:
        name, kind = f"{cls.noun} {path}", cls.kind
        if not path.parent.is_dir():
            reason = f"the folder of {name} does not exist."
            raise LedgerUnavailableError(reason, hint="Make it first.")
        if not path.exists():
            fill = cls.metadata.create_all
            sqlite.create_file(path, kind=kind, name=name, timeout=timeout, fill=fill)
        empty = cls.adopts and path.stat().st_size == 0
        return sqlite.identified(path, kind=kind, name=name, timeout=timeout, mark=empty)

    def close(self) -> None:
        """Let go of the database. Closing twice is fine."""
        self._database.close()

    def explained(self, error: SQLAlchemyError) -> LedgerError:
        """What an error of the database means to the user."""
        return self._database.explain(error)

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[Connection]:
        """One consistent view; with ``write`` under the writers' lock. Errors: LedgerError."""
        try:
            with self._database.transaction(write=write) as connection:
                yield connection
        except SQLAlchemyError as error:
            raise self.explained(error) from framed_out(error)
