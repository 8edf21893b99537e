"""The service's own tables. They hold people, asks and published releases, and no row of data."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Column, Index, Integer, MetaData, Table, Text

from onesided.store.database import Kind

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
notes = Table(
    "onesided_notes",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("dataset", Text, nullable=False),
    Column("time", Text, nullable=False),
    Column("text", Text, nullable=False),
)
