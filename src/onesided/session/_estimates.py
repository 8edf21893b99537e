"""Published numbers with bounds, one per group."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import MAX_COUNT, Number, round_down, round_up
from onesided.engine import PublicKeys
from onesided.mechanism import Interval
from onesided.session._release import Release, sides
from onesided.session._text import share_words

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Estimates(Release):
    """One number per group with bounds, in the column's own unit. Everything here is public.

    what: the statistic's name. A certain side is never wrong about the data named in
    ``guarantee``. An interval holds with ``confidence``: each group's on its own, or those of all
    groups at once if ``simultaneous``.

    >>> import polars as pl, onesided as od
    >>> gifts = pl.DataFrame({"person": [1, 2, 3], "gift": [10, 20, 60]})
    >>> policy = od.policy.addition_only()
    >>> session = od.Session(gifts, unit="person", policy=policy, budget=1000)
    >>> release = session.sum("gift", of="units", total_bounds=(0, 100), epsilon=1)
    >>> release.interval.upper_certain, int(release.interval.upper[0]) >= 90
    (True, True)
    """

    what: str
    keys: PublicKeys
    estimate: Floats
    lower: Floats
    upper: Floats
    lower_certain: bool
    upper_certain: bool
    confidence: Number
    simultaneous: bool = False

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
    def interval(self) -> Interval:
        """The bounds, a row per group."""
        return Interval(self.lower, self.upper, self.lower_certain, self.upper_certain)  # type: ignore[arg-type] # in the column's unit

    @property
    def labels(self) -> list[Any]:
        """The groups."""
        return self.keys.labels()

    def columns(self) -> dict[str, list[Any]]:
        """The keys, then estimate, lower, upper, lower_certain, upper_certain."""
        return {
            **self.keys.columns(),
            "estimate": self.estimate.tolist(),
            **sides(self.interval),
        }

    @property
    def bound_words(self) -> str:
        """How sure a bound is that is not certain."""
        return share_words(self.confidence, together=self.simultaneous)

    @property
    def counted(self) -> str:
        """What the numbers are."""
        return self.what


def in_units(steps: Interval, step: Fraction) -> tuple[Floats, Floats]:
    """Bounds in steps as numbers; rounding never turns a certain bound into a wrong one."""
    low, high = uncut(steps)
    lower = [round_down(int(k) * step) if k > -np.inf else k for k in low.tolist()]
    upper = [round_up(int(k) * step) if k < np.inf else k for k in high.tolist()]
    return np.array(lower, dtype=np.float64), np.array(upper, dtype=np.float64)


def uncut(steps: Interval) -> tuple[NDArray[Any], NDArray[Any]]:
    """Bounds on sums, from bounds on what was cut at 2^62 and -2^62: past these, infinite.

    A sum that was cut is enclosed by none within them; one that was not is what it is.

    >>> uncut(Interval(np.array([-3, 5]), np.array([2**62 + 1, 7]), False, True))
    (array([-3, 5], dtype=object), array([inf, 7], dtype=object))
    """
    lower, upper = steps.lower.astype(object), steps.upper.astype(object)
    lower[steps.lower <= -MAX_COUNT] = -np.inf
    upper[steps.upper >= MAX_COUNT] = np.inf
    return lower, upper
