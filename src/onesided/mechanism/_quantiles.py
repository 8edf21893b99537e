"""Public candidates near quantiles, and counts at or below each of a row of points."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from onesided._numbers import INFINITE, MAX_COUNT, Infinite, Loss, Number, rate, strict_share, whole
from onesided.errors import DataError, ParameterError
from onesided.fields import Exact, Field, Rate, Whole
from onesided.mechanism._fit import Fitted, Move, TwoRates, choose, counts_of, part_of
from onesided.mechanism._steps import Chosen, Counted, Together, both_ways
from onesided.mechanism.law import CONFIDENCE, Interval, confident
from onesided.noise import IntArray, Noise, SecureNoise
from onesided.noise.kit import permuted
from onesided.policy import Policy, Shift

MOST_CANDIDATES: Final = 2**41


def runs_between(
    ends: tuple[int, int], places: IntArray, weights: IntArray, share: Fraction
) -> tuple[IntArray, IntArray, IntArray]:
    """Runs of candidates at one distance: where each begins, its length, its distance.

    ends: the first and the last candidate. places: the rising ones that have values, and what
    these weigh. Candidates without values are told apart by where they begin and end, and never
    listed.
    """
    over, under = share.as_integer_ratio()
    target = over * sum(weights.tolist())
    upto = under * np.concatenate([[0], np.cumsum(weights, dtype=np.int64)])
    # Between the places with values, before the first and after the last.
    starts = np.concatenate([[ends[0]], places + 1])
    gaps = np.concatenate([places, [ends[1] + 1]]) - starts
    empty = np.flatnonzero(gaps > 0)
    firsts = np.concatenate([places, starts[empty]])
    sizes = np.concatenate([np.ones_like(places), gaps[empty]])
    held = np.maximum(upto[:-1] - target, target - upto[1:])
    return firsts, sizes, np.concatenate([held, np.abs(upto[empty] - target)])


def runs_of_each(
    last: int, places: IntArray, weights: IntArray, ends: IntArray, share: Fraction
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """As :func:`runs_between`, of many rows at once that end at ``ends``; and where their runs end.

    Candidates go from 0 to ``last``. Of a row come the gap before a place, the place, the next gap,
    ..., and the gap after the last.
    """
    over, under = share.as_integer_ratio()
    starts, rows = np.concatenate([[0], ends[:-1]]), np.arange(ends.size)
    of = np.repeat(rows, ends - starts)
    summed = np.concatenate([[0], np.cumsum(weights)])
    below = under * (summed[:-1] - summed[starts][of])
    total = summed[ends] - summed[starts]
    target = over * total
    firsts, beyond, distances = np.zeros((3, 2 * places.size + ends.size), dtype=np.int64)
    held, after = 2 * np.arange(places.size) + of + 1, 2 * ends + rows
    firsts[held], firsts[held + 1] = places, places + 1
    firsts[2 * starts + rows] = 0
    beyond[held - 1], beyond[held], beyond[after] = places, places + 1, last + 1
    distances[held - 1] = np.abs(below - target[of])
    distances[held] = np.maximum(below - target[of], target[of] - below - under * weights)
    distances[after] = np.abs(under * total - target)
    some = beyond > firsts
    return firsts[some], (beyond - firsts)[some], distances[some], np.cumsum(some)[after]


def picked(rate: Loss, runs: tuple[IntArray, IntArray, IntArray], source: Noise) -> int:
    """A candidate, by permute and flip on the distances of all of them."""
    firsts, sizes, distances = runs
    run = source.permute_and_flip(rate, distances - distances.min(), sizes)
    size = int(sizes[run])
    return int(firsts[run]) + (int(source.uniform(size, 1)[0]) if size > 1 else 0)


def _missed(rate: Loss, candidates: int, confidence: Number) -> float:
    """How far an answer lies at most, with this confidence.

    Of N candidates fewer than one in e^(rate d) are accepted at distance d, and one is sure.
    """
    if isinstance(rate, Infinite):
        return 0.0
    odds = math.log(candidates) - math.log(1 - confident(confidence))
    return odds / float(rate)


def _one_each(values: ArrayLike, candidates: int) -> IntArray:
    """Counts, one for each candidate. Errors: DataError."""
    counts = counts_of(values)
    if counts.size != candidates:
        raise DataError(
            f"{counts.size} counts for {candidates} candidates.",
            hint="Give one count per candidate.",
        )
    return counts


@dataclass(frozen=True)
class NoisyMaxQuantile(Fitted):
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
    q: Exact = Field(strict_share, hint="1/2 is the median; for 0 and 1 see Cumulative.")
    candidates: Whole = Field(whole, least=1, most=MOST_CANDIDATES)

    _fitted = "noise_rate"

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
        source = SecureNoise() if noise is None else noise
        return picked(self.noise_rate, self.runs(places, counts), source)

    def choose_each(
        self, rows: Sequence[tuple[IntArray, ...]], *, noise: Noise | None = None
    ) -> IntArray:
        """As :meth:`choose` of each of many rows of places and counts, drawn side by side."""
        source = SecureNoise() if noise is None else noise
        places, counts = (np.concatenate(part) for part in zip(*rows, strict=True))
        if int(counts.max(initial=0)) * max(1, counts.size) * self.q.denominator > MAX_COUNT:
            found = [self.choose(*row, noise=source) for row in rows]
            return np.array(found, dtype=np.int64)
        ends = np.cumsum([row[0].size for row in rows])
        firsts, sizes, distances, ends = runs_of_each(
            self.candidates - 1, places, counts, ends, self.q
        )
        starts = np.concatenate([[0], ends[:-1]])
        least = np.repeat(np.minimum.reduceat(distances, starts), ends - starts)
        runs, items = permuted(source, self.noise_rate, distances - least, sizes, ends)
        return firsts[runs] + items

    def loss(self, shift: Shift) -> Loss:
        """``noise_rate (2 b min(rise, fall) + 2 max(a, b - a) |rise - fall|)``."""
        return self.noise_rate * self.span(shift)

    def steps(self, shift: Shift) -> Chosen:
        """One choice: seen from the other end of a move the changes are the negatives."""
        return both_ways(self.loss(shift))

    def span(self, shift: Shift) -> int:
        """How far apart the changes of two candidates' distances can lie along a move."""
        over, under = self.q.as_integer_ratio()
        changed = min(shift.rise, shift.fall)
        alone = max(shift.rise, shift.fall) - changed
        return 2 * under * changed + 2 * max(over, under - over) * alone

    def rank_error(self, *, confidence: Number = CONFIDENCE) -> float:
        """By how many ranks an answer misses the quantile at most, with this confidence."""
        return _missed(self.noise_rate * self.q.denominator, self.candidates, confidence)

    def runs(self, places: IntArray, counts: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Runs of candidates at one distance: where each begins, its length, its distance."""
        total, under = sum(counts.tolist()), self.q.denominator
        if total * under > MAX_COUNT:
            raise ParameterError(
                f"Ranks of {total:,} values in units of 1/{under} do not fit 62 bits.",
                hint="Round q to fewer digits.",
            )
        return runs_between((0, self.candidates - 1), places, counts, self.q)


@dataclass(frozen=True)
class NoisyMaxRank(Fitted):
    """Release one of ``candidates`` ordered candidates, above which about ``above`` values lie.

    Every value is one of the candidates. With R values above candidate x and E at it, its distance
    is ``d(x) = max(R - above, above - R - E)``. Permute and flip by these distances, as
    :class:`onesided.mechanism.NoisyMaxQuantile` does by its own. No number of values is needed.

    Promise: along a move with ``Shift(rise, fall)`` of how many values each candidate has, the
    loss is at most ``2 noise_rate max(rise, fall)``.
    Proof. One value more: R and R + E rise by 0 or 1, so each of the two terms changes by -1, 0 or
    1. A value that becomes another: R and R + E change by -1, 0 or 1. So changes lie within
    [-1, 1], spans add up, and permute and flip loses ``noise_rate`` times the span.
    Direction: no side is certain, and one direction saves nothing: a value more takes candidates
    below it that lie too low farther off, and those that lie too high nearer.
    Units: rate in nats per rank; the answer is a place, from 0. Errors: ParameterError.

    >>> from onesided.policy import Shift
    >>> print(NoisyMaxRank("1/4", above=2, candidates=9).loss(Shift(rise=1, fall=1)))
    1/2
    """

    noise_rate: Rate = Field(rate)
    _: KW_ONLY
    above: Whole = Field(whole, least=0)
    candidates: Whole = Field(whole, least=1, most=MOST_CANDIDATES)

    _fitted = "noise_rate"

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> int:
        """A place, from one count per candidate. Errors: DataError unless so many counts."""
        counts = _one_each(values, self.candidates)
        source = SecureNoise() if noise is None else noise
        distances = self.distances(counts)
        sizes = np.ones_like(distances)
        return int(source.permute_and_flip(self.noise_rate, distances - distances.min(), sizes))

    def loss(self, shift: Shift) -> Loss:
        """``2 noise_rate max(rise, fall)``."""
        return self.noise_rate * self.span(shift)

    def steps(self, shift: Shift) -> Chosen:
        """One choice, as that of :class:`NoisyMaxQuantile`."""
        return both_ways(self.loss(shift))

    def span(self, shift: Shift) -> int:
        """How far apart the changes of two candidates' distances can lie along a move."""
        return 2 * max(shift.rise, shift.fall)

    def distances(self, counts: IntArray) -> IntArray:
        """How many ranks each candidate lies from the one that is looked for. Secret."""
        higher = np.cumsum(counts[::-1], dtype=np.int64)[::-1] - counts
        return np.asarray(np.maximum(higher - self.above, self.above - higher - counts))

    def rank_error(self, *, confidence: Number = CONFIDENCE) -> float:
        """By how many ranks an answer misses at most, with this confidence."""
        return _missed(self.noise_rate, self.candidates, confidence)


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
class SeveralQuantiles(Fitted):
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

    _fitted = "unit"

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

    def steps(self, shift: Shift) -> Together:
        """Level by level: what values weigh there is fixed by the levels before."""
        return self.by_level(shift.rise + shift.fall)

    def by_level(self, moved: int) -> Together:
        """The same, where so many values come or go: a level's candidates and cuts, one after one.

        All parts of a level together are one step, and so is its reverse.
        """
        level = self.level_rate
        cut = level * (1 + _CUT)
        levels = [cut] * (self.levels - 1) + [level]
        return Together(tuple(both_ways(each * moved) for each in levels))

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> IntArray:
        """A place for each share, from one count per candidate. Errors: DataError."""
        counts = _one_each(values, self.candidates)
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
            runs = runs_between((part.low[0], part.high[0]), held, weights, share)
            place = picked(self._fine(self._rate(share)), runs, source)
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


_BRANCHINGS: Final = (2, 4, 8, 16, 32)


@dataclass(frozen=True)
class Cumulative(TwoRates):
    """Noisy counts of runs of bins, from which every cumulative count is a sum of few.

    bins: how many bins, in order. levels, branching: runs of 1, b, b^2, ... bins are counted, of
    as many sizes as there are levels; 1 counts the bins alone.
    Promise: a record in a bin is in one run of each level, so along a move with
    ``Shift(rise, fall)`` of the bins' counts the loss is exactly
    ``levels * (upper_rate * fall + lower_rate * rise)``.
    Direction: as for :class:`Counts`; where counts only fall along the moves, no cumulative count
    from either end is ever below the truth.
    Units: rates in nats per count and level; answers in counts.
    Source: the hierarchical method (Hay et al. 2010) with the noise of this policy.
    Errors: ParameterError.

    >>> from onesided.mechanism import Cumulative
    >>> Cumulative(1, 1, bins=8, levels=3).branching
    2
    """

    upper_rate: Rate = Field(rate)
    lower_rate: Rate = Field(rate)
    _: KW_ONLY
    bins: Whole = Field(whole, least=1)
    levels: Whole = Field(whole, least=1, default=1)
    branching: Whole = Field(whole, least=2, default=2)

    def __post_init__(self) -> None:
        whole(self.levels, name="levels", most=_deepest(self.bins, self.branching))

    @classmethod
    def fit(
        cls,
        policy: Policy,  # noqa: ARG003
        moves: Sequence[Move],
        *,
        bins: int,
    ) -> Self:
        """Bins alone, or runs of the sizes that make cumulative counts vary least on average."""
        number = whole(bins, name="bins", least=1)
        tried = [
            cls(
                *choose(part_of(moves, Fraction(1, levels))),
                bins=number,
                levels=levels,
                branching=branching,
            )
            for branching in _BRANCHINGS
            for levels in range(1, _deepest(number, branching) + 1)
        ]
        return min(tried, key=lambda one: (one.mean_variance, one.levels))

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> IntArray:
        """Noisy counts of all runs, level by level from the bins up, for each row of bins.

        ``values``: counts per bin, one or several rows after one another.
        Errors: DataError unless whole counts, as many as a multiple of ``bins``, 2^62 in all.
        """
        counts = counts_of(values)
        if counts.size % self.bins:
            raise DataError(
                f"{counts.size} counts are not whole rows of {self.bins} bins.",
                hint="Give one count per bin.",
            )
        if sum(counts.tolist()) > MAX_COUNT:
            raise DataError(
                "These counts add up to more than 2^62, which no sum of them could hold.",
                hint="Counts of people cannot be so large; check the table for overflow.",
            )
        rows = counts.reshape(-1, self.bins)
        runs = np.concatenate([self._runs(rows, level) for level in range(self.levels)], axis=1)
        source = SecureNoise() if noise is None else noise
        drawn = source.two_sided(self.upper_rate, self.lower_rate, runs.size)
        return runs.reshape(-1) + drawn

    def loss(self, shift: Shift) -> Loss:
        """Exactly ``levels * (upper_rate * fall + lower_rate * rise)``."""
        return super().loss(shift) * self.levels

    def steps(self, shift: Shift) -> Together:
        """Each level is counted afresh."""
        return Together((Counted(self.upper_rate, self.lower_rate, shift),), self.levels)

    @property
    def mean_variance(self) -> float:
        """The variance of a cumulative count, averaged over the points."""
        ends, used = np.arange(1, self.bins + 1), np.zeros(self.bins)
        for _ in range(self.levels - 1):
            used, ends = used + ends % self.branching, ends // self.branching
        return float(self.distribution.variance()) * float(np.mean(used + ends))

    def up_to(self, runs: IntArray) -> tuple[IntArray, IntArray]:
        """Noisy counts in the first 1, 2, ... bins per row, and of how many runs each is made."""
        return self._added(runs, [(0, end) for end in range(1, self.bins + 1)])

    def beyond(self, runs: IntArray) -> tuple[IntArray, IntArray]:
        """Noisy counts in the bins after those, and of how many runs each is made."""
        return self._added(runs, [(end, self.bins) for end in range(1, self.bins + 1)])

    def interval(
        self, found: IntArray, used: IntArray, *, confidence: Number = CONFIDENCE
    ) -> Interval:
        """Bounds on all true cumulative counts at once; a side without noise is certain."""
        sides = sum(rate != INFINITE for rate in (self.upper_rate, self.lower_rate))
        miss = (1 - confident(confidence)) / (self._starts[-1] * max(sides, 1))
        law = self.distribution
        above = 0 if self.upper_rate == INFINITE else law.quantile_upper(1 - miss) or 0
        below = 0 if self.lower_rate == INFINITE else law.quantile_lower(1 - miss) or 0
        return Interval(
            lower=found - used * above,
            upper=found - used * below,
            lower_certain=self.upper_rate == INFINITE,
            upper_certain=self.lower_rate == INFINITE,
        ).at_least(0)

    @property
    def _starts(self) -> list[int]:
        """Where each level's runs begin in a row of runs, and where the row ends."""
        sizes = [-(-self.bins // self.branching**level) for level in range(self.levels)]
        return [0, *np.cumsum(sizes).tolist()]

    def _runs(self, rows: IntArray, level: int) -> IntArray:
        width = self.branching**level
        starts = np.arange(0, self.bins, width)
        return np.add.reduceat(rows, starts, axis=1)

    def _added(self, runs: IntArray, spans: list[tuple[int, int]]) -> tuple[IntArray, IntArray]:
        """Noisy counts of spans of bins, and how many runs make up each."""
        starts = self._starts
        table = runs.reshape(-1, starts[-1])
        parts = [self._cover(place, end, starts) for place, end in spans]
        found = np.stack([table[:, part].sum(axis=1) for part in parts], axis=1)
        return found, np.array([len(part) for part in parts], dtype=np.int64)

    def _cover(self, place: int, end: int, starts: list[int]) -> list[int]:
        """The fewest runs that make up the bins from ``place`` to below ``end``."""
        parts = []
        while place < end:
            level = self.levels - 1
            width = self.branching**level
            while place % width or min(place + width, self.bins) > end:
                level, width = level - 1, width // self.branching
            parts.append(starts[level] + place // width)
            place += width
        return parts


def _deepest(bins: int, branching: int) -> int:
    """The number of levels up to the first run that holds everything."""
    levels, width = 1, 1
    while width < bins:
        levels, width = levels + 1, width * branching
    return levels
