"""How often a group will be certified, by its true count."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import count
from typing import Any, Final

from onesided._numbers import INFINITE, Infinite, Loss, whole
from onesided.mechanism import Counts, CubeEstimates, CubeThresholds, SparseVector

Shares = tuple[tuple[int, float], ...]
_TOLD: Final = 1_000
_SURE: Final = 0.999


def certified_shares(mechanism: object, threshold: object, *, keys: int = 1) -> Shares:
    """How often a group is certified to be at most, or least, ``threshold``, by its true count.

    The threshold's own stands last. Told of the last thousand counts up to it; for "at least", of
    those from where nearly all are certified down to it. Nothing where there is no one threshold,
    where ``mechanism`` stops after so many answers, or where that bound may be wrong.
    keys: how many groups are asked together.

    >>> for count, share in certified_shares(Counts(1, INFINITE), 1):
    ...     print(count, f"{share:.3f}")
    0 0.865
    1 0.632
    """
    chance = _within(mechanism, keys)
    if chance is None or not isinstance(threshold, int):
        return ()
    limit = whole(threshold, name="threshold")
    return shares_by_room(chance, limit, below=getattr(mechanism, "below", False))


def shares_by_room(chance: Callable[[int], float], limit: int, *, below: bool) -> Shares:
    """The same of a chance by how far a count is on its side of the threshold.

    >>> shares_by_room(lambda room: room / 2, 2, below=False)
    ((0, 1.0), (1, 0.5), (2, 0.0))
    """
    if not below:
        return tuple((n, chance(limit - n)) for n in range(max(0, limit + 1 - _TOLD), limit + 1))
    enough = next(room for room in count() if room == _TOLD - 1 or chance(room) > _SURE)
    return tuple((limit + room, chance(room)) for room in range(enough, -1, -1))


def _within(mechanism: Any, keys: int) -> Callable[[int], float] | None:
    """The chance that the noise of one count is at most so much, where it is on one side."""
    if isinstance(mechanism, CubeThresholds):
        return lambda room: mechanism.power(room, keys=keys)
    if isinstance(mechanism, CubeEstimates):
        return lambda room: mechanism.distribution.below(room + 1)
    if isinstance(mechanism, SparseVector) and mechanism.max_answers is None:
        return lambda room: _geometric(mechanism.rate, room)
    if isinstance(mechanism, Counts) and mechanism.lower_rate == INFINITE:
        return lambda room: _geometric(mechanism.upper_rate, room)
    return None


def _geometric(rate: Loss, room: int) -> float:
    """The chance that geometric noise of this rate is at most ``room``."""
    slope = math.inf if isinstance(rate, Infinite) else float(rate)
    return -math.expm1(-slope * (room + 1))
