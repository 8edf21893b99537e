"""Accounts by cohort: all that a session over two dates tells, against the budget of one date.

Each line opens an account, charges its questions to it, and they fit. Then all their answers are
enumerated together, and no move may lose more than the account promises: the budget of a date, as
many times as one unit's dates may count. docs/proofs/cohorts.md says why.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

import narwhals as nw
import numpy as np

from onesided import Calendar
from onesided import policy as policies
from onesided import session as questions
from onesided.noise import Noise
from onesided.numbers import INFINITE
from onesided.policy import Policy
from onesided.session.kit import prepared
from onesided.verify import Data, Line, Universe
from onesided_proofs._worlds import of_kinds
from onesided_proofs.cases.sessions import has_engine, table_of, table_of_rows
from onesided_proofs.tables import Row, Table, Tables, subsets

_DAYS: Final = (dt.date(2026, 1, 1), dt.date(2026, 1, 2))
_BUDGET: Final = 6
# A unit with rows of one date, of both or of none, of which a move drops dates.
_DATES: Final = Universe(groups=("p0", "p1"), units=1)
_SHARED: Final = "shared between sides, dates or parts that are never needed at once"


def cases() -> Iterator[Line]:
    """The sound first."""
    if not has_engine():
        return
    daily, kind = (_on(0, 6), _on(1, 6)), policies.sensitive("kind = 'sensitive'")
    for policy in (policies.addition_only(), policies.removal_only(), policies.unbounded()):
        yield _line(policy, daily, "each date")
        yield _line(policy, (_of_all(2), _on(0, 4), _on(1, 4)), "all dates, and each")
    # Leaving one date costs 3, and so does entering the other one.
    for policy in (policies.bounded(), kind):
        yield _line(policy, (_on(0, 3), _on(1, 3)), "left + entered")
        yield _line(policy, (_of_all(2), _on(0, 2), _on(1, 2)), "left + entered, beside all")
        yield _line(policy, (_by_day(6),), "dates as groups")
    for most in (1, 2):
        own = policies.presence(max_groups=most)
        yield _line(own, (_by_day(6),), "dates that are dropped", unit="person", world=_DATES)
        yield _line(own, daily, "m dates, m times", unit="person", cohorts="unbounded")
    added, every = policies.addition_only(), (policies.unbounded(), policies.removal_only())
    for policy in (added, *every, policies.bounded()):
        epsilon = 3 if policy.name == "bounded" else 6
        asked = (_on(0, epsilon), _on(1, epsilon))
        yield _line(policy, asked, "first date alone", unit="person", cohorts=1)
    yield _line(added, daily, "two dates", unit="person", cohorts=2)
    yield from _broken(daily)


def _broken(daily: Sequence[Any]) -> Iterator[Line]:
    """Wrong: each date's budget is taken for what a move loses that changes two of them."""
    flawed: dict[str, Any] = {"claims": _BUDGET, "loose": ""}
    loose: dict[str, Any] = {"unit": "person", "cohorts": "unbounded", **flawed}
    flaw = "a record that may change its date is charged the largest date alone"
    seen = "where parallel composition is taken for bounded privacy"
    yield _line(policies.bounded(), daily, "each date", flaw=flaw, seen=seen, **flawed)
    own = policies.presence(max_groups=1)
    flaw = "presence by place, parted by date: who drops a place drops it on both"
    seen = "where dates are not of what is protected"
    yield _line(own, daily, "each date", flaw=flaw, seen=seen, **loose)
    added = policies.addition_only()
    flaw = "one date of each unit is promised to count, and nobody is cut"
    seen = "where a bound is stated and not enforced"
    yield _line(added, daily, "first date alone", flaw=flaw, seen=seen, **loose)


def _on(day: int, epsilon: int) -> Any:
    return questions.Count(where=f"day = DATE '{_DAYS[day]}'", epsilon=epsilon)


def _of_all(epsilon: int) -> Any:
    return questions.Count(epsilon=epsilon)


def _by_day(epsilon: int) -> Any:
    return questions.Count(by="day", keys=_DAYS, epsilon=epsilon)


@dataclass(frozen=True, slots=True)
class Dated:
    """What a session draws for several questions of a table whose value says the date."""

    policy: Policy
    asked: Sequence[Any]
    unit: str | None
    cohorts: Any
    _read: dict[Data | Table, Any] = field(default_factory=dict, repr=False, compare=False)

    def __call__(self, data: Data | Table, noise: Noise) -> Any:
        """All answers. Rows are read once for each data set."""
        if data not in self._read:
            session = self.session(data, _BUDGET * len(self.asked))
            steps = [prepared(session, one) for one in self.asked]
            self._read[data] = [(step.draw, step.read()) for step in steps]
        return tuple(
            tuple(int(n) for part in draw(secret, noise).values() for n in np.ravel(part))
            for draw, secret in self._read[data]
        )

    def session(self, data: Data | Table, budget: int) -> questions.Session:
        """A session over a table of this data, whose account is by date."""
        table = nw.from_native(_of_tables(data) if isinstance(data, Table) else table_of(data))
        day = nw.when(nw.col("v") == 0).then(nw.lit(_DAYS[0])).otherwise(nw.lit(_DAYS[1]))
        return questions.Session(
            table.with_columns(day=day).to_native(),
            policy=self.policy,
            unit=self.unit,
            budget=budget,
            cohort=Calendar("day", max_cohorts=self.cohorts, complete=True),
        )

    def promised(self, budget: int) -> Fraction:
        """What the account promises of units with two dates, once all questions fitted it."""
        account = (session := self.session((), budget)).account
        for one in self.asked:
            plan = session.plan(one)
            account.spend(plan.charge, label="a date", cohorts=plan.cohorts)
        ((epsilon, _),) = [one.promised for one in session.ledger.balances()]
        most = max(epsilon.values())
        return Fraction(2 * budget) if most == INFINITE else Fraction(most)  # type: ignore[arg-type] # finite


def _line(
    policy: Policy,
    asked: Sequence[Any],
    what: str,
    *,
    unit: str | None = None,
    cohorts: Any = None,
    claims: int | None = None,
    world: Universe | None = None,
    **options: Any,
) -> Line:
    program = Dated(policy, tuple(asked), unit, cohorts)
    most = Fraction(claims) if claims else program.promised(_BUDGET)
    # Each row a unit of one date; or one unit with rows of both dates at one place, and of another.
    of_units = Tables(possible=subsets([_row("p", 0), _row("p", 1), _row("q", 1)]))
    return Line(
        f"session: cohorts, {what}",
        policy,
        program,
        {edge: most * edge.weight for edge in policy.edges},
        universe=world or (_rows(policy) if unit is None else of_units),
        epsilon=most,
        **{"loose": _SHARED, "tail": 1e-8, "unseen": 1e-3, "sealed": False, **options},
    )


def _rows(policy: Policy) -> Universe:
    """One or no row of each kind, of either date."""
    values = of_kinds(policy, [frozenset({f"p{v}"}) for v in (0, 1)])
    return Universe(units=1, values=values)


def _row(place: str, day: int) -> Row:
    return Row(place, frozenset({str(day)}))


def _of_tables(table: Table) -> Any:
    return table_of_rows(
        (unit, "record", row.group, int(min(row.facts)))
        for unit, rows in enumerate(table.units)
        for row in sorted(rows)
    )
