"""Histogram algorithms cut down to what can be enumerated, and ones that are wrong in one way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from onesided._numbers import INFINITE, Loss
from onesided.linear.kit import consistent, tree_sums
from onesided.mechanism.histograms import Dawa, TwoPhase, Zeroed
from onesided.mechanism.histograms.kit import Prices, cheapest, deviations, least
from onesided.noise import BoolArray, IntArray, Noise
from onesided.policy import GroupCount, Shift
from onesided.verify._universe import Data, Universe

_ALL = GroupCount(max_groups=1)
_OPEN = GroupCount(counted=frozenset({"open"}))


@dataclass(frozen=True, slots=True)
class Learning:
    """Right: the first phase on its own, on the data's counts above some that everyone knows."""

    algorithm: TwoPhase
    known: tuple[int, ...]

    def release(self, values: IntArray, *, noise: Noise) -> IntArray:
        """The bucket of each cell."""
        labels: IntArray = self.algorithm.learn(values + self.known, noise=noise).labels
        return labels

    def loss(self, shift: Shift) -> Loss:
        """The algorithm's own for its first phase."""
        return self.algorithm.learn_loss(shift)


@dataclass(frozen=True, slots=True)
class Looking:
    """Right: the decision of a look on its own, on the data's counts above some that are known."""

    algorithm: Dawa
    known: tuple[int, ...]

    def release(self, values: IntArray, *, noise: Noise) -> bool:
        """Whether neighbours seem alike."""
        return self.algorithm.alike(values + self.known, noise=noise)

    def loss(self, shift: Shift) -> Loss:
        """The look's own."""
        asked = self.algorithm.look
        return INFINITE if asked is None else asked.ask_rate * (shift.rise + shift.fall)


@dataclass(frozen=True, slots=True)
class WithOpen:
    """A program on records: counts of all and of the open ones, and what ``run`` makes of them.

    known: open records that are in every data set.
    """

    run: Callable[[IntArray, IntArray, Noise], Any]
    world: Universe
    known: tuple[int, ...]

    def __call__(self, data: Data, noise: Noise) -> Any:
        """What it publishes."""
        counts = self.world.count(data, _ALL) + self.known
        return self.run(counts, self.world.count(data, _OPEN) + self.known, noise)


@dataclass(frozen=True, slots=True)
class Released:
    """Right: the recipe as shipped, as a function of both histograms."""

    mechanism: Zeroed

    def __call__(self, counts: IntArray, opened: IntArray, noise: Noise) -> Any:
        """Its estimates."""
        return self.mechanism.release(counts, opened, noise=noise)


@dataclass(frozen=True, slots=True)
class WrongLearning:
    """A first phase that is wrong, in the shape of a mechanism; it states no loss."""

    run: Callable[[IntArray, Noise], BoolArray]
    known: tuple[int, ...]

    def release(self, values: IntArray, *, noise: Noise) -> IntArray:
        """The bucket of each cell."""
        labels: IntArray = np.cumsum(self.run(values + self.known, noise)) - 1
        return labels


def quiet_cells(counts: IntArray, noise: Noise, *, rate: int, price: int) -> BoolArray:
    """Cells as buckets cost their price and have no noise; other costs are clipped at 0."""
    noisy = (
        np.maximum(cost + noise.two_sided(rate, rate, cost.size), 0) for cost in deviations(counts)
    )
    return cheapest(np.zeros_like(counts), noisy, Prices(1, price, price))


def look_in_units(counts: IntArray, noise: Noise, *, rate: int) -> BoolArray:
    """A count moves the least price by 20 units, and its noise is as if that were 1."""
    price = least(counts.size, deviations(counts), Prices(20, 16, 16))
    alike = price + int(noise.two_sided(rate, rate, 1)[0]) < 58
    return np.array([True, *[alike] * (counts.size - 1)])


def ties_by_deviation(counts: IntArray, noise: Noise, *, right: Dawa) -> BoolArray:
    """Right noise, but the true deviation, not a rule, says which of two equal prices wins."""
    costs = list(deviations(counts))
    half = right.learn_rate * Fraction(1, 2)
    cells = -2 * noise.geometric(right.learn_rate, counts.size)
    noisy = [2 * (cost - noise.geometric(half, cost.size)) + np.minimum(cost, 1) for cost in costs]
    return cheapest(cells, noisy, Prices(1, 2, 2))


def whole_rate_per_level(counts: IntArray, noise: Noise, *, rate: int) -> Any:
    """A tree whose every level is measured as if it were the only one."""
    levels = [
        (sums + noise.two_sided(rate, rate, sums.size)).astype(np.float64)
        for sums in tree_sums(counts, 2)
    ]
    return consistent(levels, [1.0] * len(levels), 2)


def raw_zeros(_counts: IntArray, opened: IntArray, _noise: Noise) -> Any:
    """Cells without an open record are shown as such."""
    return opened == 0


def small_counts_dropped(
    _counts: IntArray, opened: IntArray, noise: Noise, *, right: Zeroed
) -> Any:
    """Open counts below 2 are clipped to 0 before noise: one record may move them by 2."""
    return right.empty(np.where(opened < 2, 0, opened), noise=noise)


def certain_zeros(_counts: IntArray, opened: IntArray, noise: Noise, *, right: Zeroed) -> Any:
    """Noise on both sides, so that an empty cell may show a count; zeros are taken at 0 exactly."""
    return opened + noise.two_sided(right.open_rate, INFINITE, opened.size) == 0
