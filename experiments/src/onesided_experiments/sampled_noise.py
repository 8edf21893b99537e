"""Where a sample under one-sided noise is more accurate than Laplace noise: a footnote's exercise.

The one-sided note's equation (3) gets two-sided ε-DP for a count f from ``Z = Bin(f, p) + N`` with
``p = 1 - e^-ε`` and one-sided noise N at the rate ``ln(1 + e^ε)``. Its footnote leaves it to the
reader for which f and ε that beats Laplace noise. Here it is decided, in intervals of 256 bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from onesided.bounds.kit import log_up
from onesided.errors import ParameterError
from onesided.fields import Exact, Field, Flag, is_flag, one_of
from onesided.numbers import exp_neg_bounds, positive, whole

Measure = Literal["squared", "variance", "absolute"]
Sampled = Literal["whole", "real"]
Centre = Literal["mean", "median"]
_BITS: Final = 256
_ONE: Final = 1 << _BITS
_LEAST, _MOST = Fraction(1, 2**20), Fraction(64)
MOST_COUNT: Final = 10**5


class Enclosure(NamedTuple):
    """The number lies in [low, high]; they differ by less than one part in 2^100.

    >>> Enclosure(Fraction(1, 3), Fraction(1, 2)).low
    Fraction(1, 3)
    """

    low: Fraction
    high: Fraction


def _bearable(value: object, *, name: str) -> Fraction:
    found = positive(value, name=name)
    if _LEAST <= found <= _MOST:
        return found
    raise ParameterError(
        f"{name} must lie in 2^-20 .. 64, got {value!r}.",
        hint="Beyond that neither kind of noise is of use.",
        value=value,
    )


@dataclass(frozen=True, kw_only=True)
class SampledNoise:
    """The error of equation (3) at a true count, and of the two-sided noise it competes with.

    noise: ``"whole"`` compares geometric with two-sided geometric noise, ``"real"`` (the note's)
        exponential with Laplace noise; each at the same ε under unbounded DP.
    rescale: the answer is ``(Z - c) / p``; without it ``Z - c``, which is too small by ``f e^-ε``.
    centre: c is the noise's mean (unbiased where rescaled) or its median, which is 0 for
        ``"whole"``.

    Facts, for whole numbers, with q = e^-ε. The noise has mean q and variance q + q^2, so
    the rescaled mean squared error is ``q (f p + 1 + q) / p^2``, and two-sided geometric noise has
    ``2 q / p^2``: the difference is ``q (f - 1) / p``. **It wins for f = 0, is level for f = 1 and
    loses from 2 on, whatever ε is.** The mean absolute error is level for f = 0 and f = 1 and
    loses from 2 on; with the median taken out it wins for f = 0 only.
    With real noise the region grows as ``e^ε / ε^2``: the sample then misses next to nobody, and
    one side has half the variance. But both are far worse there than whole-number noise.

    Units: counts, and counts squared. Source: one-sided note, equation (3) and footnote 1; ours.
    Errors: ParameterError for ε outside 2^-20 .. 64.

    >>> noise = SampledNoise(epsilon=1)
    >>> [noise.wins(count) for count in (0, 1, 2)], noise.reach()
    ([True, False, False], 1)
    """

    epsilon: Exact = Field(_bearable)
    noise: Field[Sampled, Sampled] = Field(one_of, words=("whole", "real"), default="whole")
    rescale: Flag = Field(is_flag, default=True)
    centre: Field[Centre, Centre] = Field(one_of, words=("mean", "median"), default="mean")

    def error(self, count: int, *, measure: Measure = "squared") -> Enclosure:
        """Of equation (3) at a true ``count``. Absolute errors: up to 10^5, in two seconds."""
        most = MOST_COUNT if measure == "absolute" else 2**62
        return _fractions(self._error(whole(count, name="count", most=most), measure))

    def rival(self, *, measure: Measure = "squared") -> Enclosure:
        """Of Laplace noise or, for ``"whole"``, two-sided geometric noise, whatever the count.

        Mean squared error 2/ε² or ``2 q / p^2``; mean absolute error 1/ε or ``2 q / (1 - q^2)``.
        """
        return _fractions(self._rival(measure))

    def wins(self, count: int, *, measure: Measure = "squared") -> bool:
        """Whether the error of equation (3) is surely the smaller. Level is no win."""
        return self.error(count, measure=measure).high < self.rival(measure=measure).low

    def reach(self, *, measure: Measure = "squared", most: int = MOST_COUNT) -> int:
        """For how many counts 0, 1, 2, ... it wins: for those below this, and no others.

        Looked for up to ``most``, which is the answer where it wins for all of them. No error
        falls as the count grows: squares are polynomials that rise, and the absolute error is the
        mean of a convex function of a sum whose spread only grows (rescaled), or which only moves
        away from the median (not rescaled).
        """
        end = whole(most, name="most", most=MOST_COUNT if measure == "absolute" else 2**62)
        low, high = -1, 1
        while high < end and self.wins(high, measure=measure):
            low, high = high, 2 * high
        high = min(high, end)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.wins(middle, measure=measure) else (low, middle)
        return high

    def _error(self, count: int, measure: Measure) -> _Span:
        _check(measure, self.centre)
        law = _law(self.epsilon, self.noise)
        if measure == "absolute":
            return self._absolute(count, law)
        spread = law.share * law.missed * count + law.variance
        if self.rescale:
            return spread / (law.share * law.share)
        bias = law.missed * law.missed * (count * count)
        return spread if measure == "variance" else spread + bias

    def _absolute(self, count: int, law: _Law) -> _Span:
        """``E |Z - c - t|`` for the target t = f p or f, over the binomial; scaled by 1/p or 1."""
        centre = law.mean if self.centre == "mean" else law.median
        target = (law.share if self.rescale else _span(1)) * count + centre
        middle = (target.low + target.high) // 2
        far = _spreads(count, middle, law)
        total = whole_sum = _span(0)
        for weight, spread in zip(_binomial(count, law), far, strict=True):
            total, whole_sum = total + weight * spread, whole_sum + weight
        # |E |N - t| - E |N - t'|| <= |t - t'|
        found = (total / whole_sum).wider(target.high - target.low + 1)
        return found / law.share if self.rescale else found

    def _rival(self, measure: Measure) -> _Span:
        law, one = _law(self.epsilon, self.noise), _span(1)
        if self.noise == "real":
            scale = one / _of(self.epsilon)
            return scale if measure == "absolute" else scale * scale * 2
        if measure == "absolute":
            return law.missed * 2 / (one - law.missed * law.missed)
        return law.missed * 2 / (law.share * law.share)


def _check(measure: str, centre: str) -> None:
    one_of(measure, name="measure", words=("squared", "variance", "absolute"))
    if measure == "squared" and centre == "median":
        raise ParameterError(
            "The squared error is not offered with the median taken out.",
            hint="Take out the mean: it makes the squared error least.",
        )


class _Span(NamedTuple):
    """An interval in units of 2^-256; every operation rounds outward. Divisors are positive."""

    low: int
    high: int

    def __add__(self, other: _Span) -> _Span:  # type: ignore[override]
        return _Span(self.low + other.low, self.high + other.high)

    def __sub__(self, other: _Span) -> _Span:
        return _Span(self.low - other.high, self.high - other.low)

    def __mul__(self, other: _Span | int) -> _Span:  # type: ignore[override]
        if isinstance(other, int):
            return _Span(self.low * other, self.high * other)
        ends = [a * b for a in self for b in other]
        return _Span(min(ends) >> _BITS, -(-max(ends) >> _BITS))

    def __truediv__(self, other: _Span) -> _Span:
        ends = [((a << _BITS) // b, -((-a << _BITS) // b)) for a in self for b in other]
        return _Span(min(low for low, _ in ends), max(high for _, high in ends))

    def wider(self, by: int) -> _Span:
        return _Span(self.low - by, self.high + by)


def _span(number: int) -> _Span:
    return _Span(number * _ONE, number * _ONE)


def _of(low: Fraction, high: Fraction | None = None) -> _Span:
    top = low if high is None else high
    return _Span(
        (low.numerator << _BITS) // low.denominator, -((-top.numerator << _BITS) // top.denominator)
    )


def _fractions(span: _Span) -> Enclosure:
    return Enclosure(Fraction(span.low, _ONE), Fraction(span.high, _ONE))


class _Law(NamedTuple):
    """p, q = 1 - p, and the one-sided noise: moments, and e^-rate for the rate ln(1 + e^ε)."""

    share: _Span
    missed: _Span
    mean: _Span
    median: _Span
    variance: _Span
    ratio: _Span
    rate: _Span
    whole: bool


@lru_cache(maxsize=256)
def _law(epsilon: Fraction, noise: Sampled) -> _Law:
    one, missed = _span(1), _of(*exp_neg_bounds(epsilon, bits=_BITS))
    # 1 + e^ε = (1 + q) / q
    grown = (one + missed) / missed
    rate = _Span(_log(grown.low)[0], _log(grown.high)[1])
    ratio = missed / (one + missed)
    if noise == "whole":
        mean, median, variance = missed, _span(0), missed + missed * missed
    else:
        mean = one / rate
        median, variance = mean * _Span(*_log(2 * _ONE)), mean * mean
    return _Law(one - missed, missed, mean, median, variance, ratio, rate, noise == "whole")


def _log(number: int) -> tuple[int, int]:
    """Bounds of the logarithm, in units of 2^-256."""
    high = log_up(Fraction(number, _ONE), bits=_BITS + 8)
    found = _of(high - Fraction(1, 2 ** (_BITS + 8)), high)
    return found.low, found.high


def _binomial(count: int, law: _Law) -> list[_Span]:
    """Weights of 0 .. ``count``, in proportion; outward from 1 near the mode, so errors shrink."""
    mode = min(count, int((count + 1) * Fraction(law.share.low, _ONE)))
    up, down = law.share / law.missed, law.missed / law.share
    later, sooner = [_span(1)], [_span(1)]
    for k in range(mode, count):
        later.append(_ratio(later[-1] * up, count - k, k + 1))
    for k in range(mode, 0, -1):
        sooner.append(_ratio(sooner[-1] * down, k, count - k + 1))
    return [*reversed(sooner[1:]), *later]


def _ratio(span: _Span, over: int, under: int) -> _Span:
    return _Span(span.low * over // under, -(-span.high * over // under))


def _spreads(count: int, middle: int, law: _Law) -> list[_Span]:
    """``E |N - (middle - k)|`` for k = 0 .. ``count``.

    For t <= 0 it is ``E N - t``. For t >= 0: ``t - E N + 2 E (N - t)_+``, and by lack of memory the
    last is ``e^-rate(K + 1) (K + 1 - t + E N)`` for whole noise with K the whole part of t, and
    ``e^-rate t / rate`` for real.
    """
    last = min(count, middle // _ONE)
    found = [
        law.mean - _Span(t, t) for t in (middle - k * _ONE for k in range(last + 1, count + 1))
    ]
    t = middle - last * _ONE
    tail = _tail(t, law)
    for _ in range(last, -1, -1):
        found.append(_Span(t, t) - law.mean + tail * 2)
        t, tail = t + _ONE, tail * law.ratio
    beyond = count - last
    return [*reversed(found[beyond:]), *found[:beyond]]


def _tail(t: int, law: _Law) -> _Span:
    """``E (N - t)_+`` for t >= 0 in units of 2^-256; a step of t brings a factor e^-rate."""
    steps = t // _ONE
    if law.whole:
        rest = (steps + 1) * _ONE - t
        return _power(law.ratio, steps + 1) * (law.mean + _Span(rest, rest))
    exponent = law.rate * _Span(t, t)
    low = exp_neg_bounds(Fraction(exponent.high, _ONE), bits=_BITS)[0]
    high = exp_neg_bounds(Fraction(max(0, exponent.low), _ONE), bits=_BITS)[1]
    return _of(low, high) / law.rate


def _power(span: _Span, count: int) -> _Span:
    power = _span(1)
    for _ in range(min(count, 4 * _BITS)):
        power = power * span
    return power if count <= 4 * _BITS else _Span(0, power.high)
