"""Verdicts and runs as files, and pages filled from them, so that the two cannot differ.

A page has places. Verdicts of an experiment and the run that gave them stand in a folder beside
the page; a table is what a query makes of the experiment's rows, and needs the results of a run::

    <!-- run: adp-2022 -->
    <!-- end of run -->
    <!-- verdicts: adp-2022/fig4 -->
    <!-- end of verdicts -->
    <!-- tables: adp-2022/fig4
    SELECT dataset, power FROM rows ORDER BY place -->
    <!-- end of tables -->
"""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from onesided.errors import DataError, OutputError
from onesided_experiments._model import Claim
from onesided_experiments._tables import query

_PLACE: Final = re.compile(
    r"(?P<begin><!-- (?P<what>run|verdicts|tables): (?P<name>[\w-]+(?:/[\w-]+)?)"
    r"(?:\n(?P<sql>.*?))? -->\n)(?P<old>.*?)(?P<end><!-- end of (?P=what) -->)",
    re.DOTALL,
)
_HEAD: Final = "| claim | judges | measured | verdict |\n|---|---|---|---|\n"


def save(claims: Sequence[Claim], stem: Path) -> Path:
    """Write ``stem.verdicts.json``. Errors: OutputError."""
    return _save(stem.with_suffix(".verdicts.json"), [asdict(claim) for claim in claims])


def save_run(folder: Path, **facts: object) -> Path:
    """Write ``folder/run.json``: what ran. Errors: OutputError."""
    return _save(folder / "run.json", facts)


def _save(path: Path, told: object) -> Path:
    try:
        path.write_text(json.dumps(told, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
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


def filled(page: Path, results: Path | None = None) -> str:
    """The text of ``page`` with its places filled from the files beside it.

    results: a folder by paper of what whole runs wrote. Their verdicts, runs and the pictures that
    the page shows are copied beside it first, and its tables are made anew; None leaves tables.
    Errors: DataError if the page has no place, or a file is missing.
    """
    text = page.read_text(encoding="utf-8")
    if not _PLACE.search(text):
        raise DataError(
            f"{page} has no place for verdicts.",
            hint="Write two lines where they should go: <!-- verdicts: PAPER/EXPERIMENT --> and "
            "<!-- end of verdicts -->.",
        )
    if results is not None:
        _copy(page, text, results)

    def made(place: re.Match[str]) -> str:
        name = place["name"]
        if place["what"] == "run":
            told = _run(page.parent / name / "run.json")
        elif place["what"] == "verdicts":
            told = table(load(page.parent / name))
        elif results is None:
            return place[0]
        else:
            # What a query makes of the rows of an experiment, as Markdown; numbers stand to the
            # right.
            sql = place["sql"] or ""
            numbered = "SELECT *, row_number() OVER () AS place FROM read_parquet($1)"
            found = query(f"WITH rows AS ({numbered}) {sql}", str(results / f"{name}.parquet"))
            heads = [("---:" if values.dtype.kind in "iuf" else "---") for values in found.values()]
            lines = [
                list(found),
                heads,
                *zip(*(map(_cell, v.tolist()) for v in found.values()), strict=True),
            ]
            told = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        return f"{place['begin']}\n{told}\n\n{place['end']}"

    return _PLACE.sub(made, text)


def _copy(page: Path, text: str, results: Path) -> None:
    wanted = {"run": "{}/run.json", "verdicts": "{}.verdicts.json"}
    files = [wanted[place["what"]].format(place["name"])
             for place in _PLACE.finditer(text) if place["what"] in wanted]  # fmt: skip
    for name in [*files, *re.findall(r"!\[.*?\]\(([\w./-]+\.png)\)", text)]:
        if not (results / name).is_file():
            raise DataError(f"{results / name} is missing.", hint="Run that paper whole.")
        (page.parent / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(results / name, page.parent / name)


def _run(path: Path) -> str:
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        return (
            f"Made by commit {told['commit']}, seed {told['seed']}, in "
            f"{told['processor_seconds']:,} s of processor time: {', '.join(told['experiments'])}."
        )
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"{path} cannot be read as a run: {error}", hint="Run it whole.") from error


def _cell(value: Any) -> str:
    """Three digits of a number; what is missing is a dash."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
