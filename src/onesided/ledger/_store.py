"""The ledger: its rows in one open database, and what a failed commit means.

Nothing here knows about privacy. ``append`` runs a decision and the insertion of its rows in one
transaction that holds the writers' lock, so two processes can never both see the same balance.

A ledger is made by its first row: until then its place is only known, and looking at it shows an
empty ledger. So whoever opens one and is refused leaves nothing behind.
"""

from __future__ import annotations

import functools
import hashlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Executable,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    bindparam,
    func,
    insert,
    select,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.schema import CreateIndex, CreateTable

from onesided.errors import LedgerError, LedgerFormatError, LedgerUnavailableError
from onesided.ledger._entry import COLUMNS, OPEN, Row, intact, tampered
from onesided.store import now
from onesided.store.database import Database, Kind, framed_out
from onesided.store.sqlite import wide

# Tables, and their version. Rows are never rewritten: they are hashed.

VERSION: Final = 1
KIND: Final = Kind(
    noun="a ledger",
    key="ledger",
    mark=0x6F6E6531,  # "one1"
    lock=int.from_bytes(b"onesided", "big"),
)

metadata = MetaData()
# In SQLite only a column of type INTEGER is the row's own key.
_number = BigInteger().with_variant(Integer, "sqlite")

entries = Table(
    "onesided_entries",
    metadata,
    Column("number", _number, primary_key=True, autoincrement=False),
    Column("format", Integer, nullable=False),
    Column("time", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("policy_id", Text, nullable=False),
    Column("release_id", Text, nullable=False),
    Column("label", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("epsilon", Text, nullable=False),
    Column("delta", Text, nullable=False),
    Column("total_epsilon", Text, nullable=False),
    Column("total_delta", Text, nullable=False),
    Column("releases", _number, nullable=False),
    Column("nonce", Text, nullable=False),
    Column("previous", Text, nullable=False),
    Column("hash", Text, nullable=False),
    # Finds an account's last row at once however many other accounts charged since. A store
    # made before it was added works without it, only slower.
    Index("onesided_entries_latest", "policy_id", "number"),
    # One opening per policy, one charge per release id, one stored answer per charge.
    UniqueConstraint("policy_id", "kind", "release_id", name="onesided_entries_once"),
)

payloads = Table(
    "onesided_payloads",
    metadata,
    Column(
        "charge",
        _number,
        ForeignKey("onesided_entries.number"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("content", LargeBinary, nullable=False),
)

versions = Table(
    "onesided_schema",
    metadata,
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("applied", Text, nullable=False),
)

TABLES: Final = tuple(table.name for table in (entries, payloads, versions))


@functools.cache
def tables_of(dialect: Dialect) -> tuple[str, ...]:
    """The statements that make the current version's tables."""
    made: list[CreateTable | CreateIndex] = [CreateTable(one) for one in metadata.sorted_tables]
    made += [CreateIndex(index) for table in metadata.sorted_tables for index in table.indexes]
    return tuple(str(one.compile(dialect=dialect)) for one in made)


def create(connection: Connection, statements: tuple[str, ...]) -> None:
    """Make a store of the current version by ``statements``, its append-only guards last."""
    for statement in statements:
        connection.exec_driver_sql(statement)
    connection.execute(insert(versions).values(version=VERSION, applied=now()))


# The ledger's rows as one transaction sees them.


# Made once: building a statement costs more than running it.
_LAST: Final = select(entries).order_by(entries.c.number.desc()).limit(1)
_AT: Final = select(entries).where(entries.c.number == bindparam("at"))
_LATEST: Final = _LAST.where(entries.c.policy_id == bindparam("policy"))
_FIND: Final = select(entries).where(
    entries.c.policy_id == bindparam("policy"),
    entries.c.kind == bindparam("of_kind"),
    entries.c.release_id == bindparam("release"),
)
_PAGE_ROWS: Final = 1000
_PAGE_BYTES: Final = 2**24


class View:
    """What is on record at one moment. connection: None for a ledger that is not made yet."""

    def __init__(self, connection: Connection | None, *, seen: Row | None = None) -> None:
        self._connection = connection
        self._seen = seen
        self.tip: Row | None = None

    def last(self) -> Row | None:
        """The last row. It must be intact, and no row that this process saw may be gone."""
        if self.tip:
            return self.tip  # one transaction sees one last row
        row, seen = self._checked(_LAST), self._seen
        if seen is not None:
            there = row if row and row.number == seen.number else self.at(seen.number)
            if there is None or there.hash != seen.hash:
                raise tampered(seen.number, "this process saw another row there, or rows are gone")
        self.tip = row
        return row

    def at(self, number: int) -> Row | None:
        """The row of that number, unchecked."""
        return self._one(_AT, at=number)

    def openings(self) -> tuple[Row, ...]:
        """The rows that opened accounts, in order, checked. Looks at no other rows."""
        found, policy = [], self._next_policy(after=None)
        while policy is not None:
            row = self.find(policy_id=policy, kind=OPEN, release_id="")
            found += [row] if row else []
            policy = self._next_policy(after=policy)
        return tuple(sorted(found, key=lambda row: row.number))

    def latest(self, *, policy_id: str) -> Row | None:
        """The last row of that policy, checked."""
        return self._checked(_LATEST, policy=policy_id)

    def find(self, *, policy_id: str, kind: str, release_id: str) -> Row | None:
        """The one row of that policy, kind and release, checked."""
        return self._checked(_FIND, policy=policy_id, of_kind=kind, release=release_id)

    def rows(
        self,
        *,
        after: int = 0,
        last: int | None = None,
        policy_id: str | None = None,
        kind: str | None = None,
    ) -> Iterator[Row]:
        """Rows in order, unchecked, without holding them all.

        after: only those with a higher number. last: only so many, the latest.
        """
        query = select(entries)
        # A row that an edit gave the number 0 must be found by whoever reads all.
        query = query.where(entries.c.number > after) if after else query
        query = query.where(entries.c.policy_id == policy_id) if policy_id is not None else query
        query = query.where(entries.c.kind == kind) if kind is not None else query
        if last is None:
            ordered = query.order_by(entries.c.number).execution_options(yield_per=_PAGE_ROWS)
            yield from map(_row, self._all(ordered))
            return
        found = self._all(query.order_by(entries.c.number.desc()).limit(last))
        yield from [_row(values) for values in found][::-1]

    def extent(self) -> tuple[int, int, int]:
        """How many rows there are, the lowest number, and the highest; zeros for none."""
        number = entries.c.number
        query = select(func.count(), func.min(number), func.max(number)).select_from(entries)
        (found,) = list(self._all(query)) or [(0, 0, 0)]
        count, lowest, highest = (value or 0 for value in found)
        return count, lowest, highest

    def payload(self, charge: int) -> bytes | None:
        """The stored answer of that charge."""
        if self._connection is None:
            return None
        with wide(self._connection):
            query = select(payloads.c.content).where(payloads.c.charge == charge)
            return _content(self._connection.execute(query).scalar())

    def payload_digests(self) -> Iterator[tuple[int, str]]:
        """The charge of each stored answer and its SHA-256, "" if it is no answer at all.

        Holds answers of at most 16 MB at a time, or one.
        """
        number = payloads.c.charge
        sizes = list(self._all(select(number, func.length(payloads.c.content)).order_by(number)))
        start = 0
        while start < len(sizes) and self._connection is not None:
            end, held = start + 1, sizes[start][1] or 0
            while end < min(len(sizes), start + _PAGE_ROWS) and held < _PAGE_BYTES:
                held += sizes[end][1] or 0
                end += 1
            page = select(payloads).where(number.between(sizes[start][0], sizes[end - 1][0]))
            with wide(self._connection):
                found = self._connection.execute(page.order_by(number)).all()
            for charge, raw in found:
                content = _content(raw)
                yield charge, "" if content is None else hashlib.sha256(content).hexdigest()
            start = end

    def _next_policy(self, *, after: str | None) -> str | None:
        policy = entries.c.policy_id
        query = select(policy).order_by(policy).limit(1)
        found = list(self._all(query if after is None else query.where(policy > after)))
        return found[0][0] if found else None

    def _checked(self, query: Executable, **values_of: object) -> Row | None:
        found = self._one(query, **values_of)
        return intact(found) if found else None

    def _one(self, query: Executable, **values_of: object) -> Row | None:
        for values in self._all(query, values_of):
            return _row(values)
        return None

    def _all(
        self, query: Executable, values_of: Mapping[str, object] | None = None
    ) -> Iterator[Any]:
        if self._connection is None:
            return iter(())
        return iter(self._connection.execute(query, values_of or {}))


def _row(values: Any) -> Row:
    return Row(**dict(zip(COLUMNS, values, strict=True)))


def _content(raw: object) -> bytes | None:
    # psycopg may hand out a memoryview; an edited SQLite row may hold text.
    return bytes(raw) if isinstance(raw, bytes | memoryview) else None


T = TypeVar("T")
_NOTHING: Final = "Nothing was drawn and nothing was recorded."
_NOT_KEPT: Final = "the store did not keep it as it was written"
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


class Place(ABC):
    """Where a ledger is kept, or will be. file: the file that it is in; None if in none."""

    name: str
    file: Path | None = None

    @abstractmethod
    def find(self) -> Database | None:
        """The ledger there, known as one of ours and up to date; None if there is none yet."""

    @abstractmethod
    def make(self) -> None:
        """Make an empty ledger there, unless somebody else just did."""

    @abstractmethod
    def damage(self, connection: Connection) -> str:
        """What the database finds wrong, or that its append-only guards are gone; or ""."""

    def close(self) -> None:  # noqa: B027 - most hold nothing
        """Let go of what :meth:`find` did not hand out."""


class Store:
    """The ledger's tables at one place."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._database: Database | None = None
        self._closed = False
        self._seen: Row | None = None
        self._mutex = threading.Lock()

    @property
    def name(self) -> str:
        """What errors call it; shows no password."""
        return self._place.name

    @property
    def file(self) -> Path | None:
        """The file that it is in; None if in none."""
        return self._place.file

    @property
    def database(self) -> Database | None:
        """The database; None as long as the ledger is not made."""
        if self._closed:
            raise LedgerError("the ledger is closed.", hint="Open it again.", ledger=self.name)
        if self._database is None:
            with self._mutex:
                self._database = self._database or self._place.find()
        return self._database

    def look(self) -> None:
        """Errors: LedgerFormatError for what is there and is no ledger of ours."""
        _ = self.database

    def made(self) -> Database:
        """The database, made now if it was not there."""
        if self.database is None:
            self._place.make()
        database = self.database
        if database is None:
            raise LedgerUnavailableError(
                f"{self.name} was made, and is gone.",
                hint=f"Open it again. {_NOTHING}",
                ledger=self.name,
                outcome="none",
            )
        return database

    def read(self, question: Callable[[View], T]) -> T:
        """The answer to ``question`` in one consistent view."""
        seen, database = self._seen, self.database  # before the view, which can only be newer
        if database is None:
            return question(View(None, seen=seen))
        with database.translated(), database.transaction(write=False) as connection:
            view = View(connection, seen=seen)
            answer = question(view)
        self.remember(view.tip)
        return answer

    def inspect(self) -> str:
        """What the database finds wrong, or that its append-only guards are gone; or ""."""
        database = self.database
        if database is None:
            return ""
        with database.translated(), database.transaction(write=False) as connection:
            return self._place.damage(connection)

    def append(
        self, decide: Callable[[View], tuple[Row, ...]], *, payload: tuple[int, bytes] | None = None
    ) -> tuple[Row, ...]:
        """Durably record the rows that ``decide`` makes, and return them.

        What ``decide`` raises leaves no trace, not even an empty ledger.
        Errors: LedgerUnavailableError if nothing was recorded, or with ``outcome="unknown"`` if
        the connection was lost in mid-commit and the store cannot be reached to find out.
        """
        if self.database is None:
            self.read(decide)
        database, seen = self.made(), self._seen
        pending: tuple[Row, ...] = ()
        try:
            with database.transaction(write=True) as connection:
                rows = decide(View(connection, seen=seen))
                if rows:
                    connection.execute(
                        insert(entries),
                        [{name: getattr(row, name) for name in COLUMNS} for row in rows],
                    )
                # A trigger of somebody else's may have dropped or changed what was written.
                for row in rows:
                    if View(connection).at(row.number) != row:
                        raise tampered(row.number, _NOT_KEPT)
                if payload is not None:
                    charge, content = payload
                    with wide(connection):
                        connection.execute(insert(payloads), {"charge": charge, "content": content})
                    if View(connection).payload(charge) != content:
                        raise tampered(charge, _NOT_KEPT)
                pending = rows
        except SQLAlchemyError as error:
            if not pending:
                raise _unrecorded(database, error, payload=payload) from framed_out(error)
            self._settle(database, pending[-1], error, payload=payload)
        self.remember(pending[-1] if pending else None)
        return pending

    def remember(self, row: Row | None) -> None:
        """Note that ``row`` was seen; a later view without it is a tampered one."""
        with self._mutex:
            if row and (self._seen is None or row.number > self._seen.number):
                self._seen = row

    def close(self) -> None:
        """Let go of the database. Closing twice is fine."""
        self._closed = True
        if self._database is not None:
            self._database.close()
        self._place.close()

    def _settle(
        self,
        database: Database,
        row: Row,
        error: SQLAlchemyError,
        *,
        payload: tuple[int, bytes] | None,
    ) -> None:
        """What became of a commit that failed: look whether the row is there.

        Holding the writers' lock means that the failed transaction is over either way, so what
        is seen then is final.
        """
        found, looked = None, False
        try:
            with database.transaction(write=True) as connection:
                found = View(connection).at(row.number)
                looked = True  # what can fail after this lets go of the lock alone
        except (SQLAlchemyError, LedgerError) as again:
            if not looked:
                meaning, hint = _UNKNOWN[payload is not None]
                raise LedgerUnavailableError(
                    f"the connection to {self.name} was lost while recording; {meaning}.",
                    hint=hint,
                    outcome="unknown",
                    number=row.number,
                    release_id=row.release_id,
                ) from framed_out(again)
        if found != row:
            raise _unrecorded(database, error, payload=payload) from framed_out(error)


def require_version(database: Database) -> None:
    """Errors: LedgerFormatError for a store without its version, or of a later release."""
    with database.translated(), database.transaction(write=False) as connection:
        version = connection.execute(select(func.max(versions.c.version))).scalar()
    if not isinstance(version, int) or version < 1:
        raise LedgerFormatError(
            "the ledger does not say which version it has.",
            hint="The store is damaged. Restore a copy.",
            version=version,
        )
    if version > VERSION:
        raise LedgerFormatError(
            f"the ledger has version {version}; this library knows versions up to {VERSION}.",
            hint="Install a newer release of onesided. Nothing was changed.",
            version=version,
            known=VERSION,
        )


def version_table_found(connection: Connection, *, schema: str | None = None) -> bool:
    """True if this database holds a ledger; LedgerFormatError if it holds a part of one."""
    dialect = connection.dialect
    found = [name for name in TABLES if dialect.has_table(connection, name, schema=schema)]
    if found and len(found) < len(TABLES):
        missing = sorted(set(TABLES) - set(found))
        raise LedgerFormatError(
            f"the ledger is damaged: {', '.join(missing)} missing.",
            hint="Restore a copy.",
            missing=tuple(missing),
        )
    return versions.name in found


def _unrecorded(
    database: Database, error: SQLAlchemyError, *, payload: tuple[int, bytes] | None
) -> LedgerError:
    known = database.explain(error)
    hint = f"{known.hint} {_NOTHING if payload is None else _ANSWER}"
    return type(known)(known.reason, hint=hint, **(known.values | {"outcome": "none"}))
