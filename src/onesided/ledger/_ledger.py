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

from onesided._numbers import Loss, Number, positive, readable, whole
from onesided.errors import ParameterError
from onesided.ledger import _amounts
from onesided.ledger._account import Account
from onesided.ledger._balance import Balance, stated_balance
from onesided.ledger._check import check_end, check_rows, refuse_damage
from onesided.ledger._entry import CheckReport, Entry, entry_of
from onesided.ledger._opening import stated_units, terms_of
from onesided.ledger._rows import GENESIS
from onesided.ledger._terms import Terms
from onesided.ledger._unit import Unit
from onesided.show import Card
from onesided.store import DatabaseUrl, plain_text

if TYPE_CHECKING:
    from onesided.ledger._store import Place, Store
    from onesided.ledger._view import View

TIMEOUT: Final = 60
_SHOWN: Final = 10  # charges that a notebook shows
# A millisecond is the stores' own unit, and PostgreSQL takes 0 for "wait for ever".
_LEAST_WAIT: Final = Fraction(1, 1000)
_MOST_WAIT: Final = Fraction(24 * 60 * 60)
# What SQLite takes for no file: a budget kept there is whole again with each process.
_NO_FILE: Final = frozenset({"", ":memory:"})


class Ledger:
    """The append-only record of what was spent. Open it with :meth:`open`.

    Promise: a row, once acknowledged, stays; rows are chained by hashes; charges are recorded
    durably before anyone may draw. Limit: whoever owns the store can replace the whole of it;
    keep :meth:`head` elsewhere and give it to :meth:`check`.

    >>> terms = {"policy_id": "p", "policy_toml": "", "policy_name": "p"}
    >>> with Ledger.open("ledger.db") as ledger:
    ...     account = ledger.account(**terms, budget={"up": 1})
    ...     account.spend({"up": "1/2"}, label="a count").number
    2
    >>> Ledger.open("ledger.db").check().charges
    1
    """

    def __init__(self, store: Store, *, who: str = "") -> None:
        self._store = store
        self._who = who

    @classmethod
    def open(
        cls,
        where: str | Path | DatabaseUrl | None = None,
        *,
        timeout: Number = TIMEOUT,
        create: bool = True,
        who: str | None = None,
    ) -> Self:
        """Open a ledger: a path, an SQLAlchemy URL, or None for one in memory.

        One that is not there yet is made by its first charge, so that a refusal leaves nothing.

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
        if isinstance(where, str) and DatabaseUrl.is_for(where):
            # From here on no frame of ours holds the password, whatever a traceback shows.
            where = DatabaseUrl(where)
        if isinstance(where, DatabaseUrl):
            return cls(_from_database(where, timeout=seconds, create=create), who=name)
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

    def _repr_html_(self) -> str:
        """The last charges, and what is left of each account."""
        if not self.exists:
            return Card(title=f"{self!r}: nothing is charged yet").html()
        found = list(self.entries(last=_SHOWN))
        return Card(
            title=repr(self),
            columns={
                "entry": [entry.number for entry in found],
                "time (UTC)": [entry.time[:19].replace("T", " ") for entry in found],
                "what": [entry.label or entry.kind for entry in found],
                "ε": [_told(entry.epsilon) for entry in found],
            },
            lines=[
                f"Left under the policy '{account.policy_name}': {_told(account.remaining)}"
                for account in self.accounts()
            ],
        ).html()

    def close(self) -> None:
        """Let go of the store; later use is a LedgerError."""
        self._store.close()

    @property
    def name(self) -> str:
        """Where the ledger is, for people; shows no password."""
        return self._store.name

    @property
    def exists(self) -> bool:
        """Whether the ledger is made; its first charge makes it."""
        return self._store.database is not None

    def make(self) -> None:
        """Make the ledger now, empty, as the owner of a database does for those who may only add.

        Otherwise the first charge makes it. Errors: LedgerUnavailableError.
        """
        self._store.made()

    def account(
        self,
        *,
        policy_id: str,
        policy_toml: str,
        policy_name: str,
        budget: Mapping[str, Loss | Number],
        delta_budget: Mapping[str, Loss | Number] | None = None,
        unit: Unit | None = None,
        further: bool = False,
    ) -> Account:
        """The account of a policy: the one on record, or one that its first charge will open.

        ``policy_id`` is the policy's identity (the SHA-256 of its encoding); its text and name
        are kept for readers. ``budget`` is ε per edge, ``delta_budget`` δ per edge (default 0).
        ``unit`` is whom the charges protect; one account protects one kind of unit.
        ``further=True`` allows one more account beside those of other policies. Each keeps its
        own budget, and what the ledger's releases protect together is then only the
        intersection of the policies, with the losses added.
        Writes nothing. What is verified here, and what it proves, is said in
        :func:`onesided.ledger._check.check_end`.
        Errors: PolicyMismatchError if the policy is held with another budget or unit, or if the
        ledger holds only other policies and ``further`` is false; TamperedLedgerError.
        """
        terms = Terms(
            policy_id=plain_text(policy_id, name="policy_id", empty=False),
            policy_toml=plain_text(policy_toml, name="policy_toml"),
            policy_name=plain_text(policy_name, name="policy_name"),
            budget=_amounts.read_budget(budget, delta_budget),
            unit=unit,
            further=further,
        )
        account = Account(self._store, terms=terms, who=self._who)

        def look(view: View) -> None:
            check_end(view)
            account.look(view)

        self._store.read(look)
        return account

    def accounts(self) -> tuple[Account, ...]:
        """The accounts on record in the order of their opening, each with policy and budget."""

        def look(view: View) -> tuple[Account, ...]:
            found = []
            for row in view.openings():
                units = stated_units(view, row)
                unit = next(iter(units)) if len(units) == 1 else None
                account = Account(self._store, terms=terms_of(row, unit=unit), who=self._who)
                account.look(view)
                found.append(account)
            return tuple(found)

        return self._store.read(look)

    def balances(self) -> tuple[Balance, ...]:
        """Every account's budget and spending at one moment.

        By the totals that each account's last row states, after the same verification as
        :meth:`account`; :meth:`check` sums the charges themselves, and so does
        :func:`onesided.ledger.balances` of all entries.
        """

        def look(view: View) -> tuple[Balance, ...]:
            check_end(view)
            return tuple(
                stated_balance(
                    entry_of(row),
                    entry_of(view.latest(policy_id=row.policy_id) or row),
                    units=stated_units(view, row),
                )
                for row in view.openings()
            )

        return self._store.read(look)

    def entries(
        self,
        *,
        after: int = 0,
        last: int | None = None,
        policy_id: str | None = None,
        kind: str | None = None,
    ) -> tuple[Entry, ...]:
        """The rows in order, decoded. Not checked: use :meth:`check` for that.

        after: only those with a higher number. last: only so many, the latest. policy_id, kind:
        only those of one account, or of one kind ("open", "spend" or "store").
        """
        most = None if last is None else whole(last, name="last", least=0)

        def look(view: View) -> tuple[Entry, ...]:
            found = view.rows(after=after, last=most, policy_id=policy_id, kind=kind)
            return tuple(entry_of(row) for row in found)

        return self._store.read(look)

    def entry(self, number: int) -> Entry | None:
        """The row of that number; None if there is none."""
        row = self._store.read(lambda view: view.at(number))
        return None if row is None else entry_of(row)

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


def _default_who() -> str:
    """The user and host of this process, as far as they can be told."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):
        user = f"uid {os.getuid()}" if hasattr(os, "getuid") else "unknown"
    said = f"{user}@{socket.gethostname()}"
    return said.encode("utf-8", "replace").decode().replace("\x00", "")


def _memory() -> Store:
    from onesided.ledger._sqlite import MemoryPlace  # noqa: PLC0415 - SQLAlchemy loads on use

    return _opened(MemoryPlace())


def _from_path(path: str, *, timeout: float, create: bool) -> Store:
    from onesided.ledger._sqlite import FilePlace  # noqa: PLC0415 - SQLAlchemy loads on use

    if path in _NO_FILE:
        raise ParameterError(
            f"{path!r} is no place for a ledger: with the process it would be forgotten.",
            hint="Name a file, and the same one each time; is a variable empty? In Python None is "
            "a ledger in memory.",
            value=path,
        )
    return _opened(FilePlace(Path(path), timeout=timeout, create=create))


def _from_database(url: DatabaseUrl, *, timeout: float, create: bool) -> Store:
    from onesided.ledger._postgres import PostgresPlace  # noqa: PLC0415 - loads on use

    return _opened(PostgresPlace(url, timeout=timeout, create=create))


def _from_url(where: str, *, timeout: float, create: bool) -> Store:
    kind, _, path = where.partition("://")
    if kind.partition("+")[0] == "sqlite" and "?" not in path and path.startswith("/"):
        return _from_path(path[1:], timeout=timeout, create=create)
    # The text is not repeated: it may hold a password.
    raise ParameterError(
        f"no ledger can be kept at a URL of kind {kind[:20]!r}.",
        hint='Give a path, "sqlite:///file.db" without options, or '
        '"postgresql+psycopg://user@host/database?schema=public".',
    )


def _opened(place: Place) -> Store:
    """The store at ``place``; what is there already is looked at now."""
    from onesided.ledger._store import Store  # noqa: PLC0415 - SQLAlchemy loads on use

    store = Store(place)
    try:
        store.look()
    except BaseException:
        store.close()
        raise
    return store


def _told(amounts: Mapping[str, Loss]) -> str:
    return ", ".join(f"{edge}: {readable(amount)}" for edge, amount in amounts.items())
