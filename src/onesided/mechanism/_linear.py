"""Linear queries: noisy answers of a strategy, and everything else from them by least squares."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onesided._english import a, many
from onesided._numbers import INFINITE, MAX_COUNT, Infinite, Loss, Number, positive, rate
from onesided.errors import DataError, OnesidedError, ParameterError
from onesided.fields import settle
from onesided.linear import (
    Dense,
    Grid,
    Identity,
    Kron,
    Moves,
    Operator,
    Ranges,
    candidates,
    least_squares,
    moves_of,
    strategy_shifts,
)
from onesided.linear.kit import (
    Held,
    Layout,
    Totals,
    alike,
    check_spans,
    cost,
    draws_for,
    factors,
    held_factors,
    holds_cells,
    nearest,
    notes_of,
    sampled_factors,
    thinned,
    understated,
    weights,
)
from onesided.mechanism._fit import counts_of, rates_over
from onesided.mechanism.law import CONFIDENCE, shared, tail_bound
from onesided.noise import DiscreteGaussian, IntArray, Noise, SecureNoise, TwoSidedGeometric
from onesided.noise.kit import variance_of
from onesided.policy import Edge, Policy, Shift

# How far weighted sums of noise reach: the law of each sum itself, by its Fourier series.
#
# Claim. Let ``S = sum w_i (D_i - mean)`` for independent noise D_i and public weights.
# :func:`reaches` returns an h with ``Pr[S > h] <= 1 - share``; where weights are small whole
# multiples of one of them it is the least such h up to a millionth of the chance, else larger by
# a few hundredths.
# Proof. What is bounded on the way is taken off the chance to miss.
# 1. *Series.* Let q be the square wave of half period H: 1 on (0, H), -1 on (-H, 0). On (-oo, H)
#    it is at least the sign, so ``Pr[X > h] <= 1/2 + E q(X - h) / 2 + Pr[X - h > H]``. And ``E
#    q(X - h)`` is ``4/pi sum Im(e^(-i u h) f(u)) / k`` over odd k, where ``u = k pi / H`` and f
#    is the characteristic function of X. H is twice what Chernoff's bound leaves, so that -H
#    costs as little as H; h is at least minus one deviation, for a median lies that near to the
#    mean.
# 2. *Whole multiples.* X is whole, and h half-way between whole numbers. For 2 H = N, a multiple
#    of 4, the wave at such places is a finite sum: the odd k below N/2, with ``N sin(pi k / N)``
#    for ``pi k``.
# 3. *Others, smooth.* With Z normal of deviation t, independent: where ``S > h`` and ``Z > -c
#    t``, ``S + Z > h - c t``. So ``Pr[S > h] <= Pr[S + Z > h - c t] / Pr[Z > -c t]``; c is 2.33.
#    Now ``|f(u)| <= e^(-t² u² / 2)``, and what comes after ``t u = x >= 1`` is less than ``e^(-x²
#    / 2)``.
# 4. *Few weights.* There ``w_i = v_i + r_i``, where all v are few and at most 1/32 of an octave
#    away. ``S > h + h'`` needs the sum of v above h, or that of r above h', which
#    :func:`onesided.mechanism.law.tail_bound` bounds by a fiftieth of the chance.
# 5. *Roundings.* A geometric's ``1 - p e^(iy)`` is ``(1 - p) + 2 p sin²(y / 2) - i p sin y``,
#    where nothing cancels: its logarithm is off by parts in 2^50 of itself, or, in its angle, of
#    y times the mean. A discrete Gaussian's function is a sum of normal ones, one at each
#    multiple of 2 π, divided by the sum at 0; its logarithm is off by what y is, and that of a
#    sum of noise by less than 2^-40 of 1 and its size together. Sums of at most 2^11 such terms
#    are off by less than 2^-40 of the sums of their sizes. Terms of the series that are all so
#    small that together they are less than what is spared are not summed.

Floats = NDArray[np.float64]
_Law: TypeAlias = TwoSidedGeometric | DiscreteGaussian
_PER_OCTAVE: Final = 32
# A weight that is so many octaves below all of them is left to what is bounded apart.
_OCTAVES: Final = 14
_MULTIPLES: Final = 2**9
_PERIOD: Final = 2**13
_SAME: Final = 1e-9
_APART: Final = 1 / 50
_SMOOTH: Final = 1 / 600
_WIDTHS, _KEPT = 2.33, 0.99
_STEPS: Final = 2**10
_ROUNDED: Final = 2.0**-40
_SUMS_AT_ONCE: Final = 2**20


def reaches(law: _Law, weights: NDArray[Any], share: Fraction) -> Floats:
    """Per row of ``weights``, the h that its sum of centred noise passes so rarely.

    See the module for what is promised and why. share: how often at least ``sum <= h``.

    >>> noise = TwoSidedGeometric(1, 1)
    >>> reaches(noise, np.array([[1.0, 0.0], [1.0, 1.0]]), Fraction(39, 40)).round(3).tolist()
    [3.0, 4.0]
    """
    rows = np.asarray(weights, dtype=np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    found = np.zeros(len(rows))
    some = lengths > 0
    if not law.variance() or not some.any():
        return found
    miss = min(float(1 - share), 0.5)
    far = tail_bound([(law, 1.0)], 1 - Fraction(miss / 2**20))
    units = rows / np.min(np.abs(rows), axis=1, where=rows != 0, initial=1e300)[:, None]
    far_units = far * np.sqrt(np.einsum("ij,ij->i", units, units))
    whole = np.abs(units - np.rint(units)).max(axis=1) <= _SAME
    whole &= some & (np.abs(units).max(axis=1) <= _MULTIPLES) & (4 * far_units <= _PERIOD)
    if whole.any():
        least = lengths[whole] * far / far_units[whole]
        series = _Series(law, miss, miss / 2**20, float(far_units[whole].max()), smooth=0)
        steps = np.rint(units[whole])
        sizes, counts, _ = _counted(steps, np.where(steps, steps + _MULTIPLES + 1, 0))
        found[whole] = series.reaches(sizes, counts) * least + _SAME * far * lengths[whole]
    if (rest := some & ~whole).any():
        spare = miss / 1_000
        far = tail_bound([(law, 1.1)], 1 - Fraction(spare))
        series = _Series(law, miss * (1 - _APART), spare, far, smooth=far * _SMOOTH)
        scaled = rows[rest] / lengths[rest, None]
        # Equal numbers for weights of one sign that differ by a fiftieth; 0 for the least.
        with np.errstate(divide="ignore"):
            octaves = np.floor(np.log2(np.abs(scaled)) * _PER_OCTAVE) + _OCTAVES * _PER_OCTAVE
        code = np.where(scaled > 0, 1, 1 + (_OCTAVES + 1) * _PER_OCTAVE) + octaves
        sizes, counts, left = _counted(scaled, np.asarray(np.where(octaves < 0, 0, code)))
        wide = tail_bound([(law, 1.0)], 1 - Fraction(miss * _APART)) * np.sqrt(left)
        found[rest] = (series.reaches(sizes, counts) + wide) * lengths[rest]
    return np.minimum(found, _most(law, rows))


def _most(law: _Law, rows: Floats) -> Floats:
    """What no sum passes at all; infinite but for noise on one side."""
    above, below = np.maximum(rows, 0).sum(axis=1), np.maximum(-rows, 0).sum(axis=1)
    ends = np.zeros(len(rows))
    for slope, weight in ((law.upper, above), (law.lower, below)):
        ends[(weight > 0) & (not isinstance(slope, Infinite))] = np.inf
    return np.asarray(ends + (below - above) * law.mean())


def _counted(rows: Floats, codes: Floats) -> tuple[Floats, Floats, Floats]:
    """The mean weight of each code, how many weights of each row have it, and squares left over.

    Weights of code 0 are left over whole.
    """
    code = codes.astype(np.int64)
    numbers = np.bincount(code.ravel())
    used = np.flatnonzero(numbers[1:]) + 1
    sizes = np.bincount(code.ravel(), rows.ravel())[used] / numbers[used]
    place = np.zeros(numbers.size, dtype=np.int64)
    place[used] = np.arange(1, used.size + 1)
    near = place[code]
    at = near + np.arange(len(rows))[:, None] * (used.size + 1)
    counts = np.bincount(at.ravel(), minlength=len(rows) * (used.size + 1))
    left = rows - np.append(0.0, sizes)[near]
    table = counts.reshape(len(rows), -1)[:, 1:].astype(np.float64)
    return sizes, table, np.einsum("ij,ij->i", left, left)


class _Series:
    """The Fourier series of sums of noise that pass ``far`` with a chance of at most ``spare``.

    smooth: the deviation of what is added to make them smooth; 0 where weights are whole.
    """

    def __init__(self, law: _Law, miss: float, spare: float, far: float, *, smooth: float) -> None:
        self.law, self.smooth, self.spare = law, smooth, spare
        if smooth:
            half, low = 2 * far + 10 * smooth, math.sqrt(1.1 * law.variance())
            ends = math.sqrt(-2 * math.log(spare)) / smooth
            k = np.arange(1, ends * half / math.pi + 2, 2)
            self.part = np.exp(-((smooth * k * math.pi / half) ** 2) / 2) * (2 / math.pi) / k
            self.start, self.steps, self.step = -low, _STEPS, (far + low) / _STEPS
        else:
            half = 2 * math.ceil(far) + 2
            k = np.arange(1, half, 2)
            self.part = 1 / half / np.sin(k * (math.pi / half / 2))
            self.start, self.steps, self.step = -far, 2 * math.ceil(far), 1.0
        self.most = (_KEPT if smooth else 1) * miss - 3 * spare
        self.at = k * (math.pi / half)

    def reaches(self, sizes: Floats, counts: Floats) -> Floats:
        """Per row, an h for the sum of so many noises of each size."""
        kinds, kind = np.unique(counts, axis=0, return_inverse=True)
        angles = np.outer(sizes, self.at)
        depths, turns = _logs(self.law, angles)
        some = max(1, _SUMS_AT_ONCE // self.at.size)
        parts = [
            self._solved(kinds[first : first + some], sizes, depths, turns)
            for first in range(0, len(kinds), some)
        ]
        return np.concatenate(parts)[kind.ravel()]

    def _solved(self, counts: Floats, sizes: Floats, depths: Floats, turns: Floats) -> Floats:
        depth = counts @ depths
        height = np.exp(depth) * self.part
        means = 0.0
        if isinstance(self.law, TwoSidedGeometric):
            means = _mean(self.law.upper) + _mean(self.law.lower)
        size = 1 - depth + np.outer(counts @ np.abs(sizes), self.at * means)
        most = self.most - _ROUNDED * np.einsum("ij,ij->i", height, size)
        seen = height.max(axis=0) > self.spare / self.at.size
        height, at = height[:, seen], self.at[seen]
        turn = counts @ turns[:, seen] if turns.any() else 0.0
        start, between = np.full(len(counts), self.start), 0.0
        if not self.smooth:
            middle = counts @ sizes * self.law.mean()
            start, between = np.floor(middle + start) - middle, 0.5
        low, high = np.zeros(len(counts)), np.full(len(counts), self.steps + 1.0)
        for _ in range(self.steps.bit_length() + 1):
            tried = np.floor((low + high) / 2)
            waves = np.sin(turn - np.outer(start + tried * self.step + between, at))
            good = 0.5 + np.einsum("ij,ij->i", height, waves) <= most
            low, high = np.where(good, low, tried), np.where(good, tried, high)
        return np.asarray(start + high * self.step + _WIDTHS * self.smooth)


def _mean(rate: Loss) -> float:
    return 0.0 if isinstance(rate, Infinite) else math.exp(-rate) / -math.expm1(-rate)


def _logs(law: _Law, angles: Floats) -> tuple[Floats, Floats]:
    """Logarithm of the noise's characteristic function: of its size, and its angle."""
    if isinstance(law, TwoSidedGeometric):
        above, below = (_log(rate, angles) for rate in (law.upper, law.lower))
        return above[0] + below[0], above[1] - below[1]
    size = float(law.parameter)
    near = angles - 2 * math.pi * np.rint(angles / (2 * math.pi))
    depths, norm = -size * near * near / 2, 1.0
    ratio = np.ones_like(near)
    for j in range(1, 3 + int(2 / math.sqrt(size))):  # Poisson's formula, over both sums at 0
        for way in (j, -j):
            ratio += np.exp(-2 * math.pi * size * way * (near + math.pi * way))
        norm += 2 * math.exp(-2 * math.pi**2 * size * j * j)
    return depths + np.log(ratio / norm), np.zeros_like(near)


def _log(given: Loss, angles: Floats) -> tuple[Floats, Floats]:
    """Logarithm of a centred geometric's characteristic function: of its size, and its angle."""
    if isinstance(given, Infinite):
        return np.zeros_like(angles), np.zeros_like(angles)
    rate = float(given)
    p, left = math.exp(-rate), -math.expm1(-rate)
    near = 2 * p * np.sin(angles / 2) ** 2
    depth = -np.log1p(2 * near / left**2) / 2
    return depth, np.arctan2(p * np.sin(angles), left + near) - angles * (p / left)


_PROBED: Final = 64
_PROBED_SLOWLY: Final = 8
# Numbers that a release may work through for its variances: some seconds.
_QUICK: Final = 2**25
# As many weights, a part of them at once, for its intervals.
_WEIGHED: Final = 2**24
_AT_ONCE: Final = 2**21
# The part of what a bound may miss that goes to a variance estimated from draws.
_UNSURE: Final = 20
# How far floats may be off, as a part of the length of what they are made of.
_FLOATS: Final = 2.0**-32
_OFF: Final = 2.0**-20


class LinearAnswers(NamedTuple):
    """Answers to the workload.

    estimate: one per query, consistent with each other. variance: of each estimate, exact for
        least squares without bounds (with ``non_negative`` the sum of squared errors is never
        larger, and the estimates are biased); None if too much to work out. noisy: the strategy's
        noisy answers. totals: the public totals, exactly; None without any. fitted: whether cells
        of at least 0 were found for them, where that was asked; if not, each answer is cut alone.

    >>> LinearAnswers(np.array([2.0]), None, np.array([2])).variance is None
    True
    """

    estimate: NDArray[np.float64]
    variance: NDArray[np.float64] | None
    noisy: IntArray
    totals: IntArray | None = None
    fitted: bool = True


class LinearBounds(NamedTuple):
    """Bounds on the true answers; certain: a side from which no noise comes is never wrong.

    known: which answers are made of public totals alone; None without any. Both their bounds are
    certain.

    >>> LinearBounds(np.array([0.0]), np.array([3.0]), certain=False).upper.tolist()
    [3.0]
    """

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    certain: bool
    known: NDArray[np.bool_] | None = None


@dataclass(frozen=True, eq=False)
class Linear:
    """Release ``strategy @ counts`` with two-rate geometric noise on each row; answer from it.

    Promise: along a move that shifts the strategy's answers by ``Shift(rise, fall)``, each summed
    over all rows, the loss is exactly ``upper_rate * fall + lower_rate * rise``.
    Proof: each row's noise is an independent two-rate geometric, so the loss is the sum of the
    rows' losses; estimates are computed from the noisy answers alone.
    Direction: falls are hidden by noise above the truth, rises by noise below it. The shifts of a
    strategy under a policy are :func:`onesided.linear.strategy_shifts`.
    Exactness: the strategy is of whole numbers and its noisy answers are whole; floats enter
    afterwards. Estimates are unbiased: the noise's mean is taken out.
    non_negative: the answers, of cells of at least 0, that are nearest to the unbiased ones. Those
        of such cells are a convex set that holds the true answers, and a projection on it brings
        nearer to all of it: whatever the noise, the sum of squared errors never rises. Where that
        fit does not end, each answer is cut at 0 and at the total, which is such a projection too.
    public: a label for each cell; the totals of cells of one label from 0 up are told exactly, and
        all answers are held to them (:mod:`onesided.linear._error`): no variance rises. The promise
        is then about moves that leave these totals as they are, and they lose nothing by it;
        :meth:`for_policy` takes those that no move of the policy changes
        (:meth:`onesided.linear.Moves.components`). None tells none.
    gaussian: the σ² of exact discrete Gaussian noise on each row, in place of both rates. Then no ε
        holds, and rates are 1 / σ²; divergences follow from how far the answers move in L2
        (:func:`onesided.linear.kit.square_shifts`, docs/proofs/renyi.md).
    Units: rates in nats per count.
    Source: delta-neighbourhood, section 5, with noise on two sides; Li et al. 2010.
    Errors: ParameterError for rates, or a strategy from which some query cannot be had.

    >>> from onesided import policy
    >>> from onesided.linear import Prefix
    >>> from onesided.mechanism import Linear
    >>> ages = policy.graph([(0, 1), (1, 2)], directed=True)
    >>> asked = Linear.for_policy(ages, workload=Prefix(3), epsilon=1, strategy=Prefix(3))
    >>> asked.upper_rate, asked.lower_rate
    (Fraction(1, 1), INFINITE)
    """

    strategy: Operator
    workload: Operator
    upper_rate: Loss
    lower_rate: Loss
    non_negative: bool = False
    shifts: Mapping[Edge, tuple[Shift, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    public: Totals | None = None
    gaussian: Fraction | None = None

    def __init__(
        self,
        strategy: Operator | ArrayLike,
        workload: Operator | ArrayLike,
        upper_rate: Loss | Number,
        lower_rate: Loss | Number,
        *,
        non_negative: bool = False,
        shifts: Mapping[Edge, tuple[Shift, ...]] | None = None,
        notes: Sequence[str] = (),
        public: Totals | ArrayLike | None = None,
        gaussian: Number | None = None,
    ) -> None:
        ways, asked = _operator(strategy), _operator(workload)
        check_spans(ways, asked)
        known = public if public is None or isinstance(public, Totals) else _totals(public)
        if known is not None and known.shape[1] != ways.shape[1]:
            raise ParameterError(
                f"{many(ways.shape[1], 'cell')} need as many labels, got {known.shape[1]:,}.",
                hint="Label each cell; -1 is in no public total.",
            )
        wide = None if gaussian is None else variance_of(gaussian, name="gaussian")
        given = {"upper_rate": upper_rate, "lower_rate": lower_rate}
        rates = {side: 1 / wide if wide else rate(one, name=side) for side, one in given.items()}
        settle(
            self,
            strategy=ways,
            workload=asked,
            non_negative=bool(non_negative),
            shifts=MappingProxyType(dict(shifts or {})),
            notes=tuple(notes),
            public=known,
            gaussian=wide,
            **rates,
        )

    @classmethod
    def for_policy(
        cls,
        policy: Policy,
        *,
        workload: Operator | ArrayLike,
        epsilon: Number,
        strategy: Operator | ArrayLike | None = None,
        cells: Layout | None = None,
        partition: bool = False,
        non_negative: bool = False,
    ) -> Linear:
        """The least noise that keeps ``(epsilon, policy)`` for this strategy.

        strategy: None takes the one of least predicted error among the standard ones.
        cells, partition: see :func:`onesided.linear.moves_of`; by default as many cells as the
            workload has columns, or the grid of a workload of ranges.
        Errors: ParameterError where a neighbourhood needs to know how the cells lie, and the
            workload does not tell.
        """
        asked = _operator(workload)
        layout = _layout(asked, policy) if cells is None else cells
        moves = moves_of(policy, layout, partition=partition)
        loss = positive(epsilon, name="epsilon")
        chosen = best(moves, asked, loss, layout) if strategy is None else _operator(strategy)
        shifts = strategy_shifts(chosen, moves)
        upper, lower = rates_over(shifts, loss)
        return cls(
            chosen,
            asked,
            upper,
            lower,
            non_negative=non_negative,
            shifts=shifts,
            notes=notes_of(moves),
            public=moves.components(),
        )

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> LinearAnswers:
        """Noisy answers to the workload, from one count per cell in the order of the cells.

        Errors: DataError unless ``values`` are counts, one per column of the strategy.
        """
        totals = self.totals(values)
        return self.estimate(self.noisy(values, noise=noise), totals)

    def totals(self, values: ArrayLike) -> IntArray | None:
        """The public totals, which no move of the policy changes; None without any."""
        if self.public is None:
            return None
        return np.asarray(self.public.apply(counts_of(values)), dtype=np.int64)

    def noisy(self, values: ArrayLike, *, noise: Noise | None = None) -> IntArray:
        """The strategy's noisy answers: with :meth:`totals` all that touches the data."""
        counts = counts_of(values)
        if counts.size != self.strategy.shape[1]:
            raise DataError(
                f"The strategy is over {many(self.strategy.shape[1], 'cell')}, got "
                f"{many(counts.size, 'count')}.",
                hint="Count every cell, empty ones too, in the order of the cells.",
            )
        if sum(map(int, counts)) * self.strategy.largest > MAX_COUNT:
            raise DataError(
                "The counts are so large that sums of them do not fit 62 bits.",
                hint="Check the table for overflow.",
            )
        source = SecureNoise() if noise is None else noise
        answers = np.asarray(self.strategy.apply(counts), dtype=np.int64)
        if self.gaussian is not None:
            return answers + source.gaussian(self.gaussian, answers.size)
        return answers + source.two_sided(self.upper_rate, self.lower_rate, answers.size)

    def estimate(self, noisy: IntArray, totals: IntArray | None = None) -> LinearAnswers:
        """Post-process what :meth:`noisy` and :meth:`totals` gave."""
        if totals is None and self.public is not None:
            return self._free.estimate(noisy)
        answers, fitted = self._unbiased(noisy, totals), True
        if self.non_negative:
            cells, fitted = nearest(self.workload, answers, totals=self.public, sums=totals)
            fit = np.asarray(self.workload.apply(cells), dtype=float)
            answers = self._told(fit if fitted else self._cut(answers, totals), totals)
        return LinearAnswers(answers, self.variance, noisy, totals, fitted)

    @property
    def _free(self) -> Linear:
        """The same without public totals."""
        return replace(self, public=None)

    def _cut(self, answers: NDArray[np.float64], totals: IntArray | None) -> NDArray[np.float64]:
        """Each answer by itself, where no weight is below 0, at 0; and at the total of all."""
        if not self.workload.is_non_negative:
            return answers
        held = totals is not None and self.public is not None and self.public.of_all
        most = float(totals[0]) * self.workload.largest if totals is not None and held else np.inf
        return np.clip(answers, 0, most)

    def _unbiased(self, noisy: IntArray, totals: IntArray | None) -> NDArray[np.float64]:
        centred = np.asarray(noisy, dtype=float) - self.distribution.mean()
        cells, held = least_squares(self.strategy, centred), self._held
        if held is None or totals is None:
            return np.asarray(self.workload.apply(cells), dtype=float)
        return self._told(held.apply(cells) + held.share @ totals, totals)

    def _told(self, answers: NDArray[np.float64], totals: IntArray | None) -> NDArray[np.float64]:
        """The answers, with those that are known exactly in their place."""
        held = self._held
        if held is None or totals is None or not held.known.any():
            return answers
        exact = held.share[held.known] @ totals
        found = answers.copy()
        found[held.known] = exact
        return found

    @cached_property
    def _held(self) -> Held | None:
        return None if self.public is None else Held.of(self.strategy, self.workload, self.public)

    def interval(
        self,
        noisy: IntArray,
        totals: IntArray | None = None,
        *,
        confidence: Number = CONFIDENCE,
        estimate: NDArray[np.float64] | None = None,
    ) -> LinearBounds:
        """Bounds on each true answer, from what :meth:`noisy` and :meth:`totals` gave.

        Where the answers are sums of cells with noise on one side alone, that side is certain.
        The rest holds for each answer on its own with at least ``confidence``, from the law of its
        own noise (:mod:`onesided.mechanism._linear`), of which public totals took their part; above
        2^24 weights in all, or 2^16 unlike queries, from its variance alone, and so more than wide
        enough. Infinite where :attr:`variance` is None. What totals tell is certain on both sides.
        With ``non_negative`` no bound is below 0 where no weight is. An
        estimate that lies outside is let in: wider bounds hold as well.
        estimate: what :meth:`estimate` said, where that was asked already.
        """
        if totals is None and self.public is not None:
            return self._free.interval(noisy, confidence=confidence, estimate=estimate)
        size, noisy, held = self.workload.shape[0], np.asarray(noisy), self._held
        known = None if held is None else held.known
        if self.variance is None:
            lower, upper = np.full(size, -np.inf), np.full(size, np.inf)
            if held is not None and totals is not None:
                lower, upper = self._told(lower, totals), self._told(upper, totals)
            return LinearBounds(lower, upper, certain=False, known=known)
        found = self._unbiased(noisy, totals)
        certain = self.of_cells
        above, below = (isinstance(rate, Infinite) for rate in (self.upper_rate, self.lower_rate))
        share = shared(confidence, 2 - certain * (above + below))
        if share not in self._reached:
            self._reached[share] = self._reach(share)
        over, under = self._reached[share]
        near = float(np.linalg.norm(noisy.astype(float))) * np.sqrt(self._factors)
        lower, upper = found - over - _FLOATS * near, found + under + _FLOATS * near
        if certain:  # sums of answers with noise on one side have it on that side
            far = sum(map(abs, noisy.tolist())) * self.workload.largest > MAX_COUNT
            sums = noisy if far else self.workload.apply(noisy)
            least, most = (
                np.full(size, way) if far else _outward(sums, way) for way in (-np.inf, np.inf)
            )
            lower = least if above else lower
            upper = most if below else upper
        answers = self.estimate(noisy, totals).estimate if estimate is None else estimate
        if self.non_negative:
            lower = np.maximum(lower, 0) if self.workload.is_non_negative else lower
        lower, upper = np.minimum(lower, answers), np.maximum(upper, answers)
        if totals is not None and held is not None and held.known.any():
            exact = np.rint(held.share[held.known]).astype(np.int64) @ totals
            lower[held.known], upper[held.known] = _outward(exact, -np.inf), _outward(exact, np.inf)
        return LinearBounds(lower, upper, certain, known)

    @cached_property
    def _reached(self) -> dict[Fraction, tuple[NDArray[np.float64], NDArray[np.float64]]]:
        return {}

    def _reach(self, share: Fraction) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How far each answer may lie above the truth, and below it, with this chance each."""
        law, held = self.distribution, self._held
        chosen, kind = alike(self.strategy, self.workload)
        if self.public is not None and held is not None and not self.public.of_all:
            chosen = kind = np.arange(self.workload.shape[0])
        many = chosen.size * self.strategy.shape[0]
        if many > _WEIGHED or chosen.size > 2**16 or self.draws:
            found = self._left
            if self.draws:  # estimated: it may be too small, at a part of the chance to miss
                missed = (1 - share) / _UNSURE
                share, found = share + missed, found * understated(self.draws, float(missed))
            wide = tail_bound([(law, 1.0)], share) * np.sqrt(found)
            return wide, wide
        some = max(1, _AT_ONCE // self.strategy.shape[0])
        spare = (1 - share) / 2**20  # weights are floats: that of what they are off by
        share += spare
        off = tail_bound([(law, 1.0)], 1 - spare) * _OFF * np.sqrt(self._factors)
        sides: list[NDArray[np.float64]] = []
        for first in range(0, chosen.size, some):
            these = chosen[first : first + some]
            part = (
                weights(self.strategy, self.workload, these)
                if held is None
                else held.weights(self.strategy, these)
            )
            over = reaches(law, part, share)
            under = over if law.upper == law.lower else reaches(law, -part, share)
            sides.append(np.stack([over, under]))
        above, below = np.concatenate(sides, axis=1)[:, kind] + off
        return above, below

    @property
    def of_cells(self) -> bool:
        """Whether the answers are sums, with no weight below 0, of the cells as they were measured.

        Then noise that lies on one side of the cells lies on that side of every answer. Both are
        read off the entries: a name, or what a class is derived from, proves nothing of another
        product.
        """
        return _of_cells(self.strategy) and self.workload.is_non_negative

    def loss(self, shift: Shift) -> Loss:
        """Exactly ``upper_rate * fall + lower_rate * rise``, for a shift of the strategy's rows."""
        if self.gaussian is not None:
            return INFINITE * (shift.rise + shift.fall)
        return self.upper_rate * shift.fall + self.lower_rate * shift.rise

    @property
    def losses(self) -> dict[Edge, Loss]:
        """Per edge of the policy it was made for, the loss along its moves."""
        return {edge: max(map(self.loss, many)) for edge, many in self.shifts.items()}

    @cached_property
    def distribution(self) -> TwoSidedGeometric | DiscreteGaussian:
        """One row's noise."""
        if self.gaussian is not None:
            return DiscreteGaussian(self.gaussian)
        return TwoSidedGeometric(self.upper_rate, self.lower_rate)

    @cached_property
    def variance(self) -> NDArray[np.float64] | None:
        """The variance of each answer, known before anything is drawn.

        None where that takes more than seconds; :func:`onesided.linear.error_factors` times the
        noise's variance gives it for some of the queries. For many queries by staggered tiles it
        is estimated from :attr:`draws` draws of made-up noise.
        """
        found = self._left
        return None if found is None else found * self.distribution.variance()

    @cached_property
    def _left(self) -> Any:
        """What public totals leave of the factors."""
        found, held = self._factors, self._held
        if found is None or held is None:
            return found
        return sampled_factors(self.strategy, held) if self.draws else held.less(found)

    @cached_property
    def _factors(self) -> Any:
        if self.draws:
            return sampled_factors(self.strategy, self.workload)
        if cost(self.strategy, self.workload) > _QUICK:
            return None
        return factors(self.strategy, self.workload)

    @property
    def draws(self) -> int:
        """From how many draws :attr:`variance` is estimated; 0 where it is worked out."""
        easy = cost(self.strategy, self.workload) <= _QUICK
        return 0 if easy or not holds_cells(self.strategy) else draws_for(self.strategy.shape[1])


def _outward(sums: IntArray, way: float) -> NDArray[np.float64]:
    """As floats; where not every whole number is one, the next one that way."""
    found = np.asarray(sums, dtype=float)
    return np.where(np.abs(found) < 2**53, found, np.nextafter(found, way))


def _of_cells(strategy: Operator) -> bool:
    """Whether row k of a strategy is cell k."""
    if type(strategy) is Kron:
        return _of_cells(strategy.first) and _of_cells(strategy.second)
    return type(strategy) is Identity


def best(moves: Moves, workload: Operator, epsilon: Fraction, cells: Layout) -> Operator:
    """The standard strategy of least predicted error for a workload, by 64 of its queries.

    Those without a closed form are compared with the best of the others by 8 queries. Strategies
    whose sensitivity or error cannot be worked out at this size are passed over.
    """
    grid = cells if isinstance(cells, Grid) else _grid(cells, moves.cells)
    every = [make() for make in candidates(grid).values()]
    closed = [strategy for strategy in every if strategy.solvable]
    winner = _least(closed, moves, thinned(workload, _PROBED), epsilon)
    rest = [strategy for strategy in every if not strategy.solvable]
    if rest or winner is None:
        finalists = rest if winner is None else [winner, *rest]
        winner = _least(finalists, moves, thinned(workload, _PROBED_SLOWLY), epsilon)
    if winner is None:
        raise ParameterError(
            "No standard strategy can be worked out for this many cells and this policy.",
            hint="Give a strategy, use larger cells, or a smaller radius.",
        )
    return winner


def _least(
    strategies: list[Operator], moves: Moves, probe: Operator, epsilon: Fraction
) -> Operator | None:
    public = _totals(moves.components())
    found: list[tuple[float, Operator]] = []
    for strategy in strategies:
        try:
            upper, lower = rates_over(strategy_shifts(strategy, moves), epsilon)
            spread = TwoSidedGeometric(upper, lower).variance()
            found.append((float(np.sum(held_factors(strategy, probe, public))) * spread, strategy))
        except OnesidedError:
            continue
    return min(found, key=lambda pair: pair[0])[1] if found else None


def _totals(labels: ArrayLike) -> Totals | None:
    given = np.asarray(labels)
    return Totals(given) if given.ndim != 1 or not given.size or (given >= 0).any() else None


def _operator(given: Operator | ArrayLike) -> Operator:
    return given if isinstance(given, Operator) else Dense(given)


def _layout(workload: Operator, policy: Policy) -> Layout:
    if isinstance(workload, Ranges) and len(workload.grid) <= 2:
        return Grid(workload.grid)
    if isinstance(workload, Ranges | Kron) and policy.by_distance:
        raise ParameterError(
            f"Cells of {a(type(workload).__name__)} workload may lie on a line, in a plane or in "
            "space, and who is near whom depends on it.",
            hint="Pass cells=Grid((rows, columns)), or Grid(n) for a line.",
        )
    return workload.shape[1]


def _grid(cells: Layout, many: int) -> Grid:
    """A grid of ``many`` cells: a line, unless a shape was given."""
    shaped = not isinstance(cells, int) and not any(isinstance(c, str) for c in cells)  # type: ignore[union-attr]
    return Grid(cells) if shaped and math.prod(cells) == many else Grid(many)  # type: ignore[arg-type]
