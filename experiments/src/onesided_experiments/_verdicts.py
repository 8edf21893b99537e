"""Verdicts as files, and the tables of documents made of them, so that the two cannot differ.

A page has a place for each experiment, whose files stand in a folder beside it::

    <!-- verdicts: adp-2022/fig4 -->
    <!-- end of verdicts -->
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from onesided.errors import DataError, OutputError
from onesided_experiments._model import Claim

_PLACE: Final = re.compile(
    r"(?P<begin><!-- verdicts: (?P<name>[\w-]+/[\w-]+) -->\n).*?(?P<end><!-- end of verdicts -->)",
    re.DOTALL,
)
_HEAD: Final = "| claim | judges | measured | verdict |\n|---|---|---|---|\n"


def save(claims: Sequence[Claim], stem: Path) -> Path:
    """Write ``stem.verdicts.json``. Errors: OutputError."""
    path = stem.with_suffix(".verdicts.json")
    made = json.dumps([asdict(claim) for claim in claims], ensure_ascii=False, indent=1)
    try:
        path.write_text(made + "\n", encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error}") from error
    return path


def load(stem: Path) -> list[Claim]:
    """The claims that :func:`save` wrote. Errors: DataError."""
    path = stem.with_suffix(".verdicts.json")
    try:
        return [Claim(**one) for one in json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError) as error:
        raise DataError(
            f"{path} cannot be read as verdicts: {error}",
            hint="Run the experiment whole, and copy what it writes beside the page.",
        ) from error


def table(claims: Sequence[Claim]) -> str:
    """As Markdown."""
    rows = ((one.text, one.judges, one.measured, f"**{one.verdict}**") for one in claims)
    lines = ("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)
    return _HEAD + "\n".join(lines)


def filled(page: Path) -> str:
    """The text of ``page`` with every place for verdicts filled from the files beside it.

    Errors: DataError if the page has no place, or a file is missing.
    """
    text = page.read_text(encoding="utf-8")
    if not _PLACE.search(text):
        raise DataError(
            f"{page} has no place for verdicts.",
            hint="Write two lines where they should go: <!-- verdicts: PAPER/EXPERIMENT --> and "
            "<!-- end of verdicts -->.",
        )
    return _PLACE.sub(
        lambda m: f"{m['begin']}\n{table(load(page.parent / m['name']))}\n\n{m['end']}", text
    )
