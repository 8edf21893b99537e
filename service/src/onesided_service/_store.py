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


def _keys(*names: str) -> list[Column[str]]:
    return [Column(name, Text, primary_key=True) for name in names]


def _texts(*names: str) -> list[Column[str]]:
    return [Column(name, Text, nullable=False) for name in names]


def _whole(name: str, *, key: bool = False) -> Column[int]:
    return Column(name, Integer, nullable=False, primary_key=key)


people = Table("onesided_people", metadata, *_keys("person"), *_texts("added"))
roles = Table("onesided_roles", metadata, *_keys("person", "dataset", "role"))
# kind: "token" for programs and signing in, "cookie" for a browser that signed in.
tokens = Table(
    "onesided_tokens",
    metadata,
    *_keys("id"),
    *_texts("digest", "person", "kind", "made", "expires"),
)
datasets = Table(
    "onesided_datasets", metadata, *_keys("dataset"), *_texts("state", "snapshot", "changed")
)
# due: seconds since 1970 on the public clock, in milliseconds; answer: what is told, "" before.
asks = Table(
    "onesided_asks",
    metadata,
    *_keys("id"),
    *_texts("person", "dataset", "question", "name", "asked", "due"),
    _whole("charged"),
    *_texts("answer"),
    Index("onesided_asks_of", "dataset", "person", "asked"),
)
# Who reads a dataset's rows, one after the other in all workers; instants as exact seconds.
turns = Table(
    "onesided_turns", metadata, *_keys("ask"), *_texts("dataset", "person", "takes", "through")
)
# Questions that were not answered by their tick, each of them a bit about rows.
overruns = Table("onesided_overruns", metadata, *_keys("ask"), *_texts("dataset", "time"))
# Questions that somebody keeps, to ask them later.
kept = Table(
    "onesided_kept",
    metadata,
    *_keys("id"),
    *_texts("person", "dataset", "question", "time"),
    Index("onesided_kept_of", "person", "dataset"),
)
published = Table(
    "onesided_published",
    metadata,
    *_keys("id"),
    Column("ask", Text, nullable=False, unique=True),
    *_texts("dataset", "person", "title", "time", "release"),
)
# Published releases that nobody reads any more; publishing one again takes its row away.
withdrawn = Table("onesided_withdrawn", metadata, *_keys("id"), *_texts("time", "reason"))
# What a person may spend of a dataset, where it is not what its configuration says.
allowances = Table("onesided_allowances", metadata, *_keys("person", "dataset"), *_texts("epsilon"))
# The audit log: who changed what, in the transaction of the change. person: "" for a command.
actions = Table(
    "onesided_actions",
    metadata,
    _whole("number", key=True),
    *_texts("time", "person", "dataset", "action", "subject", "text"),
    Index("onesided_actions_of", "dataset", "number"),
)
notes = Table(
    "onesided_notes", metadata, _whole("number", key=True), *_texts("dataset", "time", "text")
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
