"""How often a group will be certified, by its true count."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from onesided._numbers import INFINITE, Infinite, Loss, whole
from onesided.mechanism import Counts, CubeEstimates, CubeThresholds, SparseVector

Shares = tuple[tuple[int, float], ...]
_TOLD: Final = 1_000


def certified_shares(mechanism: object, threshold: object, *, keys: int = 1) -> Shares:
    """How often a group is certified to be at most ``threshold``, by its true count.

    Told of the last thousand counts up to the threshold; nothing where there is no one threshold,
    where ``mechanism`` stops after so many answers, or where its upper bound may be wrong.
    keys: how many groups are asked together.

    >>> for count, share in certified_shares(Counts(1, INFINITE), 1):
    ...     print(count, f"{share:.3f}")
    0 0.865
    1 0.632
    """
    chance = _at_most(mechanism, keys)
    if chance is None or not isinstance(threshold, int):
        return ()
    limit = whole(threshold, name="threshold")
    counts = range(max(0, limit + 1 - _TOLD), limit + 1)
    return tuple((count, chance(limit - count)) for count in counts)


def _at_most(mechanism: Any, keys: int) -> Callable[[int], float] | None:
    """The chance that the noise of one count is at most so much, where it is never below 0."""
    if isinstance(mechanism, CubeThresholds):
        return lambda room: mechanism.power(room, keys=keys)
    if isinstance(mechanism, CubeEstimates):
        return lambda room: mechanism.distribution.below(room + 1)
    stops = isinstance(mechanism, SparseVector) and mechanism.max_answers is not None
    falls = isinstance(mechanism, Counts) and mechanism.lower_rate != INFINITE
    if stops or falls or not isinstance(mechanism, Counts | SparseVector):
        return None
    return lambda room: _geometric(mechanism.upper_rate, room)


def _geometric(rate: Loss, room: int) -> float:
    """The chance that geometric noise of this rate is at most ``room``."""
    slope = math.inf if isinstance(rate, Infinite) else float(rate)
    return -math.expm1(-slope * (room + 1))
