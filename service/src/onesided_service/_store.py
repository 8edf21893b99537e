"""The service's state in one open database: SQLite by default, PostgreSQL by URL.

Every change is one transaction under the writers' lock of the state, so that two workers never
decide on the same rows. The ledgers have locks of their own; no transaction holds both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from sqlalchemy import Connection, Table, insert, select
from sqlalchemy.exc import SQLAlchemyError

from onesided.errors import LedgerUnavailableError
from onesided.store import DatabaseUrl, postgres, sqlite
from onesided.store.database import Database, framed_out
from onesided_service._schema import KIND, metadata

TIMEOUT = 60.0


class State:
    """People, tokens, asks and published releases. Open it with :meth:`open`.

    >>> state = State.open("service.db")
    >>> state.close()
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    def open(cls, where: str, *, timeout: float = TIMEOUT) -> Self:
        """The state at a path or a URL, made if there is none. Errors: LedgerUnavailableError."""
        database = _from_url(where, timeout) if DatabaseUrl.is_for(where) else _file(where, timeout)
        state = cls(database)
        try:
            with state.write() as connection:
                metadata.create_all(connection)
        except BaseException:
            state.close()
            raise
        return state

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction under the writers' lock."""
        with self._transaction(write=True) as connection:
            yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One consistent view."""
        with self._transaction(write=False) as connection:
            yield connection

    def one(self, query: Any) -> Mapping[str, Any] | None:
        """The first row of a query, by column."""
        with self.read() as connection:
            found = connection.execute(query).mappings().first()
            return None if found is None else dict(found)

    def all(self, query: Any) -> list[Mapping[str, Any]]:
        """All rows of a query, by column."""
        with self.read() as connection:
            return [dict(row) for row in connection.execute(query).mappings()]

    def run(self, statement: Any) -> int:
        """One change in a transaction of its own; how many rows it changed."""
        with self.write() as connection:
            return int(connection.execute(statement).rowcount)

    def close(self) -> None:
        """Let go of the database. Closing twice is fine."""
        self._database.close()

    @contextmanager
    def _transaction(self, *, write: bool) -> Iterator[Connection]:
        try:
            with self._database.transaction(write=write) as connection:
                yield connection
        except SQLAlchemyError as error:
            raise self._database.explain(error) from framed_out(error)


def put_if_absent(connection: Connection, table: Table, row: Mapping[str, object]) -> bool:
    """Insert a row unless its primary key is there; whether it was inserted. Under the lock."""
    keys = [column == row[column.name] for column in table.primary_key.columns]
    if connection.execute(select(table).where(*keys)).first() is not None:
        return False
    connection.execute(insert(table).values(**row))
    return True


def _file(where: str, timeout: float) -> Database:
    path = Path(where).expanduser().resolve()
    name = f"the service's state {path}"
    if not path.parent.is_dir():
        raise LedgerUnavailableError(f"the folder of {name} does not exist.", hint="Make it first.")
    if not path.exists():
        sqlite.create_file(path, kind=KIND, name=name, timeout=timeout, fill=metadata.create_all)
    database = sqlite.open_file(path, kind=KIND, name=name, timeout=timeout)
    try:
        database.identify(_always)
    except BaseException:
        database.close()
        raise
    return database


def _from_url(where: str, timeout: float) -> Database:
    url = DatabaseUrl(where)
    name = f"the service's state {url}"
    return postgres.open_database(url, kind=KIND, name=name, timeout=timeout)


_always: Callable[[Connection], bool] = lambda connection: True  # noqa: ARG005, E731 - made above
