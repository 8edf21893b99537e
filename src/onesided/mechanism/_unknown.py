"""Counts over keys that nobody can list: which of them are told is part of the noisy answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Final, Self

import numpy as np
from numpy.typing import ArrayLike

from onesided._numbers import (
    INFINITE,
    Infinite,
    Loss,
    Number,
    exp_neg_bounds,
    rate,
    strict_share,
    whole,
)
from onesided.errors import ParameterError, UnprotectableError
from onesided.fields import Field, Rate, Whole
from onesided.mechanism._certify import power_down
from onesided.mechanism._fit import Fitted, Move, choose, counts_of
from onesided.noise import IntArray, Noise, SecureNoise, TwoSidedGeometric
from onesided.policy import Policy, Shift

_GUARD: Final = 96
_MOST_STEPS: Final = 2**14


@dataclass(frozen=True)
class UnknownKeys(Fitted):
    """Release ``count - V`` for each key, and a key at all only if that is above ``threshold``.

    Promise: along a move that raises counts by ``rise`` in total and lowers them by ``fall``, each
    by one at most, the loss is ``lower_rate * rise + upper_rate * fall``, however large the set of
    possible keys, up to :meth:`delta`. Where ``upper_rate`` is INFINITE δ is 0, and any fall has
    infinite loss; where ``lower_rate`` is, any rise has. A released value is never above the truth,
    and with a δ never below it by more than ``width``: "at least so many", and that the key occurs,
    are certain. What is not released is not said to be absent.
    Units: rates in nats per count; counts in units (people). ``threshold`` is public. ``key_delta``
    is the δ of one key, one direction; it is what hides that a key is there, and must be above 0
    where counts fall.
    Input: the counts of the keys that occur, one each, in any order. Whoever publishes the keys
    must order them by the answer or by the keys themselves, never as the data had them.

    V. A key with count n is told with a chance of ``t(n) = Pr[V < n]``, from ``t(0) = 0``. Where
    counts only rise V is geometric. Else it is the V of the largest chances there are,

        t(n) = min(1, e^upper t(n - 1) + δ, 1 - (1 - t(n - 1) - δ) / e^lower),

    which are 1 from some N on. Both bounds hold of any mechanism that tells keys at this loss and
    δ, so by induction its chances are no larger; that the value is told as well costs nothing.

    Proof. ``p(n) = t(n) - t(n - 1)`` is the chance of ``V = n - 1``, by which a count f gives the
    value z where ``n = f + 1 - z``. Growing, t follows the second bound and then, for good, the
    third: what each lets it grow by rises and falls in t. So p first grows by e^upper from step to
    step, turns, and falls by e^lower; but ``p(1) = δ``, with nothing before it, and ``p(N)``, what
    was left. A fall of f makes a value as likely as the step before, and "not told" likelier: it
    loses e^upper but for p(1). A rise to f makes a value as likely as the next step, and "not told"
    less likely, ``1 - t(f)`` for ``1 - t(f - 1)``, which by the third bound is e^lower but for δ;
    that is met at f >= N - 1 alone, where all values and that together lose δ at most.
    Fractions stand for t (rounded down) and for both powers (too small); :meth:`delta` is worked
    out anew from them. Keys, several of them, are independent (docs/proofs/unknown-keys.md).

    Source: one-sided note, remark on histograms; OSDP section 6.3.2; Desfontaines, Voss, Gipson and
    Mandayam 2022, Theorem 1, where both rates are one. Errors: ParameterError.

    >>> from onesided.policy import Shift
    >>> UnknownKeys("1/2").loss(Shift(rise=0, fall=1))
    INFINITE
    >>> falls, both = (UnknownKeys(b, upper_rate=1, key_delta="1e-6") for b in (INFINITE, 1))
    >>> falls.width + 1, both.width + 1  # certain to be told from these counts on
    (15, 28)
    """

    lower_rate: Rate = Field(rate)
    _: KW_ONLY
    upper_rate: Rate = Field(rate, default=INFINITE)
    key_delta: Field[Number | None, Fraction | None] = Field(
        strict_share, default=None, optional=True
    )
    threshold: Whole = Field(whole, default=0)

    _fitted = "lower_rate"
    _rates = ("upper_rate", "key_delta")

    def __post_init__(self) -> None:
        falls = not isinstance(self.upper_rate, Infinite)
        if falls == (self.key_delta is None):
            raise ParameterError(
                f"key_delta={self.key_delta} and upper_rate={self.upper_rate} do not go together.",
                hint="Where counts fall give both, such as key_delta=1e-8; else leave both out.",
            )
        if falls:
            _ = self._steps

    @classmethod
    def fit(
        cls,
        policy: Policy,
        moves: Sequence[Move],
        *,
        delta: Number | None = None,
        threshold: int = 0,
    ) -> Self:
        """The rates of least variance that keep every move, and the largest δ of a key.

        delta: what a move may lose beside ε, shared by the keys it changes; None tells keys only
        where no count falls. Errors: UnprotectableError there; ParameterError for δ not in (0, 1).
        """
        hint = "Use less than one in the number of people, for example 1e-6."
        share = None if delta is None else strict_share(delta, name="delta", hint=hint)
        upper, lower = choose(moves)
        if isinstance(upper, Infinite):
            return cls(lower, threshold=threshold)
        if share is None:
            raise cls._refusal(policy, next(move for move in moves if move.shift.fall))
        most = max(move.shift.rise + move.shift.fall for move in moves)
        # 1 - (1 - δ/m)^m is at most δ.
        return cls(lower, upper_rate=upper, key_delta=share / most, threshold=threshold)

    @classmethod
    def _refusal(cls, policy: Policy, move: Move) -> UnprotectableError:
        """Why no noise hides a move at δ = 0."""
        return UnprotectableError(
            f"Under the policy {policy.name!r} a unit that is counted may have to pass as "
            f"one that is not ({move.edge.name}). A key would then give it away: hiding the "
            "fall needs noise above the truth, on every key that could possibly occur.",
            hint="Pass delta=, the chance with which a key may do so, such as 1e-6, in a session "
            "with delta_budget=; count only kinds that no move starts from, such as "
            "counted='open' under sensitive(...); or give public keys and use count.",
            edge=move.edge.name,
        )

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> IntArray:
        """For each key ``count - V`` if that is above the threshold, else 0: not published.

        Errors: DataError unless ``values`` is a one-dimensional array of counts.
        """
        counts = counts_of(values)
        source = SecureNoise() if noise is None else noise
        if self._pure:
            noisy = counts - source.geometric(self.lower_rate, counts.size)
        else:
            noisy = counts - self._drawn(counts.size, source)
        return np.where(noisy > self.threshold, noisy, 0)

    def loss(self, shift: Shift) -> Loss:
        """``lower_rate * rise + upper_rate * fall``, up to :meth:`delta`."""
        return self.upper_rate * shift.fall + self.lower_rate * shift.rise

    def delta(self, shift: Shift) -> Fraction:
        """The δ of a move that changes so many keys by one each, rounded up."""
        if self._pure or isinstance(self.loss(shift), Infinite):
            return Fraction(0)
        falls, rises = self._deltas
        safe = power_down(1 - falls, shift.fall, self._places)
        return 1 - safe * power_down(1 - rises, shift.rise, self._places)

    @property
    def width(self) -> int | None:
        """By how much a told value may be below the truth; None if by any number."""
        if self._pure:
            return 0 if isinstance(self.lower_rate, Infinite) else None
        return len(self._steps) - 1

    def chance(self, count: int) -> float:
        """How likely a key with this true count is published: ``Pr[V < count - threshold]``."""
        above = whole(count, name="count") - self.threshold
        if above <= 0:
            return 0.0
        if not self._pure:
            return float(self._running[min(above, len(self._steps))])
        if isinstance(self.lower_rate, Infinite):
            return 1.0
        return -math.expm1(-float(self.lower_rate * above))

    @property
    def median(self) -> int:
        """The median of V, the noise that is taken off a count, before the threshold."""
        if self._pure:
            return -self._geometric.median()
        return next(n for n, below in enumerate(self._running[1:]) if below >= Fraction(1, 2))

    @property
    def variance(self) -> float:
        """The variance of V."""
        if self._pure:
            return self._geometric.variance()
        chances, places = np.array(self._steps, dtype=float), np.arange(len(self._steps))
        return float(chances @ (places - chances @ places) ** 2)

    @property
    def _pure(self) -> bool:
        return isinstance(self.upper_rate, Infinite)

    @property
    def _geometric(self) -> TwoSidedGeometric:
        return TwoSidedGeometric(INFINITE, self.lower_rate)

    @cached_property
    def _places(self) -> int:
        rates = [one for one in (self.upper_rate, self.lower_rate) if isinstance(one, Fraction)]
        return _GUARD + self._share.denominator.bit_length() + math.ceil(3 * max(rates))

    @property
    def _share(self) -> Fraction:
        return Fraction(0) if self.key_delta is None else self.key_delta

    def _power(self, slope: Loss) -> Fraction | None:
        """A fraction that e^rate is not below; None where it is without end."""
        if isinstance(slope, Infinite):
            return None
        return 1 / exp_neg_bounds(slope, bits=self._places)[1]

    @cached_property
    def _steps(self) -> tuple[Fraction, ...]:
        """``Pr[V = 0], Pr[V = 1], ...``: by how much the chances grow. Errors: ParameterError."""
        up, down, places = self._power(self.upper_rate), self._power(self.lower_rate), self._places
        # Less by what rounding may take, so that what is lost is no more than was asked for.
        share, told = self._share * (1 - Fraction(1, 2**32)), [Fraction(0)]
        while told[-1] < 1:
            if len(told) > _MOST_STEPS:
                raise ParameterError(
                    f"Keys would be told for certain from a count above {_MOST_STEPS:,} alone.",
                    hint="Use a larger ε or δ, or fewer groups of a unit.",
                )
            bounds = [Fraction(1)]
            bounds += [] if up is None else [up * told[-1] + share]
            bounds += [] if down is None else [1 - (1 - told[-1] - share) / down]
            told.append(Fraction(math.floor(min(bounds) * 2**places), 2**places))
        return tuple(later - before for before, later in pairwise(told))

    @cached_property
    def _running(self) -> tuple[Fraction, ...]:
        return tuple(accumulate(self._steps, initial=Fraction(0)))

    @cached_property
    def _deltas(self) -> tuple[Fraction, Fraction]:
        """What one key that falls by one, and one that rises, loses beyond its rate; exactly.

        Of a value each noise is as likely as the one beside it, up to the rate; of "not told" so
        are the chances that are left. The largest over all counts.
        """
        up, down, steps = self._power(self.upper_rate), self._power(self.lower_rate), self._steps
        falls = rises = Fraction(0)
        for before, here in pairwise((Fraction(0), *steps)):
            falls += max(here - before * up, Fraction(0)) if up else 0
        if down is not None:
            values = Fraction(0)
            left = [1 - one for one in self._running]
            for n, step in enumerate(steps):
                hidden = max(left[n] - down * left[n + 1], Fraction(0))
                rises = max(rises, values + hidden)
                later = steps[n + 1] if n + 1 < len(steps) else Fraction(0)
                values += max(step - down * later, Fraction(0))
            rises = max(rises, values)
        return falls, rises

    def _drawn(self, size: int, noise: Noise) -> IntArray:
        """Draws of V, exactly: half of what is left of its range is chosen until one is."""
        drawn, whole_range = np.zeros(size, dtype=np.int64), (0, len(self._steps))
        todo = [(*whole_range, np.arange(size))]
        while todo:
            low, high, places = todo.pop()
            if high - low == 1 or not places.size:
                drawn[places] = low
                continue
            middle = (low + high) // 2
            start, cut, end = (self._running[one] for one in (low, middle, high))
            later = noise.bernoulli((end - cut) / (end - start), places.size)
            todo += [(low, middle, places[~later]), (middle, high, places[later])]
        return drawn
