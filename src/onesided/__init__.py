"""Differential privacy with a direction: ``import onesided as od``.

A policy says which facts about people must stay hidden and as what they must be able to pass;
everything else may be told truthfully. From the policy follow the least noise and, often, answers
that are certain on one side.
"""

from importlib.metadata import version

from onesided import errors, mechanism, noise, policy, verify
from onesided._numbers import INFINITE
from onesided.ledger import Ledger
from onesided.monitor import Monitor
from onesided.policy import Guarantee, Shift
from onesided.session import Count, Plan, Release, Session

__version__ = version("onesided")

__all__ = [
    "INFINITE",
    "Count",
    "Guarantee",
    "Ledger",
    "Monitor",
    "Plan",
    "Release",
    "Session",
    "Shift",
    "__version__",
    "errors",
    "mechanism",
    "noise",
    "policy",
    "verify",
]
