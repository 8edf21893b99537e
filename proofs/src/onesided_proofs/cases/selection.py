"""Top-k, sparse vector, ALap and AGeo; and broken selections."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from onesided import policy as policies
from onesided.mechanism import (
    AdaptiveSparseVector,
    AGeo,
    ALap,
    Counts,
    CubeThresholds,
    NoisyTopK,
    PeeledTopK,
    SparseVector,
    TopK,
)
from onesided.noise import IntArray, Noise
from onesided.numbers import INFINITE, Loss
from onesided.policy import GroupCount, Policy, Shift
from onesided.verify import Line, Universe, in_place_of, shipped
from onesided_proofs._worlds import wrong

_ABC = Universe(groups=("a", "b", "c"), units=2)
_AB = Universe(groups=("a", "b"), units=2)
_ONE = Universe(groups=("a", "b", "c"), units=1)
_SELECTED = "reached as selected counts go far above the others"
_PEELED = "picking loses all of its half as others lag far behind"
_HALF = "reached by more queries only"


def cases() -> Iterator[Line]:
    """The sound first."""
    for groups in (1, 2, 3):
        policy = policies.presence(max_groups=groups)
        for k in (1, 2, 3):
            mechanism = TopK.for_policy(policy, k=k, epsilon=6)
            yield shipped(mechanism, policy, universe=_ABC, loose=_SELECTED, tail=1e-11, epsilon=6)
    added, wide = policies.addition_only(), GroupCount(max_groups=3)
    pair = TopK.for_policy(added, k=2, epsilon=6, max_groups=3)
    yield shipped(pair, added, wide, universe=_ABC, loose=_SELECTED, epsilon=6)
    yield from _top_k_both_ways()
    yield from _sparse_vector()
    yield from _half_price()
    yield from _mirrored()
    yield from _asymmetric()
    yield from _broken_top_k()
    yield from _broken_sparse_vector()
    two = policies.presence(max_groups=2)
    right = AdaptiveSparseVector.for_policy(two, thresholds=0, epsilon=4, max_answers=1, margin=1)
    ding = "Ding et al. 2019, carried over"
    for run, flaw in (
        (half_for_all, "every answer takes half of a unit"),
        (coarse_certifies, "the coarse count certifies, too, and the fine one answers"),
        (spends_more, "half a unit left buys a fine answer"),
    ):
        yield _in_one(right, wrong(run, right=right), two, flaw, ding, universe=_AB)
    yield from _broken_mirror()
    yield from _wrong_direction()


def _top_k_both_ways() -> Iterator[Line]:
    """Where counts rise, or rise and fall."""
    one, three = (GroupCount(max_groups=n) for n in (1, 3))
    for policy, query in (
        (policies.removal_only(), three),
        (policies.unbounded(), one),
        (policies.bounded(), one),
    ):
        world = replace(_ONE, max_groups=query.max_groups)
        noisy = NoisyTopK.for_policy(policy, k=1, epsilon=6, query=query)
        yield shipped(noisy, policy, query, universe=world, loose=_SELECTED, tail=1e-11, epsilon=6)
        for k in (1, 2):
            peeled = PeeledTopK.for_policy(policy, k=k, epsilon=6, query=query)
            yield shipped(peeled, policy, query, universe=world, loose=_PEELED, epsilon=6)


def _sparse_vector() -> Iterator[Line]:
    for groups, answers in ((1, None), (3, 1), (3, 2), (2, None), (3, None)):
        policy = policies.presence(max_groups=groups)
        mechanism = SparseVector.for_policy(policy, thresholds=1, epsilon=6, max_answers=answers)
        yield shipped(mechanism, policy, universe=_ABC, loose=_HALF, epsilon=6)
        adaptive = Adaptive(mechanism)
        yield shipped(
            adaptive, policy, name="SparseVector (adaptive stream)", universe=_ABC, loose=_HALF
        )
    each = SparseVector([0, 1, 2], upper_rate=4, max_answers=1)
    yield shipped(each, policies.presence(max_groups=3), universe=_ABC, loose=_HALF)


def _half_price() -> Iterator[Line]:
    """Counts far above the threshold pay half, up to the last half of the purse."""
    for groups, answers in ((1, 1), (2, 1), (2, 2)):
        policy = policies.presence(max_groups=groups)
        mechanism = AdaptiveSparseVector.for_policy(
            policy, thresholds=0, epsilon=6, max_answers=answers, margin=1
        )
        yield shipped(mechanism, policy, universe=_AB, loose=_HALF, epsilon=6)
    each = AdaptiveSparseVector([0, 1], upper_rate=4, max_answers=1, margin=0)
    yield shipped(each, policies.presence(max_groups=2), universe=_AB, loose=_HALF)


def _mirrored() -> Iterator[Line]:
    """At least, certified: where counts only rise."""
    open_too = policies.sensitive("private"), GroupCount(max_groups=2, counted=frozenset({"open"}))
    for answers in (None, 1, 2):
        asked: dict[str, Any] = {"thresholds": 1, "epsilon": 6, "max_answers": answers}
        for policy, query in ((policies.removal_only(), GroupCount(max_groups=3)), open_too):
            world = replace(_ONE, max_groups=2) if policy.name == "sensitive" else _ABC
            vector = SparseVector.for_policy(policy, query=query, below=True, **asked)
            lines: dict[str, Any] = {"universe": world, "loose": _HALF}
            yield shipped(vector, policy, query, name="SparseVector (at least)", epsilon=6, **lines)
            if answers != 1:  # which more queries than are here would reach
                stream, name = Adaptive(vector), "SparseVector (at least, stream)"
                yield shipped(stream, policy, query, name=name, **lines)
    removed, two = policies.removal_only(), GroupCount(max_groups=2)
    half = AdaptiveSparseVector.for_policy(
        removed, thresholds=1, epsilon=6, max_answers=1, margin=1, query=two, below=True
    )
    name = "AdaptiveSparseVector (at least)"
    yield shipped(half, removed, two, name=name, universe=_AB, loose=_HALF, epsilon=6)
    once = CubeThresholds(1, noise_rate=6, below=True)
    yield shipped(
        once, removed, two, name="CubeThresholds (at least)", universe=_AB, loose=_HALF, epsilon=6
    )


def _asymmetric() -> Iterator[Line]:
    single, query = Universe(groups=("a",)), GroupCount(max_groups=1)
    for policy in (policies.addition_only(), policies.removal_only(), policies.unbounded()):
        geometric = AGeo.for_policy(policy, epsilon=1, most=2)
        yield shipped(
            geometric, policy, query, universe=single, loose="clamping hides some", epsilon=1
        )
        laplace = ALap.for_policy(policy, epsilon=2, largest="0.1", grid="0.1")
        yield shipped(laplace, policy, query, universe=single, epsilon=2)


def _broken_top_k() -> Iterator[Line]:
    one, two, three = (policies.presence(max_groups=n) for n in (1, 2, 3))
    forgot, half_read = TopK(2, upper_rate=6), "ADP-2021 Algorithm 1, half read"
    pair = TopK.for_policy(two, k=2, epsilon=6)
    yield _in_one(pair, forgot, two, "ε where ε/k is due", half_read)
    first = TopK(1, upper_rate=3)
    for policy, run, flaw, seen in (
        (one, ties_by_truth, "ties broken by the true counts", "sorts of sorted data"),
        (three, ties_by_others, "ties broken by unselected noisy counts", "partial sorts"),
        (three, runner_up, "the best unselected value is published unpaid", "free gap"),
        (one, true_values, "noisy winners, true values", "report noisy max misread"),
    ):
        yield _in_one(first, wrong(run, rate=3), policy, flaw, seen, universe=_ABC)
    removed, wide = policies.removal_only(), GroupCount(max_groups=3)
    right = NoisyTopK.for_policy(removed, k=1, epsilon=6, query=wide)
    flaw, seen = "unselected counts that rise are free", "TopK turned round without its proof"
    capped = NoisyTopK(1, upper_rate=INFINITE, lower_rate=6)
    yield _in_one(right, capped, removed, flaw, seen, query=wide)
    peeled = PeeledTopK.for_policy(removed, k=2, epsilon=6, query=wide)
    at_once = replace(peeled, pick_rate=6)
    flaw, seen = "two rounds at the price of a half", "peeling charged once"
    yield _in_one(peeled, at_once, removed, flaw, seen, query=wide)
    same = wrong(picked_and_told, right=peeled)
    flaw, seen = "groups picked privately, true values told", "report noisy max misread"
    yield _in_one(peeled, same, removed, flaw, seen, query=wide)


def _broken_sparse_vector() -> Iterator[Line]:
    one, three = policies.presence(max_groups=1), policies.presence(max_groups=3)
    once = SparseVector.for_policy(three, thresholds=0, epsilon=4, max_answers=1)
    high = SparseVector.for_policy(three, thresholds=2, epsilon=4, max_answers=1)
    single = SparseVector.for_policy(one, thresholds=1, epsilon=3, max_answers=1)
    lyu = "Lyu, Su and Li 2017, Algorithm "
    for right, policy, run, flaw, seen in (
        (once, three, never_stops, "stop rule ignored", lyu + "6"),
        (once, three, shared_noise, "one draw of noise for all queries", "a hoisted draw"),
        (high, three, certified_value, "publishes certified values too", "debug output"),
        (single, one, true_answer, "answers the true count", "threshold alerts"),
        (single, one, fresh_answer, "answers with fresh noise, unpaid", lyu + "3, in spirit"),
        (single, one, rounded_first, "count rounded before the noise", "binned counts"),
    ):
        yield _in_one(right, wrong(run, right=right), policy, flaw, seen)
    twice = SparseVector.for_policy(three, thresholds=0, epsilon=4, max_answers=2)
    forgot = SparseVector(0, upper_rate=4, max_answers=2)
    yield _in_one(twice, forgot, three, "ε where ε/c is due", lyu + "4")


def _broken_mirror() -> Iterator[Line]:
    removed, three, one = policies.removal_only(), *(GroupCount(max_groups=n) for n in (3, 1))
    read, search = "'at most' read as 'at least'", "a search for the largest bound"
    alone = Universe(groups=("a",), units=2)
    for run, limit, query, world, flaw, seen in (
        (upwards, 1, three, _ONE, "noise above the truth for what may rise", "a lost sign"),
        (pays_for_certified, 1, three, _ONE, "what is not certified is free", read),
        (lowers_threshold, 2, one, alone, "thresholds tried at the price of one", search),
    ):
        right = SparseVector.for_policy(
            removed, thresholds=limit, epsilon=4, max_answers=1, query=query, below=True
        )
        other = wrong(run, right=right)
        yield _in_one(right, other, removed, flaw, seen, query=query, universe=world)


def _wrong_direction() -> Iterator[Line]:
    rises = policies.unbounded()
    about: dict[str, Any] = {"query": GroupCount(max_groups=1)}
    flaw, seen = "a symmetrised policy", "noise above the truth only"
    for mechanism in (TopK(1, upper_rate=3), SparseVector(0, upper_rate=3, max_answers=1)):
        world = Universe(units=1, max_groups=1)
        yield _in_one(Counts(3, 3), mechanism, rises, flaw, seen, universe=world, **about)
    right = AGeo(1, INFINITE, most=2)
    added = policies.addition_only()
    world = Universe(groups=("a",))
    flaw = "the noise is cut at the end, not the answer"
    seen, cut = "ADP-2022 Definition VIII.1, misprint", wrong(cut_noise, rate=1)
    yield _in_one(right, cut, added, flaw, seen, universe=world, **about)


def _in_one(right: Any, other: Any, policy: Policy, flaw: str, seen: str, **options: Any) -> Line:
    return in_place_of(right, other, policy, flaw, seen, **{"universe": _ONE, **options})


Selected = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Adaptive:
    """Right: asks a stream; which query is next, and its threshold, depend on the answers."""

    mechanism: SparseVector

    def release(self, values: IntArray, *, noise: Noise) -> Selected:
        """The transcript."""
        stream, left, said = self.mechanism.stream(noise=noise), list(range(values.size)), []
        certified = True
        while left and not stream.stopped:
            place = left.pop(0 if certified else -1)
            answer = stream.ask(int(values[place]), threshold=0 if certified else 1)
            certified = answer.certified
            said.append((place, *answer))
        return tuple(said)

    def loss(self, shift: Shift) -> Loss:
        """The mechanism's own."""
        return self.mechanism.loss(shift)


def ties_by_truth(values: IntArray, noise: Noise, *, rate: int) -> Selected:
    """Equal noisy counts go to the larger true count."""
    noisy = values + noise.geometric(rate, values.size)
    winner = int(np.lexsort((-values, -noisy))[0])
    return winner, int(noisy[winner])


def ties_by_others(values: IntArray, noise: Noise, *, rate: int) -> Selected:
    """Equal noisy counts go to whom the unselected ones point at."""
    noisy = values + noise.geometric(rate, values.size)
    tied = np.flatnonzero(noisy == noisy.max())
    winner = int(tied[int(noisy.sum()) % tied.size])
    return winner, int(noisy[winner])


def runner_up(values: IntArray, noise: Noise, *, rate: int) -> Selected:
    """The largest with its value, and the value of the second for nothing."""
    noisy = values + noise.geometric(rate, values.size)
    order = np.argsort(-noisy, kind="stable")
    return int(order[0]), int(noisy[order[0]]), int(noisy[order[1]])


def true_values(values: IntArray, noise: Noise, *, rate: int) -> Selected:
    """The position of the largest noisy count, with its true count."""
    winner = int(np.argmax(values + noise.geometric(rate, values.size)))
    return winner, int(values[winner])


def picked_and_told(values: IntArray, noise: Noise, *, right: PeeledTopK) -> Selected:
    """Picks a half, and tells the true counts of what was picked."""
    found = right.release(values, noise=noise)
    return tuple(zip(found.indices.tolist(), values[found.indices].tolist(), strict=True))


def never_stops(values: IntArray, noise: Noise, *, right: SparseVector) -> Selected:
    """Answers on and on at the price of one."""
    return _answers(values, noise, right, stops=False)


def shared_noise(values: IntArray, noise: Noise, *, right: SparseVector) -> Selected:
    """One draw for all queries."""
    same = int(noise.geometric(right.rate, 1)[0])
    above = values + same > right.thresholds
    first = int(np.argmax(above)) if above.any() else -1
    return first, int(values[first]) + same if first >= 0 else 0


def true_answer(values: IntArray, noise: Noise, *, right: SparseVector) -> Selected:
    """Noise decides, then the true count is told."""
    return _answers(values, noise, right, shown=lambda count, _noisy: count)


def fresh_answer(values: IntArray, noise: Noise, *, right: SparseVector) -> Selected:
    """The answer is measured anew: two looks at the price of one."""
    draw = partial(noise.geometric, right.rate, 1)
    return _answers(values, noise, right, shown=lambda count, _noisy: count + int(draw()[0]))


def rounded_first(values: IntArray, noise: Noise, *, right: SparseVector) -> Selected:
    """Counts are rounded up to even numbers before the noise: one person may move them by 2."""
    return _answers(values + values % 2, noise, right)


def certified_value(values: IntArray, noise: Noise, *, right: SparseVector) -> Selected:
    """Certified queries tell their noisy counts as well, unpaid."""
    return _answers(values, noise, right, certified=True)


def half_for_all(values: IntArray, noise: Noise, *, right: AdaptiveSparseVector) -> Selected:
    """Fine answers take half of a unit as well: twice as many are given."""
    return _halves(values, noise, right, fine=1, least=1)


def coarse_certifies(values: IntArray, noise: Noise, *, right: AdaptiveSparseVector) -> Selected:
    """A coarse count at most the threshold certifies: then a fine answer tells of both noises."""
    return _halves(values, noise, right, early=True)


def spends_more(values: IntArray, noise: Noise, *, right: AdaptiveSparseVector) -> Selected:
    """The last half of a unit still buys a fine answer."""
    return _halves(values, noise, right, least=1)


def _halves(
    values: IntArray,
    noise: Noise,
    right: AdaptiveSparseVector,
    *,
    fine: int = 2,
    least: int = 2,
    early: bool = False,
) -> Selected:
    """An adaptive sparse vector at one threshold; ``least``: what is left when it stops."""
    said: list[int | None] = []
    left, level = 2 * right.max_answers, int(np.max(right.thresholds))
    for count in values.tolist():
        if left < least:
            break
        coarse = count + int(noise.geometric(right.coarse_rate, 1)[0])
        near = count + int(noise.geometric(right.rate, 1)[0])
        if coarse > level + right.margin:
            said.append(coarse)
            left -= 1
        elif near > level and not (early and coarse <= level):
            said.append(near)
            left -= fine
        else:
            said.append(None)
    return tuple(said)


def upwards(values: IntArray, noise: Noise, *, right: SparseVector) -> Selected:
    """Certifies "at least" with noise above the truth."""
    noisy = values + noise.geometric(right.rate, values.size)
    return tuple(np.where(noisy >= right.thresholds, -1, noisy).tolist())


def pays_for_certified(values: IntArray, noise: Noise, *, right: SparseVector) -> Selected:
    """Takes what is certified for what costs: "not certified" is told for nothing, for ever."""
    said: list[bool] = []
    for count in values.tolist():
        said.append(bool(np.all(count - noise.geometric(right.rate, 1) >= right.thresholds)))
        if sum(said) == right.max_answers:
            break
    return tuple(said)


def lowers_threshold(values: IntArray, noise: Noise, *, right: SparseVector) -> Selected:
    """Asks again below a threshold that was not certified, at the price of one answer."""
    tried = range(int(np.max(right.thresholds)), 0, -1)
    return tuple(
        next((t for t in tried if count - int(noise.geometric(right.rate, 1)[0]) >= t), 0)
        for count in values.tolist()
    )


def cut_noise(values: IntArray, noise: Noise, *, rate: int) -> IntArray:
    """Noise cut at 1 before it is added, where ``f + G`` must be cut at the end."""
    return values + np.minimum(noise.geometric(rate, values.size), 1)


def _answers(
    values: IntArray,
    noise: Noise,
    right: SparseVector,
    *,
    stops: bool = True,
    shown: Callable[[int, int], int] = lambda _count, noisy: noisy,
    certified: bool = False,
) -> Selected:
    """A sparse vector with one answer, unless told otherwise; ``shown`` makes the answer."""
    said: list[int | None] = []
    for count in values.tolist():
        noisy = count + int(noise.geometric(right.rate, 1)[0])
        if np.all(noisy <= np.asarray(right.thresholds)):
            said.append(noisy if certified else None)
            continue
        said.append(shown(count, noisy))
        if stops:
            break
    return tuple(said)
