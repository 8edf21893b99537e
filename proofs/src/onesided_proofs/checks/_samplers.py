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

from onesided.noise import IntArray, NotPrivateScriptedNoise
from onesided.noise.kit import NotPrivateScriptedBits, successes
from onesided.numbers import exp_neg_bounds

_WORD: Final = 2**64
_DIGITS: Final = 120
# Digits for whoever asks for more than were chosen, and draws of 0 for all but the first.
_MORE: Final = (0,) * 40
# More draws than are made one by one, so that they come from tables and lanes of 16 bits.
_MANY: Final = 16
_LANE: Final = 2**16
# So many come two at a time, from tables of pairs; a rate is doubled until it is at least this.
_VERY_MANY: Final = 2**14
_PAIRED: Final = Fraction(1, 12)

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
            for given in _in_clothes(asked):
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


def _in_clothes(rate: Fraction) -> Iterator[Any]:
    """The ways to give one rate to one draw; as a float only where that is the same number."""
    yield from (rate, [rate], np.array([rate], dtype=object))
    if Fraction(float(rate)) == rate:
        yield np.array([float(rate)])


def pairs_fault(rate: Fraction, drawn: Fraction | None = None) -> str:
    """Very many draws at ``drawn``, against the law at ``rate``: each cell, and what is left."""
    asked = rate if drawn is None else drawn
    shift = 0
    while rate * 2**shift < _PAIRED:
        shift += 1
    law = _paired_law(rate * 2**shift)
    parts = [0] * (-(-shift // 8) * _LANE // 2)
    cells = np.arange(_LANE, dtype=np.uint16).view(np.uint64).tolist()
    found = NotPrivateScriptedNoise([*cells, *[0] * _LANE, *parts]).geometric(asked, 2 * _LANE)
    pairs = (found >> shift).reshape(-1, 2)[: sum(law)]
    for total in range(len(law)):
        worth = law[total] // (total + 1)
        firsts = np.bincount(pairs[pairs.sum(axis=1) == total, 0], minlength=total + 1)
        if firsts.tolist() != [worth] * (total + 1):
            return f"pairs at {rate} with the sum {total} have {firsts.tolist()} cells, not {worth}"
    for k in (0, 1, 3, 20):
        for words, reached in near(_left_upto(rate * 2**shift, k, law)):
            first, *rest = words
            script = [_LANE - 1] + [0] * (_VERY_MANY // 8 - 1)
            script += [first // 2**48, first * _LANE % _WORD, *rest, *_MORE, *parts]
            found = NotPrivateScriptedNoise(script).geometric(asked, _VERY_MANY) >> shift
            if (int(found[:2].sum()) > k) != reached or found[2:].any():
                return f"what cells leave of pairs at {rate} passes {k} wrongly"
    return ""


def _paired_law(rate: Fraction) -> list[int]:
    """How many of 65,536 cells the pairs with the sum 0, 1, ... have."""
    with localcontext() as context:
        context.prec = _DIGITS
        chance, found = (1 - exp_neg(rate)) ** 2 * _LANE, list[int]()
        while worth := int(chance * exp_neg(rate * len(found))):
            found.append(worth * (len(found) + 1))
        return found


def _left_upto(rate: Fraction, k: int, law: Sequence[int]) -> Decimal:
    """The chance of a sum of at most k where no cell answers."""
    with localcontext() as context:
        context.prec = _DIGITS
        q = exp_neg(rate)
        upto_k = 1 - q ** (k + 1) * (1 + (k + 1) * (1 - q))
        return (_LANE * upto_k - sum(law[: k + 1])) / (_LANE - sum(law))


def scaled_fault(bound: int, draw: Callable[[Any, int, int], Any]) -> str:
    """Very many whole numbers: each of 65,536 cells, or cells about every border of 2^32."""
    width = 16 if bound <= 2**11 else 32
    if width == 16:
        numbers = np.arange(_LANE)
    else:
        borders = np.linspace(0, bound, 1000).astype(object) * 2**32 // bound
        numbers = np.array([(n + d) % 2**32 for n in borders.tolist() for d in range(-9, 9)])
    kept = numbers.astype(object) * bound
    expected = np.where(kept % 2**width < 2**width % bound, 0, kept // 2**width)
    script = np.resize(numbers.astype(f"u{width // 8}"), 2**16).view(np.uint64).tolist()
    found = draw(NotPrivateScriptedNoise([*script, *[0] * _LANE]), bound, len(numbers))
    return "" if found.tolist() == expected.tolist() else f"numbers below {bound} are not even"


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


def dealt_fault(length: int, order: Callable[[Any, int], IntArray]) -> str:
    """Very many items: each is dealt to a bucket, and each bucket is in the order of its keys."""
    generator = np.random.PCG64(length)
    deal = generator.random_raw(-(-length // 4))
    buckets = (length // 2**15).bit_length()
    dealt, words, expected = deal.view("<u2")[:length] >> 16 - buckets, deal.tolist(), []
    for bucket in range(2**buckets):
        items = np.flatnonzero(dealt == bucket)
        keys = np.zeros(2, dtype="<u4")
        while np.unique(keys).size < keys.size:
            drawn = generator.random_raw((items.size + 1) // 2)
            keys, words = drawn.view("<u4")[: items.size], words + drawn.tolist()
        expected.append(items[np.argsort(keys)])
    found = order(NotPrivateScriptedNoise(words), length)
    same = np.array_equal(found, np.concatenate(expected))
    return "" if same else f"an order of {length} is not as it was dealt"


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
