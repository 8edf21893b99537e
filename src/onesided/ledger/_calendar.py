"""Budgets by cohort: each public date has a budget of its own, which may grow with its age.

A charge is about rows of certain dates alone. What a move leaves as it is on all of them, it leaves
as it is in the answer, so the charge is added to the *cells* of these dates and to no other. On
each edge every cell keeps within its date's budget at that moment. Where a move can take a record
from one date to another, a cell also adds what leaving and what entering its dates cost, and
leaving one date plus entering another one keeps within the budget, too. Proof:
docs/proofs/cohorts.md.

The clock is the UTC date on which a charge is recorded, by the machine that charges; it stands in
its row. Where budgets grow or end by it, no charge is dated before an earlier one, and none more
than 40 days after the account's last one, until a person says what day it is: so a clock that ran
ahead lets budgets grow by no more than that.
"""

from __future__ import annotations

import datetime as dt
import threading
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache, wraps
from itertools import pairwise
from typing import Any, Concatenate, Final, Literal, ParamSpec, Self, TypeAlias, TypeVar

from onesided._english import many
from onesided._numbers import (
    INFINITE,
    Infinite,
    Loss,
    Number,
    exact,
    positive,
    readable,
    text,
    whole,
)
from onesided.errors import BudgetExceededError, LedgerError, ParameterError
from onesided.fields import settle as settled
from onesided.ledger import _amounts
from onesided.ledger._amounts import Amounts
from onesided.store import plain_text

UNBOUNDED: Final = "unbounded"


def today_of(time: str) -> dt.date:
    """The day of a moment that the ledger's clock told, in UTC."""
    return dt.date.fromisoformat(time[:10])


_MOST_AGE: Final = 100_000
_BELIEVED: Final = 40  # days after an account's last charge
_TWO_DATES: Final = (
    "a move may take a record from one of these dates to another, and pays for both: ask for less, "
    "or about fewer dates. Nothing was drawn and nothing was recorded."
)
_UNDATED: Final = (
    " Rows without a date pay wherever they may count: required = true in the schema says that "
    'there are none, and unknown="recorded" leaves them out.'
)
_FIRST, _LAST = dt.date.min.toordinal(), dt.date.max.toordinal()
Table: TypeAlias = Mapping[str, Loss | Number]
P = ParamSpec("P")
Made = TypeVar("Made")
Span: TypeAlias = tuple[dt.date | None, dt.date | None]


@dataclass(frozen=True, slots=True)
class Calendar:
    """How an account's budget is parted by a public date of its records, and how it grows.

    column: holds the date; records without one are a cohort of their own, of age 0 for ever.
    schedule: from which age in days on what ε may be spent, such as ``{0: "1/2", 365: 1}``: from
        age 0 on, never falling, the last one the account's budget; None grants it at once.
    ends: the age at which the schedule ends. Older dates are asked no more, and nothing is promised
        of what others publish about them.
    max_cohorts: where one unit may have records of several dates: the most dates that count, the
        first ones of each unit; or "unbounded". None: such a unit is charged the sum of all dates.
    complete: that every table holds all earlier rows of its units, which a session asks for where
        it cuts them to their first dates: of a part of the rows these would be other dates, and a
        unit would pay for more than so many. Nothing else can tell it.
    times: how many dates' budgets one move can use, at most; None where nothing bounds them.
    may_move: whether a move can take a record from one date to another. A session fills these two.

    Promise: by age A, an observer's odds about records of one date changed by at most e^B(A).

    >>> import onesided as od
    >>> calendar = od.Calendar("day", schedule={0: "1/4", 30: 1}, ends=365)
    >>> str(calendar.share(29)), calendar.share(30), calendar.share(365)
    ('1/4', Fraction(1, 1), None)
    """

    column: str
    schedule: Mapping[int, Number] | tuple[tuple[int, Fraction], ...] | None = field(
        default=None, kw_only=True
    )
    ends: int | None = field(default=None, kw_only=True)
    max_cohorts: int | Literal["unbounded"] | None = field(default=None, kw_only=True)
    complete: bool = field(default=False, kw_only=True)
    times: int | None = field(default=1, kw_only=True)
    may_move: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        plain_text(self.column, name="cohort", empty=False)
        for name, flag in (("may_move", self.may_move), ("complete", self.complete)):
            if not isinstance(flag, bool):
                raise ParameterError(
                    f"{name} must be True or False, got {flag!r}.", hint="Write False."
                )
        settled(self, schedule=_schedule(self.schedule))
        for name, given in (("ends", self.ends), ("times", self.times)):
            if given is not None:
                whole(given, name=name, least=1, most=_MOST_AGE)
        if self.max_cohorts not in (None, UNBOUNDED):
            whole(self.max_cohorts, name="max_cohorts", least=1, most=_MOST_AGE)
        if self.may_move and (self.schedule or self.ends):
            raise ParameterError(
                "Under this policy a record may pass as one of another date, whose budget would "
                "have grown already: its own could not hold.",
                hint="Leave schedule and ends out, or take a policy whose moves keep each record's "
                "date, such as addition_only().",
            )

    @property
    def steps(self) -> tuple[tuple[int, Fraction], ...]:
        """Ages, and what may be spent from each on; none without a schedule."""
        return self.schedule or ()  # type: ignore[return-value] # settled so

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """Each part of the budget that some date has."""
        return tuple(dict.fromkeys(one / self.steps[-1][1] for _, one in self.steps)) or (
            Fraction(1),
        )

    @property
    def by_clock(self) -> bool:
        """Whether a date's budget depends on the day of the charge."""
        return bool(self.steps) or self.ends is not None

    def share(self, age: int) -> Fraction | None:
        """The part of the budget that dates of this age have; None once the schedule ended.

        A date to come has what it will have at age 0.
        """
        if self.ends is not None and age >= self.ends:
            return None
        if not self.steps:
            return Fraction(1)
        place = max(1, bisect_right(self.steps, age, key=lambda step: step[0]))
        return self.steps[place - 1][1] / self.steps[-1][1]

    def written(self) -> dict[str, object]:
        """As the ledger keeps it."""
        told = {
            "schedule": [[age, text(share)] for age, share in self.steps] or None,
            "ends": self.ends,
            "max_cohorts": self.max_cohorts,
            "complete": self.complete or None,
            "may_move": self.may_move or None,
        }
        some = {name: one for name, one in told.items() if one is not None}
        return {"column": self.column, "times": self.times, **some}

    @classmethod
    def read(cls, written: object) -> Self:
        """What :meth:`written` gave. Errors: ValueError, TypeError, ParameterError."""
        facts = dict(written) if isinstance(written, Mapping) else {}
        steps = facts.pop("schedule", None)
        schedule = None if steps is None else dict(steps)
        return cls(facts.pop("column"), schedule=schedule, **facts)

    @property
    def promise(self) -> str:
        """What is promised, in words; "" is never said."""
        if self.steps:
            ages = "; ".join(
                f"e^{readable(share)} by age {later - 1}"
                for (_, share), (later, _) in zip(self.steps, self.steps[1:], strict=False)
            )
            last = f"e^{readable(self.steps[-1][1])} by any later age"
            grown = f"{ages}; {last}" if ages else last
            kept = (
                f"changed by at most {grown} (days, by the clock of the machine that charges, "
                f"which is asked about after {_BELIEVED} days without a charge)"
            )
        else:
            kept = "keep within the whole budget, whatever is asked of other dates"
        alone = self.max_cohorts is None
        whose = "one record of that date" if alone else "one unit, by what is asked of that date,"
        after = (
            "" if self.ends is None
            else f" Nothing is promised after the schedule ends, at age {self.ends}."
        )  # fmt: skip
        return (
            f"For each {self.column!r}: an observer's odds about {whose} {kept}."
            f"{after}{self._several}"
        )

    @property
    def _several(self) -> str:
        if self.max_cohorts is None:
            return ""
        bound = "for ever: unbounded, as in any stream that never ends"
        if self.times is not None:
            bound = f"for ever: {many(self.times, 'time')} at most"
        cut = ""
        if self.max_cohorts != UNBOUNDED:
            cut = (
                f"; each unit counts on its first {many(int(self.max_cohorts), 'date')} alone, and "
                "every table holds all earlier rows of its units, as is declared"
            )
        return f" A unit with records of m dates pays m times; {bound}{cut}."


def promised(
    epsilon: Mapping[str, Fraction], delta: Mapping[str, Fraction], calendar: Calendar | None
) -> tuple[Mapping[str, Loss], Mapping[str, Fraction]]:
    """The most that all charges under a budget can ever lose, for any one move; ε and δ per edge.

    >>> import onesided as od
    >>> calendar = od.Calendar("day", max_cohorts=3, times=3)
    >>> promised({"up": 1}, {"up": 0}, calendar)
    ({'up': 3}, {'up': 0})
    """
    times = 1 if calendar is None else calendar.times
    if times == 1:
        return epsilon, delta
    if times is None:
        return dict.fromkeys(epsilon, INFINITE), delta
    return (
        {edge: some * times for edge, some in epsilon.items()},
        {edge: min(some * times, Fraction(1)) for edge, some in delta.items()},
    )


def _schedule(given: object) -> tuple[tuple[int, Fraction], ...] | None:
    """Ages and amounts in order. Errors: ParameterError."""
    if given is None:
        return None
    pairs: Iterable[tuple[object, object]] = (
        given.items() if isinstance(given, Mapping) else given if isinstance(given, tuple) else ()
    )
    read = [
        (
            whole(age, name="an age of the schedule", least=0, most=_MOST_AGE),
            positive(share, name="an amount of the schedule"),
        )
        for age, share in pairs
    ]
    steps = tuple(sorted(read))
    rises = all(one[1] <= two[1] for one, two in pairwise(steps))
    if not steps or steps[0][0] != 0 or len({age for age, _ in steps}) < len(steps) or not rises:
        raise ParameterError(
            f"A schedule maps ages in days, from 0 on, to amounts that never fall; got {given!r}.",
            hint='For example {0: "1/2", 30: 1}: half at once, all from day 30 on.',
            value=given,
        )
    return steps


@dataclass(frozen=True, slots=True, kw_only=True)
class Cohorts:
    """The dates that a charge is about, read from a closed condition.

    days: spans of dates, both ends included, None where there is no end. unknown: records without
    a date. left, entered: where a record may move between dates, what leaving and entering these
    cost per edge; an edge left out costs the whole charge.

    >>> import datetime as dt
    >>> from onesided.ledger import Cohorts
    >>> day = dt.date(2026, 1, 31)
    >>> str(Cohorts(days=((day, day),))), str(Cohorts.everything())
    ('2026-01-31', 'all dates, those to come and unknown ones too')
    """

    days: tuple[Span, ...] = ()
    unknown: bool = False
    left: Table | None = None
    entered: Table | None = None

    def __post_init__(self) -> None:
        joined: list[tuple[int, int]] = []
        for first, last in sorted(_ordinals(span) for span in self.days):
            if joined and first <= joined[-1][1] + 1:
                joined[-1] = (joined[-1][0], max(joined[-1][1], last))
            elif first <= last:
                joined.append((first, last))
        settled(self, days=tuple(map(_dates, joined)))
        if not self.days and not self.unknown:
            raise ParameterError(
                "A charge is about no date at all.", hint="Name the dates, or leave them out."
            )

    @classmethod
    def everything(cls) -> Self:
        """Every date, those to come and unknown ones too."""
        return cls(days=((None, None),), unknown=True)

    @property
    def all(self) -> bool:
        """Whether no date is left out."""
        return self.unknown and self.days == ((None, None),)

    def holds(self, day: dt.date) -> bool:
        """Whether a date is one of these."""
        spans = map(_ordinals, self.days)
        return any(first <= day.toordinal() <= last for first, last in spans)

    def __str__(self) -> str:
        if self.all:
            return "all dates, those to come and unknown ones too"
        told = [_told(span) for span in self.days]
        return ", ".join([*told, *(["unknown dates"] if self.unknown else [])])

    def written(self) -> dict[str, object]:
        """As the ledger keeps it."""
        ends = {
            name: {edge: text(one) for edge, one in table.items()}  # type: ignore[arg-type] # exact
            for name, table in (("left", self.left), ("entered", self.entered))
            if table is not None
        }
        days = [[None if end is None else end.isoformat() for end in span] for span in self.days]
        return {"days": days, "unknown": self.unknown, **ends}

    @classmethod
    def read(cls, written: object) -> Self:
        """What :meth:`written` gave. Errors: ValueError, TypeError, KeyError, ParameterError."""
        facts = dict(written) if isinstance(written, Mapping) else {}

        def end(told: object) -> dt.date | None:
            return None if told is None else dt.date.fromisoformat(str(told))

        days = tuple((end(first), end(last)) for first, last in facts.pop("days"))
        return cls(days=days, **facts)


def _ordinals(span: Span) -> tuple[int, int]:
    first, last = span
    return (
        _FIRST if first is None else first.toordinal(),
        _LAST if last is None else last.toordinal(),
    )


def _dates(span: tuple[int, int]) -> Span:
    first, last = span
    return (
        None if first <= _FIRST else dt.date.fromordinal(first),
        None if last >= _LAST else dt.date.fromordinal(last),
    )


def _told(span: Span) -> str:
    first, last = span
    if first == last and first is not None:
        return first.isoformat()
    if first is None:
        return "all dates" if last is None else f"until {last}"
    return f"since {first}" if last is None else f"{first} to {last}"


@dataclass(frozen=True, slots=True)
class Sums:
    """What was charged to a date: whole, and for leaving it and entering it."""

    whole: Amounts
    left: Amounts
    entered: Amounts

    def __add__(self, other: Sums) -> Sums:
        return Sums(self.whole + other.whole, self.left + other.left, self.entered + other.entered)

    @property
    def key(self) -> tuple[object, ...]:
        """Equal where all amounts are."""
        return tuple(
            (*part.epsilon.values(), *part.delta.values(), *part.orders.values())
            for part in (self.whole, self.left, self.entered)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Cohort:
    """Dates of one standing, at one moment; ε per edge, exact.

    dates: which. spent: the most that a move about these has lost; in a renyi account at its δ.
    remaining: what one more charge about them may be; nothing once their schedule ended.

    >>> import onesided as od
    >>> terms = {"policy_id": "p", "policy_toml": "", "policy_name": "p"}
    >>> calendar = od.Calendar("day")
    >>> account = od.Ledger.open(None).account(**terms, budget={"up": 1}, calendar=calendar)
    >>> [(str(one.dates), one.remaining) for one in account.by_cohort()]
    [('all dates, those to come and unknown ones too', {'up': Fraction(1, 1)})]
    """

    dates: Cohorts
    spent: Mapping[str, Fraction]
    remaining: Mapping[str, Fraction]


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

    @classmethod
    def of(cls, budget: Amounts, total: Amounts, *, releases: int) -> Self:
        """Of what was granted, and of the sums."""
        used, left = budget.used(total), budget.left(total)
        return cls(
            spent=used.known,
            delta_spent=used.delta,
            remaining=left.known,
            delta_remaining=left.delta,
            releases=releases,
        )


def _locked(method: Callable[Concatenate[Cells, P], Made]) -> Callable[Concatenate[Cells, P], Made]:
    """One thread at a time: looking up dates gives them cells of their own."""

    @wraps(method)
    def held(self: Cells, *args: P.args, **more: P.kwargs) -> Made:
        with self.mutex:
            return method(self, *args, **more)

    return held  # type: ignore[return-value] # the same, by the same names


class Cells:
    """What was charged to each date of one account: a step function of the date, and the unknown.

    ``common`` is what was charged to all of them. Charges are folded in one by one.
    """

    def __init__(self, budget: Amounts, calendar: Calendar) -> None:
        self.budget, self.calendar = budget, calendar
        nothing = budget.nothing()
        self._none = Sums(nothing, nothing, nothing)
        self._starts, self._sums, self._unknown = [_FIRST], [self._none], self._none
        self.common = nothing
        self.total, self.releases, self.read = nothing, 0, 0
        self.left_after: dict[int, Amounts] = {}
        self.latest, self.confirmed = dt.date.min, dt.date.min
        self.mutex = threading.RLock()

    @_locked
    def add(self, number: int, cohorts: Cohorts, charge: Amounts, today: dt.date) -> None:
        """Fold the charge of a row in."""
        own, self.read = self._own(cohorts, charge), number
        self.total, self.releases = self.total + charge, self.releases + 1
        if cohorts.all:
            self.common += charge
        else:
            for place in self._places(cohorts):
                self._sums[place] = self._sums[place] + own
            self._unknown = self._unknown + own if cohorts.unknown else self._unknown
        self.left_after[number] = self.left(cohorts, today)
        self.latest = max(self.latest, today)

    def ahead(self, today: dt.date, opened: dt.date) -> bool:
        """Whether budgets would grow by more than a clock is believed; opened: the first row."""
        long = (today - max(self.latest, opened)).days > _BELIEVED
        return self.calendar.by_clock and long and today != self.confirmed

    def confirm(self, today: dt.date | str, clock: dt.date) -> None:
        """What day it is, as a person says. Errors: ParameterError; LedgerError for another one."""
        try:
            day = today if isinstance(today, dt.date) else dt.date.fromisoformat(str(today))
        except ValueError:
            raise ParameterError(
                f"today={today!r} is no date.", hint='Write it as in "2026-01-31".', value=today
            ) from None
        if clock != day:
            raise LedgerError(
                f"It is {day}, as you say, and {clock} by this machine's clock.",
                hint="Set the clock right; dates are those of UTC. Nothing was recorded.",
                today=day,
                clock=clock,
            )
        self.confirmed = day

    def day(self, time: str, last: dt.date, opened: dt.date | None = None) -> dt.date:
        """The day of a charge. last: of the ledger's last row; opened: of the account's first.

        Errors: LedgerError where budgets depend on it and an earlier row is dated later, or, with
        ``opened``, the account's last one is so old that the clock may have run ahead.
        """
        today, latest = today_of(time), max(self.latest, last)
        if self.calendar.by_clock and today < latest:
            raise LedgerError(
                f"this machine's clock says {today}, and the ledger has a row of {latest}: a clock "
                "is wrong, and budgets grow by it.",
                hint="Set the clock right. If the ledger's date is wrong, budgets of the days "
                "between were granted early (onesided ledger check): open another ledger. Nothing "
                "was drawn and nothing was recorded.",
                today=today,
                latest=latest,
            )
        if opened is not None and self.ahead(today, opened):
            latest = max(self.latest, opened)
            raise LedgerError(
                f"this machine's clock says {today}, and the account's last row is of {latest}: if "
                "the clock runs ahead, budgets would grow too early.",
                hint=f"Look at a calendar. If it is right, in UTC, say so: --today {today}, or "
                f"session.account.confirm({str(today)!r}). Nothing was drawn and nothing was "
                "recorded.",
                today=today,
                latest=latest,
            )
        return today

    @_locked
    def require(self, cohorts: Cohorts, charge: Amounts, today: dt.date) -> None:
        """The decision of the filter, for each date that is charged.

        Errors: BudgetExceededError, which names the date that has least left; ParameterError.
        """
        own, told = self._own(cohorts, charge), set()
        for (dates, share), sums in self._touched(cohorts, today):
            if share is None:
                raise BudgetExceededError(
                    f"the schedule of {dates} by {self.calendar.column!r} ended at age "
                    f"{self.calendar.ends} days.",
                    hint="Ask about later dates, by a condition such as "
                    f"{self.calendar.column} >= DATE '{today.isoformat()}'. Nothing was drawn and "
                    "nothing was recorded.",
                    cohort=str(dates),
                )
            key = (share, sums.key)
            if key not in told:
                told.add(key)
                self._settle(dates, charge, self.common + sums.whole, share)
        if self.calendar.may_move:
            for adding, spent, dates in self._moved(cohorts, charge, own):
                self._settle(dates, adding, self.common + spent, Fraction(1), two=True)

    def _settle(
        self, dates: Cohorts, charge: Amounts, spent: Amounts, share: Fraction, *, two: bool = False
    ) -> None:
        limits = limits_of_share(self.budget, share)
        try:
            _amounts.settle(charge, spent=spent, budget=limits, releases=self.releases)
        except BudgetExceededError as error:
            advice = _TWO_DATES if two else error.hint
            raise BudgetExceededError(
                f"{self.calendar.column} {dates}: {error.reason}",
                hint=f"{advice}{_UNDATED if not dates.days else ''}",
                **error.values,
                cohort=str(dates),
            ) from None

    def _own(self, cohorts: Cohorts, charge: Amounts) -> Sums:
        """What a charge adds to each of its dates."""
        if not self.calendar.may_move:
            return Sums(charge, self._none.left, self._none.entered)
        return Sums(charge, _end(charge, cohorts.left), _end(charge, cohorts.entered))

    def _places(self, cohorts: Cohorts) -> list[int]:
        """Where the dates' sums stand; what is charged alone gets a cell of its own."""
        found: list[int] = []
        for span in cohorts.days:
            first, last = _ordinals(span)
            for start in (first, last + 1):
                place = bisect_left(self._starts, start)
                if start <= _LAST and (place == len(self._starts) or self._starts[place] != start):
                    self._starts.insert(place, start)
                    self._sums.insert(place, self._sums[place - 1])
            found += range(bisect_left(self._starts, first), bisect_right(self._starts, last))
        return found

    def _cells(self) -> Iterator[tuple[Span, Sums]]:
        ends = [*(start - 1 for start in self._starts[1:]), _LAST]
        for first, last, sums in zip(self._starts, ends, self._sums, strict=True):
            yield _dates((first, last)), sums

    def _touched(
        self, cohorts: Cohorts, today: dt.date
    ) -> Iterator[tuple[tuple[Cohorts, Fraction | None], Sums]]:
        """The cells of these dates, with the part of the budget that all of their dates have."""
        places, cells = self._places(cohorts), list(self._cells())
        for place in places:
            span, sums = cells[place]
            yield (Cohorts(days=(span,)), self._share(span, today)), sums
        if cohorts.unknown:
            yield (Cohorts(unknown=True), self.calendar.share(0)), self._unknown

    def _share(self, span: Span, today: dt.date) -> Fraction | None:
        """Of the youngest date, which has least; None if the oldest one's schedule ended."""
        first, last = _ordinals(span)
        if self.calendar.share(today.toordinal() - first) is None:
            return None
        return self.calendar.share(today.toordinal() - last)

    def _moved(
        self, cohorts: Cohorts, charge: Amounts, own: Sums
    ) -> Iterator[tuple[Amounts, Amounts, Cohorts]]:
        """What is added, and was spent, for each pair of dates of which one is left for the other.

        Pairs of equal standing are told once.
        """
        places, several = set(self._places(cohorts)), cohorts.all
        cells = [
            (several or place in places, span != (span[0], span[0]), Cohorts(days=(span,)), sums)
            for place, (span, sums) in enumerate(self._cells())
        ]
        cells.append((cohorts.unknown, False, Cohorts(unknown=True), self._unknown))
        told: dict[tuple[object, ...], bool] = {}
        kinds: list[tuple[bool, bool, Cohorts, Sums]] = []
        for hit, wide, dates, sums in cells:
            key = (hit, sums.key)
            if key in told:
                told[key] = True
            else:
                told[key] = wide
                kinds.append((hit, wide, dates, sums))
        for hit, _, dates, one in kinds:
            for other_hit, _, others, two in kinds:
                same = one is two and dates == others
                if not (hit or other_hit) or (same and not told[hit, one.key]):
                    continue
                adding = self._none.whole
                if several:
                    adding = charge
                else:
                    adding = adding + own.left if hit else adding
                    adding = adding + own.entered if other_hit else adding
                yield adding, one.left + two.entered, dates if hit else others

    def _held(self, sums: Sums) -> Amounts:
        """The most that a move about a date may have lost."""
        found = self.common + sums.whole
        if self.calendar.may_move:
            kinds: dict[object, list[Sums]] = {self._unknown.key: [self._unknown]}
            for span, one in self._cells():
                # Of two dates of one cell, too, one may be left for the other.
                alike = (one,) if span == (span[0], span[0]) else (one, one)
                kinds.setdefault(one.key, []).extend(alike)
            for several in kinds.values():
                one = several[0]
                if len(several) > 1 or one.key != sums.key:
                    found = _by(max, found, self.common + sums.left + one.entered)
                    found = _by(max, found, self.common + one.left + sums.entered)
        return found

    def open_dates(self, today: dt.date) -> Cohorts:
        """All dates whose schedule has not ended."""
        ends = self.calendar.ends
        first = None if ends is None else today - dt.timedelta(days=ends - 1)
        return Cohorts(days=((first, None),), unknown=True)

    @_locked
    def left(self, cohorts: Cohorts, today: dt.date) -> Amounts:
        """The most that one more charge about these dates may be, on each edge."""
        found: Amounts | None = None
        for one in self._standings(cohorts, today):
            found = one[2] if found is None else _by(min, found, one[2])
        return found or self._none.whole

    def _standings(
        self, cohorts: Cohorts, today: dt.date
    ) -> Iterator[tuple[Cohorts, Amounts, Amounts]]:
        known: dict[object, tuple[Amounts, Amounts]] = {}
        for (dates, share), sums in self._touched(cohorts, today):
            key = (share, sums.key)
            if key not in known:
                spent = self._held(sums)
                limits = limits_of_share(self.budget, share or Fraction(0))
                left = limits.left(spent)
                # Never told to be less than nothing, as of a schedule that ended.
                epsilon = {edge: max(some, Fraction(0)) for edge, some in left.epsilon.items()}
                delta = {edge: max(some, Fraction(0)) for edge, some in left.delta.items()}
                known[key] = spent, replace(left, epsilon=epsilon, delta=delta)
            yield dates, *known[key]

    @_locked
    def standing(self, cohorts: Cohorts | None, today: dt.date) -> Standing:
        """What these dates may spend, have spent and have left: where least is left, per edge."""
        left = self.left(cohorts or self.open_dates(today), today)
        spent = {e: max(b - left.known[e], Fraction(0)) for e, b in self.budget.known.items()}
        most = self.budget.left(self._none.whole).delta
        lost = {
            e: b if self.budget.orders and spent[e] else max(most[e] - left.delta[e], Fraction(0))
            for e, b in self.budget.delta.items()
        }
        return Standing(
            spent=spent,
            delta_spent=lost,
            remaining=left.known,
            delta_remaining=left.delta,
            releases=self.releases,
        )

    @_locked
    def times(self, cohorts: Cohorts, charge: Amounts, today: dt.date) -> int | None:
        """How many such charges fit now; None where one changes nothing."""
        if self.calendar.may_move and not cohorts.all:
            own = self._own(cohorts, charge)
            charge = _by(max, charge, own.left + own.entered)
        found: list[int] = []
        for (_, share), sums in self._touched(cohorts, today):
            limits = limits_of_share(self.budget, share or Fraction(0))
            one = limits.times(self._held(sums), charge)
            if one is None:
                return None
            found.append(one)
        return min(found, default=None)

    @_locked
    def table(self, today: dt.date) -> tuple[Cohort, ...]:
        """Each stretch of dates of one standing."""
        ages = [age for age, _ in self.calendar.steps[1:]]
        for age in [*ages, *([] if self.calendar.ends is None else [self.calendar.ends])]:
            self._places(Cohorts(days=((None, today - dt.timedelta(days=age)),)))
        found: list[Cohort] = []
        for dates, spent, left in self._standings(Cohorts.everything(), today):
            used = self.budget.used(spent) if self.budget.orders else spent
            one = Cohort(dates=dates, spent=used.known, remaining=left.known)
            if found and found[-1] == replace(one, dates=found[-1].dates):
                days = (*found.pop().dates.days, *dates.days)
                one = replace(one, dates=Cohorts(days=days, unknown=dates.unknown))
            found.append(one)
        return tuple(found)


def _end(charge: Amounts, told: Table | None) -> Amounts:
    """What leaving or entering costs: as told, and never more than the charge.

    All of it with a δ, and at each order where no ε holds.
    """

    def least(edge: str, one: Loss) -> Loss:
        wanted = None if told is None else told.get(edge)
        if charge.delta[edge] or wanted is None or isinstance(one, Infinite):
            return one
        return min(one, exact(wanted, name="a loss"))

    def at(some: tuple[int, ...], most: Loss) -> tuple[int, ...]:
        if isinstance(most, Infinite):
            return some
        return tuple(min(one, _amounts.upward(most)) for one in some)

    epsilon = {edge: least(edge, one) for edge, one in charge.epsilon.items()}
    orders = {edge: at(some, epsilon[edge]) for edge, some in charge.orders.items()}
    return replace(charge, epsilon=epsilon, orders=orders)


@lru_cache(maxsize=1024)
def _limits(epsilon: tuple[tuple[str, Fraction], ...], delta: tuple[tuple[str, Fraction], ...],
            accounting: str, share: Fraction) -> Amounts:  # fmt: skip
    grown = {edge: limit * share for edge, limit in epsilon}
    return _amounts.granted(Amounts(epsilon=grown, delta=dict(delta)), accounting)


def limits_of_share(budget: Amounts, share: Fraction) -> Amounts:
    """The budget of dates that have so much of it."""
    if share == 1:
        return budget
    return _limits(
        tuple(budget.epsilon.items()), tuple(budget.delta.items()), budget.accounting, share
    )


def _by(pick: Callable[[Any, Any], Any], one: Amounts, two: Amounts) -> Amounts:
    """On each edge and order the larger, or the smaller."""

    def each(mine: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
        return {edge: pick(some, other[edge]) for edge, some in mine.items()}

    orders = {edge: tuple(map(pick, n, two.orders[edge])) for edge, n in one.orders.items()}
    return Amounts(
        epsilon=each(one.epsilon, two.epsilon), delta=each(one.delta, two.delta), orders=orders
    )
