"""A sampled lower bound on the directed loss, for mechanisms at real size."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

from onesided._numbers import Number, whole
from onesided._numbers import exact as exact_number
from onesided.errors import ParameterError
from onesided.noise import Noise, NotPrivateSeededNoise, SecureNoise
from onesided.verify._events import Event, best_event, hits_of, rates_between
from onesided.verify._form import Form, form
from onesided.verify._workers import spread

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
    return _count(event, *counted, confidence=sure, delta=slack)


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


def _count(
    event: Event,
    real: Counter[Form],
    other: Counter[Form],
    *,
    confidence: float,
    delta: float,
) -> AuditReport:
    """The bound from fresh samples, of which the event knows nothing."""
    hits = [hits_of(event, side) for side in (real, other)]
    runs = [side.total() for side in (real, other)]
    low, high = rates_between(hits, runs, confidence=confidence)
    loss = math.log((low - delta) / high) if low > delta else -math.inf
    return AuditReport(loss, str(event), hits[0], hits[1], runs[0], confidence)
