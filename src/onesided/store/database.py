"""One open database: transactions, threads, forks, and what its errors mean.

Nothing here knows what is stored. Writers queue on the lock of their kind of database, so two
processes never both decide on the same state.
"""

from __future__ import annotations

import os
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Final, TypeAlias

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.exc import TimeoutError as NoneFree
from sqlalchemy.pool import Pool

from onesided.errors import LedgerError, LedgerUnavailableError

Meaning: TypeAlias = tuple[type[LedgerError], str, str]
IN_USE: Final = (
    "is in use: others held it for all the time that was waited",
    "Try again, or give a longer timeout.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What a store holds: how errors speak of it, and how a database is known as one.

    noun: "a ledger". key: the name under which errors carry the store in their values. mark: the
    application id in the header of an SQLite file. lock: the advisory lock in PostgreSQL.
    forgets: whether deleted rows must leave no trace in the file.
    """

    noun: str
    key: str
    mark: int
    lock: int
    forgets: bool = False


class Database(ABC):
    """A database with the writers' lock of its kind. Safe for threads, processes and forks.

    private: True for one in memory, which belongs to one process and one connection.
    """

    def __init__(self, engine: Engine, *, name: str, kind: Kind, private: bool = False) -> None:
        self.name = name
        self.kind = kind
        self._private = private
        self._owner = os.getpid()
        self._engine = engine
        self._closed = False
        self._inherited: list[Pool] = []
        self._mutex = threading.Lock()
        # A database in memory is one connection, so its transactions take turns.
        self._turn: AbstractContextManager[object] = threading.RLock() if private else nullcontext()
        self._finalizer = weakref.finalize(self, _dispose, engine, self._owner)

    @abstractmethod
    def lock(self, connection: Connection) -> None:
        """Wait until this transaction is the only writer."""

    @abstractmethod
    def meaning(self, cause: BaseException) -> Meaning:
        """What an error of the driver means to the user: a kind of error, the reason, the hint."""

    def explain(self, error: SQLAlchemyError) -> LedgerError:
        """What a database error means to the user."""
        cause = getattr(error, "orig", None) or error
        said = str(cause).strip().partition("\n")[0]
        kind, *told = self.meaning(cause)
        # All connections of this process were waiting, or this one was.
        reason, hint = IN_USE if isinstance(error, NoneFree) else told
        told_cause = "" if reason == IN_USE[0] else f" ({said})"
        values = {self.kind.key: self.name, "cause": said}
        return kind(f"{self.name} {reason}{told_cause}.", hint=hint, **values)

    @property
    def engine(self) -> Engine:
        """The engine, fit for this process. Errors: LedgerError once it is closed."""
        if self._closed:
            raise LedgerError(
                f"{self.name} is closed.", hint="Open it again.", **{self.kind.key: self.name}
            )
        if os.getpid() != self._owner:
            # A forked child must not use its parent's connections.
            if self._private:
                # The child's copy would allow the same budget to be spent twice.
                raise LedgerUnavailableError(
                    f"{self.kind.noun} in memory belongs to the process that opened it.",
                    hint="Use a file to share it among processes. "
                    "Nothing was drawn and nothing was recorded.",
                )
            with self._mutex:
                # Kept, so that the child never closes a connection of its parent.
                self._inherited.append(self._engine.pool)
                self._engine.dispose(close=False)
                self._owner = os.getpid()
                self._finalizer.detach()
                self._finalizer = weakref.finalize(self, _dispose, self._engine, self._owner)
        return self._engine

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[Connection]:
        """One consistent view; with ``write`` under the writers' lock, durable when it ends well.

        SQLAlchemy's errors pass: what a failed commit means is the caller's business.
        """
        with self._turn, self.engine.connect() as connection:
            # The listeners of each kind of database read this when the transaction begins.
            connection.execution_options(onesided_mode="write" if write else "read")
            with connection.begin():
                if write:
                    self.lock(connection)
                yield connection

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Turn the database's errors into ours."""
        try:
            yield
        except SQLAlchemyError as error:
            raise self.explain(error) from framed_out(error)

    def close(self) -> None:
        """Let go of the database. Closing twice is fine."""
        self._closed = True
        self._finalizer()


def framed_out(error: BaseException) -> BaseException:
    """``error`` without the driver's frames and connection, which hold the password."""
    link: BaseException | None = error
    while link is not None:
        link.__traceback__ = None
        for name in ("_info", "_pgconn"):
            if name in vars(link):
                setattr(link, name, None)
        link = link.__cause__ or link.__context__
    return error


def _dispose(engine: Engine, owner: int) -> None:
    if os.getpid() == owner:
        engine.dispose()
