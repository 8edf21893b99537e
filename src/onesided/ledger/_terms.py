"""Whose budget an account is, what it was opened for, and what of it is spent."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from onesided._numbers import ORDER_UNIT, Loss, shown
from onesided.errors import PolicyMismatchError, ReleaseExistsError
from onesided.ledger import _amounts
from onesided.ledger._amounts import Amounts
from onesided.ledger._calendar import Calendar, Cells, Cohort, Standing, promised, today_of
from onesided.ledger._entry import (
    FORMAT,
    OPEN,
    SPEND,
    UNIT,
    WHO,
    Entry,
    Row,
    Unit,
    amounts_of,
    calendar_in,
    charge_of,
    cohorts_of,
    day_of,
    detail_of,
    intact,
    next_row,
    reading,
    tampered,
    unit_of,
    unit_of_0_1_0,
    whole_detail,
)
from onesided.store import canonical, now

if TYPE_CHECKING:
    from onesided.ledger._store import View

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
    """What an account on record was opened for; pure if it does not say what it adds.

    Errors: TamperedLedgerError for a budget that cannot be read.
    """
    detail = detail_of(opening)
    with reading(opening.number, "budget"):
        read = _amounts.read(canonical(detail["budget"]), canonical(detail["delta_budget"]))
        if not read.known.keys() == read.epsilon.keys() == read.delta.keys():
            raise ValueError(detail["budget"])
        budget = _amounts.granted(read, str(detail.get("accounting", _amounts.PURE)))
    return Terms(
        policy_id=opening.policy_id,
        policy_name=str(detail.get("policy_name", "")),
        policy_toml=str(detail.get("policy_toml", "")),
        budget=budget,
        unit=unit,
        calendar=calendar_in(opening.number, detail),
    )


class Granted(ABC):
    """An account, or its balance: what it was opened for. ε and δ per edge of its policy, exact."""

    terms: Terms

    @property
    def policy_id(self) -> str:
        """The policy's identity."""
        return self.terms.policy_id

    @property
    def policy_name(self) -> str:
        """The policy's name."""
        return self.terms.policy_name

    @property
    def policy_toml(self) -> str:
        """The policy's text."""
        return self.terms.policy_toml

    @property
    def budget(self) -> dict[str, Fraction]:
        """ε that may be spent in all, per edge."""
        return self.terms.budget.known

    @property
    def delta_budget(self) -> dict[str, Fraction]:
        """δ that may be spent in all, per edge."""
        return dict(self.terms.budget.delta)

    @property
    def accounting(self) -> str:
        """What the account adds: "pure" adds ε, "renyi" directed divergences at its δ budget."""
        return self.terms.budget.accounting

    @property
    def calendar(self) -> Calendar | None:
        """How the budget is parted by date; None where it is not.

        Then what was spent and what is left are of the dates that have least left.
        """
        return self.terms.calendar

    @property
    def spent(self) -> dict[str, Fraction]:
        """ε spent so far, per edge; in a renyi account at its δ, where that is less."""
        return dict(self.standing().spent)

    @property
    def delta_spent(self) -> dict[str, Fraction]:
        """δ spent so far, per edge."""
        return dict(self.standing().delta_spent)

    @property
    def remaining(self) -> dict[str, Fraction]:
        """ε left, per edge: the most that one more charge may be of which no law is known.

        Another process may spend it first.
        """
        return dict(self.standing().remaining)

    @property
    def delta_remaining(self) -> dict[str, Fraction]:
        """δ left for charges that carry one, per edge."""
        return dict(self.standing().delta_remaining)

    @abstractmethod
    def standing(self) -> Standing:
        """Budget, spending and rest at one moment."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance(Granted):
    """One account at one moment. ε and δ per edge of its policy, exact.

    ``opened`` is the number of the entry that opened it, ``releases`` the number of its charges.
    ``units`` is whom its charges say they protect: one unit, or in ledgers of 0.1.0 perhaps
    several; None stands for charges that do not say.

    >>> import onesided as od
    >>> ledger = od.Ledger.open(None)
    >>> account = ledger.account(policy_id="p", policy_toml="", policy_name="p", budget={"up": 3})
    >>> receipt = account.spend({"up": 1}, label="a sum")
    >>> [(one.policy_name, one.remaining) for one in ledger.balances()]
    [('p', {'up': Fraction(2, 1)})]
    """

    opened: int
    terms: Terms
    total: Amounts = field(repr=False)
    releases: int
    units: frozenset[Unit | None]
    cells: Cells | None = field(default=None, repr=False, compare=False)

    @property
    def promised(self) -> tuple[Mapping[str, Loss], Mapping[str, Fraction]]:
        """The most that all charges of the account can ever lose, ε and δ per edge.

        Of an account by cohort for a unit with records of as many dates as may count: endless,
        where nothing bounds these.
        """
        return promised(self.budget, self.delta_budget, self.calendar)

    def by_cohort(self) -> tuple[Cohort, ...]:
        """Spending and rest of each stretch of dates; none of an account without a calendar."""
        return () if self.cells is None else self.cells.table(today_of(now()))

    def standing(self) -> Standing:
        """What was spent and what is left.

        By cohort it was spent in all, which holds of everybody, and left for the dates with least.
        δ is all of the budget where a renyi account's sums count at that δ. By cohort, where no sum
        of δ over all dates is kept below it, that is beside the sum.
        """
        budget, total = self.terms.budget, self.total
        if self.cells is None:
            return Standing.of(budget, total, releases=self.releases)
        used = budget.used(total)
        lost = {
            edge: min(Fraction(1), some + (used.epsilon[edge] < total.epsilon[edge]) * most)
            for (edge, some), most in zip(total.delta.items(), budget.delta.values(), strict=True)
        }
        left = self.cells.standing(None, today_of(now()))
        return replace(left, spent=used.known, delta_spent=lost)

    def left_after(self, entry: Entry) -> tuple[Mapping[str, Fraction], Mapping[str, Fraction]]:
        """ε and δ that were left per edge after an entry of this account, for its dates."""
        if self.cells is not None:
            at = self.cells.left_after.get(entry.number)
            return (self.remaining, self.delta_remaining) if at is None else (at.known, at.delta)
        orders = {
            edge: tuple(int(one * ORDER_UNIT) for one in some)
            for edge, some in entry.total_divergences.items()
        }
        total = Amounts(epsilon=entry.total_epsilon, delta=entry.total_delta, orders=orders)
        left = self.terms.budget.left(total)
        return left.known, left.delta


def balance_of(view: View, opening: Row) -> Balance:
    """An account by its first row, and the totals that its last row states."""
    terms, last = terms_of(opening), view.latest(policy_id=opening.policy_id) or opening
    return Balance(
        opened=opening.number,
        terms=terms,
        total=total_in(last, terms.budget),
        releases=last.releases,
        units=stated_units(view, opening),
        cells=folded(view, opening),
    )


def total_in(row: Row, budget: Amounts) -> Amounts:
    """The totals that a row states. Errors: TamperedLedgerError if they are of another account."""
    _, total = amounts_of(row)
    if not total.epsilon.keys() == total.delta.keys() == budget.epsilon.keys():
        raise tampered(row.number, "its edges are not those of its account")
    if total.orders.keys() != budget.orders.keys():
        raise tampered(row.number, "its divergences are not those of its account")
    return total


def at_delta(held: Granted) -> str:
    """What must be added wherever the ε left of an account is told; "" of a pure one for all dates.

    >>> import onesided as od
    >>> terms = {"policy_id": "p", "policy_toml": "", "policy_name": "p", "budget": {"up": 3}}
    >>> more = {"delta_budget": {"up": "1/1000000"}, "accounting": "renyi"}
    >>> [at_delta(od.Ledger.open(None).account(**terms, **one)) for one in ({}, more)]
    ['', ', all at δ = 1e-6']
    """
    which = "" if held.calendar is None else f", of the {held.calendar.column!r} with least left"
    if held.accounting == _amounts.PURE:
        return which
    return f"{which}, all at δ = {shown(max(held.delta_budget.values()), up=True)}"
