"""Counts pooled over cells that seem alike: free of charge, for the law of the noise is public."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import Infinite, Loss
from onesided.noise import BoolArray, IntArray

FloatArray = NDArray[np.float64]

# Cells fitted together, a power of 2, and those whose fit is judged together; points of a run's
# values; turns of the fit, and of a median; what of each turn stays with the start; above which
# rate a side has no noise; and the part of the noise that estimates must move on average, for them
# to be drawn at all.
_BLOCK: Final = 2**12
_STRETCH: Final = 2**8
_POINTS: Final = 24
_TURNS: Final = 12
_HALVINGS: Final = 24
_STAYS: Final = 0.1
_SILENT: Final = 12.0
_MOVED: Final = 0.1
_TINY: Final = 1e-300
_LEAST: Final = 1e-3


def pooled(line: IntArray, upper: Loss, lower: Loss, estimate: IntArray) -> IntArray:
    """The likeliest middle of each true count, at least 0; ``estimate`` where little is gained.

    A model of how counts are spread is fitted to what was published: the line is cut in halves
    again and again, and each run of cells is either cut on, or one value, or a rate around which
    its counts are spread as Poisson's are; values and rates of all runs come from one
    distribution. That, and how often runs of each length are cut, is what makes the noisy counts
    likeliest (expectation and maximisation, drawn a little towards the start); the answer is the
    median over all ways to cut, each weighted by its chance given what was published; where what
    is left is larger than noise is, counts stay as they are. It looks at what was published, and at
    public laws, and nothing else. Biased: empty cells are told as 0.

    line: counts plus noise of the rates ``upper`` (above) and ``lower`` (below), in an order in
    which neighbours may be alike. estimate: what stands otherwise.
    Source: context tree weighting, Willems, Shtarkov and Tjalkens 1995; nonparametric maximum
    likelihood of mixtures, Laird 1978.

    >>> from onesided import INFINITE
    >>> seen = np.array([0] * 30 + [2, 3, 40])
    >>> pooled(seen, 1, INFINITE, seen)[-3:].tolist()
    [0, 0, 39]
    """
    law = _Law(*(math.inf if isinstance(one, Infinite) else float(one) for one in (upper, lower)))
    if law.spread == 0:
        return estimate.copy()
    found = estimate.copy()
    for start in range(0, line.size, _BLOCK):
        part = slice(start, start + _BLOCK)
        fit = _Fit.to(law, line[part].astype(np.float64), estimate[part].astype(np.float64))
        drawn = np.rint(fit.middle).astype(np.int64)
        if np.mean(np.abs(drawn - estimate[part])) >= _MOVED * law.spread:
            found[part] = np.where(_fits(law, line[part] - drawn), drawn, estimate[part])
    return found


def _fits(law: _Law, rest: IntArray) -> BoolArray:
    """Whether what is left as noise is no larger than noise is: by stretches, to 3 deviations."""
    starts = np.arange(0, rest.size, _STRETCH)
    many = np.diff([*starts, rest.size])
    size = np.add.reduceat(np.abs(rest), starts) / many
    return np.repeat(size <= law.size * (1 + 3 / np.sqrt(many)), many)


@dataclass(frozen=True, slots=True)
class _Law:
    """Noise of the rates ``above`` and ``below``, and its logarithms."""

    above: float
    below: float

    @property
    def scales(self) -> tuple[float, float]:
        above, below = (0.0 if rate > _SILENT else 1 / rate for rate in (self.above, self.below))
        return above, below

    @property
    def spread(self) -> float:
        return math.hypot(*self.scales)

    @property
    def size(self) -> float:
        """The mean of the noise's size; its deviation is about as large."""
        above, below = self.scales
        return (above * above + below * below) / (above + below)

    def noise(self, gap: FloatArray) -> FloatArray:
        """The logarithm of the chance of noise of ``gap``."""
        above, below = (math.exp(-rate) for rate in (self.above, self.below))
        lost = np.maximum(gap, 0) * min(self.above, 1e6) + np.maximum(-gap, 0) * min(
            self.below, 1e6
        )
        return math.log((1 - above) * (1 - below) / (1 - above * below)) - lost

    def spread_out(self, gap: FloatArray, variance: FloatArray) -> FloatArray:
        """The same of noise and a normal deviation of ``variance`` together."""
        silent = [rate for rate in (self.above, self.below) if rate <= _SILENT]
        both = math.log(math.prod(silent) / (sum(silent) if len(silent) == 2 else 1))
        return both + np.logaddexp(*(free + tail for free, tail in self._sides(gap, variance)))

    def deviation(self, gap: FloatArray, variance: FloatArray) -> FloatArray:
        """The median of the normal deviation, given its sum with the noise."""
        sides, root = self._sides(gap, variance), np.sqrt(variance)
        logs = [free + tail for free, tail in sides]
        half, found = np.logaddexp(*logs) - math.log(2), gap.copy()
        lone = 0.5 * (max(self.above, self.below) > _SILENT)
        for at, (sign, rate) in enumerate(((1, self.above), (-1, self.below))):
            here, free = logs[at] >= logs[1 - at], sides[at][0]
            if rate > _SILENT:
                continue
            last = (sign * gap + lone - rate * variance) / root
            low, high = np.minimum(last, 0) - 10, np.minimum(last, 10)
            for _ in range(_HALVINGS):
                middle = (low + high) / 2
                less = _log_normal(middle) < half - free
                low, high = np.where(less, middle, low), np.where(less, high, middle)
            found[here] = (sign * (rate * variance + root * low))[here]
        return found

    def _sides(self, gap: FloatArray, variance: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
        """The logarithms of the parts where noise is above and below, each in two terms."""
        # Whole noise on one side is nearest to noise that starts half a step before 0.
        parts, lone = [], 0.5 * (max(self.above, self.below) > _SILENT)
        for rate, side in ((self.above, gap + lone), (self.below, lone - gap)):
            if rate > _SILENT:
                parts.append((np.full(gap.shape, -math.inf), np.zeros(1)))
                continue
            free = rate * rate * variance / 2 - rate * side
            parts.append((free, _log_normal((side - rate * variance) / np.sqrt(variance))))
        return parts


def _log_normal(value: FloatArray) -> FloatArray:
    """The logarithm of the normal distribution at ``value``, to seven digits.

    Source: the Chebyshev fit of erfc in Numerical Recipes, 6.2.
    """
    size = np.abs(value) / math.sqrt(2)
    short = 1 / (1 + size / 2)
    fit = np.zeros_like(short)
    for one in (
        0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807,
        -0.18628806, 0.09678418, 0.37409196, 1.00002368, -1.26551223,
    ):  # fmt: skip
        fit = fit * short + one
    below: FloatArray = np.log(short / 2) - size * size + fit
    return np.where(value < 0, below, np.log1p(-np.exp(np.minimum(below, 0))))


@dataclass(frozen=True, slots=True)
class _Runs:
    """All runs of one length, as one value each or as a rate: how likely each value makes them.

    points: values from 0 up. chances: of the points, each over the width of its bin, as parts of
    the likeliest of the run. bins: those of the points. own: the same by bin. scale: the
    logarithm of the likeliest.
    """

    alike: bool
    points: FloatArray
    chances: FloatArray
    bins: IntArray
    own: FloatArray
    scale: FloatArray


@dataclass(frozen=True, slots=True)
class _Fit:
    """A model of a line, fitted to its noisy counts."""

    law: _Law
    line: FloatArray
    plain: FloatArray
    edges: FloatArray

    @classmethod
    def to(cls, law: _Law, line: FloatArray, plain: FloatArray) -> _Fit:
        """Bins of values as fine as a quarter of the noise, or a tenth of the value."""
        step, edges = max(1, round(law.spread / 4)), [0.0]
        edges.append(step / 2)
        last = max(float(line.max()), 0.0) + 12 * law.spread
        while edges[-1] < last:
            edges.append(edges[-1] + step * max(1, round(edges[-1] / step / 10)))
        return cls(law, line, plain, np.array(edges))

    @property
    def middle(self) -> FloatArray:
        """The median of each cell's count."""
        depth = max(self.line.size - 1, 0).bit_length()
        real = np.arange(1 << depth) < self.line.size
        many = [real.reshape(-1, 1 << level).sum(axis=1) for level in range(depth + 1)]
        levels = [self._level(level, real, many[level]) for level in range(depth + 1)]
        values, weights = self._fitted(levels, many)
        found, chance = [], []
        for level, (runs, weighed) in enumerate(zip(levels, weights, strict=True)):
            for one, weight in zip(runs, weighed, strict=True):
                found.append(self._told(one, values, level))
                chance.append(np.repeat(weight, 1 << level)[: self.line.size])
        return _middle(np.array(found).T, np.array(chance).T)

    def _level(self, level: int, real: BoolArray, many: IntArray) -> list[_Runs]:
        """Runs of ``2^level`` cells; of those, ``many`` are real."""
        cells = np.zeros(real.size)
        cells[: self.line.size] = self.line
        rows, there = cells.reshape(many.size, -1), real.reshape(many.size, -1)
        if level == 0:
            return [self._runs(rows, there, *self._single(cells), alike=True)]
        size = np.maximum(many, 1)
        made = []
        for alike, around in ((True, self._around_value), (False, self._around_rate)):
            low, high = around(rows, there, size)
            low = np.maximum(low, 0)  # no count is below 0
            width = (np.maximum(high, low + 6 * self.law.spread / size) - low) / _POINTS
            points = low[:, None] + (np.arange(_POINTS) + 0.5) * width[:, None]
            made.append(self._runs(rows, there, points, width, alike=alike))
        return made

    def _single(self, cells: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Whole values around each cell, on one lattice: one for each bin where bins are fine."""
        step = self.edges[1] * 2
        falls, rises = (10 * scale for scale in self.law.scales)
        low = np.maximum(cells - falls, 0) // step
        steps = math.ceil((falls + rises) / step) + 2
        return step * (low[:, None] + np.arange(steps)), np.full(cells.size, step)

    def _around_value(
        self, rows: FloatArray, there: BoolArray, size: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """Between which values a run that is one value lies: around the likeliest."""
        above, below = self.law.above, self.law.below
        sorts = np.sort(np.where(there, rows, math.inf), axis=1)
        sorts[~there[:, 0]] = 0  # none of these is there
        if min(self.law.scales) == 0:
            at = sorts[:, 0] if above <= _SILENT else sorts[np.arange(size.size), size - 1]
            reach = 14 / (min(above, below) * size)
            return (at - reach, at) if above <= _SILENT else (at, at + reach)
        place = np.minimum((above / (above + below) * size).astype(np.int64), size - 1)
        at = sorts[np.arange(size.size), place]
        reach = 7 * self.law.spread / np.sqrt(size) + 6 * self.law.spread / size
        return at - reach, at + reach

    def _around_rate(
        self, rows: FloatArray, there: BoolArray, size: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """The same of a rate: around the mean."""
        rises, falls = self.law.scales
        at = np.maximum((rows * there).sum(axis=1) / size - (rises - falls), 0)
        reach = 6 * np.sqrt((self.law.spread**2 + at) / size)
        return at - reach, at + reach

    def _runs(
        self,
        rows: FloatArray,
        there: BoolArray,
        points: FloatArray,
        width: FloatArray,
        *,
        alike: bool,
    ) -> _Runs:
        gaps = rows[:, :, None] - points[:, None, :]
        if alike:
            told = self.law.noise(gaps)
            empty = (self.law.noise(rows) * there).sum(axis=1)
        else:
            told = self.law.spread_out(gaps, np.maximum(points, _LEAST)[:, None, :])
            empty = np.full(len(rows), -math.inf)
        losses = (told * there[:, :, None]).sum(axis=1)
        losses[points <= 0] = -math.inf
        scale = np.maximum(losses.max(axis=1), empty)
        bins = np.clip(np.searchsorted(self.edges, points), 1, self.edges.size - 1)
        chances = np.exp(losses - scale[:, None]) * width[:, None] / np.diff(self.edges)[bins - 1]
        # The first bin is 0 itself, and the first point is put there.
        points = np.concatenate([np.zeros((len(rows), 1)), points], axis=1)
        bins = np.concatenate([np.zeros((len(rows), 1), dtype=np.int64), bins], axis=1)
        chances = np.concatenate([np.exp(empty - scale)[:, None], chances], axis=1)
        flat = np.arange(len(rows))[:, None] * self.edges.size + bins
        own = np.zeros(len(rows) * self.edges.size)
        own += np.bincount(flat.ravel(), chances.ravel(), own.size)
        return _Runs(alike, points, chances, bins, own.reshape(len(rows), -1), scale)

    def _fitted(
        self, levels: Sequence[list[_Runs]], many: Sequence[IntArray]
    ) -> tuple[FloatArray, list[list[FloatArray]]]:
        """How values are spread, and each run's chance to be what is told of its cells."""
        start = np.full(self.edges.size, 0.7 / (self.edges.size - 1))
        start[0] = 0.3
        values, parts = start, [np.full(len(runs), 0.5 / len(runs)) for runs in levels]
        parts[0] = np.ones(1)
        weights: list[list[FloatArray]] = []
        there = [size > 0 for size in many]
        for _ in range(_TURNS):
            each = [
                [
                    np.where(real, np.log(np.maximum(one.own @ values, _TINY)) + one.scale, 0)
                    + math.log(part)
                    for one, part in zip(runs, kept, strict=True)
                ]
                for runs, kept, real in zip(levels, parts, there, strict=True)
            ]
            whole, ends = each[0][0], [np.ones(many[0].size)]
            for level in range(1, len(levels)):
                uncut = np.logaddexp.reduce(each[level])
                cut = whole[0::2] + whole[1::2] + math.log(max(1 - parts[level].sum(), 1e-9))
                whole = np.logaddexp(uncut, cut)
                ends.append(np.exp(uncut - whole))
            reached, weights = np.ones(1), []
            told = np.full(self.edges.size, 1e-9)
            for level in range(len(levels) - 1, -1, -1):
                real = reached * there[level]
                total = np.logaddexp.reduce(each[level])
                found = [real * ends[level] * np.exp(one - total) for one in each[level]]
                for one, weight in zip(levels[level], found, strict=True):
                    told += (weight / np.maximum(one.own @ values, _TINY)) @ one.own * values
                weights.insert(0, found)
                if level:
                    # A run that is cut where nothing follows is not cut.
                    inner = many[level] > 1 << (level - 1)
                    most = float((reached * inner).sum()) + 1
                    parts[level] = np.array([(float(one @ inner) + 0.25) / most for one in found])
                    reached = np.repeat(reached * (1 - ends[level]), 2)
            values = told + _STAYS * told.sum() * start
            values /= values.sum()
        return values, weights

    def _told(self, one: _Runs, values: FloatArray, level: int) -> FloatArray:
        """Each cell's likeliest count, were its run of this length not cut."""
        each = one.chances * values[one.bins]
        total = np.maximum(each.sum(axis=1), _TINY)
        size = 1 << level
        if one.alike:
            return np.repeat(_middle(one.points, each), size)[: self.line.size]
        rate = np.repeat((each * one.points).sum(axis=1) / total, size)[: self.line.size]
        told = rate + self.law.deviation(self.line - rate, np.maximum(rate, _LEAST))
        # Where counts around their rate differ by more than noise does, little is gained.
        return np.where(rate > self.law.spread**2, self.plain, np.maximum(told, 0))


def _middle(values: FloatArray, weights: FloatArray) -> FloatArray:
    """The weighted median of each row."""
    order = np.argsort(values, axis=1, kind="stable")
    risen = np.cumsum(np.take_along_axis(weights, order, axis=1), axis=1)
    at = np.argmax(risen >= risen[:, -1:] * (0.5 - 1e-12), axis=1)
    row = np.arange(len(values))
    return np.asarray(values[row, order[row, at]])
