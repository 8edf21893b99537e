"""Answers under views that are wrong in one way each, and a sample that is right."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from onesided.mechanism import RecordSample
from onesided.noise import IntArray, Noise
from onesided.policy import GroupCount
from onesided.verify import Households
from onesided.verify.kit import Homes

Kept = tuple[tuple[Any, ...], ...]


def homes_sampled(data: Homes, noise: Noise, *, world: Households, sample: RecordSample) -> Kept:
    """Right: an open household has one coin, and all of it is published or nothing."""
    homes = sorted({p.home for p in _open(data, world) if p.home is not None})
    coins = sample.choose(len(homes), noise=noise)
    kept = {home for home, coin in zip(homes, coins, strict=True) if coin}
    return _rows(p for p in data.persons if p.home in kept)


def members_sampled(data: Homes, noise: Noise, *, world: Households, sample: RecordSample) -> Kept:
    """Each open person has a coin, though a household opens as a whole."""
    persons = _open(data, world)
    coins = sample.choose(len(persons), noise=noise)
    return _rows(p for p, coin in zip(persons, coins, strict=True) if coin)


@dataclass(frozen=True, slots=True)
class Miscounted:
    """Counts of open persons, of whom kinds are decided in another way than the policy's.

    each: a person's own rows decide. whole: households of any size may be open.
    """

    mechanism: Any
    world: Households
    each: bool = False

    def __call__(self, data: Homes, noise: Noise) -> Any:
        """The mechanism on those counts."""
        return self.mechanism.release(self._counts(data), noise=noise)

    def _counts(self, data: Homes) -> IntArray:
        world = self.world
        if self.each:
            alone = tuple(f"{place}" for place in range(len(data.persons)))
            persons = tuple(p._replace(home=h) for p, h in zip(data.persons, alone, strict=True))
            world, data = replace(world, homes=alone), data._replace(persons=persons)
        else:
            policy = replace(world.policy, members=len(data.persons))
            world = replace(world, policy=policy)
        return world.count(data, GroupCount(counted=frozenset({"open"})))


def _open(data: Homes, world: Households) -> list[Any]:
    return [p for at, p in enumerate(data.persons) if not world.sensitive(data, at)]


def _rows(persons: Any) -> Kept:
    return tuple(sorted((str(p.home), *sorted(p.groups)) for p in persons))
