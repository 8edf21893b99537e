"""The monitor's state in an SQLite file or a PostgreSQL schema, through SQLAlchemy Core.

In SQLite with ``secure_delete``, so that expired rows leave no trace in the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    delete,
    insert,
    select,
    update,
)
from sqlalchemy.exc import SQLAlchemyError

from onesided.errors import LedgerFormatError, LedgerUnavailableError
from onesided.monitor._journal import Header, Kept, Step, Transaction
from onesided.store import DatabaseUrl, postgres, sqlite
from onesided.store.database import Database, Kind, framed_out

KIND: Final = Kind(
    noun="a monitor's state",
    key="state",
    mark=0x6F6E6D31,  # "onm1"
    lock=int.from_bytes(b"onemonit", "big"),
    forgets=True,
)
_metadata = MetaData()
_number = BigInteger().with_variant(Integer, "sqlite")

headers = Table(
    "onesided_monitor",
    _metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("version", Integer, nullable=False),
    Column("config", Text, nullable=False),
    Column("charge_id", Text, nullable=False),
    Column("paid", Boolean, nullable=False),
)
steps = Table(
    "onesided_monitor_steps",
    _metadata,
    Column("number", _number, primary_key=True, autoincrement=False),
    Column("batch", Text, nullable=False, unique=True),
    Column("time", _number, nullable=False),
    Column("clock", _number, nullable=False),
    Column("accepted", Text, nullable=False),
    Column("answer", LargeBinary, nullable=False),
    Column("head", Text, nullable=False),
    Index("onesided_monitor_steps_clock", "clock"),
    Index("onesided_monitor_steps_time", "time"),
)
contents = Table(
    "onesided_monitor_contents",
    _metadata,
    Column("number", _number, primary_key=True, autoincrement=False),
    Column("batch", Text, nullable=False),
    Column("time", _number, nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("secret", LargeBinary, nullable=False),
    Column("proof", LargeBinary, nullable=False),
    Index("onesided_monitor_contents_time", "time"),
)
keys = Table(
    "onesided_monitor_key",
    _metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("key", LargeBinary, nullable=False),
)
_TYPES: Final = {"int": int, "str": str, "bytes": bytes}


class _SqlTransaction:
    """One transaction on one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def header(self) -> Header | None:
        found = self._connection.execute(select(headers)).first()
        if found is None:
            return None
        return Header(
            version=found.version,
            config=found.config,
            charge_id=found.charge_id,
            paid=bool(found.paid),
        )

    def write_header(self, header: Header) -> None:
        values = asdict(header)
        if self.header() is None:
            self._connection.execute(insert(headers).values(id=1, **values))
        else:
            self._connection.execute(update(headers).values(**values))

    def last(self) -> Step | None:
        return self._one(select(steps).order_by(steps.c.number.desc()).limit(1))

    def find(self, batch: str) -> Step | None:
        return self._one(select(steps).where(steps.c.batch == batch))

    def steps(self, *, after: int = 0, clock_after: int | None = None) -> Iterator[Step]:
        query = select(steps).where(steps.c.number > after).order_by(steps.c.number)
        if clock_after is not None:
            query = query.where(steps.c.clock > clock_after)
        for row in self._connection.execute(query.execution_options(yield_per=100)):
            yield _step(row)

    def numbers(self, *, time_after: int | None) -> list[int]:
        query = select(steps.c.number).order_by(steps.c.number)
        if time_after is not None:
            query = query.where(steps.c.time > time_after)
        return list(self._connection.execute(query).scalars())

    def kept(self, batch: str | None = None) -> Iterator[Kept]:
        query = select(contents).order_by(contents.c.number).execution_options(yield_per=100)
        if batch is not None:
            query = query.where(contents.c.batch == batch)
        for row in self._connection.execute(query):
            yield Kept(**_typed(row, Kept))

    def write_key(self, key: bytes) -> None:
        self._connection.execute(delete(keys))
        self._connection.execute(insert(keys).values(id=1, key=key))

    def key(self) -> bytes:
        found = self._connection.execute(select(keys.c.key)).scalar()
        if found is None:
            raise LedgerFormatError(
                "the monitor's state holds no key, so its noise cannot go on.",
                hint="The state is damaged. Restore a copy.",
            )
        return bytes(found)

    def append(self, step: Step, kept: Kept, *, key: bytes, forget: int | None) -> None:
        self._connection.execute(insert(steps), asdict(step))
        self._connection.execute(insert(contents), asdict(kept))
        self.write_key(key)
        if forget is not None:
            self._connection.execute(delete(contents).where(contents.c.time <= forget))

    def _one(self, query: Any) -> Step | None:
        found = self._connection.execute(query).first()
        return None if found is None else _step(found)


def _step(row: Any) -> Step:
    return Step(**_typed(row, Step))


def _typed(row: Any, kind: type[Step | Kept]) -> dict[str, Any]:
    """The columns of a row, each of its field's type: in SQLite an edit may leave any other.

    Errors: LedgerFormatError.
    """
    values = {field.name: getattr(row, field.name) for field in fields(kind)}
    for field in fields(kind):
        wanted = _TYPES[str(field.type)]
        if not isinstance(values[field.name], wanted):
            raise LedgerFormatError(
                f"the monitor's state is damaged: {field.name} of step {values['number']} is of "
                "another type.",
                hint="Restore a copy.",
            )
    return values


class SqlJournal:
    """A monitor's state in a database; open it with :func:`open_file` or :func:`open_database`."""

    def __init__(self, database: Database) -> None:
        self.name = database.name
        self._database = database

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """Writers queue: on SQLite's write lock, or on one advisory lock of the database."""
        with self._transaction(write=True) as connection:
            yield _SqlTransaction(connection)

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """One consistent view."""
        with self._transaction(write=False) as connection:
            yield _SqlTransaction(connection)

    def close(self) -> None:
        """Let go of the database. Closing twice is fine."""
        self._database.close()

    def prepare(self) -> None:
        """Make the tables where there are none."""
        with self._transaction(write=True) as connection:
            _metadata.create_all(connection)

    @contextmanager
    def _transaction(self, *, write: bool) -> Iterator[Connection]:
        try:
            with self._database.transaction(write=write) as connection:
                yield connection
        except SQLAlchemyError as error:
            known = self._database.explain(error)
            if isinstance(known, LedgerUnavailableError):
                again = "Send the same batch again: if its answer was stored, that is published."
                hint = f"{known.hint} Nothing was published. {again}"
                known = LedgerUnavailableError(known.reason, hint=hint, **known.values)
            raise known from framed_out(error)


def open_file(path: Path, *, timeout: float) -> SqlJournal:
    """The state in that SQLite file, made if there is none.

    Errors: LedgerFormatError for a file that is not a monitor's; LedgerUnavailableError.
    """
    path = path.expanduser().resolve()
    name = f"the monitor's state {path}"
    if not path.parent.is_dir():
        raise LedgerUnavailableError(f"the folder of {name} does not exist.", hint="Make it first.")
    if not path.exists():
        sqlite.create_file(path, kind=KIND, name=name, timeout=timeout, fill=_metadata.create_all)
    database = sqlite.open_file(path, kind=KIND, name=name, timeout=timeout)
    journal = SqlJournal(database)
    try:
        if path.stat().st_size == 0:
            # What a crash of 0.1.0 left before the first transaction: a new state. If it was an
            # old one that a disaster emptied, the ledger will not pay for it twice.
            database.mark()
        database.identify(lambda connection: True)  # noqa: ARG005 - tables are made below
        journal.prepare()
    except BaseException:
        journal.close()
        raise
    return journal


def open_database(url: DatabaseUrl, *, timeout: float) -> SqlJournal:
    """The state in the schema that ``url`` names."""
    database = postgres.open_database(
        url, kind=KIND, name=f"the monitor's state {url}", timeout=timeout
    )
    journal = SqlJournal(database)
    try:
        journal.prepare()
    except BaseException:
        journal.close()
        raise
    return journal
