"""Directed rounding of exponentials and logarithms, for accounting."""

from onesided._numbers import log_up
from onesided.bounds._rounding import exp_bounds, exp_neg, share_below_one, short_up

__all__ = [
    "exp_bounds",
    "exp_neg",
    "log_up",
    "share_below_one",
    "short_up",
]
