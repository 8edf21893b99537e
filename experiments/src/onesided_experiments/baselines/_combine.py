"""Measured values and free gaps, combined by precision. Post-processing."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onesided.errors import DataError
from onesided.numbers import Number, positive


def combine_leads(
    measured: NDArray[np.int64], leads: NDArray[np.int64], *, variance_ratio: Number
) -> NDArray[np.float64]:
    """The best linear unbiased estimate from measured counts and free leads.

    measured: counts of the selected items, with noise of their own.
    leads: how far each selected item's ranking value was above one common value (:class:`GapTopK`).
    variance_ratio: variance of the ranking noise over that of the measuring noise.
    Post-processing. The mean comes from the measurements; what an item differs from the mean by
    comes from both, weighted by their precision. Error falls to ``(1 + ratio k) / (k + ratio k)``
    of the measurements' alone, which is ``(k + 1) / (2k)`` at equal noise.

    Source: Ding, Wang, Xiao and Zhang 2020, Theorem 3 (written anew: ours needs no matrix).
    Errors: DataError unless there is one lead for each measurement; ParameterError.
    """
    if measured.shape != leads.shape:
        raise DataError(
            f"There are {measured.size} measurements for {leads.size} leads.",
            hint="Measure exactly the selected items, in the order they were given.",
        )
    ratio = float(positive(variance_ratio, name="variance_ratio"))
    centre = measured.mean()
    combined: NDArray[np.float64] = centre + (
        ratio * (measured - centre) + (leads - leads.mean())
    ) / (1 + ratio)
    return combined


def combine_gaps(
    measured: NDArray[np.int64],
    gaps: NDArray[np.int64],
    *,
    thresholds: ArrayLike,
    variance_ratio: Number,
) -> NDArray[np.float64]:
    """Measured counts and ``threshold + gap`` averaged by precision, one query at a time.

    variance_ratio: variance of the gap's noise (threshold noise included) over the measurement's.
    Post-processing. Source: Ding, Wang, Xiao and Zhang 2020, Section 6.
    Errors: DataError unless there is one gap for each measurement; ParameterError.
    """
    if measured.shape != gaps.shape:
        raise DataError(
            f"There are {measured.size} measurements for {gaps.size} gaps.",
            hint="Measure exactly the answered queries, in their order.",
        )
    ratio = float(positive(variance_ratio, name="variance_ratio"))
    guesses = np.asarray(thresholds, dtype=np.int64) + gaps
    combined: NDArray[np.float64] = (ratio * measured + guesses) / (1 + ratio)
    return combined
