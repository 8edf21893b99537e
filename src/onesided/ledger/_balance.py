"""From events to tables: what each account may spend, has spent, and has left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType

from onesided._numbers import exact
from onesided.errors import ParameterError
from onesided.ledger._entry import Entry
from onesided.ledger._rows import OPEN, SPEND, tampered
from onesided.ledger._unit import Unit, unit_of_0_1_0

Table = Mapping[str, Fraction]


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
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
    policy_id: str
    policy_name: str
    policy_toml: str = field(repr=False)
    budget: Table
    delta_budget: Table
    spent: Table
    delta_spent: Table
    releases: int = 0
    units: frozenset[Unit | None] = frozenset({None})

    @property
    def remaining(self) -> Table:
        """ε left, per edge."""
        return {edge: limit - self.spent[edge] for edge, limit in self.budget.items()}

    @property
    def delta_remaining(self) -> Table:
        """δ left, per edge."""
        return {edge: limit - self.delta_spent[edge] for edge, limit in self.delta_budget.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What an account may spend, has spent and has left at one moment, per edge; exact.

    >>> import onesided as od
    >>> terms = {"policy_id": "p", "policy_toml": "", "policy_name": "p"}
    >>> account = od.Ledger.open(None).account(**terms, budget={"a -> b": 2})
    >>> account.standing().remaining, account.standing().releases
    ({'a -> b': Fraction(2, 1)}, 0)
    """

    spent: Mapping[str, Fraction]
    delta_spent: Mapping[str, Fraction]
    remaining: Mapping[str, Fraction]
    delta_remaining: Mapping[str, Fraction]
    releases: int


def balances(entries: Iterable[Entry]) -> tuple[Balance, ...]:
    """The accounts that ``entries``, in order from the first, opened and charged.

    Pure. Sums the charges themselves and takes no stated total on trust; the order of charges
    makes no difference. Errors: TamperedLedgerError for a charge on an account that was not
    opened before or that has other edges, and for an opening that is repeated or cannot be read.

    >>> import onesided as od
    >>> ledger = od.Ledger.open(None)
    >>> account = ledger.account(policy_id="p", policy_toml="", policy_name="p", budget={"up": 3})
    >>> account.open()
    >>> balances(ledger.entries()) == ledger.balances()
    True
    """
    found: dict[str, _Sums] = {}
    for entry in entries:
        held = found.get(entry.policy_id)
        if entry.kind == OPEN:
            if held is not None:
                raise tampered(entry.number, "it opens an account for the second time")
            found[entry.policy_id] = _Sums(_opened(entry))
        elif held is None:
            raise tampered(entry.number, "its policy was never opened")
        else:
            held.add(entry)
    return tuple(sums.balance() for sums in found.values())


def stated_balance(opening: Entry, last: Entry, *, units: frozenset[Unit | None]) -> Balance:
    """An account by its first row and the totals that its last row states."""
    opened = _opened(opening)
    if not last.total_epsilon.keys() == last.total_delta.keys() == opened.budget.keys():
        raise tampered(last.number, "its edges are not those of its account")
    return replace(
        opened,
        spent=last.total_epsilon,
        delta_spent=last.total_delta,
        releases=last.releases,
        units=units,
    )


class _Sums:
    """An account while its charges are summed."""

    def __init__(self, opened: Balance) -> None:
        self._opened = opened
        self._spent, self._delta_spent = dict(opened.spent), dict(opened.delta_spent)
        self._releases = 0
        self._units: set[Unit | None] = set()

    def add(self, entry: Entry) -> None:
        _add(self._spent, entry.epsilon, number=entry.number)
        _add(self._delta_spent, entry.delta, number=entry.number)
        self._releases += entry.kind == SPEND
        if entry.kind == SPEND:
            self._units.add(entry.unit or unit_of_0_1_0(entry.detail.get("unit")))

    def balance(self) -> Balance:
        return replace(
            self._opened,
            spent=MappingProxyType(self._spent),
            delta_spent=MappingProxyType(self._delta_spent),
            releases=self._releases,
            units=frozenset(self._units) or self._opened.units,
        )


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
        units=frozenset({entry.unit}),
    )


def _table(entry: Entry, name: str) -> Table:
    table = entry.detail.get(name)
    if isinstance(table, Mapping):
        try:
            return MappingProxyType({edge: exact(v, name=name) for edge, v in table.items()})
        except ParameterError:
            pass
    raise tampered(entry.number, "its budget cannot be read")


def _add(so_far: dict[str, Fraction], charged: Table, *, number: int) -> None:
    if charged.keys() != so_far.keys():
        raise tampered(number, "its edges are not those of its account")
    for edge, value in charged.items():
        if value:
            so_far[edge] += value
