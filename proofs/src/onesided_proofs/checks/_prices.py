"""Prices, partitions, points as they are read and far tails, against their definitions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from typing import Any, Final

import numpy as np

from onesided import policy as policies
from onesided import session as questions
from onesided.errors import PolicyError, UnprotectableError
from onesided.linear import Dense, Identity
from onesided.mechanism import (
    Counts,
    Linear,
    SparseVector,
    StairSums,
    Subsampled,
    Sums,
    TruncatedCounts,
)
from onesided.mechanism.histograms import Ahp, Dawa, Hierarchical, Look, UniformGrid, Zeroed
from onesided.mechanism.histograms.kit import Prices, cheapest
from onesided.mechanism.kit import tail_bound
from onesided.mechanism.local import RandomisedResponse
from onesided.noise import IntArray, NotPrivateSeededNoise, TwoSidedGeometric
from onesided.numbers import INFINITE, Infinite, Loss
from onesided.policy import Shift
from onesided.session.kit import with_delta
from onesided_proofs._worlds import table_of
from onesided_proofs.checks._samplers import Sampled, exp_neg

_NAME: Final = "parts, by their definition"
_SHIFTS: Final = tuple(Shift(rise=r, fall=f) for r, f in product(range(3), repeat=2))
_DIGITS: Final = 150
_EXACT: Final = Counts(INFINITE, INFINITE)
_CLOSE: Final = 1e-9
_FAR: Final = 400
# No bound that is of use says more standard deviations than this.
_WIDE: Final = 5


def price_checks() -> Iterator[Sampled]:
    """Each part, and a control of its kind."""
    for subject, fault in (
        ("prices of DAWA", _dawa_fault(Fraction(1, 4))),
        ("levels of a tree", _levels_fault()),
        ("the cheapest buckets", _buckets_fault()),
        ("buckets spread and cut", _spread_fault()),
        ("ends of truncated noise", _ends_fault(0)),
        ("δ of an edge of several moves", _charged_fault((1, 3, 2))),
        ("samples of several groups", _several_fault()),
        ("points as they are read", _read_fault()),
        ("a stream of thresholds", _stream_fault((0, 2, 1))),
        ("stairs in place of slopes", _in_place_fault()),
        ("tails of sums", _tails_fault()),
        ("intervals of reports", _normal_fault()),
        ("intervals of normal sums", _sums_fault(0)),
        ("steps of two phases", _phases_fault(Counts(3, "1/2"))),
    ):
        yield Sampled(_NAME, subject, fault)
    yield Sampled(_NAME, "prices of DAWA by another look", _dawa_fault(Fraction(1)), sound=False)
    yield Sampled(_NAME, "truncated noise, one narrower", _ends_fault(1), sound=False)
    yield Sampled(_NAME, "δ without the farthest move", _charged_fault((1, 2)), sound=False)
    yield Sampled(_NAME, "intervals of sums, one nearer", _sums_fault(1), sound=False)
    yield Sampled(_NAME, "steps of other phases", _phases_fault(Counts(2, 1)), sound=False)
    yield Sampled(_NAME, "a stream of other thresholds", _stream_fault((1, 2, 1)), sound=False)


def _dawa_fault(ask: Fraction) -> str:
    """The look, and then the dearer of two phases and of every cell at once."""
    plain = Dawa(3, upper_rate=5, lower_rate=7)
    for above, below in ((2, 1), (11, 13)):
        look = Look("1/4", upper_rate=above, lower_rate=below)
        made = Dawa(3, upper_rate=5, lower_rate=7, look=look)
        for shift in _SHIFTS:
            far = shift.rise + shift.fall
            two = 3 * far + 5 * shift.fall + 7 * shift.rise
            cells = above * shift.fall + below * shift.rise
            told: tuple[Any, ...] = plain.loss(shift), made.loss(shift)
            if told != (two, ask * far + max(two, cells)):
                return f"{shift} costs {told[0]} without a look and {told[1]} with one"
    return ""


class _Asked:
    """No noise at all; it keeps what was asked of it."""

    def __init__(self) -> None:
        self.drawn: list[tuple[Loss, Loss]] = []

    def two_sided(self, upper: Loss, lower: Loss, size: int) -> IntArray:
        self.drawn.append((upper, lower))
        return np.zeros(size, dtype=np.int64)


def _levels_fault() -> str:
    """Every level of a tree has its own noise, at rates that add up to the whole."""
    for cells, branching in product((1, 2, 5, 16, 40), (2, 3, None)):
        noise: Any = _Asked()
        made = Hierarchical(upper_rate=3, lower_rate=5, branching=branching)
        made.release(np.arange(cells), noise=noise)
        sums = [sum(rates) for rates in zip(*noise.drawn, strict=True)]
        if sums != [3, 5] or any(rate <= 0 for pair in noise.drawn for rate in pair):
            return f"{cells} cells by {branching}: levels at {noise.drawn}"
    grid = UniformGrid(side=2, measuring=Counts(3, 5))
    for shift in _SHIFTS:
        due = 3 * shift.fall + 5 * shift.rise
        two = made.learn_loss(shift) + made.measure_loss(shift)
        if {two, made.loss(shift), grid.loss(shift), grid.steps(shift).epsilon} != {due}:
            return f"{shift} costs {two} in two phases, and {grid.steps(shift)} on a grid"
    return ""


def _buckets_fault() -> str:
    """From noisy prices: the cheaper of an interval and its halves, the interval if they tie."""
    generator = np.random.Generator(np.random.PCG64(9))
    for size in [*range(1, 14)] * 3:
        prices = Prices(2, *generator.integers(1, 5, 2).tolist())
        cells, noisy, width = -generator.integers(0, 3, size), [], 2
        while width // 2 < size:
            many = size // width + (size % width > width // 2)
            noisy.append(generator.integers(-4, 6, many))
            width *= 2

        def best(start: int, level: int, given: Any = (cells, noisy, prices)) -> Any:
            own, levels, asked = given
            if level == 0:
                price = asked.deviation * int(own[start]) + asked.cell if start < own.size else 0
                return price, [start] * (start < own.size)
            half = 1 << level - 1
            (one, first), (two, second) = best(start, level - 1), best(start + half, level - 1)
            if start >> level < levels[level - 1].size:
                cost = asked.deviation * int(levels[level - 1][start >> level]) + asked.interval
                if cost <= one + two:
                    return cost, [start]
            return one + two, first + second

        due = best(0, len(noisy))[1]
        found = np.flatnonzero(cheapest(cells, iter(noisy), prices)).tolist()
        if found != due:
            return f"buckets start at {found}, due {due}"
    return ""


def _spread_fault() -> str:
    """Without noise buckets keep their totals, over the cells that open records leave.

    Of cells that are estimated one by one the others are left out before.
    """
    groups = Ahp(_EXACT, _EXACT)
    ranges = Dawa(INFINITE, upper_rate=INFINITE, lower_rate=INFINITE, workload="ranges")
    for made, counts, opened, due in (
        (groups, [4, 4, 9], [1, 1, 1], [4, 4, 9]),
        (groups, [4, 4, 9], [1, 0, 1], [4, 0, 9]),
        (groups, [4, 4, 9], [0, 0, 1], [0, 0, 9]),
        (ranges, [4, 4, 9, 2], [1, 1, 1, 1], [4, 4, 9, 2]),
        (ranges, [4, 4, 9, 2], [1, 0, 1, 0], [8, 0, 9, 0]),
        (ranges, [4, 4, 9, 2], [0, 0, 0, 1], [0, 0, 0, 2]),
        (ranges, [6, 6, 6, 6], [2, 0, 1, 1], [8, 0, 8, 8]),
    ):
        told = Zeroed(made, open_rate=INFINITE).release(counts, opened).tolist()
        if not np.allclose(told, due) or groups.release(counts).tolist() != counts:
            return f"{counts} is told as {told}, due {due}"
    return ""


def _ends_fault(narrower: int) -> str:
    """δ is never below the truth, in 150 digits, and by less than 2^-100 above it."""
    rates = [Fraction(k, 7) for k in (1, 3, 7, 20)] + [Fraction(1, 1000)]
    for rate, width, per_key in product(rates, (3, 8, 41), (1, 2)):
        made = TruncatedCounts(rate, width=width, per_key=per_key)
        for fall in (0, 1, 2, 3, 5):
            told = made.delta(Shift(rise=0, fall=fall))
            due = _end(rate, width - narrower, fall, per_key)
            if not 0 <= told - due <= Fraction(1, 2**100):
                return f"δ of a fall by {fall} at {rate} on {width}: {float(told)}"
    return ""


def _end(rate: Fraction, width: int, fall: int, per_key: int) -> Fraction:
    """The chance that some count, each lowered by ``per_key``, has noise near its end."""
    with localcontext() as context:
        context.prec = _DIGITS
        whole, safe = 1 - exp_neg(rate * (width + 1)), Decimal(1)
        for part in [per_key] * (fall // per_key) + [fall % per_key]:
            kept = 1 - exp_neg(rate * (width + 1 - part)) if part <= width else Decimal(0)
            safe *= kept / whole
        # Decimals are rounded at their last digit, to either side.
        return Fraction(max(1 - safe - Decimal(10) ** (20 - _DIGITS), Decimal(0)))


def _charged_fault(falls: tuple[int, ...]) -> str:
    """An edge is charged the δ of its farthest move, which falls by 3, and hardly more."""
    policy = policies.removal_only()
    session = questions.Session(table_of((), v="BIGINT"), policy=policy, budget=9)
    made, plan = TruncatedCounts(1, width=8), session.plan(questions.Count(epsilon=1))
    moves = {edge: [Shift(rise=0, fall=fall) for fall in falls] for edge in policy.edges}
    (told,) = with_delta(plan, made, moves, most=Fraction(1)).guarantee.delta.values()
    due = made.delta(Shift(rise=0, fall=3))
    return "" if due <= told <= due * Fraction(11, 10) else f"δ {float(told)} for {float(due)}"


def _several_fault() -> str:
    """Units in several groups that may gain one are refused; those that come whole are not."""
    for policy in (policies.bounded(), policies.sensitive("ill")):
        for groups in (2, 3):
            try:
                made = Subsampled.for_policy(policy, epsilon=1, max_groups=groups)
            except UnprotectableError:
                continue
            return f"{made} under {policy.name}"
    for groups in (1, 2, 3):
        whole = Subsampled.for_policy(policies.unbounded(), epsilon=1, max_groups=groups)
        falls = [whole.loss(Shift(rise=0, fall=one)) for one in range(1, groups + 1)]
        if max(falls) > 1 or whole.loss(Shift(rise=groups, fall=0)) > 1:
            return f"units of {groups} groups lose {falls}"
        for policy in (policies.addition_only(), policies.removal_only()):
            made = Subsampled.for_policy(policy, epsilon=1, max_groups=groups)
            if made.max_groups != groups:
                return f"{made} under {policy.name}"
    # Whoever arrives loses `-ln(1 - p + p e^-ε)` where the counts lose ε by it.
    keeps = Fraction(1, 2), Fraction(3)
    for rate, keep, rise in product((Fraction(1, 3), Fraction(2)), keeps, (1, 2)):
        made = Subsampled(Counts(5, rate), keep_rate=keep, max_groups=2, whole=True)
        share = -np.expm1(-float(keep))
        due = -np.log(1 - share + share * np.exp(-float(rate) * rise))
        told = made.loss(Shift(rise=rise, fall=0))
        if abs(float(told) - due) > _CLOSE:  # type: ignore[arg-type] # finite
            return f"arriving in {rise} groups costs {told}, due {due}"
    return ""


def _read_fault() -> str:
    """Places on one meridian become one, times are seconds since 1970, all else is as given."""
    for metric, given, due in (
        ("haversine", (10, 190), (10, -170)),
        ("haversine", (-90, -360), (-90, 0)),
        ("haversine", (90, 360), (90, 0)),
        ("haversine", ("1.5", -180), (Fraction(3, 2), -180)),
        ("haversine", (0, 180), (0, -180)),
        ("euclidean", ("1/3", -2, 0), (Fraction(1, 3), -2, 0)),
        ("grid", (-(2**62), 7), (-(2**62), 7)),
        ("time", "1970-01-02T00:00:01", (86401, 1)),
        ("time", "1970-01-01T02:00:00.5+01:00", (3600 + Fraction(1, 2), 2)),
        ("time", "1969-12-31T23:59:00+00:00", (-60, 2)),
        ("time", ("12",), (12, 0)),
        ("time", 5, (5, 0)),
    ):
        told: Any = policies.neighbourhood(radius=1, metric=metric).space.read(given)
        if told != due:
            return f"{metric}: {given} is read as {told}, due {due}"
    for nowhere in ((91, 0), (-91, 0), (0, 361), (0, -361)):
        with suppress(PolicyError):
            policies.neighbourhood(radius=1, metric="haversine").space.read(nowhere)
            return f"{nowhere} is read as a place"
    return ""


class _Script:
    """Noise that was chosen, one draw at a time."""

    def __init__(self, drawn: tuple[int, ...]) -> None:
        self._drawn = list(drawn)

    def geometric(self, _rate: Any, size: int) -> IntArray:
        return np.array([self._drawn.pop(0) for _ in range(size)], dtype=np.int64)


def _stream_fault(told: tuple[int, ...]) -> str:
    """Queries one by one, each with its own threshold, on all small draws."""
    thresholds, counts = (0, 2, 1), (1, 0, 2)
    for most, draws in product((None, 1, 2), product(range(4), repeat=3)):
        noise: Any = _Script(draws)
        stream = SparseVector(told, upper_rate=1, max_answers=most).stream(noise=noise)
        found, due, left = [], [], most
        for count, drawn, limit in zip(counts, draws, thresholds, strict=True):
            if left == 0:
                break
            due.append(None if count + drawn <= limit else count + drawn)
            left = left if left is None or due[-1] is None else left - 1
        for count in counts:
            if stream.stopped:
                break
            answer = stream.ask(count)
            found.append(None if answer.certified else answer.value)
        if found != due or not stream.stopped:
            return f"draws {draws}, {most} answers: {found}, due {due}"
    return ""


def _in_place_fault() -> str:
    """Stairs on the side that the slopes have noise on, at the same loss where all move."""
    for below, groups in product((False, True), (1, 2)):
        slopes = Sums(INFINITE, "1/2") if below else Sums("1/2", INFINITE)
        made = StairSums.in_place_of(slopes, largest=3, max_groups=groups)
        most = 3 * groups
        down, up = Shift(rise=0, fall=most), Shift(rise=most, fall=0)
        for one in (down, up):
            if made.loss(one) != slopes.loss(one):
                return f"{one} costs {made.loss(one)}, due {slopes.loss(one)}"
    return ""


def _tails_fault() -> str:
    """What a sum of several noises passes with a chance of 5 %, by adding up their laws."""
    share = Fraction(19, 20)
    for laws in (
        [(TwoSidedGeometric(1, 1), 1)],
        [(TwoSidedGeometric(1, 2), 2)],
        [(TwoSidedGeometric(2, INFINITE), 3), (TwoSidedGeometric(INFINITE, "1/2"), 1)],
        [(TwoSidedGeometric("1/2", 3), 1), (TwoSidedGeometric(2, 2), 2)],
    ):
        chances = np.zeros(2 * _FAR + 1)
        chances[_FAR] = 1
        mean = 0.0
        for law, times in laws:
            chances = np.convolve(chances, _stretched(law, times), mode="same")
            mean += times * law.mean()
        far = np.abs(np.arange(-_FAR, _FAR + 1) - mean)
        found = tail_bound([(law, float(times**2)) for law, times in laws], share)
        right = np.arange(-_FAR, _FAR + 1) > mean
        passed = [float(chances[(far > found) & side].sum()) for side in (right, ~right)]
        spread = sum(times**2 * law.variance() for law, times in laws) ** 0.5
        if not (max(passed) <= 1 - share and found < _WIDE * spread):
            return f"{laws} pass {found} with chances {passed}"
    return ""


def _normal_fault() -> str:
    """By Hoeffding's inequality, or the normal approximation if asked; none of a single person."""
    sent = RandomisedResponse(("a", "b"), ["a"], "1/2")
    people = ["a", "b"] * 200
    told = sent.estimate(sent.release(people, noise=NotPrivateSeededNoise(1)))
    for confidence, far in (("1/2", 0.67449), ("0.95", 1.95996), ("0.999", 3.29053)):
        ends = told.interval(confidence=confidence, exact_coverage=False)
        due = told.frequencies + np.outer((-far, far), np.sqrt(told.variances))
        if not np.allclose(ends, due, atol=1e-5):
            return f"{confidence}: {ends}, due {due}"
        sure = told.interval(confidence=confidence)
        half = told.widths * np.sqrt(np.log(2 / (1 - float(Fraction(confidence)))) / 800)
        if not np.allclose(sure, np.clip(told.frequencies + np.outer((-1, 1), half), 0, 1)):
            return f"{confidence}, of any number of people: {sure}, due {half} on each side"
    alone = sent.estimate(sent.release(["a"], noise=NotPrivateSeededNoise(1)), sampled=True)
    return "" if np.isinf(alone.variances).all() else f"of one person: {alone.variances}"


def _stretched(law: TwoSidedGeometric, times: int) -> Any:
    """The chances of ``times`` times the noise, from -400 to 400."""
    up, down = (
        0.0 if isinstance(r, Infinite) else np.exp(-float(r)) for r in (law.upper, law.lower)
    )
    steps = np.arange(-(_FAR // times), _FAR // times + 1)
    found = np.zeros(2 * _FAR + 1)
    own = np.where(steps >= 0, up ** np.maximum(steps, 0), down ** np.maximum(-steps, 0))
    found[_FAR + times * steps] = own / own.sum()
    return found


def _sums_fault(nearer: int) -> str:
    """Sums of discrete Gaussian or geometric noise: the nearest bounds that miss as is said."""
    steps, kinds = np.arange(-60, 61), (0.125, 9, None)
    for variance, row, miss in product(kinds, ((1, 0), (1, 1), (2, -1)), (0.25, 0.01)):
        one = np.exp(-(steps**2) / (2 * variance) if variance else -np.abs(steps))
        law = {0: 1.0}
        for weight in row:
            drawn = list(zip((weight * steps).tolist(), (one / one.sum()).tolist(), strict=True))
            joint: dict[int, float] = {}
            for (have, p), (more, q) in product(law.items(), drawn if weight else [(0, 1.0)]):
                joint[have + more] = joint.get(have + more, 0.0) + p * q
            law = joint
        rate = INFINITE if variance else 1
        asked = Linear(Identity(2), Dense(np.array([row])), rate, rate, gaussian=variance)
        bounds = asked.interval(np.zeros(2, dtype=np.int64), confidence=1 - Fraction(miss))
        for far in (-bounds.lower[0], bounds.upper[0]):
            at = round(far) - nearer
            passed = [sum(p for s, p in law.items() if s > end) for end in (at, at - 1)]
            if abs(at - far) > 1 / 2 or not passed[0] <= miss / 2 < passed[1]:
                return (
                    f"σ² = {variance}, weights {row}: {far} is passed with {passed}, due {miss}/2"
                )
    return ""


def _phases_fault(learning: Counts) -> str:
    """What an account is told of both phases: just what the mechanism loses, there and back."""
    made = Ahp(learning, Counts(1, 2))
    due = Ahp(Counts(3, "1/2"), Counts(1, 2))
    for shift in _SHIFTS:
        steps = made.steps(shift)
        losses = due.loss(shift), due.loss(Shift(rise=shift.fall, fall=shift.rise))
        if (steps.epsilon, steps.backward) != losses:
            return f"{shift}: {steps.epsilon} and {steps.backward} are told, due {losses}"
    return ""
