"""How often bounds hold, how likely decisions by them are, and how often groups are certified."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count
from typing import Any, Final

import numpy as np

from onesided._numbers import INFINITE, Infinite, Loss, Number, exact, whole
from onesided.errors import ParameterError
from onesided.fields import is_bool
from onesided.mechanism import (
    Compounds,
    Counts,
    CubeEstimates,
    CubeThresholds,
    Interval,
    SparseVector,
)
from onesided.mechanism.kit import shared
from onesided.noise import IntArray

_TOLD: Final = re.compile(r"(\d+(?:\.\d+)?) %(, all at once)?")


@dataclass(frozen=True, slots=True)
class Confidence:
    """How often intervals hold: each on its own, or all at once if ``simultaneous``."""

    share: Number
    simultaneous: bool

    def of_each(self, intervals: int) -> Fraction:
        """The confidence of each of so many intervals. Errors: ParameterError."""
        is_bool(self.simultaneous, name="simultaneous")
        return shared(self.share, intervals if self.simultaneous else 1)

    @property
    def words(self) -> str:
        """How sure a bound is that is not certain, such as "95 %, all at once"."""
        return f"{self.percent}, all at once" if self.simultaneous else self.percent

    @property
    def exact(self) -> Fraction:
        """The share as it was written: a float as its digits say."""
        given = str(self.share) if isinstance(self.share, float) else self.share
        return exact(given, name="confidence")

    @property
    def percent(self) -> str:
        """The share; where it has more digits than six, no more than holds."""
        return f"{float(Fraction(self.exact * 10**6 // 1, 10**4)):.6g} %"

    @property
    def facts(self) -> dict[str, Any]:
        """The same, as a release says it of itself."""
        return {"confidence": self.share, "simultaneous": self.simultaneous}


def miss_of(words: str) -> tuple[Fraction, bool]:
    """The chance that a bound of these words fails, and whether of all at once. Errors: others."""
    found = _TOLD.fullmatch(words)
    if found is None:
        raise ParameterError(
            f"This answer says of its likely bounds {words!r}, which is no share.",
            hint="Take its certain bounds alone: likely=False.",
            value=words,
        )
    return 1 - Fraction(found[1]) / 100, found[2] is not None


UNDECIDED: Final = "undecided"
_HALF: Final = Fraction(1, 2)
_FAR: Final = 2**61  # a noisy count that no bound is cut at 0 of
# By whether "at least" is asked: what is said of counts within the threshold, and of those beyond.
_WORDS: Final = (("at most {:,}", "more than {:,}"), ("fewer than {:,}", "at least {:,}"))
_OF_COMPOUNDS: Final = (
    "Each answer is about the largest group of its compound: 'at most' says that no group of it "
    "has more, 'more than' that one has.",
    "Each answer is about the smallest group of its compound: 'at least' says that no group of it "
    "has fewer, 'fewer than' that one has.",
)
_ALL_ANSWERED: Final = (
    "max_answers= and adaptive= save nothing where no answer is free: every group is answered, "
    "at the same charge."
)


@dataclass(frozen=True, slots=True)
class Likely:
    """Which noisy counts are so far from their thresholds that the side is likely.

    mechanism: the noise of the counts. groups: how many counts there are. below: whether "at least"
    is asked, so that a count at its threshold is beyond it. sure: how likely a decision is right,
    of all groups together or of each. widest: on how many counts one decision rests, which is how
    many groups the largest compound has.

    Claim. A decision is post-processing of :class:`onesided.mechanism.Counts`: it loses what they
    lose, on every move, and not more. For counts f, thresholds t and confidence c, the chance that
    *any* group is said to be on the wrong side is at most 1 − c (with ``simultaneous=False``: the
    chance for each group, or each compound).
    Proof. Let n be the number of groups that are to be right together (all, or those that one
    decision rests on), D the noise, and u, l the least numbers with
    ``Pr[D > u] <= (1 − c) / n`` and ``Pr[D < −l] <= (1 − c) / n``. Of z = f + D "at most t" is said
    where z + l <= t, "more than t" where z − u > t. If f > t, only the first can be wrong, and then
    D <= t − l − f < −l; if f <= t, only the second, and then D > u. So each group is wrong with a
    chance of at most (1 − c) / n, whichever side it is on: one side's miss, where an interval that
    holds on both sides misses twice as often. All of them together: the sum (Bonferroni), whatever
    their noise. Both ends are those of ``interval(confidence = 2c − 1)``, and are told as that.
    The largest count of a compound lies between the largest of its bounds where they all hold: so a
    compound's decision rests on all its groups, also where it is told on its own.

    >>> from onesided.numbers import INFINITE
    >>> asked = Likely(Counts(1, 1), 2, below=False, sure=Confidence("0.95", True))
    >>> bounds = asked.bounds(np.array([1, 12]))
    >>> asked.decided(bounds, 5), asked.bound_words, asked.words
    (['at most 5', 'more than 5'], '90 %, all at once', 'confidence 95 %, all groups together')
    """

    mechanism: Counts
    groups: int
    below: bool
    sure: Confidence
    widest: int = 1

    @property
    def words(self) -> str:
        """How sure the decisions are."""
        about = ", all groups together" if self.sure.simultaneous else ", each group on its own"
        return f"confidence {self.sure.percent}{about if self.groups > 1 else ''}"

    @property
    def bound_words(self) -> str:
        """How sure the bounds are that they rest on."""
        together = self.sure.simultaneous and self.groups > 1
        return Confidence(self._both_sides(self.sure.exact), together).words

    def _both_sides(self, share: Fraction) -> Fraction:
        """The confidence of an interval each side of which that may be wrong holds with this."""
        one = INFINITE in (self.mechanism.upper_rate, self.mechanism.lower_rate)
        return share if one else 2 * share - 1

    def bounds(self, noisy: IntArray, compounds: Compounds | None = None) -> Interval:
        """Bounds on each count, or on the largest (least, if below) of each compound."""
        number = self.groups if self.sure.simultaneous else self.widest
        share = self._both_sides(shared(self.sure.share, number))
        found = self.mechanism.interval(noisy, confidence=share)
        if compounds is None:
            return found
        low, high = (compounds.largest(one, least=self.below) for one in (found.lower, found.upper))
        return replace(found, lower=low, upper=high)

    def decided(self, bounds: Interval, levels: int | Sequence[int]) -> list[str]:
        """What is likely of each; "undecided" where the noise leaves it open."""
        limits = np.broadcast_to(np.asarray(levels, dtype=np.int64), bounds.lower.shape)
        within, beyond = _WORDS[self.below]
        most = limits - int(self.below)
        return [
            within.format(t) if under else beyond.format(t) if over else UNDECIDED
            for t, under, over in zip(
                limits.tolist(),
                (bounds.upper <= most).tolist(),
                (bounds.lower > most).tolist(),
                strict=True,
            )
        ]

    def shares(self, threshold: object) -> Shares:
        """By true count, how often a group is said to be on its side, of one threshold for all."""
        if not isinstance(threshold, int):
            return ()
        bounds = self.bounds(np.array([_FAR]))
        law = self.mechanism.distribution
        ahead = int(_FAR - bounds.lower[0] if self.below else bounds.upper[0] - _FAR)

        def chance(room: int) -> float:
            return 1 - float(
                law.tail_below(ahead - room) if self.below else law.tail_above(room - ahead)
            )

        return shares_by_room(chance, threshold, below=self.below)

    def about(self, *, compounds: bool, limited: bool) -> str:
        """What a release says of its decisions. limited: whether fewer answers were asked for."""
        told = (
            (_OF_COMPOUNDS[self.below], compounds),
            (f"Decisions are likely, not certain: {self.words}.", True),
            (_ALL_ANSWERED, limited),
        )
        return " ".join(words for words, holds in told if holds)


def likely_confidence(share: Any, *, simultaneous: bool, groups: int) -> Confidence:
    """How sure decisions are. Errors: ParameterError for a share that is not in (1/2, 1)."""
    sure = Confidence(share, simultaneous)
    sure.of_each(groups)
    if sure.exact <= _HALF:
        raise ParameterError(
            f"confidence={share!r}: what is right no oftener than not is not likely.",
            hint='Ask for more than 1/2, such as confidence="0.95".',
            value=share,
        )
    return sure


Shares = tuple[tuple[int, float], ...]
_MOST: Final = 1_000
_SURE: Final = 0.999


def certified_shares(mechanism: object, threshold: object, *, keys: int = 1) -> Shares:
    """How often a group is certified to be at most, or least, ``threshold``, by its true count.

    The threshold's own stands last, of a thousand at most. Nothing where there is no one threshold,
    where ``mechanism`` stops after so many answers, or where that bound may be wrong.
    """
    chance = _within(mechanism, keys)
    if chance is None or not isinstance(threshold, int):
        return ()
    limit = whole(threshold, name="threshold")
    return shares_by_room(chance, limit, below=getattr(mechanism, "below", False))


def shares_by_room(chance: Callable[[int], float], limit: int, *, below: bool) -> Shares:
    """The same of a chance by how far a count is on its side of the threshold."""
    if not below:
        return tuple((n, chance(limit - n)) for n in range(max(0, limit + 1 - _MOST), limit + 1))
    enough = next(room for room in count() if room == _MOST - 1 or chance(room) > _SURE)
    return tuple((limit + room, chance(room)) for room in range(enough, -1, -1))


def _within(mechanism: Any, keys: int) -> Callable[[int], float] | None:
    """The chance that the noise of one count is at most so much, where it is on one side."""
    if isinstance(mechanism, CubeThresholds):
        return lambda room: mechanism.power(room, keys=keys)
    if isinstance(mechanism, CubeEstimates):
        return lambda room: mechanism.distribution.below(room + 1)
    if isinstance(mechanism, SparseVector) and mechanism.max_answers is None:
        return lambda room: _geometric(mechanism.rate, room)
    if isinstance(mechanism, Counts) and mechanism.lower_rate == INFINITE:
        return lambda room: _geometric(mechanism.upper_rate, room)
    return None


def _geometric(rate: Loss, room: int) -> float:
    """The chance that geometric noise of this rate is at most ``room``."""
    slope = math.inf if isinstance(rate, Infinite) else float(rate)
    return -math.expm1(-slope * (room + 1))
