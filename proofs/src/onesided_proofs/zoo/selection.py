"""Selections that are wrong in one way each, and a right one that asks adaptively."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from onesided.mechanism import AdaptiveSparseVector, PeeledTopK, SparseVector
from onesided.noise import IntArray, Noise
from onesided.numbers import Loss
from onesided.policy import Shift

Selected = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Wrong:
    """A function of counts and noise, in the shape of a mechanism; it states no loss."""

    run: Callable[[IntArray, Noise], Any]

    def release(self, values: IntArray, *, noise: Noise) -> Any:
        """What the function gives."""
        return self.run(values, noise)


@dataclass(frozen=True, slots=True)
class Adaptive:
    """Right: asks a stream; which query is next, and its threshold, depend on the answers."""

    mechanism: SparseVector

    def release(self, values: IntArray, *, noise: Noise) -> Selected:
        """The transcript."""
        stream, left, said = self.mechanism.stream(noise=noise), list(range(values.size)), []
        certified = True
        while left and not stream.stopped:
            place = left.pop(0 if certified else -1)
            answer = stream.ask(int(values[place]), threshold=0 if certified else 1)
            certified = answer.certified
            said.append((place, *answer))
        return tuple(said)

    def loss(self, shift: Shift) -> Loss:
        """The mechanism's own."""
        return self.mechanism.loss(shift)


def ties_by_truth(values: IntArray, noise: Noise, *, rate: int) -> Selected:
    """Equal noisy counts go to the larger true count."""
    noisy = values + noise.geometric(rate, values.size)
    winner = int(np.lexsort((-values, -noisy))[0])
    return winner, int(noisy[winner])


def ties_by_others(values: IntArray, noise: Noise, *, rate: int) -> Selected:
    """Equal noisy counts go to whom the unselected ones point at."""
    noisy = values + noise.geometric(rate, values.size)
    tied = np.flatnonzero(noisy == noisy.max())
    winner = int(tied[int(noisy.sum()) % tied.size])
    return winner, int(noisy[winner])


def runner_up(values: IntArray, noise: Noise, *, rate: int) -> Selected:
    """The largest with its value, and the value of the second for nothing."""
    noisy = values + noise.geometric(rate, values.size)
    order = np.argsort(-noisy, kind="stable")
    return int(order[0]), int(noisy[order[0]]), int(noisy[order[1]])


def true_values(values: IntArray, noise: Noise, *, rate: int) -> Selected:
    """The position of the largest noisy count, with its true count."""
    winner = int(np.argmax(values + noise.geometric(rate, values.size)))
    return winner, int(values[winner])


def picked_and_told(values: IntArray, noise: Noise, *, right: PeeledTopK) -> Selected:
    """Picks a half, and tells the true counts of what was picked."""
    found = right.release(values, noise=noise)
    return tuple(zip(found.indices.tolist(), values[found.indices].tolist(), strict=True))


def never_stops(values: IntArray, noise: Noise, *, right: SparseVector) -> Selected:
    """Answers on and on at the price of one."""
    return _answers(values, noise, right, stops=False)


def shared_noise(values: IntArray, noise: Noise, *, right: SparseVector) -> Selected:
    """One draw for all queries."""
    same = int(noise.geometric(right.rate, 1)[0])
    above = values + same > right.thresholds
    first = int(np.argmax(above)) if above.any() else -1
    return first, int(values[first]) + same if first >= 0 else 0


def true_answer(values: IntArray, noise: Noise, *, right: SparseVector) -> Selected:
    """Noise decides, then the true count is told."""
    return _answers(values, noise, right, shown=lambda count, _noisy: count)


def fresh_answer(values: IntArray, noise: Noise, *, right: SparseVector) -> Selected:
    """The answer is measured anew: two looks at the price of one."""
    draw = partial(noise.geometric, right.rate, 1)
    return _answers(values, noise, right, shown=lambda count, _noisy: count + int(draw()[0]))


def rounded_first(values: IntArray, noise: Noise, *, right: SparseVector) -> Selected:
    """Counts are rounded up to even numbers before the noise: one person may move them by 2."""
    return _answers(values + values % 2, noise, right)


def certified_value(values: IntArray, noise: Noise, *, right: SparseVector) -> Selected:
    """Certified queries tell their noisy counts as well, unpaid."""
    return _answers(values, noise, right, certified=True)


def half_for_all(values: IntArray, noise: Noise, *, right: AdaptiveSparseVector) -> Selected:
    """Fine answers take half of a unit as well: twice as many are given."""
    return _halves(values, noise, right, fine=1, least=1)


def coarse_certifies(values: IntArray, noise: Noise, *, right: AdaptiveSparseVector) -> Selected:
    """A coarse count at most the threshold certifies: then a fine answer tells of both noises."""
    return _halves(values, noise, right, early=True)


def spends_more(values: IntArray, noise: Noise, *, right: AdaptiveSparseVector) -> Selected:
    """The last half of a unit still buys a fine answer."""
    return _halves(values, noise, right, least=1)


def _halves(
    values: IntArray,
    noise: Noise,
    right: AdaptiveSparseVector,
    *,
    fine: int = 2,
    least: int = 2,
    early: bool = False,
) -> Selected:
    """An adaptive sparse vector at one threshold; ``least``: what is left when it stops."""
    said: list[int | None] = []
    left, level = 2 * right.max_answers, int(np.max(right.thresholds))
    for count in values.tolist():
        if left < least:
            break
        coarse = count + int(noise.geometric(right.coarse_rate, 1)[0])
        near = count + int(noise.geometric(right.rate, 1)[0])
        if coarse > level + right.margin:
            said.append(coarse)
            left -= 1
        elif near > level and not (early and coarse <= level):
            said.append(near)
            left -= fine
        else:
            said.append(None)
    return tuple(said)


def upwards(values: IntArray, noise: Noise, *, right: SparseVector) -> Selected:
    """Certifies "at least" with noise above the truth."""
    noisy = values + noise.geometric(right.rate, values.size)
    return tuple(np.where(noisy >= right.thresholds, -1, noisy).tolist())


def pays_for_certified(values: IntArray, noise: Noise, *, right: SparseVector) -> Selected:
    """Takes what is certified for what costs: "not certified" is told for nothing, for ever."""
    said: list[bool] = []
    for count in values.tolist():
        said.append(bool(np.all(count - noise.geometric(right.rate, 1) >= right.thresholds)))
        if sum(said) == right.max_answers:
            break
    return tuple(said)


def lowers_threshold(values: IntArray, noise: Noise, *, right: SparseVector) -> Selected:
    """Asks again below a threshold that was not certified, at the price of one answer."""
    tried = range(int(np.max(right.thresholds)), 0, -1)
    return tuple(
        next((t for t in tried if count - int(noise.geometric(right.rate, 1)[0]) >= t), 0)
        for count in values.tolist()
    )


def cut_noise(values: IntArray, noise: Noise, *, rate: int) -> IntArray:
    """Noise cut at 1 before it is added, where ``f + G`` must be cut at the end."""
    cut: IntArray = values + np.minimum(noise.geometric(rate, values.size), 1)
    return cut


def _answers(
    values: IntArray,
    noise: Noise,
    right: SparseVector,
    *,
    stops: bool = True,
    shown: Callable[[int, int], int] = lambda _count, noisy: noisy,
    certified: bool = False,
) -> Selected:
    """A sparse vector with one answer, unless told otherwise; ``shown`` makes the answer."""
    said: list[int | None] = []
    for count in values.tolist():
        noisy = count + int(noise.geometric(right.rate, 1)[0])
        if np.all(noisy <= np.asarray(right.thresholds)):
            said.append(noisy if certified else None)
            continue
        said.append(shown(count, noisy))
        if stops:
            break
    return tuple(said)
