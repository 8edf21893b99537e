"""Top-k for many repetitions at once; the rules are those of ``mechanism``, row by row."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from onesided.mechanism import Counts, TopK
from onesided.noise import IntArray, NotPrivateSeededNoise, TwoSidedGeometric
from onesided.numbers import INFINITE, Loss
from onesided_experiments._repeat import Floats, chunks, two_sided
from onesided_experiments.baselines import MeasuredTopK

_RANK_BITS: Final = 20
_ONE_BY_ONE: Final = 200  # repetitions of what runs one by one


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """What each repetition selected: columns are in no order. ``leads`` where they are free."""

    indices: IntArray
    values: IntArray
    leads: IntArray | None = None


def with_ranks(noisy: IntArray, fractions: IntArray) -> IntArray:
    """Noisy counts with a random fraction below each, so that nothing is tied."""
    return (noisy << _RANK_BITS) | fractions


def largest_rows(noisy: IntArray, fractions: IntArray, k: int) -> Selected:
    """For each row the ``k`` largest by (value, random rank): ``TopK`` on every row."""
    keys = with_ranks(noisy, fractions)
    indices = np.argpartition(keys, keys.shape[1] - k, axis=1)[:, keys.shape[1] - k :]
    return Selected(indices=indices, values=np.take_along_axis(noisy, indices, axis=1))


def largest_rows_with_leads(noisy: IntArray, fractions: IntArray, k: int) -> Selected:
    """For each row the ``k`` largest and their whole leads over the next: ``GapTopK``."""
    keys = with_ranks(noisy, fractions)
    cut = keys.shape[1] - k - 1
    order = np.argpartition(keys, (cut, cut + 1), axis=1)[:, cut:]
    chosen = np.take_along_axis(keys, order, axis=1)
    leads = (chosen[:, 1:] - chosen[:, :1]) >> _RANK_BITS
    values = chosen[:, 1:] >> _RANK_BITS
    return Selected(indices=order[:, 1:], values=values, leads=leads)


def combine_rows(
    measured: IntArray | Floats, leads: IntArray | Floats, *, variance_ratio: float
) -> Floats:
    """``combine_leads`` on every row."""
    centre = measured.mean(axis=1, keepdims=True)
    own = leads - leads.mean(axis=1, keepdims=True)
    combined: Floats = centre + (variance_ratio * (measured - centre) + own) / (1 + variance_ratio)
    return combined


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """Per repetition: mean squared errors by kind of estimate, and the share rightly chosen."""

    squared: dict[str, Floats]
    precision: Floats
    recall: Floats | None = None


def shrunk_errors(
    counts: IntArray, k: int, rate: Loss, repeats: int, noise: NotPrivateSeededNoise
) -> Errors:
    """``TopK`` itself, and its values as ``session.top_k`` answers: ``TopK.shrunk``."""
    mechanism, top = TopK(k, upper_rate=rate), top_mask(counts, k)
    squared, precision = [], []
    for _ in range(min(repeats, _ONE_BY_ONE)):
        indices, values = mechanism.release(counts, noise=noise)
        error = mechanism.shrunk(values, candidates=counts.size) - counts[indices]
        squared.append(float((error**2).mean()))
        precision.append(float(top[indices].mean()))
    return Errors(squared={"shrunk": np.array(squared)}, precision=np.array(precision))


def one_sided_errors(
    counts: IntArray, k: int, rate: Loss, repeats: int, noise: NotPrivateSeededNoise
) -> Errors:
    """``TopK`` at ``rate``: raw values, less the noise's mean, less its median."""
    shifts = corrections(rate)
    top = top_mask(counts, k)
    squared: dict[str, list[Floats]] = {name: [] for name in shifts}
    precision = []
    for rows in chunks(repeats, counts.size):
        noisy = counts + two_sided(noise, rate, INFINITE, rows, counts.size)
        found = largest_rows(noisy, _fractions(noise, noisy), k)
        error = (found.values - counts[found.indices]).astype(np.float64)
        for name, shift in shifts.items():
            squared[name].append(((error - shift) ** 2).mean(axis=1))
        precision.append(top[found.indices].mean(axis=1))
    return Errors(
        squared={name: np.concatenate(parts) for name, parts in squared.items()},
        precision=np.concatenate(precision),
    )


def free_gap_errors(
    counts: IntArray, mechanism: MeasuredTopK, repeats: int, noise: NotPrivateSeededNoise
) -> Errors:
    """``MeasuredTopK``: the measurements alone, and combined with the free leads."""
    k, rank, measure = mechanism.select.k, mechanism.select.noise_rate, mechanism.measure_rate
    ratio = variance_ratio(rank, measure)
    top = top_mask(counts, k)
    alone, both, precision = [], [], []
    for rows in chunks(repeats, counts.size):
        noisy = counts + two_sided(noise, rank, rank, rows, counts.size)
        found = largest_rows_with_leads(noisy, _fractions(noise, noisy), k)
        truth = counts[found.indices]
        measured = truth + two_sided(noise, measure, measure, rows, k)
        combined = combine_rows(measured, _leads(found), variance_ratio=ratio)
        alone.append(((measured - truth).astype(np.float64) ** 2).mean(axis=1))
        both.append(((combined - truth) ** 2).mean(axis=1))
        precision.append(top[found.indices].mean(axis=1))
    return Errors(
        squared={"measured": np.concatenate(alone), "combined": np.concatenate(both)},
        precision=np.concatenate(precision),
    )


def corrections(rate: Loss) -> dict[str, float]:
    """What ``Counts`` takes off an answer, by the name of its correction."""
    zero = np.zeros(1, dtype=np.int64)
    return {
        name: -float(Counts(rate, INFINITE, correction=name).estimate(zero)[0])
        for name in ("none", "mean", "median")
    }


def top_mask(counts: IntArray, k: int) -> Floats:
    """1 for the truly ``k`` largest. Items tied with the k-th all count: any of them is right."""
    cut = np.partition(counts, counts.size - k)[counts.size - k]
    mask: Floats = (counts >= cut).astype(np.float64)
    return mask


def variance_ratio(ranking: Loss, measuring: Loss) -> float:
    """As ``MeasuredTopK`` weighs the two."""
    rank = TwoSidedGeometric(ranking, ranking).variance() + 1 / 12
    return float(rank / TwoSidedGeometric(measuring, measuring).variance())


def doubled(mechanism: MeasuredTopK) -> MeasuredTopK:
    """The same without the gain for monotone counts: twice the ranking noise."""
    select = type(mechanism.select)(
        mechanism.select.k, noise_rate=mechanism.select.noise_rate * Fraction(1, 2)
    )
    return MeasuredTopK(select, measure_rate=mechanism.measure_rate)


def _fractions(noise: NotPrivateSeededNoise, noisy: IntArray) -> IntArray:
    return noise.uniform(1 << _RANK_BITS, noisy.size).reshape(noisy.shape)


def _leads(found: Selected) -> IntArray:
    return np.zeros_like(found.values) if found.leads is None else found.leads
