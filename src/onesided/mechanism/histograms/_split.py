"""Sensitive and open records counted apart and published at once, charged per edge."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from itertools import product
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from onesided._english import many
from onesided._numbers import INFINITE, Infinite, Loss, Number, positive, rate
from onesided.errors import DataError, ParameterError, PolicyError
from onesided.fields import Field, Rate
from onesided.mechanism._fit import variance
from onesided.mechanism._steps import Counted, Steps, beside
from onesided.mechanism.histograms._two_phase import MAX_TOTAL, histogram_of, together
from onesided.noise import IntArray, Noise, SecureNoise, TwoSidedGeometric
from onesided.policy import ABSENT, Edge, GroupCount, Policy, Shift


@dataclass(frozen=True, slots=True)
class Parts:
    """The kinds of a policy in two parts.

    sensitive: kinds that some edge starts from, so that what they hold must be hidden.
    open: kinds that no edge starts from. A count of them can rise along a move, never fall.

    >>> from onesided.policy import sensitive
    >>> Parts.of(sensitive("minor"))
    Parts(sensitive=frozenset({'sensitive'}), open=frozenset({'open'}))
    """

    sensitive: frozenset[str]
    open: frozenset[str]

    @classmethod
    def of(cls, policy: Policy) -> Parts:
        """Errors: PolicyError where all kinds are open or all are sensitive."""
        sources = {policy.ends(edge)[0] for edge in policy.edges}
        kinds = [kind for kind in policy.kinds if kind != ABSENT]
        hidden = frozenset(kind for kind in kinds if kind in sources)
        free = frozenset(kinds) - hidden
        if not hidden or not free:
            raise PolicyError(
                f"Under the policy {policy.name!r} every record is "
                f"{'sensitive' if hidden else 'open'}, so there is nothing to split.",
                hint="Use Counts.for_policy or Dawa.for_policy on all records."
                if hidden
                else "Use Counts.for_policy on all records.",
            )
        return cls(hidden, free)

    def shifts(self, policy: Policy) -> dict[Edge, list[tuple[Shift, ...]]]:
        """Per edge, how far the two histograms can move together, each unit in one cell."""
        parts = (self.sensitive, self.open)
        return together(policy, *(GroupCount(max_groups=1, counted=one) for one in parts))


@dataclass(frozen=True, slots=True)
class Demand:
    """``upper * fall + lower * rise + open_lower * opened <= loss``, what one move asks for."""

    fall: int
    rise: int
    opened: int
    loss: Fraction


@dataclass(frozen=True, slots=True)
class Demands:
    """Everything that a policy asks of the three rates at a given ε."""

    each: tuple[Demand, ...]

    @classmethod
    def of(cls, policy: Policy, epsilon: Fraction) -> Demands:
        """Errors: PolicyError as for :meth:`Parts.of`."""
        return cls(
            tuple(
                Demand(hidden.fall, hidden.rise, free.rise, epsilon * edge.weight)
                for edge, pairs in Parts.of(policy).shifts(policy).items()
                for hidden, free in pairs
            )
        )

    @property
    def most_upper(self) -> Fraction:
        """The largest rate for falls of sensitive counts; some edge starts from one."""
        return min(one.loss / one.fall for one in self.each if one.fall)

    @property
    def coupled(self) -> bool:
        """Whether some move makes sensitive counts fall while others rise."""
        return any(one.fall and (one.rise or one.opened) for one in self.each)

    def lower(self, upper: Fraction) -> Loss:
        """The largest rate for rises of sensitive counts beside ``upper``."""
        return _least((one.loss - upper * one.fall) / one.rise for one in self.each if one.rise)

    def open_lower(self, upper: Fraction) -> Loss:
        """The largest rate for rises of open counts beside ``upper``."""
        return _least((one.loss - upper * one.fall) / one.opened for one in self.each if one.opened)

    def records(self, upper: Loss, lower: Loss, opened: Loss) -> tuple[Loss, Loss] | None:
        """The largest rates (upper, lower) for the number of all records that cost nothing more.

        A record that only leaves, or only comes, does not pay for both of its cells: what is left
        pays for the number. One that changes cell or part leaves the number alone. None where
        moves leave nothing.
        """
        above: list[Fraction] = []
        below: list[Fraction] = []
        for one in self.each:
            for fall, rise, free in product({0, one.fall}, {0, one.rise}, {0, one.opened}):
                spent = upper * fall + lower * rise + opened * free
                net = rise + free - fall
                if net and not isinstance(spent, Infinite):
                    (above if net < 0 else below).append((one.loss - spent) / abs(net))
        found = (_least(above), _least(below))
        return found if min(found) > 0 else None


def _least(rates: Iterable[Fraction]) -> Loss:
    return min(rates, default=INFINITE)


def two_histograms(sensitive: ArrayLike, open_: ArrayLike) -> tuple[IntArray, IntArray]:
    """Both parts as histograms over the same cells.

    Errors: DataError for counts that are not, for different shapes, or a total above 2^53.
    """
    hidden, free = histogram_of(sensitive), histogram_of(open_)
    if hidden.shape != free.shape:
        raise DataError(
            f"The sensitive histogram has shape {hidden.shape}, the open one {free.shape}.",
            hint="Count both parts over the same cells.",
        )
    if int(np.sum(hidden)) + int(np.sum(free)) > MAX_TOTAL:
        raise DataError(
            "The two histograms hold more than 2^53 records together.",
            hint="Counts of people are far below it; check the tables for overflow.",
        )
    return hidden, free


Holds = Literal["sensitive", "open", "mixed"]
_HOLDS: Final = ("sensitive", "open", "mixed")
_STEPS: Final = 1000


class SplitCounts(NamedTuple):
    """What is published: noisy counts of both parts. An open count is never above the truth.

    >>> SplitCounts(np.array([4]), np.array([9])).open.tolist()
    [9]
    """

    sensitive: IntArray
    open: IntArray


def _listed(holds: Sequence[Holds], *, name: str) -> tuple[Holds, ...]:
    for one in holds:
        if one not in _HOLDS:
            raise ParameterError(
                f"{name}: a cell holds 'sensitive', 'open' or 'mixed' records, got {one!r}.",
                hint="Say 'mixed' where you are not sure: it is always safe.",
            )
    return tuple(holds)


@dataclass(frozen=True)
class SplitHistogram:
    """Noise on both sides of each sensitive count, and only below each open count.

    Promise: along a move that shifts the sensitive counts by ``(rise, fall)`` and the open ones
    by ``(opened, 0)`` the loss is exactly
    ``upper_rate * fall + lower_rate * rise + open_rate * opened``.
    Direction: an open count may only rise along a move, as nobody who is open has anything to
    hide, so ``open >= published open`` is certain. Should an open count fall, the loss is
    INFINITE.
    Proof: both parts are vectors of independent noisy counts, so log-ratios add, and each is that
    of the two-rate geometric. A sensitive record that becomes another one costs
    ``upper_rate + lower_rate``; one that becomes open costs ``upper_rate + open_rate``. Two
    releases under one ε each would be charged ``upper + lower + open``: no single move does all.
    Units: rates in nats per count.
    holds: for policies by value, what records each cell can have: "sensitive", "open" or "mixed".
        A part that a cell cannot have is published as 0, without noise. It must be known without
        the data, from the policy's own rule.
    Source: ours; the hybrid by cells is OSDP section 6.3.3, which adds the losses of the parts.
    Errors: ParameterError.

    >>> from onesided.mechanism import SplitHistogram
    >>> SplitHistogram(1, 1, open_rate=2).open_rate
    Fraction(2, 1)
    """

    upper_rate: Rate = Field(rate)
    lower_rate: Rate = Field(rate)
    _: KW_ONLY
    open_rate: Rate = Field(rate)
    holds: Field[Sequence[Holds] | None, tuple[Holds, ...] | None] = Field(
        _listed, default=None, optional=True
    )

    @classmethod
    def for_policy(
        cls, policy: Policy, *, epsilon: Number, holds: Sequence[Holds] | None = None
    ) -> SplitHistogram:
        """The rates of least variance of ``sensitive + open`` that keep (epsilon, policy).

        To a thousandth of the largest ``upper_rate``; whatever that is, the other two rates are
        the largest that every edge allows, exactly.
        Errors: PolicyError where all records are open, or all sensitive.
        """
        demands = Demands.of(policy, positive(epsilon, name="epsilon"))
        upper, lower, opened = _best(demands)
        return cls(upper, lower, open_rate=opened, holds=holds)

    def release(
        self, sensitive: ArrayLike, open_: ArrayLike, *, noise: Noise | None = None
    ) -> SplitCounts:
        """Noisy counts of both parts, int64, in the histograms' shape.

        Errors: DataError unless both are counts over the same cells, or if a cell has a part
        that ``holds`` says it cannot have.
        """
        hidden, free = two_histograms(sensitive, open_)
        source = SecureNoise() if noise is None else noise
        has_hidden, has_free = self._cells(hidden, free)
        shape, hidden, free = hidden.shape, hidden.ravel(), free.ravel()
        first, second = np.zeros(hidden.size, np.int64), np.zeros(hidden.size, np.int64)
        first[has_hidden] = hidden[has_hidden] + source.two_sided(
            self.upper_rate, self.lower_rate, int(has_hidden.sum())
        )
        below = source.geometric(self.open_rate, int(has_free.sum()))
        second[has_free] = free[has_free] - below
        return SplitCounts(first.reshape(shape), second.reshape(shape))

    def estimate(self, released: SplitCounts) -> IntArray:
        """``sensitive + open`` with the medians of the noise taken out; no answer is negative.

        An open count that came out as 0 or less stays 0. Post-processing, free of charge.
        """
        above = TwoSidedGeometric(self.upper_rate, self.lower_rate).median()
        below = TwoSidedGeometric(INFINITE, self.open_rate).median()
        free = np.where(released.open > 0, released.open - below, 0)
        hidden = released.sensitive - above
        if self.holds is not None:
            cannot = np.array([one == "open" for one in self.holds]).reshape(hidden.shape)
            hidden = np.where(cannot, 0, hidden)
        return np.maximum(free + hidden, 0)

    def loss(self, sensitive: Shift, open_: Shift) -> Loss:
        """Exactly what one move costs that shifts the two parts so."""
        falls: Loss = INFINITE * open_.fall
        return (
            self.upper_rate * sensitive.fall
            + self.lower_rate * sensitive.rise
            + self.open_rate * open_.rise
            + falls
        )

    def losses(self, policy: Policy) -> dict[Edge, Loss]:
        """What each edge of ``policy`` is charged."""
        shifts = Parts.of(policy).shifts(policy)
        return {edge: max(self.loss(*pair) for pair in pairs) for edge, pairs in shifts.items()}

    def steps(self, sensitive: Shift, open_: Shift) -> Steps:
        """Noise on both sides of the sensitive counts, and on one side of the open ones."""
        lost = self.open_rate * open_.rise + INFINITE * open_.fall
        return beside(lost, Counted(self.upper_rate, self.lower_rate, sensitive))

    def _cells(
        self, hidden: IntArray, free: IntArray
    ) -> tuple[np.ndarray[tuple[int], np.dtype[np.bool_]], ...]:
        """Which cells can have sensitive records, and which open ones."""
        if self.holds is None:
            every = np.ones(hidden.size, dtype=np.bool_)
            return every, every
        if len(self.holds) != hidden.size:
            raise DataError(
                f"holds speaks of {many(len(self.holds), 'cell')}, the histograms have "
                f"{hidden.size}.",
                hint="Give one word for each cell.",
            )
        named = np.array(self.holds)
        for part, counts, cannot in (("sensitive", hidden, "open"), ("open", free, "sensitive")):
            if counts.ravel()[named == cannot].any():
                raise DataError(
                    f"A cell said to hold {cannot} records only has {part} ones.",
                    hint="Say 'mixed' for every cell that both parts can reach.",
                )
        return named != "open", named != "sensitive"


def _best(demands: Demands) -> tuple[Fraction, Loss, Loss]:
    """The upper rate, among thousandths of its largest, with the least variance in all."""
    ceiling = demands.most_upper

    def spread(rates: tuple[Fraction, Loss, Loss]) -> float:
        return math.fsum(variance(one) for one in rates if not isinstance(one, Infinite))

    candidates = (
        (upper, demands.lower(upper), demands.open_lower(upper))
        for upper in (ceiling * Fraction(step, _STEPS) for step in range(_STEPS, 0, -1))
    )
    return min((rates for rates in candidates if all(one > 0 for one in rates)), key=spread)
