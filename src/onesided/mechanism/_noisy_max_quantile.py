"""A public candidate near a quantile: the noisy maximum of how near each one's rank is."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from onesided._numbers import INFINITE, MAX_COUNT, Infinite, Loss, Number, rate, strict_share, whole
from onesided.errors import DataError, ParameterError
from onesided.fields import Exact, Field, Rate, Whole
from onesided.mechanism._base import counts_of
from onesided.mechanism._counts import CONFIDENCE, confident
from onesided.mechanism._paid import count_moves, largest_rate
from onesided.noise import IntArray, Noise, SecureNoise
from onesided.policy import Policy, Shift

MOST_CANDIDATES: Final = 2**41


def _inner(q: Number, *, name: str) -> Fraction:
    return strict_share(q, name=name, hint="1/2 is the median; for 0 and 1 see Cumulative.")


def _candidates(number: int, *, name: str) -> int:
    return whole(number, name=name, least=1, most=MOST_CANDIDATES)


@dataclass(frozen=True)
class NoisyMaxQuantile:
    """Release one of ``candidates`` ordered candidates, whose rank is likely near that of ``q``.

    Every value is one of the candidates. With n values, L below candidate x and E at it, and
    ``q = a/b``, its distance is ``d(x) = max(b L - a n, a n - b (L + E))``: b times how many ranks
    x lies from the quantile, below 0 where x holds the quantile and has values to spare on
    both sides. Each candidate is accepted with the chance ``e^(-noise_rate (d(x) - least d))``,
    and one of the accepted is taken, each as likely as the next: permute and flip, which is the
    maximum of ``-d(x)`` with exponential noise above it on each.

    Promise: along a move with ``Shift(rise, fall)`` of how many values each candidate has, the
    loss is at most ``noise_rate (2 b min(rise, fall) + 2 max(a, b - a) |rise - fall|)``.
    Proof. Add the same number to all distances: the law stays. Let a move change the distances by
    amounts in [low, high]; take ``low`` off, so that none falls. Where candidate y has the
    noise to reach a level, no other reaches further than before; and that y has it is less
    likely by at most ``e^(-rate (high - low))``. So the loss is at most ``rate (high - low)``.
    One value v more: n grows by 1. ``b L - a n`` changes by ``b - a`` above v, by ``-a`` at and
    below it; ``a n - b (L + E)`` by ``a - b`` at and above v, by ``a`` below it. All lie between
    ``-max(a, b - a)`` and ``max(a, b - a)``. One value less: the negatives. A value that becomes
    another: n stays, and each term changes by -b, 0 or b. Several: the sum of their spans.
    So direction saves nothing here: with two candidates and q = 1/2, let data of equal counts have
    even odds; then under one-sided moves alone k values more on one side leave the other a chance
    of at least ``e^(-ε k) / 2``, which is what it has.
    Direction: no side is certain. :class:`Cumulative` has certain sides and a larger error.
    Units: rate in nats per 1/b of a rank; the answer is a place, from 0.
    Source: Smith 2011 (ranks as utility); McKenna and Sheldon 2020 (permute and flip); the bonus
    for ties and the spans are ours. Errors: ParameterError.

    >>> from onesided.mechanism import NoisyMaxQuantile
    >>> from onesided.policy import Shift
    >>> print(NoisyMaxQuantile("1/4", q="1/2", candidates=9).loss(Shift(rise=0, fall=1)))
    1/2
    """

    noise_rate: Rate = Field(rate)
    _: KW_ONLY
    q: Exact = Field(_inner)
    candidates: Whole = Field(_candidates)

    @classmethod
    def for_policy(
        cls,
        policy: Policy,
        *,
        q: Number,
        candidates: int,
        epsilon: Number,
        max_groups: int | None = None,
        counted: Iterable[str] | None = None,
        truncated: bool = False,
    ) -> NoisyMaxQuantile:
        """The least noise that keeps ``(epsilon, policy)`` for one value per unit."""
        made = cls(INFINITE, q=q, candidates=candidates)
        moves = count_moves(
            policy, epsilon=epsilon, max_groups=max_groups, counted=counted, truncated=truncated
        )
        return cls(largest_rate(moves, made.span), q=q, candidates=candidates)

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> IntArray:
        """A place for each row of counts, one count per candidate.

        Errors: DataError unless whole counts, as many as a multiple of ``candidates``.
        """
        counts = counts_of(values)
        if counts.size % self.candidates:
            raise DataError(
                f"{counts.size} counts are not whole rows of {self.candidates} candidates.",
                hint="Give one count per candidate.",
            )
        rows = counts.reshape(-1, self.candidates)
        places = [np.flatnonzero(row) for row in rows]
        found = [
            self.choose(place, row[place], noise=noise)
            for place, row in zip(places, rows, strict=True)
        ]
        return np.array(found, dtype=np.int64)

    def choose(self, places: IntArray, counts: IntArray, *, noise: Noise | None = None) -> int:
        """The place taken, from the rising places that have values and how many each has.

        Candidates without values are told apart by where they begin and end, and never listed.
        """
        firsts, sizes, distances = self.runs(places, counts)
        source = SecureNoise() if noise is None else noise
        run = source.permute_and_flip(self.noise_rate, distances - distances.min(), sizes)
        size = int(sizes[run])
        within = int(source.uniform(size, 1)[0]) if size > 1 else 0
        return int(firsts[run]) + within

    def loss(self, shift: Shift) -> Loss:
        """``noise_rate (2 b min(rise, fall) + 2 max(a, b - a) |rise - fall|)``."""
        return self.noise_rate * self.span(shift)

    def span(self, shift: Shift) -> int:
        """How far apart the changes of two candidates' distances can lie along a move."""
        over, under = self.q.as_integer_ratio()
        changed = min(shift.rise, shift.fall)
        alone = max(shift.rise, shift.fall) - changed
        return 2 * under * changed + 2 * max(over, under - over) * alone

    def rank_error(self, *, confidence: Number = CONFIDENCE) -> float:
        """By how many ranks an answer misses the quantile at most, with this confidence.

        Of N candidates fewer than one in e^(rate d) are accepted at distance d, and one is sure.
        """
        if isinstance(self.noise_rate, Infinite):
            return 0.0
        odds = math.log(self.candidates) - math.log(1 - confident(confidence))
        return odds / float(self.noise_rate * self.q.denominator)

    def runs(self, places: IntArray, counts: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Runs of candidates at one distance: where each begins, its length, its distance."""
        over, under = self.q.as_integer_ratio()
        total = sum(counts.tolist())
        if total * under > MAX_COUNT:
            raise ParameterError(
                f"Ranks of {total:,} values in units of 1/{under} do not fit 62 bits.",
                hint="Round q to fewer digits.",
            )
        target = over * total
        upto = under * np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        # Between the places with values, before the first and after the last.
        starts = np.concatenate([[0], places + 1])
        gaps = np.concatenate([places, [self.candidates]]) - starts
        empty = np.flatnonzero(gaps)
        firsts = np.concatenate([places, starts[empty]])
        sizes = np.concatenate([np.ones_like(places), gaps[empty]])
        held = np.maximum(upto[:-1] - target, target - upto[1:])
        between = np.abs(upto[empty] - target)
        return firsts, sizes, np.concatenate([held, between])
