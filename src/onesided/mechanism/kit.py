"""What mechanisms written elsewhere need of ours: fields, checked counts, priced moves, rates.

>>> from onesided import policy
>>> moves = count_moves(policy.presence(max_groups=2), epsilon=1)
>>> largest_rate(moves, lambda shift: shift.rise + shift.fall)
Fraction(1, 2)
"""

from onesided.fields import Exact, Field, MaybeWhole, Rate, Whole, settle
from onesided.mechanism._certify import Once, Thresholds, decide, thresholds_of, with_thresholds
from onesided.mechanism._fit import (
    Fitted,
    Move,
    TwoRates,
    count_moves,
    counts_of,
    largest_rate,
    rates_over,
    refuse_no_policy,
)
from onesided.mechanism._persistent import KEY_BYTES, KeyedCoins
from onesided.mechanism._sampling import open_kinds, samples_for
from onesided.mechanism._source import named_shifts, source_of
from onesided.mechanism._steps import (
    Chosen,
    Counted,
    Gaussian,
    OneOf,
    Steps,
    Together,
    both_ways,
    steps_in,
)
from onesided.mechanism.law import CONFIDENCE, Correction, confident, shared, tail_bound

__all__ = [
    "CONFIDENCE", "KEY_BYTES", "Chosen", "Correction", "Counted", "Exact", "Field", "Fitted",
    "Gaussian", "KeyedCoins", "MaybeWhole", "Move", "Once", "OneOf", "Rate", "Steps", "Thresholds",
    "Together", "TwoRates", "Whole", "both_ways", "confident", "count_moves", "counts_of", "decide",
    "largest_rate", "named_shifts", "open_kinds", "rates_over", "samples_for", "settle", "shared",
    "source_of", "steps_in", "tail_bound", "thresholds_of", "with_thresholds",
]  # fmt: skip
