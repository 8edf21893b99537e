"""How often each mechanism rightly says "at most t" at a true count; exact, nothing is drawn."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import expm1
from typing import Final, NamedTuple

from onesided.bounds import attainable_power
from onesided.mechanism import AtMost
from onesided.policy import presence
from onesided_experiments.bounds import virtual_power


class Point(NamedTuple):
    """Parameters of one comparison; α and δ are the competitor's."""

    epsilon: str = "1"
    threshold: int = 5
    alpha: str = "0.001"
    delta: str = "0.0001"


@lru_cache(maxsize=4096)
def ours(point: Point, count: int) -> float:
    """Whole-number noise: ``1 - e^-ε(t + 1 - f)``, the best there is."""
    mechanism = AtMost.for_policy(
        presence(max_groups=1), threshold=point.threshold, epsilon=point.epsilon
    )
    return mechanism.power(count)


def as_printed(point: Point, count: int) -> float:
    """Real-valued noise and ``z <= t``, as in the paper: ``1 - e^-ε(t - f)``."""
    return -expm1(-float(point.epsilon) * max(0, point.threshold - count))


@lru_cache(maxsize=4096)
def virtual(point: Point, count: int) -> float:
    """The paper's competitor: inequality (9) met with equality, for (ε, δ)-DP with error α."""
    return _virtual(point, point.threshold + 1 - count)


@lru_cache(maxsize=4096)
def attainable(point: Point, count: int) -> float:
    """What the best (ε, δ)-DP decision really reaches at that α."""
    distance = point.threshold + 1 - count
    if distance <= 0:
        return 0.0
    return float(
        attainable_power(point.alpha, epsilon=point.epsilon, delta=point.delta, to_false=distance)
    )


@lru_cache(maxsize=4096)
def dangerous(point: Point, count: int) -> float:
    """The virtual optimum's power for "more than t": moves from the largest safe count."""
    return _virtual(point, count - point.threshold)


def _virtual(point: Point, distance: int) -> float:
    """The bound so many moves inside; 0 outside, where the answer would be an error."""
    if distance <= 0:
        return 0.0
    return float(
        virtual_power(point.alpha, epsilon=point.epsilon, delta=point.delta, to_false=distance)
    )


METHODS: Final[dict[str, Callable[[Point, int], float]]] = {
    "ours": ours,
    "as printed": as_printed,
    "virtual": virtual,
    "attainable": attainable,
}
