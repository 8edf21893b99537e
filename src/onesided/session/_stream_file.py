"""The file of one stream of samples: its key, its last month, and who was met. All secret."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final

import sqlalchemy as sa

from onesided.errors import LedgerFormatError, LedgerUnavailableError
from onesided.store import sqlite
from onesided.store.database import Database, Kind
from onesided.store.tables import Tables

_VERSION: Final = 1
_WAIT: Final = 60.0
_metadata = sa.MetaData()
_heads = sa.Table(
    "onesided_stream",
    _metadata,
    sa.Column("version", sa.Integer, primary_key=True),
    sa.Column("facts", sa.Text, nullable=False),
    sa.Column("key", sa.LargeBinary, nullable=False),
    sa.Column("month", sa.Integer, nullable=False),
)
_units = sa.Table(
    "onesided_stream_units",
    _metadata,
    sa.Column("unit", sa.LargeBinary, primary_key=True),
    sa.Column("inside", sa.Boolean, nullable=False),
)


@dataclass(frozen=True, slots=True)
class Head:
    """What a stream was opened for, its key, and the number of its last month; 0 before any."""

    facts: str
    key: bytes = field(repr=False)
    month: int = 0


class StreamFile(Tables):
    """A file that its owner alone reads. Of a unit it holds a digest under the key, no name."""

    kind: ClassVar[Kind] = Kind(
        noun="a stream of samples",
        key="stream",
        mark=0x6F6E7331,  # "ons1"
        lock=int.from_bytes(b"onestrea", "big"),
        forgets=True,
    )
    metadata: ClassVar[sa.MetaData] = _metadata
    noun: ClassVar[str] = "the stream"

    @classmethod
    def make(cls, path: Path, head: Head) -> None:
        """A file with its key, of no month; of two processes that make one, one wins."""

        def fill(connection: sa.Connection) -> None:
            _metadata.create_all(connection)
            values = {"facts": head.facts, "key": head.key, "month": head.month}
            connection.execute(sa.insert(_heads).values(version=_VERSION, **values))

        name = f"{cls.noun} {path}"
        sqlite.create_file(path, kind=cls.kind, name=name, timeout=_WAIT, fill=fill)

    @classmethod
    def _file(cls, path: Path, timeout: float) -> Database:
        """Never a new one: it would be a stream that remembers nobody."""
        if not path.exists():
            reason = f"{cls.noun} {path} is gone."
            raise LedgerUnavailableError(reason, hint="Restore the copy made after its last month.")
        return super()._file(path, timeout)

    @classmethod
    def head_of(cls, path: Path) -> Head:
        """Its head. Errors: LedgerFormatError, LedgerUnavailableError."""
        file = cls.open(path, timeout=_WAIT)
        try:
            with file.transaction(write=False) as connection:
                return _head(connection, file.name)
        finally:
            file.close()

    @classmethod
    def tell(
        cls, path: Path, step: Callable[[Head, Mapping[bytes, bool]], Mapping[bytes, bool]]
    ) -> dict[bytes, bool]:
        """Take the next month's step, under the writers' lock: durable as a whole, or not at all.

        step: of the head and the units met, those that are new or changed; it may refuse.
        """
        file = cls.open(path, timeout=_WAIT)
        try:
            with file.transaction(write=True) as connection:
                head = _head(connection, file.name)
                inside = {
                    row.unit: bool(row.inside) for row in connection.execute(sa.select(_units))
                }
                changed = step(head, inside)
                new = [{"unit": u, "inside": i} for u, i in changed.items() if u not in inside]
                left = [u for u in changed if u in inside]  # nobody comes back, so they are out
                if new:
                    connection.execute(sa.insert(_units), new)
                if left:
                    gone = sa.update(_units).where(_units.c.unit == sa.bindparam("who"))
                    connection.execute(gone.values(inside=False), [{"who": u} for u in left])
                connection.execute(sa.update(_heads).values(month=head.month + 1))
        finally:
            file.close()
        return {**inside, **changed}


def _head(connection: sa.Connection, name: str) -> Head:
    row = connection.execute(sa.select(_heads)).first()
    if row is None or row.version != _VERSION:
        raise LedgerFormatError(
            f"{name} is damaged, or of a newer version.", hint="Restore a copy, or upgrade."
        )
    return Head(row.facts, row.key, row.month)
