"""Top-k, sparse vector, ALap and AGeo; and broken selections."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

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
from onesided.numbers import INFINITE
from onesided.policy import GroupCount, Policy
from onesided.verify import Line, Universe, in_place_of, shipped
from onesided_proofs.zoo import selection as zoo

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
    yield shipped(
        TopK.for_policy(added, k=2, epsilon=6, max_groups=3),
        added,
        wide,
        universe=_ABC,
        loose=_SELECTED,
        epsilon=6,
    )
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
        (zoo.half_for_all, "every answer takes half of a unit"),
        (zoo.coarse_certifies, "the coarse count certifies, too, and the fine one answers"),
        (zoo.spends_more, "half a unit left buys a fine answer"),
    ):
        yield _in_one(right, _wrong(run, right=right), two, flaw, ding, universe=_AB)
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
        adaptive = zoo.Adaptive(mechanism)
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
                stream, name = zoo.Adaptive(vector), "SparseVector (at least, stream)"
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
    single, both = Universe(groups=("a",)), policies.unbounded()
    for policy, query in (
        (policies.addition_only(), GroupCount(max_groups=1)),
        (policies.removal_only(), GroupCount(max_groups=1)),
        (both, GroupCount(max_groups=1)),
    ):
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
        (one, zoo.ties_by_truth, "ties broken by the true counts", "sorts of sorted data"),
        (three, zoo.ties_by_others, "ties broken by unselected noisy counts", "partial sorts"),
        (three, zoo.runner_up, "the best unselected value is published unpaid", "free gap"),
        (one, zoo.true_values, "noisy winners, true values", "report noisy max misread"),
    ):
        yield _in_one(first, _wrong(run, rate=3), policy, flaw, seen, universe=_ABC)
    removed, wide = policies.removal_only(), GroupCount(max_groups=3)
    right = NoisyTopK.for_policy(removed, k=1, epsilon=6, query=wide)
    flaw, seen = "unselected counts that rise are free", "TopK turned round without its proof"
    capped = NoisyTopK(1, upper_rate=INFINITE, lower_rate=6)
    yield _in_one(right, capped, removed, flaw, seen, query=wide)
    peeled = PeeledTopK.for_policy(removed, k=2, epsilon=6, query=wide)
    at_once = replace(peeled, pick_rate=6)
    flaw, seen = "two rounds at the price of a half", "peeling charged once"
    yield _in_one(peeled, at_once, removed, flaw, seen, query=wide)
    same = _wrong(zoo.picked_and_told, right=peeled)
    flaw, seen = "groups picked privately, true values told", "report noisy max misread"
    yield _in_one(peeled, same, removed, flaw, seen, query=wide)


def _broken_sparse_vector() -> Iterator[Line]:
    one, three = policies.presence(max_groups=1), policies.presence(max_groups=3)
    once = SparseVector.for_policy(three, thresholds=0, epsilon=4, max_answers=1)
    high = SparseVector.for_policy(three, thresholds=2, epsilon=4, max_answers=1)
    single = SparseVector.for_policy(one, thresholds=1, epsilon=3, max_answers=1)
    lyu = "Lyu, Su and Li 2017, Algorithm "
    for right, policy, run, flaw, seen in (
        (once, three, zoo.never_stops, "stop rule ignored", lyu + "6"),
        (once, three, zoo.shared_noise, "one draw of noise for all queries", "a hoisted draw"),
        (high, three, zoo.certified_value, "publishes certified values too", "debug output"),
        (single, one, zoo.true_answer, "answers the true count", "threshold alerts"),
        (single, one, zoo.fresh_answer, "answers with fresh noise, unpaid", lyu + "3, in spirit"),
        (single, one, zoo.rounded_first, "count rounded before the noise", "binned counts"),
    ):
        yield _in_one(right, _wrong(run, right=right), policy, flaw, seen)
    twice = SparseVector.for_policy(three, thresholds=0, epsilon=4, max_answers=2)
    forgot = SparseVector(0, upper_rate=4, max_answers=2)
    yield _in_one(twice, forgot, three, "ε where ε/c is due", lyu + "4")


def _broken_mirror() -> Iterator[Line]:
    removed, three, one = policies.removal_only(), *(GroupCount(max_groups=n) for n in (3, 1))
    read, search = "'at most' read as 'at least'", "a search for the largest bound"
    alone = Universe(groups=("a",), units=2)
    for run, limit, query, world, flaw, seen in (
        (zoo.upwards, 1, three, _ONE, "noise above the truth for what may rise", "a lost sign"),
        (zoo.pays_for_certified, 1, three, _ONE, "what is not certified is free", read),
        (zoo.lowers_threshold, 2, one, alone, "thresholds tried at the price of one", search),
    ):
        right = SparseVector.for_policy(
            removed, thresholds=limit, epsilon=4, max_answers=1, query=query, below=True
        )
        wrong = _wrong(run, right=right)
        yield _in_one(right, wrong, removed, flaw, seen, query=query, universe=world)


def _wrong_direction() -> Iterator[Line]:
    rises = policies.unbounded()
    for mechanism in (TopK(1, upper_rate=3), SparseVector(0, upper_rate=3, max_answers=1)):
        claimed = Counts(3, 3)
        yield _in_one(
            claimed,
            mechanism,
            rises,
            "a symmetrised policy",
            "noise above the truth only",
            query=GroupCount(max_groups=1),
            universe=Universe(units=1, max_groups=1),
        )
    yield _in_one(
        AGeo(1, INFINITE, most=2),
        _wrong(zoo.cut_noise, rate=1),
        policies.addition_only(),
        "the noise is cut at the end, not the answer",
        "ADP-2022 Definition VIII.1, misprint",
        query=GroupCount(max_groups=1),
        universe=Universe(groups=("a",)),
    )


def _wrong(run: Callable[..., Any], **options: Any) -> zoo.Wrong:
    return zoo.Wrong(partial(run, **options))


def _in_one(right: Any, wrong: Any, policy: Policy, flaw: str, seen: str, **options: Any) -> Line:
    return in_place_of(right, wrong, policy, flaw, seen, **{"universe": _ONE, **options})
