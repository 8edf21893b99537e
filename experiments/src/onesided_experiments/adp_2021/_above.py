"""The sparse vector for many repetitions at once; its rules are those of ``mechanism``.

Queries come in an order that knows nothing of the counts: each chunk of repetitions has its own
random order, as item numbers of these data sets may tell something about popularity.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from onesided.noise import BoolArray, IntArray, NotPrivateSeededNoise, TwoSidedGeometric
from onesided.numbers import INFINITE, Loss
from onesided_experiments._repeat import Floats, chunks, two_sided
from onesided_experiments.adp_2021._selection import Errors, corrections, top_mask
from onesided_experiments.baselines import GapSparseVector

_ORDERS = 50


def answered_rows(noisy: IntArray, levels: IntArray, *, most: int) -> BoolArray:
    """Which queries of each row get a value: above their level, and at most ``most`` of them."""
    above = noisy > levels
    return above & (np.cumsum(above, axis=1, dtype=np.int32) <= most)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Some repetitions: counts in their order, which are truly large, and a level for each row."""

    counts: IntArray
    top: Floats
    levels: IntArray
    rows: int


def parts(counts: IntArray, k: int, repeats: int, noise: NotPrivateSeededNoise) -> Iterator[Part]:
    """Chunks of repetitions, each row with a level of its own.

    A row is above its level if it reaches the count of a rank that was drawn from k to 2k for that
    row (or to the last rank, if there are fewer items).
    """
    falling, top = -np.sort(-counts), top_mask(counts, k)
    ranks = min(2 * k, counts.size) - k + 1
    for rows in chunks(repeats, counts.size, least=_ORDERS):
        order = noise.permutation(counts.size)
        levels = falling[k - 1 + noise.uniform(ranks, rows)] - 1
        yield Part(counts=counts[order], top=top[order], levels=levels[:, None], rows=rows)


def one_sided_errors(
    counts: IntArray, k: int, rate: Loss, repeats: int, noise: NotPrivateSeededNoise
) -> Errors:
    """``SparseVector`` with ``max_answers=k``: raw values, less mean, less median."""
    shifts = corrections(rate)
    squared: dict[str, list[Floats]] = {name: [] for name in shifts}
    precision, recall = [], []
    for part in parts(counts, k, repeats, noise):
        noisy = part.counts + two_sided(noise, rate, INFINITE, part.rows, counts.size)
        answered = answered_rows(noisy, part.levels, most=k)
        where = np.nonzero(answered)
        error = (noisy[where] - part.counts[where[1]]).astype(np.float64)
        for name, shift in shifts.items():
            squared[name].append(_row_means((error - shift) ** 2, where[0], part.rows))
        precision.append(_row_means(part.top[where[1]], where[0], part.rows))
        recall.append(_row_sums(part.top[where[1]], where[0], part.rows) / k)
    return Errors(
        squared={name: np.concatenate(found) for name, found in squared.items()},
        precision=np.concatenate(precision),
        recall=np.concatenate(recall),
    )


def free_gap_errors(
    counts: IntArray,
    mechanism: GapSparseVector,
    measure_rate: Loss,
    repeats: int,
    noise: NotPrivateSeededNoise,
) -> Errors:
    """``GapSparseVector``, then the answered measured at ``measure_rate``; alone and combined."""
    k, hide, rank = mechanism.max_answers, mechanism.threshold_rate, mechanism.query_rate
    ratio = mechanism.gap_variance() / TwoSidedGeometric(measure_rate, measure_rate).variance()
    alone: list[Floats] = []
    both: list[Floats] = []
    precision, recall = [], []
    for part in parts(counts, k, repeats, noise):
        hidden = two_sided(noise, hide, hide, part.rows, 1)
        noisy = part.counts + two_sided(noise, rank, rank, part.rows, counts.size) - hidden
        where = np.nonzero(answered_rows(noisy, part.levels, most=k))
        truth = part.counts[where[1]]
        measured = truth + two_sided(noise, measure_rate, measure_rate, 1, truth.size)[0]
        # Level plus gap is the noisy value itself.
        combined = (ratio * measured + noisy[where]) / (1 + ratio)
        for found, value in ((alone, measured), (both, combined)):
            error = (value - truth).astype(np.float64)
            found.append(_row_means(error**2, where[0], part.rows))
        precision.append(_row_means(part.top[where[1]], where[0], part.rows))
        recall.append(_row_sums(part.top[where[1]], where[0], part.rows) / k)
    return Errors(
        squared={"measured": np.concatenate(alone), "combined": np.concatenate(both)},
        precision=np.concatenate(precision),
        recall=np.concatenate(recall),
    )


def _row_sums(values: Floats, row: IntArray, rows: int) -> Floats:
    return np.bincount(row, weights=values, minlength=rows).astype(np.float64)


def _row_means(values: Floats, row: IntArray, rows: int) -> Floats:
    """NaN for a row without answers, which then does not count."""
    number = np.bincount(row, minlength=rows).astype(np.float64)
    number[number == 0] = np.nan
    means: Floats = _row_sums(values, row, rows) / number
    return means
