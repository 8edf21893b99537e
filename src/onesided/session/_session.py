"""Data, a policy and a ledger together: the thing people use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np

from onesided._numbers import Number, positive, whole
from onesided.errors import ContributionError, DataError, ParameterError, PolicyError
from onesided.ledger import Account, Ledger
from onesided.mechanism import Counts
from onesided.mechanism._counts import CONFIDENCE, Correction
from onesided.noise import IntArray, Noise
from onesided.policy import GroupCount, Guarantee, Policy, Predicate, Presence
from onesided.session._engine import Lazy, Table
from onesided.session._keys import PublicKeys, check_types, check_values, public_keys
from onesided.session._query import Count, OnExcess, Plan
from onesided.session._release import CONTENT_TYPE, Release, bounds, decode, encode
from onesided.session._rowwise import require_rowwise

RESULT_COLUMNS: Final = ("estimate", "lower", "upper", "lower_certain", "upper_certain")


@dataclass(frozen=True, slots=True)
class Curator:
    """Facts about the real data for the curator's eyes. NOT for publication."""

    rows: int
    rows_without_unit: int
    rows_of_undecided_kind: int
    counted_outside_keys: int
    units_over_bound: int
    most_groups_of_a_unit: int


class Session:
    """Ask questions of a table under a policy, each charged to a ledger before it is answered.

    data: Polars (eager or lazy), pandas, PyArrow, or a DuckDB relation.
    unit: the column that says whose row it is; None protects each row on its own.
    budget: the most ε that may ever be spent, per unit of edge weight.
    ledger: a file name, a database URL, an open Ledger, or None for one in memory that is
        forgotten when the process ends.
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
            require_rowwise(rule.predicate)
        self._table = Table(data)
        if unit is not None:
            self._table.require(unit)
        self.ledger = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)
        self._account: Account = self.ledger.account(
            policy_id=policy.identity,
            policy_toml=policy.to_toml(),
            policy_name=policy.name,
            budget={edge.name: total * edge.weight for edge in policy.edges},
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
        counts = self._table.counts(rows, unit=self.unit, by=ready.by)
        places = ready.keys.places()
        over, largest = 0, 1
        if self.unit is not None and ready.by:
            own = self.policy.max_groups if isinstance(self.policy, Presence) else 1
            bound = ready.query.max_groups or own
            over, largest = self._table.units_over(rows, ready.keys, unit=self.unit, most=bound)
        return Curator(
            rows=self._table.height(),
            rows_without_unit=self._table.null_rows(self.unit) if self.unit else 0,
            rows_of_undecided_kind=self._table.undecided_rows(self.policy.rules),
            counted_outside_keys=sum(n for key, n in counts.items() if key not in places),
            units_over_bound=over,
            most_groups_of_a_unit=largest,
        )

    def _prepare(self, question: Count) -> _Ready:
        """Check everything that can be checked without looking at a row."""
        by = (question.by,) if isinstance(question.by, str) else tuple(question.by)
        self._table.require(*by)
        _refuse_clashes(by, self.unit)
        keys = public_keys(question.keys, by) if by else PublicKeys((), ((),))
        check_types(keys, self._table.schema)
        query, excess = self._group_count(question, by)
        mechanism = Counts.for_policy(
            self.policy,
            epsilon=question.epsilon,
            max_groups=query.max_groups,
            counted=query.counted,
            truncated=query.truncated,
            correction=question.correction,
            clip=True,
        )
        bounds(mechanism, np.zeros(0, dtype=np.int64), question.confidence)
        charge = {
            edge.name: max(mechanism.loss(shift) for shift in shifts)
            for edge, shifts in self.policy.shifts(query).items()
        }
        guarantee = Guarantee(
            self.policy.name,
            charge,
            dict.fromkeys(charge, Fraction(0)),
            _about(excess, query.max_groups),
            f"the bounded data (at most {query.max_groups} groups per unit)"
            if query.truncated
            else "",
        )
        return _Ready(
            question=question,
            by=by,
            keys=keys,
            query=query,
            excess=excess,
            where=None if question.where is None else _condition(question.where),
            plan=Plan(mechanism, charge, self.remaining, guarantee),
        )

    def _group_count(self, question: Count, by: tuple[str, ...]) -> tuple[GroupCount, str]:
        """How many groups of a unit count, and what happens to the rest."""
        counted = question.counted
        kinds = (
            None
            if counted is None
            else frozenset([counted] if isinstance(counted, str) else counted)
        )
        if self.unit is None or not by:
            if question.max_groups not in (None, 1):
                raise ParameterError(
                    f"max_groups={question.max_groups} has no meaning here: each unit is in one "
                    "group.",
                    hint="Leave max_groups out, or give the session unit= and the count by=.",
                )
            return GroupCount(max_groups=1, counted=kinds), "single"
        modes = self.policy.excess_modes
        excess = question.on_excess or modes[0]
        if excess not in modes:
            raise ParameterError(
                f"on_excess={excess!r} cannot be used under the policy '{self.policy.name}'.",
                hint=f"Use one of {', '.join(map(repr, modes))}.",
            )
        most = self._max_groups(question, excess)
        return GroupCount(max_groups=most, counted=kinds, truncated=excess == "truncate"), excess

    def _max_groups(self, question: Count, excess: str) -> int | None:
        """The bound to enforce; None where the policy's own covers everyone."""
        own = self.policy.max_groups if isinstance(self.policy, Presence) else None
        if excess == "keep":
            if question.max_groups not in (None, own):
                raise ParameterError(
                    f"max_groups={question.max_groups}, but the policy covers {own} groups.",
                    hint=f"Use presence(max_groups={question.max_groups}), or leave it out here.",
                )
            return None
        if question.max_groups is None and own is None:
            raise ParameterError(
                f"How many groups of one {self.unit!r} should the noise cover?",
                hint="Pass max_groups=, for example the most groups that most people are in; "
                "on_excess says what happens to the others.",
            )
        return whole(question.max_groups or own, name="max_groups", least=1)

    def _rows(self, ready: _Ready) -> Lazy:
        return self._table.select(
            unit=self.unit,
            by=ready.by,
            where=ready.where,
            rules=self.policy.rules,
            default=self.policy.default_kind,
            counted=ready.query.counted,
        )

    def _count(self, ready: _Ready) -> IntArray:
        """The true counts, in the order of the keys. Secret."""
        self._refuse_null_units()
        rows, most = self._rows(ready), ready.query.max_groups
        if ready.excess == "error" and most is not None and self.unit is not None:
            self._refuse_excess(rows, ready, self.unit, most)
        if ready.excess == "truncate" and most is not None and self.unit is not None:
            found = self._table.truncated_counts(rows, ready.keys, unit=self.unit, most=most)
        else:
            found = self._table.counts(rows, unit=self.unit, by=ready.by)
            check_values(ready.keys, found, self._table.schema)
        return np.array([found.get(key, 0) for key in ready.keys.rows], dtype=np.int64)

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

    def _refuse_excess(self, rows: Lazy, ready: _Ready, unit: str, most: int) -> None:
        over, largest = self._table.units_over(rows, ready.keys, unit=unit, most=most)
        if over:
            raise ContributionError(
                f"{over:,} values of {unit!r} are in more than {most} groups (at most {largest}).",
                hint=f"Raise max_groups to {largest}, or choose another on_excess. These numbers "
                "are not for publication. Nothing was drawn and nothing was recorded.",
                units=over,
                largest=largest,
            )

    def _release(self, ready: _Ready, noisy: IntArray, entry: int | None) -> Release:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ready:
    """A question that passed every check."""

    question: Count
    by: tuple[str, ...]
    keys: PublicKeys
    query: GroupCount
    excess: str
    where: Predicate | None
    plan: Plan

    @property
    def detail(self) -> dict[str, object]:
        """What identifies the question in the ledger, beside its keys and rates."""
        return {
            "by": list(self.by),
            "where": self.where.text if self.where else "",
            "counted": sorted(self.query.counted or ()),
            "max_groups": str(self.query.max_groups or ""),
            "excess": self.excess,
            "about": self.plan.guarantee.about,
        }

    @property
    def label(self) -> str:
        """What the ledger calls it."""
        kinds = f"{', '.join(sorted(self.query.counted))} " if self.query.counted else ""
        by = f" by {', '.join(self.by)}" if self.by else ""
        return f"count of {kinds}units{by}"


def _condition(given: object) -> Predicate:
    """A condition that looks at one row alone."""
    predicate = Predicate.of(given)
    require_rowwise(predicate)
    return predicate


def _about(excess: str, most: int | None) -> str:
    """Which data the answer, and a certain bound on it, is about."""
    if excess == "truncate":
        return f"About bounded data: whoever is in more than {most} groups is counted in {most}."
    if excess == "error":
        return f"About the data as they are, in which nobody is in more than {most} groups."
    return "About the data as they are."


def _refuse_clashes(by: tuple[str, ...], unit: str | None) -> None:
    """Columns that would collide in the answer, or that would group units by themselves."""
    for name in by:
        if name == unit:
            raise ParameterError(
                f"Cannot group by the unit column {name!r}: each group would be one person.",
                hint="Group by another column.",
            )
        if name in RESULT_COLUMNS or by.count(name) > 1:
            raise ParameterError(
                f"The grouping column {name!r} is repeated, or is named like a result column.",
                hint=f"Rename it; {', '.join(RESULT_COLUMNS)} are taken.",
            )
