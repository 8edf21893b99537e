"""Intervals that a number lies in, and what follows from them: interval arithmetic in fractions.

Every operation keeps order: of narrower intervals it makes one that is no wider. So what is certain
is computed from certain intervals alone, and what is likely from the narrowest, by one function.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Interval:
    """Bounds of a number, None where there is none.

    >>> one = Interval(Fraction(1), Fraction(2))
    >>> (one + -one).lower, one.over(one).upper
    (Fraction(-1, 1), Fraction(2, 1))
    """

    lower: Fraction | None
    upper: Fraction | None

    def __neg__(self) -> Interval:
        return self.times(Fraction(-1))

    def __add__(self, other: Interval) -> Interval:
        return Interval(
            None if self.lower is None or other.lower is None else self.lower + other.lower,
            None if self.upper is None or other.upper is None else self.upper + other.upper,
        )

    def times(self, factor: Fraction) -> Interval:
        """Each bound times a public number; a negative one turns the sides."""
        if not factor:
            return Interval(factor, factor)
        low, up = (None if end is None else end * factor for end in (self.lower, self.upper))
        return Interval(low, up) if factor > 0 else Interval(up, low)

    def over(self, other: Interval) -> Interval:
        """The ratio; without bounds where the denominator may be 0.

        Where 0 ≤ x and 0 < l ≤ y ≤ u, x / y lies in [lower / u, upper / l]; where x may be
        negative, on the corners.
        """
        if other.upper is not None and other.upper < 0 and not other.crossed:
            return (-self).over(-other)
        if other.lower is None or other.lower <= 0 or other.crossed:
            return Interval(None, None)
        return Interval(
            _end(self.lower, other.lower, other.upper, falls=True),
            _end(self.upper, other.lower, other.upper, falls=False),
        )

    def both(self, other: Interval) -> Interval:
        """What follows from two intervals about one number."""
        lower = [end for end in (self.lower, other.lower) if end is not None]
        upper = [end for end in (self.upper, other.upper) if end is not None]
        return Interval(max(lower, default=None), min(upper, default=None))

    @property
    def crossed(self) -> bool:
        """Whether no number lies in it."""
        return self.lower is not None and self.upper is not None and self.lower > self.upper


def _end(
    bound: Fraction | None, least: Fraction, most: Fraction | None, *, falls: bool
) -> Fraction | None:
    """One side of a ratio to a denominator within least and most.

    A lower bound is least where a numerator of at least 0 is over the most, or a negative one over
    the least; an upper bound the other way round.
    """
    if bound is None:
        return None
    if (bound >= 0) != falls or not bound:
        return bound / least
    return Fraction(0) if most is None else bound / most
