"""Differential privacy with a direction: ``import onesided as od``.

A policy says which facts about people must stay hidden and as what they must be able to pass;
everything else may be told truthfully. From the policy follow the least noise and, often, answers
that are certain on one side.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from onesided import errors

if TYPE_CHECKING:
    from onesided import (
        accounting,
        bounds,
        linear,
        mechanism,
        noise,
        policy,
        session,
        spark,
        verify,
    )
    from onesided._numbers import INFINITE
    from onesided.engine import cross
    from onesided.ledger import Ledger
    from onesided.monitor import Monitor
    from onesided.policy import Guarantee, Shift
    from onesided.remote import connect
    from onesided.schema import Schema, column
    from onesided.session import (
        Above,
        AtLeast,
        AtMost,
        Below,
        Count,
        Discover,
        Enclosed,
        Histogram,
        LinearQuery,
        Mean,
        Ngrams,
        Plan,
        Quantile,
        RangeQuery,
        Ratio,
        Release,
        RowCount,
        Sample,
        Series,
        Session,
        Several,
        Statement,
        Sum,
        Synthetic,
        TopK,
        Variance,
        certain,
    )
    from onesided.verify import risk

    __version__: str

# Loaded when first asked for, so that importing the package stays light: by where they stand.
_LATER = {
    name: module
    for module, names in {
        "": "accounting bounds linear mechanism noise policy session spark verify",
        "onesided._numbers": "INFINITE",
        "onesided.engine": "cross",
        "onesided.ledger": "Calendar Ledger",
        "onesided.monitor": "Monitor",
        "onesided.policy": "Guarantee Shift",
        "onesided.remote": "connect",
        "onesided.schema": "Schema column",
        "onesided.session": (
            "Above AtLeast AtMost Below Count CrossTable Discover Enclosed Histogram LinearQuery "
            "Mean Ngrams Plan Quantile Ratio RangeQuery Release RowCount Sample Series Session "
            "Several Statement Sum Synthetic TopK Variance certain"
        ),
        "onesided.verify": "risk",
    }.items()
    for name in names.split()
}

__all__ = [
    "INFINITE", "Above", "AtLeast", "AtMost", "Below", "Calendar", "Count", "CrossTable",
    "Discover", "Enclosed", "Guarantee", "Histogram", "Ledger", "LinearQuery", "Mean", "Monitor",
    "Ngrams", "Plan", "Quantile", "RangeQuery", "Ratio", "Release", "RowCount", "Sample", "Schema",
    "Series", "Session", "Several", "Shift", "Statement", "Sum", "Synthetic", "TopK", "Variance",
    "__version__", "accounting", "bounds", "certain", "column", "connect", "cross", "errors",
    "linear", "mechanism", "noise", "policy", "risk", "session", "spark", "verify",
]  # fmt: skip


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
