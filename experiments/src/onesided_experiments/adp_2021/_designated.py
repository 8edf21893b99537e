"""All places at one designated time (Algorithm 4), for many repetitions at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from onesided.mechanism import SparseVector
from onesided.noise import BoolArray, IntArray, NotPrivateSeededNoise
from onesided.policy import presence
from onesided_experiments._repeat import Floats
from onesided_experiments._visits import Places

BATCH: Final = 500


def growing_counts(places: Places, order: IntArray) -> IntArray:
    """Counts by update (rows) and place as people arrive in that order, 500 a batch."""
    where = places.place[order]
    batches = np.arange(where.size) // BATCH
    counts = np.zeros((int(batches.max()) + 1, places.latitude.size), dtype=np.int64)
    np.add.at(counts, (batches, where), 1)
    grown: IntArray = np.cumsum(counts, axis=0)
    return grown


class Said(NamedTuple):
    """By update, repetition and place: published as fewer than the threshold, for certain."""

    fresh: BoolArray
    """Every place is asked anew at every update, as in the authors' experiment."""
    marked: BoolArray
    """A place that was once above is marked and says no more: nothing expires at one time."""


def certified(
    counts: IntArray, threshold: int, epsilon: str, *, rows: int, noise: NotPrivateSeededNoise
) -> Said:
    """Both readings, from the same noise."""
    mechanism = SparseVector.for_policy(
        presence(max_groups=1), thresholds=threshold - 1, epsilon=epsilon, max_answers=None
    )
    updates, size = counts.shape
    drawn = noise.geometric(mechanism.rate, updates * rows * size)
    above = counts[:, None, :] + drawn.reshape(updates, rows, size) > threshold - 1
    return Said(~above, ~np.logical_or.accumulate(above, axis=0))


def false_negatives(said: BoolArray, counts: IntArray, threshold: int) -> Floats:
    """By update and repetition: the share of truly safe places that are not published as safe."""
    ratios = []
    for answers, truth in zip(said, counts, strict=True):
        safe = truth < threshold
        ratios.append(1 - answers[:, safe].mean(axis=1))
    return np.array(ratios)


def false_positives(said: BoolArray, counts: IntArray, threshold: int) -> int:
    """How often a place that is not safe was published as safe: must be 0."""
    return int(sum((a[:, t >= threshold]).sum() for a, t in zip(said, counts, strict=True)))


def averaged(parts: Sequence[Floats]) -> Floats:
    """Repetitions of several arrival orders side by side."""
    return np.concatenate(parts, axis=1)
