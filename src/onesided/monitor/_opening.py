"""Where a monitor keeps its steps, and where its charge is on record."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from onesided.errors import ParameterError
from onesided.ledger import Ledger
from onesided.monitor._journal import Journal, MemoryJournal
from onesided.store import DatabaseUrl

_TIMEOUT: Final = 60.0


def open_state(state: object) -> Journal:
    """The store of that name. Errors: those of opening it."""
    if state is None:
        return MemoryJournal()
    if isinstance(state, MemoryJournal):
        return state
    if not isinstance(state, str | Path | DatabaseUrl):
        raise ParameterError(
            f"state must be a path, a URL or None, got {state!r}.",
            hint='Give a path such as "state.db".',
            value=state,
        )
    from onesided.monitor import _sql  # noqa: PLC0415 - SQLAlchemy loads on use

    if isinstance(state, DatabaseUrl) or (isinstance(state, str) and "://" in state):
        return _sql.open_database(DatabaseUrl.of(state), timeout=_TIMEOUT)
    return _sql.open_file(Path(state), timeout=_TIMEOUT)


def open_ledger(ledger: Ledger | str | Path | DatabaseUrl | None, state: object) -> Ledger:
    """The ledger that is named; by default one beside the state, or in its database.

    >>> open_ledger(None, None).name
    'the ledger in memory'
    """
    if isinstance(ledger, Ledger):
        return ledger
    if ledger is not None:
        return Ledger.open(ledger)
    if isinstance(state, DatabaseUrl) or (isinstance(state, str) and "://" in state):
        return Ledger.open(state)
    if isinstance(state, str | Path):
        path = Path(state)
        return Ledger.open(path.with_name(f"{path.stem}.ledger.db"))
    return Ledger.open(None)
