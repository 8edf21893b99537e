"""Continual counts over tiny streams, whose steps are the groups; and broken ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from onesided import policy as policies
from onesided.noise import IntArray, Noise
from onesided.policy import GroupCount, Policy
from onesided.verify import Line, Universe, in_place_of, shipped
from onesided_experiments.continual import ContinualCount

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
            (Redrawn(right), "a node is drawn anew at every step", "stateless dashboards"),
            (_one_level(right), "the loss of one level charged for all", "rates not shared out"),
            (RunningNoise(right), "one draw for the whole stream", "a noisy starting point"),
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
                Visits(mechanism, (0, 0, 1)),
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
    about: dict[str, Any] = {"universe": world, "epsilon": epsilon, "loose": _PARTLY}
    return shipped(mechanism, policy, name=name, tail=1e-8, unseen=1e-3, **about)


def _one_level(right: ContinualCount) -> ContinualCount:
    levels = right.levels(1)
    return ContinualCount(right.upper_rate * levels, right.lower_rate * levels, horizon=3)


@dataclass(frozen=True, slots=True)
class Redrawn:
    """A node is made noisy anew each time an answer needs it, at the price of one draw."""

    right: ContinualCount

    def release(self, values: IntArray, *, noise: Noise) -> IntArray:
        """The answers at every step."""
        found: list[int] = []
        for time in range(1, values.size + 1):
            law, start, total = self.right.law(time), 0, 0
            for level in reversed(range(time.bit_length())):
                if time >> level & 1:
                    node = int(values[start : start + 2**level].sum())
                    total += node + int(noise.two_sided(law.upper, law.lower, 1)[0])
                    start += 2**level
            found.append(total)
        return np.array(found, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class RunningNoise:
    """One draw for the whole stream: differences of answers are exact."""

    right: ContinualCount

    def release(self, values: IntArray, *, noise: Noise) -> IntArray:
        """The answers at every step."""
        law = self.right.law(1)
        return np.asarray(np.cumsum(values) + noise.two_sided(law.upper, law.lower, 1)[0])


@dataclass(frozen=True, slots=True)
class Visits:
    """Counts per place, told step by step; ``places`` has the place that is counted in each step.

    Sound if ``right`` was made for as many visits of one person; else it charges them as fewer.
    """

    right: ContinualCount
    places: tuple[int, ...]

    def release(self, values: IntArray, *, noise: Noise) -> IntArray:
        """The answers at every step."""
        return self.right.release(values[list(self.places)], noise=noise)
