"""Randomisers whose report marks letters: each letter's mark is a coin of two biases."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from onesided.mechanism.local._estimate import FloatArray
from onesided.mechanism.local._randomiser import Randomiser, shares_of
from onesided.mechanism.local._tally import Tally
from onesided.noise import BoolArray, IntArray


class Marked(Randomiser):
    """Letter j is marked with chance ``own[j]`` if it is the true one, else with ``other[j]``.

    Then ``(marks of j / people - other[j]) / (own[j] - other[j])`` is unbiased for j's share f. Its
    variance is ``(f p (1 - p) + (1 - f) q (1 - q)) / (people (p - q)^2)`` for the people who
    reported, with p = own and q = other, and ``m (1 - m) / (people (p - q)^2)`` with
    ``m = q + f (p - q)`` about a population that they were drawn from.
    """

    @abstractmethod
    def _marks(self) -> tuple[Sequence[Fraction], Sequence[Fraction]]:
        """``(own, other)``: how likely each letter is marked if it is the true one, and if not."""

    def variance(self, frequencies: ArrayLike, people: int, *, sampled: bool = False) -> FloatArray:
        shares = shares_of(frequencies, len(self.alphabet))
        own, other = self._chances()
        gap = own - other
        if sampled:
            marked = other + shares * gap
            spread = marked * (1 - marked)
        else:
            spread = shares * own * (1 - own) + (1 - shares) * other * (1 - other)
        found: FloatArray = spread / (people * gap**2)
        return found

    def _frequencies(self, tally: Tally) -> FloatArray:
        own, other = self._chances()
        found: FloatArray = (tally.seen / tally.people - other) / (own - other)
        return found

    def _widths(self) -> FloatArray:
        own, other = self._chances()
        return 1 / (own - other)

    def _certain(self, tally: Tally) -> tuple[IntArray, IntArray]:
        """Marks that only one letter gives, and letters that always give theirs."""
        least = np.where(self._telling, tally.seen, 0)
        most = tally.people - (least.sum() - least)
        always = np.array([chance == 1 for chance in self._marks()[0]])
        return least, np.where(always, np.minimum(most, tally.seen), most)

    @property
    def _telling(self) -> BoolArray:
        """Which letters' marks are given by them alone."""
        return np.array([chance == 0 for chance in self._marks()[1]])

    def _chances(self) -> tuple[FloatArray, FloatArray]:
        own, other = (np.array([float(p) for p in chances]) for chances in self._marks())
        return own, other
