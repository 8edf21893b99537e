"""A count that grows with time, told at every step."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onesided._numbers import INFINITE, MAX_COUNT, Loss, Number, positive, rate, regular, whole
from onesided.errors import DataError, ParameterError
from onesided.mechanism._base import counts_of
from onesided.mechanism._counts import CONFIDENCE, Interval, confident
from onesided.mechanism._rates import rates_for
from onesided.mechanism._tails import tail_bound
from onesided.noise import IntArray, Noise, SecureNoise, TwoSidedGeometric
from onesided.policy import GroupCount, Policy, Shift

_MOST_STEPS: Final = 2**40


@dataclass(frozen=True, slots=True)
class ContinualAnswer:
    """What was counted up to and including step ``time``.

    noisy: one number per column, the sum of ``nodes`` noisy sums of past steps. laws: each of
    those sums' noise. estimate: unbiased.
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

        The other holds for each answer on its own with at least ``confidence``.
        """
        wide = tail_bound([(law, 1.0) for law in self.laws], confident(confidence))
        lower_certain = all(law.upper == INFINITE for law in self.laws)
        upper_certain = all(law.lower == INFINITE for law in self.laws)
        lower = self.noisy if lower_certain else np.floor(self.estimate - wide)
        upper = self.noisy if upper_certain else np.ceil(self.estimate + wide)
        return Interval(
            np.asarray(lower, dtype=np.int64),
            np.asarray(upper, dtype=np.int64),
            lower_certain,
            upper_certain,
        ).at_least(0)


@dataclass(frozen=True, slots=True)
class ContinualCount:
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
    """

    upper_rate: Loss
    lower_rate: Loss
    horizon: int | None
    width: int

    def __init__(
        self,
        upper_rate: Loss | Number,
        lower_rate: Loss | Number,
        *,
        horizon: int | None,
        width: int = 1,
    ) -> None:
        steps = None if horizon is None else _steps(horizon)
        object.__setattr__(self, "upper_rate", rate(upper_rate, name="upper_rate"))
        object.__setattr__(self, "lower_rate", rate(lower_rate, name="lower_rate"))
        object.__setattr__(self, "horizon", steps)
        object.__setattr__(self, "width", whole(width, name="width", least=1))
        self.law(_MOST_STEPS if steps is None else 1)  # refuses rates too small to draw

    @classmethod
    def for_policy(
        cls,
        policy: Policy,
        *,
        epsilon: Number,
        horizon: int | None,
        width: int = 1,
        max_events: int | None = None,
    ) -> ContinualCount:
        """The least noise that keeps ``(epsilon, policy)`` for the whole stream.

        max_events: how often one unit may be counted, over all steps and columns; None is the
            policy's own: presence's bound, else once.
        """
        query = GroupCount(max_groups=max_events)
        upper, lower = rates_for(policy, query, positive(epsilon, name="epsilon"))
        return cls(upper, lower, horizon=horizon, width=width)

    def stream(self, *, noise: Noise | None = None) -> ContinualStream:
        """A stream at its first step. It holds true counts: keep it where the data are."""
        return ContinualStream(self, SecureNoise() if noise is None else noise)

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> IntArray:
        """The noisy answers at every step, shape (steps,), or (steps, width) for several columns.

        Errors: DataError for what are no counts, or more steps than the horizon.
        """
        array = regular(values)
        if array.ndim != (1 if self.width == 1 else 2):
            raise DataError(
                f"A stream of {self.width} columns does not fit values of shape {array.shape}.",
                hint="Give one row per step.",
            )
        stream = self.stream(noise=noise)
        found = [stream.step(step).noisy for step in array.reshape(len(array), -1)]
        answers = np.array(found, dtype=np.int64).reshape(len(array), self.width)
        return answers[:, 0] if self.width == 1 else answers

    def loss(self, shift: Shift) -> Loss:
        """``upper_rate * fall + lower_rate * rise``, for all answers together."""
        return self.upper_rate * shift.fall + self.lower_rate * shift.rise

    def levels(self, time: int) -> int:
        """How many nodes a count of step ``time`` may be in."""
        if self.horizon is not None:
            return self.horizon.bit_length()
        return _steps(time).bit_length()

    def law(self, time: int) -> TwoSidedGeometric:
        """The noise of the nodes that hold step ``time``."""
        share = Fraction(1, self.levels(time))
        return TwoSidedGeometric(self.upper_rate * share, self.lower_rate * share)

    def variance(self, time: int) -> float:
        """The variance of the estimate at ``time``, known before anything is drawn."""
        if self.horizon is not None:
            return self.law(time).variance() * time.bit_count()
        blocks = time.bit_length() - 1
        over = sum((self.law(2**j).variance() for j in range(blocks)), 0.0)
        # Within the last block, time - 2^blocks + 1 steps are over.
        return float(over + self.law(time).variance() * (time - 2**blocks + 1).bit_count())


class ContinualStream:
    """Steps of one stream, in order. ``past`` are the answers given, which never change."""

    def __init__(self, mechanism: ContinualCount, noise: Noise) -> None:
        self.mechanism = mechanism
        self.time = 0
        self._noise = noise
        self._total = np.zeros(mechanism.width, dtype=np.int64)
        self._done: list[tuple[IntArray, TwoSidedGeometric]] = []
        # Per open level: the true sum of its node, and the noisy one. True sums never leave.
        self._open: list[tuple[int, IntArray, IntArray, TwoSidedGeometric]] = []

    def step(self, counts: ArrayLike) -> ContinualAnswer:
        """What came in the next step; the answer up to and including it.

        Errors: DataError for what are no counts, or after the horizon; nothing is then drawn.
        """
        new = self._checked(counts)
        self.time += 1
        self._total = self._total + new
        level, sums = 0, new
        # Nodes of equal size merge; the new node alone is drawn, and only once.
        while self._open and self._open[-1][0] == level:
            sums = sums + self._open.pop()[1]
            level += 1
        law = self.mechanism.law(self.time)
        noisy = sums + self._noise.two_sided(law.upper, law.lower, sums.size)
        self._open.append((level, sums, noisy, law))
        answer = self._answer()
        if self._block_over(level):
            self._done.append((noisy, law))
            self._open.clear()
        return answer

    def _answer(self) -> ContinualAnswer:
        parts = [*self._done, *((noisy, law) for _, _, noisy, law in self._open)]
        total: IntArray = np.asarray(np.sum([noisy for noisy, _ in parts], axis=0), dtype=np.int64)
        return ContinualAnswer(self.time, total, tuple(law for _, law in parts))

    def _block_over(self, level: int) -> bool:
        """Without a horizon, whether the block of 2^level steps ends here: at time 2^(j+1) - 1."""
        return self.mechanism.horizon is None and self.time + 1 == 2 << level

    def _checked(self, counts: ArrayLike) -> IntArray:
        horizon = self.mechanism.horizon
        if horizon is not None and self.time >= horizon:
            raise DataError(
                f"The stream's horizon of {horizon:,} steps is over.",
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
            int(old) + int(more) > MAX_COUNT for old, more in zip(self._total, new, strict=True)
        ):
            raise DataError("The stream's sum does not fit 62 bits.", hint="Check for overflow.")
        return new


def _steps(number: int) -> int:
    try:
        return whole(number, name="horizon", least=1, most=_MOST_STEPS)
    except ParameterError as error:
        raise ParameterError(
            f"A horizon is a number of steps from 1 to 2^40, got {number!r}.",
            hint="Use None for a stream without an end.",
            value=number,
        ) from error
