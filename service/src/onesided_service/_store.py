"""The service's state in one open database: SQLite by default, PostgreSQL by URL.

Every change is one transaction under the writers' lock of the state, so that two workers never
decide on the same rows. The ledgers have locks of their own; no transaction holds both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from sqlalchemy import Column, Connection, Index, Integer, MetaData, Table, Text, insert, select

from onesided.store import now
from onesided.store.database import Kind
from onesided.store.tables import Tables

KIND: Final = Kind(
    noun="a service's state",
    key="service",
    mark=0x6F6E6533,  # "one3"
    lock=int.from_bytes(b"oneserve", "big"),
    forgets=True,
)
metadata = MetaData()

people = Table(
    "onesided_people",
    metadata,
    Column("person", Text, primary_key=True),
    Column("added", Text, nullable=False),
)
roles = Table(
    "onesided_roles",
    metadata,
    Column("person", Text, primary_key=True),
    Column("dataset", Text, primary_key=True),
    Column("role", Text, primary_key=True),
)
# kind: "token" for programs and signing in, "cookie" for a browser that signed in.
tokens = Table(
    "onesided_tokens",
    metadata,
    Column("id", Text, primary_key=True),
    Column("digest", Text, nullable=False),
    Column("person", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("made", Text, nullable=False),
    Column("expires", Text, nullable=False),
)
datasets = Table(
    "onesided_datasets",
    metadata,
    Column("dataset", Text, primary_key=True),
    Column("state", Text, nullable=False),
    Column("snapshot", Text, nullable=False),
    Column("changed", Text, nullable=False),
)
# due: seconds since 1970 on the public clock, in milliseconds; answer: what is told, "" before.
asks = Table(
    "onesided_asks",
    metadata,
    Column("id", Text, primary_key=True),
    Column("person", Text, nullable=False),
    Column("dataset", Text, nullable=False),
    Column("question", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("asked", Text, nullable=False),
    Column("due", Text, nullable=False),
    Column("charged", Integer, nullable=False),
    Column("answer", Text, nullable=False),
    Index("onesided_asks_of", "dataset", "person", "asked"),
)
# Who reads a dataset's rows, one after the other in all workers; instants as exact seconds.
turns = Table(
    "onesided_turns",
    metadata,
    Column("ask", Text, primary_key=True),
    Column("dataset", Text, nullable=False),
    Column("person", Text, nullable=False),
    Column("takes", Text, nullable=False),
    Column("through", Text, nullable=False),
)
# Questions that were not answered by their tick, each of them a bit about rows.
overruns = Table(
    "onesided_overruns",
    metadata,
    Column("ask", Text, primary_key=True),
    Column("dataset", Text, nullable=False),
    Column("time", Text, nullable=False),
)
# Questions that somebody keeps, to ask them later.
kept = Table(
    "onesided_kept",
    metadata,
    Column("id", Text, primary_key=True),
    Column("person", Text, nullable=False),
    Column("dataset", Text, nullable=False),
    Column("question", Text, nullable=False),
    Column("time", Text, nullable=False),
    Index("onesided_kept_of", "person", "dataset"),
)
published = Table(
    "onesided_published",
    metadata,
    Column("id", Text, primary_key=True),
    Column("ask", Text, nullable=False, unique=True),
    Column("dataset", Text, nullable=False),
    Column("person", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("time", Text, nullable=False),
    Column("release", Text, nullable=False),
)
# Published releases that nobody reads any more; publishing one again takes its row away.
withdrawn = Table(
    "onesided_withdrawn",
    metadata,
    Column("id", Text, primary_key=True),
    Column("time", Text, nullable=False),
    Column("reason", Text, nullable=False),
)
# What a person may spend of a dataset, where it is not what its configuration says.
allowances = Table(
    "onesided_allowances",
    metadata,
    Column("person", Text, primary_key=True),
    Column("dataset", Text, primary_key=True),
    Column("epsilon", Text, nullable=False),
)
# The audit log: who changed what, in the transaction of the change. person: "" for a command.
actions = Table(
    "onesided_actions",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("time", Text, nullable=False),
    Column("person", Text, nullable=False),
    Column("dataset", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("text", Text, nullable=False),
    Index("onesided_actions_of", "dataset", "number"),
)
notes = Table(
    "onesided_notes",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("dataset", Text, nullable=False),
    Column("time", Text, nullable=False),
    Column("text", Text, nullable=False),
)


class State(Tables):
    """People, tokens, asks and published releases. Open it with :meth:`open`.

    >>> state = State.open("service.db")
    >>> state.close()
    """

    kind, metadata, noun = KIND, metadata, "the service's state"

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction under the writers' lock."""
        with self.transaction(write=True) as connection:
            yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One consistent view."""
        with self.transaction(write=False) as connection:
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


def logged(
    connection: Connection, action: str, *, by: str, dataset: str, subject: str = "", text: str = ""
) -> None:
    """Put an action into the audit log, in the transaction that does it. by: "" for a command."""
    row = {"time": now(), "person": by, "dataset": dataset, "action": action}
    connection.execute(insert(actions).values(**row, subject=subject, text=text))


def put_if_absent(connection: Connection, table: Table, row: Mapping[str, object]) -> bool:
    """Insert a row unless its primary key is there; whether it was inserted. Under the lock."""
    keys = [column == row[column.name] for column in table.primary_key.columns]
    if connection.execute(select(table).where(*keys)).first() is not None:
        return False
    connection.execute(insert(table).values(**row))
    return True
