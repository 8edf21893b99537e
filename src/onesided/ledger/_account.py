"""One policy's budget in a ledger: check, record durably, and only then let anyone draw."""

from __future__ import annotations

import datetime as dt
import hashlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from onesided._numbers import Loss, Number, exact, probability
from onesided.errors import BudgetExceededError, LedgerError, ParameterError, PolicyMismatchError
from onesided.ledger import _amounts, _calendar
from onesided.ledger._allowance import Allowance, Askers
from onesided.ledger._amounts import Amounts
from onesided.ledger._calendar import Cells, Cohort, Cohorts, Standing, today_of
from onesided.ledger._entry import (
    COHORTS,
    FORMAT,
    QUESTION,
    SPEND,
    STORE,
    Receipt,
    Row,
    StoredRelease,
    Unit,
    day_of,
    detail_of,
    next_row,
    question_of,
    receipt_of,
    tampered,
    whole_detail,
)
from onesided.ledger._terms import (
    Granted,
    Terms,
    exists,
    fold,
    found_opening,
    stated_units,
    total_in,
)
from onesided.store import now, plain_text

if TYPE_CHECKING:
    from onesided.ledger._store import Store, View


Table: TypeAlias = Mapping[str, Loss | Number]
Laws: TypeAlias = Mapping[str, Sequence[Loss]]


class Account(Granted):
    """The budget of one policy. Make it with :meth:`onesided.ledger.Ledger.account`.

    Promise: over all accounts, threads and processes on the same ledger, the recorded charges of
    an edge never sum to more than its budget (in a renyi account they keep its (ε, δ)), and a
    receipt is returned only after its charge is on durable record. An account is opened on record
    by its first charge, in the same transaction: one that is only asked about, or refused, leaves
    nothing behind.
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
        self.terms = terms
        self._opening: Row | None = None
        self._chargeable = True
        self._known: Row | None = None
        self._askers = Askers(terms.policy_id, terms.budget)
        self._cells = None if terms.calendar is None else Cells(terms.budget, terms.calendar)

    def __repr__(self) -> str:
        return f"Account(policy {self.policy_name!r}, {len(self.terms.budget.epsilon)} edges)"

    @property
    def unit(self) -> Unit | None:
        """Whom the account protects; None if its opener did not say."""
        return self.terms.unit

    @property
    def opened(self) -> bool:
        """Whether the account is on record; the first charge opens it."""
        return self._store.read(self._latest) is not None

    def by_cohort(self) -> tuple[Cohort, ...]:
        """Spending and rest of each stretch of dates. Errors: ParameterError without a calendar."""
        return self._store.read(self._folded).table(today_of(now()))

    @property
    def releases(self) -> int:
        """How many charges are on record."""
        return self.standing().releases

    def standing(self, cohorts: Cohorts | None = None) -> Standing:
        """Budget, spending and rest at one moment, in one look at the ledger.

        cohorts: of these dates alone; by default of all whose schedule has not ended.
        """
        if self._cells is not None:
            return self._store.read(self._folded).standing(cohorts, today_of(now()))
        total, releases = self._totals(self._store.read(self._latest))
        return Standing.of(self.terms.budget, total, releases=releases)

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
        if self._cells is not None:
            return self._store.read(self._folded).left_after[number].known
        return self.terms.budget.left(self._totals(row)[0]).known

    def allowed(self, allowance: Allowance) -> Standing:
        """What one asker spent and has left of an allowance; the account may have less."""
        spent, number = self._store.read(lambda view: self._askers.spent(view, allowance))
        return Standing.of(allowance.limits(self.terms.budget), spent, releases=number)

    def open(self) -> None:
        """Put the account on record now, with its budget, and not with its first charge.

        Does nothing if it is there. Errors: as :meth:`spend`.
        """

        def decide(view: View) -> tuple[Row, ...]:
            last = self._last(view)
            return () if self._opened(view) else (self.terms.opening(last, who=self._who),)

        self._store.append(decide)

    def confirm(self, today: dt.date | str) -> None:
        """Say what day it is in UTC, where budgets grow by it and long nothing was charged.

        Holds for this object, on that day. Errors: ParameterError for what is no date;
        LedgerError where the machine's clock says another one.
        """
        if self._cells is not None:
            self._cells.confirm(today, today_of(now()))

    def times(
        self,
        epsilon: Table,
        *,
        delta: Table | None = None,
        divergences: Laws | None = None,
        cohorts: Cohorts | None = None,
    ) -> int | None:
        """How many charges like this one fit now, whoever makes them; None if it loses nothing.

        Errors: as :meth:`spend`.
        """
        charge, about = self._charge(epsilon, delta, divergences), self._about(cohorts)
        if about is not None:
            return self._store.read(self._folded).times(about, charge, today_of(now()))
        total, _ = self._totals(self._store.read(self._latest))
        return self.terms.budget.times(total, charge)

    def parts(
        self,
        epsilon: Table,
        *,
        delta: Table | None = None,
        divergences: Laws | None = None,
        share: Number = 1,
        at: Number | None = None,
    ) -> dict[str, Loss]:
        """What part of each edge's whole budget such a charge is; of a budget that is untouched.

        INFINITE where no number of them fits. share: of the budget of dates that have so much of
        it. at: as if the account had been opened to add divergences at that δ.
        Errors: as :meth:`spend`.
        """
        budget = self.terms.budget
        if at is not None:
            allowed = dict.fromkeys(budget.epsilon, probability(at, name="at"))
            budget = _amounts.granted(replace(budget, delta=allowed), _amounts.RENYI)
        charge = _amounts.read_charge(epsilon, delta, budget=budget, divergences=divergences)
        return _calendar.limits_of_share(budget, exact(share, name="share")).parts(charge)

    def require(
        self,
        epsilon: Table,
        *,
        delta: Table | None = None,
        divergences: Laws | None = None,
        cohorts: Cohorts | None = None,
    ) -> None:
        """Refuse before costly work a charge that cannot fit. Records nothing.

        Asks what this account last saw, not the ledger: what was spent stays spent, so a charge
        that did not fit then never will. One that fitted may have become too large since:
        :meth:`spend` asks again. Errors: as :meth:`spend`.
        """
        charge, about = self._charge(epsilon, delta, divergences), self._about(cohorts)
        if self._cells is not None and about is not None:
            self._cells.require(about, charge, self._day(self._cells, now(), self._known))
            return
        spent, releases = self._totals(self._known)
        _amounts.settle(charge, spent=spent, budget=self.terms.budget, releases=releases)

    def spend(
        self,
        epsilon: Table,
        *,
        label: str,
        delta: Table | None = None,
        divergences: Laws | None = None,
        detail: Mapping[str, object] | None = None,
        release_id: str | None = None,
        question: str | None = None,
        allowance: Allowance | None = None,
        cohorts: Cohorts | None = None,
    ) -> Receipt:
        """Check a charge and record it durably, in one transaction; draw only after this returns.

        ``epsilon`` and ``delta`` are per edge; an edge left out is charged 0. ``divergences`` are
        the directed Rényi divergences per edge at the orders 1 + 2^k, k = 0 .. 10, of a renyi
        account alone; without them, and where a δ is charged, ε counts at each; with them ε may be
        INFINITE, of noise that keeps none. ``release_id``
        names the answer, so that it can be recalled; without one a random id is made.
        ``question`` identifies what is asked, so that the id is never taken for another question.
        ``allowance`` is whose charge it is, and what that asker may spend; checked here, too.
        ``cohorts`` are the dates that it is about, of an account by cohort alone; by default all.
        Errors, none of which records anything: BudgetExceededError (also for an infinite loss);
        ParameterError; ReleaseExistsError if the release id was charged before;
        PolicyMismatchError if another process opened the account with another budget or unit;
        LedgerError if budgets grow by date and the clock is behind the last row, or far ahead;
        TamperedLedgerError if the last row does not hold; LedgerUnavailableError if the store
        fails. The last one may carry ``outcome="unknown"``: then the charge counts as spent.
        """
        charge, about = self._charge(epsilon, delta, divergences), self._about(cohorts)
        label = plain_text(label, name="label")
        own = self.terms.own(self._who) | ({} if allowance is None else allowance.own())
        if allowance is not None:
            self.allowed(allowance)  # reads what others charged before the writers' lock is held
        if question is not None:
            own[QUESTION] = plain_text(question, name="question", empty=False)
        if about is not None:
            own[COHORTS] = about.written()
        written = whole_detail(detail, own=own)
        given = secrets.token_hex(16) if release_id is None else release_id
        name = plain_text(given, name="release_id", empty=False)

        def decide(view: View) -> tuple[Row, ...]:
            last, opened = self._last(view), self._opened(view)
            if not self._chargeable:
                raise PolicyMismatchError(
                    f"the account of policy {self.terms.policy_name!r} in {self._store.name} was "
                    "made by onesided 0.1.0, and not all of its charges say whom they protect; "
                    f"{self.terms.unit} cannot be charged to it.",
                    hint="Open another ledger. This one can be read, and counts in totals. "
                    "Nothing was drawn and nothing was recorded.",
                    asked_unit=self.terms.unit,
                )
            opening = None if opened else self.terms.opening(last, who=self._who)
            latest = opening or self._latest(view)
            if opened and release_id is not None:
                charged = view.find(policy_id=self.policy_id, kind=SPEND, release_id=name)
                if charged:
                    raise exists(charged, "charged")
            (spent, releases), time = self._totals(latest), ""
            if about is None:
                total = self._settled(charge, spent, releases, view, allowance)
            else:
                time, cells = now(), self._folded(view)
                cells.require(about, charge, self._day(cells, time, last, self._opening))
                total = spent + charge
                if allowance is not None:
                    self._askers.require(view, charge, allowance)
            spending = next_row(
                opening or last,
                kind=SPEND,
                policy_id=self.policy_id,
                release_id=name,
                label=label,
                detail=written,
                charge=charge,
                total=total,
                releases=releases + 1,
                by_cohort=about is not None,
                time=time,
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
        written = whole_detail(facts, own=self.terms.own(self._who))

        def decide(view: View) -> tuple[Row, ...]:
            last = self._last(view)
            charge = _charge_of_receipt(view, receipt, policy_id=self.policy_id)
            latest = self._latest(view)
            spent, releases = self._totals(latest)
            stored = next_row(
                last,
                kind=STORE,
                policy_id=self.policy_id,
                release_id=charge.release_id,
                label=charge.label,
                detail=written,
                charge=self.terms.budget.nothing(),
                total=spent,
                releases=releases,
                by_cohort=self._cells is not None,
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
            # The answer that was stored.
            payload = view.payload(charge.number)
            facts = detail_of(stored)
            if payload is None or hashlib.sha256(payload).hexdigest() != facts.get("sha256"):
                raise tampered(stored.number, "the stored answer is not the one that was recorded")
            return StoredRelease(
                release_id=charge.release_id,
                number=charge.number,
                time=charge.time,
                label=charge.label,
                detail=detail_of(charge),
                question=question_of(charge),
                content_type=str(facts.get("content_type", "")),
                payload=payload,
            )

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
            found = found_opening(view, self.terms)
            if found is None:
                return None
            stated = stated_units(view, found)
            # Those of 0.1.0 that do not say whom they protect are looked at, not charged.
            if len(stated) == 1 and (found.format >= FORMAT or None not in stated):
                (held,), wanted = stated, self.terms
                if held != wanted.unit:
                    said, asked = (
                        "nobody by name" if unit is None else str(unit)
                        for unit in (held, wanted.unit)
                    )
                    raise PolicyMismatchError(
                        f"the account of policy {wanted.policy_name!r} in {self._store.name} "
                        f"protects {said}, the session protects {asked}: their losses have no sum.",
                        hint="Use the same unit=, or another ledger. Nothing was drawn and nothing "
                        "was recorded.",
                        held_unit=held,
                        asked_unit=wanted.unit,
                    )
            self._chargeable = stated <= {self.terms.unit}
            self._opening = found
        return self._opening

    def _about(self, cohorts: Cohorts | None) -> Cohorts | None:
        """The dates that a charge is about; None of an account without a calendar.

        Errors: ParameterError for dates of such a one.
        """
        if self._cells is None and cohorts is not None:
            raise ParameterError(
                "This account has one budget for all dates, so a charge names none.",
                hint="Leave cohorts= out, or open an account by cohort (calendar=).",
            )
        return cohorts if self._cells is None else cohorts or Cohorts.everything()

    def _folded(self, view: View) -> Cells:
        """What was charged to each date, with the rows that were not read yet."""
        cells = self._cells
        if cells is None:
            raise ParameterError(
                "This account has one budget for all dates.", hint="Ask for its standing()."
            )
        return fold(view, self.policy_id, cells)

    def _day(self, cells: Cells, time: str, last: Row | None, first: Row | None = None) -> dt.date:
        opened = None if first is None else day_of(first)
        return cells.day(time, dt.date.min if last is None else day_of(last), opened)

    def _charge(self, epsilon: Table, delta: Table | None, divergences: Laws | None) -> Amounts:
        budget = self.terms.budget
        return _amounts.read_charge(epsilon, delta, budget=budget, divergences=divergences)

    def _settled(
        self,
        charge: Amounts,
        spent: Amounts,
        releases: int,
        view: View,
        allowance: Allowance | None,
    ) -> Amounts:
        """The totals after a charge. Errors: of budget and allowance that with less left."""
        budget = self.terms.budget
        short: list[BudgetExceededError] = []
        if allowance is not None:
            try:
                self._askers.require(view, charge, allowance)
            except BudgetExceededError as error:
                short.append(error)
        try:
            total = _amounts.settle(charge, spent=spent, budget=budget, releases=releases)
        except BudgetExceededError as error:
            short.append(error)
        if short:
            raise min(short, key=lambda error: Fraction(str(error.values["share"])))
        return total

    def _totals(self, row: Row | None) -> tuple[Amounts, int]:
        budget = self.terms.budget
        return (budget.nothing(), 0) if row is None else (total_in(row, budget), row.releases)

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


def _charge_of_receipt(view: View, receipt: Receipt, *, policy_id: str) -> Row:
    """The charge that an answer is to be stored for. Errors: ParameterError; LedgerError."""
    charge = view.at(receipt.number)
    if charge is None or charge.kind != SPEND or receipt_of(charge) != receipt:
        raise ParameterError(
            f"receipt {receipt.number} is not of a charge in this ledger.",
            hint="Store a release in the ledger that charged it.",
            number=receipt.number,
        )
    if charge.policy_id != policy_id:
        raise ParameterError(
            f"receipt {receipt.number} is of another account.",
            hint="Store a release in the account that charged it.",
            number=receipt.number,
        )
    if view.find(policy_id=policy_id, kind=STORE, release_id=charge.release_id):
        raise LedgerError(
            f"charge {receipt.number} already has its stored answer.",
            hint=f"Recall release {charge.release_id!r} and publish that; discard this one.",
            number=receipt.number,
            release_id=charge.release_id,
            state="stored",
        )
    return charge
