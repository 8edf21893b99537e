"""The samplers against arithmetic of their own: words chosen just below and above each threshold.

A draw is the one that the digits of a uniform number U decide. For many thresholds T the first one,
two or three words of T, less or more one in the last, are given to the sampler as its bits: it
must come out below or above, so a law that is off by 2^-190 is seen. What no such words can be
chosen for is drawn from a fixed seed and compared by chi-square: no false alarm, as nothing varies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from math import comb
from typing import Any, Final, NamedTuple

import numpy as np

from onesided._numbers import exp_neg_bounds
from onesided.noise import IntArray, NotPrivateScriptedNoise
from onesided.noise.kit import NotPrivateScriptedBits, successes

_WORD: Final = 2**64
_DIGITS: Final = 120
# Digits for whoever asks for more than were chosen, and draws of 0 for all but the first.
_MORE: Final = (0,) * 40
# More draws than are made one by one, so that they come from tables and lanes of 16 bits.
_MANY: Final = 16
_LANE: Final = 2**16

Draw = Callable[[Sequence[int], int], IntArray]


class Sampled(NamedTuple):
    """What was checked, on whom, the fault or nothing, and whether it is sound."""

    name: str
    subject: str
    fault: str
    sound: bool = True


def near(threshold: Decimal) -> Iterator[tuple[tuple[int, ...], bool]]:
    """Words just below and just above, and whether they reach the threshold."""
    with localcontext() as context:
        context.prec = _DIGITS
        words = [int(threshold * Decimal(_WORD) ** depth) % _WORD for depth in (1, 2, 3)]
    for depth in (1, 2, 3):
        *before, last = words[:depth]
        if last > 0:
            yield (*before, last - 1), False
        if last + 1 < _WORD:
            yield (*before, last + 1), True


def exp_neg(rate: Fraction) -> Decimal:
    """``e^-rate``, from the decimal module: none of our own bounds are used."""
    with localcontext() as context:
        context.prec = _DIGITS
        return (-Decimal(rate.numerator) / Decimal(rate.denominator)).exp()


def ratio(chance: Fraction) -> Decimal:
    with localcontext() as context:
        context.prec = _DIGITS
        return Decimal(chance.numerator) / Decimal(chance.denominator)


def upto(rate: Fraction, k: int, span: int | None) -> Decimal:
    """``Pr[G <= k]``, of a geometric below ``span`` or of any."""
    with localcontext() as context:
        context.prec = _DIGITS
        whole = 1 - exp_neg(rate * span) if span else Decimal(1)
        return (1 - exp_neg(rate * (k + 1))) / whole


def one_by_one(words: Sequence[int]) -> list[int]:
    """A script for a single draw, a word at a time."""
    return [*words, *_MORE]


def in_lanes(words: Sequence[int], count: int) -> list[int]:
    """A script for ``count`` draws: 16 bits each, all 0 but the first, then the first one's rest.

    The first 64 digits are told apart once more, by a word of which the upper 48 bits count.
    """
    first, *rest = words
    filled = [first // 2**48] + [0] * (-(-count // 4) - 1)
    return [*filled, first * _LANE % _WORD, *rest, *_MORE]


def of_coin(words: Sequence[int], count: int) -> list[int]:
    """The same for coins, whose further digits follow those 16 at once, in whole words."""
    bits = sum(word << 64 * place for place, word in enumerate(reversed(words)))
    width = 64 * len(words)
    head, tail = bits >> width - 16, bits << 16 & (1 << width) - 1
    rest = [tail >> 64 * place & _WORD - 1 for place in range(len(words))][::-1]
    return [head, *[0] * (-(-count // 4) - 1), *rest, *_MORE]


def geometric_fault(rate: Fraction, drawn: Fraction | None = None) -> str:
    """Draws at ``drawn``, against the law at ``rate``: one by one and from tables."""
    asked = rate if drawn is None else drawn
    *levels, last = levels_of(rate)
    for k in (0, 1, 2, 7):
        for words, reached in near(upto(rate, k, None)):
            each: tuple[Any, ...] = (asked, [asked], np.array([asked], dtype=object))
            for given in each:
                noise = NotPrivateScriptedNoise(one_by_one(words))
                if (int(noise.geometric(given, 1)[0]) > k) != reached:
                    return f"one draw at {rate} passes {k} wrongly"
    for place, (own, span, shift) in enumerate([*levels, last]):
        for k in (0, 1, 3):
            for words, reached in near(upto(own, k, span)):
                script = [0] * (_MANY // 4 * place) + in_lanes(words, _MANY)
                found = NotPrivateScriptedNoise(script).geometric(asked, _MANY).tolist()
                if span is not None:
                    found[0] %= span << shift
                if (found[0] >> shift > k) != reached or any(found[1:]):
                    return f"a table at {rate}, level {place}, passes {k} wrongly"
    return ""


def levels_of(rate: Fraction) -> list[tuple[Fraction, int | None, int]]:
    """Rate, span and shift of the factors that a draw is made of (docs/exact-sampling.md, 5)."""
    levels: list[tuple[Fraction, int | None, int]] = []
    shift = 0
    while rate < Fraction(1, 16):
        step = min(10, int(Fraction(1, 16) / rate).bit_length())
        levels.append((rate, 2**step, shift))
        rate, shift = rate * 2**step, shift + step
    return [*levels, (rate, None, shift)]


def coin_fault(chance: Decimal, flip: Callable[[Any, int], Any]) -> str:
    """One coin from a word, and many from lanes of 16 bits."""
    for words, reached in near(chance):
        one = flip(NotPrivateScriptedNoise(one_by_one(words)), 1)
        many = flip(NotPrivateScriptedNoise(of_coin(words, _MANY)), _MANY)
        if bool(one[0]) == reached or bool(many[0]) == reached or not many[1:].all():
            return f"a coin of chance {chance:.5f} falls wrongly at {words}"
    return ""


def uniform_fault(bound: int, draw: Callable[[Any, int, int], Any]) -> str:
    """Words are cut to as many bits as the bound needs, and thrown away where they reach it."""
    width = (bound - 1).bit_length()
    numbers = [0, 1, bound - 1, bound, 2**width - 1, bound // 2, bound - 1] * 8
    words = [(n % 2**width) << 64 - width if width else 0 for n in numbers]
    kept = [n % 2**width for n in numbers if n % 2**width < bound]
    for size in (3, _MANY, 20):
        found = draw(NotPrivateScriptedNoise([*words, *words]), bound, size).tolist()
        if found != kept[:size]:
            return f"numbers below {bound}: {found[:6]} where {kept[:6]} are due"
    return ""


def order_fault(length: int, order: Callable[[Any, int], IntArray]) -> str:
    """The order of random keys; all are drawn again where two of them are equal."""
    generator = np.random.PCG64(length)
    halves = 1024 < length <= 65536
    size = (length + 1) // 2 if halves else length
    twice, keys = (generator.random_raw(size) for _ in range(2))
    kind = np.dtype("<u4") if halves else np.dtype("<u8")
    same = twice.view(kind)
    same[length - 1] = same[0]
    expected = np.argsort(keys.view(kind)[:length], kind="stable")
    found = order(NotPrivateScriptedNoise([*twice.tolist(), *keys.tolist()]), length)
    return (
        "" if np.array_equal(found, expected) else f"an order of {length} is not that of its keys"
    )


def successes_fault(number: int, rate: Fraction, told: Fraction | None = None) -> str:
    """How many of so many coins of chance e^-rate fall on their heads, as U decides."""
    chance, own, total = exp_neg(rate), rate if told is None else told, Decimal(0)
    with localcontext() as context:
        context.prec = _DIGITS
        for k in range(min(number, 5)):
            total += comb(number, k) * chance**k * (1 - chance) ** (number - k)
            for words, reached in near(total):
                bits = NotPrivateScriptedBits(one_by_one(words))
                found = successes(number, lambda digits: exp_neg_bounds(own, bits=digits), bits)
                if (found > k) != reached:
                    return f"{found} of {number} coins at rate {rate}, where {k} is the border"
    return ""
