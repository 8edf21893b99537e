"""One policy's budget in a ledger: check, record durably, and only then let anyone draw."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from onesided._numbers import Loss, Number
from onesided.errors import ParameterError
from onesided.ledger import _amounts
from onesided.ledger._allowance import Allowance, Askers
from onesided.ledger._amounts import Amounts
from onesided.ledger._answered import charge_of_receipt, release_of
from onesided.ledger._balance import Standing
from onesided.ledger._entry import (
    Receipt,
    StoredRelease,
    amount_columns,
    amounts_of,
    question_of,
    receipt_of,
)
from onesided.ledger._opening import found_opening, stated_units
from onesided.ledger._refusals import exists, refuse_other_unit, unknown_unit
from onesided.ledger._rows import (
    FORMAT,
    QUESTION,
    SPEND,
    STORE,
    Row,
    detail_text,
    next_row,
    tampered,
)
from onesided.ledger._terms import Terms
from onesided.ledger._unit import Unit
from onesided.store import plain_text

if TYPE_CHECKING:
    from onesided.ledger._store import Store
    from onesided.ledger._view import View

Table: TypeAlias = Mapping[str, Loss | Number]


class Account:
    """The budget of one policy. Make it with :meth:`onesided.ledger.Ledger.account`.

    Promise: over all accounts, threads and processes on the same ledger, the recorded charges of
    an edge never sum to more than its budget, and a receipt is returned only after its charge is
    on durable record. An account is opened on record by its first charge, in the same
    transaction: one that is only asked about, or refused, leaves nothing behind.
    Units: epsilon in nats, delta a probability; both exact.

    >>> import onesided as od
    >>> terms = {"policy_id": "p", "policy_toml": "", "policy_name": "p"}
    >>> account = od.Ledger.open(None).account(**terms, budget={"a -> b": 1})
    >>> account.spend({"a -> b": "1/4"}, label="a count").number, account.remaining
    (2, {'a -> b': Fraction(3, 4)})
    """

    def __init__(self, store: Store, *, terms: Terms, who: str = "") -> None:
        self._store = store
        self._who = who
        self._terms = terms
        self._opening: Row | None = None
        self._chargeable = True
        self._known: Row | None = None
        self._askers = Askers(terms.policy_id, terms.budget)

    def __repr__(self) -> str:
        return f"Account(policy {self.policy_name!r}, {len(self._terms.budget.epsilon)} edges)"

    @property
    def policy_id(self) -> str:
        """The policy's identity."""
        return self._terms.policy_id

    @property
    def policy_name(self) -> str:
        """The policy's name."""
        return self._terms.policy_name

    @property
    def policy_toml(self) -> str:
        """The policy's text."""
        return self._terms.policy_toml

    @property
    def unit(self) -> Unit | None:
        """Whom the account protects; None if its opener did not say."""
        return self._terms.unit

    @property
    def opened(self) -> bool:
        """Whether the account is on record; the first charge opens it."""
        return self._store.read(self._latest) is not None

    @property
    def budget(self) -> dict[str, Fraction]:
        """ε that may be spent in all, per edge."""
        return dict(self._terms.budget.epsilon)

    @property
    def delta_budget(self) -> dict[str, Fraction]:
        """δ that may be spent in all, per edge."""
        return dict(self._terms.budget.delta)

    @property
    def spent(self) -> dict[str, Fraction]:
        """ε spent so far, per edge."""
        return dict(self.standing().spent)

    @property
    def delta_spent(self) -> dict[str, Fraction]:
        """δ spent so far, per edge."""
        return dict(self.standing().delta_spent)

    @property
    def remaining(self) -> dict[str, Fraction]:
        """ε left, per edge. Another process may spend it first."""
        return dict(self.standing().remaining)

    @property
    def delta_remaining(self) -> dict[str, Fraction]:
        """δ left, per edge."""
        return dict(self.standing().delta_remaining)

    @property
    def releases(self) -> int:
        """How many charges are on record."""
        return self.standing().releases

    def standing(self) -> Standing:
        """Budget, spending and rest at one moment, in one look at the ledger."""
        row = self._store.read(self._latest)
        spent, releases = self._totals(row)
        left = self._terms.budget - spent
        return Standing(
            spent=spent.epsilon,
            delta_spent=spent.delta,
            remaining=left.epsilon,
            delta_remaining=left.delta,
            releases=releases,
        )

    def left_after(self, number: int) -> dict[str, Fraction]:
        """ε that was left per edge after the row of that number, whatever came later.

        Errors: ParameterError if that row is not this account's.
        """
        row = self._known
        if row is None or row.number != number:
            row = self._store.read(lambda view: view.at(number))
        if row is None or row.policy_id != self.policy_id:
            raise ParameterError(
                f"Row {number} is none of this account's.", hint="Ask for one of its own rows."
            )
        return dict((self._terms.budget - self._totals(row)[0]).epsilon)

    def allowed(self, allowance: Allowance) -> Standing:
        """What one asker spent and has left of an allowance; the account may have less."""
        spent, number = self._store.read(lambda view: self._askers.spent(view, allowance))
        left = allowance.limits(self._terms.budget) - spent
        return Standing(
            spent=spent.epsilon,
            delta_spent=spent.delta,
            remaining=left.epsilon,
            delta_remaining=left.delta,
            releases=number,
        )

    def open(self) -> None:
        """Put the account on record now, with its budget, and not with its first charge.

        Does nothing if it is there. Errors: as :meth:`spend`.
        """

        def decide(view: View) -> tuple[Row, ...]:
            last = self._last(view)
            return () if self._opened(view) else (self._terms.opening(last, who=self._who),)

        self._store.append(decide)

    def require(self, epsilon: Table, *, delta: Table | None = None) -> None:
        """Refuse before costly work a charge that cannot fit. Records nothing.

        Asks what this account last saw, not the ledger: what was spent stays spent, so a charge
        that did not fit then never will. One that fitted may have become too large since:
        :meth:`spend` asks again. Errors: as :meth:`spend`.
        """
        charge = _amounts.read_charge(epsilon, delta, budget=self._terms.budget)
        spent, releases = self._totals(self._known)
        _amounts.settle(charge, spent=spent, budget=self._terms.budget, releases=releases)

    def spend(
        self,
        epsilon: Table,
        *,
        label: str,
        delta: Table | None = None,
        detail: Mapping[str, object] | None = None,
        release_id: str | None = None,
        question: str | None = None,
        allowance: Allowance | None = None,
    ) -> Receipt:
        """Check a charge and record it durably, in one transaction; draw only after this returns.

        ``epsilon`` and ``delta`` are per edge; an edge left out is charged 0. ``release_id``
        names the answer, so that it can be recalled; without one a random id is made.
        ``question`` identifies what is asked, so that the id is never taken for another question.
        ``allowance`` is whose charge it is, and what that asker may spend; checked here, too.
        Errors, none of which records anything: BudgetExceededError (also for an infinite loss);
        ParameterError; ReleaseExistsError if the release id was charged before;
        PolicyMismatchError if another process opened the account with another budget or unit;
        TamperedLedgerError if the last row does not hold; LedgerUnavailableError if the store
        fails. The last one may carry ``outcome="unknown"``: then the charge counts as spent.
        """
        charge = _amounts.read_charge(epsilon, delta, budget=self._terms.budget)
        label = plain_text(label, name="label")
        own = self._terms.own(self._who) | ({} if allowance is None else allowance.own())
        if allowance is not None:
            self.allowed(allowance)  # reads what others charged before the writers' lock is held
        if question is not None:
            own[QUESTION] = plain_text(question, name="question", empty=False)
        written = detail_text(detail, own=own)
        given = secrets.token_hex(16) if release_id is None else release_id
        name = plain_text(given, name="release_id", empty=False)

        def decide(view: View) -> tuple[Row, ...]:
            last, opened = self._last(view), self._opened(view)
            if not self._chargeable:
                raise unknown_unit(self._terms, name=self._store.name)
            opening = None if opened else self._terms.opening(last, who=self._who)
            latest = opening or self._latest(view)
            if opened and release_id is not None:
                self._refuse_repeat(view, release_id=name)
            spent, releases = self._totals(latest)
            total = _amounts.settle(
                charge, spent=spent, budget=self._terms.budget, releases=releases
            )
            if allowance is not None:
                self._askers.require(view, charge, allowance)
            spending = next_row(
                opening or last,
                kind=SPEND,
                policy_id=self.policy_id,
                release_id=name,
                label=label,
                detail=written,
                amounts=amount_columns(charge, total),
                releases=releases + 1,
            )
            return (opening, spending) if opening else (spending,)

        self._known = self._store.append(decide)[-1]
        return receipt_of(self._known)

    def store(self, receipt: Receipt, payload: bytes, content_type: str) -> None:
        """Keep the answer of a charge, after the draw and before publishing it.

        Exactly one answer per charge, durable when this returns. Errors: ParameterError if the
        receipt is of another ledger or the payload is not bytes; LedgerError if the charge
        already has its answer.
        """
        if not isinstance(payload, bytes):
            raise ParameterError(
                f"a payload must be bytes, got {type(payload).__name__}.",
                hint="Encode the release first.",
                value=type(payload),
            )
        facts = {
            "charge": receipt.number,
            "content_type": plain_text(content_type, name="content_type", empty=False),
            "sha256": hashlib.sha256(payload).hexdigest(),
            "size": len(payload),
        }
        written = detail_text(facts, own=self._terms.own(self._who))

        def decide(view: View) -> tuple[Row, ...]:
            last = self._last(view)
            charge = charge_of_receipt(view, receipt, policy_id=self.policy_id)
            latest = self._latest(view)
            spent, releases = self._totals(latest)
            stored = next_row(
                last,
                kind=STORE,
                policy_id=self.policy_id,
                release_id=charge.release_id,
                label=charge.label,
                detail=written,
                amounts=amount_columns(_amounts.zero(self._terms.budget.epsilon), spent),
                releases=releases,
            )
            return (stored,)

        self._known = self._store.append(decide, payload=(receipt.number, payload))[-1]

    def recall(
        self, release_id: str, *, question: str | None = None, again: bool = True
    ) -> StoredRelease | None:
        """The stored answer under that id, at no charge; None if nothing was charged under it.

        question: what identifies the question that is asked now; None asks for whatever is there.
        again: False refuses an answer that is there: it may be one about other data.
        Errors: ReleaseExistsError with ``state="lost"`` if the charge is on record but no answer
        is stored, ``"other"`` if it was for another question, ``"stored"`` if an answer is there
        and ``again`` is false; TamperedLedgerError if it is not the one that was stored.
        """
        name = plain_text(release_id, name="release_id", empty=False)

        def look(view: View) -> StoredRelease | None:
            self._last(view)
            charge = view.find(policy_id=self.policy_id, kind=SPEND, release_id=name)
            if charge is None:
                return None
            asked = question_of(charge)
            if question is not None and asked is not None and asked != question:
                raise exists(charge, "other")
            stored = view.find(policy_id=self.policy_id, kind=STORE, release_id=name)
            if stored is None:
                raise exists(charge, "lost")
            if not again:
                raise exists(charge, "stored")
            return release_of(charge, stored=stored, payload=view.payload(charge.number))

        return self._store.read(look)

    def unanswered(self, release_id: str, *, question: str) -> Receipt | None:
        """The receipt of a charge whose answer was never stored; None if there is no such charge.

        Where answers are told only once they are stored, nobody has seen one for it.
        """
        name = plain_text(release_id, name="release_id", empty=False)

        def look(view: View) -> Receipt | None:
            charge = view.find(policy_id=self.policy_id, kind=SPEND, release_id=name)
            if charge is None or question_of(charge) != question:
                return None
            stored = view.find(policy_id=self.policy_id, kind=STORE, release_id=name)
            return receipt_of(charge) if stored is None else None

        return self._store.read(look)

    def look(self, view: View) -> None:
        """Find the account on record, if it is there, and what it last charged.

        Errors: PolicyMismatchError if it was opened with other terms.
        """
        self._opened(view)
        self._latest(view)

    def _opened(self, view: View) -> Row | None:
        """The row that opened this account; None if the next charge opens it."""
        if self._opening is None:
            found = found_opening(view, self._terms)
            if found is None:
                return None
            stated = stated_units(view, found)
            # Those of 0.1.0 that do not say whom they protect are looked at, not charged.
            if len(stated) == 1 and (found.format == FORMAT or None not in stated):
                refuse_other_unit(next(iter(stated)), self._terms, name=self._store.name)
            self._chargeable = stated <= {self._terms.unit}
            self._opening = found
        return self._opening

    def _totals(self, row: Row | None) -> tuple[Amounts, int]:
        if row is None:
            return _amounts.zero(self._terms.budget.epsilon), 0
        _, spent = amounts_of(row)
        return spent, row.releases

    def _last(self, view: View) -> Row | None:
        last = view.last()
        if last is None and self._opening is not None:
            raise tampered(1, "the account's opening is gone")
        return last

    def _latest(self, view: View) -> Row | None:
        """The last row of this policy, which carries its totals."""
        last = self._last(view)
        if last is None:
            return None
        row = last if last.policy_id == self.policy_id else view.latest(policy_id=self.policy_id)
        if row is None and self._opening is not None:
            raise tampered(last.number, "no row of the account's policy is left")
        self._known = row
        return row

    def _refuse_repeat(self, view: View, *, release_id: str) -> None:
        charged = view.find(policy_id=self.policy_id, kind=SPEND, release_id=release_id)
        if charged:
            raise exists(charged, "charged")
