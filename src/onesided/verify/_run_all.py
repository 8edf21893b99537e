"""Run the whole catalogue, or some of its lines, on several cores."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from onesided.errors import ParameterError
from onesided.verify._catalogue import catalogue, sources
from onesided.verify._line import Verdict
from onesided.verify._report import ExactReport
from onesided.verify._workers import spread

LineReport: TypeAlias = Callable[[int, int, str], None]


def verdicts(
    *,
    source: str | None = None,
    only: str | None = None,
    processes: int | None = None,
    progress: LineReport = lambda _done, _total, _title: None,
) -> list[Verdict]:
    """A verdict for every line of the catalogue, in its order.

    source: as for :func:`catalogue`. only: a source, or text that a line's title, policy or
    program has, in any case. processes: None for as many as there are cores, at most 8.
    progress: called after each line with how many are done, of how many, and its title.
    Errors: as for :func:`catalogue`; ParameterError if no line has the text.

    >>> [verdict.right for verdict in verdicts(only="Counts (3:1)", processes=1)]
    [True]
    """
    count = min(8, os.cpu_count() or 1) if processes is None else processes
    source, text = (only, None) if only in sources() else (source, only)
    lines = catalogue(source)
    places = [place for place, line in enumerate(lines) if text is None or line.mentions(text)]
    if not places and text is not None:
        raise ParameterError(
            f"No line of the catalogue mentions {only!r}.",
            hint="Give a part of a mechanism's, a policy's or a flaw's name, such as TopK, or "
            f"one of {', '.join(sources())}.",
            value=only,
        )
    found = spread(
        partial(_check, source),
        places,
        count,
        lambda done, total: progress(done, total, lines[places[done - 1]].title),
    )
    pairs = zip(places, found, strict=True)
    return [Verdict(lines[place], *result) for place, result in pairs]


def _check(source: str | None, place: int) -> tuple[ExactReport, float, str]:
    """The verdict on one line, without its program: that stays where it is."""
    verdict = catalogue(source)[place].run()
    return verdict.report, verdict.proven, verdict.refused
