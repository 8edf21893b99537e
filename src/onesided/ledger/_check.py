"""The audit of a ledger: recompute every hash and every sum, and name the first bad row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from onesided.errors import TamperedLedgerError
from onesided.ledger import _amounts
from onesided.ledger._amounts import Amounts
from onesided.ledger._entry import CheckReport, amounts_of, charge_of, detail_of, unit_of
from onesided.ledger._opening import budget_of
from onesided.ledger._rows import (
    FORMAT,
    FORMATS,
    GENESIS,
    KINDS,
    OPEN,
    SPEND,
    STORE,
    Row,
    digest,
    intact,
    tampered,
)
from onesided.ledger._unit import Unit

if TYPE_CHECKING:
    from onesided.ledger._view import View

_END: Final = 32


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
        raise tampered(_first_gap(view), "it is missing, or stands there twice")
    before: Row | None = None
    states: dict[str, Amounts] = {}
    for row in view.rows(last=_END):
        intact(row)
        if before is not None:
            _check_link(row, number=before.number + 1, previous=before.hash)
        charged, total = amounts_of(row)
        spent = states.get(row.policy_id)
        if spent is not None and (
            charged.epsilon.keys() != spent.epsilon.keys() or total != spent + charged
        ):
            raise tampered(row.number, "its totals are not the sums of the charges")
        states[row.policy_id], before = total, row


def _first_gap(view: View) -> int:
    number = 0
    for row in view.rows():
        number += 1
        if row.number != number:
            return number
    return number + 1


def check_rows(view: View, *, head: str | None) -> CheckReport:
    """Read every row once. ``head`` is a hash kept elsewhere that must still be in the chain.

    Errors: TamperedLedgerError with ``number``, the first bad row.
    """
    policies: dict[str, _Policy] = {}
    answers = dict(view.payload_digests())
    previous, number, head_found = GENESIS, 0, head is None or head == GENESIS
    for row in view.rows():
        number += 1
        _check_link(row, number=number, previous=previous)
        _check_meaning(row, policies=policies, answers=answers)
        previous = row.hash
        head_found = head_found or row.hash == head
    _check_payloads(answers, policies=policies)
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
    if row.format not in FORMATS or row.kind not in KINDS:
        raise tampered(number, f"it is of unknown format {row.format} or kind {row.kind!r}")


def _check_meaning(row: Row, *, policies: dict[str, _Policy], answers: Mapping[int, str]) -> None:
    """A row may be well hashed and still lie, if its writer lied."""
    if row.kind == OPEN:
        if row.policy_id in policies:
            raise tampered(row.number, "it opens an account for the second time")
        policies[row.policy_id] = _new(row)
    state = policies.get(row.policy_id)
    if state is None:
        raise tampered(row.number, "its policy was never opened")
    _check_unit(row, state=state)
    _check_totals(row, state=state)
    if row.kind == SPEND:
        if row.release_id in state.charges:
            raise tampered(row.number, f"release {row.release_id!r} is charged twice")
        state.charges[row.release_id] = row.number
    if row.kind == STORE:
        _check_answer(row, state=state, answers=answers)


def _new(opening: Row) -> _Policy:
    budget = budget_of(opening)
    spent = _amounts.zero(budget.epsilon)
    texts = spent.texts()
    return _Policy(budget=budget, spent=spent, texts=texts, nothing=texts, unit=unit_of(opening))


def _check_unit(row: Row, *, state: _Policy) -> None:
    """An account of 0.1.0 may learn its unit later; then it keeps it."""
    unit = unit_of(row)
    if unit == state.unit:
        return
    if state.unit is not None and row.format == FORMAT:
        raise tampered(row.number, "it protects another unit than its account")
    state.unit = state.unit or unit


def _check_totals(row: Row, *, state: _Policy) -> None:
    state.releases += row.kind == SPEND
    stated = (row.total_epsilon, row.total_delta)
    if row.kind != SPEND and (row.epsilon, row.delta) == state.nothing and stated == state.texts:
        if row.releases != state.releases:
            raise tampered(row.number, "its totals are not the sums of the charges")
        return
    charged = charge_of(row)
    edges = state.budget.epsilon.keys()
    if charged.epsilon.keys() != edges or charged.delta.keys() != edges:
        raise tampered(row.number, "its edges are not those of its account")
    if any(value < 0 for part in (charged.epsilon, charged.delta) for value in part.values()):
        raise tampered(row.number, "it charges less than nothing")
    if row.kind != SPEND and charged != _amounts.zero(edges):
        raise tampered(row.number, f"a row of kind {row.kind!r} charges something")
    total = state.spent + charged
    texts = total.texts()
    # A total that is not written as we write it may still be the right number.
    if row.releases != state.releases or (stated != texts and amounts_of(row)[1] != total):
        raise tampered(row.number, "its totals are not the sums of the charges")
    if not total.within(state.budget):
        raise tampered(row.number, "its total is over budget")
    state.spent, state.texts = total, texts


def _check_answer(row: Row, *, state: _Policy, answers: Mapping[int, str]) -> None:
    facts = detail_of(row)
    charge = state.charges.get(row.release_id)
    if charge is None or facts.get("charge") != charge or row.release_id in state.answered:
        raise tampered(row.number, "it stores an answer for no charge, or a second one")
    if not answers.get(charge) or answers[charge] != facts.get("sha256"):
        raise tampered(row.number, "the stored answer is not the one that was recorded")
    state.answered.add(row.release_id)


def _check_payloads(answers: Mapping[int, str], *, policies: dict[str, _Policy]) -> None:
    """An answer that no row speaks of was slipped in."""
    known = {state.charges[name] for state in policies.values() for name in state.answered}
    for charge in answers:
        if charge not in known:
            raise tampered(charge, "an answer is stored for it that no row recorded")
