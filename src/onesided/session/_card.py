"""A session in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onesided._numbers import readable
from onesided.show import Card

if TYPE_CHECKING:
    from onesided.session._session import Session


def card_of(session: Session) -> str:
    """Whose data these are, under which policy, and what is left of the budget, as HTML."""
    unit, edges = session.unit, list(session.remaining)
    whom = "Each row on its own." if unit is None else f"Protected: each {unit}."
    held = ", ".join(session._table.schema)  # noqa: SLF001 - its own face
    return Card(
        title=f"Session under the policy '{session.policy.name}'",
        columns={
            "edge": edges,
            "spent ε": [readable(session.spent[edge]) for edge in edges],
            "left of ε": [readable(session.remaining[edge]) for edge in edges],
        },
        lines=[f"Columns: {held}.", whom, f"{session.ledger!r}"],
    ).html()
