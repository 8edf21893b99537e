"""The monitor's state in an SQLite file or a PostgreSQL schema, through SQLAlchemy Core.

SQLite: rollback journal and ``synchronous=EXTRA`` as for the ledger, and for its reasons; besides
``secure_delete``, so that expired rows leave no trace in the file. Every transaction has a
connection of its own, so threads and forked processes never share one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Engine,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    create_engine,
    delete,
    event,
    insert,
    select,
    update,
)
from sqlalchemy.engine import URL
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from onesided.errors import LedgerError, LedgerFormatError, LedgerUnavailableError
from onesided.monitor._journal import Header, Step, Transaction

APPLICATION_ID: Final = 0x6F6E6D31  # "onm1"
_LOCK: Final = int.from_bytes(b"onemonit", "big")
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
    Column("digest", Text, nullable=False),
    Column("accepted", Text, nullable=False),
    Column("answer", LargeBinary, nullable=False),
    Column("head", Text, nullable=False),
    Index("onesided_monitor_steps_clock", "clock"),
)
contents = Table(
    "onesided_monitor_contents",
    _metadata,
    Column("number", _number, primary_key=True, autoincrement=False),
    Column("batch", Text, nullable=False),
    Column("time", _number, nullable=False),
    Column("content", LargeBinary, nullable=False),
    Index("onesided_monitor_contents_time", "time"),
)
_STEP: Final = tuple(field.name for field in fields(Step))


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

    def contents(self) -> Iterator[tuple[str, int, bytes]]:
        query = select(contents).order_by(contents.c.number).execution_options(yield_per=100)
        for row in self._connection.execute(query):
            yield row.batch, row.time, bytes(row.content)

    def append(self, step: Step, content: bytes, *, forget: int | None) -> None:
        self._connection.execute(insert(steps), asdict(step))
        row = {"number": step.number, "batch": step.batch, "time": step.time, "content": content}
        self._connection.execute(insert(contents), row)
        if forget is not None:
            self._connection.execute(delete(contents).where(contents.c.time <= forget))

    def _one(self, query: Any) -> Step | None:
        found = self._connection.execute(query).first()
        return None if found is None else _step(found)


def _step(row: Any) -> Step:
    values = {name: getattr(row, name) for name in _STEP}
    return Step(**(values | {"answer": bytes(values["answer"])}))


class SqlJournal:
    """A monitor's state in a database; open it with :func:`open_file` or :func:`open_database`."""

    def __init__(self, engine: Engine, *, name: str) -> None:
        self.name = name
        self._engine = engine
        self._closed = False

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """Writers queue: on SQLite's write lock, or on one advisory lock of the database."""
        with self._transaction("write") as connection:
            if connection.dialect.name == "postgresql":
                connection.exec_driver_sql(
                    f"SELECT pg_advisory_xact_lock({_LOCK}), "
                    "CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') "
                    "THEN set_config('synchronous_commit', 'on', true) END"
                )
            yield _SqlTransaction(connection)

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """One consistent view."""
        with self._transaction("read") as connection:
            yield _SqlTransaction(connection)

    def close(self) -> None:
        """Let go of the database. Closing twice is fine."""
        self._closed = True
        self._engine.dispose()

    def prepare(self) -> None:
        """Make the tables where there are none."""
        with self.write() as transaction:
            connection = transaction._connection  # type: ignore[attr-defined]  # noqa: SLF001
            _metadata.create_all(connection)
            if connection.dialect.name == "sqlite":
                connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")

    @contextmanager
    def _transaction(self, mode: str) -> Iterator[Connection]:
        if self._closed:
            raise LedgerError("the monitor is closed.", hint="Open it again.", state=self.name)
        try:
            with self._engine.connect() as connection:
                connection.execution_options(onesided_mode=mode)
                with connection.begin():
                    yield connection
        except SQLAlchemyError as error:
            raise self._explained(error) from error

    def _explained(self, error: SQLAlchemyError) -> LedgerError:
        cause = getattr(error, "orig", None) or error
        code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
        if code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
            return LedgerFormatError(
                f"{self.name} is damaged or is not a monitor's state ({cause}).",
                hint="Give the state's own file, or restore a copy.",
                state=self.name,
            )
        said = str(cause).strip().partition("\n")[0]
        return LedgerUnavailableError(
            f"{self.name} could not be read or written ({said}).",
            hint="Nothing was published. Send the same batch again: if its answer was stored, that "
            "is what will be published.",
            state=self.name,
        )


def open_file(path: Path, *, timeout: float) -> SqlJournal:
    """The state in that SQLite file, made if there is none.

    Errors: LedgerFormatError for a file that is not a monitor's; LedgerUnavailableError.
    """
    path = path.expanduser().resolve()
    if not path.parent.is_dir():
        raise LedgerUnavailableError(
            f"the folder of the monitor's state {path} does not exist.", hint="Make it first."
        )
    # A file of no bytes is what a crash leaves before the first transaction: a new state. If it
    # was an old one that a disaster emptied, the ledger will not pay for it twice.
    fresh = not path.exists() or path.stat().st_size == 0
    journal = SqlJournal(_file_engine(path, timeout=timeout), name=f"the monitor's state {path}")
    if not fresh:
        _identify(journal)
    journal.prepare()
    return journal


def _identify(journal: SqlJournal) -> None:
    with journal.read() as transaction:
        connection = transaction._connection  # type: ignore[attr-defined]  # noqa: SLF001
        marked = connection.exec_driver_sql("PRAGMA application_id").scalar()
        empty = connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar() == 0
        if marked != APPLICATION_ID and not (marked == 0 and empty):
            raise LedgerFormatError(
                f"{journal.name} is not a monitor's state: it does not carry its mark.",
                hint="Give the monitor's own file; its ledger is another one. "
                "The file was not changed.",
                state=journal.name,
            )


def _file_engine(path: Path, *, timeout: float) -> Engine:
    url = URL.create(
        "sqlite+pysqlite",
        database=f"file:{quote(str(path))}",
        query={"mode": "rwc", "uri": "true"},
    )
    engine = create_engine(url, poolclass=NullPool)

    @event.listens_for(engine, "connect")
    def connected(connection: sqlite3.Connection, record: object) -> None:  # noqa: ARG001
        connection.isolation_level = None  # transactions begin below, not in the driver
        for pragma in (
            f"busy_timeout = {int(timeout * 1000)}",
            "synchronous = EXTRA",
            "secure_delete = ON",
            "trusted_schema = OFF",
        ):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        mode = connection.get_execution_options().get("onesided_mode")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if mode == "write" else "BEGIN")

    return engine


def open_database(url: URL, *, timeout: float) -> SqlJournal:
    """The state in the first schema of a PostgreSQL connection's search path."""
    engine = create_engine(
        url.set(drivername="postgresql+psycopg"),
        poolclass=NullPool,
        isolation_level="READ COMMITTED",
        connect_args={"connect_timeout": max(2, int(timeout))},
    )

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if connection.get_execution_options().get("onesided_mode") != "write":
            connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {int(timeout * 1000)}")

    journal = SqlJournal(
        engine, name=f"the monitor's state {url.render_as_string(hide_password=True)}"
    )
    journal.prepare()
    return journal
