"""What was published, and under which guarantee."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import Number, exact, whole
from onesided.engine import PublicKeys
from onesided.errors import ParameterError
from onesided.mechanism import Counts, Interval
from onesided.noise import IntArray
from onesided.policy import Guarantee

FrameMaker = Callable[[Mapping[str, Any]], Any]


@dataclass(frozen=True, slots=True)
class Release:
    """Counts per group with bounds. Everything here is public.

    keys: the groups. estimate: the best guess. lower, upper: bounds; a certain side is never
    wrong about the data named in ``guarantee.about``, the other holds per group with the
    confidence asked for. entry: its number in the ledger; None if it cost nothing.
    """

    keys: PublicKeys
    noisy: IntArray
    mechanism: Counts
    confidence: Number
    guarantee: Guarantee
    entry: int | None
    interval: Interval
    _make_frame: FrameMaker = field(repr=False, compare=False)

    @property
    def estimate(self) -> NDArray[Any]:
        """The answers after correction and clipping."""
        return self.mechanism.estimate(self.noisy)

    @property
    def frame(self) -> Any:
        """The release as a table of the caller's own type.

        Columns: the keys, then estimate, lower, upper, lower_certain, upper_certain.
        """
        size = self.noisy.size
        told = {
            **self.keys.by_name(),
            "estimate": self.estimate,
            "lower": self.interval.lower,
            "upper": self.interval.upper,
            "lower_certain": np.full(size, self.interval.lower_certain),
            "upper_certain": np.full(size, self.interval.upper_certain),
        }
        return self._make_frame(told)

    def framed(self, columns: Mapping[str, list[Any]]) -> Any:
        """Columns as a table of the caller's own type."""
        return self._make_frame(columns)

    def columns(self) -> dict[str, list[Any]]:
        """The release column by column, as plain Python values."""
        size = self.noisy.size
        return {
            **self.keys.columns(),
            "estimate": self.estimate.tolist(),
            "lower": self.interval.lower.tolist(),
            "upper": self.interval.upper.tolist(),
            "lower_certain": [self.interval.lower_certain] * size,
            "upper_certain": [self.interval.upper_certain] * size,
        }

    def certified(self, threshold: int) -> NDArray[np.bool_]:
        """True for the groups that certainly have at most ``threshold``.

        Errors: ParameterError if the upper bounds are not certain.
        """
        most = whole(threshold, name="threshold")
        if not self.interval.upper_certain:
            raise ParameterError(
                "No 'at most' is certain here: this policy needs noise below the truth, so an "
                "upper bound can be wrong.",
                hint="Use a policy without rising counts, such as presence or addition_only; the "
                f"column 'upper' still holds a bound at confidence {self.confidence}.",
            )
        return np.asarray(self.interval.upper <= most)

    def at_most(self, threshold: int) -> list[Any]:
        """The groups certified to have at most ``threshold``; the others are unknown, not larger.

        Values for one grouping column, tuples for several. Errors: as :meth:`certified`.
        """
        chosen = np.flatnonzero(self.certified(threshold))
        single = len(self.keys.names) == 1
        return [self.keys.rows[i][0] if single else self.keys.rows[i] for i in chosen]

    def __str__(self) -> str:
        return f"Counts of {self.keys.size:,} groups. {self.guarantee}"


def bounds(mechanism: Counts, noisy: IntArray, confidence: Number) -> Interval:
    """The interval at an exact confidence."""
    return mechanism.interval(noisy, confidence=exact(confidence, name="confidence"))
