"""Samples told month after month: one coin for each unit of a stream, and kinds as first met."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Protocol, Self

from onesided._numbers import Infinite, Loss, Number, exp_neg_bounds, log_up, strict_share
from onesided.errors import ParameterError
from onesided.fields import Field
from onesided.mechanism._sampling import RecordSample, samples_for
from onesided.policy import ABSENT, GroupCount, Policy

KEY_BYTES: Final = 32
_BLOCK: Final = 512  # bits of one BLAKE2b digest
_SPARE: Final = 8
_GRID: Final = Fraction(10**6)  # losses are told in millionths, rounded up
Ends = Callable[[int], tuple[Fraction, Fraction]]


class Coins(Protocol):
    """One stream's coins: asked again, each says what it said before."""

    def keeps(self, rate: Loss, unit: bytes) -> bool:
        """True with probability ``1 - e^-rate``: the one coin by which a unit enters."""

    def leaves(self, chance: Fraction, unit: bytes, month: int) -> bool:
        """True with the given chance: the coin by which a unit leaves in one month."""


class KeyedCoins:
    """Coins that follow from a secret key: BLAKE2b of the unit's name under it, never a float.

    A coin's uniform number is the digest's bits, 512 at a time; as many are looked at as tell it
    from the exact bounds of its chance. For whoever does not know the key, coins are independent
    and have exactly their chances, as far as BLAKE2b under a key is a pseudorandom function.
    Errors: ParameterError for a key that is not 32 bytes.

    >>> coins = KeyedCoins(bytes(32))
    >>> coins.keeps(Fraction(1), b"ann") == coins.keeps(Fraction(1), b"ann")
    True
    """

    def __init__(self, key: bytes) -> None:
        if not isinstance(key, bytes) or len(key) != KEY_BYTES:
            raise ParameterError("A stream's key must be 32 bytes.", hint="Restore the true one.")
        self._key = key
        self._ends: dict[tuple[Loss, bool, int], tuple[int, int]] = {}

    def keeps(self, rate: Loss, unit: bytes) -> bool:
        """True with probability ``1 - e^-rate``."""
        if isinstance(rate, Infinite):
            return True

        def ends(bits: int) -> tuple[Fraction, Fraction]:
            low, high = exp_neg_bounds(rate, bits=bits)
            return 1 - high, 1 - low

        return self._below((rate, True), ends, b"keeps", 0, unit)

    def leaves(self, chance: Fraction, unit: bytes, month: int) -> bool:
        """True with the given chance."""
        return self._below((chance, False), lambda _: (chance, chance), b"leaves", month, unit)

    def mark(self, unit: bytes) -> bytes:
        """What stands for a unit in the stream's memory: without the key it names nobody."""
        return self._digest(b"unit", 0, unit, 0)[: _BLOCK // 32]

    def _below(
        self, chance: tuple[Loss, bool], ends: Ends, use: bytes, month: int, unit: bytes
    ) -> bool:
        """Whether the number that begins with the digests is below the chance, exactly."""
        digits = b""
        for block in range(2**32):
            digits += self._digest(use, month, unit, block)
            bits = 8 * len(digits)
            if (*chance, bits) not in self._ends:
                low, high = ends(bits + _SPARE)
                scaled = int(low * 2**bits), -int(-high * 2**bits // 1)
                self._ends[*chance, bits] = scaled
            below, above = self._ends[*chance, bits]
            number = int.from_bytes(digits)
            if number < below or number >= above:
                return number < below
        raise ParameterError("A coin never came down.", hint="Please report this.")

    def _digest(self, use: bytes, month: int, unit: bytes, block: int) -> bytes:
        place = month.to_bytes(8) + block.to_bytes(8)
        return hashlib.blake2b(unit, key=self._key, person=use, salt=place).digest()


@dataclass(frozen=True)
class PersistentSample:
    """The same sample of open units month after month, charged once.

    samples: per open kind, how its units are kept. attrition: the chance of each kept unit to leave
    for good in each month after the first; None for a stream in which a change of kind is seen.
    absence: whether some move leads to or from not being in the table.

    Promise, for whole histories of one unit. A unit enters if it is of an open kind when the stream
    first meets it, by one coin; it leaves for good when it is not open. So one that is not open
    then is never shown, and passes as any other history at ``rate``, once for all months. Without
    attrition nothing is promised to a unit that was open first and is protected later: that it is
    gone is seen for certain. With attrition r its leaving passes as chance: ``-ln r``; whatever
    changes, ``max(rate, -ln r)`` in all. Nobody enters after the first month then, nor where a move
    leads to or from absence.
    Proof: docs/proofs/persistent-sample.md. Errors: ParameterError; UnprotectableError.

    >>> from onesided import policy
    >>> sample = PersistentSample.for_policy(policy.sensitive("minor"), epsilon=1, attrition="1/2")
    >>> class Always:
    ...     def keeps(self, rate, unit): return True
    ...     def leaves(self, chance, unit, month): return False
    >>> first = sample.step({}, {b"ann": "open", b"bob": "sensitive"}, 1, Always())
    >>> second = sample.step(first, {b"ann": "sensitive", b"bob": "open"}, 2, Always())
    >>> first, second
    ({b'ann': True, b'bob': False}, {b'ann': False})
    """

    samples: Mapping[str, RecordSample]
    attrition: Field[Number | None, Fraction | None] = Field(
        strict_share,
        default=None,
        optional=True,
        hint='Give the share that leaves each month, such as "1/50".',
    )
    absence: bool = False

    @classmethod
    def for_policy(
        cls, policy: Policy, *, epsilon: Number, attrition: Number | None = None
    ) -> Self:
        """The largest sample that loses at most ``epsilon`` where kinds stay."""
        return cls.of(policy, samples_for(policy, epsilon=epsilon), attrition)

    @classmethod
    def of(
        cls, policy: Policy, samples: Mapping[str, RecordSample], attrition: Number | None
    ) -> Self:
        """These samples of some of its open kinds, by the ways that its moves have."""
        absence = any(ABSENT in way for edge in policy.edges for way in policy.ways(edge))
        return cls(samples, attrition, absence)

    def loss(self, policy: Policy) -> dict[str, Loss]:
        """The loss of all months together, along each edge: of the first change that is seen."""
        found: dict[str, Loss] = {}
        for kind, sample in self.samples.items():
            query = GroupCount(max_groups=1, counted=frozenset({kind}))
            for edge, worst in policy.shifts(query).items():
                here = max(sample.loss(shift) for shift in worst)
                found[edge.name] = found.get(edge.name, Fraction(0)) + here
        if self.attrition is None:
            return found
        leaving = -(-log_up(1 / self.attrition) * _GRID // 1) / _GRID
        return {edge: max(one, leaving) if one else one for edge, one in found.items()}

    def step(
        self, inside: Mapping[bytes, bool], kinds: Mapping[bytes, str], month: int, coins: Coins
    ) -> dict[bytes, bool]:
        """Which units are in the stream from this month on, where that is new.

        inside: of every unit that the stream ever met. kinds: of those in this month's table.
        Total: nothing is drawn that an earlier month drew.
        """
        changed = {}
        entering = month == 1 or (self.attrition is None and not self.absence)
        for unit, kind in kinds.items():
            if unit not in inside:
                sample = self.samples.get(kind) if entering else None
                changed[unit] = sample is not None and coins.keeps(sample.rate, unit)
        for unit, there in inside.items():
            if there:
                kind = kinds.get(unit, "")
                stays = kind in self.samples or (unit not in kinds and not self.absence)
                if stays and self.attrition is not None:
                    stays = not coins.leaves(self.attrition, unit, month)
                if not stays:
                    changed[unit] = False
        return changed

    def shown(self, inside: Mapping[bytes, bool], kinds: Mapping[bytes, str]) -> list[bytes]:
        """The units whose rows are told this month, after :meth:`step`."""
        return [unit for unit, kind in kinds.items() if kind in self.samples and inside[unit]]
