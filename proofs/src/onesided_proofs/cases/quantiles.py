"""Quantiles by the noisy maximum; and versions that pay for one end of what moves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

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
        yield from _more(policy)
    yield from _broken()
    yield from _broken_ranks()
    yield from _broken_several()


_TWO = Universe(groups=("a", "b", "c"), units=2, max_groups=1)


def _more(policy: policies.Policy) -> Iterator[Line]:
    """Ranks from above, and three quantiles at once."""
    yield shipped(
        NoisyMaxRank.for_policy(policy, above=1, candidates=3, epsilon=_EPSILON, max_groups=1),
        policy,
        _QUERY,
        name="NoisyMaxRank, 1 above",
        universe=Universe(groups=("a", "b", "c"), units=3, max_groups=1),
        epsilon=_EPSILON,
        loose=_MANY,
        tail=1e-11,
    )
    yield shipped(
        _three(policy),
        policy,
        _QUERY,
        name="SeveralQuantiles, three",
        universe=_TWO,
        epsilon=_EPSILON,
        loose=_MANY,
        tail=1e-11,
    )


def _three(policy: policies.Policy) -> SeveralQuantiles:
    return SeveralQuantiles.for_policy(
        policy, shares=["1/4", "1/2", "3/4"], candidates=3, epsilon=_EPSILON, max_groups=1, fine=2
    )


def _broken_several() -> Iterator[Line]:
    policy = policies.unbounded()
    right = _three(policy)

    def control(wrong: object, flaw: str, seen: str) -> Line:
        return in_place_of(right, wrong, policy, flaw, seen, query=_QUERY, universe=_TWO, tail=1e-9)

    yield control(
        replace(right, unit=right.unit * 3),
        "each share at all of ε, as if one value lay in one part alone",
        "in recursions that forget to pay for their levels",
    )
    yield control(
        _RunsAlike(right),
        "a run of candidates without values is as likely as one of them, in every part",
        "in quantiles by the exponential mechanism over intervals, widths forgotten",
    )


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
    yield in_place_of(
        right,
        replace(right, noise_rate=right.noise_rate * 2),
        policy,
        "priced as if a value more took all candidates the same way",
        "in scores called monotone that are not",
        query=_QUERY,
        universe=Universe(groups=("a", "b", "c"), units=3, max_groups=1),
        tail=1e-9,
    )


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
