"""True records: each open one is kept or dropped by a coin of its own, protected ones never."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from onesided._numbers import INFINITE, Infinite, Loss, Number, positive, rate, text, whole
from onesided.errors import DataError, UnprotectableError
from onesided.fields import Field, Rate
from onesided.mechanism._base import counts_of
from onesided.noise import BoolArray, IntArray, Noise, SecureNoise
from onesided.policy import ABSENT, GroupCount, Policy, Shift

# A coin for each record: more of them would take gigabytes of bits.
MOST_RECORDS: Final = 2**30


@dataclass(frozen=True)
class RecordSample:
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

    @classmethod
    def for_policy(
        cls, policy: Policy, *, epsilon: Number, counted: Iterable[str] | None = None
    ) -> RecordSample:
        """The largest sample of the ``counted`` kinds that keeps ``(epsilon, policy)``.

        counted: the kinds to sample together; None is every open kind. The rate is the smallest
            ``epsilon * weight`` of an edge that leads to one of them, INFINITE if none does.
        Errors: UnprotectableError if a move starts from one of these kinds.
        """
        kinds = frozenset(open_kinds(policy) if counted is None else counted)
        if counted is None and not kinds:
            raise _nothing_open(policy)
        loss = positive(epsilon, name="epsilon")
        shifts = policy.shifts(GroupCount(max_groups=1, counted=kinds))
        for edge, many in shifts.items():
            if any(shift.fall for shift in many):
                raise UnprotectableError(
                    f"A record of the kind {policy.ends(edge)[0]!r} must be able to pass as "
                    f"another ({edge.name}), so it can never be published as it is.",
                    hint=_instead(policy),
                    edge=edge.name,
                )
        most = min(
            (loss * edge.weight for edge, many in shifts.items() if any(s.rise for s in many)),
            default=INFINITE,
        )
        return cls(most)

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
