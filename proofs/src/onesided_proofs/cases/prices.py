"""What questions charge where one factor decides it: two groups, ten shares, a δ on sums."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any, Final

from onesided import policy as policies
from onesided import session as questions
from onesided.mechanism import TruncatedCounts
from onesided.mechanism.histograms import Ahp, Zeroed, zeros
from onesided.noise import Noise
from onesided.numbers import Loss
from onesided.policy import Edge, GroupCount, Record, Shift
from onesided.verify import Data, Line, Universe
from onesided_proofs.cases import promises
from onesided_proofs.cases.sessions import Asked, has_engine, table_of_rows
from onesided_proofs.tables import Row, Rows, Table, Tables, subsets

_OPEN: Final = GroupCount(max_groups=2, counted=frozenset({"open"}))
_BY_HAND: Final = "in prices that are reckoned by hand"
_MET: Final = "met where the longest fall passes the cut"
_VALUES: Final = Tables(possible=subsets([Row("p0"), Row("q2"), Row("r2")]))


def cases() -> Iterator[Line]:
    """The sound first."""
    yield _two_groups()
    if has_engine():
        yield _ten_shares()
        yield _delta_of_sums()
    yield _two_groups(flaw="two groups of open units at the price of one")
    if has_engine():
        yield _ten_shares(flaw="a mean that becomes another priced as one that goes")
        yield _delta_of_sums(flaw="the δ of the move that changes least")


def _told(flaw: str, loose: str = "") -> dict[str, Any]:
    return {"flaw": flaw, "seen": _BY_HAND} if flaw else {"loose": loose}


@dataclass(frozen=True, slots=True)
class Emptied:
    """The cells that the zero-set recipe takes for empty."""

    mechanism: Zeroed
    world: Universe

    def __call__(self, data: Data, noise: Noise) -> list[bool]:
        """Of open units in up to two groups."""
        empty: list[bool] = self.mechanism.empty(
            self.world.count(data, _OPEN), noise=noise
        ).tolist()
        return empty


def _two_groups(flaw: str = "") -> Line:
    """Half of ε finds the zeros: a unit that opens is in two of the cells."""
    policy, query = policies.sensitive("minor"), GroupCount(max_groups=2)
    made = zeros(Ahp, share="1/2").for_policy(policy, epsilon=6, query=query)
    if flaw:
        made = replace(made, open_rate=2 * made.open_rate)
    held = [frozenset(some) for size in range(3) for some in combinations("ab", size)]
    kinds = ("sensitive", "open")
    world = Universe(units=1, values=tuple(Record(kind, value) for kind in kinds for value in held))
    claims: dict[Edge, Loss] = {e: Fraction(3 * (e.target == "open")) for e in policy.edges}
    run = Emptied(made, world)
    return Line("zeros of two groups", policy, run, claims, universe=world, **_told(flaw))


def _ten_shares(flaw: str = "") -> Line:
    """Who drops a place under presence may come back with another mean."""
    policy = policies.presence(max_groups=1)
    shares = [Fraction(place, 11) for place in range(1, 11)]
    asked = questions.Quantile("v", shares, candidates=[0, 1, 2], epsilon=4)
    rows = questions.Session(table_of_rows([]), policy=policy, unit="person", budget=9)
    plan: Any = rows.plan(asked)
    (edge,) = policy.edges
    unit = plan.mechanism.shared.unit * (2 if flaw else 1)
    # What the mechanism loses for each value that goes or comes, by its own proof.
    moves = ((x, y, max(1, unit * _changed(x, y))) for x, y, _ in _VALUES.moves(policy))
    run = promises.Composed((promises.Teller.by(_VALUES, moves),))
    claims: dict[Edge, Loss] = {edge: plan.charge[edge.name]}
    return Line(
        "session: ten quantiles", policy, run, claims, universe=_VALUES, epsilon=4, tail=1e-16,
        **_told(flaw),
    )  # fmt: skip


def _changed(before: Table, after: Table) -> int:
    """How many units' means go and come."""
    here, there = (Counter(map(_mean, filter(None, t.units))) for t in (before, after))
    return sum(((here - there) + (there - here)).values())


def _mean(rows: Rows) -> Fraction:
    return Fraction(sum(int(row.group[1:]) for row in rows), len(rows))


def _delta_of_sums(flaw: str = "") -> Line:
    """A mechanism of one's own on sums: its loss fails with the δ of the longest fall."""
    policy = policies.custom(kinds=["s", "o", "absent"], edges=[("s", "absent"), ("o", "absent")],
                             rules=[("s", "kind = 's'")], default="o")  # fmt: skip
    mechanism = TruncatedCounts("1/2", width=5, per_key=3)
    asked = questions.OwnMechanism(
        mechanism, statistic="sum", column="v", bounds=(0, 3), epsilon="3/2", unverified=True
    )
    run = Asked(policy, asked)
    plan = run.session(()).plan(asked)
    told = [plan.guarantee.delta.get(edge.name, Fraction(0)) for edge in policy.edges]
    delta = mechanism.delta(Shift(rise=0, fall=1)) if flaw else min(told)
    cells = [frozenset({f"p{value}"}) for value in (0, 1, 3)]
    world = Universe(
        units=1, values=(Record("absent"), *(Record(kind, cell) for kind in "so" for cell in cells))
    )
    return Line(
        "session: a sum with δ", policy, run, {e: plan.charge[e.name] for e in policy.edges},
        universe=world, delta=float(delta), sealed=False, **_told(flaw, _MET),
    )  # fmt: skip
