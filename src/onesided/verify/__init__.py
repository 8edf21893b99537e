"""Attempts to falsify our own promises, by running the shipped code against every noise."""

from onesided.verify._aligned import AlignedReport, Misaligned, NoisePath, aligned
from onesided.verify._audit import AuditReport, EachCount, audit
from onesided.verify._catalogue import catalogue, own_checks, sources
from onesided.verify._enumerate import PathNoise, paths
from onesided.verify._exact import estimate, exact
from onesided.verify._formats import as_json, as_junit
from onesided.verify._households import Households
from onesided.verify._laws import Agreement, agrees, geometric_law, power, two_sided_law
from onesided.verify._line import (
    CheckResult,
    Line,
    Verdict,
    in_place_of,
    losses_of,
    program,
    shipped,
)
from onesided.verify._markdown import markdown, update
from onesided.verify._own_case import Case
from onesided.verify._own_file import cases_in
from onesided.verify._progress import Effort
from onesided.verify._report import ExactReport, Finding
from onesided.verify._risk import RiskReport, risk
from onesided.verify._run_all import verdicts
from onesided.verify._sum_universe import SumUniverse
from onesided.verify._table_moves import Row, Rows, Table, Tables, subsets, table_moves
from onesided.verify._universe import Data, Universe

__all__ = [
    "Agreement",
    "AlignedReport",
    "AuditReport",
    "Case",
    "CheckResult",
    "Data",
    "EachCount",
    "Effort",
    "ExactReport",
    "Finding",
    "Households",
    "Line",
    "Misaligned",
    "NoisePath",
    "PathNoise",
    "RiskReport",
    "Row",
    "Rows",
    "SumUniverse",
    "Table",
    "Tables",
    "Universe",
    "Verdict",
    "agrees",
    "aligned",
    "as_json",
    "as_junit",
    "audit",
    "cases_in",
    "catalogue",
    "estimate",
    "exact",
    "geometric_law",
    "in_place_of",
    "losses_of",
    "markdown",
    "own_checks",
    "paths",
    "power",
    "program",
    "risk",
    "shipped",
    "sources",
    "subsets",
    "table_moves",
    "two_sided_law",
    "update",
    "verdicts",
]
