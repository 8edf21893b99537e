"""Laws of noise, and whole numbers with one of them added: counts, totals, sums of values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onesided._numbers import (
    INFINITE,
    MAX_COUNT,
    MIN_RATE,
    Infinite,
    Loss,
    Number,
    exact,
    exp_neg_bounds,
    least_whole,
    positive,
    rate,
    strict_share,
    whole,
)
from onesided.errors import DataError, ParameterError, called
from onesided.fields import Exact, Field, Rate, Whole, one_of, settle
from onesided.mechanism._fit import (
    Fitted,
    Move,
    TwoRates,
    choose,
    counts_of,
    rates_over,
    whole_array,
)
from onesided.noise import DiscreteGaussian, IntArray, Noise, SecureNoise, TwoSidedGeometric
from onesided.policy import Edge, Policy, Shift

_STEPS: Final = 4_000
_LARGE: Final = 700.0
# More than all roundings on the way, so that the bound is too wide rather than too narrow.
_OUTWARDS: Final = 1 + 2**-30


def tail_bound(
    laws: Sequence[tuple[TwoSidedGeometric | DiscreteGaussian, float]], share: Fraction
) -> float:
    """The h that a sum of independent noise, centred, passes with chance at most ``1 - share``.

    On each side by itself. laws: pairs (noise, weight): a draw of ``noise`` times any number whose
    square is ``weight``, or draws times numbers whose squares sum up to it.
    Proof: let K be the cumulant function of the centred noise with both its geometrics taken to
    the side in question; all cumulants of a geometric are positive, so a factor w gives at most
    K(s |w|) on either side. K(s sqrt(y)) is convex in y and 0 at 0, so many factors give at most
    K(s sqrt(weight)). A discrete Gaussian's K(s) is at most s² σ² / 2. By Chernoff's bound
    exp(sum K - s h) = 1 - share for the h that is returned, whatever s; the least one found is
    taken.

    >>> tail_bound([], Fraction(19, 20))
    0.0
    >>> laws = [(TwoSidedGeometric(1, 1), 1.0)]
    >>> tail_bound(laws, Fraction(99, 100)) > tail_bound(laws, Fraction(9, 10)) > 0
    True
    """
    parts = [
        (float(slope), math.sqrt(weight))
        for law, weight in laws
        for slope in (law.upper, law.lower)
        if isinstance(law, TwoSidedGeometric) and not isinstance(slope, Infinite) and weight > 0
    ]
    normal = sum(float(one.parameter) * w for one, w in laws if isinstance(one, DiscreteGaussian))
    if not parts and not normal:
        return 0.0
    # Of normal laws alone the least is half-way.
    half = math.sqrt(-2 * math.log(1 - share) / normal) if normal else 0.0
    s = np.arange(1, _STEPS) / _STEPS * min((a / b for a, b in parts), default=2 * half)
    total = s * s * normal / 2
    for slope, size in parts:
        u = s * size
        total += math.log(-math.expm1(-slope)) - np.log(-np.expm1(u - slope))
        total -= u / math.expm1(slope) if slope < _LARGE else 0.0
    return float(np.min((total - math.log(1 - share)) / s)) * _OUTWARDS


Correction = Literal["none", "mean", "median"]
CORRECTIONS: Final = ("none", "mean", "median")
CONFIDENCE: Final = Fraction(95, 100)


@dataclass(frozen=True, slots=True)
class Interval:
    """Bounds on the true counts; a certain side is never wrong.

    >>> sides = {"lower_certain": False, "upper_certain": True}
    >>> bounds = Interval(np.array([-2, 3]), np.array([1, 9]), **sides)
    >>> bounds.at_least(0).lower.tolist()
    [0, 3]
    """

    lower: IntArray
    upper: IntArray
    lower_certain: bool
    upper_certain: bool

    def at_least(self, least: int) -> Interval:
        """The same bounds, where the truth is known to be at least ``least``."""
        lower, upper = np.maximum(self.lower, least), np.maximum(self.upper, least)
        return Interval(lower, upper, self.lower_certain, self.upper_certain)


class Law(Protocol):
    """A law of whole-number noise D: drawn exactly, told in double precision.

    upper, lower: the rates of the noise above and below; INFINITE where there is none, so that
    the reader is certain on that side.

    >>> law: Law = TwoSidedGeometric(1, INFINITE)
    >>> law.median(), law.quantile_upper(Fraction(95, 100)), round(law.mean(), 3)
    (0, 2, 0.582)
    """

    @property
    def upper(self) -> Loss:
        """The rate above."""

    @property
    def lower(self) -> Loss:
        """The rate below."""

    def mean(self) -> float:
        """The mean of D."""

    def median(self) -> int:
        """The least k with ``Pr[D > k] <= 1/2``."""

    def variance(self) -> float:
        """The variance of D."""

    def quantile_upper(self, confidence: Fraction, /) -> int | None:
        """The least k with ``Pr[D > k] <= 1 - confidence``, or a little more."""

    def quantile_lower(self, confidence: Fraction, /) -> int | None:
        """The largest k with ``Pr[D < k] <= 1 - confidence``, or a little less."""


class Noisy:
    """Numbers with noise of one law added: their release, and what it says of the truth."""

    __slots__ = ()
    # Totals may be negative; counts are at least 0.
    _signed: ClassVar[bool] = False

    if TYPE_CHECKING:

        @property
        def distribution(self) -> Law:
            """The noise's law."""

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> NDArray[Any]:
        """Noisy numbers after all post-processing.

        Errors: DataError unless ``values`` is a one-dimensional array of whole numbers up to 2^62,
        and of at least 0 where they are counts.
        """
        return self.estimate(self.noisy(values, noise=noise))

    def noisy(self, values: ArrayLike, *, noise: Noise | None = None) -> IntArray:
        """Noisy numbers before any post-processing; what bounds are computed from."""
        truth = (
            whole_array(
                values,
                what="Total",
                least=-MAX_COUNT,
                form="Count in steps of a grid: numpy.asarray(totals, dtype=numpy.int64).",
                hint="Use a coarser step, or narrower bounds.",
            )
            if self._signed
            else counts_of(values)
        )
        return truth + self._draw(truth.size, SecureNoise() if noise is None else noise)

    def _draw(self, size: int, noise: Noise) -> IntArray:
        """So much noise, by default of two geometrics."""
        law = self.distribution
        return noise.two_sided(law.upper, law.lower, size)

    def estimate(self, noisy: IntArray) -> NDArray[Any]:
        """Post-process what :meth:`noisy` gave; free of charge."""
        return noisy

    def centred(self, noisy: IntArray) -> IntArray:
        """Noisy numbers less the noise's median."""
        return noisy - self.distribution.median()

    def interval(self, noisy: IntArray, *, confidence: Number = CONFIDENCE) -> Interval:
        """Bounds on each true number, from what :meth:`noisy` gave.

        A side without noise is certain. The rest of the interval holds for each number on its own
        with at least ``confidence``, from the exact distribution.
        """
        found = bounds_at(self.distribution, noisy, confidence)
        return found if self._signed else found.at_least(0)


@dataclass(frozen=True)
class Counts(TwoRates, Noisy):
    """Release ``count + G_up - G_down``, two independent geometrics, for each count.

    Promise: along a move with ``Shift(rise, fall)`` the loss is exactly
    ``upper_rate * fall + lower_rate * rise`` (0 * INFINITE = 0).
    Direction: falls are hidden by noise above the truth, rises by noise below it. With
    ``lower_rate=INFINITE`` an answer is never below the truth; with ``upper_rate=INFINITE`` never
    above it.
    Units: rates in nats per count; answers in counts.
    Post-processing of the noisy answer, free of charge: ``correction`` takes the noise's mean or
    median out; ``clip`` keeps answers at or above 0, and an answer that is 0 or less stays 0.
    Source: ALap and AGeo (ADP-2022), OsdpLaplace and Algorithm 2 (OSDP), Propositions 3 and 4
    (one-sided note). Errors: ParameterError.

    >>> from onesided import INFINITE
    >>> from onesided.mechanism import Counts
    >>> from onesided.policy import Shift
    >>> counts = Counts("1/2", INFINITE)  # noise above the truth alone
    >>> counts.loss(Shift(rise=0, fall=1)), counts.loss(Shift(rise=1, fall=0))
    (Fraction(1, 2), INFINITE)
    """

    upper_rate: Rate = Field(rate)
    lower_rate: Rate = Field(rate)
    _: KW_ONLY
    correction: Field[Correction, Correction] = Field(one_of, words=CORRECTIONS, default="none")
    clip: bool = False
    _by_totals = True

    def estimate(self, noisy: IntArray) -> NDArray[Any]:
        """Post-process what :meth:`noisy` gave: int64, or float64 for ``"mean"``."""
        return corrected(self, noisy, self.correction, clip=self.clip)


def corrected(made: Noisy, noisy: IntArray, correction: Correction, *, clip: bool) -> NDArray[Any]:
    """Noisy counts less the noise's mean or median; with ``clip`` at or above 0.

    An answer that is 0 or less then stays 0.
    """
    centred: NDArray[Any] = noisy
    if correction == "mean":
        centred = noisy - made.distribution.mean()
    elif correction == "median":
        centred = made.centred(noisy)
    return np.where(noisy <= 0, 0, np.maximum(centred, 0)) if clip else centred


def bounds_at(noise: Law, noisy: IntArray, confidence: Number) -> Interval:
    """Bounds on each true number under ``noise``, from the noisy ones.

    The interval as a whole misses with chance at most ``1 - confidence``: where neither side is
    certain, each may miss half as often.
    """
    both = INFINITE not in (noise.upper, noise.lower)
    share = shared(confidence, 2 if both else 1)
    # A side without noise is bounded by the answer itself: certain, whatever the confidence.
    most = 0 if noise.upper == INFINITE else noise.quantile_upper(share)
    least = 0 if noise.lower == INFINITE else noise.quantile_lower(share)
    return Interval(
        lower=noisy - (most or 0),
        upper=noisy - (least or 0),
        lower_certain=noise.upper == INFINITE,
        upper_certain=noise.lower == INFINITE,
    )


def confident(confidence: Number) -> Fraction:
    """A confidence as an exact share strictly between 0 and 1.

    >>> confident("0.95")
    Fraction(19, 20)
    """
    return strict_share(confidence, name="confidence", hint='Use for example "0.95".')


def shared(confidence: Number, bounds: int) -> Fraction:
    """With what confidence each of so many bounds must hold for all to hold with ``confidence``.

    By Bonferroni's inequality, so that it asks nothing of how their errors depend on each other.

    >>> shared("0.9", 2)
    Fraction(19, 20)
    """
    return 1 - (1 - confident(confidence)) / max(bounds, 1)


@dataclass(frozen=True)
class Sums(TwoRates, Noisy):
    """Release ``total + G_up - G_down``, two independent geometrics, for each total.

    Promise: along a move with ``Shift(rise, fall)`` of the totals, each an L1 sum over them, the
    loss is at most ``upper_rate * fall + lower_rate * rise`` (0 * INFINITE = 0), and exactly that
    where the totals can move so far.
    Direction: as for :class:`Counts`. What differs is that totals may be negative, and that one
    record may move them by more than 1: sums of bounded values, in steps of a declared grid.
    Units: rates in nats per step; totals and answers in steps.
    Source: Propositions 3 and 4 of the one-sided note, for any sensitivity. Errors: ParameterError.

    >>> from onesided.mechanism import Sums
    >>> from onesided.policy import Shift
    >>> print(Sums("1/10", "1/5").loss(Shift(rise=3, fall=5)))
    11/10
    """

    upper_rate: Rate = Field(rate)
    lower_rate: Rate = Field(rate)
    _signed = True

    @classmethod
    def for_shifts(cls, shifts: Mapping[Edge, Iterable[Shift]], *, epsilon: Number) -> Sums:
        """The least noise that loses at most ``epsilon`` times an edge's weight along it.

        ``shifts``: per edge, every extreme way in which the totals can move.
        """
        return cls(*rates_over(shifts, positive(epsilon, name="epsilon")))


_BITS: Final = 128
_CANDIDATES: Final = 4096


@dataclass(frozen=True)
class Staircase(Fitted):
    """Release ``sum + T`` for each sum of whole values in 0 .. ``largest``, one per unit.

    T is falling stairs: ``Pr[T = k]`` is level on the first ``first`` values and then on each
    ``largest`` values, and from stair to stair it falls by ``e^-noise_rate``.
    Promise: along a move that lowers at most ``max_groups`` sums by ``fall`` in total, each by at
    most ``largest``: ``noise_rate`` for each sum, ``noise_rate * min(fall, max_groups)``. Where
    ``fall`` is more than all that (several units), once more for each further ``largest``.
    A rise has infinite loss. An answer is never below its sum.
    Units: the rate in nats per whole ``largest``, where :class:`Counts` has nats per step.

    Proof. ``T = largest * H + V``: H geometric at ``noise_rate``; V on 0 .. largest - 1, level
    before ``first`` and level after, the later level r times the earlier with ``q <= r <= 1``,
    q = e^-noise_rate. Let k < k' <= k + largest. If both lie in one turn of the stairs,
    ``Pr[k] / Pr[k']`` is 1 or 1/r <= 1/q. Else k' is in the next turn at no later place, and the
    ratio is V's at k over q times V's at k', where V never rises: at most 1/q. So a fall of one sum
    by s <= largest costs at most noise_rate; a larger one is a path of ceil(s / largest) such.
    r is q rounded up to a fraction, so V is drawn exactly, with no rejection.

    It is better than a geometric at the same loss, which is ``Counts(noise_rate / largest, ...)``,
    for one sum: linear programmes found no additive noise of smaller variance or mean absolute
    error (docs/proofs/stairs.md). For many sums per unit whose total is what is
    bounded, the geometric is better: it pays for the total, stairs for the number of sums.
    Source: ours, after Geng and Viswanath's two-sided staircase (2014). Errors: ParameterError.

    >>> from onesided.mechanism import Staircase
    >>> Staircase(1, largest=10).largest
    10
    """

    noise_rate: Rate = Field(rate)
    _: KW_ONLY
    largest: Whole = Field(whole, least=1, most=2**40)
    first: Field[int | None, int] = Field(whole, least=1, default=None, optional=True)
    max_groups: Whole = Field(whole, least=1, default=1)

    def __post_init__(self) -> None:
        if self.noise_rate < MIN_RATE * self.largest:
            raise ParameterError(
                f"noise_rate {self.noise_rate} for values up to {self.largest} is less than 2^-40 "
                "per step.",
                hint="Use a larger ε, or coarser steps.",
                value=self.noise_rate,
            )
        first = self.first or _best_first(self.noise_rate, self.largest)
        settle(self, first=whole(first, name="first", least=1, most=self.largest))

    _fitted = "noise_rate"
    _what = "a staircase"
    _instead = "ALap, with noise both ways"

    @classmethod
    def fit(cls, policy: Policy, moves: Sequence[Move], **options: Any) -> Self:
        """The stairs of least variance for sums of one value in 0 .. ``largest`` for each unit.

        options: ``largest``, and ``first`` if it is not to be chosen.
        """
        groups = max([1, *(move.shift.fall for move in moves)])
        slope = cls._largest(policy, moves, max_groups=groups, **{"first": 1, **options})
        return called(cls, slope, max_groups=groups, **options)

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> IntArray:
        """Noisy sums. Errors: DataError unless ``values`` is an array of whole sums from 0."""
        sums = counts_of(values)
        return sums + self.draw(sums.size, SecureNoise() if noise is None else noise)

    def draw(self, size: int, noise: Noise) -> IntArray:
        """So many draws of T."""
        if isinstance(self.noise_rate, Infinite):
            return np.zeros(size, dtype=np.int64)
        turns = noise.geometric(self.noise_rate, size)
        return self.largest * turns + self._within(self.noise_rate, size, noise)

    def loss(self, shift: Shift) -> Loss:
        """``noise_rate`` for each sum that falls, and once more for each further ``largest``."""
        stairs = min(shift.fall, self.max_groups)
        if shift.fall > self.max_groups * self.largest:
            # Any split over that many sums takes at most so many stairs.
            stairs += (shift.fall - stairs) // self.largest
        return self.noise_rate * stairs + INFINITE * shift.rise

    @property
    def per_key(self) -> int:
        """``largest``: by how much a unit may change each sum."""
        return self.largest

    def mean(self) -> float:
        """The mean of T, to be taken out for unbiased answers."""
        return _moments(self.noise_rate, self.largest, np.array([self.first]))[0].item()

    def variance(self) -> float:
        """The variance of T."""
        return _moments(self.noise_rate, self.largest, np.array([self.first]))[1].item()

    def quantile(self, confidence: Number) -> int:
        """The least k with ``Pr[T > k] <= 1 - confidence``, from upper bounds of these chances.

        Errors: ParameterError for a confidence that is not strictly between 0 and 1.
        """
        miss = 1 - confident(confidence)
        bits = _BITS + miss.denominator.bit_length()
        return least_whole(lambda k: k >= 0 and self._tail_above(k, bits) <= miss)

    def median(self) -> int:
        """The least k with ``Pr[T > k] <= 1/2``."""
        return self.quantile(Fraction(1, 2))

    @property
    def upper(self) -> Loss:
        """How fast the stairs fall, in nats per step."""
        return self.noise_rate * Fraction(1, self.largest)

    # INFINITE: no noise is below.
    lower = INFINITE

    quantile_upper = quantile

    def quantile_lower(self, confidence: Number) -> int:  # noqa: ARG002 - certain in any case
        """0: T is never below it."""
        return 0

    def _tail_above(self, k: int, bits: int) -> Fraction:
        """An upper bound of ``Pr[T > k]`` for k >= 0, above it by less than ``2^-bits``."""
        if isinstance(self.noise_rate, Infinite):
            return Fraction(0)
        turn, place = divmod(k, self.largest)
        later = (self.largest - self.first) * exp_neg_bounds(self.noise_rate, bits=_BITS)[1]
        if place < self.first:
            above = self.first - 1 - place + later
        else:
            above = later * (self.largest - 1 - place) / (self.largest - self.first)
        within = above / (self.first + later)
        # A later turn, or this one and a later place on it.
        beyond, here = (
            exp_neg_bounds(self.noise_rate * one, bits=bits)[1] for one in (turn + 1, turn)
        )
        return beyond * (1 - within) + here * within

    def _within(self, slope: Fraction, size: int, source: Noise) -> IntArray:
        """V: the place on a turn of the stairs."""
        late = self.largest - self.first
        if late == 0:
            return source.uniform(self.largest, size)
        later = late * exp_neg_bounds(slope, bits=_BITS)[1]
        early = source.bernoulli(self.first / (self.first + later), size)
        place = np.empty(size, dtype=np.int64)
        place[early] = source.uniform(self.first, int(early.sum()))
        place[~early] = self.first + source.uniform(late, int((~early).sum()))
        return place


def _best_first(slope: Loss, largest: int) -> int:
    """The first stair of least variance; of 4096 candidates where there are more."""
    if isinstance(slope, Infinite):
        return 1
    widths = np.unique(np.geomspace(1, largest, _CANDIDATES).round().astype(np.int64))
    if largest <= _CANDIDATES:
        widths = np.arange(1, largest + 1)
    return int(widths[np.argmin(_moments(slope, largest, widths)[1])])


def _moments(
    slope: Loss, largest: int, first: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and variance of T for each width of the first stair; public parameters only."""
    if isinstance(slope, Infinite):
        return np.zeros(first.size), np.zeros(first.size)
    early, late = first.astype(np.float64), (largest - first).astype(np.float64)
    fall = -np.expm1(-float(slope))
    share = early / (early + late * (1 - fall))
    means = (early - 1) / 2, early + (late - 1) / 2
    spreads = (early**2 - 1) / 12, np.where(late > 0, (late**2 - 1) / 12, 0.0)
    within = share * means[0] + (1 - share) * means[1]
    spread = share * (spreads[0] + (means[0] - within) ** 2)
    spread += (1 - share) * (spreads[1] + (means[1] - within) ** 2)
    turns = (1 - fall) / fall
    return largest * turns + within, largest**2 * turns / fall + spread


@dataclass(frozen=True, slots=True)
class StairSums(Noisy):
    """Release ``total + T`` for each total, or ``total - T`` if ``below``; T as :class:`Staircase`.

    Promise: along a move that lowers (``below``: raises) at most ``stairs.max_groups`` totals, each
    by at most ``stairs.largest``: ``stairs.noise_rate`` for each of these totals. A move that goes
    the other way has infinite loss.
    Direction: as :class:`Sums` with noise on one side, which it can take the place of. What
    differs is who pays: slopes charge for all that moves, stairs for each total that does.
    Units: as :class:`Staircase`; totals and answers in steps.
    Proof: a total that falls by s has noise greater by s to be hidden in, whatever its size or
    sign; so that of :class:`Staircase` holds. Below, all signs are changed.
    Source: ours.

    >>> from onesided import Shift
    >>> stairs = Staircase(noise_rate=1, largest=10, first=3)
    >>> StairSums(stairs).loss(Shift(rise=0, fall=10))
    Fraction(1, 1)
    >>> StairSums(stairs).loss(Shift(rise=1, fall=0))
    INFINITE
    >>> StairSums(stairs, below=True).loss(Shift(rise=10, fall=0))
    Fraction(1, 1)
    """

    stairs: Staircase
    below: bool = False
    _signed = True

    @classmethod
    def in_place_of(
        cls, sums: Sums, *, largest: int, max_groups: int, first: int | None = None
    ) -> StairSums:
        """Stairs that lose what ``sums`` does where totals move by ``largest`` each.

        ``sums`` must have noise on one side only. Errors: as :class:`Staircase`.
        """
        below = sums.upper_rate == INFINITE
        slope = (sums.lower_rate if below else sums.upper_rate) * largest
        return cls(Staircase(slope, largest=largest, first=first, max_groups=max_groups), below)

    def _draw(self, size: int, noise: Noise) -> IntArray:
        drawn = self.stairs.draw(size, noise)
        return -drawn if self.below else drawn

    def loss(self, shift: Shift) -> Loss:
        """As :meth:`Staircase.loss`, of what rises if ``below``."""
        turned = Shift(rise=shift.fall, fall=shift.rise) if self.below else shift
        return self.stairs.loss(turned)

    @property
    def per_key(self) -> int:
        """``stairs.largest``: by how much a unit may change each total."""
        return self.stairs.largest

    @property
    def max_groups(self) -> int:
        """``stairs.max_groups``: how many totals a unit may change in one move."""
        return self.stairs.max_groups

    @property
    def upper_rate(self) -> Loss:
        """INFINITE if no noise is above, else how fast the stairs fall, in nats per step."""
        return INFINITE if self.below else self.stairs.upper

    @property
    def lower_rate(self) -> Loss:
        """The same below."""
        return self.stairs.upper if self.below else INFINITE

    @property
    def distribution(self) -> Staircase:
        """How far an answer is from the truth, on whichever side."""
        return self.stairs

    def centred(self, noisy: IntArray) -> IntArray:
        """Noisy totals less the noise's median."""
        middle = self.stairs.median()
        return noisy + middle if self.below else noisy - middle

    def interval(self, noisy: IntArray, *, confidence: Number = CONFIDENCE) -> Interval:
        """Bounds on each true total; the side without noise is certain."""
        found = bounds_at(self.stairs, -noisy if self.below else noisy, confidence)
        turned = Interval(-found.upper, -found.lower, found.upper_certain, found.lower_certain)
        return turned if self.below else found


@dataclass(frozen=True)
class ALap(TwoRates, Noisy):
    """The asymmetric Laplace mechanism for real-valued sums, as whole steps of a declared grid.

    Promise: as :class:`Counts` on the steps: ``upper_rate * grid`` times what falls, in steps,
    plus ``lower_rate * grid`` times what rises. With ``lower_rate=INFINITE`` an answer is never
    below the truth.
    Units: rates in nats per unit of the value; ``release`` takes and gives whole steps (a value
    is a step times the grid); a :class:`Shift` is in steps. :meth:`steps` and :meth:`values`
    convert, exactly: a value between two steps is refused, for rounding a sum moves it.
    As the grid gets finer the noise times the grid tends to the exponential of the papers.

    Source: ADP-2022 Definition V.3, whose ``Sign`` must be read the other way: the falls of a
    decreasing query are hidden by noise *above* it. ADP-2021 aLap; OSDP OsdpLaplace.
    Errors: ParameterError for rates that, per step, are outside 2^-40 .. 2^10.

    >>> from onesided import INFINITE, Shift
    >>> up = ALap(1, INFINITE, grid="1/2")
    >>> up.steps(["2.5", 3]).tolist(), up.loss(Shift(rise=0, fall=2))
    ([5, 6], Fraction(1, 1))
    >>> bool(up.release(up.steps([3]))[0] >= 6)
    True
    """

    upper_rate: Rate = Field(rate)
    lower_rate: Rate = Field(rate)
    _: KW_ONLY
    grid: Exact = Field(positive)
    _by_totals = True
    _signed = True

    def __post_init__(self) -> None:
        rate(self.upper_rate * self.grid, name="upper_rate")
        rate(self.lower_rate * self.grid, name="lower_rate")

    @classmethod
    def fit(
        cls,
        policy: Policy,  # noqa: ARG003
        moves: Sequence[Move],
        *,
        largest: Number,
        **options: Any,
    ) -> Self:
        """The least noise for sums, by group, of one value in [0, ``largest``] for each unit.

        options: ``grid``.
        """
        share = 1 / positive(largest, name="largest")
        upper, lower = (one * share for one in choose(moves))
        return called(cls, upper, lower, **options)

    def loss(self, shift: Shift) -> Loss:
        """Exactly ``grid * (upper_rate * fall + lower_rate * rise)``, the shift in steps."""
        return super().loss(shift) * self.grid

    @cached_property
    def distribution(self) -> TwoSidedGeometric:
        """The exact distribution of the noise, in steps."""
        return TwoSidedGeometric(self.upper_rate * self.grid, self.lower_rate * self.grid)

    def steps(self, values: Iterable[Number]) -> IntArray:
        """Values as whole steps. Errors: DataError for a value that is not on the grid."""
        found = [exact(value, name="value") / self.grid for value in values]
        for place, step in enumerate(found):
            if step.denominator != 1 or abs(step) > MAX_COUNT:
                raise DataError(
                    f"The value at position {place} is not a multiple of {self.grid} within "
                    "2^62 steps.",
                    hint="Round each record to the grid before summing, or choose a finer grid.",
                    position=place,
                )
        return np.array([int(step) for step in found], dtype=np.int64)

    def values(self, steps: IntArray) -> tuple[Fraction, ...]:
        """Steps as exact values."""
        return tuple(self.grid * int(step) for step in steps)


@dataclass(frozen=True)
class AGeo(TwoRates, Noisy):
    """The asymmetric geometric mechanism: ``count + G_up - G_down`` clamped to [0, ``most``].

    Promise: as :class:`Counts`; clamping is post-processing. ``most`` is public, such as the
    number of people. For one decreasing count (``lower_rate=INFINITE``, ``upper_rate=ε``) no
    mechanism of the same loss has a lower mean absolute error that is certain from above.
    Units: rates in nats per count; answers in counts.

    Source: ADP-2022 Definition VIII.1, whose mass at the end point is given twice; this is
    ``f + G`` clamped, so the end holds the whole tail. Errors: ParameterError.

    >>> from onesided.mechanism import AGeo
    >>> AGeo(1, 1, most=100).most
    100
    """

    upper_rate: Rate = Field(rate)
    lower_rate: Rate = Field(rate)
    _: KW_ONLY
    most: Whole = Field(whole)
    _by_totals = True

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> IntArray:
        """Noisy counts in [0, ``most``]. Errors: DataError for a count above ``most``."""
        counts = counts_of(values)
        if counts.size and counts.max() > self.most:
            where = int(np.argmax(counts > self.most))
            raise DataError(
                f"The count at position {where} is above the declared most, {self.most}.",
                hint="Declare a public bound that no count can exceed.",
                position=where,
            )
        return np.clip(self.noisy(counts, noise=noise), 0, self.most)
