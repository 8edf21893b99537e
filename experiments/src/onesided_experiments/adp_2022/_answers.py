"""Right answers of sparse vectors over all places of a day, many repetitions at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from onesided.mechanism import SparseVector
from onesided.noise import IntArray, NotPrivateSeededNoise
from onesided.numbers import Loss
from onesided.policy import presence
from onesided_experiments._repeat import chunks

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
