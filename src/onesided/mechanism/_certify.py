"""Which counts are at most, or at least, a threshold: certified free, answered where not."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from threading import Lock
from typing import Any, Final, NamedTuple, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike

from onesided._english import many
from onesided._numbers import (
    INFINITE,
    MAX_COUNT,
    Infinite,
    Loss,
    Number,
    exp_neg_bounds,
    least_whole,
    rate,
    round_down,
    strict_share,
    whole,
)
from onesided._process import this_process
from onesided.errors import DataError, ParameterError
from onesided.fields import Field, MaybeWhole, Rate, Whole
from onesided.mechanism._fit import Directed, Fitted, Move, counts_of
from onesided.mechanism.law import Counts, Interval
from onesided.noise import BoolArray, IntArray, Noise, SecureNoise, TwoSidedGeometric
from onesided.policy import Policy, Shift


class Once:
    """A stream of draws that cannot be copied, pickled or continued in a forked process.

    Two copies would answer twice for one charge, and the difference of their answers tells more
    than either. Safe for several threads.

    >>> from copy import copy
    >>> copy(Once())
    Traceback (most recent call last):
        ...
    onesided.errors.ParameterError: A stream cannot be copied or pickled: two copies would answer
    twice. Hint: Open a new stream; it is charged as a release of its own.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._home = this_process()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One step at a time. Errors: ParameterError in another process than the stream's own.

        The process is asked first: a lock that was held while forking is never let go.
        """
        if this_process() != self._home:
            raise ParameterError(
                "A stream was used in a forked process, where it would answer a second time.",
                hint="Use it in the process that opened it, or open a new one, which is charged.",
            )
        with self._lock:
            yield

    def __reduce__(self) -> NoReturn:
        raise ParameterError(
            "A stream cannot be copied or pickled: two copies would answer twice.",
            hint="Open a new stream; it is charged as a release of its own.",
        )


@dataclass(frozen=True)
class AtMost(Fitted):
    """Certify the counts that are at most ``threshold``; say nothing of the others.

    Promise: True is never wrong. False means unknown. Along a move the loss is
    ``upper_rate * fall``; a move that raises a count has infinite loss.
    Power: a count f <= t is certified with probability ``1 - e^(-upper_rate (t + 1 - f))``, the
    most that any mechanism at this loss can do.
    Source: ADP-2021 Theorem 11, ADP-2022 Corollary V.6, with integer noise. Errors: ParameterError.

    >>> from onesided.mechanism import AtMost
    >>> from onesided.policy import Shift
    >>> print(AtMost(5, upper_rate="1/2").loss(Shift(rise=0, fall=1)))
    1/2
    """

    threshold: Whole = Field(whole)
    _: KW_ONLY
    upper_rate: Rate = Field(rate)

    _by_totals = True
    _what = "a certified 'at most'"
    _instead = "Counts for a 95 % bound"

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> BoolArray:
        """True where the count is certainly at most ``threshold``."""
        return self._counts.noisy(values, noise=noise) <= self.threshold

    def loss(self, shift: Shift) -> Loss:
        """``upper_rate * fall``; INFINITE if any count rises."""
        return self._counts.loss(shift)

    def power(self, count: int) -> float:
        """The probability that a true count of ``count`` is certified, rounded down."""
        room = self.threshold + 1 - whole(count, name="count")
        if room <= 0:
            return 0.0
        miss = self.upper_rate * room
        if miss == INFINITE:
            return 1.0
        return round_down(1 - exp_neg_bounds(miss, bits=80)[1])  # type: ignore[arg-type]

    @property
    def _counts(self) -> Counts:
        return Counts(self.upper_rate, INFINITE)


Thresholds = int | tuple[int, ...]


class StreamAnswer(NamedTuple):
    """One answer of a stream: certified, or a noisy count on the other side of the threshold.

    ``value`` is None when certified. Where "at most" is certified it is else above the threshold,
    and never below the true count (which may itself be at most the threshold: not certified means
    unknown); where "at least" is, below the threshold and never above the count.

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
class SparseVector(Directed):
    """Certify "at most t" for free; publish ``count + G`` when that exceeds t; stop after enough.

    Promise: along a move that lowers the counts of all queries asked by ``fall`` in total, each
    by at most ``per_key``, the loss is exactly ``upper_rate * min(fall, max_answers * per_key)``,
    however each query was chosen from the answers before it. ``certified`` is never wrong.
    ``max_answers=None`` never stops and loses ``upper_rate * fall``: right when a unit can be in
    few of the queries, ε/ℓ0 instead of ε/c.
    Direction: falls are hidden; a move that raises a count has infinite loss.
    With ``lower_rate`` instead all is mirrored (docs/proofs/sparse-vector.md): "at least t" is
    certified for free, and ``count - G`` published where it is below t, which costs
    ``lower_rate * min(rise, max_answers * per_key)``. What is *not* certified is paid for.
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
    max_answers: MaybeWhole = Field(whole, least=1, default=None, optional=True)
    per_key: Whole = Field(whole, least=1, default=1)

    _of_compounds = True
    _what = "a certified 'at most'"

    @classmethod
    def _goes_by_totals(cls, options: Mapping[str, Any]) -> bool:
        """Where it never stops: whatever a count moves by, that is what its answer costs."""
        return options.get("max_answers") is None

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> SparseAnswers:
        """Ask for all of ``values``, in their order; what a stream asked for them would answer.

        Errors: DataError unless ``values`` is a one-dimensional array of counts, as many as there
        are thresholds if each has its own.
        """
        counts, levels = with_thresholds(values, self.thresholds)
        noisy = self.with_noise(counts, self.rate, SecureNoise() if noise is None else noise)
        return decide(noisy, levels, left=self.max_answers, sign=self.sign)

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
        self._used = (0, 0)  # queries, and answers that are not certified

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
                    f"{many(before, 'answer')} {'below' if self._mechanism.below else 'above'} the "
                    "threshold.",
                    hint="Open a new stream; it is charged as a release of its own.",
                )
            limit = self._mechanism.max_answers
            left = None if limit is None else limit - before
            one = self._mechanism
            own = one.thresholds[asked] if isinstance(one.thresholds, tuple) else one.thresholds
            chosen = own if threshold is None else whole(threshold, name="threshold")
            level = np.array([chosen], dtype=np.int64)
            noisy = one.with_noise(counts, one.rate, self._noise)
            certified, answered, values = decide(noisy, level, left=left, sign=one.sign)
            self._used = (asked + 1, before + int(answered[0]))
        return StreamAnswer(bool(certified[0]), int(values[0]) if answered[0] else None)


def decide(
    noisy: IntArray, thresholds: IntArray, *, left: int | None, sign: int = 1
) -> SparseAnswers:
    """Split noisy counts into certified, answered and not reached. The only place that decides.

    ``left``: how many may still be answered; None is no limit. sign: that of the noise: counts
    with noise above them are certified to be at most their thresholds, those with noise below, -1,
    at least.

    >>> found = decide(np.array([9, 1, 9]), np.array([5, 5, 5]), left=1)
    >>> found.answered.tolist(), found.certified.tolist()
    ([True, False, False], [False, False, False])
    """
    beyond = sign * noisy > sign * thresholds
    if left is None:
        return SparseAnswers(~beyond, beyond, np.where(beyond, noisy, 0))
    reached = np.cumsum(beyond) - beyond < left
    answered = beyond & reached
    return SparseAnswers(~beyond & reached, answered, np.where(answered, noisy, 0))


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


_HALF = Fraction(1, 2)


class AdaptiveAnswers(NamedTuple):
    """What became of each query: certified, answered (coarsely, for half, or finely), not reached.

    >>> found = decide_adaptively(np.array([30, 5, 3]), np.array([9, 8, 2]), np.array([7, 7, 7]),
    ...                           margin=10, purse=2)
    >>> found.answered.tolist(), found.coarse.tolist(), found.values.tolist()
    ([True, True, False], [True, False, False], [30, 8, 0])
    """

    certified: BoolArray
    answered: BoolArray
    coarse: BoolArray
    values: IntArray
    """The noisy count where ``answered``; 0 elsewhere."""


@dataclass(frozen=True)
class AdaptiveSparseVector(Directed):
    """Certify "at most t" for free; pay half where a count is far above t, so up to twice as many.

    Every query is first asked with coarse noise, at half the rate. Above ``threshold + margin``
    that noisy count is the answer and takes half of a unit of the purse, which holds
    ``max_answers``. Otherwise it is asked with fine noise, at the whole rate: above the threshold
    that noisy count is the answer and takes a unit, else "at most" is certified for nothing. With
    half a unit left, queries are asked coarsely alone, against the threshold itself. The release
    stops when the purse is empty: between ``max_answers`` and twice as many are answered.

    Promise: along a move that lowers the counts of all queries asked by ``fall`` in total, each by
    at most ``per_key``, the loss is at most ``upper_rate * min(fall, max_answers * per_key)``, as
    for :class:`SparseVector`. ``certified`` is never wrong, and no answer is below its count.
    Direction: falls are hidden; a move that raises a count has infinite loss. With ``lower_rate``
    all is mirrored, as for :class:`SparseVector`.
    Units: rate in nats per count; thresholds, margin, counts and values in units of the count.
    margin: by default two standard deviations of the coarse noise, rounded up.

    Proof. Fix a transcript; it fixes how much of the purse was left before each query, and its
    probability is a product over them. Let f fall by d, let A and B be the coarse and the fine
    noise, at rates a/2 and a. Certified has chance ``Pr[f + A <= t + m] Pr[f + B <= t]``, or
    ``Pr[f + A <= t]`` with half a unit left: both only grow as f falls. A coarse answer z changes
    its chance by ``e^(d a/2)``. A fine answer z has chance ``Pr[f + A <= t + m] Pr[f + B = z]``:
    the first factor grows as f falls, the second changes by ``e^(d a)``. So the log-ratio is at
    most a times the sum of ``share * d`` over the answers, with shares 1/2 and 1. The shares add up
    to ``max_answers`` at most, each d is at most ``per_key``, and the d add up to ``fall`` at most.
    Never stopping would cost ``upper_rate * fall``, what :class:`SparseVector` charges for fine
    noise throughout, so this class always stops.

    Source: ADP-2021 (its experiments), after the adaptive sparse vector of Ding et al. 2019; here
    without noise on the threshold. Errors: ParameterError.

    >>> from onesided import policy
    >>> one = AdaptiveSparseVector.for_policy(
    ...     policy.addition_only(), thresholds=5, max_answers=3, epsilon=3, max_groups=9)
    >>> one.upper_rate, one.margin
    (Fraction(1, 1), 4)
    """

    thresholds: Field[int | Sequence[int], Thresholds] = Field(thresholds_of)
    _: KW_ONLY
    max_answers: Whole = Field(whole, least=1)
    per_key: Whole = Field(whole, least=1, default=1)
    margin: Whole = Field(whole, least=0, default=0)

    _of_compounds = True
    _what = "a certified 'at most'"

    @classmethod
    def fit(
        cls,
        policy: Policy,
        moves: Sequence[Move],
        *_: Any,
        margin: int | None = None,
        **options: Any,
    ) -> Self:
        """The largest rate, and the default margin for it. options: the other fields."""
        made = super().fit(policy, moves, **options)
        return replace(made, margin=wide_margin(made.rate) if margin is None else margin)

    @property
    def coarse_rate(self) -> Loss:
        """The rate of the first, coarse noise."""
        return self.rate * _HALF

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> AdaptiveAnswers:
        """Ask for all of ``values``, in their order.

        Errors: DataError unless ``values`` is a one-dimensional array of counts, as many as there
        are thresholds if each has its own.
        """
        counts, levels = with_thresholds(values, self.thresholds)
        source = SecureNoise() if noise is None else noise
        coarse, fine = (
            self.with_noise(counts, one, source) for one in (self.coarse_rate, self.rate)
        )
        room, purse = self.margin, self.max_answers
        return decide_adaptively(coarse, fine, levels, margin=room, purse=purse, sign=self.sign)


def decide_adaptively(
    coarse: IntArray,
    fine: IntArray,
    thresholds: IntArray,
    *,
    margin: int,
    purse: int,
    sign: int = 1,
) -> AdaptiveAnswers:
    """What becomes of each query, from both of its noisy counts. The only place that decides.

    purse: how many fine answers may be given; a coarse one takes half. sign: that of the noise.

    >>> two = np.array([9, 9])
    >>> decide_adaptively(two, two, np.array([5, 5]), margin=9, purse=1).answered.tolist()
    [True, False]
    """
    over = sign * (coarse - thresholds)
    far = over > margin
    near = ~far & (sign * fine > sign * thresholds)
    spent = np.cumsum(2 * near + far)  # in halves, as if it never stopped
    before = spent - (2 * near + far)
    whole_left = before <= 2 * purse - 2
    # Where half a unit was left, the first coarse count above its threshold is the last answer.
    after = np.flatnonzero(~whole_left)
    start = int(after[0]) if after.size else coarse.size
    half_left = start < coarse.size and int(before[start]) == 2 * purse - 1
    above = over > 0
    rest = np.arange(coarse.size) >= start
    last = rest & above & half_left
    last &= np.cumsum(last) == 1
    stop = int(np.flatnonzero(last)[0]) if last.any() else (coarse.size if half_left else start)
    reached = np.arange(coarse.size) < stop
    cheap = (far & whole_left) | last
    answered = ((far | near) & whole_left) | last
    certified = ~answered & (whole_left | (rest & reached))
    return AdaptiveAnswers(
        certified, answered, cheap, np.where(cheap, coarse, np.where(answered, fine, 0))
    )


def wide_margin(upper_rate: Loss) -> int:
    """Two standard deviations of noise at half of this rate, rounded up.

    >>> wide_margin(Fraction(1, 10))
    40
    """
    law = TwoSidedGeometric(upper_rate * _HALF, INFINITE)
    return math.ceil(2 * math.sqrt(law.variance()))


_BITS: Final = 128
# Beyond this many nats a tail is bounded by 2^-4096 and not told apart from smaller ones.
_DEEPEST: Final = 2048


@dataclass(frozen=True)
class TruncatedCounts(Fitted):
    """Release ``z = count + T`` for each count, T a geometric truncated to 0 .. ``width``.

    Promise: ``z - width <= count <= z``, always. Along a move that lowers the counts by ``fall``
    in total, each by at most ``per_key``: loss ``upper_rate * fall`` except with the probability
    ``delta(shift)``. Both are exact. A rise has infinite loss.
    Units: rate in nats per count; answers in counts.

    Proof. ``Pr[T = k] = (1 - q) q^k / (1 - q^(width + 1))`` with ``q = e^-rate``. When a count
    falls by s, an output z = f + k has its probability divided by exactly ``e^(rate s)`` if
    ``k <= width - s``, and is impossible otherwise; that is ``Pr[T > width - s]``. Counts are
    independent, so some count gives an impossible output with probability
    ``1 - prod(1 - Pr[T > width - s_i])``. ``ln Pr[T <= width - s]`` is concave in s, so of all
    falls with the same total the one that lowers as few counts as possible, each by ``per_key``,
    has the largest probability.

    For one count that falls by one no noise on 0 .. width has a smaller δ at that loss: δ is at
    least any ``sum c_k (Pr[T = k] - e^rate Pr[T = k + 1])`` with ``0 <= c_k <= 1``; take ``c_k =
    (e^(rate (k + 1)) - 1) / (e^(rate (width + 1)) - 1)``, for which the sum is the same for all T.
    No δ is 0: what is certain on both sides tells, now and then, a count from any smaller one.

    Source: ours. Errors: ParameterError.

    >>> from onesided.mechanism import TruncatedCounts
    >>> TruncatedCounts(1, width=10).per_key
    1
    """

    upper_rate: Rate = Field(rate)
    _: KW_ONLY
    width: Whole = Field(whole, least=1)
    per_key: Whole = Field(whole, least=1, default=1)

    _what = "a truncated count"
    _instead = "Counts, whose bounds are then not certain"

    @classmethod
    def fit(cls, policy: Policy, moves: Sequence[Move], *, delta: Number) -> Self:
        """The least width that keeps ``(epsilon, delta)`` along every move.

        A unit in several groups meets the end of the noise in each of them, so the width grows
        with the number of groups as the rate falls.
        Errors: ParameterError for δ outside (0, 1).
        """
        hint = "Use less than one in the number of people, for example 1e-6."
        share = strict_share(delta, name="delta", hint=hint)
        upper = cls._largest(policy, moves, width=1)
        widest = max((move.shift.fall for move in moves), default=0)
        return cls(upper, width=_least_width(upper, widest, share))

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> IntArray:
        """Noisy counts. Errors: DataError unless ``values`` is an array of counts."""
        counts = counts_of(values)
        source = SecureNoise() if noise is None else noise
        # G = (width + 1) H + T with H and T independent: the remainder is truncated exactly.
        return counts + source.geometric(self.upper_rate, counts.size) % (self.width + 1)

    def loss(self, shift: Shift) -> Loss:
        """``upper_rate * fall``, up to :meth:`delta`; INFINITE if any count rises."""
        return self.upper_rate * shift.fall + INFINITE * shift.rise

    def delta(self, shift: Shift) -> Fraction:
        """The probability of an output that is impossible after the fall, rounded up."""
        if isinstance(self.loss(shift), Infinite) or isinstance(self.upper_rate, Infinite):
            return Fraction(0)
        return _delta(self.upper_rate, self.width, shift.fall, self.per_key)

    def interval(self, noisy: IntArray) -> Interval:
        """Bounds on the true counts, both certain, from what :meth:`release` gave."""
        lower = np.maximum(noisy - self.width, 0)
        return Interval(lower=lower, upper=noisy, lower_certain=True, upper_certain=True)


def _delta(upper: Fraction, width: int, fall: int, per_key: int) -> Fraction:
    """``1 - prod(Pr[T <= width - s_i])`` for the worst split of ``fall``, rounded up."""
    if fall == 0:
        return Fraction(0)
    places = _BITS + 2 * min(int(upper * (width + 1)), _DEEPEST)
    many, rest = divmod(fall, per_key)
    safe = power_down(_safe(upper, width, per_key, places), many, places)
    return 1 - _down(safe * _safe(upper, width, rest, places), places)


def _safe(upper: Fraction, width: int, fall: int, places: int) -> Fraction:
    """At most ``Pr[T <= width - fall] = (1 - q^(width + 1 - fall)) / (1 - q^(width + 1))``."""
    if fall > width or fall == 0:
        return Fraction(int(fall == 0))
    tail = exp_neg_bounds(upper * (width + 1 - fall), bits=places)[1]
    whole_tail = exp_neg_bounds(upper * (width + 1), bits=places)[0]
    return _down(max(Fraction(0), 1 - tail) / (1 - whole_tail), places)


def power_down(base: Fraction, count: int, places: int) -> Fraction:
    """At most ``base ** count``, without ever longer fractions."""
    power = Fraction(1)
    while count:
        if count & 1:
            power = _down(power * base, places)
        base, count = _down(base * base, places), count >> 1
    return power


def _down(number: Fraction, places: int) -> Fraction:
    return Fraction((number.numerator << places) // number.denominator, 1 << places)


def _least_width(upper: Loss, fall: int, share: Fraction) -> int:
    """The least width at which ``fall`` counts that fall by one keep δ. Larger widths keep it."""
    if isinstance(upper, Infinite):
        return 1

    def enough(width: int) -> bool:
        if width > MAX_COUNT or upper * width > _DEEPEST:
            raise ParameterError(
                f"No width below 2^62 keeps delta at the rate {upper}.", hint="Use a larger ε or δ."
            )
        return width > 0 and _delta(upper, width, fall, 1) <= share

    return least_whole(enough, start=1)
