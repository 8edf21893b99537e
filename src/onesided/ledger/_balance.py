"""From events to tables: what each account may spend, has spent, and has left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType

from onesided._numbers import exact
from onesided.errors import ParameterError
from onesided.ledger._entry import Entry
from onesided.ledger._rows import OPEN, SPEND, tampered

Table = Mapping[str, Fraction]


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """One account at one moment. ε and δ per edge of its policy, exact.

    ``opened`` is the number of the entry that opened it, ``releases`` the number of its charges.
    """

    opened: int
    policy_id: str
    policy_name: str
    policy_toml: str
    budget: Table
    delta_budget: Table
    spent: Table
    delta_spent: Table
    releases: int = 0

    @property
    def remaining(self) -> Table:
        """ε left, per edge."""
        return {edge: limit - self.spent[edge] for edge, limit in self.budget.items()}

    @property
    def delta_remaining(self) -> Table:
        """δ left, per edge."""
        return {edge: limit - self.delta_spent[edge] for edge, limit in self.delta_budget.items()}


def balances(entries: Iterable[Entry]) -> tuple[Balance, ...]:
    """The accounts that ``entries``, in order from the first, opened and charged.

    Pure. Sums the charges themselves and takes no stated total on trust; the order of charges
    makes no difference. Errors: TamperedLedgerError for a charge on an account that was not
    opened before or that has other edges, and for an opening that is repeated or cannot be read.
    """
    found: dict[str, Balance] = {}
    for entry in entries:
        held = found.get(entry.policy_id)
        if entry.kind == OPEN:
            if held is not None:
                raise tampered(entry.number, "it opens an account for the second time")
            found[entry.policy_id] = _opened(entry)
        elif held is None:
            raise tampered(entry.number, "its policy was never opened")
        else:
            found[entry.policy_id] = replace(
                held,
                spent=_sum(held.spent, entry.epsilon, number=entry.number),
                delta_spent=_sum(held.delta_spent, entry.delta, number=entry.number),
                releases=held.releases + (entry.kind == SPEND),
            )
    return tuple(found.values())


def _opened(entry: Entry) -> Balance:
    budget, delta = (_table(entry, name) for name in ("budget", "delta_budget"))
    if budget.keys() != delta.keys():
        raise tampered(entry.number, "its budget cannot be read")
    nothing = MappingProxyType(dict.fromkeys(budget, Fraction(0)))
    return Balance(
        opened=entry.number,
        policy_id=entry.policy_id,
        policy_name=str(entry.detail.get("policy_name", "")),
        policy_toml=str(entry.detail.get("policy_toml", "")),
        budget=budget,
        delta_budget=delta,
        spent=nothing,
        delta_spent=nothing,
    )


def _table(entry: Entry, name: str) -> Table:
    table = entry.detail.get(name)
    if isinstance(table, Mapping):
        try:
            return MappingProxyType({edge: exact(v, name=name) for edge, v in table.items()})
        except ParameterError:
            pass
    raise tampered(entry.number, "its budget cannot be read")


def _sum(so_far: Table, charged: Table, *, number: int) -> Table:
    if charged.keys() != so_far.keys():
        raise tampered(number, "its edges are not those of its account")
    return MappingProxyType({edge: value + charged[edge] for edge, value in so_far.items()})
