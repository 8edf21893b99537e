"""How often intervals hold, of one group or of all at once."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from onesided._numbers import Number, exact
from onesided.errors import ParameterError
from onesided.mechanism.kit import shared

_TOLD: Final = re.compile(r"(\d+(?:\.\d+)?) %(, all at once)?")


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

    @property
    def words(self) -> str:
        """How sure a bound is that is not certain.

        >>> Confidence("0.95", False).words, Confidence("0.9", True).words
        ('95 %', '90 %, all at once')
        """
        # As it was written; where that has more digits, so many that it says no more than holds.
        given = str(self.share) if isinstance(self.share, float) else self.share
        share = exact(given, name="confidence") * 10**6 // 1
        told = f"{float(Fraction(share, 10**4)):.6g} %"
        return f"{told}, all at once" if self.simultaneous else told

    @property
    def facts(self) -> dict[str, Any]:
        """The same, as a release says it of itself."""
        return {"confidence": self.share, "simultaneous": self.simultaneous}


def miss_of(words: str) -> tuple[Fraction, bool]:
    """The chance that a bound of these words does not hold, and whether of all at once.

    Errors: ParameterError where they say no share.

    >>> miss_of("95 %"), miss_of("90 %, all at once")
    ((Fraction(1, 20), False), (Fraction(1, 10), True))
    """
    found = _TOLD.fullmatch(words)
    if found is None:
        raise ParameterError(
            f"This answer says of its likely bounds {words!r}, which is no share.",
            hint="Take its certain bounds alone: likely=False.",
            value=words,
        )
    return 1 - Fraction(found[1]) / 100, found[2] is not None
