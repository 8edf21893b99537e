"""Data, a policy and a ledger together: the thing people use."""

from __future__ import annotations

import os
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, Self

from onesided._numbers import Number, positive, readable
from onesided.accounting import NOTE, SessionTotal, total_of
from onesided.engine.kit import joined_with, units_of
from onesided.errors import LedgerError, ParameterError, ReleaseExistsError, SqlError, called
from onesided.ledger import (
    PURE,
    Account,
    Allowance,
    Calendar,
    Cohort,
    Ledger,
    Receipt,
    Unit,
    at_delta,
    promised,
)
from onesided.mechanism.kit import refuse_no_policy
from onesided.noise import Noise
from onesided.policy import Guarantee, Policy
from onesided.schema import Schema, schema_of
from onesided.session._asks import Asks, asking
from onesided.session._cohorts import calendar_for, dated, paid_by
from onesided.session._completed import Completer
from onesided.session._context import QueryContext, opened
from onesided.session._gaussian import kept_pure, laws_of
from onesided.session._health import Inspected, health_in, inspected
from onesided.session._own_mechanism import OwnMechanism
from onesided.session._plan import Plan, all_keep, left_free, offered, require_a_promise
from onesided.session._question import (
    CONTENT_TYPE,
    LABEL,
    PreparedQuery,
    Question,
    Result,
    require_noise,
    require_question,
    stated,
)
from onesided.session._recall import (
    asked_as,
    kept,
    named,
    read_for,
    recalled,
    refuse_asserting,
    told_again,
    with_left,
)
from onesided.session._sample import seen_changes
from onesided.session._statement import Statement
from onesided.session._suggest import Suggestion, suggested
from onesided.session._ways import with_ways
from onesided.session.sql._questions import question_of
from onesided.session.workloads._table import CrossTable
from onesided.show import Card, RoleTable
from onesided.store import address


class Session(Asks):
    """Ask questions of a table under a policy, each charged to a ledger before it is answered.

    data: Polars (eager or lazy), pandas, PyArrow, a DuckDB relation, or a Spark table.
    unit: the column that says whose row it is; None protects each row on its own.
    schema: an :class:`onesided.Schema`, or a file of one. It brings the unit, says what columns of
        text are read as, and gives questions the bounds and keys that they do not name.
    budget: the most ε that may ever be spent, per unit of edge weight.
    ledger: a file name, a database URL, an open Ledger, or None for one in memory that is
        forgotten when the process ends.
    delta_budget: the most δ that may ever be spent on each edge; 0 allows pure answers only.
    accounting: "pure" adds ε; "renyi" adds directed Rényi divergences, holds more answers with
        noise on both sides, and promises (ε, δ) of both budgets. Chosen with the first charge.
    further: True to open a further policy's account in a ledger that holds others; see
        :func:`onesided.session.total_guarantee` for what they promise together.
    noise: for tests; production draws from the operating system.
    tables: by name, the other table that a view's policy reads (docs/views.md).
    cohort: the column of a public date by which the budget is parted, each date having all of it;
        or a :class:`onesided.ledger.Calendar`, which says how it grows and how many dates of one
        unit count. By default the schema's.
    Errors: PolicyError for a policy that the table cannot answer; PolicyMismatchError if the ledger
    was opened for another policy, budget or unit; ParameterError; DataError.

    >>> import polars as pl, onesided as od
    >>> visits = pl.DataFrame({"person": [1, 1, 2, 3], "place": ["a", "b", "b", "b"]})
    >>> policy = od.policy.presence(max_groups=2)
    >>> session = od.Session(visits, unit="person", policy=policy, budget=1000)
    >>> session
    Session(policy 'presence', unit 'person'; left of ε: present -> not present: 1000)
    """

    def __init__(
        self,
        data: object,
        *,
        policy: Policy,
        budget: Number,
        unit: str | None = None,
        schema: Schema | str | os.PathLike[str] | None = None,
        ledger: Any = None,
        further: bool = False,
        delta_budget: Number = 0,
        accounting: str = PURE,
        noise: Noise | None = None,
        tables: Mapping[str, object] | None = None,
        cohort: Calendar | str | None = None,
    ) -> None:
        ledger = address(ledger)
        refuse_no_policy(policy)
        total = positive(budget, name="budget")
        self.policy, self.schema = policy, schema_of(schema)
        self.unit = unit = unit if self.schema is None else self.schema.unit_of(unit)
        self._noise, self._completed = require_noise(noise), Completer(self.schema)
        self._held: dict[str, Any] = {}  # by id: what was read for charges without an answer
        self._table, self._marks = opened(data, policy, unit, self.schema, tables)
        calendar = calendar_for(cohort, self.schema, policy=policy, unit=unit, budget=total)
        if calendar is not None:
            self._table = dated(self._table, calendar, unit)
        self.ledger = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)
        self._account: Account = self.ledger.account(
            policy_id=policy.identity,
            policy_toml=policy.to_toml(),
            policy_name=policy.name,
            budget={edge.name: total * edge.weight for edge in policy.edges},
            delta_budget={edge.name: delta_budget for edge in policy.edges},
            accounting=accounting,
            unit=Unit(unit, self._table.read_as.get(unit) if unit is not None else None),
            further=further,
            calendar=calendar,
        )

    @property
    def account(self) -> Account:
        """Its account in the ledger."""
        return self._account

    @property
    def remaining(self) -> Mapping[str, Fraction]:
        """What is left to spend on each edge; :attr:`Plan.times` says how many answers fit.

        Of an account by cohort: of the dates that have least left; :attr:`by_cohort` tells each.
        """
        return self._account.remaining

    @property
    def by_cohort(self) -> tuple[Cohort, ...]:
        """What was spent and is left of each stretch of dates. Errors: ParameterError without."""
        return self._account.by_cohort()

    @property
    def free_sample(self) -> Fraction:
        """The ε of a sample of open units that would leave the largest loss as it is; 0 if none.

        What hides falls costs a record that turns open less than one that stays sensitive: a
        sample of open records may cost the rest. It holds where nobody's kind changes in between.

        >>> import polars as pl, onesided as od
        >>> people = pl.DataFrame({"at": ["a", "b"], "minor": [True, False]})
        >>> session = od.Session(people, policy=od.policy.sensitive("minor"), budget=9)
        >>> _ = session.count(by="at", keys=["a", "b"], counted="sensitive", epsilon=1)
        >>> session.free_sample
        Fraction(1, 2)
        >>> _ = session.sample(epsilon=session.free_sample)
        >>> session.free_sample, session.spent["sensitive -> open"]
        (Fraction(0, 1), Fraction(1, 1))
        """
        if self._account.calendar is not None:
            return Fraction(0)
        return left_free(self.policy, self._account.accounting, self.spent)

    @property
    def spent(self) -> Mapping[str, Fraction]:
        """What was spent on each edge."""
        return self._account.spent

    def total(self, *, delta: Number) -> SessionTotal:
        """What all charges of this account lose together: added up, and tight at that δ.

        From the ledger's own rows, each edge in its own direction. The sum always holds, and so
        does the budget; see :class:`onesided.accounting.SessionTotal` for when the tight total
        does. Spends nothing.
        delta: the probability, per edge, that the tight ε may be exceeded; such as "1e-9".

        >>> import onesided as od, polars as pl
        >>> people = pl.DataFrame({"place": ["a", "b"]})
        >>> session = Session(people, policy=od.policy.bounded(), budget=1)
        >>> session.count(by="place", keys=["a", "b"], epsilon="1/2").entry
        2
        >>> session.total(delta="1e-6").plain.headline
        Fraction(1, 2)
        """
        charges = self.ledger.entries(kind="spend", policy_id=self.policy.identity)
        held = self._account
        epsilon, deltas = promised(held.budget, held.delta_budget, held.calendar)
        whole = Guarantee(self.policy.name, epsilon, deltas, made_for=self.policy)
        found, seen = total_of(self.policy, charges, delta=delta), seen_changes(charges).strip()
        plain, tight = (replace(one, about=seen) for one in (found.plain, found.tight))
        return replace(found, plain=plain, tight=tight, budget=replace(whole, about=seen))

    release = asking(OwnMechanism)

    def _read(self, text: str, question: dict[str, Any]) -> tuple[Any, bool]:
        most = None if self.schema is None else self.schema.max_rows
        found, plan_alone = question_of(
            text, unit=self.unit, columns=self._table.schema, declared_rows=most, **question
        )
        several = self.unit is not None and self.policy.excess_modes[0] == "keep"
        for one in getattr(found, "questions", (found,)):
            if several and isinstance(one, CrossTable) and one.column is None and one.of is None:
                raise SqlError(
                    f"Under the policy '{self.policy.name}' a unit may be in several cells, and "
                    "margins that add them up would be no COUNT(DISTINCT ...).",
                    hint="Ask one query for each margin, or session.table, which says so.",
                )
        return found, plan_alone

    def join_public(self, frame: object, *, on: str) -> Self:
        """A session over the same rows, each with the columns of one public row, or with nulls.

        frame: a public table, as for ``keys=``, with each value of the column ``on`` once. The
        others may be grouped by, and stand in conditions. Same account, same budget.
        Promise: moves are what they were. A row is joined with one public row at most, whatever the
        other rows are, so tables that differ by some rows of a unit differ by the images of these.
        Columns must be public facts: what is learnt from the rows themselves is none.
        Errors: KeysError for a value that stands there twice; DataError for columns that the table
        has already; ParameterError where the policy names values, which others would follow.

        >>> import polars as pl, onesided as od
        >>> visits = pl.DataFrame({"person": [1, 2, 3], "place": ["gym", "pool", "bar"]})
        >>> policy = od.policy.presence(max_groups=1)
        >>> session = od.Session(visits, unit="person", policy=policy, budget=100)
        >>> areas = {"place": ["gym", "pool"], "area": ["north", "north"]}
        >>> wider = session.join_public(areas, on="place")
        >>> wider.count(by="area", keys=["north", "south"], epsilon=90).estimate.tolist()
        [2, 0]
        """
        if self.policy.single_valued or self.policy.between_values:
            raise ParameterError(
                f"Nothing can be joined under the policy '{self.policy.name}', which names values: "
                "it does not say what follows from a value that must be indistinguishable from "
                "another.",
                hint="Ask about the column itself, or join before the session and name the joined "
                "values in the policy.",
            )
        if not isinstance(on, str):
            raise ParameterError(
                f"on= is the name of one column, got {on!r}.", hint='For example on="place".'
            )
        made = copy(self)
        made._table = joined_with(self._table, frame, on)  # noqa: SLF001 - its own copy
        return made

    def per_unit(self, **columns: object) -> Self:
        """A session over one row for each unit, made of its rows inside the engine.

        columns: by name, ``"count"`` of the unit's rows; ``("sum", column, (lowest, highest))`` of
            whole numbers, each row's clipped to these bounds; ``("max", column)`` and ``("min",
            column)`` of whole numbers or dates. Questions may group by them, count, add up and
            rank them, and use them in conditions. Same account, same budget.
        Promise: moves of whole units are what they were. A unit's row follows from its own rows
        alone, so tables that differ by one unit's rows differ by its one row.
        Errors: ParameterError without a unit, and for policies that do not replace whole records or
        read rows: dropping some of a unit's rows would move its row to other values, and rise
        there; DataError for columns of other types, or names that the table has.

        >>> import polars as pl, onesided as od
        >>> visits = pl.DataFrame({"person": [1, 1, 1, 2, 3], "hour": [9, 12, 7, 8, 23]})
        >>> policy = od.policy.addition_only()
        >>> session = od.Session(visits, unit="person", policy=policy, budget=1000)
        >>> people = session.per_unit(visits="count", latest=("max", "hour"))
        >>> people.count(where="visits >= 2", epsilon=90).estimate.tolist()
        [1]
        >>> late = people.histogram("latest", bins=[0, 12, 24], epsilon=100)
        >>> late.estimate.tolist()
        [1, 2]
        """
        if self.unit is None:
            raise ParameterError(
                "Each row is a unit of its own here, so there is nothing to add up.",
                hint='Name the column that says whose row it is: Session(..., unit="person").',
            )
        policy = self.policy
        whole = all(part.of_kinds for part in policy.parts)
        if not whole or policy.rules or policy.view is not None:
            why = (
                "a move may take some of a unit's rows, and its row here would change to others"
                if not whole
                else "its conditions are about rows, which are no longer there"
            )
            raise ParameterError(
                f"Units cannot become rows under the policy '{policy.name}': {why}.",
                hint="Ask sum(...), row_count(...) or mean(...), which add up a unit's rows at a "
                "price for this policy. Policies about whole records without conditions, such as "
                "addition_only() and bounded(), allow it.",
            )
        made = copy(self)
        made._table = units_of(self._table, self.unit, columns)  # noqa: SLF001 - its own copy
        return made

    def suggest(self, question: Question[Any], **wanted: Any) -> Suggestion:
        """The question with the least ε for what is wanted, from public facts; asks nothing.

        wanted: one of ``error`` (root mean square), ``relative`` with ``guess``, or ``certified``
        with ``count``; ``groups_of_units``, a public guess {groups: units}, chooses ``max_groups``;
        ``like``, a public table, chooses bounds. ``look="1/20"`` spends so much of the question's
        ε on a look at sizes, charged in a line of its own. Errors: ParameterError.

        >>> import polars as pl, onesided as od
        >>> people = pl.DataFrame({"place": ["a", "b", "b"]})
        >>> session = od.Session(people, policy=od.policy.addition_only(), budget=9)
        >>> asked = od.session.AtMost(5, by="place", keys=["a", "b"], epsilon=1)
        >>> float(session.suggest(asked, certified="0.9", count=3).epsilon)
        0.768
        """
        return called(suggested, self.plan, self._completed(question), ask=self.ask, **wanted)

    def plan(self, question: Question[Any], *, like: object = None) -> Plan:
        """What ``question`` would cost and give. Looks at no row and spends nothing.

        like: a *public* table with the same columns that the data may resemble, such as made-up
            rows. Every way to answer is tried on it, also where errors depend on the data.
        """
        context, asked = self._context(), self._completed(question)
        prepared = self._prepared(asked, context)
        self._require_a_promise(prepared.plan)
        standing = self._account.standing(prepared.plan.cohorts)
        plan = with_ways(prepared.plan, asked, context, like)
        single = hasattr(question, "epsilon")
        planned = partial(self._planned, question, like) if single else None
        return replace(plan, seen=standing, planned=planned)

    def statement(self, question: Question[Any]) -> Statement:
        """What the answer to ``question`` would be about. Looks at no row and spends nothing.

        >>> import polars as pl, onesided as od
        >>> visits, policy = pl.DataFrame({"person": [1], "age": [7]}), od.policy.bounded()
        >>> session = od.Session(visits, unit="person", policy=policy, budget=1)
        >>> session.statement(od.Count(epsilon=1, where="age < 18")).title()
        'Number of units (person), where age < 18'
        """
        completed = self._completed(question)
        return self._prepared(completed, self._context()).statement

    def detail(self, question: Question[Any]) -> Mapping[str, object]:
        """The public facts that the ledger would keep of ``question``. Looks at no row."""
        return self._prepared(self._completed(question), self._context()).detail

    def _planned(self, question: Any, like: object, epsilon: Number) -> Plan:
        return self.plan(replace(question, epsilon=epsilon), like=like)

    def ask(self, question: Question[Result]) -> Result:
        """Answer ``question``; what every method named after a question does.

        Order: everything is checked, the charge is recorded durably, then noise is drawn. What no
        move of the policy can change is an entry of loss 0: another policy's moves may change it,
        and totals find the account.
        Errors: BudgetExceededError (nothing drawn, nothing recorded), and those of bad input.
        """
        context, question = self._context(), self._completed(question)
        prepared = self._prepared(question, context)
        asked = asked_as(question, prepared, context)
        if question.id is not None:
            stored = recalled(question, prepared, context, self._account, again=question.again)
            if stored is not None:
                told = told_again(question, prepared, stored)
                return with_left(told, self._account)
        self._require_a_promise(prepared.plan)
        self._require(prepared.plan)
        secret = prepared.read()
        receipt = self._charged(question, prepared, context, asked)
        answer = prepared.draw(secret, self._noise)
        self._account.store(receipt, kept(prepared, answer), content_type=CONTENT_TYPE)
        return with_left(prepared.result(answer, receipt.number), self._account)

    def charge(
        self,
        question: Question[Any],
        *,
        allowance: Allowance | None = None,
        elsewhere: bool = False,
    ) -> Receipt:
        """Check ``question`` and charge it; :meth:`answer` answers it.

        For services, where whether something is charged must not depend on rows. Rows that may
        have changed since the table was opened are read and checked before the charge, and what
        was read is kept for the answer; others are not looked at. The question needs an id, which
        was not charged before. allowance: who asks, and what they may spend; where it says how much
        ε, the planner keeps a pure law. elsewhere: another
        session answers it, over rows that do not change; none are looked at here.
        Errors: as :meth:`ask`; ParameterError for a question that asserts something of the rows,
        and would be answered or not by them.

        >>> import polars as pl, onesided as od
        >>> people = pl.DataFrame({"place": ["a", "b", "b"]})
        >>> session = od.Session(people, policy=od.policy.addition_only(), budget=99)
        >>> asked = od.Count(by="place", keys=["a", "b"], epsilon=90, id="monday")
        >>> session.charge(asked).number
        2
        >>> session.answer(asked).estimate.tolist(), session.answer(asked).told_again
        ([1, 2], True)
        """
        context, question = self._context(), self._completed(question)
        if allowance is not None and allowance.epsilon is not None:  # which counts ε
            question = kept_pure(question)
        prepared = self._prepared(question, context)
        self._require_a_promise(prepared.plan)
        refuse_asserting(prepared)
        asked = named(asked_as(question, prepared, context))
        self._require(prepared.plan)
        held = {} if elsewhere or context.fixed else {str(question.id): prepared.read()}
        receipt = self._charged(question, prepared, context, asked, allowance)
        self._held.update(held)
        return receipt

    def answer(self, question: Question[Result]) -> Result:
        """The one answer of a question that :meth:`charge` charged, drawn unless it is stored.

        An answer is told only once it is stored, and a charge stores one: where none is, whatever
        was drawn before a crash was seen by nobody, and noise is drawn anew. Of two processes
        that draw at once, both tell what was stored first. Rows are read anew, but for those that
        the charge of this session read.
        Errors: LedgerError if it was not charged; those of reading the data.
        """
        asked: Question[Result] = self._completed(question)
        first, *others = laws_of(asked)
        try:
            return self._answered(first)
        except ReleaseExistsError as error:
            if not others or error.values.get("state") != "other":
                raise
        return self._answered(*others)  # as it was charged to an allowance

    def _answered(self, question: Question[Result]) -> Result:
        context = self._context()
        prepared = self._prepared(question, context)
        asked = named(asked_as(question, prepared, context))
        once = named(asked_as(question, prepared, replace(context, spelled=True)))
        name, find = str(question.id), self._account.unanswered
        receipt = find(name, question=asked) or find(name, question=once)
        if receipt is not None:
            secret = self._held[name] if name in self._held else read_for(prepared)
            answer = prepared.draw(secret, self._noise)
            try:
                self._account.store(receipt, kept(prepared, answer), content_type=CONTENT_TYPE)
            except LedgerError as error:
                if error.values.get("state") != "stored":
                    raise
            else:
                return prepared.result(answer, receipt.number)
            finally:
                self._held.pop(name, None)
        stored = recalled(question, prepared, context, self._account, again=True)
        if stored is None:
            raise LedgerError(
                f"the question {name!r} was never charged.", hint="Charge it first.", id=name
            )
        return told_again(question, prepared, stored)

    def _require(self, plan: Plan) -> None:
        delta, laws, days = plan.delta, plan.divergences, plan.cohorts
        self._account.require(plan.charge, delta=delta, divergences=laws, cohorts=days)

    def _charged(
        self,
        question: Question[Any],
        prepared: PreparedQuery[Any, Any],
        context: QueryContext,
        asked: str | None,
        allowance: Allowance | None = None,
    ) -> Receipt:
        return self._account.spend(
            prepared.plan.charge,
            delta=prepared.plan.delta,
            divergences=prepared.plan.divergences,
            label=prepared.statement.title()[:LABEL],
            detail={
                **prepared.detail,
                "unit": context.unit_name,
                **({} if self.schema is None else {"schema": self.schema.identity}),
                **({NOTE: prepared.plan.noise} if prepared.plan.noise else {}),
            },
            release_id=question.id,
            question=asked,
            allowance=allowance,
            cohorts=prepared.plan.cohorts,
        )

    def _prepared(
        self, question: Question[Result], context: QueryContext
    ) -> PreparedQuery[Any, Result]:
        require_question(question)
        prepared = stated(question, question.prepare(context), context)
        if self._account.calendar is None:
            return prepared
        cohorts, why = paid_by(context, question, prepared.plan)
        return replace(prepared, plan=replace(prepared.plan, cohorts=cohorts, paying=why))

    def _require_a_promise(self, plan: Plan) -> None:
        """Refuse an absurd ε, but of a noise double; what was charged before is told."""
        if self._noise is None:
            require_a_promise(plan, self.policy)

    def _context(self) -> QueryContext:
        return QueryContext(
            policy=self.policy,
            unit=self.unit,
            table=self._table,
            account=self._account,
            declared=self.schema,
            marks=self._marks,
            ledger=self.ledger,
        )

    def __repr__(self) -> str:
        left = ", ".join(f"{edge}: {readable(some)}" for edge, some in self.remaining.items())
        unit = self._context().unit_name
        left += at_delta(self._account)
        free = f"; free: sample(epsilon='{self.free_sample}')" if self.free_sample else ""
        return f"Session(policy {self.policy.name!r}, unit {unit!r}; left of ε: {left}{free})"

    def _repr_html_(self) -> str:
        """Whose data these are, under which policy, and what is left of the budget."""
        edges, held = list(self.remaining), ", ".join(self._table.schema)
        whom = "Each row on its own." if self.unit is None else f"Protected: each {self.unit}."
        spent, left = (
            [readable(told[edge]) for edge in edges] for told in (self.spent, self.remaining)
        )
        return Card(
            title=f"Session under the policy '{self.policy.name}'",
            table=RoleTable.of({"edge": edges, "spent ε": spent, "left of ε": left}),
            lines=[
                f"Columns: {held}.",
                whom,
                *([] if self._account.accounting == PURE else [all_keep(self._account)]),
                *([] if self._account.calendar is None else [self._account.calendar.promise]),
                *filter(None, [offered(self.free_sample)]),
                f"{self.ledger!r}",
            ],
        ).html()

    def inspect(self, question: Inspected | None = None) -> Any:
        """Facts about the real data that help the curator choose bounds. NOT for publication.

        question: one over public groups, bins or candidates, told as :class:`Diagnostics`; without
            one, the data's :class:`Health`. Errors: ParameterError for others.
        """
        if question is not None:
            return inspected(self._context(), self._completed(question))
        schema, covered = self.schema or Schema(), self.policy.covers
        return health_in(self._table, schema, unit=self.unit, max_groups=covered)
