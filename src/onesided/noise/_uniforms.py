"""Draws decided by the digits of uniform numbers: ladders, chances, and logarithms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onesided import _english, _numbers
from onesided._numbers import MAX_COUNT, MAX_RATE, MIN_RATE, Infinite, Loss
from onesided.errors import NoiseError, ParameterError
from onesided.noise._source import CHUNK, VERY_MANY, Bits, BoolArray, IntArray, WordArray, lanes

# Geometric draws from any number of random bits: slow, short, and the court of last resort.
#
# A uniform number ``U`` with unlimited binary digits decides a draw. The tables of
# ``_geometric.py`` answer from its first 16 or 64 digits when those are enough; otherwise the
# digits seen so far come here, and more are drawn until the answer is certain.
#
# All numbers are integers that stand for fractions of ``2^precision``.
# Proof: docs/exact-sampling.md, sections 2 and 3.


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
    below, above = exp_bounds(rate, precision + extra)
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


def floored(number: Fraction, precision: int) -> int:
    """A fraction as a whole number of units of 2^-precision, rounded down."""
    return (number.numerator << precision) // number.denominator


def exp_bounds(rate: Fraction, precision: int) -> tuple[int, int]:
    """Bounds of ``e^-rate`` in units of 2^-precision."""
    low, high = _numbers.exp_neg_bounds(rate, bits=precision)
    return floored(low, precision), -floored(-high, precision)


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
        raise stuck(f"{depth} random bits do not decide a draw.")
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


# Whole numbers below a bound, equally likely.

# Each round fails to accept anything with a chance of at most 1/2.
_ROUNDS = 2048
# So many bits for a number, up to a bound below which they are left out once in 32 at most.
_WIDTHS = ((16, 2**11), (32, 2**27))


def below(bound: int, size: int, bits: Bits) -> IntArray:
    """Whole numbers in ``[0, bound)``, equally likely, ``1 <= bound <= 2^62``.

    Of few, or below a large bound: as many bits as ``bound - 1`` has, and again for each number
    that is too large. Of very many: 16 or 32 bits times the bound, the lower half left out.
    """
    if size >= VERY_MANY:
        for width, most in _WIDTHS:
            if 1 < bound <= most:
                return _scaled(bound, size, width, bits)
    return _cut(bound, size, bits)


def _scaled(bound: int, size: int, width: int, bits: Bits) -> IntArray:
    """``floor(bound v / 2^width)`` of numbers ``v`` of so many bits, and another of some.

    Each answer has ``2^width // bound`` numbers if those are left out whose product has a lower
    half below ``2^width % bound``.
    """
    narrow, wide = np.dtype(f"u{width // 8}"), np.dtype(f"u{width // 4}")
    out = np.empty(size, dtype=np.int64)
    for start in range(0, size, CHUNK):
        part = out[start : start + CHUNK]
        words = bits.words(-(-len(part) * width // WORD_BITS))
        products = words.view(narrow)[: len(part)].astype(wide)
        products *= wide.type(bound)
        left_out = np.flatnonzero(products.astype(narrow) < (1 << width) % bound)
        products >>= wide.type(width)
        part[:] = products
        if len(left_out):
            part[left_out] = _cut(bound, len(left_out), bits)
    return out


def _cut(bound: int, size: int, bits: Bits) -> IntArray:
    out = np.zeros(size, dtype=np.int64)
    drop = WORD_BITS - (bound - 1).bit_length()
    if drop == WORD_BITS:
        return out
    done = barren = 0
    while done < size and barren < _ROUNDS:
        numbers = bits.words(min(size - done, CHUNK)) >> np.uint64(drop)
        numbers = numbers[numbers < bound]
        out[done : done + len(numbers)] = numbers
        done += len(numbers)
        barren = 0 if len(numbers) else barren + 1
    if done < size:
        raise stuck(f"{_ROUNDS} times no number below {bound} came out.")
    return out


def below_few(bound: int, size: int, bits: Bits) -> IntArray:
    """The same from words drawn one by one, without numpy's start-up cost."""
    drop = WORD_BITS - (bound - 1).bit_length()
    if drop == WORD_BITS:
        return np.zeros(size, dtype=np.int64)
    return np.array([_one_below(bound, drop, bits) for _ in range(size)], dtype=np.int64)


def _one_below(bound: int, drop: int, bits: Bits) -> int:
    for _ in range(_ROUNDS):
        number = bits.word() >> drop
        if number < bound:
            return number
    raise stuck(f"{_ROUNDS} times no number below {bound} came out.")


def stuck(said: str) -> NoiseError:
    """The error of bits that decide nothing, however many are drawn."""
    return NoiseError(said, hint="The source of random bits is stuck. Nothing was released.")


# Coins with a given chance.

_LANE_BITS = 16


def flip(digits: Callable[[int], int], size: int, bits: Bits) -> BoolArray:
    """True with the chance ``x < 1`` whose ``digits(depth)`` are ``floor(2^depth x)``.

    ``U < x`` is decided by the first binary digit in which they differ.
    """
    out = np.empty(size, dtype=np.bool_)
    first = digits(_LANE_BITS)
    for start in range(0, size, CHUNK):
        part = out[start : start + CHUNK]
        seen = lanes(bits, len(part))
        np.less(seen, np.uint16(first), out=part)
        for i in np.flatnonzero(seen == first):
            part[i] = _below(digits, first, _LANE_BITS, bits)
    return out


def flip_few(digits: Callable[[int], int], size: int, bits: Bits) -> BoolArray:
    """The same from a word for each coin, without numpy's start-up cost."""
    threshold = digits(WORD_BITS)
    draws = [bits.word() for _ in range(size)]
    return np.array(
        [
            seen < threshold or (seen == threshold and _below(digits, seen, WORD_BITS, bits))
            for seen in draws
        ],
        dtype=np.bool_,
    )


def _below(digits: Callable[[int], int], seen: int, depth: int, bits: Bits) -> bool:
    """Whether ``U < x`` when the first ``depth`` digits of both are ``seen``."""
    threshold = seen
    while seen == threshold:
        seen, depth = deepen(seen, depth, bits)
        threshold = digits(depth)
    return seen < threshold


def rational_digits(chance: Fraction) -> Callable[[int], int]:
    """The binary digits of a fraction."""
    over, under = chance.as_integer_ratio()
    return lambda depth: (over << depth) // under


def exp_digits(rate: Fraction) -> Callable[[int], int]:
    """The binary digits of ``e^-rate``."""
    over, under = rate.as_integer_ratio()
    return lambda depth: _exp_floor(over, under, depth)


# Two ints for the rate: a fraction's hash costs more than all the rest of the look-up.
@lru_cache(maxsize=512)
def _exp_floor(over: int, under: int, depth: int) -> int:
    rate = Fraction(over, under)
    bits = depth + 64
    while True:
        low, high = (floored(end, depth) for end in _numbers.exp_neg_bounds(rate, bits=bits))
        # e^-rate is irrational, so it lies inside a cell and some precision shows that.
        if low == high:
            return low
        bits *= 2


# Geometric draws by a logarithm in whole numbers: ``G = floor(-ln(1 - U) / rate)``.
#
# One word of 64 digits gives bounds of ``-ln(1 - U)``, whatever the rate; where both bounds agree
# on
# the draw it is decided, and otherwise the ladder above decides from the same digits.
# No table belongs to a rate, so a draw at any rate costs the same, for one rate or for thousands.
# Proof: docs/exact-sampling.md, section 9.

# Draws at a time: a dozen arrays of this length stay in the processor's cache.
_PART = 2**13
# Digits that choose the reciprocal; of its logarithm; and of a logarithm in an array.
_INDEX = 11
_FINE = 64
_COARSE = 59
_SPARE = 32
# What the fixed-point sums may be short of, in their last digit: one number's, an array's.
_LOG_SLACK = 2**11
_MANY_SLACK = 256
# Below this 1 - U is left to the ladder; in an array already where its first 16 digits are 0.
_LEAST = 2**32
_LEADING = 16
# The bits of the reciprocal of a rate, and the most that a word can be shifted by.
_RECIPROCAL = 63
_MOST_SHIFT = 63
# A log has 59 digits, a word 64.
_DROP = _FINE - _COARSE
_ONE, _HALF, _FIRST = np.uint64(1), np.uint64(32), np.uint64(48)
_LOW = np.uint64(2**32 - 1)


@dataclass(frozen=True, slots=True, eq=False)
class Logarithms:
    """``factors[i] = floor(2^23 / (2^11 + i + 1))`` and bounds below of ``ln(factors[i] / 2^11)``.

    ``turns[e]`` is a bound below of ``e ln 2``. Units 2^-64; in the arrays, that follow, 2^-59.
    ``leading[c]`` is how many of the 16 digits of ``c`` come before its first 1.
    """

    factors: list[int]
    fine: list[int]
    turns: list[int]
    many_factors: WordArray
    coarse: WordArray
    coarse_turns: WordArray
    leading: NDArray[np.uint8]


@lru_cache(maxsize=1)
def logarithms() -> Logarithms:
    """The tables, made at the first draw that needs them."""
    whole, drop = 1 << _INDEX, _FINE - _COARSE
    logs = _from_one(whole)
    factors = [(whole * whole << 1) // (whole + i + 1) for i in range(whole)]
    fine = [logs[factor - whole] >> _SPARE for factor in factors]
    turns = [e * logs[-1] >> _SPARE for e in range(WORD_BITS)]
    coarse, short = [n >> drop for n in fine], [n >> drop for n in turns[: _LEADING + 1]]
    many_factors, coarse_logs, coarse_turns = (
        np.array(numbers, dtype=np.uint64) for numbers in (factors, coarse, short)
    )
    leading = np.repeat(
        np.arange(_LEADING, -1, -1, dtype=np.uint8), [1, *(1 << n for n in range(_LEADING))]
    )
    for array in (many_factors, coarse_logs, coarse_turns):
        array.flags.writeable = False
    leading.flags.writeable = False
    return Logarithms(factors, fine, turns, many_factors, coarse_logs, coarse_turns, leading)


def _from_one(whole: int) -> list[int]:
    """Bounds below of ``ln(1 + i / whole)``, for i up to ``whole``, in units of 2^-96.

    ``ln(c + 1) - ln(c) = 2 (x + x^3/3 + x^5/5 + ...)`` with ``x = 1 / (2 c + 1)``. What four terms
    leave out is less than one unit, and so is what each loses: a step is short of 20 at most.
    """
    found, total = [0], 0
    for odd in range(2 * whole + 1, 4 * whole, 2):
        power, square = (1 << _FINE + _SPARE) // odd, odd * odd
        term = power
        for exponent in (3, 5, 7):
            power //= square
            term += power // exponent
        total += 2 * term
        found.append(total)
    return found


def one(over: int, under: int, seen: int) -> int | None:
    """The draw at rate ``over / under`` that the 64 digits ``seen`` decide, if they do."""
    # 1 - U lies above `left` and is at most `left + 1`, in units of 2^-64.
    left = 0xFFFF_FFFF_FFFF_FFFF - seen
    if left < _LEAST:
        return None
    tables = logarithms()
    turn = 64 - left.bit_length()
    scaled = left << turn
    place = (scaled >> 52) - 2048
    # The factor makes of `scaled` a number 1 - x just below 1: x is less than 2^-10.4.
    x = (1 << 75) - tables.factors[place] * scaled >> 11
    x_2 = x * x >> 64
    log = tables.turns[turn] + tables.fine[place] + x + (x_2 >> 1)
    log += (x_2 * x >> 64) // 3 + (x_2 * x_2 >> 66) + _LOG_SLACK
    product, over = log * under, over << 64
    draw = product // over
    # As far down as the logarithm may be: it is short of _SLACK, and `left` of one.
    if not draw or product - draw * over >= (_LOG_SLACK + (2 << turn)) * under:
        return draw
    return None


@dataclass(frozen=True, slots=True, eq=False)
class Reciprocals:
    """``numbers[i]`` is ``2^(shifts[i] + 5)`` over the i-th rate, within 2^10, and below 2^63."""

    numbers: WordArray
    shifts: WordArray

    def __getitem__(self, places: slice | IntArray) -> Reciprocals:
        return Reciprocals(self.numbers[places], self.shifts[places])


def reciprocals(rates: Sequence[Loss]) -> Reciprocals:
    """Of exact rates; for INFINITE a number that is never used."""
    return reciprocals_of_ratios(
        (1, 1) if isinstance(rate, Infinite) else rate.as_integer_ratio() for rate in rates
    )


def reciprocals_of_ratios(ratios: Iterable[tuple[int, int]]) -> Reciprocals:
    """Of rates that are given as two whole numbers each, not in lowest terms."""
    numbers, shifts = [], []
    for over, under in ratios:
        shift = _RECIPROCAL + over.bit_length() - under.bit_length()
        number = (under << shift) // over
        if number >> _RECIPROCAL:
            number, shift = number >> 1, shift - 1
        numbers.append(number)
        shifts.append(min(shift - _DROP, _MOST_SHIFT))
    return Reciprocals(np.array(numbers, dtype=np.uint64), np.array(shifts, dtype=np.uint64))


def reciprocals_of_floats(rates: NDArray[np.float64]) -> Reciprocals:
    """Of public rates that are floats. A quotient is within 2^-53 of itself of the true one."""
    parts, exponents = np.frexp(1 / rates)
    shifts = np.minimum(_RECIPROCAL - _DROP - exponents.astype(np.int64), _MOST_SHIFT)
    return Reciprocals(np.ldexp(parts, _RECIPROCAL).astype(np.uint64), shifts.astype(np.uint64))


def many(rates: Reciprocals, exact: Callable[[int], Loss], out: IntArray, bits: Bits) -> None:
    """Overwrite ``out`` with a draw at each of the rates, none of which is INFINITE."""
    for start in range(0, len(out), _PART):
        part = slice(start, min(start + _PART, len(out)))
        words = bits.words(part.stop - start)
        draws, undecided = _draws(words, rates[part])
        out[part] = draws
        for i in np.flatnonzero(undecided).tolist():
            rate = exact(start + i)
            if not isinstance(rate, Infinite):
                out[start + i] = resolve(rate, None, int(words[i]), WORD_BITS, bits)


def _draws(words: WordArray, rates: Reciprocals) -> tuple[WordArray, NDArray[np.bool_]]:
    """The draws that the words decide, and which they leave open."""
    logs, turns = _logs(~words)
    # The high word of a product of 63 bits by 63.
    low, number = rates.numbers & _LOW, rates.numbers >> _HALF
    logs_low, logs_high = logs & _LOW, logs >> _HALF
    middle = logs_low * low
    middle >>= _HALF
    middle += logs_high * low
    middle += logs_low * number
    middle >>= _HALF
    product = logs_high * number
    product += middle
    slack = logs >> np.uint64(54)
    slack += np.left_shift(_ONE, turns)
    slack += np.uint64(_MANY_SLACK)
    draws = product + slack
    draws >>= rates.shifts
    product -= np.minimum(product, slack)
    product >>= rates.shifts
    undecided = draws != product
    undecided |= turns == _LEADING
    return draws, undecided


def _logs(left: WordArray) -> tuple[WordArray, WordArray]:
    """Bounds below of ``-ln(left / 2^64)`` in units of 2^-59, short of 256 at most; leading zeros.

    They hold where there are fewer than 16 zeros.
    """
    tables = logarithms()
    turns = tables.leading.take((left >> _FIRST).astype(np.intp)).astype(np.uint64)
    scaled = left << turns
    places = (scaled >> np.uint64(52)).astype(np.intp)
    places -= 1 << _INDEX
    # Modulo 2^64: 2^74 less a product that is smaller by less than 2^64.
    scaled >>= _ONE
    scaled *= tables.many_factors.take(places, mode="clip")
    x = np.negative(scaled, out=scaled)
    total = tables.coarse.take(places, mode="clip")
    total += tables.coarse_turns.take(turns.astype(np.intp))
    total += x >> np.uint64(15)
    x >>= _HALF
    power = x * x
    total += power >> np.uint64(26)
    power >>= _HALF
    power *= x
    total += (power >> np.uint64(35)) // np.uint64(3)
    power >>= _HALF
    power *= x
    total += power >> np.uint64(47)
    return total, turns


# Sizes, chances and rates as callers give them: checked, exact, and told apart in pieces.
#
# The usual types are checked with integers only, at a fraction of the cost of
# :mod:`onesided._numbers`, which judges all the rest and words every refusal.

# Draws whose rates are told apart at a time: an array's take 8 bytes each, a list's may be objects.
_ARRAY_PIECE = 2**19
_LIST_PIECE = 2**17
# Above so many different rates in a piece of a list, equal ones may be drawn apart.
_MERGED = 2**15
_LONGEST_TEXT = 40
_ONE_NUMBER = frozenset({Fraction, int, float, str, Infinite})
_MIN_SHIFT = MIN_RATE.denominator.bit_length() - 1
_MAX_SHIFT = MAX_RATE.numerator.bit_length() - 1


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """The rates of a stretch of draws; ``finite`` says which are, None for all of them."""

    where: slice
    exact: Callable[[int], Loss]
    reciprocals: Reciprocals
    finite: IntArray | None = None

    @property
    def size(self) -> int:
        """How many draws."""
        return int(self.where.stop - self.where.start)


def size(value: object, *, name: str = "size") -> int:
    """A number of draws. Errors: ParameterError."""
    if type(value) is int and 0 <= value <= MAX_COUNT:
        return value
    return _numbers.whole(value, name=name)


def chance(value: object) -> Fraction:
    """A probability. Errors: ParameterError."""
    if type(value) is Fraction and 0 <= value.numerator <= value.denominator:
        return value
    return _numbers.probability(value, name="probability")


def rate(value: object, *, name: str) -> Loss:
    """A rate. Errors: ParameterError."""
    if type(value) is Fraction:
        over, under = value.as_integer_ratio()
        if under <= over << _MIN_SHIFT and over <= under << _MAX_SHIFT:
            return value
    elif (type(value) is str and len(value) <= _LONGEST_TEXT) or type(value) in {int, float}:
        return _remembered(value, name)
    return _numbers.rate(value, name=name)


@lru_cache(maxsize=1024, typed=True)
def _remembered(value: object, name: str) -> Loss:
    return _numbers.rate(value, name=name)


def groups(deficits: object, sizes: object) -> tuple[IntArray, IntArray]:
    """Deficits and sizes of groups of items. Errors: ParameterError."""
    short, many = (_numbers.regular(given) for given in (deficits, sizes))
    whole = short.dtype.kind in "iu" and many.dtype.kind in "iu"
    if short.ndim != 1 or short.shape != many.shape or not short.size or not whole:
        raise ParameterError(
            f"Groups need a deficit and a size each, as whole numbers; got {short.dtype} of shape "
            f"{short.shape} and {many.dtype} of shape {many.shape}.",
            hint="Give two one-dimensional arrays of integers, of the same length.",
        )
    if short.min() != 0 or many.min() < 1 or short.max() > MAX_COUNT or many.max() > MAX_COUNT:
        raise ParameterError(
            "Deficits must start from 0 and sizes from 1.",
            hint="Take the smallest deficit off all of them; leave empty groups out.",
        )
    if sum(many.tolist()) > MAX_COUNT:
        raise ParameterError("There are more than 2^62 items.", hint="Use fewer candidates.")
    return short.astype(np.int64), many.astype(np.int64)


def rates(value: Any, count: int, *, name: str) -> Loss | EachRate:
    """One rate, or one for each of ``count`` draws, all checked. Errors: ParameterError."""
    if type(value) in _ONE_NUMBER:
        return rate(value, name=name)
    if isinstance(value, np.ndarray):
        if value.ndim == 0:
            return rate(value.item(), name=name)
        if value.ndim != 1:
            raise ParameterError(
                f"{name} must be one number or a list of them, got an array of shape "
                f"{value.shape}.",
                hint="Give a one-dimensional array.",
                shape=value.shape,
            )
        if value.dtype.kind not in "iuf":
            value = value.tolist()
    elif isinstance(value, str | Decimal | Real) or not isinstance(value, Sequence):
        return rate(value, name=name)
    if len(value) != count:
        raise ParameterError(
            f"{name} has {_english.many(len(value), 'entry')} for {_english.many(count, 'draw')}.",
            hint="Give one rate, or one for each draw.",
            length=len(value),
            size=count,
        )
    return EachRate(value, name).checked()


@dataclass(frozen=True, slots=True)
class EachRate:
    """A rate for each draw. Memory is bounded, however many draws and different rates."""

    source: Sequence[Any] | NDArray[Any]
    name: str
    only: Piece | None = None

    def checked(self) -> EachRate:
        """Itself, after a look at every rate. Errors: ParameterError."""
        if isinstance(self.source, np.ndarray):
            for start in range(0, len(self.source), _ARRAY_PIECE):
                part = self.source[start : start + _ARRAY_PIECE]
                # To 64 bits first: the limits would be rounded to a narrower type, but not to this.
                numbers = part.astype(np.float64)
                good = (numbers >= float(MIN_RATE)) & (numbers <= float(MAX_RATE))
                if not good.all():
                    # Worded, and decided, by the one who knows.
                    for i in np.flatnonzero(~good):
                        _numbers.rate(part[i].item(), name=self.name)
            return self
        if len(self.source) <= _LIST_PIECE:
            # Told apart once, for the check and for the draws.
            return EachRate(self.source, self.name, next(self._list_pieces(), None))
        for _ in self._list_pieces():
            pass
        return self

    def pieces(self) -> Iterator[Piece]:
        """Stretches that together cover all draws."""
        if self.only is not None:
            return iter((self.only,))
        if isinstance(self.source, np.ndarray):
            return self._array_pieces(self.source)
        return self._list_pieces()

    def _array_pieces(self, source: NDArray[Any]) -> Iterator[Piece]:
        for start in range(0, len(source), _ARRAY_PIECE):
            part = source[start : start + _ARRAY_PIECE].astype(np.float64)

            def exact(place: int, part: NDArray[np.float64] = part) -> Loss:
                return rate(float(part[place]), name=self.name)

            yield Piece(slice(start, start + len(part)), exact, reciprocals_of_floats(part))

    def _list_pieces(self) -> Iterator[Piece]:
        for start in range(0, len(self.source), _LIST_PIECE):
            stop = min(start + _LIST_PIECE, len(self.source))
            # Held here, so that no two of them share an id.
            found, codes = self._told_apart([self.source[i] for i in range(start, stop)])

            def exact(place: int, found: list[Loss] = found, codes: IntArray = codes) -> Loss:
                return found[int(codes[place])]

            infinite = np.array([isinstance(one, Infinite) for one in found], dtype=np.bool_)
            finite = np.flatnonzero(~infinite[codes]) if infinite.any() else None
            yield Piece(slice(start, stop), exact, reciprocals(found)[codes], finite)

    def _told_apart(self, part: list[Any]) -> tuple[list[Loss], IntArray]:
        ids = np.fromiter(map(id, part), dtype=np.uintp, count=len(part))
        _, firsts, places = np.unique(ids, return_index=True, return_inverse=True)
        found: list[Loss] = []
        codes: dict[object, int] = {}
        code_of = np.empty(len(firsts), dtype=np.int64)
        for i, first in enumerate(firsts.tolist()):
            number = rate(part[first], name=self.name)
            key = number if isinstance(number, Infinite) else number.as_integer_ratio()
            code = codes.get(key)
            if code is None:
                code = len(found)
                found.append(number)
                if code < _MERGED:
                    codes[key] = code
            code_of[i] = code
        return found, code_of[places]
