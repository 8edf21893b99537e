"""DAWA, hierarchies and the zero-set recipe; and what goes wrong with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from onesided import policy as policies
from onesided._numbers import INFINITE, Loss
from onesided.mechanism.histograms import Dawa, Hierarchical, Look, Zeroed, zeros
from onesided.policy import ABSENT, Edge, GroupCount, Policy, Record
from onesided.verify._line import Line, shipped
from onesided.verify._universe import Universe
from onesided.verify.zoo import histograms as zoo
from onesided.verify.zoo.selection import Wrong

_TWO = Universe(groups=("a", "b"), units=1, max_groups=1)
_FOUR = Universe(groups=("a", "b", "c", "d"), units=1, max_groups=1)
# Moving a record from the first cell to the third spoils both halves and helps the whole.
_TENSE = (5, 6, 2, 1)
# An error of measuring that makes buckets dear, so that the noise of phase 1 decides.
_DEAR = "1/3"
_PRICES = "reached as buckets become dearer"
_PHASES = "each phase is reached by data of its own"


def cases() -> Iterator[Line]:
    """The sound first."""
    yield from _partitions()
    yield from _whole()
    yield from _looks()
    yield from _trees()
    yield from _zeros()
    yield from _broken_partitions()
    yield from _broken_zeros()


def _policies() -> tuple[Policy, ...]:
    return (
        policies.bounded(),
        policies.unbounded(),
        policies.addition_only(),
        policies.removal_only(),
        policies.sensitive("minor"),
    )


def _partitions() -> Iterator[Line]:
    learner = Dawa(8, upper_rate=_DEAR, lower_rate=_DEAR)
    for policy in _policies()[:4]:
        yield shipped(
            zoo.Learning(learner, _TENSE),
            policy,
            GroupCount(max_groups=1),
            name="Dawa (phase 1)",
            universe=_FOUR,
            loose=_PRICES,
            tail=1e-9,
            unseen=1e-3,
        )


def _whole() -> Iterator[Line]:
    for policy in _policies()[1:]:
        yield shipped(
            Dawa.for_policy(policy, epsilon=18, look_share=None),
            policy,
            GroupCount(max_groups=1),
            epsilon=18,
            universe=_TWO,
            loose=_PHASES,
            tail=1e-8,
            unseen=1e-3,
        )
    for policy in (policies.addition_only(), policies.removal_only()):
        yield shipped(
            Dawa.for_policy(policy, epsilon=18, look_share=None, workload="ranges"),
            policy,
            GroupCount(max_groups=1),
            epsilon=18,
            name="Dawa (ranges)",
            universe=_TWO,
            loose=_PHASES,
            tail=1e-9,
            unseen=1e-3,
        )


def _looks() -> Iterator[Line]:
    for policy in _policies()[:4]:
        yield shipped(
            zoo.Looking(_looking(), _TENSE),
            policy,
            GroupCount(max_groups=1),
            name="Dawa (look)",
            universe=_FOUR,
            loose="reached far from where the decision turns",
            tail=1e-9,
            unseen=1e-3,
        )
    for policy in (policies.addition_only(), policies.removal_only()):
        yield shipped(
            Dawa.for_policy(policy, epsilon=18, look_share="1/3"),
            policy,
            GroupCount(max_groups=1),
            epsilon=18,
            name="Dawa (look and all)",
            universe=_TWO,
            loose=_PHASES,
            tail=1e-8,
            unseen=1e-3,
        )

    for policy in (policies.addition_only(), policies.removal_only()):
        yield shipped(
            Dawa.for_policy(policy, epsilon=18, look_share="1/3", workload="ranges"),
            policy,
            GroupCount(max_groups=1),
            epsilon=18,
            name="Dawa (look, ranges)",
            universe=_TWO,
            loose=_PHASES,
            tail=1e-8,
            unseen=1e-3,
        )


def _looking() -> Dawa:
    """Its decision turns near the counts of ``_TENSE``."""
    return Dawa(8, upper_rate=1, lower_rate=1, look=Look(2, upper_rate="3/4", lower_rate="3/4"))


def _trees() -> Iterator[Line]:
    three = Universe(groups=("a", "b", "c"), units=1, max_groups=1)
    # So few cells need no tree: shares are given, so that every level has noise.
    two, more = ("1/2", "1/2"), ("1/2", "1/4", "1/4")
    for policy, world, shares in (
        (policies.bounded(), _TWO, two),
        (policies.unbounded(), _TWO, two),
        (policies.addition_only(), three, more),
        (policies.removal_only(), _TWO, two),
        (policies.sensitive("minor"), _TWO, two),
    ):
        yield shipped(
            Hierarchical.for_policy(policy, epsilon=16, branching=2, shares=shares),
            policy,
            GroupCount(max_groups=1),
            epsilon=16,
            universe=world,
            loose="answers of one level hide in those of another",
            tail=1e-9 if policy.name in ("bounded", "sensitive") else 1e-11,
            unseen=1e-3,
        )


def _zeros() -> Iterator[Line]:
    some, more = policies.sensitive("minor"), policies.extended_sensitive("minor")
    dawa, tree = zeros(Dawa, share="1/6"), zeros(Hierarchical, share="1/6")
    fit: Any = {"learn_share": "3/5", "look_share": None}
    for name, policy, mechanism, epsilon, tail in (
        ("DAWAz", some, dawa.for_policy(some, epsilon=21, **fit), 21, 1e-7),
        ("DAWAz", more, dawa.for_policy(more, epsilon=20, **fit), 20, 1e-8),
        ("Hierarchical, zeros", more, tree.for_policy(more, epsilon=15, branching=2), 15, 1e-9),
    ):
        yield _with_open(
            name,
            zoo.Released(mechanism),
            mechanism.losses(policy),
            policy,
            epsilon=epsilon,
            known=(1, 1),
            loose=_PHASES,
            universe=Universe(groups=("a", "b"), units=1, values=_records(policy)),
            tail=tail,
        )


def _records(policy: Policy) -> tuple[Record, ...]:
    """One record of each kind in each place, and the absent one."""
    return tuple(
        Record(kind, frozenset(place) if kind != ABSENT else frozenset())
        for kind in policy.kinds
        for place in ("a" if kind == ABSENT else "ab")
    )


def _broken_partitions() -> Iterator[Line]:
    right = Dawa(8, upper_rate=_DEAR, lower_rate=_DEAR)
    silent = Dawa(INFINITE, upper_rate=_DEAR, lower_rate=_DEAR)
    hasty = Dawa(16, upper_rate=_DEAR, lower_rate=_DEAR)
    flat = (0, 0, 0, 0)
    for wrong, claim, flaw, seen in (
        (zoo.Learning(silent, _TENSE), 8, "partition learnt without noise", "plain histograms"),
        (
            zoo.Learning(hasty, (5, 6, 0, 0)),
            8,
            "only the bucket's own cost is thought to move",
            "noisy costs, half read",
        ),
        (
            zoo.WrongLearning(partial(zoo.quiet_cells, rate=2, price=1), flat),
            2,
            "cells without noise, costs clipped at 0",
            "DAWA as distributed with DPBench",
        ),
        (
            zoo.WrongLearning(partial(zoo.look_in_units, rate=2), _TENSE),
            2,
            "the noise of a look counts units of price for counts",
            "sensitivities in another unit",
        ),
        (
            zoo.WrongLearning(partial(zoo.ties_by_deviation, right=right), flat),
            8,
            "equal prices decided by true deviations",
            "sorts of sorted data",
        ),
    ):
        yield _added("Dawa (phase 1)", wrong, claim, flaw, seen, universe=_FOUR)
    every = Wrong(partial(zoo.whole_rate_per_level, rate=4))
    yield _added("Hierarchical", every, 4, "every level at the whole rate", "trees", universe=_TWO)


def _added(name: str, wrong: Any, claim: int, flaw: str, seen: str, *, universe: Universe) -> Line:
    """A broken one under addition only, where a record that is added costs ``claim``."""
    policy = policies.addition_only()
    return Line(
        name,
        policy,
        wrong,
        {edge: claim * edge.weight for edge in policy.edges},
        query=GroupCount(max_groups=1),
        universe=universe,
        flaw=flaw,
        seen=seen,
        tail=1e-9,
    )


def _broken_zeros() -> Iterator[Line]:
    policy = policies.sensitive("minor")
    right = Zeroed(Dawa(INFINITE, upper_rate=INFINITE, lower_rate=INFINITE), open_rate=3)
    claims: dict[Edge, Loss] = {
        edge: right.open_rate * (edge.target == "open") for edge in policy.edges
    }
    two = Universe(groups=("a", "b"), units=2, max_groups=1)
    for run, flaw, seen in (
        (zoo.raw_zeros, "zero cells taken from the raw open counts", "open means public"),
        (
            partial(zoo.small_counts_dropped, right=right),
            "open counts clipped before noise",
            "small-cell suppression",
        ),
        (
            partial(zoo.certain_zeros, right=right),
            "noise above open counts that rise",
            "a symmetrised policy",
        ),
    ):
        yield _with_open("Zeroed", run, claims, policy, flaw=flaw, seen=seen, universe=two)


def _with_open(
    name: str,
    run: Any,
    claims: Mapping[Edge, Loss],
    policy: Policy,
    *,
    known: tuple[int, ...] = (0, 0),
    tail: float = 1e-8,
    **options: Any,
) -> Line:
    publish = zoo.WithOpen(run, options["universe"], known)
    return Line(name, policy, publish, claims, tail=tail, unseen=1e-3, **options)
