"""Tables, their version, and the steps from one version to the next."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    func,
    insert,
    select,
)

from onesided.errors import LedgerFormatError
from onesided.store import now
from onesided.store.database import Kind

VERSION: Final = 1
KIND: Final = Kind(
    noun="a ledger",
    key="ledger",
    mark=0x6F6E6531,  # "one1"
    lock=int.from_bytes(b"onesided", "big"),
)
Step: TypeAlias = Callable[[Connection], None]

# Step n brings a store from version n to n + 1. Rows are never rewritten: they are hashed.
STEPS: Final[Mapping[int, Step]] = {}

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


def create(connection: Connection, *, guards: tuple[str, ...]) -> None:
    """Make the current version's tables and their append-only guards."""
    metadata.create_all(connection)
    for statement in guards:
        connection.exec_driver_sql(statement)
    connection.execute(insert(versions).values(version=VERSION, applied=now()))


def found_version(connection: Connection) -> int:
    """The version of an existing store."""
    version = connection.execute(select(func.max(versions.c.version))).scalar()
    if isinstance(version, int) and version >= 1:
        return version
    raise LedgerFormatError(
        "the ledger does not say which version it has.",
        hint="The store is damaged. Restore a copy.",
        version=version,
    )


def refuse_newer(version: int, *, known: int = VERSION) -> None:
    """Errors: LedgerFormatError if a later release of this library wrote the store."""
    if version > known:
        raise LedgerFormatError(
            f"the ledger has version {version}; this library knows versions up to {known}.",
            hint="Install a newer release of onesided. Nothing was changed.",
            version=version,
            known=known,
        )


def upgrade(
    connection: Connection, *, steps: Mapping[int, Step] = STEPS, target: int = VERSION
) -> int:
    """Apply the missing steps inside the caller's transaction; returns how many.

    All or none: a failing step leaves the store as it was.
    """
    version = found_version(connection)
    refuse_newer(version, known=target)
    for start in range(version, target):
        steps[start](connection)
        connection.execute(insert(versions).values(version=start + 1, applied=now()))
    return target - version
