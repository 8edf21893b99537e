"""Directed rounding of exponentials and logarithms, for accounting."""

from onesided._numbers import log_up
from onesided.bounds._directed_rounding import exp_bounds, exp_neg, short_up
from onesided.bounds._one_sided import share_below_one

__all__ = [
    "exp_bounds",
    "exp_neg",
    "log_up",
    "share_below_one",
    "short_up",
]
