"""What a ledger says that its accounts promise together, and what they lose."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final, TypeAlias

from onesided import policy as policies
from onesided.numbers import Loss
from onesided.policy import Guarantee, Policy
from onesided.verify import Line
from onesided_proofs.cases import promises
from onesided_proofs.cases.promises import (
    BOTH,
    FACTS,
    FULL,
    GROUPS,
    ILL,
    KINDS,
    LEAVING,
    MEMBER,
    MINOR,
    MINORS,
    PRESENCE,
    TWO,
    WIDE,
    line,
    policy_of,
    prices,
    running,
)  # fmt: skip
from onesided_proofs.tables import Row, Tables, subsets

Accounts: TypeAlias = Sequence[tuple[Policy, Mapping[str, Loss]]]
_LEAKS: Final = "two leaks at once hide no less than one"
_ALL_MINORS: Final = Tables(possible=subsets([Row("a", MINOR), Row("b", MINOR)]))
_WARD: Final = policies.custom(
    kinds=["minor", "ill", "other"],
    edges=[(a, b) for a in ("minor", "ill") for b in ("minor", "ill", "other")],
    rules=[("minor", "minor"), ("ill", "ill")],
    default="other",
)
# Kinds of the same names, of which no rule says who has them: everybody is open here.
_UNRULED: Final = policies.custom(
    kinds=["sensitive", "open"],
    edges=[("sensitive", "sensitive"), ("sensitive", "open")],
    default="open",
)


def cases() -> Iterator[Line]:
    """The sound first."""
    # For a policy that is asked about.
    addition, unbounded = policies.addition_only(), policies.unbounded()
    joint = MINORS & ILL
    for policy, own, world in (
        (BOTH, (BOTH,), TWO),
        (addition, (unbounded,), TWO),
        (unbounded, (addition,), TWO),
        (WIDE, (FULL,), TWO),
        (PRESENCE, (WIDE, FULL), TWO),
        (MINORS, (LEAVING,), KINDS),
        (MINORS, (_WARD,), FACTS),
        (LEAVING, (MINORS,), KINDS),
        (joint, (joint,), FACTS),
        (joint, (MINORS, _WARD), FACTS),
        (joint, (ILL & _WARD,), FACTS),
        (policies.graph([("a", "b")]), (BOTH,), TWO),
    ):
        accounts = _charged(own)
        yield _total(promises.stated(accounts, policy), accounts, world)
    for policy, own, world in (
        (addition, (BOTH,), TWO),
        (WIDE, (BOTH,), TWO),
        (WIDE, (addition,), GROUPS),
        (WIDE, (MEMBER,), TWO),
        (WIDE, (PRESENCE,), TWO),
        (BOTH, (MINORS,), KINDS),
        (MINORS, (ILL,), FACTS),
        (MINORS, (joint,), FACTS),
        (ILL, (joint,), FACTS),
        (BOTH, (policies.graph([("a", "b")]),), TWO),
        (MINORS, (_UNRULED,), KINDS),
    ):
        accounts = _charged(own)
        yield _total(promises.stated(accounts, policy), accounts, world, silent=True)
    yield from _together()
    yield from _unaccepted()
    yield from _deltas()
    yield from _broken()


def _together() -> Iterator[Line]:
    """For the intersection of the accounts' own policies."""
    for own, world in (
        ((MINORS, ILL), FACTS), ((MINORS, LEAVING), KINDS), ((MINORS & ILL, ILL), FACTS),
        ((BOTH, FULL), TWO),
    ):  # fmt: skip
        accounts = _charged(own)
        yield _total(promises.stated(accounts), accounts, world, "together")
        if not any(len(one.parts) > 1 for one in own):
            summed = policies.together(*accounts)
            run = running(world, *accounts)
            yield line(f"together: {_named(own)}", policy_of(summed), summed.epsilon, run)


def _unaccepted() -> Iterator[Line]:
    """Presence takes units away, which another policy may not hide; or that is accepted."""
    accounts = [(MINORS, prices(MINORS)), (PRESENCE, prices(PRESENCE, 2))]
    run = running(KINDS, *accounts)
    told = promises.stated(accounts, accept_unprotected=True)
    yield _total(told, accounts, KINDS, "accepted")
    summed = policies.together(*accounts, accept_unprotected=True)
    yield line("together: accepted", policy_of(summed), summed.epsilon, run)
    # Of minors alone, along all that presence allows: who is gone is hidden by no account of them.
    (edge,) = PRESENCE.edges
    others = policies.custom(kinds=["s", "o", "absent"], default="o", rules=[("s", "minor")],
                             edges=[("s", "s"), ("s", "o"), ("o", "absent")])  # fmt: skip
    for name, found, held in (
        ("total_guarantee", promises.stated(accounts), accounts),
        ("total_guarantee of one", promises.stated(accounts[:1], MINORS & PRESENCE), accounts[:1]),
        ("together", policies.together(*accounts), accounts),
        (
            "total_guarantee, where others leave",
            promises.stated([(others, prices(others))], others & PRESENCE),
            [(others, prices(others))],
        ),
    ):
        told_of = {e: loss for e, loss in found.epsilon.items() if "absent" not in e}
        worst = max(told_of.values())
        run = running(_ALL_MINORS, *held)
        yield line(f"{name}: not accepted", PRESENCE, {edge.name: worst}, run, silent=True)
    # Whoever leaves under presence is hidden by both of these: there is nothing to accept.
    both = [(FULL, prices(FULL)), (PRESENCE, prices(PRESENCE, 2))]
    yield _total(promises.stated(both), both, TWO, "who leaves is hidden by both")


def _deltas() -> Iterator[Line]:
    """Each account has a δ on each edge, and may come to spend more than it did."""
    accounts = [(MINORS, prices(MINORS)), (ILL, prices(ILL))]
    deltas = (Fraction(1, 8), Fraction(1, 16))
    told = promises.stated(accounts, deltas=deltas)
    yield _leaking("with δ", told, accounts, FACTS, deltas)
    full = [(FULL, prices(FULL))]
    for name, asked, worse in (
        ("on the first edge", WIDE, 0),
        ("on the last edge", WIDE, 1),
        ("on its edges", FULL, 1),
    ):
        told = promises.stated(full, asked, deltas=deltas[:1], worse=worse)
        yield _leaking(f"δ {name}", told, full, TWO, (2 * deltas[0],))
    told = promises.stated(full, deltas=deltas[:1], of="budget")
    spare = [(FULL, dict.fromkeys(prices(FULL), Fraction(9)))]
    yield _leaking("all that may be charged", told, spare, TWO, (3 * deltas[0],))


def _leaking(
    name: str, told: Guarantee, accounts: Accounts, world: Tables, deltas: Sequence[Fraction]
) -> Line:
    """Each account tells the table itself with the chance δ."""
    releases = running(world, *accounts).releases
    leaks = [promises.Leaking(one, delta) for one, delta in zip(releases, deltas, strict=True)]
    run = promises.Composed(tuple(leaks))
    made = line(f"total_guarantee, {name}", policy_of(told), told.epsilon, run, loose=_LEAKS)
    return replace(made, delta=float(max(told.delta.values())))


def _charged(own: Sequence[Policy]) -> list[tuple[Policy, dict[str, Loss]]]:
    return [(one, prices(one, 1 + 4 * at)) for at, one in enumerate(own)]


def _named(own: Sequence[Policy]) -> str:
    return ", ".join(one.name for one in own)


def _total(
    told: Guarantee, accounts: Accounts, world: Tables, how: str = "", *, silent: bool = False
) -> Line:
    name = f"total_guarantee: {_named([one for one, _ in accounts])}{how and f', {how}'}"
    run = running(world, *accounts)
    return line(name, policy_of(told), told.epsilon, run, silent=silent)


def _broken() -> Iterator[Line]:
    accounts = [(MINORS, prices(MINORS, 2)), (ILL, prices(ILL, 2))]
    joint, run = MINORS & ILL, running(FACTS, *accounts)
    told = {edge.name: Fraction(4) for edge in joint.edges}
    flaw = "the larger of two accounts in place of their sum"
    yield line("total_guarantee", joint, told, run, flaw=flaw)
    addition = policies.addition_only()
    told = {edge.name: Fraction(0) for edge in addition.edges}
    run = running(TWO, (BOTH, prices(BOTH)))
    flaw = "no edge of an account is no loss"
    yield line("total_guarantee", addition, told, run, flaw=flaw)
    flaw = "who leaves taken for one who stays"
    told = {edge.name: Fraction(1) for edge in WIDE.edges}
    yield line("total_guarantee", WIDE, told, run, flaw=flaw)
    told = {edge.name: Fraction(9) for edge in ILL.edges}
    flaw = "for all that one policy protects, in place of both"
    yield line("together", ILL, told, running(FACTS, *accounts), flaw=flaw)
