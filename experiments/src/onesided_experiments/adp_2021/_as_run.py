"""Top-k and the adaptive sparse vector as the authors ran them, with real-valued noise.

Facts from their code (tkgsn/adp-algorithms at 5ca3cc1). Every Laplace noise there has twice the
scale that monotone counts need. Free gap gets half of ε to find and half to measure.

* Top-k: free gap ranks with Laplace(2k / (ε/2)) and measures with the same noise again; both are
  combined as if they were equally good, which they are. ADP adds Exponential(k/ε).
  Their notebook shows ADP's values raw where ε varies, and less the mean k/ε where k does.
* Sparse vector, adaptive: a look at half the rate comes first. At or below the threshold it ends
  the query unpaid; far above (σ = 8 √2 k/ε) it is the answer, at half the price; between them a
  second look at the full rate decides. It stops when the purse is empty, after 2k answers at most.
  Free gap's threshold noise is drawn afresh for every query, and every value is measured again.
* "Accuracy" is the share of the true top k among the k largest of the answers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from onesided.noise import IntArray
from onesided_experiments._repeat import Floats, chunks
from onesided_experiments.adp_2021._selection import Errors, combine_rows, top_mask

ORDERS: Final = 50


def top_k_errors(
    counts: IntArray, k: int, epsilon: float, repeats: int, random: np.random.Generator
) -> Errors:
    """Asymmetric report noisy k-max: raw values, and less the noise's mean."""
    scale, top = k / epsilon, top_mask(counts, k)
    raw, less, precision = [], [], []
    for rows in chunks(repeats, counts.size):
        noisy = counts + scale * random.standard_exponential((rows, counts.size))
        chosen = np.argpartition(noisy, counts.size - k, axis=1)[:, counts.size - k :]
        error = np.take_along_axis(noisy, chosen, axis=1) - counts[chosen]
        raw.append((error**2).mean(axis=1))
        less.append(((error - scale) ** 2).mean(axis=1))
        precision.append(top[chosen].mean(axis=1))
    return Errors(
        squared={"none": np.concatenate(raw), "mean": np.concatenate(less)},
        precision=np.concatenate(precision),
    )


def free_gap_errors(
    counts: IntArray, k: int, epsilon: float, repeats: int, random: np.random.Generator
) -> Errors:
    """Free gap with twice the noise, in both of its halves."""
    scale, top, cut = 4 * k / epsilon, top_mask(counts, k), counts.size - k - 1
    squared, precision = [], []
    for rows in chunks(repeats, counts.size):
        noisy = counts + laplace(random, scale, (rows, counts.size))
        order = np.argpartition(noisy, (cut, cut + 1), axis=1)[:, cut:]
        chosen = order[:, 1:]
        next_best = np.take_along_axis(noisy, order[:, :1], axis=1)
        leads = np.take_along_axis(noisy, chosen, axis=1) - next_best
        truth = counts[chosen]
        measured = truth + laplace(random, scale, (rows, k))
        combined = combine_rows(measured, leads, variance_ratio=1.0)
        squared.append(((combined - truth) ** 2).mean(axis=1))
        precision.append(top[chosen].mean(axis=1))
    return Errors(
        squared={"combined": np.concatenate(squared)}, precision=np.concatenate(precision)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """One of the two adaptive sparse vectors.

    draw: noise of a scale. fine: scale of the second look; the first has twice that. hidden:
        scale of the threshold's noise, 0 for none. lift: added to the threshold.
    """

    k: int
    epsilon: float
    draw: Callable[[np.random.Generator, float, tuple[int, int]], Floats]
    fine: float
    hidden: float
    far: float
    lift: float

    @classmethod
    def asymmetric(cls, k: int, epsilon: float) -> Rules:
        """Ours and theirs: one-sided noise, a threshold without any, lifted by the mean."""
        far = 8 * math.sqrt(2) * k / (epsilon * (1 - _share(k)))
        mean = k / epsilon
        return cls(
            k=k, epsilon=epsilon, draw=exponential, fine=mean, hidden=0.0, far=far, lift=mean
        )

    @classmethod
    def free_gap(cls, k: int, epsilon: float) -> Rules:
        """Half of ε, of which a share is the threshold's; twice the scale throughout."""
        share = _share(k)
        rate = (1 - share) * epsilon / 2
        return cls(
            k=k,
            epsilon=epsilon,
            draw=laplace,
            fine=2 * k / rate,
            hidden=4 / (share * epsilon),
            far=8 * math.sqrt(2) * k / rate,
            lift=0.0,
        )


def sparse_errors(
    counts: IntArray, rules: Rules, repeats: int, random: np.random.Generator
) -> Errors:
    """Errors of the answered, the share of them that is right, and their "accuracy"."""
    k = rules.k
    falling, mask = -np.sort(-counts), top_mask(counts, k)
    squared, precision, recall = [], [], []
    for rows in chunks(repeats, counts.size, least=ORDERS):
        order = random.permutation(counts.size)
        mine, top = counts[order], mask[order]
        ranks = np.minimum(random.integers(k, 2 * k + 1, rows), counts.size - 1)
        level = falling[ranks, None].astype(np.float64) + rules.lift
        value, cost = _looks(mine, level, rules, random)
        answered = (cost > 0) & (np.cumsum(cost, axis=1) <= 2 * k)
        where = np.nonzero(answered)
        row, truth = where[0], mine[where[1]].astype(np.float64)
        found, paid = value[where], cost[where]
        if rules.hidden:
            estimate = _combined(truth, found, paid, rules, random)
        else:
            estimate = found - rules.fine * (3 - paid)
        squared.append(_means((estimate - truth) ** 2, row, rows))
        precision.append(_means(top[where[1]], row, rows))
        # The share of the true top k among the k largest; what was not answered counts as wrong.
        values = np.where(answered, value - level, -np.inf)
        cut = values.shape[1] - k
        best = np.argpartition(values, cut, axis=1)[:, cut:]
        said = np.isfinite(np.take_along_axis(values, best, axis=1))
        share: Floats = (top[best] * said).sum(axis=1) / k
        recall.append(share)
    return Errors(
        squared={"mean": np.concatenate(squared)},
        precision=np.concatenate(precision),
        recall=np.concatenate(recall),
    )


def _looks(
    counts: IntArray, level: Floats, rules: Rules, random: np.random.Generator
) -> tuple[Floats, IntArray]:
    """Each query's noisy value, and what it costs in halves: 0 below, 1 far above, else 2."""
    shape = (level.shape[0], counts.size)

    def hidden() -> Floats | float:
        return laplace(random, rules.hidden, shape) if rules.hidden else 0.0

    first = counts + rules.draw(random, 2 * rules.fine, shape) - hidden()
    second = counts + rules.draw(random, rules.fine, shape) - hidden()
    far = first - level >= rules.far
    near = ~far & (first > level) & (second > level)
    return np.where(far, first, second), far + 2 * near


def _combined(
    truth: Floats, found: Floats, paid: IntArray, rules: Rules, random: np.random.Generator
) -> Floats:
    """Threshold and gap, and a measurement at the other half of ε, by their weights."""
    k, epsilon = rules.k, rules.epsilon
    measured = truth + laplace(random, 4 * k / epsilon, truth.shape)
    rate = (2 * k / rules.fine) * np.where(paid == 1, 0.5, 1.0)
    one = 1 / (8 * k * k / (epsilon / 2) ** 2)
    two = rate**2 / (8 * (1 + k ** (2 / 3)) ** 3)
    combined: Floats = (one * measured + two * found) / (one + two)
    return combined


def laplace(random: np.random.Generator, scale: float, shape: tuple[int, ...]) -> Floats:
    """Laplace noise: an exponential with a random sign."""
    size = scale * random.standard_exponential(shape)
    signed: Floats = np.where(random.integers(0, 2, shape, dtype=np.int8), size, -size)
    return signed


def exponential(random: np.random.Generator, scale: float, shape: tuple[int, int]) -> Floats:
    """Noise above 0 with this mean."""
    drawn: Floats = scale * random.standard_exponential(shape)
    return drawn


def _share(k: int) -> float:
    """Of ε for the threshold's noise."""
    return float(1 / (1 + k ** (2 / 3)))


def _means(values: Floats, row: IntArray, rows: int) -> Floats:
    """By repetition; NaN for one without answers."""
    number = np.bincount(row, minlength=rows).astype(np.float64)
    number[number == 0] = np.nan
    means: Floats = np.bincount(row, weights=values, minlength=rows) / number
    return means
