"""Which public dates a question is about, and so which budgets of an account by cohort it uses.

Claim. A question whose condition holds for rows of the dates S alone leaves every move alone that
changes no unit with rows of these dates. So its charge belongs to the dates in S:

* where each move comes or goes with one row, of one date, that date's charges are all it loses;
* where a row may pass as another one, of another date, it loses what leaving the one and entering
  the other cost; a row that keeps its date loses that date's charges;
* where one unit may have rows of several dates, it loses their sum. That is charged to all dates,
  unless the account was opened for so many of them (``max_cohorts``), each paying for itself; or
  what is dropped are the dates themselves, each at its share of the price.

What is not of this form is charged to all dates, those to come too. Nothing is read from rows: the
dates stand in the condition, or are the public keys. Proof: docs/proofs/cohorts.md.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

import narwhals as nw

from onesided.conditions import values_in
from onesided.engine import Table
from onesided.errors import DataError, ParameterError
from onesided.ledger import PURE, UNBOUNDED, Calendar, Cohorts, Span
from onesided.policy import Policy
from onesided.schema import Schema
from onesided.session._context import QueryContext, counted_where
from onesided.session._count import Count
from onesided.session._groups import Grouped
from onesided.session._plan import Plan
from onesided.session.several._several import (
    Several,
    comes_or_goes,
    drops,
    ends_of,
    in_proportion,
    types_in,
)

_EPOCH: Final = dt.date(1970, 1, 1).toordinal()
_ALL: Final = "no condition or key on {column!r} says which dates it is about"
_MANY: Final = (
    "one unit may have rows of several dates, and the account was not opened for that (max_cohorts)"
)


def calendar_for(
    given: object, declared: Schema | None, *, policy: Policy, unit: str | None, budget: Fraction
) -> Calendar | None:
    """The calendar that an account is opened with; None where nobody asked for one.

    Errors: ParameterError for a schedule that does not end at the budget, and for a bound on the
    dates of a unit that cannot be kept.
    """
    said = None if declared is None else _calendar(declared.cohort)
    calendar = said if given is None else _calendar(given)
    if calendar is None:
        return None
    if said is not None and said.column != calendar.column:
        raise ParameterError(
            f"cohort={calendar.column!r} is not the schema's cohort, {said.column!r}.",
            hint="Leave it out, or correct the schema.",
        )
    last = calendar.steps[-1][1] if calendar.steps else budget
    if last != budget:
        raise ParameterError(
            f"The schedule ends at ε = {last}, and the budget is {budget}.",
            hint="Give budget= the schedule's last amount.",
            value=last,
        )
    goes, most = comes_or_goes(policy), calendar.max_cohorts
    if unit is None:
        if most is not None:
            raise ParameterError(
                "Each row is a unit of its own here, and has one date.", hint="Leave max_cohorts."
            )
        stays = goes or drops(policy)
        return replace(calendar, times=1, may_move=not stays and policy.view is None)
    if most is not None:
        _require_whole(policy, cut=isinstance(most, int))
    if isinstance(most, int) and not calendar.complete:
        raise ParameterError(
            f"max_cohorts={most}: a unit's first dates are found in its rows, so a table without "
            "its earlier rows would find others, and charge it for more than so many.",
            hint="Say complete=True (in a schema complete = true) if every table of this account "
            f"holds all earlier rows of its units; or max_cohorts={UNBOUNDED!r}.",
            value=most,
        )
    if isinstance(most, int):
        return replace(calendar, times=most if goes else 2 * most, may_move=False)
    return replace(calendar, times=None if most == UNBOUNDED else 1, may_move=False)


def _calendar(given: Any) -> Calendar | None:
    """As people say it: a column, what a schema has, or the value itself."""
    if given is None or isinstance(given, Calendar):
        return given
    return Calendar(**given) if isinstance(given, Mapping) else Calendar(given)


def dated(table: Table, calendar: Calendar, unit: str | None) -> Table:
    """The table by whose dates the budget is parted; of units' first dates, where so many count.

    Errors: UnknownColumnError; DataError for a column that holds no dates.
    """
    table.require(calendar.column)
    if not isinstance(table.schema[calendar.column], nw.Date):
        raise DataError(
            f"Column {calendar.column!r} holds {table.schema[calendar.column]}, and a cohort is a "
            "date.",
            hint='Declare it in a schema, type = "date", or compute the date of a moment first.',
            column=calendar.column,
        )
    if unit is None or not isinstance(calendar.max_cohorts, int):
        return table
    return table.of_first_dates(unit, calendar.column, calendar.max_cohorts)


def _require_whole(policy: Policy, *, cut: bool) -> None:
    """Errors: ParameterError where dates of a unit cannot pay each for itself.

    A unit's kind follows from all its rows: a row of one date would change the open counts of
    every other one. Where units are ``cut`` to their first dates, whole units alone may move.
    """
    whole = not cut or all(part.of_kinds for part in policy.parts)
    if whole and not policy.rules and (not cut or policy.view is None):
        return
    if policy.rules:
        why = "a row of one date may make a unit sensitive, and so change the counts of every date"
        hint = "Leave max_cohorts out: then every date pays"
    else:
        why = "a dropped date would make room for another one, whose rows come in"
        hint = 'Say max_cohorts="unbounded", and that a unit with m dates pays m times'
    raise ParameterError(
        f"Under the policy '{policy.name}' a unit's dates cannot pay each for itself: {why}.",
        hint=f"{hint}; or take a policy about whole records without conditions, such as "
        "addition_only().",
    )


def paid_by(context: QueryContext, question: Any, plan: Plan) -> tuple[Cohorts, str]:
    """The dates whose budgets a question uses, and why these. Looks at no row."""
    calendar = context.account.calendar
    if calendar is None:
        raise ParameterError("The account has no calendar.", hint="Open it with cohort=.")
    column, asked, plans = calendar.column, [question], [plan]
    if isinstance(question, Several):
        asked, plans = list(question.questions), list(plan.parts)  # type: ignore[attr-defined] # of several
    found = [_dates(context, one, part, column) for one, part in zip(asked, plans, strict=True)]
    why = next((why for _, why in found if why), "")
    if why:
        return Cohorts.everything(), f"{why}."
    days = [span for one, _ in found if one is not None for span in one.days]
    unknown = any(one.unknown for one, _ in found if one is not None)
    ends = {}
    if calendar.may_move:
        of = ends_of(context.policy, plan) if plan is plans[0] else None
        ends = {
            name: {
                edge.name: plan.charge[edge.name] if of is None else of(edge)[place].epsilon
                for edge in context.policy.edges
            }
            for place, name in enumerate(("left", "entered"))
        }
    return Cohorts(days=tuple(days), unknown=unknown, **ends), _paying(calendar)


def _paying(calendar: Calendar) -> str:
    if calendar.may_move:
        return "each of these dates pays; a record that may pass as one of another date, both."
    clock = " What they have follows this machine's clock." if calendar.by_clock else ""
    if calendar.times != 1:
        return f"each of these dates pays; a unit with records of m of them pays m times.{clock}"
    return f"each of these dates pays, and no other.{clock}"


def _dates(
    context: QueryContext, question: Any, plan: Plan, column: str
) -> tuple[Cohorts | None, str]:
    """The dates of one question; or why every date pays."""
    policy, calendar = context.policy, context.account.calendar
    if not isinstance(question, Grouped) or not context.table.owns(column):
        return None, _ALL.format(column=column)
    if policy.view is not None:
        return None, "a move may change the kinds of a whole group"
    found = _named(context, question, plan, column)
    if found is None:
        return None, _ALL.format(column=column)
    if context.row_each != (context.unit is None):
        return None, "these rows were made of units"
    one = context.unit is None or (calendar is not None and calendar.max_cohorts is not None)
    shared = (
        drops(policy) and context.account.accounting == PURE and in_proportion(policy, plan, column)
    )
    return (found, "") if one or shared else (None, _MANY)


def _named(context: QueryContext, question: Grouped, plan: Plan, column: str) -> Cohorts | None:
    """The dates that the condition or the keys allow; None where neither says any."""
    where, held = counted_where(question.where, "recorded"), None
    if where is not None:
        held = values_in(where.readable(), column, types_in(context))
    keyed = isinstance(question, Count) and question.others is False and column in plan.by
    if held is None and not keyed:
        return None
    days: list[Span] = [(None, None)] if held is None else list(map(_inclusive, held.spans))
    possible = question.unknown == "possible" and column not in context.filled
    unknown = held is None or held.null or possible
    if keyed:
        keys = set(context.keys(question.keys, plan.by).columns()[column])
        allowed = Cohorts(days=tuple(days)) if days else None
        days = [(day, day) for day in keys if allowed is not None and allowed.holds(day)]
        unknown = False
    days = [(first, last) for first, last in days if None in (first, last) or first <= last]  # type: ignore[operator] # dates
    return Cohorts(days=tuple(days), unknown=unknown) if days or unknown else None


def _inclusive(span: Any) -> Span:
    """Dates from the first to the last that are meant, both of them in."""
    return _date(span.low, int(span.low_open)), _date(span.high, -int(span.high_open))


def _date(days: int | None, more: int) -> dt.date | None:
    """So many days after 1970; None where there is no end, or none that a date could reach."""
    place = None if days is None else days + more + _EPOCH
    ends = dt.date.min.toordinal(), dt.date.max.toordinal()
    return None if place is None or not ends[0] < place < ends[1] else dt.date.fromordinal(place)
