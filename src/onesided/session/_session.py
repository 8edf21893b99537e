"""Data, a policy and a ledger together: the thing people use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from onesided._numbers import Number, positive
from onesided.errors import ContributionError, DataError, PolicyError, PolicyMismatchError
from onesided.ledger import Account, Ledger
from onesided.mechanism._counts import CONFIDENCE, Correction
from onesided.noise import IntArray, Noise
from onesided.policy import Policy, Presence
from onesided.session._engine import Lazy, Table
from onesided.session._prepare import Ready, Setting, prepare
from onesided.session._query import Count, OnExcess, Plan
from onesided.session._release import CONTENT_TYPE, Release, bounds, decode, encode
from onesided.session._rowwise import require_rowwise
from onesided.session._selection import Selections


@dataclass(frozen=True, slots=True)
class Curator:
    """Facts about the real data for the curator's eyes. NOT for publication."""

    rows: int
    rows_without_unit: int
    rows_of_undecided_kind: int
    counted_outside_keys: int
    units_over_bound: int
    most_groups_of_a_unit: int


class Session(Selections):
    """Ask questions of a table under a policy, each charged to a ledger before it is answered.

    data: Polars (eager or lazy), pandas, PyArrow, or a DuckDB relation.
    unit: the column that says whose row it is; None protects each row on its own.
    budget: the most ε that may ever be spent, per unit of edge weight.
    ledger: a file name, a database URL, an open Ledger, or None for one in memory that is
        forgotten when the process ends.
    further: True to open a further policy's account in a ledger that holds others; see
        :func:`onesided.session.total_guarantee` for what they promise together.
    noise: for tests; production draws from the operating system.
    """

    def __init__(
        self,
        data: object,
        *,
        policy: Policy,
        budget: Number,
        unit: str | None = None,
        ledger: Any = None,
        further: bool = False,
        noise: Noise | None = None,
    ) -> None:
        if not isinstance(policy, Policy):
            raise PolicyError(
                f"policy must be a Policy, got {policy!r}.",
                hint="Make one with onesided.policy, for example presence(max_groups=3).",
            )
        total = positive(budget, name="budget")
        self.policy, self.unit = policy, unit
        self._noise = noise
        for rule in policy.rules:
            for predicate in rule.predicates:
                require_rowwise(predicate)
        self._table = Table(data)
        self._setting = Setting(policy=policy, unit=unit, schema=self._table.schema)
        if unit is not None:
            self._setting.require(unit)
        self.ledger = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)
        self._account: Account = self.ledger.account(
            policy_id=policy.identity,
            policy_toml=policy.to_toml(),
            policy_name=policy.name,
            budget={edge.name: total * edge.weight for edge in policy.edges},
            further=further,
        )
        self._refuse_other_unit()

    def _refuse_other_unit(self) -> None:
        """Losses per person and losses per row have no sum, so one account holds only one kind."""
        entries = self.ledger.entries() if self._account.releases else ()
        for entry in entries:
            charged = entry.kind == "spend" and entry.policy_id == self.policy.identity
            unit = entry.detail.get("unit", self._setting.unit_name)
            if charged and unit != self._setting.unit_name:
                raise PolicyMismatchError(
                    f"This ledger's charges protect {unit!r}, the session protects "
                    f"{self._setting.unit_name!r}: their losses have no sum.",
                    hint="Use the same unit=, or another ledger.",
                )

    @property
    def remaining(self) -> Mapping[str, Fraction]:
        """What is left to spend on each edge."""
        return self._account.remaining

    @property
    def spent(self) -> Mapping[str, Fraction]:
        """What was spent on each edge."""
        return self._account.spent

    def count(
        self,
        *,
        epsilon: Number,
        by: str | Sequence[str] = (),
        keys: object = None,
        max_groups: int | None = None,
        on_excess: OnExcess | None = None,
        counted: str | Sequence[str] | None = None,
        where: object = None,
        confidence: Number = CONFIDENCE,
        correction: Correction = "median",
        id: str | None = None,  # noqa: A002 - the ledger's word for it
    ) -> Release:
        """Count units per group; :class:`Count` explains the arguments.

        Order: everything is checked, the charge is recorded durably, then noise is drawn.
        Errors: BudgetExceededError (nothing drawn, nothing recorded), and those of bad input.
        """
        return self.run(
            Count(
                epsilon=epsilon,
                by=by,
                keys=keys,
                max_groups=max_groups,
                on_excess=on_excess,
                counted=counted,
                where=where,
                confidence=confidence,
                correction=correction,
                id=id,
            )
        )

    def plan(self, question: Count) -> Plan:
        """What ``question`` would cost and give. Looks at no data and spends nothing."""
        return self._prepare(question).plan

    def run(self, question: Count) -> Release:
        """Answer ``question``; what :meth:`count` does."""
        ready = self._prepare(question)
        if question.id is not None:
            stored = self._account.recall(question.id)
            if stored is not None:
                same = dict(stored.detail) == ready.detail
                noisy = decode(stored.payload, ready.keys.rows, ready.plan.mechanism, same=same)
                return self._release(ready, noisy, stored.number)
        if not any(ready.plan.charge.values()):
            # No move of the policy can change these counts: they may be told as they are.
            exact = ready.plan.mechanism.noisy(self._count(ready), noise=self._noise)
            return self._release(ready, exact, None)
        self._account.require(ready.plan.charge)
        counts = self._count(ready)
        receipt = self._account.spend(
            ready.plan.charge,
            label=ready.label,
            detail=ready.detail,
            release_id=question.id,
        )
        noisy = ready.plan.mechanism.noisy(counts, noise=self._noise)
        self._account.store(
            receipt,
            encode(noisy, ready.keys.rows, ready.plan.mechanism),
            content_type=CONTENT_TYPE,
        )
        return self._release(ready, noisy, receipt.number)

    def inspect(self, question: Count) -> Curator:
        """Facts about the real data that help the curator choose bounds. NOT for publication."""
        ready = self._prepare(question)
        rows = self._rows(ready)
        outside = self._table.outside(rows, ready.keys, unit=self.unit) if ready.by else 0
        over, largest = 0, 1
        if self.unit is not None and ready.by:
            own = self.policy.max_groups if isinstance(self.policy, Presence) else 1
            bound = ready.query.max_groups or own
            over, largest = self._table.units_over(rows, ready.keys, unit=self.unit, most=bound)
        return Curator(
            rows=self._table.height(),
            rows_without_unit=self._table.null_rows(self.unit) if self.unit else 0,
            rows_of_undecided_kind=self._table.undecided_rows(self.policy.rules),
            counted_outside_keys=outside,
            units_over_bound=over,
            most_groups_of_a_unit=largest,
        )

    def _prepare(self, question: Count) -> Ready:
        return prepare(question, self._setting, self.remaining)

    def _rows(self, ready: Ready) -> Lazy:
        return self._table.select(
            unit=self.unit,
            by=ready.by,
            where=ready.where,
            rules=self.policy.rules,
            default=self.policy.default_kind,
            counted=ready.query.counted,
        )

    def _count(self, ready: Ready) -> IntArray:
        """The true counts, in the order of the keys. Secret."""
        self._refuse_null_units()
        self._table.require_groupable(ready.keys)
        rows, most = self._rows(ready), ready.query.max_groups
        if ready.excess == "error" and most is not None and self.unit is not None:
            self._refuse_excess(rows, ready, self.unit, most)
        if not ready.by:
            return np.array([self._table.total(rows, unit=self.unit)], dtype=np.int64)
        cut = most if ready.excess == "truncate" else None
        return self._table.counts(rows, ready.keys, unit=self.unit, most=cut)

    def _refuse_null_units(self) -> None:
        """A row of nobody would be left out of counts that claim to be certain."""
        missing = self._table.null_rows(self.unit) if self.unit is not None else 0
        if missing:
            raise DataError(
                f"{missing:,} rows have no value in the unit column {self.unit!r}.",
                hint="Fill it, or remove those rows first; the answers are then about the rest. "
                "Nothing was drawn and nothing was recorded.",
                rows=missing,
                column=self.unit,
            )

    def _refuse_excess(self, rows: Lazy, ready: Ready, unit: str, most: int) -> None:
        over, largest = self._table.units_over(rows, ready.keys, unit=unit, most=most)
        if over:
            raise ContributionError(
                f"{over:,} values of {unit!r} are in more than {most} groups (at most {largest}).",
                hint=f"Raise max_groups to {largest}, or choose another on_excess. These numbers "
                "are not for publication. Nothing was drawn and nothing was recorded.",
                units=over,
                largest=largest,
            )

    def _release(self, ready: Ready, noisy: IntArray, entry: int | None) -> Release:
        mechanism = ready.plan.mechanism
        return Release(
            keys=ready.keys,
            noisy=noisy,
            mechanism=mechanism,
            confidence=ready.question.confidence,
            guarantee=ready.plan.guarantee,
            entry=entry,
            interval=bounds(mechanism, noisy, ready.question.confidence),
            _make_frame=lambda columns: self._table.result(columns, like=ready.by),
        )
