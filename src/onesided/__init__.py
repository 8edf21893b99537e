"""Differential privacy with a direction: ``import onesided as od``.

A policy says which facts about people must stay hidden and as what they must be able to pass;
everything else may be told truthfully. From the policy follow the least noise and, often, answers
that are certain on one side.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from onesided import errors, mechanism, noise, policy
from onesided._numbers import INFINITE
from onesided.policy import Guarantee, Shift

if TYPE_CHECKING:
    from onesided import accounting, bounds, linear, session, spark, verify
    from onesided.engine import cross
    from onesided.ledger import Ledger
    from onesided.monitor import Monitor
    from onesided.remote import connect
    from onesided.schema import Schema, column
    from onesided.session import Count, Plan, Release, Session
    from onesided.verify import risk

    __version__: str

# Loaded when first asked for, so that importing the package stays light.
_LATER = {
    "Count": "onesided.session",
    "Ledger": "onesided.ledger",
    "Monitor": "onesided.monitor",
    "Plan": "onesided.session",
    "Release": "onesided.session",
    "Schema": "onesided.schema",
    "Session": "onesided.session",
    "accounting": "",
    "risk": "onesided.verify",
    "bounds": "",
    "column": "onesided.schema",
    "connect": "onesided.remote",
    "cross": "onesided.engine",
    "linear": "",
    "session": "",
    "spark": "",
    "verify": "",
}

__all__ = [
    "INFINITE",
    "Count",
    "Guarantee",
    "Ledger",
    "Monitor",
    "Plan",
    "Release",
    "Schema",
    "Session",
    "Shift",
    "__version__",
    "accounting",
    "bounds",
    "column",
    "connect",
    "cross",
    "errors",
    "linear",
    "mechanism",
    "noise",
    "policy",
    "risk",
    "session",
    "spark",
    "verify",
]


def __getattr__(name: str) -> Any:
    """Names that are loaded when first asked for."""
    if name == "__version__":
        found: Any = import_module("importlib.metadata").version("onesided")
    elif name not in _LATER:
        raise AttributeError(f"module 'onesided' has no attribute {name!r}")
    elif _LATER[name]:
        found = getattr(import_module(_LATER[name]), name)
    else:
        found = import_module(f"onesided.{name}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
