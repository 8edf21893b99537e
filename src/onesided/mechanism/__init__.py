"""Mechanisms: one frozen value each; ``release`` is what it does, ``loss`` what it costs."""

from onesided.mechanism._base import Mechanism
from onesided.mechanism._counts import Counts, Interval
from onesided.mechanism._decision import AtMost

__all__ = ["AtMost", "Counts", "Interval", "Mechanism"]
