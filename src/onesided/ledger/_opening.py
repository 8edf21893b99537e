"""How an account is opened: its policy, its budget, whom it protects; and when it may not be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onesided.ledger import _amounts
from onesided.ledger._amounts import Amounts
from onesided.ledger._entry import detail_of, unit_of
from onesided.ledger._refusals import other_terms
from onesided.ledger._rows import FORMAT, OPEN, SPEND, Row, tampered
from onesided.ledger._terms import Terms
from onesided.ledger._unit import Unit, unit_of_0_1_0
from onesided.store import canonical

if TYPE_CHECKING:
    from onesided.ledger._view import View


def terms_of(opening: Row, *, unit: Unit | None = None) -> Terms:
    """What an account on record was opened for."""
    detail = detail_of(opening)
    return Terms(
        policy_id=opening.policy_id,
        policy_name=str(detail.get("policy_name", "")),
        policy_toml=str(detail.get("policy_toml", "")),
        budget=budget_of(opening),
        unit=unit,
    )


def budget_of(opening: Row) -> Amounts:
    """The budget that the opening row of an account grants."""
    detail = detail_of(opening)
    try:
        budget, delta = detail["budget"], detail["delta_budget"]
        found = _amounts.read(canonical(budget), canonical(delta))
    except (KeyError, TypeError, ValueError):
        raise tampered(opening.number, "its budget cannot be read") from None
    if found.epsilon.keys() != found.delta.keys():
        raise tampered(opening.number, "its budget cannot be read")
    return found


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
    if same is not None and budget_of(same) == wanted.budget:
        return same
    if same is None and wanted.further:
        return None
    raise other_terms([terms_of(row) for row in view.openings()], wanted=wanted)


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
