"""Events that tell two distributions apart, searched among ratios and thresholds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from onesided.errors import ParameterError
from onesided.verify._form import Form, numbers, shown
from onesided.verify._laws import stats

_LEAST_SEEN: Final = 20
_LEVELS: Final = 400
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


Event: TypeAlias = Outputs | Threshold


def best_event(real: Histogram, other: Histogram, *, confidence: float, delta: float) -> Event:
    """The event whose bound is best on these samples; to be counted on other ones."""
    runs = [real.total(), other.total()]
    candidates = [_by_ratio(real, other), *_by_threshold(real, other)]
    best: tuple[float, Event] | None = None
    for own, seen, event_at in candidates:
        if not len(own):
            continue
        low, high = rates_between([own, seen], runs, confidence=confidence)
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = np.where(low > delta, np.log((low - delta) / high), -np.inf)
        place = int(np.argmax(scores))
        if best is None or scores[place] > best[0]:
            best = (float(scores[place]), event_at(place))
    if best is None:
        raise ParameterError(
            "No output came often enough to be an event.", hint="Take more samples."
        )
    return best[1]


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
