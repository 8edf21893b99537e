"""Discrete Gaussian noise: no ε holds of it, so (ε, δ) by the law that totals compose."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from onesided import accounting as acc
from onesided import policy as policies
from onesided.mechanism import GaussianCounts
from onesided.mechanism.kit import Gaussian, OneOf
from onesided.noise import IntArray, Noise
from onesided.numbers import Loss
from onesided.policy import Edge, GroupCount, Policy, Shift
from onesided.verify import Line, Universe
from onesided_proofs.cases.counts import ONE_GROUP, SINGLE, supported

_DELTA: Final = Fraction(1, 1000)
_NAME: Final = "GaussianCounts (at δ = 1/1000)"
_TOTALS: Final = "GaussianCounts (by totals)"
_MET: Final = "no ε holds of it; this much δ is met"
_BY_ORDERS: Final = "known by its divergences alone"
_TWO: Final = GroupCount(max_groups=2)
_SEEN: Final = "a price by hand"
Told = Callable[[Shift], Gaussian]


def cases() -> Iterator[Line]:
    """Every policy first, by single counts' law; totals of several; then what is priced wrongly."""
    made = GaussianCounts(1, alike=True)
    for policy, query, universe in supported():
        yield _line(made, made.steps, policy, query, universe=universe)
    whole = GaussianCounts(2, clip=True)
    for policy in (policies.bounded(), policies.unbounded()):
        yield _line(
            whole, whole.steps, policy, ONE_GROUP, universe=SINGLE, name=_TOTALS, loose=_BY_ORDERS
        )
    yield from _wrong()


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
        yield _line(run, told, policy, query, universe=universe, flaw=flaw, seen=_SEEN)


def _line(run: Any, told: Told, policy: Policy, query: GroupCount, **options: Any) -> Line:
    claims = {edge: _claim(map(told, some)) for edge, some in policy.shifts(query).items()}
    why = {} if "flaw" in options else {"loose": _MET}
    return Line(
        options.pop("name", _NAME),
        policy,
        run,
        claims,
        query=query,
        delta=float(_DELTA),
        **{**why, **options},
    )


def _claim(steps: Iterable[Gaussian]) -> Loss:
    """ε at that δ of a charge whose note tells one of these steps."""
    named = {_EDGE.name: OneOf(tuple(dict.fromkeys(steps)))}
    note = acc.steps_note(named)
    loss = acc.charge_loss(note or None, edge=_EDGE.name, epsilon=named[_EDGE.name].epsilon)
    return loss.epsilon(_DELTA)


_EDGE: Final = Edge("a", "b")


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
