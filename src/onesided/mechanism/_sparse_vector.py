"""Which counts are at most a threshold, certified for free; a noisy count where they are not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from onesided._english import many
from onesided._numbers import Loss, Number, rate, whole
from onesided.errors import DataError, ParameterError
from onesided.fields import Field, MaybeWhole, Rate, Whole
from onesided.mechanism._base import counts_of
from onesided.mechanism._compounds import Compounds
from onesided.mechanism._once import Once
from onesided.mechanism._paid import count_moves, paid_loss, paid_rate
from onesided.noise import BoolArray, IntArray, Noise, SecureNoise
from onesided.policy import Policy, Shift

Thresholds = int | tuple[int, ...]


class StreamAnswer(NamedTuple):
    """One answer of a stream: certainly at most the threshold, or a noisy count above it.

    ``value`` is None when certified; otherwise it is above the threshold, and never below the
    true count (which may itself be at most the threshold: not certified means unknown).

    >>> StreamAnswer(certified=False, value=9).value
    9
    """

    certified: bool
    value: int | None


class SparseAnswers(NamedTuple):
    """What became of each query: certified, answered with a value, or (neither) not reached.

    >>> found = decide(np.array([1, 9]), np.array([5, 5]), left=None)
    >>> found.certified.tolist(), found.values.tolist()
    ([True, False], [0, 9])
    """

    certified: BoolArray
    answered: BoolArray
    values: IntArray
    """The noisy count where ``answered``; 0 elsewhere."""


def thresholds_of(given: object, *, name: str = "threshold") -> Thresholds:
    """One public threshold, or a tuple of them; each a whole number of at least 0.

    >>> thresholds_of(5), thresholds_of([3, 4])
    (5, (3, 4))
    """
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if isinstance(given, Sequence) and not isinstance(given, str):
        return tuple(whole(one, name=name) for one in given)
    return whole(given, name=name)


@dataclass(frozen=True)
class SparseVector:
    """Certify "at most t" for free; publish ``count + G`` when that exceeds t; stop after enough.

    Promise: along a move that lowers the counts of all queries asked by ``fall`` in total, each
    by at most ``per_key``, the loss is exactly ``upper_rate * min(fall, max_answers * per_key)``,
    however each query was chosen from the answers before it. ``certified`` is never wrong.
    ``max_answers=None`` never stops and loses ``upper_rate * fall``: right when a unit can be in
    few of the queries, ε/ℓ0 instead of ε/c.
    Direction: falls are hidden; a move that raises a count has infinite loss.
    Units: rate in nats per count; thresholds, counts and values in units of the count. One
    threshold for all queries, or one for each; thresholds are public, and may be chosen from
    earlier answers but never from the data.
    The whole stream counts as one release: asking for the same count twice lowers it twice.

    Proof. Fix a transcript. It fixes which queries were asked, and its probability is a product
    over them, for each query draws its own noise and the stop depends on the transcript alone.
    Certified: ``Pr[f + G <= t]`` only grows when f falls by d, a factor of at most 1. Answered z:
    ``Pr[G = z - f] / Pr[G = z - f + d] = e^(rate d)``. So the ratio is at most e^(rate times the
    sum of d over answered queries), which is at most ``min(fall, max_answers * per_key)``.
    Equality: every fallen count is answered with a value far above its threshold.

    Source: ADP-2021 Algorithm 2 (rate ε/c), ADP-2022 Algorithm 1 (SALap: ``max_answers=1``); on
    integers, where ``z <= t`` certifies at the best rate possible. Errors: ParameterError.

    >>> from onesided import policy
    >>> from onesided.mechanism import SparseVector
    >>> one = SparseVector.for_policy(policy.presence(max_groups=2), thresholds=5, epsilon=1)
    >>> print(one.upper_rate)
    1/2
    """

    thresholds: Field[int | Sequence[int], Thresholds] = Field(thresholds_of)
    _: KW_ONLY
    upper_rate: Rate = Field(rate)
    max_answers: MaybeWhole = Field(whole, least=1, default=None, optional=True)
    per_key: Whole = Field(whole, least=1, default=1)

    @classmethod
    def for_policy(
        cls,
        policy: Policy,
        *,
        thresholds: int | Sequence[int],
        epsilon: Number,
        max_answers: int | None = None,
        max_groups: int | None = None,
        counted: Iterable[str] | None = None,
        truncated: bool = False,
        compounds: Compounds | None = None,
    ) -> SparseVector:
        """The least noise that keeps ``(epsilon, policy)`` for counts of units by group.

        Each group may be asked for once. Under presence the rate is
        ``epsilon / min(max_answers, max_groups)``. compounds: for the largest counts of these.
        Errors: UnprotectableError if some move raises a count, for then nothing can be certain.
        """
        limit = _limit(max_answers)
        moves = count_moves(
            policy,
            epsilon=epsilon,
            max_groups=max_groups,
            counted=counted,
            truncated=truncated,
            compounds=compounds,
        )
        upper = paid_rate(policy, moves, answers=limit, what="a certified 'at most'")
        return cls(thresholds, upper_rate=upper, max_answers=max_answers)

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> SparseAnswers:
        """Ask for all of ``values``, in their order; what a stream asked for them would answer.

        Errors: DataError unless ``values`` is a one-dimensional array of counts, as many as there
        are thresholds if each has its own.
        """
        counts, levels = with_thresholds(values, self.thresholds)
        source = SecureNoise() if noise is None else noise
        noisy = counts + source.geometric(self.upper_rate, counts.size)
        return decide(noisy, levels, left=self.max_answers)

    def stream(self, *, noise: Noise | None = None) -> SparseStream:
        """Ask one query at a time; see :class:`SparseStream`."""
        return SparseStream(self, noise=noise)

    def answers(
        self, counts: Iterable[int], *, noise: Noise | None = None
    ) -> Iterator[StreamAnswer]:
        """The answers for an iterable of counts, one by one; ends when the stream stops.

        Lazy: the next count is taken only after the answer to the one before was handed out, so
        a generator may choose its queries from the answers it has seen.
        """
        stream, queries = self.stream(noise=noise), iter(counts)
        while not stream.stopped:
            count = next(queries, None)
            if count is None:
                return
            yield stream.ask(count)

    def loss(self, shift: Shift) -> Loss:
        """``upper_rate * min(fall, max_answers * per_key)``; INFINITE if any count rises."""
        return paid_loss(self.upper_rate, shift, answers=self.max_answers, per_key=self.per_key)


class SparseStream(Once):
    """A sparse vector asked query by query, each chosen from the answers so far.

    Safe for several threads. It cannot be copied, pickled or used in a fork: two would answer
    twice. A draw that fails leaves it as it was.

    >>> from onesided import INFINITE
    >>> from onesided.mechanism import SparseVector
    >>> stream = SparseVector(5, upper_rate=INFINITE).stream()  # without noise
    >>> stream.ask(3).certified, stream.ask(9).value
    (True, 9)
    """

    def __init__(self, mechanism: SparseVector, *, noise: Noise | None = None) -> None:
        super().__init__()
        self._mechanism = mechanism
        self._noise = SecureNoise() if noise is None else noise
        self._used = (0, 0)  # queries, and answers above the threshold

    @property
    def stopped(self) -> bool:
        """Whether all answers have been given, or all thresholds used."""
        asked, answered = self._used
        limit, thresholds = self._mechanism.max_answers, self._mechanism.thresholds
        used_up = isinstance(thresholds, tuple) and asked >= len(thresholds)
        return used_up or (limit is not None and answered >= limit)

    def ask(self, count: int, *, threshold: int | None = None) -> StreamAnswer:
        """The answer for one true count; ``threshold`` takes the place of the mechanism's own.

        Errors: ParameterError once the stream has stopped, or for a threshold below 0; DataError
        for a count that is none. Nothing is drawn then, and nothing is used up.
        """
        counts = counts_of(np.asarray([count]))
        with self._alone():
            asked, before = self._used
            if self.stopped:
                raise ParameterError(
                    f"The stream has stopped after {many(asked, 'query')} and "
                    f"{many(before, 'answer')} above the "
                    "threshold.",
                    hint="Open a new stream; it is charged as a release of its own.",
                )
            limit = self._mechanism.max_answers
            left = None if limit is None else limit - before
            level = np.array([self._next_threshold(threshold)], dtype=np.int64)
            noisy = counts + self._noise.geometric(self._mechanism.upper_rate, 1)
            certified, answered, values = decide(noisy, level, left=left)
            self._used = (asked + 1, before + int(answered[0]))
        return StreamAnswer(bool(certified[0]), int(values[0]) if answered[0] else None)

    def _next_threshold(self, given: int | None) -> int:
        if given is not None:
            return whole(given, name="threshold")
        own = self._mechanism.thresholds
        return own[self._used[0]] if isinstance(own, tuple) else own


def decide(noisy: IntArray, thresholds: IntArray, *, left: int | None) -> SparseAnswers:
    """Split noisy counts into certified, answered and not reached. The only place that decides.

    ``left``: how many may still be answered; None is no limit.

    >>> found = decide(np.array([9, 1, 9]), np.array([5, 5, 5]), left=1)
    >>> found.answered.tolist(), found.certified.tolist()
    ([True, False, False], [False, False, False])
    """
    above = noisy > thresholds
    if left is None:
        return SparseAnswers(~above, above, np.where(above, noisy, 0))
    reached = np.cumsum(above) - above < left
    answered = above & reached
    return SparseAnswers(~above & reached, answered, np.where(answered, noisy, 0))


def _limit(max_answers: int | None) -> int | None:
    return None if max_answers is None else whole(max_answers, name="max_answers", least=1)


def with_thresholds(values: ArrayLike, thresholds: Thresholds) -> tuple[IntArray, IntArray]:
    """Counts and a threshold for each.

    >>> counts, levels = with_thresholds([7, 0, 2], 5)
    >>> levels.tolist()
    [5, 5, 5]
    """
    counts = counts_of(values)
    levels = np.asarray(thresholds, dtype=np.int64)
    if levels.ndim and levels.size != counts.size:
        raise DataError(
            f"Got {many(levels.size, 'threshold')} for {many(counts.size, 'count')}.",
            hint="Give one threshold, or one for each count.",
        )
    return counts, np.broadcast_to(levels, counts.shape)
