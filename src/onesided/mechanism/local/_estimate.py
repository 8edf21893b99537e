"""Frequencies estimated from reports, with what can be said of their error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import Number, strict_share
from onesided.errors import ParameterError
from onesided.noise import IntArray

FloatArray: TypeAlias = NDArray[np.float64]
CONFIDENCE: Final = "0.95"
_SMALLEST: Final = 5e-324


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """Unbiased shares of each letter; everything here is post-processing of the reports.

    alphabet: the letters, in the order of all arrays. people: how many reported.
    frequencies: unbiased shares; they may lie below 0 or above 1.
    variances: unbiased estimates of their variances, 0 where that would be negative. About the
        people who reported, or, if ``sampled``, about the population that they were drawn from
        independently.
    least, most: how many of the people who reported hold the letter, for certain: never wrong
        if every report was made as it should be.
    widths: how far one report can move the sum of one letter's terms.

    >>> from onesided.mechanism.local import mangat
    >>> found = mangat(epsilon=1).estimate(mangat(epsilon=1).release(["no", "yes", "no"]))
    >>> found.people, bool(found.least[1] <= 2)
    (3, True)
    """

    alphabet: tuple[str, ...]
    people: int
    frequencies: FloatArray
    variances: FloatArray
    least: IntArray
    most: IntArray
    widths: FloatArray
    sampled: bool

    @property
    def counts(self) -> FloatArray:
        """Estimated numbers of people."""
        return self.frequencies * self.people

    def share(self, letter: str) -> float:
        """The estimated share of one letter. Errors: ParameterError for a stranger."""
        if letter not in self.alphabet:
            raise ParameterError(
                f"The letter {letter!r} is not in the alphabet.",
                hint=f"The letters are {', '.join(self.alphabet[:12])}.",
            )
        return float(self.frequencies[self.alphabet.index(letter)])

    def interval(
        self, *, confidence: Number = CONFIDENCE, exact_coverage: bool = False
    ) -> tuple[FloatArray, FloatArray]:
        """``(lower, upper)`` ends for each letter's share, each letter on its own.

        By the normal approximation with estimated variances: right for many reports, and for
        letters that some ten of the people hold: of a letter that only its holders report and
        none did, it says 0 to 0. With ``exact_coverage``, by Hoeffding's inequality: wider, and
        holds for any number of reports and holders.
        Both are cut to [0, 1], and about the reporting people to what is certain of them.
        """
        hint = 'Use for example "0.95".'
        missed = 1 - strict_share(confidence, name="confidence", hint=hint)
        if exact_coverage:
            # Whole numbers of any size have a logarithm; a fraction this small may be no float.
            logarithm = math.log(2 * missed.denominator) - math.log(missed.numerator)
            half = self.widths * math.sqrt(logarithm / (2 * self.people))
        else:
            tail = max(float(missed / 2), _SMALLEST)
            half = -NormalDist().inv_cdf(tail) * np.sqrt(self.variances)
        lower, upper = self.frequencies - half, self.frequencies + half
        least = 0.0 if self.sampled else self.least / self.people
        most = 1.0 if self.sampled else self.most / self.people
        return np.clip(lower, least, most), np.clip(upper, least, most)
