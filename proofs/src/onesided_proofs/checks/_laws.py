"""The laws that mechanisms tell of their steps, against their own enumerated laws on two inputs.

The shipped code is run over all its noise on X and on Y. What it loses from X to Y, alone and
several times over, must never pass what a charge of it would be told to lose: at any ε by the law
that totals compose, at each order by the divergence that a renyi account adds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Any, Final, TypeAlias

import numpy as np

from onesided import accounting as acc
from onesided import verify
from onesided.mechanism import (
    Cumulative,
    GaussianCounts,
    GaussianSums,
    NoisyMaxQuantile,
    NoisyMaxRank,
    NoisyTopK,
    PeeledTopK,
    SeveralQuantiles,
    Sums,
)
from onesided.mechanism.histograms import Ahp, Dawa, Look, SplitHistogram, Zeroed
from onesided.mechanism.kit import Counted, Gaussian, Steps, Together, both_ways, steps_in
from onesided.mechanism.law import Counts
from onesided.numbers import INFINITE, Infinite, Loss
from onesided.policy import Shift
from onesided.session.kit import corners
from onesided_proofs.checks._samplers import Sampled

_EDGE: Final = "a -> b"
_ORDERS: Final = tuple(1 + 2**k for k in range(11))
_ROUNDED: Final = 1e-7
_MOST: Final = 4
Law: TypeAlias = dict[float, float]
Conversion: TypeAlias = Callable[[Sequence[Loss], Fraction], Loss]
Told: TypeAlias = tuple[acc.LossDistribution, Sequence[float], Loss]


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A mechanism and two inputs. tail: paths less likely than this are left out."""

    mechanism: Any
    real: tuple[int, ...]
    other: tuple[int, ...]
    tail: float = 1e-9
    steps: Callable[[Shift], Steps] | None = None

    @property
    def shift(self) -> Shift:
        """How far the counts move from the one to the other."""
        moved = [b - a for a, b in zip(self.real, self.other, strict=True)]
        return Shift(rise=sum(m for m in moved if m > 0), fall=-sum(m for m in moved if m < 0))

    @property
    def back(self) -> Subject:
        """The same, from the other input to this one."""
        more = {"tail": self.tail, "steps": self.steps}
        return Subject(mechanism=self.mechanism, real=self.other, other=self.real, **more)  # type: ignore[arg-type] # as they are

    def law(self) -> Law:
        """Each loss with its probability on the real input, both ends enumerated."""
        here, there = (self._outputs(values) for values in (self.real, self.other))
        law: Law = {}
        unseen = max(0.0, 1 - sum(there.values()))
        for output, weight in here.items():
            # All that is not seen of the other input is counted for it: the loss is no larger.
            loss = round(math.log(weight / (there.get(output, 0.0) + unseen)), 9)
            law[loss] = law.get(loss, 0.0) + weight
        return law

    def _outputs(self, values: tuple[int, ...]) -> dict[Any, float]:
        def run(noise: Any) -> Any:
            told = self.mechanism.release(np.array(values, dtype=np.int64), noise=noise)
            parts = told if isinstance(told, tuple) else (told,)
            return tuple(np.asarray(part).tobytes() for part in parts)

        found: dict[Any, float] = {}
        for output, weight in verify.paths(run, tail=self.tail, limit=10**6):
            found[output] = found.get(output, 0.0) + weight
        return found

    def told(self) -> Told:
        """What a charge of it is told to lose: its law, its divergences, its ε."""
        epsilon = self.mechanism.loss(self.shift)
        note = acc.noise_note(self.mechanism, {_EDGE: [self.shift]}, steps=self.steps)
        if not note:
            raise ValueError(self.mechanism)
        if self.steps is not None:  # a wrong law must be believed to be seen
            epsilon = steps_in(note["edges"][_EDGE]).epsilon  # type: ignore[index] # a table
        loss = acc.charge_loss(note, edge=_EDGE, epsilon=epsilon)
        charged = {"epsilon": {_EDGE: epsilon}, "delta": {_EDGE: Fraction(0)}}
        orders = acc.charge_divergences({acc.NOTE: note}, **charged)[_EDGE]
        return loss, [float(one) for one in orders], epsilon  # type: ignore[arg-type] # finite


def added(one: Law, two: Law) -> Law:
    """Both, each drawn by itself."""
    law: Law = {}
    for first, p in one.items():
        for second, q in two.items():
            loss = round(first + second, 9)
            law[loss] = law.get(loss, 0.0) + p * q
    return law


def delta(law: Law, epsilon: float) -> float:
    """δ of a law at that ε."""
    return sum(p * -math.expm1(epsilon - loss) for loss, p in law.items() if loss > epsilon)


def divergence(law: Law, order: int) -> float:
    """D_α of a law; less than it is by what was not enumerated."""
    power, top = order - 1, max(law)
    return top + math.log(sum(p * math.exp(power * (x - top)) for x, p in law.items())) / power


_HALF, _ONE = Fraction(1, 2), Fraction(1)
_PICK = NoisyMaxQuantile(Fraction(1, 8), q="1/2", candidates=2)
_PEELED = PeeledTopK(2, pick_rate="1/4", upper_rate=3, lower_rate=2)
_STEEP = PeeledTopK(2, pick_rate=4, upper_rate=3, lower_rate=1)
_LOOKED = Dawa(2, upper_rate=4, lower_rate=4, look=Look(ask_rate=2, upper_rate=5, lower_rate=5))
SUBJECTS: Final[dict[str, Subject]] = {
    "a quantile of two candidates": Subject(mechanism=_PICK, real=(2, 2), other=(2, 1)),
    "a quantile, a value that becomes another": Subject(
        mechanism=NoisyMaxQuantile(Fraction(1, 4), q="1/3", candidates=3),
        real=(1, 1, 1),
        other=(0, 1, 2),
    ),
    "a rank": Subject(
        mechanism=NoisyMaxRank(_HALF, above=1, candidates=3), real=(1, 2, 1), other=(1, 1, 1)
    ),
    "several quantiles": Subject(
        mechanism=SeveralQuantiles(_ONE, shares=["1/4", "1/2", "3/4"], candidates=3, fine=2),
        real=(1, 1, 1),
        other=(1, 1, 0),
    ),
    "the largest, picked and measured": Subject(
        mechanism=_PEELED, real=(1, 1, 1), other=(2, 0, 1), tail=1e-8
    ),
    "the largest of noisy counts": Subject(
        mechanism=NoisyTopK(1, upper_rate=1, lower_rate=2), real=(1, 1), other=(2, 0)
    ),
    "cumulative counts": Subject(
        mechanism=Cumulative(2, 1, bins=2, levels=2), real=(1, 0), other=(0, 0), tail=1e-8
    ),
    "sets of alike cells": Subject(
        mechanism=Ahp(Counts(4, 3), Counts(3, 4)), real=(1, 0), other=(0, 0), tail=1e-8
    ),
    "runs of alike cells": Subject(
        mechanism=Dawa(2, upper_rate=4, lower_rate=3), real=(1, 0), other=(0, 0), tail=1e-8
    ),
    "runs of alike cells, after a look": Subject(
        mechanism=_LOOKED, real=(2, 0), other=(1, 0), tail=1e-7
    ),
}


@dataclass(frozen=True)
class _OfBoth:
    """What counts some records, and open ones beside: values are the former, then the latter."""

    made: Zeroed | SplitHistogram

    def release(self, values: Any, *, noise: Any) -> Any:
        """Of both halves."""
        half = len(values) // 2
        return self.made.release(values[:half], values[half:], noise=noise)

    def loss(self, shift: Shift) -> Fraction:
        """Nobody asks: the steps say it."""
        return Fraction(shift.rise)

    def steps(self, shift: Shift) -> Steps:
        """The first half falls, and open counts rise, as far as the values do."""
        return self.made.steps(Shift(rise=0, fall=shift.fall), Shift(rise=shift.rise, fall=0))

    def second(self, shift: Shift) -> Steps:
        """Without what the open counts lose."""
        return self.steps(shift).steps[1]  # type: ignore[union-attr] # together

    def measured(self, shift: Shift) -> Steps:
        """Nor what learning does, which with one cell left is nothing."""
        return self.second(shift).steps[1]  # type: ignore[union-attr] # together


_BY_ZEROS: Final = _OfBoth(Zeroed(SUBJECTS["sets of alike cells"].mechanism, open_rate=3))
_SPLIT: Final = _OfBoth(SplitHistogram(3, 2, open_rate=3))
# One way alone: back, an open count would fall.
_ONE_WAY: Final = {
    "sets of alike cells, with zeros where no open record seems to be": Subject(
        mechanism=_BY_ZEROS, real=(1, 0, 1, 0), other=(0, 0, 1, 1), tail=1e-7, steps=_BY_ZEROS.steps
    ),
    "sensitive and open records apart": Subject(
        mechanism=_SPLIT, real=(1, 0), other=(0, 1), steps=_SPLIT.steps
    ),
}


@dataclass(frozen=True)
class _Measured:
    """Sums of a strategy that move by one of two shifts, or between them."""

    made: Sums
    ends: tuple[Shift, Shift]

    def release(self, values: Any, *, noise: Any) -> Any:
        """The sums that are measured."""
        return self.made.release(values, noise=noise)

    def loss(self, shift: Shift) -> Loss:
        """Nobody asks: the steps say it."""
        return self.made.loss(shift)

    def steps(self, _: Shift) -> Steps:
        """As linear answers tell them."""
        return corners(self.ends, self.made.upper_rate, self.made.lower_rate)

    def far(self, _: Shift) -> Steps:
        """The law of the corner that loses most, whichever way a move goes."""
        found = (Counted(self.made.upper_rate, self.made.lower_rate, end) for end in self.ends)
        return max(found, key=lambda one: one.epsilon)


_HULL: Final = _Measured(Sums(2, 1), (Shift(rise=2, fall=0), Shift(rise=0, fall=2)))
_CORNERS: Final = {
    f"linear answers, {where}": Subject(
        mechanism=_HULL, real=real, other=other, tail=1e-8, steps=_HULL.steps
    )
    for where, real, other in (
        ("at a corner of their shifts", (0, 0), (2, 0)),
        ("at the other corner", (2, 0), (0, 0)),
        ("between two corners", (0, 1), (1, 0)),
    )
}


def _gaussian(variance: str, *, alike: bool, real: str, other: str) -> Subject:
    made = GaussianCounts(variance, alike=alike)
    ends = (tuple(map(int, some)) for some in (real, other))
    return Subject(mechanism=made, real=next(ends), other=next(ends), tail=1e-11)


ENDLESS: Final = {
    "Gaussian noise, a count falls": _gaussian("2", alike=True, real="1", other="0"),
    "Gaussian noise, a count rises": _gaussian("1/2", alike=True, real="0", other="1"),
    "Gaussian noise, one for another": _gaussian("3", alike=True, real="10", other="01"),
    "Gaussian noise, three counts fall": _gaussian("4/3", alike=True, real="111", other="000"),
    "Gaussian noise, a count falls by three": _gaussian("5", alike=False, real="3", other="0"),
    "Gaussian noise, by totals": _gaussian("4", alike=False, real="21", other="03"),
    "Gaussian noise, sums below 0": Subject(
        mechanism=GaussianSums("7/2"),
        real=(-2, 1),
        other=(0, -1),
        steps=lambda _: Gaussian(Fraction(7, 2), 8),
        tail=1e-11,
    ),
}


def laws_checks(name: str) -> Iterator[Sampled]:
    """Each mechanism's law both ways, several together, and laws that are wrong in one way each."""
    seen = {subject: (one.law(), one.told()) for subject, one in _both().items()}
    for subject, (law, told) in seen.items():
        yield Sampled(name, f"law: {subject}", _over(law, told))
    for subject, one in (_ONE_WAY | _CORNERS | ENDLESS).items():
        yield Sampled(name, f"law: {subject}", _over(one.law(), one.told()))
    yield Sampled(name, "law: four together, of every kind", _together_fault(list(seen.values())))
    apart = [(one.law(), one.told()) for one in ENDLESS.values()]
    fault = _together_fault([*apart, *seen.values()])
    yield Sampled(name, "law: four together, Gaussian noise among them", fault)
    yield Sampled(name, "law: how near", _near_fault())
    (law, told), *_ = seen.values()
    free = _converted(law, told[1], lambda orders, _: min(orders))
    yield Sampled(name, "law: divergences converted at no cost", free, sound=False)
    for subject, wrong in _WRONG.items():
        fault = _over(wrong.law(), wrong.told())
        yield Sampled(name, f"law: {subject}", fault, sound=False)


def _both() -> dict[str, Subject]:
    back = {f"{subject}, back": one.back for subject, one in SUBJECTS.items()}
    return SUBJECTS | back


def _over(law: Law, told: Told) -> str:
    """What the enumerated law loses beyond the one that is told."""
    loss, orders, epsilon = told
    most_lost = loss.epsilon("1/1000000") if isinstance(epsilon, Infinite) else epsilon
    for place in range(-8, 9):
        at = Fraction(place, 8) * Fraction(most_lost)  # type: ignore[arg-type] # finite
        found, due = delta(law, float(at)), float(loss.delta(at))
        if found > due + _ROUNDED:
            return f"δ = {found:.6g} at ε = {float(at):.4g}, told {due:.6g}"
    for order, most in zip(_ORDERS, orders, strict=True):
        found = divergence(law, order)
        if found > most + _ROUNDED:
            return f"a divergence of {found:.6g} at order {order}, told {most:.6g}"
    return _converted(law, orders)


def _converted(law: Law, orders: Sequence[float], by: Conversion = acc.by_orders) -> str:
    """What the enumerated law loses beyond what its divergences leave at a δ."""
    told = [INFINITE if math.isinf(one) else Fraction(one) for one in orders]
    for allowed in (Fraction(1, 10**6), Fraction(1, 100), Fraction(1, 5)):
        at = by(told, allowed)
        found = 0.0 if isinstance(at, Infinite) else delta(law, float(at))
        if found > float(allowed) + _ROUNDED:
            return f"δ = {found:.6g} at ε = {float(at):.4g}, told {float(allowed):.6g}"  # type: ignore[arg-type] # finite
    return ""


def _together_fault(seen: Sequence[tuple[Law, Told]]) -> str:
    """Rows of four, so that each kind stands beside others."""
    small = [(law, told) for law, told in seen if len(law) <= 64]
    for first in range(len(small)):
        some = [small[(first + 3 * place) % len(small)] for place in range(_MOST)]
        law = reduce(added, (one for one, _ in some))
        loss = acc.total_loss([told[0] for _, told in some])
        orders = [sum(at) for at in zip(*(told[1] for _, told in some), strict=True)]
        fault = _over(law, (loss, orders, sum((told[2] for _, told in some), Fraction(0))))
        if fault:
            return fault
    return ""


def _near_fault() -> str:
    """A hundred even choices: what is told is within 5 % of what they lose."""
    subject = Subject(
        mechanism=NoisyMaxQuantile(Fraction(1, 200), q="1/2", candidates=2),
        real=(2, 2),
        other=(2, 1),
    )
    law, (loss, _, _) = subject.law(), subject.told()
    several, told = law, loss.times(64)
    for _ in range(6):
        several = added(several, several)
    least = told.epsilon("1/1000000")
    low, high = 0.0, float(least)  # type: ignore[arg-type] # finite
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if delta(several, middle) <= 1e-6 else (middle, high)
    share = float(least) / high  # type: ignore[arg-type] # finite
    return "" if 1 - 1e-6 <= share <= 1.05 else f"told {share:.4f} times what 64 choices lose"


def _gumbel(shift: Shift) -> Steps:
    """Of the exponential mechanism at half the rate, whose losses lie in a range half as wide."""
    return both_ways(_PICK.loss(shift) * _HALF)


def _once(shift: Shift) -> Steps:
    """One round of picks in place of two."""
    picks, counts = _STEEP.steps(shift).steps
    return Together((*picks.steps, counts))  # type: ignore[union-attr] # rounds


def _unlearnt(shift: Shift) -> Steps:
    """Totals alone: the partition that they were measured on is published, too."""
    return SUBJECTS["runs of alike cells"].mechanism.steps(shift).steps[1]  # type: ignore[no-any-return]


def _priced(variance: int, squares: int) -> Callable[[Shift], Steps]:
    return lambda _: Gaussian(Fraction(variance), squares)


_WRONG: Final[dict[str, Subject]] = {
    "Gaussian noise at twice its variance": replace(
        ENDLESS["Gaussian noise, a count falls"], steps=_priced(4, 1)
    ),
    "Gaussian noise, L2 of counts that move by 1 for one that moves by 3": replace(
        ENDLESS["Gaussian noise, a count falls by three"], steps=_priced(5, 3)
    ),
    "Gaussian noise, what rises folded into what falls": replace(
        ENDLESS["Gaussian noise, one for another"], steps=_priced(3, 1)
    ),
    "Gaussian noise, the longer of two sums for both": replace(
        ENDLESS["Gaussian noise, sums below 0"], steps=lambda _: Gaussian(Fraction(7, 2), 4)
    ),
    "linear answers, between two corners by the one that loses most": replace(
        _CORNERS["linear answers, between two corners"], steps=_HULL.far
    ),
    "zeros that cost nothing": replace(
        _ONE_WAY["sets of alike cells, with zeros where no open record seems to be"],
        steps=_BY_ZEROS.measured,
    ),
    "open records that cost nothing": replace(
        _ONE_WAY["sensitive and open records apart"], steps=_SPLIT.second
    ),
    "permute and flip priced as the exponential mechanism": Subject(
        mechanism=_PICK, real=(2, 2), other=(2, 1), steps=_gumbel
    ),
    "rounds of picks counted once": Subject(
        mechanism=_STEEP, real=(0, 0, 0, 0), other=(1, 1, 0, 0), tail=1e-7, steps=_once
    ),
    "a partition that costs nothing": Subject(
        mechanism=SUBJECTS["runs of alike cells"].mechanism,
        real=(1, 0),
        other=(0, 0),
        tail=1e-8,
        steps=_unlearnt,
    ),
}
