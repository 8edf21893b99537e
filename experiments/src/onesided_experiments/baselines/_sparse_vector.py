"""The sparse vector technique of differential privacy, with free gaps, plain and adaptive."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from onesided.mechanism.kit import (
    Field,
    Move,
    Rate,
    Thresholds,
    Whole,
    count_moves,
    decide,
    settle,
    thresholds_of,
    with_thresholds,
)
from onesided.noise import BoolArray, IntArray, Noise, SecureNoise, TwoSidedGeometric
from onesided.numbers import INFINITE, Loss, Number, rate, whole
from onesided.policy import Policy, Shift


class GapAnswers(NamedTuple):
    """For each query: said to be below, said to be above with a gap, or (neither) not reached.

    Either may be wrong. ``threshold + gap`` estimates the count.
    """

    below: BoolArray
    above: BoolArray
    gaps: IntArray
    """How far noisy count exceeds noisy threshold where ``above``; 0 elsewhere."""


@dataclass(frozen=True)
class GapSparseVector:
    """Say which counts exceed their threshold, by how much, until ``max_answers`` did.

    ``count + N > threshold + R``, with R drawn once at ``threshold_rate`` and N for each query at
    ``query_rate``, both two-sided.

    Promise: where each count moves by at most 1, the loss is at most the smaller of
    ``query_rate (rise + min(c, fall))`` and ``[rise > 0] (threshold_rate + c query_rate) +
    query_rate min(c, fall)``. So for counts that only fall or only rise, half the query noise of
    the general case does (Lyu, Su and Li 2017, Theorem 5); and without rises the threshold needs
    no noise at all.
    Units: rates in nats per count.

    Proof. Let r_i, d_i in {0, 1} be what count i rises and falls by. (1) Keep R. For a query below
    shift N by ``-r_i`` (its fall only helps); for one above with a gap by ``d_i - r_i``. (2) If
    anything rises shift R by 1: all below stay below, and one above needs ``1 + d_i - r_i``.

    Source: Dwork and Roth 2014; Lyu, Su and Li 2017, Algorithm 7; Ding et al. 2020 (the gap is
    free: the shifts above keep it). Errors: ParameterError.
    """

    thresholds: Field[int | Sequence[int], Thresholds] = Field(thresholds_of)
    _: KW_ONLY
    threshold_rate: Rate = Field(rate)
    query_rate: Rate = Field(rate)
    max_answers: Whole = Field(whole, least=1)

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
    ) -> GapSparseVector:
        """Rates that keep ``(epsilon, policy)``, split to the least variance of a comparison.

        Where units are in so few groups that paying for each is cheaper than hiding the
        threshold, the threshold gets no noise.
        """
        c = whole(max_answers, name="max_answers", least=1)
        moves = count_moves(policy, epsilon=epsilon, max_groups=max_groups, counted=counted)
        threshold_rate, query_rate = _split(moves, c, each=Fraction(1))
        return cls(thresholds, threshold_rate=threshold_rate, query_rate=query_rate, max_answers=c)

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> GapAnswers:
        """The answers for an array of counts, in order. Errors: DataError."""
        counts, levels = with_thresholds(values, self.thresholds)
        source = SecureNoise() if noise is None else noise
        hidden = source.two_sided(self.threshold_rate, self.threshold_rate, 1)[0]
        noisy = counts + source.two_sided(self.query_rate, self.query_rate, counts.size) - hidden
        below, above, shown = decide(noisy, levels, left=self.max_answers)
        return GapAnswers(below, above, np.where(above, shown - levels, 0))

    def loss(self, shift: Shift) -> Loss:
        """The bound above."""
        return _loss(shift, self.max_answers, self.threshold_rate, self.query_rate, Fraction(1))

    def gap_variance(self) -> float:
        """The variance of ``threshold + gap`` as an estimate, before selection."""
        return sum(
            TwoSidedGeometric(r, r).variance() for r in (self.threshold_rate, self.query_rate)
        )


class AdaptiveGapAnswers(NamedTuple):
    """As :class:`GapAnswers`; ``cheap`` marks the queries that paid half for being far above."""

    below: BoolArray
    above: BoolArray
    cheap: BoolArray
    gaps: IntArray


@dataclass(frozen=True, slots=True)
class AdaptiveGapSparseVector:
    """A sparse vector that pays half for queries far above their threshold, so answers more.

    Each query is first compared with ``threshold + margin`` under twice the noise (half the
    rate); if that fails, with the threshold at ``query_rate``. The first kind of success costs 1,
    the second 2, of a purse of ``2 max_answers``; the stream stops when less than 2 are left. So it
    gives from ``max_answers`` to ``2 max_answers - 1`` answers.

    Promise: as :class:`GapSparseVector`, but a rise that is paid for on its own costs 3/2
    query_rate, for two comparisons must then be kept.
    Proof: as there. A failed first comparison needs no shift where the second has none that is
    negative; a successful one never looks at the second. The costs of the answered add up to at
    most ``2 max_answers`` halves of query_rate.
    Units: rates in nats per count; the margin in counts.

    Source: Ding, Wang, Xiao and Zhang 2020, Algorithm 2. Errors: ParameterError.
    """

    thresholds: Thresholds
    threshold_rate: Loss
    query_rate: Loss
    max_answers: int
    margin: int

    def __init__(
        self,
        thresholds: int | Sequence[int],
        *,
        threshold_rate: Loss | Number,
        query_rate: Loss | Number,
        max_answers: int,
        margin: int | None = None,
    ) -> None:
        asked = rate(query_rate, name="query_rate")
        half = _half(asked)
        usual = round(2 * TwoSidedGeometric(half, half).variance() ** 0.5)
        settle(
            self,
            thresholds=thresholds_of(thresholds),
            threshold_rate=rate(threshold_rate, name="threshold_rate"),
            query_rate=asked,
            max_answers=whole(max_answers, name="max_answers", least=1),
            margin=whole(usual if margin is None else margin, name="margin"),
        )

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
        margin: int | None = None,
    ) -> AdaptiveGapSparseVector:
        """Rates that keep ``(epsilon, policy)``; the margin is two deviations unless given."""
        c = whole(max_answers, name="max_answers", least=1)
        moves = count_moves(policy, epsilon=epsilon, max_groups=max_groups, counted=counted)
        threshold_rate, query_rate = _split(moves, c, each=Fraction(3, 2))
        return cls(
            thresholds,
            threshold_rate=threshold_rate,
            query_rate=query_rate,
            max_answers=c,
            margin=margin,
        )

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> AdaptiveGapAnswers:
        """The answers for an array of counts, in order. Errors: DataError."""
        counts, levels = with_thresholds(values, self.thresholds)
        source = SecureNoise() if noise is None else noise
        hidden = source.two_sided(self.threshold_rate, self.threshold_rate, 1)[0]
        half = _half(self.query_rate)
        rough = counts + source.two_sided(half, half, counts.size) - hidden - levels
        fine = counts + source.two_sided(self.query_rate, self.query_rate, counts.size) - hidden
        far = rough > self.margin
        over = far | (fine - levels > 0)
        price = np.where(far, 1, np.where(over, 2, 0))
        reached = np.cumsum(price) - price <= 2 * self.max_answers - 2
        above, cheap = over & reached, far & reached
        gaps = np.where(above, np.where(far, rough, fine - levels), 0)
        return AdaptiveGapAnswers(~over & reached, above, cheap, gaps)

    def loss(self, shift: Shift) -> Loss:
        """The bound above."""
        return _loss(shift, self.max_answers, self.threshold_rate, self.query_rate, Fraction(3, 2))


def _loss(shift: Shift, c: int, threshold_rate: Loss, query_rate: Loss, each: Fraction) -> Loss:
    """The smaller of paying for each rise (``each`` query rates) and hiding the threshold."""
    falls = query_rate * min(c, shift.fall)
    if not shift.rise:
        return falls
    one_by_one = query_rate * (each * shift.rise)
    return min(one_by_one, threshold_rate + query_rate * c) + falls


def _split(moves: Sequence[Move], c: int, *, each: Fraction) -> tuple[Loss, Loss]:
    """``(threshold_rate, query_rate)``: feasible, near the least variance of their sum."""
    if not moves:
        return INFINITE, INFINITE
    falls = {move: min(c, move.shift.fall) for move in moves}
    bare = min(move.loss / (each * move.shift.rise + falls[move]) for move in moves)
    hidden = [move for move in moves if move.shift.rise]
    if not hidden:
        return INFINITE, bare
    # Lyu, Su and Li 2017, Section 4.2: shares in proportion 1 : (c or 2c)^(2/3).
    times = c + max(falls[move] for move in hidden)
    share = Fraction(1 / (1 + float(times) ** (2 / 3))).limit_denominator(1000)
    threshold_rate = share * min(move.loss for move in hidden)
    shared = min(
        (move.loss - threshold_rate) / (c + falls[move])
        if move.shift.rise
        else move.loss / falls[move]
        for move in moves
    )
    return (INFINITE, bare) if bare >= shared else (threshold_rate, shared)


def _half(query_rate: Loss) -> Loss:
    return query_rate * Fraction(1, 2)
