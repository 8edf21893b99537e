"""Quantiles by the noisy maximum; and versions that pay for one end of what moves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from onesided import policy as policies
from onesided.mechanism import NoisyMaxQuantile, NoisyMaxRank, SeveralQuantiles
from onesided.noise import IntArray, Noise
from onesided.numbers import Loss
from onesided.policy import GroupCount
from onesided.verify import Line, Universe, in_place_of, shipped

_EPSILON = 3
_QUERY = GroupCount(max_groups=1)
_MANY = "reached with more values and candidates than this world has"


def cases() -> Iterator[Line]:
    """The sound first."""
    some: dict[str, Any] = {"epsilon": _EPSILON, "max_groups": 1}
    one_way = policies.addition_only(), policies.removal_only()
    kinds = policies.sensitive("minor"), policies.extended_sensitive("minor")
    whole = policies.bounded(), policies.unbounded()
    for policy in (*whole, *one_way, *kinds, policies.presence(max_groups=1)):
        for q, groups, units in (("1/2", "abc", 3), ("1/3", "abc", 3), ("9/10", "abcd", 2)):
            made = NoisyMaxQuantile.for_policy(policy, q=q, candidates=len(groups), **some)
            world = Universe(groups=tuple(groups), units=units, max_groups=1)
            yield _sound(made, policy, f"NoisyMaxQuantile, q = {q}", world)
        # Ranks from above, and three quantiles at once.
        rank = NoisyMaxRank.for_policy(policy, above=1, candidates=3, **some)
        yield _sound(rank, policy, "NoisyMaxRank, 1 above", _THREE)
        yield _sound(_three(policy), policy, "SeveralQuantiles, three", _TWO)
    yield from _broken()
    yield from _broken_ranks()
    yield from _broken_several()


_TWO = Universe(groups=("a", "b", "c"), units=2, max_groups=1)


_THREE = replace(_TWO, units=3)


def _sound(made: Any, policy: policies.Policy, name: str, world: Universe) -> Line:
    about: dict[str, Any] = {"epsilon": _EPSILON, "loose": _MANY, "tail": 1e-11}
    return shipped(made, policy, _QUERY, name=name, universe=world, **about)


def _three(policy: policies.Policy) -> SeveralQuantiles:
    return SeveralQuantiles.for_policy(
        policy, shares=["1/4", "1/2", "3/4"], candidates=3, epsilon=_EPSILON, max_groups=1, fine=2
    )


def _broken_several() -> Iterator[Line]:
    policy = policies.unbounded()
    right = _three(policy)

    flaw = "each share at all of ε, as if one value lay in one part alone"
    seen = "in recursions that forget to pay for their levels"
    yield _control(right, replace(right, unit=right.unit * 3), flaw, seen, _TWO)
    flaw = "a run of candidates without values is as likely as one of them, in every part"
    yield _control(right, _RunsAlike(right), flaw, _INTERVALS, _TWO)


_MONOTONE = "in scores called monotone that are not"
_INTERVALS = "in quantiles by the exponential mechanism over intervals, widths forgotten"


def _control(right: Any, wrong: object, flaw: str, seen: str, world: Universe) -> Line:
    """Under unbounded, which takes a value away or lets one come."""
    about: dict[str, Any] = {"query": _QUERY, "universe": world, "tail": 1e-9}
    return in_place_of(right, wrong, policies.unbounded(), flaw, seen, **about)


@dataclass(frozen=True, slots=True)
class _RunsAlike:
    """Wrong: where runs begin and end is the data's to say."""

    mechanism: SeveralQuantiles

    def release(self, values: IntArray, *, noise: Noise) -> IntArray:
        return self.mechanism.release(values, noise=_AsOne(noise))  # type: ignore[arg-type] # two


class _AsOne:
    """Noise that forgets how long runs are."""

    def __init__(self, noise: Noise) -> None:
        self._noise = noise

    def permute_and_flip(self, rate: Loss, deficits: IntArray, sizes: IntArray) -> int:
        return self._noise.permute_and_flip(rate, deficits, np.ones_like(sizes))

    def uniform(self, below: int, size: int) -> IntArray:
        return self._noise.uniform(below, size)


def _broken_ranks() -> Iterator[Line]:
    policy = policies.unbounded()
    right = NoisyMaxRank.for_policy(policy, above=1, candidates=3, epsilon=_EPSILON)
    twice = replace(right, noise_rate=right.noise_rate * 2)
    flaw = "priced as if a value more took all candidates the same way"
    yield _control(right, twice, flaw, _MONOTONE, _THREE)


def _broken() -> Iterator[Line]:
    policy = policies.unbounded()
    right = NoisyMaxQuantile.for_policy(policy, q="1/2", candidates=3, epsilon=_EPSILON)
    flaw, seen = "priced as if all distances moved the same way", _MONOTONE
    yield _control(right, replace(right, noise_rate=right.noise_rate * 2), flaw, seen, _THREE)
    flaw = "a run of candidates without values is as likely as one of them"
    yield _control(right, _RunsAsOne(right), flaw, _INTERVALS, _THREE)
    flaw = "takes the lowest of the candidates that are nearest, without noise"
    yield _control(right, _TiesByOrder(right), flaw, "where a tie was broken by the data", _THREE)


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
