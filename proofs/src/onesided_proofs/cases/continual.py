"""Continual counts over tiny streams, whose steps are the groups; and broken ones."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from onesided import policy as policies
from onesided.mechanism import ContinualCount
from onesided.policy import GroupCount, Policy
from onesided.verify import Line, Universe, in_place_of, shipped
from onesided_proofs.zoo import continual as zoo

_STEPS = ("1", "2", "3")
_PARTLY = "steps that share nodes, or later steps, lose less"


def cases() -> Iterator[Line]:
    """The sound first."""
    one, two = policies.presence(max_groups=1), policies.presence(max_groups=2)
    for horizon in (3, None):
        for policy in (one, policies.addition_only(), policies.unbounded()):
            yield _sound(policy, horizon)
        yield _sound(two, horizon, epsilon=6, groups=2)
    yield _sound(policies.bounded(), 3, epsilon=8)
    # Events that may have been a step earlier or later, and no more.
    line = policies.graph([("1", "2"), ("2", "3")])
    yield _sound(line, 3, epsilon=8)
    yield from _visits()
    for policy in (one, policies.unbounded()):
        right = ContinualCount.for_policy(policy, epsilon=4, horizon=3)
        for wrong, flaw, seen in (
            (zoo.Redrawn(right), "a node is drawn anew at every step", "stateless dashboards"),
            (_one_level(right), "the loss of one level charged for all", "rates not shared out"),
            (zoo.RunningNoise(right), "one draw for the whole stream", "a noisy starting point"),
        ):
            world = Universe(groups=_STEPS, units=1, max_groups=1)
            yield in_place_of(
                right, wrong, policy, flaw, seen, universe=world, tail=1e-5, unseen=1e-1
            )


def _visits() -> Iterator[Line]:
    """Places, not steps, are the groups, and one of them is visited twice: both visits may go."""
    world = Universe(groups=("a", "b"), units=1, max_groups=2)
    for policy in (policies.presence(max_groups=1), policies.addition_only()):
        query = GroupCount(max_groups=None if policy.name == "presence" else 2)
        for events in (3, None):
            mechanism = ContinualCount.for_policy(policy, epsilon=3, horizon=3, max_events=events)
            yield Line(
                "ContinualCount (visits)",
                policy,
                zoo.Visits(mechanism, (0, 0, 1)),
                dict.fromkeys(policy.edges, Fraction(3)),
                query=query,
                universe=world,
                flaw="" if events else "several visits of one person charged as one",
                seen="" if events else "max_events cut to presence's max_groups",
                loose="three visits are priced to one step",
                tail=1e-8,
                unseen=1e-3,
            )


def _sound(policy: Policy, horizon: int | None, *, epsilon: int = 4, groups: int = 1) -> Line:
    mechanism = ContinualCount.for_policy(policy, epsilon=epsilon, horizon=horizon)
    name = "ContinualCount" if horizon else "ContinualCount (no horizon)"
    world = Universe(groups=_STEPS, units=1, max_groups=groups)
    return shipped(
        mechanism,
        policy,
        name=name,
        universe=world,
        loose=_PARTLY,
        tail=1e-8,
        unseen=1e-3,
        epsilon=epsilon,
    )


def _one_level(right: ContinualCount) -> ContinualCount:
    levels = right.levels(1)
    return ContinualCount(right.upper_rate * levels, right.lower_rate * levels, horizon=3)
