"""Discrete Gaussian noise: no ε holds of it, so (ε, δ) by the law that totals compose."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from onesided import accounting as acc
from onesided import policy as policies
from onesided.mechanism import GaussianCounts, GaussianSums
from onesided.mechanism.kit import Gaussian, OneOf
from onesided.noise import IntArray, Noise, NotPrivateSeededNoise
from onesided.numbers import Loss
from onesided.policy import Edge, GroupCount, Policy, Shift
from onesided.session import Count, Session, Several
from onesided.session.kit import Groups, Moved, one_value
from onesided.verify import Line, Universe
from onesided_proofs.cases import sessions
from onesided_proofs.cases.counts import ONE_GROUP, SINGLE, supported
from onesided_proofs.cases.values import Shares, Summing, groups_of, records

DELTA: Final = Fraction(1, 1000)
_NAME: Final = "GaussianCounts (at δ = 1/1000)"
_TOTALS: Final = "GaussianCounts (by totals)"
MET: Final = "no ε holds of it; this much δ is met"
_TWO: Final = GroupCount(max_groups=2)
SEEN: Final = "a price by hand"
Told = Callable[[Shift], Gaussian]


def cases() -> Iterator[Line]:
    """Every policy first, by single counts' law; totals of several; then what is priced wrongly."""
    made = GaussianCounts(1, alike=True)
    for policy, query, universe in supported():
        yield _line(made, made.steps, policy, query, universe=universe)
    whole = GaussianCounts(2, clip=True)
    for policy in (policies.bounded(), policies.unbounded()):
        yield _line(whole, whole.steps, policy, ONE_GROUP, universe=SINGLE, name=_TOTALS)
    yield from _sums()
    yield from _parts()
    yield from _wrong()


def _sums() -> Iterator[Line]:
    """Sums over everybody and by place, and both ends' sums, each at the L2 norm of its moves."""
    for policy in (
        policies.bounded(),
        policies.unbounded(),
        policies.addition_only(),
        policies.removal_only(),
        policies.sensitive("minor"),
        policies.extended_sensitive("minor"),
        policies.presence(max_groups=2),
    ):
        for low, high in ((0, 1), (-1, 1)):
            yield _sum(policy, low, high, by=False)
            yield _sum(policy, low, high, by=True)
        for most in (1, 2):
            yield _ends(policy, most=most)
    alone = dict.fromkeys(policies.bounded().edges, 2)
    flaw = "a group that one value leaves and another enters, priced as two groups"
    yield _sum(policies.bounded(), -1, 1, by=True, squares=alone, flaw=flaw, most=1)
    span = dict.fromkeys(policies.bounded().edges, 1)
    flaw = "both ends at one span, though a value that changes moves one up and the other down"
    yield _ends(policies.bounded(), most=1, squares=span, flaw=flaw)
    flaw = "each row as all of a unit's"
    yield _ends(policies.addition_only(), most=2, squares={_EDGE_IN: 1}, flaw=flaw)


def _parts() -> Iterator[Line]:
    """Rows by place, each place a part of its own noise; what a session charges them together."""
    for policy in (
        policies.unbounded(),
        policies.addition_only(),
        policies.bounded(),
        policies.extended_sensitive("kind = 's'"),
    ):
        yield _part(policy)
    yield _part(
        policies.bounded(), flaw="the largest of two parts, though a row moves between them"
    )


def _part(policy: Policy, *, flaw: str = "") -> Line:
    rows, noise = sessions.table_of_rows([]), NotPrivateSeededNoise(1)
    asked = [Count(where=f"place = '{p}'", epsilon=1, law="gaussian") for p in SINGLE.groups]
    kind: dict[str, Any] = {"accounting": "renyi", "delta_budget": DELTA}
    session = Session(rows, policy=policy, budget=99, noise=noise, **kind)
    plan: Any = session.plan(Several(asked, disjoint=True))
    told = (plan.parts[0] if flaw else plan).noise
    claims = {
        edge: acc.charge_loss(told, edge=edge.name, epsilon=plan.charge[edge.name]).epsilon(DELTA)
        for edge in policy.edges
    }
    why: dict[str, Any] = {"flaw": flaw, "seen": SEEN} if flaw else {"loose": MET}
    made = _Parts(tuple(part.mechanism for part in plan.parts))
    more = {"universe": SINGLE, "query": ONE_GROUP, "delta": float(DELTA), **why}
    return Line("GaussianCounts of disjoint parts (at δ = 1/1000)", policy, made, claims, **more)


@dataclass(frozen=True)
class _Parts:
    """Each group's count with the noise of its own part."""

    each: tuple[GaussianCounts, ...]

    def release(self, values: IntArray, *, noise: Noise) -> tuple[IntArray, ...]:
        """All counts, noisy."""
        parts = enumerate(self.each)
        return tuple(one.noisy(values[at : at + 1], noise=noise) for at, one in parts)


def _sum(
    policy: Policy,
    low: int,
    high: int,
    *,
    by: bool,
    squares: Mapping[Edge, int] | None = None,
    most: int = 2,
    flaw: str = "",
) -> Line:
    most = most if by else 1
    groups, made = groups_of(policy, by=by, most=most), GaussianSums(1)
    moved = one_value(low, high, monotone=low >= 0)
    told = moved.squares(policy, groups, optional=True) if squares is None else squares
    name = f"GaussianSums of {low} .. {high}{' by place' if by else ''} (at δ = 1/1000)"
    values = records(policy, low, high, optional=True, most=most)
    run = Summing(made, low, high, by)
    return _squared(name, run, told, groups, flaw=flaw, policy=policy, values=values)


def _ends(
    policy: Policy, *, most: int, squares: Mapping[Edge, int] | None = None, flaw: str = ""
) -> Line:
    groups, made = groups_of(policy, by=False, most=1), GaussianSums(1)
    moved = Moved.of([(1, 0), (0, 1)], [(1, -1), (-1, 1)], (1, 1), most)
    told = moved.squares(policy, groups, optional=False) if squares is None else squares
    name = f"GaussianSums from both ends of 1 .. 2, {most} of a unit (at δ = 1/1000)"
    values = records(policy, 1, 2, optional=False, most=most)
    run = Shares(made, 1, 2, squared=False)
    return _squared(name, run, told, groups, flaw=flaw, policy=policy, values=values)


def _squared(
    name: str,
    run: Summing | Shares,
    squares: Mapping[Edge, int],
    groups: Groups,
    *,
    flaw: str,
    **more: Any,
) -> Line:
    claims = {e: claim([Gaussian(Fraction(1), one)]) for e, one in squares.items()}
    universe = Universe(units=1, values=more.pop("values"))
    more |= {"flaw": flaw, "seen": SEEN} if flaw else {"loose": MET}
    more |= {"query": groups.query, "universe": universe, "delta": float(DELTA)}
    return Line(name, more.pop("policy"), run, claims, **more)


def _wrong() -> Iterator[Line]:
    made = GaussianCounts(1, alike=True)

    def steeper(shift: Shift) -> Gaussian:
        return GaussianCounts(2, alike=True).steps(shift)

    def folded(shift: Shift) -> Gaussian:
        return made.steps(Shift(rise=max(0, shift.rise - shift.fall), fall=shift.fall))

    def one(shift: Shift) -> Gaussian:
        return made.steps(Shift(rise=min(1, shift.rise), fall=min(1, shift.fall)))

    twice = _Doubled(made)
    added, both = policies.addition_only(), policies.bounded()
    for told, run, policy, query, universe, flaw in (
        (steeper, made, added, _TWO, Universe(), "priced at twice its variance"),
        (one, made, added, _TWO, Universe(), "two counts that fall priced as one"),
        (folded, made, both, ONE_GROUP, SINGLE, "what rises folded into what falls"),
        (twice.steps, twice, added, ONE_GROUP, SINGLE, "L2 for two counts, where one moves by 2"),
    ):
        yield _line(run, told, policy, query, universe=universe, flaw=flaw, seen=SEEN)


def _line(run: Any, told: Told, policy: Policy, query: GroupCount, **options: Any) -> Line:
    claims = {edge: claim(map(told, some)) for edge, some in policy.shifts(query).items()}
    why = {} if "flaw" in options else {"loose": MET}
    return Line(
        options.pop("name", _NAME),
        policy,
        run,
        claims,
        query=query,
        delta=float(DELTA),
        **{**why, **options},
    )


def claim(steps: Iterable[Gaussian]) -> Loss:
    """ε at that δ of a charge whose note tells one of these steps."""
    named = {_EDGE.name: OneOf(tuple(dict.fromkeys(steps)))}
    note = acc.steps_note(named)
    loss = acc.charge_loss(note or None, edge=_EDGE.name, epsilon=named[_EDGE.name].epsilon)
    return loss.epsilon(DELTA)


_EDGE: Final = Edge("a", "b")
_EDGE_IN: Final = policies.addition_only().edges[0]


@dataclass(frozen=True)
class _Doubled:
    """Wrong: every unit counts twice, and one count that moves by 2 is priced as two by 1."""

    made: GaussianCounts

    def release(self, values: IntArray, *, noise: Noise) -> IntArray:
        """Twice the counts, with noise."""
        return self.made.noisy(2 * values, noise=noise)

    def steps(self, shift: Shift) -> Gaussian:
        """As if two counts moved."""
        return self.made.steps(Shift(rise=2 * shift.rise, fall=2 * shift.fall))
