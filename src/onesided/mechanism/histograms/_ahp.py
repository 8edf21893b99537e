"""AHP: cluster the cells by their noisy counts, then measure the clusters."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import Loss, Number, positive, strict_share
from onesided.errors import ParameterError
from onesided.mechanism._counts import Counts
from onesided.mechanism._rates import rates_for
from onesided.mechanism.histograms._clusters import clusters
from onesided.mechanism.histograms._two_phase import Partition, TwoPhase
from onesided.noise import IntArray, Noise
from onesided.policy import GroupCount, Policy, Shift

# As in the implementation that DPBench ran (Hay et al. 2016): most of ε finds the clusters.
SHARE: Final = "17/20"
_CUT: Final = 0.35


@dataclass(frozen=True, slots=True)
class Ahp(TwoPhase):
    """Estimates of all counts: cells with alike noisy counts share one measured total.

    learning, measuring: the noise of the two phases, as plain :class:`Counts`.
    Phase 1 adds noise to every count, takes small ones for 0 and puts cells of similar noisy
    counts into buckets, which need not be contiguous. Phase 2 adds fresh noise to each bucket's
    total and spreads it evenly.

    Promise: along a move the loss is at most ``learning.loss(shift) + measuring.loss(shift)``.
    Proof: the buckets are a function of the noisy counts of phase 1 alone, which lose
    ``learning.loss(shift)``. Given the buckets, a record moves the totals by no more than it
    moves the counts, in each direction; the rest is post-processing. Reached where the record
    leaves and enters different buckets.
    Direction: as :class:`Counts` in both phases; one-sided rates serve one-sided policies.
    Units: nats per count; estimates in counts, float64, unbiased noise, at least 0 if ``clip``.
    Source: Zhang, Chen, Xu, Meng and Xie, SDM 2014, with the clusters optimal for the noisy counts
    instead of greedy. The share of ε and the cut are those of the implementation that DPBench
    (Hay et al., SIGMOD 2016) ran. Errors: ParameterError.

    >>> from onesided import Shift
    >>> from onesided.policy import addition_only
    >>> ahp = Ahp.for_policy(addition_only(), epsilon=1)
    >>> ahp.loss(Shift(rise=0, fall=1)), ahp.release([5, 5, 0, 90]).size
    (Fraction(1, 1), 4)
    """

    learning: Counts
    measuring: Counts
    clip: bool = True

    def __post_init__(self) -> None:
        plain(self.learning, name="learning")
        plain(self.measuring, name="measuring")

    @classmethod
    def for_policy(
        cls,
        policy: Policy,
        *,
        epsilon: Number,
        counted: Iterable[str] | None = None,
        query: GroupCount | None = None,
        share: Number = SHARE,
        clip: bool = True,
    ) -> Ahp:
        """The least noise that keeps ``(epsilon, policy)``; ``share`` of ε goes to phase 1.

        query: how units are counted; None is one group per unit, or presence's own bound.
        """
        return cls(*phases(policy, epsilon, asked_of(query, counted), share), clip=clip)

    @property
    def by_cells(self) -> bool:
        """Yes: a cell's place is not used."""
        return True

    def learn(self, counts: IntArray, *, noise: Noise) -> Partition:
        """Buckets of cells with similar noisy counts, from the lowest to the highest."""
        noisy = self.learning.noisy(counts.ravel(), noise=noise)
        return Partition(self.group(noisy).reshape(counts.shape))

    def group(self, noisy: IntArray) -> IntArray:
        """The bucket of each cell, from phase 1's noisy counts: post-processing."""
        chance = self.learning.distribution
        middle = chance.mean()
        scale = math.sqrt(chance.variance() / 2)
        cut = math.floor(middle + _CUT * math.log(noisy.size) * scale)
        values = np.where(noisy > cut, noisy, math.floor(middle))
        return clusters(values, variance=self.measuring.distribution.variance())

    def learn_loss(self, shift: Shift) -> Loss:
        """Exactly what the noisy counts lose."""
        return self.learning.loss(shift)

    def measure(
        self, counts: IntArray, partition: Partition, *, noise: Noise
    ) -> NDArray[np.float64]:
        """Unbiased noisy totals of the buckets."""
        return unbiased(self.measuring, partition.totals(counts), noise=noise)

    def measure_loss(self, shift: Shift) -> Loss:
        """What the noisy totals lose at most: no total moves by more than the counts in it."""
        return self.measuring.loss(shift)


def phases(
    policy: Policy, epsilon: Number, query: GroupCount, share: Number
) -> tuple[Counts, Counts]:
    """The least noise of both phases: ``share`` of ε for the first, the rest for the second."""
    budget, part = positive(epsilon, name="epsilon"), strict_share(share, name="share")
    first = Counts(*rates_for(policy, query, budget * part))
    return first, Counts(*rates_for(policy, query, budget * (1 - part)))


def asked_of(query: GroupCount | None, counted: Iterable[str] | None) -> GroupCount:
    """How units are counted, by default in one group each, or as presence says; of some kinds."""
    count = GroupCount() if query is None else query
    return count if counted is None else replace(count, counted=frozenset(counted))


def plain(noise: object, *, name: str) -> None:
    """Refuse anything but :class:`Counts` without post-processing of its own."""
    if isinstance(noise, Counts) and noise.correction == "none" and not noise.clip:
        return
    raise ParameterError(
        f"{name} must be plain Counts, got {noise!r}.",
        hint="Give Counts(upper_rate, lower_rate), or use for_policy.",
        value=noise,
    )


def unbiased(counts: Counts, totals: IntArray, *, noise: Noise) -> NDArray[np.float64]:
    """``totals`` with noise, less the noise's mean; the mean is public."""
    noisy = counts.noisy(totals, noise=noise).astype(np.float64)
    return noisy - np.float64(counts.distribution.mean())
