"""Which records are sensitive and which are open, and what a policy demands of noise on each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from onesided._numbers import INFINITE, Infinite, Loss
from onesided.errors import DataError, PolicyError
from onesided.mechanism.histograms._two_phase import MAX_TOTAL, histogram_of
from onesided.noise import IntArray
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

    def shifts(self, policy: Policy) -> dict[Edge, tuple[tuple[Shift, Shift], ...]]:
        """Per edge, how far the two histograms can move together, each unit in one cell."""
        hidden = policy.shifts(GroupCount(max_groups=1, counted=self.sensitive))
        free = policy.shifts(GroupCount(max_groups=1, counted=self.open))
        return {edge: tuple(product(hidden[edge], free[edge])) for edge in policy.edges}


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
