"""The ledger in PostgreSQL, for many hosts.

Lock: one transaction-level advisory lock queues the writers, so nobody is ever told to retry and
no two locks exist that could deadlock. Correctness does not hang on it: a row's number is the
primary key, so a writer that ignored the lock would collide with ours, not slip past the budget.
The alternatives cost more: ``SELECT ... FOR UPDATE`` and ``LOCK TABLE`` need rights beyond SELECT
and INSERT, which is all that a process which spends should have; SERIALIZABLE answers contention
with aborts that every caller must retry. Writers are READ COMMITTED on purpose: each statement
after the lock sees what the writer before us committed, where an older snapshot would not.
Readers are REPEATABLE READ, so that a check sees rows and answers of one instant.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import SQLAlchemyError

from onesided.errors import LedgerError, LedgerUnavailableError
from onesided.ledger import _schema
from onesided.ledger._store import Store, version_table_found

LOCK: Final = int.from_bytes(b"onesided", "big")

_FUNCTION: Final = "onesided_append_only"
GUARDS: Final = (
    f"CREATE FUNCTION {_FUNCTION}() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'the ledger is append-only'; END $$",
    *(
        f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
        f"FOR EACH STATEMENT EXECUTE FUNCTION {_FUNCTION}()"
        for table in _schema.TABLES
    ),
)


class PostgresStore(Store):
    """One schema of one PostgreSQL database."""

    def lock(self, connection: Connection) -> None:
        """Queue behind other writers, and make sure that this commit waits for the disk."""
        connection.exec_driver_sql(
            f"SELECT pg_advisory_xact_lock({LOCK}), "
            "CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') "
            "THEN set_config('synchronous_commit', 'on', true) END"
        )

    def explain(self, error: SQLAlchemyError) -> LedgerError:
        """By SQLSTATE where the server said one."""
        original = getattr(error, "orig", None) or error
        state = getattr(original, "sqlstate", None) or ""
        reason, hint = _REASONS.get(state, _REASONS.get(state[:2], _REASONS[""]))
        cause = str(original).strip().partition("\n")[0]
        return LedgerUnavailableError(
            f"{self.name} {reason} ({cause}).", hint=hint, ledger=self.name, cause=cause
        )

    def damage(self, connection: Connection) -> str:
        """The guards must be there and enabled; pages are the server's own care."""
        enabled = connection.exec_driver_sql(
            "SELECT count(*) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid "
            "JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE n.nspname = current_schema() AND t.tgname LIKE 'onesided\\_%%\\_append\\_only' "
            "AND t.tgenabled IN ('O', 'A')"
        ).scalar()
        wanted = len(_schema.TABLES)
        return "" if enabled == wanted else "its append-only triggers are missing or disabled"

    def prepare(self, *, create: bool) -> None:
        """Make the tables where there are none; two processes may try at once.

        Errors: LedgerUnavailableError if there are none and ``create`` is false.
        """
        with self._translated():
            with self._transaction(write=False) as connection:
                there = version_table_found(connection)
            if there:
                return
            if not create:
                raise LedgerUnavailableError(
                    f"there is no {self.name}: the database holds none.",
                    hint="Check the URL; a ledger is made by the first publication.",
                    ledger=self.name,
                )
            with self._transaction(write=True) as connection:
                if not version_table_found(connection):
                    _schema.create(connection, guards=GUARDS)


_REASONS: Final = {
    "": ("cannot be reached", "Check the server and the URL, then open the ledger again."),
    # Lock not available in time.
    "55P03": ("is in use by another process", "Try again, or give a longer timeout."),
    "23": (
        "refused the row",
        "Something wrote to the ledger without its lock. Check the ledger.",
    ),
    "25": ("cannot be written: it is read-only", "Connect to the primary server."),
    "42": ("refused the statement", "Give the role SELECT and INSERT on the onesided_ tables."),
    "53": ("has no room left", "Free some space on the server."),
}


def open_database(url: URL, *, timeout: float, create: bool = True) -> Store:
    """The ledger in the first schema of the search path; made if absent and ``create`` is true."""
    wait = int(timeout * 1000)
    engine = create_engine(
        url.set(drivername="postgresql+psycopg"),
        isolation_level="READ COMMITTED",
        # A connection that died while idle is replaced before anything is decided on it.
        pool_pre_ping=True,
        connect_args={"connect_timeout": max(2, int(timeout))},
    )

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if connection.get_execution_options().get("onesided_mode") != "write":
            connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {wait}")

    store = PostgresStore(engine, name=f"ledger {url.render_as_string(hide_password=True)}")
    try:
        store.prepare(create=create)
        store.ensure_current()
    except BaseException:
        store.close()
        raise
    return store
