"""Counts in the shuffle model: noise can be added by anybody, and need never be subtracted."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from onesided._numbers import INFINITE, Infinite, Loss, log_up, rate, regular, whole
from onesided.errors import DataError, ParameterError
from onesided.fields import Field, MaybeWhole, Rate, Whole, settle
from onesided.noise import BoolArray, IntArray, Noise, SecureNoise
from onesided.policy import Shift


@dataclass(frozen=True)
class ShuffledCounts:
    """Each sender sends a token for each of their groups, and some at random; a shuffler mixes all.

    What leaves the shuffler is the multiset of tokens: how many there are of each group. Each of
    ``senders`` adds to each group tokens of the Pólya law with ``1/honest`` of a geometric
    variable, so that any ``honest`` senders together add exactly ``G`` of rate ``upper_rate``.
    Promise: along a move in which one sender leaves ``fall`` groups, and sends on, the multiset
    loses ``upper_rate * fall``, as long as ``honest`` senders follow the protocol; no δ. Alone,
    before the shuffler, their tokens lose :meth:`lone_loss`: ``upper_rate + ln(honest)`` a group.
    A group's tokens are never fewer than its members, if all of these send theirs.
    Direction: falls are hidden; a rise has infinite loss. The list of senders is public, and who is
    in no group sends noise all the same: a sender who came or went would be seen by their noise.
    honest: how many are relied on; all by default. Fewer add more noise: ``senders / honest`` times
        as many tokens.

    Proof: docs/proofs/shuffled.md. Source: one-sided note, footnote 2 (that it may be useful);
    shares of a geometric variable as in Ács and Castelluccia 2011. Errors: ParameterError.

    >>> from onesided.policy import Shift
    >>> mechanism = ShuffledCounts(1, senders=1000)
    >>> moved = Shift(rise=0, fall=1)
    >>> print(mechanism.loss(moved), f"{float(mechanism.lone_loss(moved)):.2f}")
    1 7.91
    """

    upper_rate: Rate = Field(rate)
    _: KW_ONLY
    senders: Whole = Field(whole, least=1)
    honest: MaybeWhole = Field(whole, least=1, default=None, optional=True)

    def __post_init__(self) -> None:
        if self.honest is None:
            settle(self, honest=self.senders)
        if self._relied_on > self.senders:
            raise ParameterError(
                f"honest={self.honest}, but there are {self.senders} senders.",
                hint="Rely on fewer, or leave honest out.",
            )

    def tokens(self, groups: ArrayLike, *, noise: Noise | None = None) -> IntArray:
        """What one sender sends: for each group 1 if they are in it, and noise.

        Errors: DataError.
        """
        source = SecureNoise() if noise is None else noise
        return np.asarray(self._sent(_rows([groups], 1), source)[0])

    def release(self, table: ArrayLike, *, noise: Noise | None = None) -> IntArray:
        """What leaves the shuffler where every sender is honest: the tokens of each group.

        table: a row of 0s and 1s for each sender, a column for each group. Errors: DataError.
        """
        rows = _rows(table, self.senders)
        return np.asarray(self._sent(rows, SecureNoise() if noise is None else noise).sum(axis=0))

    def loss(self, shift: Shift) -> Loss:
        """``upper_rate * fall``; INFINITE if a sender comes into a group."""
        return self.loss_among(self._relied_on, shift)

    def lone_loss(self, shift: Shift) -> Loss:
        """What the sender's own tokens lose before they are shuffled, rounded up."""
        return self.loss_among(1, shift)

    def loss_among(self, followers: int, shift: Shift) -> Loss:
        """The loss where only so many senders, the one who moves among them, add their noise.

        ``upper_rate + ln(honest / followers)`` for each group, and never less than the rate.
        Errors: ParameterError.
        """
        most = whole(followers, name="followers", least=1, most=self.senders)
        if isinstance(self.upper_rate, Infinite) or shift.rise:
            return INFINITE * (shift.rise + shift.fall)
        missing = Fraction(self._relied_on, most)
        return (self.upper_rate + (log_up(missing) if missing > 1 else 0)) * shift.fall

    @property
    def _relied_on(self) -> int:
        return self.senders if self.honest is None else self.honest

    def _sent(self, rows: IntArray, noise: Noise) -> IntArray:
        added = polya(self.upper_rate, Fraction(1, self._relied_on), rows.size, noise=noise)
        return rows + added.reshape(rows.shape)


def polya(upper_rate: Loss, share: Fraction, size: int, *, noise: Noise) -> IntArray:
    """Shares of geometric variables: ``1 / share`` of them, added up, are geometric.

    ``Pr[k] ∝ e^(-upper_rate k) Π (share + i) / (1 + i)`` over i < k. A geometric k is kept with
    the chance of that product, else drawn anew; kept are ``(1 - e^-upper_rate)^(1 - share)``.

    >>> from onesided import INFINITE
    >>> polya(INFINITE, Fraction(1, 2), 3, noise=SecureNoise()).tolist()
    [0, 0, 0]
    """
    found = np.zeros(size, dtype=np.int64)
    waiting = np.arange(size)
    while waiting.size:
        drawn = noise.geometric(upper_rate, waiting.size)
        kept = _kept(drawn, share, noise)
        found[waiting[kept]] = drawn[kept]
        waiting = waiting[~kept]
    return found


def _kept(drawn: IntArray, share: Fraction, noise: Noise) -> BoolArray:
    """One coin for each step of each number, until one fails."""
    kept = np.ones(drawn.size, dtype=np.bool_)
    for step in range(int(drawn.max(initial=0)) if share != 1 else 0):
        (open_,) = np.nonzero(kept & (drawn > step))
        if not open_.size:
            break
        kept[open_] = noise.bernoulli((share + step) / (1 + step), open_.size)
    return kept


def _rows(given: object, senders: int) -> IntArray:
    table = regular(given)
    if table.ndim != 2 or table.shape[0] != senders or not np.isin(table, (0, 1)).all():
        raise DataError(
            f"A row of 0s and 1s is expected for each of {senders} senders, got an array of shape "
            f"{table.shape}.",
            hint="Each row says which groups a sender is in; who is in none has a row of 0s.",
        )
    return table.astype(np.int64)
