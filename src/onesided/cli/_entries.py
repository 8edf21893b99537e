"""A ledger's entries for programs and spreadsheets: exact, or rounded towards caution."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Final, TypeAlias

from onesided._numbers import round_down, round_up, text
from onesided.ledger import Balance, Entry
from onesided.show import csv_text

Accounts: TypeAlias = Mapping[str, Balance]


def plain(entry: Entry, accounts: Accounts) -> dict[str, object]:
    """An entry for programs: exact numbers as text."""
    account = accounts[entry.policy_id]
    names = ("epsilon", "total_epsilon", "delta", "total_delta")
    tables = {name: getattr(entry, name) for name in names}
    tables |= {"budget": account.budget, "delta_budget": account.delta_budget}
    return {
        **{name: getattr(entry, name) for name in ("number", "time", "who", "kind")},
        **{name: getattr(entry, name) for name in ("policy_id", "release_id", "label")},
        "policy": account.policy_name,
        "detail": dict(entry.detail),
        **{
            name: {edge: text(amount) for edge, amount in table.items()}
            for name, table in tables.items()
        },
        "previous": entry.previous,
        "hash": entry.hash,
    }


_CSV: Final = (
    *("row", "time", "who", "kind", "policy", "policy_id", "release_id", "what", "edge"),
    *("epsilon", "epsilon_spent", "epsilon_budget", "epsilon_left", "epsilon_exact"),
    *("delta", "delta_spent", "delta_budget", "delta_left", "delta_exact", "hash"),
)


def as_csv(entries: tuple[Entry, ...], accounts: Accounts) -> str:
    """A line per entry and edge; decimals are rounded toward caution, exact fractions beside."""
    return csv_text(_CSV, (row for entry in entries for row in _rows(entry, accounts)))


def _rows(entry: Entry, accounts: Accounts) -> Iterator[tuple[object, ...]]:
    account = accounts[entry.policy_id]
    words = (entry.time, entry.who, entry.kind, account.policy_name, entry.policy_id)
    for edge, limit in account.budget.items():
        yield (
            *(entry.number, *words, entry.release_id, entry.label, edge),
            *_decimals(entry.epsilon[edge], entry.total_epsilon[edge], limit),
            *_decimals(entry.delta[edge], entry.total_delta[edge], account.delta_budget[edge]),
            entry.hash,
        )


def _decimals(charged: Fraction, total: Fraction, limit: Fraction) -> tuple[float | str, ...]:
    left = round_down(limit - total)
    return round_up(charged), round_up(total), round_down(limit), left, text(charged)
