"""Noisy top-k as differential privacy does it, with the gaps that come free."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onesided.errors import DataError
from onesided.mechanism.kit import Field, Rate, Whole, count_moves, counts_of, largest_rate
from onesided.noise import IntArray, Noise, SecureNoise, TwoSidedGeometric
from onesided.numbers import Loss, Number, positive, rate, strict_share, whole
from onesided.policy import Policy, Shift

# Measured values and free gaps, combined by precision. Post-processing.


def combine_leads(
    measured: NDArray[np.int64], leads: NDArray[np.int64], *, variance_ratio: Number
) -> NDArray[np.float64]:
    """The best linear unbiased estimate from measured counts and free leads.

    measured: counts of the selected items, with noise of their own.
    leads: how far each selected item's ranking value was above one common value (:class:`GapTopK`).
    variance_ratio: variance of the ranking noise over that of the measuring noise.
    Post-processing. The mean comes from the measurements; what an item differs from the mean by
    comes from both, weighted by their precision. Error falls to ``(1 + ratio k) / (k + ratio k)``
    of the measurements' alone, which is ``(k + 1) / (2k)`` at equal noise.

    Source: Ding, Wang, Xiao and Zhang 2020, Theorem 3 (written anew: ours needs no matrix).
    Errors: DataError unless there is one lead for each measurement; ParameterError.
    """
    if measured.shape != leads.shape:
        raise DataError(
            f"There are {measured.size} measurements for {leads.size} leads.",
            hint="Measure exactly the selected items, in the order they were given.",
        )
    ratio = float(positive(variance_ratio, name="variance_ratio"))
    centre = measured.mean()
    combined: NDArray[np.float64] = centre + (
        ratio * (measured - centre) + (leads - leads.mean())
    ) / (1 + ratio)
    return combined


def combine_gaps(
    measured: NDArray[np.int64],
    gaps: NDArray[np.int64],
    *,
    thresholds: ArrayLike,
    variance_ratio: Number,
) -> NDArray[np.float64]:
    """Measured counts and ``threshold + gap`` averaged by precision, one query at a time.

    variance_ratio: variance of the gap's noise (threshold noise included) over the measurement's.
    Post-processing. Source: Ding, Wang, Xiao and Zhang 2020, Section 6.
    Errors: DataError unless there is one gap for each measurement; ParameterError.
    """
    if measured.shape != gaps.shape:
        raise DataError(
            f"There are {measured.size} measurements for {gaps.size} gaps.",
            hint="Measure exactly the answered queries, in their order.",
        )
    ratio = float(positive(variance_ratio, name="variance_ratio"))
    guesses = np.asarray(thresholds, dtype=np.int64) + gaps
    combined: NDArray[np.float64] = (ratio * measured + guesses) / (1 + ratio)
    return combined


class GapTopKAnswer(NamedTuple):
    """Positions of the selected counts, largest first, and each one's lead.

    A lead is how far a noisy value is above the best unselected one, rounded down as if values had
    random fractions.
    """

    indices: IntArray
    leads: IntArray

    @property
    def gaps(self) -> IntArray:
        """From each selected item to the next, the last to the best unselected one."""
        following: IntArray = np.append(self.leads[1:], 0)
        return self.leads - following


@dataclass(frozen=True)
class GapTopK:
    """Positions of the ``k`` largest of ``count + G - G'``, with their leads over the rest.

    Promise: where each count moves by at most 1, the loss is at most ``noise_rate * min(m, rise +
    fall)`` with ``m = k`` if the counts only fall or only rise, and ``m = 2k`` if they may do
    both. So monotone counts need half the noise, and few groups of a unit need less still.
    Units: rate in nats per count.

    Why ranks enter the leads: the proof shifts the noise of the selected until they are as far
    above the best unselected value as before. With continuous noise that is all. With whole
    numbers the *best* unselected item may change at a tie and bring another tie-break: with plain
    differences and ties by position the loss is up to twice the promise (counts 2, 2, 0, 0; the
    first two rise; k = 1; the third is selected at gap 0). Give each item a uniform fraction U
    instead: ``w = count + G - G' + U`` has a density that is constant between whole numbers, so a
    shift by at most s changes it by at most ``e^(rate ceil(s))``, and there are no ties. Order and
    ``floor(w_i - w_best unselected)`` depend on the fractions through their ranks alone, and those
    are a random permutation.

    Proof of the bound. (1) Shift each noise by what its count moved: the same answer at
    ``rate (rise + fall)``. (2) Keep the unselected noise; let M, M' be the best unselected value on
    X, Y; shift selected i by ``f_i - f'_i + M' - M``: the same answer. Both parts lie in [-1, 1]
    and, if counts only fall (or only rise), have opposite signs.

    Source: Ding, Wang, Xiao and Zhang 2020 (free gap), Algorithm 1. Errors: ParameterError.
    """

    k: Whole = Field(whole, least=1)
    _: KW_ONLY
    noise_rate: Rate = Field(rate)

    @classmethod
    def for_policy(
        cls,
        policy: Policy,
        *,
        k: int,
        epsilon: Number,
        max_groups: int | None = None,
        counted: Iterable[str] | None = None,
    ) -> GapTopK:
        """The least noise that keeps ``(epsilon, policy)`` for counts of units by group."""
        most = whole(k, name="k", least=1)
        moves = count_moves(policy, epsilon=epsilon, max_groups=max_groups, counted=counted)
        return cls(most, noise_rate=largest_rate(moves, lambda shift: _cost(shift, most)))

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> GapTopKAnswer:
        """The answer for an array of counts.

        Errors: DataError unless ``values`` is a one-dimensional array of more than ``k`` counts.
        """
        counts = counts_of(values)
        if counts.size <= self.k:
            raise DataError(
                f"The {self.k} largest of {counts.size} counts were asked for, with leads.",
                hint="A lead needs at least one count that is not selected.",
                k=self.k,
                keys=counts.size,
            )
        source = SecureNoise() if noise is None else noise
        noisy = counts + source.two_sided(self.noise_rate, self.noise_rate, counts.size)
        cut = np.partition(noisy, counts.size - self.k - 1)[counts.size - self.k - 1]
        reach = np.flatnonzero(noisy >= cut)
        ranks = source.permutation(reach.size)
        order = np.lexsort((-ranks, -noisy[reach]))[: self.k + 1]
        values_, ranks = noisy[reach][order], ranks[order]
        leads = values_[:-1] - values_[-1] - (ranks[:-1] < ranks[-1])
        return GapTopKAnswer(reach[order[:-1]], leads)

    def loss(self, shift: Shift) -> Loss:
        """``noise_rate * min(k or 2k, rise + fall)``."""
        return self.noise_rate * _cost(shift, self.k)


class MeasuredTopKAnswer(NamedTuple):
    """Positions and leads, the selected counts measured on their own, and both combined."""

    indices: IntArray
    leads: IntArray
    measured: IntArray
    combined: NDArray[np.float64]


@dataclass(frozen=True)
class MeasuredTopK:
    """Select with :class:`GapTopK`, measure the selected with two-sided noise, combine the two.

    Promise: at most ``select.loss + measure_rate * min(k, rise + fall)``, by composition: given
    what was selected, the measurement is of ``k`` counts that each move by at most 1.
    Units: rates in nats per count. Errors: ParameterError.
    Source: Ding, Wang, Xiao and Zhang 2020, Section 5; the competitor in ADP-2021 Section 6.2.
    """

    select: GapTopK
    _: KW_ONLY
    measure_rate: Rate = Field(rate)

    @classmethod
    def for_policy(
        cls,
        policy: Policy,
        *,
        k: int,
        epsilon: Number,
        share: Number = Fraction(1, 2),
        max_groups: int | None = None,
        counted: Iterable[str] | None = None,
    ) -> MeasuredTopK:
        """Spend ``share`` of ``epsilon`` on selecting and the rest on measuring."""
        part = strict_share(share, name="share", hint="Use 1/2, as in the paper.")
        budget = positive(epsilon, name="epsilon")
        select = GapTopK.for_policy(
            policy, k=k, epsilon=budget * part, max_groups=max_groups, counted=counted
        )
        moves = count_moves(
            policy, epsilon=(1 - part) * budget, max_groups=max_groups, counted=counted
        )
        measure_rate = largest_rate(moves, lambda shift: min(select.k, shift.rise + shift.fall))
        return cls(select, measure_rate=measure_rate)

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> MeasuredTopKAnswer:
        """The answer for an array of counts. Errors: as :meth:`GapTopK.release`."""
        counts = counts_of(values)
        source = SecureNoise() if noise is None else noise
        indices, leads = self.select.release(counts, noise=source)
        measured = counts[indices] + source.two_sided(
            self.measure_rate, self.measure_rate, indices.size
        )
        # Variance of the ranking noise over the measuring noise; None where one is 0.
        ranking = TwoSidedGeometric(self.select.noise_rate, self.select.noise_rate).variance()
        measuring = TwoSidedGeometric(self.measure_rate, self.measure_rate).variance()
        # The fractions of two ranks: a difference of two uniforms, shared as 1/12 for each.
        ratio = (ranking + 1 / 12) / measuring if measuring > 0 else None
        combined = (
            measured.astype(np.float64)
            if ratio is None
            else combine_leads(measured, leads, variance_ratio=ratio)
        )
        return MeasuredTopKAnswer(indices, leads, measured, combined)

    def loss(self, shift: Shift) -> Loss:
        """``select.loss`` plus ``measure_rate * min(k, rise + fall)``."""
        moved = min(self.select.k, shift.rise + shift.fall)
        return self.select.loss(shift) + self.measure_rate * moved


def _cost(shift: Shift, k: int) -> int:
    """How many times the rate a move loses: halved where counts go one way only."""
    most = 2 * k if shift.rise and shift.fall else k
    return min(most, shift.rise + shift.fall)
