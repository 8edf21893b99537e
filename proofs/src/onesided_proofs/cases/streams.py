"""Persistent samples along every move of whole histories; and broken ones.

A record's kind is its history: "so" was sensitive in the first month and open in the second; "-"
stands for a month in which it was not there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from onesided import policy as policies
from onesided.mechanism import Counts, PersistentSample, RecordSample
from onesided.mechanism.kit import samples_for
from onesided.noise import Noise
from onesided.numbers import Loss
from onesided.policy import GroupCount, Policy, Record
from onesided.session.kit import free_sample
from onesided.verify import Data, Line, Universe, losses_of, program
from onesided_proofs.cases.samples import groups, kept_records

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
    yield _line(stays, _PRIVATE, partial(told, sample=stays), kept=True)
    two = Universe(units=2, ordered=True)
    yield _line(stays, _PRIVATE, partial(told, sample=stays), kept=True, length=2, world=two)
    extended = PersistentSample.for_policy(_EXTENDED, epsilon=1)
    yield _line(extended, _EXTENDED, partial(told, sample=extended), kept=True)
    for epsilon in (4, 1):
        leaving = PersistentSample.for_policy(_PRIVATE, epsilon=epsilon, attrition=_R)
        yield _line(leaving, _PRIVATE, partial(told, sample=leaving))
    yield _line(leaving, _PRIVATE, partial(told, sample=leaving), length=2, world=two)
    panel = PersistentSample.for_policy(_EXTENDED, epsilon=1, attrition=_R)
    yield _line(panel, _EXTENDED, partial(told, sample=panel))
    fewer = PersistentSample.for_policy(_MAP, epsilon=1)
    yield _line(fewer, _MAP, partial(told, sample=fewer), kept=True)
    leaving_map = PersistentSample.for_policy(_MAP, epsilon=1, attrition=_R)
    yield _line(leaving_map, _MAP, partial(told, sample=leaving_map))
    streams = partial(two_streams, sample=stays)
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
        run = partial(with_free_sample, counts=counts, samples=(sample,) * times)
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
        ("a fresh coin each month", fresh_each_month, "a sample for each month's release"),
        ("a coin redrawn at a change of kind", redrawn_at_a_change, "a cache that is cleared"),
    ):
        wrong = partial(run, sample=stays)
        yield _line(stays, _PRIVATE, wrong, kept=True, flaw=flaw, seen=seen)
    for flaw, run in (
        ("who left comes back", coming_back),
        ("the kind of today decides", kind_of_today),
    ):
        wrong = partial(run, sample=leaving)
        yield _line(leaving, _PRIVATE, wrong, flaw=flaw, seen=today)
    late = partial(coming_late, sample=panel)
    seen = "panels that are refreshed"
    yield _line(panel, _EXTENDED, late, flaw="entering late where absence is a kind", seen=seen)
    unmoved = partial(told, sample=replace(panel, absence=False))
    flaw = "absence does not end it where it is a kind"
    yield _line(panel, _EXTENDED, unmoved, flaw=flaw, seen=today)
    fewer = PersistentSample.for_policy(_MAP, epsilon=1)
    late = partial(told, sample=replace(fewer, absence=False))
    flaw = "entering late where a move takes a unit out of the table"
    yield _line(fewer, _MAP, late, kept=True, flaw=flaw, seen=seen)
    alone = partial(told, sample=stays)
    yield _line(stays, _PRIVATE, alone, flaw="a change of kind promised without attrition",
                seen="panels", price=_each(4))  # fmt: skip
    shared = partial(two_streams, sample=stays, shared=True)
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
    history = policies.custom(kinds=histories, edges=pairs, default=histories[0])
    losses = price or partial(_priced, sample.loss(policy), policy)
    claims = {edge: losses(*history.ends(edge)) for edge in history.edges}
    values = tuple(Record(one, frozenset()) for one in histories)
    return Line(
        name if name != "PersistentSample" else f"{name}{_suffix(sample)}",
        history,
        run,
        claims,
        universe=replace(world or Universe(units=1), values=values),
        flaw=flaw,
        seen=seen,
    )


def _suffix(sample: PersistentSample) -> str:
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


Shown = tuple[tuple[int, ...], ...]
KINDS = {"s": "sensitive", "o": "open"}


class Remembered:
    """Coins drawn from the verifier's noise when they are first asked for."""

    def __init__(self, noise: Noise) -> None:
        self._noise = noise
        self._drawn: dict[Any, bool] = {}

    def keeps(self, rate: Loss, unit: bytes) -> bool:
        """The unit's one coin."""
        if unit not in self._drawn:
            self._drawn[unit] = not self._noise.bernoulli_exp(rate, 1)[0]
        return self._drawn[unit]

    def leaves(self, chance: Fraction, unit: bytes, month: int) -> bool:
        """The unit's coin of that month."""
        if (unit, month) not in self._drawn:
            self._drawn[unit, month] = bool(self._noise.bernoulli(chance, 1)[0])
        return self._drawn[unit, month]

    def forget(self, unit: bytes) -> None:
        """Its coin falls again: what no stream may do."""
        self._drawn.pop(unit, None)


def months(data: Data) -> list[dict[bytes, str]]:
    """Month by month, the kinds of the units that are there."""
    histories = [(bytes([place]), record.kind) for place, record in enumerate(data)]
    length = len(data[0].kind)
    return [
        {unit: KINDS[told[month]] for unit, told in histories if told[month] != "-"}
        for month in range(length)
    ]


def told(data: Data, noise: Noise, *, sample: PersistentSample) -> Shown:
    """Right: one coin for each unit, and memory of who was met and who left."""
    coins, inside = Remembered(noise), dict[bytes, bool]()
    shown = []
    for month, kinds in enumerate(months(data), 1):
        inside |= sample.step(inside, kinds, month, coins)
        shown.append(_named(sample.shown(inside, kinds)))
    return tuple(shown)


def fresh_each_month(data: Data, noise: Noise, *, sample: PersistentSample) -> Shown:
    """A new coin for everybody, every month."""
    parts = []
    for kinds in months(data):
        inside = sample.step({}, kinds, 1, Remembered(noise))
        parts.append(_named(sample.shown(inside, kinds)))
    return tuple(parts)


def redrawn_at_a_change(data: Data, noise: Noise, *, sample: PersistentSample) -> Shown:
    """A unit whose kind changed is met anew, with another coin."""
    coins, inside, before = Remembered(noise), dict[bytes, bool](), dict[bytes, str]()
    shown = []
    for kinds in months(data):
        for unit, kind in kinds.items():
            if before.get(unit, kind) != kind:
                inside.pop(unit, None)
                coins.forget(unit)
        inside |= sample.step(inside, kinds, 1, coins)
        shown.append(_named(sample.shown(inside, kinds)))
        before |= kinds
    return tuple(shown)


def coming_back(data: Data, noise: Noise, *, sample: PersistentSample) -> Shown:
    """Who left may come back: each month hides a unit by its own coin, and open units are shown."""
    coins, shown = Remembered(noise), []
    first = months(data)[0]
    entered = sample.step({}, first, 1, coins)
    for month, kinds in enumerate(months(data), 1):
        inside = {unit: entered.get(unit, False) for unit in kinds}
        if month > 1:
            inside |= sample.step(inside, kinds, month, coins)
        shown.append(_named(sample.shown(inside, kinds)))
    return tuple(shown)


def coming_late(data: Data, noise: Noise, *, sample: PersistentSample) -> Shown:
    """Units that were not there in the first month may enter later, though absence is a kind."""
    coins, inside, shown = Remembered(noise), dict[bytes, bool](), []
    for month, kinds in enumerate(months(data), 1):
        late = {unit: kind for unit, kind in kinds.items() if unit not in inside}
        inside |= sample.step(inside, kinds, month, coins) | sample.step({}, late, 1, coins)
        shown.append(_named(sample.shown(inside, kinds)))
    return tuple(shown)


def kind_of_today(data: Data, noise: Noise, *, sample: PersistentSample) -> Shown:
    """One coin for ever, and no memory: whoever is open this month and has the coin is shown."""
    coins, alone = Remembered(noise), replace(sample, attrition=None)
    parts = []
    for kinds in months(data):
        inside = alone.step({}, kinds, 1, coins)
        parts.append(_named(alone.shown(inside, kinds)))
    return tuple(parts)


def two_streams(
    data: Data, noise: Noise, *, sample: PersistentSample, shared: bool = False
) -> Shown:
    """Each letter of a history is another table, with a stream of its own; right unless shared."""
    one = Remembered(noise)
    parts = []
    for kinds in months(data):
        coins = one if shared else Remembered(noise)
        parts.append(_named(sample.shown(sample.step({}, kinds, 1, coins), kinds)))
    return tuple(parts)


def with_free_sample(
    data: Data, noise: Noise, *, counts: Counts, samples: Sequence[Mapping[str, RecordSample]]
) -> tuple[Any, ...]:
    """Noisy counts of the protected units, and samples of the open ones; right with one of them."""
    true = [sum(r.kind != "open" and g in groups(r) for r in data) for g in ("a", "b")]
    noisy = counts.release(np.array(true), noise=noise).tolist()
    return (*noisy, *(kept_records(data, noise, samples=one) for one in samples))


def _named(units: list[bytes]) -> tuple[int, ...]:
    return tuple(sorted(unit[0] for unit in units))
