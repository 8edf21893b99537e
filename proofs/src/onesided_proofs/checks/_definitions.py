"""Parts of mechanisms and policies against their definitions, worked out the slow way.

Tiny worlds do not reach all of them: runs of many candidates, intervals that are cut off, planes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any, Final

import numpy as np

from onesided import policy as policies
from onesided.errors import ContributionError
from onesided.mechanism import (
    AdaptiveSparseVector,
    Counts,
    NoisyMaxQuantile,
    Staircase,
    Subsampled,
    TruncatedCounts,
)
from onesided.mechanism.histograms.kit import Prices, deviations, least
from onesided.mechanism.local import Channel, RandomisedResponse, Randomiser, UnaryResponse
from onesided.noise import IntArray, Noise, NotPrivateSeededNoise
from onesided.numbers import INFINITE, Infinite
from onesided.policy import ABSENT, Policy, Record, Shift
from onesided.verify import paths
from onesided_proofs.checks._correlated import correlation_checks
from onesided_proofs.checks._parts import part_checks
from onesided_proofs.checks._prices import price_checks
from onesided_proofs.checks._samplers import Sampled

_NAME: Final = "parts, by their definition"
_HALF: Final = Fraction(1, 2)
_CLOSE: Final = 1e-7
Weight = Callable[[Record, Record], int | None]


def definition_checks() -> Iterator[Sampled]:
    """Each part, and a control that must differ from its definition."""
    yield Sampled(_NAME, "moves of policies", _first(_moves_fault(*one) for one in _relations()))
    wrong = policies.presence(max_groups=1), ("a", "b", "c"), _dropped(2)
    yield Sampled(_NAME, "moves of one group fewer", _moves_fault(*wrong), sound=False)
    yield Sampled(_NAME, "deviations of intervals", _deviations_fault(deviations))
    yield Sampled(_NAME, "deviations of sorted cells", _deviations_fault(_sorted), sound=False)
    yield Sampled(_NAME, "the cheapest partition", _least_fault())
    yield Sampled(
        _NAME, "distances of candidates", _first(map(_ranks_fault, ("1/2", "1/3", "4/5")))
    )
    yield Sampled(_NAME, "distances at another q", _ranks_fault("1/3", "2/5"), sound=False)
    yield Sampled(_NAME, "answers of a purse", _purse_fault())
    yield Sampled(_NAME, "answers of a larger purse", _purse_fault(more=1), sound=False)
    yield Sampled(_NAME, "stairs", _first(map(_stairs_fault, ((2, 3), (1, 4), (1, 5, 2)))))
    yield Sampled(
        _NAME, "stairs of another rate", _stairs_fault((2, 3), Fraction(9, 4)), sound=False
    )
    yield Sampled(_NAME, "samples of units", _sample_fault(Fraction(2)))
    yield Sampled(_NAME, "samples at another rate", _sample_fault(Fraction(3)), sound=False)
    half = "1/2"
    for name, sent in (
        ("responses", RandomisedResponse(["a", "b", "c"], ["a", "b"], half)),
        ("bits", UnaryResponse(["a", "b"], [half, "2/3"], ["1/4", 0])),
        (
            "a channel",
            Channel(["a", "b"], [[half, half, 0], [0, "1/3", "2/3"]], outputs=list("xyz")),
        ),
    ):
        yield Sampled(_NAME, f"odds and variances, {name}", _reports_fault(sent, sent))
    other = RandomisedResponse(["a", "b", "c"], ["a", "b"], "3/5")
    right = RandomisedResponse(["a", "b", "c"], ["a", "b"], half)
    yield Sampled(_NAME, "odds of another coin", _reports_fault(right, other), sound=False)
    yield from part_checks()
    yield from correlation_checks()
    yield from price_checks()


def _first(faults: Any) -> str:
    return next((fault for fault in faults if fault), "")


def _dropped(most: int) -> Weight:
    def weight(real: Record, other: Record) -> int | None:
        lost: Any = real.value - other.value  # type: ignore[operator]
        return 1 if other.value < real.value and len(lost) <= most else None  # type: ignore[operator]

    return weight


def _between(*kinds: tuple[str, str]) -> Weight:
    return lambda real, other: 1 if (real.kind, other.kind) in kinds else None


def _values(*pairs: str) -> Weight:
    """``"ab"``: who has the value a may pass as one who has b."""

    def weight(real: Record, other: Record) -> int | None:
        if ABSENT in (real.kind, other.kind):
            return None
        return 1 if "".join(map(str, (*real.value, *other.value))) in pairs else None  # type: ignore[misc]

    return weight


def _relations() -> Iterator[tuple[Policy, tuple[str, ...], Weight]]:
    """Policies, the groups of a small world, and who may pass as whom in it, by hand."""
    two, three = ("a", "b"), ("a", "b", "c")
    record, gone = "record", ABSENT
    yield policies.presence(max_groups=1), three, _dropped(1)
    yield policies.presence(max_groups=2), three, _dropped(2)
    yield policies.bounded(), two, _between((record, record))
    yield policies.addition_only(), two, _between((record, gone))
    yield policies.removal_only(), two, _between((gone, record))
    yield policies.unbounded(), two, _between((record, gone), (gone, record))
    both = policies.unbounded() & policies.addition_only()
    yield both, two, lambda real, other: 1 if other.kind == gone != real.kind else None
    hidden, free = "sensitive", "open"
    some = (hidden, hidden), (hidden, free)
    yield policies.sensitive("ill"), two, _between(*some)
    yield (
        policies.extended_sensitive("ill"),
        two,
        _between((hidden, gone), (gone, hidden), (gone, free)),
    )
    yield policies.graph([("a", "b"), ("b", "c")]), three, _values("ab", "ba", "bc", "cb")
    yield policies.graph([("a", "b"), ("b", "c")], directed=True), three, _values("ab", "bc")
    plane = {"a": (0, 0), "b": (1, 1), "c": (2, 1), "d": (0, 2)}
    globe = {"a": (0, 0), "b": (0, 1), "c": (60, 0), "d": (60, "1.9"), "e": (0, "179.8")}
    spaces: tuple[tuple[str, int, dict[str, Any], str], ...] = (
        ("euclidean", 2, plane, "ab ad bc bd"),
        ("grid", 2, plane, "ab ad bc bd"),
        ("haversine", 120_000, {**globe, "f": (0, "-179.8"), "g": (0, "1.5")}, "ab cd ef bg"),
        ("time", 60, {"a": "0", "b": "50", "c": "100"}, "ab bc"),
    )
    for metric, radius, places, near in spaces:
        space = policies.neighbourhood(radius=radius, places=places, metric=metric)
        pairs = [*near.split(), *(pair[::-1] for pair in near.split())]
        yield space, tuple(places), _values(*pairs)
    yield policies.local(three, sensitive=["a"]), three, _values("ab", "ac")


def _moves_fault(policy: Policy, groups: tuple[str, ...], weight: Weight) -> str:
    most = 1 if policy.single_valued else len(groups)
    records = policy.records(groups, max_groups=most)
    found = {(real, other) for real, other, _ in policy.moves(records) if real != other}
    due = {pair for pair in product(records, records) if pair[0] != pair[1] and weight(*pair)}
    if found == due:
        return ""
    return f"{policy.name}: {len(found - due)} moves too many and {len(due - found)} too few"


def _sorted(line: IntArray) -> Any:
    return deviations(np.sort(line))


def _lines() -> Iterator[IntArray]:
    generator = np.random.Generator(np.random.PCG64(3))
    for size in range(1, 12):
        yield generator.integers(0, 9, size)


def _deviations_fault(found: Callable[[IntArray], Any]) -> str:
    for line in _lines():
        width, levels = 2, [level.tolist() for level in found(line.copy())]
        expected = []
        while width // 2 < line.size:
            rows = [line[start : start + width] for start in range(0, line.size, width)]
            kept = [row for row in rows if row.size > width // 2]
            expected.append([_deviation(row) for row in kept])
            width *= 2
        if levels != expected:
            return f"of {line.tolist()}: {levels} where {expected} are due"
    return ""


def _deviation(row: IntArray) -> int:
    return min(int(np.abs(row - middle).sum()) for middle in row.tolist())


def _least_fault() -> str:
    prices = Prices(4, 7, 3)
    for line in _lines():
        width = 1
        while width < line.size:
            width *= 2

        def cost(start: int, size: int, line: IntArray = line) -> int:
            row = line[start : start + size]
            if size == 1:
                return prices.cell if row.size else 0
            halves = cost(start, size // 2) + cost(start + size // 2, size // 2)
            if row.size <= size // 2:
                return halves
            return min(halves, prices.deviation * _deviation(row) + prices.interval)

        found = least(line.size, deviations(line.copy()), prices)
        if found != cost(0, width):
            return f"of {line.tolist()}: {found} where {cost(0, width)} is due"
    return ""


def _ranks_fault(q: str, asked: str = "") -> str:
    """Distances candidate by candidate, and how far apart one value can move two of them."""
    share, size = Fraction(q), 4
    mechanism = NoisyMaxQuantile(1, q=asked or q, candidates=size)
    spans = {(0, 1): 0, (1, 1): 0}
    for given in product(range(3), repeat=size):
        counts = np.array(given)
        places = np.flatnonzero(counts)
        far = _distances(share, counts)
        firsts, sizes, distances = mechanism.runs(places, counts[places])
        told = np.zeros(size, dtype=np.int64)
        for first, many, distance in zip(firsts, sizes, distances, strict=True):
            told[first : first + many] = distance
        if told.tolist() != far.tolist() or sizes.sum() != size:
            return f"of {given}: {told.tolist()} where {far.tolist()} are due"
        for place in places:
            fewer = counts.copy()
            fewer[place] -= 1
            spans[0, 1] = max(spans[0, 1], int(np.ptp(_distances(share, fewer) - far)))
            for to in range(size):
                moved = fewer.copy()
                moved[to] += 1
                spans[1, 1] = max(spans[1, 1], int(np.ptp(_distances(share, moved) - far)))
    charged = {(r, f): mechanism.span(Shift(rise=r, fall=f)) for r, f in spans}
    return "" if charged == spans else f"spans {spans}, and {charged} is charged"


def _distances(q: Fraction, counts: IntArray) -> IntArray:
    over, under = q.as_integer_ratio()
    below = np.concatenate([[0], np.cumsum(counts)])
    target = over * int(counts.sum())
    return np.asarray(np.maximum(under * below[:-1] - target, target - under * below[1:]))


class _Given:
    """Noise that was chosen: two draws for each query, the coarse ones first."""

    def __init__(self, *drawn: tuple[int, ...]) -> None:
        self._drawn = [np.array(one, dtype=np.int64) for one in drawn]

    def geometric(self, _rate: Any, _size: int) -> IntArray:
        return self._drawn.pop(0)


def _purse_fault(*, more: int = 0) -> str:
    """The adaptive sparse vector query by query, as its docstring tells it, on all small draws."""
    for purse, draws in product((1, 2), product(range(4), repeat=6)):
        coarse, fine = draws[:3], draws[3:]
        mechanism = AdaptiveSparseVector(1, upper_rate=1, max_answers=purse + more, margin=1)
        noise: Any = _Given(coarse, fine)
        found = mechanism.release(np.zeros(3, dtype=np.int64), noise=noise)
        told = [(bool(c), int(v)) for c, v in zip(found.certified, found.values, strict=True)]
        if told != (due := _by_hand(coarse, fine, purse)):
            return f"purse {purse}, draws {draws}: {told} where {due} are due"
    return ""


def _by_hand(coarse: Any, fine: Any, purse: int) -> list[tuple[bool, int]]:
    """Threshold 1, margin 1: whether each is certified, and what is told of it."""
    left, found = 2 * purse, []
    for rough, near in zip(coarse, fine, strict=True):
        limit = 2 if left >= 2 else 1
        if not left:
            found.append((False, 0))
        elif rough > limit:
            left -= 1
            found.append((False, rough))
        elif left >= 2 and near > 1:
            left -= 2
            found.append((False, near))
        else:
            found.append((True, 0))
    return found


def _stairs_fault(made: tuple[int, ...], told: Fraction | None = None) -> str:
    """Mean, variance, rate and quantiles of what is drawn, at every place of three turns."""
    rate, largest, *first = made
    asked: dict[str, Any] = {"largest": largest, "first": first[0] if first else None}
    mechanism = Staircase(rate, **asked)
    said = mechanism if told is None else Staircase(told, **asked)
    chances: dict[int, float] = {}
    for value, chance in paths(lambda noise: int(mechanism.draw(1, noise)[0]), tail=1e-13):
        chances[value] = chances.get(value, 0.0) + chance
    mean = sum(value * chance for value, chance in chances.items())
    spread = sum((value - mean) ** 2 * chance for value, chance in chances.items())
    if abs(said.mean() - mean) > _CLOSE or abs(said.variance() - spread) > 1e-5:
        return f"mean {said.mean():.5f} and variance {said.variance():.5f}"
    if said.upper * largest != rate or said.quantile_lower(_HALF):
        return f"the stairs fall by {said.upper} for each step"
    above = 1.0
    for due in range(3 * largest):
        share = 1 - Fraction(above - chances[due] / 2)
        above -= chances[due]
        if said.quantile(share) != due:
            return f"the quantile at {share}: {said.quantile(share)} where {due} is due"
    pairs = paths(lambda noise: tuple(mechanism.draw(2, noise).tolist()), tail=1e-9)
    joint: dict[Any, float] = {}
    for pair, chance in pairs:
        joint[pair] = joint.get(pair, 0.0) + chance
    off = [p - chances[one] * chances[two] for (one, two), p in joint.items()]
    return "" if max(map(abs, off)) < 1e-6 else "two draws depend on each other"


def _sample_fault(rate: Fraction) -> str:
    """A unit is kept whole with the chance 1 - e^-2, in tables and in histograms."""
    share = -np.expm1(-2.0)
    mechanism = Subsampled(Counts(INFINITE, INFINITE), keep_rate=rate, max_groups=2, whole=True)
    single = Subsampled(Counts(INFINITE, INFINITE), keep_rate=rate)
    for sampler, given, whole in (
        (mechanism, np.array([[1, 1], [0, 1]]), (1, 2)),
        (single, np.array([1, 2]), (1, 2)),
    ):
        drawn = paths(partial(_sampled, sampler, given), tail=1e-12)
        mean = sum(found * chance for found, chance in drawn)
        if np.abs(mean - share * np.array(whole)).max() > _CLOSE:
            return f"{mean} of {whole} are kept on average"
    with suppress(ContributionError):
        single.sample(np.array([[1, 1], [0, 1]]), noise=NotPrivateSeededNoise(1))
        return "a unit in two groups is sampled as if it were in one"
    # Who leaves one of two groups is covered by way of leaving both, and δ is that of both.
    bounded = TruncatedCounts(1, width=3)
    both = Subsampled(bounded, keep_rate=rate, max_groups=2).delta(Shift(rise=0, fall=1))
    due = share * float(bounded.delta(Shift(rise=0, fall=2)))
    return "" if abs(float(both) - due) < _CLOSE else f"δ = {float(both):.6f}, due {due:.6f}"


def _sampled(sampler: Subsampled, given: IntArray, noise: Noise) -> IntArray:
    return sampler.sample(given, noise=noise)


def _answer(sent: Randomiser, letter: str, noise: Noise) -> str:
    return sent.report(letter, noise=noise).answer


def _reports_fault(sent: Randomiser, told: Randomiser) -> str:
    """Odds as the largest ratio of any report; shares unbiased; variances as they are."""
    laws: dict[str, dict[str, float]] = {letter: {} for letter in sent.alphabet}
    for letter, law in laws.items():
        for answer, chance in paths(partial(_answer, sent, letter), tail=1e-12):
            law[answer] = law.get(answer, 0.0) + chance
    for one, two in product(sent.alphabet, repeat=2):
        if one == two:
            continue
        ratios = [
            p / laws[two][answer] if laws[two].get(answer, 0) > 0 else np.inf
            for answer, p in laws[one].items()
            if p > 0
        ]
        odds = told.odds(one, two)
        due = np.inf if isinstance(odds, Infinite) else float(odds)
        if not np.isclose(max(ratios), due):
            return f"odds of {one} as {two}: {max(ratios):.4f}, told {due:.4f}"
    people = [*sent.alphabet, sent.alphabet[0]]
    shares = np.array([people.count(letter) / len(people) for letter in sent.alphabet])
    moments = [np.zeros(shares.size), np.zeros(shares.size)]
    for codes, chance in paths(lambda noise: sent.release(people, noise=noise), tail=1e-12):
        found = told.estimate(codes).frequencies
        moments = [moments[0] + chance * found, moments[1] + chance * found**2]
    spread = moments[1] - moments[0] ** 2
    if not np.allclose(moments[0], shares):
        return f"estimates are {moments[0]} on average, of {shares}"
    variance = told.variance(shares, len(people))
    return "" if np.allclose(spread, variance) else f"variances {spread}, told {variance}"
