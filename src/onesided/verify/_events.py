"""Events that tell two distributions apart, searched among ratios and thresholds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from onesided.errors import ParameterError
from onesided.verify._form import Form, numbers, shown
from onesided.verify._laws import stats

_LEAST_SEEN: Final = 20
_LEVELS: Final = 400
_WIDEST: Final = 64
_SHRUNK: Final = 3
_SHARES: Final = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0)
_THRESHOLDS: Final = 6
Histogram: TypeAlias = Counter[Form]


@dataclass(frozen=True, slots=True)
class Outputs:
    """The output is one of these."""

    members: frozenset[Form]

    def holds(self, output: Form) -> bool:
        return output in self.members

    def __str__(self) -> str:
        few = ", ".join(sorted(str(shown(member)) for member in self.members)[:3])
        more = len(self.members) - 3
        return f"output in {{{few}{f', ... and {more} more' if more > 0 else ''}}}"


@dataclass(frozen=True, slots=True)
class Threshold:
    """One number of the output is at least, or at most, a level."""

    place: int
    level: float
    at_least: bool

    def holds(self, output: Form) -> bool:
        value = numbers(output)[self.place]
        return value >= self.level if self.at_least else value <= self.level

    def __str__(self) -> str:
        return f"output[{self.place}] {'>=' if self.at_least else '<='} {self.level:g}"


@dataclass(frozen=True, slots=True)
class Score:
    """The likelihood ratio, as if all parts of the output were independent, is at least a level.

    parts: per place of the output, what each value there adds; values that were not seen when
    the event was found add nothing.
    """

    parts: tuple[Mapping[Hashable, float], ...]
    level: float

    def holds(self, output: Form) -> bool:
        return score_of(output, self.parts) >= self.level

    def __str__(self) -> str:
        return f"sum of {len(self.parts)} log-ratios, one per part of the output, >= {self.level:g}"


Event: TypeAlias = Outputs | Threshold | Score


def best_event(
    learnt: tuple[Histogram, Histogram],
    tried: tuple[Histogram, Histogram],
    *,
    confidence: float,
    delta: float,
) -> Event:
    """The event whose bound is best on ``tried``; to be counted on other samples still.

    Events are made from ``learnt`` and chosen by ``tried``: chosen by what they were made from, the
    largest ratios would be those that chance made large.
    """
    events = list(_events(*learnt, confidence=confidence, delta=delta))
    if not events:
        raise ParameterError(
            "No output came often enough to be an event.", hint="Take more samples."
        )
    runs = [side.total() for side in tried]
    hits = np.array([[hits_of(event, side) for event in events] for side in tried])
    scores = _bounds(hits[0], hits[1], runs, confidence=confidence, delta=delta)
    return events[int(np.argmax(scores))]


def hits_of(event: Event, side: Histogram) -> int:
    """How many of these outputs the event holds for."""
    return sum(count for output, count in side.items() if event.holds(output))


def _events(
    real: Histogram, other: Histogram, *, confidence: float, delta: float
) -> Iterator[Event]:
    """Of each family of events the best here, some smaller and larger ones, and few thresholds."""
    runs = [real.total(), other.total()]
    thresholds: list[tuple[float, Event]] = []
    for own, seen, event_at in [
        _by_ratio(real, other),
        *_by_score(real, other),
        *_by_threshold(real, other),
    ]:
        if not len(own):
            continue
        scores = _bounds(own, seen, runs, confidence=confidence, delta=delta)
        best = int(np.argmax(scores))
        if isinstance(event := event_at(best), Threshold):
            thresholds.append((float(scores[best]), event))
            continue
        near = [int(np.argmin(np.abs(own - share * runs[0]))) for share in _SHARES]
        yield from (event_at(place) for place in dict.fromkeys((best, *near)))
    thresholds.sort(key=lambda pair: -pair[0])
    yield from (event for _, event in thresholds[:_THRESHOLDS])


def _bounds(
    own: NDArray[Any], seen: NDArray[Any], runs: Sequence[int], *, confidence: float, delta: float
) -> NDArray[np.float64]:
    """The bound that each pair of hits would give."""
    low, high = rates_between([own, seen], runs, confidence=confidence)
    with np.errstate(divide="ignore", invalid="ignore"):
        scores: NDArray[np.float64] = np.where(low > delta, np.log((low - delta) / high), -np.inf)
    return scores


def rates_between(
    hits: Sequence[Any], runs: Sequence[int], *, confidence: float
) -> tuple[Any, Any]:
    """Clopper-Pearson: the first rate is above the one, the second below the other number.

    Each fails with probability (1 - confidence) / 2 at most.
    """
    alpha = (1 - confidence) / 2
    own, seen = np.asarray(hits[0], dtype=np.float64), np.asarray(hits[1], dtype=np.float64)
    beta = stats().beta
    low = np.where(own > 0, beta.ppf(alpha, np.maximum(own, 1), runs[0] - own + 1), 0.0)
    top = beta.isf(alpha, seen + 1, np.maximum(runs[1] - seen, 1))
    high = np.where(seen < runs[1], top, 1.0)
    return low, high


_Candidates: TypeAlias = tuple[NDArray[Any], NDArray[Any], Any]


def _by_ratio(real: Histogram, other: Histogram) -> _Candidates:
    """All outputs above a likelihood ratio, for every ratio. Rare outputs are left out."""
    common = [o for o in real.keys() | other.keys() if real[o] + other[o] >= _LEAST_SEEN]
    ratio = np.array([(real[o] + 0.5) / (other[o] + 0.5) for o in common])
    order = np.argsort(-ratio, kind="stable")
    ranked = [common[place] for place in order]
    own = np.cumsum([real[o] for o in ranked])
    seen = np.cumsum([other[o] for o in ranked])
    return own, seen, lambda place: Outputs(frozenset(ranked[: place + 1]))


def score_of(output: Form, parts: Sequence[Mapping[Hashable, float]]) -> float:
    """What the parts of an output add up to."""
    found = _parts_of(output)
    return sum(part.get(value, 0.0) for part, value in zip(parts, found, strict=False))


def _parts_of(output: Form) -> list[Hashable]:
    """The numbers, texts and gaps of an output, one after the other, and its shape."""
    found: list[Hashable] = []

    def gather(part: Any) -> None:
        if isinstance(part, tuple):
            found.append(len(part))
            for one in part:
                gather(one)
        else:
            found.append(part if isinstance(part, Hashable) else str(part))

    gather(shown(output))
    return found


def _by_score(real: Histogram, other: Histogram) -> Iterator[_Candidates]:
    """Outputs by their likelihood ratio part by part: finds what no single output shows.

    With many counts no output comes often, but each count does; for independent parts the sum is
    the true ratio. A ratio is shrunk toward 1 where little was seen, so that chance adds little.
    """
    outputs = list(real.keys() | other.keys())
    split = [_parts_of(output) for output in outputs]
    width = max(map(len, split), default=0)
    if not 1 < width <= _WIDEST:
        return
    weights = [(real[output], other[output]) for output in outputs]
    parts = tuple(_log_ratios(place, split, weights) for place in range(width))
    scores = np.array([score_of(output, parts) for output in outputs])
    order = np.argsort(-scores, kind="stable")
    counts = np.array(weights, dtype=np.int64).reshape(-1, 2)[order].cumsum(axis=0)
    last = np.append(np.flatnonzero(np.diff(scores[order])), len(order) - 1)
    levels = scores[order][last]
    yield counts[last, 0], counts[last, 1], lambda place: Score(parts, float(levels[place]))


def _log_ratios(
    place: int, split: Sequence[Sequence[Hashable]], weights: Sequence[tuple[int, int]]
) -> dict[Hashable, float]:
    """What each value at one place says for the real data."""
    seen: dict[Hashable, list[int]] = {}
    for values, (own, others) in zip(split, weights, strict=True):
        if place < len(values):
            pair = seen.setdefault(values[place], [0, 0])
            pair[0] += own
            pair[1] += others
    return {
        value: math.log((own + _SHRUNK) / (others + _SHRUNK))
        for value, (own, others) in seen.items()
    }


def _by_threshold(real: Histogram, other: Histogram) -> Iterator[_Candidates]:
    """Every number of the output against levels between the least and the greatest."""
    outputs = list(real.keys() | other.keys())
    rows = [numbers(output) for output in outputs]
    width = len(rows[0])
    if not width or any(len(row) != width for row in rows):
        return
    table = np.array(rows, dtype=np.float64)
    weights = np.array([[real[o], other[o]] for o in outputs])
    for place in range(width):
        values = table[:, place]
        levels = np.unique(values)
        levels = levels[:: max(1, len(levels) // _LEVELS)]
        for at_least in (True, False):
            inside = values >= levels[:, None] if at_least else values <= levels[:, None]
            own, seen = (inside @ weights).T
            yield own, seen, _threshold_at(place, levels, at_least=at_least)


def _threshold_at(place: int, levels: NDArray[Any], *, at_least: bool) -> Any:
    return lambda level: Threshold(place, float(levels[level]), at_least)
