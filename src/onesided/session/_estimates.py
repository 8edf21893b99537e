"""Published numbers with bounds, one per group."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import Number, round_down, round_up
from onesided.engine import PublicKeys
from onesided.mechanism import Interval
from onesided.policy import Guarantee
from onesided.session._release import FrameMaker

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimates:
    """One number per group with bounds, in the column's own unit. Everything here is public.

    what: the statistic's name. A certain side is never wrong about the data named in
    ``guarantee``; the other holds per group with the confidence asked for. entry: its number in
    the ledger; None if it cost nothing.
    """

    what: str
    keys: PublicKeys
    estimate: Floats
    lower: Floats
    upper: Floats
    lower_certain: bool
    upper_certain: bool
    confidence: Number
    guarantee: Guarantee
    entry: int | None
    _make_frame: FrameMaker = field(repr=False, compare=False)

    @classmethod
    def of(
        cls,
        what: str,
        numbers: tuple[NDArray[Any], NDArray[Any], NDArray[Any]],
        certain: tuple[bool, bool],
        **rest: Any,
    ) -> Estimates:
        """From (estimate, lower, upper) and whether (lower, upper) are certain."""
        estimate, lower, upper = numbers
        lower_certain, upper_certain = certain
        return cls(
            what=what,
            estimate=estimate,
            lower=lower,
            upper=upper,
            lower_certain=lower_certain,
            upper_certain=upper_certain,
            **rest,
        )

    @property
    def frame(self) -> Any:
        """A table of the caller's own type.

        Columns: the keys, then estimate, lower, upper, lower_certain, upper_certain.
        """
        return self._make_frame(self.columns())

    def columns(self) -> dict[str, list[Any]]:
        """The same column by column, as plain Python values."""
        size = self.estimate.size
        return {
            **self.keys.columns(),
            "estimate": self.estimate.tolist(),
            "lower": self.lower.tolist(),
            "upper": self.upper.tolist(),
            "lower_certain": [self.lower_certain] * size,
            "upper_certain": [self.upper_certain] * size,
        }

    @property
    def value(self) -> float:
        """The estimate of a question without groups."""
        (single,) = self.estimate.tolist()
        return float(single)

    def __str__(self) -> str:
        if self.estimate.size == 1:
            return f"{self.what}: {self.value:,.8g}. {self.guarantee}"
        return f"{self.what} of {self.estimate.size:,} groups. {self.guarantee}"


def in_units(steps: Interval, step: Fraction) -> tuple[Floats, Floats]:
    """Bounds in steps as numbers; rounding never turns a certain bound into a wrong one."""
    lower = [round_down(int(k) * step) for k in steps.lower.tolist()]
    upper = [round_up(int(k) * step) for k in steps.upper.tolist()]
    return np.array(lower, dtype=np.float64), np.array(upper, dtype=np.float64)
