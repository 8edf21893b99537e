"""Checks by sampling: whether draws follow a law, and a lower bound on the directed loss."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onesided._numbers import INFINITE, Loss, Number, least_whole, rate, regular, whole
from onesided._numbers import exact as exact_number
from onesided._plugins import optional
from onesided.errors import ParameterError
from onesided.noise import Noise, NotPrivateSeededNoise, SecureNoise
from onesided.verify._enumerate import float_of
from onesided.verify._exact import spread
from onesided.verify._seal import Form, form, numbers, shown

# Distribution tests with a stated false-alarm rate and a shown power, for samplers of integers.

FALSE_ALARM: Final = 1e-6
_LEAST_EXPECTED: Final = 20.0

Law: TypeAlias = Callable[[int], float]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Whether draws follow a law.

    p_value: the chance that a right sampler agrees no better. cells: how many ranges of values
    were compared. false_alarm: how often a right sampler is rejected.

    >>> Agreement(p_value=0.5, statistic=20.0, cells=24, draws=1000, false_alarm=1e-9).accepted
    True
    """

    p_value: float
    statistic: float
    cells: int
    draws: int
    false_alarm: float

    @property
    def accepted(self) -> bool:
        """Whether the draws could come from the law."""
        return self.p_value >= self.false_alarm


def two_sided_law(upper: Loss | Number, lower: Loss | Number) -> Law:
    """``k -> Pr[G_upper - G_lower <= k]``.

    >>> law = two_sided_law(1, 1)
    >>> round(law(0) + law(-1), 9)
    1.0
    """
    up, down = (float_of(rate(r, name="rate")) for r in (upper, lower))

    def cumulative(k: int) -> float:
        if k < 0:
            return math.expm1(-up) / math.expm1(-up - down) * math.exp(down * k)
        return 1 - math.expm1(-down) / math.expm1(-up - down) * math.exp(-up * (k + 1))

    return cumulative


def geometric_law(rate_: Loss | Number) -> Law:
    """``k -> Pr[G <= k] = 1 - e^(-rate (k + 1))``.

    >>> law = geometric_law(1)
    >>> law(-1), round(law(0), 4)
    (0.0, 0.6321)
    """
    return two_sided_law(rate_, INFINITE)


def agrees(
    draws: ArrayLike, law: Law, *, cells: int = 24, false_alarm: float = FALSE_ALARM
) -> Agreement:
    """Chi-square test of whole-number ``draws`` against a cumulative ``law``.

    The cells are ranges of about equal probability under the law, never chosen from the draws.
    false_alarm: the probability with which a right sampler is rejected.
    Errors: ParameterError for too few draws or other than whole ones; MissingDependencyError
    without scipy.

    >>> from onesided.noise import SecureNoise
    >>> draws = SecureNoise().geometric(1, 10_000)
    >>> agrees(draws, geometric_law(1)).accepted, agrees(draws, geometric_law("1/2")).accepted
    (True, False)
    """
    given = regular(draws)
    if given.dtype.kind not in "iubf" or not np.array_equal(given, np.rint(given)):
        raise ParameterError(
            f"The draws must be whole numbers, got {given.dtype}.",
            hint="Cut to whole numbers, others would follow another law: round them yourself.",
        )
    values = given.astype(np.int64)
    edges = _edges(law, cells, values.size)
    chances = _chances(law, edges)
    if edges.size == 0 or chances.min() * values.size < _LEAST_EXPECTED / 4:
        raise ParameterError(
            f"{values.size} draws are too few to tell anything about this law.",
            hint="Draw more, or take fewer cells.",
        )
    seen = np.bincount(np.searchsorted(edges, values, side="left"), minlength=len(chances))
    statistic = float((((seen - chances * values.size) ** 2) / (chances * values.size)).sum())
    p_value = float(stats().chi2.sf(statistic, len(edges)))
    return Agreement(p_value, statistic, len(chances), values.size, false_alarm)


def power(
    law: Law, other: Law, draws: int, *, cells: int = 24, false_alarm: float = FALSE_ALARM
) -> float:
    """How surely :func:`agrees` rejects draws that follow ``other`` instead of ``law``.

    >>> power(geometric_law(1), geometric_law("1/2"), draws=10_000) > 0.99
    True
    """
    edges = _edges(law, cells, draws)
    right, wrong = _chances(law, edges), _chances(other, edges)
    shift = float((draws * (wrong - right) ** 2 / right).sum())
    limit = stats().chi2.isf(false_alarm, len(edges))
    return float(stats().ncx2.sf(limit, len(edges), shift))


def _chances(law: Law, edges: Any) -> Any:
    return np.diff(np.concatenate([[0.0], [law(int(edge)) for edge in edges], [1.0]]))


def _edges(law: Law, cells: int, draws: int) -> Any:
    """Upper ends of ranges of about equal probability; the last range has none."""
    edges: list[int] = []
    least = max(1 / cells, _LEAST_EXPECTED / max(1, draws))
    done = 0.0
    while 1 - done > 2 * least:
        share = done + least
        edge = least_whole(lambda k, share=share: law(k) >= share)  # type: ignore[misc]
        if 1 - law(edge) < least / 2:
            break
        edges.append(edge)
        done = law(edge)
    return np.array(edges, dtype=np.int64)


def stats() -> Any:
    """``scipy.stats``. Errors: MissingDependencyError."""
    reason = "Statistical checks need the package scipy."
    return optional("scipy.stats", reason, "pip install scipy.")


# Events that tell two distributions apart, searched among ratios and thresholds.

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


CONFIDENCE: Final = "0.999"
_CHUNK: Final = 50_000
# One sample in so many makes events, as many choose one; the others count it.
_SEARCHED: Final = 10


@dataclass(frozen=True, slots=True)
class AuditReport:
    """A loss that the mechanism has at least, with the stated confidence.

    loss: ``log((Pr[real in event] - delta) / Pr[other in event])``, both probabilities at their
    cautious Clopper-Pearson ends. The event was chosen on a fifth of the samples and counted
    on the others. Says nothing of the other direction: audit the pair the other way round.

    >>> seen = {"real_hits": 90, "other_hits": 9, "counted": 800, "confidence": 0.999}
    >>> found = AuditReport(1.5, "output 3", **seen)
    >>> found.refutes(1), found.refutes(2)
    (True, False)
    """

    loss: float
    event: str
    real_hits: int
    other_hits: int
    counted: int
    confidence: float

    def refutes(self, epsilon: Number) -> bool:
        """Whether a promise of ``epsilon`` on this pair is false, at the stated confidence."""
        return self.loss > float(exact_number(epsilon, name="epsilon"))

    def __str__(self) -> str:
        return (
            f"loss >= {self.loss:.4f} with confidence {self.confidence:g}: {self.event} came "
            f"{self.real_hits:,} and {self.other_hits:,} times in {self.counted:,} runs each"
        )


@dataclass(frozen=True, slots=True)
class EachCount:
    """A sampler for mechanisms that treat every count on its own, such as ``Counts``.

    Called as ``(count, size, noise)``: one release of ``size`` equal counts is that many
    independent releases of one.

    >>> from onesided import INFINITE
    >>> from onesided.mechanism import Counts
    >>> EachCount(Counts(INFINITE, INFINITE))(7, 3, SecureNoise()).tolist()
    [7, 7, 7]
    """

    mechanism: Any

    def __call__(self, count: int, size: int, noise: Noise) -> Any:
        return self.mechanism.release(np.full(size, count, dtype=np.int64), noise=noise)


def audit(
    program: Any,
    pair: tuple[Any, Any],
    *,
    samples: int = 10**6,
    confidence: Number = CONFIDENCE,
    delta: Number = 0,
    sampler: bool = False,
    processes: int = 1,
    seed: int | None = None,
) -> AuditReport:
    """Bound the loss from ``pair[0]`` to ``pair[1]``, in this direction only, from below.

    program: a mechanism (its ``release`` gets the input), a function ``(input, noise)``, or with
        ``sampler=True`` a function ``(input, size, noise)`` that gives ``size`` independent
        outputs at once, one per row; see :class:`EachCount`.
    samples: runs on each of the two inputs. confidence: of the bound, whatever the mechanism is.
    delta: probability that the promise may fail with. seed: NOT private, to repeat an audit.
    processes: how many to use; above 1 the program must be picklable.
    Errors: ParameterError; MissingDependencyError without scipy.

    >>> from onesided.mechanism import Counts
    >>> told = audit(EachCount(Counts(2, 2)), (5, 4), samples=20_000, sampler=True, seed=1)
    >>> told.refutes(1), told.refutes(2)
    (True, False)
    """
    if len(pair) != 2:
        raise ParameterError(
            f"pair must be two inputs, (real, other), got {pair!r}.", hint="For example ([1], [0])."
        )
    real, other = pair
    runs = whole(samples, name="samples", least=1000, most=10**10)
    sure = float(exact_number(confidence, name="confidence"))
    if not 0 < sure < 1:
        raise ParameterError(
            f"confidence must lie strictly between 0 and 1, got {confidence!r}.",
            hint='Use for example "0.999".',
        )
    slack = float(exact_number(delta, name="delta"))
    tasks = _tasks(real, other, runs, seed)
    work = partial(_run, program, sampler)
    found = spread(work, tasks, processes, lambda _done, _total: None)
    parts = [[Counter[Form]() for _ in range(2)] for _ in range(3)]
    for (side, _, _, part, _), counts in zip(tasks, found, strict=True):
        parts[part][side].update(counts)
    learnt, tried, counted = ((one, two) for one, two in parts)
    event = best_event(learnt, tried, confidence=sure, delta=slack)
    # The bound is from fresh samples, of which the event knows nothing.
    hits = [hits_of(event, side) for side in counted]
    sizes = [side.total() for side in counted]
    low, high = rates_between(hits, sizes, confidence=sure)
    loss = math.log((low - slack) / high) if low > slack else -math.inf
    return AuditReport(loss, str(event), hits[0], hits[1], sizes[0], sure)


_Piece = tuple[int, Any, int, int, int | None]


def _tasks(real: Any, other: Any, runs: int, seed: int | None) -> list[_Piece]:
    """``(side, input, size, part, seed)``: to make events, to choose one, and to count it."""
    pieces: list[_Piece] = []
    few = runs // _SEARCHED
    for side, data in enumerate((real, other)):
        for part, left in enumerate((few, few, runs - 2 * few)):
            for start in range(0, left, _CHUNK):
                own = None if seed is None else hash((seed, len(pieces))) % 2**61
                pieces.append((side, data, min(_CHUNK, left - start), part, own))
    return pieces


def _run(program: Any, sampler: bool, piece: _Piece) -> Counter[Form]:  # noqa: FBT001
    """How often each output came."""
    _, data, size, _, seed = piece
    noise: Noise = SecureNoise() if seed is None else NotPrivateSeededNoise(seed)
    if sampler:
        rows = np.asarray(program(data, size, noise))
        distinct, counts = np.unique(rows, axis=0, return_counts=True)
        return Counter(dict(zip(map(form, distinct), counts.tolist(), strict=True)))
    release = getattr(program, "release", None)
    if release is not None:
        return Counter(form(release(data, noise=noise)) for _ in range(size))
    return Counter(form(program(data, noise)) for _ in range(size))
