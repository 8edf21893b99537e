"""How far weighted sums of noise reach: the law of each sum itself, by its Fourier series.

Claim. Let ``S = sum w_i (D_i - mean)`` for independent noise D_i and public weights.
:func:`reaches` returns an h with ``Pr[S > h] <= 1 - share``; where weights are small whole
multiples of one of them it is the least such h up to a millionth of the chance, else larger by a
few hundredths.
Proof. What is bounded on the way is taken off the chance to miss.
1. *Series.* Let q be the square wave of half period H: 1 on (0, H), -1 on (-H, 0). On (-oo, H) it
   is at least the sign, so ``Pr[X > h] <= 1/2 + E q(X - h) / 2 + Pr[X - h > H]``. And
   ``E q(X - h)`` is ``4/pi sum Im(e^(-i u h) f(u)) / k`` over odd k, where ``u = k pi / H`` and f
   is the characteristic function of X. H is twice what Chernoff's bound leaves, so that -H costs as
   little as H; h is at least minus one deviation, for a median lies that near to the mean.
2. *Whole multiples.* X is whole, and h half-way between whole numbers. For 2 H = N, a multiple of
   4, the wave at such places is a finite sum: the odd k below N/2, with ``N sin(pi k / N)`` for
   ``pi k``.
3. *Others, smooth.* With Z normal of deviation t, independent: where ``S > h`` and ``Z > -c t``,
   ``S + Z > h - c t``. So ``Pr[S > h] <= Pr[S + Z > h - c t] / Pr[Z > -c t]``; c is 2.33. Now
   ``|f(u)| <= e^(-t² u² / 2)``, and what comes after ``t u = x >= 1`` is less than ``e^(-x² / 2)``.
4. *Few weights.* There ``w_i = v_i + r_i``, where all v are few and at most 1/32 of an octave away.
   ``S > h + h'`` needs the sum of v above h, or that of r above h', which
   :func:`onesided.mechanism.law.tail_bound` bounds by a fiftieth of the chance.
5. *Roundings.* A geometric's ``1 - p e^(iy)`` is ``(1 - p) + 2 p sin²(y / 2) - i p sin y``, where
   nothing cancels: its logarithm is off by parts in 2^50 of itself, or, in its angle, of y times
   the mean. A discrete Gaussian's function is a sum of normal ones, one at each multiple of 2 π,
   divided by the sum at 0; its logarithm is off by what y is, and that of a sum of noise by less
   than 2^-40 of 1 and its size together. Sums of at most 2^11 such terms are off by less than
   2^-40 of the sums of their sizes.
   Terms of the series that are all so small that together they are less than what is spared are
   not summed.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from onesided._numbers import Infinite, Loss
from onesided.mechanism.law import tail_bound
from onesided.noise import DiscreteGaussian, TwoSidedGeometric

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
_AT_ONCE: Final = 2**20


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
    for rate, weight in ((law.upper, above), (law.lower, below)):
        ends[(weight > 0) & (not isinstance(rate, Infinite))] = np.inf
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
        some = max(1, _AT_ONCE // self.at.size)
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
