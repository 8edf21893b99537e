"""One policy's budget in a ledger: check, record durably, and only then let anyone draw."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from onesided._numbers import Loss, Number
from onesided.errors import LedgerError, ParameterError
from onesided.ledger import _amounts
from onesided.ledger._amounts import Amounts
from onesided.ledger._entry import Receipt, StoredRelease, amounts_of, detail_of, receipt_of
from onesided.ledger._rows import (
    OPEN,
    SPEND,
    STORE,
    Row,
    detail_text,
    next_row,
    tampered,
    with_who,
)
from onesided.store import canonical, plain_text

if TYPE_CHECKING:
    from onesided.ledger._store import Store, View

Table: TypeAlias = Mapping[str, Loss | Number]


class Account:
    """The budget of one policy. Make it with :meth:`onesided.ledger.Ledger.account`.

    Promise: over all accounts, threads and processes on the same ledger, the recorded charges of
    an edge never sum to more than its budget, and a receipt is returned only after its charge is
    on durable record. Units: epsilon in nats, delta a probability; both exact.
    """

    def __init__(self, store: Store, *, opening: Row, who: str = "") -> None:
        self._store = store
        self._who = who
        detail = detail_of(opening)
        self.policy_id = opening.policy_id
        self.policy_name = str(detail["policy_name"])
        self.policy_toml = str(detail["policy_toml"])
        self._budget = budget_of(opening)

    def __repr__(self) -> str:
        return f"Account(policy {self.policy_name!r}, {len(self._budget.epsilon)} edges)"

    @property
    def budget(self) -> dict[str, Fraction]:
        """ε that may be spent in all, per edge."""
        return dict(self._budget.epsilon)

    @property
    def delta_budget(self) -> dict[str, Fraction]:
        """δ that may be spent in all, per edge."""
        return dict(self._budget.delta)

    @property
    def spent(self) -> dict[str, Fraction]:
        """ε spent so far, per edge."""
        return dict(self._totals().epsilon)

    @property
    def delta_spent(self) -> dict[str, Fraction]:
        """δ spent so far, per edge."""
        return dict(self._totals().delta)

    @property
    def remaining(self) -> dict[str, Fraction]:
        """ε left, per edge. Another process may spend it first."""
        return dict((self._budget - self._totals()).epsilon)

    @property
    def delta_remaining(self) -> dict[str, Fraction]:
        """δ left, per edge."""
        return dict((self._budget - self._totals()).delta)

    @property
    def releases(self) -> int:
        """How many charges are on record."""
        row = self._store.read(self._latest)
        return row.releases

    def require(self, epsilon: Table, *, delta: Table | None = None) -> None:
        """Ask before costly work whether this charge would fit now. Records nothing.

        Errors: as :meth:`spend`, which asks again.
        """
        charge = _amounts.read_charge(epsilon, delta, budget=self._budget)
        row = self._store.read(self._latest)
        _, spent = amounts_of(row)
        _amounts.settle(charge, spent=spent, budget=self._budget, releases=row.releases)

    def spend(
        self,
        epsilon: Table,
        *,
        label: str,
        delta: Table | None = None,
        detail: Mapping[str, object] | None = None,
        release_id: str | None = None,
    ) -> Receipt:
        """Record a charge durably, then return its receipt; draw only after this returns.

        ``epsilon`` and ``delta`` are per edge; an edge left out is charged 0. ``release_id``
        names the question, so that its answer can be recalled; without one a random id is made.
        Errors, none of which records anything: BudgetExceededError (also for an infinite loss);
        ParameterError; LedgerError if the release id was charged before; TamperedLedgerError if
        the last row does not hold; LedgerUnavailableError if the store fails. The last one may
        carry ``outcome="unknown"``: then the charge counts as spent.
        """
        charge = _amounts.read_charge(epsilon, delta, budget=self._budget)
        label = plain_text(label, name="label")
        written = detail_text(detail, who=self._who)
        if release_id is None:
            name = secrets.token_hex(16)
        else:
            name = plain_text(release_id, name="release_id", empty=False)

        def decide(view: View) -> Row:
            last = self._last(view)
            self._refuse_repeat(view, release_id=name)
            row = self._latest(view)
            _, spent = amounts_of(row)
            total = _amounts.settle(charge, spent=spent, budget=self._budget, releases=row.releases)
            return next_row(
                last,
                kind=SPEND,
                policy_id=self.policy_id,
                release_id=name,
                label=label,
                detail=written,
                amounts=amount_columns(charge, total),
                releases=row.releases + 1,
            )

        return receipt_of(self._store.append(decide))

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
        kind = plain_text(content_type, name="content_type", empty=False)

        def decide(view: View) -> Row:
            last = self._last(view)
            charge = self._charge_of(view, receipt)
            latest = self._latest(view)
            _, spent = amounts_of(latest)
            facts = {
                "charge": charge.number,
                "content_type": kind,
                "sha256": hashlib.sha256(payload).hexdigest(),
                "size": len(payload),
            }
            return next_row(
                last,
                kind=STORE,
                policy_id=self.policy_id,
                release_id=charge.release_id,
                label=charge.label,
                detail=canonical(with_who(facts, self._who)),
                amounts=amount_columns(_amounts.zero(self._budget.epsilon), spent),
                releases=latest.releases,
            )

        self._store.append(decide, payload=(receipt.number, payload))

    def recall(self, release_id: str) -> StoredRelease | None:
        """The stored answer under that id, at no charge; None if it was never charged.

        Errors: LedgerError with ``state="lost"`` if the charge is on record but no answer is
        stored; TamperedLedgerError if the answer is not the one that was stored.
        """
        name = plain_text(release_id, name="release_id", empty=False)

        def look(view: View) -> StoredRelease | None:
            self._last(view)
            charge = view.find(policy_id=self.policy_id, kind=SPEND, release_id=name)
            if charge is None:
                return None
            stored = view.find(policy_id=self.policy_id, kind=STORE, release_id=name)
            if stored is None:
                raise _lost(charge)
            return _release(charge, stored=stored, payload=view.payload(charge.number))

        return self._store.read(look)

    def _totals(self) -> Amounts:
        _, spent = amounts_of(self._store.read(self._latest))
        return spent

    def _last(self, view: View) -> Row:
        last = view.last()
        if last is None:
            raise tampered(1, "the account's opening is gone")
        return last

    def _latest(self, view: View) -> Row:
        """The last row of this policy, which carries its totals."""
        last = self._last(view)
        row = last if last.policy_id == self.policy_id else view.latest(policy_id=self.policy_id)
        if row is None:
            raise tampered(last.number, "no row of the account's policy is left")
        return row

    def _refuse_repeat(self, view: View, *, release_id: str) -> None:
        charged = view.find(policy_id=self.policy_id, kind=SPEND, release_id=release_id)
        if charged:
            raise LedgerError(
                f"release id {release_id!r} was already charged (entry {charged.number}).",
                hint="Recall its stored answer, or ask under a new id. "
                "Nothing was drawn and nothing was recorded.",
                release_id=release_id,
                number=charged.number,
                state="charged",
            )

    def _charge_of(self, view: View, receipt: Receipt) -> Row:
        charge = view.at(receipt.number)
        if charge is None or charge.kind != SPEND or receipt_of(charge) != receipt:
            raise ParameterError(
                f"receipt {receipt.number} is not of a charge in this ledger.",
                hint="Store a release in the ledger that charged it.",
                number=receipt.number,
            )
        if charge.policy_id != self.policy_id:
            raise ParameterError(
                f"receipt {receipt.number} is of another account.",
                hint="Store a release in the account that charged it.",
                number=receipt.number,
            )
        if view.find(policy_id=self.policy_id, kind=STORE, release_id=charge.release_id):
            raise LedgerError(
                f"charge {receipt.number} already has its stored answer.",
                hint=f"Recall release {charge.release_id!r} and publish that; discard this one.",
                number=receipt.number,
                release_id=charge.release_id,
                state="stored",
            )
        return charge


def amount_columns(charge: Amounts, total: Amounts) -> dict[str, str]:
    """The four columns of amounts as text."""
    epsilon, delta = charge.texts()
    total_epsilon, total_delta = total.texts()
    return {
        "epsilon": epsilon,
        "delta": delta,
        "total_epsilon": total_epsilon,
        "total_delta": total_delta,
    }


def budget_of(opening: Row) -> Amounts:
    """The budget that the opening row of an account grants."""
    detail = detail_of(opening)
    try:
        budget, delta = detail["budget"], detail["delta_budget"]
        return _amounts.read(canonical(budget), canonical(delta))
    except (KeyError, TypeError, ValueError):
        raise tampered(opening.number, "its budget cannot be read") from None


def opening_row(
    last: Row | None,
    *,
    policy_id: str,
    policy_toml: str,
    policy_name: str,
    budget: Amounts,
    who: str = "",
) -> Row:
    """The row that opens an account."""
    epsilon, delta = (
        {edge: str(value) for edge, value in part.items()}
        for part in (budget.epsilon, budget.delta)
    )
    nothing = _amounts.zero(budget.epsilon)
    facts = {
        "budget": epsilon,
        "delta_budget": delta,
        "policy_name": policy_name,
        "policy_toml": policy_toml,
    }
    return next_row(
        last,
        kind=OPEN,
        policy_id=policy_id,
        release_id="",
        label=policy_name,
        detail=canonical(with_who(facts, who)),
        amounts=amount_columns(nothing, nothing),
        releases=0,
    )


def _lost(charge: Row) -> LedgerError:
    return LedgerError(
        f"release {charge.release_id!r} was charged (entry {charge.number}) but no answer is "
        "stored: its process stopped between the two, or has not stored it yet.",
        hint="The charge stays spent and the answer is lost; ask again under a new id.",
        release_id=charge.release_id,
        number=charge.number,
        state="lost",
    )


def _release(charge: Row, *, stored: Row, payload: bytes | None) -> StoredRelease:
    facts = detail_of(stored)
    if payload is None or hashlib.sha256(payload).hexdigest() != facts.get("sha256"):
        raise tampered(stored.number, "the stored answer is not the one that was recorded")
    return StoredRelease(
        release_id=charge.release_id,
        number=charge.number,
        time=charge.time,
        label=charge.label,
        detail=detail_of(charge),
        content_type=str(facts["content_type"]),
        payload=payload,
    )
