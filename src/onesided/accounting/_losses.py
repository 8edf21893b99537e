"""The directed loss of what ships: noise on counts, decisions, samples, any promise."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from onesided._numbers import INFINITE, Infinite, Loss, Number, log_up, non_negative, rate
from onesided.accounting._bound import Bound
from onesided.accounting._pld import LossDistribution, from_losses, worst_of
from onesided.bounds.kit import exp_neg, share_below_one
from onesided.mechanism import AtMost, Counts
from onesided.policy import Shift

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
    shifts = (shift,) if isinstance(shift, Shift) else tuple(shift)
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
        return _impossible_half(b, size)
    if size > _MOST_SHIFT:
        return two_way_loss(a * size, b * size)
    return _staircase(a, b, size)


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


def _impossible_half(lower: Fraction, size: int) -> LossDistribution:
    """Noise below only, and the count falls: answers above the smaller count give it away."""
    low, high = exp_neg(lower * size)
    return from_losses({-lower * size: high}, 1 - low)


def _staircase(a: Fraction, b: Fraction, size: int) -> LossDistribution:
    """Both sides finite. With p = e^-a, q = e^-b, and D the noise."""
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
