"""One policy's budget in a ledger: check, record durably, and only then let anyone draw."""

from __future__ import annotations

import datetime as dt
import hashlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final, TypeAlias

from onesided._numbers import Loss, Number, exact, probability
from onesided.errors import (
    BudgetExceededError,
    LedgerError,
    ParameterError,
    PolicyMismatchError,
    ReleaseExistsError,
)
from onesided.ledger import _amounts, _calendar
from onesided.ledger._allowance import Allowance, Askers
from onesided.ledger._amounts import Amounts
from onesided.ledger._calendar import Calendar, Cells, Cohort, Cohorts, Standing, today_of
from onesided.ledger._entry import (
    COHORTS,
    FORMAT,
    OPEN,
    QUESTION,
    SPEND,
    STORE,
    UNIT,
    WHO,
    Receipt,
    Row,
    StoredRelease,
    Unit,
    amounts_of,
    calendar_in,
    charge_of,
    cohorts_of,
    day_of,
    detail_of,
    intact,
    limits_of,
    next_row,
    question_of,
    receipt_of,
    tampered,
    unit_of,
    unit_of_0_1_0,
    whole_detail,
)
from onesided.store import now, plain_text

if TYPE_CHECKING:
    from onesided.ledger._store import Store, View


# What an account is opened for, when it may not be opened or charged, and what to do instead.


_EXISTING: Final = {
    "stored": (
        "already has an answer, drawn on {day} (entry {number})",
        "again=True returns that answer, which may be about other data than today's; a new "
        "id asks anew.",
    ),
    "lost": (
        "was charged on {day} (entry {number}) but no answer is stored: its process stopped "
        "between the two, or has not stored it yet",
        "The charge stays spent and the answer is lost; ask again under a new id.",
    ),
    "other": ("was charged on {day} (entry {number}) for another question", "Ask under a new id."),
    "charged": (
        "was already charged on {day} (entry {number})",
        "Recall its stored answer, or ask under a new id.",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What an account is opened for. unit: whom it protects; None where its opener did not say.

    further: whether it may stand beside accounts of other policies.
    """

    policy_id: str
    policy_name: str
    policy_toml: str
    budget: Amounts
    unit: Unit | None = None
    further: bool = False
    calendar: Calendar | None = None

    def own(self, who: str) -> dict[str, object]:
        """What every row of the account says under reserved keys."""
        unit: dict[str, object] = {UNIT: None if self.unit is None else self.unit.written()}
        return {**unit, WHO: who} if who else unit

    def opening(self, last: Row | None, *, who: str) -> Row:
        """The row that opens the account."""
        epsilon, delta = (
            {edge: str(value) for edge, value in part.items()}
            for part in (self.budget.known, self.budget.delta)
        )
        nothing, kind = self.budget.nothing(), self.budget.accounting
        facts = {
            **({} if kind == _amounts.PURE else {"accounting": kind}),
            **({} if self.calendar is None else {"calendar": self.calendar.written()}),
            "budget": epsilon,
            "delta_budget": delta,
            "policy_name": self.policy_name,
            "policy_toml": self.policy_toml,
        }
        return next_row(
            last,
            kind=OPEN,
            policy_id=self.policy_id,
            release_id="",
            label=self.policy_name,
            detail=whole_detail(facts, own=self.own(who)),
            charge=nothing,
            total=nothing,
            releases=0,
            by_cohort=self.calendar is not None,
        )


def terms_of(opening: Row, *, unit: Unit | None = None) -> Terms:
    """What an account on record was opened for."""
    detail = detail_of(opening)
    return Terms(
        policy_id=opening.policy_id,
        policy_name=str(detail.get("policy_name", "")),
        policy_toml=str(detail.get("policy_toml", "")),
        budget=budget_of(opening),
        unit=unit,
        calendar=calendar_in(opening.number, detail),
    )


def budget_of(opening: Row) -> Amounts:
    """The budget that the opening row of an account grants."""
    return limits_of(opening.number, detail_of(opening))


def found_opening(view: View, wanted: Terms) -> Row | None:
    """The row that opened the account, which has the same terms; None if it may be opened now.

    Errors: PolicyMismatchError if it is held with another budget, or if the ledger holds other
    policies and a further one was not asked for.
    """
    # The first row opens the first account, whichever that is.
    first = view.at(1)
    if first is None:
        return None
    same = view.find(policy_id=wanted.policy_id, kind=OPEN, release_id="")
    if same is not None:
        held = terms_of(same)
        if (held.budget, held.calendar) == (wanted.budget, wanted.calendar):
            return same
    if same is None and wanted.further:
        return None
    raise other_terms([terms_of(row) for row in view.openings()], wanted=wanted)


def folded(view: View, opening: Row) -> Cells | None:
    """What was charged to each date of an account by cohort; None of another one."""
    terms = terms_of(opening)
    if terms.calendar is None:
        return None
    return fold(view, terms.policy_id, Cells(terms.budget, terms.calendar))


def fold(view: View, policy_id: str, cells: Cells) -> Cells:
    """The cells, with the charges that were not read yet."""
    with cells.mutex:
        for row in view.rows(after=cells.read, policy_id=policy_id, kind=SPEND):
            intact(row)
            cells.add(row.number, cohorts_of(row), charge_of(row), day_of(row))
    return cells


def stated_units(view: View, opening: Row) -> frozenset[Unit | None]:
    """Whom the charges of an account on record say they protect; None for those that do not say.

    Every row of format 2 speaks for the whole account, and nothing is charged to one that does not
    agree. In 0.1.0 each charge of a session spoke for itself, and a monitor's said nothing.
    """
    last = view.latest(policy_id=opening.policy_id) or opening
    if last.format >= FORMAT:
        return frozenset({unit_of(last)})
    charges = view.rows(policy_id=opening.policy_id, kind=SPEND)
    return frozenset(unit_of_0_1_0(detail_of(row).get("unit")) for row in charges)


def exists(charge: Row, state: str) -> ReleaseExistsError:
    """The refusal to take ``charge``'s id for another charge or answer; ``state`` says why."""
    reason, hint = _EXISTING[state]
    said = reason.format(day=charge.time[:10], number=charge.number)
    return ReleaseExistsError(
        f"release id {charge.release_id!r} {said}.",
        hint=f"{hint} Nothing was drawn and nothing was recorded.",
        release_id=charge.release_id,
        number=charge.number,
        state=state,
        drawn=charge.time,
    )


def other_terms(held: Sequence[Terms], *, wanted: Terms) -> PolicyMismatchError:
    """What is held and what was asked."""
    same = next((one for one in held if one.policy_id == wanted.policy_id), None)
    first = same or held[0]
    names = [one.policy_name for one in held if one is not first]
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
        f"the ledger holds {_said(first)}{others}; asked for {_said(wanted)}.",
        hint=hint,
        held_policy_id=first.policy_id,
        held_policy_ids=tuple(one.policy_id for one in held),
        asked_policy_id=wanted.policy_id,
        held_budget=dict(first.budget.epsilon),
        asked_budget=dict(wanted.budget.epsilon),
        held_accounting=first.budget.accounting,
        asked_accounting=wanted.budget.accounting,
        held_delta_budget=dict(first.budget.delta),
        asked_delta_budget=dict(wanted.budget.delta),
        held_calendar=first.calendar,
        asked_calendar=wanted.calendar,
    )


def _said(terms: Terms) -> str:
    edges = ", ".join(f"{edge!r}: {value}" for edge, value in terms.budget.epsilon.items())
    deltas = ", ".join(f"{edge!r}: {value}" for edge, value in terms.budget.delta.items() if value)
    extra = f" and δ budget {{{deltas}}}" if deltas else ""
    kind = terms.budget.accounting
    extra += "" if kind == _amounts.PURE else f" and accounting={kind!r}"
    extra += "" if terms.calendar is None else f" by cohort {terms.calendar.written()}"
    return f"policy {terms.policy_name!r} ({terms.policy_id[:12]}) with budget {{{edges}}}{extra}"


Table: TypeAlias = Mapping[str, Loss | Number]
Laws: TypeAlias = Mapping[str, Sequence[Loss]]


class Account:
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
        self._terms = terms
        self._opening: Row | None = None
        self._chargeable = True
        self._known: Row | None = None
        self._askers = Askers(terms.policy_id, terms.budget)
        self._cells = None if terms.calendar is None else Cells(terms.budget, terms.calendar)

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
        return self._terms.budget.known

    @property
    def delta_budget(self) -> dict[str, Fraction]:
        """δ that may be spent in all, per edge."""
        return dict(self._terms.budget.delta)

    @property
    def accounting(self) -> str:
        """What the account adds: "pure" adds ε, "renyi" directed divergences at its δ budget."""
        return self._terms.budget.accounting

    @property
    def calendar(self) -> Calendar | None:
        """How the budget is parted by date; None where it is not.

        Then what was spent and what is left are of the dates that have least left.
        """
        return self._terms.calendar

    def by_cohort(self) -> tuple[Cohort, ...]:
        """Spending and rest of each stretch of dates. Errors: ParameterError without a calendar."""
        return self._store.read(self._folded).table(today_of(now()))

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

    def standing(self, cohorts: Cohorts | None = None) -> Standing:
        """Budget, spending and rest at one moment, in one look at the ledger.

        cohorts: of these dates alone; by default of all whose schedule has not ended.
        """
        if self._cells is not None:
            return self._store.read(self._folded).standing(cohorts, today_of(now()))
        total, releases = self._totals(self._store.read(self._latest))
        return Standing.of(self._terms.budget, total, releases=releases)

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
        return self._terms.budget.left(self._totals(row)[0]).known

    def allowed(self, allowance: Allowance) -> Standing:
        """What one asker spent and has left of an allowance; the account may have less."""
        spent, number = self._store.read(lambda view: self._askers.spent(view, allowance))
        return Standing.of(allowance.limits(self._terms.budget), spent, releases=number)

    def open(self) -> None:
        """Put the account on record now, with its budget, and not with its first charge.

        Does nothing if it is there. Errors: as :meth:`spend`.
        """

        def decide(view: View) -> tuple[Row, ...]:
            last = self._last(view)
            return () if self._opened(view) else (self._terms.opening(last, who=self._who),)

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
        return self._terms.budget.times(total, charge)

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
        budget = self._terms.budget
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
        _amounts.settle(charge, spent=spent, budget=self._terms.budget, releases=releases)

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
        own = self._terms.own(self._who) | ({} if allowance is None else allowance.own())
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
                    f"the account of policy {self._terms.policy_name!r} in {self._store.name} was "
                    "made by onesided 0.1.0, and not all of its charges say whom they protect; "
                    f"{self._terms.unit} cannot be charged to it.",
                    hint="Open another ledger. This one can be read, and counts in totals. "
                    "Nothing was drawn and nothing was recorded.",
                    asked_unit=self._terms.unit,
                )
            opening = None if opened else self._terms.opening(last, who=self._who)
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
        written = whole_detail(facts, own=self._terms.own(self._who))

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
                charge=self._terms.budget.nothing(),
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
            found = found_opening(view, self._terms)
            if found is None:
                return None
            stated = stated_units(view, found)
            # Those of 0.1.0 that do not say whom they protect are looked at, not charged.
            if len(stated) == 1 and (found.format >= FORMAT or None not in stated):
                (held,), wanted = stated, self._terms
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
            self._chargeable = stated <= {self._terms.unit}
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
        budget = self._terms.budget
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
        budget = self._terms.budget
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
        if row is None:
            return self._terms.budget.nothing(), 0
        _, spent = amounts_of(row)
        if spent.orders.keys() != self._terms.budget.orders.keys():
            raise tampered(row.number, "its divergences are not those of its account")
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
