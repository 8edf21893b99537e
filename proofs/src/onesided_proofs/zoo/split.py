"""Programs on sensitive and open counts: the shipped ones made checkable, and wrong ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from onesided.mechanism.histograms import OpenShape, SplitHistogram
from onesided.mechanism.histograms.kit import Parts
from onesided.noise import IntArray, Noise
from onesided.policy import GroupCount, Policy
from onesided.verify import Data, Universe

Run = Callable[[IntArray, IntArray, Noise], Any]


@dataclass(frozen=True, slots=True)
class TwoParts:
    """A function of both histograms and noise, as a program on records."""

    run: Run
    policy: Policy
    world: Universe = field(default_factory=Universe)

    def __call__(self, data: Data, noise: Noise) -> Any:
        """Count the records of each part, and run."""
        parts = Parts.of(self.policy)
        hidden = self.world.count(data, GroupCount(counted=parts.sensitive))
        free = self.world.count(data, GroupCount(counted=parts.open))
        return self.run(hidden, free, noise)


@dataclass(frozen=True, slots=True)
class Measured:
    """Everything that a shipped mechanism draws noise for, not only what is made of it."""

    mechanism: OpenShape | SplitHistogram

    def __call__(self, hidden: IntArray, free: IntArray, noise: Noise) -> Any:
        """Both parts measured."""
        if isinstance(self.mechanism, OpenShape):
            return self.mechanism.measure(hidden, free, noise=noise)
        return self.mechanism.release(hidden, free, noise=noise)


def zeros_kept(hidden: IntArray, free: IntArray, noise: Noise, *, right: SplitHistogram) -> Any:
    """Sensitive counts of 0 get no noise: "no record, nothing to hide"."""
    released = right.release(hidden, free, noise=noise)
    return np.where(hidden == 0, 0, released.sensitive), released.open


def clipped_first(hidden: IntArray, free: IntArray, noise: Noise, *, right: SplitHistogram) -> Any:
    """Open counts are cut to 0 where anybody sensitive is, before the noise."""
    return right.release(hidden, np.where(hidden > 0, 0, free), noise=noise)


def noise_above_open(
    hidden: IntArray, free: IntArray, noise: Noise, *, right: SplitHistogram
) -> Any:
    """Open counts with noise above them, as presence has it: they rise along a move."""
    above = noise.geometric(right.open_rate, free.size)
    first = noise.two_sided(right.upper_rate, right.lower_rate, hidden.size)
    return hidden + first, free + above


def raw_partition(hidden: IntArray, free: IntArray, noise: Noise, *, right: OpenShape) -> Any:
    """The partition is taken where true open counts are: cells with any are measured alone."""
    option = right.options[0]
    lower = free - noise.geometric(option.open, free.size)
    labels = np.arange(free.size) if free.any() else np.zeros(free.size, dtype=np.int64)
    totals = np.bincount(labels, hidden).astype(np.int64)
    return lower, totals + noise.two_sided(option.upper, option.lower, totals.size)


def raw_shape(hidden: IntArray, free: IntArray, noise: Noise, *, right: OpenShape) -> Any:
    """A noisy total of all sensitive records, spread in the shape of the true open counts."""
    option = right.options[0]
    lower = free - noise.geometric(option.open, free.size)
    total = int(hidden.sum()) + int(noise.two_sided(option.upper, option.lower, 1)[0])
    return lower, total * free / max(int(free.sum()), 1)


def raw_choice(hidden: IntArray, free: IntArray, noise: Noise, *, right: OpenShape) -> Any:
    """The rates are chosen by the true number of sensitive records, and told."""
    number = int(hidden.sum() > 0)
    option = right.options[number]
    lower = free - noise.geometric(option.open, free.size)
    totals = hidden + noise.two_sided(option.upper, option.lower, hidden.size)
    return number, lower, totals


def second_look(hidden: IntArray, free: IntArray, noise: Noise, *, right: OpenShape) -> Any:
    """The second look at open counts has the whole open rate, not what is left of it."""
    option = right.options[0]
    first = free - noise.geometric(right.look.open, free.size)
    second = free - noise.geometric(option.open, free.size)
    totals = hidden + noise.two_sided(option.upper, option.lower, hidden.size)
    return np.maximum(first, second), totals


def exact_number(hidden: IntArray, free: IntArray, noise: Noise, *, right: OpenShape) -> Any:
    """The number of all records is told: none is added or removed, but some are in no cell."""
    option = right.options[0]
    lower = free - noise.geometric(option.open, free.size)
    totals = hidden + noise.two_sided(option.upper, option.lower, hidden.size)
    return int(hidden.sum()) + int(free.sum()), lower, totals
