"""More parts against their definitions: what prices, measures distances and finds quantiles.

Small worlds, gone through one by one, with nothing left to chance.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import partial
from itertools import combinations, product
from math import cos, log1p, pi, radians, sin
from typing import Any, Final

import numpy as np

from onesided import policy as policies
from onesided.engine import PublicKeys
from onesided.mechanism import Counts, Staircase, Subsampled
from onesided.mechanism.local import RandomisedResponse
from onesided.noise import (
    IntArray,
    Noise,
    NotPrivateScriptedNoise,
    NotPrivateSeededNoise,
    TwoSidedGeometric,
)
from onesided.noise.kit import NotPrivateScriptedBits, successes
from onesided.numbers import INFINITE
from onesided.policy import EARTH_RADIUS, Cells, GroupCount, Shift
from onesided.session.kit import Groups, value_shifts
from onesided.verify import paths
from onesided_proofs.cases.sessions import has_engine
from onesided_proofs.checks._asked import (
    cube_fault,
    each_fault,
    keys_fault,
    lone_fault,
    look_fault,
    quantiles_fault,
    shape_fault,
    shapes,
    squares_fault,
)
from onesided_proofs.checks._enclosed import (
    beside_fault,
    certified_fault,
    enclosing_fault,
    moments_fault,
    quotients_fault,
    ranked_fault,
    whole_fault,
)
from onesided_proofs.checks._samplers import Sampled

_NAME: Final = "parts, by their definition"


def part_checks() -> Iterator[Sampled]:
    """Each part, and controls that must differ from their definition."""
    for subject, fault in (
        ("several quantiles", _first(map(quantiles_fault, range(40)))),
        ("great circles", _circles_fault(0)),
        ("moves at a distance", _far_fault()),
        ("kinds of one record", _kinds_fault()),
        ("values of a graph", _graph_fault()),
        ("stairs of several sums", _stairs_fault()),
        ("units that stay in fewer groups", _staying_fault()),
        ("samples under mixed moves", _mixed_fault()),
        ("rates after a look", look_fault(2)),
        ("open shapes", _first(map(shape_fault, shapes()))),
        ("keys that nobody can list", keys_fault()),
        ("quantiles side by side", each_fault()),
        ("squares of sums", squares_fault()),
        ("tokens of one sender", lone_fault()),
        ("noise on all counts at once", cube_fault()),
        ("bounds of quotients", quotients_fault()),
        ("what quantiles say of others", enclosing_fault()),
        ("shares that are certain", certified_fault()),
        ("quantiles of noise", _noise_fault(Fraction(1, 2))),
        ("second passes", _passes_fault()),
        ("sums that move", _sums_fault()),
        ("variances of people drawn", _drawn_fault(Fraction(1, 2))),
        ("a rate of its own for each", _each_fault(0.001)),
    ):
        yield Sampled(_NAME, subject, fault)
    wrong = quantiles_fault(0, unit=Fraction(2))
    yield Sampled(_NAME, "several quantiles at twice the rate", wrong, sound=False)
    for subject, fault in (
        ("keys at another δ", keys_fault("1/9")),
        ("quantiles side by side at another q", each_fault("2/5")),
        ("a square too many", squares_fault(1)),
        ("tokens of a smaller crowd", lone_fault(2)),
        ("noise on all counts of another rate", cube_fault(2)),
        ("others two ranks off", enclosing_fault(1)),
        ("shares of one more", certified_fault(1)),
    ):
        yield Sampled(_NAME, subject, fault, sound=False)
    if has_engine():
        yield Sampled(_NAME, "sums beyond 2^62", moments_fault())
        yield Sampled(_NAME, "squares, one more", moments_fault(1), sound=False)
        yield Sampled(_NAME, "values beside quantiles", beside_fault())
        yield Sampled(_NAME, "values for a rank more", beside_fault(1), sound=False)
        yield Sampled(_NAME, "values that quantiles read", ranked_fault())
        yield Sampled(_NAME, "values for other candidates", ranked_fault(5), sound=False)
        yield Sampled(_NAME, "units that become rows", whole_fault())
        yield Sampled(_NAME, "units of dropped rows", whole_fault(dropped=True), sound=False)
    yield Sampled(_NAME, "great circles 1 % too long", _circles_fault(0.01), sound=False)
    yield Sampled(_NAME, "values of a graph that leads elsewhere", _graph_fault("d"), sound=False)
    yield Sampled(_NAME, "rates of another look", look_fault(3), sound=False)
    other = _drawn_fault(Fraction(3, 4))
    yield Sampled(_NAME, "variances of another coin", other, sound=False)
    yield Sampled(_NAME, "the first rate as the others", _each_fault(90), sound=False)
    yield Sampled(_NAME, "quantiles of other noise", _noise_fault(Fraction(1)), sound=False)


def _first(faults: Iterable[str]) -> str:
    return next((fault for fault in faults if fault), "")


def _circles_fault(longer: float) -> str:
    """Great circles as the angle between two arrows from the centre of the earth."""
    generator = np.random.Generator(np.random.PCG64(5))
    within = policies.neighbourhood(radius=1, metric="haversine").space.within
    for _ in range(40):
        spots = [
            (int(generator.integers(-90, 91)), int(generator.integers(-180, 180))) for _ in "ab"
        ]
        arrows = [
            (cos(radians(a)) * cos(radians(b)), cos(radians(a)) * sin(radians(b)), sin(radians(a)))
            for a, b in spots
        ]
        angle = float(np.arccos(np.clip(np.dot(arrows[0], arrows[1]), -1, 1)))
        if not 0.01 < angle < pi - 0.01:
            continue
        far = EARTH_RADIUS * angle * (1 + longer)
        one, two = (tuple(map(Fraction, spot)) for spot in spots)
        near = [within(one, two, Fraction(far * by)) for by in (1 - 1e-6, 1 + 1e-6)]
        if near != [False, True]:
            return f"{spots} are {far:.0f} metres apart"
    return ""


def _far_fault() -> str:
    """How many moves lead so far: steps along axes, and ways from place to place."""
    flat = policies.neighbourhood(radius="5/2")
    for tenth, whole in product(range(1, 80, 3), ((True,), (False,), (True, True), (False, True))):
        far = Fraction(tenth, 5)
        told, due = flat.moves_along(far, whole=whole), _along(far, whole)
        if told != due:
            return f"{told} moves for {far} along {whole}, due {due}"
    both = flat.moves_along(Fraction(26, 5), whole=(False, False))
    grid = policies.neighbourhood(radius=2, metric="grid").moves_along(Fraction(7), whole=(True,))
    if (both, grid) != (3, 4):
        return f"{both} moves for 5.2 in the plane and {grid} for 7 on a grid, due 3 and 4"
    line = {"a": (0,), "b": (2,), "c": (4,), "d": (5,), "e": (20,), "f": (21,)}
    places = policies.neighbourhood(radius=2, places=line)
    for apart, ways in ((1, 1), (3, 2), (4, 2), (5, 3)):
        told = places.moves_between_places(Fraction(apart))
        if told != ways:
            return f"{told} moves between places {apart} apart, due {ways}"
    return ""


def _along(far: Fraction, whole: tuple[bool, ...]) -> int:
    """A step is 2 between whole numbers and 5/2 elsewhere; the ways are walked one by one."""
    if len(whole) == 1:
        end = Fraction(int(far)) if whole[0] else far
        return max(1, _walk(end**2, Fraction(2) if whole[0] else Fraction(5, 2)))
    # One coordinate goes by whole numbers; the other takes all that is left.
    other = Fraction(2) if all(whole) else Fraction(5, 2)
    return max(
        _walk(Fraction(one) ** 2, Fraction(2)) + _walk(far**2 - one**2, other)
        for one in range(int(far) + 1)
    )


def _walk(squared: Fraction, step: Fraction) -> int:
    moves = 0
    while (moves * step) ** 2 < squared:
        moves += 1
    return moves


def _kinds_fault() -> str:
    """Which kinds one record can have under two policies, rule by rule."""
    ill, minor = policies.sensitive("ill"), policies.sensitive("minor")
    hidden, free = "sensitive", "open"
    every = set(product((hidden, free), repeat=2))
    same, gone = {(hidden, hidden), (free, free)}, {(policies.ABSENT, policies.ABSENT)}
    places = policies.graph([("a", "b")])
    extended = policies.extended_sensitive("ill")
    value = {(kind, "value") for kind in (hidden, free)}
    tiers = policies.tiers({"minor": (1, "minor"), "ill": (2, "ill"), free: INFINITE})
    both = ill & tiers
    kinds = [kind for kind in both.kinds if kind != policies.ABSENT]
    # Of the same kinds, but nothing in a row tells which: they may go together in any way.
    bare = policies.custom(kinds=(hidden, free), edges=[(hidden, free)], default=free)
    for one, two, due in (
        (ill, ill, same),
        (ill, minor, every),
        (extended, extended, same | gone),
        (extended, ill, same),
        (policies.unbounded(), policies.addition_only(), {("record", "record")} | gone),
        (ill, places, value),
        (places, ill, {(b, a) for a, b in value}),
        (places, places, {("value", "value")}),
        (bare, bare, same),
        (bare, ill, every),
        (ill, bare, every),
        # An intersection is not about kinds alone.
        (both, ill, set(product(kinds, (hidden, free)))),
    ):
        told = set(policies.possible_pairs(one, two))
        if told != set(due):
            return f"{one.name} and {two.name}: {sorted(told)} where {sorted(due)} are due"
    return ""


def _graph_fault(end: str = "c") -> str:
    """Cells by value move as each arrow does, or as any values do if one of them is on none."""
    made = policies.graph([("a", "b"), ("b", end, 2)], directed=True, values=["c"])
    for size, alone in product(range(1, 5), (True, False)):
        for keys in map(frozenset, combinations("abcz", size)):
            cells = Cells(size=size, column="place", keys=keys, alone=alone)
            for edge, told in made.shifts(GroupCount(cells=cells)).items():
                source, target = ("a", "b") if edge.weight == 1 else ("b", "c")
                due = {(int(target in keys), int(source in keys))}
                if not alone or "z" in keys:
                    due = {(0, 1), (1, 0)} if size == 1 else {(1, 1)}
                if {(one.rise, one.fall) for one in told} != due:
                    return f"{sorted(keys)} by {edge.name}: {told}, due {due}"
    return ""


def _stairs_fault() -> str:
    """The dearest way to split a fall over at most three sums, by 3 each while that is enough."""
    stairs = Staircase(2, largest=3, max_groups=3)
    for fall in range(1, 13):
        most = 3 if fall <= 9 else fall
        ways = (way for way in product(range(most + 1), repeat=3) if sum(way) == fall)
        due = max(sum(-(-one // 3) for one in way) for way in ways)
        told = stairs.loss(Shift(rise=0, fall=fall))
        if told != stairs.noise_rate * due:
            return f"a fall of {fall} costs {told}, due {due} stairs"
    return ""


def _staying_fault() -> str:
    """Who leaves one of two groups loses what the counts lose, or what leaving both does."""
    for rate in (Fraction(1, 4), Fraction(1), Fraction(3)):
        keep = Fraction(1, 2)
        made = Subsampled(Counts(rate, INFINITE), keep_rate=keep, max_groups=2)
        share = -np.expm1(-float(keep))
        due = min(float(rate), log1p(share * np.expm1(2 * float(rate))))
        told = float(made.loss(Shift(rise=0, fall=1)))  # type: ignore[arg-type] # finite
        if abs(told - due) > 1e-9:
            return f"leaving one group costs {told:.4f}, due {due:.4f}"
    return ""


def _mixed_fault() -> str:
    """Where some moves raise and lower counts at once, and others only raise or lower them."""
    edges = [("a", "b"), ("a", policies.ABSENT), (policies.ABSENT, "a")]
    changes = policies.bounded() & policies.graph(edges, directed=True)
    for policy in (policies.graph(edges, directed=True), policies.unbounded(), changes):
        made = Subsampled.for_policy(policy, epsilon=1)
        for edge, many in policy.shifts(policies.GroupCount(max_groups=1)).items():
            for shift in many:
                if (loss := made.loss(shift)) > edge.weight:
                    return f"{edge.name} under {policy.name} loses {float(loss):.4f}"  # type: ignore[arg-type]
    return ""


def _noise_fault(rate: Fraction) -> str:
    """Quantiles by adding up chances one by one."""
    made = TwoSidedGeometric(rate, Fraction(1, 3))
    q, p = np.exp(-0.5), np.exp(-1 / 3)
    head = (1 - q) * (1 - p) / (1 - q * p)
    for share in (Fraction(1, 100), Fraction(1, 5), Fraction(1, 2), Fraction(9, 10)):
        tail, k = 1.0, -200
        while tail > 1 - share:
            tail -= head * (q**k if k > 0 else p**-k)
            k += 1
        if made.search(1 - share) != k - 1:
            return f"the quantile at {share} is {made.search(1 - share)}, due {k - 1}"
    return ""


def _passes_fault() -> str:
    """Words by which none of ten items arrives at first, and then two; a bound above a draw."""
    # Of nine items, each with the share 0.225 by then, none arrives with the chance 0.101.
    words = [0, 0, int(0.15 * 2**64), 0, 0, *[2**63] * 12]
    deficits, sizes = np.array([0, 1999]), np.array([1, 9])
    taken = NotPrivateScriptedNoise(words).permute_and_flip("1/1000", deficits, sizes)
    if taken != 1:
        return "an item that arrives in a second pass is passed over"
    nearly = Fraction(1, 2) - Fraction(1, 2**129)
    bits = NotPrivateScriptedBits([2**63, 0, 0, 0, 0, 0, 0])
    drawn = successes(1, lambda _: (nearly, nearly), bits)
    return "" if drawn == 0 else "a coin is counted though its bound is not reached"


def _sums_fault() -> str:
    """Extreme shifts of sums by place, against every change of values there."""
    keys = PublicKeys.of(("place",), [("p",), ("q",)])
    query = policies.GroupCount(max_groups=2)
    for most, excess, low in product((1, 2), ("keep", "single"), (-2, 0)):
        groups = Groups(
            unit="person", by=("place",), keys=keys, query=query, excess=excess, where=None
        )
        asked: dict[str, Any] = {"low": low, "high": 3, "optional": True, "monotone": low == 0}
        told = value_shifts(policies.presence(max_groups=most), groups, **asked)
        moves = _moved(low, whole=excess == "single")
        for upper, lower in ((1, 0), (0, 1), (1, 1), (3, 1)):
            due = most * max(upper * max(-one, 0) + lower * max(one, 0) for one in moves)
            charged = max(upper * s.fall + lower * s.rise for many in told.values() for s in many)
            if charged != due:
                return f"{most} places, {excess}, from {low}: {charged} is charged, due {due}"
    return ""


def _moved(low: int, *, whole: bool) -> set[int]:
    """By how much what a unit adds at a place, up to 3, may change if rows there are dropped."""
    held = range(low, 4)
    if whole:
        return {-value for value in held}
    # Rows that are at least 0 add up to no more without one of them.
    kept = {value: range(value + 1) if low == 0 else (*held, 0) for value in held}
    return {left - value for value in held for left in kept[value]}


def _drawn_fault(chance: Fraction) -> str:
    """People drawn from three letters: how far shares vary, and what is said on average."""
    letters = ("a", "b", "c")
    sent = RandomisedResponse(letters, letters[:2], "1/2")
    told = RandomisedResponse(letters, letters[:2], chance)
    for many in (2, 3):
        moments = np.zeros((3, 3))
        for people in product(letters, repeat=many):
            for codes, weight in paths(partial(_sent, sent, people), tail=1e-12):
                found = told.estimate(codes, sampled=True)
                shares = found.frequencies
                moments += weight / 3**many * np.array([shares, shares**2, found.variances])
        spread = moments[1] - moments[0] ** 2
        due = told.variance(np.full(3, 1 / 3), many, sampled=True)
        if not (np.allclose(moments[2], spread) and np.allclose(due, spread)):
            return f"of {many}: variances {spread}, told {moments[2]}, predicted {due}"
    return ""


def _sent(sent: RandomisedResponse, people: tuple[str, ...], noise: Noise) -> IntArray:
    return sent.release(list(people), noise=noise)


def _each_fault(first: float) -> str:
    """One draw in three has little to hide in, and is above 0 nearly always."""
    noise: Any = NotPrivateSeededNoise(2)
    drawn = [noise.geometric(np.array([first, 90.0, 80.0]), 3).tolist() for _ in range(20)]
    above = np.mean(np.array(drawn) > 0, axis=0).tolist()
    return "" if above[0] > 0.8 and above[1:] == [0, 0] else f"shares above 0: {above}"
