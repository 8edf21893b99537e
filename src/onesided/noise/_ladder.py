"""Geometric draws from any number of random bits: slow, short, and the court of last resort.

A uniform number ``U`` with unlimited binary digits decides a draw. The tables of
``_tables.py`` answer from its first 16 or 64 digits when those are enough; otherwise the
digits seen so far come here, and more are drawn until the answer is certain.

All numbers are integers that stand for fractions of ``2^precision``.
Proof: docs/exact-sampling.md, sections 2 and 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from onesided import _numbers
from onesided.errors import NoiseError
from onesided.noise._bits import Bits

WORD_BITS = 64
# Fair bits leave a draw open here with a chance below 2^-2000: a source that does is broken.
DEEPEST = 2048
_GUARD_BITS = 64
# A rung is off by at most 2 units, so a product of at most 64 rungs by at most 4 * 64.
_SLACK = 2**9


@dataclass(frozen=True, slots=True)
class Ladder:
    """``rungs[i] <= q^(2^i) <= rungs[i] + 2`` and ``whole[0] <= 1 - q^span <= whole[1]``.

    ``q = e^-rate``; ``span`` is a power of two or, for the untruncated variable, None.
    """

    precision: int
    rungs: tuple[int, ...]
    whole: tuple[int, int]
    truncated: bool


def ladder(rate: Fraction, span: int | None, depth: int) -> Ladder:
    """The ladder that decides draws from ``depth`` random bits."""
    return cached_ladder(*rate.as_integer_ratio(), span, depth)


# Two ints for the rate: a fraction's hash costs more than all the rest of the look-up.
@lru_cache(maxsize=512)
def cached_ladder(over: int, under: int, span: int | None, depth: int) -> Ladder:
    """The same, for the rate ``over / under``."""
    rate = Fraction(over, under)
    precision = depth + _GUARD_BITS
    count = span.bit_length() - 1 if span else _top(rate, depth)
    # Squaring doubles an error: as many more digits as there are squarings, and some.
    extra = count + 16
    low, high = _numbers.exp_neg_bounds(rate, bits=precision + extra)
    below, above = _floor(low, precision + extra), -_floor(-high, precision + extra)
    rungs = []
    for _ in range(count + 1):
        rungs.append(below >> extra)
        if above > (below >> extra << extra) + (2 << extra):
            raise NoiseError("A threshold came out too wide.", rate=rate)
        below = below * below >> precision + extra
        above = -(-above * above >> precision + extra)
    one = 1 << precision
    whole = (one - rungs[-1] - 2, one - rungs[-1]) if span else (one, one)
    return Ladder(precision, tuple(rungs[:-1] if span else rungs), whole, span is not None)


def _top(rate: Fraction, depth: int) -> int:
    """The least ``i`` with ``rate * 2^i > depth``: q^(2^i) is then below 2^-depth."""
    return max(0, int(depth // rate).bit_length())


def _floor(number: Fraction, precision: int) -> int:
    return (number.numerator << precision) // number.denominator


def resolve(rate: Fraction, span: int | None, seen: int, depth: int, bits: Bits) -> int:
    """The draw that ``U`` decides, whose first ``depth`` digits are ``seen``.

    ``G = max{k : 1 - U (1 - q^span) <= q^k}``, with ``q^span = 0`` when ``span`` is None.
    Errors: NoiseError when bits cannot be had, or 2048 of them do not decide.
    """
    while (draw := _decide(ladder(rate, span, depth), seen, depth)) is None:
        seen, depth = deepen(seen, depth, bits)
    return draw


def deepen(seen: int, depth: int, bits: Bits) -> tuple[int, int]:
    """Draw as many digits as were seen (64 at least, in whole words)."""
    if depth >= DEEPEST:
        raise NoiseError(
            f"{depth} random bits do not decide a draw.",
            hint="The source of random bits is stuck. Nothing was released.",
        )
    for _ in range(max(1, depth // WORD_BITS)):
        seen = seen << WORD_BITS | bits.word()
    return seen, depth + max(1, depth // WORD_BITS) * WORD_BITS


def _decide(rungs: Ladder, seen: int, depth: int) -> int | None:
    """The draw, if all numbers that begin with ``seen`` agree on it."""
    one = 1 << rungs.precision
    # V = 1 - U (1 - q^span) lies above `least` and is at most `most`.
    least = one + (-(seen + 1) * rungs.whole[1] >> depth)
    most = one - (seen * rungs.whole[0] >> depth)
    steps = rungs.rungs
    if not rungs.truncated:
        if least < steps[-1] + _SLACK:
            return None
        steps = steps[:-1]
    precision, clear = rungs.precision, least - _SLACK
    draw, power, top = 0, one, len(steps)
    # While no digit is 1 the power is 1, and the trial the rung itself.
    while top and clear >= steps[top - 1]:
        top -= 1
    for rung in reversed(steps[:top]):
        draw <<= 1
        trial = power * rung >> precision
        if most <= trial:
            draw, power = draw + 1, trial
        elif clear < trial:
            return None
    return draw
