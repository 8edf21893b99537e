"""Samples told month after month that are wrong in one way each; and the right one.

A record's kind is its history: "so" was sensitive in the first month and open in the second; "-"
stands for a month in which it was not there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from onesided.mechanism import Counts, PersistentSample, RecordSample
from onesided.noise import Noise
from onesided.numbers import Loss
from onesided.verify import Data
from onesided_proofs.zoo.samples import groups, kept_records

Shown = tuple[tuple[int, ...], ...]
KINDS = {"s": "sensitive", "o": "open"}


class Remembered:
    """Coins drawn from the verifier's noise when they are first asked for."""

    def __init__(self, noise: Noise) -> None:
        self._noise = noise
        self._drawn: dict[Any, bool] = {}

    def keeps(self, rate: Loss, unit: bytes) -> bool:
        """The unit's one coin."""
        if unit not in self._drawn:
            self._drawn[unit] = not self._noise.bernoulli_exp(rate, 1)[0]
        return self._drawn[unit]

    def leaves(self, chance: Fraction, unit: bytes, month: int) -> bool:
        """The unit's coin of that month."""
        if (unit, month) not in self._drawn:
            self._drawn[unit, month] = bool(self._noise.bernoulli(chance, 1)[0])
        return self._drawn[unit, month]

    def forget(self, unit: bytes) -> None:
        """Its coin falls again: what no stream may do."""
        self._drawn.pop(unit, None)


def months(data: Data) -> list[dict[bytes, str]]:
    """Month by month, the kinds of the units that are there."""
    histories = [(bytes([place]), record.kind) for place, record in enumerate(data)]
    length = len(data[0].kind)
    return [
        {unit: KINDS[told[month]] for unit, told in histories if told[month] != "-"}
        for month in range(length)
    ]


def told(data: Data, noise: Noise, *, sample: PersistentSample) -> Shown:
    """Right: one coin for each unit, and memory of who was met and who left."""
    coins, inside = Remembered(noise), dict[bytes, bool]()
    shown = []
    for month, kinds in enumerate(months(data), 1):
        inside |= sample.step(inside, kinds, month, coins)
        shown.append(_named(sample.shown(inside, kinds)))
    return tuple(shown)


def fresh_each_month(data: Data, noise: Noise, *, sample: PersistentSample) -> Shown:
    """A new coin for everybody, every month."""
    parts = []
    for kinds in months(data):
        inside = sample.step({}, kinds, 1, Remembered(noise))
        parts.append(_named(sample.shown(inside, kinds)))
    return tuple(parts)


def redrawn_at_a_change(data: Data, noise: Noise, *, sample: PersistentSample) -> Shown:
    """A unit whose kind changed is met anew, with another coin."""
    coins, inside, before = Remembered(noise), dict[bytes, bool](), dict[bytes, str]()
    shown = []
    for kinds in months(data):
        for unit, kind in kinds.items():
            if before.get(unit, kind) != kind:
                inside.pop(unit, None)
                coins.forget(unit)
        inside |= sample.step(inside, kinds, 1, coins)
        shown.append(_named(sample.shown(inside, kinds)))
        before |= kinds
    return tuple(shown)


def coming_back(data: Data, noise: Noise, *, sample: PersistentSample) -> Shown:
    """Who left may come back: each month hides a unit by its own coin, and open units are shown."""
    coins, shown = Remembered(noise), []
    first = months(data)[0]
    entered = sample.step({}, first, 1, coins)
    for month, kinds in enumerate(months(data), 1):
        inside = {unit: entered.get(unit, False) for unit in kinds}
        if month > 1:
            inside |= sample.step(inside, kinds, month, coins)
        shown.append(_named(sample.shown(inside, kinds)))
    return tuple(shown)


def coming_late(data: Data, noise: Noise, *, sample: PersistentSample) -> Shown:
    """Units that were not there in the first month may enter later, though absence is a kind."""
    coins, inside, shown = Remembered(noise), dict[bytes, bool](), []
    for month, kinds in enumerate(months(data), 1):
        late = {unit: kind for unit, kind in kinds.items() if unit not in inside}
        inside |= sample.step(inside, kinds, month, coins) | sample.step({}, late, 1, coins)
        shown.append(_named(sample.shown(inside, kinds)))
    return tuple(shown)


def kind_of_today(data: Data, noise: Noise, *, sample: PersistentSample) -> Shown:
    """One coin for ever, and no memory: whoever is open this month and has the coin is shown."""
    coins, alone = Remembered(noise), replace(sample, attrition=None)
    parts = []
    for kinds in months(data):
        inside = alone.step({}, kinds, 1, coins)
        parts.append(_named(alone.shown(inside, kinds)))
    return tuple(parts)


def two_streams(
    data: Data, noise: Noise, *, sample: PersistentSample, shared: bool = False
) -> Shown:
    """Each letter of a history is another table, with a stream of its own; right unless shared."""
    one = Remembered(noise)
    parts = []
    for kinds in months(data):
        coins = one if shared else Remembered(noise)
        parts.append(_named(sample.shown(sample.step({}, kinds, 1, coins), kinds)))
    return tuple(parts)


def with_free_sample(
    data: Data, noise: Noise, *, counts: Counts, samples: Sequence[Mapping[str, RecordSample]]
) -> tuple[Any, ...]:
    """Noisy counts of the protected units, and samples of the open ones; right with one of them."""
    true = [sum(r.kind != "open" and g in groups(r) for r in data) for g in ("a", "b")]
    noisy = counts.release(np.array(true), noise=noise).tolist()
    return (*noisy, *(kept_records(data, noise, samples=one) for one in samples))


def _named(units: list[bytes]) -> tuple[int, ...]:
    return tuple(sorted(unit[0] for unit in units))
