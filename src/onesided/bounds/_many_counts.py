"""How often many counts can be certified at once: a limit that no mechanism can pass.

A unit may be in ``max_groups`` of the groups, and a move takes it out of all of them. Of n groups
``free`` hold f units, the others (``full``) t + 1, and ``room`` is t + 1 - f. No group that is full
may be certified to hold at most t. A mechanism that sees the counts alone cannot tell where free
and full ones are but by the data, and after some moves r more of them look free. So, averaged over
all places that the free ones can have, at least c are certified with probability at most

    T(c) = min over k of  e^(k room ε) * prod over j = 1 .. k max_groups of (1 - c / (free + j)),

whatever the mechanism. Proof: docs/proofs/many-counts.md. Independent noise at ε / max_groups
certifies the share 1 - e^(-room ε / max_groups), and for many groups nothing does better.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import Number, non_negative, whole
from onesided.errors import ParameterError

_ROUNDING = 1e-9
_MOST = 10**6


def certified_share(
    *, epsilon: Number, max_groups: int, room: int = 1, free: int, full: int
) -> float:
    """The most of the ``free`` counts that any mechanism certifies on average; rounded up.

    epsilon: what each move may lose. room: t + 1 - f, at least 1.
    Errors: ParameterError for invalid numbers, or more than a million counts.

    >>> from math import exp
    >>> limit = certified_share(epsilon=1, max_groups=2, free=10**4, full=10**4)
    >>> round(limit, 3), round(1 - exp(-1 / 2), 3)  # no mechanism; independent noise
    (0.4, 0.393)
    >>> certified_share(epsilon=1, max_groups=2, free=10, full=0)  # nothing to confuse them with
    1.0
    """
    loss = float(non_negative(epsilon, name="epsilon")) * whole(room, name="room", least=1)
    groups = whole(max_groups, name="max_groups", least=1)
    number, others = whole(free, name="free", least=1), whole(full, name="full")
    if number + others > _MOST:
        raise ParameterError(
            f"{number + others:,} counts are more than {_MOST:,}.",
            hint="The limit hardly moves any more: ask for fewer.",
        )
    tails = np.exp(_log_tail(loss, groups, number, others))
    return min(1.0, float(tails.mean()) * (1 + _ROUNDING) + _ROUNDING)


def _log_tail(loss: float, groups: int, free: int, full: int) -> NDArray[np.float64]:
    """``ln T(c)`` for c = 1 .. free. In k it is convex, so its least is found by halving.

    Each block of factors is nearer to 1 than the one before.
    """
    count, most = np.arange(1, free + 1), full // groups
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, free + full + 1)))])

    def at(k: NDArray[np.int64]) -> NDArray[np.float64]:
        more = k * groups
        found: NDArray[np.float64] = (
            k * loss
            + logs[free + more - count]
            + logs[free]
            - logs[free + more]
            - logs[free - count]
        )
        return found

    low, high = np.zeros(free, dtype=np.int64), np.full(free, most, dtype=np.int64)
    while (low < high).any():
        middle = (low + high) // 2
        falls = at(np.minimum(middle + 1, most)) < at(middle)
        low, high = np.where(falls & (low < high), middle + 1, low), np.where(falls, high, middle)
    return np.minimum(0.0, at(low))
