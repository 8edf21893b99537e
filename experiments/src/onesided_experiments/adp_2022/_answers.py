"""Right answers of sparse vectors over all places of a day, many repetitions at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from math import expm1
from typing import Final, NamedTuple

import numpy as np

from onesided.mechanism import AtMost, SparseVector
from onesided.noise import IntArray, NotPrivateSeededNoise
from onesided.numbers import Loss
from onesided.policy import presence
from onesided_experiments._repeat import chunks
from onesided_experiments.bounds import attainable_power, virtual_power

_ORDERS: Final = 50


class Method(NamedTuple):
    """A sparse vector at a price: how many answers above t it may give, None for no limit."""

    name: str
    max_answers: int | None
    rate: Loss


def methods(epsilon: str, fall: int) -> list[Method]:
    """Everything at the same total ε, where a person may be at ``fall`` places of the day."""
    policy = presence(max_groups=fall)
    found = []
    for name, limit in (("SALap", 1), ("stops after 3", 3), ("never stops", None)):
        mechanism = SparseVector.for_policy(
            policy, thresholds=0, epsilon=epsilon, max_answers=limit
        )
        found.append(Method(name, limit, mechanism.rate))
    return found


class Answers(NamedTuple):
    """By repetition: certified answers, safe places asked, and wrong certificates (none)."""

    right: IntArray
    asked_safe: IntArray
    wrong: int


def right_answers(
    counts: IntArray, threshold: int, method: Method, repeats: int, noise: NotPrivateSeededNoise
) -> Answers:
    """Ask for every place, in an order that knows nothing of the counts."""
    right, asked, wrong = [], [], 0
    for order, rows in _parts(counts.size, repeats, noise):
        truth = counts[order]
        drawn = noise.geometric(method.rate, rows * truth.size).reshape(rows, truth.size)
        above = truth + drawn > threshold
        if method.max_answers is None:
            reached = np.ones_like(above)
        else:
            before = np.cumsum(above, axis=1, dtype=np.int32) - above
            reached = before < method.max_answers
        certified = ~above & reached
        right.append(certified.sum(axis=1))
        asked.append((reached & (truth <= threshold)).sum(axis=1))
        wrong += int((certified & (truth > threshold)).sum())
    return Answers(np.concatenate(right), np.concatenate(asked), wrong)


def _parts(size: int, repeats: int, noise: NotPrivateSeededNoise) -> Iterator[tuple[IntArray, int]]:
    for rows in chunks(repeats, size, least=_ORDERS):
        yield noise.permutation(size), rows


# How often each mechanism rightly says "at most t" at a true count; exact, nothing is drawn.


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
