"""The k largest counts, with their noisy values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onesided._numbers import INFINITE, Loss, Number, rate, whole
from onesided.errors import DataError
from onesided.fields import Field, Rate, Whole
from onesided.mechanism._base import counts_of
from onesided.mechanism._counts import Correction, Counts
from onesided.mechanism._paid import count_moves, paid_loss, paid_rate
from onesided.mechanism._selected import without_false
from onesided.noise import IntArray, Noise, SecureNoise
from onesided.policy import Policy, Shift


class TopKAnswer(NamedTuple):
    """Positions of the selected counts, largest noisy value first, and those values.

    Each value is a certain upper bound of its count; the last one bounds no unselected count.

    >>> from onesided import INFINITE
    >>> from onesided.mechanism import TopK
    >>> found = TopK(1, upper_rate=INFINITE).release([3, 9, 1])
    >>> found.indices.tolist(), found.values.tolist()
    ([1], [9])
    """

    indices: IntArray
    values: IntArray


@dataclass(frozen=True)
class TopK:
    """Release the ``k`` largest of ``count + G``, with positions and values.

    Promise: a move that lowers counts by ``fall`` in total, each by at most ``per_key``, loses
    exactly ``upper_rate * min(fall, k * per_key)`` (if there are as many counts as that takes).
    Direction: falls are hidden; a move that raises a count has infinite loss. A value is never
    below its count.
    Units: rate in nats per count; counts and values in units of the count (people).
    Ties are broken by chance: the answer is what sorting by (noisy value, random rank) gives.
    Positions must mean public keys: an order of the keys that comes from the data would itself
    be a leak.

    Proof. Fix the ranks; the answer o names a set S, the values z on S, and nothing else. It
    appears iff each i in S has ``f_i + G_i = z_i`` and each j outside S comes, by (value, rank),
    after the last of S. Given o, these are independent events, one for each count, and those
    outside S only get likelier when ``f_j`` falls. So the ratio of probabilities is at most the
    product over S of ``Pr[G = z_i - f_i] / Pr[G = z_i - f_i + d_i] = e^(rate d_i)``, and the sum
    of ``d_i`` over k counts is at most ``min(fall, k per_key)``. Averaging over ranks keeps the
    bound. Equality: let S hold the counts that fell. That unselected counts are free rests on the
    ranks: ties broken by the true counts have infinite loss, and a rule that looks at unselected
    values (such as where a partial sort happens to leave them) can lose more; both fail the check.

    Source: ADP-2021 Algorithm 1, with rate ε/k there; here ε/min(k, ℓ0), on integers.
    Errors: ParameterError for an invalid k or invalid rates.

    >>> from onesided import policy
    >>> from onesided.mechanism import TopK
    >>> print(TopK.for_policy(policy.presence(max_groups=2), k=5, epsilon=1).upper_rate)
    1/2
    """

    k: Whole = Field(whole, least=1)
    _: KW_ONLY
    upper_rate: Rate = Field(rate)
    per_key: Whole = Field(whole, least=1, default=1)

    @classmethod
    def for_policy(
        cls,
        policy: Policy,
        *,
        k: int,
        epsilon: Number,
        max_groups: int | None = None,
        counted: Iterable[str] | None = None,
        truncated: bool = False,
    ) -> TopK:
        """The least noise that keeps ``(epsilon, policy)`` for counts of units by group.

        Under presence the rate is ``epsilon / min(k, max_groups)``.
        Errors: UnprotectableError if some move raises a count.
        """
        most = whole(k, name="k", least=1)
        moves = count_moves(
            policy, epsilon=epsilon, max_groups=max_groups, counted=counted, truncated=truncated
        )
        return cls(most, upper_rate=paid_rate(policy, moves, answers=most, what="top-k"))

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> TopKAnswer:
        """The answer for an array of counts.

        Errors: DataError unless ``values`` is a one-dimensional array of at least ``k`` counts.
        """
        counts = counts_of(values)
        if counts.size < self.k:
            raise DataError(
                f"The {self.k} largest of {counts.size} counts were asked for.",
                hint=f"Ask for at most {counts.size}, or give more keys.",
                k=self.k,
                keys=counts.size,
            )
        source = SecureNoise() if noise is None else noise
        noisy = counts + source.geometric(self.upper_rate, counts.size)
        indices = largest(noisy, self.k, noise=source)
        return TopKAnswer(indices, noisy[indices])

    def loss(self, shift: Shift) -> Loss:
        """``upper_rate * min(fall, k * per_key)``; INFINITE if any count rises."""
        return paid_loss(self.upper_rate, shift, answers=self.k, per_key=self.per_key)

    def estimate(self, values: IntArray, *, correction: Correction = "mean") -> NDArray[Any]:
        """Values less the noise's mean or median, for less error; free of charge.

        Selected values are likelier to be large than others; :meth:`shrunk` takes that out.
        """
        return Counts(self.upper_rate, INFINITE, correction=correction).estimate(values)

    def shrunk(self, values: IntArray, *, candidates: int) -> NDArray[np.float64]:
        """Values less the noise's mean, times the chance that they are not noise alone; free.

        values: as released, largest first. candidates: how many counts there were to select from.
        Where counts stand out of the noise it is the mean that is taken out, and no more.
        Errors: ParameterError for fewer candidates than values.
        """
        number = whole(candidates, name="candidates", least=max(int(np.size(values)), 1))
        return without_false(values, number, self.upper_rate)


def largest(noisy: IntArray, k: int, *, noise: Noise) -> IntArray:
    """Positions of the ``k`` largest by (value, random rank), largest first.

    Ranks are drawn for those only that reach the k-th value, and only if two of them are equal:
    the order of a random permutation on a part is itself uniform, and untied ranks are not seen.
    """
    cut = np.partition(noisy, noisy.size - k)[noisy.size - k]
    reach = np.flatnonzero(noisy >= cut)
    by_value = reach[np.argsort(-noisy[reach], kind="stable")]
    if not (np.diff(noisy[by_value]) == 0).any():
        return by_value[:k].copy()
    ranks = noise.permutation(reach.size)
    return reach[np.lexsort((ranks, -noisy[reach]))][:k].copy()
