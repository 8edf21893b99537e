"""The monitor's state in memory, an SQLite file or a PostgreSQL schema, through SQLAlchemy Core.

In SQLite with ``secure_delete``, so that expired rows leave no trace in the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from onesided.errors import LedgerError, LedgerFormatError, LedgerUnavailableError
from onesided.monitor._machine import Header, Kept, Step
from onesided.store.database import Kind
from onesided.store.tables import Tables

KIND: Final = Kind(
    noun="a monitor's state",
    key="state",
    mark=0x6F6E6D31,  # "onm1"
    lock=int.from_bytes(b"onemonit", "big"),
    forgets=True,
)
_metadata = sa.MetaData()
_number = sa.BigInteger().with_variant(sa.Integer, "sqlite")

headers = sa.Table(
    "onesided_monitor",
    _metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("config", sa.Text, nullable=False),
    sa.Column("charge_id", sa.Text, nullable=False),
    sa.Column("paid", sa.Boolean, nullable=False),
)
steps = sa.Table(
    "onesided_monitor_steps",
    _metadata,
    sa.Column("number", _number, primary_key=True, autoincrement=False),
    sa.Column("batch", sa.Text, nullable=False, unique=True),
    sa.Column("time", _number, nullable=False),
    sa.Column("clock", _number, nullable=False),
    sa.Column("accepted", sa.Text, nullable=False),
    sa.Column("answer", sa.LargeBinary, nullable=False),
    sa.Column("head", sa.Text, nullable=False),
    sa.Index("onesided_monitor_steps_clock", "clock"),
    sa.Index("onesided_monitor_steps_time", "time"),
)
contents = sa.Table(
    "onesided_monitor_contents",
    _metadata,
    sa.Column("number", _number, primary_key=True, autoincrement=False),
    sa.Column("batch", sa.Text, nullable=False),
    sa.Column("time", _number, nullable=False),
    sa.Column("content", sa.LargeBinary, nullable=False),
    sa.Column("secret", sa.LargeBinary, nullable=False),
    sa.Column("proof", sa.LargeBinary, nullable=False),
    sa.Index("onesided_monitor_contents_time", "time"),
)
keys = sa.Table(
    "onesided_monitor_key",
    _metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("key", sa.LargeBinary, nullable=False),
)
_TYPES: Final = {"int": int, "str": str, "bytes": bytes}


class Transaction:
    """One view of the store; what is written becomes durable when the transaction ends well."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def header(self) -> Header | None:
        """What the state was made for; None for a new one."""
        found = self._connection.execute(sa.select(headers)).first()
        if found is None:
            return None
        return Header(
            version=found.version,
            config=found.config,
            charge_id=found.charge_id,
            paid=bool(found.paid),
        )

    def write_header(self, header: Header) -> None:
        """Set or replace the header."""
        values = asdict(header)
        if self.header() is None:
            self._connection.execute(sa.insert(headers).values(id=1, **values))
        else:
            self._connection.execute(sa.update(headers).values(**values))

    def last(self) -> Step | None:
        """The latest step."""
        return self._one(sa.select(steps).order_by(steps.c.number.desc()).limit(1))

    def find(self, batch: str) -> Step | None:
        """The step of that batch."""
        return self._one(sa.select(steps).where(steps.c.batch == batch))

    def steps(self, *, after: int = 0, clock_after: int | None = None) -> Iterator[Step]:
        """Steps in order, those with a number above ``after`` and a clock above ``clock_after``."""
        query = sa.select(steps).where(steps.c.number > after).order_by(steps.c.number)
        if clock_after is not None:
            query = query.where(steps.c.clock > clock_after)
        with self._connection.execute(query.execution_options(yield_per=100)) as found:
            yield from map(_step, found)  # closed also where not all are read

    def numbers(self, *, time_after: int | None) -> list[int]:
        """The numbers of the steps whose batch has a time above ``time_after``, in order."""
        query = sa.select(steps.c.number).order_by(steps.c.number)
        if time_after is not None:
            query = query.where(steps.c.time > time_after)
        return list(self._connection.execute(query).scalars())

    def kept(self, batch: str | None = None) -> Iterator[Kept]:
        """The batches whose rows are still kept, in order; or that one alone."""
        query = sa.select(contents).order_by(contents.c.number).execution_options(yield_per=100)
        if batch is not None:
            query = query.where(contents.c.batch == batch)
        with self._connection.execute(query) as found:
            yield from (Kept(**_typed(row, Kept)) for row in found)

    def write_key(self, key: bytes) -> None:
        """Set the first key of a new state, or replace it."""
        self._connection.execute(sa.delete(keys))
        self._connection.execute(sa.insert(keys).values(id=1, key=key))

    def key(self) -> bytes:
        """The key that the next step's noise follows from. Errors: LedgerFormatError."""
        found = self._connection.execute(sa.select(keys.c.key)).scalar()
        if found is None:
            raise LedgerFormatError(
                "the monitor's state holds no key, so its noise cannot go on.",
                hint="The state is damaged. Restore a copy.",
            )
        return bytes(found)

    def append(self, step: Step, kept: Kept, *, key: bytes, forget: int | None) -> None:
        """Add a step and its rows, replace the key, forget rows of batches not after ``forget``."""
        self._connection.execute(sa.insert(steps), asdict(step))
        self._connection.execute(sa.insert(contents), asdict(kept))
        self.write_key(key)
        if forget is not None:
            self._connection.execute(sa.delete(contents).where(contents.c.time <= forget))

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


class SqlJournal(Tables):
    """A monitor's state in a database. Writers queue on its lock.

    An empty file is what a crash of 0.1.0 left before the first transaction: a new state. If it
    was an old one that a disaster emptied, the ledger will not pay for it twice.
    """

    kind, metadata, noun, adopts = KIND, _metadata, "the monitor's state", True

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """A transaction that no other writer overlaps."""
        with self.transaction(write=True) as connection:
            yield Transaction(connection)

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """One consistent view."""
        with self.transaction(write=False) as connection:
            yield Transaction(connection)

    def explained(self, error: SQLAlchemyError) -> LedgerError:
        """With what to do about the batch."""
        known = super().explained(error)
        if not isinstance(known, LedgerUnavailableError):
            return known
        again = "Send the same batch again: if its answer was stored, that is published."
        hint = f"{known.hint} Nothing was published. {again}"
        return LedgerUnavailableError(known.reason, hint=hint, **known.values)
