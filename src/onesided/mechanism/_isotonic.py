"""Answers that must rise, made to: the nearest row that never falls."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onesided.errors import DataError


def isotonic(values: ArrayLike, weights: ArrayLike | None = None) -> NDArray[np.float64]:
    """The row that never falls and is nearest to ``values``, in squares that ``weights`` weigh.

    For published answers about what only grows, such as counts of all so far: post-processing, at
    no charge. Whatever the noise, in these squares the result is never farther from the truth than
    the values are, for it is their projection on a convex set that holds the truth. It is
    biased where values are; the values themselves stay what they were.
    values: one row, or several, each by itself. weights: as many, above 0, best 1 / variance.
    Source: Barlow et al. 1972 (pool adjacent violators). Errors: DataError.

    >>> from onesided.mechanism import isotonic
    >>> isotonic([1, 3, 2, 5]).tolist()
    [1.0, 2.5, 2.5, 5.0]
    """
    given = np.asarray(values, dtype=np.float64)
    heavy = np.ones_like(given) if weights is None else np.asarray(weights, dtype=np.float64)
    if given.ndim not in (1, 2) or not np.isfinite(given).all():
        raise DataError(
            f"A row of finite numbers was expected, got shape {given.shape}.",
            hint="Give one number for each step, or a table with a row for each series.",
        )
    shown = np.broadcast_shapes(heavy.shape, given.shape) if heavy.ndim <= given.ndim else None
    if shown != given.shape or not (np.isfinite(heavy) & (heavy > 0)).all():
        raise DataError(
            f"Weights of shape {heavy.shape} do not fit values of shape {given.shape}, or are not "
            "all above 0.",
            hint="Give one weight for each value, such as 1 / variance.",
        )
    rows = zip(
        np.atleast_2d(given), np.atleast_2d(np.broadcast_to(heavy, given.shape)), strict=True
    )
    return np.array([_pooled(*row) for row in rows], dtype=np.float64).reshape(given.shape)


def _pooled(values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Neighbours that fall are pooled to their mean, until none do."""
    blocks: list[tuple[float, float, int]] = []  # mean, weight, how many
    for mean, weight in zip(values.tolist(), weights.tolist(), strict=True):
        many = 1
        pooled, heavy = mean, weight
        while blocks and blocks[-1][0] >= pooled:
            before, more, longer = blocks.pop()
            pooled = (before * more + pooled * heavy) / (more + heavy)
            heavy, many = heavy + more, many + longer
        blocks.append((pooled, heavy, many))
    lengths = [many for _, _, many in blocks]
    return np.repeat([mean for mean, _, _ in blocks], lengths)
