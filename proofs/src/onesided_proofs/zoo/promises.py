"""Releases that lose all that they are charged, along moves of tables, and everything elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, Final, Protocol, cast

from onesided import policy as policies
from onesided.ledger import Ledger, Unit
from onesided.noise import Noise
from onesided.numbers import INFINITE, Infinite, Loss
from onesided.policy import Edge, Guarantee, Policy
from onesided.session import total_guarantee
from onesided.verify import Line, Row, Rows, Table, Tables, subsets

EPSILON: Final = 2
NOTHING: Final = "nothing is promised"
NEARER: Final = "some of its moves are shorter under the other policy"
BY_HAND: Final = "in promises that are reckoned by hand"
MINOR: Final = frozenset({"minor"})
GROUPS: Final = Tables(possible=subsets([Row("a"), Row("b"), Row("c")]))
TWO: Final = Tables(possible=subsets([Row("a"), Row("b")]))
KINDS: Final = Tables(possible=subsets([Row("a"), Row("a", MINOR), Row("b")], most=2))
MARKS: Final = (frozenset[str](), MINOR, frozenset({"ill"}), frozenset({"minor", "ill"}))
FACTS: Final = Tables(
    possible=subsets([Row("b", MARKS[3]), *(Row("a", marks) for marks in MARKS)], most=1)
)
PRESENCE, WIDE = policies.presence(max_groups=1), policies.presence(max_groups=2)
BOTH: Final = policies.bounded()
MINORS, ILL = policies.sensitive("minor"), policies.sensitive("ill")
MEMBER: Final = policies.custom(kinds=["r", "absent"], edges=[("r", "r", 2), ("r", "absent")])
FULL: Final = policies.custom(kinds=["r", "absent"], edges=[("r", "r"), ("r", "absent")])
GONE: Final = policies.graph([("a", "absent", 2), ("a", "b")], directed=True)
LEAVING: Final = policies.custom(
    kinds=["s", "o", "absent"],
    edges=[("s", "s"), ("s", "o"), ("s", "absent", 2)],
    rules=[("s", "minor")],
    default="o",
)

Far = dict[tuple[Table, Table], Loss]
_NONE: Rows = frozenset()


class Release(Protocol):
    """Something of a table that is told with noise."""

    @property
    def world(self) -> Tables:
        """The tables that it knows."""
        ...

    def __call__(self, data: Table, noise: Noise) -> Any:
        """The answer."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Teller:
    """Picks a table S at random, and says yes of X with the chance e^-d(S, X) / 2.

    d is the length of the shortest way from S to X, by moves at their prices, and infinite without
    one. Along a move X -> Y at the price e, d(S, Y) <= d(S, X) + e: a yes loses no more than e, and
    all of it for S = X where no way is shorter than the move. A no loses ln 2 at most, which is
    below every price. Along any other move whoever sees a yes for S = X may know that it was not Y.
    """

    world: Tables
    tables: tuple[Table, ...]
    far: Far

    @classmethod
    def of(cls, world: Tables, policy: Policy, prices: Mapping[str, Loss]) -> Teller:
        """At the price of each edge of the policy."""
        moves = ((x, y, prices[edge.name]) for x, y, edge in world.moves(policy))
        return cls.by(world, moves)

    @classmethod
    def by(cls, world: Tables, moves: Iterator[tuple[Table, Table, Loss]]) -> Teller:
        """At the least price of each move."""
        tables = tuple(world.data_sets())
        far: Far = {
            (one, two): Fraction(0) if one == two else INFINITE
            for one, two in product(tables, repeat=2)
        }
        for one, two, price in moves:
            far[one, two] = min(far[one, two], price)
        for via, one, two in product(tables, repeat=3):
            far[one, two] = min(far[one, two], far[one, via] + far[via, two])
        return cls(world, tables, far)

    def __call__(self, data: Table, noise: Noise) -> tuple[int, bool]:
        """S, and yes or no."""
        place = int(noise.uniform(len(self.tables), 1)[0])
        length = self.far[self.tables[place], data]
        if isinstance(length, Infinite) or not noise.bernoulli(Fraction(1, 2), 1)[0]:
            return place, False
        return place, not length or bool(noise.bernoulli_exp(length, 1)[0])


@dataclass(frozen=True, slots=True, eq=False)
class Composed:
    """Several releases of one table, one after the other."""

    releases: Sequence[Release]

    @property
    def world(self) -> Tables:
        """The tables that the first one knows."""
        return self.releases[0].world

    def __call__(self, data: Table, noise: Noise) -> Any:
        """All answers."""
        return tuple(release(data, noise) for release in self.releases)


@dataclass(frozen=True, slots=True, eq=False)
class Leaking:
    """Tells the table itself with the chance ``delta``."""

    inner: Release
    delta: Fraction

    @property
    def world(self) -> Tables:
        """As the release."""
        return self.inner.world

    def __call__(self, data: Table, noise: Noise) -> Any:
        """The answer, or the place of the table among all."""
        if noise.bernoulli(self.delta, 1)[0]:
            return list(self.world.data_sets()).index(data)
        return self.inner(data, noise)


@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    """Each unit is kept with the chance ``share`` before anything is told."""

    inner: Teller
    share: Fraction

    @property
    def world(self) -> Tables:
        """As the release on the sample."""
        return self.inner.world

    def __call__(self, data: Table, noise: Noise) -> Any:
        """The answer on the sample."""
        kept = data
        for place in range(len(data.units)):
            if not noise.bernoulli(self.share, 1)[0]:
                kept = kept.changed(place, _NONE)
        return self.inner(kept, noise)


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A release on the units whose first group it is; all others are not there for it."""

    inner: Teller
    group: str
    world: Tables

    def __call__(self, data: Table, noise: Noise) -> Any:
        """The answer on the part."""
        own = data
        for place, rows in enumerate(data.units):
            if min((row.group for row in rows), default="") != self.group:
                own = own.changed(place, _NONE)
        return self.inner(own, noise)


def private(world: Tables, *, replace: int | None, come: int | None) -> Composed:
    """Differential privacy at these prices; what has none is hidden by way of the other alone."""
    moves: list[tuple[Table, Table, Loss]] = []
    for policy, price in ((policies.bounded(), replace), (policies.unbounded(), come)):
        if price is not None:
            moves += [(x, y, Fraction(price)) for x, y, _ in world.moves(policy)]
    return Composed((Teller.by(world, iter(moves)),))


def side_by_side(
    world: Tables, prices: Sequence[Mapping[str, Loss]], inside: Policy | None = None
) -> Composed:
    """One release for each group, at its own prices of ``source -> target``.

    inside: along whose moves alone units change within a part, or leave it.
    """
    parts = []
    for group, held in zip("ab", prices, strict=True):
        possible = tuple(
            rows for rows in world.possible if min((r.group for r in rows), default=group) == group
        )
        own = Tables(possible=possible)
        named = {
            "record -> record": policies.bounded(),
            "record -> absent": policies.addition_only(),
        }
        named["absent -> record"] = policies.removal_only()
        moves = [
            (x, y, price)
            for edge, price in held.items()
            for x, y, _ in own.moves(inside or named[edge])
        ]
        parts.append(Part(Teller.by(own, iter(moves)), group, world))
    return Composed(tuple(parts))


def stated(
    accounts: Sequence[tuple[Policy, Mapping[str, Loss]]],
    asked: Policy | None = None,
    *,
    deltas: Sequence[Fraction] = (),
    worse: int | None = None,
    **options: Any,
) -> Guarantee:
    """The total of a ledger that holds these accounts, each charged once, of a budget of 9.

    deltas: the δ of each account's charge, on the edge ``worse`` twice as much; three
        times as much may be charged.
    """
    with Ledger.open(None) as ledger:
        for at, (policy, charge) in enumerate(accounts):
            delta = dict.fromkeys(charge, deltas[at] if deltas else Fraction(0))
            most = {edge: min(Fraction(1), 3 * one) for edge, one in delta.items()}
            if worse is not None:
                delta[list(charge)[worse]] *= 2
            account = ledger.account(
                policy_id=policy.identity,
                policy_toml=policy.to_toml(),
                policy_name=policy.name,
                budget={edge: max(Fraction(9), one) for edge, one in charge.items()},
                delta_budget=most,
                unit=Unit("person", "integer"),
                further=True,
            )
            account.open()
            finite = {edge: one for edge, one in charge.items() if not isinstance(one, Infinite)}
            account.spend(finite, delta=delta, label="a charge")
        return total_guarantee(ledger, asked, **options)


def line(
    name: str, asked: Policy, told: Mapping[str, Loss], run: Composed, loose: str = "", *,
    silent: bool = False, flaw: str = "",
) -> Line:  # fmt: skip
    """What is told of each edge, against what ``run`` loses.

    Less than could be told is wrong, too: a sound line must reach its claim on some edge, and
    ``silent`` ones promise nothing on any.
    """
    claims: dict[Edge, Loss] = {edge: told[edge.name] for edge in asked.edges}
    if silent and all(claim == INFINITE for claim in claims.values()):
        loose = NOTHING
    about = {"flaw": flaw, "seen": BY_HAND} if flaw else {"loose": loose}
    return Line(name, asked, run, claims, universe=run.world, tail=1e-16, **about)  # type: ignore[arg-type]


def weights(policy: Policy) -> dict[str, Loss]:
    """ε times each edge's weight."""
    return {edge.name: EPSILON * edge.weight for edge in policy.edges}


def prices(policy: Policy, first: int = 1) -> dict[str, Loss]:
    """Another price for each edge."""
    return {edge.name: Fraction(first + 2 * at) for at, edge in enumerate(policy.edges)}


def running(world: Tables, *accounts: tuple[Policy, Mapping[str, Loss]]) -> Composed:
    """The releases of accounts that were charged so."""
    return Composed(tuple(Teller.of(world, policy, held) for policy, held in accounts))


def policy_of(told: Guarantee) -> Policy:
    """The policy that a guarantee is for."""
    return cast("Policy", told.made_for)
