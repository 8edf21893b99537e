"""Several quantiles at once: the middle one of all values, then those of what lies on each side."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from onesided._numbers import (
    MAX_COUNT,
    Infinite,
    Loss,
    Number,
    rate,
    strict_share,
    whole,
)
from onesided.errors import DataError, ParameterError
from onesided.fields import Field, Rate, Whole
from onesided.mechanism._base import counts_of
from onesided.mechanism._counts import CONFIDENCE, confident
from onesided.mechanism._noisy_max_quantile import MOST_CANDIDATES
from onesided.mechanism._paid import count_moves, largest_rate
from onesided.noise import IntArray, Noise, SecureNoise
from onesided.policy import Policy, Shift

# A quarter of a level's rate goes to where a candidate with many values is cut.
_CUT: Final = Fraction(1, 4)
_FINE: Final = 2**16
_MOST: Final = 1_024


class _Part(NamedTuple):
    """The shares from ``first`` to ``last``, of the values between two cuts.

    A cut is (place, portion): of the values at that place so many fine parts lie below it.
    """

    first: int
    last: int
    low: tuple[int, int]
    high: tuple[int, int]
    level: int


def _shares(given: Any, *, name: str) -> tuple[Fraction, ...]:
    """Rising shares, each strictly between 0 and 1."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ParameterError(f"{name} must be a list of shares, got {given!r}.", hint="[0.25, 0.5]")
    found = tuple(strict_share(one, name=name, hint="1/2 is the median.") for one in given)
    if not 1 <= len(found) <= _MOST or list(found) != sorted(set(found)):
        raise ParameterError(
            f"{name} must be up to {_MOST:,} different shares in rising order.",
            hint="For example [0.25, 0.5, 0.75].",
        )
    return found


@dataclass(frozen=True)
class SeveralQuantiles:
    """Release a candidate near each of several quantiles; the answers rise with the shares.

    The middle share is answered first, by permute and flip on ranks among all values. The values
    are then cut there, and each side answers its own shares in the same way. Values at the very
    candidate are cut, too: a second permute and flip says which of ``fine`` equal parts of each of
    them belongs below. So all that one value weighs lies in parts of one level, which add up to it.

    Among n values between two cuts (parts of values count as parts), with the share ``a/b`` of
    those between, L below a candidate x and E at it, ``d(x) = max(b L - a n, a n - b (L + E))``.
    For the cut at j of ``fine`` parts, ``|b (L + E j / fine) - a n|``.

    Promise: along a move with ``Shift(rise, fall)`` the loss is at most ``unit (rise + fall)``.
    Proof. Fix what is answered. At each level, a value weighs w1, w2, ... in the parts there, which
    add up to 1. In a part of share ``a/b``, one value of weight w more changes every distance by at
    most ``w max(a, b - a)`` up or down, so permute and flip at rate r loses at most
    ``2 r w max(a, b - a)``. Each part's rate is its level's over ``2 max(a, b - a)``: so a level
    loses at most its own rate, over all its parts, and levels add up.
    Direction: no side is certain.
    Source: Kaplan, Schnapp and Stemmer 2022 (recursion); the cut within ties is ours.
    Units: ``unit`` in nats per value; answers are places, from 0. Errors: ParameterError.

    >>> made = SeveralQuantiles(1, shares=["1/4", "1/2", "3/4"], candidates=9)
    >>> print(made.levels, made.loss(Shift(rise=0, fall=1)))
    2 1
    """

    unit: Rate = Field(rate)
    _: KW_ONLY
    shares: Any = Field(_shares)
    candidates: Whole = Field(whole, least=1, most=MOST_CANDIDATES)
    fine: Whole = Field(whole, least=1, most=_FINE, default=_FINE)

    @classmethod
    def for_policy(
        cls,
        policy: Policy,
        *,
        shares: Sequence[Number],
        candidates: int,
        epsilon: Number,
        max_groups: int | None = None,
        fine: int = _FINE,
    ) -> SeveralQuantiles:
        """The least noise that keeps ``(epsilon, policy)`` for one value per unit."""
        moves = count_moves(policy, epsilon=epsilon, max_groups=max_groups)
        found = largest_rate(moves, lambda shift: shift.rise + shift.fall)
        return cls(found, shares=shares, candidates=candidates, fine=fine)

    @classmethod
    def pays(cls, number: int) -> bool:
        """Whether so many shares have at least twice the rate of ε split evenly among them."""
        levels = number.bit_length()
        return 2 * (levels + _CUT * (levels - 1)) <= number

    @property
    def levels(self) -> int:
        """How often the shares are halved."""
        return len(self.shares).bit_length()

    @property
    def level_rate(self) -> Loss:
        """What a level may lose in choosing candidates; a quarter of it more for its cuts."""
        if isinstance(self.unit, Infinite):
            return self.unit
        return self.unit / (self.levels + _CUT * (self.levels - 1))

    def loss(self, shift: Shift) -> Loss:
        """``unit (rise + fall)``."""
        return self.unit * (shift.rise + shift.fall)

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> IntArray:
        """A place for each share, from one count per candidate. Errors: DataError."""
        counts = counts_of(values)
        if counts.size != self.candidates:
            raise DataError(
                f"{counts.size} counts for {self.candidates} candidates.",
                hint="Give one count per candidate.",
            )
        places = np.flatnonzero(counts)
        return self.choose(places, counts[places], noise=noise)

    def choose(self, places: IntArray, counts: IntArray, *, noise: Noise | None = None) -> IntArray:
        """The places taken, from the rising places that have values and how many each has."""
        source = SecureNoise() if noise is None else noise
        found = np.zeros(len(self.shares), dtype=np.int64)
        whole_line = _Part(0, len(self.shares), (0, 0), (self.candidates - 1, self.fine), 0)
        parts = [whole_line]
        while parts:
            part = parts.pop(0)
            middle, share = self._middle(part)
            held, weights = self._within(part, places, counts)
            place = self._candidate(part, held, weights, share, source)
            found[middle] = place
            below = _Part(part.first, middle, part.low, part.high, part.level + 1)
            if below.last == below.first and part.last == middle + 1:
                continue
            cut = place, self._cut(part, held, weights, (place, share), source)
            parts.extend(
                one
                for one in (
                    below._replace(high=cut),
                    _Part(middle + 1, part.last, cut, part.high, part.level + 1),
                )
                if one.last > one.first
            )
        return found

    def _middle(self, part: _Part) -> tuple[int, Fraction]:
        """Which share a part answers, and which share of its own values that is."""
        middle = (part.first + part.last) // 2
        ends = (Fraction(0), *self.shares, Fraction(1))
        low, high = ends[part.first], ends[part.last + 1]
        share = (self.shares[middle] - low) / (high - low)
        return middle, share.limit_denominator(_FINE)

    def _rate(self, share: Fraction) -> Loss:
        """The rate per 1/b of a rank at which a part loses what its level may."""
        over, under = share.as_integer_ratio()
        if isinstance(self.level_rate, Infinite):
            return self.level_rate
        return self.level_rate / (2 * max(over, under - over))

    def _within(self, part: _Part, places: IntArray, counts: IntArray) -> tuple[IntArray, IntArray]:
        """The places between the cuts that have values, and their weights in fine parts. Secret."""
        if sum(counts.tolist()) * self.fine * _FINE > MAX_COUNT:
            raise ParameterError(
                "So many values do not fit 62 bits in parts so fine.", hint="Use a smaller fine=."
            )
        inside = (places >= part.low[0]) & (places <= part.high[0])
        held = places[inside]
        each = np.where(held == part.high[0], part.high[1], self.fine)
        each = each - np.where(held == part.low[0], part.low[1], 0)
        weights = counts[inside] * each
        some = weights > 0
        return held[some], weights[some]

    def _candidate(
        self, part: _Part, held: IntArray, weights: IntArray, share: Fraction, source: Noise
    ) -> int:
        over, under = share.as_integer_ratio()
        target = over * int(weights.sum())
        upto = under * np.concatenate([[0], np.cumsum(weights)])
        starts = np.concatenate([[part.low[0]], held + 1])
        gaps = np.concatenate([held, [part.high[0] + 1]]) - starts
        empty = np.flatnonzero(gaps > 0)
        firsts = np.concatenate([held, starts[empty]])
        sizes = np.concatenate([np.ones_like(held), gaps[empty]])
        at = np.maximum(upto[:-1] - target, target - upto[1:])
        distances = np.concatenate([at, np.abs(upto[empty] - target)])
        run = source.permute_and_flip(
            self._fine(self._rate(share)), distances - distances.min(), sizes
        )
        size = int(sizes[run])
        return int(firsts[run]) + (int(source.uniform(size, 1)[0]) if size > 1 else 0)

    def _cut(
        self,
        part: _Part,
        held: IntArray,
        weights: IntArray,
        chosen: tuple[int, Fraction],
        source: Noise,
    ) -> int:
        """Of each value at the chosen place, how many fine parts lie below the cut."""
        (place, share), (low, high) = chosen, (0, self.fine)
        over, under = share.as_integer_ratio()
        low = part.low[1] if place == part.low[0] else low
        high = part.high[1] if place == part.high[0] else high
        below = int(weights[held < place].sum())
        at = int(weights[held == place].sum()) // max(high - low, 1)
        portions = np.arange(high - low + 1, dtype=np.int64)
        distances = np.abs(under * (below + at * portions) - over * int(weights.sum()))
        rough = self._rate(share)
        slower = rough if isinstance(rough, Infinite) else rough * _CUT
        ones = np.ones_like(distances)
        return low + source.permute_and_flip(self._fine(slower), distances - distances.min(), ones)

    def _fine(self, given: Loss) -> Loss:
        """The rate per fine part of a value."""
        return given if isinstance(given, Infinite) else given / self.fine

    def parts(self) -> Iterator[tuple[int, Fraction, int, int | None]]:
        """Each share's number, its share of its part, its level, and whose cut comes before it."""
        waiting = [(0, len(self.shares), 0, None)]
        while waiting:
            first, last, level, parent = waiting.pop(0)
            middle, share = self._middle(_Part(first, last, (0, 0), (0, 0), level))
            yield middle, share, level, parent
            sides = ((first, middle), (middle + 1, last))
            waiting.extend((a, b, level + 1, middle) for a, b in sides if b > a)  # type: ignore[misc]

    def rank_errors(self, *, confidence: Number = CONFIDENCE) -> tuple[float, ...]:
        """Per share, by how many ranks its answer misses at most, with this confidence for each.

        What a cut misses moves the shares beside it by a part of that. Of ties finer than
        ``1/fine`` of a candidate's values nothing is said.
        """
        if isinstance(self.unit, Infinite):
            return (0.0,) * len(self.shares)
        missed = (1 - float(confident(confidence))) / (2 * self.levels)
        errors = [0.0] * len(self.shares)
        moved = [0.0] * len(self.shares)
        for number, share, _, parent in self.parts():
            slope = float(self._rate(share)) * share.denominator  # type: ignore[arg-type] # finite
            own = (math.log(self.candidates) - math.log(missed)) / slope
            cut = (math.log(self.fine + 1) - math.log(missed)) / (slope * float(_CUT))
            before = 0.0
            if parent is not None:
                part = float(1 - share) if parent < number else float(share)
                before = moved[parent] * part
            errors[number] = before + own
            moved[number] = before + max(own, cut)
        return tuple(errors)
