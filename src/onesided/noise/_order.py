"""Random orders, each equally likely: deal into buckets, then sort each by random keys.

Proof: docs/exact-sampling.md, section 7.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from onesided import _numbers
from onesided.noise import _geometric, _uniforms
from onesided.noise._source import CHUNK, Bits, IntArray, lanes
from onesided.noise._uniforms import WORD_BITS, deepen, floored, stuck

# Above this length numbers are dealt into buckets, whose mean length is at most 2^_BUCKET_BITS.
_UNDEALT = 2**15
_BUCKET_BITS = 15
_MOST_BUCKET_BITS = 16
# Up to this length one sort of 64-bit keys is fastest.
_SHORT = 2**10
# Up to this length 32-bit keys are soon all different, and two radix sorts are faster.
_MEDIUM = 2**16
# Each round finds equal keys with a chance of at most 2/5: all do with less than 2^-300.
_ROUNDS = 256
_STUCK = "Not one of the items that must be accepted came, or thousands did at once."


def shuffled(length: int, bits: Bits) -> IntArray:
    """0 .. length - 1, each order equally likely."""
    if length <= _UNDEALT:
        return _order(length, bits)
    count = 1 << min(_MOST_BUCKET_BITS, (length >> _BUCKET_BITS).bit_length())
    out, ends = _dealt(length, count, bits)
    start = 0
    for end in ends.tolist():
        bucket = out[start:end]
        bucket[:] = bucket[_order(len(bucket), bits)]
        start = end
    return out


def _dealt(length: int, count: int, bits: Bits) -> tuple[IntArray, IntArray]:
    """0 .. length - 1, grouped by a bucket drawn for each; and where each bucket ends."""
    chosen = np.empty(length, dtype=np.uint16)
    sizes = np.zeros(count, dtype=np.int64)
    drop = np.uint16(_MOST_BUCKET_BITS - (count - 1).bit_length())
    for start in range(0, length, CHUNK):
        part = chosen[start : start + CHUNK]
        np.right_shift(lanes(bits, len(part)), drop, out=part)
        sizes += np.bincount(part, minlength=count)
    ends = np.cumsum(sizes)
    free = ends - sizes
    out = np.empty(length, dtype=np.int64)
    for start in range(0, length, CHUNK):
        part = chosen[start : start + CHUNK]
        here = np.bincount(part, minlength=count)
        places = np.repeat(free - (np.cumsum(here) - here), here)
        places += np.arange(len(part))
        out[places] = np.argsort(part, kind="stable") + start
        free += here
    return out, ends


def _order(length: int, bits: Bits) -> IntArray:
    """0 .. length - 1, each order equally likely: the order of random keys.

    Given that all keys differ each order is equally likely, by symmetry; keys that do not all
    differ are thrown away together.
    """
    for _ in range(_ROUNDS):
        keys: NDArray[np.uint64] | NDArray[np.uint32]
        if _SHORT < length <= _MEDIUM:
            keys = bits.words((length + 1) // 2).view(np.uint32)[:length]
            order = _by_halves(keys)
        else:
            keys = bits.words(length)
            order = np.argsort(keys)
        keys = keys[order]
        if bool((keys[1:] != keys[:-1]).all()):
            return order.astype(np.int64, copy=False)
    raise stuck(f"{_ROUNDS} times some of {length} random words were the same.")


def _by_halves(keys: NDArray[np.uint32]) -> IntArray:
    """An order that puts equal keys side by side: numpy sorts 16 bits in time linear in length."""
    halves = keys.view(np.uint16)
    # Which half comes first depends on the machine and does not matter: both are as random.
    order = np.argsort(halves[::2], kind="stable")
    return order[np.argsort(halves[1::2][order], kind="stable")]


# Permute and flip over astronomically many items that come in groups of equal chance.
#
# Each item is accepted with the chance ``p = e^(-rate deficit)`` of its group, by itself; one of
# the
# accepted is taken, each as likely as the next. Nobody lists the items: as if each had an arrival
# ``Z / p`` with ``Z`` uniform on [0, 1), those before ``1/4``, before ``1/2``, ... are looked for
# pass by pass, and the first pass that finds any takes one of its own.
# Proof: docs/exact-sampling.md, section 8.

# Items of so many bands are told apart by their chance; all others share the last, whose chance
# is below e^-64: it is looked through as rarely.
_BANDS = 128
# Items that a pass finds in a band: more come with a chance below 2^-2000 on fair bits.
_MOST = 2**12

# Bounds of a number in [0, 1], as near as so many bits ask.
_Real: TypeAlias = Callable[[int], tuple[Fraction, Fraction]]


@dataclass(frozen=True, slots=True)
class _Band:
    """Groups whose items' chance is at most ``e^-head``; ``ends`` counts items group by group."""

    head: Fraction
    groups: IntArray
    ends: IntArray

    @property
    def items(self) -> int:
        return int(self.ends[-1])


def taken(rate: Fraction, deficits: IntArray, sizes: IntArray, bits: Bits) -> int:
    """The group of the item that is taken. Some deficit is 0, every size at least 1."""
    bands = _banded(rate, deficits, sizes)
    place, step = Fraction(0), _first(bands)
    while True:
        found = _arrived(rate, deficits, bands, (place, step), bits)
        if found:
            return found[int(_uniforms.below_few(len(found), 1, bits)[0])]
        place, step = step, 2 * step
        if step > 1:
            raise stuck(_STUCK)


def _banded(rate: Fraction, deficits: IntArray, sizes: IntArray) -> list[_Band]:
    """Groups of like chance: within a band it falls by a factor of at most e, but in the last."""
    width = max(1, rate.denominator // rate.numerator)
    number = np.minimum(deficits // width, _BANDS).astype(np.uint8)
    order = np.argsort(number, kind="stable")
    ends = np.cumsum(np.bincount(number, minlength=_BANDS + 1))
    bands = []
    for i, (start, end) in enumerate(zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)):
        if end > start:
            groups = order[start:end]
            bands.append(_Band(rate * (i * width), groups, np.cumsum(sizes[groups])))
    return bands


def _first(bands: list[_Band]) -> Fraction:
    """A power of 1/2 by which about 2 to 4 items arrive, at most; 1 if no more are accepted."""
    accepted = sum(band.items * _numbers.exp_neg_bounds(band.head, bits=64)[1] for band in bands)
    return Fraction(1, 1 << max(0, int(accepted).bit_length() - 2))


def _arrived(
    rate: Fraction,
    deficits: IntArray,
    bands: list[_Band],
    between: tuple[Fraction, Fraction],
    bits: Bits,
) -> list[int]:
    """The groups of the items that arrive in [place, step), given that none did before."""
    place, step = between
    found = []
    for band in bands:
        head = band.head

        def share(digits: int, head: Fraction = head) -> tuple[Fraction, Fraction]:
            """Of the band's head: it rises with the chance, so that no item has a larger one."""
            low, high = _numbers.exp_neg_bounds(head, bits=digits)
            over = step - place
            return over * low / (1 - place * low), over * high / (1 - place * high)

        for item in _distinct(band.items, successes(band.items, share, bits), bits):
            group = int(band.groups[np.searchsorted(band.ends, item, side="right")])
            if _kept(rate * int(deficits[group]), head, place, bits):
                found.append(group)
    return found


def _kept(exponent: Fraction, head: Fraction, place: Fraction, bits: Bits) -> bool:
    """With an item's own share over that of its band's head."""
    if exponent == head:
        return True
    if not _flip(_uniforms.exp_digits(exponent - head), bits):
        return False

    def rest(digits: int) -> tuple[Fraction, Fraction]:
        over = _numbers.exp_neg_bounds(head, bits=digits)
        under = _numbers.exp_neg_bounds(exponent, bits=digits)
        return (1 - place * over[1]) / (1 - place * under[0]), (1 - place * over[0]) / (
            1 - place * under[1]
        )

    return not place or _flip(_digits(rest), bits)


def _flip(digits: Callable[[int], int], bits: Bits) -> bool:
    return bool(_uniforms.flip_few(digits, 1, bits)[0])


def _digits(number: _Real) -> Callable[[int], int]:
    """The binary digits of a number that is no fraction: some precision shows each."""

    def digits(depth: int) -> int:
        precision = depth + WORD_BITS
        while True:
            low, high = (floored(end, depth) for end in number(precision))
            if low == high:
                return low
            precision *= 2

    return digits


def _distinct(below: int, count: int, bits: Bits) -> list[int]:
    """So many different items, each set of them equally likely."""
    if count == below:
        return list(range(below))
    seen: dict[int, None] = {}
    while len(seen) < count:
        seen.setdefault(int(_uniforms.below_few(below, 1, bits)[0]))
    return list(seen)


def successes(number: int, chance: _Real, bits: Bits) -> int:
    """How many of ``number`` coins with this chance fall on their heads.

    chance: bounds of it, as near as so many bits ask.

    >>> from onesided.noise.kit import NotPrivateScriptedBits
    >>> half = Fraction(1, 2)
    >>> successes(3, lambda bits: (half, half), NotPrivateScriptedBits([2**62]))
    1
    """
    if chance(WORD_BITS)[0] == 1:
        if number > _MOST:
            raise stuck(_STUCK)
        return number
    seen, depth = bits.word(), WORD_BITS
    while (drawn := _counted(number, chance, seen, depth)) is None:
        seen, depth = deepen(seen, depth, bits)
    return drawn


def _counted(number: int, chance: _Real, seen: int, depth: int) -> int | None:
    """The count that ``U`` decides, if all numbers that begin with ``seen`` agree on it.

    All whole numbers stand for fractions of ``2^precision``; bounds are rounded outwards.
    """
    precision = depth + number.bit_length() + WORD_BITS
    one = 1 << precision
    ends = chance(precision)
    least, most = floored(ends[0], precision), -floored(-ends[1], precision)
    lower, upper = seen << precision - depth, (seen + 1) << precision - depth
    if upper <= one - number * most:
        return 0  # (1 - p)^n is no less than 1 - n p
    low = _power(one - most, number, precision, up=False)
    high = _power(one - least, number, precision, up=True)
    total = [low, high]
    for count in range(min(number, _MOST) + 1):
        if upper <= total[0] or count == number:
            return count
        if lower < total[1]:
            return None
        left, next_one = number - count, count + 1
        low = low * left * least // (next_one * (one - least))
        high = -(-high * left * most // (next_one * (one - most)))
        total = [total[0] + low, total[1] + high]
    raise stuck(_STUCK)


def _power(base: int, exponent: int, precision: int, *, up: bool) -> int:
    """``base^exponent``, both fractions of ``2^precision``, rounded one way at each step."""
    result, up_by = 1 << precision, (1 << precision) - 1 if up else 0
    while exponent:
        if exponent & 1:
            result = result * base + up_by >> precision
        base = base * base + up_by >> precision
        exponent >>= 1
    return result


# Many draws of permute and flip at one rate, side by side, where few items come at a time.
#
# In rounds: of a draw, each item that did not come yet comes with the chance ``1 - e^-λ``, and is
# accepted with its own or never. The first round with an accepted one takes one of its own.
# Proof: docs/exact-sampling.md, section 8.

# So many rounds find none of those that are sure with a chance below 2^-2000.
_MOST_ROUNDS = 2**11
# Draws at a time; items of each; and of these, those that come in a round.
_AT_ONCE, _MOST_ITEMS, _MOST_AT_A_TIME = 2**12, 2**40, 2**12
_SPARE_BITS, _LOG_BITS, _NEVER = 16, 40, 62
_LOG2_E = (94_548, 2**16)


def taken_each(
    rate: Fraction, deficits: IntArray, sizes: IntArray, ends: IntArray, bits: Bits
) -> tuple[IntArray, IntArray]:
    """Of each draw the group of the item that is taken, and which of its items that is.

    Groups of a draw stand together, up to its ``ends``; each draw has one whose deficit is 0.
    """
    groups, items = np.empty_like(ends), np.empty_like(ends)
    for first in range(0, ends.size, _AT_ONCE):
        upto = ends[first : first + _AT_ONCE]
        start = int(ends[first - 1]) if first else 0
        part = slice(start, int(upto[-1]))
        found = _taken_side_by_side(rate, deficits[part], sizes[part], upto - start, bits)
        groups[first : first + _AT_ONCE] = found[0] + start
        items[first : first + _AT_ONCE] = found[1]
    return groups, items


def _taken_side_by_side(
    rate: Fraction, deficits: IntArray, sizes: IntArray, ends: IntArray, bits: Bits
) -> tuple[IntArray, IntArray]:
    starts = np.concatenate([[0], ends[:-1]])
    groups, items = np.empty_like(ends), np.empty_like(ends)
    totals = np.add.reduceat(sizes, starts)
    halvings = _halvings(rate, deficits, sizes, starts)
    alone = (totals > _MOST_ITEMS) | (totals >> halvings > _MOST_AT_A_TIME)
    for draw in np.flatnonzero(alone).tolist():
        of = slice(int(starts[draw]), int(ends[draw]))
        groups[draw] = starts[draw] + taken(rate, deficits[of], sizes[of], bits)
        items[draw] = _uniforms.below_few(int(sizes[groups[draw]]), 1, bits)[0]
    # Items of all other draws have numbers: those of a draw from its `base` on.
    listed = np.where(np.repeat(alone, ends - starts), 0, sizes)
    upto = np.cumsum(listed)
    base = upto[starts] - listed[starts]
    waiting, gone = ~alone, np.empty(0, dtype=np.int64)
    for _ in range(_MOST_ROUNDS):
        if not waiting.any():
            return groups, items
        came = _came(base, totals, halvings, np.flatnonzero(waiting), bits)
        came = came[np.searchsorted(gone, came) == np.searchsorted(gone, came, side="right")]
        of = np.searchsorted(upto, came, side="right")
        draws = np.searchsorted(ends, of, side="right")
        kept = np.flatnonzero(_geometrics(rate, came.size, bits) >= deficits[of])
        done, chosen = _one_of_each(draws[kept], bits)
        groups[done] = of[kept[chosen]]
        items[done] = came[kept[chosen]] - (upto - listed)[groups[done]]
        waiting[done] = False
        gone = np.sort(np.concatenate([gone, came[waiting[draws]]]))
    raise stuck(_STUCK)


def _halvings(rate: Fraction, deficits: IntArray, sizes: IntArray, starts: IntArray) -> IntArray:
    """The power of 2 of how many are accepted of each draw, about. It decides the time alone."""
    over, under = rate.numerator * _LOG2_E[0], rate.denominator * _LOG2_E[1]
    each = max(1, (over << _LOG_BITS) // under)
    far = np.minimum(deficits, (_NEVER << _LOG_BITS) // each + 1) * each >> _LOG_BITS
    mass = np.minimum(sizes, _MOST_ITEMS) << _SPARE_BITS >> np.minimum(far, _NEVER)
    accepted = np.add.reduceat(mass, starts) >> _SPARE_BITS
    return np.searchsorted(1 << np.arange(1, _NEVER), accepted, side="right").astype(np.int64)


def _came(
    base: IntArray, totals: IntArray, halvings: IntArray, left: IntArray, bits: Bits
) -> IntArray:
    """The items of these draws that come in a round, with ``λ = 4 / 2^halvings``; rising."""
    found = []
    for power in np.flatnonzero(np.bincount(halvings[left])).tolist():
        draws = left[halvings[left] == power]
        ends = np.cumsum(totals[draws])
        places = _marked(int(ends[-1]), Fraction(4, 1 << power), bits)
        which = np.searchsorted(ends, places, side="right")
        found.append(places - (ends - totals[draws])[which] + base[draws][which])
    return np.sort(np.concatenate(found))


def _marked(length: int, rate: Fraction, bits: Bits) -> IntArray:
    """The places below ``length`` that are marked, each with the chance ``1 - e^-rate``."""
    few = min(length, length * rate.numerator // rate.denominator)
    found, last = [], -1
    while last < length:
        steps = np.minimum(_geometrics(rate, few + 4 * isqrt(few) + _SPARE_BITS, bits), length)
        found.append(last + np.cumsum(steps + 1))
        last = int(found[-1][-1])
        few = 0
    places = np.concatenate(found)
    return places[: np.searchsorted(places, length)]


def _geometrics(rate: Fraction, size: int, bits: Bits) -> IntArray:
    out = np.empty(size, dtype=np.int64)
    _geometric.fill(rate, out, bits)
    return out


def _one_of_each(draws: IntArray, bits: Bits) -> tuple[IntArray, IntArray]:
    """The draws that are named, which rise, and of each one of its places, equally likely."""
    first = np.flatnonzero(np.diff(draws, prepend=-1))
    number = np.diff(first, append=draws.size)
    for _ in range(_ROUNDS):
        keys = bits.words(draws.size)
        best = np.repeat(np.maximum.reduceat(keys, first), number) if draws.size else keys
        chosen = np.flatnonzero(keys == best)
        if chosen.size == first.size:
            return draws[first], chosen
    raise stuck(_STUCK)
