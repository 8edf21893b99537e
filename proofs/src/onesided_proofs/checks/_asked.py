"""What mechanisms ask of their noise, and what they charge for it, as their docstrings tell it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from itertools import product
from typing import Any, Final

import numpy as np

from onesided import policy as policies
from onesided.errors import ParameterError
from onesided.mechanism import (
    CubeCounts,
    CubeEstimates,
    GaussianCounts,
    GaussianSums,
    NoisyMaxQuantile,
    SeveralQuantiles,
    UnknownKeys,
)
from onesided.mechanism.histograms import Dawa, Look, OpenShape
from onesided.mechanism.local import ShuffledCounts
from onesided.noise import IntArray
from onesided.numbers import INFINITE, Infinite, Loss
from onesided.policy import Policy, Shift
from onesided.verify import paths

_NEAR: Final = 1e-8
_ROUGH: Final = 1e-3
_SHARES: Final = tuple(Fraction(eighths, 8) for eighths in range(1, 8))


class _Asked:
    """No noise at all, and choices that were made before; it keeps what was asked of it."""

    def __init__(self, *choices: int) -> None:
        self._choices = list(choices)
        self.chosen: list[tuple[Any, list[int], list[int], int]] = []
        self.drawn: list[tuple[Loss, Loss, int]] = []

    def geometric(self, rate: Loss, size: int) -> IntArray:
        return self.two_sided(rate, INFINITE, size)

    def two_sided(self, upper: Loss, lower: Loss, size: int) -> IntArray:
        self.drawn.append((upper, lower, size))
        return np.zeros(size, dtype=np.int64)

    def permute_and_flip(self, rate: Loss, deficits: IntArray, sizes: IntArray) -> int:
        place = self._choices.pop(0) % len(deficits)
        self.chosen.append((rate, deficits.tolist(), sizes.tolist(), place))
        return place

    def uniform(self, _below: int, size: int) -> IntArray:
        return np.zeros(size, dtype=np.int64)


def quantiles_fault(seed: int, *, unit: Fraction = Fraction(1)) -> str:
    """Seven shares of six candidates, in fine parts listed one by one; choices at random."""
    generator = np.random.Generator(np.random.PCG64(seed))
    counts, fine = generator.integers(0, 4, 6), 4
    noise: Any = _Asked(*generator.integers(0, 30, 40).tolist())
    asked: dict[str, Any] = {"shares": _SHARES, "candidates": counts.size, "fine": fine}
    mechanism = SeveralQuantiles(unit, **asked)
    found = mechanism.release(counts, noise=noise)
    levels = [level for _, _, level, _ in mechanism.parts()]
    if levels != [0, 1, 1, 2, 2, 2, 2]:
        return f"shares are on the levels {levels}, three are paid"
    # Three levels of candidates, and two of cuts at a quarter of the rate of candidates.
    rate, half, calls = Fraction(2, 7) / fine / 2, Fraction(1, 2), iter(noise.chosen)
    # Every share is in the middle of its part.
    waiting = [(0, 7, (0, 0), (counts.size - 1, fine))]
    while waiting:
        first, last, low, high = waiting.pop(0)
        middle, part = (first + last) // 2, (low, high, fine)
        told = int(found[middle])
        if fault := _level_fault(next(calls), counts, part, (half, rate), told):
            return fault
        if last == first + 1:
            continue
        met, deficits, _, chosen = next(calls)
        places, due = _cuts(counts, part, half, told)
        if deficits != due or met != rate / 4:
            return f"of {counts.tolist()} a cut at {met} by {deficits}, due {due} at {rate / 4}"
        cut = told, places[chosen]
        waiting += [(first, middle, low, cut), (middle + 1, last, cut, high)]
    # Half of all is missed by any of three levels, for its candidates and for its cuts.
    said = SeveralQuantiles(unit, **asked).rank_errors(confidence=half)[3]
    own = np.log(counts.size * 2 * 3 * 2) / (2 / 7)
    return "" if np.isclose(said, own) else f"within {said} ranks, due {own}"


_Part = tuple[tuple[int, int], tuple[int, int], int]


def _units(counts: IntArray, part: _Part) -> list[int]:
    """The candidate of each fine part of each value between two cuts."""
    low, high, fine = part
    return [
        place
        for place, count in enumerate(counts.tolist())
        for j in range(fine)
        if low <= (place, j) < high
        for _ in range(count)
    ]


def _level_fault(
    call: Any, counts: IntArray, part: _Part, asked: tuple[Fraction, Fraction], told: int
) -> str:
    """One choice of a candidate; ranks are counted in fine parts."""
    rate, deficits, sizes, chosen = call
    over, under = asked[0].as_integer_ratio()
    units = _units(counts, part)
    target = over * len(units)
    far = {}
    for place in range(part[0][0], part[1][0] + 1):
        below, upto = (sum(one < end for one in units) for end in (place, place + 1))
        far[place] = max(under * below - target, target - under * upto)
    least = min(far.values())
    due = sorted(one - least for one in far.values())
    met = sorted(d for d, size in zip(deficits, sizes, strict=True) for _ in range(size))
    if met != due or rate != asked[1]:
        return f"of {counts.tolist()} {met} at {rate}, due {due} at {asked[1]}"
    right = deficits[chosen] == far[told] - least
    return "" if right else f"the candidate {told} was not the one chosen"


def _cuts(
    counts: IntArray, part: _Part, share: Fraction, place: int
) -> tuple[list[int], list[int]]:
    """The cuts of the chosen candidate's values, and how far each is from the share."""
    low, high, fine = part
    over, under = share.as_integer_ratio()
    units, found = _units(counts, part), []
    places = [j for j in range(fine + 1) if low <= (place, j) <= high]
    for j in places:
        below = len(_units(counts, (low, (place, j), fine)))
        found.append(abs(under * below - over * len(units)))
    return places, [one - min(found) for one in found]


def look_fault(upper: int) -> str:
    """Rates of cells where neighbours differ, and of buckets where they are alike."""
    quarter, one = Fraction(1, 4), Fraction(1)
    look = Look(quarter, upper_rate=2, lower_rate=5)
    for workload in ("cells", "ranges"):
        made = Dawa(1, upper_rate=1, lower_rate=1, workload=workload, look=look)
        for line, due in ((np.array([0, 9000] * 32), (upper, 5)), (np.full(64, 7), (one, one))):
            noise: Any = _Asked()
            made.release(line, noise=noise)
            if noise.drawn[0] != (quarter, quarter, 1):
                return f"the look is at {noise.drawn[0]}"
            above, below, _ = noise.drawn[-1]
            levels = due[0] / above
            if (workload == "cells" and levels != 1) or below * levels != due[1]:
                return f"{workload} at ({above}, {below}), due {due}"
    return ""


def shapes() -> Iterator[tuple[Policy | None, OpenShape]]:
    tiers = policies.tiers({"strict": (1, "strict"), "mild": (2, "mild"), "open": INFINITE})
    leave = policies.custom(kinds=("sensitive", "open"), edges=[("sensitive", "open")])
    ill = policies.sensitive("ill")
    for policy in (ill, policies.extended_sensitive("ill"), tiers, leave):
        yield policy, OpenShape.for_policy(policy, epsilon=1, block=2)
    yield None, OpenShape((3, 3), ((3, 4, 4), (2, 5, 9)), block=2, records=((7, 6), (1, 2)))


def shape_fault(given: tuple[Policy | None, OpenShape]) -> str:
    """Loss, charge and noise of a histogram shaped by its open records."""
    policy, made = given
    for fall, rise, opened in product(range(3), repeat=3):
        told = made.loss(Shift(rise=rise, fall=fall), Shift(rise=opened, fall=0))
        due = max(
            _shape_loss(made, number, *move)
            for number in range(len(made.options))
            for move in product(range(fall + 1), range(rise + 1), range(opened + 1))
        )
        if told != due:
            return f"{fall} fall, {rise} rise, {opened} open: {told}, due {due}"
    return _shape_asked(made) or ("" if policy is None else _shape_priced(policy, made))


def _shape_priced(policy: Policy, made: OpenShape) -> str:
    """At ε = 1 every edge is charged its weight at most, and no more could be told of numbers."""
    for edge, loss in made.losses(policy).items():
        if loss > edge.weight:
            return f"{edge.name} under {policy.name} is charged {loss}"
    for place, pair in product(range(len(made.options)), (0, 1)):
        if made.records is None or made.records[place][pair] == INFINITE:
            continue
        rates = [list(one) for one in made.records]
        rates[place][pair] *= Fraction(1001, 1000)
        look = (made.look.upper, made.look.lower)
        options = [(one.upper, one.lower, one.open) for one in made.options]
        more = OpenShape(look, options, block=made.block, records=rates).losses(policy)
        if all(loss <= edge.weight for edge, loss in more.items()):
            return f"the number of records under {policy.name} is told at {made.records}"
    return ""


def _shape_loss(made: OpenShape, number: int, fall: int, rise: int, opened: int) -> Loss:
    option, look = made.options[number], made.look
    moved = (fall, look.upper), (fall, option.upper), (rise, look.lower), (rise, option.lower)
    net = rise + opened - fall
    above, below = (0, 0) if made.records is None else made.records[number]
    all_of = (*moved, (opened, option.open), (max(-net, 0), above), (max(net, 0), below))
    total: Loss = Fraction(0)
    for times, rate in all_of:
        total = total + rate * times if times else total
    return total


def _shape_asked(made: OpenShape) -> str:
    """Without noise, what is told is what is there; noise is asked for at the rates charged."""
    hidden, free = np.array([0, 7, 2, 2, 5]), np.array([9, 0, 4, 3, 5])
    noise: Any = _Asked()
    told = made.measure(hidden, free, noise=noise)
    option = made.options[told.option]
    wanted = [option.open, (made.look.upper, made.look.lower), (option.upper, option.lower)]
    pairs = [one[:2] for one in noise.drawn if one[2] == 5 and one[1] == INFINITE]
    opened = [pair[0] for pair in pairs[: 2 if made.look.open != option.open else 1]]
    spent = INFINITE if any(isinstance(o, Infinite) for o in opened) else sum(opened)
    two = [one[:2] for one in noise.drawn[1:]]
    sums = np.bincount(told.labels, hidden).tolist()
    right = (
        spent == wanted[0]
        and wanted[1] == two[0]
        and wanted[2] in two
        and told.lower.tolist() == free.tolist()
        and told.blocks.tolist() == [7, 4, 5]
        and told.totals.tolist() == sums
    )
    if made.records is not None:
        number = hidden.sum() + free.sum()
        right = right and told.records == number and two[-1] == made.records[told.option]
    return "" if right else f"asked for {noise.drawn}, told {told}"


def keys_fault(key_delta: str = "1/10") -> str:
    """Told keys by their law: the largest chances there are, and what a key loses beyond its rates.

    Each number of a key is drawn on every path, one beside the next.
    """
    rates: tuple[tuple[Any, Any], ...] = (("1/2", 1), (1, INFINITE), (2, "1/3"), (1, 1))
    for upper, lower in rates:
        made = UnknownKeys(lower, upper_rate=upper, key_delta="1/10")
        told = UnknownKeys(lower, upper_rate=upper, key_delta=key_delta)
        most = (made.width or 0) + 3
        laws = [
            _of_paths(lambda noise, n=n, made=made: made.release([n], noise=noise).item())
            for n in range(most + 1)
        ]
        chance, up, down = (
            0.0,
            *(0.0 if r == INFINITE else np.exp(float(Fraction(r))) for r in (upper, lower)),
        )
        for count, law in enumerate(laws):
            shown = 1 - law.get(0, 0.0)
            if max(abs(shown - chance), abs(told.chance(count) - shown)) > _NEAR:
                return f"a key of {count} is told with {told.chance(count)}, due {chance}"
            chance = min(1.0, up * chance + 0.1, 1 - (1 - chance - 0.1) / down if down else 1.0)
        falls, rises = (
            max(_beyond(laws[a], laws[b], rate) for a, b in pairs)
            for rate, pairs in (
                (up, [(n + 1, n) for n in range(most)]),
                (down, [(n, n + 1) for n in range(most)]),
            )
        )
        moves = ((0, 1), (1, 0), (1, 2), (3, 1)) if down else ((0, 1), (0, 3))
        for rise, fall in moves:
            due = 1 - (1 - falls) ** fall * (1 - rises) ** rise
            if abs(float(told.delta(Shift(rise=rise, fall=fall))) - due) > _NEAR:
                return f"{rise} up and {fall} down at {upper}, {lower}: δ is not {due}"
        if fault := _drawn_off(told, most, laws[-1]):
            return fault
    made = UnknownKeys("1/2")
    endless = UnknownKeys(INFINITE, upper_rate=1, key_delta="1/10")
    if any(one.delta(Shift(rise=2, fall=0)) for one in (made, endless)):
        return "there is a δ where no key falls, or where nothing is promised"
    law = _of_paths(lambda noise: made.release([99], noise=noise).item())
    return _drawn_off(made, 99, law)


def _drawn_off(told: UnknownKeys, most: int, law: dict[int, float]) -> str:
    """Median, width and variance of what is taken off a count so large."""
    noise = {most - value: p for value, p in law.items()}
    mean = sum(value * p for value, p in noise.items())
    spread = sum((value - mean) ** 2 * p for value, p in noise.items())
    middle = next(k for k in sorted(noise) if sum(p for n, p in noise.items() if n <= k) >= 0.5)
    right = told.median == middle and told.width in (max(noise), None)
    near = abs(told.variance - spread) < _ROUGH
    return "" if right and near else f"{told}: {told.median}, {told.width}, {told.variance}"


def _beyond(here: dict[int, float], there: dict[int, float], rate: float) -> float:
    return sum(max(p - rate * there.get(told, 0.0), 0.0) for told, p in here.items())


def each_fault(q: str = "1/3") -> str:
    """Quantiles of many rows side by side: every distance, each choice, and the item of its run."""
    size, share = 4, Fraction("1/3")
    rows = [np.array(one) for one in product(range(3), repeat=size)]
    noise: Any = _Asked(*range(len(rows)))
    given = [(np.flatnonzero(row), row[row > 0]) for row in rows]
    told = NoisyMaxQuantile(2, q=q, candidates=size).choose_each(given, noise=noise)
    for row, place, (rate, deficits, sizes, chosen) in zip(rows, told, noise.chosen, strict=True):
        below = share.denominator * np.concatenate([[0], np.cumsum(row)])
        target = share.numerator * int(row.sum())
        far = np.maximum(below[:-1] - target, target - below[1:])
        met = np.repeat(deficits, sizes).tolist()
        due = (far - far.min()).tolist()
        if rate != 2 or met != due or place != sum(sizes[:chosen]):
            return f"of {row.tolist()}: {met} and the place {place}, due {due}"
    many = [(np.array([0]), np.array([2**30]))]
    with suppress(ParameterError):
        NoisyMaxQuantile(2, q=Fraction(1, 2**40), candidates=size).choose_each(many, noise=noise)
        return "ranks beyond 2^62 are taken"
    return ""


def squares_fault(more: int = 0) -> str:
    """How far sums go in L2 where they rise and fall by so much in all; and a part's own noise."""
    for rise, fall in product(range(4), repeat=2):
        shift = Shift(rise=rise, fall=fall)
        steps, alike = GaussianSums(3).steps(shift), GaussianCounts(3, alike=True).steps(shift)
        # One sum may take all that rises, and another all that falls; counts move by one each.
        due = rise**2 + fall**2, rise + fall
        if (steps.squares + more, alike.squares) != due or GaussianCounts(3).steps(shift) != steps:
            return f"{shift} goes {steps.squares} and {alike.squares}, due {due}"
        if steps.alike != (rise + fall <= 1) or not alike.alike or steps.variance != 3:
            return f"{shift}: {steps} and {alike}"
    if (GaussianSums(3).upper_rate, GaussianSums(3).lower_rate) != (Fraction(1, 3),) * 2:
        return "there is noise above and below"
    for parts in (((1, 4), (1, 2)), ((3, 1),), ((1, 7),), ((1, 10**9),)):
        wide = GaussianSums(3).widened([(Fraction(a), Fraction(b)) for a, b in parts]).variance
        least = max(3 * max(Fraction(a, b) for a, b in parts), Fraction(1, 2**10))
        if not least <= wide <= least + Fraction(1, 2**19):
            return f"parts {parts} take a variance of {wide}, due {least}"
    return ""


def lone_fault(senders: int = 3) -> str:
    """What one sender's own tokens lose before they are shuffled, on every path."""
    made = ShuffledCounts(2, senders=3)
    here, there = (
        _of_paths(lambda noise, n=n: made.tokens([n], noise=noise).item(), 1e-6) for n in (1, 0)
    )
    seen = max(np.log(p / there[told]) for told, p in here.items() if p > _ROUGH)
    due: Any = ShuffledCounts(2, senders=senders).lone_loss(Shift(rise=0, fall=1))
    return "" if abs(seen - float(due)) < _ROUGH else f"tokens lose {seen}, due {due}"


def cube_fault(rate: int = 3) -> str:
    """The mean of noise on all counts at once, and how often a count is certified."""
    made, told = CubeCounts(3), CubeCounts(rate)
    law = _of_paths(lambda noise: made.release([0, 0], noise=noise)[0].item())
    mean = sum(value * p for value, p in law.items())
    if abs(told.mean(2) - mean) > _ROUGH:
        return f"a mean of {told.mean(2)}, due {mean}"
    for room in range(4):
        due = sum(p for value, p in law.items() if value < room)
        if abs(told.share(2, room=room) - due) > _ROUGH:
            return f"below {room} with {told.share(2, room=room)}, due {due}"
    law_of: Any = CubeEstimates(rate, keys=2).distribution
    spread = sum((value - mean) ** 2 * p for value, p in law.items())
    if abs(law_of.variance() - spread) > _ROUGH:
        return f"a variance of {law_of.variance()}, due {spread}"
    if (law_of.quantile_lower(Fraction(1, 2)), law_of.lower, law_of.upper) != (0, INFINITE, 3):
        return f"noise at {law_of.upper} above and {law_of.lower} below"
    least = [2 * groups - 1 for groups in (1, 2, 5)]
    pays = [[CubeCounts.pays(n, max_groups=g) for n in range(1, 12)] for g in (1, 2, 5)]
    due_of = [[n < least[at] and n + 1 < 2 * n for n in range(1, 12)] for at in range(3)]
    if pays != due_of or made.at_most(np.array([2, 3]), 2).tolist() != [True, False]:
        return f"it pays for {pays}, due {due_of}"
    return ""


def _of_paths(program: Any, tail: float = 1e-12) -> dict[int, float]:
    found: dict[int, float] = {}
    for told, weight in paths(program, tail=tail):
        found[told] = found.get(told, 0.0) + weight
    return found
