"""What is promised of policies and releases together, and mechanisms that lose all of it.

Each line has releases that lose, along every move of the policies they were made for, exactly what
they are charged there, and everything along all other moves (:class:`Teller`). Moves are those of
tables, so that a promise which takes a move for another one is broken by what is seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final

from onesided import accounting as acc
from onesided import policy as policies
from onesided._numbers import INFINITE, Loss, Number
from onesided.accounting import Bound
from onesided.errors import PolicyError
from onesided.policy import Edge, Guarantee, Policy
from onesided.verify._line import Line
from onesided.verify._table_moves import Row, Tables, subsets
from onesided.verify.zoo import promises as zoo

_EPSILON: Final = 2
_NOTHING: Final = "nothing is promised"
_NEARER: Final = "some of its moves are shorter under the other policy"
_BY_HAND: Final = "in promises that are reckoned by hand"
_MINOR: Final = frozenset({"minor"})
_GROUPS: Final = Tables(possible=subsets([Row("a"), Row("b"), Row("c")]))
_TWO: Final = Tables(possible=subsets([Row("a"), Row("b")]))
_KINDS: Final = Tables(possible=subsets([Row("a"), Row("a", _MINOR), Row("b")], most=2))
_MARKS: Final = (frozenset[str](), _MINOR, frozenset({"ill"}), frozenset({"minor", "ill"}))
_FACTS: Final = Tables(
    possible=subsets([Row("b", _MARKS[3]), *(Row("a", marks) for marks in _MARKS)], most=1)
)
_PRESENCE, _WIDE = policies.presence(max_groups=1), policies.presence(max_groups=2)
_BOTH: Final = policies.bounded()
_MINORS, _ILL = policies.sensitive("minor"), policies.sensitive("ill")
_MEMBER: Final = policies.custom(kinds=["r", "absent"], edges=[("r", "r", 2), ("r", "absent")])
_EVEN: Final = (("r", "r"), ("r", "absent"))
_GONE: Final = policies.graph([("a", "absent", 2), ("a", "b")], directed=True)
_LEAVING: Final = policies.custom(
    kinds=["s", "o", "absent"],
    edges=[("s", "s"), ("s", "o"), ("s", "absent", 2)],
    rules=[("s", "minor")],
    default="o",
)


def cases() -> Iterator[Line]:
    """The sound first."""
    yield from _relaxations()
    yield from _totals()
    yield from _sums()
    yield from _conversions()
    yield from _parts()
    yield from _closures()
    yield from _broken()


def _line(
    name: str, asked: Policy, told: Mapping[str, Loss], run: zoo.Composed, loose: str = "", *,
    flaw: str = "",
) -> Line:  # fmt: skip
    """What is told of each edge, against what ``run`` loses; what is INFINITE promises nothing."""
    claims: dict[Edge, Loss] = {edge: told[edge.name] for edge in asked.edges}
    if all(claim == INFINITE for claim in claims.values()):
        loose = _NOTHING
    about = {"flaw": flaw, "seen": _BY_HAND} if flaw else {"loose": loose}
    return Line(name, asked, run, claims, universe=run.world, tail=1e-16, **about)  # type: ignore[arg-type]


def _weights(policy: Policy) -> dict[str, Loss]:
    return {edge.name: _EPSILON * edge.weight for edge in policy.edges}


def _prices(policy: Policy, first: int = 1) -> dict[str, Loss]:
    """Another price for each edge."""
    return {edge.name: Fraction(first + 2 * at) for at, edge in enumerate(policy.edges)}


def _relaxations() -> Iterator[Line]:
    """Whatever keeps (ε, other) keeps (ε, self): or nothing is said."""
    near = policies.neighbourhood(radius=1, places={"a": (0,), "b": (1,)})
    pairs: tuple[tuple[Policy, Policy, Tables], ...] = (
        (_PRESENCE, _WIDE, _GROUPS),
        (_WIDE, _PRESENCE, _GROUPS),
        (_WIDE, _BOTH, _GROUPS),
        (_WIDE, policies.unbounded(), _GROUPS),
        (_WIDE, _MEMBER, _TWO),
        (_PRESENCE, policies.custom(kinds=["r", "absent"], edges=_EVEN), _TWO),
        (policies.addition_only(), policies.unbounded(), _TWO),
        (policies.unbounded(), policies.addition_only(), _TWO),
        (policies.addition_only(), _BOTH, _TWO),
        (_BOTH, _MEMBER, _TWO),
        (_BOTH, policies.custom(kinds=["r"], edges=[("r", "r")]), _TWO),
        (_MINORS, _BOTH, _KINDS),
        (_MINORS, _LEAVING, _KINDS),
        (_LEAVING, _MINORS, _KINDS),
        (_MINORS, _ILL, _FACTS),
        (policies.graph([("a", "b", 3)]), _BOTH, _TWO),
        (_GONE, _MEMBER, _TWO),
        (_GONE, policies.graph([("a", "absent", 2), ("a", "b", "1/2")], directed=True), _TWO),
        (policies.graph([("a", "b")]), policies.graph([("a", "b", 2)]), _TWO),
        (policies.attributes({"x": ["a"]}), policies.attributes({"x": "*"}), _TWO),
        (policies.attributes({"x": "*"}), policies.attributes({"x": ["a"]}), _TWO),
        (near, policies.neighbourhood(radius=2, places={"a": (0,), "b": (1,)}), _TWO),
        (near, policies.neighbourhood(radius=1, places={"a": (0,), "b": (9,)}), _TWO),
        (_MINORS & _ILL, _ILL, _FACTS),
        (_ILL, _MINORS & _ILL, _FACTS),
    )  # fmt: skip
    for one, two, world in pairs:
        held = _relaxed(one, two)
        told = _weights(one) if held else dict.fromkeys(_weights(one), INFINITE)
        run = zoo.Composed((zoo.Teller.of(world, two, _weights(two)),))
        yield _line(f"relaxes: {one.name}, {two.name}", one, told, run, loose=_NEARER)


def _relaxed(one: Policy, two: Policy) -> bool:
    """What is not decided is not promised."""
    try:
        return one.relaxes(two)
    except PolicyError:
        return False


def _run(world: Tables, *accounts: tuple[Policy, Mapping[str, Loss]]) -> zoo.Composed:
    return zoo.Composed(tuple(zoo.Teller.of(world, policy, held) for policy, held in accounts))


def _totals() -> Iterator[Line]:
    """What a ledger says of its accounts, for a policy that is asked about or their own."""
    addition, unbounded = policies.addition_only(), policies.unbounded()
    asked: tuple[tuple[Policy | None, tuple[Policy, ...], Tables], ...] = (
        (_BOTH, (_BOTH,), _TWO),
        (addition, (_BOTH,), _TWO),
        (addition, (unbounded,), _TWO),
        (unbounded, (addition,), _TWO),
        (unbounded, (_LEAVING,), _KINDS),
        (_WIDE, (_BOTH,), _TWO),
        (_WIDE, (addition,), _GROUPS),
        (_WIDE, (_MEMBER,), _TWO),
        (_PRESENCE, (_WIDE, _MEMBER), _TWO),
        (_MINORS, (_LEAVING,), _KINDS),
        (_LEAVING, (_MINORS,), _KINDS),
        (_BOTH, (_MINORS,), _KINDS),
        (_MINORS, (_ILL,), _FACTS),
        (None, (_MINORS, _ILL), _FACTS),
        (None, (_MINORS, _LEAVING), _KINDS),
        (_MINORS, (_MINORS & _ILL,), _FACTS),
        (None, (_MINORS & _ILL, _ILL), _FACTS),
        (policies.graph([("a", "b", "1/2")]), (_BOTH,), _TWO),
    )
    for policy, own, world in asked:
        accounts = [(one, _prices(one, 1 + 4 * at)) for at, one in enumerate(own)]
        told = zoo.stated(accounts, policy)
        yield _total_line(told, accounts, world)
        if policy is None:
            summed = policies.together(*accounts)
            run = _run(world, *accounts)
            yield _line(f"together: {_named(own)}", _of(summed), summed.epsilon, run)
    accounts = [(_MINORS, _prices(_MINORS)), (_PRESENCE, _prices(_PRESENCE, 2))]
    for accept in (False, True):
        how = ", accepted" if accept else ""
        told = zoo.stated(accounts, accept_unprotected=accept)
        yield _total_line(told, accounts, _KINDS, how)
        summed = policies.together(*accounts, accept_unprotected=accept)
        run = _run(_KINDS, *accounts)
        yield _line(f"together: sensitive, presence{how}", _of(summed), summed.epsilon, run)
    marked = [(one, _prices(one)) for one in (_MINORS, _ILL)]
    yield _with_delta(marked)
    spare: dict[str, Loss] = dict.fromkeys(_prices(_MINORS), Fraction(9))
    told = zoo.stated([(_MINORS, _prices(_MINORS))], of="budget")
    yield _total_line(told, [(_MINORS, spare)], _KINDS, ", all that may be charged")


def _with_delta(accounts: Sequence[tuple[Policy, Mapping[str, Loss]]]) -> Line:
    """Two accounts with a δ each: their δ add up."""
    deltas = (Fraction(1, 8), Fraction(1, 16))
    told = zoo.stated(accounts, deltas=deltas)
    both = _run(_FACTS, *accounts).releases
    leaks = tuple(zoo.Leaking(one, delta) for one, delta in zip(both, deltas, strict=True))
    run, name = zoo.Composed(leaks), "total_guarantee, with δ"
    line = _line(name, _of(told), told.epsilon, run, loose=_LEAKS)
    return replace(line, delta=float(max(told.delta.values())))


_LEAKS: Final = "two leaks at once hide no less than one"


def _of(told: Guarantee) -> Policy:
    assert told.made_for is not None  # noqa: S101 - every total is for a policy
    return told.made_for


def _named(own: Sequence[Policy]) -> str:
    return ", ".join(one.name for one in own)


def _total_line(
    told: Guarantee,
    accounts: Sequence[tuple[Policy, Mapping[str, Loss]]],
    world: Tables,
    how: str = "",
) -> Line:
    name = f"total_guarantee: {_named([one for one, _ in accounts])}{how}"
    return _line(name, _of(told), told.epsilon, _run(world, *accounts))


def _sums() -> Iterator[Line]:
    """Losses stated on a policy's own edges; and an intersection's weights."""
    for policy, world in ((_WIDE, _TWO), (_LEAVING, _KINDS)):
        first, second = _prices(policy), _prices(policy, 2)
        told = acc.compose_under(policy, [_bounds(first), _bounds(second)])
        run = _run(world, (policy, first), (policy, second))
        yield _line(f"compose_under: {policy.name}", policy, told.epsilon, run)
        held = [Guarantee(policy.name, one, {}, made_for=policy) for one in (first, second)]
        yield _line(f"compose: {policy.name}", policy, acc.compose(held).epsilon, run)
    (silent, *rest) = _prices(_LEAVING)
    fewer = {edge: Bound(1) for edge in rest}
    told = acc.compose_under(_LEAVING, [fewer])
    run = zoo.Composed(
        (zoo.Teller.of(_KINDS, _LEAVING, dict.fromkeys(rest, Fraction(1)) | {silent: INFINITE}),)
    )
    yield _line("compose_under: an edge that is not named", _LEAVING, told.epsilon, run)
    heavy = policies.custom(kinds=["s", "o"], edges=[("s", "s", 3), ("s", "o")],
                            rules=[("s", "minor")], default="o")  # fmt: skip
    for one, two, world in (
        (heavy, _MINORS, _KINDS),
        (_MINORS, _ILL, _FACTS),
        (_MEMBER, _WIDE, _TWO),
        (_BOTH, _WIDE, _GROUPS),
        (policies.addition_only(), _WIDE, _GROUPS),
        (policies.unbounded(), policies.addition_only(), _TWO),
    ):
        joint = one & two
        told_of = {edge.name: 2 * _EPSILON * edge.weight for edge in joint.edges}
        run = _run(world, (one, _weights(one)), (two, _weights(two)))
        loose = "" if all(e.weight == 1 for e in (*one.edges, *two.edges)) else _NEARER
        yield _line(f"&: {one.name}, {two.name}", joint, told_of, run, loose=loose)


def _bounds(prices: Mapping[str, Loss]) -> dict[str, Bound]:
    return {edge: Bound(loss) for edge, loss in prices.items()}


def _conversions() -> Iterator[Line]:
    """Differential privacy at one price for replacement and another for coming and going."""
    asked: tuple[Policy, ...] = (
        _BOTH,
        _WIDE,
        policies.unbounded(),
        _MEMBER,
        _GONE,
        policies.addition_only() & policies.graph([("a", "absent", "1/2")], directed=True),
    )
    for policy in asked:
        for stay, come in ((3, None), (None, 2), (3, 2), (5, 2)):
            told = acc.from_dp(policy, **_given(stay, come))
            run = zoo.private(_TWO, replace=stay, come=come)
            name = f"from_dp: {policy.name}, {stay or 'none'} and {come or 'none'}"
            yield _line(name, policy, told.epsilon, run)
    yield from _amplified()


def _given(replace: Number | None, come: Number | None) -> dict[str, Bound]:
    given = {"replace": replace, "add_or_remove": come}
    return {key: Bound(one) for key, one in given.items() if one is not None}


def _amplified() -> Iterator[Line]:
    """Sampled first, then asked."""
    unbounded = policies.unbounded()
    leave, come = (edge.name for edge in unbounded.edges)
    for epsilon in (2, None):
        held = INFINITE if epsilon is None else Fraction(epsilon)
        inner = zoo.Teller.of(_ONE, unbounded, {leave: Fraction(2), come: held})
        share = Fraction(1, 4)
        told = {
            leave: acc.amplify_addition(Bound(2), p=share).epsilon,
            come: acc.amplify_removal(Bound(held), p=share).epsilon,
        }
        run = zoo.Composed((zoo.Sampled(inner, share),))
        yield _line(f"amplified, ε = {held}", unbounded, told, run, loose=_SHAPE)
    both = acc.two_sided_by_sampling(Bound(2), p="1/4")
    inner = zoo.Teller.of(_ONE, policies.addition_only(), {leave: Fraction(2)})
    run = zoo.Composed((zoo.Sampled(inner, Fraction(1, 4)),))
    yield _line("two_sided_by_sampling", unbounded, both.epsilon, run, loose=_SHAPE)


_ONE: Final = Tables(possible=subsets([Row("a")]))
_SHAPE: Final = "the release that loses most has another law"


def _parts() -> Iterator[Line]:
    """One release on who is in a, another on who is in b, at prices of their own."""
    leave, come, stay = "record -> absent", "absent -> record", "record -> record"
    prices = (
        {stay: Fraction(6), leave: Fraction(2), come: Fraction(5)},
        {stay: Fraction(1), leave: Fraction(3), come: Fraction(1)},
    )
    for held in (prices, prices[::-1]):
        for policy in (_BOTH, policies.unbounded(), policies.addition_only()):
            told = acc.parallel(policy, [_bounds(one) for one in held])
            run = zoo.side_by_side(_SINGLE, held)
            yield _line(f"parallel: {policy.name}", policy, told.epsilon, run)
    silent: tuple[dict[str, Loss], ...] = tuple({stay: Fraction(1)} for _ in "ab")
    told = acc.parallel(_BOTH, [_bounds(one) for one in silent])
    run = zoo.side_by_side(_SINGLE, silent)
    yield _line("parallel: parts of any size", _BOTH, told.epsilon, run)


_SINGLE: Final = Tables(
    possible=(frozenset(), *(frozenset({Row(g, frozenset({f}))}) for g in "ab" for f in "xy"))
)


def _closures() -> Iterator[Line]:
    """Whoever keeps (ε, the closed policy) hides what implies a protected fact, as that is."""
    closed = _PRESENCE.closed_under([("b", "a")]).policy
    due: tuple[tuple[str, Policy, Policy, Tables], ...] = (
        ("presence", _WIDE, closed, _TWO),
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
        run = _run(world, (wide, _weights(wide)))
        yield _line(f"closed_under: {name}", asked, _weights(asked), run)


_LETTERS: Final = Tables(possible=tuple(frozenset({Row(group)}) for group in "abc"))


def _broken() -> Iterator[Line]:
    """Each promise once more, reckoned in a way that looks right."""
    run = _run(_TWO, (_BOTH, _weights(_BOTH)))
    yield _line("relaxes", _WIDE, _weights(_WIDE), run,
                flaw="dropping the last group taken for a replacement")  # fmt: skip
    addition = policies.addition_only()
    run = _run(_GROUPS, (addition, _weights(addition)))
    yield _line("relaxes", _WIDE, _weights(_WIDE), run,
                flaw="dropping one of several groups taken for leaving")  # fmt: skip
    accounts = [(_MINORS, _prices(_MINORS, 2)), (_ILL, _prices(_ILL, 2))]
    joint, run = _MINORS & _ILL, _run(_FACTS, *accounts)
    yield _line("total_guarantee", joint, dict.fromkeys(_weights(joint), Fraction(4)), run,
                flaw="the larger of two accounts in place of their sum")  # fmt: skip
    told = dict.fromkeys(_weights(addition), Fraction(0))
    yield _line("total_guarantee", addition, told, _run(_TWO, (_BOTH, _prices(_BOTH))),
                flaw="no edge of an account is no loss")  # fmt: skip
    yield _line("together", _ILL, _prices(_ILL, 2), run,
                flaw="for all that one policy protects, in place of both")  # fmt: skip
    first = _prices(_LEAVING)
    run = _run(_KINDS, (_LEAVING, first), (_LEAVING, first))
    yield _line("compose_under", _LEAVING, first, run, flaw="one release of two")
    heavy = policies.custom(kinds=["r"], edges=[("r", "r", 3)])
    light = policies.custom(kinds=["r"], edges=[("r", "r")])
    run = _run(_TWO, (heavy, _weights(heavy)), (light, _weights(light)))
    yield _line("&", light, dict.fromkeys(_weights(light), Fraction(2 * _EPSILON)), run,
                flaw="the shorter distance in place of the longer")  # fmt: skip
    yield _line("from_dp", _WIDE, dict.fromkeys(_weights(_WIDE), Fraction(3)),
                zoo.private(_TWO, replace=3, come=None),
                flaw="nobody leaves unless an edge is called absent")  # fmt: skip
    yield _line("from_dp", _BOTH, dict.fromkeys(_weights(_BOTH), Fraction(2)),
                zoo.private(_TWO, replace=None, come=2),
                flaw="replacement at the price of leaving")  # fmt: skip
    stay, leave, come = "record -> record", "record -> absent", "absent -> record"
    held = ({stay: Fraction(4), leave: Fraction(2), come: Fraction(5)},
            {stay: Fraction(1), leave: Fraction(3), come: Fraction(1)})  # fmt: skip
    for flaw, due in (("the largest of the parts", 4), ("from one part to the next alone", 4)):
        yield _line("parallel", _BOTH, {stay: Fraction(due)}, zoo.side_by_side(_SINGLE, held),
                    flaw=flaw)  # fmt: skip
    run = _run(_TWO, (_PRESENCE, _weights(_PRESENCE)))
    yield _line("closed_under", _WIDE, _weights(_WIDE), run,
                flaw="a visit hidden, and not the one that implies it")  # fmt: skip
