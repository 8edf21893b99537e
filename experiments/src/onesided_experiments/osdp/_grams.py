"""N-grams of zones: how many different people have each, and how far off the answers are."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onesided.mechanism import Counts
from onesided.noise import BoolArray, IntArray, NotPrivateSeededNoise
from onesided.numbers import round_up
from onesided.policy import bounded, sensitive
from onesided_experiments.baselines import DiscreteLaplace
from onesided_experiments.osdp._rescaling import GRID, per_step, real
from onesided_experiments.osdp._trajectories import ZONES, Trace

Floats = NDArray[np.float64]


class Grams(NamedTuple):
    """Each day's n-grams, once: ``day``, ``user`` and the n-gram's number among those that occur.

    ``truth``: different people by n-gram; ``domain``: how many n-grams there could be.
    """

    length: int
    day: IntArray
    user: IntArray
    gram: IntArray
    truth: IntArray
    days: int
    domain: int


class Errors(NamedTuple):
    """Mean relative error over all n-grams there could be, and over those that occur."""

    everywhere: float
    present: float


def grams_of(trace: Trace, length: int) -> Grams:
    """All n-grams of all days, sorted by day."""
    day, code = trace.runs(length)
    pairs = np.unique(np.stack([day, code], 1), axis=0)
    day, (codes, gram) = pairs[:, 0], np.unique(pairs[:, 1], return_inverse=True)
    user, gram = trace.user[day], gram.astype(np.int64)
    truth = people(user, gram, codes.size)
    return Grams(length, day, user, gram, truth, trace.days, ZONES**length)


def people(user: IntArray, gram: IntArray, size: int) -> IntArray:
    """Different people by n-gram."""
    pairs = np.unique(gram * (int(user.max(initial=0)) + 1) + user)
    found = np.bincount(pairs // (int(user.max(initial=0)) + 1), minlength=size)
    return found.astype(np.int64)


def of_days(
    grams: Grams, days: BoolArray, limit: int | None, noise: NotPrivateSeededNoise
) -> IntArray:
    """Different people by n-gram in those days; of each day at most ``limit``, at random."""
    kept = days[grams.day]
    user, gram, day = grams.user[kept], grams.gram[kept], grams.day[kept]
    if limit is not None:
        order = noise.permutation(day.size)
        order = order[np.argsort(day[order], kind="stable")]
        begin = np.searchsorted(day[order], day[order])
        chosen = order[np.arange(day.size) - begin < limit]
        user, gram = user[chosen], gram[chosen]
    return people(user, gram, grams.truth.size)


def without_noise(grams: Grams, found: IntArray) -> Errors:
    """Of counts that are 0 where nothing occurs."""
    return _errors(grams, found.astype(np.float64), absent=0.0)


def laplace(
    grams: Grams, truncated: IntArray, epsilon: str, limit: int, noise: NotPrivateSeededNoise
) -> Errors:
    """The Laplace mechanism for records of at most ``limit`` n-grams.

    Only n-grams that occur are drawn; each absent one errs by the mean size of the noise.
    """
    mechanism = DiscreteLaplace.for_policy(bounded(), epsilon=per_step(epsilon), max_groups=limit)
    noisy = real(mechanism.release, truncated, noise=noise)
    size = 1 / math.sinh(round_up(mechanism.noise_rate))  # the mean, in steps
    return _errors(grams, noisy, absent=size / GRID)


def unknown_keys(
    grams: Grams, open_counts: IntArray, epsilon: str, limit: int, noise: NotPrivateSeededNoise
) -> Errors:
    """Noise below the open counts alone, so that n-grams that are absent stay absent."""
    mechanism = Counts.for_policy(
        sensitive("marked"), epsilon=epsilon, max_groups=limit, counted=["open"],
        correction="median", clip=True,
    )  # fmt: skip
    return _errors(
        grams, mechanism.release(open_counts, noise=noise).astype(np.float64), absent=0.0
    )


def _errors(grams: Grams, found: Floats, *, absent: float) -> Errors:
    relative = np.abs(found - grams.truth) / np.maximum(grams.truth, 1)
    rest = grams.domain - grams.truth.size
    return Errors(
        everywhere=(float(relative.sum()) + rest * absent) / grams.domain,
        present=float(relative.mean()) if relative.size else 0.0,
    )


LIMITS: Final = (1, 2, 3, 5, 10, 20)
