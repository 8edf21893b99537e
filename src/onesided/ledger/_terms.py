"""What an account is opened for: a policy, its budget, and whom it protects."""

from __future__ import annotations

from dataclasses import dataclass

from onesided.ledger import _amounts
from onesided.ledger._amounts import Amounts
from onesided.ledger._entry import amount_columns
from onesided.ledger._rows import OPEN, UNIT, WHO, Row, detail_text, next_row
from onesided.ledger._unit import Unit


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

    def own(self, who: str) -> dict[str, object]:
        """What every row of the account says under reserved keys."""
        unit: dict[str, object] = {UNIT: None if self.unit is None else self.unit.written()}
        return {**unit, WHO: who} if who else unit

    def opening(self, last: Row | None, *, who: str) -> Row:
        """The row that opens the account."""
        epsilon, delta = (
            {edge: str(value) for edge, value in part.items()}
            for part in (self.budget.epsilon, self.budget.delta)
        )
        nothing = _amounts.zero(self.budget.epsilon)
        facts = {
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
            detail=detail_text(facts, own=self.own(who)),
            amounts=amount_columns(nothing, nothing),
            releases=0,
        )
