"""The ledger's rows in one open database, and what a failed commit means.

Nothing here knows about privacy. ``append`` runs a decision and the insertion of its row in one
transaction that holds the writers' lock, so two processes can never both see the same balance.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Final, TypeVar

from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import SQLAlchemyError

from onesided.errors import LedgerError, LedgerFormatError, LedgerUnavailableError
from onesided.ledger import _schema
from onesided.ledger._rows import COLUMNS, OPEN, Row, intact, tampered
from onesided.ledger._schema import entries, payloads, versions
from onesided.store.database import Database, framed_out

T = TypeVar("T")
_LAST: Final = select(entries).order_by(entries.c.number.desc()).limit(1)
_NOTHING: Final = "Nothing was drawn and nothing was recorded."
_ANSWER: Final = "The answer was not stored: store it again before publishing it."
# By whether an answer was already drawn, that is, whether it was being stored.
_UNKNOWN: Final = {
    False: (
        "whether the charge is on record is unknown, so it counts as spent",
        "Nothing was drawn. Check the ledger once it can be reached; ask again under a new id.",
    ),
    True: (
        "whether the answer was stored is unknown",
        "Recall it before publishing; if it is not there, store it again with its receipt.",
    ),
}


class View:
    """The ledger as one transaction sees it."""

    def __init__(self, connection: Connection, *, seen: Row | None = None) -> None:
        self._connection = connection
        self._seen = seen
        self.tip: Row | None = None

    def last(self) -> Row | None:
        """The last row. It must be intact, and no row that this process saw may be gone."""
        if self.tip:
            return self.tip  # one transaction sees one last row
        found = self._one(_LAST)
        row = intact(found) if found else None
        seen = self._seen
        if seen is not None:
            there = row if row and row.number == seen.number else self.at(seen.number)
            if there is None or there.hash != seen.hash:
                raise tampered(seen.number, "this process saw another row there, or rows are gone")
        self.tip = row
        return row

    def at(self, number: int) -> Row | None:
        """The row of that number, unchecked."""
        return self._one(select(entries).where(entries.c.number == number))

    def openings(self) -> tuple[Row, ...]:
        """The rows that opened accounts, in order, checked."""
        query = select(entries).where(entries.c.kind == OPEN).order_by(entries.c.number)
        found = self._connection.execute(query)
        return tuple(intact(Row(**dict(zip(COLUMNS, row, strict=True)))) for row in found)

    def latest(self, *, policy_id: str) -> Row | None:
        """The last row of that policy, checked."""
        order = entries.c.number.desc()
        query = select(entries).where(entries.c.policy_id == policy_id).order_by(order).limit(1)
        found = self._one(query)
        return intact(found) if found else None

    def find(self, *, policy_id: str, kind: str, release_id: str) -> Row | None:
        """The one row of that policy, kind and release, checked."""
        found = self._one(
            select(entries).where(
                entries.c.policy_id == policy_id,
                entries.c.kind == kind,
                entries.c.release_id == release_id,
            )
        )
        return intact(found) if found else None

    def rows(self) -> Iterator[Row]:
        """Every row in order, unchecked, without holding them all."""
        query = select(entries).order_by(entries.c.number).execution_options(yield_per=1000)
        for found in self._connection.execute(query):
            yield Row(**dict(zip(COLUMNS, found, strict=True)))

    def payload(self, charge: int) -> bytes | None:
        """The stored answer of that charge."""
        found = self._connection.execute(
            select(payloads.c.content).where(payloads.c.charge == charge)
        ).scalar()
        # psycopg may hand out a memoryview; an edited SQLite row may hold text.
        return bytes(found) if isinstance(found, bytes | memoryview) else None

    def payload_charges(self) -> list[int]:
        """The numbers of all charges with a stored answer."""
        return list(self._connection.execute(select(payloads.c.charge)).scalars())

    def version(self) -> int:
        """The version of the store's tables."""
        return _schema.found_version(self._connection)

    def _one(self, query: object) -> Row | None:
        found = self._connection.execute(query).first()  # type: ignore[call-overload]
        return Row(**dict(zip(COLUMNS, found, strict=True))) if found else None


class _AlreadyThere(Exception):  # noqa: N818 - an outcome, not an error; never leaves this file
    """Another writer made the row first."""

    def __init__(self, row: Row) -> None:
        super().__init__()
        self.row = row


class Store:
    """The ledger's tables in one database."""

    def __init__(self, database: Database, *, damage: Callable[[Connection], str]) -> None:
        self.database = database
        self._damage = damage
        self._seen: Row | None = None
        self._mutex = threading.Lock()

    @property
    def name(self) -> str:
        """What errors call it; shows no password."""
        return self.database.name

    def read(self, question: Callable[[View], T]) -> T:
        """The answer to ``question`` in one consistent view."""
        seen = self._seen  # before the transaction: the view can only be newer
        with self.database.translated(), self.database.transaction(write=False) as connection:
            view = View(connection, seen=seen)
            answer = question(view)
        self.remember(view.tip)
        return answer

    def inspect(self) -> str:
        """What the database finds wrong, or that its append-only guards are gone; or ""."""
        with self.database.translated(), self.database.transaction(write=False) as connection:
            return self._damage(connection)

    def append(
        self, decide: Callable[[View], Row], *, payload: tuple[int, bytes] | None = None
    ) -> Row:
        """Durably record the row that ``decide`` makes; what it raises leaves no trace.

        Errors: LedgerUnavailableError if nothing was recorded, or with ``outcome="unknown"`` if
        the connection was lost in mid-commit and the store cannot be reached to find out.
        """
        seen, pending = self._seen, None
        try:
            with self.database.transaction(write=True) as connection:
                row = decide(View(connection, seen=seen))
                connection.execute(insert(entries), asdict(row))
                if payload is not None:
                    charge, content = payload
                    connection.execute(insert(payloads), {"charge": charge, "content": content})
                pending = row
        except SQLAlchemyError as error:
            if pending is None:
                raise self._unrecorded(error, drawn=payload is not None) from framed_out(error)
            row = self._settle(pending, error, drawn=payload is not None)
        self.remember(row)
        return row

    def ensure(self, find: Callable[[View], Row | None], *, make: Callable[[View], Row]) -> Row:
        """The row that ``find`` finds under the writers' lock, or else the one of ``make``."""

        def decide(view: View) -> Row:
            found = find(view)
            if found:
                raise _AlreadyThere(found)
            return make(view)

        try:
            return self.append(decide)
        except _AlreadyThere as there:
            return there.row

    def remember(self, row: Row | None) -> None:
        """Note that ``row`` was seen; a later view without it is a tampered one."""
        with self._mutex:
            if row and (self._seen is None or row.number > self._seen.number):
                self._seen = row

    def ensure_current(self) -> None:
        """Refuse a newer store, bring an older one up to date."""
        version = self.read(View.version)
        _schema.refuse_newer(version)
        if version < _schema.VERSION:
            with self.database.translated(), self.database.transaction(write=True) as connection:
                _schema.upgrade(connection)

    def close(self) -> None:
        """Let go of the database. Closing twice is fine."""
        self.database.close()

    def _settle(self, row: Row, error: SQLAlchemyError, *, drawn: bool) -> Row:
        """What became of a commit that failed: look whether the row is there.

        Holding the writers' lock means that the failed transaction is over either way, so what
        is seen then is final.
        """
        try:
            with self.database.transaction(write=True) as connection:
                found = View(connection).at(row.number)
        except (SQLAlchemyError, LedgerError) as again:
            meaning, hint = _UNKNOWN[drawn]
            raise LedgerUnavailableError(
                f"the connection to {self.name} was lost while recording; {meaning}.",
                hint=hint,
                outcome="unknown",
                number=row.number,
                release_id=row.release_id,
            ) from framed_out(again)
        if found == row:
            return row
        raise self._unrecorded(error, drawn=drawn) from framed_out(error)

    def _unrecorded(self, error: SQLAlchemyError, *, drawn: bool) -> LedgerError:
        known = self.database.explain(error)
        hint = f"{known.hint} {_ANSWER if drawn else _NOTHING}"
        return type(known)(known.reason, hint=hint, **(known.values | {"outcome": "none"}))


def version_table_found(connection: Connection, *, schema: str | None = None) -> bool:
    """True if this database holds a ledger; LedgerFormatError if it holds a part of one."""
    dialect = connection.dialect
    found = [name for name in _schema.TABLES if dialect.has_table(connection, name, schema=schema)]
    if found and len(found) < len(_schema.TABLES):
        missing = sorted(set(_schema.TABLES) - set(found))
        raise LedgerFormatError(
            f"the ledger is damaged: {', '.join(missing)} missing.",
            hint="Restore a copy.",
            missing=tuple(missing),
        )
    return versions.name in found
