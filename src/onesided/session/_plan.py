"""What a question would cost and give, before anything is spent."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import numpy as np

from onesided._numbers import (
    ORDERS,
    Infinite,
    Loss,
    Number,
    log_up,
    odds,
    percent,
    positive,
    readable,
    rough,
    shown,
    text,
    whole,
)
from onesided.accounting import NOTE, charge_divergences, noise_note, steps_note
from onesided.engine.kit import Samples
from onesided.errors import BudgetExceededError, OnesidedError, ParameterError, UnprotectableError
from onesided.ledger import PURE, Account, Cohorts, Standing, at_delta
from onesided.mechanism import PersistentSample
from onesided.mechanism.kit import Steps, samples_for
from onesided.policy import ABSENT, Edge, GroupCount, Guarantee, Policy, Shift
from onesided.session._confidence import Shares, certified_shares
from onesided.session._context import QueryContext
from onesided.show import Card, Chart, Lines, RoleTable, figure

# Which open units a table tells apart, and the sample of them that other charges leave free.


# What one question may ask for.
_MOST: Final = 100
_LEAST: Final = Fraction(1, 2**40)


def tellable(samples: Samples, policy: Policy) -> Samples:
    """The open kinds that the rules of the policy find in a table; without rules none."""
    present = set(policy.kinds) - {ABSENT}
    if not policy.rules and len(present) > 1:
        raise UnprotectableError(
            f"No rule of the policy {policy.name!r} tells its kinds {', '.join(sorted(present))} "
            "apart in a table, so protected rows could be published.",
            hint="Say which rows are open: sensitive(...), tiers(...), or a policy with rules=.",
        )
    told = {rule.kind for rule in policy.rules} | {policy.default_kind}
    found = {kind: sample for kind, sample in samples.items() if kind in told}
    if not found:
        raise UnprotectableError(
            f"No rule of the policy {policy.name!r} makes a unit {' or '.join(samples)}, so every "
            "unit of a table is protected.",
            hint="Give the policy rules= or default= that name an open kind.",
        )
    return found


def free_sample(policy: Policy, spent: Mapping[str, Fraction]) -> Fraction:
    """The largest ε of a sample of open units that no edge's loss rises for above the largest.

    spent: per edge, what all other charges lose. The largest loss is per unit of an edge's weight,
    as budgets are, and losses add, so with the sample's own it is what it was. Exact; 0 where
    nothing is left over, or the policy has no open kind. A sample that is taken is spent: of what
    it leaves, nothing is free any more.
    Source: ours; the part of an edge that "sensitive -> sensitive" has in common with no other.

    >>> from onesided.policy import sensitive
    >>> free_sample(sensitive("minor"), {"sensitive -> sensitive": 1, "sensitive -> open": 0})
    Fraction(1, 1)
    """
    try:
        samples = tellable(samples_for(policy, epsilon=1), policy)
        losses = PersistentSample(samples).loss(policy)
    except OnesidedError:  # of this policy none can be told, or priced
        return Fraction(0)
    weights = {edge.name: edge.weight for edge in policy.edges}
    largest = max(spent[edge] / weights[edge] for edge in weights)
    each = {edge: one for edge, one in losses.items() if not isinstance(one, Infinite) and one}
    left = [(largest * weights[edge] - spent[edge]) / one for edge, one in each.items()]
    return Fraction(min(left, default=Fraction(0)))


def left_free(policy: Policy | None, accounting: str, spent: Mapping[str, Fraction]) -> Fraction:
    """:func:`free_sample`, in an account where losses add."""
    if policy is None or accounting != PURE:
        return Fraction(0)
    free = min(free_sample(policy, spent), Fraction(_MOST))
    return free if free >= _LEAST else Fraction(0)


def offered(epsilon: Fraction) -> str:
    """A line that offers a free sample; empty for 0.

    >>> offered(Fraction(0))
    ''
    """
    if not epsilon:
        return ""
    share = percent(math.floor(-1000 * math.expm1(-epsilon)) / 1000)
    return (
        f'A sample of {share} of the open units is free beside this: sample(epsilon="'
        f'{text(epsilon)}") leaves the largest loss of this account as it is.'
    )


IN_THE_CLEAR: Final = (
    "No record that is there is protected by this policy, only the absence of those that are "
    "not: a fraction of the table in the clear satisfies it. Prefer another policy."
)
EPSILONS: Final = ("1/100", "3/100", "1/10", "3/10", 1, 3, 10)
ABSURD: Final = 100
_SHOWN_COUNTS: Final = 8
UNMOVED: Final = (
    "No move of the policy changes this in the table that was handed in. The choice of its rows "
    "may, which no total shows, and so may moves of another policy on the ledger, which totals do."
)
NO_PURE: Final = (
    "No pure ε holds of discrete Gaussian noise: ε at that δ is what this answer loses alone, and "
    "the account adds its divergences."
)
_SHORT: Final = 10**4
EACH_ROW: Final = "Each row is protected on its own, not a person who has several."


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOption:
    """One way to answer, before anything is spent.

    name: the mechanism. error: the root mean square error of an estimate, in its own unit, where
    none is clipped, or as tried on a public guess; None where it depends on the data.
    certain: the sides that are never wrong. note: why, or what it is about where that differs.
    question: what asks it, ready for ``session.ask``; None where a comparison is all it is.
    elsewhere: whether it takes an account of another kind.

    >>> import polars as pl, onesided as od
    >>> visits = pl.DataFrame({"person": [1, 1, 2, 3], "place": ["a", "b", "b", "b"]})
    >>> policy = od.policy.presence(max_groups=2)
    >>> session = od.Session(visits, unit="person", policy=policy, budget=1000)
    >>> question = od.Count(by="place", keys=["a", "b"], epsilon=1)
    >>> for option in session.plan(question).ranked[:3]:
    ...     print(f"{option.error:.2f} {option.name}")
    1.98 Counts, correction="mean"
    2.05 Counts
    2.51 Counts, correction="none"
    """

    name: str
    error: float | None = None
    certain: tuple[str, ...] = ()
    note: str = ""
    question: Any = field(default=None, repr=False, compare=False)
    elsewhere: bool = field(default=False, repr=False, compare=False)

    @property
    def row(self) -> tuple[str, str, str, str]:
        """The same as text."""
        error = "depends on the data" if self.error is None else rough(self.error)
        return self.name, error, " and ".join(self.certain) or "neither", self.note

    def as_dict(self) -> dict[str, Any]:
        """The same for programs."""
        certain = list(self.certain)
        return {"name": self.name, "error": self.error, "certain": certain, "note": self.note}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a question would cost and give, before anything is spent; ``print`` shows a table.

    mechanism: what would draw. charge: the exact loss per edge, INFINITE where no pure ε holds;
    ``delta`` is the δ that is charged.
    certain: the sides ("upper",
    "lower") on which no answer will ever be wrong. standard_deviation: of each answer's noise, in
    the answer's own unit; None where there is no one number. bias: by how much the estimates are
    too large on average, such as for noise on one side with its median taken out. why: the reason
    for the mechanism. others: what else could answer at the same ε, and how well. noise: what the
    ledger keeps of the noise, for tight totals (:func:`onesided.accounting.noise_note`).
    certifies: by true count, how often a group is certified to be at most the threshold. likely:
    how often that, or at least, is said as likely, where nothing is certified.
    query, by: of counts with a price for each of their numbers, which; None elsewhere.
    cohorts, paying: of an account by cohort, the dates whose budgets this uses, and why these.
    margins: of a table, each margin's predicted error, and what of ε measures it.

    >>> import polars as pl, onesided as od
    >>> visits = pl.DataFrame({"person": [1, 1, 2, 3], "place": ["a", "b", "b", "b"]})
    >>> policy = od.policy.presence(max_groups=2)
    >>> session = od.Session(visits, unit="person", policy=policy, budget=1000)
    >>> plan = session.plan(od.Count(by="place", keys=["a", "b"], epsilon=1))
    >>> plan.affordable, plan.certain
    (True, ('upper',))
    """

    mechanism: Any
    charge: Mapping[str, Loss]
    guarantee: Guarantee
    certain: tuple[str, ...] = ()
    standard_deviation: float | None = None
    bias: float = 0.0
    why: str = ""
    noise: Mapping[str, object] = field(default_factory=dict)
    certifies: Shares = ()
    likely: Shares = ()
    account: Account = field(repr=False)
    query: GroupCount | None = field(default=None, repr=False)
    by: tuple[str, ...] = field(default=(), repr=False)
    margins: tuple[PlanOption, ...] = field(default=(), repr=False)
    cohorts: Cohorts | None = field(default=None, repr=False)
    paying: str = field(default="", repr=False)
    seen: Standing | None = field(default=None, repr=False)
    alternatives: Callable[[], Iterable[PlanOption]] = field(default=tuple, repr=False)
    planned: Callable[[Number], Plan] | None = field(default=None, repr=False, compare=False)
    tried: Callable[[], tuple[PlanOption, ...]] | None = field(
        default=None, repr=False, compare=False
    )

    def __repr__(self) -> str:
        worst = readable(max(self.charge.values(), default=Fraction(0)))
        said = "affordable" if self.affordable else "more than is left"
        return f"Plan({type(self.mechanism).__name__}, at most ε = {worst} on an edge, {said})"

    def at(self, epsilon: Number) -> Plan:
        """The plan of the same question at another ε. Errors: ParameterError."""
        if self.planned is None:
            raise ParameterError(
                "This plan is not of one question with one ε.",
                hint="Ask session.plan(question) for each ε.",
            )
        return self.planned(epsilon)

    def certifying(self, threshold: int) -> Plan:
        """The same plan of counts, saying how often one is certified to be at most ``threshold``.

        It says so where the upper bound is certain. Errors: ParameterError.

        >>> import polars as pl, onesided as od
        >>> policy, visits = od.policy.presence(max_groups=2), pl.DataFrame({"p": [1], "at": ["a"]})
        >>> session = od.Session(visits, unit="p", policy=policy, budget=10)
        >>> plan = session.plan(od.Count(by="at", keys=["a", "b", "c"], epsilon=4))
        >>> [(count, round(share, 3)) for count, share in plan.certifying(1).certifies]
        [(0, 0.982), (1, 0.865)]
        """
        return replace(self, certifies=certified_shares(self.mechanism, threshold))

    def plot(
        self, epsilons: Sequence[Number] = EPSILONS, *, times: int = 1, backend: str = "svg"
    ) -> Any:
        """How far off the answer would be at each ε, every axis logarithmic.

        times: how many publications of it share ε, such as 14 for two weeks of days.
        backend: "svg", "plotly" or "matplotlib". Errors: ParameterError, also where the error
        depends on the data; MissingDependencyError.
        """
        many = whole(times, name="times", least=1)
        shares = [positive(epsilon, name="epsilon") / many for epsilon in epsilons]
        errors = [self.at(share).options[0].error for share in shares]
        if any(error is None for error in errors):
            raise ParameterError(
                "How far off this answer is depends on the data, so there is nothing to draw.",
                hint="print(plan) says what could answer instead.",
            )
        name = "error (root mean square)"
        chart = Chart(
            title=f"Predicted error of {type(self.mechanism).__name__} by ε",
            shape=Lines(
                x=[float(positive(one, name="epsilon")) for one in epsilons],
                y={name: np.array(errors, dtype=float)},
                x_name="ε" if many == 1 else f"ε of {many} publications together",
                logarithmic=True,
            ),
            value_name=name,
            caption=f"Under the policy '{self.guarantee.policy}'.",
        )
        return figure(chart, backend)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is unusually large, and what it means in odds."""
        return self.guarantee.remarks

    @property
    def others(self) -> tuple[PlanOption, ...]:
        """What else could answer, worked out when it is read."""
        return tuple(self.alternatives()) if self.tried is None else self.tried()[1:]

    @property
    def remaining(self) -> Mapping[str, Fraction]:
        """What was left of ε on each edge when the plan was asked for."""
        return self._standing.remaining

    @property
    def delta_remaining(self) -> Mapping[str, Fraction]:
        """What was left of δ on each edge when the plan was asked for."""
        return self._standing.delta_remaining

    @property
    def _standing(self) -> Standing:
        return self.account.standing(self.cohorts) if self.seen is None else self.seen

    @property
    def divergences(self) -> Mapping[str, tuple[Loss, ...]] | None:
        """What a renyi account adds for this answer, per edge and order; None in a pure one."""
        if self.account.accounting == PURE:
            return None
        return charge_divergences({NOTE: self.noise}, epsilon=self.charge, delta=self.delta)

    @property
    def delta(self) -> Mapping[str, Fraction]:
        """The δ that is charged, per edge; what keeps no pure ε is told at the account's own."""
        pure, told = finite(self.charge), self.guarantee.delta.items()
        return {edge: one if edge in pure else Fraction(0) for edge, one in told}

    @property
    def times(self) -> int | None:
        """How many answers of this size the account can hold now; None if nothing is lost.

        >>> import polars as pl, onesided as od
        >>> people = pl.DataFrame({"person": [1, 2, 3]})
        >>> given = {"unit": "person", "policy": od.policy.unbounded(), "budget": 1}
        >>> more = {"delta_budget": "1/1000000", "accounting": "renyi"}
        >>> asked = od.Count(epsilon="1/100")
        >>> [od.Session(people, **given, **one).plan(asked).times for one in ({}, more)]
        [100, 350]
        """
        try:
            charge, laws, days = self.charge, self.divergences, self.cohorts
            return self.account.times(charge, delta=self.delta, divergences=laws, cohorts=days)
        except BudgetExceededError:  # an infinite loss
            return 0

    @property
    def affordable(self) -> bool:
        """Whether every edge has that much left, of ε and of δ."""
        if self.account.accounting != PURE or self.cohorts is not None:
            return self.times != 0
        delta, left = self.delta.items(), self.remaining
        delta_left = self.delta_remaining if any(self.delta.values()) else {}
        return all(loss <= left[edge] for edge, loss in self.charge.items()) and all(
            loss <= delta_left.get(edge, 0) for edge, loss in delta
        )

    @property
    def free_sample(self) -> Fraction:
        """The ε of a sample of open units that is free beside this: no largest loss grows by it.

        0 if there is none. It holds where nobody's kind changes between the two.
        """
        before, after = self.account.budget, finite(self.charge)
        if self.cohorts is not None or not self.affordable or len(after) < len(self.charge):
            return Fraction(0)
        spent = {edge: before[edge] - left for edge, left in self.remaining.items()}
        total = {edge: one + after.get(edge, 0) for edge, one in spent.items()}
        return left_free(self.guarantee.made_for, self.account.accounting, total)

    @property
    def options(self) -> tuple[PlanOption, ...]:
        """What would answer, and then what else could; as tried, where a public table was given."""
        if self.tried is not None and self.tried():
            return self.tried()
        name = type(self.mechanism).__name__
        spread = self.standard_deviation
        error = None if spread is None else math.hypot(spread, self.bias)
        own = PlanOption(name=name, error=error, certain=self.certain, note=self.why)
        return own, *self.others

    def __str__(self) -> str:
        return self._words(offered(self.free_sample))

    def _words(self, offer: str = "") -> str:
        remaining = self.remaining
        edges = ", ".join(
            f"{edge}: {self._told(edge)} {readable(remaining[edge])} left{self._delta(edge)}"
            for edge in self.charge
        )
        too_much = "" if self.affordable else " More than is left."
        if self.account.accounting != PURE and self.times:
            too_much = f" {self.times:,} such answers fit."
        head = ("mechanism", "error (r.m.s.)", "certain side", "")
        ways = _table((head, *(o.row for o in self.options)))
        charge = f"Charge -- {edges}{at_delta(self.account)}.{too_much}"
        margins = [(one.name, rough(one.error or 0), one.note) for one in self.margins]
        parts = _table([("margin", "error (r.m.s.)", ""), *margins]) if margins else ""
        paid = f"Paid by {self.cohorts}: {self.paying}" if self.cohorts is not None else ""
        lines = [*self.remarks, charge, paid, offer, ways, parts, *self._certified()]
        return "\n".join(filter(None, lines))

    def _certified(self) -> list[str]:
        """How often groups are certified or likely, for some true counts up to the threshold."""
        told = self.certifies or self.likely
        if not told:
            return []
        some = told[::-1][:: max(1, -(-len(told) // _SHOWN_COUNTS))][::-1]
        word = "certified" if self.certifies else "said as likely"
        return [_table([("true count", word), *((f"{n:,}", percent(p)) for n, p in some)])]

    @property
    def ranked(self) -> tuple[PlanOption, ...]:
        """All options, the least predicted error first; then those that depend on the data.

        Last what an account of another kind would take.
        """

        def place(one: PlanOption) -> tuple[bool, float]:
            return one.elsewhere, math.inf if one.error is None else one.error

        return tuple(sorted(self.options, key=place))

    def as_dict(self) -> dict[str, Any]:
        """The same for programs, as JSON takes it; ε and δ are exact, as text."""
        return {
            "charge": {edge: text(loss) for edge, loss in self.charge.items()},
            "delta": {edge: text(loss) for edge, loss in self.delta.items()},
            "affordable": self.affordable,
            "times": self.times,
            **({"free_sample": text(free)} if (free := self.free_sample) else {}),
            **({} if self.cohorts is None else {"cohorts": self.cohorts.written()}),
            "promise": str(self.guarantee),
            "remarks": list(self.remarks),
            "certain": list(self.certain),
            "options": [option.as_dict() for option in self.options],
            "error": self.options[0].error,
            "certified": [[count, share] for count, share in self.certifies],
            **({"likely": [list(one) for one in self.likely]} if self.likely else {}),
            **({"margins": [one.as_dict() for one in self.margins]} if self.margins else {}),
            "words": self._words(),
        }

    def _repr_html_(self) -> str:
        """The ways to answer as a table, and what this one costs of what is left."""
        head = ("mechanism", "error (r.m.s.)", "certain side", "why")
        rows = [option.row for option in self.options]
        charge = next(line for line in str(self).splitlines() if line.startswith("Charge"))
        return Card(
            title="Plan",
            first=(*(() if self.affordable else ("This costs more than is left.",)), *self.remarks),
            table=RoleTable.of(dict(zip(head, zip(*rows, strict=True), strict=True))),
            lines=(charge, *filter(None, [offered(self.free_sample)]), str(self.guarantee)),
        ).html()

    def _told(self, edge: str) -> str:
        """ε on an edge; of noise that keeps none, what it is at the account's δ, alone."""
        loss, alone = self.charge[edge], self.guarantee.epsilon[edge]
        own = f"no pure ε (this answer alone: {readable(alone)}),"
        return f"{readable(loss)} of" if loss == alone else own

    def _delta(self, edge: str) -> str:
        delta = self.delta.get(edge, Fraction(0))
        left = self.delta_remaining.get(edge, Fraction(0)) if delta else Fraction(0)
        return f" and δ {shown(delta, up=True)} of {shown(left, up=False)}" if delta else ""


def finite(charge: Mapping[str, Loss]) -> dict[str, Fraction]:
    """The edges of a charge that is not endless there: that is refused before it is noted."""
    return {edge: one for edge, one in charge.items() if isinstance(one, Fraction)}


def require_a_promise(plan: Plan, policy: Policy) -> None:
    """Refuse an ε at which nothing is promised any more. Errors: ParameterError."""
    for edge in policy.edges:
        loss = plan.guarantee.epsilon.get(edge.name, Fraction(0))
        if loss > ABSURD * edge.weight:
            raise ParameterError(
                f"ε = {readable(loss)} on {edge.name} promises nothing: an answer may change the "
                f"odds that somebody holds about one person by a factor of {odds(loss)}.",
                hint=f"Ask with an epsilon of at most {ABSURD}, better of 1 or less. Tests that "
                "want the true answer pass noise=NotPrivateSeededNoise(0).",
                epsilon=loss,
            )


def _table(rows: Iterable[tuple[str, ...]]) -> str:
    """Columns of text, the first row underlined."""
    lines = list(rows)
    widths = [max(len(row[column]) for row in lines) for column in range(len(lines[0]))]
    told = [
        "  ".join(part.ljust(width) for part, width in zip(row, widths, strict=True)).rstrip()
        for row in lines
    ]
    return "\n".join([told[0], "-" * len(told[0]), *told[1:]])


def priced(
    context: QueryContext,
    mechanism: Any,
    shifts: Mapping[Edge, Iterable[Shift]],
    *,
    loss: Callable[[Shift], Loss] | None = None,
    steps: Callable[[Shift], Steps] | None = None,
    through: Callable[[Shift], Shift] | None = None,
    known: Mapping[str, Steps] | None = None,
    about: str = "",
    scope: str = "",
    certain: tuple[str, ...] = (),
    standard_deviation: float | None = None,
    bias: float = 0.0,
    why: str = "",
    alternatives: Callable[[], Iterable[PlanOption]] = tuple,
) -> Plan:
    """A plan that charges each edge the worst of its ``shifts`` by the mechanism's own loss.

    loss, steps: in place of the mechanism's own; without steps, of such a loss only ε is known.
    through: how far what is asked moves where the counts beneath it move so far. known: what the
    worst move along each edge loses, in place of all that.
    """
    charge: dict[str, Loss]
    if known is not None:
        charge, noise = {edge: one.epsilon for edge, one in known.items()}, steps_note(known)
    else:
        cost = mechanism.loss if loss is None else loss
        possible = {
            edge.name: tuple(many if through is None else map(through, many))
            for edge, many in shifts.items()
        }
        charge = {edge: max(cost(shift) for shift in many) for edge, many in possible.items()}
        noise = noise_note(mechanism, possible, steps=steps) if steps or loss is None else {}
    return Plan(
        mechanism=mechanism,
        charge=charge,
        account=context.account,
        guarantee=promised(context, charge, noise=noise, about=about, scope=scope),
        certain=certain,
        standard_deviation=standard_deviation,
        bias=bias,
        why=why,
        alternatives=alternatives,
        noise=noise,
    )


def all_keep(account: Account) -> str:
    """What all charges of a renyi account keep together, on its worst edge."""
    epsilon, delta = max(account.budget.values()), max(account.delta_budget.values())
    return (
        "All answers charged to its account keep together at most "
        f"ε = {shown(epsilon, up=True)}, δ = {shown(delta, up=True)} on an edge."
    )


def alone_at_delta(
    account: Account, charge: Mapping[str, Loss], noise: Mapping[str, object]
) -> tuple[dict[str, Loss], dict[str, Fraction]]:
    """(ε, δ) of one charge alone: its ε where one holds; else of its orders, at the account's δ.

    ``ε = D_α + ln(1/δ) / (α - 1)`` at the best of the orders, rounded up to 1/10,000.
    """
    epsilon, delta = dict(charge), dict.fromkeys(charge, Fraction(0))
    endless = {edge: one for edge, one in charge.items() if isinstance(one, Infinite)}
    if endless and account.accounting != PURE:
        told = charge_divergences({NOTE: noise}, epsilon=endless, delta={})
        for edge, orders in told.items():
            allowed = account.delta_budget[edge]
            if allowed and all(isinstance(one, Fraction) for one in orders):
                epsilon[edge], delta[edge] = _least_at(orders, allowed), allowed
    return epsilon, delta


@lru_cache(maxsize=1024)  # of the same noise, whatever is asked next
def _least_at(orders: tuple[Fraction, ...], delta: Fraction) -> Fraction:
    spent, at = log_up(1 / delta, bits=96), zip(ORDERS, orders, strict=True)
    least: Fraction = min(one + spent / (order - 1) for order, one in at)
    return Fraction(-(-least * _SHORT // 1), _SHORT)


def promised(
    context: QueryContext,
    charge: Mapping[str, Loss],
    *,
    noise: Mapping[str, object] | None = None,
    about: str = "",
    scope: str = "",
) -> Guarantee:
    """The guarantee of a release at this charge without δ, and what it must not be taken for.

    noise: what is known of its noise, where no pure ε holds of it.
    """
    policy = context.policy
    epsilon, delta = alone_at_delta(context.account, charge, noise or {})
    clear = all(policy.ends(edge)[0] == ABSENT for edge in policy.edges)  # as under removal-only
    unmoved = not any(charge.values())
    warnings = (
        (EACH_ROW, context.unit is None),
        (IN_THE_CLEAR, clear),
        (UNMOVED, unmoved),
        (NO_PURE, epsilon != charge),
        (all_keep(context.account), context.account.accounting != PURE),
    )
    notes = (words for words, holds in warnings if holds)
    told = " ".join(filter(None, (about, context.caveat, *notes)))
    return Guarantee(policy.name, epsilon, delta, told, scope, policy, unit=context.unit or "")
