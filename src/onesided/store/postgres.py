"""Stores in PostgreSQL, for many hosts.

Lock: one transaction-level advisory lock queues the writers, so nobody is ever told to retry and
no two locks exist that could deadlock. Correctness does not hang on it: a row's number is the
primary key, so a writer that ignored the lock would collide with ours, not slip past a decision.
The alternatives cost more: ``SELECT ... FOR UPDATE`` and ``LOCK TABLE`` need rights beyond SELECT
and INSERT, which is all that a process which spends should have; SERIALIZABLE answers contention
with aborts that every caller must retry. Writers are READ COMMITTED on purpose: each statement
after the lock sees what the writer before us committed, where an older snapshot would not.
Readers are REPEATABLE READ, so that a check sees all rows of one instant.

Tables stand in the schema that the URL names, and every statement says so. The search path is
set to the system's own, so that no table, function or operator of anybody's is found by it.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, Engine, create_engine, event

from onesided._plugins import optional
from onesided.errors import LedgerUnavailableError
from onesided.store._paths import DatabaseUrl
from onesided.store.database import IN_USE, Database, Kind, Meaning


class PostgresDatabase(Database):
    """One schema of one PostgreSQL database."""

    def __init__(self, engine: Engine, *, name: str, kind: Kind, schema: str) -> None:
        super().__init__(engine, name=name, kind=kind)
        self.schema = schema

    def lock(self, connection: Connection) -> None:
        """Queue behind other writers, and make sure that this commit waits for the disk."""
        connection.exec_driver_sql(
            f"SELECT pg_advisory_xact_lock({self.kind.lock}), "
            "CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') "
            "THEN set_config('synchronous_commit', 'on', true) END"
        )

    def quoted(self, name: str) -> str:
        """``name`` in the schema, quoted for a statement."""
        quote = self._engine.dialect.identifier_preparer.quote
        return f"{quote(self.schema)}.{quote(name)}"

    def meaning(self, cause: BaseException) -> Meaning:
        """By SQLSTATE where the server said one."""
        state = getattr(cause, "sqlstate", None) or ""
        return LedgerUnavailableError, *_REASONS.get(state, _REASONS.get(state[:2], _REASONS[""]))


_REASONS: Final = {
    "": ("cannot be reached", "Check the server and the URL, then open it again."),
    # Lock not available in time.
    "55P03": IN_USE,
    # Invalid schema name.
    "3F000": ("cannot be made: there is no such schema", "Make the schema, or name another."),
    "23": ("refused the row", "Something wrote to it without its lock. Check it."),
    "25": ("cannot be written: it is read-only", "Connect to the primary server."),
    "42": (
        "refused the statement",
        "Give the role USAGE on the schema, and SELECT and INSERT on the onesided_ tables.",
    ),
    "53300": ("takes no more connections", "Close some, or raise the server's max_connections."),
    "53": ("has no room left", "Free some space on the server."),
}


def open_database(url: DatabaseUrl, *, kind: Kind, name: str, timeout: float) -> PostgresDatabase:
    """The database at ``url``; nothing is made or looked into, and no connection is opened.

    timeout: seconds to wait for a connection and for other writers. Errors:
    MissingDependencyError without psycopg.
    """
    hint = 'Install it with: pip install "onesided[postgres]"'
    optional("psycopg", f"{kind.noun} in PostgreSQL needs psycopg.", hint)
    engine = create_engine(
        url.for_driver(),
        isolation_level="READ COMMITTED",
        # A connection that died while idle is replaced before anything is decided on it.
        pool_pre_ping=True,
        pool_timeout=timeout,
        connect_args={"connect_timeout": max(2, int(timeout))},
        execution_options={"schema_translate_map": {None: url.schema}},
    )

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if connection.get_execution_options().get("onesided_mode") != "write":
            connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        connection.exec_driver_sql(
            "SELECT set_config('search_path', 'pg_catalog, pg_temp', true), "
            f"set_config('lock_timeout', '{int(timeout * 1000)}', true)"
        )

    return PostgresDatabase(engine, name=name, kind=kind, schema=url.schema)
