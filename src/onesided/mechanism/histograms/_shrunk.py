"""Counts drawn towards what all cells show together: free of charge, for the noise is known."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import Infinite, Loss
from onesided.noise import IntArray

# Steps of true counts for each mean of the noise; steps in all; turns of the fit; the noise's
# means above the last step up to which a count is drawn there; and the part of the error that must
# be left at most, as the fit has it, for estimates to be drawn at all.
_FINE: Final = 4
_STEPS: Final = 512
_TURNS: Final = 60
_REACH: Final = 12
_TINY: Final = 1e-300
_GAIN: Final = 0.7


def shrunk(noisy: IntArray, upper: Loss, lower: Loss, estimate: IntArray) -> IntArray:
    """The likeliest middle of each true count, at least 0; ``estimate`` where noise is small.

    Noisy counts and the public law of their noise show how true counts are spread over the cells:
    the distribution under which all of them are likeliest (fitted by expectation and maximisation).
    The answer is each count's median given its noisy count and that distribution, so the mean
    absolute error of many cells falls; of few it may rise by a tenth. Where the fit itself promises
    little, nothing is drawn. Biased. It looks at what was published and nothing else.

    noisy: counts plus noise of the rates ``upper`` (above) and ``lower`` (below), any shape.
    estimate: what stands for counts far above all steps, at least 0.
    Source: nonparametric maximum likelihood of mixtures, Laird 1978; Koenker and Mizera 2014.

    >>> from onesided import INFINITE
    >>> seen = np.array([0] * 30 + [2, 3, 40])
    >>> shrunk(seen, 1, INFINITE, seen)[-3:].tolist()
    [0, 0, 40]
    """
    rates = [math.inf if isinstance(one, Infinite) else float(one) for one in (upper, lower)]
    spread = sum(0.0 if rate > _REACH else 1 / rate for rate in rates)
    line, found = noisy.ravel(), estimate.ravel().copy()
    if spread == 0 or not line.size:
        return found.reshape(noisy.shape)
    step = max(1, int(spread / _FINE))
    last = min(step * _STEPS, max(int(line.max()), 0) + step)
    near = np.arange(min(step, _STEPS) * 2)
    counts = np.unique(np.concatenate([near[near <= last], np.arange(0, last + 1, step)]))
    if int(line.max()) > last:
        # What lies above is left out, and what may come from there is not drawn.
        last -= math.ceil(_REACH * spread)
    drawn = np.flatnonzero(line <= last)
    if not drawn.size:
        return found.reshape(noisy.shape)
    # As fine as an eighth of the noise: there are no more different noisy counts than that.
    coarse = max(1, step // 2)
    seen, place, many = np.unique(line[drawn] // coarse, return_inverse=True, return_counts=True)
    gaps = seen[:, None] * coarse + coarse // 2 - counts[None, :]
    chances = _likelihood(gaps, *rates)
    weights = np.full(counts.size, 1 / counts.size)
    for _ in range(_TURNS):
        weights *= chances.T @ (many / np.maximum(chances @ weights, _TINY)) / drawn.size
    each = chances * weights
    each /= np.maximum(each.sum(axis=1, keepdims=True), _TINY)
    middle = counts[np.argmax(np.cumsum(each, axis=1) >= 0.5, axis=1)]
    # What both are thought to miss. A fit to few cells, or to faint noise, promises too much.
    plain = np.zeros(seen.size)
    np.add.at(plain, place, found[drawn])
    missed = [
        float(many @ np.sum(each * np.abs(counts - one[:, None]), axis=1))
        for one in (middle, plain / many)
    ]
    if missed[0] <= _GAIN * missed[1]:
        found[drawn] = middle[place]
    return found.reshape(noisy.shape)


def _likelihood(gaps: IntArray, above: float, below: float) -> NDArray[np.float64]:
    """How likely noise is, as a part of the likeliest in its row; never 0 in all of a row."""
    rises, falls = np.maximum(gaps, 0), np.maximum(-gaps, 0)
    lost = np.where(rises > 0, min(above, 1e6) * rises, 0) + np.where(
        falls > 0, min(below, 1e6) * falls, 0
    )
    told: NDArray[np.float64] = np.exp(-(lost - lost.min(axis=1, keepdims=True)))
    return told
