"""A count that grows with time, told at every step: noisy sums over a binary tree of steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onesided.errors import DataError, ParameterError
from onesided.mechanism import Interval, isotonic
from onesided.mechanism.kit import (
    CONFIDENCE,
    Field,
    MaybeWhole,
    Move,
    Once,
    Rate,
    TwoRates,
    Whole,
    counts_of,
    shared,
    tail_bound,
)
from onesided.noise import IntArray, Noise, SecureNoise, TwoSidedGeometric
from onesided.numbers import INFINITE, Loss, Number, many, rate, whole
from onesided.policy import Policy, Shift

_MOST_STEPS: Final = 2**40
_MOST: Final = 2**62


@dataclass(frozen=True, slots=True)
class ContinualAnswer:
    """What was counted up to and including step ``time``.

    noisy: one number per column, the sum of ``nodes`` noisy sums of past steps. laws: each of
    those sums' noise. estimate: unbiased.

    >>> ContinualAnswer(3, np.array([5, 0]), ()).interval().upper.tolist()
    [5, 0]
    """

    time: int
    noisy: IntArray
    laws: tuple[TwoSidedGeometric, ...]

    @property
    def nodes(self) -> int:
        """How many noisy sums make up the answer."""
        return len(self.laws)

    @property
    def estimate(self) -> NDArray[np.float64]:
        """The answer with the noise's mean taken out."""
        return np.asarray(self.noisy - sum(law.mean() for law in self.laws), dtype=np.float64)

    @property
    def variance(self) -> float:
        """The estimate's variance."""
        return float(sum(law.variance() for law in self.laws))

    def interval(self, *, confidence: Number = CONFIDENCE) -> Interval:
        """Bounds on the true counts: certain on a side without noise, at all times at once.

        The rest holds for each answer on its own with at least ``confidence``.
        """
        lower_certain = all(law.upper == INFINITE for law in self.laws)
        upper_certain = all(law.lower == INFINITE for law in self.laws)
        sides = 2 - lower_certain - upper_certain
        wide = tail_bound([(law, 1.0) for law in self.laws], shared(confidence, sides))
        lower = self.noisy if lower_certain else np.floor(self.estimate - wide)
        upper = self.noisy if upper_certain else np.ceil(self.estimate + wide)
        return Interval(
            np.asarray(lower, dtype=np.int64),
            np.asarray(upper, dtype=np.int64),
            lower_certain,
            upper_certain,
        ).at_least(0)


def _steps(number: int, *, name: str = "horizon") -> int:
    try:
        return whole(number, name=name, least=1, most=_MOST_STEPS)
    except ParameterError as error:
        raise ParameterError(
            f"A horizon is a number of steps from 1 to 2^40, got {number!r}.",
            hint="Use None for a stream without an end.",
            value=number,
        ) from error


@dataclass(frozen=True)
class ContinualCount(TwoRates):
    """At every step, how many there have been so far: noisy sums over a binary tree of steps.

    horizon: how many steps there will be, or None for a stream without an end.
    width: how many counts come with each step; 1 for a single one, and for places or cells, or
        for the rows of a strategy over them, as many as there are.
    A node is the sum of 2^k steps in a row, noisy once and for all when its last step is over. The
    answer at time t is the sum of one node for every bit of t.

    Promise: along a move with ``Shift(rise, fall)``, summed over all steps and columns, the loss
    of all answers together is at most ``upper_rate * fall + lower_rate * rise``, and exactly that
    for what moves in the first step.
    Proof: a step is in at most one node of each of the L levels, L the bits of the horizon, and a
    node falls and rises by no more than its steps; each node has its own noise at the rates over
    L. Answers are sums of nodes. Steps may depend on earlier answers, for so may noisy sums.
    Without a horizon steps are cut into blocks of 1, 2, 4, ... of them. The block of 2^j steps
    is a tree of its own with j + 1 levels, at the rates over j + 1; a step is in one block alone,
    so that the loss is the same however long the stream gets, and noise grows with log t.
    Direction: with ``lower_rate=INFINITE`` no answer is ever below the truth, at any time; with
    ``upper_rate=INFINITE`` none is above it.
    Units: rates in nats per count, for all levels together; answers in counts.
    Source: Dwork, Naor, Pitassi, Rothblum 2010; Chan, Shi, Song 2011; one-sided noise is ours.
    Errors: ParameterError.

    >>> from onesided import policy
    >>> from onesided_experiments.continual import ContinualCount
    >>> visits = policy.presence(max_groups=1)
    >>> print(ContinualCount.for_policy(visits, epsilon=1, horizon=4, max_events=5).upper_rate)
    1/5
    """

    upper_rate: Rate = Field(rate)
    lower_rate: Rate = Field(rate)
    _: KW_ONLY
    horizon: MaybeWhole = Field(_steps, optional=True)
    width: Whole = Field(whole, least=1, default=1)

    def __post_init__(self) -> None:
        self.law(_MOST_STEPS if self.horizon is None else 1)  # refuses rates too small to draw

    @classmethod
    def fit(
        cls, policy: Policy, moves: Sequence[Move], *, max_events: int | None = None, **options: Any
    ) -> Self:
        """The least noise for the whole stream. options: ``horizon`` and ``width``.

        max_events: how often one unit may be counted, over all steps and columns. None is the
            policy's own: each of presence's groups once, else once.
        Which way a move shifts counts is the policy's to say. Where it may, all of a unit's
        events go or come at once: one place that is dropped may hold every one of them.
        """
        if max_events is not None:
            most = whole(max_events, name="max_events", least=1)
            moves = [
                replace(
                    move,
                    shift=Shift(
                        rise=most * bool(move.shift.rise), fall=most * bool(move.shift.fall)
                    ),
                )
                for move in moves
            ]
        return super().fit(policy, moves, **options)

    def stream(self, *, noise: Noise | None = None) -> ContinualStream:
        """A stream at its first step. It holds true counts: keep it where the data are."""
        return ContinualStream(self, SecureNoise() if noise is None else noise)

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> IntArray:
        """The noisy answers at every step, shape (steps,), or (steps, width) for several columns.

        Errors: DataError for what are no counts, or more steps than the horizon.
        """
        stream = self.stream(noise=noise)
        found = [stream.step(step).noisy for step in np.asarray(values)]
        answers = np.array(found, dtype=np.int64).reshape(-1, self.width)
        return answers[:, 0] if self.width == 1 else answers

    def levels(self, time: int) -> int:
        """How many nodes a count of step ``time`` may be in."""
        if self.horizon is not None:
            return self.horizon.bit_length()
        return _steps(time).bit_length()

    def rising(self, answers: Sequence[ContinualAnswer]) -> NDArray[np.float64]:
        """Estimates that never fall and are never below 0: a row per answer, a column per count.

        answers: those of one stream, in order. The nearest such rows, weighed by 1 / variance: no
        farther from the truth, in these squares, than the unbiased ``estimate`` of each. Earlier
        rows may change when later answers are there; what was answered does not.
        """
        if not answers:
            return np.zeros((0, self.width))
        found = np.array([answer.estimate for answer in answers])
        spread = np.array([answer.variance for answer in answers])
        weights = 1 / spread if (spread > 0).all() else None
        columns = np.broadcast_to(weights, found.T.shape) if weights is not None else None
        return np.maximum(isotonic(found.T, columns).T, 0)

    def law(self, time: int) -> TwoSidedGeometric:
        """The noise of the nodes that hold step ``time``."""
        return _law(self.upper_rate, self.lower_rate, self.levels(time))

    def variance(self, time: int) -> float:
        """The variance of the estimate at ``time``, known before anything is drawn."""
        if self.horizon is not None:
            return self.law(time).variance() * time.bit_count()
        blocks = time.bit_length() - 1
        over = sum((self.law(2**j).variance() for j in range(blocks)), 0.0)
        # Within the last block, time - 2^blocks + 1 steps are over.
        return float(over + self.law(time).variance() * (time - 2**blocks + 1).bit_count())


@lru_cache(maxsize=256)
def _law(upper: Loss, lower: Loss, levels: int) -> TwoSidedGeometric:
    return TwoSidedGeometric(upper * Fraction(1, levels), lower * Fraction(1, levels))


class _Node(NamedTuple):
    """The steps of one node, summed up: the true sum, which never leaves, and the noisy one."""

    level: int
    sums: IntArray
    noisy: IntArray
    law: TwoSidedGeometric


class _State(NamedTuple):
    """A stream after ``time`` steps: nodes of blocks that are over, and those still open."""

    time: int
    total: IntArray
    done: tuple[_Node, ...] = ()
    open: tuple[_Node, ...] = ()


class ContinualStream(Once):
    """Steps of one stream, in order. Answers that were given never change.

    Safe for several threads. It cannot be copied, pickled or used in a fork: each copy would draw
    the next nodes for itself. A step whose draw fails has not been taken, and may be tried again.
    """

    def __init__(self, mechanism: ContinualCount, noise: Noise) -> None:
        super().__init__()
        self.mechanism = mechanism
        self._noise = noise
        self._state = _State(0, np.zeros(mechanism.width, dtype=np.int64))

    @property
    def time(self) -> int:
        """How many steps are over."""
        return self._state.time

    def step(self, counts: ArrayLike) -> ContinualAnswer:
        """What came in the next step; the answer up to and including it.

        Errors: DataError for what are no counts, or after the horizon; nothing is then drawn.
        """
        with self._alone():
            new = self._checked(counts)
            time, total, done, nodes = self._state
            level, sums = 0, new
            # Nodes of equal size merge; the new node alone is drawn, and only once.
            while nodes and nodes[-1].level == level:
                sums = sums + nodes[-1].sums
                nodes, level = nodes[:-1], level + 1
            law = self.mechanism.law(time + 1)
            noisy = sums + self._noise.two_sided(law.upper, law.lower, sums.size)
            nodes = (*nodes, _Node(level, sums, noisy, law))
            every = (*done, *nodes)
            answer = ContinualAnswer(
                time + 1,
                np.asarray(np.sum([node.noisy for node in every], axis=0), dtype=np.int64),
                tuple(node.law for node in every),
            )
            # Without a horizon the block of 2^level steps ends here: at time 2^(level + 1) - 1.
            if self.mechanism.horizon is None and time + 2 == 2 << level:
                done, nodes = (*done, nodes[-1]), ()
            self._state = _State(time + 1, total + new, done, nodes)
        return answer

    def _checked(self, counts: ArrayLike) -> IntArray:
        horizon = self.mechanism.horizon
        if horizon is not None and self._state.time >= horizon:
            raise DataError(
                f"The stream's horizon of {many(horizon, 'step')} is over.",
                hint="Start a new stream, which is charged anew, or use horizon=None.",
                horizon=horizon,
            )
        new = counts_of(np.atleast_1d(np.asarray(counts)))
        if new.size != self.mechanism.width:
            raise DataError(
                f"A step has {self.mechanism.width} counts, got {new.size}.",
                hint="Give every column's count, 0 where nothing came.",
            )
        if any(
            int(old) + int(more) > _MOST for old, more in zip(self._state.total, new, strict=True)
        ):
            raise DataError("The stream's sum does not fit 62 bits.", hint="Check for overflow.")
        return new
