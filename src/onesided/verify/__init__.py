"""Attempts to falsify our own promises, by running the shipped code against every noise."""

from onesided.verify._catalogue import Case, Verdict, cases, run
from onesided.verify._enumerate import PathNoise, paths
from onesided.verify._exact import ExactReport, Finding, exact
from onesided.verify._universe import Universe

__all__ = [
    "Case",
    "ExactReport",
    "Finding",
    "PathNoise",
    "Universe",
    "Verdict",
    "cases",
    "exact",
    "paths",
    "run",
]
