"""The tables of ``onesided verify`` as Markdown, for the pages that show them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from onesided.errors import OutputError
from onesided.verify._line import CheckResult, Verdict

BEGIN: Final = re.compile("<!-- tables: onesided verify .*-->")
END: Final = "<!-- end of tables -->"


def markdown(found: Sequence[Verdict], checks: Sequence[CheckResult]) -> str:
    """Three tables: the sound, the broken, and what enumeration cannot see.

    >>> from onesided.verify import CheckResult
    >>> check = CheckResult("repeats", "Counts", "no", accepted=True, sound=True)
    >>> "| repeats | Counts |" in markdown([], [check])
    True
    """
    sound = [
        (v.case.name, v.case.policy.name, _counted(v), f"{v.promised:.4f}", v.found_text, v.word)
        for v in found
        if v.case.sound
    ]
    broken = [
        (v.case.name, v.case.flaw, v.case.seen, f"{v.promised:.4f}", v.found_text, v.word)
        for v in found
        if not v.case.sound
    ]
    own = [(c.name, c.subject, "sound" if c.sound else "broken", c.word) for c in checks]
    tables: tuple[Sequence[Sequence[str]], ...] = (sound, broken, own)
    heads = (
        ("mechanism", "policy", "counted", "promised ε", "found ε", "verdict"),
        ("mechanism", "what is wrong", "seen", "promised ε", "found ε", "verdict"),
        ("check", "subject", "it is", "verdict"),
    )
    both = zip(heads, tables, strict=True)
    return "\n\n".join(_table(head, rows) for head, rows in both if rows)


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


def _counted(verdict: Verdict) -> str:
    return ", ".join(sorted(verdict.case.query.counted or ("all",)))


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
