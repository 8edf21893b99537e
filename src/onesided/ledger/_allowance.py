"""What one asker may spend of an account's budget, summed from that asker's own charges."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from onesided._numbers import Loss, Number
from onesided.errors import BudgetExceededError, ParameterError
from onesided.fields import settle as settled
from onesided.ledger import _amounts
from onesided.ledger._amounts import Added, Amounts
from onesided.ledger._entry import SINCE, SPEND, WHO, charge_of, intact, since_of, who_of
from onesided.store import plain_text

if TYPE_CHECKING:
    from onesided.ledger._store import View

_EVER: Final = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """What one asker may spend of an account's budget since a public instant, per edge; exact.

    who: the asker, under whose name the charge is recorded. epsilon, delta: the most per edge, 0
    on edges that are left out; None for as much as the account has. since: the instant, with its
    zone; "" sums all charges. Promise: whatever processes charge at once, the recorded charges of
    an asker since that instant never sum to more. Rows count that were written after the instant,
    or that were charged to an allowance since then: a clock that is late does not hide them.

    >>> import onesided as od
    >>> terms = {"policy_id": "p", "policy_toml": "", "policy_name": "p"}
    >>> account = od.Ledger.open(None).account(**terms, budget={"up": 9})
    >>> ann = Allowance(who="ann", epsilon={"up": 1})
    >>> account.spend({"up": "3/4"}, label="a count", allowance=ann).number
    2
    >>> account.allowed(ann).remaining, account.remaining
    ({'up': Fraction(1, 4)}, {'up': Fraction(33, 4)})
    """

    who: str
    epsilon: Mapping[str, Loss | Number] | None = None
    delta: Mapping[str, Loss | Number] | None = None
    since: str = _EVER

    def __post_init__(self) -> None:
        settled(self, who=plain_text(self.who, name="who", empty=False), since=_instant(self.since))

    def limits(self, budget: Amounts) -> Amounts:
        """The most per edge; the account's own budget where nothing is said."""
        if self.epsilon is None:
            return budget
        return _amounts.read_limits(self.epsilon, self.delta, budget=budget)

    def own(self) -> dict[str, object]:
        """What the row of a charge says under reserved keys."""
        return {WHO: self.who, **({SINCE: self.since} if self.since else {})}


class Askers:
    """What each asker charged to one account: each row is read once by a process."""

    def __init__(self, policy_id: str, budget: Amounts) -> None:
        self._policy_id, self._budget = policy_id, budget
        self._read = 0
        self._charges: dict[str, list[tuple[str, Amounts]]] = {}
        self._sums: dict[tuple[str, str], tuple[int, int, Amounts]] = {}
        self._mutex = threading.Lock()

    def spent(self, view: View, allowance: Allowance) -> tuple[Amounts, int]:
        """What the asker charged since the allowance's instant, and in how many charges."""
        with self._mutex:
            if len(self._sums) > _MOST_SUMS:
                self._sums.clear()
            for row in view.rows(after=self._read, policy_id=self._policy_id, kind=SPEND):
                intact(row)
                instant = max(row.time, since_of(row))
                self._charges.setdefault(who_of(row), []).append((instant, charge_of(row)))
                self._read = row.number
            place = (allowance.who, allowance.since)
            nothing = (0, 0, self._budget.nothing())
            seen, number, total = self._sums.get(place, nothing)
            charges = self._charges.get(allowance.who, [])
            for instant, charge in charges[seen:]:
                if instant >= allowance.since:
                    number, total = number + 1, total + charge
            self._sums[place] = (len(charges), number, total)
            return total, number

    def require(self, view: View, charge: Amounts, allowance: Allowance) -> None:
        """Errors: BudgetExceededError if the charge does not fit into what the asker has left."""
        spent, number = self.spent(view, allowance)
        limits = _where_asked(charge, spent, allowance.limits(self._budget))
        try:
            _amounts.settle(charge, spent=spent, budget=limits, releases=number)
        except BudgetExceededError as error:
            day = allowance.since[:16].replace("T", " ")
            since = f" since {day} UTC" if day else ""
            raise BudgetExceededError(
                f"the allowance of {allowance.who!r}{since}: {error.reason}",
                hint=error.hint.replace(
                    "open a new ledger with one (delta_budget=)", "ask for one"
                ).replace("the budget", "the allowance", 1),
                **error.values,
                who=allowance.who,
                since=allowance.since,
            ) from None


_MOST_SUMS: Final = 10_000


def _where_asked(charge: Amounts, spent: Amounts, limits: Amounts) -> Amounts:
    """The limits of the edges that are charged: on the others an allowance may have been cut."""

    def widened(
        asked: Mapping[str, Added], used: Mapping[str, Added], most: Mapping[str, Added]
    ) -> dict[str, Added]:
        return {edge: most[edge] if asked[edge] else max(most[edge], used[edge]) for edge in most}

    return Amounts(
        epsilon=widened(charge.epsilon, spent.epsilon, limits.epsilon),
        delta=widened(charge.delta, spent.delta, limits.delta),
        orders=limits.orders,
    )


def _instant(given: object) -> str:
    """An instant as rows write theirs. Errors: ParameterError."""
    if given == _EVER:
        return _EVER
    try:
        moment = dt.datetime.fromisoformat(str(given))
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise ParameterError(
            f"since must be an instant with its zone, got {given!r}.",
            hint='Write "2026-01-31T00:00:00+00:00", or "" for all charges.',
            value=given,
        )
    return moment.astimezone(dt.UTC).isoformat(timespec="microseconds")
