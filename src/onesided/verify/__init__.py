"""Attempts to falsify our own promises, by running the shipped code against every noise."""

from onesided.verify._aligned import AlignedReport, Misaligned, NoisePath, aligned
from onesided.verify._audit import (
    Agreement,
    AuditReport,
    EachCount,
    agrees,
    audit,
    geometric_law,
    power,
    two_sided_law,
)
from onesided.verify._catalogue import (
    as_json,
    as_junit,
    catalogue,
    markdown,
    own_checks,
    sources,
    update,
    verdicts,
)
from onesided.verify._enumerate import PathNoise, paths
from onesided.verify._exact import Effort, ExactReport, Finding, estimate, exact
from onesided.verify._law import Law, law
from onesided.verify._line import (
    Case,
    CheckResult,
    Line,
    Verdict,
    cases_in,
    in_place_of,
    losses_of,
    program,
    shipped,
)
from onesided.verify._risk import RiskReport, risk
from onesided.verify._universe import Data, Households, SumUniverse, Universe

__all__ = [
    "Agreement", "AlignedReport", "AuditReport", "Case", "CheckResult", "Data", "EachCount",
    "Effort", "ExactReport", "Finding", "Households", "Law", "Line", "Misaligned", "NoisePath",
    "PathNoise", "RiskReport", "SumUniverse", "Universe",
    "Verdict", "agrees", "aligned", "as_json", "as_junit", "audit", "cases_in", "catalogue",
    "estimate", "exact", "geometric_law", "in_place_of", "law", "losses_of", "markdown",
    "own_checks", "paths", "power", "program", "risk", "shipped", "sources",
    "two_sided_law", "update", "verdicts",
]  # fmt: skip
