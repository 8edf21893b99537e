"""Decisions about thresholds where noise lies on the deciding side, so that none is certain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

import numpy as np

from onesided._numbers import INFINITE
from onesided.errors import ParameterError
from onesided.mechanism import Compounds, Counts, Interval
from onesided.mechanism.kit import shared
from onesided.noise import IntArray
from onesided.session._certified import Shares, shares_by_room
from onesided.session._confidence import Confidence

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
        return Confidence(self._both_sides(self.sure.exact), self._together).words

    @property
    def _together(self) -> bool:
        return self.sure.simultaneous and self.groups > 1

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
        """By true count, how often a group is said to be on its side, of one threshold for all.

        >>> asked = Likely(Counts(1, 1), 1, below=False, sure=Confidence("0.95", False))
        >>> [(count, round(share, 2)) for count, share in asked.shares(3)]
        [(0, 0.9), (1, 0.73), (2, 0.27), (3, 0.1)]
        """
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
    """How sure decisions are. Errors: ParameterError for a share that is not in (1/2, 1).

    >>> likely_confidence("0.9", simultaneous=True, groups=3).percent
    '90 %'
    """
    sure = Confidence(share, simultaneous)
    sure.of_each(groups)
    if sure.exact <= _HALF:
        raise ParameterError(
            f"confidence={share!r}: what is right no oftener than not is not likely.",
            hint='Ask for more than 1/2, such as confidence="0.95".',
            value=share,
        )
    return sure
