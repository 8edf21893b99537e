"""The audit of a ledger: recompute every hash and every sum, and name the first bad row."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from onesided.errors import TamperedLedgerError
from onesided.ledger import _amounts
from onesided.ledger._account import budget_of
from onesided.ledger._amounts import Amounts
from onesided.ledger._entry import CheckReport, amounts_of, detail_of
from onesided.ledger._rows import FORMAT, GENESIS, KINDS, OPEN, SPEND, STORE, Row, digest, tampered

if TYPE_CHECKING:
    from onesided.ledger._store import View


@dataclass(slots=True, kw_only=True)
class _Policy:
    """The running state of one policy while the rows are read in order."""

    budget: Amounts
    spent: Amounts
    releases: int = 0
    charges: dict[str, int] = field(default_factory=dict)
    answered: set[str] = field(default_factory=set)


def check_rows(view: View, *, head: str | None) -> CheckReport:
    """Read every row once. ``head`` is a hash kept elsewhere that must still be in the chain.

    Errors: TamperedLedgerError with ``number``, the first bad row.
    """
    policies: dict[str, _Policy] = {}
    previous, number, head_found = GENESIS, 0, head is None or head == GENESIS
    for row in view.rows():
        number += 1
        _check_link(row, number=number, previous=previous)
        _check_meaning(row, policies=policies, view=view)
        previous = row.hash
        head_found = head_found or row.hash == head
    _check_payloads(view, policies=policies)
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
    if row.format != FORMAT or row.kind not in KINDS:
        raise tampered(number, f"it is of unknown format {row.format} or kind {row.kind!r}")


def _check_meaning(row: Row, *, policies: dict[str, _Policy], view: View) -> None:
    """A row may be well hashed and still lie, if its writer lied."""
    if row.kind == OPEN:
        budget = budget_of(row)
        nothing = _amounts.zero(budget.epsilon)
        if row.policy_id in policies:
            raise tampered(row.number, "it opens an account for the second time")
        policies[row.policy_id] = _Policy(budget=budget, spent=nothing)
    state = policies.get(row.policy_id)
    if state is None:
        raise tampered(row.number, "its policy was never opened")
    _check_totals(row, state=state)
    if row.kind == SPEND:
        if row.release_id in state.charges:
            raise tampered(row.number, f"release {row.release_id!r} is charged twice")
        state.charges[row.release_id] = row.number
    if row.kind == STORE:
        _check_answer(row, state=state, view=view)


def _check_totals(row: Row, *, state: _Policy) -> None:
    charged, total = amounts_of(row)
    edges = state.budget.epsilon.keys()
    parts = (charged.epsilon, charged.delta, total.epsilon, total.delta)
    if any(part.keys() != edges for part in parts):
        raise tampered(row.number, "its edges are not those of its account")
    if any(value < 0 for part in parts for value in part.values()):
        raise tampered(row.number, "it charges less than nothing")
    if row.kind != SPEND and charged != _amounts.zero(edges):
        raise tampered(row.number, f"a row of kind {row.kind!r} charges something")
    state.releases += row.kind == SPEND
    if total != state.spent + charged or row.releases != state.releases:
        raise tampered(row.number, "its totals are not the sums of the charges")
    if not total.within(state.budget):
        raise tampered(row.number, "its total is over budget")
    state.spent = total


def _check_answer(row: Row, *, state: _Policy, view: View) -> None:
    facts = detail_of(row)
    charge = state.charges.get(row.release_id)
    if charge is None or facts.get("charge") != charge or row.release_id in state.answered:
        raise tampered(row.number, "it stores an answer for no charge, or a second one")
    payload = view.payload(charge)
    if payload is None or hashlib.sha256(payload).hexdigest() != facts.get("sha256"):
        raise tampered(row.number, "the stored answer is not the one that was recorded")
    state.answered.add(row.release_id)


def _check_payloads(view: View, *, policies: dict[str, _Policy]) -> None:
    """An answer that no row speaks of was slipped in."""
    known = {state.charges[name] for state in policies.values() for name in state.answered}
    for charge in view.payload_charges():
        if charge not in known:
            raise tampered(charge, "an answer is stored for it that no row recorded")
