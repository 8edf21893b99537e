"""Questions as values, and what they would cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from onesided._numbers import INFINITE, Loss, Number, text
from onesided.mechanism import Counts
from onesided.mechanism._counts import CONFIDENCE, Correction
from onesided.policy import Guarantee

OnExcess = Literal["keep", "truncate", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How many units (rows, if the session's unit is the row) are in each group?

    by: grouping column or columns; none counts everything.
    keys: the public groups: a list, series or table. Required with ``by``.
    epsilon: loss per unit of edge weight, in nats.
    max_groups: the most groups of one unit that the noise covers; the presence policy brings its
        own, the row needs none.
    on_excess: what happens to units in more groups. "keep" counts them whole (policies that
        protect any ``max_groups`` of someone's groups), "truncate" cuts them down (the answer is
        then about bounded data), "error" refuses and so asserts the bound.
    counted: the kinds of units to count, such as ``"open"``; all by default.
    where: SQL text or a narwhals expression that picks rows; a unit's kind is decided before.
    confidence: how often a bound holds that is not certain, for each group on its own.
    correction: "median" or "mean" takes the noise's centre out of the estimate; "none" leaves it.
    id: names the release in the ledger; asking again with the same id re-reads it at no charge.
    """

    epsilon: Number
    by: str | Sequence[str] = ()
    keys: object = None
    max_groups: int | None = None
    on_excess: OnExcess | None = None
    counted: str | Sequence[str] | None = None
    where: object = None
    confidence: Number = CONFIDENCE
    correction: Correction = "median"
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What a question would cost and give, before anything is spent.

    ``charge`` is the exact loss per edge; ``affordable`` says whether the ledger would allow it.
    """

    mechanism: Counts
    charge: Mapping[str, Loss]
    remaining: Mapping[str, Fraction]
    guarantee: Guarantee

    @property
    def affordable(self) -> bool:
        """Whether every edge has that much left."""
        return all(loss <= self.remaining[edge] for edge, loss in self.charge.items())

    @property
    def certain(self) -> tuple[str, ...]:
        """The sides on which the answer will never be wrong."""
        sides = {"upper": self.mechanism.lower_rate, "lower": self.mechanism.upper_rate}
        return tuple(side for side, rate in sides.items() if rate == INFINITE)

    @property
    def standard_deviation(self) -> float:
        """Of each answer's noise, in counts."""
        return float(self.mechanism.distribution.variance() ** 0.5)

    def __str__(self) -> str:
        edges = ", ".join(
            f"{edge}: {text(loss)} of {text(self.remaining[edge])} left"
            for edge, loss in self.charge.items()
        )
        sides = " and ".join(self.certain) or "no"
        return (
            f"Noise with standard deviation {self.standard_deviation:.2f}; {sides} bound certain. "
            f"Charge -- {edges}."
        )
