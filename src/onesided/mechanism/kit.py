"""What mechanisms written elsewhere need of ours: fields, checked counts, priced moves, rates.

>>> from onesided import policy
>>> moves = count_moves(policy.presence(max_groups=2), epsilon=1)
>>> largest_rate(moves, lambda shift: shift.rise + shift.fall)
Fraction(1, 2)
"""

from onesided._frozen import Exact, Given, MaybeWhole, Rate, Whole, settle
from onesided.mechanism._base import counts_of
from onesided.mechanism._paid import Move, count_moves, largest_rate
from onesided.mechanism._rates import rates_over
from onesided.mechanism._sparse_vector import Thresholds, decide, thresholds_of, with_thresholds

__all__ = [
    "Exact",
    "Given",
    "MaybeWhole",
    "Move",
    "Rate",
    "Thresholds",
    "Whole",
    "count_moves",
    "counts_of",
    "decide",
    "largest_rate",
    "rates_over",
    "settle",
    "thresholds_of",
    "with_thresholds",
]
