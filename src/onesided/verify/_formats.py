"""Verdicts for programs: JSON, and the JUnit form that build servers read."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from onesided.verify._line import CheckResult, Verdict


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
        {
            "check": check.name,
            "subject": check.subject,
            "measured": check.measured,
            "accepted": check.accepted,
            "right": check.right,
        }
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
