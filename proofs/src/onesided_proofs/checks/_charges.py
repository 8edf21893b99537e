"""Whether a session charges its ledger all that it planned, answer by answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from onesided.errors import ContributionError
from onesided.mechanism import NoisyMaxQuantile
from onesided.noise import NotPrivateSeededNoise
from onesided.policy import Record, Shift, addition_only, bounded, presence, unbounded
from onesided.session import Count, Quantile, Session, Several, Sum
from onesided_proofs.cases import sessions
from onesided_proofs.checks._samplers import Sampled


def charge_checks() -> Iterator[Sampled]:
    """Nothing where no engine is installed that could hold a table."""
    if not sessions.has_engine():
        return
    name = "charges of a session"
    yield Sampled(name, "spent against planned", _fault())
    yield Sampled(name, "one question of three forgotten", _fault(forgotten=1), sound=False)
    yield Sampled(name, "rates of quantiles", _quantiles_fault(2))
    yield Sampled(name, "rates of quantiles in one group fewer", _quantiles_fault(1), sound=False)
    name = "bounds that a curator asserts"
    yield Sampled(name, "a unit in two groups, of at most one", _unrefused("error"))
    yield Sampled(name, "units cut down in its place", _unrefused("truncate"), sound=False)


def _fault(*, forgotten: int = 0) -> str:
    """Ask three questions, and one of them again by its id, which is free."""
    policy, noise = bounded(), NotPrivateSeededNoise(1)
    table = sessions.table_of(())
    session = Session(table, policy=policy, unit="person", budget=20, noise=noise)
    places: dict[str, Any] = {"by": "place", "keys": ["p", "q"], "max_groups": 1}
    first = Count(epsilon=2, id="first", on_excess="truncate", **places)
    asked: list[Any] = [first, Several([Count(epsilon="1/2"), Count(epsilon=1)]), Count(epsilon=3)]
    planned: dict[str, Any] = dict.fromkeys((edge.name for edge in policy.edges), 0)
    for question in asked[forgotten:]:
        for edge, loss in session.plan(question).charge.items():
            planned[edge] += loss
    for question in [*asked, replace(first, again=True)]:
        session.ask(question)
    told = {edge: str(loss) for edge, loss in session.spent.items()}
    charged = min(session.spent.values()) > 0
    return "" if charged and dict(session.spent) == planned else f"{told} were charged"


def _unrefused(excess: Any) -> str:
    """Ask of a unit in two groups as if it were in one: refused, with nothing on record."""
    data = (Record("record", frozenset({"p", "q"})),)
    session = Session(sessions.table_of(data), policy=bounded(), unit="person", budget=20)
    places: dict[str, Any] = {"by": "place", "keys": ["p", "q"], "max_groups": 1}
    grouped = (
        Count(epsilon=1, on_excess=excess, **places),
        Sum("v", of="units", total_bounds=(0, 2), epsilon=1, on_excess=excess, **places),
    )
    for question in grouped:
        try:
            session.ask(question)
        except ContributionError:
            continue
        return f"{type(question).__name__} was answered"
    return "" if not any(session.spent.values()) else "refused, and charged"


def _quantiles_fault(most: int) -> str:
    """Candidates move apart by each pair of unit and group that comes, goes or may be another."""
    bare = NoisyMaxQuantile(1, q="1/3", candidates=2)
    alone, changed = bare.span(Shift(rise=1, fall=0)), bare.span(Shift(rise=1, fall=1))
    places: dict[str, Any] = {"by": "place", "keys": ["p", "q"]}
    cut: dict[str, Any] = {**places, "max_groups": most}
    for policy, grouped, due in (
        (addition_only(), {}, alone),
        (unbounded(), {}, alone),
        (bounded(), {}, changed),
        (presence(max_groups=2), {}, changed),
        (addition_only(), cut, 2 * alone),
        (bounded(), cut, 4 * alone),
        (presence(max_groups=most), places, 2 * changed),
    ):
        session = Session(sessions.table_of(()), policy=policy, unit="person", budget=20)
        asked = Quantile("v", q="1/3", candidates=[0, 1], epsilon=6, **grouped)
        two = replace(asked, q=("1/3", "2/3"))
        for question, whole in ((asked, 6), (two, 3)):
            plan = session.plan(question)
            if set(plan.charge.values()) != {6}:
                return f"{policy.name}, {sorted(grouped)}: {plan.charge} is charged"
            rate = plan.mechanism.parts[0].noise_rate
            if rate * due != whole:
                return f"{policy.name}, {sorted(grouped)}: a noisy maximum at {rate} for {due}"
    return ""
