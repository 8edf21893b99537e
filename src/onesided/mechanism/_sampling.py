"""Samples: true records that no move hides, and units whose coins hide that they are there."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onesided._english import many
from onesided._numbers import (
    INFINITE,
    Infinite,
    Loss,
    Number,
    exp_neg_bounds,
    log_up,
    rate,
    regular,
    text,
    whole,
)
from onesided.errors import ContributionError, DataError, UnprotectableError
from onesided.fields import Field, Rate, Whole
from onesided.mechanism._fit import Fitted, Mechanism, Move, counts_of
from onesided.mechanism.law import Correction, Counts
from onesided.noise import BoolArray, IntArray, Noise, SecureNoise
from onesided.policy import ABSENT, GroupCount, Policy, Shift

# A coin for each record: more of them would take gigabytes of bits.
MOST_RECORDS: Final = 2**30


@dataclass(frozen=True)
class RecordSample(Fitted):
    """Keep each open record with probability ``1 - e^-rate``, by independent exact coins.

    Promise: along a move that puts ``rise`` records among those that are sampled, and takes none
    away, the loss is exactly ``rate * rise``. A move that takes one away has infinite loss: it was
    published as it is, and no other data could have given it.
    Direction: a protected record passes as an open one that happened to be dropped. That somebody
    *is* in the sample is certain knowledge of a true, open record.
    Units: rate in nats per record; INFINITE keeps every record, for records that no move leads to.

    Proof. Let X hold a protected record x where Y holds an open y. The coins of all others are the
    same. On X the output never shows x. On Y, with probability ``e^-rate``, it does not show y, and
    is then distributed as on X. So ``Pr[M(Y) in S] >= e^-rate Pr[M(X) in S]``; equality for the
    outputs without y. If x is absent and y a record, as under removal-only, the same holds.

    Source: OSDP Algorithm 1 and Theorem 4.1; one-sided note, Theorem 5 (Poisson subsampling).
    Errors: ParameterError.

    >>> from onesided import policy
    >>> from onesided.mechanism import RecordSample
    >>> RecordSample.for_policy(policy.sensitive("minor"), epsilon=1).rate
    Fraction(1, 1)
    """

    rate: Rate = Field(rate)

    _fitted = "rate"

    @classmethod
    def _asked(cls, policy: Policy, query: GroupCount) -> GroupCount:
        """Each record of the ``counted`` kinds, sampled together; None is every open kind.

        Errors: UnprotectableError if there is none.
        """
        kinds = frozenset(open_kinds(policy)) if query.counted is None else query.counted
        if query.counted is None and not kinds:
            raise _nothing_open(policy)
        return GroupCount(max_groups=1, counted=kinds)

    def refusal(self, policy: Policy, move: Move) -> UnprotectableError:
        """Why the noise cannot hide a move."""
        return UnprotectableError(
            f"A record of the kind {policy.ends(move.edge)[0]!r} must be able to pass as "
            f"another ({move.edge.name}), so it can never be published as it is.",
            hint=_instead(policy),
            edge=move.edge.name,
        )

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> IntArray:
        """How many of each kind of open record are kept: the histogram of a true-record sample.

        values: how many open records are equal, or fall in one bin. Each record has its own coin.
        Errors: DataError for more than 2^30 records in all.
        """
        counts = counts_of(values)
        total = _total(counts)
        kept = np.zeros(counts.size, dtype=np.int64)
        filled = np.flatnonzero(counts)
        if filled.size:
            starts = np.concatenate([[0], np.cumsum(counts[filled])[:-1]])
            coins = self.choose(total, noise=noise)
            kept[filled] = np.add.reduceat(coins, starts, dtype=np.int64)
        return kept

    def choose(self, size: int, *, noise: Noise | None = None) -> BoolArray:
        """Which of ``size`` open records are kept: True with probability ``1 - e^-rate`` each."""
        source = SecureNoise() if noise is None else noise
        return ~source.bernoulli_exp(self.rate, whole(size, name="size", most=MOST_RECORDS))

    def loss(self, shift: Shift) -> Loss:
        """``rate * rise``, and INFINITE if any sampled record goes."""
        return INFINITE * shift.fall + self.rate * shift.rise

    @property
    def keep(self) -> float:
        """``1 - e^-rate`` as a float, for showing and for estimates; coins use the exact number."""
        return 1.0 if isinstance(self.rate, Infinite) else -math.expm1(-float(self.rate))

    @property
    def keep_text(self) -> str:
        """The same, exactly."""
        return "1" if isinstance(self.rate, Infinite) else f"1 - exp(-{text(self.rate)})"


def open_kinds(policy: Policy) -> tuple[str, ...]:
    """The kinds of record that no move of the policy starts from; absence is no record.

    >>> from onesided.policy import addition_only, sensitive
    >>> open_kinds(sensitive("minor")), open_kinds(addition_only())
    (('open',), ())
    """
    sources = {policy.ends(edge)[0] for edge in policy.edges}
    return tuple(kind for kind in policy.kinds if kind not in sources and kind != ABSENT)


def samples_for(policy: Policy, *, epsilon: Number) -> Mapping[str, RecordSample]:
    """For each open kind, the largest sample of it; kinds left out are never kept.

    Together they keep ``(epsilon, policy)``: a move leads to one kind of record, so it puts a
    record into one of these samples at most, and the others do not change. Along an edge the
    loss is the sum of their losses, of which at most one is not 0.
    Errors: UnprotectableError if every kind is protected.

    >>> from onesided.policy import sensitive
    >>> sorted(samples_for(sensitive("minor"), epsilon=1))
    ['open']
    """
    kinds = open_kinds(policy)
    if not kinds:
        raise _nothing_open(policy)
    return {
        kind: RecordSample.for_policy(policy, epsilon=epsilon, counted=[kind]) for kind in kinds
    }


def _nothing_open(policy: Policy) -> UnprotectableError:
    return UnprotectableError(
        f"Under the policy {policy.name!r} every record must be able to pass as another, so none "
        "can be published as it is.",
        hint=_instead(policy),
    )


def _instead(policy: Policy) -> str:
    return (
        "Release counts, which the noise can hide; or say which records are open: "
        f"sensitive(...), extended_sensitive(...) or tiers(...) in place of {policy.name}."
    )


def _total(counts: IntArray) -> int:
    """The number of records. Errors: DataError if there are too many for a coin each."""
    # Two halves, so that the sum of counts up to 2^62 cannot overflow.
    high, low = counts >> 31, counts & (2**31 - 1)
    total = (int(high.sum()) << 31) + int(low.sum())
    if total > MOST_RECORDS:
        raise DataError(
            f"{total:,} records are more than the {MOST_RECORDS:,} that can have a coin each.",
            hint="Sample the table itself (session.sample), or release noisy counts.",
            records=total,
        )
    return total


MOST_UNITS: Final = 10**9
_CHUNK: Final = 1 << 20
_BITS: Final = 160
_GRID: Final = 2**80
# e^2048 decides nothing: amplification is not tried above it.
_LARGEST: Final = 2048


@dataclass(frozen=True)
class Subsampled(Fitted):
    """Keep each unit with probability ``p = 1 - e^-keep_rate``, and run ``mechanism`` on those.

    ``release`` takes a histogram (each unit adds 1 to one count), or a table of units with a row
    of 0s and 1s for each, at most ``max_groups`` 1s. A unit is kept or dropped whole, by one coin.
    Promise, where the mechanism loses ε along a fall:
    * a unit leaves (``fall``): ``ln(1 + p (e^ε - 1))``, rounded up;
    * a unit arrives (``rise``): ``keep_rate``, whatever the mechanism does with rises; or
      ``-ln(1 - p + p e^-ε)`` where it loses ε along them;
    * a unit changes: the two together, by way of absence; never more than the mechanism itself.
    A fall may also be a unit that stays and leaves some of its groups: never more than leaving.
    A rise may be a unit that was there before: then it is a change, and the loss covers that
    unless ``whole`` says that units only come and go, or ``max_groups`` is 1.
    Direction: the mechanism may hide falls only (noise above); the sample hides the rises. The
    price: an answer is about the sample, so nothing is certain about the data but this: what is
    surely below the sample's count is surely below the true one.

    Proof. Fix the other units' coins. With ``a`` the mechanism's law without the unit and b with
    it, the sampled law is a without it and ``(1 - p) a + p b`` with it. ``b <= e^ε a`` gives the
    first, ``b >= 0`` (or ``b >= e^-ε a``) the second. Mixing over the other coins keeps both. If
    the unit stays, with the law c, the ratio ``((1 - p) a + p b) / ((1 - p) a + p c)`` is largest
    for the least ``a = e^-ε b``, and ``c >= e^-ε b`` makes it at most the first.
    Warning: the second alone is removal-only privacy, and a p-fraction in the clear satisfies it:
    ``Subsampled(Counts(INFINITE, INFINITE), ...)`` protects nobody who is in the data.

    Source: one-sided note, Theorems 5 and 6 and equation (3); :meth:`fit` is the latter.
    Time grows with the number of units, as counting does. Errors: ParameterError.

    >>> from onesided import INFINITE, Shift
    >>> from onesided.mechanism import Counts
    >>> both_ways = Subsampled(Counts(1, INFINITE), keep_rate="1/2")
    >>> both_ways.loss(Shift(rise=1, fall=0)), both_ways.loss(Shift(rise=0, fall=1)) < 1
    (Fraction(1, 2), True)
    """

    mechanism: Mechanism
    _: KW_ONLY
    keep_rate: Rate = Field(rate)
    max_groups: Whole = Field(whole, least=1, default=1)
    whole: bool = False

    @classmethod
    def fit(cls, policy: Policy, moves: Sequence[Move], *, correction: Correction = "none") -> Self:
        """Counts with noise above the truth only, of a sample that hides the rises (equation 3).

        The keep rate is what a rise may lose; the noise's is what then makes a fall lose as much
        as it may: ``ln(1 + e^ε)`` under unbounded DP, rounded down, which is more noise. Where one
        move does both, each gets half.
        Errors: UnprotectableError where units in several groups may change and gain one.
        """
        groups = max((max(m.shift.fall, m.shift.rise) for m in moves), default=1)
        if groups > 1:
            # Rises only from absence: a unit that was there before does not just arrive.
            for move in moves:
                if move.shift.rise and policy.ends(move.edge)[0] != ABSENT:
                    raise UnprotectableError(
                        f"Under the policy '{policy.name}' a unit in several groups may gain one "
                        f"while it stays in others ({move.edge.name}), and sampling alone does not "
                        "hide that.",
                        hint="Use one group per unit, or a policy whose units come and go whole: "
                        "unbounded, addition_only, removal_only.",
                    )
        both = any(move.shift.rise and move.shift.fall for move in moves)
        keep = _least((m.loss for m in moves if m.shift.rise), both=both)
        fall = _least((m.loss for m in moves if m.shift.fall), both=both)
        inner: Loss = INFINITE if isinstance(fall, Infinite) else _before(fall, keep) / groups
        counts = Counts(inner, INFINITE, correction=correction)
        return cls(counts, keep_rate=keep, max_groups=groups, whole=groups > 1)

    @property
    def share(self) -> float:
        """p, the probability with which a unit is kept."""
        return 1.0 if isinstance(self.keep_rate, Infinite) else -math.expm1(-float(self.keep_rate))

    def release(self, values: ArrayLike, *, noise: Noise | None = None) -> Any:
        """What the mechanism says of the sample.

        Errors: DataError unless ``values`` is a histogram (for ``max_groups=1``) or a table of
        0s and 1s; ContributionError for a unit in too many groups.
        """
        source = SecureNoise() if noise is None else noise
        return self.mechanism.release(self.sample(values, noise=source), noise=source)

    def sample(self, values: ArrayLike, *, noise: Noise) -> IntArray:
        """The counts of a fresh sample. In the clear: not to be published unless that is meant."""
        table = regular(values)
        if table.ndim == 2:
            rows = _rows_of(table, self.max_groups)
            return np.asarray(
                rows[~noise.bernoulli_exp(self.keep_rate, len(rows))].sum(axis=0, dtype=np.int64)
            )
        if self.max_groups > 1:
            raise DataError(
                "Counts do not say which of them a unit is in, so it cannot be kept whole.",
                hint="Give a table of 0s and 1s with one row per unit.",
            )
        return self._thinned(counts_of(table), noise)

    def loss(self, shift: Shift) -> Loss:
        """The loss stated above for a unit that adds at most ``max_groups``; else INFINITE."""
        if max(shift.rise, shift.fall) > self.max_groups:
            return INFINITE
        direct = self.mechanism.loss(shift)
        if isinstance(self.keep_rate, Infinite):
            return direct
        if shift.rise == 0:
            return self._leaving(shift.fall)
        if shift.fall == 0 and (self.whole or self.max_groups == 1):
            return min(self._arriving(shift.rise), direct)
        # By way of absence; what is there before an arrival can be all groups but one.
        before = self.max_groups if shift.fall else self.max_groups - 1
        return min(self._left(before) + self.keep_rate, direct)

    def delta(self, shift: Shift) -> Fraction:
        """The mechanism's largest δ along the ways that the loss covers, times p, rounded up.

        0 if it has none. A unit that leaves some groups and stays in others is covered by way of
        leaving all of them, so unless units are whole that δ counts, not only the move's own.
        """
        own = getattr(self.mechanism, "delta", None)
        if own is None or not (shift.rise or shift.fall):
            return Fraction(0)
        leaves = shift.rise == 0 and self.whole
        fall = shift.fall if leaves else self.max_groups
        chance: Fraction = max(own(Shift(rise=0, fall=fall)), own(shift))
        return _share_up(self.keep_rate) * chance

    def estimate(self, answers: ArrayLike) -> NDArray[np.float64]:
        """Answers about the sample, scaled to all units: unbiased if they are, about the sample."""
        return np.asarray(answers) / self.share

    def _leaving(self, fall: int) -> Loss:
        """A unit that leaves and, unless units are whole, one that stays in fewer groups."""
        if self.whole or not fall:
            return self._left(fall)
        return min(self._inner_fall(fall), self._left(self.max_groups))

    def _left(self, fall: int) -> Loss:
        return _after(self._inner_fall(fall), self.keep_rate)

    def _inner_fall(self, fall: int) -> Loss:
        return self.mechanism.loss(Shift(rise=0, fall=fall)) if fall else Fraction(0)

    def _arriving(self, rise: int) -> Loss:
        own = self.mechanism.loss(Shift(rise=rise, fall=0))
        if isinstance(own, Infinite) or isinstance(self.keep_rate, Infinite) or own > _LARGEST:
            return self.keep_rate
        kept = _share_up(self.keep_rate)
        least = 1 - kept + kept * exp_neg_bounds(own, bits=_BITS)[0]
        return min(self.keep_rate, log_up(1 / least, bits=96))

    def _thinned(self, counts: IntArray, noise: Noise) -> IntArray:
        """A coin for each unit of a histogram, some at a time."""
        total = sum(counts.tolist())
        if total > MOST_UNITS:
            raise DataError(
                f"A histogram of {total:,} units is more than {MOST_UNITS:,} to sample from here.",
                hint="Sample the records in the engine, and count what is left.",
            )
        ends, kept = np.cumsum(counts), np.zeros(counts.size, dtype=np.int64)
        for start in range(0, total, _CHUNK):
            dropped = noise.bernoulli_exp(self.keep_rate, min(_CHUNK, total - start))
            places = np.searchsorted(ends, start + np.flatnonzero(~dropped), side="right")
            kept += np.bincount(places, minlength=counts.size)
        return kept


def _rows_of(table: NDArray[Any], most: int) -> IntArray:
    """A table of 0s and 1s, each row with at most ``most`` 1s."""
    if table.dtype.kind not in "iub" or ((table != 0) & (table != 1)).any():
        raise DataError(
            f"Units must be rows of 0s and 1s, got {table.dtype} with shape {table.shape}.",
            hint="One row per unit, one column per group; 1 where the unit is in the group.",
        )
    rows = table.astype(np.int64)
    sizes = rows.sum(axis=1)
    if (sizes > most).any():
        where = int(np.argmax(sizes > most))
        raise ContributionError(
            f"The unit in row {where} is in {many(int(sizes[where]), 'group')}, more than {most}.",
            hint="Raise max_groups, or cut units down to that many groups first.",
            position=where,
        )
    return rows


def _least(losses: Iterable[Fraction], *, both: bool) -> Loss:
    found = min(losses, default=None)
    return INFINITE if found is None else found / (2 if both else 1)


def _share_up(keep: Loss) -> Fraction:
    """At least p."""
    return Fraction(1) if isinstance(keep, Infinite) else 1 - exp_neg_bounds(keep, bits=_BITS)[0]


def _grown(loss: Fraction) -> tuple[Fraction, Fraction]:
    """Bounds of ``e^loss - 1``, to one part in 2^100."""
    low, high = exp_neg_bounds(loss, bits=_BITS + 2 * int(loss))
    return (1 - high) / high, (1 - low) / low


def _after(loss: Loss, keep: Loss) -> Loss:
    """``ln(1 + p (e^loss - 1))``, rounded up."""
    if isinstance(keep, Infinite) or isinstance(loss, Infinite) or not 0 < loss <= _LARGEST:
        return loss
    return min(loss, log_up(1 + _share_up(keep) * _grown(loss)[1], bits=96))


def _before(loss: Fraction, keep: Loss) -> Fraction:
    """The largest loss on a grid that sampling brings down to ``loss``, as :func:`_after` rounds.

    One step of the grid, 2^-80 over p, is left free: it lowers what :func:`_after` finds by
    about 2^-80, and all roundings together are below 2^-95.
    """
    if isinstance(keep, Infinite) or loss > _LARGEST:
        return loss
    share = _share_up(keep)
    step = Fraction(int(1 / share) + 1, _GRID)
    steps = int(log_up(1 + _grown(loss)[0] / share, bits=96) / step) - 1
    return max(loss, steps * step)
