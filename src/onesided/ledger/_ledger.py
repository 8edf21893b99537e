"""The ledger itself: opens the store, hands out accounts, shows and checks the rows."""

from __future__ import annotations

import datetime as dt
import getpass
import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import zip_longest
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self, TypeAlias

from onesided._numbers import Loss, Number, positive, readable, whole
from onesided.errors import BudgetExceededError, ParameterError, TamperedLedgerError
from onesided.ledger._account import Account
from onesided.ledger._amounts import PURE, Amounts, read_budget
from onesided.ledger._calendar import Calendar, Cells
from onesided.ledger._entry import (
    BY_COHORT,
    BY_RENYI,
    FORMAT,
    FORMATS,
    GENESIS,
    KINDS,
    OPEN,
    SPEND,
    STORE,
    CheckReport,
    Entry,
    Row,
    Unit,
    amounts_of,
    charge_of,
    cohorts_of,
    day_of,
    detail_of,
    digest,
    entry_of,
    intact,
    tampered,
    unit_of,
)
from onesided.ledger._terms import Balance, Terms, at_delta, balance_of, stated_units, terms_of
from onesided.show import Card, RoleTable
from onesided.store import DatabaseUrl, plain_text

if TYPE_CHECKING:
    from onesided.ledger._store import Store, View


# The audit of a ledger: recompute every hash and every sum, and name the first bad row.


_END: Final = 32


# Of a charge's detail, ``epsilon=`` and ``delta=``: divergences per edge, at each of the orders.
Laws: TypeAlias = Callable[..., Mapping[str, tuple[Loss, ...]]]


@dataclass(slots=True, kw_only=True)
class _Policy:
    """The running state of one policy while the rows are read in order."""

    budget: Amounts
    spent: Amounts
    texts: tuple[str, str]
    nothing: tuple[str, str]
    releases: int = 0
    unit: Unit | None = None
    charges: dict[str, int] = field(default_factory=dict)
    answered: set[str] = field(default_factory=set)
    cells: Cells | None = None
    opened: dt.date = dt.date.max
    ahead: list[int] = field(default_factory=list)


def check_end(view: View) -> None:
    """What opening verifies before a kept total is relied on.

    Every row states its account's totals, so that a charge reads two rows and not all of them.
    What proves such a total? Only :func:`check_rows`, which sums all charges from the first.
    Opening verifies, at a cost that hardly grows:

    * no number between 1 and the last is missing, so no row was taken out;
    * the last rows (32) carry their own hashes, continue each other, and each states the totals
      of its account's row before it, where that is among them, plus its own charge;
    * where an account's last row is older, it carries its own hash (when it is looked up).

    So whoever lowers the totals that the next charge is decided on must forge hashes: of that row
    and of all after it. This finds damage and careless edits, not a forger who writes the end of
    the chain anew; that needs a head kept elsewhere and the whole check. An earlier row edited in
    place without its hash is found by the whole check alone. A process that has the ledger open
    refuses any of it, because it remembers the last row that it saw.
    Errors: TamperedLedgerError.
    """
    last = view.last()
    if last is None:
        return
    count, lowest, highest = view.extent()
    if (count, lowest) != (highest, 1):
        found = zip_longest(range(1, count + 2), (row.number for row in view.rows()))
        gap = next(number for number, held in found if number != held)
        raise tampered(gap, "it is missing, or stands there twice")
    before: Row | None = None
    states: dict[str, Amounts] = {}
    for row in view.rows(last=_END):
        intact(row)
        if before is not None:
            _check_link(row, number=before.number + 1, previous=before.hash)
        charged, total = amounts_of(row)
        spent = states.get(row.policy_id)
        if spent is not None and (
            charged.epsilon.keys() != spent.epsilon.keys()
            or charged.orders.keys() != spent.orders.keys()
            or total != spent + charged
        ):
            raise tampered(row.number, "its totals are not the sums of the charges")
        states[row.policy_id], before = total, row


def check_rows(view: View, *, head: str | None, laws: Laws | None = None) -> CheckReport:
    """Read every row once. ``head`` is a hash kept elsewhere that must still be in the chain.

    laws: tells a charge's divergences from its detail, ε and δ; a row must not state less.
    Errors: TamperedLedgerError with ``number``, the first bad row.
    """
    policies: dict[str, _Policy] = {}
    answers = dict(view.payload_digests())
    previous, number, head_found = GENESIS, 0, head is None or head == GENESIS
    latest, backwards = "", []
    for row in view.rows():
        number += 1
        _check_link(row, number=number, previous=previous)
        _check_meaning(row, policies=policies, answers=answers)
        if row.format >= BY_RENYI and row.kind == SPEND and charge_of(row).orders:
            _check_law(entry_of(row), laws)
        backwards += [number] if row.time[:10] < latest else []
        previous, latest = row.hash, max(latest, row.time[:10])
        head_found = head_found or row.hash == head
    known = {state.charges[name] for state in policies.values() for name in state.answered}
    for charge in (one for one in answers if one not in known):
        raise tampered(charge, "an answer is stored for it that no row recorded")
    if not head_found:
        raise tampered(
            number + 1,
            f"the head kept elsewhere, {head}, is not in the chain, so rows were removed from "
            "the end or the ledger was written anew",
            head=head,
        )
    unanswered = sorted(
        charge
        for state in policies.values()
        for name, charge in state.charges.items()
        if name not in state.answered
    )
    return CheckReport(
        entries=number,
        charges=sum(state.releases for state in policies.values()),
        stored=sum(len(state.answered) for state in policies.values()),
        unanswered=tuple(unanswered),
        backwards=tuple(backwards),
        ahead=tuple(sorted(number for state in policies.values() for number in state.ahead)),
        head=previous,
    )


def refuse_damage(complaint: str) -> None:
    """Errors: TamperedLedgerError if the database itself complains."""
    if complaint:
        raise TamperedLedgerError(
            f"every row holds, but the ledger does not: {complaint}.",
            hint="Copy the rows into a new store only after finding out what changed it.",
            number=None,
            problem=complaint,
        )


def _check_link(row: Row, *, number: int, previous: str) -> None:
    if row.number != number:
        raise tampered(number, f"it is missing; the next row found is {row.number}")
    if row.previous != previous:
        raise tampered(number, "it does not continue the row before it")
    if digest(row) != row.hash or not row.hash:
        raise tampered(number, "its hash is not the hash of what it holds")
    if row.format not in FORMATS or row.kind not in KINDS:
        raise tampered(number, f"it is of unknown format {row.format} or kind {row.kind!r}")


def _check_meaning(row: Row, *, policies: dict[str, _Policy], answers: Mapping[int, str]) -> None:
    """A row may be well hashed and still lie, if its writer lied."""
    if row.kind == OPEN:
        if row.policy_id in policies:
            raise tampered(row.number, "it opens an account for the second time")
        terms = terms_of(row)
        budget, calendar, spent = terms.budget, terms.calendar, terms.budget.nothing()
        texts = spent.texts()
        policies[row.policy_id] = _Policy(
            budget=budget,
            spent=spent,
            texts=texts,
            nothing=texts,
            unit=unit_of(row),
            cells=None if calendar is None else Cells(budget, calendar),
            opened=day_of(row),
        )
    state = policies.get(row.policy_id)
    if state is None:
        raise tampered(row.number, "its policy was never opened")
    # An account of 0.1.0 may learn its unit later; then it keeps it.
    unit = unit_of(row)
    if unit != state.unit and state.unit is not None and row.format >= FORMAT:
        raise tampered(row.number, "it protects another unit than its account")
    state.unit = state.unit or unit
    _check_totals(row, state=state)
    if row.kind == SPEND:
        if row.release_id in state.charges:
            raise tampered(row.number, f"release {row.release_id!r} is charged twice")
        state.charges[row.release_id] = row.number
    if row.kind == STORE:
        facts = detail_of(row)
        charge = state.charges.get(row.release_id)
        if charge is None or facts.get("charge") != charge or row.release_id in state.answered:
            raise tampered(row.number, "it stores an answer for no charge, or a second one")
        if not answers.get(charge) or answers[charge] != facts.get("sha256"):
            raise tampered(row.number, "the stored answer is not the one that was recorded")
        state.answered.add(row.release_id)


def _check_law(entry: Entry, laws: Laws | None) -> None:
    """A renyi account is charged what the noise on record says, or more."""
    if laws is None:
        raise ParameterError(
            "This ledger has a renyi account, whose divergences are recomputed from the noise.",
            hint="Pass laws=onesided.accounting.charge_divergences, or run onesided ledger check.",
        )
    due = laws(entry.detail, epsilon=entry.epsilon, delta=entry.delta)
    for edge, least in due.items():
        if any(told < one for told, one in zip(entry.divergences[edge], least, strict=True)):
            raise tampered(entry.number, "its divergences are less than those of its noise")


def _check_totals(row: Row, *, state: _Policy) -> None:
    state.releases += row.kind == SPEND
    stated = (row.total_epsilon, row.total_delta)
    if (row.format == BY_COHORT) != (state.cells is not None):
        raise tampered(row.number, "its format is not that of its account")
    pure = not state.budget.orders and row.format != BY_RENYI
    nothing = row.kind != SPEND and (row.epsilon, row.delta) == state.nothing
    if pure and nothing and stated == state.texts:
        if row.releases != state.releases:
            raise tampered(row.number, "its totals are not the sums of the charges")
        return
    charged = charge_of(row)
    if charged.orders.keys() != state.budget.orders.keys():
        raise tampered(row.number, "its divergences are not those of its account")
    edges = state.budget.epsilon.keys()
    if charged.epsilon.keys() != edges or charged.delta.keys() != edges:
        raise tampered(row.number, "its edges are not those of its account")
    if any(value < 0 for part in (charged.epsilon, charged.delta) for value in part.values()):
        raise tampered(row.number, "it charges less than nothing")
    if row.kind != SPEND and charged != state.budget.nothing():
        raise tampered(row.number, f"a row of kind {row.kind!r} charges something")
    total = state.spent + charged
    texts = total.texts()
    # A total that is not written as we write it may still be the right number.
    alike = pure and stated == texts
    if row.releases != state.releases or not (alike or amounts_of(row)[1] == total):
        raise tampered(row.number, "its totals are not the sums of the charges")
    if _over(row, charged, total, state=state):
        raise tampered(row.number, "its total is over budget")
    state.spent, state.texts = total, texts


def _over(row: Row, charged: Amounts, total: Amounts, *, state: _Policy) -> bool:
    """Whether a charge passes its budget: of the account, or of some date on the row's own day."""
    cells = state.cells
    if cells is None:
        return bool(state.budget.over(total))
    if row.kind == SPEND:
        about, day = cohorts_of(row), day_of(row)
        try:
            cells.require(about, charged, day)
        except BudgetExceededError:
            return True
        state.ahead += [row.number] if cells.ahead(day, state.opened) else []
        cells.add(row.number, about, charged, day)
    return False


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
        if isinstance(where, str) and DatabaseUrl.is_for(where):
            # From here on no frame of ours holds the password, whatever a traceback shows.
            where = DatabaseUrl(where)
        # The store at a place; what is there already is looked at now.
        from onesided.ledger._places import FilePlace, MemoryPlace, PostgresPlace  # noqa: PLC0415 - SQLAlchemy loads on use
        from onesided.ledger._store import Store  # noqa: PLC0415

        if where is None:
            store = Store(MemoryPlace())
        elif isinstance(where, DatabaseUrl):
            store = Store(PostgresPlace(where, timeout=seconds, create=create))
        else:
            store = Store(FilePlace(_path_of(where), timeout=seconds, create=create))
        try:
            store.look()
        except BaseException:
            store.close()
            raise
        return cls(store, who=name)

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
            table=RoleTable.of(
                {
                    "entry": [entry.number for entry in found],
                    "time (UTC)": [entry.time[:19].replace("T", " ") for entry in found],
                    "what": [entry.label or entry.kind for entry in found],
                    "ε": [_told(entry.epsilon) for entry in found],
                }
            ),
            lines=[
                f"Left under the policy '{account.policy_name}': "
                f"{_told(account.remaining)}{at_delta(account)}"
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
    def file(self) -> Path | None:
        """The file that it is in, or will be; None in memory or PostgreSQL."""
        return self._store.file

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
        accounting: str = PURE,
        unit: Unit | None = None,
        further: bool = False,
        calendar: Calendar | None = None,
    ) -> Account:
        """The account of a policy: the one on record, or one that its first charge will open.

        ``policy_id`` is the policy's identity (the SHA-256 of its encoding); its text and name
        are kept for readers. ``budget`` is ε per edge, ``delta_budget`` δ per edge (default 0).
        ``accounting`` is what the account adds, chosen when it is opened and kept: "pure" adds ε,
        and promises the budget without a δ but for charges that carry one; "renyi" adds directed
        divergences and promises (ε, δ) of both budgets, for charges chosen adaptively.
        ``unit`` is whom the charges protect; one account protects one kind of unit.
        ``further=True`` allows one more account beside those of other policies. Each keeps its
        own budget, and what the ledger's releases protect together is then only the
        intersection of the policies, with the losses added.
        ``calendar`` parts the budget by date: each has all of it. A promise about a whole unit is
        then :attr:`Calendar.promise`.
        Writes nothing. What is verified here, and what it proves, is said in
        :func:`onesided.ledger._ledger.check_end`.
        Errors: PolicyMismatchError if the policy is held with another budget or unit, or if the
        ledger holds only other policies and ``further`` is false; TamperedLedgerError.
        """
        terms = Terms(
            policy_id=plain_text(policy_id, name="policy_id", empty=False),
            policy_toml=plain_text(policy_toml, name="policy_toml"),
            policy_name=plain_text(policy_name, name="policy_name"),
            budget=read_budget(budget, delta_budget, accounting=accounting),
            unit=unit,
            further=further,
            calendar=calendar,
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
        :meth:`account`; :meth:`check` sums the charges themselves.
        """

        def look(view: View) -> tuple[Balance, ...]:
            check_end(view)
            return tuple(balance_of(view, row) for row in view.openings())

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

    def check(self, head: str | None = None, *, laws: Laws | None = None) -> CheckReport:
        """Recompute the whole chain and every sum; returns only if all of it holds.

        ``laws`` is :func:`onesided.accounting.charge_divergences`, which recomputes from the noise
        on record what each charge of a renyi account added; a ledger with one needs it.

        ``head`` is a head hash that was kept elsewhere: it must still be in the chain, which
        finds rows cut from the end and a ledger written anew. Errors: TamperedLedgerError whose
        ``values["number"]`` is the first bad row; LedgerFormatError if the file is damaged.
        """
        kept = None if head is None else plain_text(head, name="head", empty=False).strip()
        report = self._store.read(lambda view: check_rows(view, head=kept, laws=laws))
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


def _path_of(where: object) -> Path:
    """The path of a ledger in a file. Errors: ParameterError for what names none."""
    if not isinstance(where, str | Path):
        raise ParameterError(
            f"a ledger is a path, a URL or None, got {where!r}.",
            hint='Give a path such as "ledger.db".',
            value=where,
        )
    kind, mark, path = str(where).partition("://") if isinstance(where, str) else ("", "", "")
    if mark and not (kind.partition("+")[0] == "sqlite" and "?" not in path and path[:1] == "/"):
        # The text is not repeated: it may hold a password.
        raise ParameterError(
            f"no ledger can be kept at a URL of kind {kind[:20]!r}.",
            hint='Give a path, "sqlite:///file.db" without options, or '
            '"postgresql+psycopg://user@host/database?schema=public".',
        )
    name = path[1:] if mark else str(where)
    if name in _NO_FILE:
        raise ParameterError(
            f"{name!r} is no place for a ledger: with the process it would be forgotten.",
            hint="Name a file, and the same one each time; is a variable empty? In Python None is "
            "a ledger in memory.",
            value=name,
        )
    return Path(name)


def _told(amounts: Mapping[str, Loss]) -> str:
    return ", ".join(f"{edge}: {readable(amount)}" for edge, amount in amounts.items())
