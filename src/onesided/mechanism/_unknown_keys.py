"""Counts over keys that nobody can list: noise below the truth keeps what is absent absent."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onesided._english import many
from onesided._numbers import (
    INFINITE,
    Infinite,
    Loss,
    Number,
    exact,
    non_negative,
    positive,
    rate,
    whole,
)
from onesided.errors import DataError, ParameterError, UnprotectableError
from onesided.fields import Field, Rate, Whole
from onesided.mechanism._base import counts_of
from onesided.mechanism._rates import rates_for
from onesided.noise import IntArray, Noise, SecureNoise, TwoSidedGeometric
from onesided.policy import GroupCount, Policy, Shift


@dataclass(frozen=True)
class UnknownKeys:
    """Release ``count - G`` for each key, and a key at all only if that is above ``threshold``.

    Promise: along a move that raises counts by ``rise`` in total and lowers none, the loss is at
    most ``lower_rate * rise``, with δ = 0, however large the set of possible keys. Any fall has
    infinite loss. A released value is never above the truth: "at least so many" is certain, and
    that the key occurs is certain too. What is not released is not said to be absent.
    Direction: rises are hidden. An open unit that is there may pass as one that is not counted;
    nothing hides that a counted unit was counted.
    Units: rate in nats per count; counts in units (people). ``threshold`` is public.
    Input: the counts of the keys that occur, one each, in any order. Whoever publishes the keys
    must order them by the answer or by the keys themselves, never as the data had them.

    Proof. Think of one count for every possible key, 0 for those that do not occur. Along the move
    counts f become ``f + d``, d >= 0. What is published of a key is a function of ``f - G``, and
    ``Pr[(f + d) - G = z] >= e^(-rate d) Pr[f - G = z]`` for every z, since ``Pr[G = g + d] =
    e^(-rate d) Pr[G = g]``. Keys are independent, so the factors multiply to ``e^(-rate rise)``.
    A key with count 0 has ``0 - G <= 0 <= threshold``: it is never published, so it needs no draw,
    and memory grows with the keys that occur. Noise above the truth would publish keys that do
    not occur, and could not leave those out without telling which they are.

    Source: one-sided note, remark on histograms; OSDP section 6.3.2. Errors: ParameterError.

    >>> from onesided.mechanism import UnknownKeys
    >>> from onesided.policy import Shift
    >>> UnknownKeys("1/2").loss(Shift(rise=0, fall=1))
    INFINITE
    """

    lower_rate: Rate = Field(rate)
    _: KW_ONLY
    threshold: Whole = Field(whole, default=0)

    @classmethod
    def for_policy(
        cls,
        policy: Policy,
        *,
        epsilon: Number,
        max_groups: int | None = None,
        counted: Iterable[str] | None = None,
        truncated: bool = False,
        threshold: int = 0,
    ) -> UnknownKeys:
        """The least noise that keeps ``(epsilon, policy)`` for counts of units by group.

        Under ``sensitive``, counting open units: ``lower_rate = epsilon / max_groups``.
        Errors: UnprotectableError if some move lowers a count.
        """
        query = GroupCount(
            max_groups=max_groups,
            counted=None if counted is None else frozenset(counted),
            truncated=truncated,
        )
        for edge, shifts in policy.shifts(query).items():
            if any(shift.fall for shift in shifts):
                raise UnprotectableError(
                    f"Under the policy {policy.name!r} a unit that is counted may have to pass as "
                    f"one that is not ({edge.name}). A key would then give it away: hiding the "
                    "fall needs noise above the truth, on every key that could possibly occur.",
                    hint="Count only kinds that no move starts from, such as counted='open' under "
                    "sensitive(...); or give public keys and use count.",
                    edge=edge.name,
                )
        _, lower = rates_for(policy, query, positive(epsilon, name="epsilon"))
        return cls(lower, threshold=threshold)

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> IntArray:
        """For each key ``count - G`` if that is above the threshold, else 0: not published.

        Errors: DataError unless ``values`` is a one-dimensional array of counts.
        """
        counts = counts_of(values)
        source = SecureNoise() if noise is None else noise
        noisy = counts - source.geometric(self.lower_rate, counts.size)
        return np.where(noisy > self.threshold, noisy, 0)

    def loss(self, shift: Shift) -> Loss:
        """``lower_rate * rise``, and INFINITE if any count falls."""
        return INFINITE * shift.fall + self.lower_rate * shift.rise

    @property
    def distribution(self) -> TwoSidedGeometric:
        """The noise's exact distribution, before the threshold."""
        return TwoSidedGeometric(INFINITE, self.lower_rate)

    def chance(self, count: int) -> float:
        """How likely a key with this true count is published: ``1 - e^(-rate (count - t))``."""
        above = whole(count, name="count") - self.threshold
        if above <= 0:
            return 0.0
        if isinstance(self.lower_rate, Infinite):
            return 1.0
        return -math.expm1(-float(self.lower_rate * above))


def mean_relative_error(
    true: ArrayLike,
    answer: ArrayLike,
    *,
    domain: int,
    absent_error: Number = 0,
    least: Number = 1,
) -> float:
    """``mean of |true - answer| / max(true, least)`` over all keys of a domain too large to list.

    For whoever evaluates a release against the truth; the result is as secret as the truth.
    true, answer: for the keys that occur in either, in the same order. domain: how many keys
    there could be. absent_error: the expected absolute error at a key that occurs in neither:
    0 if absent keys stay absent; that of the noise if it falls on every key of the domain.
    Source: OSDP sections 6.1.1 and 6.3.2, where least is 1.
    Errors: ParameterError if the domain is smaller than the keys given.

    >>> mean_relative_error([10, 4], [12, 4], domain=10)
    0.02
    """
    truth, given = _numbers(true, name="true"), _numbers(answer, name="answer")
    if truth.shape != given.shape:
        raise DataError(
            f"Got {many(truth.size, 'true count')} and {many(given.size, 'answer')}.",
            hint="Give both for the same keys, 0 where a key does not occur.",
        )
    cells = whole(domain, name="domain", least=1, most=10**400)
    if cells < truth.size:
        raise ParameterError(
            f"A domain of {many(cells, 'key')} cannot hold {truth.size} of them.",
            hint="Give the number of possible keys, such as 64**5.",
            domain=cells,
        )
    floor = positive(least, name="least")
    each = non_negative(exact(absent_error, name="absent_error"), name="absent_error")
    present = float((np.abs(truth - given) / np.maximum(truth, float(floor))).sum())
    absent = each / floor * (cells - truth.size)
    return float((Fraction(present) + absent) / cells)


def _numbers(values: ArrayLike, *, name: str) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not np.isfinite(array).all():
        raise DataError(
            f"{name} must be a one-dimensional array of finite numbers.",
            hint="Give one number for each key.",
        )
    return array
