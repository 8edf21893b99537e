"""The sparse vector for many repetitions at once; its rules are those of ``mechanism``.

Queries come in an order that knows nothing of the counts: each chunk of repetitions has its own
random order, as item numbers of these data sets may tell something about popularity.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from onesided.mechanism import AdaptiveSparseVector
from onesided.noise import BoolArray, IntArray, NotPrivateSeededNoise, TwoSidedGeometric
from onesided.numbers import INFINITE, Loss
from onesided_experiments._repeat import Floats, chunks, two_sided
from onesided_experiments.adp_2021._selection import Errors, corrections, top_mask
from onesided_experiments.baselines import AdaptiveGapSparseVector, GapSparseVector

_ORDERS = 50
_ADAPTIVE = 1_000  # repetitions of those that run one by one


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


def adaptive_errors(
    counts: IntArray,
    mechanism: AdaptiveSparseVector | AdaptiveGapSparseVector,
    repeats: int,
    noise: NotPrivateSeededNoise,
) -> Errors:
    """The adaptive ones, which answer up to ``2k``: recall is the paper's "hits / k".

    The mechanisms themselves run, once per repetition. Ours are corrected by the mean of the noise
    that each value was drawn with; the rival's value is its level plus its gap.
    """
    k = mechanism.max_answers
    squared: list[float] = []
    precision: list[float] = []
    recall: list[float] = []
    for part in parts(counts, k, min(repeats, _ADAPTIVE), noise):
        for level in part.levels.ravel().tolist():
            answered, values = _adaptively(mechanism, part.counts, level, noise)
            truth, right = part.counts[answered], part.top[answered]
            error = (values - truth).astype(np.float64)
            squared.append(float((error**2).mean()) if error.size else np.nan)
            precision.append(float(right.mean()) if right.size else np.nan)
            recall.append(float(right.sum()) / k)
    return Errors(
        squared={"mean": np.array(squared)}, precision=np.array(precision), recall=np.array(recall)
    )


def _adaptively(
    mechanism: AdaptiveSparseVector | AdaptiveGapSparseVector,
    counts: IntArray,
    level: int,
    noise: NotPrivateSeededNoise,
) -> tuple[BoolArray, Floats]:
    """Who is answered at one level, and their estimates."""
    if isinstance(mechanism, AdaptiveGapSparseVector):
        gaps = replace(mechanism, thresholds=level).release(counts, noise=noise)
        return gaps.above, (level + gaps.gaps)[gaps.above].astype(np.float64)
    found = replace(mechanism, thresholds=level).release(counts, noise=noise)
    coarse, fine = (
        float(TwoSidedGeometric(rate, INFINITE).mean())
        for rate in (mechanism.coarse_rate, mechanism.rate)
    )
    values = found.values - np.where(found.coarse, coarse, fine)
    return found.answered, np.asarray(values[found.answered], dtype=np.float64)


def _row_sums(values: Floats, row: IntArray, rows: int) -> Floats:
    return np.bincount(row, weights=values, minlength=rows).astype(np.float64)


def _row_means(values: Floats, row: IntArray, rows: int) -> Floats:
    """NaN for a row without answers, which then does not count."""
    number = np.bincount(row, minlength=rows).astype(np.float64)
    number[number == 0] = np.nan
    means: Floats = _row_sums(values, row, rows) / number
    return means
