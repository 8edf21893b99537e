"""How the loss along one direction is distributed, and how it adds up over releases.

For real data X that must pass as Y, the privacy loss is ``L(o) = ln Pr[M(X) = o] / Pr[M(Y) = o]``
at an output o *of X*; it is +infinity where Y cannot give o. Then

    δ(ε) = sup_S Pr[M(X) in S] - e^ε Pr[M(Y) in S] = E[max(0, 1 - e^(ε - L))]

and for several releases the losses add up independently. The way back, Y passing as X, has a
distribution of its own; nothing here joins the two.

Everything is kept in whole numbers: a probability is a multiple of 2^-128 rounded up, a loss lies
on a grid of exact fractions and is only ever rounded up. So δ is never below the exact value, by
construction and without an error analysis of floating point.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from onesided._numbers import INFINITE, Loss, Number, exact, probability, whole
from onesided.bounds.kit import exp_neg, short_up
from onesided.errors import ParameterError

BITS: Final = 128
UNIT: Final = 2**BITS
# More points than this and the grid is made coarser, losses rounding up.
MOST_POINTS: Final = 8192


@dataclass(frozen=True, slots=True)
class LossDistribution:
    """The loss of one or more releases along one direction, never below the truth.

    ``masses[i]`` is the probability (in multiples of 2^-128, rounded up) that the loss is
    ``start + i * step``; ``infinite`` that it is infinite. Make one with the functions of
    ``onesided.accounting``; add releases with ``+`` and repeat one with ``times``.

    >>> from onesided.accounting import two_way_loss
    >>> one = two_way_loss("1/2", "1/2")
    >>> (one + one).largest, one.times(3).largest
    (Fraction(1, 1), Fraction(3, 2))
    >>> one.delta("1/2"), one.epsilon(0)
    (Fraction(0, 1), Fraction(1, 2))
    """

    start: Fraction
    step: Fraction
    masses: tuple[int, ...]
    infinite: int

    def __add__(self, other: LossDistribution) -> LossDistribution:
        """Both releases: losses add up, each drawn on its own."""
        one, two = _on_one_grid(self, other)
        mine, theirs = sum(one.masses), sum(two.masses)
        lost = one.infinite * (theirs + two.infinite) + mine * two.infinite
        masses = tuple(_down(v) for v in _convolve(one.masses, two.masses))
        return _trimmed(one.start + two.start, one.step, masses, min(_down(lost), UNIT))

    def times(self, count: int) -> LossDistribution:
        """``count`` independent releases of this kind."""
        left = whole(count, name="count", least=1, most=10**6)
        total: LossDistribution | None = None
        power = self
        while left:
            if left % 2:
                total = power if total is None else total + power
            left //= 2
            power = power + power if left else power
        return self if total is None else total

    @property
    def largest(self) -> Loss:
        """The largest loss that can happen."""
        return INFINITE if self.infinite else self.start + self.step * (len(self.masses) - 1)

    def delta(self, epsilon: Number) -> Fraction:
        """The least δ at ``epsilon`` in this direction, rounded up; ``epsilon`` may be negative."""
        limit = exact(epsilon, name="epsilon")
        first = self._first_above(limit)
        above = self.masses[first:]
        if not above:
            return Fraction(min(self.infinite, UNIT), UNIT)
        decay = math.floor(exp_neg(self.step)[0] * UNIT)
        returned = 0
        for mass in reversed(above):
            returned = mass + (returned * decay >> BITS)
        gap = self.start + first * self.step - limit
        hidden = math.floor(exp_neg(gap)[0] * returned)
        return short_up(Fraction(min(UNIT, self.infinite + sum(above) - hidden), UNIT))

    def epsilon(self, delta: Number) -> Loss:
        """An ε >= 0 at which :meth:`delta` is at most ``delta``; INFINITE if there is none.

        Above the least such ε of this distribution by at most one part in 2^40 of its largest loss.
        """
        allowed = probability(delta, name="delta")
        if Fraction(self.infinite, UNIT) > allowed:
            return INFINITE
        low, high = Fraction(0), max(Fraction(0), self._top)
        if self.delta(0) <= allowed:
            return low
        tick = high / 2**40
        while high - low > tick:
            middle = (low + high) / 2
            low, high = (low, middle) if self.delta(middle) <= allowed else (middle, high)
        return high

    @property
    def _top(self) -> Fraction:
        return self.start + self.step * (len(self.masses) - 1)

    def _first_above(self, limit: Fraction) -> int:
        """The index of the first loss above ``limit``."""
        if limit < self.start:
            return 0
        return len(self.masses) if self.step == 0 else int((limit - self.start) / self.step) + 1


def from_losses(masses: dict[Fraction, Fraction], infinite: Fraction) -> LossDistribution:
    """From upper bounds of the probability of each loss.

    Errors: ParameterError if there is nothing in it.
    """
    if not masses and not infinite:
        raise ParameterError("A loss distribution needs at least one loss.", hint="Give one.")
    if not masses:
        return LossDistribution(Fraction(0), Fraction(0), (), _up(infinite))
    losses = sorted(masses)
    start = losses[0]
    step = _gcd([loss - start for loss in losses])
    step = max(step, (losses[-1] - start) / (MOST_POINTS - 1))
    cells = [0] * (_ceil((losses[-1] - start) / step) + 1 if step else 1)
    for loss in losses:
        cells[_ceil((loss - start) / step) if step else 0] += _up(masses[loss])
    return _trimmed(start, step, tuple(cells), _up(infinite))


def worst_of(choices: Sequence[LossDistribution]) -> LossDistribution:
    """One distribution whose loss is at least as large as that of each choice.

    For an edge along which several shifts are possible: at each level the largest probability of
    losing at least that much. Errors: ParameterError for no choices.

    >>> from onesided.accounting import certain_loss
    >>> worst_of([certain_loss(1), certain_loss(3)]).largest
    Fraction(3, 1)
    """
    if not choices:
        raise ParameterError("There is nothing to choose from.", hint="Give at least one.")
    best = choices[0]
    for other in choices[1:]:
        best = _worse(best, other)
    return best


def _worse(one: LossDistribution, two: LossDistribution) -> LossDistribution:
    levels = sorted({*_points(one), *_points(two)})
    if not levels:
        return one if one.infinite >= two.infinite else two
    above = max(one.infinite, two.infinite)
    masses: dict[Fraction, Fraction] = {}
    lost = Fraction(above, UNIT)
    tails = [_tails(one, levels), _tails(two, levels)]
    for level, mine, theirs in zip(reversed(levels), *map(reversed, tails), strict=True):
        reached = max(mine, theirs)
        if reached > above:
            masses[level] = Fraction(reached - above, UNIT)
            above = reached
    return from_losses(masses or {levels[0]: Fraction(0)}, lost)


def _points(one: LossDistribution) -> list[Fraction]:
    return [one.start + i * one.step for i, mass in enumerate(one.masses) if mass]


def _tails(one: LossDistribution, levels: Sequence[Fraction]) -> list[int]:
    """The probability of losing at least each level, infinity included."""
    mass = dict(zip(_points(one), [m for m in one.masses if m], strict=True))
    tails, total = [], one.infinite
    for level in reversed(levels):
        total += mass.get(level, 0)
        tails.append(total)
    return tails[::-1]


def _on_one_grid(
    one: LossDistribution, two: LossDistribution
) -> tuple[LossDistribution, LossDistribution]:
    """Both with the same step, made coarser if the sum would have too many points."""
    step = _gcd([one.step, two.step])
    spread = sum((x.step * max(0, len(x.masses) - 1) for x in (one, two)), Fraction(0))
    if step:
        step = max(step, spread / (MOST_POINTS - 2))
    return _regrid(one, step), _regrid(two, step)


def _regrid(one: LossDistribution, step: Fraction) -> LossDistribution:
    """The same losses on another grid, rounded up to it."""
    if len(one.masses) < 2 or one.step == step:
        return LossDistribution(one.start, step, one.masses, one.infinite)
    cells = [0] * (_ceil((len(one.masses) - 1) * one.step / step) + 1)
    for i, mass in enumerate(one.masses):
        if mass:
            cells[_ceil(i * one.step / step)] += mass
    return LossDistribution(one.start, step, tuple(cells), one.infinite)


def _trimmed(
    start: Fraction, step: Fraction, masses: tuple[int, ...], infinite: int
) -> LossDistribution:
    """Without empty cells at either end."""
    used = [i for i, mass in enumerate(masses) if mass]
    if not used:
        return LossDistribution(start, Fraction(0), (), infinite)
    kept = masses[used[0] : used[-1] + 1]
    return LossDistribution(start + used[0] * step, step, kept, infinite)


def _convolve(one: Sequence[int], two: Sequence[int]) -> list[int]:
    """The exact product of two polynomials, as one product of two very long whole numbers."""
    if not one or not two:
        return []
    size = (2 * BITS + min(len(one), len(two)).bit_length() + 2 + 7) // 8
    product = _packed(one, size) * _packed(two, size)
    count = len(one) + len(two) - 1
    raw = product.to_bytes(size * count + size, "little")
    return [int.from_bytes(raw[i * size : (i + 1) * size], "little") for i in range(count)]


def _packed(values: Sequence[int], size: int) -> int:
    return int.from_bytes(b"".join(v.to_bytes(size, "little") for v in values), "little")


def _gcd(numbers: Sequence[Fraction]) -> Fraction:
    """The largest fraction of which all are whole multiples; 0 for zeros."""
    found = Fraction(0)
    for number in numbers:
        bottom = found.denominator * number.denominator
        top = math.gcd(found.numerator * number.denominator, number.numerator * found.denominator)
        found = Fraction(top, bottom)
    return found


def _ceil(number: Fraction) -> int:
    return -(-number.numerator // number.denominator)


def _up(number: Fraction) -> int:
    return min(UNIT, _ceil(number * UNIT))


def _down(number: int) -> int:
    """A product of two masses as a mass, rounded up."""
    return -(-number >> BITS)
