"""Samples, truncations and stairs that are wrong in one way each; and sums, rightly taken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from onesided.mechanism import Counts, Staircase, Subsampled, TruncatedCounts
from onesided.noise import IntArray, Noise
from onesided.numbers import INFINITE
from onesided.verify import Data

GROUPS = ("a", "b")


@dataclass(frozen=True, slots=True)
class Units:
    """Right: runs a mechanism on the units themselves, a row of 0s and 1s for each."""

    mechanism: Any

    def __call__(self, data: Data, noise: Noise) -> Any:
        """What the mechanism says of these units."""
        return self.mechanism.release(table(data), noise=noise)


@dataclass(frozen=True, slots=True)
class Sum:
    """Right: the sum of whole values, one in each record, by any mechanism for counts."""

    mechanism: Any

    def __call__(self, data: Data, noise: Noise) -> Any:
        """The noisy sum."""
        total = sum((int(record.value) if isinstance(record.value, int) else 0) for record in data)
        return self.mechanism.release(np.array([total]), noise=noise)


@dataclass(frozen=True, slots=True)
class Wrong:
    """A function of counts and noise, in the shape of a mechanism; it states no loss."""

    run: Callable[[IntArray, Noise], Any]

    def release(self, values: IntArray, *, noise: Noise) -> Any:
        """What the function gives."""
        return self.run(values, noise)


def table(data: Data) -> IntArray:
    """A row for each record that is there, a column for each group."""
    rows = [[int(group in record.value) for group in GROUPS] for record in data]  # type: ignore[operator]
    return np.array(rows, dtype=np.int64).reshape(len(data), len(GROUPS))


def swapped_share(values: IntArray, noise: Noise, *, right: Subsampled) -> Any:
    """Keeps what should be dropped: each with e^-ε, not 1 - e^-ε."""
    kept = [int(noise.bernoulli_exp(right.keep_rate, int(n)).sum()) for n in values]
    return right.mechanism.release(kept, noise=noise)


def one_coin(values: IntArray, noise: Noise, *, right: Subsampled) -> Any:
    """One coin for all units: all are kept, or none."""
    dropped = bool(noise.bernoulli_exp(right.keep_rate, 1)[0])
    return right.mechanism.release(values * (not dropped), noise=noise)


def rounded_share(values: IntArray, noise: Noise, *, right: Subsampled) -> Any:
    """As many units as would be kept on average, rounded: no coin at all."""
    return right.mechanism.release((values * right.share).round().astype(int), noise=noise)


def told_size(values: IntArray, noise: Noise, *, right: Subsampled) -> Any:
    """Tells the size of the sample besides."""
    kept = right.sample(values, noise=noise)
    return int(kept.sum()), right.mechanism.release(kept, noise=noise)


def exact_rescaled(values: IntArray, noise: Noise, *, right: Subsampled) -> Any:
    """Unbiased by adding the expected number dropped, which is taken from the true counts."""
    said = right.release(values, noise=noise)
    return said + (values * (1 - right.share)).round().astype(int)


def coin_per_group(data: Data, noise: Noise, *, right: Subsampled) -> Any:
    """A coin for each group of a unit, where the unit must be kept whole."""
    counts = table(data).sum(axis=0)
    return Subsampled(right.mechanism, keep_rate=right.keep_rate).release(counts, noise=noise)


def cut_at_top(values: IntArray, noise: Noise, *, right: TruncatedCounts) -> Any:
    """The geometric's tail piled up at the width, where it must be spread by the remainder."""
    drawn = noise.geometric(right.upper_rate, values.size)
    return values + np.minimum(drawn, right.width)


def one_narrower(values: IntArray, noise: Noise, *, right: TruncatedCounts) -> Any:
    """The remainder by the width, not by the width plus one."""
    return values + noise.geometric(right.upper_rate, values.size) % right.width


def noise_shown(values: IntArray, noise: Noise, *, right: TruncatedCounts) -> Any:
    """Says besides whether the noise was at its end."""
    noisy = right.release(values, noise=noise)
    return noisy, bool((noisy - values == right.width).any())


def rising_stairs(values: IntArray, noise: Noise, *, right: Staircase) -> Any:
    """Rising within each turn of the stairs: late places likelier than early ones."""
    turns = noise.geometric(right.noise_rate, values.size)
    place = np.maximum(noise.uniform(right.largest, 1), noise.uniform(right.largest, 1))
    return values + right.largest * turns + place


def whole_turns(values: IntArray, noise: Noise, *, right: Staircase) -> Any:
    """Whole turns only: the sum's remainder by the largest value is told."""
    return values + right.largest * noise.geometric(right.noise_rate, values.size)


def narrow_stairs(values: IntArray, noise: Noise, *, right: Staircase) -> Any:
    """Stairs for a largest value that is one too small."""
    return Staircase(right.noise_rate, largest=right.largest - 1).release(values, noise=noise)


def rate_of_counts(values: IntArray, noise: Noise, *, right: Staircase) -> Any:
    """A geometric at ε, where ε over the largest value is due."""
    return Counts(right.noise_rate, INFINITE).release(values, noise=noise)
