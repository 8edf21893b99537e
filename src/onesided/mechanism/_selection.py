"""The largest counts, and how far answers over keys that nobody can list are from the truth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
from onesided.errors import DataError, ParameterError, UnprotectableError
from onesided.fields import Field, Rate, Whole
from onesided.mechanism._certify import power_down
from onesided.mechanism._fit import (
    Fitted,
    Move,
    TwoRates,
    choose,
    counts_of,
    largest_rate,
    paid_loss,
    part_of,
)
from onesided.mechanism._steps import Counted, OneOf, Together, both_ways
from onesided.mechanism.law import Correction, Counts
from onesided.noise import IntArray, Noise, SecureNoise, TwoSidedGeometric
from onesided.policy import Policy, Shift

Floats = NDArray[np.float64]
_ROUNDS: Final = 3
_INFLATED: Final = math.e - 1


def isotonic(values: ArrayLike, weights: ArrayLike | None = None) -> NDArray[np.float64]:
    """The row that never falls and is nearest to ``values``, in squares that ``weights`` weigh.

    For published answers about what only grows, such as counts of all so far: post-processing, at
    no charge. Whatever the noise, in these squares the result is never farther from the truth than
    the values are, for it is their projection on a convex set that holds the truth. It is
    biased where values are; the values themselves stay what they were.
    values: one row, or several, each by itself. weights: as many, above 0, best 1 / variance.
    Source: Barlow et al. 1972 (pool adjacent violators). Errors: DataError.

    >>> from onesided.mechanism import isotonic
    >>> isotonic([1, 3, 2, 5]).tolist()
    [1.0, 2.5, 2.5, 5.0]
    """
    given = np.asarray(values, dtype=np.float64)
    heavy = np.ones_like(given) if weights is None else np.asarray(weights, dtype=np.float64)
    if given.ndim not in (1, 2) or not np.isfinite(given).all():
        raise DataError(
            f"A row of finite numbers was expected, got shape {given.shape}.",
            hint="Give one number for each step, or a table with a row for each series.",
        )
    shown = np.broadcast_shapes(heavy.shape, given.shape) if heavy.ndim <= given.ndim else None
    if shown != given.shape or not (np.isfinite(heavy) & (heavy > 0)).all():
        raise DataError(
            f"Weights of shape {heavy.shape} do not fit values of shape {given.shape}, or are not "
            "all above 0.",
            hint="Give one weight for each value, such as 1 / variance.",
        )
    rows = zip(
        np.atleast_2d(given), np.atleast_2d(np.broadcast_to(heavy, given.shape)), strict=True
    )
    return np.array([_pooled(*row) for row in rows], dtype=np.float64).reshape(given.shape)


def _pooled(values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Neighbours that fall are pooled to their mean, until none do."""
    blocks: list[tuple[float, float, int]] = []  # mean, weight, how many
    for mean, weight in zip(values.tolist(), weights.tolist(), strict=True):
        many = 1
        pooled, heavy = mean, weight
        while blocks and blocks[-1][0] >= pooled:
            before, more, longer = blocks.pop()
            pooled = (before * more + pooled * heavy) / (more + heavy)
            heavy, many = heavy + more, many + longer
        blocks.append((pooled, heavy, many))
    lengths = [many for _, _, many in blocks]
    return np.repeat([mean for mean, _, _ in blocks], lengths)


def chances_of_noise(
    values: IntArray, candidates: int, rate: Loss, lower: Loss = INFINITE
) -> Floats:
    """For each selected value, largest first, about how likely it is noise on a small count.

    Claim. Candidates with counts that are small beside the noise, anywhere from 0 to its mean M
    (uniformly: no more is known of them), reach the value v in a number of ``(e - 1) n0 e^(-v/M)``;
    one that does so has ``M / (e - 1)`` in the mean. These are the false selections. From one rank
    to the next their expected number rises by ``d_r`` while one value is seen, so that value is a
    false selection with a chance of about d_r. That chance can only rise as values fall, for the
    law of noise falls faster than that of counts plus noise; so the d_r are made monotone (the
    nearest such sequence) and at most 1. The answer is the posterior mean: ``M / (e - 1)`` with
    that chance, and with the rest of it the value less M, which is right where nothing is known of
    the count. Where counts stand out ``n0 e^(-v/M)`` is next to nothing, and nothing is shrunk. n0
    is the number of candidates less the selections that are not false. No constant was chosen on
    data: e - 1 and 1 / (e - 1) are integrals of e^u and u e^u over 0 to 1. All is computed from
    what was published and from the public number of candidates, so it costs nothing.
    With noise below as well, at the rate ``lower``, so many fewer reach v as the chance is that
    noise does not lie below 0: given that, it is geometric. Noise below alone lifts nothing.
    """
    if isinstance(rate, Infinite) or not values.size:
        return np.zeros(values.shape)
    above = np.maximum(np.asarray(values, dtype=np.float64), 0.0)
    reached = _not_below(rate, lower) * np.exp(-float(rate) * above)
    empty = float(candidates)
    chances = np.zeros(values.shape)
    for _ in range(_ROUNDS):
        chances = np.minimum(isotonic(np.diff(_INFLATED * empty * reached, prepend=0.0)), 1.0)
        empty = candidates - float((1 - chances).sum())
    return chances


def without_false(values: IntArray, candidates: int, rate: Loss, lower: Loss = INFINITE) -> Floats:
    """Selected values, largest first, less the noise's mean and shrunk; at least 0."""
    above, below = (
        0.0 if isinstance(one, Infinite) else 1 / math.expm1(float(one)) for one in (rate, lower)
    )
    centred: Floats = np.maximum(values - (above - below), 0.0)
    chances = chances_of_noise(values, candidates, rate, lower)
    return (1 - chances) * centred + chances * np.minimum(above / _INFLATED, centred)


def _not_below(upper: Loss, lower: Loss) -> float:
    """The chance of two-rate noise to be 0 or above."""
    if isinstance(upper, Infinite) or isinstance(lower, Infinite):
        return 1.0
    return math.expm1(-float(lower)) / math.expm1(-float(upper + lower))


class TopKAnswer(NamedTuple):
    """Positions of the selected counts, largest noisy value first, and those values.

    Each value is a certain upper bound of its count; the last one bounds no unselected count.

    >>> from onesided import INFINITE
    >>> from onesided.mechanism import TopK
    >>> found = TopK(1, upper_rate=INFINITE).release([3, 9, 1])
    >>> found.indices.tolist(), found.values.tolist()
    ([1], [9])
    """

    indices: IntArray
    values: IntArray


class _Largest(Fitted):
    """The ``k`` largest of counts with noise of two rates."""

    __slots__ = ()
    k: Any
    upper_rate: Any
    lower_rate: Any = INFINITE
    # Whether an estimate is at least 0.
    _clip = False

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> TopKAnswer:
        """The answer for an array of counts.

        Errors: DataError unless ``values`` is a one-dimensional array of at least ``k`` counts.
        """
        counts, source = _enough(values, self.k), SecureNoise() if noise is None else noise
        noisy = Counts(self.upper_rate, self.lower_rate).noisy(counts, noise=source)
        indices = largest(noisy, self.k, noise=source)
        return TopKAnswer(indices, noisy[indices])

    def estimate(self, values: IntArray, *, correction: Correction = "mean") -> NDArray[Any]:
        """Values less the noise's mean or median, for less error; free of charge.

        Selected values are likelier to be large than others; :meth:`shrunk` takes that out.
        """
        rates = self.upper_rate, self.lower_rate
        return Counts(*rates, correction=correction, clip=self._clip).estimate(values)

    def shrunk(self, values: IntArray, *, candidates: int) -> NDArray[np.float64]:
        """Values less the noise's mean, times the chance that they are not noise alone; free.

        values: as released, largest first. candidates: how many counts there were to select from.
        Where counts stand out of the noise it is the mean that is taken out, and no more.
        Errors: ParameterError for fewer candidates than values.
        """
        number = whole(candidates, name="candidates", least=max(int(np.size(values)), 1))
        return without_false(values, number, self.upper_rate, self.lower_rate)


@dataclass(frozen=True)
class TopK(_Largest):
    """Release the ``k`` largest of ``count + G``, with positions and values.

    Promise: a move that lowers counts by ``fall`` in total, each by at most ``per_key``, loses
    exactly ``upper_rate * min(fall, k * per_key)`` (if there are as many counts as that takes).
    Direction: falls are hidden; a move that raises a count has infinite loss. A value is never
    below its count.
    Units: rate in nats per count; counts and values in units of the count (people).
    Ties are broken by chance: the answer is what sorting by (noisy value, random rank) gives.
    Positions must mean public keys: an order of the keys that comes from the data would itself
    be a leak.

    Proof. Fix the ranks; the answer o names a set S, the values z on S, and nothing else. It
    appears iff each i in S has ``f_i + G_i = z_i`` and each j outside S comes, by (value, rank),
    after the last of S. Given o, these are independent events, one for each count, and those
    outside S only get likelier when ``f_j`` falls. So the ratio of probabilities is at most the
    product over S of ``Pr[G = z_i - f_i] / Pr[G = z_i - f_i + d_i] = e^(rate d_i)``, and the sum
    of ``d_i`` over k counts is at most ``min(fall, k per_key)``. Averaging over ranks keeps the
    bound. Equality: let S hold the counts that fell. That unselected counts are free rests on the
    ranks: ties broken by the true counts have infinite loss, and a rule that looks at unselected
    values (such as where a partial sort happens to leave them) can lose more; both fail the check.

    Source: ADP-2021 Algorithm 1, with rate ε/k there; here ε/min(k, ℓ0), on integers.
    Errors: ParameterError for an invalid k or invalid rates.

    >>> from onesided import policy
    >>> from onesided.mechanism import TopK
    >>> print(TopK.for_policy(policy.presence(max_groups=2), k=5, epsilon=1).upper_rate)
    1/2
    """

    k: Whole = Field(whole, least=1)
    _: KW_ONLY
    upper_rate: Rate = Field(rate)
    per_key: Whole = Field(whole, least=1, default=1)

    _what = "top-k"

    def loss(self, shift: Shift) -> Loss:
        """``upper_rate * min(fall, k * per_key)``; INFINITE if any count rises."""
        return paid_loss(self.upper_rate, shift, answers=self.k, per_key=self.per_key)


@dataclass(frozen=True)
class NoisyTopK(TwoRates, _Largest):
    """Release the ``k`` largest of ``count + G_up - G_down``, for counts that may rise.

    Promise: that of :class:`Counts`, ``upper_rate * fall + lower_rate * rise``, whatever k is: it
    is a function of all noisy counts. Where counts only rise no value is above its count. That
    unselected counts are free, as for :class:`TopK`, holds of falls alone: one that rises is less
    likely to stay unselected, by as much as its noise hides.
    Units: rates in nats per count; counts and values in units of the count.
    Errors: ParameterError.

    >>> from onesided import policy
    >>> print(NoisyTopK.for_policy(policy.removal_only(), k=5, epsilon=1, max_groups=2).lower_rate)
    1/2
    """

    k: Whole = Field(whole, least=1)
    _: KW_ONLY
    upper_rate: Rate = Field(rate)
    lower_rate: Rate = Field(rate)

    _by_totals = True
    _clip = True

    def steps(self, shift: Shift) -> Counted:
        """Counts, of which the k largest are a function."""
        return Counted(self.upper_rate, self.lower_rate, shift)


@dataclass(frozen=True)
class PeeledTopK(TwoRates):
    """Pick ``k`` of the largest counts one after another, and then measure those alone.

    Each round accepts every candidate that is left with the chance ``e^(-pick_rate * lag)``, lag
    being by how much its count is below the largest left, and takes one of the accepted, each as
    likely as the next (permute and flip). Then the k counts get fresh noise at the two rates.

    Promise: along a move that changes each count by at most ``per_key``, the loss is at most
    ``k * pick_rate`` times the largest rise and the largest fall of one count together, and
    ``upper_rate * fall + lower_rate * rise`` of the k that fall and rise most. So it is for units
    in many more groups than k; :class:`NoisyTopK` is better for those in few.
    Units: rates in nats per count. Positions must mean public keys.
    Proof: docs/proofs/top-k.md. Source: McKenna and Sheldon 2020; peeling as in Durfee and Rogers
    2019. Errors: ParameterError.

    >>> from onesided import policy
    >>> one = PeeledTopK.for_policy(policy.removal_only(), k=2, epsilon=1, max_groups=9)
    >>> one.pick_rate, one.upper_rate, one.lower_rate
    (Fraction(1, 4), INFINITE, Fraction(1, 4))
    """

    k: Whole = Field(whole, least=1)
    _: KW_ONLY
    pick_rate: Rate = Field(rate)
    upper_rate: Rate = Field(rate)
    lower_rate: Rate = Field(rate)
    per_key: Whole = Field(whole, least=1, default=1)

    _fitted = "pick_rate"

    @classmethod
    def fit(
        cls,
        policy: Policy,  # noqa: ARG003
        moves: Sequence[Move],
        *_: Any,
        k: int,
        per_key: int = 1,
    ) -> Self:
        """Half of what may be lost picks, half measures."""
        bare = {"pick_rate": INFINITE, "upper_rate": INFINITE, "lower_rate": INFINITE}
        one, halves = cls(k, **bare, per_key=per_key), part_of(moves, Fraction(1, 2))
        measured = [replace(m, shift=shift) for m in halves for shift in one.measured(m.shift)]
        upper, lower = choose(measured)
        pick = largest_rate(halves, lambda shift: one.k * one.span(shift))
        return replace(one, pick_rate=pick, upper_rate=upper, lower_rate=lower)

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> TopKAnswer:
        """The answer for an array of counts, largest value first. Errors: as for TopK."""
        counts, source = _enough(values, self.k), SecureNoise() if noise is None else noise
        left, taken = np.arange(counts.size), []
        for _ in range(self.k):
            lags = counts[left].max() - counts[left]
            place = source.permute_and_flip(self.pick_rate, lags, np.ones_like(lags))
            taken.append(int(left[place]))
            left = np.delete(left, place)
        indices = np.array(taken, dtype=np.int64)
        noisy = Counts(self.upper_rate, self.lower_rate).noisy(counts[indices], noise=source)
        order = np.argsort(-noisy, kind="stable")
        return TopKAnswer(indices[order], noisy[order])

    def loss(self, shift: Shift) -> Loss:
        """That of picking, and the most that measuring so many counts can lose."""
        picked = self.pick_rate * (self.k * self.span(shift))
        found = self.measured(shift)
        return picked + max(self.upper_rate * s.fall + self.lower_rate * s.rise for s in found)

    def steps(self, shift: Shift) -> Together:
        """Rounds of permute and flip, k of them, and then counts."""
        pick = both_ways(self.pick_rate * self.span(shift))
        found = self.measured(shift)
        counts = OneOf(tuple(Counted(self.upper_rate, self.lower_rate, s) for s in found))
        return Together((Together((pick,), self.k), counts))

    def span(self, shift: Shift) -> int:
        """The largest rise and the largest fall of one count, together."""
        return min(shift.rise, self.per_key) + min(shift.fall, self.per_key)

    def measured(self, shift: Shift) -> tuple[Shift, Shift]:
        """How far the k can move: each of them one way, by at most ``per_key``."""
        most = self.k * self.per_key
        rise, fall = min(shift.rise, most), min(shift.fall, most)
        falling = Shift(rise=min(rise, most - fall), fall=fall)
        return falling, Shift(rise=rise, fall=min(fall, most - rise))


def _enough(values: ArrayLike, k: int) -> IntArray:
    """Counts, at least k of them."""
    counts = counts_of(values)
    if counts.size < k:
        raise DataError(
            f"The {k} largest of {counts.size} counts were asked for.",
            hint=f"Ask for at most {counts.size}, or give more keys.",
            k=k,
            keys=counts.size,
        )
    return counts


def largest(noisy: IntArray, k: int, *, noise: Noise) -> IntArray:
    """Positions of the ``k`` largest by (value, random rank), largest first.

    Ranks are drawn for those only that reach the k-th value, and only if two of them are equal:
    the order of a random permutation on a part is itself uniform, and untied ranks are not seen.
    """
    cut = np.partition(noisy, noisy.size - k)[noisy.size - k]
    reach = np.flatnonzero(noisy >= cut)
    by_value = reach[np.argsort(-noisy[reach], kind="stable")]
    if not (np.diff(noisy[by_value]) == 0).any():
        return by_value[:k].copy()
    ranks = noise.permutation(reach.size)
    return reach[np.lexsort((ranks, -noisy[reach]))][:k].copy()


# Counts over keys that nobody can list: which of them are told is part of the noisy answer.

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
