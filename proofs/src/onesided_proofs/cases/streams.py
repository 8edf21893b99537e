"""Persistent samples along every move of whole histories; and broken ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product

from onesided import policy as policies
from onesided.mechanism import Counts, PersistentSample
from onesided.mechanism.kit import samples_for
from onesided.numbers import Loss
from onesided.policy import GroupCount, Policy, Record
from onesided.session.kit import free_sample
from onesided.verify import Line, Universe, losses_of, program
from onesided_proofs.zoo import streams as zoo

_PRIVATE = policies.sensitive("private")
_EXTENDED = policies.extended_sensitive("private")
_MAP = policies.sensitive_presence("private", max_groups=1)
_R = Fraction(1, 8)
# From which letter of a month to which a move may lead, beside itself.
_MOVES = {
    "sensitive": {"s": "so"},
    "extended_sensitive": {"s": "-", "-": "so"},
    "sensitive_presence": {"s": "so-"},
}
Price = Callable[[str, str], Loss]


def cases() -> Iterator[Line]:
    """The sound first."""
    stays = PersistentSample.for_policy(_PRIVATE, epsilon=4)
    yield _line(stays, _PRIVATE, partial(zoo.told, sample=stays), kept=True)
    two = Universe(units=2, ordered=True)
    yield _line(stays, _PRIVATE, partial(zoo.told, sample=stays), kept=True, length=2, world=two)
    extended = PersistentSample.for_policy(_EXTENDED, epsilon=1)
    yield _line(extended, _EXTENDED, partial(zoo.told, sample=extended), kept=True)
    for epsilon in (4, 1):
        leaving = PersistentSample.for_policy(_PRIVATE, epsilon=epsilon, attrition=_R)
        yield _line(leaving, _PRIVATE, partial(zoo.told, sample=leaving))
    yield _line(leaving, _PRIVATE, partial(zoo.told, sample=leaving), length=2, world=two)
    panel = PersistentSample.for_policy(_EXTENDED, epsilon=1, attrition=_R)
    yield _line(panel, _EXTENDED, partial(zoo.told, sample=panel))
    fewer = PersistentSample.for_policy(_MAP, epsilon=1)
    yield _line(fewer, _MAP, partial(zoo.told, sample=fewer), kept=True)
    leaving_map = PersistentSample.for_policy(_MAP, epsilon=1, attrition=_R)
    yield _line(leaving_map, _MAP, partial(zoo.told, sample=leaving_map))
    streams = partial(zoo.two_streams, sample=stays)
    yield _line(stays, _PRIVATE, streams, name="two streams", length=2, price=_each(4))
    yield from _free()
    yield from _broken(stays, leaving, panel)


def _free() -> Iterator[Line]:
    """What counts of protected units leave of an edge buys true rows of open ones."""
    query = GroupCount(max_groups=1, counted=frozenset({"sensitive"}))
    counts = Counts.for_policy(_PRIVATE, epsilon=7, max_groups=1, counted=["sensitive"])
    losses = losses_of(counts, _PRIVATE, query)
    spent = {edge.name: Fraction(str(loss)) for edge, loss in losses.items()}
    sample = samples_for(_PRIVATE, epsilon=free_sample(_PRIVATE, spent))
    world = Universe(units=2, max_groups=1)
    for times in (1, 2):
        run = partial(zoo.with_free_sample, counts=counts, samples=(sample,) * times)
        flaw = "" if times == 1 else "the free sample taken twice"
        seen = "" if times == 1 else "what is free, for the asking"
        yield program(
            "Counts and the free sample", run, _PRIVATE, 7, universe=world, flaw=flaw, seen=seen,
            tail=1e-13, unseen=1e-3,
        )  # fmt: skip


def _broken(
    stays: PersistentSample, leaving: PersistentSample, panel: PersistentSample
) -> Iterator[Line]:
    today = "samples made anew from a hash of the id"
    for flaw, run, seen in (
        ("a fresh coin each month", zoo.fresh_each_month, "a sample for each month's release"),
        ("a coin redrawn at a change of kind", zoo.redrawn_at_a_change, "a cache that is cleared"),
    ):
        wrong = partial(run, sample=stays)
        yield _line(stays, _PRIVATE, wrong, kept=True, flaw=flaw, seen=seen)
    for flaw, run in (
        ("who left comes back", zoo.coming_back),
        ("the kind of today decides", zoo.kind_of_today),
    ):
        wrong = partial(run, sample=leaving)
        yield _line(leaving, _PRIVATE, wrong, flaw=flaw, seen=today)
    late = partial(zoo.coming_late, sample=panel)
    seen = "panels that are refreshed"
    yield _line(panel, _EXTENDED, late, flaw="entering late where absence is a kind", seen=seen)
    unmoved = partial(zoo.told, sample=replace(panel, absence=False))
    flaw = "absence does not end it where it is a kind"
    yield _line(panel, _EXTENDED, unmoved, flaw=flaw, seen=today)
    fewer = PersistentSample.for_policy(_MAP, epsilon=1)
    late = partial(zoo.told, sample=replace(fewer, absence=False))
    flaw = "entering late where a move takes a unit out of the table"
    yield _line(fewer, _MAP, late, kept=True, flaw=flaw, seen=seen)
    alone = partial(zoo.told, sample=stays)
    yield _line(stays, _PRIVATE, alone, flaw="a change of kind promised without attrition",
                seen="panels", price=_each(4))  # fmt: skip
    shared = partial(zoo.two_streams, sample=stays, shared=True)
    yield _line(stays, _PRIVATE, shared, name="two streams", length=2, price=_each(4),
                flaw="a key shared by two streams", seen="one salt for all tables")  # fmt: skip


def _line(
    sample: PersistentSample,
    policy: Policy,
    run: Callable[..., object],
    *,
    kept: bool = False,
    length: int = 3,
    price: Price | None = None,
    world: Universe | None = None,
    name: str = "PersistentSample",
    flaw: str = "",
    seen: str = "",
) -> Line:
    """Every move between histories of some months, at the loss of the edges that it takes.

    kept: only from histories that are never open when they are first met.
    """
    away = any("absent" in way for edge in policy.edges for way in policy.ways(edge))
    letters = "so-" if away else "so"
    histories = ["".join(one) for one in product(letters, repeat=length)]
    moves = _MOVES[policy.name]
    pairs = [
        (real, other)
        for real, other in product(histories, repeat=2)
        if real != other
        and all(b == a or b in moves.get(a, "") for a, b in zip(real, other, strict=True))
        and not (kept and real.lstrip("-")[:1] == "o")
    ]
    told = policies.custom(kinds=histories, edges=pairs, default=histories[0])
    losses = price or partial(_priced, sample.loss(policy), policy)
    claims = {edge: losses(*told.ends(edge)) for edge in told.edges}
    values = tuple(Record(one, frozenset()) for one in histories)
    return Line(
        name if name != "PersistentSample" else f"{name}{_named(sample)}",
        told,
        run,
        claims,
        universe=replace(world or Universe(units=1), values=values),
        flaw=flaw,
        seen=seen,
    )


def _named(sample: PersistentSample) -> str:
    return "" if sample.attrition is None else f", attrition {sample.attrition}"


def _priced(loss: dict[str, Loss], policy: Policy, real: str, other: str) -> Loss:
    """The largest loss of the policy's edges that the months take."""
    words = {"s": "sensitive", "o": "open", "-": "absent"}
    found: Loss = Fraction(0)
    for edge in policy.edges:
        ways = policy.ways(edge)
        taken = any(
            (words[a], words[b]) in ways for a, b in zip(real, other, strict=True) if a != b
        )
        found = max(found, loss[edge.name] if taken else Fraction(0))
    return found


def _each(epsilon: int) -> Price:
    """ε for each table in which an open unit takes a sensitive one's place."""
    return lambda real, other: Fraction(
        epsilon * sum(a == "s" and b == "o" for a, b in zip(real, other, strict=True))
    )
