"""Exact numbers in, directed rounding out: what mechanisms written elsewhere need of ours.

>>> positive("1/2", name="epsilon")
Fraction(1, 2)
>>> rate(INFINITE, name="lower_rate")
INFINITE
"""

from onesided._english import many
from onesided._numbers import (
    INFINITE,
    Infinite,
    Loss,
    Number,
    exp_neg_bounds,
    non_negative,
    positive,
    rate,
    regular,
    rough,
    round_up,
    strict_share,
    text,
    whole,
)

__all__ = [
    "INFINITE", "Infinite", "Loss", "Number", "exp_neg_bounds", "many", "non_negative", "positive",
    "rate", "regular", "rough", "round_up", "strict_share", "text", "whole",
]  # fmt: skip
