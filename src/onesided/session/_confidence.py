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
        return f"{self.percent}, all at once" if self.simultaneous else self.percent

    @property
    def exact(self) -> Fraction:
        """The share as it was written: a float as its digits say."""
        given = str(self.share) if isinstance(self.share, float) else self.share
        return exact(given, name="confidence")

    @property
    def percent(self) -> str:
        """The share; where it has more digits than six, no more than holds."""
        return f"{float(Fraction(self.exact * 10**6 // 1, 10**4)):.6g} %"

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
