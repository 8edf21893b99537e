"""Words that the sentences of all families share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from onesided._numbers import readable, round_up

COMMON: Final = "This holds whatever else the observer knows about the other people in the data."
PUBLIC_NUMBER: Final = "How many records there are in total is treated as public."


def odds(epsilon: float) -> str:
    """``e^epsilon`` in readable digits, rounded up; large values are named as what they are."""
    if epsilon > 20:
        return "more than 485 million"
    value = math.exp(epsilon)
    return f"{math.ceil(value * 100) / 100:,.2f}" if value < 1000 else f"{math.ceil(value):,}"


def likely(epsilon: Fraction, *, other: str = "it would then have been") -> str:
    """What the odds at ``epsilon`` mean. They hold for this ε alone, so the sentence names it.

    >>> likely(Fraction(1, 2))
    'At ε = 1/2, whatever is published is at most 1.65 times as likely as it would then have been.'
    """
    times = odds(round_up(epsilon))
    loss = readable(epsilon)
    return f"At ε = {loss}, whatever is published is at most {times} times as likely as {other}."


def some(values: Sequence[str]) -> str:
    """A list that stays short."""
    shown = ", ".join(repr(value) for value in values[:6])
    return shown if len(values) <= 6 else f"{shown} and {len(values) - 6} more"
