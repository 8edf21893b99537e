"""Run the whole catalogue, on several cores."""

from __future__ import annotations

import os
from functools import partial

from onesided.verify._line import Verdict
from onesided.verify._progress import Report
from onesided.verify._report import ExactReport
from onesided.verify._workers import spread
from onesided.verify.cases import catalogue


def verdicts(
    *,
    source: str | None = None,
    processes: int | None = None,
    progress: Report = lambda _done, _total: None,
) -> list[Verdict]:
    """A verdict for every line of the catalogue, in its order.

    source: as for :func:`catalogue`. processes: None for as many as there are cores, at most 8.
    """
    count = min(8, os.cpu_count() or 1) if processes is None else processes
    lines = catalogue(source)
    found = spread(partial(_check, source), range(len(lines)), count, progress)
    return [Verdict(case, *result) for case, result in zip(lines, found, strict=True)]


def _check(source: str | None, place: int) -> tuple[ExactReport, float, str]:
    """The verdict on one line, without its program: that stays where it is."""
    verdict = catalogue(source)[place].run()
    return verdict.report, verdict.proven, verdict.refused
