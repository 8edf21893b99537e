"""Noise above all counts at once, for units in most of the groups."""

from __future__ import annotations

from collections.abc import Iterator

from onesided import policy as policies
from onesided.mechanism import CubeCounts, CubeEstimates, CubeThresholds
from onesided.policy import GroupCount
from onesided.verify import Line, Universe, in_place_of, shipped
from onesided_proofs.zoo import many_counts as zoo

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
        (zoo.without_descents, "the level is a sum of geometrics alone", "K-norm on the reals"),
        (zoo.one_level, "the level is one geometric", "the radius without its dimension"),
        (zoo.same_for_all, "one noise for all counts", "a common offset"),
        (zoo.without_zero, "one geometric too few", "n where n + 1 is due"),
        (zoo.half_noise, "half the noise", "ε doubled"),
    ):
        yield in_place_of(
            right, zoo.Wrong(run, right), policy, flaw, seen, universe=_AB, tail=_TAIL
        )
