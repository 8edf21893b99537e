"""Differential privacy with a direction."""

from onesided import errors
from onesided._numbers import INFINITE

__all__ = ["INFINITE", "errors"]
