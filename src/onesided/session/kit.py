"""What the checks need of questions about values."""

from onesided.session._groups import Groups
from onesided.session.values._shifts import value_shifts
from onesided.session.values._sum_noise import SumNoise

__all__ = [
    "Groups",
    "SumNoise",
    "value_shifts",
]
