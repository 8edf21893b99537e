"""Directed rounding of exponentials and logarithms, for accounting."""

from onesided._numbers import exact, log_up
from onesided.bounds._limits import exp_bounds, exp_neg, share_below_one, short_up
