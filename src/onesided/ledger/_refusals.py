"""Why an account may not be opened or charged, and what to do instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from onesided.errors import PolicyMismatchError, ReleaseExistsError
from onesided.ledger._rows import Row
from onesided.ledger._terms import Terms
from onesided.ledger._unit import Unit

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
    "other": (
        "was charged on {day} (entry {number}) for another question",
        "Ask under a new id.",
    ),
    "charged": (
        "was already charged on {day} (entry {number})",
        "Recall its stored answer, or ask under a new id.",
    ),
}


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


def refuse_other_unit(held: Unit | None, wanted: Terms, *, name: str) -> None:
    """Losses per person and losses per row have no sum, so one account holds only one kind."""
    if held == wanted.unit:
        return
    said, asked = ("nobody by name" if unit is None else str(unit) for unit in (held, wanted.unit))
    raise PolicyMismatchError(
        f"the account of policy {wanted.policy_name!r} in {name} protects {said}, the session "
        f"protects {asked}: their losses have no sum.",
        hint="Use the same unit=, or another ledger. Nothing was drawn and nothing was recorded.",
        held_unit=held,
        asked_unit=wanted.unit,
    )


def unknown_unit(wanted: Terms, *, name: str) -> PolicyMismatchError:
    """The refusal to charge an account of 0.1.0 that does not say whom it protects."""
    return PolicyMismatchError(
        f"the account of policy {wanted.policy_name!r} in {name} was made by onesided 0.1.0, and "
        f"not all of its charges say whom they protect; {wanted.unit} cannot be charged to it.",
        hint="Open another ledger. This one can be read, and counts in totals. "
        "Nothing was drawn and nothing was recorded.",
        asked_unit=wanted.unit,
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
        held_delta_budget=dict(first.budget.delta),
        asked_delta_budget=dict(wanted.budget.delta),
    )


def _said(terms: Terms) -> str:
    edges = ", ".join(f"{edge!r}: {value}" for edge, value in terms.budget.epsilon.items())
    deltas = ", ".join(f"{edge!r}: {value}" for edge, value in terms.budget.delta.items() if value)
    extra = f" and δ budget {{{deltas}}}" if deltas else ""
    return f"policy {terms.policy_name!r} ({terms.policy_id[:12]}) with budget {{{edges}}}{extra}"
