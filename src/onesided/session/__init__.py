"""Sessions: tables, units, public keys and contribution bounds, each engine doing its own work."""

from onesided.session._query import Count, Plan
from onesided.session._release import Release
from onesided.session._session import Curator, Session

__all__ = ["Count", "Curator", "Plan", "Release", "Session"]
