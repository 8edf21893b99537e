"""Quantiles by the noisy maximum; and versions that pay for one end of what moves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from onesided import policy as policies
from onesided.mechanism import NoisyMaxQuantile
from onesided.noise import IntArray, Noise
from onesided.policy import GroupCount
from onesided.verify._line import Line, in_place_of, shipped
from onesided.verify._universe import Universe

_EPSILON = 3
_QUERY = GroupCount(max_groups=1)
_MANY = "reached with more values and candidates than this world has"


def cases() -> Iterator[Line]:
    """The sound first."""
    for policy in (
        policies.bounded(),
        policies.unbounded(),
        policies.addition_only(),
        policies.removal_only(),
        policies.sensitive("minor"),
        policies.extended_sensitive("minor"),
        policies.presence(max_groups=1),
    ):
        for q, groups, units in (("1/2", "abc", 3), ("1/3", "abc", 3), ("9/10", "abcd", 2)):
            yield shipped(
                NoisyMaxQuantile.for_policy(
                    policy, q=q, candidates=len(groups), epsilon=_EPSILON, max_groups=1
                ),
                policy,
                _QUERY,
                name=f"NoisyMaxQuantile, q = {q}",
                universe=Universe(groups=tuple(groups), units=units, max_groups=1),
                epsilon=_EPSILON,
                loose=_MANY,
                tail=1e-11,
            )
    yield from _broken()


def _broken() -> Iterator[Line]:
    policy = policies.unbounded()
    universe = Universe(groups=("a", "b", "c"), units=3, max_groups=1)
    right = NoisyMaxQuantile.for_policy(policy, q="1/2", candidates=3, epsilon=_EPSILON)

    def control(wrong: object, flaw: str, seen: str) -> Line:
        return in_place_of(
            right, wrong, policy, flaw, seen, query=_QUERY, universe=universe, tail=1e-9
        )

    yield control(
        replace(right, noise_rate=right.noise_rate * 2),
        "priced as if all distances moved the same way",
        "in scores called monotone that are not",
    )
    yield control(
        _RunsAsOne(right),
        "a run of candidates without values is as likely as one of them",
        "in quantiles by the exponential mechanism over intervals, widths forgotten",
    )
    yield control(
        _TiesByOrder(right),
        "takes the lowest of the candidates that are nearest, without noise",
        "where a tie was broken by the data",
    )


@dataclass(frozen=True, slots=True)
class _RunsAsOne:
    """Wrong: where runs begin and end is the data's to say."""

    mechanism: NoisyMaxQuantile

    def release(self, values: IntArray, *, noise: Noise) -> int:
        places = np.flatnonzero(values)
        firsts, _, distances = self.mechanism.runs(places, values[places])
        ones = np.ones_like(firsts)
        least = distances.min()
        run = noise.permute_and_flip(self.mechanism.noise_rate, distances - least, ones)
        return int(firsts[run])


@dataclass(frozen=True, slots=True)
class _TiesByOrder:
    """Wrong: the nearest candidate as it is."""

    mechanism: NoisyMaxQuantile

    def release(self, values: IntArray, *, noise: Noise) -> int:
        del noise
        places = np.flatnonzero(values)
        firsts, _, distances = self.mechanism.runs(places, values[places])
        return int(firsts[distances == distances.min()].min())
