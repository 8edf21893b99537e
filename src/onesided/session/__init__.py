"""Sessions: tables, units, public keys and contribution bounds, each engine doing its own work."""

from onesided.session._query import Count, Plan
from onesided.session._release import Release
from onesided.session._selection import ThresholdRelease, TopRelease
from onesided.session._session import Curator, Session
from onesided.session._total import total_guarantee

__all__ = [
    "Count",
    "Curator",
    "Plan",
    "Release",
    "Session",
    "ThresholdRelease",
    "TopRelease",
    "total_guarantee",
]
