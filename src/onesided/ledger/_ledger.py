"""The ledger itself: opens the store, hands out accounts, shows and checks the rows."""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from onesided._numbers import Loss, Number, positive
from onesided.errors import ParameterError, PolicyMismatchError
from onesided.ledger import _amounts
from onesided.ledger._account import Account, budget_of, opening_row
from onesided.ledger._amounts import Amounts
from onesided.ledger._balance import Balance, balances
from onesided.ledger._check import check_rows, refuse_damage
from onesided.ledger._entry import CheckReport, Entry, detail_of, entry_of
from onesided.ledger._rows import GENESIS, Row
from onesided.store import DatabaseUrl, plain_text

if TYPE_CHECKING:
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

    def __init__(self, store: Store, *, who: str = "") -> None:
        self._store = store
        self._who = who

    @classmethod
    def open(
        cls,
        where: str | Path | None = None,
        *,
        timeout: Number = TIMEOUT,
        create: bool = True,
        who: str | None = None,
    ) -> Self:
        """Open or make a ledger: a path, an SQLAlchemy URL, or None for one in memory.

        URLs: ``sqlite:///file.db`` and ``postgresql+psycopg://user@host/database?schema=public``.
        ``timeout`` is how many seconds to wait for other writers. ``create=False`` looks only at
        a ledger that is there. ``who`` is written beside each charge for the people who read the
        ledger (default user@host); it is what the process says, and proves nothing.
        Errors: LedgerFormatError for a file that is not ours, damaged or newer;
        LedgerUnavailableError if it cannot be reached, or is not there and ``create`` is false;
        MissingDependencyError without psycopg; ParameterError for what is no place for one.
        """
        seconds = float(min(max(positive(timeout, name="timeout"), _LEAST_WAIT), _MOST_WAIT))
        name = _default_who() if who is None else plain_text(who, name="who")
        if where is None:
            return cls(_memory(), who=name)
        if isinstance(where, str) and "://" in where:
            return cls(_from_url(where, timeout=seconds, create=create), who=name)
        if not isinstance(where, str | Path):
            raise ParameterError(
                f"a ledger is a path, a URL or None, got {where!r}.",
                hint='Give a path such as "ledger.db".',
                value=where,
            )
        return cls(_from_path(str(where), timeout=seconds, create=create), who=name)

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
        further: bool = False,
    ) -> Account:
        """Open the account of a policy, or re-open it when it is the same.

        ``policy_id`` is the policy's identity (the SHA-256 of its encoding); its text and name
        are kept for readers. ``budget`` is ε per edge, ``delta_budget`` δ per edge (default 0).
        ``further=True`` allows one more account beside those of other policies. Each keeps its
        own budget, and what the ledger's releases protect together is then only the
        intersection of the policies, with the losses added.
        Errors: PolicyMismatchError if the policy is held with another budget, or if the ledger
        holds only other policies and ``further`` is false.
        """
        identity = plain_text(policy_id, name="policy_id", empty=False)
        toml = plain_text(policy_toml, name="policy_toml")
        name = plain_text(policy_name, name="policy_name")
        wanted = _amounts.read_budget(budget, delta_budget)

        def settle(view: View) -> Row | None:
            held = view.openings() if view.last() else ()
            same = next((row for row in held if row.policy_id == identity), None)
            if (same and budget_of(same) != wanted) or (held and not same and not further):
                raise _mismatch(
                    held, same=same, policy_id=identity, policy_name=name, budget=wanted
                )
            return same

        # Looked up first without the writers' lock, so that a read-only ledger can be read.
        opening = self._store.read(settle) or self._store.ensure(
            settle,
            make=lambda view: opening_row(
                view.last(),
                policy_id=identity,
                policy_toml=toml,
                policy_name=name,
                budget=wanted,
                who=self._who,
            ),
        )
        return Account(self._store, opening=opening, who=self._who)

    def accounts(self) -> tuple[Account, ...]:
        """The accounts on record in the order of their opening, each with policy and budget."""
        rows = self._store.read(lambda view: view.openings())
        return tuple(Account(self._store, opening=row, who=self._who) for row in rows)

    def balances(self) -> tuple[Balance, ...]:
        """Every account's budget and spending at one moment, summed from the charges."""
        return balances(self.entries())

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


def _mismatch(
    held: tuple[Row, ...], *, same: Row | None, policy_id: str, policy_name: str, budget: Amounts
) -> PolicyMismatchError:
    """What is held and what was asked."""
    first = same or held[0]
    theirs = budget_of(first)
    names = [_policy_name(row) for row in held if row is not first]
    others = f" and accounts of {', '.join(map(repr, names))}" if names else ""
    hint = (
        "Open it with the policy and budget that it holds, or start another ledger. "
        "A budget is never changed once it is on record."
    )
    if same is None:
        hint += (
            " To keep a further account under another policy here, open it with further=True: "
            "what all releases protect together is then the intersection of the policies."
        )
    return PolicyMismatchError(
        f"the ledger holds {_said(_policy_name(first), first.policy_id, theirs)}{others}; "
        f"asked for {_said(policy_name, policy_id, budget)}.",
        hint=hint,
        held_policy_id=first.policy_id,
        held_policy_ids=tuple(row.policy_id for row in held),
        asked_policy_id=policy_id,
        held_budget=dict(theirs.epsilon),
        asked_budget=dict(budget.epsilon),
        held_delta_budget=dict(theirs.delta),
        asked_delta_budget=dict(budget.delta),
    )


def _policy_name(opening: Row) -> str:
    return str(detail_of(opening)["policy_name"])


def _said(name: str, identity: str, budget: Amounts) -> str:
    edges = ", ".join(f"{edge!r}: {value}" for edge, value in budget.epsilon.items())
    deltas = ", ".join(f"{edge!r}: {value}" for edge, value in budget.delta.items() if value)
    extra = f" and δ budget {{{deltas}}}" if deltas else ""
    return f"policy {name!r} ({identity[:12]}) with budget {{{edges}}}{extra}"


def _memory() -> Store:
    from onesided.ledger._sqlite import open_memory  # noqa: PLC0415 - SQLAlchemy loads on use

    return open_memory()


def _default_who() -> str:
    """The user and host of this process, as far as they can be told."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):
        user = f"uid {os.getuid()}" if hasattr(os, "getuid") else "unknown"
    said = f"{user}@{socket.gethostname()}"
    return said.encode("utf-8", "replace").decode().replace("\x00", "")


def _from_path(path: str, *, timeout: float, create: bool) -> Store:
    from onesided.ledger._sqlite import open_file  # noqa: PLC0415 - SQLAlchemy loads on use

    if path in _MEMORY:
        return _memory()
    return open_file(Path(path), timeout=timeout, create=create)


def _from_url(where: str, *, timeout: float, create: bool) -> Store:
    if DatabaseUrl.is_for(where):
        from onesided.ledger._postgres import open_database  # noqa: PLC0415 - loads on use

        return open_database(DatabaseUrl(where), timeout=timeout, create=create)
    kind, _, path = where.partition("://")
    if kind.partition("+")[0] == "sqlite" and "?" not in path and path.startswith("/"):
        return _from_path(path[1:], timeout=timeout, create=create)
    # The text is not repeated: it may hold a password.
    raise ParameterError(
        f"no ledger can be kept at a URL of kind {kind[:20]!r}.",
        hint='Give a path, "sqlite:///file.db" without options, or '
        '"postgresql+psycopg://user@host/database?schema=public".',
    )
