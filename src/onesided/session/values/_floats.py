"""Quotients of noisy sums and their bounds, in floats: of what is told already."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from onesided._numbers import MAX_COUNT
from onesided.errors import ParameterError
from onesided.mechanism import Interval
from onesided.session.values._value import Floats, uncut


def ratio(
    total: Interval, count: Interval, least: float, most: float, *, times: int = 1
) -> tuple[Floats, Floats]:
    """Bounds on total / count / times, given that somebody was counted; any if nobody was."""
    few, many = times * np.maximum(count.lower, 1), times * np.maximum(count.upper, 1)
    low = np.minimum(total.lower / few, total.lower / many)
    high = np.maximum(total.upper / few, total.upper / many)
    nobody = np.asarray(count.upper) < 1
    low, high = np.where(nobody, least, low), np.where(nobody, most, high)
    return np.clip(low, least, most), np.clip(high, least, most)


def outward(lower: Floats, upper: Floats, ends: tuple[float, float]) -> tuple[Floats, Floats]:
    """The same bounds, further out by more than a few roundings of floats; not beyond the ends.

    Both at 0 stay there, where nothing was rounded.
    """
    widest = np.maximum(-lower, upper)
    far = np.where(widest == 0, 0, 8 * np.spacing(widest))
    low, high = np.maximum(lower - far, ends[0]), np.minimum(upper + far, ends[1])
    return np.minimum(lower, low), np.maximum(upper, high)


def part_of(some: Any, others: Any, *, nothing: float) -> Floats:
    """The share of the first in both, neither below 0; ``nothing`` where it is undefined."""
    with np.errstate(all="ignore"):
        share = 1 / (1 + np.maximum(others, 0) / np.maximum(some, 0))
    return np.where(np.isnan(share), nothing, share)


def spread(x: Floats, y: Floats, z: Floats, *, nothing: float) -> Floats:
    """The variance of values of a span of 1, of the sums of their squared shares."""
    with np.errstate(all="ignore"):
        found = (x * z - y * y / 4) / (x + y + z) ** 2
    return np.clip(np.where(np.isnan(found), nothing, found), 0, 1 / 4)


def open_ended(steps: Interval) -> Interval:
    """Bounds on a sum in floats, infinite where it may have been cut."""
    lower, upper = (np.asarray(end, dtype=np.float64) for end in uncut(steps))
    return replace(steps, lower=lower, upper=upper)  # type: ignore[arg-type] # in floats


def share_of(counted: Any, *, least: bool) -> Any:
    """What a variance that divides by n is multiplied with to divide by n - 1."""
    return 1 + 1 / (np.maximum(counted, 2) - 1) if least else 1


def roomy(square: int) -> int:
    """The greatest square of a value. Errors: ParameterError if sums of it cannot be held."""
    if square > MAX_COUNT // 2**10:
        raise ParameterError(
            f"The squares of values within these bounds go up to {square:,} steps.",
            hint="Use a coarser step for a variance.",
            square=square,
        )
    return square
