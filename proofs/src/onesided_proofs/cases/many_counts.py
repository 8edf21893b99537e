"""Noise above all counts at once, for units in most of the groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from onesided import policy as policies
from onesided.mechanism import CubeCounts, CubeEstimates, CubeThresholds
from onesided.noise import IntArray, Noise
from onesided.policy import GroupCount
from onesided.verify import Line, Universe, in_place_of, shipped
from onesided_proofs._worlds import wrong

_ONE = Universe(groups=("a",), units=2)
_AB = Universe(groups=("a", "b"), units=2)
_ABC = Universe(groups=("a", "b", "c"), units=1)
_TAIL = 1e-11


def cases() -> Iterator[Line]:
    """The sound first."""
    for universe, most, name in (
        (_ONE, 1, "one key"),
        (_AB, 1, "two keys"),
        (_AB, 2, "two keys"),
        (_ABC, 3, "three keys"),
    ):
        policy = policies.presence(max_groups=most)
        mechanism = CubeCounts.for_policy(policy, epsilon=5)
        told = f"CubeCounts ({name})"
        yield shipped(mechanism, policy, universe=universe, name=told, tail=_TAIL, epsilon=5)
    added, query = policies.addition_only(), GroupCount(max_groups=2)
    counted = CubeCounts.for_policy(added, epsilon="9/2", max_groups=2)
    yield shipped(counted, added, query, universe=_AB, tail=_TAIL, epsilon="9/2")
    two = policies.presence(max_groups=2)
    for made in (CubeEstimates(5, keys=2), CubeThresholds(0, noise_rate=5)):
        yield shipped(made, two, universe=_AB, tail=_TAIL, epsilon=5)
    yield from _broken()


def _broken() -> Iterator[Line]:
    policy = policies.presence(max_groups=2)
    right = CubeCounts.for_policy(policy, epsilon=5)
    for run, flaw, seen in (
        (without_descents, "the level is a sum of geometrics alone", "K-norm on the reals"),
        (one_level, "the level is one geometric", "the radius without its dimension"),
        (same_for_all, "one noise for all counts", "a common offset"),
        (without_zero, "one geometric too few", "n where n + 1 is due"),
        (half_noise, "half the noise", "ε doubled"),
    ):
        yield in_place_of(
            right, wrong(run, right=right), policy, flaw, seen, universe=_AB, tail=_TAIL
        )


def without_descents(values: IntArray, noise: Noise, right: CubeCounts) -> Any:
    """The level as a sum of geometrics alone: as of a simplex, and drawn in a cube."""
    level = int(noise.geometric(right.noise_rate, values.size + 1).sum())
    return values + noise.uniform(level + 1, values.size)


def one_level(values: IntArray, noise: Noise, right: CubeCounts) -> Any:
    """The level as one geometric: small cubes are far too likely."""
    level = int(noise.geometric(right.noise_rate, 1)[0])
    return values + noise.uniform(level + 1, values.size)


def same_for_all(values: IntArray, noise: Noise, right: CubeCounts) -> Any:
    """One noise for all counts: their differences are told."""
    return values + noise.geometric(right.noise_rate, 1)


def without_zero(values: IntArray, noise: Noise, right: CubeCounts) -> Any:
    """Each count's noise is below the level, which may not be 0: off by one."""
    level = 1 + int(noise.geometric(right.noise_rate, values.size).sum())
    return values + noise.uniform(level, values.size)


def half_noise(values: IntArray, noise: Noise, right: CubeCounts) -> Any:
    """At twice the rate."""
    return CubeCounts(right.noise_rate * 2).release(values, noise=noise)
