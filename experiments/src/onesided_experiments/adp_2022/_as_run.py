"""SALap as the authors ran it: places drawn with replacement until one comes out above t.

They count the different places drawn, the one that stopped it among them.

Their scripts (run_high_sens_nquery_beta.py of adp-algorithms) call ``data_to_states`` with
``limit_sens=True``. The module that defines it is at no commit of their repository, so what it
limits cannot be read. Their notebook for ADP-2021 leaves each person one random place; we show
that, and everybody at all their places.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from onesided.noise import IntArray
from onesided_experiments._visits import Places

READINGS: Final = {
    "one place": "SALap as run, one place per person",
    "all places": "SALap as run, all places of a person",
}


def day_counts(places: Places, day: int, reading: str, random: np.random.Generator) -> IntArray:
    """People by place on one day; with "one place" each counts at one of theirs at random."""
    if reading == "all places":
        return places.counts(day)
    visits = random.permutation(np.flatnonzero(places.time == day))
    first = np.unique(places.person[visits], return_index=True)[1]
    where = places.place[visits[first]]
    return np.bincount(where, minlength=places.latitude.size).astype(np.int64)


def right_answers(
    counts: IntArray, *, epsilon: float, threshold: int, repeats: int, random: np.random.Generator
) -> IntArray:
    """By repetition: how many different places were drawn, up to the first not called safe.

    The noise is exponential and the test ``z <= t``, as printed: a place with count f at most t
    is called safe with probability ``1 - e^-ε(t - f)``.
    """
    below = np.maximum(threshold - counts, 0)
    safe = -np.expm1(-epsilon * below)
    stop = 1 - safe.mean()
    draws = random.geometric(stop, repeats) - 1
    weights = np.cumsum(safe) / safe.sum() if safe.any() else safe
    last = np.searchsorted(np.cumsum(1 - safe) / (1 - safe).sum(), random.random(repeats))
    found = np.zeros(repeats, dtype=np.int64)
    for place, number in enumerate(draws.tolist()):
        before = np.searchsorted(weights, random.random(number))
        found[place] = np.unique(np.append(before, last[place])).size
    return found
