"""The sparse vector that pays half for a count far above its threshold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from onesided._numbers import INFINITE, Loss, Number, rate, whole
from onesided.fields import Field, Rate, Whole
from onesided.mechanism._compounds import Compounds
from onesided.mechanism._paid import count_moves, paid_loss, paid_rate
from onesided.mechanism._sparse_vector import Thresholds, thresholds_of, with_thresholds
from onesided.noise import BoolArray, IntArray, Noise, SecureNoise, TwoSidedGeometric
from onesided.policy import Policy, Shift

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
class AdaptiveSparseVector:
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
    Direction: falls are hidden; a move that raises a count has infinite loss.
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
    upper_rate: Rate = Field(rate)
    max_answers: Whole = Field(whole, least=1)
    per_key: Whole = Field(whole, least=1, default=1)
    margin: Whole = Field(whole, least=0, default=0)

    @classmethod
    def for_policy(
        cls,
        policy: Policy,
        *,
        thresholds: int | Sequence[int],
        epsilon: Number,
        max_answers: int,
        max_groups: int | None = None,
        counted: Iterable[str] | None = None,
        truncated: bool = False,
        compounds: Compounds | None = None,
        margin: int | None = None,
    ) -> AdaptiveSparseVector:
        """The least noise that keeps ``(epsilon, policy)`` for counts of units by group.

        compounds: for the largest counts of these instead.
        Errors: UnprotectableError if some move raises a count, for then nothing can be certain.
        """
        limit = whole(max_answers, name="max_answers", least=1)
        moves = count_moves(
            policy,
            epsilon=epsilon,
            max_groups=max_groups,
            counted=counted,
            truncated=truncated,
            compounds=compounds,
        )
        upper = paid_rate(policy, moves, answers=limit, what="a certified 'at most'")
        wide = wide_margin(upper) if margin is None else margin
        return cls(thresholds, upper_rate=upper, max_answers=limit, margin=wide)

    @property
    def coarse_rate(self) -> Loss:
        """The rate of the first, coarse noise."""
        return self.upper_rate * _HALF

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> AdaptiveAnswers:
        """Ask for all of ``values``, in their order.

        Errors: DataError unless ``values`` is a one-dimensional array of counts, as many as there
        are thresholds if each has its own.
        """
        counts, levels = with_thresholds(values, self.thresholds)
        source = SecureNoise() if noise is None else noise
        coarse = counts + source.geometric(self.coarse_rate, counts.size)
        fine = counts + source.geometric(self.upper_rate, counts.size)
        return decide_adaptively(coarse, fine, levels, margin=self.margin, purse=self.max_answers)

    def loss(self, shift: Shift) -> Loss:
        """``upper_rate * min(fall, max_answers * per_key)``; INFINITE if any count rises."""
        return paid_loss(self.upper_rate, shift, answers=self.max_answers, per_key=self.per_key)


def decide_adaptively(
    coarse: IntArray, fine: IntArray, thresholds: IntArray, *, margin: int, purse: int
) -> AdaptiveAnswers:
    """What becomes of each query, from both of its noisy counts. The only place that decides.

    purse: how many fine answers may be given; a coarse one takes half.

    >>> two = np.array([9, 9])
    >>> decide_adaptively(two, two, np.array([5, 5]), margin=9, purse=1).answered.tolist()
    [True, False]
    """
    far = coarse > thresholds + margin
    near = ~far & (fine > thresholds)
    spent = np.cumsum(2 * near + far)  # in halves, as if it never stopped
    before = spent - (2 * near + far)
    whole_left = before <= 2 * purse - 2
    # Where half a unit was left, the first coarse count above its threshold is the last answer.
    after = np.flatnonzero(~whole_left)
    start = int(after[0]) if after.size else coarse.size
    half_left = start < coarse.size and int(before[start]) == 2 * purse - 1
    above = coarse > thresholds
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
