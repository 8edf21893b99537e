"""Directed rounding of exponentials and logarithms, for accounting."""

from onesided._numbers import exact, log_up, non_negative, probability
from onesided.bounds._limits import exp_bounds, exp_neg, exp_up, share_below_one, short_up
