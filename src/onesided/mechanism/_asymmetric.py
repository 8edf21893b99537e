"""The asymmetric Laplace and geometric mechanisms, under the names that the papers give them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from onesided._numbers import MAX_COUNT, Loss, Number, exact, positive, rate, regular, whole
from onesided.errors import DataError
from onesided.fields import Exact, Field, Rate, Whole
from onesided.mechanism._base import counts_of
from onesided.mechanism._counts import Counts
from onesided.noise import IntArray, Noise, SecureNoise
from onesided.policy import Policy, Shift


@dataclass(frozen=True)
class ALap:
    """The asymmetric Laplace mechanism for real-valued sums, as whole steps of a declared grid.

    Promise: as :class:`Counts` on the steps: ``upper_rate * grid`` times what falls, in steps,
    plus ``lower_rate * grid`` times what rises. With ``lower_rate=INFINITE`` an answer is never
    below the truth.
    Units: rates in nats per unit of the value; ``release`` takes and gives whole steps (a value
    is a step times the grid); a :class:`Shift` is in steps. :meth:`steps` and :meth:`values`
    convert, exactly: a value between two steps is refused, for rounding a sum moves it.
    As the grid gets finer the noise times the grid tends to the exponential of the papers.

    Source: ADP-2022 Definition V.3, whose ``Sign`` must be read the other way: the falls of a
    decreasing query are hidden by noise *above* it. ADP-2021 aLap; OSDP OsdpLaplace.
    Errors: ParameterError for rates that, per step, are outside 2^-40 .. 2^10.

    >>> from onesided import INFINITE, Shift
    >>> up = ALap(1, INFINITE, grid="1/2")
    >>> up.steps(["2.5", 3]).tolist(), up.loss(Shift(rise=0, fall=2))
    ([5, 6], Fraction(1, 1))
    >>> bool(up.release(up.steps([3]))[0] >= 6)
    True
    """

    upper_rate: Rate = Field(rate)
    lower_rate: Rate = Field(rate)
    _: KW_ONLY
    grid: Exact = Field(positive)

    def __post_init__(self) -> None:
        self._counts  # noqa: B018 - refuses rates that are out of range per step

    @classmethod
    def for_policy(
        cls,
        policy: Policy,
        *,
        epsilon: Number,
        largest: Number,
        grid: Number,
        max_groups: int | None = None,
        counted: Iterable[str] | None = None,
    ) -> ALap:
        """The least noise for sums, by group, of one value in [0, ``largest``] for each unit."""
        counts = Counts.for_policy(policy, epsilon=epsilon, max_groups=max_groups, counted=counted)
        share = 1 / positive(largest, name="largest")
        return cls(counts.upper_rate * share, counts.lower_rate * share, grid=grid)

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> IntArray:
        """Noisy sums in steps. Errors: DataError unless ``values`` are whole steps."""
        sums = _steps_of(values)
        source = SecureNoise() if noise is None else noise
        inner = self._counts
        return sums + source.two_sided(inner.upper_rate, inner.lower_rate, sums.size)

    def loss(self, shift: Shift) -> Loss:
        """Exactly ``grid * (upper_rate * fall + lower_rate * rise)``, the shift in steps."""
        return self._counts.loss(shift)

    def steps(self, values: Iterable[Number]) -> IntArray:
        """Values as whole steps. Errors: DataError for a value that is not on the grid."""
        found = [exact(value, name="value") / self.grid for value in values]
        for place, step in enumerate(found):
            if step.denominator != 1 or abs(step) > MAX_COUNT:
                raise DataError(
                    f"The value at position {place} is not a multiple of {self.grid} within "
                    "2^62 steps.",
                    hint="Round each record to the grid before summing, or choose a finer grid.",
                    position=place,
                )
        return np.array([int(step) for step in found], dtype=np.int64)

    def values(self, steps: IntArray) -> tuple[Fraction, ...]:
        """Steps as exact values."""
        return tuple(self.grid * int(step) for step in steps)

    @property
    def _counts(self) -> Counts:
        return Counts(self.upper_rate * self.grid, self.lower_rate * self.grid)


@dataclass(frozen=True)
class AGeo:
    """The asymmetric geometric mechanism: ``count + G_up - G_down`` clamped to [0, ``most``].

    Promise: as :class:`Counts`; clamping is post-processing. ``most`` is public, such as the
    number of people. For one decreasing count (``lower_rate=INFINITE``, ``upper_rate=ε``) no
    mechanism of the same loss has a lower mean absolute error that is certain from above.
    Units: rates in nats per count; answers in counts.

    Source: ADP-2022 Definition VIII.1, whose mass at the end point is given twice; this is
    ``f + G`` clamped, so the end holds the whole tail. Errors: ParameterError.

    >>> from onesided.mechanism import AGeo
    >>> AGeo(1, 1, most=100).most
    100
    """

    upper_rate: Rate = Field(rate)
    lower_rate: Rate = Field(rate)
    _: KW_ONLY
    most: Whole = Field(whole)

    @classmethod
    def for_policy(
        cls,
        policy: Policy,
        *,
        epsilon: Number,
        most: int,
        max_groups: int | None = None,
        counted: Iterable[str] | None = None,
    ) -> AGeo:
        """The least noise that keeps ``(epsilon, policy)`` for counts of units by group."""
        counts = Counts.for_policy(policy, epsilon=epsilon, max_groups=max_groups, counted=counted)
        return cls(counts.upper_rate, counts.lower_rate, most=most)

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> IntArray:
        """Noisy counts in [0, ``most``]. Errors: DataError for a count above ``most``."""
        counts = counts_of(values)
        if counts.size and counts.max() > self.most:
            where = int(np.argmax(counts > self.most))
            raise DataError(
                f"The count at position {where} is above the declared most, {self.most}.",
                hint="Declare a public bound that no count can exceed.",
                position=where,
            )
        noisy = self._counts.noisy(counts, noise=noise)
        return np.clip(noisy, 0, self.most)

    def loss(self, shift: Shift) -> Loss:
        """At most ``upper_rate * fall + lower_rate * rise``."""
        return self._counts.loss(shift)

    @property
    def _counts(self) -> Counts:
        return Counts(self.upper_rate, self.lower_rate)


def _steps_of(values: ArrayLike) -> IntArray:
    """``values`` as a one-dimensional array of whole steps within 2^62 of 0."""
    array = regular(values)
    if array.size == 0 and array.ndim == 1:
        return np.zeros(0, dtype=np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise DataError(
            f"Sums must be a one-dimensional array of whole steps, got {array.dtype} with shape "
            f"{array.shape}.",
            hint="ALap.steps() turns values into steps of the grid.",
        )
    bad = (array > MAX_COUNT) | (array < -MAX_COUNT)
    if bad.any():
        where = int(np.argmax(bad))
        raise DataError(
            f"The sum at position {where} is beyond 2^62 steps.",
            hint="Use a coarser grid.",
            position=where,
        )
    return array.astype(np.int64)
