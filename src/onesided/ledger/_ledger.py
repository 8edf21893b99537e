"""The ledger itself: opens the store, hands out accounts, shows and checks the rows."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from onesided._numbers import Loss, Number, positive
from onesided.errors import MissingDependencyError, ParameterError, PolicyMismatchError
from onesided.ledger import _amounts
from onesided.ledger._account import Account, budget_of, opening_row
from onesided.ledger._amounts import Amounts
from onesided.ledger._check import check_rows, refuse_damage
from onesided.ledger._entry import CheckReport, Entry, detail_of, entry_of
from onesided.ledger._rows import GENESIS, OPEN, Row, plain_text

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

    from onesided.ledger._store import Store, View

TIMEOUT: Final = 60
# A millisecond is the stores' own unit, and PostgreSQL takes 0 for "wait for ever".
_LEAST_WAIT: Final = Fraction(1, 1000)
_MOST_WAIT: Final = Fraction(24 * 60 * 60)
_MEMORY: Final = frozenset({"", ":memory:"})


class Ledger:
    """The append-only record of what was spent. Open it with :meth:`open`.

    Promise: a row, once acknowledged, stays; rows are chained by hashes; charges are recorded
    durably before anyone may draw. Limit: whoever owns the store can replace the whole of it;
    keep :meth:`head` elsewhere and give it to :meth:`check`.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    @classmethod
    def open(cls, where: str | Path | None = None, *, timeout: Number = TIMEOUT) -> Self:
        """Open or make a ledger: a path, an SQLAlchemy URL, or None for one in memory.

        URLs: ``sqlite:///file.db`` and ``postgresql+psycopg://user@host/database``.
        ``timeout`` is how many seconds to wait for other writers. Errors: LedgerFormatError for
        a file that is not ours, damaged or newer; LedgerUnavailableError if it cannot be
        reached; MissingDependencyError without psycopg.
        """
        seconds = float(min(max(positive(timeout, name="timeout"), _LEAST_WAIT), _MOST_WAIT))
        if where is None:
            return cls(_memory())
        if isinstance(where, str) and "://" in where:
            return cls(_from_url(where, timeout=seconds))
        if not isinstance(where, str | Path):
            raise ParameterError(
                f"a ledger is a path, a URL or None, got {where!r}.",
                hint='Give a path such as "ledger.db".',
                value=where,
            )
        return cls(_from_path(str(where), timeout=seconds))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Ledger({self._store.name})"

    def close(self) -> None:
        """Let go of the store; later use is a LedgerError."""
        self._store.close()

    def account(
        self,
        *,
        policy_id: str,
        policy_toml: str,
        policy_name: str,
        budget: Mapping[str, Loss | Number],
        delta_budget: Mapping[str, Loss | Number] | None = None,
    ) -> Account:
        """Open the account of a policy, or re-open it when it is the same.

        ``policy_id`` is the policy's identity (the SHA-256 of its encoding); its text and name
        are kept for readers. ``budget`` is ε per edge, ``delta_budget`` δ per edge (default 0).
        Errors: PolicyMismatchError if the ledger holds another policy or another budget.
        """
        identity = plain_text(policy_id, name="policy_id", empty=False)
        toml = plain_text(policy_toml, name="policy_toml")
        name = plain_text(policy_name, name="policy_name")
        wanted = _amounts.read_budget(budget, delta_budget)

        def settle(view: View) -> Row | None:
            last = view.last()
            opening = view.first(kind=OPEN) if last else None
            if opening:
                _refuse_other(opening, policy_id=identity, policy_name=name, budget=wanted)
            return opening

        # Looked up first without the writers' lock, so that a read-only ledger can be read.
        opening = self._store.read(settle) or self._store.ensure(
            settle,
            make=lambda view: opening_row(
                view.last(), policy_id=identity, policy_toml=toml, policy_name=name, budget=wanted
            ),
        )
        return Account(self._store, opening=opening)

    def accounts(self) -> tuple[Account, ...]:
        """The accounts on record, each with its own policy and budget."""
        rows = self._store.read(lambda view: [row for row in view.rows() if row.kind == OPEN])
        return tuple(Account(self._store, opening=row) for row in rows)

    def entries(self) -> tuple[Entry, ...]:
        """Every row in order. Not checked: use :meth:`check` for that."""
        return self._store.read(lambda view: tuple(entry_of(row) for row in view.rows()))

    def head(self) -> str:
        """The hash of the last row (64 zeros for an empty ledger); keep it elsewhere."""
        row = self._store.read(lambda view: view.last())
        return row.hash if row else GENESIS

    def check(self, head: str | None = None) -> CheckReport:
        """Recompute the whole chain and every sum; returns only if all of it holds.

        ``head`` is a head hash that was kept elsewhere: it must still be in the chain, which
        finds rows cut from the end and a ledger written anew. Errors: TamperedLedgerError whose
        ``values["number"]`` is the first bad row; LedgerFormatError if the file is damaged.
        """
        kept = None if head is None else plain_text(head, name="head", empty=False).strip()
        report = self._store.read(lambda view: check_rows(view, head=kept))
        refuse_damage(self._store.inspect())
        return report


def _refuse_other(opening: Row, *, policy_id: str, policy_name: str, budget: Amounts) -> None:
    """Errors: PolicyMismatchError, which shows what is held and what was asked."""
    held_name, held = str(detail_of(opening)["policy_name"]), budget_of(opening)
    if opening.policy_id == policy_id and held == budget:
        return
    raise PolicyMismatchError(
        f"the ledger holds {_said(held_name, opening.policy_id, held)}; "
        f"asked for {_said(policy_name, policy_id, budget)}.",
        hint="Open it with the policy and budget that it holds, or start another ledger. "
        "A budget is never changed once it is on record.",
        held_policy_id=opening.policy_id,
        asked_policy_id=policy_id,
        held_budget=dict(held.epsilon),
        asked_budget=dict(budget.epsilon),
        held_delta_budget=dict(held.delta),
        asked_delta_budget=dict(budget.delta),
    )


def _said(name: str, identity: str, budget: Amounts) -> str:
    edges = ", ".join(f"{edge!r}: {value}" for edge, value in budget.epsilon.items())
    deltas = ", ".join(f"{edge!r}: {value}" for edge, value in budget.delta.items() if value)
    extra = f" and δ budget {{{deltas}}}" if deltas else ""
    return f"policy {name!r} ({identity[:12]}) with budget {{{edges}}}{extra}"


def _memory() -> Store:
    from onesided.ledger._sqlite import open_memory  # noqa: PLC0415 - SQLAlchemy loads on use

    return open_memory()


def _from_path(path: str, *, timeout: float) -> Store:
    from onesided.ledger._sqlite import open_file  # noqa: PLC0415 - SQLAlchemy loads on use

    if path in _MEMORY:
        return _memory()
    return open_file(Path(path), timeout=timeout)


def _from_url(where: str, *, timeout: float) -> Store:
    from sqlalchemy.engine import make_url  # noqa: PLC0415 - SQLAlchemy loads on use
    from sqlalchemy.exc import ArgumentError  # noqa: PLC0415

    try:
        url = make_url(where)
    except (ArgumentError, ValueError):
        raise ParameterError(
            "the ledger's URL cannot be read.",
            hint='Write it as "postgresql+psycopg://user@host/database" or "sqlite:///file.db".',
        ) from None
    kind = url.get_backend_name()
    if kind == "sqlite" and not url.query:
        return _from_path(url.database or "", timeout=timeout)
    if kind in {"postgresql", "postgres"}:
        return _postgres(url, timeout=timeout)
    raise ParameterError(
        f"no ledger can be kept at {url.render_as_string(hide_password=True)}.",
        hint="Use SQLite (without options) or PostgreSQL.",
        value=url.render_as_string(hide_password=True),
    )


def _postgres(url: URL, *, timeout: float) -> Store:
    try:
        import psycopg  # noqa: F401, PLC0415 - optional
    except ImportError:
        raise MissingDependencyError(
            "a PostgreSQL ledger needs psycopg.",
            hint='Install it with: pip install "onesided[postgres]"',
        ) from None
    from onesided.ledger._postgres import open_database  # noqa: PLC0415

    return open_database(url, timeout=timeout)
