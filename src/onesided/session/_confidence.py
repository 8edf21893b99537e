"""How often intervals hold, of one group or of all at once."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import Number
from onesided.errors import ParameterError
from onesided.mechanism.kit import shared
from onesided.noise import TwoSidedGeometric


@dataclass(frozen=True, slots=True)
class Confidence:
    """How often intervals hold: each on its own, or all at once if ``simultaneous``."""

    share: Number
    simultaneous: bool

    def of_each(self, intervals: int) -> Fraction:
        """The confidence of each of so many intervals.

        Errors: ParameterError for what is no confidence, or neither True nor False.
        """
        if not isinstance(self.simultaneous, bool):
            raise ParameterError(
                f"simultaneous must be True or False, got {self.simultaneous!r}.",
                hint="True makes the intervals of all groups hold at once.",
                value=self.simultaneous,
            )
        return shared(self.share, intervals if self.simultaneous else 1)


def below_selected(
    law: TwoSidedGeometric, values: NDArray[np.int64], candidates: int, confidence: Number
) -> NDArray[np.int64]:
    """Lower bounds of counts that were selected by these noisy values, all at once.

    They hold for all candidates at once, and so for those that were selected: noise decides who
    is selected, so that a bound for each on its own is missed more often than it says.
    """
    reach = law.quantile_upper(shared(confidence, candidates)) or 0
    return np.maximum(values - reach, 0)
