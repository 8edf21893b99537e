"""What follows from one promise for another policy, and from several promises together.

Each line has releases that lose, along every move of the policies they were made for, exactly what
they are charged there, and everything along all other moves (``Teller``). Moves are
those of tables, so that a promise which takes a move for another one is broken by what is seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any, Final, Protocol, cast

from onesided import accounting as acc
from onesided import policy as policies
from onesided.accounting import Bound
from onesided.errors import PolicyError
from onesided.ledger import Ledger, Unit
from onesided.noise import Noise
from onesided.numbers import INFINITE, Infinite, Loss, Number
from onesided.policy import Edge, Guarantee, Policy
from onesided.session import total_guarantee
from onesided.verify import Line
from onesided_proofs.tables import Row, Rows, Table, Tables, subsets


def cases() -> Iterator[Line]:
    """The sound first."""
    yield from _relaxations()
    yield from _sums()
    # Differential privacy at one price for replacement and another for coming and going.
    asked: tuple[Policy, ...] = (
        BOTH,
        WIDE,
        policies.unbounded(),
        MEMBER,
        GONE,
        policies.addition_only() & policies.graph([("a", "absent", "1/2")], directed=True),
    )
    for policy in asked:
        for stay, come in ((3, None), (None, 2), (3, 2), (5, 2)):
            told = acc.from_dp(policy, **_given(stay, come))
            run = private(TWO, replace=stay, come=come)
            name = f"from_dp: {policy.name}, {stay or 'none'} and {come or 'none'}"
            silent = come is None and any(
                "absent" in w for e in policy.edges for w in policy.ways(e)
            )
            yield line(name, policy, told.epsilon, run, silent=silent)
    for table in (None, "register"):
        view = policies.view("minor", over="home", members=2, table=table)
        run, told = private(HOME, replace=3, come=None), acc.from_dp(view, replace=Bound(3))
        yield line(f"from_dp: view, {table}", view, told.epsilon, run, silent=table is not None)
    extended = policies.extended_sensitive("minor")
    run = running(KINDS, (extended, dict.fromkeys(prices(extended), Fraction(2))))
    yield line("extended_to_osdp", MINORS, acc.extended_to_osdp(2).epsilon, run)
    yield _composed_deltas()
    yield from _amplified()
    yield from _parts()
    yield from _closures()
    yield from _broken()


def _relaxations() -> Iterator[Line]:
    """Whatever keeps (ε, other) keeps (ε, self): or nothing is said."""
    near = policies.neighbourhood(radius=1, places={"a": (0,), "b": (1,)})
    shared = FULL & policies.custom(kinds=["r", "absent"], edges=[("r", "r"), ("absent", "r")])
    nearer = policies.graph([("a", "absent", 2), ("a", "b", "1/2")], directed=True)
    named = policies.neighbourhood(radius=1, places={"a": (0,), "b": (9,)})
    wide = policies.neighbourhood(radius=2, places={"a": (0,), "b": (1,)})
    homes = [policies.view("minor", over="home", members=most) for most in (2, 3)]
    some, more = (policies.sensitive_presence("minor", max_groups=most) for most in (1, 2))
    for one, two, world in (
        (PRESENCE, WIDE, GROUPS),
        (some, more, VISITS),
        (WIDE, FULL, TWO),
        (policies.addition_only(), policies.unbounded(), TWO),
        (BOTH, FULL, TWO),
        (BOTH, shared, TWO),
        (MINORS, BOTH, KINDS),
        (MINORS, LEAVING, KINDS),
        (policies.graph([("a", "b", 3)]), BOTH, TWO),
        (GONE, FULL, TWO),
        (GONE, nearer, TWO),
        (policies.attributes({"x": ["a"]}), policies.attributes({"x": "*"}), TWO),
        (near, wide, TWO),
        (MINORS & ILL, ILL, FACTS),
        (MINORS & ILL, MINORS, FACTS),
    ):
        yield _relaxing(one, two, world, held=one.relaxes(two))
    for one, two, world in (
        (WIDE, PRESENCE, GROUPS),
        (more, some, VISITS),
        (some, policies.sensitive_presence("ill", max_groups=2), VISITS),
        (WIDE, BOTH, GROUPS),
        (WIDE, policies.unbounded(), GROUPS),
        (WIDE, MEMBER, GROUPS),
        (WIDE, policies.custom(kinds=["r", "absent"], edges=[("r", "r"), ("absent", "r")]), TWO),
        (policies.unbounded(), policies.addition_only(), TWO),
        (policies.addition_only(), BOTH, TWO),
        (LEAVING, MINORS, KINDS),
        (GONE, BOTH, TWO),
        (MINORS, ILL, FACTS),
        (ILL, MINORS & ILL, FACTS),
        (policies.graph([("a", "b")]), policies.graph([("a", "b", 2)]), TWO),
        (policies.attributes({"x": "*"}), policies.attributes({"x": ["a"]}), TWO),
        (near, named, TWO),
        (homes[0], homes[1], HOME),
    ):
        yield _relaxing(one, two, world, held=_relaxed(one, two), silent=True)
    yield from _record_by_record()


def _record_by_record() -> Iterator[Line]:
    """Where records are listed, the absent one among them."""
    for one, two, silent in (
        (policies.addition_only(), policies.unbounded(), False),
        (WIDE, FULL, False),
        (WIDE, BOTH, True),
        (policies.addition_only(), BOTH, True),
        (FULL, MEMBER, True),
    ):
        seen = policies.joint_records(one, two, groups=("a", "b"))
        held = one.relaxes(two, records=seen)
        yield _relaxing(one, two, TWO, held=held, silent=silent, how=", record by record")


def _relaxing(
    one: Policy, two: Policy, world: Tables, *, held: bool, silent: bool = False, how: str = ""
) -> Line:
    told = weights(one) if held else dict.fromkeys(weights(one), INFINITE)
    run = Composed((Teller.of(world, two, weights(two)),))
    name = f"relaxes: {one.name}, {two.name}{how}"
    return line(name, one, told, run, loose=NEARER if held else "", silent=silent)


def _relaxed(one: Policy, two: Policy) -> bool:
    """What is not decided is not promised."""
    try:
        return one.relaxes(two)
    except PolicyError:
        return False


def _sums() -> Iterator[Line]:
    """Losses stated on a policy's own edges; and an intersection's weights."""
    for policy, world in ((WIDE, TWO), (LEAVING, KINDS)):
        first, second = prices(policy), prices(policy, 2)
        told = acc.compose_under(policy, [_bounds(first), _bounds(second)])
        run = running(world, (policy, first), (policy, second))
        yield line(f"compose_under: {policy.name}", policy, told.epsilon, run)
        held = [Guarantee(policy.name, one, {}, made_for=policy) for one in (first, second)]
        yield line(f"compose: {policy.name}", policy, acc.compose(held).epsilon, run)
    for pair in ((PRESENCE, WIDE), (WIDE, PRESENCE)):
        told_by = [Guarantee(one.name, prices(one), {}, made_for=one) for one in pair]
        run = running(TWO, *((one, prices(one)) for one in pair))
        yield line("compose: policies of one name", WIDE, _composed(told_by), run, silent=True)
    (silent, *rest) = prices(LEAVING)
    fewer = {edge: Bound(1) for edge in rest}
    told = acc.compose_under(LEAVING, [fewer])
    run = Composed(
        (Teller.of(KINDS, LEAVING, dict.fromkeys(rest, Fraction(1)) | {silent: INFINITE}),)
    )
    yield line("compose_under: an edge that is not named", LEAVING, told.epsilon, run)
    heavy = policies.custom(kinds=["s", "o"], edges=[("s", "s", 3), ("s", "o")],
                            rules=[("s", "minor")], default="o")  # fmt: skip
    for one, two, world in (
        (heavy, MINORS, KINDS),
        (MINORS, ILL, FACTS),
        (MEMBER, WIDE, TWO),
        (BOTH, WIDE, GROUPS),
        (policies.addition_only(), WIDE, GROUPS),
        (policies.unbounded(), policies.addition_only(), TWO),
    ):
        joint = one & two
        told_of = {edge.name: 2 * EPSILON * edge.weight for edge in joint.edges}
        run = running(world, (one, weights(one)), (two, weights(two)))
        loose = "" if all(e.weight == 1 for e in (*one.edges, *two.edges)) else NEARER
        yield line(f"&: {one.name}, {two.name}", joint, told_of, run, loose=loose)


def _composed(held: list[Guarantee]) -> Mapping[str, Loss]:
    """What is refused promises nothing."""
    try:
        return acc.compose(held).epsilon
    except PolicyError:
        return dict.fromkeys(held[0].epsilon, INFINITE)


def _bounds(held: Mapping[str, Loss]) -> dict[str, Bound]:
    return {edge: Bound(loss) for edge, loss in held.items()}


_MARKED: Final = (frozenset({Row("a")}), frozenset({Row("a", frozenset({"minor"}))}))
_REGISTERS: Final = (frozenset[str](), frozenset({"h"}))
HOME: Final = Tables(
    possible=(frozenset(), *_MARKED), units=2, homes=("h", "h"), registers=_REGISTERS
)


def _composed_deltas() -> Line:
    """A δ on the last edge alone, of each of two releases."""
    last = list(prices(FULL))[-1]
    told = acc.compose_under(
        FULL, [{e: Bound(1, "1/8" if e == last else 0) for e in prices(FULL)} for _ in "ab"]
    )
    one = Teller.of(TWO, FULL, dict.fromkeys(prices(FULL), Fraction(1)))
    run = Composed(tuple(Leaking(one, Fraction(1, 8)) for _ in "ab"))
    leaving = policies.addition_only()
    made = line("compose_under, with δ", leaving, {"record -> absent": told.epsilon[last]}, run)
    return replace(made, delta=float(told.delta.get(last, 0)), loose="two leaks hide no less")


def _given(stay: Number | None, come: Number | None) -> dict[str, Bound]:
    given = {"replace": stay, "add_or_remove": come}
    return {key: Bound(one) for key, one in given.items() if one is not None}


def _amplified() -> Iterator[Line]:
    """Sampled first, then asked."""
    unbounded = policies.unbounded()
    leave, come = (edge.name for edge in unbounded.edges)
    for epsilon in (2, None):
        held = INFINITE if epsilon is None else Fraction(epsilon)
        inner = Teller.of(_ONE, unbounded, {leave: Fraction(2), come: held})
        share = Fraction(1, 4)
        told = {
            leave: acc.amplify_addition(Bound(2), p=share).epsilon,
            come: acc.amplify_removal(Bound(held), p=share).epsilon,
        }
        run = Composed((Sampled(inner, share),))
        yield line(f"amplified, ε = {held}", unbounded, told, run, loose=_SHAPE)
    both = acc.two_sided_by_sampling(Bound(2), p="1/4")
    inner = Teller.of(_ONE, policies.addition_only(), {leave: Fraction(2)})
    run = Composed((Sampled(inner, Fraction(1, 4)),))
    yield line("two_sided_by_sampling", unbounded, both.epsilon, run, loose=_SHAPE)


_ONE: Final = Tables(possible=subsets([Row("a")]))
_SHAPE: Final = "the release that loses most has another law"


def _parts() -> Iterator[Line]:
    """One release on who is in a, another on who is in b, at prices of their own."""
    leave, come, stay = "record -> absent", "absent -> record", "record -> record"
    charged = (
        {stay: Fraction(6), leave: Fraction(2), come: Fraction(5)},
        {stay: Fraction(1), leave: Fraction(3), come: Fraction(1)},
    )
    for held in (charged, charged[::-1]):
        for policy in (BOTH, policies.unbounded(), policies.addition_only()):
            told = acc.parallel(policy, [_bounds(one) for one in held])
            run = side_by_side(_SINGLE, held)
            yield line(f"parallel: {policy.name}", policy, told.epsilon, run)
    # Whoever drops the one group may come to lie in the part of the other.
    (gone,) = (edge.name for edge in PRESENCE.edges)
    told = acc.parallel(PRESENCE, [{gone: Bound(2)}, {gone: Bound(3)}])
    run = side_by_side(TWO, charged, PRESENCE)
    yield line("parallel: presence", PRESENCE, told.epsilon, run, silent=True)
    silent: tuple[dict[str, Loss], ...] = tuple({stay: Fraction(1)} for _ in "ab")
    told = acc.parallel(BOTH, [_bounds(one) for one in silent])
    run = side_by_side(_SINGLE, silent)
    yield line("parallel: parts of any size", BOTH, told.epsilon, run, silent=True)


_SINGLE: Final = Tables(
    possible=(frozenset(), *(frozenset({Row(g, frozenset({f}))}) for g in "ab" for f in "xy"))
)


def _closures() -> Iterator[Line]:
    """Whoever keeps (ε, the closed policy) hides what implies a protected fact, as that is."""
    closed = PRESENCE.closed_under([("b", "a")]).policy
    due: tuple[tuple[str, Policy, Policy, Tables], ...] = (
        ("presence", WIDE, closed, TWO),
        (
            "graph",
            policies.graph([("a", "b", 2), ("c", "b", 2)], directed=True),
            policies.graph([("a", "b", 2)], directed=True, values=["c"])
            .closed_under([("c", "a")])
            .policy,
            _LETTERS,
        ),
        (
            "local",
            policies.local(list("abc"), edges=[("a", "b"), ("c", "b")]),
            policies.local(list("abc"), edges=[("a", "b")]).closed_under([("c", "a")]).policy,
            _LETTERS,
        ),
        (
            "attributes",
            policies.attributes({"x": ["a", "c"]}),
            policies.attributes({"x": ["a"]}).closed_under([("x=c", "x=a")]).policy,
            _LETTERS,
        ),
    )
    for name, asked, wide, world in due:
        run = running(world, (wide, weights(wide)))
        yield line(f"closed_under: {name}", asked, weights(asked), run)


_LETTERS: Final = Tables(possible=tuple(frozenset({Row(group)}) for group in "abc"))


def _broken() -> Iterator[Line]:
    """Each promise once more, reckoned in a way that looks right."""
    run = running(TWO, (BOTH, weights(BOTH)))
    yield line("relaxes", WIDE, weights(WIDE), run,
                flaw="dropping the last group taken for a replacement")  # fmt: skip
    addition = policies.addition_only()
    run = running(GROUPS, (addition, weights(addition)))
    yield line("relaxes", WIDE, weights(WIDE), run,
                flaw="dropping one of several groups taken for leaving")  # fmt: skip
    first = prices(LEAVING)
    run = running(KINDS, (LEAVING, first), (LEAVING, first))
    yield line("compose_under", LEAVING, first, run, flaw="one release of two")
    heavy = policies.custom(kinds=["r"], edges=[("r", "r", 3)])
    light = policies.custom(kinds=["r"], edges=[("r", "r")])
    run = running(TWO, (heavy, weights(heavy)), (light, weights(light)))
    yield line("&", light, dict.fromkeys(weights(light), Fraction(2 * EPSILON)), run,
                flaw="the shorter distance in place of the longer")  # fmt: skip
    yield line("from_dp", WIDE, dict.fromkeys(weights(WIDE), Fraction(3)),
                private(TWO, replace=3, come=None),
                flaw="nobody leaves unless an edge is called absent")  # fmt: skip
    yield line("from_dp", BOTH, dict.fromkeys(weights(BOTH), Fraction(2)),
                private(TWO, replace=None, come=2),
                flaw="replacement at the price of leaving")  # fmt: skip
    stay, leave, come = "record -> record", "record -> absent", "absent -> record"
    held = ({stay: Fraction(4), leave: Fraction(2), come: Fraction(5)},
            {stay: Fraction(1), leave: Fraction(3), come: Fraction(1)})  # fmt: skip
    for flaw, due in (("the largest of the parts", 4), ("from one part to the next alone", 4)):
        yield line("parallel", BOTH, {stay: Fraction(due)}, side_by_side(_SINGLE, held),
                    flaw=flaw)  # fmt: skip
    run = running(TWO, (PRESENCE, weights(PRESENCE)))
    yield line("closed_under", WIDE, weights(WIDE), run,
                flaw="a visit hidden, and not the one that implies it")  # fmt: skip


EPSILON: Final = 2
NOTHING: Final = "nothing is promised"
NEARER: Final = "some of its moves are shorter under the other policy"
BY_HAND: Final = "in promises that are reckoned by hand"
MINOR: Final = frozenset({"minor"})
GROUPS: Final = Tables(possible=subsets([Row("a"), Row("b"), Row("c")]))
TWO: Final = Tables(possible=subsets([Row("a"), Row("b")]))
KINDS: Final = Tables(possible=subsets([Row("a"), Row("a", MINOR), Row("b")], most=2))
MARKS: Final = (frozenset[str](), MINOR, frozenset({"ill"}), frozenset({"minor", "ill"}))
VISITS: Final = Tables(possible=subsets([Row(at, kind) for at in "ab" for kind in MARKS[:2]]))
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
