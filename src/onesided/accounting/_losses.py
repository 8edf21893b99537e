"""How the loss along one direction is distributed, and how it adds up over releases."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Final

from onesided._numbers import (
    INFINITE,
    Infinite,
    Loss,
    Number,
    exact,
    log_up,
    non_negative,
    probability,
    rate,
    whole,
)
from onesided.bounds.kit import exp_bounds, exp_neg, share_below_one, short_up
from onesided.errors import ParameterError
from onesided.fields import Exact, Field
from onesided.mechanism import AtMost, Counts
from onesided.mechanism.kit import Gaussian
from onesided.policy import Guarantee, Policy, Shift

# One promise along one edge, and what follows from it without looking at any mechanism.


def _loss(value: Loss | Number, *, name: str) -> Loss:
    return value if isinstance(value, Infinite) else exact(value, name=name)


@dataclass(frozen=True)
class Bound:
    """``Pr[M(X) in S] <= e^epsilon Pr[M(Y) in S] + delta`` for each move X -> Y of one edge, all S.

    Direction: from X to Y only. ``epsilon`` is in nats and may be negative, see :func:`reverse`;
    INFINITE or ``delta = 1`` promise nothing.
    Errors: ParameterError for NaN, or a δ outside [0, 1].

    >>> from onesided.accounting import Bound
    >>> Bound("1/2", "1/1000").epsilon
    Fraction(1, 2)
    """

    epsilon: Field[Loss | Number, Loss] = Field(_loss)
    delta: Exact = Field(probability, default=0)


NOTHING = Bound(INFINITE, 1)


def worst(bounds: Iterable[Bound]) -> Bound:
    """The largest ε and the largest δ: a promise that all of ``bounds`` imply; NOTHING of none.

    >>> worst([Bound(1), Bound(0, "1/8")])
    Bound(epsilon=Fraction(1, 1), delta=Fraction(1, 8))
    """
    found = list(bounds)
    if not found:
        return NOTHING
    return Bound(max(one.epsilon for one in found), max(one.delta for one in found))


def along_path(bounds: Iterable[Bound]) -> Bound:
    """What holds from the first to the last data set of a path, one bound for each of its moves.

    ``ε = Σ ε_i`` and ``δ = Σ e^(ε_1 + ... + ε_{i-1}) δ_i``: put each inequality into the last.
    δ is rounded up, by less than one part in 2^60, and is at most 1.

    >>> along_path([Bound("1/2"), Bound("1/2")])
    Bound(epsilon=Fraction(1, 1), delta=Fraction(0, 1))
    >>> along_path([Bound(0, "1/8"), Bound(0, "1/8")]).delta
    Fraction(1, 4)
    """
    epsilon, delta, free = Fraction(0), Fraction(0), True
    for bound in bounds:
        if bound.delta:
            grown = exp_bounds(epsilon)[1]
            free = free and not isinstance(grown, Infinite)
            delta += 0 if isinstance(grown, Infinite) else grown * bound.delta
        if isinstance(bound.epsilon, Infinite):
            return NOTHING
        epsilon += bound.epsilon
    return Bound(epsilon, min(Fraction(1), short_up(delta))) if free else Bound(epsilon, 1)


def reverse(bound: Bound) -> Bound:
    """The same promise read the other way: (ε, δ) from X to Y gives (-ε, 1 - e^-ε (1 - δ)) back.

    Applied to the outputs *not* in S and rearranged. Removal-only (ε, δ) is so the same as
    addition-only (-ε, 1 - e^-ε + e^-ε δ), and back: twice is where one started. It promises little
    (δ is near ε for small ε); it does not turn one direction into two.
    Rounding: δ up, by less than 2^-90. Source: one-sided note, after Definition 2.

    >>> back = reverse(Bound(1))
    >>> back.epsilon, round(float(back.delta), 4)
    (Fraction(-1, 1), 0.6321)
    """
    if isinstance(bound.epsilon, Infinite):
        return Bound(0, 1)
    kept = exp_bounds(-bound.epsilon)[0] * (1 - bound.delta)
    return Bound(-bound.epsilon, min(Fraction(1), max(Fraction(0), short_up(1 - kept))))


# Between guarantees, which speak of many edges, and bounds, which speak of one.


def guarantee(policy: Policy | str, bounds: Mapping[str, Bound]) -> Guarantee:
    """A guarantee from one bound per edge name; of a policy, or of any policy of that name.

    >>> print(guarantee("presence", {"present -> not present": Bound(1, "1/1000")}))
    Under the policy 'presence' -- present -> not present: ε = 1, δ = 0.001.
    """
    known = None if isinstance(policy, str) else policy
    return Guarantee(
        policy if isinstance(policy, str) else policy.name,
        {edge: bound.epsilon for edge, bound in bounds.items()},
        {edge: bound.delta for edge, bound in bounds.items() if bound.delta},
        made_for=known,
    )


def bounds_of(promise: Guarantee) -> dict[str, Bound]:
    """One bound per edge name.

    >>> bounds_of(Guarantee("presence", {"present -> not present": 1}, {}))
    {'present -> not present': Bound(epsilon=Fraction(1, 1), delta=Fraction(0, 1))}
    """
    return {
        edge: Bound(loss, promise.delta.get(edge, Fraction(0)))
        for edge, loss in promise.epsilon.items()
    }


def bound_on(promise: Mapping[str, Bound], edge: str) -> Bound:
    """What is promised on an edge; nothing at all where nothing is said."""
    return promise.get(edge, NOTHING)


# How the loss along one direction is distributed, and how it adds up over releases.
#
# For real data X that must pass as Y, the privacy loss is ``L(o) = ln Pr[M(X) = o] / Pr[M(Y) = o]``
# at an output o *of X*; it is +infinity where Y cannot give o. Then
#
#     δ(ε) = sup_S Pr[M(X) in S] - e^ε Pr[M(Y) in S] = E[max(0, 1 - e^(ε - L))]
#
# and for several releases the losses add up independently. The way back, Y passing as X, has a
# distribution of its own; nothing here joins the two.
#
# Everything is kept in whole numbers: a probability is a multiple of 2^-128 rounded up, a loss lies
# on a grid of exact fractions and is only ever rounded up. So δ is never below the exact value, by
# construction and without an error analysis of floating point.


BITS: Final = 128
UNIT: Final = 2**BITS
# More points than this and the grid is made coarser, losses rounding up.
MOST_POINTS: Final = 8192
_DEVIATIONS: Final = 24
_RARE: Final = UNIT >> 90


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
        # Both with the same step, made coarser if the sum would have too many points.
        step = _gcd([self.step, other.step])
        spread = sum((x.step * max(0, len(x.masses) - 1) for x in (self, other)), Fraction(0))
        if step:
            step = max(step, spread / (MOST_POINTS - 2))
        one, two = _regrid(self, step), _regrid(other, step)
        return _sum(one, two)

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

    @property
    def mean(self) -> Loss:
        """The expected loss; what many of them lose, each, as their number grows."""
        if self.infinite:
            return INFINITE
        added = sum((self.start + i * self.step) * mass for i, mass in enumerate(self.masses))
        return Fraction(added) / UNIT

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


def composed(laws: Sequence[tuple[LossDistribution, int]]) -> LossDistribution:
    """Each law so many times, all together: many charges of many kinds in few long products.

    Exact where one grid of all losses is short. Else by repeated squaring, all exponents at once:
    bit after bit, the laws that have it join the square so far, all on one grid as fine as that
    sum needs (24 standard deviations wide). Never below the truth: ``_regrid`` loses no less, and
    of what has a chance below 2^-90 at either end, losses become infinite above and the least that
    is kept below. ``infinite`` tells what was cut: below 2^-60 for up to 10^6 of up to 100 kinds.
    """
    total = certain_loss(0)
    step = _gcd([one.step for one, _ in laws])
    if sum(many * _width(one) for one, many in laws) <= step * (MOST_POINTS - 2):
        return sum((one.times(many) for one, many in laws), total)
    spreads = [_variance(one) for one, _ in laws]
    for bit in reversed(range(max(many for _, many in laws).bit_length())):
        joining = [one for one, many in laws if many >> bit & 1]
        spread = sum(v * (many >> bit) for v, (_, many) in zip(spreads, laws, strict=True))
        wide = min(
            Fraction(_DEVIATIONS * math.sqrt(spread)).limit_denominator(2**40),
            sum((_width(one) * (many >> bit) for one, many in laws), Fraction(0)),
        )
        # Half as many points as elsewhere cost a third, and are as good here.
        step = max(wide, *map(_width, (total, *joining))) / (MOST_POINTS // 2)
        before = _regrid(total, step)
        here = [_cut(_sum(before, before)), *(_regrid(one, step) for one in joining)]
        left = deque(sorted(here, key=lambda one: len(one.masses)))
        while len(left) > 1:
            left.append(_cut(_sum(left.popleft(), left.popleft())))
        total = left.pop()
    return total


def _sum(one: LossDistribution, two: LossDistribution) -> LossDistribution:
    """Both, on the grid that they have in common."""
    mine, theirs = sum(one.masses), sum(two.masses)
    lost = one.infinite * (theirs + two.infinite) + mine * two.infinite
    masses = tuple(_down(v) for v in _convolve(one.masses, two.masses))
    step = max(one.step, two.step)
    return _trimmed(one.start + two.start, step, masses, min(_down(lost), UNIT))


def _cut(one: LossDistribution) -> LossDistribution:
    """Without what is too rare to matter, so that none of it is taken for less than it is."""
    ends = []
    for some in (one.masses, one.masses[::-1]):
        sums = enumerate(accumulate(some))
        ends.append(next((i for i, added in sums if added > _RARE), 0))
    first, last = ends[0], len(one.masses) - ends[1]
    kept = list(one.masses[first:last])
    if not kept:
        return one
    kept[0] += sum(one.masses[:first])
    start = one.start + first * one.step
    return LossDistribution(start, one.step, tuple(kept), one.infinite + sum(one.masses[last:]))


def _width(one: LossDistribution) -> Fraction:
    return one.step * max(0, len(one.masses) - 1)


def _variance(one: LossDistribution) -> float:
    """About; it only says how fine a grid should be."""
    places = [(i, mass / UNIT) for i, mass in enumerate(one.masses) if mass]
    mean = sum(i * mass for i, mass in places)
    return float(one.step) ** 2 * sum((i - mean) ** 2 * mass for i, mass in places)


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
    if len(set(choices)) == 1:
        return choices[0]
    masses = [dict(_points(one)) for one in choices]
    reached = [one.infinite for one in choices]
    above = lost = max(reached)
    found: dict[Fraction, Fraction] = {}
    for level in sorted(set().union(*masses), reverse=True):
        reached = [mass + own.get(level, 0) for mass, own in zip(reached, masses, strict=True)]
        if max(reached) > above:
            found[level] = Fraction(max(reached) - above, UNIT)
            above = max(reached)
    return from_losses(found, Fraction(lost, UNIT))


def _points(one: LossDistribution) -> Iterator[tuple[Fraction, int]]:
    """Each loss that has a chance, and its mass."""
    return ((one.start + i * one.step, mass) for i, mass in enumerate(one.masses) if mass)


def _regrid(one: LossDistribution, step: Fraction) -> LossDistribution:
    """A law on another grid that loses no less, alone or with others.

    A loss between two points of the grid is drawn as one of them, so that the mean of ``e^-L``
    stays: ``E[max(0, 1 - e^(ε - L))]`` is convex in ``e^-L``, also beside other losses, so no δ
    falls (Jensen). Shares of the upper point are rounded up; on a very coarse grid to 1.
    """
    if len(one.masses) < 2 or one.step == step:
        return LossDistribution(one.start, step, one.masses, one.infinite)
    places, width = (one.step / step).as_integer_ratio()
    cells = [0] * (_ceil((len(one.masses) - 1) * one.step / step) + 1)
    wide, fine = _ceil(step * UNIT), step <= 1
    most = _lost_low(step * UNIT // 1) if fine else 1
    for i, mass in enumerate(one.masses):
        if mass:
            below, over = divmod(i * places, width)
            if over:
                share = _lost_high(-(-over * wide // width)) if fine else most
                above = min(mass, -(-mass * share // most))
                cells[below + 1] += above
                cells[below] -= above
            cells[below] += mass
    return LossDistribution(one.start, step, tuple(cells), one.infinite)


def _lost_high(x: int) -> int:
    """``1 - e^-x`` or more, for x from 0 to 1; all in multiples of 2^-128."""
    square = x * x >> BITS
    return x - square // 2 + -(-(square + 1) * x >> BITS) // 6 + 2


def _lost_low(x: int) -> int:
    """``1 - e^-x`` or less, for x from 0 to 1."""
    square = -(-x * x >> BITS)
    cube = square * x >> BITS
    return max(1, x - square // 2 + cube // 6 - -(-cube * x >> BITS) // 24 - 4)


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
    first = _packed(one, size)
    product = first * (first if one is two else _packed(two, size))  # a square is cheaper
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


# The directed loss of what ships: noise on counts, decisions, samples, any promise.

_ZERO, _ONE = Fraction(0), Fraction(1)
_MOST_SHIFT = 512


def counts_loss(mechanism: Counts | AtMost, shift: Shift | Iterable[Shift]) -> LossDistribution:
    """Counts with noise, or the decision made from them, along a move that shifts the counts.

    shift: how much the counts rise and fall in total, over however many counts; several shifts
        mean that the move may be any of them.
    Exact for one count that falls by ``fall`` and another that rises by ``rise``; every other way
    of spreading the same totals, and every smaller move, loses no more (docs/conversions.md).
    With noise on one side only the loss is certain, and nothing is gained over adding up ε.

    >>> above = Counts("1/2", INFINITE)
    >>> counts_loss(above, Shift(rise=0, fall=2)).largest
    Fraction(1, 1)
    >>> counts_loss(above, Shift(rise=1, fall=0)).largest
    INFINITE
    """
    counts = Counts(mechanism.upper_rate, INFINITE) if isinstance(mechanism, AtMost) else mechanism
    given = (shift,) if isinstance(shift, Shift) else tuple(dict.fromkeys(shift))
    # A smaller shift has no larger δ at any ε, so its answer is made from that of a larger one.
    shifts = [
        one
        for one in given
        if not any(
            one != more and one.rise <= more.rise and one.fall <= more.fall for more in given
        )
    ]
    return worst_of(
        [
            two_sided_loss(counts.upper_rate, counts.lower_rate, fall=one.fall)
            + two_sided_loss(counts.lower_rate, counts.upper_rate, fall=one.rise)
            for one in shifts
        ]
    )


def two_sided_loss(upper: Loss | Number, lower: Loss | Number, *, fall: int) -> LossDistribution:
    """One count with noise ``G_upper - G_lower`` along a move that lowers it by ``fall``.

    The loss is ``o upper - (fall - o) lower`` for o = 0 .. fall, with the probability that noise on
    the larger count reaches the smaller one plus o (at o = 0 and o = fall: or beyond).
    A rise is the fall of the mirrored noise: exchange the rates.

    >>> two_sided_loss(1, "1/2", fall=1).largest
    Fraction(1, 1)
    """
    a, b = rate(upper, name="upper"), rate(lower, name="lower")
    size = Shift(rise=0, fall=fall).fall
    if size == 0 or (isinstance(a, Infinite) and isinstance(b, Infinite)):
        return certain_loss(0) if size == 0 else certain_loss(INFINITE)
    if isinstance(b, Infinite):
        return certain_loss(a * size)
    if isinstance(a, Infinite):
        # Noise below only, and the count falls: answers above the smaller count give it away.
        low, high = exp_neg(b * size)
        return from_losses({-b * size: high}, 1 - low)
    if size > _MOST_SHIFT:
        return two_way_loss(a * size, b * size)
    # Both sides finite. With p = e^-a, q = e^-b, and D the noise.
    (p_low, p_high), (q_low, q_high) = exp_neg(a), exp_neg(b)
    peak = (1 - p_low) * (1 - q_low) / (1 - p_high * q_high)
    masses = {
        # Pr[D >= 0] = (1 - q) / (1 - pq), which grows with p and falls with q.
        a * size: (1 - q_low) / (1 - p_high * q_low),
        # Pr[D <= -size] = (1 - p) q^size / (1 - pq), the other way round.
        -b * size: (1 - p_low) * exp_neg(b * size)[1] / (1 - p_low * q_high),
    }
    for o in range(1, size):
        loss = a * o - b * (size - o)
        masses[loss] = peak * exp_neg(b * (size - o))[1]
    return from_losses(masses, _ZERO)


def gaussian_loss(
    variance: Fraction, squares: int | Fraction, *, alike: bool = False
) -> LossDistribution:
    """Numbers with discrete Gaussian noise, moved by an L2 norm of at most √squares.

    Exact where ``alike``, so that at most ``squares`` numbers move, by 1 each, and σ is small. Else
    the law of one number with noise of a variance v that moves by m whole steps, for an
    ``r² = variance - v squares / m²`` above 0: every such move can be drawn from it, up to a factor
    ``e^κ`` of each chance (docs/proofs/renyi.md). r² is a part in 2^12 of the variance, or about 1;
    moves below a part in 2^11 of σ are told as that.

    >>> one = gaussian_loss(Fraction(4), 1, alike=True)
    >>> round(float(one.delta(1)), 6)
    0.007249
    >>> 0.00682 < gaussian_loss(Fraction(4000), 1000).delta(1) < 0.00685  # normal noise: 0.00683
    True
    """
    if not squares:
        return certain_loss(0)
    if (alike or squares < 4) and variance <= _WIDEST:  # below 4 none moves by 2
        return composed([(_moved(variance, 1), int(squares))])
    squares = max(Fraction(squares), variance / _LONGEST)
    bits = _PART + int(variance).bit_length()
    spare = min(max(variance / _FINE, bits * _A_BIT), variance / 2)
    rows = (_PART + int(variance / squares).bit_length()) * _A_BIT * variance / spare
    steps = math.isqrt(int(rows * squares / (variance - spare))) + 1
    wide = Fraction(int((variance - spare) * steps**2 / squares * _WIDEST)) / _WIDEST
    spare = variance - wide * squares / steps**2
    most = squares * _unlike(spare) + _unlike(spare * wide / variance)
    if most > 1:
        return certain_loss(INFINITE)
    loss, grown = _moved(wide, steps), 1 + 2 * most  # e^κ is less
    masses = (_ceil(mass * grown) for mass in (*loss.masses, loss.infinite))
    *finite, infinite = masses
    return LossDistribution(loss.start + 2 * most, loss.step, tuple(finite), infinite)


def _moved(variance: Fraction, steps: int) -> LossDistribution:
    """One number that moves by so many: at x more than it was it loses (m² - 2 m x) / (2 σ²)."""
    masses, beyond = Gaussian(variance, steps).masses
    far = min(len(masses) - 1, math.isqrt(math.ceil(2 * BITS * variance)) + 1)
    shift = _GAUSSIAN_BITS - BITS
    sides = [-(-one >> shift) for one in masses[: far + 1]]
    rest = -(-(sum(masses[far + 1 :]) + beyond) >> shift)
    cells = [*sides[:0:-1], *sides]
    cells[0] += rest  # answers so far above lose less than the least that is kept
    start = (steps**2 - 2 * steps * far) / (2 * variance)
    one = LossDistribution(start, steps / variance, tuple(cells), rest)
    return one if len(cells) <= MOST_POINTS else _regrid(one, _width(one) / (MOST_POINTS - 2))


def _unlike(spare: Fraction) -> Fraction:
    """The most that ln of a normal law's sum over a grid varies with where the grid lies.

    spare: its variance, in squared steps. Of ``2 q + 2 q^4 + ...``, ``q = e^(-2 π² spare)``, by
    Poisson's formula; rounded up to a multiple of 2^-64, and 2 where that is nearer 1 than 0.
    """
    q = exp_neg(min(spare, _SMOOTH) * _TWO_PI_SQUARED)[1]
    most = 2 * q / (1 - q) if q < 1 else _ONE
    return Fraction(_ceil(2 * most / (1 - most) * 2**64), 2**64) if 2 * most < 1 else 2 * _ONE


# σ up to 181, some 6,000 places; up to 2^11, some 66,000.
_WIDEST, _LONGEST = 2**15, 2**22
_GAUSSIAN_BITS: Final = 256
# What is given away: r² as a part of the variance; κ, in bits, as one of squares / variance.
_FINE, _PART = 2**12, 14
# More than ln 2 / (2 π²), and less than 2 π²; and a spare variance beyond which nothing is gained.
_A_BIT, _TWO_PI_SQUARED, _SMOOTH = Fraction(36, 1000), Fraction(19739, 1000), Fraction(8)


def certain_loss(epsilon: Loss | Number) -> LossDistribution:
    """A loss of exactly ε, whatever the output.

    >>> certain_loss(1).epsilon(0), certain_loss(1).delta(2)
    (Fraction(1, 1), Fraction(0, 1))
    """
    if isinstance(epsilon, Infinite):
        return from_losses({}, _ONE)
    return from_losses({non_negative(epsilon, name="epsilon"): _ONE}, _ZERO)


def bound_loss(bound: Bound) -> LossDistribution:
    """Any release that keeps (ε, δ) in this direction, and of which nothing else is known.

    The loss is ε with probability 1 - δ and infinite with probability δ: a promise in one
    direction alone leaves nothing for tight accounting to gain.

    >>> loss = bound_loss(Bound(1, "1/1000"))
    >>> loss.delta(1) >= Fraction(1, 1000), loss.largest
    (True, INFINITE)
    """
    if isinstance(bound.epsilon, Infinite) or bound.delta == 1:
        return certain_loss(INFINITE)
    return from_losses({bound.epsilon: 1 - bound.delta}, bound.delta)


def two_way_loss(forward: Number, backward: Number) -> LossDistribution:
    """Any release that keeps ε = ``forward`` along the move and ``backward`` along its reverse.

    The worst such release answers one of two ways, as randomised response does; its loss is
    ``forward`` with probability ``(e^b - 1) / (e^b - e^-f)`` and ``-backward`` otherwise.

    >>> one, many = two_way_loss("1/10", "1/10"), two_way_loss("1/10", "1/10").times(100)
    >>> one.largest, float(many.epsilon("1/1000000")) < 6
    (Fraction(1, 10), True)
    """
    ahead = non_negative(forward, name="forward")
    back = non_negative(backward, name="backward")
    if ahead + back == 0:
        return certain_loss(0)
    (f_low, f_high), (b_low, b_high) = exp_neg(ahead), exp_neg(back)
    # With u = e^-f and v = e^-b: (1 - v) / (1 - u v) and v (1 - u) / (1 - u v).
    masses = {
        ahead: (1 - b_low) / (1 - f_high * b_low),
        -back: b_high * (1 - f_low) / (1 - f_low * b_high),
    }
    return from_losses(masses, _ZERO)


def sample_loss(p: Number, *, removal: bool) -> LossDistribution:
    """Keeping each record in the clear with probability p.

    removal: True along ``absent -> record`` (and ``sensitive -> open``, where sensitive records are
        never kept): the loss is -ln(1 - p), for certain. False along ``record -> absent``: infinite
        with probability p, else ln(1 - p).

    >>> float(sample_loss("1/2", removal=True).largest) >= 0.6931
    True
    >>> sample_loss("1/2", removal=False).largest
    INFINITE
    """
    share = share_below_one(p, name="p")
    size = log_up(1 / (1 - share), bits=96)
    if removal:
        return certain_loss(size)
    # log_up is above by at most 2^-96, so its negative is below; round the loss up again.
    loss = min(_ZERO, Fraction(1, 2**96) - size)
    return from_losses({loss: 1 - share}, share)
