"""The catalogue: what installed distributions say is to be checked, found by entry points.

A plug-in is a name with a function that takes no arguments. In the group ``onesided.verify`` the
function returns lines of the table; in ``onesided.verify.checks`` it returns results of checks of
their own kind. What is checked of this library stands in the distribution onesided-proofs, under
the name "onesided".
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias
from xml.etree import ElementTree as ET

from onesided._english import a
from onesided._plugins import CHECKS, LINES, broken, load, plugins
from onesided.errors import (
    MissingDependencyError,
    OnesidedError,
    OutputError,
    ParameterError,
    first_line,
)
from onesided.verify._exact import ExactReport, spread
from onesided.verify._line import CheckResult, Line, Verdict

OWN: Final = "onesided"


def sources() -> list[str]:
    """Where lines and checks come from: "onesided", then the other plug-ins by name.

    >>> sources()[0]
    'onesided'
    """
    return [OWN, *sorted({*plugins(LINES), *plugins(CHECKS)} - {OWN})]


@cache  # each process builds it once, not once for each line it checks
def catalogue(source: str | None = None) -> tuple[Line, ...]:
    """Every line, the sound ones first; always in the same order.

    source: only the lines of this library ("onesided"), or of one plug-in.
    Errors: ParameterError for an unknown source; MissingDependencyError if the lines of this
    library are asked for and onesided-proofs is not installed; PluginError for a plug-in that
    cannot be used.
    """
    lines = [line for name in _chosen(source) for line in _made(LINES, name, Line)]
    return tuple(sorted(lines, key=lambda line: not line.sound))


def own_checks(source: str | None = None) -> Iterator[CheckResult]:
    """Checks of what enumeration cannot see, each run as it is read; half a minute for ours.

    source and errors: as for :func:`catalogue`.

    >>> next(own_checks()).right
    True
    """
    for name in _chosen(source):
        yield from _made(CHECKS, name, CheckResult)


def _chosen(source: str | None) -> list[str]:
    if source is not None and source not in sources():
        raise ParameterError(
            f"There are no checks from {source!r}.",
            hint=f"Use one of {', '.join(sources())}.",
            value=source,
        )
    if source in {None, OWN} and OWN not in plugins(LINES):
        raise MissingDependencyError(
            "What is checked of onesided itself is a distribution of its own, and not installed.",
            hint="pip install onesided-proofs, or give a file with Cases of your own: "
            "onesided verify mine.py.",
        )
    return sources() if source is None else [source]


def _made(group: str, name: str, kind: type[Any]) -> Iterator[Any]:
    """What the function of a plug-in returns, each of it a ``kind``; nothing if it has none."""
    if name not in plugins(group):
        return
    make = load(group, name, Callable)
    (entry,) = plugins(group)[name]
    for one in _told(entry, make):
        if not isinstance(one, kind):
            raise broken(entry, f"returns {type(one).__name__} where {a(kind.__name__)} is due")
        yield one


def _told(entry: EntryPoint, make: Callable[[], Iterable[Any]]) -> Iterator[Any]:
    try:
        yield from make()
    except OnesidedError:
        raise
    except Exception as error:  # somebody else's code can fail in any way
        why = f"{type(error).__name__}: {first_line(error)}"
        raise broken(entry, f"cannot say what it checks ({why})") from error


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


# Verdicts for programs: JSON, and the JUnit form that build servers read.


def as_json(found: Sequence[Verdict], checks: Sequence[CheckResult]) -> str:
    """One object with ``lines`` and ``checks``; what was not found is null.

    >>> import json
    >>> check = CheckResult("repeats", "Counts", "no", accepted=True, sound=True)
    >>> sorted(json.loads(as_json([], [check])))
    ['checks', 'lines']
    """
    lines = [
        {
            "name": verdict.case.name,
            "policy": verdict.case.policy.name,
            "flaw": verdict.case.flaw,
            "promised": _number(verdict.promised),
            "found": None if verdict.impossible else _number(verdict.found),
            "impossible": verdict.impossible,
            "outside": verdict.report.outside,
            "proven_delta": verdict.proven,
            "untested": [edge.name for edge in verdict.report.untested],
            "noise_paths": verdict.report.noise_paths,
            "accepted": verdict.accepted,
            "right": verdict.right,
            "verdict": verdict.word,
        }
        for verdict in found
    ]
    own = [
        {"check": check.name}
        | {name: getattr(check, name) for name in ("subject", "measured", "accepted", "right")}
        for check in checks
    ]
    return json.dumps({"lines": lines, "checks": own}, indent=1)


def as_junit(found: Sequence[Verdict], checks: Sequence[CheckResult]) -> str:
    """A test suite of one test case per line; a wrong verdict is a failure.

    >>> check = CheckResult("repeats", "Counts", "no", accepted=False, sound=True)
    >>> "<failure" in as_junit([], [check])
    True
    """
    suite = ET.Element("testsuite", name="onesided verify")
    for verdict in found:
        title = f"{verdict.case.title} under {verdict.case.policy.name}"
        _test(suite, "lines", title, verdict.word, right=verdict.right)
    for check in checks:
        _test(suite, check.name, check.subject, check.measured, right=check.right)
    failures = sum(not one.right for one in found) + sum(not one.right for one in checks)
    suite.set("tests", str(len(found) + len(checks)))
    suite.set("failures", str(failures))
    return ET.tostring(suite, encoding="unicode", xml_declaration=True)


def _test(suite: ET.Element, group: str, title: str, said: str, *, right: bool) -> None:
    case = ET.SubElement(suite, "testcase", classname=f"onesided.verify.{group}", name=title)
    if not right:
        ET.SubElement(case, "failure", message=said)


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


BEGIN: Final = re.compile("<!-- tables: onesided verify .*-->")
END: Final = "<!-- end of tables -->"


def markdown(found: Sequence[Verdict], checks: Sequence[CheckResult]) -> str:
    """Three tables: the sound, the broken, and what enumeration cannot see.

    >>> from onesided.verify import CheckResult
    >>> check = CheckResult("repeats", "Counts", "no", accepted=True, sound=True)
    >>> "| repeats | Counts |" in markdown([], [check])
    True
    """
    parts = (part for part in sections(found, checks) if part.rows)
    return "\n\n".join(_table(part.head, [cells for _, cells in part.rows]) for part in parts)


class Section(NamedTuple):
    """One table: its title, its head, and of each row whether it is right, and its cells."""

    title: str
    head: tuple[str, ...]
    rows: list[tuple[bool, tuple[str, ...]]]


def sections(
    found: Sequence[Verdict], checks: Sequence[CheckResult], *, measured: bool = False
) -> tuple[Section, ...]:
    """The sound, the broken, and what enumeration cannot see; measured: with all numbers.

    >>> check = CheckResult("repeats", "Counts", "no", accepted=True, sound=True)
    >>> sections([], [check], measured=True)[2].rows
    [(True, ('repeats', 'Counts', 'no', 'accepted'))]
    """
    rows: tuple[list[tuple[bool, tuple[str, ...]]], ...] = ([], [], [])
    for one in found:
        case, losses = one.case, [f"{one.promised:.4f}", one.found_text]
        about = (case.policy.name, ", ".join(sorted(case.query.counted or ("all",))))
        if case.sound and measured:
            losses += [f"{one.report.outside:.0e}", f"{one.proven:.0e}"]
        words = about if case.sound else (case.flaw, case.seen)
        rows[not case.sound].append((one.right, (case.name, *words, *losses, one.word)))
    for check in checks:
        middle = check.measured if measured else "sound" if check.sound else "broken"
        rows[2].append((check.right, (check.name, check.subject, middle, check.word)))
    more = ("outside", "proven δ") if measured else ()
    third = "measured" if measured else "it is"
    heads = (
        ("mechanism", "policy", "counted", "promised ε", "found ε", *more, "verdict"),
        ("mechanism", "what is wrong", "seen", "promised ε", "found ε", "verdict"),
        ("check", "subject", third, "verdict"),
    )
    return tuple(map(Section, _TITLES, heads, rows))


_TITLES: Final = (
    "Sound: worst directed loss against the promise",
    "Broken on purpose: each must be rejected",
    "What enumeration cannot see: checks of their own kind",
)


def update(page: Path, tables: str) -> None:
    """Put the tables between the two marks of a page. Errors: OutputError without marks.

    >>> page = Path("page.md")
    >>> marks = ("<!-- tables: onesided verify --update page.md -->", "stale", END)
    >>> written = page.write_text(chr(10).join(marks))
    >>> update(page, "new")
    >>> "new" in page.read_text(), "stale" in page.read_text()
    (True, False)
    """
    text = page.read_text(encoding="utf-8") if page.is_file() else ""
    begin = BEGIN.search(text)
    _, end, after = text.partition(END)
    if begin is None or not end:
        raise OutputError(
            f"{page} has no place for the tables.",
            hint="Write two lines where they should go: "
            f"<!-- tables: onesided verify --update {page.name} --> and {END}.",
        )
    page.write_text(f"{text[: begin.end()]}\n\n{tables}\n\n{END}{after}", encoding="utf-8")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
